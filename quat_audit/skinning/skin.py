# SPDX-License-Identifier: GPL-3.0-or-later
"""Skin: one mesh with its Armature modifier as arrays; Motion: what the bones do on some frames.

Nothing here changes in place: an edit is a new Skin made by `dataclasses.replace`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from ..findings.ignores import Ignore

# Blender leaves a vertex where it is when its deform weights sum to no more than this (armature_deform.cc).
LEAST_CONTRIBUTION = 1e-4


@dataclass(frozen=True, eq=False)
class Bones:
    """B bones of an armature, in the order of its pose.

    Attributes:
        names: (B,).
        deform: (B,) bool, the bone's Deform flag.
        parent: (B,) int, -1 for none.
        rest: (B, 4, 4) float64, rest matrix in armature space (``Bone.matrix_local``); the head is its last column.
        tail: (B, 3) float64, in armature space.
    """

    names: tuple[str, ...]
    deform: Bools
    parent: Ints
    rest: Floats
    tail: Floats

    def __len__(self) -> int:
        return len(self.names)

    @property
    def head(self) -> Floats:
        """(B, 3) in armature space."""
        return self.rest[:, :3, 3]


@dataclass(frozen=True, eq=False)
class Groups:
    """G vertex groups of a mesh.

    Attributes:
        names: (G,).
        locked: (G,) bool, weights in it must not be written.
        bone: (G,) int, the deforming bone of that name, -1: none (the group deforms nothing).
        elsewhere: (G,) bool, something else uses it (another modifier, a shape key): it need not name a bone.
        other_rig: (G,) bool, it names a deforming bone of another Armature modifier's armature.
    """

    names: tuple[str, ...]
    locked: Bools
    bone: Ints
    elsewhere: Bools
    other_rig: Bools

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, eq=False)
class Skin:
    """V vertices, their weights in vertex groups (concatenated), and the bones that those name.

    Vertex ``v`` owns the rows ``offsets[v]:offsets[v + 1]`` of `group` and `weight`, in the order in which Blender
    stores them.

    Attributes:
        mesh, armature: object names.
        vertices: (V, 3) float, rest positions in mesh space, as they reach the modifier.
        offsets: (V + 1,) int.
        group: (N,) int, vertex group of each entry.
        weight: (N,) float, as stored: not normalized, perhaps not finite.
        groups, bones: what the numbers mean.
        mask: (V,) float, how far the modifier applies (its vertex group), or None: everywhere.
        preserve_volume: the modifier blends dual quaternions.
        envelopes: vertices in no bone's group go by bone envelopes.
        triangles: (T, 3) int.
        closed: every edge belongs to two faces, so that the mesh has a volume.
        mm_per_unit: millimeters of one world unit.
        read_only: why the weights must not be written; "" when they may be.
        not_evaluated: (what, why) of what the arrays do not hold.
        blocking: what makes positions computed from the arrays differ from what Blender shows of the clip, or keeps
            the clip from being shown; () when they are equal.
        ignores: findings that the mesh object says are to be left alone.
    """

    mesh: str
    armature: str
    vertices: Floats
    offsets: Ints
    group: Ints
    weight: Floats
    groups: Groups
    bones: Bones
    mask: Floats | None = None
    preserve_volume: bool = False
    envelopes: bool = False
    triangles: Ints = field(default_factory=lambda: np.zeros((0, 3), dtype=np.int64))
    closed: bool = False
    mm_per_unit: float = 1000.0
    read_only: str = ""
    not_evaluated: tuple[tuple[str, str], ...] = ()
    blocking: tuple[str, ...] = ()
    ignores: tuple[Ignore, ...] = ()
    # Views computed from this skin; a new skin starts with an empty one.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.vertices)

    def vertex_of_entry(self) -> Ints:
        """(N,) the vertex that each weight belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def validate(self) -> None:
        """Raise ValueError naming the first broken invariant (numbered, see `_invariants`)."""
        for number, (holds, says) in enumerate(_invariants(self), start=1):
            if not holds:
                raise ValueError(f"skin of {self.mesh!r}: invariant {number} broken: {says}")


