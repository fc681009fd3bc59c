# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact sheet: LBS, DQS and a heat map side by side, a row for each of the worst frames.

All panels look from the same side, at the same scale. Where the joint that a row is about is small in the mesh, each
panel has the whole mesh and a close-up of the joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..arrays import Floats, Ints
from ..skinning import dual_quaternion, linear
from ..skinning.heat import RAMP, HeatMap, colors
from ..text import frame_words
from . import view
from .drawing import FLOOR, INK, MESH, PANEL, PAPER, QUIET, STRONG, Drawing, Patch, cropped, tick
from .figures import Measured, millimeters, percent_of_mesh
from .rows import Row, choose, least_mm

MARGIN, SIDE, PANEL_SIZE, SPACE, BAR = 24, 260, 350, 12, 104
HEAD, CAPTION, FOOT = 132, 34, 20
COLUMNS = 3
WIDTH = 2 * MARGIN + SIDE + COLUMNS * PANEL_SIZE + (COLUMNS - 1) * SPACE + BAR
ROW = PANEL_SIZE + CAPTION + SPACE
# A close-up is shown where it is so many times as large. It shows so many times the extent of what it is about, and at
# least this part of the mesh.
CLOSER, AROUND, LEAST_AROUND = 1.8, 1.9, 0.18
# How far before and behind its middle a close-up shows the mesh, in halves of its side.
DEEP = 2.5
# What of a row's figure counts as its joint's.
PART = 0.25
# The part of a panel that the whole mesh keeps beside a close-up.
WHOLE = 0.42
CLAY = (0.82, 0.78, 0.72)
# How dark the side away from the light is; the heat map's colors are to be read.
SHADE, HOT_SHADE = 0.72, 0.3
# What a mesh leaves free in its panel.
AIR = 0.90

Box = tuple[float, float, float, float]


@dataclass(frozen=True, eq=False)
class Shown:
    """A row with its two shapes as they are looked at: (V, 3) each, in picture axes, the pair's middle at 0."""

    row: Row
    lbs: Floats
    dqs: Floats


def sheet(found: Measured, file: str) -> Drawing:
    """The contact sheet as a drawing."""
    rows = choose(found)
    shown = _shown(found, rows)
    drawing = Drawing(WIDTH, HEAD + len(rows) * ROW + FOOT)
    drawing.box(0, 0, drawing.width, drawing.height, PAPER, FLOOR - 1)
    _head(drawing, found, file)
    whole, close = _windows(shown, found)
    scale = _scale(shown, whole)
    triangles = _facing_out(found)
    tops = {kind: _top(found, [row for row in rows if row.kind == kind]) for kind in {row.kind for row in rows}}
    for number, item in enumerate(shown):
        y = drawing.height - HEAD - (number + 1) * ROW + SPACE + CAPTION
        _text(drawing, found, item.row, y)
        clay = np.tile(np.array(CLAY), (len(found.skin), 1))
        hot = colors(item.row.values, tops[item.row.kind])
        target = _target(item, found)
        looks = ((item.lbs, clay, SHADE), (item.dqs, clay, SHADE), (item.lbs, hot, HOT_SHADE))
        for column, (points, tint, shade) in enumerate(looks):
            x = panel_x(column)
            here = (x + whole[0], y + whole[1], x + whole[2], y + whole[3])
            drawing.box(*here, PANEL)
            drawing.patches += _solid(points, triangles, tint, shade, scale, here, MESH)
            if close is not None:
                window = (x + close[0], y + close[1], x + close[2], y + close[3])
                drawing.box(*window, PANEL)
                drawing.patches += _close_up(points, triangles, tint, shade, target, window)
                drawing.frame(*window)
                _mark(drawing, target, scale, here, window)
            _caption(drawing, found, item.row, column, x, y)
        _bar(drawing, item.row.kind, tops[item.row.kind], panel_x(COLUMNS), y)
    return drawing


def _top(found: Measured, rows: list[Row]) -> float:
    """Where the colors of a heat map end: its largest value in all rows, so that the worst place has the last one."""
    least = least_mm(found) if rows[0].kind.unit == "mm" else 1.0
    return max(least, *(float(row.values.max(initial=0.0)) for row in rows))


def panel_x(column: int) -> float:
    """The left edge of a column's panels; COLUMNS: of the color bars."""
    return float(MARGIN + SIDE + column * (PANEL_SIZE + SPACE))


