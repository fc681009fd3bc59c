# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips and rules in, findings out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..errors import InputError
from ..findings.finding import NONE, NOTE, SEVERITIES, ClipRow, Finding, Ignored
from ..motion.clip import Clip, kind_played
from ..pausing import in_steps
from ..rules import RULES, Limits, Rule
from ..skinning.skin import Motion, Skin
from ..text import Text
from .settings import Caps, Overrides

# A step of an audit takes about this long. Clips of fewer keys than this are not worth interrupting: the slowest rule
# takes less than 0.1 ms a key.
STEP_SECONDS = 0.02
KEYS_AT_ONCE = 1000


Audited = Clip | Skin


def audit_clip(
    clip: Clip, rules: Sequence[Rule] = RULES, limits: Overrides | None = None, *, caps: Caps | None = None
) -> list[Finding]:
    """All findings of some rules on one clip, without those that it ignores: worst first, then by code and place.

    `limits` overrides a rule's defaults: code → name → value. `caps` lowers severities: code → the highest.
    """
    return audit_and_split(clip, rules, limits, caps=caps)[0]


def audit_and_split(
    clip: Clip, rules: Sequence[Rule] = RULES, limits: Overrides | None = None, *, caps: Caps | None = None
) -> tuple[list[Finding], list[Ignored]]:
    """The findings to report, and those that the clip ignores; both worst first."""
    found = [finding for rule in rules for finding in capped(find(rule, clip, limits), caps)]
    return split_ignored(clip, in_order(found))


def audit_steps(
    clip: Clip, rules: Sequence[Rule] = RULES, limits: Overrides | None = None, *, caps: Caps | None = None
) -> Iterator[tuple[int, int, list[Finding]]]:
    """The same work in steps, for who has to stay responsive: (rules done, rules in all, findings of one rule).

    A rule that takes longer than `STEP_SECONDS` is interrupted: such a step has no findings. Closing the iterator ends
    the rule where it is. The findings are in no order and not yet split by what the clip ignores: `in_order`,
    `split_ignored`.
    """
    for number, rule in enumerate(rules, start=1):

        def judge(rule: Rule = rule) -> list[Finding]:
            return capped(find(rule, clip, limits), caps)

        if len(clip.curves.co) <= KEYS_AT_ONCE:
            yield number, len(rules), judge()
            continue
        for found in in_steps(judge, STEP_SECONDS):
            yield (number - 1, len(rules), []) if found is None else (number, len(rules), found)


