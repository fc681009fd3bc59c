# SPDX-License-Identifier: GPL-3.0-or-later
"""Distances in millimeters, and what a change of weights moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from . import dual_quaternion, linear
from .skin import Motion, Skin, influences, select, size_of

# Vertices × frames held at a time.
HELD = 2**19


def size_mm(skin: Skin, motion: Motion) -> float:
    """Diagonal of the rest shape's box in world space on the first frame, mm."""
    world = motion.to_world[0]
    return size_of(skin.vertices @ world[:3, :3].T) * skin.mm_per_unit


def to_mm(skin: Skin, motion: Motion) -> Floats:
    """(F, 3, 3) takes a difference in mesh space to millimeters in world space; a multiple of 1 where it may."""
    linear_part = motion.to_world[:, :3, :3] * skin.mm_per_unit
    square = np.swapaxes(linear_part, 1, 2) @ linear_part
    even = np.trace(square, axis1=1, axis2=2) / 3.0
    plain = np.all(np.abs(square - even[:, None, None] * np.eye(3)) <= 1e-5 * even[:, None, None], axis=(1, 2))
    return np.where(plain[:, None, None], np.sqrt(even)[:, None, None] * np.eye(3), linear_part)


def distance_mm(difference: Floats, metric: Floats) -> Floats:
    """(F, n) millimeters of (3, F, n) differences in mesh space."""
    if np.count_nonzero(metric - metric[:, :1, :1] * np.eye(3)) == 0:
        x, y, z = difference
        return np.asarray(np.sqrt(x * x + y * y + z * z) * metric[:, 0, 0].astype(difference.dtype)[:, None])
    moved = np.einsum("fij,jfn->ifn", metric.astype(difference.dtype), difference)
    return np.asarray(np.sqrt(np.sum(moved * moved, axis=0)))


@dataclass(frozen=True, eq=False)
class Displacement:
    """What other weights move, over F frames.

    Attributes:
        frames: (F,).
        largest: (F,) mm; vertex: (F,) int, whose it is.
        vertices: (U,) int, those whose deforming weights differ.
        of_vertex: (U,) mm, the largest of each over the frames; at: (U,) the frame of it.
    """

    frames: Floats
    largest: Floats
    vertex: Ints
    vertices: Ints
    of_vertex: Floats
    at: Floats

    @property
    def worst(self) -> float:
        """mm over all frames."""
        return float(self.largest.max(initial=0.0))


def displacement(
    before: Skin, after: Skin, motion: Motion, *, preserve_volume: bool = False, dtype: npt.DTypeLike = np.float32
) -> Displacement:
    """How far another set of weights moves the vertices, by one method.

    Args:
        before, after: the same vertices and bones, other weights.
    """
    changed, frames = np.flatnonzero(_changed(before, after)), len(motion)
    far, vertex = np.zeros(frames), np.zeros(frames, dtype=np.int64)
    of_vertex, at = np.zeros(len(changed)), np.full(len(changed), motion.frames[0] if frames else np.nan)
    method = dual_quaternion.deform if preserve_volume else linear.deform
    one, other = select(before, changed), select(after, changed)
    step = max(1, HELD // max(1, len(changed)))
    metric = to_mm(before, motion)
    for start in range(0, frames if len(changed) else 0, step):
        rows = slice(start, start + step)
        difference = method(one, motion.part(rows), dtype) - method(other, motion.part(rows), dtype)
        mm = np.nan_to_num(distance_mm(difference.transpose(2, 0, 1), metric[rows]), nan=0.0)
        vertex[rows] = changed[mm.argmax(axis=1)]
        far[rows] = mm.max(axis=1)
        most = mm.max(axis=0)
        at = np.where(most > of_vertex, motion.frames[rows][mm.argmax(axis=0)], at)
        of_vertex = np.maximum(of_vertex, most)
    return Displacement(motion.frames, far, vertex, changed, of_vertex, at)


def _changed(before: Skin, after: Skin) -> Bools:
    """(V,) the deforming weights differ."""
    tables = []
    for skin in (before, after):
        inf = influences(skin)
        order = np.lexsort((inf.bone, inf.vertex()))
        order = order[inf.weight[order] != 0]
        tables.append((inf.vertex()[order], inf.bone[order], inf.weight[order]))
    numbers = [np.bincount(t[0], minlength=len(before)) for t in tables]
    differs = numbers[0] != numbers[1]
    same = [~differs[t[0]] for t in tables]
    (v, b, w), (_, c, x) = ((t[0][s], t[1][s], t[2][s]) for t, s in zip(tables, same, strict=True))
    differs[v[(b != c) | ~((w == x) | (np.isnan(w) & np.isnan(x)))]] = True
    return np.asarray(differs)
