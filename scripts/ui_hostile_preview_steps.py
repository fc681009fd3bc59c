# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview and the before and after under hostile use: other windows, no extension, other files, playback, renders.

What is drawn is looked at in the pixels of the viewports, against where Blender's own evaluated vertices are.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import ui_scenes
import ui_steps
from ui_driver import Hands, Turns
from ui_preview_steps import at_frame, choices, everything, preview, same, show_tube
from ui_steps import EXTENSION, module, open_scene

_RIG = "Rig"
# Channels of a byte: above the noise of a viewport that is drawn twice.
_NOISE = 12
# Shares: what a ghost covers of its mesh (not what the outline of a selected one hides), and what it may colour
# elsewhere (its label).
_COVERED, _ASTRAY = 0.9, 0.06
_CAMERA = "Test Camera"


# --- what is seen


@dataclass(frozen=True, eq=False)
class View:
    """One region as it was drawn: (height, width, 3) pixels and where world space is in it."""

    pixels: Any
    matrix: Any

    def places(self, points: Any) -> Any:
        """(N, 2) whole pixels of points in world space, those outside of the region left out."""
        height, width = self.pixels.shape[:2]
        flat = np.column_stack([points, np.ones(len(points))]) @ self.matrix.T
        at = (flat[:, :2] / flat[:, 3:] * 0.5 + 0.5) * (width, height)
        inside = (flat[:, 3] > 0) & (at >= 0).all(axis=1) & (at < (width, height)).all(axis=1)
        return at[inside].astype(int)


def views(hands: Hands) -> Turns:
    """Every 3D Viewport of every window as it is drawn now, in a fixed order."""
    import gpu

    wanted = [
        region.as_pointer()
        for window in bpy.data.window_managers[0].windows
        for area in window.screen.areas
        if area.type == "VIEW_3D"
        for region in area.regions
        if region.type == "WINDOW" and region.width > 1
    ]
    found: dict[int, View] = {}

    def read() -> None:
        region = bpy.context.region
        width, height = region.width, region.height
        buffer = gpu.state.active_framebuffer_get().read_color(0, 0, width, height, 3, 0, "UBYTE")
        buffer.dimensions = width * height * 3
        pixels = np.array(buffer, dtype=np.uint8).reshape(height, width, 3).astype(int)
        found[region.as_pointer()] = View(pixels, np.array(bpy.context.region_data.perspective_matrix))

    yield from hands.turns(40)  # overlays of Blender's own fade in
    # Handlers are called in the order in which they came: this one sees what the others drew.
    handle = bpy.types.SpaceView3D.draw_handler_add(read, (), "WINDOW", "POST_PIXEL")
    _redraw()
    done = yield from hands.until(lambda: set(wanted) <= found.keys(), 10)
    bpy.types.SpaceView3D.draw_handler_remove(handle, "WINDOW")
    hands.need("every viewport is drawn", done, f"{len(found)} of {len(wanted)}")
    return [found[pointer] for pointer in wanted]


def _redraw() -> None:
    for window in bpy.data.window_managers[0].windows:
        for area in window.screen.areas:
            area.tag_redraw()


def _differ(some: list[View], others: list[View]) -> list[int]:
    """How many pixels of each view are not the same."""
    return [
        int((np.abs(a.pixels - b.pixels).max(axis=-1) > _NOISE).sum()) if a.pixels.shape == b.pixels.shape else -1
        for a, b in zip(some, others, strict=True)
    ]


def _surface(name: str) -> Any:
    """(N, 3) points all over a mesh in world space, as Blender's own modifier deforms it."""
    obj = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = obj.data
    mesh.calc_loop_triangles()
    co, corners = np.empty(3 * len(mesh.vertices), np.float32), np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.vertices.foreach_get("co", co)
    mesh.loop_triangles.foreach_get("vertices", corners)
    world = np.array(obj.matrix_world)
    placed = co.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]
    parts = np.array([(i + 1, j + 1, 10 - i - j) for i in range(10) for j in range(10 - i)]) / 12.0
    return np.einsum("pc,tcx->tpx", parts, placed[corners.reshape(-1, 3)]).reshape(-1, 3)


