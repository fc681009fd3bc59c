# SPDX-License-Identifier: GPL-3.0-or-later
"""The report for a person: by file, action and bone, the worst first."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from ..findings.finding import ERROR, FIX_KINDS, NOTE, SAFE, SEVERITIES, UNSAFE, WARNING, Finding, FixKind, Severity
from ..findings.fingerprint import identity
from ..findings.report import INTERRUPTED, FileReport, Ignored, Report, handle_words, summary, who_plays
from ..rules import RULES
from ..text import Text, frame_words, visible

# What a person reads before giving up: the worst places of a finding, in a long report the worst alone.
MOST_OCCURRENCES = 3
MOST_LISTED = 5
# A report of more findings is long: findings of one rule and severity in a file are rolled up into a line when they are
# more than these. Errors are listed all the same, the worst of them.
LONG = 30
MOST_ALIKE: Mapping[Severity, int] = {ERROR: 10, WARNING: 3, NOTE: 3}
MORE = "--verbose lists them"

_COLORS = {ERROR: "31", WARNING: "33", NOTE: "36", "good": "32", "bold": "1", "quiet": "2"}
# Noncharacters of Unicode, for use within a program: no name has them.
_PLAIN, _FIRST = "\ufdd0", 0xFDD1
_FIX_WORDS = {SAFE: "safe fix", UNSAFE: "unsafe fix", "none": "no fix"}


def render(report: Report, *, color: bool = False, verbose: bool = False) -> str:
    """The report as text, ending in a newline.

    Parameters:
        color: with terminal colors.
        verbose: every finding by itself, however many there are.
    """
    report = report.as_sorted()
    paint = _Paint(color)
    found = sum(len(file.findings) for file in report.files)
    detail: _Detail = "every finding" if verbose else "long" if found > LONG else "short"
    lines: list[str] = []
    for file in report.files:
        lines += _file(file, paint, detail)
    if lines and lines[-1]:
        lines.append("")
    lines += _summary(report, paint)
    return "\n".join(paint.finish(line) for line in lines) + "\n"


# How much is told of the findings.
_Detail = Literal["short", "long", "every finding"]

# Rules about skins: their findings are about meshes and vertices.
_SKIN_RULES = frozenset(rule.code for rule in RULES if rule.judges == "skin")
# Rules whose fix may set a mode or a slot, which is no key.
_NO_KEYS = frozenset(rule.code for rule in RULES if rule.counts_places)


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


def _file(file: FileReport, paint: _Paint, detail: _Detail) -> Iterator[str]:
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
    yield from _all_findings(file.findings, paint, detail, _readers(file) if detail == "every finding" else {})
    yield from _listed("ignored", [_ignored_words(ignored) for ignored in file.ignored], paint, detail)
    unjudged = [f"{what}: {why}" for what, why in file.not_evaluated]
    yield from _listed("not evaluated", unjudged, paint, detail)
    yield from _repair(file, paint, detail)
    yield ""


_Clip = tuple[str, str]  # action, slot


def _readers(file: FileReport) -> dict[_Clip, list[Text]]:
    """Clip → who plays its keys; nothing of the bytes of a file, which anybody may play."""
    if file.read_via == "bytes":
        return {}
    return {(clip.action, clip.slot): who_plays(clip.readers) for clip in file.clips}


def _all_findings(
    findings: Sequence[Finding], paint: _Paint, detail: _Detail, readers: Mapping[_Clip, Sequence[Text]]
) -> Iterator[str]:
    """One by one, by clip; in a long report what many places share is rolled up by rule."""
    listed, rolled = (list(findings), []) if detail != "long" else _rolled_up(findings)
    for clip, some in _by_clip(listed):
        yield f"  {clip}"
        for who in readers.get((some[0].action, some[0].slot), ()):
            yield f"    {paint(visible(who), 'quiet')}"
        yield from _findings(some, paint, detail)
    for alike, of in rolled:
        yield from _rolled(alike, of, paint)


def _rolled_up(findings: Sequence[Finding]) -> tuple[list[Finding], list[tuple[list[Finding], int]]]:
    """(findings that are listed, (findings of one rule and severity that are not, of how many) each worst first)."""
    alike: dict[tuple[int, str], list[Finding]] = {}
    for finding in sorted(findings, key=_badness):
        alike.setdefault((-SEVERITIES.index(finding.severity), finding.code), []).append(finding)
    listed: list[Finding] = []
    rolled: list[tuple[list[Finding], int]] = []
    for _, some in sorted(alike.items(), key=lambda item: item[0]):
        most = MOST_ALIKE[some[0].severity]
        first = some if len(some) <= most else some[:most] if some[0].severity == ERROR else []
        listed += first
        if len(first) < len(some):
            rolled.append((some[len(first) :], len(some)))
    return listed, rolled


def _rolled(findings: Sequence[Finding], of: int, paint: _Paint) -> Iterator[str]:
    """Findings of one rule and severity in a line, and the worst of them in another."""
    figures = [(f.figure.value, -n) for n, f in enumerate(findings) if f.figure is not None]
    worst = findings[-max(figures)[1]] if figures else findings[0]
    most = f", up to {worst.figure.value:.1f}{_unit(worst.figure.unit)}" if worst.figure is not None else ""
    more = f"{len(findings):,} more of " if len(findings) < of else ""
    fixes = Counter(finding.fix for finding in findings)
    several = ", ".join(f"{fixes[fix]:,} {fix}" for fix in reversed(FIX_KINDS) if fixes[fix])
    words = _FIX_WORDS[worst.fix] if len(fixes) == 1 else f"fixes: {several}"
    tag = paint(f"[{worst.severity}, {words}]", worst.severity)
    yield f"  {more}{worst.code} {worst.rule} on {_spread(findings)}{most}: {MORE}  {tag}"
    where = " · ".join(dict.fromkeys(filter(None, (worst.action, *worst.message.splitlines()))))
    yield "    " + paint(f"the worst: {visible(where)}", "quiet")


def _spread(findings: Sequence[Finding]) -> str:
    """On how many bones of how many actions some findings of a rule are, or on how many meshes."""
    if findings[0].about == "skin":
        meshes = len({finding.owner for finding in findings})
        return f"{meshes:,} {'mesh' if meshes == 1 else 'meshes'}"
    bones = {bone or finding.owner or finding.data_path for finding in findings for bone in finding.bones}
    actions = {(finding.action, finding.slot) for finding in findings}
    return f"{_count(len(bones), 'bone')} of {_count(len(actions), 'action')}"


def _unit(unit: str) -> str:
    return unit if unit == "°" else f" {unit}"


def _by_clip(findings: Sequence[Finding]) -> list[tuple[str, list[Finding]]]:
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_clip_words(finding), []).append(finding)
    for some in groups.values():
        some.sort(key=_badness)
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


def _findings(findings: Sequence[Finding], paint: _Paint, detail: _Detail) -> Iterator[str]:
    width = min(32, max((_columns(_who(f)) for f in findings), default=0))
    for finding in findings:
        o = finding.occurrences
        who = _who(finding) + " " * (width - _columns(_who(finding)))
        order = _worst_places(finding)[: 1 if detail == "long" else MOST_OCCURRENCES]
        if not len(o) or finding.about == "skin" or finding.headline:
            # A mesh has one fault on thousands of vertices: its message counts them and names the worst.
            says = visible(finding.message).removeprefix(_who(finding)).lstrip(":, ")
            yield f"    {who}  {says}  {_tag(finding, finding.severity, finding.fix, paint)}"
            if detail != "every finding" or finding.locator != "keys of a bone":
                continue
            order = _worst_of_each_bone(finding)
            who = " " * width
        rest = len(o) - len(order)
        for i in order:
            says = f"{finding.where(i)}: {finding.what(i)}"
            more = f" (and {rest:,} more)" if detail == "long" and rest else ""
            severity, fix = SEVERITIES[int(o.codes[i, 1])], FIX_KINDS[int(o.codes[i, 2])]
            yield f"    {who}  {says}{more}  {_tag(finding, severity, fix, paint)}"
            who = " " * width
        if (finding.locked or finding.caution) and not finding.headline:
            yield f"    {'':<{width}}  {paint(visible(finding.locked or finding.caution), 'quiet')}"
        if rest > 0 and detail != "long":
            yield f"    {'':<{width}}  {paint(f'and {rest:,} more', 'quiet')}"


def _worst_places(finding: Finding) -> list[int]:
    """The numbers of its places, the worst first."""
    o = finding.occurrences
    order: list[int] = np.lexsort((np.arange(len(o)), -_scores(finding), -o.codes[:, 1].astype(np.int64))).tolist()
    return order


def _worst_of_each_bone(finding: Finding) -> list[int]:
    first: dict[tuple[str, str], int] = {}
    for number in _worst_places(finding):
        first.setdefault(finding.whose(number), number)
    return list(first.values())


def _ignored_words(ignored: Ignored) -> str:
    finding = ignored.finding
    return f"{finding.code} {_who(finding)}: {ignored.reason or 'no reason given'}"


def _who(finding: Finding) -> str:
    if finding.about == "skin":
        return visible(finding.bone or finding.owner)
    whole = finding.owner if finding.several else ""
    return visible(finding.bone or whole or finding.data_path or finding.owner or "(the whole clip)")


def _columns(text: str) -> int:
    """How wide a terminal shows the text: CJK takes two columns."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c) for c in text)


