# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinning preview in the window: on, scrub, side by side, heat maps, the worst frame, off; nothing is left."""

from __future__ import annotations

import hashlib
import math
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import ui_scenes
from mathutils import Euler
from ui_driver import Hands, Redraws, Turns
from ui_steps import module, open_scene

# Names of ours that Blender saves with a window's screens.
_KEPT_WITH_SCREENS = (b"QUATAUDIT_PT_", b"QUATAUDIT_UL_")
# Pixels between two looks, and how far below its header the first buttons of the panel are.
_ROW, _FOLDED_OUT = 8, 160
_FIRST_CHOICE = r"quat_audit_preview\.show$"


def choices() -> Any:
    return bpy.data.window_managers[0].quat_audit_preview


def preview() -> Any:
    """The preview that is on, or None."""
    return module("ui.preview.state").current()


def everything(mesh_object: str = ui_scenes.SKINNED, armature: str = ui_scenes.SKIN_RIG) -> dict[str, Any]:
    """What the file and the session hold: every data-block, every stored number of a mesh, every handler."""
    obj, rig = bpy.data.objects[mesh_object], bpy.data.objects[armature]
    mesh = obj.data
    co = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", co)
    weights = [[(g.group, g.weight) for g in v.groups] for v in mesh.vertices]
    pose = [[tuple(getattr(b, name)) for name in ("location", "rotation_quaternion", "scale")] for b in rig.pose.bones]
    collections = {p.identifier for p in bpy.types.BlendData.bl_rna.properties if p.type == "COLLECTION"}
    return {
        "data": {name: sorted(d.name_full for d in getattr(bpy.data, name)) for name in sorted(collections)},
        "mesh": hashlib.sha256(co.tobytes() + repr(weights).encode()).hexdigest(),
        "attributes": [(a.name, a.domain, a.data_type) for a in mesh.attributes],
        "properties": [sorted(block.keys()) for block in (obj, mesh, rig, rig.data, bpy.context.scene)],
        "modifiers": [[(m.name, m.show_viewport, m.show_render) for m in o.modifiers] for o in bpy.data.objects],
        "keys": hashlib.sha256(
            repr([sorted(ui_scenes.keys(a).items()) for a in bpy.data.actions]).encode()
        ).hexdigest(),
        "pose": pose,
        "matrices": [[tuple(row) for row in o.matrix_world] for o in bpy.data.objects],
        "hidden": [(o.hide_get(), o.hide_viewport, o.select_get()) for o in bpy.data.objects],
        "frame": (bpy.context.scene.frame_current_final, bpy.context.scene.frame_start, bpy.context.scene.frame_end),
        "handlers": {n: len(h) for n in dir(bpy.app.handlers) if isinstance(h := getattr(bpy.app.handlers, n), list)},
    }


def same(now: dict[str, Any], before: dict[str, Any], but: tuple[str, ...] = ()) -> tuple[bool, list[str]]:
    """Whether nothing differs but what may, and what does."""
    different = [name for name in before if name not in but and now[name] != before[name]]
    return not different, [f"{name}: {before[name]} → {now[name]}"[:400] for name in different]


def show_tube(hands: Hands) -> Turns:
    """All three side by side, left of the sidebar."""
    space = hands.area().spaces.active
    space.region_3d.view_perspective = "PERSP"
    space.region_3d.view_rotation = Euler((math.radians(82), 0, math.radians(20))).to_quaternion()
    space.region_3d.view_location = (0.35, 0, 1.0)
    space.region_3d.view_distance = 4.6
    space.show_region_toolbar = True
    yield from hands.settle()


