# SPDX-License-Identifier: GPL-3.0-or-later
"""Between two quaternion keys the interpolant collapses.

## What it finds
Steps on which the length of the component-wise interpolant falls below √½ of the shorter key's and that travel at
least 1° more than they need to. No straight blend of two keys in one hemisphere gets that short: handles or easing
equations drive the components through zero. One key's handles that were left behind when the key was negated take it
to 1/9. Sign flips are QA104.

## Why it matters
Blender normalizes what is left: the shorter it is, the faster the pose turns, and it comes out on the far side. A
step of 20° swings by 160° and back.

## Grading
visible (error): a frame drawn between the two keys is 1° or more off the short way. latent (note): none is.
`undrawn_shows` = 1 (profile mocap) grades as if frames were drawn everywhere.

## Fix
Unsafe, since it changes what plays between the keys: keys on the slerp are inserted, close enough that no step
can collapse, and the handles of that step are laid straight.

## Known limits
The length is sampled at 31 places of each step whose handles or easing leave the straight line between the keys.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import ERROR, NOTE, UNSAFE, Finding, classes
from ..motion.clip import QUATERNION, Clip
from ..motion.keys import rotation_keys, rotation_steps
from ..motion.sweep import sweep
from .detours import COLLAPSE_LIMITS, collapsing
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_INSERT, Limits, Rule
from .showing import shows
from .slerp_keys import insert_slerp_keys

LIMITS = dict(COLLAPSE_LIMITS)
SENTENCES = (
    "the interpolation collapses (length {least_norm:.3f}): swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    which, least = collapsing(clip, limits)
    if not len(which):
        return []
    swing = sweep(clip, keys, steps, which)
    visible = shows(clip, keys, steps, which, swing.excess_deg, limits)
    faults = Faults(
        part=keys.track_of(steps.second[which]),
        frames=np.stack([keys.time[steps.first[which]], keys.time[steps.second[which]]], axis=1),
        kind=classes([visible], ["visible"], "latent"),
        severity=np.where(visible, ERROR, NOTE),
        fix=np.full(len(which), UNSAFE),
        measured={
            "excess_deg": swing.excess_deg,
            "swept_deg": swing.swept_deg,
            "shortest_deg": swing.shortest_deg,
            "least_norm": least,
        },
        rows=steps.second[which],
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    return insert_slerp_keys(clip, QUATERNION, fixable_rows(findings, unsafe))


RULE: Rule[Clip] = Rule(
    code="QA105",
    name="collapsing-interpolation",
    short="collapse",
    summary="handles or easing take the interpolant between two keys through zero",
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
