# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of the UI test about weights of meshes: audit, select the vertices, fix, undo, stop with Esc."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bpy
import ui_scenes
from ui_driver import Hands, Turns
from ui_steps import active, choose, findings, module, open_scene, results, running, show_rig, state

_AUDIT = r"^bpy\.ops\.quat_audit\.audit_skin\b"


def _body() -> Any:
    return bpy.data.objects[ui_scenes.BODY]


def _weights() -> list[list[tuple[int, bytes]]]:
    return ui_scenes.weights(_body())


def _codes() -> set[str]:
    return {f.code for f in findings()}


def _audit(hands: Hands) -> Turns:
    hands.need("the Audit Skin button is there", (yield from hands.press("quat_audit.audit_skin")))
    hands.need("the audit of the skin ends", (yield from hands.until(lambda: not running(), 60)))
    yield from hands.settle()


def _choose_bare(hands: Hands) -> Turns:
    """Choose another finding than the one that is chosen, then QA601: each click must change something."""
    at_first = active()
    other = next(f for f in findings() if f.code not in ("QA601", at_first.code if at_first else ""))
    for code, bone in ((other.code, other.bone), ("QA601", "")):
        before = active()
        hands.need(f"skin: a click on {code} chooses it", (yield from choose(hands, code, bone)))
        now = active()
        was = before.code if before is not None else ""
        hands.check("skin: another one was chosen before", was != now.code, f"{was} {now.code}")


def _bare() -> set[int]:
    """Vertices without any weight, told without the extension."""
    return {v.index for v in _body().data.vertices if not sum(g.weight for g in v.groups)}


def _selected() -> set[int]:
    body = _body()
    body.update_from_editmode()
    return {v.index for v in body.data.vertices if v.select}


def skin(hands: Hands) -> Turns:
    """Audit a mesh with several faults, select the vertices of one, fix, undo, redo."""
    yield from open_scene(hands, "skin")
    yield from show_rig(hands)
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    state().profile = "EVERYTHING"
    faulty, frame = _weights(), bpy.context.scene.frame_current
    yield from _audit(hands)
    wanted = {"QA601", "QA602", "QA604", "QA605", "QA608"}
    hands.check("skin: the faults are found", _codes() == wanted, sorted(_codes()))
    same = _weights() == faulty and bpy.context.scene.frame_current == frame
    hands.check("skin: the audit changed no weight and no frame", same)
    yield from show_rig(hands)
    yield from hands.picture("skin-findings")

    yield from _choose_bare(hands)
    yield from show_rig(hands)
    yield from hands.picture("skin-detail")
    bare = _bare()
    hands.need("the Select Vertices button is there", (yield from hands.press("quat_audit.select_vertices")))
    hands.check("Select Vertices enters edit mode", bpy.context.mode == "EDIT_MESH", bpy.context.mode)
    hands.check("Select Vertices selects exactly the offending ones", _selected() == bare, f"{_selected()} {bare}")
    if hands.thorough:
        yield from hands.turns(120)  # what follows a change of the file has looked at it
    hands.check("edit mode makes no finding outdated", not results().any_outdated)
    yield from show_rig(hands)
    yield from hands.picture("skin-vertices")
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.check("one Ctrl-Z leaves edit mode again", bpy.context.mode == "OBJECT", bpy.context.mode)
    if bpy.context.mode != "OBJECT":
        yield from hands.key("TAB")
    yield from _fix_undo_redo(hands, faulty)
    if hands.thorough:
        yield from _quad_view(hands)


def _fix_undo_redo(hands: Hands, faulty: list[Any]) -> Turns:
    hands.check("the weights are still as they were", _weights() == faulty)
    hands.need("skin: the Fix All Safe button is there", (yield from hands.press("quat_audit.fix_safe")))
    yield from hands.until(lambda: _weights() != faulty, 10)
    fixed = _weights()
    hands.check("skin: the safe findings are gone", _codes() == {"QA601", "QA604", "QA605"}, sorted(_codes()))
    said = str(results().message)
    hands.check("the panel says the proof in mm", " mm" in said and "0.00" in said, said)
    yield from show_rig(hands)
    yield from hands.picture("skin-fixed")
    if not hands.thorough:
        return
    yield from hands.over()
    yield from hands.key("Z", ctrl=True)
    hands.check("skin: one Ctrl-Z brings the weights back, bit for bit", _weights() == faulty)
    yield from hands.turns(60)
    codes = {"QA601", "QA602", "QA604", "QA605", "QA608"}
    hands.check("after undo the list shows the old findings", _codes() == codes and not results().any_outdated)
    yield from hands.key("Z", ctrl=True, shift=True)
    hands.check("skin: Ctrl-Shift-Z does it again, bit for bit", _weights() == fixed)
    yield from hands.turns(60)
    after = {"QA601", "QA604", "QA605"}
    hands.check("after redo the list shows the new findings", _codes() == after and not results().any_outdated)
    yield from hands.key("Z", ctrl=True)


def _quad_view(hands: Hands) -> Turns:
    """Four regions in one editor: the operator asks for none of them."""
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.region_quadview()
    yield from hands.settle()
    before = active()
    # The first of the list: at the edge between two regions, where the second may be, Blender takes the mouse itself.
    hands.need("quad view: a click on a finding chooses it", (yield from choose(hands, "QA608", "")))
    hands.check("quad view: another one was chosen before", before.code != active().code, before.code)
    no_number = {v.index for v in _body().data.vertices if any(g.weight != g.weight for g in v.groups)}
    hands.need("quad view: Select Vertices is there", (yield from hands.press("quat_audit.select_vertices")))
    hands.check("quad view: exactly the offending vertices", _selected() == no_number != set(), _selected())
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.object.mode_set(mode="OBJECT")
        bpy.ops.screen.region_quadview()
    yield from hands.settle()


def skin_esc(hands: Hands) -> Turns:
    """A long scene: the viewport shows its frame all the time, and Esc leaves everything as it was."""
    yield from open_scene(hands, "skin")
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    scene = bpy.context.scene
    scene.frame_end = 4000
    scene.frame_set(7)
    # An audit measures 500 frames at most: a step of no time makes it last.
    pose = module("blender.skin.posed")
    most, pose.MOST_FRAMES = pose.MOST_FRAMES, 4000
    faulty = _weights()
    seen: set[int] = set()
    handle = bpy.types.SpaceView3D.draw_handler_add(lambda: seen.add(scene.frame_current), (), "WINDOW", "POST_PIXEL")
    try:
        hands.need("the Audit Skin button is there", (yield from hands.find(_AUDIT)))
        for value in ("PRESS", "RELEASE"):
            hands.send("LEFTMOUSE", value)
            yield
        begun = yield from hands.until(running, 5)
        for _ in range(5):
            hands.region(part="WINDOW").tag_redraw()
            yield
        still = running()
        yield from hands.key("ESC")
        yield from hands.until(lambda: not running(), 10)
    finally:
        bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
        pose.MOST_FRAMES = most
    hands.check(
        "the audit of a long scene runs while Blender answers, and Esc ends it", begun and still and not running()
    )
    hands.check("the viewport has shown no other frame", seen == {7}, sorted(seen))
    shown = _body().modifiers[0].show_viewport
    hands.check("Esc leaves frame, modifier and weights", scene.frame_current == 7 and shown and _weights() == faulty)


STEPS: tuple[Callable[[Hands], Turns], ...] = (skin, skin_esc)
PICTURES = (skin,)
