# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear blend skinning: each vertex goes to the weighted mean of where its bones would take it.

As Blender's Armature modifier without Preserve Volume (source/blender/blenkernel/intern/armature_deform.cc): what is
blended are displacements, the weights of deforming bones are normalized, and a vertex stays behind when they sum to
`skin.LEAST_CONTRIBUTION` or less.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..arrays import Floats
from .blocks import Block, blocks, product, steps
from .skin import Motion, Skin, inverse


def deform(skin: Skin, motion: Motion, dtype: npt.DTypeLike = np.float32) -> Floats:
    """Positions of all vertices on all frames.

    Args:
        skin: V vertices.
        motion: F frames.
        dtype: precision of the products; float32 is what Blender computes in.

    Returns:
        (F, V, 3) in mesh space.
    """
    result = np.empty((len(motion), len(skin), 3), dtype=dtype)
    result[:] = skin.vertices
    matrices = displacements(motion, dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        for block in blocks(skin, dtype):
            for rows in steps(motion, block):
                result[rows, block.vertices] = deform_block(block, matrices, rows).transpose(1, 2, 0)
    return result


def displacements(motion: Motion, dtype: npt.DTypeLike = np.float32) -> Floats:
    """(3, 4, F, B): each bone's deformation in mesh space, less the identity; entry by entry."""
    matrices = motion.deform[..., :3, :]
    if not motion.in_place:
        matrices = inverse(motion.to_armature)[:, None, :3] @ motion.deform @ motion.to_armature[:, None]
    return np.ascontiguousarray((matrices - np.eye(4)[:3]).transpose(2, 3, 0, 1), dtype=dtype)


def deform_block(block: Block, matrices: Floats, rows: slice) -> Floats:
    """Positions of a block on some frames.

    Args:
        block: n vertices.
        matrices: `displacements` of the whole motion.
        rows: the F frames of it that are wanted.

    Returns:
        (3, F, n) in mesh space, in the block's dtype.
    """
    frames = rows.stop - rows.start
    # One product makes every entry of every vertex's own matrix.
    mine = np.take(matrices[:, :, rows], block.bones, axis=3).reshape(12 * frames, -1)
    blended = product(mine, block.weights).reshape(3, 4, frames, len(block))
    blended[:, :3] *= block.rest[:3, None]
    moved = blended[:, 0]
    moved += blended[:, 1]
    moved += blended[:, 2]
    moved += blended[:, 3]
    if block.mask is not None:
        moved *= block.mask
    moved += block.rest[:3, None]
    return np.asarray(moved)
