# SPDX-License-Identifier: GPL-3.0-or-later
"""The report for a person: by file, action and bone, the worst first."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from ..findings.finding import ERROR, FIX_KINDS, NOTE, SAFE, SEVERITIES, UNSAFE, WARNING, Finding, FixKind, Severity
from ..findings.fingerprint import identity
from ..findings.report import INTERRUPTED, FileReport, Ignored, Report, summary
from ..rules import RULES
from ..text import frame_words, visible

# What a person reads before giving up: the worst places of a finding, the worst findings of a clip.
MOST_OCCURRENCES = 3
MOST_FINDINGS = 12
MOST_CLIPS = 12
MOST_LISTED = 5
ALL = "--format json lists all"

_COLORS = {ERROR: "31", WARNING: "33", NOTE: "36", "good": "32", "bold": "1", "quiet": "2"}
# Noncharacters of Unicode, for use within a program: no name has them.
_PLAIN, _FIRST = "\ufdd0", 0xFDD1
_FIX_WORDS = {SAFE: "safe fix", UNSAFE: "unsafe fix", "none": "no fix"}


def render(report: Report, *, color: bool = False) -> str:
    """The report as text, ending in a newline.

    Parameters:
        color: with terminal colors.
    """
    report = report.as_sorted()
    paint = _Paint(color)
    lines: list[str] = []
    for file in report.files:
        lines += _file(file, paint)
    if lines and lines[-1]:
        lines.append("")
    lines += _summary(report, paint)
    return "\n".join(paint.finish(line) for line in lines) + "\n"


# Rules about skins: their findings are about meshes and vertices.
_SKIN_RULES = frozenset(rule.code for rule in RULES if rule.judges == "skin")


class _Paint:
    """Wraps text in colors, or does not.

    A color is one character that stands for it until a line is finished: what else a line holds comes from files,
    and must not reach a terminal as it is.
    """

    def __init__(self, on: bool) -> None:
        self._codes = {what: chr(_FIRST + i) for i, what in enumerate(_COLORS)} if on else {}

    def __call__(self, text: str, what: str) -> str:
        return f"{self._codes[what]}{text}{_PLAIN}" if self._codes else text

    def finish(self, line: str) -> str:
        """The line as a terminal may get it."""
        line = visible(line)
        for what, code in self._codes.items():
            line = line.replace(code, f"\x1b[{_COLORS[what]}m")
        return line.replace(_PLAIN, "\x1b[0m") if self._codes else line


def _file(file: FileReport, paint: _Paint) -> Iterator[str]:
    if file.status != "audited":
        return  # the summary lists them, where a person looks first
    keys, tracks = sum(c.keys for c in file.clips), sum(c.tracks for c in file.clips)
    size = f"{_count(len(file.clips), 'action')}, {_count(tracks, 'track')}, {_count(keys, 'key')}"
    if not file.findings and not file.ignored and not file.not_evaluated and not (file.repair and file.repair.refused):
        verdict = f"clean ({size})" if keys else "no animation"
        remark = f"; {file.repair.remark}" if file.repair and file.repair.remark else ""
        yield paint(f"{file.path}  {verdict}{_output_words(file)}{remark}", "quiet")
        return
    yield f"{paint(file.path, 'bold')}  {size}"
    by_clip = _by_clip(file)
    for clip, findings in by_clip[:MOST_CLIPS]:
        yield f"  {clip}"
        yield from _findings(findings, paint)
    rest = [finding for _, findings in by_clip[MOST_CLIPS:] for finding in findings]
    if rest:
        actions = _count(len(by_clip) - MOST_CLIPS, "action")
        yield "  " + paint(f"and {actions} more whose findings show less ({_codes(rest)}); {ALL}", "quiet")
    yield from _listed("ignored", [_ignored_words(ignored) for ignored in file.ignored], paint)
    yield from _listed("not evaluated", [f"{what}: {why}" for what, why in file.not_evaluated], paint)
    yield from _repair(file, paint)
    yield ""


def _by_clip(file: FileReport) -> list[tuple[str, list[Finding]]]:
    groups: dict[str, list[Finding]] = {}
    for finding in file.findings:
        groups.setdefault(_clip_words(finding), []).append(finding)
    for findings in groups.values():
        findings.sort(key=_badness)
    return sorted(groups.items(), key=lambda item: (_badness(item[1][0]), item[0]))


def _clip_words(finding: Finding) -> str:
    if finding.about == "skin" and not finding.action:
        return finding.owner
    words = finding.action or "(unnamed action)"
    if finding.slot and finding.slot != finding.owner:
        words += f" · slot {finding.slot}"
    return words + (f" · {finding.owner}" if finding.owner else "")


def _badness(finding: Finding) -> tuple[int, float, str, str, str]:
    """Sorts the worst first; names decide between equals."""
    score = _scores(finding)
    return (
        -SEVERITIES.index(finding.severity),
        -float(score.max()) if len(score) else 0.0,
        finding.bone,
        finding.data_path,
        finding.code,
    )


def _scores(finding: Finding) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(N,) how much each occurrence shows, in degrees where the rule measured degrees."""
    measured = finding.occurrences.measured
    for name in ("excess_deg", "swept_deg", *(n for n in measured if n.endswith("_deg"))):
        if name in measured:
            return np.nan_to_num(np.asarray(measured[name], dtype=np.float64), nan=0.0, posinf=1e9, neginf=0.0)
    return np.zeros(len(finding.occurrences))


