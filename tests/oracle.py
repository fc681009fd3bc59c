# SPDX-License-Identifier: GPL-3.0-or-later
"""A scalar oracle: what a track plays, worked out key by key in plain Python.

It evaluates curves by bisection, turns quaternions and Euler angles into rotations with its own formulas and compares
those with atan2. From the package it takes only what names things (the records of clip.py) and, for easing equations,
their values (tested against Blender).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from quat_audit.motion.clip import AXIS_ANGLE, BEZIER, COMPONENTS, CONSTANT, LINEAR, QUATERNION, SLERP, Clip
from quat_audit.motion.curve import evaluate

KEY_DEG = 1e-4
PATH_SAMPLES = 24

Vector = list[float]


# (curve, time) → value, of easing equations.
Eased = dict[tuple[int, float], float]


def scalar_value(clip: Clip, curve: int, time: float, eased: Eased | None = None) -> float:
    """Value of one curve at one time, without Cycles: between keys, at them, and beyond them."""
    curves = clip.curves
    rows = curves.rows(curve)
    keys = [(float(x), float(y)) for x, y in curves.co[rows]]
    if not keys:
        return math.nan
    start = rows.start
    if time <= keys[0][0] or time >= keys[-1][0]:
        return _beyond(clip, curve, keys, time)
    at = bisect_right([k[0] for k in keys], time) - 1
    (x0, y0), (x1, y1) = keys[at], keys[at + 1]
    if time == x0:
        return y0
    mode = int(curves.interpolation[start + at])
    part = (time - x0) / (x1 - x0)
    if mode == CONSTANT:
        return y0
    if mode in (LINEAR, SLERP):
        return y0 + (y1 - y0) * part
    if mode != BEZIER:
        known = eased or _eased(clip, [curve], [time])
        return known[curve, time]
    right = _clamped((x0, y0), tuple(float(v) for v in curves.handle_right[start + at]), x1 - x0)
    left = _clamped((x1, y1), tuple(float(v) for v in curves.handle_left[start + at + 1]), x1 - x0)
    if any(not math.isfinite(v) for v in (y0, y1, *right, *left)):
        return math.nan
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if _bernstein(x0, right[0], left[0], x1, middle) < time:
            low = middle
        else:
            high = middle
    return _bernstein(y0, right[1], left[1], y1, (low + high) / 2)


def _beyond(clip: Clip, curve: int, keys: list[tuple[float, float]], time: float) -> float:
    first = time <= keys[0][0]
    x, y = keys[0] if first else keys[-1]
    row = clip.curves.rows(curve).start + (0 if first else len(keys) - 1)
    mode = int(clip.curves.interpolation[row])
    if time == x or not clip.curves.linear_extrapolation[curve] or mode == CONSTANT:
        return y
    if mode in (LINEAR, SLERP):
        x1, y1 = keys[min(1, len(keys) - 1)] if first else keys[max(len(keys) - 2, 0)]
    else:
        handle = clip.curves.handle_left if first else clip.curves.handle_right
        x1, y1 = (float(v) for v in handle[row])
    return y if x1 == x else y + (y1 - y) / (x1 - x) * (time - x)


def _clamped(key: tuple[float, float], handle: tuple[float, ...], span: float) -> tuple[float, float]:
    length = abs(handle[0] - key[0])
    factor = span / length if length > span else 1.0
    return key[0] + factor * (handle[0] - key[0]), key[1] + factor * (handle[1] - key[1])


def _bernstein(p0: float, p1: float, p2: float, p3: float, u: float) -> float:
    v = 1 - u
    return v * v * v * p0 + 3 * v * v * u * p1 + 3 * v * u * u * p2 + u * u * u * p3


def _eased(clip: Clip, curves: Sequence[int], times: Sequence[float]) -> Eased:
    """What the package's easing equations give, for curves that have such keys: at all the times at once."""
    plain = (CONSTANT, LINEAR, BEZIER, SLERP)
    found: Eased = {}
    for curve in curves:
        if not np.isin(clip.curves.interpolation[clip.curves.rows(curve)], plain).all():
            values = evaluate(clip.curves, np.full(len(times), curve), np.array(times))
            found |= {(curve, time): float(value) for time, value in zip(times, values, strict=True)}
    return found


def scalar_raw(clip: Clip, track: int, time: float, eased: Eased | None = None) -> Vector:
    """All components of a track at one time; an absent curve plays the stored pose."""
    n = COMPONENTS[clip.tracks.kind[track]]
    curves = clip.tracks.curves[track, :n]
    return [
        scalar_value(clip, int(c), time, eased) if c >= 0 else float(clip.tracks.pose[track, i])
        for i, c in enumerate(curves)
    ]


def scalar_rotation(clip: Clip, track: int, raw: Vector) -> Vector | None:
    """Unit quaternion of raw values; None where they are no rotation."""
    if any(not math.isfinite(v) for v in raw):
        return None
    if clip.tracks.kind[track] == QUATERNION:
        size = math.sqrt(sum(v * v for v in raw))
        return [v / size for v in raw] if size >= 1e-6 else None
    if clip.tracks.kind[track] == AXIS_ANGLE:
        half, size = raw[0] / 2, math.sqrt(sum(v * v for v in raw[1:]))
        if size < 1e-12:  # Blender poses the rest rotation: right where nothing turns, else the turn is lost
            return [1.0, 0.0, 0.0, 0.0] if abs(math.sin(half)) < 1e-6 * max(1.0, abs(raw[0])) else None
        return [math.cos(half), *(math.sin(half) * v / size for v in raw[1:])]
    result = [1.0, 0.0, 0.0, 0.0]
    for axis in clip.tracks.order[track]:  # applied in this sequence: each from the left
        half = raw["XYZ".index(axis)] / 2
        turn = [math.cos(half), 0.0, 0.0, 0.0]
        turn[1 + "XYZ".index(axis)] = math.sin(half)
        result = product(turn, result)
    return result