def _tag(finding: Finding, severity: Severity, fix: FixKind, paint: _Paint) -> str:
    return paint(f"[{finding.code} {finding.rule}, {severity}, {_FIX_WORDS.get(fix, fix)}]", severity)


def _repair(file: FileReport, paint: _Paint, detail: _Detail) -> Iterator[str]:
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
        noun = "place" if applied.code in _NO_KEYS else "key"
        yield f"  repaired {applied.code}: {_count(applied.keys_changed, noun)}{on}"
    if repair.handle_types:
        handles = sum(change.handles for change in repair.handle_types)
        types = handle_words(repair.handle_types)
        yield f"  type changed on {_count(handles, 'handle')} beside inserted keys: {types}"
    yield from _listed("refused", [f"{r.code} {r.data_path}: {r.why}".strip() for r in repair.refused], paint, detail)
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
        yield from _listed("changed on purpose, not measured", list(p.not_measured), paint, detail)
    if file.after is not None:
        yield f"  {_tally(file.findings)} → {_tally(file.after.findings)}{_output_words(file)}"
        serious = [f for f in file.after.findings if f.severity != NOTE]
        known = {_place(file, f) for f in file.findings}
        for title, is_known in (("still there", True), ("new", False)):
            some = [f for f in serious if (_place(file, f) in known) == is_known]
            if some:
                yield f"  {title}:"
                yield from (f"  {line}" for line in _all_findings(some, paint, detail, {}))
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


def _listed(title: str, lines: Sequence[str], paint: _Paint, detail: _Detail) -> Iterator[str]:
    every = detail == "every finding"
    for line in lines if every else lines[:MOST_LISTED]:
        yield f"  {title}: {line}"
    if len(lines) > MOST_LISTED and not every:
        more = f"{title}: and {len(lines) - MOST_LISTED:,} more: {MORE}"
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
