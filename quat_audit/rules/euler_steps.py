# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Euler steps take the long way, why, and what the nearest representation would be (QA201, QA203).

Spin or wrap: the numbers of a wrap come from a window of one turn, so they come back.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import CONSTANT, CYCLE_REPEAT_OFFSET, EULER, Clip
from ..motion.drawn import drawn_between
from ..motion.edit import map_keys
from ..motion.keys import Keys, Steps, held_components, rotation_keys, rotation_steps
from ..motion.readers import shares_middle_axis
from ..motion.sweep import SAMPLES, Sweep, path_length, sweep, to_rotation
from ..rotation.quaternion import hemisphere_signs
from .rule import ROUND_DEG, Limits

TURN = 2.0 * np.pi
# Radians below which two representations count as equally near (float32 at ten turns: 4e-6).
EQUALLY_NEAR = 1e-5
# Degrees by which float32 and the digits of a text file blur a turn.
NOISE_DEG = 1e-3
# What share of the angles that the equivalent triple would save whole turns must save to be taken in its place.
MOST_OF_IT = 0.5
# Radians a frame below which a step holds, however slow the step beside it is.
HOLDS = 1e-6

LIMITS = {
    "visible_deg": 1.0,
    # Two frames: what a bake or capture at half the rate leaves.
    "dense_gap_frames": 2.0,
    # Nothing turns by a quarter turn between two dense keys and comes back in the numbers by accident.
    "dense_true_step_deg": 90.0,
    # The numbers of a wrap come from a window of one turn, so no two of them are a turn apart: that far is meant. But
    # the ends of the window, ±180°, are the same pose, and a capture at rest may write either of them.
    "window_deg": 360.0,
    # A rotor that speeds up from key to key is at most twice as fast at the next; the steps of two wraps, both from
    # half a turn to a whole one, are alike, too, but never both in one direction: the window would be left.
    "like_size_share": 0.5,
    # A sparse step that crosses the ends of the usual ranges with a small true step looks like a wrap.
    "straddle_deg": 45.0,
    # People type 0 and 360; what comes within a degree of that was meant as a turn.
    "multiple_of_turn_deg": 1.0,
    # A neighbor slower than a tenth of the short way is drift or settling: it says nothing about the step.
    "moving_share": 0.1,
    # The neighbor's speed is at least twice as near to the short way's as to the way that is played.
    "nearer_share": 0.5,
    # Speeds are alike when one is at most three times the other: an ease in or out between neighboring keys.
    "speed_change_share": 2.0 / 3.0,
}


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
    toggle, turns = _nearest(clip, keys, steps, which)
    nearer = toggle | np.any(turns != 0, axis=1)
    which, moved = which[nearer], (toggle[:, None] | (turns != 0))[nearer]
    spin = _keeps_turning(keys, steps, delta, which, limits)
    meant = spin | _goes_on_outside(clip, keys, steps, which, moved)
    flicker = _flickers(clip, keys, steps, delta, which, limits) & ~meant
    kept = flicker | ~whole_turn(delta[which], limits)
    which, spin, meant, flicker = which[kept], spin[kept], meant[kept], flicker[kept]
    now = sweep(clip, keys, steps, which)
    # Measured on the clip with every candidate taken to its nearest representation; where that cannot be written
    # (channels keyed apart), on the straight line to it.
    nearest = nearest_representation(clip, keys, steps, which)
    then_deg = sweep(nearest, rotation_keys(nearest, EULER), steps, which).swept_deg
    stuck = np.flatnonzero(~movable_steps(clip, keys, steps, which))
    then_deg[stuck] = _straight_deg(clip, keys, steps, which[stuck])
    longer = (now.swept_deg - then_deg >= limits["visible_deg"]) & (now.excess_deg >= limits["visible_deg"])
    which, spin, meant, flicker = which[longer], spin[longer], meant[longer], flicker[longer]
    now = Sweep(now.swept_deg[longer], now.shortest_deg[longer], now.excess_deg[longer])
    dense = flicker | (steps.gap_frames[which] <= limits["dense_gap_frames"] * (1 + 1e-4))
    dense &= now.swept_deg - now.excess_deg < limits["dense_true_step_deg"] - ROUND_DEG
    straddling = _straddles(keys, steps, delta, which, now.shortest_deg, limits)
    # A spin that ends in a slow drift has one such neighbor too: one is enough only where the values look like a wrap.
    continuous = _continuous_the_short_way(clip, keys, steps, delta, which, limits) >= np.where(straddling, 1, 2)
    wrap = (dense | continuous) & ~meant
    return LongSteps(which, wrap, straddling & ~spin & ~wrap, now, then_deg[longer])


