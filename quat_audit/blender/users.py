# SPDX-License-Identifier: GPL-3.0-or-later
"""Who plays an action, and how: rotation modes, stored pose values, drivers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import bpy

from ..motion.clip import AXIS_ANGLE, EULER, EULER_ORDERS, QUATERNION, RotationKind
from . import compat

# Property → kind of rotation. Blender has no delta_rotation_axis_angle.
ROTATIONS: dict[str, RotationKind] = {
    "rotation_quaternion": QUATERNION,
    "rotation_euler": EULER,
    "rotation_axis_angle": AXIS_ANGLE,
    "delta_rotation_quaternion": QUATERNION,
    "delta_rotation_euler": EULER,
}

Key = tuple[int, int]  # the action's session_uid, the slot's handle


@dataclass(frozen=True, eq=False)
class User:
    """One that plays an action: `name` for a person, the ID itself, and the properties that a driver holds."""

    name: str
    datablock: Any
    driven: frozenset[tuple[str, int]] = field(default=frozenset())

    @property
    def is_object(self) -> bool:
        return isinstance(self.datablock, bpy.types.Object)


@dataclass(frozen=True, eq=False)
class Played:
    """How one rotation is played: see `Tracks`. `modes` is empty when nobody has it."""

    modes: tuple[str, ...]
    order: str
    pose: tuple[float, float, float, float] | None


def find_users(datablocks: Iterable[Any] | None = None) -> dict[Key, list[User]]:
    """Every (action, slot) of the file that somebody plays → its users, objects first, each in name order.

    Counted are the active action, all NLA strips (muted ones too: they may be switched on), the action put aside
    while a strip is tweaked, and Action constraints of objects and bones.

    datablocks: only ask these IDs; None: all of the file.
    """
    found: dict[Key, list[User]] = {}
    for name, datablock in _named(datablocks) if datablocks is not None else _all_ids():
        keys = dict.fromkeys(_played_by(datablock))
        if keys:
            user = User(name, datablock, _driven(datablock))
            for key in keys:
                found.setdefault(key, []).append(user)
    return found


def alive(users: Iterable[User]) -> bool:
    """Whether Blender still has the users' IDs: an undo or a new file takes them away (and says so of IDs)."""
    try:
        return all(user.datablock.name is not None for user in users)
    except ReferenceError:
        return False


