# SPDX-License-Identifier: GPL-3.0-or-later
"""Quaternion algebra on ``(..., 4)`` arrays, w x y z. Angles come from atan2, never from acos."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Two rotations whose dot product is this close to zero are half a turn apart: both ways are equally short.
HALF_TURN_DOT = 1e-3

# Shorter than this has no direction left: Blender poses it as garbage, engines as NaN (rule QA102).
ZERO_NORM = 1e-6
# A dot product this small is zero for the choice of a hemisphere: rounding must not decide the way round, and must
# not decide it differently on another platform. A half turn computed in doubles has |dot| around 1e-16.
ZERO_DOT = 1e-12


def norm(q: npt.ArrayLike) -> Array:
    """Length of each quaternion, ``(..., 4)`` to ``(...)``. Sizes like 1e200 or 1e-200 neither overflow nor vanish."""
    q = np.asarray(q, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        length = np.asarray(np.sqrt(np.einsum("...i,...i->...", q, q)))
        odd = (length < 1e-150) | np.isinf(length)
        if odd.any():
            scale = np.abs(q[odd]).max(axis=-1, initial=0.0)
            usable = (scale > 0) & np.isfinite(scale)
            part = q[odd] / np.where(usable, scale, 1.0)[..., None]
            length[odd] = np.where(usable, scale * np.sqrt(np.einsum("...i,...i->...", part, part)), scale)
    return length


def normalize(q: npt.ArrayLike, name: str = "q") -> Array:
    """Unit quaternions, checked.

    Args:
        q: (..., 4).
        name: what an error calls the argument.

    Returns:
        (..., 4), scaled by the largest component before squaring.

    Raises:
        ValueError: not four components, NaN, infinity, or a length below ZERO_NORM.
    """
    given = np.asarray(q, dtype=np.float64)
    if given.ndim == 0 or given.shape[-1] != 4:
        raise ValueError(f"{name} must have shape (..., 4), w x y z, got {given.shape}")
    if not np.isfinite(given).all():
        raise ValueError(f"{name} has a NaN or infinite component{_first_bad(~np.isfinite(given).all(axis=-1))}")
    scale = np.abs(given).max(axis=-1, keepdims=True)
    scaled = given / np.where(scale > 0, scale, 1.0)
    length = np.sqrt(np.einsum("...i,...i->...", scaled, scaled))[..., None]
    bad = scale * length < ZERO_NORM
    if bad.any():
        raise ValueError(f"{name} is a zero-length quaternion, which is no rotation{_first_bad(bad[..., 0])}")
    return np.asarray(scaled / length)


def _first_bad(bad: npt.NDArray[np.bool_]) -> str:
    return f" at index {tuple(int(i) for i in np.argwhere(bad)[0])}" if bad.ndim else ""


def normalize_or_nan(q: npt.ArrayLike) -> Array:
    """Unit quaternions, unchecked and fast: zero-length, NaN and infinite ones become four NaNs."""
    q = np.asarray(q, dtype=np.float64)
    length = norm(q)
    length = np.where((length >= ZERO_NORM) & (length < np.inf), length, np.nan)
    with np.errstate(invalid="ignore"):
        return np.asarray(q / length[..., None])


def as_played(q: npt.ArrayLike) -> Array:
    """The unit quaternion that Blender poses for stored components: (0, 0, 0, 0) plays as a half turn about X.

    As `normalize_qt` in Blender's math_rotation: every other length is divided out, however small.
    """
    q = np.asarray(q, dtype=np.float64)
    length = norm(q)[..., None]
    with np.errstate(invalid="ignore"):
        unit = q / np.where(length > 0, length, 1.0)
    return np.asarray(np.where(length == 0, np.array([0.0, 1.0, 0.0, 0.0]), unit))


def dot(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Four-dimensional dot product, ``(...)``: the cosine of half the rotation angle between unit quaternions."""
    return np.asarray(np.einsum("...i,...i->...", np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)))


def conjugate(q: npt.ArrayLike) -> Array:
    """The inverse of a unit quaternion."""
    return np.asarray(np.asarray(q, dtype=np.float64) * np.array([1.0, -1.0, -1.0, -1.0]))


def multiply(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """The rotation b followed by a (Hamilton product)."""
    aw, ax, ay, az = np.moveaxis(np.asarray(a, dtype=np.float64), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b, dtype=np.float64), -1, 0)
    return np.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        axis=-1,
    )


def rotate(q: npt.ArrayLike, v: npt.ArrayLike) -> Array:
    """Vectors ``(..., 3)`` turned by unit quaternions ``(..., 4)``."""
    q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    u = q[..., 1:]
    t = 2.0 * np.cross(u, v)
    return np.asarray(v + q[..., :1] * t + np.cross(u, t))


