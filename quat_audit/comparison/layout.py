# SPDX-License-Identifier: GPL-3.0-or-later
"""Where lines, dashes, bones and ticks fall on a flat picture; in pixels, x to the right, y up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Floats, Ints

# Steps between two ticks of an axis in degrees, and in frames.
DEGREE_STEPS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0, 90.0)
FRAME_STEPS = tuple(float(step * 10**power) for power in range(6) for step in (1, 2, 5))
# An octahedral bone as Blender draws it: head, four corners at a tenth of the length, tail.
_OCTAHEDRON = np.array(
    [[0, 0, 0], [0.1, 0.1, 0.1], [0.1, 0.1, -0.1], [-0.1, 0.1, -0.1], [-0.1, 0.1, 0.1], [0, 1, 0]], dtype=np.float64
)
BONE_EDGES = np.array([[a, b] for b in (1, 2, 3, 4) for a in (0, 5)] + [[1, 2], [2, 3], [3, 4], [4, 1]])
BONE_FACES = np.array([[tip, a, b] for tip in (0, 5) for a, b in ((1, 2), (2, 3), (3, 4), (4, 1))])


class Box(NamedTuple):
    """A rectangle: its lower left corner and its size."""

    x: float
    y: float
    width: float
    height: float


def to_region(points: Floats, matrix: Floats, width: float, height: float) -> Floats:
    """(…, 2) pixels of points (…, 3) seen through a perspective matrix (4, 4); NaN behind the eye."""
    seen = points @ matrix[:3, :3].T + matrix[:3, 3]
    depth = points @ matrix[3, :3] + matrix[3, 3]
    with np.errstate(invalid="ignore", divide="ignore"):
        flat = seen[..., :2] / np.where(depth > 1e-6, depth, np.nan)[..., None]
    return np.asarray((0.5 + 0.5 * flat) * [width, height])


def segments(path: Floats) -> Floats:
    """(N, 2, 2) from point to point of a path (S, 2), without those that have no position."""
    pairs = np.stack([path[:-1], path[1:]], axis=1) if len(path) > 1 else np.zeros((0, 2, 2))
    return np.asarray(pairs[np.isfinite(pairs).all(axis=(1, 2))])


def dashes(path: Floats, on: float, off: float) -> Floats:
    """(N, 2, 2) pieces of a path (S, 2): `on` pixels drawn, `off` pixels left out, in turn along it."""
    whole = segments(path)
    length = np.linalg.norm(whole[:, 1] - whole[:, 0], axis=1)
    whole, length = whole[length > 0], length[length > 0]
    if not len(length):
        return np.zeros((0, 2, 2))
    end = np.cumsum(length)
    start = end - length
    period = on + off
    first, last = np.floor(start / period).astype(np.int64), np.floor(end / period).astype(np.int64)
    count = last - first + 1
    which = np.repeat(np.arange(len(length)), count)
    number = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + first[which]
    begin = np.clip(number * period, start[which], end[which])
    stop = np.clip(number * period + on, start[which], end[which])
    drawn = stop > begin
    which, ends = which[drawn], np.stack([begin[drawn], stop[drawn]], axis=1)
    share = (ends - start[which, None]) / length[which, None]
    return np.asarray(whole[which, :1] + share[..., None] * (whole[which, 1:] - whole[which, :1]))


def bone_corners(matrices: Floats, length: float) -> Floats:
    """(…, 6, 3) corners of a bone's octahedron under matrices (…, 4, 4): for `BONE_EDGES` and `BONE_FACES`."""
    corners = _OCTAHEDRON * length
    return np.asarray(corners @ np.swapaxes(matrices[..., :3, :3], -1, -2) + matrices[..., None, :3, 3])


def ticks(start: float, end: float, most: int, steps: Sequence[float]) -> Floats:
    """Round values from start to end, at most `most` of them, as close together as `steps` allow."""
    for step in steps:
        first, last = np.ceil(start / step - 1e-9), np.floor(end / step + 1e-9)
        if last - first < most:
            return np.asarray(np.arange(first, last + 1) * step + 0.0)
    return np.array([start, end])


def fitted(x: Floats, y: Floats, inside: Box, x_range: tuple[float, float], top: float) -> Floats:
    """(N, 2) pixels within a box: x over its range, y from 0 to `top`."""
    width = max(x_range[1] - x_range[0], 1e-9)
    return np.stack(
        [inside.x + (x - x_range[0]) / width * inside.width, inside.y + y / max(top, 1e-9) * inside.height], axis=-1
    )


def free_area(whole: Box, covering: Iterable[Box]) -> Box:
    """What is left of an area when what covers its sides is cut off: each on the side where it takes the least."""
    left, bottom, right, top = whole.x, whole.y, whole.x + whole.width, whole.y + whole.height
    for box in covering:
        x, y, x_end, y_end = box.x, box.y, box.x + box.width, box.y + box.height
        if min(box.width, box.height) <= 1 or x >= right or x_end <= left or y >= top or y_end <= bottom:
            continue
        cuts = {"left": x_end - left, "right": right - x, "bottom": y_end - bottom, "top": top - y}
        side = min(cuts, key=lambda name: cuts[name])
        if side == "left":
            left = x_end
        elif side == "right":
            right = x
        elif side == "bottom":
            bottom = y_end
        else:
            top = y
    return Box(left, bottom, max(right - left, 0.0), max(top - bottom, 0.0))


def near_rows(frames: Floats, wanted: Sequence[float]) -> Ints:
    """The row of `frames` (F,) nearest to each wanted frame, each row once, rising."""
    return np.unique([int(np.abs(frames - frame).argmin()) for frame in wanted])
