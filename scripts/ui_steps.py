# SPDX-License-Identifier: GPL-3.0-or-later
"""What the UI test does, step by step, and what must hold after each: what a person would click, and the keys.

A step is a generator over `ui_driver.Hands`. Steps build on one another only where they say so.
"""

from __future__ import annotations

import hashlib
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import ui_scenes
from mathutils import Euler
from ui_driver import CATEGORY, Hands, Redraws, Stuck, Turns

EXTENSION = "bl_ext.user_default.quat_audit"
ALIVE = 0.25  # seconds between two redraws, at most
_FLIP = ("QA104", "Thigh.L")


# --- what the extension says and holds


def module(name: str) -> Any:
    """A module of the installed extension."""
    return sys.modules[f"{EXTENSION}.{name}"]


def results() -> Any:
    return module("results.memory").RESULTS


def state() -> Any:
    return bpy.data.window_managers[0].quat_audit


def findings() -> list[Any]:
    return [row.finding for row in results().rows]


def active() -> Any:
    """The finding that is chosen in the list, or None."""
    row = results().row(state().active)
    return row.finding if row is not None else None


def running() -> bool:
    return bool(module("ui.auditing").RUNNING)


def action() -> Any:
    return bpy.data.actions[ui_scenes.ACTION]


def keys() -> ui_scenes.Keys:
    return ui_scenes.keys(action())


# --- what several steps do


def open_scene(hands: Hands, name: str) -> Turns:
    """Open a scene in the window as it is: a person's screen stays."""
    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.open_mainfile(filepath=hands.plan["scenes"][name], load_ui=False)
    yield from hands.settle()


def show_rig(hands: Hands) -> Turns:
    """The whole figure from the front and a little from the side, left of the sidebar."""
    view = hands.area().spaces.active.region_3d
    view.view_perspective = "PERSP"
    view.view_rotation = Euler((math.radians(80), 0, math.radians(25))).to_quaternion()
    view.view_location = (0.35, 0, 0.95)
    view.view_distance = 4.5
    yield from hands.settle()


def audit(hands: Hands, kind: str = "VIEW_3D") -> Turns:
    """Click Audit and wait for its end."""
    hands.need("the Audit button is there and can be clicked", (yield from hands.press("quat_audit.audit", kind)))
    hands.need("the audit ends", (yield from hands.until(lambda: not running(), 60)))
    yield from hands.settle()


def choose(hands: Hands, code: str, bone: str, kind: str = "VIEW_3D") -> Turns:
    """Click the rows of the list from the top until the finding is the chosen one; whether it is."""
    if not (yield from hands.find(r"\.quat_audit\.active$", kind, anew=True)):
        raise Stuck("no list of findings in the panel")
    height = round(20 * bpy.context.preferences.system.ui_scale)
    # The middle of the first row, from its upper edge: a row's height from an edge leads to the line between two
    # rows, where nothing is lit.
    x, edge = hands.at
    while hands.is_lit(r"\.quat_audit\.active$", kind):
        edge += 4
        yield from hands.move(x, edge)
    y = top = edge - 4 - height // 2
    for _ in range(12):
        while (yield from _on_row(hands, x, y, kind)):
            yield from hands.click()
            found = active()
            if found is not None and (found.code, found.bone) == (code, bone):
                return True
            y -= height
        yield from hands.move(x, top)
        yield from hands.wheel(True, 3)  # over a list the wheel scrolls the list
        yield from hands.settle()
        y = top
    return False


def _on_row(hands: Hands, x: int, y: int, kind: str) -> Turns:
    """Move onto a row of the list; whether there is one. A row has words of its own, beside which it is met."""
    for beside in (0, 60, -60):
        yield from hands.move(x + beside, y)
        if hands.property_under_mouse(kind).endswith(".quat_audit.active"):
            return True
    return False


# --- the steps


def clean_rig(hands: Hands) -> Turns:
    """Nothing is wrong, and that is what it says."""
    yield from open_scene(hands, "clean")
    yield from show_rig(hands)
    hands.need(f"N opens the sidebar and a click the tab {CATEGORY}", (yield from hands.open_sidebar()))
    before = keys()
    yield from audit(hands)
    loud = [f.message for f in findings() if f.severity != "note"]
    hands.check("clean rig: no error, no warning", not loud, loud)
    hands.check("clean rig: the audit changed no key", keys() == before)
    yield from hands.picture("clean-rig")


