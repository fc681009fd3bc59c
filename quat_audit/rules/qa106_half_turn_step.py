# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighbouring quaternion keys are half a turn apart, or nearly.

## What it finds
half-turn: |dot| ≤ 1e-3, the two rotations are 180° apart and both ways are equally short. fragile: the step is
simply large (more than 120°).

## Why it matters
Blender plays such a step as the signs say. Exporters, key reducers and engines choose for themselves, and the
last bit decides: a wheel turns back, on one platform and not on the other.

## Grading
Always a note: Blender plays what was keyed.

## Fix
Unsafe: a key is inserted half-way, on the side that Blender plays now, so that no tool can choose. A zero dot
product keeps its sign; no fix of any rule turns such a step round. Held steps and a format's own slerp have no side:
no fix.

## Known limits
Steps that QA104 calls ambiguous (the long way is played) are reported there only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..clip import QUATERNION, Clip
from ..edit import insert_keys, scale_keys
from ..finding import NONE, NOTE, UNSAFE, Finding, Occurrences
from ..keys import rotation_keys, rotation_steps
from ..rotation.quaternion import norm
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import STAGE_INSERT, Limits, Rule

CODE, NAME = "QA106", "half-turn-step"

LIMITS = {
    # See QA104: within it the direction is noise.
    "half_turn_dot": 1e-3,
    # A third of a turn: reducers that merge two such steps lose the direction.
    "fragile_deg": 120.0,
}


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    size = np.abs(steps.dot)
    # The arc cosine only selects here; near a half turn (dot 0) it is as good as the arc tangent.
    large = size < np.cos(np.radians(limits["fragile_deg"]) / 2)
    which = np.flatnonzero(large)
    if not len(which):
        return []
    half = size[which] <= limits["half_turn_dot"]
    elsewhere = (steps.dot[which] < 0) & ~steps.slerp[which]
    reported = half | ~(steps.constant[which] | elsewhere)
    which, half = which[reported], half[reported]
    if not len(which):
        return []
    faults = Faults(
        subject=keys.track_of(steps.second[which]),
        frames=np.stack([keys.time[steps.first[which]], keys.time[steps.second[which]]], axis=1),
        kind=np.where(half, "half-turn", "fragile"),
        severity=np.full(len(which), NOTE),
        # A held step plays nothing, and on a slerp the format decides: a key between would be a guess.
        fix=np.where(steps.constant[which] | steps.slerp[which], NONE, UNSAFE),
        measured={
            "shortest_deg": np.degrees(2 * np.arccos(np.minimum(size[which], 1.0))),
            "dot": steps.dot[which],
        },
        rows=steps.second[which],
    )
    return findings_by_track(clip, CODE, NAME, faults, _message)


def _message(occurrences: Occurrences, worst: int) -> str:
    step = float(occurrences.measured["shortest_deg"][worst])
    if occurrences.kind[worst] == "half-turn":
        return f"a half turn ({step:.1f}°) in one step: both ways are equally short, exporters choose for themselves"
    return f"a step of {step:.1f}°: key reducers and exporters may lose its direction"


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys = rotation_keys(clip, QUATERNION)
    rows = fixable_rows(findings, unsafe)
    rows = rows[keys.aligned[keys.member[rows]]]
    steps = rotation_steps(clip, QUATERNION)
    if not len(rows):
        return clip
    first = steps.first[np.searchsorted(steps.second, rows)]
    middle = (keys.time[first] + keys.time[rows]) / 2
    curves = clip.tracks.curves[keys.track_of(rows)]
    edited = insert_keys(clip, curves.ravel(), np.repeat(middle, 4))
    # A component-wise middle is shorter than 1: give it unit length, its rotation stays.
    after = rotation_keys(edited, QUATERNION)
    new = np.flatnonzero(
        np.all(edited.curves.origin[after.key] < 0, axis=1) & after.valid & after.aligned[after.member]
    )
    key = after.key[new].ravel()
    return scale_keys(edited, key, np.repeat(1.0 / norm(after.value[new]), 4))


RULE = Rule(CODE, NAME, "a step of half a turn, or nearly", __doc__, find, fix, STAGE_INSERT, LIMITS)