def _findings(findings: Sequence[Finding], paint: _Paint) -> Iterator[str]:
    width = min(32, max((_columns(_who(f)) for f in findings[:MOST_FINDINGS]), default=0))
    for finding in findings[:MOST_FINDINGS]:
        o = finding.occurrences
        severities = np.array([SEVERITIES.index(s) for s in o.severity.tolist()])
        order = np.lexsort((np.arange(len(o)), -_scores(finding), -severities))[:MOST_OCCURRENCES]
        who = _who(finding) + " " * (width - _columns(_who(finding)))
        if not len(o) or finding.about == "skin":
            # A mesh has one fault on thousands of vertices: its message counts them and names the worst.
            says = finding.message.removeprefix(f"{_who(finding)}: ")
            yield f"    {who}  {says}  {_tag(finding, finding.severity, finding.fix, paint)}"
            continue
        for i in order.tolist():
            says = f"{finding.where(i)}: {finding.what(i)}"
            severity, fix = SEVERITIES[int(o.codes[i, 1])], FIX_KINDS[int(o.codes[i, 2])]
            yield f"    {who}  {says}  {_tag(finding, severity, fix, paint)}"
            who = " " * width
        if finding.locked or finding.caution:
            yield f"    {'':<{width}}  {paint(visible(finding.locked or finding.caution), 'quiet')}"
        if len(o) > len(order) > 1:
            yield f"    {'':<{width}}  {paint(f'and {len(o) - len(order):,} more', 'quiet')}"
    rest = findings[MOST_FINDINGS:]
    if rest:
        more = f"and {len(rest):,} more that show less ({_codes(rest)}); {ALL}"
        yield f"    {paint(more, 'quiet')}"


def _ignored_words(ignored: Ignored) -> str:
    finding = ignored.finding
    return f"{finding.code} {_who(finding)}: {ignored.reason or 'no reason given'}"


def _codes(findings: Sequence[Finding]) -> str:
    codes = Counter(finding.code for finding in findings)
    return ", ".join(f"{code} × {number:,}" for code, number in sorted(codes.items()))


def _who(finding: Finding) -> str:
    if finding.about == "skin":
        return visible(finding.bone or finding.owner)
    return visible(finding.bone or finding.data_path or finding.owner or "(the whole clip)")


