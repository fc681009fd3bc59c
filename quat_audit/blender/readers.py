# SPDX-License-Identifier: GPL-3.0-or-later
"""Who reads the keys of a slot, found in one place for every Blender version (`motion/readers.py` has the record).

Readers are: the users of the action, each NLA strip (muted and stashed ones too), Action constraints, and drivers that
take a component of a rotation as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from mathutils import Quaternion

from ..motion.clip import EULER, EULER_ORDERS, QUATERNION, RotationKind, kind_played
from ..motion.readers import Connected, Drawn, Fill, Reader, Unbound, Way
from ..text import Text
from . import compat, users
from .users import Key, Played, User, Users

# What the NLA and an Action constraint take for a component that has no curve. (Euler components that no strip keys
# keep the pose in the NLA.)
_IDENTITY: Mapping[RotationKind, Fill] = {
    "QUATERNION": (1.0, 0.0, 0.0, 0.0),
    "EULER": (0.0, 0.0, 0.0, 0.0),
    "AXIS_ANGLE": (0.0, 0.0, 1.0, 0.0),
}
_UNKNOWN: Fill = (np.nan, np.nan, np.nan, np.nan)
# A rotation mode that has keys of its own: none can be said of it.
ANIMATED = "ANIMATED"
# Repeats of a strip whose frames are told apart; of more, the frames of these.
_MOST_REPEATS = 64


@dataclass(frozen=True, eq=False)
class _Slot:
    """What is asked about: a slot, the rotations that it keys, and which of their components have curves."""

    key: Key
    rotations: Mapping[str, tuple[str, str]]
    keyed: frozenset[tuple[str, int]]


def find_readers(
    players: Users,
    who: Sequence[User],
    key: Key,
    rotations: Mapping[str, tuple[str, str]],
    keyed: Iterable[tuple[str, int]],
) -> tuple[Reader, ...]:
    """The readers of a slot; those that play it now come first.

    Args:
        players: all users of the file.
        who: the ones of this slot.
        key: the slot.
        rotations: data path → (bone, property) of the rotations that it keys.
        keyed: (data path, component) of its curves.
    """
    slot = _Slot(key, rotations, frozenset(keyed))
    found = [reader for user in who for reader in _readers_of(players, user, slot)]
    return tuple(sorted(found, key=lambda reader: (reader.route == "driver", reader.muted)))


def as_read(read_by: Iterable[Reader], path: str) -> Played:
    """How the readers of a slot play one of its rotations; the first one gives Euler order and values."""
    ways = [reader.ways[path] for reader in read_by if path in reader.ways]
    modes = tuple(dict.fromkeys(way.mode for way in ways if way.mode != ANIMATED))
    order = next((mode for mode in modes if mode in EULER_ORDERS), "XYZ")
    return Played(modes, order, ways[0].fill if ways else None)


def not_evaluated(action: str, read_by: Iterable[Reader]) -> Iterator[tuple[str, str]]:
    """(what, why) of the rotations whose mode has keys of its own."""
    animated = {path for reader in read_by for path, way in reader.ways.items() if way.mode == ANIMATED}
    for path in sorted(animated):
        why = Text("its rotation mode is animated, so whether its keys play is not judged")
        yield f"{action}: {path}", why


def find_unbound(players: Users, key: Key, paths: Iterable[str]) -> tuple[Unbound, ...]:
    """Who has the action of a slot, is bound to none of its slots or to one without curves, and would suit this one."""
    uid, handle = key
    found = []
    for holder in players.holders.get(uid, ()):
        if holder.handle == handle or (holder.handle and players.has_curves((uid, holder.handle))):
            continue
        suitable = [other for other in compat.suitable_slots(holder.player) if players.has_curves((uid, other))]
        if handle in suitable and any(users.resolves(holder.datablock, path) for path in paths):
            bound_to = holder.player.action_slot
            found.append(
                Unbound(
                    owner=holder.name,
                    by=holder.strip,
                    slot=bound_to.name_display if bound_to is not None else "",
                    muted=holder.muted,
                    number=holder.number,
                    fits=suitable == [handle],
                )
            )
    return tuple(found)


# The location of a bone; its name is a string literal of RNA.
_LOCATION = re.compile(r"""pose\.bones\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]\.location""", re.DOTALL)


def find_connected(who: Sequence[User], paths: Iterable[str]) -> tuple[Connected, ...]:
    """The bones that are connected to their parents, of the locations among some data paths."""
    rigs = [user for user in who if user.is_object and user.datablock.type == "ARMATURE"]
    stuck = {u.name: {b.name for b in u.datablock.data.bones if b.use_connect and b.parent is not None} for u in rigs}
    if not any(stuck.values()):
        return ()
    found = []
    for path in dict.fromkeys(path for path in paths if path.endswith("].location")):
        match = _LOCATION.fullmatch(path)
        if match is None:
            continue
        name = bpy.utils.unescape_identifier(match[1] if match[1] is not None else match[2])
        have = [user for user in rigs if name in user.datablock.data.bones]
        caught = [user for user in have if name in stuck[user.name]]
        if caught:
            obj = caught[0].datablock
            scene = (list(obj.users_scene) or [bpy.context.scene or bpy.data.scenes[0]])[0]
            size = max(abs(value) for value in obj.matrix_world.to_scale())
            mm = 1000.0 * size * scene.unit_settings.scale_length
            found.append(Connected(path, name, obj.name, mm, len(caught) == len(have)))
    return tuple(found)


def _readers_of(players: Users, user: User, slot: _Slot) -> Iterator[Reader]:
    datablock = user.datablock
    base = Reader(
        owner=user.name,
        linked=datablock.library is not None or datablock.override_library is not None,
        rivals=_rivals(players, user, slot),
    )
    data = datablock.animation_data
    if data is not None:
        stack = _stack(datablock, data)
        in_nla = any(item.counts for item in stack if item.strip is not None)
        for number, item in enumerate(stack):
            if item.key == slot.key:
                yield replace(
                    base,
                    route="strip" if item.strip is not None else "action",
                    by=item.strip.name if item.strip is not None else "",
                    muted=not item.counts,
                    ways=_ways(players, user, slot, nla=in_nla or item.strip is not None),
                    drawn=_drawn(datablock, item.strip),
                    **_mixing(players, stack, number, slot),
                )
    if user.is_object:
        yield from _constraints(base, user, slot)
    yield from _drivers(players, user, slot)


def _rivals(players: Users, user: User, slot: _Slot) -> frozenset[str]:
    """Data paths that other actions of the user key, muted ones too."""
    if all(key == slot.key for key in user.plays):
        return frozenset()
    curves = players.animated(user.plays)
    bones = {path.rpartition(".")[0] for path in slot.rotations}
    return frozenset(
        path
        for (path, _), keys in curves.items()
        if path.rpartition(".")[0] in bones and any(key != slot.key for key in keys)
    )


def _ways(players: Users, user: User, slot: _Slot, *, nla: bool) -> dict[str, Way]:
    found = {}
    for path, (bone, prop) in slot.rotations.items():
        holder = users.holder_of(user, bone)
        if holder is None:
            continue
        kind = users.ROTATIONS[prop]
        absent = [c for c in range(3 if kind == EULER else 4) if (path, c) not in slot.keyed]
        fill = _IDENTITY[kind]
        if absent:
            stored = [*getattr(holder, prop), 0.0][:4]
            if nla and kind == QUATERNION:
                stored = list(_IDENTITY[kind])
            else:
                for component in users.animated_elsewhere(players, user, path, slot.key):
                    stored[component] = np.nan
            # What has a curve needs no value, and what is stored there is the pose of the frame.
            w, x, y, z = (stored[c] if c in absent else fill[c] for c in range(4))
            fill = (w, x, y, z)
        found[path] = Way(mode_of(players, user, holder, path), fill, _instead(holder, prop))
    return found


def _instead(holder: Any, prop: str) -> Fill:
    """The rotation that a bone or object has stored in its own mode, where that does not play a property."""
    if kind_played(holder.rotation_mode) == users.ROTATIONS[prop]:
        return _UNKNOWN
    if prop.startswith("delta_"):
        shown = holder.delta_rotation_euler.to_quaternion() if users.ROTATIONS[prop] != EULER else None
        w, x, y, z = shown if shown is not None else holder.delta_rotation_quaternion
    elif holder.rotation_mode == "QUATERNION":
        w, x, y, z = holder.rotation_quaternion
    elif holder.rotation_mode == "AXIS_ANGLE":
        angle, *axis = holder.rotation_axis_angle
        w, x, y, z = Quaternion(axis, angle)
    else:
        w, x, y, z = holder.rotation_euler.to_quaternion()
    return (w, x, y, z)


def mode_of(players: Users, user: User, holder: Any, path: str) -> str:
    """The rotation mode of a bone or object; ANIMATED where an action of the user keys it."""
    head = path.rpartition(".")[0]
    mode_path = f"{head}.rotation_mode" if head else "rotation_mode"
    if (mode_path, 0) in players.animated(user.plays):
        return ANIMATED
    mode: str = holder.rotation_mode
    return mode


def _constraints(base: Reader, user: User, slot: _Slot) -> Iterator[Reader]:
    """Action constraints: each reads the curves of its own bone (or of the object)."""
    bones = user.datablock.pose.bones if user.datablock.pose is not None else ()
    by_bone: dict[str, list[str]] = {}
    for path, (bone, _) in slot.rotations.items():
        by_bone.setdefault(bone, []).append(path)
    found: dict[tuple[str, bool], dict[str, Way]] = {}
    for name, holder in (("", user.datablock), *((bone.name, bone) for bone in bones)):
        for constraint in holder.constraints:
            if constraint.type != "ACTION" or slot.key not in users.keys_of(constraint):
                continue
            ways = found.setdefault((constraint.name, constraint.mute or constraint.influence == 0.0), {})
            for path in by_bone.get(name, ()):
                ways[path] = Way(holder.rotation_mode, _IDENTITY[users.ROTATIONS[slot.rotations[path][1]]])
    for (name, muted), ways in found.items():
        # It can ask for any time of the action.
        yield replace(base, route="constraint", by=name, muted=muted, ways=ways, drawn=(Drawn(spacing=0.0),))


def _drivers(players: Users, user: User, slot: _Slot) -> Iterator[Reader]:
    found: dict[tuple[str, str, bool], set[tuple[str, int]]] = {}
    for read in players.driver_reads(user.datablock):
        if read.data_path in slot.rotations:
            found.setdefault((read.owner, read.driven, read.muted), set()).add((read.data_path, read.component))
    for (owner, driven, muted), reads in found.items():
        yield Reader(owner=owner, route="driver", by=driven, muted=muted, reads=frozenset(reads))


# The NLA ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Item:
    """A layer of an animation stack, the lowest first: a strip, or the active action (strip None)."""

    key: Key | None
    strip: Any
    counts: bool  # it is evaluated as the file is now
    start: float
    end: float
    mixes: str  # why it does not replace what lies below, "" when it does
    holds: str  # its extrapolation


def _stack(datablock: Any, data: Any) -> list[_Item]:
    items: list[_Item] = []
    solo = any(track.is_solo for track in data.nla_tracks)
    for track in data.nla_tracks:
        track_counts = track.is_solo if solo else not track.mute
        transitions = [strip for strip in track.strips if strip.type == "TRANSITION" and not strip.mute]
        for strip in users.strips_of(track.strips):
            keys = users.keys_of(strip)
            mixes = _mixes(strip, lowest=not any(item.counts for item in items))
            if any(_touch(strip, other) for other in transitions):
                mixes = Text("a transition mixes it")
            items.append(
                _Item(
                    key=keys[0] if keys else None,
                    strip=strip,
                    counts=track_counts and not strip.mute,
                    start=strip.frame_start,
                    end=strip.frame_end,
                    mixes=mixes,
                    holds=strip.extrapolation,
                )
            )
    action = data.action_tweak_storage if data.use_tweak_mode else data.action
    handle = compat.stored_slot_handle(data) if data.use_tweak_mode else compat.slot_handle(data)
    keys = users.keys_of_action(action, handle)
    if keys:
        mixes = ""
        if data.action_blend_type != "REPLACE" and any(item.counts for item in items):
            mixes = Text("its blend mode is {mode}", {"mode": data.action_blend_type})
        elif data.action_influence < 1.0:
            mixes = Text("its influence is below 1")
        items.append(_Item(keys[0], None, not solo, -np.inf, np.inf, mixes, data.action_extrapolation))
    return items


def _touch(strip: Any, transition: Any) -> bool:
    return strip.type != "TRANSITION" and (
        abs(strip.frame_end - transition.frame_start) < 1e-3 or abs(strip.frame_start - transition.frame_end) < 1e-3
    )


def _mixes(strip: Any, *, lowest: bool) -> str:
    """Why a strip mixes with what lies below it, "" when it replaces that.

    The lowest strip plays in full while its influence is not animated, whatever its blends are.
    """
    if strip.blend_type in ("ADD", "SUBTRACT", "MULTIPLY"):
        return Text("its blend mode is {mode}", {"mode": strip.blend_type})
    if strip.use_animated_influence:
        curve = strip.fcurves.find("influence")
        values = [point.co[1] for point in curve.keyframe_points] if curve is not None else [strip.influence]
        if not values or min(values) < 1.0:
            return Text("its influence is below 1")
        return ""
    if lowest:
        return ""
    if strip.blend_in > 0.0 or strip.blend_out > 0.0 or strip.use_auto_blend:
        return Text("it blends in or out")
    return ""


def _mixing(players: Users, stack: Sequence[_Item], number: int, slot: _Slot) -> dict[str, Any]:
    """Why, and on which paths, a layer does not play alone: by itself, or since another is mixed over it."""
    item = stack[number]
    if item.mixes:
        return {"mixed": item.mixes, "mixed_paths": frozenset(slot.rotations)}
    mine = {path for path, _ in slot.keyed if path in slot.rotations}
    paths: set[str] = set()
    over = ""
    for upper in stack[number + 1 :]:
        if upper.mixes and upper.key is not None and (upper.counts or not item.counts) and _meet(item, upper):
            shared = mine & {path for path, _ in players.curves(upper.key)}
            if shared:
                paths |= shared
                name = upper.strip.name if upper.strip is not None else ""
                over = over or (
                    Text("the strip {name!r} is mixed over it", {"name": name})
                    if name
                    else Text("the active action is mixed over it")
                )
    return {"mixed": over, "mixed_paths": frozenset(paths)}


def _meet(lower: _Item, upper: _Item) -> bool:
    """Whether something of the lower layer plays while the upper one does."""
    if lower.holds == "HOLD":
        return True
    if lower.holds == "HOLD_FORWARD":
        return upper.end > lower.start
    return upper.end > lower.start and upper.start < lower.end


# What is drawn ------------------------------------------------------------------------------------


def _drawn(datablock: Any, strip: Any) -> tuple[Drawn, ...]:
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
            times = np.unique([curve.evaluate(time) for time in shown.tolist()])
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
