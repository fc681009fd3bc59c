# SPDX-License-Identifier: GPL-3.0-or-later
"""The rotations that we read from a BVH file are those that Blender's own importer poses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from quat_audit.files.bvh import reading as bvh

bpy = pytest.importorskip("bpy")
mathutils = pytest.importorskip("mathutils")

# Angles are stored as float32, of up to a few turns.
TOLERANCE = 2e-5


@pytest.fixture
def importer() -> Iterator[None]:
    """An empty scene with the importer's add-on enabled, and no add-on of ours left behind."""
    import addon_utils

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    enabled = addon_utils.check("io_anim_bvh")[1]
    if not enabled:
        addon_utils.enable("io_anim_bvh")
    yield
    if not enabled:
        addon_utils.disable("io_anim_bvh")


def all_orders(seed: int) -> str:
    """A chain of six joints, one for each channel order, with random angles of up to two turns."""
    rng = np.random.default_rng(seed)
    lines = ["HIERARCHY"]
    for i, axes in enumerate(permutations("XYZ")):
        lines += [f"{'JOINT' if i else 'ROOT'} J{''.join(axes)}", "{", "OFFSET 0.3 1 0.2"]
        lines += [f"CHANNELS 3 {' '.join(axis + 'rotation' for axis in axes)}"]
    lines += ["End Site", "{", "OFFSET 0 1 0", "}"] + ["}"] * 6
    lines += ["MOTION", "Frames: 5", "Frame Time: 0.04"]
    lines += [" ".join(f"{angle:.6f}" for angle in row) for row in rng.uniform(-720, 720, (5, 18))]
    return "\n".join(lines) + "\n"


def our_matrices(path: Path) -> dict[str, list[object]]:
    """Joint → rotation matrix a frame, from the clip's angles and order by mathutils."""
    (clip,) = bvh.read(path).clips
    c, t = clip.curves, clip.tracks
    matrices = {}
    for track, name in enumerate(t.bone):
        angles = np.array([c.co[c.rows(i), 1] for i in t.curves[track, :3]]).T
        matrices[name] = [mathutils.Euler(row, t.order[track]).to_matrix() for row in angles.tolist()]
    return matrices


def difference(a: object, b: object) -> float:
    return float(np.abs(np.array(a) - np.array(b)).max())


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("rotate_mode", ["NATIVE", "XYZ", "QUATERNION"])
def test_all_orders_as_an_armature(importer: None, tmp_path: Path, seed: int, rotate_mode: str) -> None:
    path = tmp_path / "orders.bvh"
    path.write_text(all_orders(seed), encoding="utf-8")
    bpy.ops.import_anim.bvh(
        filepath=str(path), target="ARMATURE", rotate_mode=rotate_mode, axis_up="Z", axis_forward="Y"
    )
    assert_poses(path, frames=range(1, 6))


def test_all_orders_as_objects(importer: None, tmp_path: Path) -> None:
    path = tmp_path / "orders.bvh"
    path.write_text(all_orders(3), encoding="utf-8")
    bpy.ops.import_anim.bvh(filepath=str(path), target="OBJECT")
    ours = our_matrices(path)
    assert len(ours) == 6
    # The importer keys its own rest pose first, one frame before the file's first.
    for frame in range(1, 6):
        bpy.context.scene.frame_set(frame + 1)
        for name, matrices in ours.items():
            obj = bpy.data.objects[name]
            assert obj.rotation_mode == name[1:][::-1]
            assert difference(obj.matrix_local.to_3x3(), matrices[frame - 1]) < TOLERANCE, (name, frame)


@pytest.mark.parametrize("name", ["pybvh/rotation_first_root.bvh", "deep-motion-editing/old_13_000.bvh"])
def test_real_file(importer: None, cases: Path, name: str) -> None:
    path = cases / "files" / name
    bpy.ops.import_anim.bvh(filepath=str(path), target="ARMATURE", rotate_mode="NATIVE", axis_up="Z", axis_forward="Y")
    (clip,) = bvh.read(path).clips
    first, last = clip.frame_range
    assert_poses(path, frames=sorted({int(first), int(first) + 1, int(last) // 2, int(last)}))


def assert_poses(path: Path, frames: object) -> None:
    """Every bone of the imported armature is turned at each frame as our clip says at that same frame."""
    ours = our_matrices(path)
    (armature,) = (o for o in bpy.data.objects if o.type == "ARMATURE")
    worst = 0.0
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        for name, matrices in ours.items():
            bone = armature.pose.bones[name]
            # A bone turns in its own rest frame, a joint in the file's.
            rest = bone.bone.matrix_local.to_3x3()
            imported = rest @ bone.matrix_basis.to_3x3() @ rest.inverted()
            worst = max(worst, difference(imported, matrices[frame - 1]))
    assert worst < TOLERANCE, f"{math.degrees(worst)} degrees"
