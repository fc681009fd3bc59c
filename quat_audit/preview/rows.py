# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames a contact sheet shows, the heat map of each, and what is written beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..skinning import heat
from ..skinning.heat import CUT, GAP, LOSS, HeatMap
from .figures import Measured, millimeters

MOST_ROWS = 4
# What moves less than this part of the mesh is nothing to look at.
LEAST_OF_MESH = 1e-4
# A frame that shows something else nearly as badly as its own worst frame does stands for both.
NEARLY = 0.98
# Rows that are left are for the worst frames of other joints, where these lose at least this part of the largest gap.
OTHER, MOST_WITH_OTHERS = 0.25, 3
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
    kind: HeatMap
    titles: tuple[str, ...]
    joint: int
    vertex: int
    values: Floats


def choose(found: Measured) -> list[Row]:
    """One to MOST_ROWS rows: the worst frames of the gap, of a joint's loss, of the influence cut, of other joints."""
    scan = found.scan
    gap, least = scan.gap.max(axis=1), least_mm(found)
    if gap.max() < least and scan.cut.max() < least:
        frame = int(gap.argmax())
        return [Row(frame, GAP, ("LBS and DQS give the same shape",), -1, -1, np.zeros(len(found.skin)))]
    first = int(gap.argmax())
    wanted = {(first, GAP): [f"Largest gap: {millimeters(float(gap.max()))}"]}
    thinnest = found.thinnest
    if thinnest is not None and scan.radius[thinnest] < THIN:
        frame, joint = thinnest
        lost = 1.0 - np.fmin.reduce(scan.radius, axis=1)  # NaN on a frame on which no joint has a radius
        key = (first, GAP) if lost[first] >= NEARLY * lost[frame] else (frame, LOSS)
        text = f"Thinnest: {scan.bones[joint]}, {100.0 * scan.radius[thinnest]:.1f} % of DQS"
        wanted.setdefault(key, []).append(text)
    if scan.cut.max() > least:
        text = f"Cut to {scan.most} influences: {millimeters(float(scan.cut.max()))}"
        wanted[int(scan.cut.argmax()), CUT] = [text]
    rows = [_row(found, frame, kind, tuple(titles)) for (frame, kind), titles in wanted.items()]
    for joint, frame in _joints(found, least):
        if len(rows) >= MOST_WITH_OTHERS:
            break
        if all(row.joint != joint and row.frame != frame for row in rows):
            text = f"Also {scan.bones[joint]}: {millimeters(float(scan.gap[frame, joint]))}"
            rows.append(_row(found, frame, GAP, (text,), joint))
    return rows


def least_mm(found: Measured) -> float:
    """What is no more than this is nothing to look at."""
    return max(LEAST_OF_MESH * found.scan.size_mm, 1e-9)


def _joints(found: Measured, least: float) -> list[tuple[int, int]]:
    """(joint, its worst frame), the largest gap first."""
    gap = found.scan.gap[:, :-1]
    worst = gap.max(axis=0)
    many = np.argsort(-worst, kind="stable")
    return [(int(j), int(gap[:, j].argmax())) for j in many if worst[j] >= max(least, OTHER * found.scan.gap.max())]


def _row(found: Measured, frame: int, kind: HeatMap, titles: tuple[str, ...], joint: int = -1) -> Row:
    """A row; without a joint it is about the one where its figure is largest."""
    scan = found.scan
    values = heat.heat(found.skin, found.motion.part(slice(frame, frame + 1)), kind, most=scan.most)[0]
    if kind == LOSS and found.thinnest is not None:
        joint = found.thinnest[1]
    mine = np.where(scan.joints.of_vertex == joint, values, 0.0) if joint >= 0 else values
    if not mine.max(initial=0.0) > 0:
        return Row(frame, kind, titles, joint, -1, values)
    vertex = int(mine.argmax())
    at = int(scan.joints.of_vertex[vertex])
    return Row(frame, kind, titles, at if at < len(scan.joints) else -1, vertex, values)
