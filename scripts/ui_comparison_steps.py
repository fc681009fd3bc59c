# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of the UI test about the before and after of a repair: drawn, kept across the fix, and taken off again."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import ui_steps
from mathutils import Euler
from ui_driver import Hands, Turns
from ui_views import differ, views

_FLIP = ("QA104", "Arm.R")


def _state() -> Any:
    return ui_steps.module("ui.comparison.state").STATE


def _scene_digest() -> str:
    """All that a comparison must leave alone: frame, poses, objects, and every number of every key."""
    digest = hashlib.sha256()
    keys = ui_steps.keys()
    for curve in sorted(keys):
        digest.update(b"".join(keys[curve]))
    rig = bpy.data.objects["Rig"]
    poses = [tuple(map(tuple, bone.matrix_basis)) for bone in rig.pose.bones]
    words = (bpy.context.scene.frame_current_final, poses, sorted(o.name for o in bpy.data.objects), rig.mode)
    digest.update(repr(words).encode())
    return digest.hexdigest()


def before_and_after(hands: Hands) -> Turns:
    """The flip of an arm: drawn before it is fixed, still drawn afterwards, undone, switched off."""
    yield from ui_steps.open_scene(hands, "broken")
    yield from ui_steps.show_rig(hands)
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    yield from ui_steps.audit(hands)
    hands.need("a click on a finding chooses it", (yield from ui_steps.choose(hands, *_FLIP)))
    finding = ui_steps.active()
    hands.need("the Go To button is there", (yield from hands.press("quat_audit.go_to")))
    yield from _close_up(hands)
    bpy.context.scene.frame_set(int(finding.occurrences.frames[finding.worst, 0]))
    yield from hands.settle()
    broken, before = ui_steps.keys(), _scene_digest()
    yield from hands.over()
    bare = yield from views(hands)

    hands.need("the Before and After button is there", (yield from hands.press("quat_audit.compare")))
    yield from hands.until(lambda: _state().shown is not None, 10)
    hands.need("before and after is on", _state().shown is not None and len(_state().handles) == 1)
    hands.check("before and after changed nothing of the scene", _scene_digest() == before)
    poses = _state().shown.poses
    hands.check("there are poses to show, at most 240", poses is not None and len(poses.frames) <= 240)
    yield from hands.picture("before-and-after")
    drawn = yield from views(hands)
    hands.check("something is drawn into the viewport", min(differ(drawn, bare)) > 5000, differ(drawn, bare))

    hands.need("the Fix This button is there", (yield from hands.press("quat_audit.fix_active")))
    yield from hands.until(lambda: ui_steps.keys() != broken, 10)
    fixed = _scene_digest()
    hands.check("the fix is done and the before and after stays", fixed != before and _state().shown is not None)
    yield from hands.picture("before-and-after-fixed")
    hands.check("its own fix does not outdate it", _state().shown is not None and not _state().shown.outdated)
    if not hands.thorough:
        return
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.check("undo under it: the keys are as they were", ui_steps.keys() == broken)
    yield from hands.turns(60)  # what follows a change of the file has looked at it
    hands.check("undo leaves it drawn, and true", _state().shown is not None and not _state().shown.outdated)
    undone = _scene_digest()  # undo brings the frame of its step back, too
    hands.need("the button that takes it off is there", (yield from hands.press("quat_audit.compare_off")))
    hands.check("it is off, and no draw handler is left", _state().shown is None and not _state().handles)
    hands.check("off: the scene is as it was", _scene_digest() == undone)

    hands.need("on once more", (yield from hands.press("quat_audit.compare")))
    yield from hands.over()
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.mode_set(mode="EDIT")
    yield from hands.settle()
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.mode_set(mode="POSE")
    bpy.data.objects["Rig"].data.bones["Arm.R"].name = "Renamed"
    yield from hands.settle()
    bpy.data.objects.remove(bpy.data.objects["Rig"])
    yield from hands.turns(10)
    hands.check("edit mode, a rename and no armature any more: still alive", _state().shown is not None)
    yield from ui_steps.open_scene(hands, "clean")
    hands.check("another file switches it off", _state().shown is None and not _state().handles)


