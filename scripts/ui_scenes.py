# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenes of the UI test, made by the Blender under test; and their keys, read without the extension.

blender --background --factory-startup --python scripts/ui_scenes.py -- DIR

clean.blend    the example walk, nothing wrong
broken.blend   the walk with several faults at once, among them sign flips (`FLIPPED`)
readers.blend  two rigs that play one action in two Euler orders: a flip, and a wrap that only one of them can lose
long.blend     an armature with more than 1,000,000 keys
skin.blend     the walk with a body whose weights have several faults, and an elbow that collapses
tube.blend     a tube over three bones, twisted and bent (`SKINNED`, `SKIN_WORST`: the frame of the largest twist)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import example_faults
import example_skin_faults
from example_walk import RIG, clean, spoiled

ACTION, BODY = "Walk", "Body"
FLIPPED = ("Arm.R", "Thigh.L")
_LONG_BONES, _LONG_FRAMES = 130, 2_000
SKINNED, SKIN_RIG, SKIN_WORST = "Tube", "Tube Rig", 31

Keys = dict[tuple[str, int], tuple[bytes, ...]]


def make(folder: Path) -> None:
    """Write the scenes."""
    import example_blend

    folder.mkdir(parents=True, exist_ok=True)
    example_blend.save(clean(), folder / "clean.blend")
    _show(folder / "clean.blend")
    broken = spoiled(
        example_faults.sign_flip,
        example_faults.zero_length_quaternion,
        example_faults.half_turn_step,
        example_faults.ignored_rotation_channel,
        example_faults.misaligned_components,
        example_faults.orphan_channel,
    )
    example_blend.save(broken, folder / "broken.blend")
    _show(folder / "broken.blend")
    _readers(folder / "readers.blend")
    _long(folder / "long.blend")
    _skin(folder / "skin.blend")
    _twisted(folder / "tube.blend")


def _skin(path: Path) -> None:
    import example_blend

    faulty = spoiled(
        example_skin_faults.unweighted_vertex,
        example_skin_faults.weights_not_normalised,
        example_skin_faults.group_without_bone,
        example_skin_faults.bad_weight,
        example_skin_faults.volume_collapse,
    )
    example_blend.save(faulty, path)
    body = bpy.data.objects[BODY]
    bpy.context.view_layer.objects.active = body
    body.select_set(True)
    bpy.context.scene.frame_set(5)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def weights(obj: Any) -> list[list[tuple[int, bytes]]]:
    """Every stored weight of a mesh object, bit for bit: (group, float32) of each vertex."""
    return [[(g.group, np.float32(g.weight).tobytes()) for g in vertex.groups] for vertex in obj.data.vertices]


def _show(path: Path) -> None:
    """Leave the rig as an animator has it: active, in pose mode, drawn in front."""
    rig = bpy.data.objects[RIG]
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    rig.show_in_front = True
    rig.data.display_type = "OCTAHEDRAL"
    bpy.context.scene.frame_set(5)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def _readers(path: Path) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    action = bpy.data.actions.new(ACTION)
    rigs = []
    for name, order, x in (("RigA", "XYZ", 0.0), ("RigB", "ZXY", 1.0)):
        data = bpy.data.armatures.new(name)
        rig = bpy.data.objects.new(name, data)
        bpy.context.scene.collection.objects.link(rig)
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="EDIT")
        for bone_name, y in (("Wrap", 0.0), ("Flip", 0.4)):
            bone = data.edit_bones.new(bone_name)
            bone.head, bone.tail = (x, y, 0), (x, y, 1)
        bpy.ops.object.mode_set(mode="OBJECT")
        rig.pose.bones["Wrap"].rotation_mode = order
        rig.animation_data_create().action = action
        rigs.append(rig)
    curves = _new_curves(action, rigs[0])
    if "slots" in bpy.types.Action.bl_rna.properties:
        rigs[1].animation_data.action_slot = action.slots[0]
    # The last two are the same rotations as the short way's, in XYZ only.
    triples = np.radians([(10, 20, 30), (12, 24, 33), (-166, 152, -144), (-164, 148, -141)])
    half = np.radians([0, 20, 40, 60]) / 2
    turns = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1) * [[1], [1], [-1], [1]]
    for bone_name, channel, values in (("Wrap", "rotation_euler", triples), ("Flip", "rotation_quaternion", turns)):
        for index in range(values.shape[1]):
            curve = curves.new(f'pose.bones["{bone_name}"].{channel}', index=index)
            for frame, value in zip((1, 11, 21, 31), values[:, index].tolist(), strict=True):
                curve.keyframe_points.insert(frame, value).interpolation = "LINEAR"
    bpy.context.scene.frame_end = 31
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def _long(path: Path) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    data = bpy.data.armatures.new("Crowd")
    rig = bpy.data.objects.new("Crowd", data)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(_LONG_BONES):
        bone = data.edit_bones.new(f"Bone {number:03}")
        bone.head, bone.tail = (0.1 * number, 0, 0), (0.1 * number, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    action = bpy.data.actions.new("Crowd")
    rig.animation_data_create().action = action
    curves = _new_curves(action, rig)
    frames = np.arange(1.0, _LONG_FRAMES + 1)
    for number in range(_LONG_BONES):
        rig.pose.bones[number].rotation_mode = "QUATERNION"
        half = 0.3 * np.sin(frames / (7 + number % 5))
        values = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half])
        values[:, 1000::500] *= -1  # flips: the rules have something to do
        for index in range(4):
            curve = curves.new(f'pose.bones["Bone {number:03}"].rotation_quaternion', index=index)
            curve.keyframe_points.add(_LONG_FRAMES)
            co = np.stack([frames, values[index]], axis=1).astype(np.float32)
            for name in ("co", "handle_left", "handle_right"):
                curve.keyframe_points.foreach_set(name, co.ravel())
            curve.keyframe_points.foreach_set("interpolation", [1] * _LONG_FRAMES)
    bpy.context.scene.frame_end = _LONG_FRAMES
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def _twisted(path: Path) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    scene = bpy.context.scene
    data = bpy.data.armatures.new(SKIN_RIG)
    rig = bpy.data.objects.new(SKIN_RIG, data)
    scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for number in range(3):
        bone = data.edit_bones.new(f"Bone{number}")
        bone.head, bone.tail, bone.parent = (0, 0, 0.7 * number), (0, 0, 0.7 * number + 0.7), parent
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    obj = _tube(rig)
    scene.collection.objects.link(obj)
    action = bpy.data.actions.new("Twist and Bend")
    rig.animation_data_create().action = action
    curves = _new_curves(action, rig)
    for bone, axis, degrees in (("Bone1", 2, 165.0), ("Bone2", 1, 100.0)):  # about its own Y, then X
        rig.pose.bones[bone].rotation_mode = "QUATERNION"
        for index in range(4):
            curve = curves.new(f'pose.bones["{bone}"].rotation_quaternion', index=index)
            for frame, part in ((1, 0.0), (SKIN_WORST, 1.0), (41, 0.6)):
                half = np.radians(part * degrees) / 2
                value = np.cos(half) if index == 0 else np.sin(half) * (index == axis)
                curve.keyframe_points.insert(frame, value).interpolation = "LINEAR"
    scene.frame_start, scene.frame_end = 1, 41
    scene.frame_set(1)
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)


