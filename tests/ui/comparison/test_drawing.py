# SPDX-License-Identifier: GPL-3.0-or-later
"""The before and after really drawn, into a picture without a window: its colors are where they should be."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

import gpu
from mathutils import Matrix

from quat_audit.ui.comparison import graph, view
from quat_audit.ui.comparison import state as comparing
from tests.blender import offscreen
from tests.ui import scenes

pytestmark = pytest.mark.usefixtures("panel")
WIDTH, HEIGHT = 1000, 600
# The bone turns in the plane of Y and Z: seen along X, Y to the right and Z up.
VIEW = np.array([[0, 0.3, 0, -0.3], [0, 0, 0.5, 0.2], [0.1, 0, 0, 0], [0, 0, 0, 1.0]])


def picture(draw, shown) -> np.ndarray:
    """(HEIGHT, WIDTH, 3) of 0 to 1, the lowest line first."""
    region = SimpleNamespace(x=0, y=0, width=WIDTH, height=HEIGHT, type="WINDOW")
    sidebar = SimpleNamespace(x=WIDTH - 200, y=0, width=200, height=HEIGHT, type="UI")
    context = SimpleNamespace(
        region=region,
        area=SimpleNamespace(regions=[region, sidebar]),
        region_data=SimpleNamespace(perspective_matrix=VIEW),
        preferences=SimpleNamespace(system=SimpleNamespace(ui_scale=1.0)),  # it is 0 without a window
        scene=SimpleNamespace(frame_current_final=14.0),
    )
    to_pixels = Matrix(((2 / WIDTH, 0, 0, -1), (0, 2 / HEIGHT, 0, -1), (0, 0, 1, 0), (0, 0, 0, 1)))
    buffer = gpu.types.GPUOffScreen(WIDTH, HEIGHT, format="RGBA32F")
    try:
        with buffer.bind():
            frame = gpu.state.active_framebuffer_get()
            frame.clear(color=(0.0, 0.0, 0.0, 1.0), depth=1.0)  # a render leaves the test for depth switched on
            gpu.matrix.load_matrix(Matrix.Identity(4))
            gpu.matrix.load_projection_matrix(to_pixels)
            draw(context, shown)
            colors = frame.read_color(0, 0, WIDTH, HEIGHT, 4, 0, "FLOAT")
    finally:
        buffer.free()
    colors.dimensions = WIDTH * HEIGHT * 4
    return np.array(colors).reshape(HEIGHT, WIDTH, 4)[..., :3]


def like(pixels: np.ndarray, color) -> np.ndarray:
    return np.abs(pixels - np.array(color)).max(axis=-1) < 0.06


@pytest.fixture
def shown():
    offscreen.need_gpu()
    scenes.broken_rig()
    scenes.audit()
    assert bpy.ops.quat_audit.compare("EXEC_DEFAULT") == {"FINISHED"}
    return comparing.STATE.shown


def test_both_trails_are_drawn_where_they_run(shown) -> None:
    pixels = picture(view.draw, shown)
    before, after = like(pixels, view.BEFORE), like(pixels, view.AFTER)
    assert before.sum() > 200 and after.sum() > 200
    # After, the tail goes from 0 to 60° about X: all of it on one side. Before, it goes all the way round.
    assert np.ptp(np.nonzero(before)[1]) > 1.3 * np.ptp(np.nonzero(after)[1])


def test_the_graph_has_both_curves_and_stays_left_of_the_sidebar(shown) -> None:
    pixels = picture(graph.draw, shown)
    drawn = np.nonzero(pixels.max(axis=-1) > 0.01)
    assert drawn[1].max() < WIDTH - 200 and drawn[0].max() < 0.6 * HEIGHT
    before, after = like(pixels, view.BEFORE), like(pixels, view.AFTER)
    assert before.sum() > 100 and after.sum() > 300
    assert like(pixels, (0.35, 0.6, 1.0)).sum() > 30  # the current frame
