# SPDX-License-Identifier: GPL-3.0-or-later
"""F-curves evaluated as Blender evaluates them, for any number of curves and times at once.

The semantics are those of `evaluate_fcurve` (Blender, blenkernel/intern/fcurve.cc) and of the Cycles modifier
(blenkernel/intern/fmodifier.cc). Times are treated in the precision in which the keys are stored: Blender computes in
single precision, and where a curve is steep (handles that overlap make vertical tangents) rounding the time
differently is the difference between two poses. Values are float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from ..rotation.quaternion import Array
from . import easing
from .bezier import clamp_handles, parameter
from .clip import (
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
    Curves,
    Cycles,
)

# A time this close to a key *is* the key (BKE_fcurve_bezt_binarysearch_index_ex is called with it, as a float).
SAME_KEY = float(np.float32(0.0001))
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
        # A lone LINEAR key is its own neighbor: no slope.
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


def _bezier(curves: Curves, row: Ints, time: Floats) -> Array:
    co, dtype = curves.co, curves.co.dtype
    p0, p3 = co[row - 1], co[row]
    p1, p2 = clamp_handles(
        p0,
        curves.handle_right[row - 1].astype(dtype, copy=False),
        curves.handle_left[row].astype(dtype, copy=False),
        p3,
    )
    u = parameter(p0[:, 0], p1[:, 0], p2[:, 0], p3[:, 0], time)
    y0, y1, y2, y3 = (p[:, 1].astype(np.float64) for p in (p0, p1, p2, p3))
    c1, c2 = 3.0 * (y1 - y0), 3.0 * (y0 - 2.0 * y1 + y2)
    return np.asarray(((y3 - y0 + 3.0 * (y1 - y2)) * u + c2) * u * u + c1 * u + y0)
