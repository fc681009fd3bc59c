# SPDX-License-Identifier: GPL-3.0-or-later
"""What the UI test sees of the 3D Viewports: the pixels of each region, and whether a ghost is where its mesh is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from ui_driver import Hands, Turns

# Channels of a byte: above the noise of a viewport that is drawn twice.
_NOISE = 12
# Shares: what a ghost covers of its mesh (not what the outline of a selected one hides), and what it may color
# elsewhere (its label).
_COVERED, _ASTRAY = 0.9, 0.06


@dataclass(frozen=True, eq=False)
class View:
    """One region as it was drawn: (height, width, 3) pixels and where world space is in it."""

    pixels: Any
    matrix: Any

    def pixels_of(self, points: Any) -> Any:
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


def differ(some: list[View], others: list[View]) -> list[int]:
    """How many pixels of each view are not the same."""
    return [
        int((np.abs(a.pixels - b.pixels).max(axis=-1) > _NOISE).sum()) if a.pixels.shape == b.pixels.shape else -1
        for a, b in zip(some, others, strict=True)
    ]


def surface(name: str) -> Any:
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


def ghost_at(view: View, name: str) -> tuple[bool, str]:
    """Whether the tint of the LBS ghost is where a mesh is in a view, and nowhere else."""
    tinted = view.pixels[..., 2] - view.pixels[..., 0] > 40
    at = np.unique(view.pixels_of(surface(name)), axis=0)
    covered = float(tinted[at[:, 1], at[:, 0]].mean()) if len(at) else 0.0
    near = np.zeros_like(tinted)
    for x, y in np.unique(at // 4, axis=0) * 4:
        near[max(y - 4, 0) : y + 8, max(x - 4, 0) : x + 8] = True
    astray = float((tinted & ~near).sum()) / max(int(tinted.sum()), 1)
    detail = f"{len(at)} places in view, {covered:.1%} covered, {astray:.1%} elsewhere"
    return len(at) > 100 and covered > _COVERED and astray < _ASTRAY, detail


def bare_viewport(hands: Hands) -> None:
    """No gizmo and no text of Blender's: what is left of a difference is ours."""
    for area in hands.window.screen.areas:
        if area.type == "VIEW_3D":
            area.spaces.active.show_gizmo = False
            area.spaces.active.overlay.show_text = area.spaces.active.overlay.show_bones = False
            area.spaces.active.overlay.show_stats = False
