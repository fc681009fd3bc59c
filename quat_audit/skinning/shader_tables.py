# SPDX-License-Identifier: GPL-3.0-or-later
"""A skin and its bones' transforms as tables of four float32 numbers a row, as a vertex shader reads them.

`Tables` are made once for a skin, `transforms` for each pose. Numbers of rows and bones stand in float32: every whole
number up to 16 million is one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from .displacement import to_mm
from .dual_quaternion import from_matrices
from .heat import least_square
from .joints import joints
from .skin import Motion, Skin, influences, inverse
from .weights import counts, cut

# Rows of a texture of this width lie one behind the other: what every graphics card can do is 16,384.
WIDTH = 4096
# The transforms begin with the object's own rows: to the armature's space, back, and to millimeters.
OBJECT_ROWS, BONE_ROWS = 9, 4


@dataclass(frozen=True, eq=False)
class Tables:
    """What of a skin does not change with the pose. V vertices, N influences in stored order, J joints.

    Attributes:
        position: (V, 3) float32, at rest.
        rows: (V, 4) float32: where the vertex's influences start (column and line in a table of WIDTH columns), how
            many they are, and its joint (-1: none).
        limits: (V, 3) float32: how far the modifier applies, 1 where the vertex is deformed at all, the same with
            the influences cut.
        influences: (N, 4) float32: bone, share, share that is left by the cut, 0.
        joints: (2 J, 4) float32: lower bone, upper bone, 0, 0; the pivot at rest in armature space, 0.
        triangles: (T, 3) int32.
    """

    position: Floats
    rows: Floats
    limits: Floats
    influences: Floats
    joints: Floats
    triangles: npt.NDArray[np.int32]


def tables(skin: Skin, most: int) -> Tables:
    """Lay out a skin.

    Args:
        skin: V vertices. What a vertex's weights give no number for stays at rest.
        most: influences that the cut leaves.
    """
    inf, vertex = influences(skin), influences(skin).vertex()
    share, live = _shares(skin)
    left, cut_live = share, live
    many = counts(skin) > most
    if many.any():
        left, cut_live = _cut_shares(skin, most)
    start, found = inf.offsets[:-1], joints(skin)
    joint = np.where(found.of_vertex < len(found), found.of_vertex, -1)
    mask = np.ones(len(skin)) if skin.mask is None else skin.mask
    return Tables(
        position=_float32(skin.vertices),
        rows=_float32(np.stack([start % WIDTH, start // WIDTH, inf.counts, joint], axis=1)),
        limits=_float32(np.stack([mask, live, cut_live], axis=1)),
        influences=_float32(
            np.stack(
                [inf.bone, np.where(live[vertex], share, 0), np.where(cut_live[vertex], left, 0), 0 * share], axis=1
            )
        ),
        joints=_joint_rows(skin),
        triangles=np.ascontiguousarray(skin.triangles, dtype=np.int32),
    )


def _shares(skin: Skin) -> tuple[Floats, Floats]:
    """(N,) normalized weights, (V,) whether the vertex is deformed by them."""
    inf = influences(skin)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        share = inf.weight / inf.total[inf.vertex()]
    finite = np.isfinite(inf.total)
    return np.nan_to_num(share, nan=0.0, posinf=0.0, neginf=0.0), inf.live & finite


def _cut_shares(skin: Skin, most: int) -> tuple[Floats, Floats]:
    """The same of the skin that is left by a cut, on the rows of the whole one."""
    fewer = cut(skin, most, vertices=counts(skin) > most)
    share, live = _shares(fewer)
    here, there = influences(skin), influences(fewer)
    # A bone may be listed twice on a vertex: it counts in its first place.
    key = here.vertex() * len(skin.bones) + here.bone
    names, first = np.unique(key, return_index=True)
    added = np.bincount(np.searchsorted(names, there.vertex() * len(skin.bones) + there.bone), share, len(names))
    left = np.zeros(len(key))
    left[first] = added
    return left, live


def _joint_rows(skin: Skin) -> Floats:
    found = joints(skin)
    rows = np.zeros((len(found), 2, 4))
    rows[:, 0, 0], rows[:, 0, 1], rows[:, 1, :3] = found.below, found.above, found.pivot
    return _float32(rows.reshape(-1, 4))


def transforms(skin: Skin, motion: Motion) -> Floats:
    """The first frame of a motion: OBJECT_ROWS, then BONE_ROWS for each bone (its matrix and its unit quaternion).

    Returns:
        (OBJECT_ROWS + BONE_ROWS B, 4) float32. The dual part of a bone for the vertex p is that of the translation
        M p - R p (see `dual_quaternion`), which takes no numbers of its own.
    """
    bones, first = len(skin.bones), motion.part(slice(0, 1))
    real = from_matrices(first.deform, skin.bones.rest).real[0]
    rows = np.zeros((OBJECT_ROWS + BONE_ROWS * bones, 4), dtype=np.float32)
    rows[0:3], rows[3:6] = first.to_armature[0, :3], inverse(first.to_armature)[0, :3]
    rows[6:9, :3] = to_mm(skin, first)[0]
    rows[6, 3] = least_square(skin, first)
    of_bones = rows[OBJECT_ROWS:].reshape(bones, BONE_ROWS, 4)
    of_bones[:, :3], of_bones[:, 3] = first.deform[0, :, :3], real
    return rows


def texture(rows: Floats) -> Floats:
    """(R, 4) rows as a whole texture: (height, width, 4), zeros behind them; at least one."""
    width = min(WIDTH, max(1, len(rows)))
    height = max(1, -(-len(rows) // WIDTH))
    whole = np.zeros((height * width, 4), dtype=np.float32)
    whole[: len(rows)] = rows
    return whole.reshape(height, width, 4)


def _float32(values: Floats) -> Floats:
    return np.ascontiguousarray(values, dtype=np.float32)