def _open_panel(hands: Hands) -> Turns:
    """Fold the sub-panel out, whose header is no operator: click below the last of the others until it is there."""
    region = hands.region()
    x, lowest, highest = region.x + region.width // 3, region.y + 14, region.y + region.height - 12
    last = highest
    for y in range(highest, lowest, -2 * _ROW):
        yield from hands.move(x, y)
        if hands.is_lit(_FIRST_CHOICE, "VIEW_3D"):
            return True
        if hands.command_under_mouse("VIEW_3D") or hands.property_under_mouse("VIEW_3D"):
            last = y
    # The panel is among the last: downwards from the last button, then upwards.
    for y in (*range(last, lowest, -10), *range(last, highest, 10)):
        yield from hands.move(x, y)
        if hands.command_under_mouse("VIEW_3D") or hands.property_under_mouse("VIEW_3D"):
            continue
        yield from hands.click()
        if (yield from _is_open(hands, x, y, max(lowest, y - _FOLDED_OUT))):
            return True
        yield from hands.move(x, y)
        yield from hands.click()  # it was another one: as it was
    return False


def _is_open(hands: Hands, x: int, top: int, bottom: int) -> Turns:
    """Whether the panel's first choice is seen in a column of the sidebar."""
    for y in range(top, bottom, -_ROW):
        yield from hands.move(x, y)
        if hands.is_lit(_FIRST_CHOICE, "VIEW_3D"):
            return True
    return False


def _picture(hands: Hands, name: str) -> Turns:
    """Not `Hands.picture`: below a short panel its wheel zooms the view instead of scrolling."""
    yield from show_tube(hands)
    yield from hands.over()
    yield from hands.turns(40)
    hands.snap(name)


def at_frame(hands: Hands, frame: int) -> Turns:
    bpy.context.scene.frame_set(frame)
    yield from hands.until(lambda: False, 0.8)  # the scale follows a moment later
    yield from hands.settle()


def skinning_preview(hands: Hands) -> Turns:
    """On, scrubbed, every look, the worst frame, off: it is seen, and the scene is as it was."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    hands.need("the panel Skinning Preview folds out", (yield from _open_panel(hands)))
    before = everything()
    hands.need("the Preview button is there", (yield from hands.press("quat_audit.preview")))
    hands.need("the preview is on", preview() is not None)
    yield from at_frame(hands, ui_scenes.SKIN_WORST)
    held = preview()
    hands.need("it draws", held.made is not None, held.remarks)
    hands.check("the graphics card skins it", not held.made.why_slow, held.made.why_slow)
    yield from _picture(hands, "preview-side-by-side")

    for show in ("LBS", "DQS", "GAP", "LOSS", "CUT"):
        choices().show = show
        choices().most = 1  # the tube's vertices have two influences at most
        yield from at_frame(hands, ui_scenes.SKIN_WORST)
        yield from _picture(hands, f"preview-{show.lower()}")
    choices().show = "LBS"
    if hands.thorough:
        choices().in_front, choices().opacity = True, 0.5
        yield from _picture(hands, "preview-in-front")
        choices().in_front, choices().opacity = False, 1.0

    choices().show = "GAP"
    if hands.thorough:
        yield from _scrub(hands)
    now = everything()
    hands.check(
        "with the preview on, the file holds what it held",
        *same(now, before, ("pose", "handlers", "matrices", "frame")),
    )
    if hands.thorough:
        yield from _save(hands)
    bpy.context.scene.frame_set(1)
    hands.need("the Worst Frame button is there", (yield from hands.press("quat_audit.preview_worst")))
    worst = bpy.context.scene.frame_current
    hands.check("it goes to the frame of the largest twist", worst == ui_scenes.SKIN_WORST, worst)
    hands.check("the scale reaches to the worst of the clip", preview().clip.get("gap", 0.0) > 50.0, preview().clip)
    yield from _picture(hands, "preview-worst")

    hands.need("the Stop button is there", (yield from hands.press("quat_audit.preview")))
    hands.check("the preview is off", preview() is None)
    bpy.context.scene.frame_set(1)
    yield from hands.settle()
    hands.check("off: file, pose and handlers are as they were", *same(everything(), before))
    yield from _picture(hands, "preview-off")


def _scrub(hands: Hands) -> Turns:
    """Through the frames, and played: the ghost follows."""
    poses = set()
    for frame in range(1, ui_scenes.SKIN_WORST + 1, 5):
        bpy.context.scene.frame_set(frame)
        yield from hands.settle()
        poses.add(preview().motion.deform.tobytes())
    hands.check("scrubbing poses the ghost anew on each frame", len(poses) == 7, len(poses))
    seen = len(poses)
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.animation_play()
    with Redraws(hands) as drawn:
        for _ in range(60):
            yield
            poses.add(preview().motion.deform.tobytes())
            if len(poses) > seen + 3:
                break
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.animation_cancel(restore_frame=False)
    hands.check("playback moves the ghost", len(poses) > seen + 3, f"{len(poses)} poses in {drawn.seconds():.1f} s")


def _save(hands: Hands) -> Turns:
    """Saved while it is on: the file knows nothing of it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.blend"
        with bpy.context.temp_override(window=hands.window):
            bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
        stored = path.read_bytes()
    words = set(re.findall(rb"(?i)quat_?audit\w*", stored))
    # Blender keeps with the screen which panels are folded and how far lists are scrolled (their names end with the
    # list's own id), and the folder of this run has our name.
    folder_names = {word for word in words if word.startswith(b"quat_audit_ui_")}
    left = {word for word in words - folder_names if not word.startswith(_KEPT_WITH_SCREENS)}
    hands.check("saved while it is on: no name of ours but the panels' in the file", not left, left)
    yield


