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

from ..motion.clip import COMPONENTS, EULER, EULER_ORDERS, QUATERNION, RotationKind, kind_played
from ..motion.readers import Connected, Drawn, Fill, Reader, Unbound, Way
from ..text import Text
from . import compat, layers, users
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


def find_unbound(
    players: Users, key: Key, rotations: Mapping[str, tuple[str, str]], keyed: Iterable[tuple[str, int]]
) -> tuple[Unbound, ...]:
    """Who has the action of a slot, is bound to none of its slots or to one without curves, and would suit this one.

    Of several slots that would do the first one tells of it.
    """
    uid, handle = key
    keyed = frozenset(keyed)
    paths = dict.fromkeys(path for path, _ in keyed)
    slot = _Slot(key, rotations, keyed)
    found = []
    for holder in players.holders.get(uid, ()):
        if holder.handle == handle or (holder.handle and players.has_curves((uid, holder.handle))):
            continue
        suitable = compat.suitable_slots(holder.player)
        if handle not in suitable or not _resolves_any(holder.datablock, paths):
            continue
        others = (other for other in suitable if other != handle)
        also = [o for o in others if _resolves_any(holder.datablock, (p for p, _ in players.curves((uid, o))))]
        if also and suitable.index(also[0]) < suitable.index(handle):
            continue
        bound_to = holder.player.action_slot
        found.append(
            Unbound(
                owner=holder.name,
                by=holder.strip,
                slot=bound_to.name_display if bound_to is not None else "",
                muted=holder.muted,
                number=holder.number,
                fits=not also,
                reader=_would_play(players, holder, slot),
            )
        )
    return tuple(found)


def _would_play(players: Users, holder: users.Holder, slot: _Slot) -> Reader:
    """How one that is bound to no slot would play it."""
    user = User(holder.name, holder.datablock)
    return Reader(
        owner=holder.name,
        route="strip" if holder.strip else "action",
        by=holder.strip,
        muted=holder.muted,
        ways=_ways(players, user, slot, nla=bool(holder.strip)),
    )


def _resolves_any(datablock: Any, paths: Iterable[str]) -> bool:
    return any(users.resolves(datablock, path) for path in paths)


# The location of a bone; its name is a string literal of RNA.
_LOCATION = re.compile(r"""pose\.bones\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]\.location""", re.DOTALL)


def find_connected(players: Users, who: Sequence[User], paths: Iterable[str]) -> tuple[Connected, ...]:
    """The bones that are connected to their parents, of the locations among some data paths.

    Not those whose location a driver reads: such keys are there for it.
    """
    rigs = [user for user in who if user.is_object and user.datablock.type == "ARMATURE"]
    stuck = [{b.name for b in u.datablock.data.bones if b.use_connect and b.parent is not None} for u in rigs]
    if not any(stuck):
        return ()
    read = {r.bone for user in rigs for r in players.driver_reads(user.datablock) if r.prop == "location"}
    found = []
    for path in dict.fromkeys(path for path in paths if path.endswith("].location")):
        match = _LOCATION.fullmatch(path)
        if match is None:
            continue
        name = bpy.utils.unescape_identifier(match[1] if match[1] is not None else match[2])
        have = [user for user in rigs if name in user.datablock.data.bones]
        caught = [user.datablock for user, names in zip(rigs, stuck, strict=True) if name in names]
        if caught and name not in read:
            owners = tuple(obj.name for obj in caught)
            found.append(Connected(path, name, owners, max(map(_unit_mm, caught)), len(caught) == len(have)))
    return tuple(found)


def _unit_mm(obj: Any) -> float:
    """How far one unit of an object's own space is in its scene, in millimeters."""
    scene = (list(obj.users_scene) or [bpy.context.scene or bpy.data.scenes[0]])[0]
    size: float = max(abs(value) for value in obj.matrix_world.to_scale()) * scene.unit_settings.scale_length
    return 1000.0 * size


def _readers_of(players: Users, user: User, slot: _Slot) -> Iterator[Reader]:
    datablock = user.datablock
    base = Reader(
        owner=user.name,
        linked=datablock.library is not None or datablock.override_library is not None,
        rivals=_rivals(players, user, slot),
    )
    data = datablock.animation_data
    if data is not None:
        stack = layers.layers_of(players, datablock)
        for number, item in enumerate(stack):
            if item.key == slot.key:
                mixed, mixed_paths = layers.mixing(players, stack, number, slot.rotations, slot.keyed)
                yield replace(
                    base,
                    route="strip" if item.strip is not None else "action",
                    by=item.strip.name if item.strip is not None else "",
                    muted=not item.counts,
                    ways=_ways(players, user, slot, nla=item.strip is not None or users.in_nla(data)),
                    drawn=layers.drawn(datablock, item.strip),
                    mixed=mixed,
                    mixed_paths=mixed_paths,
                    covers=layers.covered(players, user.plays, stack, number, base.rivals),
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
                # In the NLA a strip that is off may be switched on and animate it, too.
                among = user.plays if nla else user.playing
                for component in users.animated_elsewhere(players, among, path, slot.key):
                    stored[component] = np.nan
            # What has a curve needs no value, and what is stored there is the pose of the frame.
            w, x, y, z = (stored[c] if c in absent else fill[c] for c in range(4))
            fill = (w, x, y, z)
        found[path] = Way(mode_of(players, user, holder, path), fill, _instead(players, user, holder, path, prop))
    return found


def _instead(players: Users, user: User, holder: Any, path: str, prop: str) -> Fill:
    """The rotation that a bone or object has stored in its own mode, where that does not play a property.

    Unknown where keys play there: what is stored is the pose of the current frame.
    """
    kind = kind_played(holder.rotation_mode)
    if kind == users.ROTATIONS[prop]:
        return _UNKNOWN
    played = path.removesuffix(users.ROTATIONS[prop].lower()) + kind.lower()
    if any((played, component) in players.animated(user.plays) for component in range(COMPONENTS[kind])):
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
    paths: dict[tuple[str, str], list[str]] = {}
    for path, place in slot.rotations.items():
        paths.setdefault(place, []).append(path)
    found: dict[tuple[str, str, bool], set[tuple[str, int]]] = {}
    for read in players.driver_reads(user.datablock):
        # Each component of a quaternion depends on all four where the NLA combines it.
        whole = users.ROTATIONS.get(read.prop) == QUATERNION
        for path in paths.get((read.bone, read.prop), ()):
            components = range(4) if whole else (read.component,)
            of_driver = found.setdefault((read.owner, read.driven, read.muted), set())
            of_driver.update((path, component) for component in components)
    for (owner, driven, muted), reads in found.items():
        yield Reader(owner=owner, route="driver", by=driven, muted=muted, reads=frozenset(reads))
