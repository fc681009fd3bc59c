# SPDX-License-Identifier: GPL-3.0-or-later
"""A subject and settings in, findings out: find, cap, lock, ignore, group, order. They are put together here only.

The command line, the Python API and the panel all judge by `judge`, or by its form in slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..findings.finding import SAFE, SEVERITIES, Finding, Severity
from ..findings.ignores import Ignore
from ..findings.report import ClipLine, Ignored, ReaderLine
from ..motion.clip import Clip
from ..pausing import in_slices
from ..rules.rule import AnyRule, Limits, Subject
from . import noise, safety, subjects
from .readings import find_as_read
from .settings import DEFAULT, Overrides, Settings

# A slice of an audit takes about this long.
SLICE_SECONDS = 0.02


@dataclass(frozen=True)
class Judgement:
    """What is said of one subject.

    Attributes:
        findings: to report, worst first. What must not be written offers no fix, and says why.
        ignored: what somebody wants to keep as it is, worst first.
        not_evaluated: (what, why) of what could not be judged: not evaluated is not passed.
    """

    findings: tuple[Finding, ...]
    ignored: tuple[Ignored, ...]
    not_evaluated: tuple[tuple[str, str], ...]


def judge(subject: Subject, settings: Settings = DEFAULT) -> Judgement:
    """All that the settings' rules find in a clip, or in a skin in its motion."""
    found = [f for rule in rules_for(subject, settings) for f in find(rule, subject, settings.limits)]
    return _judgement(subject, found, settings)


def judge_in_slices(subject: Subject, settings: Settings, into: list[Judgement]) -> Iterator[float]:
    """Judge in slices, to stay responsive: yields the share that is done; the judgement goes to `into` at the end.

    A rule that takes longer than `SLICE_SECONDS` is interrupted. Closing the iterator ends the rule where it is.
    """
    rules = rules_for(subject, settings)
    found: list[Finding] = []
    for number, rule in enumerate(rules):

        def one(rule: AnyRule = rule) -> list[Finding]:
            return find(rule, subject, settings.limits)

        if subjects.small(subject):
            found += one()
        else:
            for some in in_slices(one, SLICE_SECONDS):
                if some is not None:
                    found += some
                elif number < len(rules):
                    yield number / len(rules)
        yield (number + 1) / len(rules)
    if subjects.small(subject):
        into.append(_judgement(subject, found, settings))
        return
    for judged in in_slices(lambda: _judgement(subject, found, settings), SLICE_SECONDS):
        if judged is not None:
            into.append(judged)
        else:
            yield 1.0


def _judgement(subject: Subject, found: Iterable[Finding], settings: Settings) -> Judgement:
    found = _usable(subject, list(found), settings)
    by_path = subjects.locked_by_path(subject)
    unstorable = _unstorable(subject, found, settings)
    mind = {rule.code for rule in settings.rules if rule.minds_locks}
    told = [
        subjects.locked(unstorable.get(f.code, {}) | ({} if f.code in mind else by_path), capped(f, settings))[0]
        for f in found
    ]
    kept, ignored = _split(subjects.ignores_of(subject), told)
    return Judgement(kept, ignored, tuple(subjects.not_evaluated(subject, rules_for(subject, settings))))


def _usable(subject: Subject, found: list[Finding], settings: Settings) -> list[Finding]:
    """The findings, without a fix where it would do nothing: neither now, nor after the safe ones that run before it.

    A sign flip on a rotation that lacks a component is repaired once that is completed, if it is.
    """
    if not isinstance(subject, Clip):
        return found
    useless: set[int] = set()
    for rule in rules_for(subject, settings):
        mine = [finding for finding in found if finding.code == rule.code and finding.fix == SAFE]
        idle = safety.idle(rule, subject, mine, rule_limits(rule, settings.limits)) if mine else []
        if idle:
            stuck = _stuck(rule, subject, settings)
            useless |= {id(finding) for finding in idle if finding.data_path in stuck}
    return [safety.without_use(finding) if id(finding) in useless else finding for finding in found]


def _stuck(rule: AnyRule, clip: Clip, settings: Settings) -> set[str]:
    """The data paths on which a rule cannot repair safely what it finds once all rules before it have repaired."""
    for other in sorted(rules_for(clip, settings), key=lambda rule: (rule.phase, rule.code)):
        if other.phase < rule.phase and other.fix is not None:
            safe = [finding for finding in find(other, clip, settings.limits) if finding.fix == SAFE]
            clip = safety.fixed(other, clip, safe, rule_limits(other, settings.limits), unsafe=False) if safe else clip
    left = find(rule, clip, settings.limits)
    idle = {f.data_path for f in safety.idle(rule, clip, left, rule_limits(rule, settings.limits))}
    return idle | {finding.data_path for finding in left if finding.fix != SAFE}


def _unstorable(subject: Subject, found: Sequence[Finding], settings: Settings) -> dict[str, dict[str, str]]:
    """Code → data path → why the file cannot hold what the fix of that finding makes of it: it is no fix then."""
    if not isinstance(subject, Clip) or subject.storage is None or not found:
        return {}
    why: dict[str, dict[str, str]] = {}
    for rule in rules_for(subject, settings):
        mine = [finding for finding in found if finding.code == rule.code]
        if mine and rule.fix is not None:
            why[rule.code] = safety.unstorable(rule, subject, mine, rule_limits(rule, settings.limits))
    return why


