# SPDX-License-Identifier: GPL-3.0-or-later
r"""The report as JSON, schema ``quat_audit.report/1`` (docs/report.schema.json).

It never holds NaN or infinity (they become null: JSON has neither), names that are no valid Unicode hold the offending
bytes as the text ``\xff`` (a lone surrogate is no JSON either), its order does not depend on the
order of work, and it is written whole or not at all.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..findings.finding import Finding
from ..findings.fingerprint import fingerprint
from ..findings.report import FileRepair, FileReport, Report, summary
from ..text import escape
from ..version import NAME, version

SCHEMA = "quat_audit.report/1"
# Frames of a glTF file are seconds × 24: more digits than this are noise of the product.
FRAME_DIGITS = 5
# In ASCII JSON: an escaped backslash, a pair of surrogates (one character), or a surrogate without its other half.
_SURROGATES = re.compile(r"\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|(\\ud[89a-f][0-9a-f]{2})")


def render(report: Report, *, color: bool = False, verbose: bool = False) -> str:
    """The report as a JSON document, ending in a newline. It is always complete, and has no color."""
    return "".join(parts(report))


def parts(report: Report) -> Iterator[str]:
    """The same document in parts, a file of the report each: its memory is that of one file."""
    report = report.as_sorted()
    around = json.dumps(_around(report), indent=1, allow_nan=False)
    # Nothing before the files holds such text: names of the tool and of Blender's version.
    head, opened, tail = around.partition('"files": [')
    yield head + opened
    for number, file in enumerate(report.files):
        # A line break within a text is escaped, so that every one here is the layout's.
        entry = json.dumps(_file(file), indent=1, allow_nan=False).replace("\n", "\n  ")
        yield (",\n  " if number else "\n  ") + _SURROGATES.sub(_whole, entry)
    yield ("\n " if report.files else "") + _SURROGATES.sub(_whole, tail) + "\n"


def as_json(data: Mapping[str, Any]) -> str:
    """Plain data without NaN as a JSON document, ending in a newline."""
    # ASCII only: a name that is no valid Unicode, or a terminal that is not UTF-8, cannot break it.
    return _SURROGATES.sub(_whole, json.dumps(data, indent=1, allow_nan=False)) + "\n"


def _whole(match: re.Match[str]) -> str:
    r"""Half a pair is no character, and strict parsers refuse it: the byte 0xff of a path becomes the text ``\xff``."""
    return match[0] if match[1] is None else "\\" + escape(chr(int(match[1][2:], 16)))


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain dicts, lists, strings and finite numbers."""
    report = report.as_sorted()
    return {**_around(report), "files": [_file(f) for f in report.files]}


def _around(report: Report) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "tool": {"name": NAME, "version": version(), "blender": report.blender},
        "files": [],
        "summary": summary(report),
    }


def _file(report: FileReport) -> dict[str, Any]:
    entry: dict[str, Any] = {"path": report.path, **_audit(report)}
    if report.repair is not None:
        entry["repair"] = _repair(report.repair)
    if report.after is not None:
        entry["after"] = _audit(report.after)
    return entry


def _audit(report: FileReport) -> dict[str, Any]:
    return {
        "status": report.status,
        "reason": report.reason,
        "read_via": report.read_via,
        "clips": [
            {
                "action": clip.action,
                "slot": clip.slot,
                "owner": clip.owner,
                "frame_range": None if clip.frame_range is None else [_frame(f) for f in clip.frame_range],
                "frame_rate": finite(clip.frame_rate),
                "tracks": int(clip.tracks),
                "keys": int(clip.keys),
                "readers": [
                    {
                        "owner": reader.owner,
                        "route": reader.route,
                        "by": reader.by,
                        "muted": reader.muted,
                        "linked": reader.linked,
                        "mixed": reader.mixed,
                    }
                    for reader in clip.readers
                ],
            }
            for clip in report.clips
        ],
        "findings": [_finding(f) for f in sorted(report.findings, key=_place)],
        "ignored": [
            {**_finding(i.finding), "reason": i.reason}
            for i in sorted(report.ignored, key=lambda i: (_place(i.finding), i.reason))
        ],
        "not_evaluated": [{"what": what, "why": why} for what, why in report.not_evaluated],
    }


def _place(finding: Finding) -> tuple[str, ...]:
    return (finding.action, finding.slot, finding.owner, finding.bone, finding.data_path, finding.code)


def _finding(finding: Finding) -> dict[str, Any]:
    o = finding.occurrences
    measured = {name: values.tolist() for name, values in o.measured.items()}
    return {
        "code": finding.code,
        "rule": finding.rule,
        "fingerprint": fingerprint(finding),
        "severity": finding.severity,
        "action": finding.action,
        "slot": finding.slot,
        "owner": finding.owner,
        "bone": finding.bone,
        "data_path": finding.data_path,
        "message": finding.message,
        "fix": finding.fix,
        **({"caution": finding.caution} if finding.caution else {}),
        "occurrences": [
            {
                # A fault of one key has one frame, a fault between two keys has both.
                "frames": [_frame(f) for f in (frames if frames[0] != frames[1] else frames[:1])],
                "class": kind,
                "severity": severity,
                "fix": fix,
                "measured": {name: finite(values[i]) for name, values in measured.items()},
                **(dict(zip(("bone", "data_path"), finding.whose(i), strict=True)) if finding.several else {}),
            }
            for i, (frames, kind, severity, fix) in enumerate(
                zip(o.frames.tolist(), o.kind.tolist(), o.severity.tolist(), o.fix.tolist(), strict=True)
            )
        ],
    }


def _repair(repair: FileRepair) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "applied": [
            {"code": a.code, "tracks": int(a.tracks), "keys_changed": int(a.keys_changed)} for a in repair.applied
        ],
        "refused": [{"code": r.code, "data_path": r.data_path, "why": r.why} for r in repair.refused],
        "proof": {
            "max_key_change_deg": finite(repair.proof.max_key_change_deg),
            "max_between_change_deg": finite(repair.proof.max_between_change_deg),
            "keys_added": int(repair.proof.keys_added),
            "keys_removed": int(repair.proof.keys_removed),
            "not_measured": list(repair.proof.not_measured),
        },
        "output": repair.output,
    }
    if repair.handle_types:
        entry["handle_types"] = [{"from": c.was, "to": c.now, "handles": c.handles} for c in repair.handle_types]
    if repair.skin_proof.vertices:
        entry["skin_proof"] = {
            "vertices_changed": int(repair.skin_proof.vertices),
            "max_sound_mm": finite(repair.skin_proof.sound_mm),
            "max_moved_mm": finite(repair.skin_proof.moved_mm),
            "frame": _frame(repair.skin_proof.moved_frame),
        }
    if repair.backup:
        entry["backup"] = repair.backup
    if repair.remark:
        entry["remark"] = repair.remark
    return entry


def finite(value: float) -> float | int | None:
    """A number that JSON can hold: None for NaN and infinity, an int where it is whole."""
    value = float(value)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _frame(value: float) -> float | int | None:
    return finite(round(value, FRAME_DIGITS)) if math.isfinite(value) else None
