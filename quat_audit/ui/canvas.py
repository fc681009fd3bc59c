# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines, areas and words in pixels of the region that is drawn, by built-in shaders that every backend has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import blf
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from ..arrays import Floats

Color = Sequence[float]
_FONT = 0  # Blender's interface font, with its fall-backs for every script
# Corners of a disc: round at the few pixels that a dot has.
_CORNERS = 16


def lines(pairs: Floats, color: Color, width: float) -> None:
    """Straight lines (N, 2, 2) of a width in pixels."""
    if len(pairs):
        size = gpu.state.viewport_get()[2:]
        _draw("POLYLINE_UNIFORM_COLOR", "LINES", pairs, color=tuple(color), viewportSize=size, lineWidth=width)


def fill(triangles: Floats, color: Color) -> None:
    """Triangles (N, 3, 2)."""
    if len(triangles):
        _draw("UNIFORM_COLOR", "TRIS", triangles, color=tuple(color))


def discs(centers: Floats, radius: float, color: Color) -> None:
    """Dots (N, 2)."""
    centers = centers[np.isfinite(centers).all(axis=1)] if len(centers) else np.zeros((0, 2))
    angle = np.linspace(0.0, 2.0 * np.pi, _CORNERS + 1)
    rim = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    fan = np.stack([np.zeros((_CORNERS, 2)), rim[:-1], rim[1:]], axis=1)
    fill((centers[:, None, None] + fan).reshape(-1, 3, 2), color)


def rectangle(x: float, y: float, width: float, height: float, color: Color) -> None:
    a, b, c, d = (x, y), (x + width, y), (x + width, y + height), (x, y + height)
    fill(np.array([[a, b, c], [a, c, d]]), color)


def text(words: str, x: float, y: float, points: float, color: Color) -> None:
    """Words whose baseline begins at a point."""
    blf.size(_FONT, points)
    blf.color(_FONT, *color)
    blf.position(_FONT, x, y, 0.0)
    blf.draw(_FONT, words)


def text_width(words: str, points: float) -> float:
    blf.size(_FONT, points)
    width: float = blf.dimensions(_FONT, words)[0]
    return width


def done() -> None:
    """Leave the state as Blender expects it."""
    gpu.state.blend_set("NONE")


def _draw(builtin: str, kind: str, points: Floats, **uniforms: Any) -> None:
    """Points of the region by a built-in shader."""
    gpu.state.blend_set("ALPHA")  # drawing words switches it off
    shader = gpu.shader.from_builtin(builtin)
    batch = batch_for_shader(shader, kind, {"pos": _flat(points)})
    shader.bind()
    for name, value in uniforms.items():
        shader.uniform_float(name, value)
    batch.draw(shader)


def _flat(points: Floats) -> Any:
    """(N, 3) float32 on the plane of the region."""
    flat = points.reshape(-1, 2)
    return np.column_stack([flat, np.zeros(len(flat))]).astype(np.float32)
