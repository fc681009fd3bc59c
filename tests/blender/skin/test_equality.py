# SPDX-License-Identifier: GPL-3.0-or-later
"""LBS and Preserve Volume against the mesh that Blender evaluates: REFERENCE.md 21, to 1e-5 of the mesh's size."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import open, pose
from quat_audit.blender.skin import mesh as skin
from quat_audit.errors import InputError
from quat_audit.skinning import dual_quaternion, linear
from quat_audit.skinning.skin import size_of
from tests.blender import skinned

OF_SIZE = 1e-5
# file → number of skinned meshes in it
FILES = {
    "raylib/robot.blend": 14,
    "raylib/robot.glb": 14,
    "glTF-Blender-IO/03_skinned_cylinder.blend": 1,
    "KayKit-Character-Pack-Adventures-1.0/Knight.glb": 6,
    "assimp/quad_skin.glb": 1,
    "ufbx/blender_293_half_skinned_7400_binary.fbx": 1,
    "ufbx/maya_dual_quaternion_7500_ascii.fbx": 1,
    "godot-demo-projects/mannequiny.glb": 1,
    "bevy/Fox.glb": 1,
}


def worst_of_size(record: Any, frames: list[float] | None) -> tuple[float, float]:
    """Largest distance from Blender's mesh in parts of the mesh's size, LBS and DQS; also that they were moved."""
    obj, rig, modifier = skin.find(record)
    for other in obj.modifiers:
        other.show_viewport = other == modifier
    size, worst = size_of(record.skin.vertices), []
    for preserve, method in ((False, linear.deform), (True, dual_quaternion.deform)):
        modifier.use_deform_preserve_volume = preserve
        motion = pose.pose_matrices(obj, rig, frames)
        ours = method(record.skin, motion)
        far = 0.0
        for number, frame in enumerate(frames or [None]):
            if frame is not None:
                bpy.context.scene.frame_set(int(np.floor(frame)), subframe=frame - np.floor(frame))
            theirs = skinned.evaluated(obj)
            size = max(size, size_of(theirs))
            far = max(far, float(np.abs(theirs - ours[number]).max()))
        worst.append(far / size)
    return worst[0], worst[1]


@pytest.mark.parametrize("name", FILES)
def test_every_skinned_mesh_of_the_cases(cases: Path, name: str) -> None:
    path = cases / "files" / name
    if "ascii" in name and bpy.app.version < (4, 5):
        with pytest.raises(InputError, match="ASCII FBX"):
            open.import_file(path)
        return
    (open.open_blend if path.suffix == ".blend" else open.import_file)(path)
    records, failed = skin.read_file()
    assert len(records) == FILES[name] and not failed
    scene = bpy.context.scene
    rng = np.random.default_rng(21)
    for record in records:
        obj, rig, _ = skin.find(record)
        assert not record.skin.blocking
        skinned.play_first_action(rig)
        frames = [float(scene.frame_start), 0.37 * scene.frame_end, float(scene.frame_end)]
        assert max(worst_of_size(record, frames)) < OF_SIZE
        rig.animation_data_clear()
        skinned.random_pose(rig, rng, scale="axes")
        bpy.context.view_layer.update()
        assert max(worst_of_size(record, None)) < OF_SIZE, obj.name
        moved = linear.deform(record.skin, pose.pose_matrices(obj, rig))[0] - record.skin.vertices
        assert np.abs(moved).max() > 1e-2 * size_of(record.skin.vertices)


@pytest.mark.parametrize("scale", ["none", "uniform", "axes"])
@pytest.mark.parametrize("turn", [0.15, 1.0, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_random_rigs(seed: int, turn: float, scale: str) -> None:
    obj, rig = skinned.random_rig(seed)
    rng = np.random.default_rng(100 + seed)
    skinned.random_object(obj, rng, mirrored=seed % 2 == 1, uneven=seed % 3 != 0)
    skinned.random_object(rig, rng, mirrored=seed % 4 == 2, uneven=seed % 3 != 0)
    if seed == 3:  # the usual arrangement, its parent moved and turned as well
        obj.parent = rig
        rig.parent = bpy.data.objects.new("Above", None)
        bpy.context.scene.collection.objects.link(rig.parent)
        skinned.random_object(rig.parent, rng)
    skinned.random_pose(rig, rng, turn=turn, scale=scale)
    bpy.context.view_layer.update()
    record = skin.read_object(obj)
    assert not record.skin.blocking
    assert max(worst_of_size(record, None)) < OF_SIZE


def test_a_chain_of_scaled_bones_flattened_to_nothing() -> None:
    heads = np.array([[0, 0, n] for n in range(4)], dtype=float)
    rig = skinned.make_armature("Rig", heads, heads + np.array([0.0, 0.0, 1.0]), [-1, 0, 1, 2])
    rng = np.random.default_rng(3)
    points = rng.uniform([-0.3, -0.3, 0], [0.3, 0.3, 4], (300, 3))
    weights = [{f"Bone{min(3, int(z))}": 0.6, f"Bone{min(3, int(z) + 1)}": 0.4} for z in points[:, 2]]
    obj = skinned.make_mesh("Mesh", points, rig, weights)
    rig.pose.bones["Bone1"].scale = (0.0, 1.0, 1.0)
    rig.pose.bones["Bone2"].scale = (1.0, 2.0, -0.5)
    rig.pose.bones["Bone3"].scale = (0.0, 0.0, 0.0)
    rig.pose.bones["Bone2"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert max(worst_of_size(skin.read_object(obj), None)) < OF_SIZE


@pytest.mark.parametrize("inverted", [False, True])
def test_the_vertex_group_of_the_modifier(inverted: bool) -> None:
    obj, rig = skinned.random_rig(11)
    rng = np.random.default_rng(11)
    group = obj.vertex_groups.new(name="Mask")
    for vertex in range(0, len(obj.data.vertices), 2):
        group.add([vertex], float(rng.uniform(0, 1)), "REPLACE")
    obj.modifiers[0].vertex_group = "Mask"
    obj.modifiers[0].invert_vertex_group = inverted
    skinned.random_object(obj, rng)
    skinned.random_pose(rig, rng, scale="axes")
    bpy.context.view_layer.update()
    record = skin.read_object(obj)
    assert record.skin.mask is not None and not record.skin.blocking
    assert max(worst_of_size(record, None)) < OF_SIZE


def test_non_deforming_bones_and_a_modifier_group_that_is_gone() -> None:
    obj, rig = skinned.random_rig(12)
    for number in (0, 3, 5):
        rig.data.bones[f"Bone{number}"].use_deform = False
    obj.modifiers[0].vertex_group = "There is none"
    skinned.random_pose(rig, np.random.default_rng(12))
    bpy.context.view_layer.update()
    record = skin.read_object(obj)
    assert record.skin.mask is None
    assert max(worst_of_size(record, None)) < OF_SIZE


def test_not_a_number_and_infinite_weights_stay_on_their_vertex() -> None:
    obj, rig = skinned.random_rig(13)
    skinned.random_pose(rig, np.random.default_rng(13))
    bpy.context.view_layer.update()
    record = skin.read_object(obj)
    clean = dual_quaternion.deform(record.skin, pose.pose_matrices(obj, rig))[0]
    weight = record.skin.weight.copy()
    row = int(record.skin.offsets[np.argmax(np.diff(record.skin.offsets) > 2)])
    vertex = int(record.skin.vertex_of_entry()[row])
    weight[row] = np.nan
    poisoned = replace(record.skin, weight=weight)
    for method in (linear.deform, dual_quaternion.deform):
        ours = method(poisoned, pose.pose_matrices(obj, rig))[0]
        assert np.isfinite(ours).all()
        np.testing.assert_array_equal(ours[vertex], record.skin.vertices[vertex].astype(np.float32))
    others = np.arange(len(clean)) != vertex
    poisoned_elsewhere = dual_quaternion.deform(poisoned, pose.pose_matrices(obj, rig))[0]
    np.testing.assert_allclose(poisoned_elsewhere[others], clean[others], atol=1e-5)


def test_a_rig_in_rest_position_moves_nothing() -> None:
    obj, rig = skinned.random_rig(14)
    skinned.random_pose(rig, np.random.default_rng(14), scale="axes")
    rig.data.pose_position = "REST"
    bpy.context.view_layer.update()
    assert max(worst_of_size(skin.read_object(obj), None)) < OF_SIZE