def _tube(rig: Any, sides: int = 32, rings: int = 85, radius: float = 0.22) -> Any:
    """A tube along the bones; each ring is shared by the two bones whose joint is near."""
    angle = 2 * np.pi * np.arange(sides) / sides
    heights = np.linspace(0.0, 2.1, rings)
    points = [(radius * np.cos(a), radius * np.sin(a), z) for z in heights for a in angle]
    faces = [
        (
            sides * ring + side,
            sides * ring + (side + 1) % sides,
            sides * (ring + 1) + (side + 1) % sides,
            sides * (ring + 1) + side,
        )
        for ring in range(rings - 1)
        for side in range(sides)
    ]
    mesh = bpy.data.meshes.new(SKINNED)
    mesh.from_pydata(points, [], faces)
    obj = bpy.data.objects.new(SKINNED, mesh)
    groups = [obj.vertex_groups.new(name=f"Bone{number}") for number in range(3)]
    for ring, z in enumerate(heights):
        mine = list(range(sides * ring, sides * (ring + 1)))
        first = float(np.clip((z - 0.7) / 0.4 + 0.5, 0.0, 1.0))  # at the lower joint
        second = float(np.clip((z - 1.4) / 0.4 + 0.5, 0.0, 1.0))
        for group, weight in zip(groups, (1.0 - first, first - second, second), strict=True):
            if weight > 0.0:
                group.add(mine, weight, "REPLACE")
    obj.modifiers.new("Armature", "ARMATURE").object = rig
    return obj


def _new_curves(action: Any, owner: Any) -> Any:
    if "slots" not in bpy.types.Action.bl_rna.properties:
        return action.fcurves
    slot = action.slots.new(id_type="OBJECT", name=owner.name)
    owner.animation_data.action_slot = slot
    return action.layers.new("Layer").strips.new(type="KEYFRAME").channelbag(slot, ensure=True).fcurves


def fcurves(action: Any) -> list[Any]:
    """All curves of an action, by Blender's own paths: the test does not ask the extension what is there."""
    if "slots" not in bpy.types.Action.bl_rna.properties:
        return list(action.fcurves)
    bags = [bag for layer in action.layers for strip in layer.strips for bag in strip.channelbags]
    return [curve for bag in bags for curve in bag.fcurves]


def keys(action: Any) -> Keys:
    """Every stored number of every key, bit for bit."""
    found: Keys = {}
    for curve in fcurves(action):
        count = len(curve.keyframe_points)
        arrays = []
        for name, width in (("co", 2), ("handle_left", 2), ("handle_right", 2)):
            array = np.empty(count * width, np.float32)
            curve.keyframe_points.foreach_get(name, array)
            arrays.append(array.tobytes())
        kinds = np.empty(count, np.int32)
        curve.keyframe_points.foreach_get("interpolation", kinds)
        found[curve.data_path, curve.array_index] = (*arrays, kinds.tobytes())
    return found


def quaternions(found: Keys, bone: str) -> Any:
    """(keys, 4) stored values of a bone whose four curves have their keys on the same frames."""
    path = f'pose.bones["{bone}"].rotation_quaternion'
    return np.stack([np.frombuffer(found[path, i][0], np.float32).reshape(-1, 2)[:, 1] for i in range(4)], axis=1)


def bones_of(paths: set[tuple[str, int]]) -> set[str]:
    """The bones that curves belong to."""
    return {path.split('"')[1] for path, _ in paths if '"' in path}


if __name__ == "__main__":
    make(Path(sys.argv[sys.argv.index("--") + 1]))
