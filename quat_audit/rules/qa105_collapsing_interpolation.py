# SPDX-License-Identifier: GPL-3.0-or-later
"""Between two quaternion keys the interpolant nearly vanishes.

## What it finds
Steps on which the length of the component-wise interpolant falls below 0.1 although the signs of the keys are
right (QA104 has the others): handles or easing equations that drive the components through zero.

## Why it matters
Blender normalizes what is left: near zero length the pose races through half a turn or more within a frame.

## Grading
error when at least 1° more than necessary is traveled over more than one frame, else a note.

## Fix
Unsafe, since it changes what plays between the keys: keys on the slerp are inserted, close enough that no step
can collapse, and the handles of that step are laid straight.

## Known limits
The length is sampled at 32 places of each step whose handles or easing leave the keys' own range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Ints
from ..findings.finding import ERROR, NOTE, UNSAFE, Finding, classes
from ..motion.clip import BEZIER, QUATERNION, SLERP, Clip
from ..motion.keys import Keys, Steps, rotation_keys, rotation_steps
from ..motion.sweep import SAMPLES, played_values, step_blocks, sweep
from ..rotation.quaternion import norm
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_INSERT, Limits, Rule
from .slerp_keys import insert_slerp_keys

LIMITS = {
    # Keys 120° apart in one hemisphere meet at half length; a fifth of that is no plain blend of two keys.
    "norm_floor": 0.1,
    "visible_deg": 1.0,
    "half_turn_dot": 1e-3,
    "latent_gap_frames": 1.0,
}
# With handles this close to their keys in every component, a step between unit keys in one hemisphere is
# never shorter than sqrt(½) − 2 × 0.3 > 0.1: it need not be sampled.
HARMLESS_HANDLE = 0.3

SENTENCES = (
    "the interpolation collapses (length {least_norm:.3f}): swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    which = _candidates(clip, keys, steps, limits)
    if not len(which):
        return []
    fractions = np.linspace(0.0, 1.0, SAMPLES + 1)[1:-1]
    least = np.empty(len(which))
    for block in step_blocks(len(which), SAMPLES):
        least[block] = norm(played_values(clip, keys, steps, which[block], fractions)).min(axis=1)
    low = least < limits["norm_floor"]
    which, least = which[low], least[low]
    if not len(which):
        return []
    swing = sweep(clip, keys, steps, which)
    visible = (swing.excess_deg >= limits["visible_deg"]) & (
        steps.gap_frames[which] > limits["latent_gap_frames"] * (1 + 1e-4)
    )
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


def _candidates(clip: Clip, keys: Keys, steps: Steps, limits: Limits) -> Ints:
    """Steps that could collapse: far handles or an easing equation, or keys much shorter than 1."""
    curves = clip.curves
    with np.errstate(invalid="ignore"):
        far = np.abs(curves.handle_left[:, 1] - curves.co[:, 1]) > HARMLESS_HANDLE
        far |= np.abs(curves.handle_right[:, 1] - curves.co[:, 1]) > HARMLESS_HANDLE
    far &= bool((curves.interpolation == BEZIER).any())
    far |= (curves.interpolation > BEZIER) & (curves.interpolation < SLERP)
    short = keys.valid & (keys.norm < 0.95)
    if not far.any() and not short.any():
        return np.zeros(0, dtype=np.int64)
    row = (far[keys.key] & (keys.key >= 0)).any(axis=1) | short
    # A component without a key at the row leaves room for anything.
    row |= ~keys.aligned[keys.member] & far.any()
    possible = (row[steps.first] | row[steps.second]) & ~steps.constant & ~steps.slerp
    return np.flatnonzero(possible & (steps.dot >= -limits["half_turn_dot"]))


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    return insert_slerp_keys(clip, fixable_rows(findings, unsafe))


RULE: Rule[Clip] = Rule(
    code="QA105",
    name="collapsing-interpolation",
    short="collapse",
    summary="the interpolant between two keys nearly vanishes",
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
