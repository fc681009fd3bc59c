# SPDX-License-Identifier: GPL-3.0-or-later
"""F-curves evaluated as Blender evaluates them, for any number of curves and times at once.

The semantics are those of `evaluate_fcurve` (Blender, blenkernel/intern/fcurve.cc) and of the Cycles modifier
(blenkernel/intern/fmodifier.cc). Times are treated in the precision in which the keys are stored: Blender computes in
single precision, and where a curve is steep (handles that overlap make vertical tangents) rounding the time
differently is the difference between two poses. Values are float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..clip import (
    BACK,
    BEZIER,
    CONSTANT,
    CYCLE_MIRROR,
    CYCLE_NONE,
    CYCLE_REPEAT,
    CYCLE_REPEAT_OFFSET,
    EASE_AUTO,
    LINEAR,
    SINE,
    SLERP,
    Bools,
    Curves,
    Cycles,
    Floats,
    Ints,
)
from ..pausing import pause_point
from . import easing
from .quaternion import Array

# A time this close to a key *is* the key (BKE_fcurve_bezt_binarysearch_index_ex is called with it, as a float).
SAME_KEY = float(np.float32(0.0001))
# Blender accepts the parameter of a Bézier segment this far outside 0 to 1, and takes the first one that it finds.
_ROOT_RANGE = (-1.0e-10, 1.000001)
# With a leading coefficient this much smaller than the others the closed form loses its digits, and there is but one
# root within 0 to 1: three would need a derivative with two roots there, hence |c1| + |c2| ≤ 6 |c3|.
_SMALL_LEADING = 0.01
# Times a step: temporaries stay in the processor's cache.
_STEP = 1 << 15


def evaluate(curves: Curves, which: npt.ArrayLike, times: npt.ArrayLike) -> Array:
    """The value of curve ``which[i]`` at ``times[i]``, as `FCurve.evaluate` gives it.

    Args:
        curves: keys in order of time within each curve; where they are not, what is returned is one of the values
            near that time, as in Blender.
        which: (N,) curve numbers; broadcasts against `times`.
        times: (N,) frames.

    Returns:
        (N,) float64 (of the broadcast shape). NaN for a curve without keys, at a NaN time, and wherever a NaN key or
        handle enters: the whole open interval next to it. SLERP comes out LINEAR: a component alone has no arc.
        Muting, drivers and other modifiers are not looked at (`Curves.unevaluable` names those curves).
    """
    shape = np.broadcast_shapes(np.shape(which), np.shape(times))
    number = np.broadcast_to(np.asarray(which, dtype=np.int64), shape).reshape(-1)
    time = np.broadcast_to(np.asarray(times).astype(curves.co.dtype, copy=False), shape).reshape(-1)
    cycles = _cycle_table(curves.cycles)
    out = np.empty(len(number))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for start in range(0, len(number), _STEP):
            pause_point()
            part = slice(start, start + _STEP)
            out[part] = _evaluate(curves, cycles, number[part], time[part])
    return out.reshape(shape)


class _CycleTable(NamedTuple):
    """(2, C) mode, and how often, before and after the keys of each curve; mode 0: none."""

    mode: Ints
    limit: Ints


_CYCLE_MODES = {CYCLE_NONE: 0, CYCLE_REPEAT: 1, CYCLE_REPEAT_OFFSET: 2, CYCLE_MIRROR: 3}


def _cycle_table(cycles: Sequence[Cycles | None]) -> _CycleTable | None:
    cyclic = [i for i, c in enumerate(cycles) if c is not None]
    if not cyclic:
        return None
    table = _CycleTable(np.zeros((2, len(cycles)), np.int64), np.zeros((2, len(cycles)), np.int64))
    for i in cyclic:
        c = cycles[i]
        if c is not None:
            table.mode[:, i] = _CYCLE_MODES[c.mode_before], _CYCLE_MODES[c.mode_after]
            table.limit[:, i] = c.cycles_before, c.cycles_after
    return table


class _Asked(NamedTuple):
    """(N,) each: a curve, the rows of its first and last key, and a time."""

    number: Ints
    first: Ints
    last: Ints
    time: Floats

    def at(self, rows: Ints) -> _Asked:
        return _Asked(self.number[rows], self.first[rows], self.last[rows], self.time[rows])


def _evaluate(curves: Curves, cycles: _CycleTable | None, number: Ints, time: Floats) -> Array:
    asked = _Asked(number, curves.offsets[number], curves.offsets[number + 1] - 1, time)
    if (asked.first > asked.last).any():
        value = np.full(len(number), np.nan)
        keyed = np.flatnonzero(asked.first <= asked.last)
        if len(keyed):
            value[keyed] = _evaluate(curves, cycles, number[keyed], time[keyed])
        return value
    lift = None
    if cycles is not None:
        asked, lift = _cycled(curves.co, cycles, asked)
    x = curves.co[:, 0]
    before = asked.time <= x[asked.first]
    outside = before | (x[asked.last] <= asked.time)
    nowhere = np.isnan(asked.time)
    if outside.any() or nowhere.any():
        value = np.full(len(number), np.nan)
        rows = np.flatnonzero(outside)
        value[rows] = _extrapolated(curves, asked.at(rows), before[rows])
        rows = np.flatnonzero(~(outside | nowhere))
        if len(rows):
            value[rows] = _interpolated(curves, _key_after(x, asked.at(rows)), asked.time[rows])
    else:
        value = _interpolated(curves, _key_after(x, asked), asked.time)
    return value if lift is None else np.asarray(value + lift)


def _key_after(x: Floats, asked: _Asked) -> Ints:
    """(N,) row of the first key later than each time, by bisection of all N at once; first < row ≤ last."""
    low, high = np.minimum(asked.first + 1, asked.last), asked.last
    for _ in range(int((high - low).max(initial=0) + 1).bit_length()):
        middle = (low + high) >> 1
        earlier = x[middle] <= asked.time
        low = np.where(earlier & (low < high), middle + 1, low)
        high = np.where(earlier, high, middle)
    return np.minimum(low, asked.last)


def _interpolated(curves: Curves, row: Ints, time: Floats) -> Array:
    """Values at times strictly between the keys `row` - 1 and `row`."""
    co = curves.co
    x0, x1 = co[row - 1, 0], co[row, 0]
    value: Array = co[row - 1, 1].astype(np.float64)
    at_next = x1 - time <= SAME_KEY
    value[at_next] = co[row[at_next], 1]
    mode = curves.interpolation[row - 1]
    inside = ~at_next & (time - x0 > SAME_KEY)
    mode = np.where(inside, mode, np.uint8(CONSTANT))
    for present in np.flatnonzero(np.bincount(mode)):
        if present == CONSTANT:
            continue
        at = np.flatnonzero(mode == present)
        r, t = row[at], time[at]
        if present == BEZIER:
            value[at] = _bezier(curves, r, t)
            continue
        duration = (x1[at] - x0[at]).astype(np.float64)
        fraction = (t - x0[at]) / duration
        change = co[r, 1].astype(np.float64) - value[at]
        if present in (LINEAR, SLERP):
            value[at] += change * fraction
        elif BACK <= present <= SINE:
            direction, parameters = _easing_of(curves, r - 1)
            value[at] += easing.ease(
                int(present), fraction, direction=direction, change=change, duration=duration, parameters=parameters
            )
    return value


def _easing_of(curves: Curves, rows: Ints) -> tuple[npt.NDArray[np.uint8], Array]:
    if curves.easing is None:
        direction = np.full(len(rows), EASE_AUTO, np.uint8)
    else:
        direction = curves.easing[rows]
    if curves.easing_parameters is None:
        parameters = np.broadcast_to(np.array(easing.DEFAULT_PARAMETERS), (len(rows), 3))
    else:
        parameters = curves.easing_parameters[rows].astype(np.float64)
    return direction, parameters


def _extrapolated(curves: Curves, asked: _Asked, before: Bools) -> Array:
    """Values at or outside the first and last key."""
    number, first, last, time = asked
    end = np.where(before, first, last)
    value: Array = curves.co[end, 1].astype(np.float64)
    mode = curves.interpolation[end]
    away = (time != curves.co[end, 0]) & curves.linear_extrapolation[number] & (mode != CONSTANT)
    if away.any():
        straight = (mode == LINEAR) | (mode == SLERP)
        # A lone LINEAR key is its own neighbour: no slope.
        neighbour = np.where(before, np.minimum(first + 1, last), np.maximum(last - 1, first))
        handle = np.where(before[:, None], curves.handle_left[end], curves.handle_right[end])
        towards = np.where(straight[:, None], curves.co[neighbour], handle).astype(np.float64)
        run = towards[:, 0] - curves.co[end, 0]
        slope = np.where(run != 0, (towards[:, 1] - value) / np.where(run != 0, run, 1.0), 0.0)
        value = np.where(away, value + slope * (time.astype(np.float64) - curves.co[end, 0]), value)
    return value


def _cycled(co: Floats, cycles: _CycleTable, asked: _Asked) -> tuple[_Asked, Array]:
    """The time within the keys that a Cycles modifier plays instead, and what it adds to the value there."""
    number, first, last, time = asked
    lift = np.zeros(len(time))
    sides = (time > co[last, 0]).astype(np.int64)
    outside = (sides == 1) | (time < co[first, 0])
    mode = cycles.mode[sides, number]
    at = np.flatnonzero(outside & (mode != 0) & (co[first, 0] != co[last, 0]))
    if not len(at):
        return asked, lift
    side, mode, count, t = sides[at], mode[at], cycles.limit[sides[at], number[at]], time[at]
    x0, x1 = co[first[at], 0], co[last[at], 0]
    period = x1 - x0
    beyond = t - np.where(side == 1, x1, x0)
    cycle = np.where(side == 1, beyond, -beyond) / period
    within = np.fmod(beyond, period)
    # The first cycle on either side is the reversed one; its end counts as the start of the next.
    reverse = mode == _CYCLE_MODES[CYCLE_MIRROR]
    reversed_now = reverse & (np.floor(cycle + np.ones_like(cycle)) % 2 == 1)
    seam = within == 0
    reversed_seam = reverse & (np.floor(cycle) % 2 == 1)
    played = np.where(reversed_now, np.where(side == 1, x1, x0) - within, x0 + within)
    played = np.where(seam, np.where((side == 1) != reversed_seam, x1, x0), played)
    played = np.where(played < x0, played + period, played)
    # Beyond the last counted cycle the modifier does nothing: the curve's own extrapolation shows.
    active = (count == 0) | ~(cycle > count)
    time = time.copy()
    time[at] = np.where(active, played, t)
    height = co[last[at], 1].astype(np.float64) - co[first[at], 1]
    turns = np.where(side == 1, np.ceil(beyond / period), np.floor(beyond / period)).astype(np.float64)
    lift[at] = np.where(active & (mode == _CYCLE_MODES[CYCLE_REPEAT_OFFSET]), turns * height, 0.0)
    return asked._replace(time=time), lift


def clamp_handles(co0: Floats, right0: Floats, left1: Floats, co1: Floats) -> tuple[Floats, Floats]:
    """Handles as Blender uses them: no longer in time than the segment, shortened along their direction.

    Args:
        co0, right0, left1, co1: (..., 2) first key, its right handle, left handle of the second key, second key.

    Returns:
        right0 and left1. As BKE_fcurve_correct_bezpart; keys and handles within the segment come back unchanged.
    """
    span = co1[..., 0] - co0[..., 0]
    return _shortened(co0, right0, span), _shortened(co1, left1, span)


def _shortened(co: Floats, handle: Floats, span: Floats) -> Floats:
    length = np.abs(co[..., 0] - handle[..., 0])
    long = length > span
    if not long.any():
        return handle
    factor = span / np.where(long, length, np.ones_like(length))
    return np.where(long[..., None], co - factor[..., None] * (co - handle), handle)


def _bezier(curves: Curves, row: Ints, time: Floats) -> Array:
    co, dtype = curves.co, curves.co.dtype
    p0, p3 = co[row - 1], co[row]
    p1, p2 = clamp_handles(
        p0,
        curves.handle_right[row - 1].astype(dtype, copy=False),
        curves.handle_left[row].astype(dtype, copy=False),
        p3,
    )
    u = _parameter(p0[:, 0], p1[:, 0], p2[:, 0], p3[:, 0], time)
    y0, y1, y2, y3 = (p[:, 1].astype(np.float64) for p in (p0, p1, p2, p3))
    c1, c2 = 3.0 * (y1 - y0), 3.0 * (y0 - 2.0 * y1 + y2)
    return np.asarray(((y3 - y0 + 3.0 * (y1 - y2)) * u + c2) * u * u + c1 * u + y0)


def _parameter(x0: Floats, x1: Floats, x2: Floats, x3: Floats, time: Floats) -> Array:
    """The parameter at which a Bézier segment is at `time`; the coefficients are rounded as Blender rounds them."""
    return _root(
        np.asarray(x0 - time, np.float64),
        np.asarray(3 * (x1 - x0), np.float64),
        np.asarray(3 * (x0 - 2 * x1 + x2), np.float64),
        np.asarray(x3 - x0 + 3 * (x1 - x2), np.float64),
    )


def _root(c0: Array, c1: Array, c2: Array, c3: Array) -> Array:
    """The root of c0 + c1 u + c2 u² + c3 u³ that Blender would take, else the one nearest to 0 to 1, within 0 to 1."""
    small = np.abs(c3) <= _SMALL_LEADING * (np.abs(c1) + np.abs(c2))
    if not small.any():
        return _closed_root(c0, c1, c2, c3)
    u = np.empty(len(c0))
    closed, rest = np.flatnonzero(~small), np.flatnonzero(small)
    u[closed] = _closed_root(c0[closed], c1[closed], c2[closed], c3[closed])
    u[rest] = _bracketed_root(c0[rest], c1[rest], c2[rest], c3[rest])
    return u


def _bracketed_root(c0: Array, c1: Array, c2: Array, c3: Array) -> Array:
    """The one root within 0 to 1, by Newton's method kept in a bracket."""
    low, high = np.zeros(len(c0)), np.ones(len(c0))
    u = -c0 / (c1 + c2 + c3)
    for _ in range(60):
        value = ((c3 * u + c2) * u + c1) * u + c0
        low, high = np.where(value < 0, u, low), np.where(value < 0, high, u)
        newton = u - value / ((3.0 * c3 * u + 2.0 * c2) * u + c1)
        following = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        moved, u = np.abs(following - u), following
        if not (moved > 4e-16).any():
            break
    return u


