# SPDX-License-Identifier: GPL-3.0-or-later
"""What is to be seen in the pictures, read back pixel by pixel: the candy wrapper on the left, none on the right."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import example_limbs

from quat_audit import api
from quat_audit.blender.draw import render
from quat_audit.blender.skin import posed
from quat_audit.preview import figures, graph, sheet
from quat_audit.preview.drawing import PANEL, PAPER, STRONG, Drawing
from quat_audit.preview.sheet import COLUMNS, HEAD, PANEL_SIZE, panel_x
from quat_audit.skinning.heat import RAMP

# One step of 256, and rounding.
STEP = 1.6 / 255


def pixels(path: Path) -> np.ndarray:
    """(height, width, 3) from the top, 0 to 1, as stored."""
    image = bpy.data.images.load(str(path))
    image.colorspace_settings.name = "Non-Color"
    width, height = image.size
    values = np.empty(width * height * image.channels, dtype=np.float32)
    image.pixels.foreach_get(values)
    bpy.data.images.remove(image)
    return values.reshape(height, width, -1)[::-1, :, :3]


def draw(drawing: Drawing, folder: Path) -> np.ndarray:
    path = folder / "drawn.png"
    path.write_bytes(render.render(drawing))
    return pixels(path)


def panel(picture: np.ndarray, column: int, row: int = 0) -> np.ndarray:
    top = HEAD + row * sheet.ROW
    x = int(panel_x(column))
    return picture[top : top + PANEL_SIZE, x : x + PANEL_SIZE]


def covered(part: np.ndarray) -> np.ndarray:
    """(height, width) what is not the panel's own color."""
    return np.abs(part - np.array(PANEL)).max(axis=2) > 0.05


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tube") / "twisted_tube.blend"
    example_limbs.save(example_limbs.LIMBS[0], path)
    return path


@pytest.fixture(scope="module")
def both(file: Path) -> tuple[np.ndarray, np.ndarray]:
    """The sheet and the curve."""
    (row,) = api.preview_file(file, file.parent)
    return pixels(row.paths[1]), pixels(row.paths[2])