def _shown(found: Measured, rows: list[Row]) -> list[Shown]:
    pairs = []
    for row in rows:
        part = found.motion.part(slice(row.frame, row.frame + 1))
        world = part.to_world[0, :3, :3]
        pairs.append([np.nan_to_num(way.deform(found.skin, part)[0] @ world.T) for way in (linear, dual_quaternion)])
    first_lbs, first_dqs = pairs[0]
    eye = view.best(first_lbs, first_dqs, found.skin.triangles)
    shown = []
    for row, pair in zip(rows, pairs, strict=True):
        lbs, dqs = (points @ eye.T for points in pair)
        both = np.concatenate([lbs, dqs])
        middle = (both.max(axis=0) + both.min(axis=0)) / 2
        shown.append(Shown(row, lbs - middle, dqs - middle))
    return shown


def _extent(item: Shown) -> Floats:
    """(2,) width and height of both shapes."""
    return np.asarray(np.ptp(np.concatenate([item.lbs, item.dqs])[:, :2], axis=0))


def _windows(shown: list[Shown], found: Measured) -> tuple[Box, Box | None]:
    """Where in a panel the whole mesh and the close-up are; no close-up where the joint is large in the mesh."""
    full = (0.0, 0.0, float(PANEL_SIZE), float(PANEL_SIZE))
    half = float(round(WHOLE * PANEL_SIZE))
    wide, high = np.array([_extent(item) for item in shown]).max(axis=0)
    sides = [2.0 * _target(item, found)[1] for item in shown if item.row.vertex >= 0]
    if not sides or (PANEL_SIZE - half) / min(sides) < CLOSER * _scale(shown, full):
        return full, None
    if high >= wide:
        return (0.0, 0.0, half, full[3]), (half, 0.0, *full[2:])
    return (0.0, full[3] - half, *full[2:]), (0.0, 0.0, full[2], full[3] - half)


def _target(item: Shown, found: Measured) -> tuple[Floats, float]:
    """(middle (3,), half the side) of a cube around what a row is about."""
    row = item.row
    if row.vertex < 0:
        return np.zeros(3), float(_extent(item).max()) / 2
    mine = row.values >= PART * row.values[row.vertex]
    if row.joint >= 0:
        mine &= found.scan.joints.of_vertex == row.joint
    mine[row.vertex] = True
    both = np.concatenate([item.lbs[mine], item.dqs[mine]])
    # The limb's thickness beside the joint belongs to it, also where one method leaves a point of it.
    half = float(np.ptp(both, axis=0).max()) / 2 * AROUND
    least = LEAST_AROUND / 2 * float(_extent(item).max())
    return (both.max(axis=0) + both.min(axis=0)) / 2, max(half, least)


def _scale(shown: list[Shown], window: Box) -> float:
    """Pixels of one unit, at which every row fits."""
    room = np.array([window[2] - window[0], window[3] - window[1]]) * AIR
    extents = np.array([_extent(item) for item in shown]).max(axis=0)
    with np.errstate(divide="ignore"):
        fits = float((room / extents).min())
    return fits if np.isfinite(fits) else 1.0


def _facing_out(found: Measured) -> Ints:
    """Triangles of the mesh, turned round where the object is mirrored."""
    triangles = found.skin.triangles
    mirrored = np.linalg.det(found.motion.to_world[0, :3, :3]) < 0
    return triangles[:, ::-1] if mirrored else triangles


def _solid(
    points: Floats, triangles: Ints, tint: Floats, shade: float, scale: float, box: Box, z: float
) -> list[Patch]:
    middle = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2, z])
    if not len(triangles):
        return []
    return [Patch(points * scale + middle, triangles, tint, shade=shade)]


def _close_up(
    points: Floats, triangles: Ints, tint: Floats, shade: float, target: tuple[Floats, float], box: Box
) -> list[Patch]:
    """The mesh around a target, cut off at the window."""
    middle, half = target
    size = np.array([box[2] - box[0], box[3] - box[1]])
    scale = float(size.min()) / (2.0 * half)
    away = points - middle
    # What is far in front of the joint, or behind it, is left out.
    near = triangles[(np.abs(away[:, 2]) <= DEEP * half)[triangles].all(axis=1)]
    return [cropped(patch, *box) for patch in _solid(away, near, tint, shade, scale, box, MESH)]