def _columns(text: str) -> int:
    """How wide a terminal shows the text: CJK takes two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def _tag(finding: Finding, severity: Severity, fix: FixKind, paint: _Paint) -> str:
    return paint(f"[{finding.code} {finding.rule}, {severity}, {_FIX_WORDS.get(fix, fix)}]", severity)


def _repair(file: FileReport, paint: _Paint) -> Iterator[str]:
    repair = file.repair
    if repair is None:
        return
    for applied in repair.applied:
        if applied.code in _SKIN_RULES:
            meshes = f"{applied.tracks} {'mesh' if applied.tracks == 1 else 'meshes'}"
            vertices = f"{applied.keys_changed:,} {'vertex' if applied.keys_changed == 1 else 'vertices'}"
            yield f"  repaired {applied.code}: weights of {vertices} on {meshes}"
            continue
        on = f" on {_count(applied.tracks, 'track')}" if applied.tracks else ""
        yield f"  repaired {applied.code}: {_count(applied.keys_changed, 'key')}{on}"
    yield from _listed("refused", [f"{r.code} {r.data_path}: {r.why}".strip() for r in repair.refused], paint)
    if repair.skin_proof.vertices:
        skin = repair.skin_proof
        where = f" (frame {frame_words(skin.moved_frame)})" if skin.moved_mm > 0.0 else ""
        yield "  " + paint(
            f"vertices whose weights were in order moved by {skin.sound_mm:.3f} mm; "
            f"largest change anywhere {skin.moved_mm:.1f} mm{where}",
            "good",
        )
    if any(applied.code not in _SKIN_RULES for applied in repair.applied):
        p = repair.proof
        added = f"; {_count(p.keys_added, 'key')} added" if p.keys_added else ""
        removed = f"; {_count(p.keys_removed, 'key')} removed" if p.keys_removed else ""
        yield "  " + paint(
            f"keyed poses changed by {p.max_key_change_deg:.3f}°; "
            f"largest change between keys {p.max_between_change_deg:.1f}°{added}{removed}",
            "good",
        )
        yield from _listed("changed on purpose, not measured", list(p.not_measured), paint)
    if file.after is not None:
        yield f"  {_tally(file.findings)} → {_tally(file.after.findings)}{_output_words(file)}"
        serious = sorted((f for f in file.after.findings if f.severity != NOTE), key=_badness)
        known = {_place(file, f) for f in file.findings}
        for title, is_known in (("still there", True), ("new", False)):
            some = [f for f in serious if (_place(file, f) in known) == is_known]
            if some:
                yield f"  {title}:"
                yield from _findings(some[:MOST_LISTED], paint)
    if repair.remark:
        yield f"  {repair.remark}"


def _place(file: FileReport, finding: Finding) -> tuple[str, ...]:
    """What tells a finding from the others, in the file as it was and in the result."""
    code, about, action, *rest = identity(finding)
    # A BVH file's one action is named after the file.
    return (code, about, action if len(file.clips) > 1 else "", *rest)


def _output_words(file: FileReport) -> str:
    if file.repair is None or not file.repair.output:
        return ""
    backup = f" (the original is kept as {file.repair.backup})" if file.repair.backup else ""
    return f"  ⇒ {file.repair.output}{backup}"


def _tally(findings: Sequence[Finding]) -> str:
    counts = [(s, sum(f.severity == s for f in findings)) for s in reversed(SEVERITIES)]
    return ", ".join(_count(n, s) for s, n in counts if n) or "clean"


def _listed(title: str, lines: Sequence[str], paint: _Paint) -> Iterator[str]:
    for line in lines[:MOST_LISTED]:
        yield f"  {title}: {line}"
    if len(lines) > MOST_LISTED:
        more = f"{title}: and {len(lines) - MOST_LISTED:,} more ({ALL})"
        yield f"  {paint(more, 'quiet')}"


def _summary(report: Report, paint: _Paint) -> Iterator[str]:
    counts = summary(report)
    for file in report.files:
        if file.status != "audited" and file.reason != INTERRUPTED:
            yield paint(f"{file.status.upper()}  {file.path}: {file.reason}", ERROR)
    interrupted = sum(f.reason == INTERRUPTED for f in report.files)
    if interrupted:
        yield paint(f"{_count(interrupted, 'file')} skipped ({INTERRUPTED})", WARNING)
    skipped = sum(f.status == "skipped" for f in report.files)
    parts = [f"{_count(counts['files'], 'file')}: {counts['audited']:,} audited"]
    if counts["failed"]:
        parts.append(paint(f"{counts['failed']:,} failed", ERROR))
    if skipped:
        parts.append(paint(f"{skipped:,} skipped", WARNING))
    yield ", ".join(parts)
    found = [paint(_count(n, s), s) for s, n in counts["findings"].items() if n]
    if found:
        yield ", ".join(found)
    elif counts["audited"]:
        yield paint("nothing found", "good")
    if counts["occurrences"]:
        rules = {f.code: f.rule for file in report.files for f in file.findings}
        width = max(len(rule) for rule in rules.values())
        for code, number in counts["occurrences"].items():
            yield f"  {code} {rules[code]:<{width}}  {number:>7,}"
    if counts["ignored"]:
        yield f"{counts['ignored']:,} ignored, as the actions say"
    unjudged = sum(len(f.not_evaluated) for f in report.files)
    if unjudged:
        yield f"{unjudged:,} not evaluated (that is not passed)"
    yield from _outlook(report, paint)


def _outlook(report: Report, paint: _Paint) -> Iterator[str]:
    """What `fix` would do, or what it did."""
    fixed = [f for f in report.files if f.after is not None]
    if fixed:
        before = [x for f in fixed for x in f.findings]
        after = [x for f in fixed if f.after for x in f.after.findings]
        written = sum(bool(f.repair and f.repair.output) for f in fixed)
        how = f"{_count(written, 'file')} written" if written else "nothing written"
        yield paint(f"fix: {_tally(before)} → {_tally(after)}; {how}", "good")
        return
    findings = [f for file in report.files for f in file.findings]
    fixes = [set(f.occurrences.fix.tolist()) or {f.fix} for f in findings]
    safe, unsafe = (sum(how in fix for fix in fixes) for how in (SAFE, UNSAFE))
    if safe or unsafe:
        words = f"{_count(safe, 'finding')} would be repaired by `fix`"
        yield words + (f", {unsafe:,} need{'s' * (unsafe == 1)} --unsafe-fixes" if unsafe else "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
