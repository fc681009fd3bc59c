# SPDX-License-Identifier: GPL-3.0-or-later
"""Axis-angle keys jump to another representation of nearly the same rotation.

## What it finds
Neighboring axis-angle keys between which far more is traveled than necessary because another representation of the
second is closer to the first: the angle with whole turns added (350° → 10°), the axis the other way with the angle
negated, or, where an angle is 0, another axis: at 0° the axis means nothing and is often left as it was.

## Why it matters
Blender evaluates the angle and the three parts of the axis each by itself and normalizes the axis afterwards. From
350° to 10° it plays 340° backwards. An axis that changes its side passes through zero and turns over within a moment:
the rotation goes one way first, jumps, and comes back. An axis that is swung from an arbitrary one adds a tumble.
Exporters write what is played.

## Grading
visible (error): a frame that is drawn between the two keys is at least 1° off the short way. latent (warning): none is
drawn there, by the frames of the scene and the strips that play the action; whole frames where no scene plays it.
`undrawn_shows` = 1 (profile mocap) grades as if frames were drawn everywhere. harmless (note): the keys are held
(CONSTANT), nothing plays between. What may be meant is ambiguous: a warning when the two angles straddle ±180° or
0°/360° (each within 45° of it, neither within 1° of a multiple of 360°) and the true step is below 45°, else a note.

Whole turns on one axis are told from spins as in QA201: a step of 360° or more is none, steps in a row that turn on in
one direction are ambiguous, and so is what is extrapolated linearly or repeats with an offset. Keys at most 2 frames
apart with a true step below 90° are a wrap, sparse ones where the neighboring steps make the short way the continuous
one. An axis that turns over is no spin: ambiguous only where the poses are more than 120° apart.

## Fix
Safe for all but ambiguous: the representation nearest to the key before, for the run that follows; handles move with
their key. A key of 0° takes the axis of the key beside it that makes the way shorter, with level handles. The rotation
at every key stays.

## Known limits
Where the components are keyed at different times the track is not evaluated. Where parts of the axis have no keys of
their own only whole turns can be repaired. Between two keys about different axes a key of 0° can have one axis only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..findings.finding import ERROR, NONE, NOTE, SAFE, UNSAFE, WARNING, Finding, classes, has_class
from ..motion.clip import AXIS_ANGLE, Clip
from ..motion.drawn import offset_deg
from ..motion.edit import map_keys
from ..motion.keys import Keys, Steps, keyed_together, rotation_keys, rotation_steps
from ..motion.sweep import Sweep, sweep
from ..rotation import axis_angle
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_SIGNS, ROUND_DEG, Limits, Rule
from .showing import UNDRAWN_SHOWS, shows
from .spin_or_wrap import LIMITS as STEP_LIMITS
from .spin_or_wrap import goes_on_outside, is_meant, spin_or_wrap

LIMITS = {
    **STEP_LIMITS,
    # As QA104: an animator keys at most a third of a turn per key when the direction matters.
    "ambiguous_deg": 120.0,
    "undrawn_shows": UNDRAWN_SHOWS,
}

SWINGS, TUMBLES, TURNS_OVER, HELD, MEANT = range(5)
SENTENCES = (
    "swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices",
    "swings {swept_deg:.1f}° where {nearest_deg:.1f}° suffices: the axis of a key of 0° means nothing",
    "the axis turns over on the way: {offset_deg:.1f}° off the short way",
    "held keys of another representation (a step of {shortest_deg:.1f}°); nothing plays between",
    "swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices: meant?",
)


class Nearest(NamedTuple):
    """The nearest representation of all keys.

    Attributes:
        value: (N, 4) values of the rows, the axis of some that turn nothing taken from a neighbor (`retaken` (N,)).
        sign, turns: (S,) what makes the second row of each step nearest to its first one (`axis_angle.moved`).
    """

    value: Floats
    retaken: Bools
    sign: Floats
    turns: Floats

    def changes(self, steps: Steps) -> Bools:
        """(S,) something on the step is not as it was."""
        retaken = self.retaken[steps.first] | self.retaken[steps.second]
        return np.asarray((self.sign < 0.0) | (self.turns != 0.0) | retaken)


@dataclass(frozen=True, eq=False)
class Detours:
    """P steps that take a detour; `wrap`: for sure; `straddling`: not for sure, but the angles look like one.

    `safe`: it can be repaired without those that are not for sure. `turns_over`: the axis changes its side. `tumbles`:
    all that is wrong is the axis of a key that turns nothing.
    """

    which: Ints
    wrap: Bools
    straddling: Bools
    safe: Bools
    turns_over: Bools
    tumbles: Bools
    movable: Bools
    now: Sweep
    nearest_deg: Floats
    offset_deg: Floats


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, AXIS_ANGLE), rotation_steps(clip, AXIS_ANGLE)
    if not len(steps.first):
        return []
    found = _detours(clip, keys, steps, limits)
    which = found.which
    if not len(which):
        return []
    first, second = steps.first[which], steps.second[which]
    held = steps.constant[which]
    shown = shows(clip, keys, steps, which, found.now.excess_deg, limits)
    kind = classes(
        [held, found.wrap & shown, found.wrap, found.straddling],
        ["harmless", "visible", "latent", "ambiguous-straddling"],
        "ambiguous",
    )
    warned = has_class(kind, "latent") | has_class(kind, "ambiguous-straddling")
    longer = found.now.swept_deg - found.nearest_deg >= limits["visible_deg"]
    faults = Faults(
        part=keys.track_of(second),
        frames=np.stack([keys.time[first], keys.time[second]], axis=1),
        kind=kind,
        severity=np.select([has_class(kind, "visible"), warned], [ERROR, WARNING], default=NOTE),
        fix=np.where(found.movable, np.where(found.safe, SAFE, UNSAFE), NONE),
        measured={
            "excess_deg": found.now.excess_deg,
            "swept_deg": found.now.swept_deg,
            "shortest_deg": found.now.shortest_deg,
            "nearest_deg": found.nearest_deg,
            "offset_deg": found.offset_deg,
        },
        rows=second,
        sentence=np.select(
            [held, found.turns_over & ~longer, ~found.wrap, found.tumbles],
            [HELD, TURNS_OVER, MEANT, TUMBLES],
            default=SWINGS,
        ),
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys, steps = rotation_keys(clip, AXIS_ANGLE), rotation_steps(clip, AXIS_ANGLE)
    chosen = np.isin(steps.second, fixable_rows(findings, unsafe))
    return _take(clip, keys, steps, _nearest(clip, keys, steps, chosen, limits)) if chosen.any() else clip


def _detours(clip: Clip, keys: Keys, steps: Steps, limits: Limits) -> Detours:
    together = keyed_together(clip, keys)
    judged = together[keys.member[steps.first]] & (steps.gap_frames > 0)
    nearest = _nearest(clip, keys, steps, judged, limits)
    which = np.flatnonzero(nearest.changes(steps) & judged)
    movable = _movable(keys, steps, nearest, which)
    now = sweep(clip, keys, steps, which)
    # Measured on the clip with every candidate changed; where that cannot be written, on the straight way.
    edited = _take(clip, keys, steps, nearest)
    then_deg = sweep(edited, rotation_keys(edited, AXIS_ANGLE), steps, which).swept_deg
    a, b = nearest.value[steps.first[which]], nearest.value[steps.second[which]]
    straight = np.degrees(axis_angle.straight_length(a, axis_angle.moved(b, nearest.sign[which], nearest.turns[which])))
    as_keyed = keys.value[steps.first[which]], keys.value[steps.second[which]]
    then_deg = np.where(movable & ~steps.constant[which], then_deg, straight)
    now_deg = np.where(steps.constant[which], np.degrees(axis_angle.straight_length(*as_keyed)), now.swept_deg)
    longer = now_deg - then_deg >= limits["visible_deg"]
    longer &= steps.constant[which] | (now.excess_deg >= limits["visible_deg"])
    off = offset_deg(clip, keys, steps, which)
    turns_over = nearest.sign[which] < 0.0
    kept = longer | (turns_over & ~steps.constant[which] & (off >= limits["visible_deg"] - ROUND_DEG))
    which, movable, now, off, then_deg = which[kept], movable[kept], now.at(kept), off[kept], then_deg[kept]
    wrap, straddling = _sure(clip, keys, steps, nearest, which, now, limits)
    tumbles = ~turns_over[kept] & (nearest.turns[which] == 0.0)
    safe = _done_alone(clip, keys, steps, which, wrap & movable, limits)
    return Detours(which, wrap, straddling, safe, turns_over[kept], tumbles, movable, now, then_deg, off)


def _nearest(clip: Clip, keys: Keys, steps: Steps, chosen: Bools, limits: Limits) -> Nearest:
    """The nearest representation where only what lies on the `chosen` steps (S,) may change."""
    angles = replace(keys, value=keys.value[:, :1])
    delta = angles.value[steps.second] - angles.value[steps.first]
    asked = np.flatnonzero(chosen)
    outside = goes_on_outside(clip, keys, steps, asked, np.ones((len(asked), 1), dtype=bool))
    turning = chosen.copy()
    turning[asked] = ~is_meant(clip, angles, steps, delta, asked, outside, limits)
    # Rows that are no rotation are passed over: these are the others, side by side.
    rows = np.flatnonzero(keys.valid)
    step_of = np.full(len(keys.time), -1)
    step_of[steps.second] = np.arange(len(steps.second))
    step = step_of[rows]
    touched = np.zeros(len(keys.time), dtype=bool)
    touched[steps.first[chosen]] = touched[steps.second[chosen]] = True
    may = touched & keys.aligned[keys.member]

    def way(at: Ints, a: Floats, b: Floats) -> Floats:
        turned = turning[step[at]]
        near = b.copy()
        near[turned] = axis_angle.moved(b[turned], *axis_angle.nearest_step(a[turned], b[turned]))
        return np.where(steps.constant[step[at]], 0.0, axis_angle.straight_length(a, near))

    value = keys.value.copy()
    enough = np.radians(limits["visible_deg"])
    value[rows] = axis_angle.with_axes(keys.value[rows], step < 0, may[rows], way, enough)
    sign, turns = np.ones(len(chosen)), np.zeros(len(chosen))
    sign[turning], turns[turning] = axis_angle.nearest_step(value[steps.first[turning]], value[steps.second[turning]])
    return Nearest(value, np.any(value != keys.value, axis=1) & keys.valid, sign, turns)


def _movable(keys: Keys, steps: Steps, nearest: Nearest, which: Ints) -> Bools:
    """(P,) the components that the nearest representation changes have keys of their own."""
    axis_too = nearest.sign[which] < 0.0
    angle = np.all(keys.key[:, :1][np.stack([steps.first[which], steps.second[which]])] >= 0, axis=(0, 2))
    return np.asarray(angle & (~axis_too | keys.aligned[keys.member[steps.first[which]]]))


def _take(clip: Clip, keys: Keys, steps: Steps, nearest: Nearest) -> Clip:
    """The clip with the nearest representation, wherever it can be written."""
    movable = np.flatnonzero(nearest.changes(steps))
    movable = movable[_movable(keys, steps, nearest, movable)]
    rows = np.flatnonzero(keys.valid)
    starts = np.ones(len(keys.time), dtype=bool)
    starts[steps.second] = False
    sign, turns = np.ones(len(keys.time)), np.zeros(len(keys.time))
    sign[steps.second[movable]], turns[steps.second[movable]] = nearest.sign[movable], nearest.turns[movable]
    sign[rows], turns[rows] = axis_angle.along(sign[rows], turns[rows], starts[rows])
    factor = np.repeat(sign[:, None], 4, axis=1)
    offset = np.zeros(factor.shape)
    offset[:, 0] = axis_angle.TURN * turns
    # A new axis, and level handles: how the old one came and went means nothing.
    factor[nearest.retaken, 1:] = 0.0
    offset[nearest.retaken, 1:] = (sign[:, None] * nearest.value[:, 1:])[nearest.retaken]
    changed = ((factor != 1.0) | (offset != 0.0)) & (keys.key >= 0)
    if not changed.any():
        return clip
    return map_keys(clip, keys.key[changed], factor[changed], offset[changed])


def _sure(
    clip: Clip, keys: Keys, steps: Steps, nearest: Nearest, which: Ints, now: Sweep, limits: Limits
) -> tuple[Bools, Bools]:
    """(P,) and (P,): nothing can be meant by the detour; what may be looks like a wrap all the same."""
    first, second = steps.first[which], steps.second[which]
    angles = replace(keys, value=keys.value[:, :1])
    delta = angles.value[steps.second] - angles.value[steps.first]
    delta[nearest.sign < 0.0] = np.nan  # what the angle does while the axis turns over says nothing
    sign, turns = nearest.sign[which], nearest.turns[which]
    over, retaken = sign < 0.0, nearest.retaken[first] | nearest.retaken[second]
    moved = np.stack([over | (turns != 0.0), *[over | retaken] * 3], axis=1)
    outside = goes_on_outside(clip, keys, steps, which, moved)
    wrap = ~over | (now.shortest_deg <= limits["ambiguous_deg"] - ROUND_DEG)
    straddling = np.zeros(len(which), dtype=bool)
    turn = np.flatnonzero(~over & (turns != 0.0))
    short = delta[which[turn]] + axis_angle.TURN * turns[turn, None]
    wrap[turn], straddling[turn] = spin_or_wrap(
        clip, angles, steps, delta, which[turn], now.at(turn), short, np.ones_like(short), limits
    )
    return np.asarray(wrap & ~outside), np.asarray(straddling & ~wrap)


def _done_alone(clip: Clip, keys: Keys, steps: Steps, which: Ints, sure: Bools, limits: Limits) -> Bools:
    """(P,) which of the sure steps change when nothing but those that do is repaired."""
    while sure.any():
        chosen = np.zeros(len(steps.first), dtype=bool)
        chosen[which[sure]] = True
        left = sure & _nearest(clip, keys, steps, chosen, limits).changes(steps)[which]
        if np.array_equal(left, sure):
            break
        sure = left
    return sure


RULE: Rule[Clip] = Rule(
    code="QA205",
    name="axis-angle-detour",
    short="axis",
    summary="axis-angle keys jump to another representation",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "harmless",
        "visible",
        "latent",
        "ambiguous-straddling",
        "ambiguous",
    ),
    leading="swept_deg",
    limits=LIMITS,
    phase=PHASE_SIGNS,
    remedy="Takes the angle and axis nearest to the key before; every keyed pose and turns that may be meant stay.",
    outcome="{keys} keys brought near on {bones} bones",
)