def product(a: Sequence[float], b: Sequence[float]) -> Vector:
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]


def turn_deg(a: Sequence[float], b: Sequence[float], *, whole: bool = False) -> float:
    """Degrees from one rotation to another, the short way; `whole`: along the arc as stored, up to 360."""
    inverse = [a[0], -a[1], -a[2], -a[3]]
    w, x, y, z = product(inverse, b)
    return math.degrees(2 * math.atan2(math.sqrt(x * x + y * y + z * z), w if whole else abs(w)))


def union_rows(clip: Clip, track: int) -> list[tuple[float, float, dict[int, float]]]:
    """(first time, last time, component → value) of each moment at which a track is keyed, in order.

    Keys at most 0.01 frame after the first of them are the same moment; a key without a time is none.
    """
    keys = sorted(
        (float(time), part, float(value))
        for part, curve in enumerate(clip.tracks.curves[track])
        if curve >= 0
        for time, value in clip.curves.co[clip.curves.rows(int(curve))]
        if math.isfinite(time)
    )
    rows: list[tuple[float, float, dict[int, float]]] = []
    for time, part, value in keys:
        if rows and time - rows[-1][0] <= 0.01:
            first, _, values = rows[-1]
            rows[-1] = (first, time, {**values, part: value})
        else:
            rows.append((time, time, {part: value}))
    return rows


def scalar_row(clip: Clip, track: int, row: tuple[float, float, dict[int, float]]) -> Vector | None:
    """Unit quaternion at a keyed moment: its keys' values, and what the curves play where there is none."""
    time, _, values = row
    raw = [values.get(part, played) for part, played in enumerate(scalar_raw(clip, track, time))]
    return scalar_rotation(clip, track, raw)


def spherical(clip: Clip, track: int) -> bool:
    """The format plays the track as a slerp (glTF's LINEAR)."""
    return any(
        np.any(clip.curves.interpolation[clip.curves.rows(int(c))] == SLERP)
        for c in clip.tracks.curves[track]
        if c >= 0
    )


def path_deg(clip: Clip, track: int, start: float, end: float) -> float | None:
    """Degrees travelled from one time to another; None where some of it is not finite."""
    if spherical(clip, track):
        ends = [scalar_rotation(clip, track, scalar_raw(clip, track, t)) for t in (start, end)]
        return None if None in ends else turn_deg(ends[0], ends[1])  # type: ignore[arg-type]
    total, last = 0.0, None
    samples = PATH_SAMPLES
    if clip.tracks.kind[track] == AXIS_ANGLE:  # measured the short way, so a spin needs close samples
        turned = scalar_raw(clip, track, end)[0] - scalar_raw(clip, track, start)[0]
        samples += int(abs(turned) / math.radians(20)) if math.isfinite(turned) else 0
    times = [start + (end - start) * step / samples for step in range(samples)] + [end]
    if clip.tracks.kind[track] == AXIS_ANGLE:
        times = _close_to_jumps(clip, track, times)
    eased = _eased(clip, [int(c) for c in clip.tracks.curves[track] if c >= 0], times)
    for time in times:
        raw = scalar_raw(clip, track, time, eased)
        rotation = scalar_rotation(clip, track, raw)
        if rotation is None:
            if not all(map(math.isfinite, raw)):
                return None
            continue  # q and −q cancel exactly: the jump across is measured between the samples beside it
        if last is not None:
            # Where an axis passes through zero it jumps: what is seen is the rotation between the two sides.
            total += turn_deg(last, rotation, whole=clip.tracks.kind[track] != AXIS_ANGLE)
        last = rotation
    return total


def _close_to_jumps(clip: Clip, track: int, times: list[float]) -> list[float]:
    """The times, with more of them where an axis changes its side: until the angle cannot turn on meanwhile."""
    found = times[:1]
    for start, end in pairwise(times):
        inside = [end]
        low, high = start, end
        for _ in range(12):
            a, b = (scalar_raw(clip, track, t) for t in (low, high))
            if sum(x * y for x, y in zip(a[1:], b[1:], strict=True)) > 0:
                break
            middle = (low + high) / 2
            inside.append(middle)
            c = scalar_raw(clip, track, middle)
            low, high = (low, middle) if sum(x * y for x, y in zip(a[1:], c[1:], strict=True)) <= 0 else (middle, high)
        found += sorted(inside)
    return found


def key_tolerance_deg(clip: Clip, track: int) -> float:
    """1e-4°, or what storing the values as float32 costs: an ulp of the largest value, in each component."""
    finite = [
        abs(float(v))
        for curve in clip.tracks.curves[track]
        if curve >= 0
        for v in clip.curves.co[clip.curves.rows(int(curve)), 1]
        if math.isfinite(v)
    ]
    largest = max([1.0, *finite]) if clip.tracks.kind[track] != QUATERNION else 1.0
    return max(KEY_DEG, math.degrees(8 * 2.0**-23 * largest))


def scalar_slerp(a: Sequence[float], b: Sequence[float], part: float) -> Vector:
    """The short way from a to b: a turned about the axis of the difference by a part of its angle."""
    w, *v = product(b, [a[0], -a[1], -a[2], -a[3]])
    if w < 0:
        w, v = -w, [-x for x in v]
    size = math.sqrt(sum(x * x for x in v))
    if size < 1e-15:
        return list(a)
    half = math.atan2(size, w) * part
    return product([math.cos(half), *(math.sin(half) * x / size for x in v)], a)
