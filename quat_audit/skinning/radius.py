# SPDX-License-Identifier: GPL-3.0-or-later
"""What both methods leave of a joint's radius, in parts of what it is at rest."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints
from . import dual_quaternion, linear
from .displacement import HELD
from .joints import joints, pose
from .skin import Motion, Skin, select


def of_rest(skin: Skin, motion: Motion) -> Floats:
    """The distance of a joint's shared vertices from the axis that it turns about, in parts of that at rest.

    A ring that two bones share evenly, turned by an angle t about any axis, keeps ``|cos(t / 2)|`` of it under linear
    blending and all of it under dual quaternions.

    Args:
        skin: V vertices, J joints (`joints.joints`).
        motion: F frames.

    Returns:
        (2, F, J) root mean square over the shared vertices (see `Joints.vertex`), linear blending first; 1 where the
        joint is not turned, NaN where it shares no vertices or they lie on the axis.
    """
    found = joints(skin)
    frames, count = len(motion), len(found)
    result = np.full((2, frames, count), np.nan)
    if not len(found.vertex):
        return result
    shared = select(skin, found.vertex)
    bones = dual_quaternion.prepare(skin, motion)
    posed = pose(found, motion, bones.bones.real)
    at_rest = shared.vertices @ motion.to_armature[0, :3, :3].T + motion.to_armature[0, :3, 3]
    before = at_rest - found.pivot[found.joint]
    # The axis where the joint is at rest: the upper bone's turn, taken back.
    axis = posed.axis.transpose(1, 2, 0).astype(np.float64)
    rest_axis = _rotated_back(axis, bones.bones.real[:, found.above])
    shares = np.bincount(found.joint, minlength=count)
    step = max(1, HELD // len(found.vertex))
    for start in range(0, frames, step):
        rows = slice(start, start + step)
        part = motion.part(rows)
        rest = _mean_square(before[None], rest_axis[rows], found.joint, count)
        for way, method in enumerate((linear.deform, dual_quaternion.deform)):
            points = (
                method(shared, part) @ part.to_armature[:, :3, :3].swapaxes(1, 2) + part.to_armature[:, None, :3, 3]
            )
            away = points - posed.pivot[:, rows].transpose(1, 2, 0)[:, found.joint]
            with np.errstate(invalid="ignore", divide="ignore"):
                result[way, rows] = np.sqrt(_mean_square(away, axis[rows], found.joint, count) / rest)
    still = ~np.any(axis != 0, axis=-1)
    result[:, still] = 1.0
    result[:, :, shares == 0] = np.nan
    return np.where(np.isfinite(result), result, np.nan)


def _mean_square(away: Floats, axis: Floats, joint: Ints, count: int) -> Floats:
    """(F, J) sum of squared distances of (F or 1, M, 3) from axes (F, J, 3) through the origin."""
    along = np.sum(away * axis[:, joint], axis=-1)
    square = np.maximum(np.sum(away * away, axis=-1) - along**2, 0.0)
    starts = np.flatnonzero(np.diff(joint, prepend=-1))  # vertices are sorted by joint
    total = np.zeros((len(square), count))
    total[:, joint[starts]] = np.add.reduceat(square, starts, axis=1)
    return total


def _rotated_back(vector: Floats, quaternion: Floats) -> Floats:
    """Vectors turned by the inverse of unit quaternions (w, x, y, z)."""
    w, u = quaternion[..., :1], -quaternion[..., 1:]
    side = np.cross(u, vector)
    return np.asarray(vector + 2.0 * (w * side + np.cross(u, side)))
