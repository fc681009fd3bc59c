# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of a rig when the rotations of some of its bones are replaced, and all else moves as Blender evaluated it.

For a bone, Blender multiplies what comes from its parent with the bone's own basis (BKE_bone_parent_transform_apply,
armature.cc): rotation and scale by one matrix, the location by another. The first is got back from the evaluated pose
and basis, whatever flags made it; the second is linear in the parent's pose. So only what passes from a changed
parent to its child needs the child's flags.

What constraints did to a bone is kept as it acted on the evaluated pose: it is carried along with the bone's parent,
not solved again. Exact but for children whose scale inheritance is not Full below parents that shear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Rig:
    """B bones.

    Attributes:
        names: (B,); one bone called "" is an object that is no rig.
        parents: (B,) numbers, -1 without.
        lengths: (B,) of the bone at rest.
        inherits_rotation: (B,) bool.
        inherits_scale: (B,) bool, its scale inheritance is Full (or Fix Shear, the same where nothing shears).
        constrained: (B,) bool, constraints act on it or solve it as part of a chain.
    """

    names: tuple[str, ...]
    parents: Ints
    lengths: Floats
    inherits_rotation: Bools
    inherits_scale: Bools
    constrained: Bools

    def below(self, bones: Ints) -> Bools:
        """(B,) the bone is one of some, or hangs on one of them."""
        found = np.zeros(len(self.names), dtype=bool)
        found[bones] = True
        for bone in self.parents_first():
            found[bone] |= self.parents[bone] >= 0 and found[self.parents[bone]]
        return found

    def parents_first(self) -> Ints:
        """(B,) the bones in an order in which each comes after its parent."""
        depth = np.zeros(len(self.names), dtype=np.int64)
        up = self.parents.copy()
        while (up >= 0).any():
            depth += up >= 0
            up = np.where(up >= 0, self.parents[up], -1)
        return np.argsort(depth, kind="stable")


@dataclass(frozen=True, eq=False)
class PosedRig:
    """A rig as Blender evaluated it on F frames.

    Attributes:
        frames: (F,).
        world: (F, 4, 4) the object's matrix.
        pose: (F, B, 4, 4) bones in the object's space.
        basis: (F, B, 4, 4) the bones' own location, rotation and scale as a matrix.
        scale: (F, B, 3) the bones' own scale.
        outer, inner: (F, 3, 3) delta and plain rotation of an object; identity for a rig, whose bones have no delta.
    """

    rig: Rig
    frames: Floats
    world: Floats
    pose: Floats
    basis: Floats
    scale: Floats
    outer: Floats
    inner: Floats

    def turned(self, rotation: Floats, delta: bool) -> Floats:
        """(F, 3, 3) the whole rotation of an owner whose one channel is `rotation` (F, 3, 3)."""
        return rotation @ self.inner if delta else self.outer @ rotation


def replace_rotations(posed: PosedRig, rotations: Mapping[int, Floats]) -> Floats:
    """(F, B, 4, 4) poses in the object's space with the rotations (F, 3, 3) of some bones in place of their own."""
    rig = posed.rig
    pose = posed.pose.copy()
    moved = rig.below(np.array(sorted(rotations), dtype=np.int64))
    for bone in rig.parents_first():
        if not moved[bone]:
            continue
        parent = int(rig.parents[bone])
        if parent >= 0 and moved[parent]:
            _follow_parent(posed, pose, int(bone), parent)
        if bone in rotations:
            own = posed.basis[:, bone, :3, :3]
            from_parent = pose[:, bone, :3, :3] @ _inverse(own)
            pose[:, bone, :3, :3] = from_parent @ (rotations[bone] * posed.scale[:, bone, None, :])
    return pose


def _follow_parent(posed: PosedRig, pose: Floats, bone: int, parent: int) -> None:
    rig = posed.rig
    was, now = posed.pose[:, parent], pose[:, parent]
    step = now @ _inverse(was)
    pose[:, bone, :3, 3] = np.einsum("fij,fj->fi", step[:, :3, :3], posed.pose[:, bone, :3, 3]) + step[:, :3, 3]
    if rig.inherits_rotation[bone]:
        turn = step[:, :3, :3]
        if not rig.inherits_scale[bone]:
            turn = _unscaled(now[:, :3, :3]) @ _inverse(_unscaled(was[:, :3, :3]))
        pose[:, bone, :3, :3] = turn @ posed.pose[:, bone, :3, :3]


def _unscaled(matrix: Floats) -> Floats:
    length = np.linalg.norm(matrix, axis=-2, keepdims=True)
    return np.asarray(matrix / np.where(length > 0, length, 1.0))


def _inverse(matrix: Floats) -> Floats:
    """Inverses (…, n, n); the identity for what is scaled to nothing, which shows nothing."""
    flat = np.abs(np.linalg.det(matrix)) < np.finfo(np.float64).tiny
    return np.linalg.inv(np.where(flat[..., None, None], np.eye(matrix.shape[-1]), matrix))


@dataclass(frozen=True, eq=False)
class Poses:
    """Bones in world space, before and after, on F frames: `before`, `after` (F, B, 4, 4)."""

    rig: Rig
    frames: Floats
    before: Floats
    after: Floats

    def marker(self, bone: int) -> Floats:
        """(3,) the point of a bone, in its own space, that shows its motion best.

        The tail; where the bone turns about itself, a point beside the tail. Of an object, the end of an axis.
        """
        length = self.rig.lengths[bone]
        candidates = np.eye(3)[[1, 0, 2]] * length
        if self.rig.names[bone]:
            candidates = np.array([[0.0, 1.0, 0.0], [SIDE, 1.0, 0.0], [0.0, 1.0, SIDE]]) * length
        travelled = np.array([_length(points(self.before[:, bone], c)) for c in candidates])
        return np.asarray(candidates[np.flatnonzero(travelled >= MOVES_ENOUGH * travelled.max())[0]])


# How far beside the tail a point shows the turning of a bone about itself, in lengths of the bone.
SIDE = 0.35
# A point that travels less than this share of the one that travels most does not show the motion.
MOVES_ENOUGH = 0.5


def points(matrices: Floats, offset: Floats) -> Floats:
    """(…, 3) a point of its own space under matrices (…, 4, 4)."""
    return np.asarray(matrices[..., :3, :3] @ offset + matrices[..., :3, 3])


def _length(path: Floats) -> float:
    return float(np.nansum(np.linalg.norm(np.diff(path, axis=0), axis=-1)))
