# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints: where a deforming bone meets the deforming bone above it, and the vertices that the two sides share.

Many rigs for engines have their deforming bones side by side under a root that deforms nothing, posed by constraints:
such bones are joined where the weights say that they meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from .blocks import blocks
from .skin import Motion, Skin

# A vertex shared a : b between the two sides of a joint is blended 4ab; twisted by an angle t, linear blending takes
# it to sqrt(1 - 4ab sin²(t/2)) of its distance from the axis. 0.75 is a share of 1 : 3, beyond which the loss is not
# what an eye sees as the joint.
SHARED = 0.75
# So many of them are measured, evenly picked: a mean over a ring does not need every vertex of a dense one.
SAMPLED = 96
# Less blended than this, a vertex belongs to no joint.
LEAST_SHARED = 1e-3
# Below this turn between its two sides a joint loses nothing, and has no axis.
LEAST_TURN = np.radians(1.0)
# Bones that no chain joins meet where both have this weight.
MEETING = 0.25


@dataclass(frozen=True, eq=False)
class Joints:
    """J joints of a skin.

    Attributes:
        below, above: (J,) int, the bones; `below` gives the joint its name.
        pivot: (J, 3) the lower bone's head at rest, in armature space.
        limb_below, limb_above: (J, 3) unit, which way the limb goes on either side at rest (from head to head, as a
            bone's tail means nothing in an imported rig).
        of_vertex: (V,) int, the joint that blends the vertex most; J: none does.
        vertex, joint: (M,) int, vertices that a joint blends by SHARED or more, at most SAMPLED of each joint; a vertex
            may have several joints.
        lower: (M,) bool, the vertex belongs to the lower side by half or more.
    """

    below: Ints
    above: Ints
    pivot: Floats
    limb_below: Floats
    limb_above: Floats
    of_vertex: Ints
    vertex: Ints
    joint: Ints
    lower: Bools

    def __len__(self) -> int:
        return len(self.below)


def joints(skin: Skin) -> Joints:
    """The joints of a skin. Computed once."""
    found = skin.cache.get("joints")
    if found is None:
        found = skin.cache["joints"] = _find(skin)
    assert isinstance(found, Joints)
    return found