def whole_turn(delta: Floats, limits: Limits) -> Bools:
    """(P,) some channel of a step (P, 3), radians, moves by a whole turn or more: that is no wrap."""
    return np.asarray(np.degrees(np.abs(delta)).max(axis=1, initial=0.0) >= limits["window_deg"] - ROUND_DEG)


def _flickers(clip: Clip, keys: Keys, steps: Steps, delta: Floats, which: Ints, limits: Limits) -> Bools:
    """(P,) channels only change from one end of the window ±180° to the other, and no frame is drawn between.

    Where they stand inside the window the others may move meanwhile; at its very ends, exactly a turn apart, all rest.
    """
    first, second = steps.first[which], steps.second[which]
    turned = np.degrees(np.abs(delta[which]))
    far = turned >= limits["window_deg"] - ROUND_DEG
    values = np.degrees(np.abs(np.stack([keys.value[first], keys.value[second]])))
    at_ends = np.all(values <= limits["window_deg"] / 2 + ROUND_DEG, axis=0)
    at_rest = np.all(np.abs(turned - limits["window_deg"] * far) <= ROUND_DEG, axis=1)
    inside = turned < limits["window_deg"] - NOISE_DEG
    flicker = np.any(far, axis=1) & np.all(~far | (at_ends & (inside | at_rest[:, None])), axis=1)
    asked = np.flatnonzero(flicker)
    flicker[asked] = ~drawn_between(clip, keys.time[first[asked]], keys.time[second[asked]])
    return np.asarray(flicker)


def _keeps_turning(keys: Keys, steps: Steps, delta: Floats, which: Ints, limits: Limits) -> Bools:
    """(P,) the step before or after, holds aside, moves a channel on in the same direction by about as much.

    Together they leave a window of one turn, so the numbers do not come back as those of a wrap do.
    """
    result = np.zeros(len(which), dtype=bool)
    for axis in range(3):
        long = np.flatnonzero(np.abs(delta[which, axis]) > np.pi)
        if not len(long):
            continue
        step = delta[which[long], axis]
        moves = np.degrees(np.abs(delta[:, axis])) > ROUND_DEG
        for beside in _steps_beside(moves, keys.member[steps.first]):
            at = beside[which[long]]
            other = np.where(at < 0, 0.0, delta[at, axis]) * np.sign(step)
            low, high = np.minimum(other, np.abs(step)), np.maximum(other, np.abs(step))
            leaves = np.degrees(low + high) > limits["window_deg"] + ROUND_DEG
            result[long] |= leaves & (low >= limits["like_size_share"] * high)
    return result


def _steps_beside(moves: Bools, track: Ints) -> tuple[Ints, Ints]:
    """(S,) and (S,) the nearest step before and after each that moves, within its track; -1: there is none."""
    number, none = np.arange(len(moves)), np.full(1, -1)
    before = np.maximum.accumulate(np.where(moves, number, -1))
    before = np.concatenate([none, before[:-1]])
    after = np.minimum.accumulate(np.where(moves, number, len(moves))[::-1])[::-1]
    after = np.concatenate([np.where(after < len(moves), after, -1)[1:], none])
    return np.where(track[before] == track, before, -1), np.where(track[after] == track, after, -1)


def _goes_on_outside(clip: Clip, keys: Keys, steps: Steps, which: Ints, moved: Bools) -> Bools:
    """(P,) a channel that would be `moved` (P, 3) is extrapolated linearly or repeats with an offset: it turns on."""
    goes_on = np.append(clip.curves.linear_extrapolation, False)  # the last one stands for "no curve"
    for curve, cycles in enumerate(clip.curves.cycles):
        goes_on[curve] |= cycles is not None and CYCLE_REPEAT_OFFSET in (cycles.mode_before, cycles.mode_after)
    return np.asarray(np.any(moved & goes_on[clip.tracks.curves[keys.track_of(steps.second[which]), :3]], axis=1))


def _axes(clip: Clip, keys: Keys, rows: Ints) -> Ints:
    """(P, 3) axis numbers in the order that each row's angles are applied in."""
    table = np.array([["XYZ".index(a) for a in order] for order in clip.tracks.order], dtype=np.int64).reshape(-1, 3)
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


