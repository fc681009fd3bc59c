# SPDX-License-Identifier: GPL-3.0-or-later
"""What a heat map shows, by vertex and frame: the gap between the methods, the volume kept, the effect of a cut."""

from __future__ import annotations

import numpy as np

from ..clip import Floats
from . import dual_quaternion, linear
from .displacement import distance_mm, to_mm
from .joints import joints, pose
from .skin import Motion, Skin
from .weights import ENGINE_INFLUENCES, counts, cut

# Nearer to its axis than this (in units of the armature), a vertex has no radius to lose.
_NO_RADIUS = 1e-9


def gap_mm(skin: Skin, motion: Motion) -> Floats:
    """(F, V) millimetres between linear and dual quaternion blending."""
    difference = linear.deform(skin, motion) - dual_quaternion.deform(skin, motion)
    return distance_mm(difference.transpose(2, 0, 1), to_mm(skin, motion))


def cut_mm(skin: Skin, motion: Motion, most: int = ENGINE_INFLUENCES) -> Floats:
    """(F, V) millimetres that a cut to the heaviest influences moves each vertex, by linear blending."""
    fewer = cut(skin, most, vertices=counts(skin) > most)
    difference = linear.deform(skin, motion) - linear.deform(fewer, motion)
    return distance_mm(difference.transpose(2, 0, 1), to_mm(skin, motion))


def radius_kept(skin: Skin, motion: Motion) -> Floats:
    """(F, V) the distance from its joint's axis that linear blending leaves each vertex, in parts of what dual
    quaternions keep: 1 where nothing is lost, and for what no joint blends."""
    found = joints(skin)
    result = np.ones((len(motion), len(skin)))
    rows = np.flatnonzero(found.of_vertex < len(found))
    if not len(rows):
        return result
    joint = found.of_vertex[rows]
    posed = pose(found, motion, dual_quaternion.from_matrices(motion.deform, skin.bones.rest).real)
    pivot, axis = (values.transpose(1, 2, 0)[:, joint] for values in (posed.pivot, posed.axis))
    to_armature = motion.to_armature
    distances = []
    for method in (linear.deform, dual_quaternion.deform):
        points = method(skin, motion)[:, rows] @ np.swapaxes(to_armature[:, :3, :3], 1, 2) + to_armature[:, None, :3, 3]
        away = points - pivot
        away = away - np.sum(away * axis, axis=-1, keepdims=True) * axis
        distances.append(np.linalg.norm(away, axis=-1))
    lbs, dqs = distances
    turning = np.any(axis != 0.0, axis=-1) & (dqs > _NO_RADIUS)
    result[:, rows] = np.where(turning, lbs / np.where(turning, dqs, 1.0), 1.0)
    return result