@pytest.fixture
def tube(both: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    return both[0]


def widths(part: np.ndarray) -> tuple[float, float]:
    """(narrowest in the middle third, usual) width of what is shown, in pixels."""
    rows = covered(part).sum(axis=1)
    shown = np.flatnonzero(rows)
    middle = rows[shown[len(shown) // 3] : shown[2 * len(shown) // 3]]
    return float(middle.min()), float(np.median(rows[shown]))


def test_the_candy_wrapper_is_on_the_left_and_not_on_the_right(tube: np.ndarray) -> None:
    waist, usual = widths(panel(tube, 0))
    assert usual > 60 and waist < 0.15 * usual
    waist, usual = widths(panel(tube, 1))
    assert waist > 0.95 * usual
    # Both tubes are as long and as thick, and the heat map has the shape of the left one.
    assert abs(int(covered(panel(tube, 0)).any(axis=1).sum()) - int(covered(panel(tube, 1)).any(axis=1).sum())) <= 2
    assert (covered(panel(tube, 0)) == covered(panel(tube, 2))).mean() > 0.995


def test_the_heat_is_at_the_waist_in_the_top_color(tube: np.ndarray) -> None:
    part = panel(tube, 2)
    shown = np.flatnonzero(covered(part).any(axis=1))
    warm = (part[..., 0] > 0.5) & (part[..., 0] - part[..., 2] > 0.35) & (part[..., 1] < 0.5) & covered(part)
    assert warm.any()
    middle = (shown[0] + shown[-1]) / 2
    assert np.abs(np.flatnonzero(warm.any(axis=1)) - middle).max() < 0.15 * len(shown)
    # Where the two methods agree it is the first color, dimmed by the light alone.
    end = part[shown[-1] - 40 : shown[-1] - 20]
    color = np.median(end[covered(end)], axis=0)
    np.testing.assert_allclose(color / color.max(), np.array(RAMP[0]) / max(RAMP[0]), atol=0.02)


def test_the_color_bar_has_the_colors_of_the_ramp(tube: np.ndarray) -> None:
    x = int(panel_x(COLUMNS)) + 12
    bottom, top = HEAD + PANEL_SIZE - 16, HEAD + 34  # rows from the top of the picture
    for number, color in enumerate(RAMP):
        y = bottom + (top - bottom) * number / (len(RAMP) - 1)
        inside = min(max(round(y), top + 1), bottom - 2)
        part = (bottom - inside - 0.5) / (bottom - top) * (len(RAMP) - 1)
        low = min(int(part), len(RAMP) - 2)
        expected = np.array(RAMP[low]) + (np.array(RAMP[low + 1]) - RAMP[low]) * (part - low)
        np.testing.assert_allclose(tube[inside, x], expected, atol=0.02, err_msg=str(color))


def test_there_is_text_beside_the_panels(tube: np.ndarray) -> None:
    dark = tube.max(axis=2) < 0.3
    left = int(panel_x(0)) - 10
    assert dark[:HEAD, :].sum() > 500 and dark[HEAD:, 24:left].sum() > 500
    red = np.abs(tube - np.array(STRONG)).max(axis=2) < 0.05
    assert red[HEAD:, 24:left].sum() > 100
    np.testing.assert_allclose(tube[2, 2], PAPER, atol=STEP)


def test_the_curve_is_where_the_figures_are(file: Path, both: tuple[np.ndarray, np.ndarray]) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(file))
    (item,), _ = posed.read_posed()
    found, picture = figures.measure(item.record.skin, item.motion), both[1]
    red = np.abs(picture - np.array(graph.LARGEST)).max(axis=2) < 0.1
    gap, bottom = found.scan.gap.max(axis=1), graph.TOP + graph.PLOT
    for number in (10, 20, 30, 40):
        x = graph.LEFT + (graph.WIDTH - graph.LEFT - graph.RIGHT) * number / 40
        y = bottom - graph.PLOT * gap[number] / (1.08 * gap.max())
        around = red[round(y) - 9 : round(y) + 9, round(x) - 9 : min(round(x) + 9, graph.WIDTH - graph.RIGHT + 2)]
        assert around.sum() > 20, number
    blue = np.abs(picture - np.array(graph.MEAN)).max(axis=2) < 0.1
    assert blue[bottom - 60 : bottom, graph.LEFT : graph.WIDTH - graph.RIGHT].sum() > 500


def test_colors_and_places_are_kept(tmp_path: Path) -> None:
    drawing = Drawing(64, 48)
    colors = [(0.2, 0.4, 0.6), (0.9, 0.1, 0.5)]
    drawing.box(8, 4, 24, 20, colors[0])
    drawing.box(40, 30, 64, 48, colors[1])
    picture = draw(drawing, tmp_path)
    assert picture.shape == (48, 64, 3)
    for x0, y0, x1, y1, color in ((8, 4, 24, 20, colors[0]), (40, 30, 64, 48, colors[1])):
        inside = picture[48 - y1 + 2 : 48 - y0 - 2, x0 + 2 : x1 - 2]
        np.testing.assert_allclose(inside, np.broadcast_to(color, inside.shape), atol=STEP)
    np.testing.assert_allclose(picture[44:, 30:36], np.broadcast_to(PAPER, (4, 6, 3)), atol=STEP)


@pytest.mark.parametrize("text", ["Frame 31", "腕 モーション 한국어", "🔥🦊", "a\nb\x1b", "\udcff"])
def test_text_of_any_kind_stays_in_its_width(tmp_path: Path, text: str) -> None:
    drawing = Drawing(200, 60)
    drawing.label(text * 4, 20, 25, 60, 100)
    dark = draw(drawing, tmp_path).max(axis=2) < 0.85
    columns = np.flatnonzero(dark.any(axis=0))
    assert len(columns) > 20
    assert columns[0] >= 18 and columns[-1] <= 122


def test_a_light_comes_from_the_upper_left(tmp_path: Path) -> None:
    angle = np.linspace(0, 2 * np.pi, 48, endpoint=False)
    rings = [(60 * np.sin(t), 60 * np.cos(t)) for t in np.linspace(0.02, np.pi - 0.02, 24)]
    points = np.array([(100 + r * np.cos(a), 100 + r * np.sin(a), z) for r, z in rings for a in angle])
    faces = []
    for ring in range(23):
        for side in range(48):
            a, b = ring * 48 + side, ring * 48 + (side + 1) % 48
            faces += [(a, a + 48, b), (b, a + 48, b + 48)]
    drawing = Drawing(200, 200)
    ball: Any = sheet.Patch(points, np.array(faces), np.full((len(points), 3), 0.8), 0.7)
    drawing.patches.append(ball)
    picture = draw(drawing, tmp_path).mean(axis=2)
    upper_left, middle, lower_right = picture[65, 75], picture[100, 110], picture[140, 135]
    assert upper_left > middle > lower_right
    assert upper_left <= 0.8 + STEP and lower_right >= 0.8 * 0.3 - STEP
