# SPDX-License-Identifier: GPL-3.0-or-later
"""Dual quaternion skinning: bones are blended as rigid motions, so that a joint keeps its volume.

Blender's Preserve Volume is this (mat4_to_dquat, add_weighted_dq_dq_pivot and mul_v3m3_dq in
source/blender/blenlib/intern/math_rotation_c.cc; the method is Kavan et al., "Geometric Skinning with Approximate
Dual Quaternion Blending", 2008). Scale and shear are no part of a rigid motion. Blender splits them off and lets
them act at the vertex: a bone that takes the point p to M p counts for that vertex as the rigid motion with the
bone's rotation R that takes p to the very same place. Its translation is M p - R p, linear in p, and that is how it
is computed here for whole meshes.

Summing asks for signs, as q and -q are one rotation. Two rules (the same for up to two influences, and unless the
bones of one vertex are turned more than half a turn apart from each other):

* HEAVIEST: each influence in the hemisphere of the vertex's heaviest one (ties: the lower bone number).
* BLENDER: each influence in the hemisphere of the sum of those before it, in stored order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from ..rotation.quaternion import multiply, to_matrix
from .blocks import Block, blocks, bone_order, product, steps
from .skin import Motion, Skin, inverse

HEAVIEST, BLENDER = "heaviest", "blender"

# Blender's own tolerances for "this bone has no scale": on products of axes, on the squared change of their length.
_ORTHONORMAL, _NO_SCALE = 1e-5, 1e-8


@dataclass(frozen=True, eq=False)
class DualQuaternions:
    """The bones of a motion as dual quaternions, in armature space.

    Attributes:
        real: (F, B, 4) float64 unit quaternions of the rotation.
        dual: (F, B, 4, 4) float64: times (x, y, z, 1) it is the dual part for a vertex resting there.
        scaled: (F, B) bool, the bone scales or shears; where it does not, only the last column of `dual` counts.
    """

    real: Floats
    dual: Floats
    scaled: Bools


def from_rigid(rotation: npt.ArrayLike, translation: npt.ArrayLike) -> Floats:
    """Dual part ½ t q of rigid motions: turn by `rotation` (..., 4), then move by `translation` (..., 3). (..., 4)."""
    t = np.asarray(translation, dtype=np.float64)
    pure = np.concatenate([np.zeros((*t.shape[:-1], 1)), t], axis=-1)
    return 0.5 * multiply(pure, rotation)


def from_matrices(deform: Floats, rest: Floats) -> DualQuaternions:
    """Deform matrices as dual quaternions, scale split off as Blender does.

    Args:
        deform: (F, B, 4, 4) rest to pose, in armature space.
        rest: (B, 4, 4) rest matrices: scale is told from rotation along the bone's own axes.
    """
    deform = np.asarray(deform, dtype=np.float64)
    linear, posed = deform[..., :3, :3], (deform @ rest)[..., :3, :3]
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = _has_scale(linear, posed)
        turned = linear
        if scaled.any():
            turned = linear.copy()
            unscaled = to_matrix(from_rotation_matrix(_straightened(posed[scaled])))
            turned[scaled] = unscaled @ inverse(np.broadcast_to(rest, deform.shape)[scaled])[..., :3, :3]
        real = from_rotation_matrix(turned)
        # Columns of what the translation is linear in: (M - R) p + t, with M = R where there is no scale.
        moved = deform[..., :3, :].copy()
        moved[..., :3] -= to_matrix(real)
        moved[~scaled, :, :3] = 0.0
        dual = from_rigid(real[..., None, :], np.moveaxis(moved, -1, -2))
    return DualQuaternions(real, np.moveaxis(dual, -1, -2), scaled)


def _has_scale(linear: Floats, posed: Floats) -> Bools:
    product = np.swapaxes(linear, -1, -2) @ linear
    skewed = np.any(np.abs(product - np.eye(3)) > _ORTHONORMAL, axis=(-1, -2))
    stretch = np.linalg.norm(posed, axis=-2) - 1.0
    return np.asarray(skewed | (np.linalg.det(linear) < 0) | (np.sum(stretch * stretch, axis=-1) > _NO_SCALE))


def _straightened(matrix: Floats) -> Floats:
    """(N, 3, 3) unit axes about a bone's Y: as `orthogonalize_m4` about axis 1, normalized. Right-handed."""
    x, y, z = (matrix[..., i] for i in range(3))
    y = _unit(y)
    # Blender compares with the axes' scale still in them, so shear can make it choose the second or third way.
    first, second = np.sum(y * x, axis=-1) < 1.0, np.sum(x * z, axis=-1) < 1.0
    new_z = _unit(_cross(x, y))
    new_x = np.where(
        first[:, None],
        _cross(y, new_z),
        _unit(np.where(second[:, None], _cross(y, z), _cross(y, y[:, [1, 2, 0]]))),
    )
    new_z = np.where(first[:, None], new_z, _cross(new_x, y))
    return np.stack([_unit(new_x), y, _unit(new_z)], axis=-1)


