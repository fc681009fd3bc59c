# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks of vertices that share few bones: what makes weights × bone matrices a small dense product.

Vertices are sorted by their two heaviest bones and cut into blocks; each block knows the bones that it needs. On a
character that is about ten of sixty, and the products stay in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from .skin import Motion, Skin, influences, padded

BLOCK_VERTICES = 4096
# Frames × vertices of one step: 128 KiB for each float32 component.
STEP_ELEMENTS = 32768
# Multiplications of one product. OpenBLAS starts threads above 262,144 of them: for matrices this small they cost more
# than they bring, and many times as much where the processor has other work.
_PRODUCT = 2**18


@dataclass(frozen=True, eq=False)
class Block:
    """n live vertices and the b bones that they use.

    Attributes:
        vertices: (n,) int, their numbers in the skin.
        bones: (b,) int, bone numbers, rising.
        weights: (b, n) float, normalized: each vertex's sum is 1.
        rest: (4, n) float, x y z 1 in mesh space.
        mask: (n,) float, or None.
        bone_table, weight_table: (n, k) bone (numbers within the block) and normalized weight in stored order.
        heaviest: (n,) int, column of the heaviest influence (ties: lower bone) in the tables.
        pairs: (P, 2) int, bones that share a vertex, numbers within the block.
        together: (P, n) bool, the vertices that each pair shares.
    """

    vertices: Ints
    bones: Ints
    weights: Floats
    rest: Floats
    mask: Floats | None
    bone_table: Ints
    weight_table: Floats
    heaviest: Ints
    pairs: Ints
    together: Bools

    def __len__(self) -> int:
        return len(self.vertices)


def blocks(skin: Skin, dtype: npt.DTypeLike = np.float32) -> tuple[Block, ...]:
    """The live vertices of a skin in blocks. Computed once for each dtype.

    Vertices without a deforming weight are in none: they stay where they are.
    """
    key = ("blocks", np.dtype(dtype).name)
    found = skin.cache.get(key)
    if found is None:
        found = skin.cache[key] = tuple(_make(skin, dtype))
    assert isinstance(found, tuple)
    return found


def _make(skin: Skin, dtype: npt.DTypeLike) -> Iterator[Block]:
    live = np.flatnonzero(influences(skin).live)
    if not len(live):
        return
    bone, weight = padded(skin)
    bone, weight = bone[live], weight[live]
    first, second = _two_heaviest(bone, weight)
    order = np.lexsort((second, first))
    live, bone, weight = live[order], bone[order], weight[order]
    with np.errstate(invalid="ignore", over="ignore"):
        weight = weight / influences(skin).total[live][:, None]
    for start in range(0, len(live), BLOCK_VERTICES):
        pause_point()
        rows = slice(start, start + BLOCK_VERTICES)
        yield _block(skin, live[rows], bone[rows], weight[rows], dtype)


def _two_heaviest(bone: Ints, weight: Floats) -> tuple[Ints, Ints]:
    """(n,) heaviest and second heaviest bone of each row; ties: the lower bone."""
    first = np.take_along_axis(bone, heaviest_column(bone, weight)[:, None], axis=1)[:, 0]
    rest = np.where(bone == first[:, None], -1.0, weight)
    return first, np.take_along_axis(bone, heaviest_column(bone, rest)[:, None], axis=1)[:, 0]


def heaviest_column(bone: Ints, weight: Floats) -> Ints:
    """(n,) column of the largest weight in (n, k) tables; of equal ones that of the lowest bone."""
    largest = weight == weight.max(axis=1, keepdims=True)
    return np.asarray(np.argmin(np.where(largest, bone, np.iinfo(np.int64).max), axis=1))


def _block(skin: Skin, vertices: Ints, bone: Ints, weight: Floats, dtype: npt.DTypeLike) -> Block:
    heaviest = heaviest_column(bone, weight)
    used = weight != 0.0
    bones = np.unique(bone[used])
    width = max(1, int(used.sum(axis=1).max()))
    if width < bone.shape[1]:  # other blocks have vertices with more influences: drop what only fills up
        keep = np.argsort(~used, axis=1, kind="stable")[:, :width]
        heaviest = np.argmax(keep == heaviest[:, None], axis=1)
        bone, weight, used = (np.take_along_axis(table, keep, axis=1) for table in (bone, weight, used))
    local = np.where(used, np.searchsorted(bones, bone).clip(max=len(bones) - 1), 0)
    rows = np.repeat(np.arange(len(vertices)), width)
    dense = np.zeros((len(bones), len(vertices)))
    np.add.at(dense, (local.ravel(), rows), weight.ravel())
    there = np.zeros_like(dense, dtype=bool)
    there[local[used], np.broadcast_to(np.arange(len(vertices))[:, None], used.shape)[used]] = True
    shared = there.astype(np.float32) @ there.T.astype(np.float32)
    pairs = np.argwhere(np.triu(shared, 1) > 0)
    return Block(
        vertices=vertices,
        bones=bones,
        weights=dense.astype(dtype),
        rest=np.vstack([skin.vertices[vertices].T, np.ones(len(vertices))]).astype(dtype),
        mask=None if skin.mask is None else skin.mask[vertices].astype(dtype),
        bone_table=local,
        weight_table=weight.astype(dtype),
        heaviest=heaviest,
        pairs=pairs,
        together=there[pairs[:, 0]] & there[pairs[:, 1]],
    )


def bone_order(skin: Skin) -> Ints:
    """(R, 2) int rows (bone, one that comes before it): a tree along the pairs of bones that share most vertices.

    Computed once (Prim). Signs chosen along it leave the fewest vertices with bones in different hemispheres.
    """
    found = skin.cache.get("bone_order")
    if found is None:
        count = len(skin.bones)
        shared = np.zeros((count, count))
        for block in blocks(skin):
            one, other = block.bones[block.pairs[:, 0]], block.bones[block.pairs[:, 1]]
            number = block.together.sum(axis=1)
            shared[one, other] += number
            shared[other, one] += number
        best, before = np.zeros(count), np.zeros(count, dtype=np.int64)
        left, rows = shared.any(axis=1), []
        while left.any():
            bone = int(np.argmax(np.where(left, best, -1.0)))
            if best[bone] > 0:
                rows.append((bone, int(before[bone])))
            left[bone] = False
            closer = shared[bone] > best
            best[closer], before[closer] = shared[bone][closer], bone
        found = skin.cache["bone_order"] = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return np.asarray(found)


def product(a: Floats, b: Floats) -> Floats:
    """(m, k) @ (k, n) in pieces that are multiplied on one thread."""
    step = max(1, _PRODUCT // max(1, a.size))
    if step >= b.shape[1]:
        return np.asarray(a @ b)
    result = np.empty((len(a), b.shape[1]), dtype=b.dtype)
    for start in range(0, b.shape[1], step):
        np.matmul(a, b[:, start : start + step], out=result[:, start : start + step])
    return result


def steps(motion: Motion, block: Block) -> Iterator[slice]:
    """The frames of a motion, as many at a time as suit a block."""
    size = max(1, STEP_ELEMENTS // max(1, len(block)))
    for start in range(0, len(motion), size):
        pause_point()
        yield slice(start, min(start + size, len(motion)))