def _closed_root(c0: Array, c1: Array, c2: Array, c3: Array) -> Array:
    """The root in Cardano's form, its last digits by one step of Newton."""
    a: Array = c2 / (3.0 * c3)
    p: Array = c1 / (3.0 * c3) - a * a
    q: Array = a * a * a + 0.5 * (c0 - a * c1) / c3
    d = q * q + p * p * p
    # One real root. The sum of the two cube roots without the cancellation: their product is -p.
    big = np.cbrt(-q - np.copysign(np.sqrt(np.maximum(d, 0.0)), q))
    u: Array = big - np.where(big != 0, p / np.where(big != 0, big, 1.0), 0.0) - a
    three = np.flatnonzero((d <= 0.0) & (p < 0.0))
    if len(three):
        size, centre = np.sqrt(-p[three]), -a[three]
        third = np.arccos(np.clip(q[three] / (size * p[three]), -1.0, 1.0)) / 3.0
        cosine = np.cos(third)
        sine = np.sqrt(np.maximum(3.0 - 3.0 * cosine * cosine, 0.0))
        u[three] = _first_in_range(
            centre + 2.0 * size * cosine, centre - size * (cosine + sine), centre - size * (cosine - sine)
        )
    step = (((c3 * u + c2) * u + c1) * u + c0) / ((3.0 * c3 * u + 2.0 * c2) * u + c1)
    u = np.where(np.abs(step) < 1e-3, u - step, u)
    return np.clip(u, 0.0, 1.0)


