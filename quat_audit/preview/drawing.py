# SPDX-License-Identifier: GPL-3.0-or-later
"""A picture as triangles and labels, in pixels: x to the right, y up from the lower edge, z towards the eye."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..clip import Floats, Ints

Colour = tuple[float, float, float]

# Colours are red, green, blue as a screen shows them (sRGB), 0 to 1.
PAPER: Colour = (0.965, 0.965, 0.96)
PANEL: Colour = (1.0, 1.0, 1.0)
INK: Colour = (0.13, 0.14, 0.17)
QUIET: Colour = (0.42, 0.43, 0.46)
RULE: Colour = (0.80, 0.80, 0.80)
STRONG: Colour = (0.75, 0.13, 0.10)

# Depths. A mesh reaches as far to either side of its own as its panel is wide, or not much farther.
CLOSE_UP_FLOOR, CLOSE_UP, MAT, FLOOR, MESH, LINES, LABELS, EYE = (
    -9000.0,
    -6000.0,
    -3000.0,
    -2990.0,
    0.0,
    3000.0,
    3500.0,
    4000.0,
)


@dataclass(frozen=True, eq=False)
class Patch:
    """Triangles with a colour at each corner.

    Attributes:
        points: (N, 3).
        triangles: (T, 3) int.
        colours: (N, 3).
        shade: how much of its colour a face loses that looks away from the light, 0 to 1; 0: shown as it is.
    """

    points: Floats
    triangles: Ints
    colours: Floats
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
    colour: Colour = INK


@dataclass(eq=False)
class Drawing:
    """A picture to be rendered: `width` × `height` pixels."""

    width: int
    height: int
    patches: list[Patch] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)

    def box(self, x0: float, y0: float, x1: float, y1: float, colour: npt.ArrayLike, z: float = FLOOR) -> None:
        """A filled rectangle; a colour, or four: of its corners from the lower left, against the clock."""
        points = np.array([(x0, y0, z), (x1, y0, z), (x1, y1, z), (x0, y1, z)])
        colours = np.broadcast_to(np.asarray(colour, dtype=np.float64), (4, 3))
        self.patches.append(Patch(points, np.array([(0, 1, 2), (0, 2, 3)]), colours))

    def line(self, points: Sequence[tuple[float, float]], colour: Colour, width: float, z: float = LINES) -> None:
        """A line through points, `width` thick, with round corners and ends."""
        at = np.asarray(points, dtype=np.float64).reshape(-1, 2)
        along = np.diff(at, axis=0)
        length = np.linalg.norm(along, axis=1, keepdims=True)
        side = np.stack([-along[:, 1], along[:, 0]], axis=1) / np.where(length > 0, length, 1.0) * width / 2
        a, b = at[:-1], at[1:]
        corners = np.stack([a - side, b - side, b + side, a + side], axis=1).reshape(-1, 2)
        first = 4 * np.arange(len(a))[:, None]
        self._flat(corners, np.concatenate([first + [0, 1, 2], first + [0, 2, 3]]), colour, z)
        self.dots(points, colour, width, z)

    def dots(self, points: Sequence[tuple[float, float]], colour: Colour, width: float, z: float = LINES) -> None:
        """A disc at each point."""
        at, corners = np.asarray(points, dtype=np.float64).reshape(-1, 2), 12
        angle = 2.0 * np.pi * np.arange(corners) / corners
        rim = np.stack([np.cos(angle), np.sin(angle)], axis=1) * width / 2
        fan = np.stack([np.zeros(corners - 2), np.arange(1, corners - 1), np.arange(2, corners)], axis=1)
        triangles = (corners * np.arange(len(at))[:, None, None] + fan).reshape(-1, 3)
        self._flat((at[:, None] + rim).reshape(-1, 2), triangles, colour, z)

    def frame(self, x0: float, y0: float, x1: float, y1: float, colour: Colour = RULE, width: float = 1.5) -> None:
        """The outline of a rectangle."""
        self.line([(x0, y0), (x1, y0), (x1, y1), (x0, y1), (x0, y0)], colour, width)

    def label(self, text: str, x: float, y: float, size: float, width: float, **more: object) -> None:
        """A `Label`."""
        self.labels.append(Label(text, x, y, size, width, **more))  # type: ignore[arg-type]

    def mat(self, windows: Sequence[tuple[float, float, float, float]]) -> None:
        """Paper over all that is deeper than MAT, but for some windows (x0, y0, x1, y1)."""
        xs = sorted({0.0, float(self.width), *(x for w in windows for x in (w[0], w[2]))})
        ys = sorted({0.0, float(self.height), *(y for w in windows for y in (w[1], w[3]))})
        for x0, x1 in zip(xs[:-1], xs[1:], strict=True):
            for y0, y1 in zip(ys[:-1], ys[1:], strict=True):
                if not any(w[0] <= x0 and x1 <= w[2] and w[1] <= y0 and y1 <= w[3] for w in windows):
                    self.box(x0, y0, x1, y1, PAPER, MAT)

    def _flat(self, points: Floats, triangles: npt.NDArray[np.generic], colour: Colour, z: float) -> None:
        at = np.concatenate([points, np.full((len(points), 1), z)], axis=1)
        self.patches.append(Patch(at, triangles.astype(np.int64), np.tile(np.array(colour), (len(at), 1))))


def ticks(top: float, most: int = 5) -> list[float]:
    """Round figures from 0 up to `top` at the most, evenly spaced, no more than `most` beside the zero."""
    if not np.isfinite(top) or top <= 0:
        return [0.0]
    power = 10.0 ** np.floor(np.log10(top))
    steps = [part * power for part in (0.1, 0.2, 0.5, 1.0, 2.0)]
    step = next((s for s in steps if top / s <= most * (1.0 + 1e-3)), steps[-1])
    return [float(step * n) for n in range(int(np.floor(top / step + 1e-6)) + 1)]
