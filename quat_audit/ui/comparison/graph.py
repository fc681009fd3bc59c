# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after as a graph: the angle over time, in the lower right corner of the viewport, left of the sidebar."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...comparison import layout
from ...comparison.layout import Box
from ...findings.finding import Figure
from ...text import Text
from .. import canvas
from ..wording import figure, frame_number, say, wrapped
from .view import AFTER, BEFORE, DARK, KEYED

# Size in interface units, and what has to be free for the smallest one.
WIDTH, HEIGHT, LEAST_WIDTH, LEAST_HEIGHT, GAP = 360.0, 230.0, 200.0, 150.0, 12.0
_GREY = (1.0, 1.0, 1.0, 0.14)
_WORDS = (0.92, 0.92, 0.92, 1.0)


def draw(context: Any, shown: Any) -> None:
    """The graph in the region that is drawn; nothing where there is no room for it."""
    unit = context.preferences.system.ui_scale
    outside = room_for_graph(context, unit)
    if outside is None:
        return
    canvas.rectangle(*outside, (0.08, 0.08, 0.08, 0.88))
    points = 11.0 * unit
    inside = _words(outside, shown, points, unit)
    _curves(inside, shown, points, unit, context.scene.frame_current_final)
    canvas.done()


def room_for_graph(context: Any, unit: float) -> Box | None:
    """Where the box goes in the region, in its pixels; None where there is no room."""
    own = context.region
    covering = [
        Box(r.x - own.x, r.y - own.y, r.width, r.height)
        for r in (context.area.regions if context.area is not None else ())
        if r.type in {"UI", "TOOLS", "HEADER", "TOOL_HEADER", "ASSET_SHELF", "ASSET_SHELF_HEADER"}
    ]
    free = layout.free_area(Box(0, 0, own.width, own.height), covering)
    gap = GAP * unit
    width = min(WIDTH * unit, 0.6 * free.width)
    height = min(HEIGHT * unit, 0.5 * free.height)
    if width < LEAST_WIDTH * unit or height < LEAST_HEIGHT * unit:
        return None
    return Box(free.x + free.width - width - gap, free.y + gap, width, height)


def _words(box: Box, shown: Any, points: float, unit: float) -> Box:
    """Title, legend and remark; what is left is for the curves."""
    angles = shown.angles
    x, line = box.x + 10 * unit, 1.55 * points
    width, y = box.width - 20 * unit, box.y + box.height - 1.5 * points
    title = Text(
        "{bone}: angle from the pose at frame {frame}",
        {"bone": shown.label, "frame": frame_number(float(angles.time[0]))},
    )
    for part in _wrapped(say(title), width, points)[:2]:
        canvas.text(part, x, y, points, _WORDS)
        y -= line
    between = {"first": frame_number(angles.step[0]), "second": frame_number(angles.step[1])}
    was, now = ({"degrees": figure(Figure(swept, "°")), **between} for swept in angles.swept_deg)
    for words, color in (
        (Text("before: turns {degrees} from frame {first} to {second}", was), BEFORE),
        (Text("after: turns {degrees} from frame {first} to {second}", now), AFTER),
    ):
        sample = np.array([[x, y + 0.35 * points], [x + 24 * unit, y + 0.35 * points]])
        if color is AFTER:
            canvas.lines(layout.segments(sample), (*color, 1.0), 3.5 * unit)
        else:
            canvas.lines(layout.dashes(sample, 6 * unit, 3 * unit), (*color, 1.0), 2.0 * unit)
        said = _wrapped(say(words), width - 32 * unit, points)
        canvas.text(said[0], x + 32 * unit, y, points, (*color, 1.0))
        y -= line
    bottom = box.y + 2.2 * points
    remarks = [part for remark in shown.remarks for part in _wrapped(say(remark), width, points)]
    for part in reversed(remarks):
        canvas.text(part, x, bottom - 1.5 * points, points, (1.0, 0.85, 0.4, 1.0))
        bottom += line
    left = x + canvas.text_width("180°", points) + 4 * unit
    return Box(left, bottom + 0.3 * points, box.x + box.width - 14 * unit - left, max(y - bottom - 0.1 * points, 1.0))


def _wrapped(words: str, width: float, points: float) -> tuple[str, ...]:
    return wrapped(words, width, lambda part: canvas.text_width(part, points))


def _curves(box: Box, shown: Any, points: float, unit: float, now: float) -> None:
    angles = shown.angles
    start, end = float(angles.time[0]), float(angles.time[-1])
    highest = np.nanmax([angles.before_deg.max(initial=0.0), angles.after_deg.max(initial=0.0), 0.1])
    top = 1.12 * float(highest)

    def at(x: Any, y: Any) -> Any:
        return layout.fitted(np.asarray(x, dtype=float), np.asarray(y, dtype=float), box, (start, end), top)

    for value in layout.ticks(0.0, top, max(2, int(box.height / (2.2 * points))), layout.DEGREE_STEPS):
        line = at([start, end], [value, value])
        canvas.lines(layout.segments(line), _GREY, 1.0)
        words = f"{value + 0.0:g}°"
        left = box.x - 6 * unit - canvas.text_width(words, points)
        canvas.text(words, left, line[0, 1] - 0.35 * points, points, _WORDS)
    most = max(2, int(box.width / (canvas.text_width("0000", points) + 8 * unit)))
    for value in layout.ticks(start, end, most, layout.FRAME_STEPS):
        line = at([value, value], [0.0, top])
        canvas.lines(layout.segments(line), _GREY, 1.0)
        words = frame_number(float(value))
        canvas.text(words, line[0, 0] - 0.5 * canvas.text_width(words, points), box.y - 1.3 * points, points, _WORDS)
    if start <= now <= end:
        canvas.lines(layout.segments(at([now, now], [0.0, top])), (0.35, 0.6, 1.0, 1.0), 1.5 * unit)
    before, after = at(angles.time, angles.before_deg), at(angles.time, angles.after_deg)
    canvas.lines(layout.segments(after), (*AFTER, 1.0), 3.5 * unit)
    canvas.lines(layout.dashes(before, 6 * unit, 3 * unit), (*BEFORE, 1.0), 2.0 * unit)
    _difference(box, shown, at, points, unit)
    for keys, color, number in ((angles.keys_before, BEFORE, 0), (angles.keys_after, KEYED, 1)):
        dots = at(keys, angles.at(keys)[number])
        canvas.discs(dots, 4.0 * unit, (*DARK, 1.0))
        canvas.discs(dots, 2.8 * unit, (*color, 1.0))


def _difference(box: Box, shown: Any, at: Any, points: float, unit: float) -> None:
    """A bar from curve to curve where the rotations are furthest apart, and by how much."""
    angles = shown.angles
    frame = angles.difference_frame
    low, high = sorted(float(v[0]) for v in angles.at(np.array([frame])))
    bar = at([frame, frame], [low, high])
    if not np.isfinite(bar).all():
        return
    canvas.lines(layout.segments(bar), (*KEYED, 0.8), 1.5 * unit)
    words = say(Text("{degrees} apart", {"degrees": figure(Figure(angles.difference_deg, "°"))}))
    width = canvas.text_width(words, points)
    x = bar[1, 0] + 6 * unit
    if x + width > box.x + box.width:
        x = bar[1, 0] - 6 * unit - width
    canvas.text(words, x, bar[1, 1] - 0.9 * points, points, (*KEYED, 1.0))
