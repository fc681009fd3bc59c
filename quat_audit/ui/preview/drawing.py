# SPDX-License-Identifier: GPL-3.0-or-later
"""What the skinning preview draws in a 3D Viewport: the ghost, the scale of its colors, labels and remarks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import blf
import gpu
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Matrix, Vector

from ...blender.draw import ghost as gpu_skin
from ...blender.draw.ghost import Method
from ...skinning.heat import CUT, GAP, LOSS, RAMP, HeatMap
from ..wording import lines, say
from . import properties

if TYPE_CHECKING:
    from .held import Preview

# Of the two methods, as tints and as the colors of their labels.
TINTS = {gpu_skin.LBS: (0.36, 0.62, 0.90), gpu_skin.DQS: (0.95, 0.62, 0.26)}
KIND_LABELS = {
    GAP: "Distance between LBS and DQS",
    LOSS: "Cross-section that LBS loses",
    CUT: "Displacement by the influence cut",
}
_LIGHT = 0.8
_HEAT_LIGHT = 0.35  # colors that mean something are shaded less
_APART = 1.15  # of the mesh's width, from one of three to the next
_WHITE = (0.95, 0.95, 0.95, 1.0)
_POINTS, _LINE = 12.0, 17.0  # size of letters, height of a line, in interface units
_BAR = (180.0, 12.0)
_REMARK_WIDTH, _MOST_LINES = 420.0, 6


@dataclass(frozen=True, eq=False)
class _Ghost:
    """One of what is drawn at a time: a method, and how far to the right in the view."""

    method: Method
    shift: float


def _ghosts(held: Preview, chosen: Any) -> tuple[_Ghost, ...]:
    """A heat map lies on the positions that the mesh's own modifier gives."""
    if chosen.show == properties.SIDE_BY_SIDE:
        return (_Ghost(gpu_skin.LBS, -_APART), _Ghost(gpu_skin.DQS, _APART))
    if chosen.show in gpu_skin.METHODS:
        return (_Ghost(chosen.show, 0.0),)
    return (_Ghost(gpu_skin.DQS if held.mesh.record.skin.preserve_volume else gpu_skin.LBS, 0.0),)


def draw_ghost(context: Any, held: Preview, obj: Any) -> None:
    """Into the viewport, in its own space and against its depth."""
    assert held.made is not None
    chosen = properties.choices(context)
    evaluated = obj.evaluated_get(context.view_layer.depsgraph)
    view = gpu.matrix.get_model_view_matrix()
    onto = gpu.matrix.get_projection_matrix() @ view
    world = evaluated.matrix_world
    kind = properties.kind(chosen)
    lamp = (view.to_3x3() @ world.to_3x3()).inverted_safe() @ Vector((0.0, 0.0, 1.0))
    for ghost in _ghosts(held, chosen):
        look = gpu_skin.Look(
            clip=np.array(onto @ Matrix.Translation(_shift(view, evaluated, ghost.shift)) @ world),
            method=ghost.method,
            kind=kind,
            top=held.top(kind, chosen) if kind is not None else 1.0,
            tint=TINTS[ghost.method],
            opacity=chosen.opacity,
            light=_LIGHT if kind is None else _HEAT_LIGHT,
            lamp=tuple(lamp),
        )
        gpu_skin.draw(held.made, look, in_front=chosen.in_front)


def _corners(evaluated: Any) -> Any:
    """(8, 3) of the evaluated mesh's box in world space."""
    box = np.array([tuple(corner) for corner in evaluated.bound_box])
    world = np.array(evaluated.matrix_world)
    return box @ world[:3, :3].T + world[:3, 3]


def _shift(view: Any, evaluated: Any, widths: float) -> Any:
    """So many widths of the mesh to the right, as the view sees it, in world space."""
    if not widths:
        return Vector((0.0, 0.0, 0.0))
    right = Vector(view[0][:3]).normalized()
    across = _corners(evaluated) @ np.array(right)
    return right * (widths * float(np.ptp(across)))


# --- words


