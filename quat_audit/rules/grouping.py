# SPDX-License-Identifier: GPL-3.0-or-later
"""From arrays of faults to findings: one finding a track (or data path), its occurrences kept as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints, Strings
from ..findings.finding import NONE, SAFE, SEVERITIES, UNSAFE, Finding, Occurrences
from ..motion.clip import Clip
from ..text import Text, frame_words

Message = Callable[[Occurrences, int], Text]


class Faults(NamedTuple):
    """P faults of one rule; `subject` (P,) is the track or curve of each. Others as in Occurrences.

    The message of a finding speaks of its worst fault: highest severity, then largest `weight` (by default
    the first of `measured`).
    """

    subject: Ints
    frames: Floats
    kind: Strings
    severity: Strings
    fix: Strings
    measured: Mapping[str, Floats]
    rows: Ints
    weight: Floats | None = None


_FIXES = (NONE, UNSAFE, SAFE)


def findings_by_track(clip: Clip, code: str, rule: str, faults: Faults, message: Message) -> list[Finding]:
    """A finding for each track with faults. `message` gets its occurrences and the worst one's number."""
    return _findings(clip, code, rule, faults, message, clip.tracks.data_path, clip.tracks.bone)


def findings_by_path(clip: Clip, code: str, rule: str, faults: Faults, message: Message) -> list[Finding]:
    """A finding for each data path; the faults' subjects are curves and may be of several components."""
    if not len(faults.subject):
        return []
    bones = bones_of_curves(clip)
    first: dict[str, int] = {}
    for curve, path in enumerate(clip.curves.data_path):
        first.setdefault(path, curve)
    representative = np.array([first[p] for p in clip.curves.data_path], dtype=np.int64)
    faults = faults._replace(subject=representative[faults.subject])
    return _findings(clip, code, rule, faults, message, clip.curves.data_path, bones)


def bones_of_curves(clip: Clip) -> tuple[str, ...]:
    """(C,) the bone that each curve animates, "" for none."""
    by_prefix = {_prefix(p): b for p, b in zip(clip.tracks.data_path, clip.tracks.bone, strict=True)}
    return tuple(by_prefix.get(_prefix(p), _quoted_bone(p)) for p in clip.curves.data_path)


def _prefix(data_path: str) -> str:
    """The path of what is animated, without the property: `pose.bones["A"]`, `/nodes/3`, `joint/A`."""
    cut = max(data_path.rfind("]."), data_path.rfind("/"))
    return data_path[: cut + 1] if cut >= 0 else ""


def _quoted_bone(data_path: str) -> str:
    """The bone named in a Blender path that no rotation track shares."""
    head, tail = 'pose.bones["', '"]'
    if not data_path.startswith(head):
        return ""
    end = data_path.find(tail, len(head))
    while end > 0 and _escaped(data_path, end):
        end = data_path.find(tail, end + 1)
    name = data_path[len(head) : end]
    return name.replace('\\"', '"').replace("\\\\", "\\")


def _escaped(text: str, at: int) -> bool:
    slashes = 0
    while at - 1 - slashes >= 0 and text[at - 1 - slashes] == "\\":
        slashes += 1
    return slashes % 2 == 1


def _findings(
    clip: Clip,
    code: str,
    rule: str,
    faults: Faults,
    message: Message,
    paths: tuple[str, ...],
    bones: tuple[str, ...],
) -> list[Finding]:
    order = np.argsort(faults.subject, kind="stable")
    subject = faults.subject[order]
    bounds = np.flatnonzero(np.diff(subject, prepend=-2, append=-2))
    severity_rank = np.zeros(len(order), dtype=np.int64)
    fix_rank = np.zeros(len(order), dtype=np.int64)
    for rank, name in enumerate(SEVERITIES):
        severity_rank[faults.severity[order] == name] = rank
    for rank, name in enumerate(_FIXES):
        fix_rank[faults.fix[order] == name] = rank
    weight = next(iter(faults.measured.values())) if faults.weight is None else faults.weight
    weight = np.nan_to_num(np.abs(weight))[order]
    found = []
    for start, end in pairwise(bounds):
        part = order[start:end]
        occurrences = Occurrences(
            frames=faults.frames[part],
            kind=faults.kind[part],
            severity=faults.severity[part],
            fix=faults.fix[part],
            measured={name: values[part] for name, values in faults.measured.items()},
            rows=faults.rows[part],
        )
        ranks = severity_rank[start:end]
        candidates = np.flatnonzero(ranks == ranks.max())
        sizes = weight[start:end][candidates]
        # The first of those that are equally bad but for rounding.
        worst = int(candidates[np.argmax(sizes >= sizes.max() * (1.0 - 1e-6))])
        number = int(subject[start])
        where, what = partial(_place, clip, occurrences), partial(message, occurrences)
        more = f" (and {len(part) - 1} more)" if len(part) > 1 else ""
        found.append(
            Finding(
                code=code,
                rule=rule,
                severity=SEVERITIES[int(ranks.max())],
                action=clip.action,
                slot=clip.slot,
                owner=clip.owner,
                bone=bones[number],
                data_path=paths[number],
                message=f"{bones[number] or clip.owner or paths[number]}, {where(worst)}{more}: {what(worst)}",
                fix=_FIXES[int(fix_rank[start:end].max())],
                occurrences=occurrences,
                where=where,
                what=what,
                subject=number,
                worst=worst,
            )
        )
    return found


def _place(clip: Clip, occurrences: Occurrences, number: int) -> Text:
    """Where an occurrence is: "frames 16→17", "frame 16"; with seconds where the format counts in seconds."""
    first, second = (float(f) for f in occurrences.frames[number])
    if not np.isfinite(first):
        return Text("at a time that is not a number")
    one = first == second
    values = {"frame": frame_words(first), "next": frame_words(second)}
    if not clip.seconds:
        return Text("frame {frame}", values) if one else Text("frames {frame}→{next}", values)
    values |= {"second": f"{first / clip.frame_rate:.3f}", "next_second": f"{second / clip.frame_rate:.3f}"}
    if one:
        return Text("frame {frame} ({second} s)", values)
    return Text("frames {frame}→{next} ({second}→{next_second} s)", values)


def fixable_rows(findings: Sequence[Finding], unsafe: bool) -> Ints:
    """Rows of all occurrences that may be repaired."""
    parts = [
        f.occurrences.rows[(f.occurrences.fix == SAFE) | (unsafe & (f.occurrences.fix == UNSAFE))] for f in findings
    ]
    return np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
