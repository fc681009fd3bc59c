# SPDX-License-Identifier: GPL-3.0-or-later
"""The layers of an animation stack: which of them mix with others, and what of an action each shows.

Layers are NLA strips, those within meta strips too, and on top the active action.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..motion.clip import QUATERNION
from ..motion.readers import Drawn
from ..text import Text
from . import compat, users
from .users import Key, Users

# Repeats of a strip whose frames are told apart; of more, the frames of these.
_MOST_REPEATS = 64


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer of an animation stack, the lowest first: a strip, or the active action (strip None)."""

    key: Key | None
    strip: Any
    counts: bool  # it is evaluated as the file is now
    start: float
    end: float
    mixes: str  # why it does not replace what lies below, "" when it does
    quaternions: bool  # where it mixes: quaternions too
    holds: str  # its extrapolation


def layers_of(players: Users, datablock: Any) -> list[Layer]:
    """The animation layers of an ID: looked up once, however many slots it plays."""
    pointer = datablock.as_pointer()
    if pointer not in players.stacks:
        players.stacks[pointer] = _layers(datablock.animation_data)
    return players.stacks[pointer]


def _layers(data: Any) -> list[Layer]:
    items: list[Layer] = []
    strips = list(users.strips_of(data))
    transitions = [(track, strip) for track, strip, _ in strips if strip.type == "TRANSITION"]
    for track, strip, counts in strips:
        keys = users.keys_of(strip)
        mixes = _mixes(strip)
        if any(track == other and _touch(strip, transition) for other, transition in transitions):
            mixes = Text("a transition mixes it")
        only_sums = not mixes and strip.blend_type == "COMBINE"
        items.append(
            Layer(
                key=keys[0] if keys else None,
                strip=strip,
                counts=counts,
                start=strip.frame_start,
                end=strip.frame_end,
                mixes=_blend_mode(strip.blend_type) if only_sums else mixes,
                quaternions=not only_sums,
                holds=strip.extrapolation,
            )
        )
    action = data.action_tweak_storage if data.use_tweak_mode else data.action
    handle = compat.stored_slot_handle(data) if data.use_tweak_mode else compat.slot_handle(data)
    keys = users.keys_of_action(action, handle)
    if keys:
        mixes, only_sums = "", False
        if items and data.action_influence < 1.0:
            mixes = Text("its influence is below 1")
        elif items and data.action_blend_type != "REPLACE":
            mixes, only_sums = _blend_mode(data.action_blend_type), data.action_blend_type == "COMBINE"
        on = users.action_counts(data)
        items.append(Layer(keys[0], None, on, -np.inf, np.inf, mixes, not only_sums, data.action_extrapolation))
    return items


def _blend_mode(mode: str) -> Text:
    return Text("its blend mode is {mode}", {"mode": mode})


def _touch(strip: Any, transition: Any) -> bool:
    return strip.type != "TRANSITION" and (
        abs(strip.frame_end - transition.frame_start) < 1e-3 or abs(strip.frame_start - transition.frame_end) < 1e-3
    )


def _mixes(strip: Any) -> str:
    """Why a strip mixes with what lies below it, the identity below all others; "" when it replaces that.

    COMBINE in full multiplies quaternions, which no sign changes, and is asked for apart. The influence of a meta strip
    counts for nothing.
    """
    if strip.blend_type in ("ADD", "SUBTRACT", "MULTIPLY"):
        return _blend_mode(strip.blend_type)
    if strip.use_animated_influence:
        curve = strip.fcurves.find("influence")
        values = [point.co[1] for point in curve.keyframe_points] if curve is not None else []
        plain = curve is None or not len(curve.modifiers)
        return "" if plain and min(values, default=strip.influence) >= 1.0 else Text("its influence is below 1")
    if strip.blend_in > 0.0 or strip.blend_out > 0.0:
        return Text("it blends in or out")
    return ""