def _invariants(skin: Skin) -> Sequence[tuple[bool, str]]:
    v, n, g, b = len(skin.vertices), len(skin.weight), len(skin.groups.names), len(skin.bones.names)
    bones, groups = skin.bones, skin.groups
    offsets_ok = (
        skin.offsets.shape == (v + 1,)
        and int(skin.offsets[0]) == 0
        and int(skin.offsets[-1]) == n
        and bool(np.all(np.diff(skin.offsets) >= 0))
    )
    return (
        (skin.vertices.ndim == 2 and skin.vertices.shape[1] == 3, "vertices must be (V, 3)"),
        (offsets_ok, "offsets must rise from 0 to the number of weights, one more than vertices"),
        (skin.group.shape == (n,), f"group must have {n} entries"),
        (bool(np.all((skin.group >= 0) & (skin.group < g))), f"group must be a number from 0 to {g - 1}"),
        (
            all(a.shape == (g,) for a in (groups.locked, groups.bone, groups.elsewhere, groups.other_rig)),
            f"per-group arrays must have {g} entries",
        ),
        (bool(np.all((groups.bone >= -1) & (groups.bone < b))), "group bones must be bone numbers or -1"),
        (bool(np.all(bones.deform[groups.bone[groups.bone >= 0]])), "a group's bone must be a deforming one"),
        (bones.deform.shape == (b,) and bones.parent.shape == (b,), f"per-bone arrays must have {b} entries"),
        (bones.rest.shape == (b, 4, 4) and bones.tail.shape == (b, 3), "rest must be (B, 4, 4), tail (B, 3)"),
        (bool(np.all((bones.parent >= -1) & (bones.parent < b))), "parents must be bone numbers or -1"),
        (skin.mask is None or skin.mask.shape == (v,), "mask must have an entry a vertex"),
        (skin.triangles.ndim == 2 and skin.triangles.shape[1] == 3, "triangles must be (T, 3)"),
        (bool(np.all((skin.triangles >= 0) & (skin.triangles < v))), "triangles must name vertices"),
        (skin.mm_per_unit > 0, "mm_per_unit must be positive"),
    )