def broken_rig(hands: Hands) -> Turns:
    """Audit, choose, go to, fix, undo, redo: what the extension is for."""
    yield from open_scene(hands, "broken")
    yield from show_rig(hands)
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    broken = keys()
    yield from audit(hands)
    flips = {f.bone for f in findings() if f.code == "QA104"}
    hands.check("broken rig: the flips are found", flips == set(ui_scenes.FLIPPED), sorted(flips))
    hands.check("broken rig: the audit changed no key", keys() == broken)
    yield from hands.picture("panel-findings")

    hands.check("a click on a finding chooses it", (yield from choose(hands, *_FLIP)))
    hands.check("choosing changed no key", keys() == broken)
    yield from hands.picture("panel-detail")

    yield from _go_to(hands)
    hands.check("Go To changed no key", keys() == broken)
    yield from _fix_undo_redo(hands, broken)


def _go_to(hands: Hands) -> Turns:
    bpy.context.scene.frame_set(1)
    finding = active()
    frames = {float(f) for pair in finding.occurrences.frames for f in np.atleast_1d(pair)}
    hands.need("the Go To button is there", (yield from hands.press("quat_audit.go_to")))
    scene, rig = bpy.context.scene, bpy.data.objects["Rig"]
    now = scene.frame_current_final
    hands.check("Go To sets the frame", min(frames) <= now <= max(frames) and now != 1, f"{now} of {sorted(frames)}")
    bone = rig.data.bones.active
    hands.check("Go To makes the bone active", bone is not None and bone.name == finding.bone, bone and bone.name)
    selected = _selected_bones(rig)
    hands.check("Go To selects the bone", selected == {finding.bone}, sorted(selected))


def _selected_bones(rig: Any) -> set[str]:
    # The selection of a bone moved from the bone to the pose bone in 5.0.
    posed = "select" in bpy.types.PoseBone.bl_rna.properties
    return {b.name for b in rig.pose.bones if (b.select if posed else b.bone.select)}


def _fix_undo_redo(hands: Hands, broken: ui_scenes.Keys) -> Turns:
    safe = {f.bone for f in findings() if f.fix == "safe"}
    hands.need("the Fix All Safe button is there", (yield from hands.press("quat_audit.fix_safe")))
    yield from hands.until(lambda: keys() != broken, 10)
    fixed = keys()
    changed = {curve for curve in fixed if fixed[curve] != broken.get(curve)}
    bones = ui_scenes.bones_of(changed)
    hands.check("Fix All Safe changes what is flipped", set(ui_scenes.FLIPPED) <= bones, sorted(bones))
    hands.check("Fix All Safe changes only what has a safe fix", bones <= safe, sorted(bones - safe))
    hands.check("Fix All Safe neither adds nor removes a curve", fixed.keys() == broken.keys())
    for bone in ui_scenes.FLIPPED:
        was, now = ui_scenes.quaternions(broken, bone), ui_scenes.quaternions(fixed, bone)
        same = bool(((now == was).all(axis=1) | (now == -was).all(axis=1)).all())
        smooth = bool((np.sum(now[1:] * now[:-1], axis=1) >= 0).all())
        hands.check(f"{bone}: every key is the same rotation, and no flip is left", same and smooth)
    left = {f.bone for f in findings() if f.code == "QA104"}
    said = str(results().message)
    hands.check("the panel says the proof: no keyed pose changed", " 0.000°" in said and "348.0°" in said, said)
    hands.check("the panel lists no flip after the fix", not left, sorted(left))
    yield from hands.picture("after-fix")
    if not hands.thorough:
        return

    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.check("one Ctrl-Z takes the whole fix back", keys() == broken, _difference(keys(), broken))
    yield from hands.key("Z", ctrl=True, shift=True)
    hands.check("Ctrl-Shift-Z does it again, bit for bit", keys() == fixed, _difference(keys(), fixed))
    yield from hands.key("Z", ctrl=True)
    hands.check("Ctrl-Z once more", keys() == broken, _difference(keys(), broken))


def _difference(a: ui_scenes.Keys, b: ui_scenes.Keys) -> str:
    return ", ".join(sorted(f"{path}[{index}]" for path, index in a if a[path, index] != b.get((path, index)))[:4])