def in_order(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first, then by code and place."""
    return sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), f.code, f.bone, f.data_path, f.subject))


def split_ignored(audited: Audited, findings: Iterable[Finding]) -> tuple[list[Finding], list[Ignored]]:
    """(to report, ignored with the reason) of the findings on a clip or a skin; the order stays."""
    kept: list[Finding] = []
    ignored: list[Ignored] = []
    for finding in findings:
        reason = why_ignored(audited, finding)
        if reason is None:
            kept.append(finding)
        else:
            ignored.append(Ignored(finding, reason))
    return kept, ignored


def why_ignored(audited: Audited, finding: Finding) -> str | None:
    """The reason of the ignore that is meant for a finding (it may be ""); None when it is to be reported."""
    code, path, slot = finding.code, finding.data_path, finding.slot
    return next((ignore.reason for ignore in audited.ignores if ignore.covers(code, path, slot)), None)


def capped(findings: list[Finding], caps: Caps | None) -> list[Finding]:
    """The findings with no severity above the cap of their rule, in their occurrences too."""
    return [_capped(finding, caps[finding.code]) if caps and finding.code in caps else finding for finding in findings]


def _capped(finding: Finding, cap: str) -> Finding:
    highest = SEVERITIES.index(cap)
    severity = finding.occurrences.severity
    lowered = np.where([SEVERITIES.index(s) > highest for s in severity.tolist()], cap, severity)
    return replace(
        finding,
        severity=SEVERITIES[min(highest, SEVERITIES.index(finding.severity))],
        occurrences=replace(finding.occurrences, severity=lowered),
    )


def find(rule: Rule, clip: Clip, limits: Overrides | None) -> list[Finding]:
    """One rule's findings, without those on tracks that it cannot judge (see `not_evaluated`)."""
    with np.errstate(all="ignore"):  # NaN and infinity are what is looked for, not an accident
        found = rule.find(clip, rule_limits(rule, limits))
    if rule.keys_only:
        return found
    if any(clip.curves.unevaluable):
        found = [finding for finding in found if not _why_unjudged(clip, finding.subject)]
    return [_as_notes(finding) if _unplayed(clip, finding.subject) else finding for finding in found]


def unfixable_where_locked(clip: Clip, findings: Iterable[Finding]) -> list[Finding]:
    """The findings as a report shows them: what must not be written (linked, locked) offers no fix, and says why."""
    locked = locked_paths(clip)
    return [
        _locked(finding, locked[finding.data_path]) if finding.data_path in locked else finding for finding in findings
    ]


def locked_paths(clip: Clip) -> dict[str, str]:
    """Data path → why it must not be written, of those that must not."""
    return {path: why for path, why in zip(clip.curves.data_path, clip.curves.read_only, strict=True) if why}


def unfixable_where_read_only(skin: Skin, findings: Iterable[Finding]) -> list[Finding]:
    """The same for a mesh whose weights must not be written."""
    return [
        _locked(finding, skin.read_only) if skin.read_only and finding.fix != NONE else finding for finding in findings
    ]


def _locked(finding: Finding, why: str) -> Finding:
    occurrences = replace(finding.occurrences, fix=np.full(len(finding.occurrences), NONE))
    return replace(finding, fix=NONE, occurrences=occurrences, message=f"{finding.message} ({why})")


def audit_skin(
    skin: Skin,
    motion: Motion,
    rules: Sequence[Rule] = RULES,
    limits: Overrides | None = None,
    *,
    caps: Caps | None = None,
) -> list[Finding]:
    """All findings of some rules on one skinned mesh over some frames, without those that it ignores.

    Worst first, then by code and joint.
    """
    return audit_skin_and_split(skin, motion, rules, limits, caps=caps)[0]


def audit_skin_and_split(
    skin: Skin,
    motion: Motion,
    rules: Sequence[Rule] = RULES,
    limits: Overrides | None = None,
    *,
    caps: Caps | None = None,
) -> tuple[list[Finding], list[Ignored]]:
    """The findings to report, and those that the mesh ignores; both worst first."""
    found = [f for rule in rules for f in capped(find_in_skin(rule, skin, motion, limits), caps)]
    return split_ignored(skin, in_order(found))


def audit_skin_steps(
    skin: Skin,
    motion: Motion,
    rules: Sequence[Rule] = RULES,
    limits: Overrides | None = None,
    *,
    caps: Caps | None = None,
) -> Iterator[tuple[int, int, list[Finding]]]:
    """The same work in steps, as `audit_steps`."""
    for number, rule in enumerate(rules, start=1):

        def judge(rule: Rule = rule) -> list[Finding]:
            return capped(find_in_skin(rule, skin, motion, limits), caps)

        for found in in_steps(judge, STEP_SECONDS) if rule.find_skin is not None else [[]]:
            yield (number - 1, len(rules), []) if found is None else (number, len(rules), found)


def skin_not_evaluated(skin: Skin) -> list[tuple[str, str]]:
    """(what, why) for everything about a skin that could not be judged."""
    rows = list(skin.not_evaluated)
    if skin.blocking:
        rows.append((skin.mesh, Text("what shows of its deformation is not measured, for the reasons given")))
    return rows


def find_in_skin(rule: Rule, skin: Skin, motion: Motion, limits: Overrides | None) -> list[Finding]:
    """One rule's findings; none from rules about positions where those cannot be computed (`Skin.blocking`)."""
    if rule.find_skin is None or (skin.blocking and not rule.keys_only):
        return []
    with np.errstate(all="ignore"):
        return rule.find_skin(skin, motion, rule_limits(rule, limits))


def _unplayed(clip: Clip, track: int) -> bool:
    """Nobody's rotation mode plays the track (QA301 says so): what is wrong with its motion does not show."""
    modes = clip.tracks.modes[track]
    kind = clip.tracks.kind[track]
    return bool(clip.users and modes) and all(kind_played(mode) != kind for mode in modes)


def _as_notes(finding: Finding) -> Finding:
    occurrences = replace(finding.occurrences, severity=np.full(len(finding.occurrences), NOTE))
    return replace(finding, severity=NOTE, occurrences=occurrences)


def rule_limits(rule: Rule, overrides: Overrides | None) -> Limits:
    """A rule's limits with overrides; InputError for an unknown name."""
    own = dict((overrides or {}).get(rule.code, {}))
    unknown = sorted(set(own) - set(rule.limits))
    if unknown:
        raise InputError(f"{rule.code} has no limit {unknown[0]!r}; it has: {', '.join(rule.limits) or 'none'}")
    return {**rule.limits, **own}


def _why_unjudged(clip: Clip, track: int) -> str:
    curves = clip.tracks.curves[track]
    return next((clip.curves.unevaluable[c] for c in curves if c >= 0 and clip.curves.unevaluable[c]), "")


def not_evaluated(clip: Clip) -> list[tuple[str, str]]:
    """(what, why) for everything in a clip that could not be judged: not evaluated is not passed."""
    rows = list(clip.not_evaluated)
    if any(clip.curves.unevaluable):
        for track, path in enumerate(clip.tracks.data_path):
            why = _why_unjudged(clip, track)
            if why:
                unmeasured = Text("what plays between the keys is not measured: {why}", {"why": why})
                rows.append((f"{clip.action}: {path}", unmeasured))
    return rows


def clip_row(clip: Clip) -> ClipRow:
    """A clip's line in the report."""
    return ClipRow(
        action=clip.action,
        slot=clip.slot,
        owner=clip.owner,
        frame_range=clip.frame_range,
        frame_rate=clip.frame_rate,
        tracks=len(clip.tracks),
        keys=len(clip.curves.co),
    )