def ignored_anew(judgement: Judgement, ignores: Sequence[Ignore]) -> Judgement:
    """The same judgement of a skin where other findings are to be left alone; what was judged did not change."""
    found = [*judgement.findings, *(item.finding for item in judgement.ignored)]
    assert not any(finding.data_path == noise.DATA_PATH for finding in found), "a group does not come apart"
    kept, ignored = _split(ignores, found)
    return replace(judgement, findings=kept, ignored=ignored)


def _split(ignores: Sequence[Ignore], findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Ignored, ...]]:
    """(to report, ignored with the reason), each worst first; what does not show is grouped."""
    kept: list[Finding] = []
    ignored: list[Ignored] = []
    slight: dict[str, list[Finding]] = {}
    for finding in findings:
        reason = why_ignored(ignores, finding)
        if reason is not None:
            ignored.append(Ignored(finding, reason))
        elif noise.is_noise(finding):
            slight.setdefault(finding.code, []).append(finding)
        else:
            kept.append(finding)
    for members in slight.values():
        group = noise.grouped(in_order(members))
        reason = why_ignored(ignores, group)
        if reason is not None:
            ignored.append(Ignored(group, reason))
        else:
            kept.append(group if len(members) > 1 else members[0])
    by_place = sorted(ignored, key=lambda item: _place(item.finding))
    return tuple(in_order(kept)), tuple(by_place)


def left_alone(ignores: Sequence[Ignore], findings: Sequence[Finding], settings: Settings) -> list[bool]:
    """Of each finding of one rule whether it is ignored: by itself, or with the group that it is reported in."""
    alone = [why_ignored(ignores, finding) is not None for finding in findings]
    if not any(ignore.data_path == noise.DATA_PATH for ignore in ignores):
        return alone
    rest = [capped(f, settings) for f, ignored in zip(findings, alone, strict=True) if not ignored]
    members = in_order(f for f in rest if noise.is_noise(f))
    if not members or why_ignored(ignores, noise.grouped(members)) is None:
        return alone
    return [ignored or noise.is_noise(capped(f, settings)) for f, ignored in zip(findings, alone, strict=True)]


def reported_as(finding: Finding, settings: Settings) -> set[tuple[str, str]]:
    """The (code, data path) by which a report may name a finding: its own, and that of the group it may be in."""
    group = {(finding.code, noise.DATA_PATH)} if noise.is_noise(capped(finding, settings)) else set()
    return {(finding.code, finding.data_path), *group}


def rules_for(subject: Subject, settings: Settings) -> list[AnyRule]:
    """The rules of some settings that judge such a subject, in their order."""
    about = subjects.about(subject)
    return [rule for rule in settings.rules if rule.judges == about]


def find(rule: AnyRule, subject: Subject, limits: Overrides | None = None) -> list[Finding]:
    """One rule's findings, graded for who plays the subject; neither capped nor split by what is ignored."""
    if rule.judges != subjects.about(subject) or subjects.blocked(rule, subject):
        return []
    with np.errstate(all="ignore"):  # NaN and infinity are what is looked for, not an accident
        own = rule_limits(rule, limits)
        found = find_as_read(rule, subject, own) if isinstance(subject, Clip) else rule.find(subject, own)
    found = subjects.as_played(rule, subject, found)
    return safety.trial(rule, subject, found, own) if isinstance(subject, Clip) else found


def rule_limits(rule: AnyRule, overrides: Overrides | None) -> Limits:
    """A rule's limits with overrides. InputError for a name that is none of them."""
    own = dict((overrides or {}).get(rule.code, {}))
    unknown = sorted(set(own) - set(rule.limits))
    if unknown:
        raise InputError(f"{rule.code} has no limit {unknown[0]!r}; it has: {', '.join(rule.limits) or 'none'}")
    return {**rule.limits, **own}


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first, then by code and place."""
    return sorted(findings, key=_place)


def _place(finding: Finding) -> tuple[int, str, str, str, int]:
    return -SEVERITIES.index(finding.severity), finding.code, finding.bone, finding.data_path, finding.part


def why_ignored(ignores: Sequence[Ignore], finding: Finding) -> str | None:
    """The reason of the ignore that is meant for a finding (it may be ""); None when it is to be reported."""
    return next((ignore.reason for ignore in ignores if ignore.covers(finding)), None)


def capped(finding: Finding, settings: Settings) -> Finding:
    """The finding with no severity above the cap of its rule, in its occurrences too."""
    cap: Severity | None = (settings.caps or {}).get(finding.code)
    if cap is None:
        return finding
    severity = SEVERITIES[min(SEVERITIES.index(cap), SEVERITIES.index(finding.severity))]
    return replace(finding, severity=severity, occurrences=finding.occurrences.capped(cap))


def clip_line(clip: Clip) -> ClipLine:
    """A clip's line in the report."""
    return ClipLine(
        action=clip.action,
        slot=clip.slot,
        owner=clip.owner,
        frame_range=clip.frame_range,
        frame_rate=clip.frame_rate,
        tracks=len(clip.tracks),
        keys=len(clip.curves.co),
        readers=tuple(ReaderLine(r.owner, r.route, r.by, r.words, r.muted, r.linked, r.mixed) for r in clip.readers),
    )