def _mark(drawing: Drawing, target: tuple[Floats, float], scale: float, box: Box, window: Box) -> None:
    """Where in the whole mesh the close-up is."""
    middle = np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]) + target[0][:2] * scale
    size = np.array([window[2] - window[0], window[3] - window[1]])
    half = np.maximum(target[1] * scale * size / size.min(), 5.0)
    low, high = np.maximum(middle - half, np.add(box[:2], 2.0)), np.minimum(middle + half, np.subtract(box[2:], 2.0))
    drawing.frame(float(low[0]), float(low[1]), float(high[0]), float(high[1]), QUIET)


def _head(drawing: Drawing, found: Measured, file: str) -> None:
    skin, scan, y = found.skin, found.scan, drawing.height
    wide = drawing.width - 2 * MARGIN
    drawing.label(skin.mesh, MARGIN, y - 44, 32, wide * 0.5)
    frames = f"{len(scan.frames)} frames" if len(scan.frames) > 1 else "1 frame"
    plays = f" · {found.motion.action}" if found.motion.action else ""
    uses = "skinned by DQS (Preserve Volume)" if skin.preserve_volume else "skinned by LBS"
    drawing.label(
        f"{file} · {skin.armature}{plays} · {frames} · {len(skin):,} vertices · {uses}",
        MARGIN,
        y - 72,
        16,
        wide,
        color=QUIET,
    )
    heads = (
        "Linear blend skinning (LBS)",
        "Dual quaternions (DQS, Preserve Volume)",
        "Where it shows, on the LBS shape",
    )
    for column, text in enumerate(heads):
        drawing.label(text, panel_x(column) + 2, y - HEAD + 14, 18, PANEL_SIZE - 4)


def _text(drawing: Drawing, found: Measured, row: Row, y: float) -> None:
    scan, wide = found.scan, SIDE - 22
    at = y + PANEL_SIZE - 30
    drawing.label(f"Frame {frame_words(scan.frames[row.frame])}", MARGIN, at, 30, wide)
    for title in row.titles:
        at -= 32
        drawing.label(title, MARGIN, at, 20, wide, color=STRONG)
    gaps, mean = scan.gap[row.frame], float(scan.gap_mean[row.frame])
    gap = float(gaps[row.joint] if row.joint >= 0 else gaps.max())
    facts = [f"joint {scan.bones[row.joint]}"] if row.joint >= 0 else []
    if row.vertex >= 0:
        facts.append(f"vertex {row.vertex:,}")
    facts += [f"gap {millimeters(gap)}, {percent_of_mesh(scan.of_mesh(gap))}", f"mean gap {millimeters(mean)}"]
    if scan.volume is not None:
        lbs, dqs = 100.0 * scan.volume[row.frame]
        facts.append(f"volume: LBS {lbs:.0f} %, DQS {dqs:.0f} %")
    at -= 8
    for fact in facts:
        at -= 26
        drawing.label(fact, MARGIN, at, 17, wide, color=INK)


def _caption(drawing: Drawing, found: Measured, row: Row, column: int, x: float, y: float) -> None:
    """What the method leaves of the joint, below its panel; below the heat map what that shows."""
    if column == COLUMNS - 1:
        text = row.kind.title
    else:
        kept = found.radius[column, row.frame, row.joint] if row.joint >= 0 else np.nan
        if not np.isfinite(kept):
            return
        text = f"{100.0 * kept:.1f} % of the joint's radius at rest"
    drawing.label(text, x + 2, y - 22, 17, PANEL_SIZE - 4, color=QUIET)


def _bar(drawing: Drawing, kind: HeatMap, top: float, x: float, y: float) -> None:
    """The color bar of a row's heat map."""
    x0, y0, y1 = x + 2, y + 16, y + PANEL_SIZE - 34
    step = (y1 - y0) / (len(RAMP) - 1)
    for number, (low, high) in enumerate(pairwise(RAMP)):
        drawing.box(x0, y0 + number * step, x0 + 22, y0 + (number + 1) * step, [low, low, high, high], FLOOR + 1)
    for number in range(len(RAMP)):
        value = top * number / (len(RAMP) - 1)
        drawing.line([(x0 + 22, y0 + number * step), (x0 + 28, y0 + number * step)], QUIET, 1.5)
        drawing.label(tick(value), x0 + 34, y0 + number * step - 5, 16, BAR - 38, color=INK)
    drawing.label(kind.unit, x0, y1 + 12, 17, BAR - 4, color=INK)
