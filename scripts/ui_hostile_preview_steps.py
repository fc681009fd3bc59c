# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview and the before and after under hostile use: other windows, no extension, other files, playback, renders.

What is drawn is looked at in the pixels of the viewports, against where Blender's own evaluated vertices are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import ui_scenes
import ui_steps
from ui_driver import Hands, Turns
from ui_preview_steps import at_frame, choices, everything, preview, same, show_tube
from ui_steps import EXTENSION, module, open_scene
from ui_views import bare_viewport, differ, ghost_at, views

_RIG = "Rig"
_CAMERA = "Test Camera"


def _switch_preview(hands: Hands) -> None:
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.quat_audit.preview()


def _viewport(window: Any) -> Any:
    """The largest of a window."""
    return max((a for a in window.screen.areas if a.type == "VIEW_3D"), key=lambda a: a.width * a.height)


def _comparison() -> Any:
    return module("ui.comparison.state").STATE


def _both_on(hands: Hands) -> Turns:
    """The walk with flips, the preview of its body, a comparison of a flip. The views before, and what there was."""
    yield from open_scene(hands, "broken")
    bare_viewport(hands)
    hands.need("the sidebar shows the tab", (yield from hands.open_sidebar()))
    bare, before = (yield from _look(hands)), everything(ui_scenes.BODY, _RIG)
    yield from _both_on_again(hands, "at first")
    return bare, before


def _both_on_again(hands: Hands, when: str) -> Turns:
    """An audit, the preview and a comparison, each of them seen in a viewport that showed none."""
    yield from ui_steps.audit(hands)
    hands.need(f"{when}: a finding can be chosen", (yield from ui_steps.choose(hands, "QA104", "Thigh.L")))
    choices().show, choices().in_front, choices().opacity = "LBS", False, 1.0
    _switch_preview(hands)
    ghost = yield from _look(hands)
    hands.check(f"{when}: the ghost is where the mesh is", *ghost_at(ghost[0], ui_scenes.BODY))
    hands.need(f"{when}: Before and After is there", (yield from hands.press("quat_audit.compare")))
    drawn = yield from _look(hands)
    hands.check(f"{when}: the comparison is seen", min(differ(drawn, ghost)) > 3000, differ(drawn, ghost))
    hands.need(f"{when}: both are on", preview() is not None and _comparison().shown is not None)


def _look(hands: Hands) -> Turns:
    """The views of the whole figure: what looks for a button turns the wheel, and that zooms."""
    yield from ui_steps.show_rig(hands)
    yield from hands.over()
    return (yield from views(hands))


# --- the steps


def ghost_in_every_view(hands: Hands) -> Turns:
    """A second window and a quad view: every region draws the ghost with its own view. Edges are smooth, as usual."""
    system = bpy.context.preferences.system
    usual, system.viewport_aa = system.viewport_aa, "8"
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    bare_viewport(hands)
    choices().show = "LBS"
    choices().in_front, choices().opacity = False, 1.0
    _switch_preview(hands)
    yield from at_frame(hands, 21)
    before = everything()
    yield from hands.over()
    (one,) = yield from views(hands)
    hands.check("one view: the ghost is where the mesh is", *ghost_at(one, ui_scenes.SKINNED))

    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.region_quadview()
    yield from hands.settle()
    four = yield from views(hands)
    hands.check("quad view: there are four regions", len(four) == 4, len(four))
    for number, view in enumerate(four):
        hands.check(f"quad view, region {number + 1}: the ghost is there", *ghost_at(view, ui_scenes.SKINNED))
    different = len({view.matrix.tobytes() for view in four})
    hands.check("quad view: each looks from elsewhere", different == 4, different)
    hands.snap("hostile-quad-view")

    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.window_new()
    yield from hands.turns(40)
    other = bpy.data.window_managers[0].windows[-1]
    area = _viewport(other)
    area.spaces.active.show_gizmo = False
    area.spaces.active.region_3d.view_rotation = (0.5, 0.5, 0.5, 0.5)  # along X
    yield from at_frame(hands, ui_scenes.SKIN_WORST)
    all_of_them = yield from views(hands)
    hands.check("second window: more views than before", len(all_of_them) > 4, len(all_of_them))
    for number, view in enumerate(all_of_them):
        hands.check(f"two windows, view {number + 1}: the ghost is there", *ghost_at(view, ui_scenes.SKINNED))
    hands.snap("hostile-two-windows")
    with bpy.context.temp_override(window=other):
        bpy.ops.wm.window_close()
    yield from hands.settle()
    hands.check("the second window is closed", len(bpy.data.window_managers[0].windows) == 1)
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.region_quadview()
    yield from at_frame(hands, 21)
    (again,) = yield from views(hands)
    hands.check("one view again: the ghost is where the mesh is", *ghost_at(again, ui_scenes.SKINNED))
    hands.check("the file holds what it held", *same(everything(), before, ("data",)))
    _switch_preview(hands)
    system.viewport_aa = usual


