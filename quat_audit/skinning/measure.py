# SPDX-License-Identifier: GPL-3.0-or-later
"""What the skinning method, and the weights, change over a clip: in millimeters, and in parts of the mesh."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from . import dual_quaternion, linear
from .blocks import STEP_ELEMENTS, Block, blocks
from .displacement import HELD, Displacement, displacement, distance_mm, size_mm, to_mm
from .dual_quaternion import BLENDER
from .joints import Joints, Posed, joints, pose
from .skin import Motion, Skin, inverse
from .weights import ENGINE_INFLUENCES, counts, cut


@dataclass(frozen=True, eq=False)
class Worst:
    """The worst of something over a clip.

    Attributes:
        value: in the unit of what is asked for.
        frame: where it is.
        bone: the joint's lower bone, "" when it is no joint's.
        vertex: its number, -1 when it is no vertex's.
    """

    value: float
    frame: float
    bone: str = ""
    vertex: int = -1


@dataclass(frozen=True, eq=False)
class Scan:
    """A skin over F frames by both methods; J joints and a last column for what belongs to none.

    Attributes:
        frames: (F,).
        size_mm: diagonal of the mesh at rest, in world space.
        joints: what the columns are.
        bones: (J + 1,) the joints' names, "" for the last.
        gap: (F, J + 1) mm, largest distance between LBS and DQS.
        gap_mean: (F,) mm, over all vertices.
        gap_vertex: (F,) int, the vertex of each frame's largest.
        gap_shared: (F, J) mm, the same among the vertices by which `radius` is measured.
        radius: (F, J) distance of the joint's shared vertices (see `Joints.vertex`) from the axis that the joint turns
            about, LBS in parts of DQS (root mean square); NaN where the joint has none.
        bulge: (F, J) mm, how much farther from the limb DQS takes a shared vertex than it is at rest and LBS has it.
        cut: (F,) mm, largest displacement (LBS) by the cut to `most` influences; cut_vertex: (F,) int.
        by_cut: the same by vertex.
        most: that number.
        volume: (F, 2) enclosed volume of LBS and DQS in parts of that at rest; None for an open mesh, and for one with
            a vertex that has no place.
    """

    frames: Floats
    size_mm: float
    joints: Joints
    bones: tuple[str, ...]
    gap: Floats
    gap_mean: Floats
    gap_vertex: Ints
    gap_shared: Floats
    radius: Floats
    bulge: Floats
    cut: Floats
    cut_vertex: Ints
    by_cut: Displacement
    most: int
    volume: Floats | None

    def of_mesh(self, mm: float) -> float:
        """Millimetres as a percentage of the mesh's size."""
        return 100.0 * mm / self.size_mm if self.size_mm > 0 else 0.0

    def worst_gap(self) -> Worst:
        """mm, with joint and vertex."""
        frame, joint = np.unravel_index(int(np.argmax(self.gap)), self.gap.shape)
        return Worst(
            float(self.gap[frame, joint]), float(self.frames[frame]), self.bones[joint], int(self.gap_vertex[frame])
        )

    def worst_mean(self) -> Worst:
        """mm."""
        frame = int(np.argmax(self.gap_mean))
        return Worst(float(self.gap_mean[frame]), float(self.frames[frame]))

    def worst_bulge(self) -> Worst | None:
        """mm, None without joints."""
        if not self.bulge.size:
            return None
        frame, joint = np.unravel_index(int(np.argmax(self.bulge)), self.bulge.shape)
        return Worst(float(self.bulge[frame, joint]), float(self.frames[frame]), self.bones[joint])

    def worst_cut(self) -> Worst:
        """mm, with its vertex."""
        frame = int(np.argmax(self.cut))
        return Worst(float(self.cut[frame]), float(self.frames[frame]), vertex=int(self.cut_vertex[frame]))

    def worst_volume(self) -> tuple[Worst, Worst] | None:
        """Smallest volume of LBS, and of DQS, in parts of that at rest; None for an open mesh."""
        if self.volume is None:
            return None
        rows = self.volume.argmin(axis=0)
        return tuple(  # type: ignore[return-value]
            Worst(float(self.volume[row, way]), float(self.frames[row])) for way, row in enumerate(rows)
        )


