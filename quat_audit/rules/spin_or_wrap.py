# SPDX-License-Identifier: GPL-3.0-or-later
"""Is a step of angles a spin that is meant, or a wrap? For Euler angles and for the angle about an axis (QA201, QA205).

The numbers of a wrap come from a window of one turn, so they come back. `keys.value` and `delta` hold the n channels
that can turn, in radians: three Euler angles, or the one angle about an axis.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import CYCLE_REPEAT_OFFSET, Clip
from ..motion.drawn import drawn_between
from ..motion.keys import Keys, Steps
from ..motion.sweep import Sweep
from .rule import ROUND_DEG, Limits

# Degrees by which float32 and the digits of a text file blur a turn.
NOISE_DEG = 1e-3
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


def spin_or_wrap(
    clip: Clip,
    keys: Keys,
    steps: Steps,
    delta: Floats,
    which: Ints,
    now: Sweep,
    short: Floats,
    sign: Floats,
    limits: Limits,
) -> tuple[Bools, Bools]:
    """(P,) and (P,) of the steps `which`: a wrap for sure; no spin for sure, and its values look like a wrap.

    Args:
        delta: (S, n) by how much each channel moves in each step of the clip.
        now: what the steps `which` travel.
        short: (P, n) by how much the channels would move the short way.
        sign: (P, n) what the run that follows is multiplied by in its new representation.
    """
    spin = keeps_turning(keys, steps, delta, which, limits)
    dense = steps.gap_frames[which] <= limits["dense_gap_frames"] * (1 + 1e-4)
    dense |= is_flicker(clip, keys, steps, delta, which, limits)
    dense &= now.swept_deg - now.excess_deg < limits["dense_true_step_deg"] - ROUND_DEG
    straddling = straddles(keys, steps, delta, which, now.shortest_deg, limits)
    # A spin that ends in a slow drift has one such neighbor too: one is enough only where the values look like a wrap.
    agreeing = agreeing_neighbors(steps, delta, which, short, sign, limits)
    wrap = (dense | (agreeing >= np.where(straddling, 1, 2))) & ~spin
    return np.asarray(wrap), np.asarray(straddling & ~spin)


def is_meant(clip: Clip, keys: Keys, steps: Steps, delta: Floats, which: Ints, outside: Bools, limits: Limits) -> Bools:
    """(P,) the step turns by a whole turn or more, so it is no wrap, but for a flicker of what turns no further.

    `outside` (P,): what moves there goes on outside of the keys (`goes_on_outside`).
    """
    flicker = is_flicker(clip, keys, steps, delta, which, limits)
    flicker &= ~outside & ~keeps_turning(keys, steps, delta, which, limits)
    return np.asarray(is_whole_turn(delta[which], limits) & ~flicker)


def is_whole_turn(delta: Floats, limits: Limits) -> Bools:
    """(P,) some channel of a step (P, n), radians, moves by a whole turn or more: that is no wrap."""
    return np.asarray(np.degrees(np.abs(delta)).max(axis=1, initial=0.0) >= limits["window_deg"] - ROUND_DEG)


def is_flicker(clip: Clip, keys: Keys, steps: Steps, delta: Floats, which: Ints, limits: Limits) -> Bools:
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


def keeps_turning(keys: Keys, steps: Steps, delta: Floats, which: Ints, limits: Limits) -> Bools:
    """(P,) the step before or after, holds aside, moves a channel on in the same direction by about as much.

    Together they leave a window of one turn, so the numbers do not come back as those of a wrap do.
    """
    result = np.zeros(len(which), dtype=bool)
    for axis in range(delta.shape[1]):
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


def goes_on_outside(clip: Clip, keys: Keys, steps: Steps, which: Ints, moved: Bools) -> Bools:
    """(P,) a channel that would be `moved` (P, n) is extrapolated linearly or repeats with an offset: it turns on."""
    goes_on = np.append(clip.curves.linear_extrapolation, False)  # the last one stands for "no curve"
    for curve, cycles in enumerate(clip.curves.cycles):
        goes_on[curve] |= cycles is not None and CYCLE_REPEAT_OFFSET in (cycles.mode_before, cycles.mode_after)
    curves = clip.tracks.curves[keys.track_of(steps.second[which]), : moved.shape[1]]
    return np.asarray(np.any(moved & goes_on[curves], axis=1))


def agreeing_neighbors(steps: Steps, delta: Floats, which: Ints, short: Floats, sign: Floats, limits: Limits) -> Ints:
    """(P,) how many neighboring steps (0 to 2) have an angular velocity that goes on the short way.

    `delta` (S, n) is by how much each channel moves in each step, `short` (P, n) by how much on the short way, `sign`
    (P, n) what the run that follows is multiplied by in its new representation.

    A neighbor that holds says nothing: an intended spin starts and ends at rest. Every neighbor that moves
    (`moving_share`) must turn the same way, at a speed like that of the short way (`speed_change_share`) and clearly
    nearer to it than to the way that is played (`nearer_share`); or else none counts.
    """
    first, second = steps.first[which], steps.second[which]
    gap = steps.gap_frames[which, None]
    short, long = short / gap, delta[which] / gap
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
        # The run that follows is seen in its new representation.
        mirrored = speed * sign if shift > 0 else speed
        size = np.linalg.norm(mirrored, axis=1)
        moves = usable & (size > limits["moving_share"] * short_speed) & (size > HOLDS)
        change = np.linalg.norm(short - mirrored, axis=1)
        nearer = change < limits["nearer_share"] * np.linalg.norm(long - speed, axis=1)
        alike = change <= limits["speed_change_share"] * np.maximum(short_speed, size)
        agrees = nearer & alike & (np.einsum("ij,ij->i", short, mirrored) > 0)
        says_yes += moves & agrees
        says_no |= moves & ~agrees
    return np.where(says_no, 0, says_yes)


def straddles(keys: Keys, steps: Steps, delta: Floats, which: Ints, shortest_deg: Floats, limits: Limits) -> Bools:
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