def keys_change_under_it(hands: Hands) -> Turns:
    """The artist keys another pose while it is drawn: it says so, Ctrl-Z takes that back, the button draws anew."""
    yield from ui_steps.open_scene(hands, "broken")
    yield from ui_steps.show_rig(hands)
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    yield from ui_steps.audit(hands)
    hands.need("a click on a finding chooses it", (yield from ui_steps.choose(hands, *_FLIP)))
    hands.need("the Before and After button is there", (yield from hands.press("quat_audit.compare")))
    yield from hands.until(lambda: _state().shown is not None, 10)
    hands.need("before and after is on, and true", _state().shown is not None and not _state().shown.outdated)
    first, broken = _state().shown, ui_steps.keys()

    yield from _key_another_pose(hands)
    hands.need("another pose is keyed", ui_steps.keys() != broken)
    yield from hands.until(lambda: _state().shown.outdated, 5)
    hands.check("a new key outdates what is drawn", _state().shown.outdated)
    yield from ui_steps.show_rig(hands)
    yield from hands.turns(40)
    hands.snap("before-and-after-outdated")
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.need("Ctrl-Z takes the key back", ui_steps.keys() == broken)
    yield from hands.until(lambda: not _state().shown.outdated, 5)
    hands.check("what is drawn is true again", _state().shown is not None and not _state().shown.outdated)

    yield from _key_another_pose(hands)
    yield from hands.until(lambda: _state().shown.outdated, 5)
    hands.need("the button draws it anew", (yield from hands.press("quat_audit.compare")))
    yield from hands.until(lambda: _state().shown is not None and not _state().shown.outdated, 10)
    anew = _state().shown
    hands.need("it is on, and true", anew is not None and not anew.outdated)
    different = not np.array_equal(anew.angles.keys_before, first.angles.keys_before)
    hands.check("it has the new key", different, f"{first.angles.keys_before} {anew.angles.keys_before}")
    yield from ui_steps.show_rig(hands)
    yield from hands.turns(40)
    hands.snap("before-and-after-anew")
    hands.need("the button that takes it off is there", (yield from hands.press("quat_audit.compare_off")))
    hands.check("it is off, and no draw handler is left", _state().shown is None and not _state().handles)


def _key_another_pose(hands: Hands) -> Turns:
    """The bone turned by 20° on a frame near the fault, and keyed: a step of its own for undo."""
    finding, rig = ui_steps.active(), bpy.data.objects["Rig"]
    first, second = finding.occurrences.frames[finding.worst]
    bpy.context.scene.frame_set(int(first + 1 if second > first + 1 else first))
    yield from hands.settle()
    bone = rig.pose.bones[finding.bone]
    bone.rotation_quaternion = bone.rotation_quaternion @ Euler((math.radians(20), 0, 0)).to_quaternion()
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.ed.undo_push(message="posed")
        bone.keyframe_insert("rotation_quaternion")
        bpy.ops.ed.undo_push(message="keyed")
    yield from hands.settle()


def _close_up(hands: Hands) -> Turns:
    """The bone that is selected, from the front, with room around it and below it for the graph."""
    view = hands.area().spaces.active.region_3d
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.view3d.view_axis(type="FRONT")
        bpy.ops.view3d.view_selected()
    yield from hands.settle()
    view.view_perspective = "PERSP"
    view.view_rotation = Euler((math.radians(75), 0, math.radians(40))).to_quaternion()
    view.view_distance *= 3.2
    yield from hands.settle()


STEPS: tuple[Callable[[Hands], Turns], ...] = (before_and_after, keys_change_under_it)
PICTURES = (before_and_after,)
