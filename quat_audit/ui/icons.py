# SPDX-License-Identifier: GPL-3.0-or-later
"""The icons of the severities, painted in the colors of the preferences; each has a shape of its own as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bpy.utils.previews
import numpy as np

from ..arrays import Floats
from ..findings.finding import Severity

COLORS: Mapping[Severity, Sequence[float]] = {
    "error": (0.93, 0.32, 0.32),
    "warning": (0.95, 0.71, 0.22),
    "note": (0.45, 0.67, 0.94),
}
_SIZE = 32
_collection: list[Any] = []


def paint(colors: Mapping[Severity, Sequence[float]]) -> None:
    """Make the icons, or give them other colors."""
    if not _collection:
        _collection.append(bpy.utils.previews.new())
    for severity, color in colors.items():
        preview = _collection[0].get(severity) or _collection[0].new(severity)
        preview.icon_size = (_SIZE, _SIZE)
        preview.icon_pixels_float = _pixels(severity, color).ravel().tolist()


def remove() -> None:
    """Take the icons back."""
    while _collection:
        bpy.utils.previews.remove(_collection.pop())


def of(severity: Severity) -> int:
    """The number of a severity's icon; 0 (none) before they were made."""
    preview = _collection[0].get(severity) if _collection else None
    return preview.icon_id if preview is not None else 0


def _pixels(severity: Severity, color: Sequence[float]) -> Floats:
    """(32, 32, 4) floats, the lowest line first: a disc with a bar, a triangle, a ring."""
    y, x = np.mgrid[0:_SIZE, 0:_SIZE] - (_SIZE - 1) / 2
    radius = np.hypot(x, y)
    if severity == "error":
        inside = _edge(12.0 - radius)
        inside = inside * (1.0 - _edge(np.minimum(2.0 - np.abs(y), 7.0 - np.abs(x))))
    elif severity == "warning":
        top = np.minimum((12.0 - y) * 0.447 - np.abs(x) * 0.894, y + 11.0)
        inside = _edge(top)
        inside = inside * (1.0 - _edge(np.minimum(1.6 - np.abs(x), 6.5 - np.abs(y + 3.0))))
    else:
        inside = np.maximum(_edge(2.2 - np.abs(radius - 10.0)), _edge(3.6 - radius))
    pixels = np.empty((_SIZE, _SIZE, 4), dtype=np.float32)
    pixels[..., :3] = np.asarray(color[:3]) * inside[..., None]  # Blender draws icons with premultiplied alpha
    pixels[..., 3] = inside
    return pixels


def _edge(distance: Floats) -> Floats:
    """Coverage of a pixel by a shape whose border is `distance` away."""
    return np.clip(distance + 0.5, 0.0, 1.0)
