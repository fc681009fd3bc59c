# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Euler steps take the long way, why, and what the nearest representation would be (QA201, QA203)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import CONSTANT, EULER, Clip
from ..motion.edit import map_keys
from ..motion.keys import Keys, Steps, held_components, rotation_keys, rotation_steps
from ..motion.readers import shares_middle_axis
from ..motion.sweep import SAMPLES, Sweep, sweep, to_rotation
from ..rotation.quaternion import hemisphere_signs, path_length
from .rule import Limits
from .spin_or_wrap import LIMITS, goes_on_outside, is_meant, spin_or_wrap

TURN = 2.0 * np.pi
# Radians below which two representations count as equally near (float32 at ten turns: 4e-6).
EQUALLY_NEAR = 1e-5
# What share of the angles that the equivalent triple would save whole turns must save to be taken in its place.
MOST_OF_IT = 0.5


@dataclass(frozen=True, eq=False)
class LongSteps:
    """P steps on which another representation is nearer and the way played is longer for it.

    `which` are their numbers within the steps. `wrap` is whether they are wraps for sure; `straddling` those that are
    none for sure whose values look like one. `nearest_deg` is what would be travelled to the nearest representation.
    """

    which: Ints
    wrap: Bools
    straddling: Bools
    now: Sweep
    nearest_deg: Floats


def long_steps(clip: Clip, limits: Limits) -> LongSteps:
    """Classify the Euler steps of a clip; computed once a clip and set of limits."""
    name = f"long_steps:{[limits[name] for name in LIMITS]}"
    if name not in clip.cache:
        clip.cache[name] = _long_steps(clip, limits)
    found: LongSteps = clip.cache[name]
    return found


def travelled_angles(clip: Clip, keys: Keys, steps: Steps) -> Floats:
    """(S, 3) by how much each channel moves in each step; a channel that holds and jumps at its end does not move."""
    delta = keys.value[steps.second] - keys.value[steps.first]
    if bool((clip.curves.interpolation == CONSTANT).any()):
        delta[held_components(clip, keys, steps.first)] = 0.0
    return delta


def _long_steps(clip: Clip, limits: Limits) -> LongSteps:
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    delta = travelled_angles(clip, keys, steps)
    which = np.flatnonzero(np.abs(delta).max(axis=1, initial=0.0) > np.pi / 2)
    which = which[~steps.constant[which] & (steps.gap_frames[which] > 0)]
    if not len(which):  # most clips: no Euler keys, or none that jump
        none = np.zeros(0)
        return LongSteps(which, none > 0, none > 0, Sweep(none, none, none), none)
    toggle, turns = _nearest(clip, keys, steps, which)
    nearer = toggle | np.any(turns != 0, axis=1)
    which, moved = which[nearer], (toggle[:, None] | (turns != 0))[nearer]
    outside = goes_on_outside(clip, keys, steps, which, moved)
    kept = ~is_meant(clip, keys, steps, delta, which, outside, limits)
    which, outside = which[kept], outside[kept]
    now = sweep(clip, keys, steps, which)
    # Measured on the clip with every candidate taken to its nearest representation; where that cannot be written
    # (channels keyed apart), on the straight line to it.
    nearest = nearest_representation(clip, keys, steps, which)
    then_deg = sweep(nearest, rotation_keys(nearest, EULER), steps, which).swept_deg
    stuck = np.flatnonzero(~movable_steps(clip, keys, steps, which))
    then_deg[stuck] = _straight_deg(clip, keys, steps, which[stuck])
    longer = (now.swept_deg - then_deg >= limits["visible_deg"]) & (now.excess_deg >= limits["visible_deg"])
    which, outside, now = which[longer], outside[longer], now.at(longer)
    short, sign = _short_way(clip, keys, steps, which)
    wrap, straddling = spin_or_wrap(clip, keys, steps, delta, which, now, short, sign, limits)
    wrap &= ~outside
    return LongSteps(which, wrap, straddling & ~wrap, now, then_deg[longer])


def _axes(clip: Clip, keys: Keys, rows: Ints) -> Ints:
    """(P, 3) axis numbers in the order that each row's angles are applied in."""
    if "axes" not in clip.cache:
        found = [["XYZ".index(axis) for axis in order] for order in clip.tracks.order]
        clip.cache["axes"] = np.array(found, dtype=np.int64).reshape(-1, 3)
    table: Ints = clip.cache["axes"]
    return table[keys.track_of(rows)]


def _turns_to_near(delta: Floats) -> Floats:
    """Whole turns to add so that the difference is within ±180°; exactly ±180° is left as it is."""
    size = np.abs(delta) / TURN
    return np.asarray(-np.sign(delta) * np.maximum(np.ceil(size - 0.5 - EQUALLY_NEAR), 0.0))


def _equivalent(value: Floats, axes: Ints) -> Floats:
    """The other triple of the same rotation: first + 180°, 180° − middle, last + 180°."""
    result = value + np.pi
    middle = axes[:, 1:2]
    np.put_along_axis(result, middle, np.pi - np.take_along_axis(value, middle, axis=1), axis=1)
    return result


