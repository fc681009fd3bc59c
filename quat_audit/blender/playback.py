# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames the open file plays: those of the scene, and those of the actions and NLA strips that play in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from . import compat

# What Blender has: scenes begin at 0 or later, keys may lie anywhere.
MOST_FRAME = 1_048_574

Range = tuple[int, int]


def scene_range(scene: Any) -> Range:
    """(first, last) frame that the scene plays: its preview range where that is on."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def scene_frames(scene: Any) -> list[float]:
    """The frames of the scene's playback range."""
    return frames_of(scene_range(scene))


def frames_of(span: Range) -> list[float]:
    """The frames from the first to the last."""
    return [float(frame) for frame in range(span[0], span[1] + 1)]


def played_range(objects: Iterable[Any]) -> Range | None:
    """(first, last) whole frame around all keys that play on some objects and their data; None where none does."""
    spans = [span for holder in _holders(objects) for span in _spans(holder.animation_data)]
    spans = [span for span in spans if all(map(math.isfinite, span))]
    if not spans:
        return None
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    return max(math.floor(first), -MOST_FRAME), min(math.ceil(last), MOST_FRAME)


def posing(rigs: Iterable[Any]) -> list[Any]:
    """The armatures with all objects that move them: parents and targets of constraints, and theirs in turn."""
    found: dict[Any, None] = {}
    waiting = list(rigs)
    while waiting:
        obj = waiting.pop()
        if obj is None or obj in found:
            continue
        found[obj] = None
        waiting.append(obj.parent)
        constrained = [obj, *(obj.pose.bones if obj.pose is not None else ())]
        for constraint in (c for holder in constrained for c in holder.constraints):
            several = getattr(constraint, "targets", ())  # of an Armature constraint
            waiting += [getattr(constraint, "target", None), *(one.target for one in several)]
    return list(found)


def _holders(objects: Iterable[Any]) -> Iterator[Any]:
    for obj in objects:
        for holder in (obj, obj.data):
            if getattr(holder, "animation_data", None) is not None:
                yield holder


def _spans(animation: Any) -> Iterator[tuple[float, float]]:
    """(first, last) frame of the active action and of each strip that plays."""
    action = animation.action
    if action is not None and _has_keys(action):
        yield tuple(action.curve_frame_range)
    if not animation.use_nla:
        return
    solo = [track for track in animation.nla_tracks if track.is_solo]
    for track in solo or animation.nla_tracks:
        if solo or not track.mute:
            yield from ((strip.frame_start, strip.frame_end) for strip in track.strips if not strip.mute)


def _has_keys(action: Any) -> bool:
    # The range of an action without keys is frame 0, as is that of one with a key there.
    return any(len(fcurve.keyframe_points) for curve_set in compat.curve_sets(action) for fcurve in curve_set.fcurves)