def _ghost(view: View, name: str) -> tuple[bool, str]:
    """Whether the tint of the LBS ghost is where a mesh is in a view, and nowhere else."""
    tinted = view.pixels[..., 2] - view.pixels[..., 0] > 40
    at = np.unique(view.places(_surface(name)), axis=0)
    covered = float(tinted[at[:, 1], at[:, 0]].mean()) if len(at) else 0.0
    near = np.zeros_like(tinted)
    for x, y in np.unique(at // 4, axis=0) * 4:
        near[max(y - 4, 0) : y + 8, max(x - 4, 0) : x + 8] = True
    astray = float((tinted & ~near).sum()) / max(int(tinted.sum()), 1)
    detail = f"{len(at)} places in view, {covered:.1%} covered, {astray:.1%} elsewhere"
    return len(at) > 100 and covered > _COVERED and astray < _ASTRAY, detail


def _bare_viewport(hands: Hands) -> None:
    """No gizmo and no text of Blender's: what is left of a difference is ours."""
    for area in hands.window.screen.areas:
        if area.type == "VIEW_3D":
            area.spaces.active.show_gizmo = False
            area.spaces.active.overlay.show_text = area.spaces.active.overlay.show_bones = False
            area.spaces.active.overlay.show_stats = False


def _switch_preview(hands: Hands) -> None:
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.quat_audit.preview()


def _comparison() -> Any:
    return module("ui.comparing").STATE


def _both_on(hands: Hands) -> Turns:
    """The walk with flips, the preview of its body, a comparison of a flip. The views before, and what there was."""
    yield from open_scene(hands, "broken")
    _bare_viewport(hands)
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
    hands.check(f"{when}: the ghost is where the mesh is", *_ghost(ghost[0], ui_scenes.BODY))
    hands.need(f"{when}: Before and After is there", (yield from hands.press("quat_audit.compare")))
    drawn = yield from _look(hands)
    hands.check(f"{when}: the comparison is seen", min(_differ(drawn, ghost)) > 3000, _differ(drawn, ghost))
    hands.need(f"{when}: both are on", preview() is not None and _comparison().shown is not None)


def _look(hands: Hands) -> Turns:
    """The views of the whole figure: what looks for a button turns the wheel, and that zooms."""
    yield from ui_steps.show_rig(hands)
    yield from hands.over()
    return (yield from views(hands))


# --- the steps


def ghost_in_every_view(hands: Hands) -> Turns:
    """A second window and a quad view: every region draws the ghost with its own view."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    _bare_viewport(hands)
    choices().show = "LBS"
    choices().in_front, choices().opacity = False, 1.0
    _switch_preview(hands)
    yield from at_frame(hands, 21)
    before = everything()
    yield from hands.over()
    (one,) = yield from views(hands)
    hands.check("one view: the ghost is where the mesh is", *_ghost(one, ui_scenes.SKINNED))

    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.region_quadview()
    yield from hands.settle()
    four = yield from views(hands)
    hands.check("quad view: there are four regions", len(four) == 4, len(four))
    for number, view in enumerate(four):
        hands.check(f"quad view, region {number + 1}: the ghost is there", *_ghost(view, ui_scenes.SKINNED))
    different = len({view.matrix.tobytes() for view in four})
    hands.check("quad view: each looks from elsewhere", different == 4, different)
    hands.snap("hostile-quad-view")

    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.window_new()
    yield from hands.turns(40)
    other = bpy.data.window_managers[0].windows[-1]
    area = max((a for a in other.screen.areas if a.type == "VIEW_3D"), key=lambda a: a.width * a.height)
    area.spaces.active.show_gizmo = False
    area.spaces.active.region_3d.view_rotation = (0.5, 0.5, 0.5, 0.5)  # along X
    yield from at_frame(hands, ui_scenes.SKIN_WORST)
    all_of_them = yield from views(hands)
    hands.check("second window: more views than before", len(all_of_them) > 4, len(all_of_them))
    for number, view in enumerate(all_of_them):
        hands.check(f"two windows, view {number + 1}: the ghost is there", *_ghost(view, ui_scenes.SKINNED))
    hands.snap("hostile-two-windows")
    with bpy.context.temp_override(window=other):
        bpy.ops.wm.window_close()
    yield from hands.settle()
    hands.check("the second window is closed", len(bpy.data.window_managers[0].windows) == 1)
    with hands.override("VIEW_3D", "WINDOW"):
        bpy.ops.screen.region_quadview()
    yield from at_frame(hands, 21)
    (again,) = yield from views(hands)
    hands.check("one view again: the ghost is where the mesh is", *_ghost(again, ui_scenes.SKINNED))
    hands.check("the file holds what it held", *same(everything(), before, ("data",)))
    _switch_preview(hands)


def disabled_while_on(hands: Hands) -> Turns:
    """The extension is switched off under its own drawings, and on again."""
    bare, before = yield from _both_on(hands)
    hands.snap("hostile-both-on")
    held, state = module("ui.preview"), _comparison()
    bpy.ops.preferences.addon_disable(module=EXTENSION)
    yield from hands.settle()
    left = (list(held.ON), list(held._draw_handles), list(state.handles), state.shown)
    hands.check("disabled: no draw handler is left", left == ([], [], [], None), left)
    timers = [bpy.app.timers.is_registered(timer) for timer in (held._tick, module("ui.following")._tick)]
    hands.check("disabled: no timer is left", not any(timers), timers)
    now = yield from _look(hands)
    hands.check("disabled: nothing is drawn any more", max(_differ(now, bare)) < 60, _differ(now, bare))
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
            hands.check(f"{name}: nothing is drawn over it", max(_differ(now, bare)) < 60, _differ(now, bare))
            yield from _both_on_again(hands, name)
    yield from open_scene(hands, "tube")
    yield from _nothing_left(hands, "another file opened")
    hands.snap("hostile-other-file")
    with bpy.context.temp_override(window=hands.window):
        bpy.ops.wm.read_homefile(use_empty=True)
    yield from hands.turns(40)
    yield from _nothing_left(hands, "an empty file")


def _nothing_left(hands: Hands, name: str) -> Turns:
    held, state = module("ui.preview"), _comparison()
    left = (len(held.ON), len(held._draw_handles), len(state.handles), state.shown is not None)
    hands.check(f"{name}: both are off, no draw handler is left", left == (0, 0, 0, False), left)
    yield


def preview_played(hands: Hands) -> Turns:
    """Played by the space bar for some seconds: what is drawn is the pose of the frame that is drawn."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    _bare_viewport(hands)
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
    hands.check("stopped: the ghost is where the mesh is", *_ghost(view, ui_scenes.SKINNED))
    bpy.context.scene.frame_set(1)
    yield from hands.settle()
    hands.check("back on frame 1: the file holds what it held", *same(everything(), before))
    _switch_preview(hands)


def preview_rendered(hands: Hands) -> Turns:
    """Rendered while it is on, by the operator and by F12: the picture is that without it."""
    yield from open_scene(hands, "tube")
    yield from show_tube(hands)
    _bare_viewport(hands)
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
            hands.check(f"{engine}: afterwards the ghost is where the mesh is", *_ghost(view, ui_scenes.SKINNED))
            hands.check(f"{engine}: F12 renders while it is on", (yield from _more_renders(hands)))
            (view,) = yield from views(hands)
            hands.check(f"{engine}: after F12 the ghost is where the mesh is", *_ghost(view, ui_scenes.SKINNED))
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
    disabled_while_on,
    files_while_on,
    preview_played,
    preview_rendered,
)
PICTURES: tuple[Callable[[Hands], Turns], ...] = ()