@dataclass(frozen=True, eq=False)
class Influences:
    """The weights that deform: those in groups of deforming bones, as Blender takes them.

    Attributes:
        offsets: (V + 1,) int.
        bone: (N,) int.
        weight: (N,) float64, not normalized.
        entry: (N,) int, the skin's own row.
        total: (V,) float64, sum of each vertex (NaN where one is NaN).
        live: (V,) bool, the sum is above LEAST_CONTRIBUTION: the others stay behind.
    """

    offsets: Ints
    bone: Ints
    weight: Floats
    entry: Ints
    total: Floats
    live: Bools

    @property
    def counts(self) -> Ints:
        """(V,) influences of each vertex, those of weight 0 among them."""
        return np.diff(self.offsets)

    def vertex(self) -> Ints:
        """(N,) the vertex of each influence."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def influences(skin: Skin) -> Influences:
    """The deforming weights of a skin, in stored order. Computed once."""
    found = skin.cache.get("influences")
    if found is None:
        bone = skin.groups.bone[skin.group] if len(skin.group) else np.zeros(0, dtype=np.int64)
        entry = np.flatnonzero(bone >= 0)
        vertex = skin.vertex_of_entry()[entry]
        weight = skin.weight[entry].astype(np.float64)
        total = np.asarray(np.bincount(vertex, weights=weight, minlength=len(skin)), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            live = np.asarray(total > LEAST_CONTRIBUTION)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(vertex, minlength=len(skin)))]).astype(np.int64)
        found = skin.cache["influences"] = Influences(offsets, bone[entry], weight, entry, total, live)
    return found


def padded(skin: Skin) -> tuple[Ints, Floats]:
    """The influences as tables.

    Returns:
        (V, k) int bone and (V, k) float64 weight in stored order, k the most that a vertex has (at least 1); bone 0
        of weight 0 fills up.
    """
    inf = influences(skin)
    width = max(1, int(inf.counts.max(initial=0)))
    bone = np.zeros((len(skin), width), dtype=np.int64)
    weight = np.zeros((len(skin), width))
    vertex = inf.vertex()
    position = np.arange(len(inf.bone)) - inf.offsets[vertex]
    bone[vertex, position], weight[vertex, position] = inf.bone, inf.weight
    return bone, weight


@dataclass(frozen=True, eq=False)
class Motion:
    """What poses a skin on F frames.

    Attributes:
        frames: (F,) float.
        deform: (F, B, 4, 4) float64, rest to pose of each bone, in armature space.
        to_armature: (F, 4, 4) float64, mesh space to armature space.
        to_world: (F, 4, 4) float64, mesh space to world space.
        action: what plays, for a person; "" for none.
    """

    frames: Floats
    deform: Floats
    to_armature: Floats
    to_world: Floats
    action: str = ""

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def in_place(self) -> bool:
        """Mesh space is armature space on all frames."""
        return bool(np.all(self.to_armature == np.eye(4)))

    def part(self, rows: slice | Ints) -> Motion:
        """Some of its frames."""
        return Motion(self.frames[rows], self.deform[rows], self.to_armature[rows], self.to_world[rows], self.action)


@dataclass(frozen=True, eq=False, slots=True)
class PosedSkin:
    """A skin with what poses it: what the rules about skins judge."""

    skin: Skin
    motion: Motion

    def with_skin(self, skin: Skin) -> PosedSkin:
        """Another skin in the same motion; itself where it is the same."""
        return self if skin is self.skin else PosedSkin(skin, self.motion)


def inverse(matrices: Floats) -> Floats:
    """Inverses of affine (..., 4, 4) matrices, by cofactors: no call into LAPACK, which starts threads for each.

    A singular one gives infinities and NaNs.
    """
    a, b, c = (matrices[..., i, :3] for i in range(3))
    bc, ca, ab = (_cross(v, w) for v, w in ((b, c), (c, a), (a, b)))
    result = np.zeros_like(matrices)
    with np.errstate(divide="ignore", invalid="ignore"):
        result[..., :3, :3] = np.stack([bc, ca, ab], axis=-1) / np.sum(a * bc, axis=-1)[..., None, None]
        result[..., :3, 3] = -np.sum(result[..., :3, :3] * matrices[..., None, :3, 3], axis=-1)
    result[..., 3, 3] = 1.0
    return result


def _cross(a: Floats, b: Floats) -> Floats:
    return np.stack([a[..., i] * b[..., j] - a[..., j] * b[..., i] for i, j in ((1, 2), (2, 0), (0, 1))], axis=-1)


def make_motion(deform: npt.ArrayLike, frames: npt.ArrayLike | None = None, action: str = "") -> Motion:
    """A motion of mesh and armature objects that both lie at the origin.

    Args:
        deform: (F, B, 4, 4).
        frames: (F,), 1 to F by default.
    """
    deform = np.asarray(deform, dtype=np.float64)
    count = len(deform)
    here = np.tile(np.eye(4), (count, 1, 1))
    at = np.arange(1.0, count + 1.0) if frames is None else np.asarray(frames, dtype=np.float64)
    return Motion(at, deform, here, here, action)


def size_of(vertices: Floats) -> float:
    """Diagonal of the bounding box of (V, 3) points, 0 without any: what "of the mesh" in a percentage means.

    A point with a coordinate that is NaN or infinite has no place and does not count.
    """
    placed = vertices[np.isfinite(vertices).all(axis=1)]
    return float(np.linalg.norm(np.ptp(placed, axis=0))) if len(placed) else 0.0


def select(skin: Skin, vertices: Ints) -> Skin:
    """The skin of some of its vertices alone, without triangles."""
    counts = np.diff(skin.offsets)[vertices]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    entries = np.arange(int(offsets[-1])) + np.repeat(skin.offsets[vertices] - offsets[:-1], counts)
    return replace(
        skin,
        vertices=skin.vertices[vertices],
        offsets=offsets,
        group=skin.group[entries],
        weight=skin.weight[entries],
        mask=None if skin.mask is None else skin.mask[vertices],
        triangles=np.zeros((0, 3), dtype=np.int64),
        closed=False,
    )