def _continuous_the_short_way(clip: Clip, keys: Keys, steps: Steps, delta: Floats, which: Ints, limits: Limits) -> Ints:
    """(P,) how many neighboring steps (0 to 2) say by their angular velocity that the short way is meant.

    A neighbor that holds says nothing: an intended spin starts and ends at rest. Every neighbor that moves
    (`moving_share`) must turn the same way, at a speed like that of the short way (`speed_change_share`) and clearly
    nearer to it than to the way that is played (`nearer_share`); or else none counts.
    """
    toggle, turns = _nearest(clip, keys, steps, which)
    first, second = steps.first[which], steps.second[which]
    axes = _axes(clip, keys, second)
    gap = steps.gap_frames[which, None]
    b = keys.value[second]
    near = np.where(toggle[:, None], _equivalent(b, axes), b) + TURN * turns
    near = np.where(held_components(clip, keys, first), keys.value[first], near)
    short, long = (near - keys.value[first]) / gap, delta[which] / gap
    short_speed = np.linalg.norm(short, axis=1)
    candidate = np.zeros(len(steps.first) + 2, dtype=bool)
    candidate[which + 1] = True
    says_yes, says_no = np.zeros(len(which), dtype=np.int64), np.zeros(len(which), dtype=bool)
    for shift in (-1, 1):
        beside = which + shift
        inside = (beside >= 0) & (beside < len(steps.first)) & ~candidate[beside + 1]
        beside = np.where(inside, beside, 0)
        joined = steps.second[beside] == first if shift < 0 else steps.first[beside] == second
        usable = inside & joined & (steps.gap_frames[beside] > 0)
        with np.errstate(all="ignore"):
            speed = delta[beside] / steps.gap_frames[beside, None]
        mirrored = speed.copy()
        if shift > 0:  # the run that follows is seen in its new representation
            sign = np.ones_like(speed)
            np.put_along_axis(sign, axes[:, 1:2], np.where(toggle, -1.0, 1.0)[:, None], axis=1)
            mirrored = speed * sign
        size = np.linalg.norm(mirrored, axis=1)
        moves = usable & (size > limits["moving_share"] * short_speed) & (size > HOLDS)
        change = np.linalg.norm(short - mirrored, axis=1)
        nearer = change < limits["nearer_share"] * np.linalg.norm(long - speed, axis=1)
        alike = change <= limits["speed_change_share"] * np.maximum(short_speed, size)
        agrees = nearer & alike & (np.einsum("ij,ij->i", short, mirrored) > 0)
        says_yes += moves & agrees
        says_no |= moves & ~agrees
    return np.where(says_no, 0, says_yes)


def _straddles(keys: Keys, steps: Steps, delta: Floats, which: Ints, shortest_deg: Floats, limits: Limits) -> Bools:
    """(P,) values on both sides of ±180° or of 0°/360° with a small true step, as 350° → 10°."""
    a, b = np.degrees(keys.value[steps.first[which]]), np.degrees(keys.value[steps.second[which]])
    axis = np.abs(delta[which]).argmax(axis=1)[:, None]
    pair = np.concatenate([np.take_along_axis(x, axis, axis=1) for x in (a, b)], axis=1)
    low, high = pair.min(axis=1), pair.max(axis=1)
    near = limits["straddle_deg"]
    straddling = np.zeros(len(which), dtype=bool)
    for below, above in ((-180.0, 180.0), (0.0, 360.0), (-360.0, 0.0)):
        straddling |= (np.abs(low - below) <= near) & (np.abs(high - above) <= near)
    off_turn = np.abs(pair - 360.0 * np.round(pair / 360.0)).min(axis=1)
    off_turn = off_turn > limits["multiple_of_turn_deg"] + ROUND_DEG
    return np.asarray(straddling & off_turn & (shortest_deg < near - ROUND_DEG))


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
    middle = _axes(clip, keys, rows[taken])[:, 1:2]
    offset[taken] += np.pi
    factor_taken = factor[taken]
    np.put_along_axis(factor_taken, middle, -1.0, axis=1)
    factor[taken] = factor_taken
    moved = ((offset != 0) | (factor != 1)) & (keys.key >= 0)
    return map_keys(clip, keys.key[moved], factor[moved], offset[moved])


def movable_steps(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Bools:
    """(P,) the step's channels that have to move are keyed at both ends (an equivalent triple moves all)."""
    toggle, turns = _nearest(clip, keys, steps, which)
    keyed = (keys.key[steps.first[which]] >= 0) & (keys.key[steps.second[which]] >= 0)
    whole_rows = np.ones(len(keys.tracks), dtype=bool)
    whole_rows[keys.member[np.any(keys.key < 0, axis=1)]] = False
    return np.asarray(np.all(keyed | (turns == 0), axis=1) & (~toggle | whole_rows[keys.member[steps.second[which]]]))
