# SPDX-License-Identifier: GPL-3.0-or-later
"""Euler angles ``(..., 3)``, stored by axis X, Y, Z, in all six orders. ``"XYZ"`` applies X first, as in Blender."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import quaternion
from .quaternion import Array

# order -> axes in the sequence they are applied, and +1 for a cyclic permutation of X, Y, Z, else -1.
_ORDERS: dict[str, tuple[tuple[int, int, int], float]] = {
    "XYZ": ((0, 1, 2), 1.0),
    "XZY": ((0, 2, 1), -1.0),
    "YXZ": ((1, 0, 2), -1.0),
    "YZX": ((1, 2, 0), 1.0),
    "ZXY": ((2, 0, 1), 1.0),
    "ZYX": ((2, 1, 0), -1.0),
}

# Below this, first and last turn about the same axis as far as doubles can tell.
_GIMBAL_LENGTH = 1e-12
# Angles stored as float32 are off by up to 1e-7 of a turn near ±180°: a difference of half a turn, give or take this
# many turns, is not wrapped, and two representations this close (in radians) to each other are equally near.
_TIE = 1e-6


def _axes(order: str) -> tuple[tuple[int, int, int], float]:
    if order not in _ORDERS:
        raise ValueError(f"order must be one of {', '.join(_ORDERS)}, got {order!r}")
    return _ORDERS[order]


def middle_axis(order: str) -> int:
    """The axis (0 X, 1 Y, 2 Z) that locks the other two together at ±90°."""
    return _axes(order)[0][1]


def to_quaternion(angles: npt.ArrayLike, order: str) -> Array:
    """Unit quaternions ``(..., 4)``.

    Half angles are used as they are, no sign is chosen: a continuous path of angles gives a continuous path of
    quaternions, and one more whole turn of one axis gives the antipodal quaternion.
    """
    (i, j, k), parity = _axes(order)
    half = 0.5 * np.asarray(angles, dtype=np.float64)
    ci, cj, ck = np.cos(half[..., i]), np.cos(half[..., j]), np.cos(half[..., k])
    si, sj, sk = np.sin(half[..., i]), parity * np.sin(half[..., j]), np.sin(half[..., k])
    q = np.empty((*half.shape[:-1], 4))
    q[..., 0] = cj * ci * ck + sj * si * sk
    q[..., 1 + i] = cj * si * ck - sj * ci * sk
    q[..., 1 + j] = parity * (cj * si * sk + sj * ci * ck)
    q[..., 1 + k] = cj * ci * sk - sj * si * ck
    return q


def from_quaternion(q: npt.ArrayLike, order: str) -> Array:
    """Angles ``(..., 3)`` of unit quaternions: the middle one within ±π/2, the others within ±π.

    In gimbal lock the last angle is 0. Use `nearest` to follow a previous key.
    """
    (i, j, k), parity = _axes(order)
    q = np.asarray(q, dtype=np.float64)
    w, x, y, z = q[..., 0], q[..., 1 + i], parity * q[..., 1 + j], q[..., 1 + k]
    # Half the sum and half the difference of first and last stand apart in a quaternion, so that, unlike from a
    # matrix, nothing loses digits near gimbal lock, where one of the two lengths vanishes.
    sum_length, difference_length = np.hypot(x + z, w - y), np.hypot(x - z, w + y)
    half_sum, half_difference = np.arctan2(x + z, w - y), np.arctan2(x - z, w + y)
    locked = np.minimum(sum_length, difference_length) < _GIMBAL_LENGTH
    kept = np.where(sum_length < difference_length, half_difference, half_sum)
    angles = np.empty((*q.shape[:-1], 3))
    angles[..., i] = _within_half_turn(np.where(locked, 2.0 * kept, half_sum + half_difference))
    angles[..., j] = parity * (2.0 * np.arctan2(difference_length, sum_length) - 0.5 * np.pi)
    angles[..., k] = _within_half_turn(np.where(locked, 0.0, half_sum - half_difference))
    return angles


def _within_half_turn(angle: Array) -> Array:
    return np.asarray(np.clip(angle - 2 * np.pi * np.round(angle / (2 * np.pi)), -np.pi, np.pi))


def to_matrix(angles: npt.ArrayLike, order: str) -> Array:
    """Rotation matrices ``(..., 3, 3)``."""
    return quaternion.to_matrix(to_quaternion(angles, order))


def equivalent(angles: npt.ArrayLike, order: str) -> Array:
    """The other triple of the same rotation: first + π, π - middle, last + π, in that order's own axes."""
    (i, j, k), _ = _axes(order)
    angles = np.array(angles, dtype=np.float64)
    angles[..., i] += np.pi
    angles[..., j] = np.pi - angles[..., j]
    angles[..., k] += np.pi
    return angles


def _unwrapped(angles: Array, previous: Array) -> tuple[Array, Array]:
    """Angles moved by whole turns next to `previous`, and what is left of the differences, summed (...,)."""
    off = angles - previous
    turns = np.sign(off) * np.ceil(np.maximum(np.abs(off) / (2 * np.pi) - 0.5 - _TIE, 0.0))
    moved = np.where(turns == 0, angles, angles - 2 * np.pi * turns)
    return moved, np.abs(moved - previous).sum(axis=-1)


def nearest(angles: npt.ArrayLike, previous: npt.ArrayLike, order: str) -> Array:
    """The representation of the same rotation that is nearest to `previous`.

    Whole turns on each axis, of the triple itself or of its `equivalent`, whichever has the smaller sum of absolute
    differences. On a tie the plain triple is kept; a difference of exactly half a turn is not wrapped.
    Angles that need no change come back bit for bit. NaN stays NaN.
    """
    angles, previous = np.broadcast_arrays(np.asarray(angles, dtype=np.float64), np.asarray(previous, dtype=np.float64))
    plain, plain_sum = _unwrapped(angles, previous)
    other, other_sum = _unwrapped(equivalent(angles, order), previous)
    return np.where((other_sum < plain_sum - _TIE)[..., None], other, plain)