def _first_in_range(*roots: Any) -> Array:
    """Of several roots each: the first that Blender accepts, else the nearest to it."""
    stacked = np.stack(roots)
    low, high = _ROOT_RANGE
    distance = np.maximum(np.maximum(low - stacked, stacked - high), 0.0)
    distance[np.isnan(distance)] = np.inf
    return np.asarray(np.take_along_axis(stacked, distance.argmin(axis=0)[None], axis=0)[0])


class Split(NamedTuple):
    """A Bézier segment in two: (..., 2) each. The outer keys stay."""

    right0: Array
    left: Array
    co: Array
    right: Array
    left1: Array


def split_bezier(
    co0: npt.ArrayLike, right0: npt.ArrayLike, left1: npt.ArrayLike, co1: npt.ArrayLike, at: npt.ArrayLike
) -> Split:
    """Split Bézier segments at a time without changing their shape (De Casteljau).

    Args:
        co0, right0, left1, co1: (..., 2) as for `clamp_handles`, which is applied first.
        at: (...) frames, between the two keys.

    Returns:
        The shortened handle of the first key, the new key with both its handles, the shortened handle of the second.
        Where handles cross (the first reaches beyond the second) a half can need a handle longer than itself. Blender
        shortens those when it plays them, as it does after its own insertion of a key: only there the shape changes.

    Raises:
        ValueError: a time is not strictly between its keys.
    """
    p0, p1, p2, p3 = (np.asarray(p, dtype=np.float64) for p in (co0, right0, left1, co1))
    time = np.asarray(at, dtype=np.float64)
    if not np.all((p0[..., 0] < time) & (time < p3[..., 0])):
        raise ValueError("at must lie strictly between the times of co0 and co1")
    p1, p2 = (np.asarray(p, dtype=np.float64) for p in clamp_handles(p0, p1, p2, p3))
    shape = np.broadcast_shapes(time.shape, p0.shape[:-1])
    x0, x1, x2, x3, x = (np.broadcast_to(v, shape).reshape(-1) for v in (*(p[..., 0] for p in (p0, p1, p2, p3)), time))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        u = _parameter(x0, x1, x2, x3, x).reshape(shape)[..., None]
    a, b, c = p0 + u * (p1 - p0), p1 + u * (p2 - p1), p2 + u * (p3 - p2)
    d, e = a + u * (b - a), b + u * (c - b)
    co = d + u * (e - d)
    # The key lies exactly on the time asked for; its handles keep their length.
    shift = time - co[..., 0]
    for moved in (d, co, e):
        moved[..., 0] += shift
    co[..., 0] = time
    return Split(right0=a, left=d, co=co, right=e, left1=c)


def hermite_to_bezier(
    value0: npt.ArrayLike,
    out_tangent0: npt.ArrayLike,
    in_tangent1: npt.ArrayLike,
    value1: npt.ArrayLike,
    dt: npt.ArrayLike,
) -> tuple[Array, Array]:
    """Bézier handle values of a glTF CUBICSPLINE segment; the handles stand at ⅓ and ⅔ of its time.

    All arguments broadcast; tangents are per unit of `dt`, as glTF stores them. Returns the value of the first key's
    right handle and of the second key's left handle.
    """
    third = np.asarray(dt, dtype=np.float64) / 3.0
    right = np.asarray(value0, dtype=np.float64) + third * np.asarray(out_tangent0, dtype=np.float64)
    left = np.asarray(value1, dtype=np.float64) - third * np.asarray(in_tangent1, dtype=np.float64)
    return right, left
