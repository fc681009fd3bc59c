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
A wrap is visible (error) where a frame that is drawn between the two keys is at least 1° off the short way, latent
(warning) otherwise: no frame is drawn there, by the frames of the scene and the strips that play the action; whole
frames where no scene plays it. `undrawn_shows` = 1 (profile mocap) grades as if frames were drawn everywhere. What may
be meant is ambiguous: a warning when the two values straddle ±180° or 0°/360° (each within 45° of it, neither within
1° of a multiple of 360°) and the true step is below 45° (350 → 10), else a note (0 → 345, 376 → 132).

The numbers of a wrap come from a window of one turn, so they come back:

* A step of 360° or more on a channel is never a wrap (QA203 has it), nor is a whole number of turns. The exception is a
  capture at the ends of its window, with no frame drawn between: 180° and −180° while the pose rests, or 179.999° and
  −179.999° while it moves.
* Steps in a row that turn on in one direction by about as much, so that together they leave a window of one turn, are
  ambiguous notes: 300° or 355° a key, a rotor that speeds up. Keys on which it stands still between do not matter.
* Where a channel that would move is extrapolated linearly, or repeats with an offset, a step is ambiguous.
* Else keys at most 2 frames apart with a true step below 90° are a wrap. Sparse keys are one when the angular velocity
  of the neighboring steps makes the short way the continuous one: of both neighbors, or of one where the values
  straddle the ends of a range as above (a spin that slows down into a drift has one such neighbor too).

## Fix
Safe for wraps: the representation nearest to the key before, for the run that follows; handles move with their
key. The rotation at every key stays. Ambiguous steps are left unless unsafe fixes are asked for, and so are those that
only the equivalent triple would repair where those who play the action read it in orders with different middle axes, or
nobody tells the order.

## Known limits
Where the channels of a bone are keyed at different times, a jump is repaired only when the channels that have to move
are keyed on both sides of it; a jump of one channel across a key of another one is seen as two smaller steps. A channel
that is held and jumps (CONSTANT) pops and does not swing: its jump is no wrap. An imported .fbx is not judged:
Blender's importer makes wraps and removes them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import ERROR, NONE, NOTE, SAFE, UNSAFE, WARNING, Finding, classes
from ..motion.clip import EULER, Clip
from ..motion.keys import rotation_keys, rotation_steps
from .euler_steps import long_steps, movable_steps, nearest_representation, same_for_all
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_SIGNS, Limits, Rule
from .showing import UNDRAWN_SHOWS, shows
from .spin_or_wrap import LIMITS as STEP_LIMITS

LIMITS = {**STEP_LIMITS, "undrawn_shows": UNDRAWN_SHOWS}
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
    wrap, straddling = found.wrap, found.straddling
    movable = movable_steps(clip, keys, steps, found.which)
    # What is another rotation for some reader is tried as safe, refused, and that reader named. But not together with
    # what is safe for all: it would be refused, too.
    for_all = same_for_all(clip, keys, steps, found.which)
    sure = np.bincount(keys.member[second], wrap & movable & for_all, len(keys.tracks)) > 0
    tried = for_all | ~sure[keys.member[second]]
    shown = shows(clip, keys, steps, found.which, found.now.excess_deg, limits)
    faults = Faults(
        part=keys.track_of(second),
        frames=np.stack([keys.time[first], keys.time[second]], axis=1),
        kind=classes([wrap & shown, wrap, straddling], ["visible", "latent", "ambiguous-straddling"], "ambiguous"),
        severity=np.select([wrap & shown, wrap | straddling], [ERROR, WARNING], default=NOTE),
        fix=np.where(movable, np.where(wrap & tried, SAFE, UNSAFE), NONE),
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