def graph_editor(hands: Hands) -> Turns:
    """The same panel in the Graph Editor: Go To shows the curves and selects the keys."""
    hands.window.workspace = bpy.data.workspaces["Animation"]
    yield from hands.settle()
    yield from open_scene(hands, "broken")
    # The large viewport becomes the Graph Editor; the small one shows the rig.
    hands.area().ui_type = "FCURVES"
    yield from hands.settle()
    yield from show_rig(hands)
    kind = "GRAPH_EDITOR"
    hands.need("Graph Editor: N opens the sidebar and its tab", (yield from hands.open_sidebar(kind)))
    before = keys()
    yield from audit(hands, kind)
    hands.need("Graph Editor: a click on a finding chooses it", (yield from choose(hands, *_FLIP, kind)))
    for curve in ui_scenes.fcurves(action()):
        for point in curve.keyframe_points:
            point.select_control_point = False
    hands.need("Graph Editor: the Go To button is there", (yield from hands.press("quat_audit.go_to", kind)))
    yield from hands.settle()
    picked = {
        (curve.data_path.split('"')[1], float(point.co.x))
        for curve in ui_scenes.fcurves(action())
        for point in curve.keyframe_points
        if point.select_control_point
    }
    finding = active()
    frames = {float(f) for pair in finding.occurrences.frames for f in np.atleast_1d(pair)}
    fits = bool(picked) and all(bone == finding.bone and frame in frames for bone, frame in picked)
    hands.check("Graph Editor: Go To selects the keys of the occurrence", fits, sorted(picked))
    hands.check("Graph Editor: Go To changed no key", keys() == before)
    yield from hands.picture("graph-editor", kind)
    hands.window.workspace = bpy.data.workspaces["Layout"]
    yield from hands.settle()


def long_audit(hands: Hands) -> Turns:
    """More than 1,000,000 keys: the window stays alive, Esc ends it."""
    yield from open_scene(hands, "long")
    # What is measured is how often Blender can draw, not how fast a processor draws 130 bones without a GPU.
    bpy.data.objects["Crowd"].hide_set(True)
    hands.area().spaces.active.overlay.show_overlays = False
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    crowd = bpy.data.actions["Crowd"]
    count = sum(len(curve.keyframe_points) for curve in ui_scenes.fcurves(crowd))
    hands.need("the long scene is long", count >= 1_000_000, f"{count:,} keys")
    before = _digest(crowd)
    listed = [f.message for f in findings()]
    hands.need("the Audit button is there", (yield from hands.find(r"^bpy\.ops\.quat_audit\.audit\b")))
    yield from hands.turns(40)
    with Redraws(hands) as idle:
        yield from hands.turns(80)

    with Redraws(hands) as drawn:
        # Without waiting for anything: the audit takes a few seconds, and Esc must meet it.
        hands.send("LEFTMOUSE", "PRESS")
        yield
        hands.send("LEFTMOUSE", "RELEASE")
        begun = yield from hands.until(running, 5)
        yield from hands.turns(2)
        still = running()
        at = time.perf_counter()
        hands.send("ESC", "PRESS")
        yield from hands.until(lambda: not running(), 30)
        took = time.perf_counter() - at
        hands.send("ESC", "RELEASE")
        yield
    hands.check("the long audit runs while Blender answers", begun and still)
    hands.check("Esc ends it at once", not running() and took < 2 * ALIVE, f"{took * 1000:.0f} ms")
    hands.check("a cancelled audit leaves the list as it was", [f.message for f in findings()] == listed)
    hands.check("a cancelled audit changed no key", _digest(bpy.data.actions["Crowd"]) == before)
    _alive(hands, "until Esc", drawn.longest(), idle.longest())

    # What else runs on the machine can only make it longer: the best of three counts.
    longest = []
    for _ in range(3):
        hands.need("the Audit button is there", (yield from hands.find(r"^bpy\.ops\.quat_audit\.audit\b")))
        with Redraws(hands) as drawn:
            yield from hands.click()
            yield from hands.until(running, 5)
            ended = yield from hands.until(lambda: not running(), 120)
            yield from hands.turns(10)
        detail = f"{drawn.seconds():.1f} s, {len(findings())} findings"
        hands.need("the long audit ends and finds the flips", ended and len(findings()) >= 100, detail)
        longest.append(drawn.longest())
        if longest[-1][0] <= ALIVE:
            break
    _alive(hands, "of a whole audit", min(longest), idle.longest())
    hands.check("a long audit changed no key", _digest(bpy.data.actions["Crowd"]) == before)

    hands.need("the Audit button is there", (yield from hands.find(r"^bpy\.ops\.quat_audit\.audit\b")))
    for value in ("PRESS", "RELEASE"):
        hands.send("LEFTMOUSE", value)
        yield
    yield from hands.until(running, 5)
    yield
    hands.snap("long-audit")
    yield from hands.key("ESC")
    yield from hands.until(lambda: not running(), 30)
    hands.area().spaces.active.overlay.show_overlays = True


