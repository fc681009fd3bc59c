# SPDX-License-Identifier: GPL-3.0-or-later
"""One Bézier segment of an F-curve: its handles as Blender plays them, the parameter at a time, splitting, Hermite.

The semantics are those of BKE_fcurve_correct_bezpart and of `findzero` (Blender, blenkernel/intern/fcurve.cc).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from ..rotation.quaternion import Array

# Blender accepts the parameter of a Bézier segment this far outside 0 to 1, and takes the first one that it finds.
_ROOT_RANGE = (-1.0e-10, 1.000001)
# With a leading coefficient this much smaller than the others the closed form loses its digits, and there is but one
# root within 0 to 1: three would need a derivative with two roots there, hence |c1| + |c2| ≤ 6 |c3|.
_SMALL_LEADING = 0.01


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


def parameter(x0: Floats, x1: Floats, x2: Floats, x3: Floats, time: Floats) -> Array:
    """The parameter at which a Bézier segment is at `time`; the coefficients are rounded as Blender rounds them.

    Args:
        x0, x1, x2, x3: (N,) frames of key, handle, handle and key, the handles as `clamp_handles` leaves them.
        time: (N,) frames, between the two keys.

    Returns:
        (N,) float64 within 0 to 1; NaN where a NaN enters. NumPy's warnings about that are left to the caller.
    """
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
        size, center = np.sqrt(-p[three]), -a[three]
        third = np.arccos(np.clip(q[three] / (size * p[three]), -1.0, 1.0)) / 3.0
        cosine = np.cos(third)
        sine = np.sqrt(np.maximum(3.0 - 3.0 * cosine * cosine, 0.0))
        u[three] = _first_in_range(
            center + 2.0 * size * cosine, center - size * (cosine + sine), center - size * (cosine - sine)
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
        u = parameter(x0, x1, x2, x3, x).reshape(shape)[..., None]
    a, b, c = p0 + u * (p1 - p0), p1 + u * (p2 - p1), p2 + u * (p3 - p2)
    d, e = a + u * (b - a), b + u * (c - b)
    co = d + u * (e - d)
    # The key lies exactly on the time asked for; its handles keep their length.
    shift = time - co[..., 0]
    for moved in (d, co, e):
        moved[..., 0] += shift
    co[..., 0] = time
    return Split(right0=a, left=d, co=co, right=e, left1=c)
