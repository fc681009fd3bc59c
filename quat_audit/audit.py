# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips and rules in, findings out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from .clip import Clip, kind_played
from .finding import NOTE, SEVERITIES, ClipRow, Finding
from .rules import RULES, Limits, Rule
from .skinning.skin import Motion, Skin

Overrides = Mapping[str, Limits]


def audit_clip(clip: Clip, rules: Sequence[Rule] = RULES, limits: Overrides | None = None) -> list[Finding]:
    """All findings of some rules on one clip: worst first, then by code and place.

    `limits` overrides a rule's defaults: code → name → value.
    """
    found = [finding for rule in rules for finding in find(rule, clip, limits)]
    return sorted(found, key=lambda f: (-SEVERITIES.index(f.severity), f.code, f.bone, f.data_path, f.subject))


def find(rule: Rule, clip: Clip, limits: Overrides | None) -> list[Finding]:
    """One rule's findings, without those on tracks that it cannot judge (see `not_evaluated`)."""
    with np.errstate(all="ignore"):  # NaN and infinity are what is looked for, not an accident
        found = rule.find(clip, rule_limits(rule, limits))
    if rule.keys_only:
        return found
    if any(clip.curves.unevaluable):
        found = [finding for finding in found if not _why_unjudged(clip, finding.subject)]
    return [_as_notes(finding) if _unplayed(clip, finding.subject) else finding for finding in found]


def audit_skin(
    skin: Skin, motion: Motion, rules: Sequence[Rule] = RULES, limits: Overrides | None = None
) -> list[Finding]:
    """All findings of some rules on one skinned mesh over some frames: worst first, then by code and joint."""
    found = [finding for rule in rules for finding in find_in_skin(rule, skin, motion, limits)]
    return sorted(found, key=lambda f: (-SEVERITIES.index(f.severity), f.code, f.bone))


def skin_not_evaluated(skin: Skin) -> list[tuple[str, str]]:
    """(what, why) for everything about a skin that could not be judged."""
    rows = list(skin.not_evaluated)
    if skin.blocking:
        rows.append((skin.mesh, "what shows of its deformation is not measured, for the reasons given"))
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
    """A rule's limits with overrides; an unknown name is an error (ValueError)."""
    own = dict((overrides or {}).get(rule.code, {}))
    unknown = sorted(set(own) - set(rule.limits))
    if unknown:
        raise ValueError(f"{rule.code} has no limit {unknown[0]!r}; it has: {', '.join(rule.limits) or 'none'}")
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
                rows.append((f"{clip.action}: {path}", f"what plays between the keys is not measured: {why}"))
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