def another_scene_beside_it(hands: Hands) -> Turns:
    """A second window on a scene without the mesh, of other units: that is said there, and only there."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    bare_viewport(hands)
    choices().show = "LBS"
    _switch_preview(hands)
    yield from at_frame(hands, ui_scenes.SKIN_WORST)
    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.window_new_main()
    yield from hands.turns(40)
    scene, other = bpy.data.scenes.new("Another"), bpy.data.window_managers[0].windows[-1]
    scene.unit_settings.scale_length = 0.01
    other.scene = scene
    yield from hands.turns(60)
    held, there = preview(), _viewport(other)
    seen = yield from views(hands)
    hands.check("another scene in a second window: the first is as it was", *ghost_at(seen[0], ui_scenes.SKINNED))
    said = [" ".join(map(str, held.remarks_in(area))) for area in (hands.area(), there)]
    hands.check("what is not there is said in its own window", "view layer" in said[1] and not said[0], said)
    hands.snap("hostile-another-scene")
    again = yield from hands.until(lambda: preview() is not held, 1.5)
    hands.check("nothing is read again and again", not again and not held.stale)
    with bpy.context.temp_override(window=other):
        bpy.ops.wm.window_close()
    bpy.data.scenes.remove(scene)
    yield from hands.settle()
    _switch_preview(hands)


def disabled_while_on(hands: Hands) -> Turns:
    """The extension is switched off under its own drawings, and on again."""
    bare, before = yield from _both_on(hands)
    hands.snap("hostile-both-on")
    held, state = module("ui.preview.state"), _comparison()
    bpy.ops.preferences.addon_disable(module=EXTENSION)
    yield from hands.settle()
    left = (list(held.ON), list(held._draw_handles), list(state.handles), state.shown)
    hands.check("disabled: no draw handler is left", left == ([], [], [], None), left)
    timers = [bpy.app.timers.is_registered(timer) for timer in (held._tick, module("ui.following")._tick)]
    hands.check("disabled: no timer is left", not any(timers), timers)
    now = yield from _look(hands)
    hands.check("disabled: nothing is drawn any more", max(differ(now, bare)) < 60, differ(now, bare))
    hands.check("disabled: the file holds what it held", *same(everything(ui_scenes.BODY, _RIG), before, ("handlers",)))
    ours = [
        f"{name}: {handler.__module__}"
        for name in dir(bpy.app.handlers)
        if isinstance(handlers := getattr(bpy.app.handlers, name), list)
        for handler in handlers
        if "quat_audit" in (getattr(handler, "__module__", "") or "")
    ]
    hands.check("disabled: no handler of ours is left", not ours, ours)
    hands.snap("hostile-disabled")

    bpy.ops.preferences.addon_enable(module=EXTENSION)
    yield from hands.settle()
    hands.check("enabled again: both are off", preview() is None and _comparison().shown is None)
    hands.need("enabled again: the tab is there", (yield from hands.open_sidebar()))
    yield from _both_on_again(hands, "enabled again")


def files_while_on(hands: Hands) -> Turns:
    """Saved, the saved file opened, reverted, another one opened: nothing of the drawings comes along."""
    bare, before = yield from _both_on(hands)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "saved.blend")
        with bpy.context.temp_override(window=hands.window):
            bpy.ops.wm.save_as_mainfile(filepath=path)
        yield from hands.settle()
        hands.check("saved: both stay on", preview() is not None and _comparison().shown is not None)
        hands.check(
            "saved: the file holds what it held", *same(everything(ui_scenes.BODY, _RIG), before, ("handlers",))
        )
        for name, open_it in (
            ("the saved file opened", lambda: bpy.ops.wm.open_mainfile(filepath=path, load_ui=False)),
            ("the saved file opened with its screen", lambda: bpy.ops.wm.open_mainfile(filepath=path, load_ui=True)),
            ("the file reverted", bpy.ops.wm.revert_mainfile),
        ):
            with bpy.context.temp_override(window=hands.window):
                open_it()
            yield from hands.turns(40)
            yield from _nothing_left(hands, name)
            hands.check(f"{name}: it holds what was saved", *same(everything(ui_scenes.BODY, _RIG), before))
            now = yield from _look(hands)
            hands.check(f"{name}: nothing is drawn over it", max(differ(now, bare)) < 60, differ(now, bare))
            yield from _both_on_again(hands, name)
    yield from open_scene(hands, "tube")
    yield from _nothing_left(hands, "another file opened")
    hands.snap("hostile-other-file")
    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.read_homefile(use_empty=True)
    yield from hands.turns(40)
    yield from _nothing_left(hands, "an empty file")


def _nothing_left(hands: Hands, name: str) -> Turns:
    held, state = module("ui.preview.state"), _comparison()
    left = (len(held.ON), len(held._draw_handles), len(state.handles), state.shown is not None)
    hands.check(f"{name}: both are off, no draw handler is left", left == (0, 0, 0, False), left)
    yield


def preview_played(hands: Hands) -> Turns:
    """Played by the space bar for some seconds: what is drawn is the pose of the frame that is drawn."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    bare_viewport(hands)
    choices().show = "GAP"
    _switch_preview(hands)
    yield from at_frame(hands, 1)
    before, rig = everything(), bpy.data.objects[ui_scenes.SKIN_RIG]
    wrong: dict[int, float] = {}

    def look() -> None:
        """Is what was just drawn what Blender poses on this frame?"""
        context = bpy.context
        posed = rig.evaluated_get(context.view_layer.depsgraph).pose.bones
        own = [np.array(bone.matrix @ bone.bone.matrix_local.inverted()) for bone in posed]
        wrong[context.scene.frame_current] = float(np.abs(preview().motion.deform[0] - own).max())

    handle = bpy.types.SpaceView3D.draw_handler_add(look, (), "WINDOW", "POST_PIXEL")
    yield from hands.over()
    yield from hands.key("SPACE")
    playing = yield from hands.until(lambda: hands.window.screen.is_animation_playing, 5)
    many = yield from hands.until(lambda: len(wrong) > 15, 30)
    hands.snap("hostile-played")
    yield from hands.key("SPACE")
    stopped = yield from hands.until(lambda: not hands.window.screen.is_animation_playing, 5)
    bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    hands.need("the space bar plays and stops", playing and stopped)
    hands.check("played: many frames are drawn", many, f"{len(wrong)} frames")
    hands.check("played: each with the pose of its frame", max(wrong.values()) < 1e-5, max(wrong.values()))
    frame = bpy.context.scene.frame_current
    yield from hands.turns(60)
    hands.check("stopped: the frame stays where it stopped", bpy.context.scene.frame_current == frame)
    choices().show = "LBS"
    (view,) = yield from views(hands)
    hands.check("stopped: the ghost is where the mesh is", *ghost_at(view, ui_scenes.SKINNED))
    bpy.context.scene.frame_set(1)
    yield from hands.settle()
    hands.check("back on frame 1: the file holds what it held", *same(everything(), before))
    _switch_preview(hands)


