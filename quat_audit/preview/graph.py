# SPDX-License-Identifier: GPL-3.0-or-later
"""The curve of a preview: the gap over the clip, and below it what both methods leave of the thinnest joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats
from ..text import frame_words
from .drawing import INK, PANEL, PAPER, QUIET, RULE, STRONG, Color, Drawing, tick, ticks
from .figures import Measured, millimeters
from .rows import least_mm

WIDTH = 1200
LEFT, RIGHT, PLOT, GAP_BETWEEN, TOP, BOTTOM = 96, 300, 250, 64, 78, 62
LARGEST: Color = STRONG
MEAN: Color = (0.16, 0.42, 0.66)
LBS: Color = STRONG
DQS: Color = (0.10, 0.52, 0.36)
# With more frames than this, dots on a curve run together.
MOST_DOTS = 80


def graph(found: Measured, file: str) -> Drawing:
    """The curve as a drawing."""
    scan, joint = found.scan, found.thinnest
    plots = 1 if joint is None else 2
    drawing = Drawing(WIDTH, TOP + BOTTOM + plots * PLOT + (plots - 1) * GAP_BETWEEN)
    drawing.box(0, 0, drawing.width, drawing.height, PAPER)
    y = drawing.height - TOP
    drawing.label(f"{found.skin.mesh}: LBS against DQS over the clip", LEFT, y + 40, 26, WIDTH - LEFT - 24)
    action = f" · {found.motion.action}" if found.motion.action else ""
    drawing.label(f"{file}{action}", LEFT, y + 14, 16, WIDTH - LEFT - 24, color=QUIET)
    gap = scan.gap.max(axis=1)
    worst = int(gap.argmax())
    _plot(
        drawing,
        y - PLOT,
        scan.frames,
        [(gap, LARGEST, "largest gap"), (scan.gap_mean, MEAN, "mean gap")],
        top=max(float(gap.max()), least_mm(found)),
        unit="mm",
        marks=[(worst, f"{millimeters(float(gap[worst]))} at frame {frame_words(scan.frames[worst])}")],
    )
    if joint is not None:
        frame, number = joint
        kept = 100.0 * found.radius[:, :, number]
        if np.isnan(kept).all():
            kept = 100.0 * np.stack([scan.radius[:, number], np.ones(len(scan.frames))])
        _plot(
            drawing,
            y - 2 * PLOT - GAP_BETWEEN,
            scan.frames,
            [(kept[1], DQS, "radius kept by DQS"), (kept[0], LBS, "radius kept by LBS")],
            top=max(100.0, float(np.nanmax(kept))),
            unit="%",
            marks=[(frame, f"{kept[0, frame]:.1f} % at frame {frame_words(scan.frames[frame])}")],
            says=f"joint {scan.bones[number]}",
        )
    drawing.label("frame", LEFT + (WIDTH - LEFT - RIGHT) / 2, 18, 16, 200, align="CENTER", color=QUIET)
    return drawing


def _plot(
    drawing: Drawing,
    y: float,
    frames: Floats,
    curves: Sequence[tuple[Floats, Color, str]],
    *,
    top: float,
    unit: str,
    marks: Sequence[tuple[int, str]],
    says: str = "",
) -> None:
    """One plot with its lower edge at y; a mark is on the curve that is named first, or last below 100 %."""
    x0, x1 = float(LEFT), float(WIDTH - RIGHT)
    at = ticks(top)
    high = max(top, at[-1]) * 1.08 or 1.0
    first, last = float(frames[0]), float(frames[-1])
    span = last - first

    def x(frame: Floats) -> Floats:
        return x0 + (x1 - x0) * ((frame - first) / span if span > 0 else np.full_like(frame, 0.5))

    def up(value: Floats) -> Floats:
        return y + PLOT * np.clip(value, 0.0, high) / high

    drawing.box(x0, y, x1, y + PLOT, PANEL)
    for value in at:
        height = float(up(np.array(value)))
        drawing.line([(x0, height), (x1, height)], RULE, 1.2, 100.0)
        drawing.label(tick(value), x0 - 10, height - 5, 16, LEFT - 30, align="RIGHT", color=QUIET)
    drawing.label(unit, x0 - 10, y + PLOT - 2, 16, LEFT - 30, align="RIGHT", color=INK)
    for frame in _frame_ticks(first, last):
        left = float(x(np.array(frame)))
        drawing.line([(left, y), (left, y - 6)], QUIET, 1.5)
        drawing.label(frame_words(frame), left, y - 24, 16, 80, align="CENTER", color=QUIET)
    drawing.line([(x0, y + PLOT), (x0, y), (x1, y)], QUIET, 1.5)
    for number, (values, color, name) in enumerate(curves):
        good = np.isfinite(values)
        points = list(zip(x(frames[good]).tolist(), up(values[good]).tolist(), strict=True))
        if points:
            drawing.line(points, color, 3.0, 200.0 + number)
            if len(points) <= MOST_DOTS:
                drawing.dots(points, color, 8.0, 210.0 + number)
        key = y + PLOT - 26 - 30 * number
        drawing.line([(x1 + 24, key + 6), (x1 + 52, key + 6)], color, 4.0)
        drawing.label(name, x1 + 62, key, 18, RIGHT - 86)
    if says:
        drawing.label(says, x1 + 24, y + PLOT - 26 - 30 * len(curves), 16, RIGHT - 48, color=QUIET)
    marked, color = (curves[-1][0], curves[-1][1]) if unit == "%" else (curves[0][0], curves[0][1])
    for number, text in marks:
        left, height = float(x(frames[number : number + 1])[0]), float(up(marked[number : number + 1])[0])
        drawing.line([(left, y), (left, y + PLOT)], QUIET, 1.2, 150.0)
        drawing.dots([(left, height)], color, 16.0, 220.0)
        drawing.dots([(left, height)], PANEL, 7.0, 221.0)
        drawing.label(text, x1 + 24, y + 24, 18, RIGHT - 48, color=color)


def _frame_ticks(first: float, last: float) -> list[float]:
    """Round frames from the first to the last, whole ones where there are any."""
    if last <= first:
        return [first]
    step = max(1.0, ticks(last - first, 10)[1]) if last - first >= 1 else (last - first)
    start = np.ceil(first / step) * step
    return [float(frame) for frame in np.arange(start, last + 1e-9, step)]