def mixing(
    players: Users,
    stack: Sequence[Layer],
    number: int,
    rotations: Mapping[str, tuple[str, str]],
    keyed: Iterable[tuple[str, int]],
) -> tuple[str, frozenset[str]]:
    """Why, and on which rotations, a layer does not play alone: by itself, or since another is mixed over it.

    Whether they are muted does not matter here: each may be switched on.

    Args:
        rotations: data path → (bone, property) of those that the layer keys.
        keyed: (data path, component) of its curves.
    """
    item = stack[number]
    sums = {path for path, (_, prop) in rotations.items() if users.ROTATIONS[prop] != QUATERNION}
    paths = (set(rotations) if item.quaternions else sums) if item.mixes else set()
    why = item.mixes if paths else ""
    mine = {path for path, _ in keyed if path in rotations}
    for upper in stack[number + 1 :]:
        if upper.mixes and upper.key is not None and _meet(item, upper):
            theirs = {path for path, _ in players.curves(upper.key)}
            shared = mine & theirs & (mine if upper.quaternions else sums)
            paths |= shared
            if shared and not why:
                name = upper.strip.name if upper.strip is not None else ""
                why = (
                    Text("the strip {name!r} is mixed over it", {"name": name})
                    if name
                    else Text("the active action is mixed over it")
                )
    return why, frozenset(paths)


def covered(
    players: Users, plays: tuple[Key, ...], stack: Sequence[Layer], number: int, among: Iterable[str]
) -> frozenset[str]:
    """Which of some data paths a layer below plays now. plays: all that the ID plays."""
    below = {item.key for item in stack[:number] if item.counts} - {stack[number].key}
    curves = players.animated(plays) if below else {}
    return frozenset(
        path for path in among if any(not below.isdisjoint(curves.get((path, part), ())) for part in range(4))
    )


def _meet(lower: Layer, upper: Layer) -> bool:
    """Whether something of the lower layer plays while the upper one does."""
    if lower.holds == "HOLD":
        return True
    if lower.holds == "HOLD_FORWARD":
        return upper.end > lower.start
    return upper.end > lower.start and upper.start < lower.end


def drawn(datablock: Any, strip: Any) -> tuple[Drawn, ...]:
    """The times of the action that the scenes of an ID show, as its active action or by a strip."""
    scenes = list(getattr(datablock, "users_scene", ())) or [bpy.context.scene or bpy.data.scenes[0]]
    found: dict[Drawn, None] = {}
    for scene in scenes:
        # Time remapping: the picture of frame f shows the time f * old / new.
        step = scene.render.frame_map_old / scene.render.frame_map_new
        if strip is None:
            found[Drawn(0.0, step)] = None
        else:
            found |= dict.fromkeys(_drawn_by_strip(strip, step))
    return tuple(found)


def _drawn_by_strip(strip: Any, step: float) -> Iterator[Drawn]:
    first, last = float(strip.action_frame_start), float(strip.action_frame_end)
    if strip.use_animated_time:
        curve = strip.fcurves.find("strip_time")
        if curve is not None:
            shown = np.arange(np.ceil(strip.frame_start / step), np.floor(strip.frame_end / step) + 1.0) * step
            times = np.array([curve.evaluate(time) for time in shown.tolist()])
            if strip.use_animated_time_cyclic and last > first:
                times = np.fmod(times - first, last - first)  # as Blender has it: it does not add `first` again
            times = np.unique(times)
            yield Drawn(times=tuple(times[(times >= first) & (times <= last)].tolist()) or (first,))
            return
    scale = strip.scale or 1.0
    length, spacing = last - first, step / scale
    phases: dict[float, None] = {}
    for cycle in range(min(max(int(np.ceil(strip.repeat - 1e-6)), 1), _MOST_REPEATS)):
        offset = strip.frame_start / scale + cycle * length
        # The time at scene time 0 of this cycle; frames lie at whole steps from there.
        phase = last + offset if strip.use_reverse else first - offset
        phases[round(phase % spacing, 6) % spacing] = None
    yield from (Drawn(phase, spacing, first, last) for phase in phases)
