# SPDX-License-Identifier: GPL-3.0-or-later
"""Builds rigs and actions in any Blender version: entries of shared/cases/reports.json, and pieces for the tests.

It makes its own way through the versions, on purpose: what checks the package must not be the package.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bpy
import numpy as np

LAYERED = bpy.app.version >= (4, 4)
INTERPOLATION = ("CONSTANT", "LINEAR", "BEZIER", "BACK", "BOUNCE", "CIRC", "CUBIC", "ELASTIC", "EXPO", "QUAD")
INTERPOLATION += ("QUART", "QUINT", "SINE")
HANDLES = ("FREE", "AUTO", "VECTOR", "ALIGNED", "AUTO_CLAMPED")


def build_case(entry: Mapping[str, Any]) -> None:
    """Build an entry's owners and actions into the open file."""
    for action in entry.get("actions", ()):
        for slot in action["slots"]:
            fcurves = make_fcurves(action["action"], slot["slot"])
            for curve in slot["curves"]:
                _make_curve(fcurves, curve)
    for owner in entry.get("owners", ()):
        _make_owner(owner)


def make_fcurves(action_name: str, slot_name: str, id_type: str = "OBJECT") -> Any:
    """The F-curve collection of a slot of an action; both are made when they are missing."""
    action = bpy.data.actions.get(action_name) or bpy.data.actions.new(action_name)
    action.use_fake_user = True
    if not LAYERED:
        action.id_root = id_type  # without it no Action constraint takes the action
        return action.fcurves
    slot = next((s for s in action.slots if s.name_display == slot_name), None)
    slot = slot or action.slots.new(id_type=id_type, name=slot_name)
    layer = action.layers[0] if action.layers else action.layers.new("Layer")
    strip = layer.strips[0] if layer.strips else layer.strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True).fcurves


def has_slots() -> bool:
    """Whether actions have slots here; also makes sure that a test left early is one that has no meaning here."""
    assert ("slots" in bpy.types.Action.bl_rna.properties) == LAYERED
    return LAYERED


def fcurves_of(action: Any) -> Any:
    """The F-curves of an action's first slot."""
    return action.layers[0].strips[0].channelbags[0].fcurves if LAYERED else action.fcurves


def make_rig(name: str, bones: Sequence[str], mode: str = "QUATERNION") -> Any:
    """An armature object; each bone points up from the origin."""
    data = bpy.data.armatures.new(name)
    rig = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for bone_name in bones:
        bone = data.edit_bones.new(bone_name)
        bone.head, bone.tail = (0, 0, 0), (0, 0, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
    return rig


def assign(player: Any, action: Any, slot_name: str | None = None) -> None:
    """Let an AnimData, an NLA strip or an Action constraint play an action, by default its first slot."""
    player.action = action
    if LAYERED:
        player.action_slot = next(s for s in action.slots if slot_name in (None, s.name_display))


def make_curve(
    fcurves: Any, path: str, index: int, frames: Sequence[float], values: Sequence[float], interpolation: str = "LINEAR"
) -> Any:
    """One curve, its automatic handles computed by Blender."""
    curve = fcurves.new(path, index=index)
    curve.keyframe_points.add(len(frames))
    curve.keyframe_points.foreach_set("co", np.column_stack([frames, values]).astype(np.float32).ravel())
    for key in curve.keyframe_points:
        key.interpolation = interpolation
    curve.update()
    return curve


def _make_curve(fcurves: Any, entry: Mapping[str, Any]) -> None:
    curve = fcurves.new(entry["data_path"], index=entry["index"])
    keys, points = entry["keys"], curve.keyframe_points
    points.add(len(keys))
    co = np.array([key["co"] for key in keys], dtype=np.float32)  # "NaN" becomes one
    points.foreach_set("co", co.ravel())
    points.foreach_set(
        "interpolation", np.array([INTERPOLATION.index(k["interpolation"]) for k in keys], dtype=np.uint8)
    )
    for side, name in enumerate(("handle_left", "handle_right")):
        types = [HANDLES.index(key["handle_types"][side]) if "handle_types" in key else 0 for key in keys]
        points.foreach_set(f"{name}_type", np.array(types, dtype=np.uint8))
        handles = np.array([key.get(name, key["co"]) for key in keys], dtype=np.float32)
        points.foreach_set(name, handles.ravel())
    for modes in entry.get("cycles", ()):
        modifier = curve.modifiers.new(type="CYCLES")
        modifier.mode_before, modifier.mode_after = modes


def _make_owner(entry: Mapping[str, Any]) -> None:
    if entry["type"] == "ARMATURE":
        owner = make_rig(entry["object"], [bone["name"] for bone in entry["bones"]])
        for bone in entry["bones"]:
            owner.pose.bones[bone["name"]].rotation_mode = bone["rotation_mode"]
            owner.pose.bones[bone["name"]].rotation_quaternion = bone["rotation_quaternion"]
    else:
        owner = bpy.data.objects.new(entry["object"], None)
        bpy.context.scene.collection.objects.link(owner)
    owner.rotation_mode = entry["rotation_mode"]
    data = owner.animation_data_create()
    if entry["active_action"] is not None:
        assign(data, bpy.data.actions[entry["active_action"]], entry["active_slot"])
    for strip in entry["nla"]:
        action = bpy.data.actions[strip["action"]]
        made = data.nla_tracks.new().strips.new(action.name, int(strip["frame_start"]), action)
        if LAYERED:
            made.action_slot = action.slots[0]
        made.frame_start, made.frame_end = strip["frame_start"], strip["frame_end"]
        made.blend_type, made.influence = strip["blend_type"], strip["influence"]