def preview_rendered(hands: Hands) -> Turns:
    """Rendered while it is on, by the operator and by F12: the picture is that without it."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    bare_viewport(hands)
    scene = bpy.context.scene
    _camera(scene)
    choices().show = "LBS"
    scene.frame_set(ui_scenes.SKIN_WORST)
    with tempfile.TemporaryDirectory() as folder:
        for engine in ("BLENDER_WORKBENCH", "CYCLES"):
            scene.render.engine = engine
            if engine == "CYCLES":
                scene.cycles.samples, scene.cycles.use_denoising = 1, False
            # Everything once without it: what Blender itself adds to a file that is rendered is there then.
            without = _render(hands, Path(folder) / f"{engine}-without.png")
            yield from _more_renders(hands)
            hands.check(f"{engine}: the mesh is in the picture", float(np.ptp(without)) > 0.1, float(np.ptp(without)))
            before = everything()
            _switch_preview(hands)
            yield from at_frame(hands, ui_scenes.SKIN_WORST)
            with_it = _render(hands, Path(folder) / f"{engine}-with.png")
            off = float(np.abs(with_it - without).max())
            hands.check(f"{engine}: nothing of the ghost is in the render", off < 1 / 128, off)
            (view,) = yield from views(hands)
            hands.check(f"{engine}: afterwards the ghost is where the mesh is", *ghost_at(view, ui_scenes.SKINNED))
            hands.check(f"{engine}: F12 renders while it is on", (yield from _more_renders(hands)))
            (view,) = yield from views(hands)
            hands.check(f"{engine}: after F12 the ghost is where the mesh is", *ghost_at(view, ui_scenes.SKINNED))
            _switch_preview(hands)
            yield from hands.settle()
            hands.check(f"{engine}: off, the file holds what it held", *same(everything(), before))


def _camera(scene: Any) -> None:
    camera = bpy.data.objects.new(_CAMERA, bpy.data.cameras.new(_CAMERA))
    camera.location, camera.rotation_euler = (0.0, -6.0, 1.0), (np.pi / 2, 0.0, 0.0)
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.world = scene.world or bpy.data.worlds.new("World")
    scene.render.resolution_x = scene.render.resolution_y = 64
    scene.render.resolution_percentage = 100


def _render(hands: Hands, path: Path) -> Any:
    """(64 · 64 · 4,) what a render of the frame wrote."""
    scene = bpy.context.scene
    was, scene.render.filepath = scene.render.filepath, str(path)
    with bpy.context.temp_override(window=hands.window):
        bpy.ops.render.render(write_still=True)
    scene.render.filepath = was
    image = bpy.data.images.load(str(path))
    pixels = np.array(image.pixels[:])
    bpy.data.images.remove(image)
    return pixels


def _more_renders(hands: Hands) -> Turns:
    """F12 as a person presses it, a job beside the window; and a picture of the viewport. Whether F12 rendered."""
    done: list[str] = []

    def complete(*_: Any) -> None:
        done.append("complete")

    bpy.context.preferences.view.render_display_type = "NONE"
    bpy.app.handlers.render_complete.append(complete)
    yield from hands.over()
    yield from hands.key("F12")
    ended = yield from hands.until(lambda: bool(done), 60)
    yield from hands.turns(40)
    bpy.app.handlers.render_complete.remove(complete)
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.render.opengl(view_context=True)
    yield from hands.settle()
    return ended


STEPS: tuple[Callable[[Hands], Turns], ...] = (
    ghost_in_every_view,
    another_scene_beside_it,
    disabled_while_on,
    files_while_on,
    preview_played,
    preview_rendered,
)
PICTURES: tuple[Callable[[Hands], Turns], ...] = ()