def to_matrix(q: npt.ArrayLike) -> Array:
    """Rotation matrices ``(..., 3, 3)`` of unit quaternions; its columns are the turned basis vectors."""
    w, x, y, z = np.moveaxis(np.asarray(q, dtype=np.float64), -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def from_axis_angle(axis: npt.ArrayLike, angle: npt.ArrayLike) -> Array:
    """Quaternions of a turn by `angle` radians about `axis` ``(..., 3)`` of any length. A zero axis gives identity.

    Half angles are used as they are: an angle of 2π gives (-1, 0, 0, 0), so a continuous angle gives a continuous path.
    """
    axis = np.asarray(axis, dtype=np.float64)
    half = 0.5 * np.asarray(angle, dtype=np.float64)
    length = np.sqrt(np.einsum("...i,...i->...", axis, axis))
    half, length = np.broadcast_arrays(half, length)
    none = length == 0
    unit = axis / np.where(none, 1.0, length)[..., None]
    w = np.where(none, 1.0, np.cos(half))
    return np.concatenate((w[..., None], np.sin(half)[..., None] * unit), axis=-1)


def exp(v: npt.ArrayLike) -> Array:
    """Unit quaternions of half-angle vectors ``(..., 3)``: (cos |v|, sin |v| · v / |v|)."""
    v = np.asarray(v, dtype=np.float64)
    half = np.sqrt(np.einsum("...i,...i->...", v, v))[..., None]
    return np.concatenate((np.cos(half), np.sinc(half / np.pi) * v), axis=-1)


def log(q: npt.ArrayLike) -> Array:
    """Half-angle vectors ``(..., 3)`` of unit quaternions, of length 0 to π. -identity gives 0."""
    q = np.asarray(q, dtype=np.float64)
    sine = np.sqrt(np.einsum("...i,...i->...", q[..., 1:], q[..., 1:]))[..., None]
    half = np.arctan2(sine, q[..., :1])
    return np.asarray(q[..., 1:] * np.where(sine > 0, half / np.where(sine > 0, sine, 1.0), 0.0))


def _sine_and_cosine(a: Any, b: Any) -> tuple[Array, Array]:
    """|a| |b| times sine (never negative) and cosine of the four-dimensional angle between a and b."""
    aw, ax, ay, az = np.moveaxis(np.asarray(a, dtype=np.float64), -1, 0)
    bw, bx, by, bz = np.moveaxis(np.asarray(b, dtype=np.float64), -1, 0)
    # The vector part of conjugate(a) b: for neighbors it is computed from differences of nearly equal products, an
    # error of 1e-16 in a sine, where acos of a dot near 1 would lose half the digits.
    x = aw * bx - ax * bw - ay * bz + az * by
    y = aw * by + ax * bz - ay * bw - az * bx
    z = aw * bz - ax * by + ay * bx - az * bw
    return np.sqrt(x * x + y * y + z * z), aw * bw + ax * bx + ay * by + az * bz


def angle_between(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Geodesic angle of the rotation from a to b, 0 to π, the same for q and -q and for every length."""
    sine, cosine = _sine_and_cosine(a, b)
    return np.asarray(2.0 * np.arctan2(sine, np.abs(cosine)))


def arc_angle(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Rotation travelled along the great arc from a to b *as stored*, 0 to 2π: above π it is the long way round."""
    sine, cosine = _sine_and_cosine(a, b)
    return np.asarray(2.0 * np.arctan2(sine, cosine))


def angle_from_arc(q: npt.ArrayLike, a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    """Geodesic angle from the rotation q to the nearest rotation on the arc from a to b, 0 to π.

    All three (..., 4) unit quaternions. The arc is the short way; between rotations half a turn apart the one between
    a and b as stored.
    """
    q, a, b = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (q, a, b)))
    b = np.where((_dot(a, b) < -HALF_TURN_DOT)[..., None], -b, b)
    cosine = _dot(a, b)
    along = b - cosine[..., None] * a
    sine = np.sqrt(_dot(along, along))
    along = np.divide(along, sine[..., None], out=np.zeros_like(along), where=sine[..., None] > 1e-12)
    # q's shadow on the great circle of the arc, as an angle from a; q and -q are one rotation, so modulo π.
    end, shadow = np.arctan2(sine, cosine), np.arctan2(_dot(q, along), _dot(q, a)) % np.pi
    nearest = np.where(shadow <= end, shadow, np.where(shadow - end <= np.pi - shadow, end, 0.0))[..., None]
    return angle_between(q, np.cos(nearest) * a + np.sin(nearest) * along)


def _dot(a: Array, b: Array) -> Array:
    return np.asarray(np.einsum("...i,...i->...", a, b))


def continuous(path: npt.ArrayLike) -> Array:
    """The rotations (S, 4) with signs by which each is in the hemisphere of the one before it."""
    path = np.asarray(path, dtype=np.float64)
    starts = np.arange(len(path)) == 0
    flip = starts | (dot(path, np.roll(path, 1, axis=0)) < 0.0)
    return np.asarray(path * hemisphere_signs(flip, starts)[:, None])


def path_length(path: npt.ArrayLike, *, short: bool = False) -> Array:
    """Rotation travelled along unit quaternions ``(..., S, 4)``, radians ``(...)``.

    From sample to sample along the arc as stored, up to 2π; `short`: the short way, up to π.
    A sample of zero length (NaN here) is left out: q and −q cancel exactly half-way, and what is travelled across
    that moment is measured between the samples beside it.
    """
    path = np.asarray(path, dtype=np.float64)
    bad = np.isnan(path[..., 0])
    if bad.any():
        last = np.maximum.accumulate(np.where(bad, -1, np.arange(path.shape[-2])), axis=-1)
        path = np.take_along_axis(path, np.maximum(last, 0)[..., None], axis=-2)
    arcs = (angle_between if short else arc_angle)(path[..., :-1, :], path[..., 1:, :])
    return np.asarray(np.nansum(arcs, axis=-1))


def hemisphere_signs(flip: npt.NDArray[np.bool_], starts: npt.NDArray[np.bool_]) -> Array:
    """Signs that undo flips along many tracks laid end to end, in one pass.

    Args:
        flip: (N,) the key is in the other hemisphere than the one before it (negative dot). Its value at the
            first key of a track means nothing. A pair that must keep its relative sign is simply not a flip.
        starts: (N,) the key is the first of its track: it keeps its sign.

    Returns:
        (N,) +1.0 or -1.0, to multiply the keys by.
    """
    flips_before = np.cumsum(flip & ~starts)
    at_start = np.maximum.accumulate(np.where(starts, flips_before, 0)) if len(flip) else flips_before
    return np.asarray(1.0 - 2.0 * ((flips_before - at_start) & 1))
