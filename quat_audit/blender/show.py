# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring a place of an action before the artist's eyes: frame, object, bone, curves, keys, an open Graph Editor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from ..text import Text
from . import compat
from .read import BlenderClip, find_set

# Keys this close to a frame are at it (keys.SAME_TIME_FRAMES).
SAME_TIME_FRAMES = 0.01


def show_frame(context: Any, frame: float) -> None:
    """Set the current frame, subframe included."""
    if math.isfinite(frame):
        whole = math.floor(frame)
        context.scene.frame_set(whole, subframe=frame - whole)


def show_owner(context: Any, names: Sequence[str], bones: Sequence[str]) -> list[Text]:
    """Make one of the users of an action active, and of its bones only some selected, the first of them active.

    Returns what could not be done.

    No mode is left that has an undo of its own (edit modes): there the artist only gets the frame.
    """
    obj = _choose(context, names)
    if obj is None:
        return [Text("No object of this view layer plays it")] if bones or names else []
    if context.mode.startswith("EDIT"):
        return [Text("Leave Edit Mode to have the bone selected")]
    if context.view_layer.objects.active != obj:
        if context.object is not None and context.object.mode != "OBJECT":
            bpy.ops.object.mode_set(mode="OBJECT")
        for other in context.selected_objects:
            other.select_set(False)
        context.view_layer.objects.active = obj
    obj.select_set(True)
    return _show_bones(obj, bones) if bones else []


def _choose(context: Any, names: Sequence[str]) -> Any:
    """Of the users of an action: the active object, or the first that can be selected here."""
    here = context.view_layer.objects
    if here.active is not None and here.active.name in names:
        return here.active
    return next((here[name] for name in names if name in here and not here[name].hide_get()), None)


def _show_bones(obj: Any, names: Sequence[str]) -> list[Text]:
    there = [name for name in names if obj.pose is not None and name in obj.pose.bones]
    gone = [
        Text("“{object}” has no bone “{bone}” any more", {"object": obj.name, "bone": name})
        for name in names
        if name not in there
    ]
    if not there:
        return gone
    if obj.mode != "POSE" and bpy.ops.object.posemode_toggle.poll():
        bpy.ops.object.mode_set(mode="POSE")
    for bone in obj.pose.bones:
        compat.select_bone(bone, bone.name in there)
    obj.data.bones.active = obj.data.bones[there[0]]
    hidden = [name for name in there if compat.is_hidden(obj.pose.bones[name])]
    return gone + [Text("The bone “{bone}” is hidden", {"bone": name}) for name in hidden]


def show_keys(record: BlenderClip, data_path: str, frames: Sequence[float]) -> int:
    """Select the curves of a path, and of all keys only those at some frames; returns how many keys that are.

    Raises: GoneError: the clip is gone from the file.
    """
    _, curve_set = find_set(record)
    at = np.array([f for f in frames if math.isfinite(f)], dtype=np.float64)
    count = 0
    for fcurve in curve_set.fcurves:
        mine = fcurve.data_path == data_path
        fcurve.select = mine
        points = fcurve.keyframe_points
        chosen = np.zeros(len(points), dtype=bool)
        if mine:
            fcurve.hide = False
            if fcurve.group is not None:
                fcurve.group.show_expanded = fcurve.group.show_expanded_graph = True
            times = np.empty(2 * len(points), dtype=np.float32)
            points.foreach_get("co", times)
            chosen = np.any(np.abs(times[::2, None] - at) < SAME_TIME_FRAMES, axis=1)
            count += int(chosen.sum())
        for name in ("select_control_point", "select_left_handle", "select_right_handle"):
            points.foreach_set(name, chosen)
    return count


def frame_graph_editors(context: Any) -> int:
    """Fit the view of every open Graph Editor to the selected keys; returns how many there are."""
    count = 0
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            if area.type != "GRAPH_EDITOR" or area.spaces.active.mode != "FCURVES":
                continue
            region = next((r for r in area.regions if r.type == "WINDOW"), None)
            if region is None:
                continue
            with context.temp_override(window=window, area=area, region=region):
                if bpy.ops.graph.view_selected.poll():
                    bpy.ops.graph.view_selected()
                    count += 1
            area.tag_redraw()
    return count