def _unit(v: Floats) -> Floats:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(v / np.where(length > 0, length, 1.0))


def _cross(a: Floats, b: Floats) -> Floats:
    return np.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1)


def from_rotation_matrix(matrix: Floats) -> Floats:
    """(..., 3, 3) rotations as unit quaternions (..., 4), w ≥ 0, without cancellation for any of them.

    After Mike Day, "Converting a Rotation Matrix to a Quaternion" (Insomniac Games), as Blender's
    mat3_normalized_to_quat: the columns are normalized first, a mirrored matrix is negated.
    """
    m = np.asarray(matrix, dtype=np.float64)
    m = m / np.maximum(np.linalg.norm(m, axis=-2, keepdims=True), 1e-300)
    with np.errstate(invalid="ignore"):
        m = np.where(np.linalg.det(m)[..., None, None] < 0, -m, m)
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]
    xy, xz, yz = m[..., 0, 1] + m[..., 1, 0], m[..., 0, 2] + m[..., 2, 0], m[..., 1, 2] + m[..., 2, 1]
    w, x, y, z = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    choices = np.stack(
        [
            np.stack([x, xy, xz, wx], axis=-1)[..., [3, 0, 1, 2]],
            np.stack([wy, xy, y, yz], axis=-1),
            np.stack([wz, xz, yz, z], axis=-1),
            np.stack([w, wx, wy, wz], axis=-1),
        ],
        axis=-2,
    )
    pick = np.where(zz < 0, np.where(xx > yy, 0, 1), np.where(xx < -yy, 2, 3))
    q = np.take_along_axis(choices, pick[..., None, None], axis=-2)[..., 0, :]
    q = q * np.where(q[..., :1] < 0, -1.0, 1.0)
    return np.asarray(q / np.maximum(np.linalg.norm(q, axis=-1, keepdims=True), 1e-300))


def deform(skin: Skin, motion: Motion, dtype: npt.DTypeLike = np.float32, *, hemisphere: str = BLENDER) -> Floats:
    """Positions of all vertices on all frames.

    Args:
        skin: V vertices.
        motion: F frames.
        dtype: precision of the sums; float32 is what Blender computes in.
        hemisphere: BLENDER (what Preserve Volume shows) or HEAVIEST.

    Returns:
        (F, V, 3) in mesh space.

    Raises:
        ValueError: hemisphere is neither.
    """
    result = np.empty((len(motion), len(skin), 3), dtype=dtype)
    result[:] = skin.vertices
    bones = prepare(skin, motion, dtype, hemisphere=hemisphere)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        for block in blocks(skin, dtype):
            for rows in steps(motion, block):
                result[rows, block.vertices] = deform_block(block, bones, rows).transpose(1, 2, 0)
    return result


@dataclass(frozen=True, eq=False)
class Prepared:
    """A motion's dual quaternions, laid out for products with a block's weights.

    Attributes:
        bones: what they were made from.
        parts: (5, 4, F, B) components: real part, then what the dual part takes times x, y, z, 1 of the vertex. Signs
            are chosen along `bone_order`, so that few vertices need others.
        scaled: (B,) bool, on some frame.
        motion, back: the motion, and armature to mesh space (F, 4, 4); None where both are the same space.
        hemisphere: the rule for signs.
    """

    bones: DualQuaternions
    parts: Floats
    scaled: Bools
    motion: Motion
    back: Floats | None
    hemisphere: str


def prepare(skin: Skin, motion: Motion, dtype: npt.DTypeLike = np.float32, *, hemisphere: str = BLENDER) -> Prepared:
    """Dual quaternions of a motion, ready for `deform_block`.

    Raises:
        ValueError: hemisphere is neither BLENDER nor HEAVIEST.
    """
    if hemisphere not in (HEAVIEST, BLENDER):
        raise ValueError(f"hemisphere must be {HEAVIEST!r} or {BLENDER!r}, got {hemisphere!r}")
    bones = from_matrices(motion.deform, skin.bones.rest)
    sign = np.ones(bones.scaled.shape)
    for bone, before in bone_order(skin):
        cosine = np.einsum("fi,fi->f", bones.real[:, bone], bones.real[:, before])
        sign[:, bone] = np.where(cosine < 0, -sign[:, before], sign[:, before])
    parts = np.concatenate([bones.real[..., None], bones.dual], axis=-1) * sign[..., None, None]
    return Prepared(
        bones=bones,
        parts=np.ascontiguousarray(parts.transpose(3, 2, 0, 1), dtype=dtype),
        scaled=bones.scaled.any(axis=0),
        motion=motion,
        back=None if motion.in_place else inverse(motion.to_armature),
        hemisphere=hemisphere,
    )


