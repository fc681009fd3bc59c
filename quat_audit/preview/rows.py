# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames a contact sheet shows, the heat map of each, and what is written beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..clip import Floats
from ..skinning import heat
from ..skinning.heat import CUT, GAP, LOSS, Kind
from .figures import Measured, millimetres

MOST_ROWS = 4
# What moves less than this part of the mesh is nothing to look at.
LEAST_OF_MESH = 1e-4
# A frame that shows something else nearly as badly as its own worst frame does stands for both.
NEARLY = 0.98
# A row is filled with another peak of the gap when that is at least this part of the largest.
PEAK = 0.25
# Below this part of DQS's radius a joint is thin.
THIN = 0.98


@dataclass(frozen=True, eq=False)
class Row:
    """One frame of the sheet.

    Attributes:
        frame: its number in the clip (not the frame itself).
        kind: what its heat map shows.
        titles: what is worst here.
        joint: the joint that it is about, -1 for none.
        vertex: the vertex where it shows most, -1 for none.
        values: (V,) what the heat map shows.
    """

    frame: int
    kind: Kind
    titles: tuple[str, ...]
    joint: int
    vertex: int
    values: Floats


def choose(found: Measured) -> list[Row]:
    """One to MOST_ROWS rows: the worst frames of the gap, of the loss of a joint, of the influence cut, other peaks."""
    scan = found.scan
    gap = scan.gap.max(axis=1)
    wanted = [(int(gap.argmax()), GAP, f"Largest gap: {millimetres(float(gap.max()))}")]
    thinnest = found.thinnest
    if thinnest is not None and scan.radius[thinnest] < THIN:
        wanted.append((thinnest[0], LOSS, f"Thinnest joint: {_percent(scan.radius[thinnest])} of its radius"))
    least = LEAST_OF_MESH * scan.size_mm
    if scan.cut.max() > least:
        text = f"Cut to {scan.most} influences: {millimetres(float(scan.cut.max()))}"
        wanted.append((int(scan.cut.argmax()), CUT, text))
    merged: dict[tuple[int, Kind], list[str]] = {}
    for frame, kind, title in wanted:
        place = _standing_in(found, frame, kind, [at for at, _ in merged])
        shown = next((at for at in merged if at[0] == place and kind is not CUT), (place, kind))
        merged.setdefault(shown, []).append(title)
    for peak in _peaks(gap, least):
        if len(merged) >= MOST_ROWS:
            break
        if all(abs(peak - at) > 1 for at, _ in merged):
            merged[peak, GAP] = [f"Another peak: {millimetres(float(gap[peak]))}"]
    return [_row(found, frame, kind, tuple(titles)) for (frame, kind), titles in merged.items()]


def _standing_in(found: Measured, frame: int, kind: Kind, chosen: list[int]) -> int:
    """The frame, or a chosen one that shows the same nearly as badly."""
    scan = found.scan
    if kind == LOSS:
        lost = 1.0 - np.nanmin(scan.radius, axis=1)
        return next((at for at in chosen if lost[at] >= NEARLY * lost[frame]), frame)
    return frame


def _peaks(gap: Floats, least: float) -> list[int]:
    """Frames on which the gap is larger than before and no smaller than after, the largest first."""
    padded = np.concatenate([[-1.0], gap, [-1.0]])
    high = (padded[1:-1] > padded[:-2]) & (padded[1:-1] >= padded[2:]) & (gap >= max(least, PEAK * gap.max()))
    at = np.flatnonzero(high)
    return [int(frame) for frame in at[np.argsort(-gap[at], kind="stable")]]


def _row(found: Measured, frame: int, kind: Kind, titles: tuple[str, ...]) -> Row:
    scan = found.scan
    values = heat.heat(found.skin, found.motion.part(slice(frame, frame + 1)), kind, most=scan.most)[0]
    vertex = int(values.argmax()) if values.max(initial=0.0) > 0 else -1
    joint = int(scan.joints.of_vertex[vertex]) if vertex >= 0 else -1
    if kind == LOSS and found.thinnest is not None and frame == found.thinnest[0]:
        joint = found.thinnest[1]
        mine = np.where(scan.joints.of_vertex == joint, values, 0.0)
        vertex = int(mine.argmax()) if mine.max() > 0 else vertex
    return Row(frame, kind, titles, joint if joint < len(scan.joints) else -1, vertex, values)


def _percent(part: float) -> str:
    return f"{100.0 * part:.1f} %"
