# SPDX-License-Identifier: GPL-3.0-or-later
"""Euler angles jump to another representation of nearly the same rotation.

## What it finds
Neighboring keys whose played rotation is far longer than the shortest one because another representation is
closer: ±360° on an axis, or the equivalent triple (first + 180°, 180° − middle, last + 180°) in the bone's own
order, for all six orders. Single channels and two-key curves too.

## Why it matters
Between 179° and −179° Blender plays 358° backwards. Blender's own Euler filter misses equivalent triples, changes
keyed poses in four of the six orders, and unwinds spins that were meant.

## Grading
Keys at most 2 frames apart with a true step below 90° are a wrap: visible (error) when more than one frame
apart, latent (warning) otherwise. Sparse keys are a wrap when the angular velocity of the neighboring steps
makes the short way the continuous one: of both neighbors, or of one where the values straddle the ends of a range
as below (a spin that slows down into a drift has one such neighbor too). Otherwise the step is ambiguous: a
warning when the two values straddle ±180° or 0°/360° (each within 45° of it, neither within 1° of a multiple of
360°) and the true step is below 45° (350 → 10), else a note (0 → 345, 376 → 132). A whole number of turns about one
axis is never a wrap.

## Fix
Safe for wraps: the representation nearest to the key before, for the run that follows; handles move with their
key. The rotation at every key stays. Ambiguous steps are left unless unsafe fixes are asked for.

## Known limits
Where the channels of a bone are keyed at different times, a jump is repaired only when the channels that have to move
are keyed on both sides of it; a jump of one channel across a key of another one is seen as two smaller steps.
An imported .fbx is not judged: Blender's importer makes wraps and removes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import ERROR, NONE, NOTE, SAFE, UNSAFE, WARNING, Finding, has_class
from ..motion.clip import EULER, Clip
from ..motion.keys import rotation_keys, rotation_steps
from .euler_steps import LIMITS, long_steps, movable_steps, nearest_representation
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_SIGNS, Limits, Rule

WRAPS, MEANT = range(2)
SENTENCES = (
    "swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices",
    "swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices: meant?",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    found = long_steps(clip, limits)
    if not len(found.which):
        return []
    first, second = steps.first[found.which], steps.second[found.which]
    wrap = np.isin(found.kind, ("visible", "latent"))
    faults = Faults(
        part=keys.track_of(second),
        frames=np.stack([keys.time[first], keys.time[second]], axis=1),
        kind=found.kind,
        severity=np.select(
            [has_class(found.kind, "visible"), ~has_class(found.kind, "ambiguous")], [ERROR, WARNING], default=NOTE
        ),
        fix=np.where(movable_steps(clip, keys, steps, found.which), np.where(wrap, SAFE, UNSAFE), NONE),
        measured={
            "excess_deg": found.now.excess_deg,
            "swept_deg": found.now.swept_deg,
            "shortest_deg": found.now.shortest_deg,
            "nearest_deg": found.nearest_deg,
        },
        rows=second,
        sentence=np.where(wrap, WRAPS, MEANT),
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    rows = fixable_rows(findings, unsafe)
    return nearest_representation(clip, keys, steps, np.flatnonzero(np.isin(steps.second, rows)))


RULE: Rule[Clip] = Rule(
    code="QA201",
    name="euler-wraparound",
    short="wrap",
    summary="Euler angles jump to another representation",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "visible",
        "latent",
        "ambiguous-straddling",
        "ambiguous",
    ),
    leading="swept_deg",
    whole_turns=True,
    limits=LIMITS,
    phase=PHASE_SIGNS,
    remedy="Takes the angles nearest to the key before; every keyed pose stays, and so do turns that may be meant.",
    outcome="{keys} keys unwrapped on {bones} bones",
)