def _nearest(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> tuple[Bools, Floats]:
    """(P,) take the equivalent triple?, (P, 3) whole turns to add to it: the nearest to the step's first key."""
    first, second = steps.first[which], steps.second[which]
    a, b = keys.value[first], keys.value[second]
    # What holds is at the first key's value until it jumps, wherever to: it makes no way longer.
    moves = ~held_components(clip, keys, first)
    plain = np.where(moves, _turns_to_near(b - a), 0.0)
    other_b = _equivalent(b, _axes(clip, keys, second))
    other = _turns_to_near(other_b - a)
    plain_size = np.abs(b - a + TURN * plain).sum(axis=1, where=moves)
    other_size = np.abs(other_b - a + TURN * other).sum(axis=1, where=moves)
    size = np.abs(b - a).sum(axis=1, where=moves)
    # A triple that is another rotation for somebody is no safe repair: whole turns that do most of it come first.
    turns_do = size - plain_size > MOST_OF_IT * (size - other_size)
    complete = np.all(clip.tracks.curves[keys.track_of(second), :3] >= 0, axis=1)  # it moves all three channels
    toggle = complete & (other_size < plain_size - EQUALLY_NEAR)
    toggle &= shares_middle_axis(clip)[keys.track_of(second)] | ~turns_do
    turns = np.where(toggle[:, None], other, plain)
    absent = clip.tracks.curves[keys.track_of(second), :3] < 0
    return toggle, np.where(absent, 0.0, turns)


def same_for_all(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Bools:
    """(P,) the nearest representation is the same rotation for all who play the track.

    Whole turns are; the equivalent triple only in orders of one middle axis.
    """
    toggle, _ = _nearest(clip, keys, steps, which)
    return np.asarray(~toggle | shares_middle_axis(clip)[keys.track_of(steps.second[which])])


def _straight_deg(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """(P,) degrees travelled if the angles ran straight to the nearest representation of the second key."""
    toggle, turns = _nearest(clip, keys, steps, which)
    first, second = steps.first[which], steps.second[which]
    a, b = keys.value[first], keys.value[second]
    near = np.where(toggle[:, None], _equivalent(b, _axes(clip, keys, second)), b) + TURN * turns
    near = np.where(held_components(clip, keys, first), a, near)
    part = np.linspace(0.0, 1.0, SAMPLES + 1)[:, None]
    return np.degrees(path_length(to_rotation(clip, keys, a[:, None] + part * (near - a)[:, None], first)))


def _short_way(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> tuple[Floats, Floats]:
    """(P, 3) by how much the channels move to the nearest representation, (P, 3) how it turns the run that follows."""
    toggle, turns = _nearest(clip, keys, steps, which)
    first, second = steps.first[which], steps.second[which]
    axes = _axes(clip, keys, second)
    b = keys.value[second]
    near = np.where(toggle[:, None], _equivalent(b, axes), b) + TURN * turns
    near = np.where(held_components(clip, keys, first), keys.value[first], near)
    sign = np.ones_like(near)
    np.put_along_axis(sign, axes[:, 1:2], np.where(toggle, -1.0, 1.0)[:, None], axis=1)
    return near - keys.value[first], sign


def nearest_representation(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Clip:
    """At each of the steps take the representation nearest to the key before it, for the run that follows.

    Only whole turns are added, and the equivalent triple is taken or left, so that every key's rotation stays;
    handles move with their key. Steps that are not `movable_steps` are left.
    """
    which = which[movable_steps(clip, keys, steps, which)]
    if not len(which):
        return clip
    # The measurement of all candidates and the repair of them are usually the same edit.
    name = ("nearest", which.tobytes())
    if name not in clip.cache:
        clip.cache[name] = _take_nearest(clip, keys, steps, which)
    edited: Clip = clip.cache[name]
    return edited


def _take_nearest(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Clip:
    toggle, _ = _nearest(clip, keys, steps, which)
    count = len(keys.time)
    flip, starts = np.zeros(count, dtype=bool), np.zeros(count, dtype=bool)
    flip[steps.second[which]] = toggle
    starts[keys.offsets[:-1][np.diff(keys.offsets) > 0]] = True
    taken = hemisphere_signs(flip, starts) < 0
    rows = np.arange(count)
    value = keys.value.copy()
    value[taken] = _equivalent(value[taken], _axes(clip, keys, rows[taken]))
    turns = np.zeros((count, 3))
    present = clip.tracks.curves[keys.track_of(steps.second[which]), :3] >= 0
    jumps = held_components(clip, keys, steps.first[which]) & ~toggle[:, None]
    turns[steps.second[which]] = np.where(
        present & ~jumps, _turns_to_near(value[steps.second[which]] - value[steps.first[which]]), 0.0
    )
    total = np.cumsum(turns, axis=0)
    total -= total[keys.offsets[:-1][keys.member]] - turns[keys.offsets[:-1][keys.member]]
    offset, factor = TURN * total, np.ones((count, 3))
    moved = offset != 0
    if taken.any():
        middle = _axes(clip, keys, rows[taken])[:, 1:2]
        offset[taken] += np.pi
        factor_taken = factor[taken]
        np.put_along_axis(factor_taken, middle, -1.0, axis=1)
        factor[taken] = factor_taken
        moved |= (offset != 0) | (factor != 1)
    moved &= keys.key >= 0
    return map_keys(clip, keys.key[moved], factor[moved], offset[moved])


def movable_steps(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Bools:
    """(P,) the step's channels that have to move are keyed at both ends (an equivalent triple moves all)."""
    toggle, turns = _nearest(clip, keys, steps, which)
    keyed = (keys.key[steps.first[which]] >= 0) & (keys.key[steps.second[which]] >= 0)
    whole_rows = np.ones(len(keys.tracks), dtype=bool)
    whole_rows[keys.member[np.any(keys.key < 0, axis=1)]] = False
    return np.asarray(np.all(keyed | (turns == 0), axis=1) & (~toggle | whole_rows[keys.member[steps.second[which]]]))
