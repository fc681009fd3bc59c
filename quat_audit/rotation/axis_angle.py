# SPDX-License-Identifier: GPL-3.0-or-later
"""Axis-angle values ``(..., 4)``: an angle in radians, then the axis x, y, z of any length, as Blender stores them.

Every rotation has many of them: the angle with whole turns added (θ + 2πk), both with the axis the other way (-θ and
-axis), and any axis at all where the angle is no turn. What plays between two of them is each component by itself, so
it matters which of them are stored.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from . import quaternion
from .quaternion import Array

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

TURN = 2.0 * np.pi
# Shorter than this an axis has no direction. Blender tells directions down to 3e-18 (math_vector.c: normalize_v3_v3),
# but what is left where two opposite axes cancel is rounding.
ZERO_AXIS = 1e-12
# An angle this close to whole turns is no rotation, for its size: what rounding it to float32 twice costs.
NO_TURN = 2.0 * float(np.finfo(np.float32).eps)
# Two ways count as equally long within this, in radians (float32 at ten turns: 4e-6).
EQUALLY_LONG = 1e-5
# Places at which a straight way is measured: no further than TURN_A_SAMPLE apart, and often enough for a turning axis.
LEAST_SAMPLES, MOST_SAMPLES = 32, 1024
TURN_A_SAMPLE = np.radians(20.0)
# Samples measured at a time: temporaries stay small.
BLOCK = 1 << 16
# A step whose angle moves by no more than this, and whose axis by half of it, is as near as it can be: the other side
# of the axis is five times as far off, which is longer even at a small angle (60° from 30 to -30, but 78° round at 30).
NEAR_ANGLE, NEAR_AXIS_COSINE = np.radians(60.0), np.cos(np.radians(30.0))


def turns_nothing(values: npt.ArrayLike) -> Bools:
    """(...,) the angle is a whole number of turns, 0 among them: no rotation, whatever the axis is."""
    angle = np.asarray(values, dtype=np.float64)[..., 0]
    off = np.abs(angle - TURN * np.round(angle / TURN))
    return np.asarray(off <= NO_TURN * np.maximum(1.0, np.abs(angle)))


def has_axis(values: npt.ArrayLike) -> Bools:
    """(...,) the axis is finite and has a direction."""
    length = quaternion.norm(np.asarray(values, dtype=np.float64)[..., 1:])
    return np.asarray((length > ZERO_AXIS) & (length < np.inf))


def to_quaternion(values: npt.ArrayLike) -> Array:
    """Unit quaternions ``(..., 4)``; four NaNs where there is no rotation: NaN, infinity, a turn about a zero axis.

    Half angles are used as they are: with one axis a continuous angle gives a continuous path.
    """
    values = np.asarray(values, dtype=np.float64)
    length = quaternion.norm(values[..., 1:])
    directed = (length > ZERO_AXIS) & (length < np.inf)
    with np.errstate(invalid="ignore"):
        unit = values[..., 1:] / np.where(directed, length, 1.0)[..., None]
        result = quaternion.from_axis_angle(np.where(directed[..., None], unit, 0.0), values[..., 0])
        result[~directed & ~turns_nothing(values) | ~np.isfinite(values).all(axis=-1)] = np.nan
    return np.asarray(result)


def straight_length(a: Array, b: Array) -> Array:
    """(P,) radians travelled between values (P, 4) when each component runs straight from a to b.

    Where the axis passes through zero it jumps to the other side: that counts as the angle between both rotations.
    """
    result = np.zeros(len(a))
    wanted = np.clip(np.nan_to_num(np.abs(b[:, 0] - a[:, 0]) / TURN_A_SAMPLE), LEAST_SAMPLES, MOST_SAMPLES)
    samples = 1 << np.ceil(np.log2(wanted)).astype(np.int64)
    for count in np.unique(samples):  # few: powers of two
        chosen = np.flatnonzero(samples == count)
        share = np.linspace(0.0, 1.0, int(count) + 1)[:, None]
        block = max(1, BLOCK // int(count))
        for start in range(0, len(chosen), block):
            part = chosen[start : start + block]
            way = to_quaternion(a[part, None] * (1.0 - share) + b[part, None] * share)
            result[part] = quaternion.path_length(way, short=True)
    return result


def nearest_step(a: Array, b: Array) -> tuple[Array, Array]:
    """What makes the values b (P, 4) the ones of the same rotation that are nearest to a: (sign (P,), turns (P,)).

    The nearest ones are ``moved(b, sign, turns)``. The angle comes within half a turn of a's; exactly half a turn is
    left as it is. Of the two directions of the axis that one is taken from which the straight way to a is shorter; of
    ways that are equally long, the one on which the axis does not pass through zero.
    """
    sign, turns = np.ones(len(a)), np.zeros(len(a))
    along = np.einsum("ij,ij->i", a[:, 1:], b[:, 1:])
    near = along > NEAR_AXIS_COSINE * quaternion.norm(a[:, 1:]) * quaternion.norm(b[:, 1:])
    near &= np.abs(b[:, 0] - a[:, 0]) < NEAR_ANGLE
    far = np.flatnonzero(~near)
    a, b, one = a[far], b[far], np.ones(len(far))
    plain, other = _turns_to_near(b[:, 0] - a[:, 0]), _turns_to_near(-b[:, 0] - a[:, 0])
    gain = straight_length(a, moved(b, one, plain)) - straight_length(a, moved(b, -one, other))
    flip = (gain > EQUALLY_LONG) | ((along[far] < 0.0) & (gain >= -EQUALLY_LONG))
    sign[far], turns[far] = np.where(flip, -1.0, 1.0), np.where(flip, other, plain)
    return sign, turns


def _turns_to_near(difference: Array) -> Array:
    size = np.abs(difference) / TURN
    return np.asarray(-np.sign(difference) * np.maximum(np.ceil(size - 0.5 - EQUALLY_LONG), 0.0))


def moved(values: Array, sign: Array, turns: Array) -> Array:
    """The values (P, 4) of the same rotations with angle and axis multiplied by `sign` (P,) and whole turns added."""
    result = values * sign[:, None]
    result[:, 0] += TURN * turns
    return np.asarray(result)


def along(sign: Array, turns: Array, starts: Bools) -> tuple[Array, Array]:
    """Changes from each row to the one before it, (sign (N,), turns (N,)), as changes of the rows themselves.

    Like `nearest_step`, but each step is seen from the row before it as that one is after its own change.
    `starts` (N,): the row is the first of its track and does not change.
    """
    total = quaternion.hemisphere_signs(sign < 0, starts)
    if not len(total):
        return total, turns
    before = np.concatenate([[1.0], total[:-1]])
    added = np.cumsum(np.where(starts, 0.0, before * turns))
    first = np.maximum.accumulate(np.where(starts, np.arange(len(total)), 0))
    return total, np.asarray(added - added[first])


def with_axes(
    values: Array, starts: Bools, may: Bools, cost: Callable[[Ints, Array, Array], Array], enough: float
) -> Array:
    """The values (N, 4) with the axes of rows that turn nothing taken from a neighbor.

    That is done where it makes the ways to both neighbors together shorter, and none of them longer.

    A run of such rows takes the axis before it at its first row and the axis after it at its last one; what lies
    between them, and a whole turn from one to the other, is left alone.

    Args:
        starts: (N,) the row is the first of its track.
        may: (N,) the row may be changed.
        cost: radians of the ways that end at rows (P,), from values (P, 4) to values (P, 4).
        enough: radians that must be saved for an axis to be changed.
    """
    count = len(values)
    rows = np.arange(count)
    free = turns_nothing(values)
    joined = ~starts & np.concatenate([[False], np.ones(max(count - 1, 0), dtype=bool)])[:count]
    together = np.zeros(count, dtype=bool)  # with the row before it
    together[1:] = joined[1:] & free[1:] & free[:-1]
    spins = together & (np.abs(np.diff(values[:, 0], prepend=0.0)) > np.pi)
    free &= ~spins & ~np.concatenate([spins[1:], [False]])[:count]
    ends = np.ones(count, dtype=bool)
    ends[:-1] = ~joined[1:]
    has_before, has_after = joined & ~together, ~ends & ~np.concatenate([together[1:], [False]])[:count]
    result = values.copy()
    saved = np.full(count, enough)

    def ways(at: Ints, value: Array) -> Array:
        """(2, P) radians from the row before and to the row after rows `at`, where these turn something."""
        lengths = np.zeros((2, len(at)))
        for side, (some, step) in enumerate(((has_before[at], -1), (has_after[at], 1))):
            here, there = at[some], at[some] + step
            a, b = (values[there], value[some]) if step < 0 else (value[some], values[there])
            lengths[side, some] = cost(here if step < 0 else there, a, b)
        return lengths

    for some, step in ((has_before, -1), (has_after, 1)):
        at = rows[free & may & some]
        if not len(at):
            continue
        taken = np.concatenate([values[at, :1], values[at + step, 1:]], axis=1)
        gains = ways(at, values[at]) - ways(at, taken)
        gain = gains.sum(axis=0)
        better = has_axis(taken) & (gain > saved[at]) & np.all(gains >= -EQUALLY_LONG, axis=0)
        result[at[better]] = taken[better]
        saved[at[better]] = gain[better] + EQUALLY_LONG
    return result


def from_quaternion(q: npt.ArrayLike, starts: npt.ArrayLike | None = None) -> Array:
    """Axis-angle values (N, 4) of unit quaternions (N, 4) that go on from row to row: no detour between two of them.

    Each value is the nearest one to the value before it, with an axis of unit length; where a row turns nothing its
    axis is a neighbor's. The first row of a track has an angle of 0 to 2π.

    Args:
        starts: (N,) bool, the row is the first of its track; None: only row 0 is.
    """
    q = np.array(q, dtype=np.float64)
    begins = np.zeros(len(q), dtype=bool) if starts is None else np.array(starts, dtype=bool)
    begins[:1] = True
    flip = begins | (quaternion.dot(q, np.roll(q, 1, axis=0)) < 0.0)
    turned = q * quaternion.hemisphere_signs(flip, begins)[:, None]
    sine = quaternion.norm(turned[:, 1:])
    axis = np.where((sine > 0)[:, None], turned[:, 1:] / np.where(sine > 0, sine, 1.0)[:, None], [0.0, 1.0, 0.0])
    values = np.concatenate([2.0 * np.arctan2(sine, turned[:, 0])[:, None], axis], axis=1)

    def shortest(_: Ints, a: Array, b: Array) -> Array:
        return straight_length(a, moved(b, *nearest_step(a, b)))

    values = with_axes(values, begins, np.ones(len(q), dtype=bool), shortest, EQUALLY_LONG)
    sign, turns = np.ones(len(q)), np.zeros(len(q))
    step = np.flatnonzero(~begins)
    sign[step], turns[step] = nearest_step(values[step - 1], values[step])
    return moved(values, *along(sign, turns, begins))
