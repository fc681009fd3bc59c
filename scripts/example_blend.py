# SPDX-License-Identifier: GPL-3.0-or-later
"""The example walk as a .blend file, through bpy: 4.2 (legacy actions) to 5.3 (slots, layers, channelbags)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import numpy as np
from example_files import PLACES
from example_walk import (
    BONES,
    CAMERA,
    FIRST_FRAME,
    FRAME_RATE,
    LAST_FRAME,
    LINEAR,
    PROP,
    RIG,
    Curve,
    Scene,
    body_weights,
    mesh,
)

_KEYFRAME_INTERPOLATION = {"CONSTANT": 0, "LINEAR": 1, "BEZIER": 2}


def save(scene: Scene, path: Path) -> None:
    """Build the scene in an empty file and save it. Loses what is open in Blender."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.preferences.filepaths.save_version = 0
    world = bpy.context.scene
    world.render.fps, world.frame_start, world.frame_end = FRAME_RATE, FIRST_FRAME, LAST_FRAME
    objects = {RIG: _armature(scene), PROP: _prop(), CAMERA: _camera()}
    _body(objects[RIG], scene)
    for (owner, bone), mode in scene.modes.items():
        (objects[owner].pose.bones[bone] if bone else objects[owner]).rotation_mode = mode
    for (owner, bone), value in scene.pose.items():
        (objects[owner].pose.bones[bone] if bone else objects[owner]).rotation_quaternion = value
    for owner, thing in objects.items():
        _animate(thing, [c for c in scene.curves if c.owner == owner])
        if owner in scene.without_slot:
            thing.animation_data.action_slot = None
    # Not relative to anything and without a preview: nothing in the file depends on where it is made.
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, relative_remap=False)


def _link(name: str, data: Any) -> Any:
    thing = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(thing)
    return thing


def _armature(scene: Scene) -> Any:
    rig = _link(RIG, bpy.data.armatures.new(RIG))
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in BONES:
        made = rig.data.edit_bones.new(bone.name)
        made.head, made.tail = bone.head, bone.tail
        made.align_roll(bone.front)
        if bone.parent:
            made.parent = rig.data.edit_bones[bone.parent]
            made.use_connect = bone.name in scene.connected
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def _body(rig: Any, scene: Scene) -> None:
    figure = mesh()
    data = bpy.data.meshes.new("Body")
    data.from_pydata(figure.vertices.tolist(), [], figure.triangles.tolist())
    body = _link("Body", data)
    body.parent = rig
    for bone in BONES:
        body.vertex_groups.new(name=bone.name)
    for vertex, weights in enumerate(scene.weights or body_weights()):
        for name, weight in weights:
            group = body.vertex_groups.get(name) or body.vertex_groups.new(name=name)
            group.add([vertex], weight, "REPLACE")
    modifier = body.modifiers.new("Armature", "ARMATURE")
    modifier.object, modifier.use_deform_preserve_volume = rig, scene.preserve_volume


def _prop() -> Any:
    figure = mesh()
    corners = [
        (x, y, z) for z in (-0.15, 0.15) for x, y in ((-0.15, -0.15), (0.15, -0.15), (0.15, 0.15), (-0.15, 0.15))
    ]
    data = bpy.data.meshes.new(PROP)
    data.from_pydata(corners, [], figure.triangles[:12].tolist())
    prop = _link(PROP, data)
    prop.location = PLACES[PROP]
    return prop


def _camera() -> Any:
    camera = _link(CAMERA, bpy.data.cameras.new(CAMERA))
    camera.location = PLACES[CAMERA]
    bpy.context.scene.camera = camera
    return camera


def _animate(thing: Any, curves: list[Curve]) -> None:
    name = "Walk" if thing.name == RIG else thing.name
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    thing.animation_data_create().action = action
    # Slots came with 4.4. Before that an action has its curves itself; since 5.0 only a channelbag has them.
    if "slots" in bpy.types.Action.bl_rna.properties:
        slot = action.slots.new(id_type="OBJECT", name=thing.name)
        thing.animation_data.action_slot = slot
        owner = action.layers.new("Layer").strips.new(type="KEYFRAME").channelbag(slot, ensure=True)
    else:
        owner = action
    for curve in curves:
        _keys(owner.fcurves.new(_data_path(curve), index=curve.index), curve)


def _data_path(curve: Curve) -> str:
    bone = bpy.utils.escape_identifier(curve.bone)
    return f'pose.bones["{bone}"].{curve.prop}' if curve.bone else curve.prop


def _keys(fcurve: Any, curve: Curve) -> None:
    points, count = fcurve.keyframe_points, len(curve.frames)
    points.add(count)
    ordered = np.arange(1.0, count + 1)
    # Automatic handles and the order of keys are computed by update(), which must see finite, rising keys:
    # what is broken on purpose is stored after it, as a broken importer would.
    sound = bool(np.isfinite(curve.values).all() and (np.diff(curve.frames) > 0).all())
    co = np.stack([curve.frames if sound else ordered, np.nan_to_num(curve.values)], axis=1)
    points.foreach_set("co", co.astype(np.float32).reshape(-1))
    points.foreach_set("interpolation", [_KEYFRAME_INTERPOLATION[curve.interpolation]] * count)
    for point in points:
        automatic = "VECTOR" if curve.interpolation == LINEAR else "AUTO_CLAMPED"
        point.handle_left_type = point.handle_right_type = "FREE" if curve.handles else automatic
    if curve.handles:
        for side, handle in zip(("handle_left", "handle_right"), curve.handles, strict=True):
            points.foreach_set(side, handle.astype(np.float32).reshape(-1))
    fcurve.update()
    if not sound:
        co = np.stack([curve.frames, curve.values], axis=1).astype(np.float32)
        for name in ("co", "handle_left", "handle_right"):
            points.foreach_set(name, co.reshape(-1))
