# SPDX-License-Identifier: GPL-3.0-or-later
"""A subject and settings in, findings out: find, cap, order, ignore, lock. The only place where these are put together.

The command line, the Python API and the panel all judge by `judge`, or by its form in slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError
from ..findings.finding import NONE, SEVERITIES, Finding, Severity
from ..findings.ignores import Ignore
from ..findings.report import ClipLine, Ignored, ReaderLine
from ..motion.clip import Clip
from ..pausing import in_slices
from ..rules.rule import AnyRule, Limits, Subject
from . import safety, subjects
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
    into.append(_judgement(subject, found, settings))


def _judgement(subject: Subject, found: Iterable[Finding], settings: Settings) -> Judgement:
    locked = subjects.locked_by_path(subject)
    found = list(found)
    unstorable = _unstorable(subject, found, settings)
    told = [
        _locked(f, subjects.why_locked(locked, f) or unstorable.get((f.code, f.data_path), ""))
        for f in in_order(capped(f, settings) for f in found)
    ]
    kept, ignored = _split(subjects.ignores_of(subject), told)
    return Judgement(kept, ignored, tuple(subjects.not_evaluated(subject, rules_for(subject, settings))))


def _unstorable(subject: Subject, found: Sequence[Finding], settings: Settings) -> dict[tuple[str, str], str]:
    """(code, data path) → why the file cannot hold what the fix of that finding makes of it: it is no fix then."""
    if not isinstance(subject, Clip) or subject.storage is None or not found:
        return {}
    why: dict[tuple[str, str], str] = {}
    for rule in rules_for(subject, settings):
        mine = [finding for finding in found if finding.code == rule.code]
        if mine and rule.fix is not None:
            reasons = safety.unstorable(rule, subject, mine, rule_limits(rule, settings.limits))
            why |= {(rule.code, path): reason for path, reason in reasons.items()}
    return why


def ignored_anew(judgement: Judgement, ignores: Sequence[Ignore]) -> Judgement:
    """The same judgement where other findings are to be left alone; what was judged did not change."""
    found = in_order([*judgement.findings, *(item.finding for item in judgement.ignored)])
    kept, ignored = _split(ignores, found)
    return replace(judgement, findings=kept, ignored=ignored)


def _split(ignores: Sequence[Ignore], findings: Iterable[Finding]) -> tuple[tuple[Finding, ...], tuple[Ignored, ...]]:
    """(to report, ignored with the reason); the order stays."""
    kept: list[Finding] = []
    ignored: list[Ignored] = []
    for finding in findings:
        reason = why_ignored(ignores, finding)
        if reason is None:
            kept.append(finding)
        else:
            ignored.append(Ignored(finding, reason))
    return tuple(kept), tuple(ignored)


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
    return sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), f.code, f.bone, f.data_path, f.part))


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


def _locked(finding: Finding, why: str) -> Finding:
    if not why:
        return finding
    return replace(finding, fix=NONE, occurrences=finding.occurrences.without_fix(), locked=why)


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
