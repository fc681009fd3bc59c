# SPDX-License-Identifier: GPL-3.0-or-later
"""Straight lines of Euler angles take a detour between two keys.

## What it finds
Steps on which straight lines of the three angles turn the pose by at least 10° more than the shortest way, and by one
and a half times as much. No other representation of the second key is nearer (that is QA201): the order of the axes
alone makes the detour, the more so the nearer the middle angle is to ±90°. What handles and easing add is QA403.

## Why it matters
The hand swings out on its way from one pose to the other. Nothing is wrong with either key, so nobody finds the cause.

## Grading
visible (warning): a frame drawn between the two keys is 1° or more off the short way. latent (note): none is.
`undrawn_shows` = 1 grades as if frames were drawn everywhere.

## Fix
Unsafe, since it changes what plays between the keys: keys on the short way (slerp) are inserted, 30° apart and closer
where the angles would still swing out. Handles of that step are laid straight. Where the short way ends in another
representation of the second key, the keys from there on take it too; every keyed rotation stays.

## Known limits
The keys are exact for one order of axes: where several objects play the action in different orders, only one of them
goes the short way. A bone that does this all the time is better in another order, or in quaternions.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import NONE, NOTE, UNSAFE, WARNING, Finding, classes
from ..motion.clip import EULER, Clip
from ..motion.keys import rotation_keys, rotation_steps
from ..motion.sweep import sweep, to_rotation
from ..rotation.quaternion import angle_between
from .detours import straight_deg
from .euler_steps import long_steps
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_INSERT, ROUND_DEG, Limits, Rule
from .showing import UNDRAWN_SHOWS, shows
from .slerp_keys import insert_slerp_keys, keyed_together
from .spin_or_wrap import LIMITS as STEP_LIMITS

LIMITS = {
    "visible_deg": 1.0,
    # Keys without a frame drawn between them show nothing but motion blur.
    "undrawn_shows": UNDRAWN_SHOWS,
    # Less is within what an animator corrects by eye without noticing.
    "longer_deg": 10.0,
    # Euler angles are always a little longer; half as much again looks like another way.
    "longer_share": 0.5,
    # What travels more is a spin: QA203.
    "spin_deg": 180.0,
}
SENTENCES = ("the order of the axes takes it {swept_deg:.1f}° round where {shortest_deg:.1f}° suffices",)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    # A rotation travels no more than its three angles do together.
    travel = np.degrees(np.abs(keys.value[steps.second] - keys.value[steps.first]).sum(axis=1))
    least, share = limits["longer_deg"] - ROUND_DEG, limits["longer_share"]
    which = np.flatnonzero((travel >= least) & ~steps.constant & (steps.gap_frames > 0))
    first, second = steps.first[which], steps.second[which]
    shortest = np.degrees(angle_between(*(to_rotation(clip, keys, keys.value[row], first) for row in (first, second))))
    longest = np.maximum(shortest + least, (1.0 + share) * shortest)
    which, longest = which[travel[which] >= longest], longest[travel[which] >= longest]
    straight = straight_deg(clip, keys, steps, which)
    which, longest, straight = (x[straight >= longest] for x in (which, longest, straight))
    if not len(which):
        return []
    swing = sweep(clip, keys, steps, which)
    # Handles can lead round the detour, too.
    swept = np.minimum(swing.swept_deg, straight)
    chosen = (swept >= longest) & (swing.swept_deg <= limits["spin_deg"] + ROUND_DEG)
    chosen &= ~np.isin(which, long_steps(clip, STEP_LIMITS).which)
    which, swept, shortest = which[chosen], swept[chosen], swing.shortest_deg[chosen]
    visible = shows(clip, keys, steps, which, swept - shortest, limits)
    faults = Faults(
        part=keys.track_of(steps.second[which]),
        frames=np.stack([keys.time[steps.first[which]], keys.time[steps.second[which]]], axis=1),
        kind=classes([visible], ["visible"], "latent"),
        severity=np.where(visible, WARNING, NOTE),
        fix=np.where(keyed_together(clip, keys, steps.second[which]), UNSAFE, NONE),
        measured={"excess_deg": swept - shortest, "swept_deg": swept, "shortest_deg": shortest},
        rows=steps.second[which],
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    return insert_slerp_keys(clip, EULER, fixable_rows(findings, unsafe))


RULE: Rule[Clip] = Rule(
    code="QA204",
    name="long-way-round",
    short="detour",
    summary="straight lines of Euler angles take a detour between two keys",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "visible",
        "latent",
    ),
    leading="swept_deg",
    limits=LIMITS,
    phase=PHASE_INSERT,
    remedy="Adds keys on the short way between the two keys; what plays between them changes, the two poses stay.",
)