def scan(
    skin: Skin, motion: Motion, *, most: int = ENGINE_INFLUENCES, volume: bool = True, hemisphere: str = BLENDER
) -> Scan:
    """Measure a skin over a clip by both methods.

    Args:
        skin: V vertices.
        motion: F frames, at least one.
        most: influences that a cut leaves.
        volume: of a closed mesh too (about as much work as all the rest).
        hemisphere: see `dual_quaternion`.

    Raises:
        ValueError: no frames, or hemisphere is unknown.
    """
    if not len(motion):
        raise ValueError("motion has no frames to measure")
    found = joints(skin)
    frames, count = len(motion), len(found)
    bones = dual_quaternion.prepare(skin, motion, hemisphere=hemisphere)
    posed = pose(found, motion, bones.bones.real)
    sums = _Sums.new(frames, count)
    matrices, metric = linear.displacements(motion), to_mm(skin, motion)
    parts = [_BlockJoints.of(block, found) for block in blocks(skin)]
    encloses = skin.closed and len(skin.triangles) > 0 and bool(np.isfinite(skin.vertices).all())
    held = _Held(skin) if volume and encloses else None
    enclosed = np.ones((frames, 2))
    size = min(frames, max(1, HELD // max(1, len(skin)))) if held else frames
    for start in range(0, frames, size):
        rows = slice(start, min(frames, start + size))
        if held:
            held.start(rows)
        for block, part in zip(blocks(skin), parts, strict=True):
            step = max(1, STEP_ELEMENTS // len(block))
            for first in range(rows.start, rows.stop, step):
                pause_point()
                now = slice(first, min(rows.stop, first + step))
                lbs = linear.deform_block(block, matrices, now)
                dqs = dual_quaternion.deform_block(block, bones, now)
                _add(sums, now, block, part, lbs, dqs, motion, posed, found, metric)
                if held:
                    held.put(now, block, lbs, dqs)
        if held:
            enclosed[rows] = held.volumes()
    by_cut = _cut(skin, motion, most)
    with np.errstate(invalid="ignore", divide="ignore"):
        radius = np.sqrt(sums.near[0] / sums.near[1])
    turning = np.any(posed.axis != 0, axis=0)
    shares = np.bincount(found.joint, minlength=count) > 0
    radius = np.where(turning & (sums.near[1] > 0), radius, 1.0)
    radius[:, ~shares] = np.nan
    return Scan(
        frames=motion.frames,
        size_mm=size_mm(skin, motion),
        joints=found,
        bones=(*(skin.bones.names[b] for b in found.below), ""),
        gap=sums.gap,
        gap_mean=sums.mean / max(1, len(skin)),
        gap_vertex=sums.vertex,
        gap_shared=sums.shared,
        radius=radius,
        bulge=sums.bulge * _armature_mm(skin, motion)[:, None],
        cut=by_cut.largest,
        cut_vertex=by_cut.vertex,
        by_cut=by_cut,
        most=most,
        volume=enclosed if held else None,
    )


def scanned(skin: Skin, motion: Motion, most: int = ENGINE_INFLUENCES) -> Scan:
    """`scan` without volumes, once for a skin and a motion: several rules look at the same."""
    key = ("scan", most)
    held = skin.cache.get(key)
    if held is None or held[0] is not motion:
        held = skin.cache[key] = (motion, scan(skin, motion, most=most, volume=False))
    found = held[1]
    assert isinstance(found, Scan)
    return found


def _armature_mm(skin: Skin, motion: Motion) -> Floats:
    """(F,) millimeters of one unit of armature space (of its volume's side, if it is scaled unevenly)."""
    to_world = motion.to_world @ inverse(motion.to_armature)
    return np.asarray(np.cbrt(np.abs(np.linalg.det(to_world[:, :3, :3]))) * skin.mm_per_unit)


@dataclass(frozen=True, eq=False)
class _Sums:
    gap: Floats
    mean: Floats
    largest: Floats
    vertex: Ints
    shared: Floats
    near: Floats  # (2, F, J): weighted squares of distances, LBS and DQS
    bulge: Floats

    @staticmethod
    def new(frames: int, count: int) -> _Sums:
        return _Sums(
            gap=np.zeros((frames, count + 1)),
            mean=np.zeros(frames),
            largest=np.full(frames, -1.0),
            vertex=np.zeros(frames, dtype=np.int64),
            shared=np.zeros((frames, count)),
            near=np.zeros((2, frames, count)),
            bulge=np.zeros((frames, count)),
        )


@dataclass(frozen=True, eq=False)
class _BlockJoints:
    """What of the joints lies in one block: columns sorted by joint, and where each joint starts."""

    order: Ints
    joint: Ints
    starts: Ints
    shared: Ints
    shared_joint: Ints
    shared_starts: Ints
    joints: Ints
    lower: Bools

    @staticmethod
    def of(block: Block, found: Joints) -> _BlockJoints:
        joint = found.of_vertex[block.vertices]
        order = np.argsort(joint, kind="stable")
        names, starts = np.unique(joint[order], return_index=True)
        by_vertex = np.argsort(block.vertices)
        at = np.searchsorted(block.vertices, found.vertex, sorter=by_vertex).clip(max=len(block) - 1)
        column = by_vertex[at]
        mine = np.flatnonzero(block.vertices[column] == found.vertex)
        mine = mine[np.argsort(found.joint[mine], kind="stable")]
        shared_names, shared_starts = np.unique(found.joint[mine], return_index=True)
        return _BlockJoints(
            order, names, starts, column[mine], shared_names, shared_starts, found.joint[mine], found.lower[mine]
        )


def _add(
    sums: _Sums,
    rows: slice,
    block: Block,
    part: _BlockJoints,
    lbs: Floats,
    dqs: Floats,
    motion: Motion,
    posed: Posed,
    found: Joints,
    metric: Floats,
) -> None:
    gap = np.fmax(distance_mm(lbs - dqs, metric[rows]), 0.0)  # what is no number is no distance
    sums.mean[rows] += gap.sum(axis=1)
    most = gap.argmax(axis=1)
    value = gap[np.arange(len(gap)), most]
    better = value > sums.largest[rows]
    sums.largest[rows] = np.where(better, value, sums.largest[rows])
    sums.vertex[rows] = np.where(better, block.vertices[most], sums.vertex[rows])
    by_joint = np.maximum.reduceat(gap[:, part.order], part.starts, axis=1)
    sums.gap[rows, part.joint] = np.maximum(sums.gap[rows, part.joint], by_joint)
    if len(part.shared):
        largest = np.maximum.reduceat(gap[:, part.shared], part.shared_starts, axis=1)
        sums.shared[rows, part.shared_joint] = np.maximum(sums.shared[rows, part.shared_joint], largest)
        _add_joints(sums, rows, block, part, lbs, dqs, motion, posed, found)


def _add_joints(
    sums: _Sums,
    rows: slice,
    block: Block,
    part: _BlockJoints,
    lbs: Floats,
    dqs: Floats,
    motion: Motion,
    posed: Posed,
    found: Joints,
) -> None:
    lower, joint = part.lower, part.joints
    limb = np.where(lower[:, None], found.limb_below[joint], found.limb_above[joint])
    rest = (block.rest[:, part.shared].T @ motion.to_armature[0].T)[:, :3] - found.pivot[joint]
    at_rest = np.sqrt(np.maximum(np.sum(rest * rest, axis=1) - np.sum(rest * limb, axis=1) ** 2, 0.0))
    pivot, axis = posed.pivot[:, rows][..., joint], posed.axis[:, rows][..., joint]
    side = np.where(lower, posed.limb_below[:, rows][..., joint], posed.limb_above[:, rows][..., joint])
    out = []
    for way, positions in enumerate((lbs, dqs)):
        points = positions[..., part.shared]
        if not motion.in_place:
            to_armature = motion.to_armature[rows].astype(points.dtype)
            points = np.matmul(to_armature[:, :3, :3], points.transpose(1, 0, 2)) + to_armature[:, :3, 3:]
            points = points.transpose(1, 0, 2)
        points = points - pivot
        square = _dot(points, points)
        near = square - _dot(points, axis) ** 2
        sums.near[way][rows, part.shared_joint] += np.add.reduceat(near, part.shared_starts, axis=1)
        out.append(np.sqrt(np.maximum(square - _dot(points, side) ** 2, 0.0)))
    swell = np.fmax(out[1] - np.maximum(out[0], at_rest.astype(np.float32)), 0.0)
    most_swollen = np.maximum.reduceat(swell, part.shared_starts, axis=1)
    sums.bulge[rows, part.shared_joint] = np.maximum(sums.bulge[rows, part.shared_joint], most_swollen)


def _dot(a: Floats, b: Floats) -> Floats:
    """Component first."""
    total = a[0] * b[0]
    total += a[1] * b[1]
    total += a[2] * b[2]
    return np.asarray(total)


@dataclass(eq=False)
class _Held:
    """All positions of a closed mesh on a few frames, for what it encloses."""

    skin: Skin
    corners: Ints = field(init=False)
    rest: float = field(init=False)
    lbs: Floats = field(init=False)
    dqs: Floats = field(init=False)
    rows: slice = field(init=False, default_factory=lambda: slice(0, 0))

    def __post_init__(self) -> None:
        self.corners = np.ascontiguousarray(self.skin.triangles.T)
        self.rest = float(enclosed(self.skin.vertices.T[:, None], self.corners)[0])

    def start(self, rows: slice) -> None:
        self.rows = rows
        shape = (3, rows.stop - rows.start, len(self.skin))
        self.lbs, self.dqs = (np.empty(shape, dtype=np.float32) for _ in range(2))
        for way in (self.lbs, self.dqs):
            way[:] = self.skin.vertices.T[:, None]

    def put(self, rows: slice, block: Block, lbs: Floats, dqs: Floats) -> None:
        here = slice(rows.start - self.rows.start, rows.stop - self.rows.start)
        self.lbs[:, here, block.vertices] = lbs
        self.dqs[:, here, block.vertices] = dqs

    def volumes(self) -> Floats:
        """(frames, 2) in parts of the volume at rest."""
        if self.rest == 0.0:
            return np.ones((self.rows.stop - self.rows.start, 2))
        return np.stack([enclosed(way, self.corners) for way in (self.lbs, self.dqs)], axis=1) / self.rest


def enclosed(points: Floats, corners: Ints) -> Floats:
    """Signed volume inside closed triangle meshes.

    Args:
        points: (3, F, V).
        corners: (3, T) int, vertices of each triangle.

    Returns:
        (F,) in cubed units: the sum over triangles of the prism down to the plane z = that of the first vertex.
    """
    x, y, z = (np.take(component, corners, axis=1) for component in points)  # (F, 3, T)
    z0 = points[2, :, :1, None]
    area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
    return np.asarray(np.sum(area * (z - z0).sum(axis=1), axis=1, dtype=np.float64) / 6.0)


def _cut(skin: Skin, motion: Motion, most: int) -> Displacement:
    many = counts(skin) > most
    return displacement(skin, cut(skin, most, vertices=many) if many.any() else skin, motion)