def _find(skin: Skin) -> Joints:
    bones = skin.bones
    weighted = np.zeros(len(bones), dtype=bool)
    for block in blocks(skin):
        weighted[block.bones] = True
    above = _joined(skin, _deforming_above(bones.parent, bones.deform))
    placed = np.isfinite(skin.vertices).all(axis=1)  # one vertex without a place would take the joint's mean with it
    inside = _subtrees(above)  # (B, B): [b, c]: c is b or lies below it
    below = np.flatnonzero(bones.deform & (above >= 0) & (inside & weighted).any(axis=1))
    of_vertex, parts = np.full(len(skin), len(below), dtype=np.int64), []
    for block in blocks(skin):
        share = inside[below][:, block.bones].astype(np.float64) @ block.weights  # (J, n)
        blend = 4.0 * share * (1.0 - share)
        if len(below):
            most = blend.argmax(axis=0)
            sure = np.take_along_axis(blend, most[None], axis=0)[0] > LEAST_SHARED
            of_vertex[block.vertices[sure]] = most[sure]
        joint, vertex = np.nonzero((blend >= SHARED) & placed[block.vertices])
        parts.append((block.vertices[vertex], joint, share[joint, vertex] >= 0.5))
    vertex, joint, lower = (
        (np.concatenate(column) for column in zip(*parts, strict=True))
        if parts
        else (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
    )
    order = np.lexsort((vertex, joint))
    number = np.bincount(joint, minlength=len(below))
    position = np.arange(len(order)) - np.repeat(np.cumsum(number) - number, number)
    # One in every so many: where position × SAMPLED / number passes a whole number.
    mine = number[joint[order]]
    picked = (mine <= SAMPLED) | ((position * SAMPLED) % np.maximum(mine, 1) < SAMPLED)
    vertex, joint, lower = (column[order[picked]] for column in (vertex, joint, lower))
    head = bones.head
    return Joints(
        below=below,
        above=above[below],
        pivot=head[below],
        limb_below=_limbs(skin, above)[below],
        limb_above=_unit(head[below] - head[above[below]]),
        of_vertex=of_vertex,
        vertex=vertex,
        joint=joint,
        lower=lower,
    )


def _deforming_above(parent: Ints, deform: Bools) -> Ints:
    """(B,) nearest bone above each that deforms, -1 for none."""
    above = parent.copy()
    for _ in range(len(parent)):
        skip = (above >= 0) & ~deform[above]
        if not skip.any():
            break
        above[skip] = parent[above[skip]]
    return above


def _joined(skin: Skin, above: Ints) -> Ints:
    """The same with trees of deforming bones that blend hung below each other, as far as one ends in the other.

    Of all pairs of bones the one that shares most vertices is taken first, and no pair that closes a circle: two thighs
    meet at the crotch, but both hang from the hips by more. The tree with the bone that is stored first is uppermost.
    """
    deforming = np.flatnonzero(skin.bones.deform)
    root = _roots(above)
    if len(np.unique(root[deforming])) < 2:
        return above
    meet = _meetings(skin)
    pairs = np.argwhere((np.triu(meet) > 0) & (root[:, None] != root[None, :]))
    tree = np.arange(len(root))  # by the tree's root: which of those that are joined it belongs to
    beside: dict[int, list[tuple[int, int]]] = {}
    for one, other in pairs[np.argsort(-meet[tuple(pairs.T)], kind="stable")].tolist():
        mine, yours = tree[root[one]], tree[root[other]]
        if mine != yours:
            tree[tree == yours] = mine
            beside.setdefault(int(root[one]), []).append((one, other))
            beside.setdefault(int(root[other]), []).append((other, one))
    joined = above.copy()
    hung: set[int] = set()
    for start in dict.fromkeys(root[deforming].tolist()):
        waiting = [start]
        while waiting:
            here = waiting.pop()
            if here in hung:
                continue
            hung.add(here)
            for upper, lower in beside.get(here, ()):
                if root[lower] == lower and lower not in hung:
                    joined[lower] = upper
                    waiting.append(lower)
    return joined


def _roots(above: Ints) -> Ints:
    """(B,) the uppermost bone of each bone's tree."""
    root = np.arange(len(above))
    while np.any(above[root] >= 0):
        root = np.where(above[root] >= 0, above[root], root)
    return root


def _meetings(skin: Skin) -> Ints:
    """(B, B) int, how many vertices two bones share by MEETING or more."""
    count = np.zeros((len(skin.bones), len(skin.bones)), dtype=np.int64)
    for block in blocks(skin):
        strong = (block.weights >= MEETING).astype(np.float32)
        count[np.ix_(block.bones, block.bones)] += np.rint(strong @ strong.T).astype(np.int64)
    return count


def _subtrees(parent: Ints) -> Bools:
    inside = np.eye(len(parent), dtype=bool)
    up = parent.copy()
    while np.any(up >= 0):
        there = np.flatnonzero(up >= 0)
        inside[up[there], there] = True
        up[there] = parent[up[there]]
    return inside


def _limbs(skin: Skin, above: Ints) -> Floats:
    """(B, 3) unit vectors from each bone's head to the middle of its children's heads, without any to its tail."""
    bones = skin.bones
    hung = (above >= 0) & (_deforming_above(bones.parent, bones.deform) < 0)
    parent = np.where(hung, above, bones.parent)
    child = np.flatnonzero(parent >= 0)
    count = np.bincount(parent[child], minlength=len(bones))
    middle = np.stack(
        [np.bincount(parent[child], weights=bones.head[child, i], minlength=len(bones)) for i in range(3)], axis=1
    )
    middle = middle / np.maximum(count, 1)[:, None]
    away = np.where((count > 0)[:, None], middle, bones.tail) - bones.head
    short = np.linalg.norm(away, axis=1) < 1e-9
    away[short] = (bones.tail - bones.head)[short]
    return _unit(away)


def _unit(v: Floats) -> Floats:
    length = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.asarray(v / np.where(length > 1e-12, length, 1.0))


@dataclass(frozen=True, eq=False)
class Posed:
    """The joints on F frames, in armature space: float32, component first.

    Attributes:
        pivot: (3, F, J) halfway between where the two bones take it.
        axis: (3, F, J) unit, that the lower side is turned about; 0 where it is turned by less than LEAST_TURN.
        limb_below, limb_above: (3, F, J) unit.
    """

    pivot: Floats
    axis: Floats
    limb_below: Floats
    limb_above: Floats


def pose(found: Joints, motion: Motion, real: npt.NDArray[np.float64]) -> Posed:
    """Where the joints are on some frames; `real` (F, B, 4) are the bones' unit quaternions."""
    below, above = motion.deform[:, found.below], motion.deform[:, found.above]
    point = np.concatenate([found.pivot, np.ones((len(found), 1))], axis=1)
    pivot = 0.5 * np.einsum("fjik,jk->fji", below[..., :3, :] + above[..., :3, :], point)
    a, b = real[:, found.above], real[:, found.below]
    # Vector part of b a*: the turn from the upper to the lower bone.
    w = np.sum(a * b, axis=-1)
    v = a[..., :1] * b[..., 1:] - b[..., :1] * a[..., 1:] - np.cross(b[..., 1:], a[..., 1:])
    turn = 2.0 * np.arctan2(np.linalg.norm(v, axis=-1), np.abs(w))
    return Posed(
        *(
            np.ascontiguousarray(values.transpose(2, 0, 1), dtype=np.float32)
            for values in (
                pivot,
                np.where((turn >= LEAST_TURN)[..., None], _unit(v), 0.0),
                _unit(np.einsum("fjik,jk->fji", below[..., :3, :3], found.limb_below)),
                _unit(np.einsum("fjik,jk->fji", above[..., :3, :3], found.limb_above)),
            )
        )
    )