def draw_words(context: Any, held: Preview, obj: Any) -> None:
    """Labels at the ghosts; the scale and what to know in the corner; nothing where there is no room."""
    chosen, unit = properties.choices(context), context.preferences.system.ui_scale
    left, bottom = _left_of(context) + 16.0 * unit, 16.0 * unit
    for line in reversed(_remark_lines(context, held)):
        _write(line, left, bottom, unit)
        bottom += _LINE * unit
    if held.made is None or held.unreadable or held.why_nothing:
        return
    kind = properties.kind(chosen)
    if kind is not None:
        _draw_scale(left, bottom + 6.0 * unit, unit, kind, held.top(kind, chosen))
    elif obj is not None:
        for ghost in _ghosts(held, chosen):
            _draw_label(context, obj, ghost, unit)


def _remark_lines(context: Any, held: Preview) -> list[str]:
    found: list[str] = []
    for remark in held.remarks:
        found += lines(context, say(remark), width=int(_REMARK_WIDTH))
    return found if len(found) <= _MOST_LINES else [*found[: _MOST_LINES - 1], "…"]


def _left_of(context: Any) -> float:
    """Where the toolbar ends that lies over the viewport."""
    tools = next((region for region in context.area.regions if region.type == "TOOLS"), None)
    over = tools is not None and context.preferences.system.use_region_overlap and tools.width > 1
    return float(tools.width) if over and tools is not None else 0.0


def _write(text: str, x: float, y: float, unit: float, color: tuple[float, ...] = _WHITE) -> None:
    blf.size(0, _POINTS * unit)
    blf.color(0, *color)
    blf.enable(0, blf.SHADOW)
    blf.shadow(0, 5, 0.0, 0.0, 0.0, 0.8)
    blf.shadow_offset(0, 1, -1)
    blf.position(0, x, y, 0.0)
    blf.draw(0, text)
    blf.disable(0, blf.SHADOW)


def _draw_label(context: Any, obj: Any, ghost: _Ghost, unit: float) -> None:
    """The method's name, over the top of its ghost."""
    region = context.region_data
    evaluated = obj.evaluated_get(context.view_layer.depsgraph)
    up = np.array(region.view_matrix[1][:3])
    corners = _corners(evaluated)
    middle = corners.mean(axis=0)
    top = middle + up * float(np.max((corners - middle) @ up)) / max(float(up @ up), 1e-12)
    point = Vector(top) + _shift(region.view_matrix, evaluated, ghost.shift)
    at = location_3d_to_region_2d(context.region, region, point)
    if at is not None:
        blf.size(0, _POINTS * unit)
        width = blf.dimensions(0, ghost.method)[0]
        _write(ghost.method, at.x - width / 2, at.y + 8.0 * unit, unit, (*TINTS[ghost.method], 1.0))


def _draw_scale(left: float, bottom: float, unit: float, kind: HeatMap, top: float) -> None:
    """A bar of the colors with figures from nothing to the top, and what they are of above it."""
    width, height = (size * unit for size in _BAR)
    y = bottom + _LINE * unit
    steps = len(RAMP) - 1
    points = [(left + width * n / steps, y + up, 0.0) for up in (0.0, height) for n in range(steps + 1)]
    colors = [(*color, 1.0) for color in RAMP] * 2
    faces = [corners for n in range(steps) for corners in _two_triangles(n, steps + 1)]
    bar = {"pos": np.array(points, dtype=np.float32), "color": np.array(colors, dtype=np.float32)}
    gpu_skin.batch(bar, np.array(faces, dtype=np.int32)).draw(gpu.shader.from_builtin("SMOOTH_COLOR"))
    for part in (0.0, 0.5, 1.0):
        figure = ticked(part * top)
        blf.size(0, _POINTS * unit)
        before = blf.dimensions(0, figure)[0] / 2 if part else 0.0
        _write(f"{figure} {kind.unit}" if part == 1.0 else figure, left + part * width - before, bottom, unit)
    _write(say(KIND_LABELS[kind]), left, y + height + 6.0 * unit, unit)


def _two_triangles(n: int, count: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    return (n, n + 1, count + n + 1), (n, count + n + 1, count + n)


def ticked(value: float) -> str:
    """A figure of the scale: 0, 2.5, 50, 12,500."""
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.4g}"
