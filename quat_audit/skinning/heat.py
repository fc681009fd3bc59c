# SPDX-License-Identifier: GPL-3.0-or-later
"""Figures for each vertex on each frame, as a heat map shows them, and the colors of its scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from . import dual_quaternion, linear
from .displacement import HELD, distance_mm, to_mm
from .joints import joints, pose
from .measure import Worst
from .skin import Motion, Skin
from .weights import ENGINE_INFLUENCES, counts, cut

# The colors of a scale from nothing to its top, evenly spaced, between them linear: red, green, blue. Their lightness
# rises to the middle and falls after it, so that the top also stands out for who sees no red.
RAMP = (
    (0.20, 0.23, 0.38),
    (0.15, 0.47, 0.68),
    (0.30, 0.75, 0.62),
    (0.96, 0.83, 0.33),
    (0.83, 0.15, 0.12),
)
# Where the turned radius of dual quaternion skinning is less than this part of the mesh's size, a part of it that is
# lost means nothing.
LEAST_RADIUS = 1e-4


@dataclass(frozen=True)
class HeatMap:
    """What a heat map shows.

    Attributes:
        name: for a file and an option.
        title: for a person.
        unit: "mm" or "%".
    """

    name: str
    title: str
    unit: str


GAP = HeatMap("gap", "Distance between LBS and DQS", "mm")
LOSS = HeatMap("loss", "Cross-section that LBS loses", "%")
CUT = HeatMap("cut", "Displacement by the influence cut", "mm")
KINDS = (GAP, LOSS, CUT)


def heat(skin: Skin, motion: Motion, kind: HeatMap, *, most: int = ENGINE_INFLUENCES) -> Floats:
    """What a heat map shows of each vertex.

    Args:
        skin: V vertices.
        motion: F frames.
        kind: GAP, LOSS or CUT.
        most: influences that the cut leaves.

    Returns:
        (F, V) float32 in the kind's unit; never negative, 0 where there is no number.

    Raises:
        ValueError: another kind.
    """
    found = {GAP: gap_mm, LOSS: loss_percent}.get(kind)
    if found is not None:
        return found(skin, motion)
    if kind == CUT:
        return cut_mm(skin, motion, most=most)
    raise ValueError(f"kind must be one of {', '.join(k.name for k in KINDS)}, got {kind!r}")


def worst(skin: Skin, motion: Motion, kind: HeatMap, *, most: int = ENGINE_INFLUENCES) -> Worst:
    """The largest figure of a heat map over all frames, with its frame, vertex, and the joint that blends this most.

    Raises:
        ValueError: no frames.
    """
    if not len(motion):
        raise ValueError("motion has no frames to measure")
    step, found = max(1, HELD // max(1, len(skin))), []
    for start in range(0, len(motion), step):
        figures = heat(skin, motion.part(slice(start, start + step)), kind, most=most)
        frame, at = divmod(int(np.argmax(figures)), len(skin))
        found.append((float(figures[frame, at]), start + frame, at))
    value, row, vertex = max(found, key=lambda one: one[0])
    joint = int(joints(skin).of_vertex[vertex])
    bone = skin.bones.names[joints(skin).below[joint]] if joint < len(joints(skin)) else ""
    return Worst(value, float(motion.frames[row]), bone, vertex)


def gap_mm(skin: Skin, motion: Motion) -> Floats:
    """(F, V) distance of each vertex's two positions, linear and dual quaternion."""
    return _apart_mm(linear.deform(skin, motion), dual_quaternion.deform(skin, motion), skin, motion)


def cut_mm(skin: Skin, motion: Motion, *, most: int = ENGINE_INFLUENCES) -> Floats:
    """(F, V) how far linear blending takes each vertex from its place when it keeps only its `most` heaviest."""
    many = counts(skin) > most
    if not many.any():
        return np.zeros((len(motion), len(skin)), dtype=np.float32)
    fewer = cut(skin, most, vertices=many)
    return _apart_mm(linear.deform(skin, motion), linear.deform(fewer, motion), skin, motion)


def loss_percent(skin: Skin, motion: Motion) -> Floats:
    """(F, V) how much less of the cross-section of its joint LBS leaves each vertex than DQS does.

    The cross-section goes with the square of the distance from the axis that the joint turns about (see
    `joints.Joints.of_vertex`): 100 % is a candy wrapper. 0 for what belongs to no joint, or to one that is not turned.
    """
    found = joints(skin)
    lost = np.zeros((len(motion), len(skin)), dtype=np.float32)
    mine = np.flatnonzero(found.of_vertex < len(found))
    if not len(mine):
        return lost
    joint = found.of_vertex[mine]
    bones = dual_quaternion.prepare(skin, motion)
    posed = pose(found, motion, bones.bones.real)
    axis, pivot = posed.axis[:, :, joint], posed.pivot[:, :, joint]
    to_armature = motion.to_armature.astype(np.float32)
    squares = []
    for positions in (linear.deform(skin, motion), dual_quaternion.deform(skin, motion)):
        points = positions[:, mine] @ to_armature[:, :3, :3].swapaxes(1, 2) + to_armature[:, None, :3, 3]
        away = points.transpose(2, 0, 1) - pivot
        squares.append(np.sum(away * away, axis=0) - np.sum(away * axis, axis=0) ** 2)
    least = least_square(skin, motion)
    with np.errstate(invalid="ignore", divide="ignore"):
        part = 100.0 * (1.0 - squares[0] / squares[1])
    measured = (squares[1] > least) & np.any(axis != 0, axis=0)
    lost[:, mine] = np.clip(np.nan_to_num(np.where(measured, part, 0.0)), 0.0, 100.0)
    return lost


def least_square(skin: Skin, motion: Motion) -> float:
    """The square of LEAST_RADIUS of the rest shape's box, as it lies in armature space on the first frame."""
    box = skin.cache.get("box")
    if box is None:
        with np.errstate(invalid="ignore"):
            box = (
                np.stack([np.fmin.reduce(skin.vertices), np.fmax.reduce(skin.vertices)])
                if len(skin)
                else np.zeros((2, 3))
            )
        skin.cache["box"] = box
    # The box of a turned box: its sides in absolute values.
    sides = np.abs(motion.to_armature[0, :3, :3]) @ (box[1] - box[0])
    return float(np.sum((LEAST_RADIUS * sides) ** 2))


def _apart_mm(one: Floats, other: Floats, skin: Skin, motion: Motion) -> Floats:
    apart = distance_mm((one - other).transpose(2, 0, 1), to_mm(skin, motion))
    return np.nan_to_num(apart, nan=0.0, posinf=0.0)


def colors(values: npt.ArrayLike, top: float) -> Floats:
    """Figures as the colors of a scale.

    Args:
        values: (...) from 0.
        top: what has the last color; from there on the color stays. Nothing (0) shows all in the first.

    Returns:
        (..., 3) float32, red, green, blue of 0 to 1.
    """
    table = np.array(RAMP, dtype=np.float32)
    part = np.asarray(values, dtype=np.float32) / np.float32(top) if top > 0 else np.zeros_like(values, np.float32)
    at = np.clip(np.nan_to_num(part, nan=0.0), 0.0, 1.0) * (len(table) - 1)
    low = np.minimum(at.astype(np.int64), len(table) - 2)
    return np.asarray(table[low] + (table[low + 1] - table[low]) * (at - low)[..., None], dtype=np.float32)


def round_top(value: float) -> float:
    """A readable top for a scale that reaches to a value: the next of 1, 2, 5 × 10ⁿ. 1 for nothing."""
    if not np.isfinite(value) or value <= 0.0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= value * (1.0 - 1e-9)))