def deform_block(block: Block, bones: Prepared, rows: slice) -> Floats:
    """Positions of a block on some frames.

    Args:
        block: n vertices.
        bones: `prepare` of the whole motion.
        rows: the F frames of it that are wanted.

    Returns:
        (3, F, n) in mesh space, in the block's dtype.
    """
    points = block.rest[:, None]
    if bones.back is not None:
        points = np.matmul(bones.motion.to_armature[rows].astype(points.dtype), block.rest).transpose(1, 0, 2)
    moved = _apply(_blend(block, bones, rows, points), points)
    if block.mask is not None:
        moved = points[:3] + (moved - points[:3]) * block.mask
    if bones.back is not None:
        back = bones.back[rows].astype(points.dtype)
        moved = (np.matmul(back[:, :3, :3], moved.transpose(1, 0, 2)) + back[:, :3, 3:]).transpose(1, 0, 2)
    return moved


def _blend(block: Block, bones: Prepared, rows: slice, points: Floats) -> Floats:
    """(8, F, n) weighted sums: four of the real part, four of the dual."""
    frames, count = rows.stop - rows.start, len(block)
    parts = np.take(bones.parts[:, :, rows], block.bones, axis=3)
    if not bones.scaled[block.bones].any():
        parts = parts[::4]  # the dual parts do not depend on the vertex
    width = len(parts)
    mixed = product(parts.reshape(4 * width * frames, -1), block.weights).reshape(width, 4, frames, count)
    if width == 5:
        mixed[1:4] *= points[:3, None]
        mixed[1] += mixed[2]
        mixed[1] += mixed[3]
        mixed[1] += mixed[4]
    summed = mixed[:2].reshape(8, frames, count)
    real = parts[0]
    across = np.einsum("cfp,cfp->fp", real[..., block.pairs[:, 0]], real[..., block.pairs[:, 1]]) < 0  # (F, P)
    apart = np.flatnonzero(across.any(axis=0))
    if len(apart):
        hit = (across[:, apart].astype(np.float32) @ block.together[apart].astype(np.float32)) > 0
        frame, vertex = np.nonzero(hit)
        summed[:, frame, vertex] = _signed_sum(block, parts, points, frame, vertex, bones.hemisphere)
    return np.asarray(summed)


def _signed_sum(block: Block, parts: Floats, points: Floats, frame: Ints, vertex: Ints, hemisphere: str) -> Floats:
    """(8, E) sums, influence by influence, for vertices whose bones lie in different hemispheres."""
    reference = parts[0][:, frame, block.bone_table[vertex, block.heaviest[vertex]]]
    at = points[:3, frame if points.shape[1] > 1 else 0, vertex]
    total = np.zeros((8, len(vertex)), dtype=parts.dtype)
    for column in range(block.bone_table.shape[1]):
        weight = block.weight_table[vertex, column]
        part = parts[:, :, frame, block.bone_table[vertex, column]]  # (width, 4, E)
        against = total[:4] if hemisphere == BLENDER else reference
        weight = np.where(np.sum(part[0] * against, axis=0) < 0, -weight, weight)
        total[:4] += weight * part[0]
        dual = part[1] if len(part) == 2 else np.sum(part[1:4] * at[:, None], axis=0) + part[4]
        total[4:] += weight * dual
    return total


def _apply(summed: Floats, points: Floats) -> Floats:
    """Move points (4, 1 or F, n) by sums of dual quaternions (8, F, n), of any length: (3, F, n)."""
    w, r, d0, d = summed[0], summed[1:4], summed[4], summed[5:]
    p = points[:3]
    # p + 2 (r × (r × p + w p + d) + w d - d0 r) / |q|², which is the rotation and the translation in one.
    u = w * p
    u += d
    moved = w * d
    moved -= d0 * r
    square = w * w
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        u[i] += r[j] * p[k]
        u[i] -= r[k] * p[j]
        square += r[i] * r[i]
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        moved[i] += r[j] * u[k]
        moved[i] -= r[k] * u[j]
    moved *= 2.0 / square
    moved += p
    return np.asarray(moved)
