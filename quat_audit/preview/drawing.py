# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture as triangles and labels, in pixels: x to the right, y up from the lower edge, z towards the eye."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..text import visible

Color = tuple[float, float, float]

# Colors are red, green, blue as a screen shows them (sRGB), 0 to 1.
PAPER: Color = (0.965, 0.965, 0.96)
PANEL: Color = (1.0, 1.0, 1.0)
INK: Color = (0.13, 0.14, 0.17)
QUIET: Color = (0.42, 0.43, 0.46)
RULE: Color = (0.80, 0.80, 0.80)
STRONG: Color = (0.75, 0.13, 0.10)

# Depths. A mesh reaches as far to either side of its own as its panel is wide, or not much farther.
FLOOR, MESH, LINES, LABELS, EYE = -3000.0, 0.0, 3000.0, 3500.0, 4000.0


@dataclass(frozen=True, eq=False)
class Patch:
    """Triangles with a color at each corner.

    Attributes:
        points: (N, 3).
        triangles: (T, 3) int.
        colors: (N, 3).
        shade: how much of its color a face loses that looks away from the light, 0 to 1; 0: shown as it is.
    """

    points: Floats
    triangles: Ints
    colors: Floats
    shade: float = 0.0


@dataclass(frozen=True)
class Label:
    """A line of text.

    Attributes:
        x, y: where its base line begins, or (aligned) its middle or end is.
        size: height of a line.
        width: it is made smaller where it would be longer.
        align: "LEFT", "CENTER" or "RIGHT".
    """

    text: str
    x: float
    y: float
    size: float
    width: float
    align: str = "LEFT"
    color: Color = INK


@dataclass(eq=False)
class Drawing:
    """A picture to be rendered: `width` × `height` pixels."""

    width: int
    height: int
    patches: list[Patch] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def box(self, x0: float, y0: float, x1: float, y1: float, color: npt.ArrayLike, z: float = FLOOR) -> None:
        """A filled rectangle; a color, or four: of its corners from the lower left, against the clock."""
        points = np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)])
        colors = np.broadcast_to(np.asarray(color, dtype=np.float64), (4, 3))
        self.patches.append(Patch(points, np.array([(0, 1, 2), (0, 2, 3)]), colors))

    def line(self, points: Sequence[tuple[float, float]], color: Color, width: float, z: float = LINES) -> None:
        """A line through points, `width` thick, with round corners and ends."""
        at = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        along = np.diff(at, axis=0)
        length = np.linalg.norm(along, axis=1, keepdims=True)
        side = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0, length, 1.0) * width / 2
        a, b = at[:-1], at[1:]
        corners = np.stack([a - side, b - side, b + side, a + side], axis=1).reshape(-1, 2)
        both = np.array([(0, 1, 2), (0, 2, 3)])
        self._flat(corners, (4 * np.arange(len(a))[:, None, None] + both).reshape(-1, 3), color, z)
        self.dots(points, color, width, z)

    def dots(self, points: Sequence[tuple[float, float]], color: Color, width: float, z: float = LINES) -> None:
        """A disc at each point."""
        at, corners = np.asarray(points, dtype=np.float64).reshape(-1, 2), 12
        angle = 2.0 * np.pi * np.arange(corners) / corners
        rim = np.stack([np.cos(angle), np.sin(angle)], axis=1) * width / 2
        fan = np.stack([np.zeros(corners - 2), np.arange(1, corners - 1), np.arange(2, corners)], axis=1)
        triangles = (corners * np.arange(len(at))[:, None, None] + fan).reshape(-1, 3)
        self._flat((at[:, None] + rim).reshape(-1, 2), triangles, color, z)

    def frame(self, x0: float, y0: float, x1: float, y1: float, color: Color = RULE, width: float = 1.5) -> None:
        """The outline of a rectangle."""
        self.line([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], color, width)

    def label(self, text: str, x: float, y: float, size: float, width: float, **more: object) -> None:
        """A `Label`."""
        self.labels.append(Label(visible(text), x, y, size, width, **more))  # type: ignore[arg-type]

    def _flat(self, points: Floats, triangles: npt.NDArray[np.generic], color: Color, z: float) -> None:
        at = np.concatenate([points, np.full((len(points), 1), z)], axis=1)
        self.patches.append(Patch(at, triangles.astype(np.int64), np.tile(np.array(color), (len(at), 1))))


def cropped(patch: Patch, x0: float, y0: float, x1: float, y1: float) -> Patch:
    """What of a patch lies in a rectangle: triangles that reach across its edge are cut there."""
    for axis, edge, sign in ((0, x0, 1.0), (0, x1, -1.0), (1, y0, 1.0), (1, y1, -1.0)):
        patch = _cut(patch, sign * (patch.points[:, axis] - edge))
    used, corners = np.unique(patch.triangles, return_inverse=True)
    return Patch(patch.points[used], corners.reshape(-1, 3), patch.colors[used], patch.shade)


def _cut(patch: Patch, inside: Floats) -> Patch:
    """What of a patch has (N,) `inside` above 0."""
    keeps = (inside > 0)[patch.triangles]
    number = keeps.sum(axis=1)
    whole = [patch.triangles[number == 3]]
    points, colors = [patch.points], [patch.colors]
    count = len(patch.points)
    for kept in (1, 2):
        mine, corner = patch.triangles[number == kept], keeps[number == kept]
        if not len(mine):
            continue
        # The corner that is alone on its side comes first.
        alone = (corner if kept == 1 else ~corner).argmax(axis=1)
        a, b, c = (mine[np.arange(len(mine)), (alone + turn) % 3] for turn in range(3))
        new = []
        for other in (b, c):
            part = (inside[a] / (inside[a] - inside[other]))[:, None]
            points.append(patch.points[a] + part * (patch.points[other] - patch.points[a]))
            colors.append(patch.colors[a] + part * (patch.colors[other] - patch.colors[a]))
            new.append(count + np.arange(len(mine)))
            count += len(mine)
        ab, ac = new
        cuts = [(a, ab, ac)] if kept == 1 else [(ab, b, c), (ab, c, ac)]
        whole += [np.stack(corners, axis=1) for corners in cuts]
    return Patch(np.concatenate(points), np.concatenate(whole), np.concatenate(colors), patch.shade)


def tick(value: float) -> str:
    """A figure beside a scale: "0.25", "12.5", "12,500"."""
    return f"{value:,.0f}" if value >= 1000.0 else f"{value:.3g}"


def ticks(top: float, most: int = 5) -> list[float]:
    """Round figures from 0 up to `top` at the most, evenly spaced, no more than `most` beside the zero."""
    if not np.isfinite(top) or top <= 0:
        return [0.0]
    power = 10.0 ** np.floor(np.log10(top))
    steps = [part * power for part in (0.1, 0.2, 0.5, 1.0, 2.0)]
    step = next((s for s in steps if top / s <= most * (1.0 + 1e-3)), steps[-1])
    return [float(step * n) for n in range(int(np.floor(top / step + 1e-6)) + 1)]