def _alive(hands: Hands, what: str, longest: tuple[float, float], idle: tuple[float, float]) -> None:
    """Where a redraw takes long while Blender does nothing (a software renderer, a shared machine), the clock measures
    that and not the audit: there the CPU time between two redraws counts, and the clock is told beside it."""
    busy = idle[0] > ALIVE / 2
    measured = longest[1] if busy else longest[0]
    detail = "{:.0f} ms, {:.0f} ms of them CPU time (idle: {:.0f} ms, {:.0f} ms)".format(
        *(1000 * seconds for seconds in (*longest, *idle))
    )
    which = " (in CPU time: drawing alone is slow here)" if busy else ""
    hands.check(f"longest time between redraws {what} is at most {ALIVE} s{which}", measured <= ALIVE, detail)


def _digest(of: Any) -> str:
    found = ui_scenes.keys(of)
    return hashlib.sha256(b"".join(part for curve in sorted(found) for part in found[curve])).hexdigest()


def undo_past_audit(hands: Hands) -> Turns:
    """Change, audit, fix, then undo everything: the list must not lie, and nothing may break."""
    yield from open_scene(hands, "broken")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    original = keys()
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.pose.select_all(action="SELECT")
        bpy.ops.ed.undo_push(message="something before")
    yield from audit(hands)
    hands.need("the Fix All Safe button is there", (yield from hands.press("quat_audit.fix_safe")))
    yield from hands.over()
    for _ in range(4):
        yield from hands.key("Z", ctrl=True)
    hands.check("undo past the audit: the keys are as they were", keys() == original, _difference(keys(), original))
    yield from hands.press("quat_audit.go_to")
    yield from hands.press("quat_audit.fix_safe")
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.check("undo past the audit: a fix and its undo still work", keys() == original, _difference(keys(), original))


def reload_file(hands: Hands) -> Turns:
    """The file is opened again under the list: clicks are answered, not crashed."""
    yield from open_scene(hands, "broken")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    yield from audit(hands)
    safe = {f.bone for f in findings() if f.fix == "safe"}
    yield from open_scene(hands, "broken")
    original = keys()
    for operator in ("quat_audit.go_to", "quat_audit.fix_safe"):
        yield from hands.press(operator)
    changed = ui_scenes.bones_of({curve for curve in original if keys().get(curve) != original[curve]})
    hands.check("after a reload Fix All Safe does what it says, or nothing", changed in (set(), safe), sorted(changed))
    yield from audit(hands)
    hands.check("after a reload an audit finds things again", len(findings()) > 0)


def edit_mode(hands: Hands) -> Turns:
    """Bones are edited while the panel is open."""
    yield from open_scene(hands, "broken")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    yield from hands.over()
    yield from hands.key("TAB")
    if bpy.context.mode == "POSE" or bpy.data.objects["Rig"].mode != "EDIT":
        with hands.override("VIEW_3D", "WINDOW"):
            bpy.ops.object.mode_set(mode="EDIT")
    yield from hands.settle()
    before = keys()
    yield from audit(hands)
    hands.check("edit mode: the audit finds the flips", {"QA104"} <= {f.code for f in findings()})
    hands.check("edit mode: the audit changed no key", keys() == before)
    yield from hands.press("quat_audit.go_to")
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.mode_set(mode="POSE")


def two_windows(hands: Hands) -> Turns:
    """A second window with the same editors."""
    yield from open_scene(hands, "broken")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.window_new()
    yield from hands.settle()
    count = len(bpy.data.window_managers[0].windows)
    hands.check("a second window is open", count == 2, count)
    yield from audit(hands)
    hands.check("two windows: the audit finds the flips", {"QA104"} <= {f.code for f in findings()})
    other = bpy.data.window_managers[0].windows[-1]
    with bpy.context.temp_override(window=other):
        bpy.ops.wm.window_close()
    yield from hands.settle()


def disable_enable(hands: Hands) -> Turns:
    """Switched off and on again with the panel open."""
    yield from open_scene(hands, "broken")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    yield from audit(hands)
    bpy.ops.preferences.addon_disable(module=EXTENSION)
    yield from hands.settle()
    hands.check("disabled: its properties are gone", not hasattr(bpy.types.WindowManager, "quat_audit"))
    bpy.ops.preferences.addon_enable(module=EXTENSION)
    yield from hands.settle()
    hands.need("enabled again: the tab is there", (yield from hands.open_sidebar()))
    yield from audit(hands)
    hands.check("enabled again: the audit finds the flips", {"QA104"} <= {f.code for f in findings()})


STEPS: tuple[Callable[[Hands], Turns], ...] = (
    clean_rig,
    broken_rig,
    graph_editor,
    long_audit,
    undo_past_audit,
    reload_file,
    edit_mode,
    two_windows,
    disable_enable,
)
# What says something in every language; the rest is the same in all of them.
PICTURES = (clean_rig, broken_rig, graph_editor)
