# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames the open file plays: those of the scene, and those of the actions and NLA strips that play in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import bpy

from . import compat

# What Blender has: scenes begin at 0 or later, keys may lie anywhere.
MOST_FRAME = 1_048_574

Range = tuple[int, int]


def scene_range(scene: Any) -> Range:
    """(first, last) frame that the scene plays: its preview range where that is on."""
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end


def frames_of(span: Range) -> list[float]:
    """The frames from the first to the last."""
    return [float(frame) for frame in range(span[0], span[1] + 1)]


def played_range(objects: Iterable[Any]) -> Range | None:
    """(first, last) whole frame around all keys that play on some objects and their data; None where none does."""
    spans = [span for holder in _holders(objects) for _, span in _playing(holder.animation_data)]
    spans = [span for span in spans if all(map(math.isfinite, span))]
    if not spans:
        return None
    first, last = min(span[0] for span in spans), max(span[1] for span in spans)
    return max(math.floor(first), -MOST_FRAME), min(math.ceil(last), MOST_FRAME)


def posing(objects: Iterable[Any]) -> list[Any]:
    """The objects with all that move them: parents, targets of constraints and of drivers, and theirs in turn."""
    found: dict[Any, None] = {}
    waiting = list(objects)
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
        for fcurve in (fcurve for holder in _holders([obj]) for fcurve in holder.animation_data.drivers):
            targets = (target.id for variable in fcurve.driver.variables for target in variable.targets)
            waiting += [target for target in targets if isinstance(target, bpy.types.Object)]
    return list(found)


def is_animated(objects: Iterable[Any]) -> bool:
    """Whether anything may pose some objects differently on another frame."""
    every = posing(objects)
    constrained = (holder for obj in every for holder in (obj, *(obj.pose.bones if obj.pose is not None else ())))
    return next(_holders(every), None) is not None or any(len(holder.constraints) for holder in constrained)


def playing_actions(objects: Iterable[Any]) -> set[int]:
    """`session_uid` of the actions that play on some objects and their data."""
    return {action.session_uid for holder in _holders(objects) for action, _ in _playing(holder.animation_data)}


def _holders(objects: Iterable[Any]) -> Iterator[Any]:
    for obj in objects:
        for holder in (obj, obj.data):
            if getattr(holder, "animation_data", None) is not None:
                yield holder


def _playing(animation: Any) -> Iterator[tuple[Any, tuple[float, float]]]:
    """(action, (first, last) frame) of the active action and of each strip that plays."""
    action = animation.action
    if action is not None and _has_keys(action):
        yield action, tuple(action.curve_frame_range)
    if not animation.use_nla:
        return
    solo = [track for track in animation.nla_tracks if track.is_solo]
    for track in solo or animation.nla_tracks:
        if solo or not track.mute:
            for strip in track.strips:
                if strip.action is not None and not strip.mute:
                    yield strip.action, (strip.frame_start, strip.frame_end)


def _has_keys(action: Any) -> bool:
    # The range of an action without keys is frame 0, as is that of one with a key there.
    return any(len(fcurve.keyframe_points) for curve_set in compat.curve_sets(action) for fcurve in curve_set.fcurves)