def preview_hostile(hands: Hands) -> Turns:
    """What happens to the mesh under the preview: weights, edit mode, undo, deletion, two windows, another file."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    obj, rig = bpy.data.objects[ui_scenes.SKINNED], bpy.data.objects[ui_scenes.SKIN_RIG]
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.quat_audit.preview()
    choices().show = "GAP"
    yield from at_frame(hands, ui_scenes.SKIN_WORST)
    was = preview()
    obj.vertex_groups["Bone1"].add(list(range(400, 800)), 0.1, "REPLACE")
    yield from hands.until(lambda: preview() is not was, 5)
    changed = preview() is not was and not np.array_equal(
        preview().mesh.record.skin.weight, was.mesh.record.skin.weight
    )
    hands.check("new weights are read", changed)

    bpy.context.view_layer.objects.active = rig
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.mode_set(mode="EDIT")
    yield from at_frame(hands, ui_scenes.SKIN_WORST)
    hands.check("armature in edit mode: it says so", "edit mode" in " ".join(preview().remarks), preview().remarks)
    hands.snap("preview-edit-mode")
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.mode_set(mode="OBJECT")
    yield from at_frame(hands, 11)
    hands.check("out of edit mode: it draws again", preview().made is not None and not preview().why_nothing)

    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.window_new()
    yield from hands.turns(20)
    other = bpy.data.window_managers[0].windows[-1]
    hands.check("a second window draws it too", preview() is not None and preview().made is not None)
    with bpy.context.temp_override(window=other):
        bpy.ops.wm.window_close()
    yield from hands.settle()

    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.select_all(action="DESELECT")
        obj.select_set(True)
        bpy.context.view_layer.objects.active = obj
        bpy.ops.ed.undo_push(message="before")
        bpy.ops.object.delete()
        bpy.ops.ed.undo_push(message="deleted")
    yield from hands.until(lambda: bool(preview() and preview().remarks), 5)
    yield from hands.turns(20)
    hands.check("its mesh deleted: it says so", bool(preview() and preview().remarks), preview() and preview().remarks)
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    yield from hands.until(lambda: preview().made is not None and not preview().why_nothing, 5)
    back = preview() is not None and preview().made is not None and not preview().why_nothing
    hands.check("the deletion undone: it draws again", back, preview() and preview().remarks)

    yield from open_scene(hands, "tube")
    hands.check("another file opened: it is off", preview() is None)
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.quat_audit.preview()
    yield from hands.settle()
    bpy.ops.preferences.addon_disable(module="bl_ext.user_default.quat_audit")
    yield from hands.settle()
    hands.check(
        "disabled while it is on: its properties are gone", not hasattr(bpy.types.WindowManager, "quat_audit_preview")
    )
    bpy.ops.preferences.addon_enable(module="bl_ext.user_default.quat_audit")
    yield from hands.settle()
    hands.check("enabled again: it is off", preview() is None)


STEPS: tuple[Callable[[Hands], Turns], ...] = (skinning_preview, preview_hostile)
PICTURES = (skinning_preview,)