def _named(datablocks: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for datablock in datablocks:
        yield datablock.name, datablock
        yield from compat.embedded_ids(datablock)


def _all_ids() -> Iterator[tuple[str, Any]]:
    seen = set()
    collections = [
        p.identifier for p in bpy.data.bl_rna.properties if p.type == "COLLECTION" and p.identifier != "objects"
    ]
    for collection in ("objects", *collections):  # 5.2 has collections that hold IDs of several types once more
        for name, datablock in _named(getattr(bpy.data, collection)):
            if datablock.as_pointer() not in seen:
                seen.add(datablock.as_pointer())
                yield name, datablock


def _played_by(datablock: Any) -> Iterator[Key]:
    data = getattr(datablock, "animation_data", None)
    if data is not None:
        yield from _keys(data.action, compat.slot_handle(data))
        if data.use_tweak_mode:
            yield from _keys(data.action_tweak_storage, compat.stored_slot_handle(data))
        for track in data.nla_tracks:
            for strip in _strips(track.strips):
                yield from _keys(strip.action, compat.slot_handle(strip))
    if isinstance(datablock, bpy.types.Object):
        bones = datablock.pose.bones if datablock.pose is not None else ()
        for holder in (datablock, *bones):
            for constraint in holder.constraints:
                if constraint.type == "ACTION":
                    yield from _keys(constraint.action, compat.slot_handle(constraint))


def _keys(action: Any, handle: int) -> Iterator[Key]:
    if action is not None and not compat.plays_nothing(handle):
        yield action.session_uid, handle


def _strips(strips: Any) -> Iterator[Any]:
    for strip in strips:
        yield strip
        yield from _strips(strip.strips)  # of a meta strip


def _driven(datablock: Any) -> frozenset[tuple[str, int]]:
    data = datablock.animation_data
    drivers = data.drivers if data is not None else ()
    return frozenset((driver.data_path, driver.array_index) for driver in drivers if not driver.mute)


def resolves(datablock: Any, data_path: str) -> bool:
    """Whether the ID has the property."""
    try:
        datablock.path_resolve(data_path, False)
    except (ValueError, TypeError, KeyError, IndexError):
        return False
    return True


def guess_user(rotations: Iterable[tuple[str, str]], action: str, slot: str) -> User | None:
    """The object that an unused action is likely made for; None when none fits.

    rotations: (bone, property) of its tracks. The object that has most of the bones wins, ties in name order.
    Object-level paths fit every object, so they only count for one that the action or slot is named after.
    """
    bones = {bone for bone, _ in rotations}
    at_object = "" in bones
    bones.discard("")
    best: tuple[int, Any] = (0, None)
    for candidate in bpy.data.objects:
        score = 0
        if bones and candidate.pose is not None:
            score += sum(bone in candidate.pose.bones for bone in bones)
        if at_object and (slot == candidate.name or action in (candidate.name, f"{candidate.name}Action")):
            score += 1
        if score > best[0]:
            best = (score, candidate)
    return User(best[1].name, best[1]) if best[1] is not None else None


def played(users: Iterable[User], bone: str, prop: str) -> Played:
    """How the users play one rotation. The first one with the property gives Euler order and stored value.

    An animated component's stored value is the last one evaluated; that does not matter, because only
    components without a curve are taken from here.
    """
    modes: dict[str, None] = {}
    order, pose = "", None
    for _, holder in holders(users, bone):
        mode = holder.rotation_mode
        modes[mode] = None
        order = order or (mode if mode in EULER_ORDERS else "XYZ")
        if pose is None:
            value = tuple(getattr(holder, prop, ()))
            pose = (*value, 0.0)[:4] if value else None
    return Played(tuple(modes), order or "XYZ", pose)


def animated_elsewhere(user: User, data_path: str, own: Key) -> set[int]:
    """Components of a property that another action than `own` animates on the user right now.

    What such a component has stored is that action's pose at the current frame, not a value of the rig.
    """
    return {
        fcurve.array_index
        for key, fcurve in _playing_curves(user.datablock)
        if key != own and fcurve.data_path == data_path
    }


def is_animated(datablock: Any, data_path: str) -> bool:
    """Whether a curve or a driver sets a property of an ID right now; muted ones do not."""
    if any(path == data_path for path, _ in _driven(datablock)):
        return True
    return any(fcurve.data_path == data_path and not fcurve.mute for _, fcurve in _playing_curves(datablock))


def _playing_curves(datablock: Any) -> Iterator[tuple[Key, Any]]:
    """Curves of the active action and of the NLA strips that are not muted, each with where it is from."""
    data = getattr(datablock, "animation_data", None)
    if data is None:
        return
    playing = list(_keys(data.action, compat.slot_handle(data)))
    for track in data.nla_tracks:
        if not track.mute:
            for strip in _strips(track.strips):
                if not strip.mute:
                    playing += _keys(strip.action, compat.slot_handle(strip))
    wanted = set(playing)
    for action in bpy.data.actions:
        if any(uid == action.session_uid for uid, _ in wanted):
            for found in compat.curve_sets(action):
                key = (action.session_uid, found.handle)
                if key in wanted:
                    yield from ((key, fcurve) for fcurve in found.fcurves)


def holders(users: Iterable[User], bone: str) -> list[tuple[User, Any]]:
    """(user, its bone, or the object itself for "") for each user that has it."""
    found = []
    for user in users:
        if not user.is_object:
            continue
        holder = user.datablock
        if bone:
            holder = holder.pose.bones.get(bone) if holder.pose is not None else None
        if holder is not None:
            found.append((user, holder))
    return found
