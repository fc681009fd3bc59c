# SPDX-License-Identifier: GPL-3.0-or-later
"""Who plays an action, and how: rotation modes, stored pose values, drivers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    """One that plays an action.

    Attributes:
        name: for a person.
        datablock: the ID itself.
        driven: the (property, component) that a driver holds.
        plays: every (action, slot) of it, muted ones too.
        playing: those that are not muted.
    """

    name: str
    datablock: Any
    driven: frozenset[tuple[str, int]] = field(default=frozenset())
    plays: tuple[Key, ...] = ()
    playing: tuple[Key, ...] = ()

    @property
    def is_object(self) -> bool:
        return isinstance(self.datablock, bpy.types.Object)


class DriverRead(NamedTuple):
    """A driver takes a component of a property (of a bone, "" for the object itself) as the number that it is."""

    bone: str
    prop: str
    component: int
    owner: str
    driven: str
    muted: bool


@dataclass(frozen=True, eq=False)
class Holder:
    """An ID that has an action, as its own or in a strip, and the slot that it is bound to there (0: none).

    `player` is what has the action: the AnimData or the strip. `number` counts the strips, -1 is the active action.
    """

    name: str
    datablock: Any
    player: Any
    number: int
    strip: str
    muted: bool
    handle: int


class Users(dict[Key, list[User]]):
    """(action, slot) → its users, objects first, each in name order; and what is asked of them again and again.

    It holds pointers of Blender: see `alive`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.holders: dict[int, list[Holder]] = {}
        self._curves: dict[Key, frozenset[tuple[str, int]]] | None = None
        self._filled: frozenset[Key] = frozenset()
        self._elsewhere: dict[tuple[Key, ...], dict[tuple[str, int], tuple[Key, ...]]] = {}
        self._driver_reads: dict[int, list[DriverRead]] | None = None
        self.stacks: dict[int, list[Any]] = {}  # an ID's pointer → its animation layers, by `readers`

    def curves(self, key: Key) -> frozenset[tuple[str, int]]:
        """(data path, component) of the curves of a slot that are not muted."""
        if self._curves is None:
            self._look()
            assert self._curves is not None
        return self._curves.get(key, frozenset())

    def has_curves(self, key: Key) -> bool:
        """Whether a slot has any curve, muted ones too."""
        if self._curves is None:
            self._look()
        return key in self._filled

    def _look(self) -> None:
        found: dict[Key, set[tuple[str, int]]] = {}
        filled = set()
        for action in bpy.data.actions:
            for part in compat.curve_sets(action):
                of_slot = found.setdefault((action.session_uid, part.handle), set())
                of_slot.update((f.data_path, f.array_index) for f in part.fcurves if not f.mute)
                if len(part.fcurves):
                    filled.add((action.session_uid, part.handle))
        self._curves = {of: frozenset(paths) for of, paths in found.items()}
        self._filled = frozenset(filled)

    def animated(self, keys: tuple[Key, ...]) -> dict[tuple[str, int], tuple[Key, ...]]:
        """(data path, component) → which of some slots have a curve for it."""
        if keys not in self._elsewhere:
            found: dict[tuple[str, int], tuple[Key, ...]] = {}
            for key in dict.fromkeys(keys):
                for curve in self.curves(key):
                    found[curve] = (*found.get(curve, ()), key)
            self._elsewhere[keys] = found
        return self._elsewhere[keys]

    def driver_reads(self, datablock: Any) -> list[DriverRead]:
        """What drivers anywhere in the file read of an ID."""
        if self._driver_reads is None:
            self._driver_reads = {}
            for name, holder in _all_ids():
                data = getattr(holder, "animation_data", None)
                for fcurve in data.drivers if data is not None else ():
                    for uid, read in _reads_of(name, fcurve):
                        self._driver_reads.setdefault(uid, []).append(read)
        return self._driver_reads.get(datablock.session_uid, [])


# A component of a rotation or location at the end of a path: rotation_euler[2], ["z"] or .z (of more letters the first
# counts), as Blender takes them.
_COMPONENT = re.compile(
    r"""(?:(.*)\.)?((?:delta_)?(?:rotation_\w+|location))(?:\[\s*(\d+)\s*\]|\["([wxyz])\w*"\]|\.([wxyz])\w*)""",
    re.DOTALL,
)
_LETTERS = {"rotation_quaternion": "wxyz", "rotation_axis_angle": "wxyz", "delta_rotation_quaternion": "wxyz"}
_ANGLES = {"ROT_X": 0, "ROT_Y": 1, "ROT_Z": 2}


def _reads_of(owner: str, fcurve: Any) -> Iterator[tuple[int, DriverRead]]:
    """(session_uid of an ID, what of it) that a driver reads as a number.

    A variable for a rotation that follows the target's own mode (AUTO) reads Euler angles as they are, unwrapped; in
    the other modes it reads the rotation, which no repair changes.
    """
    driven = fcurve.data_path + (f"[{fcurve.array_index}]" if fcurve.array_index else "")
    for variable in fcurve.driver.variables:
        for target in variable.targets:
            if variable.type in ("SINGLE_PROP", "CONTEXT_PROP"):
                for base in _bases(variable, target):
                    for uid, bone, prop, component in _component_read(base, target.data_path):
                        yield uid, DriverRead(bone, prop, component, owner, driven, fcurve.mute)
            elif variable.type == "TRANSFORMS" and target.transform_type in _ANGLES and target.rotation_mode == "AUTO":
                holder, bone = target.id, target.bone_target
                if holder is not None and bone:
                    holder = holder.pose.bones.get(bone) if getattr(holder, "pose", None) else None
                if holder is not None and getattr(holder, "rotation_mode", "") in EULER_ORDERS:
                    component = _ANGLES[target.transform_type]
                    read = DriverRead(bone, "rotation_euler", component, owner, driven, fcurve.mute)
                    yield target.id.session_uid, read


def _bases(variable: Any, target: Any) -> list[Any]:
    """What the path of a variable starts at; of a context property, whatever may be active."""
    if variable.type == "SINGLE_PROP":
        return [target.id] if target.id is not None else []
    scenes = list(bpy.data.scenes)
    if target.context_property == "ACTIVE_VIEW_LAYER":
        return [layer for scene in scenes for layer in scene.view_layers]
    return scenes


def _component_read(base: Any, data_path: str) -> Iterator[tuple[int, str, str, int]]:
    """(session_uid of an ID, bone, property, component) that a path from something means; nothing for other paths."""
    match = _COMPONENT.fullmatch(data_path)
    if match is None:
        return
    try:
        holder = base.path_resolve(match[1], False) if match[1] else base
    except (ValueError, TypeError, KeyError, IndexError):
        return
    if isinstance(holder, bpy.types.Object | bpy.types.PoseBone):
        letter = match[4] or match[5]
        letters = _LETTERS.get(match[2], "xyz")
        component = int(match[3]) if match[3] else letters.find(letter)
        bone = holder.name if isinstance(holder, bpy.types.PoseBone) else ""
        if 0 <= component < len(letters):
            yield holder.id_data.session_uid, bone, match[2], component


@dataclass(frozen=True, eq=False)
class Played:
    """How one rotation is played: see `Tracks`. `modes` is empty when nobody has it, or has one that can be told."""

    modes: tuple[str, ...]
    order: str
    pose: tuple[float, float, float, float] | None


def find_users(datablocks: Iterable[Any] | None = None) -> Users:
    """Every (action, slot) of the file that somebody plays → its users, objects first, each in name order.

    Counted are the active action, all NLA strips (muted ones too: they may be switched on), the action put aside
    while a strip is tweaked, and Action constraints of objects and bones.

    datablocks: only ask these IDs; None: all of the file.
    """
    found = Users()
    for name, datablock in _named(datablocks) if datablocks is not None else _all_ids():
        keys = dict.fromkeys(_played_by(datablock))
        if keys:
            user = User(name, datablock, _driven(datablock), tuple(keys), tuple(dict.fromkeys(_playing(datablock))))
            for key in keys:
                found.setdefault(key, []).append(user)
        for uid, holder in _holders(name, datablock):
            found.holders.setdefault(uid, []).append(holder)
    return found


def _holders(name: str, datablock: Any) -> Iterator[tuple[int, Holder]]:
    """(session_uid of an action, who has it), of Blender's versions with slots."""
    data = getattr(datablock, "animation_data", None)
    if data is None or not compat.LAYERED:
        return
    if data.action is not None and not data.use_tweak_mode:
        yield data.action.session_uid, Holder(name, datablock, data, -1, "", False, compat.slot_handle(data))
    for number, (_, strip, counts) in enumerate(strips_of(data)):
        if strip.action is not None:
            handle = compat.slot_handle(strip)
            yield strip.action.session_uid, Holder(name, datablock, strip, number, strip.name, not counts, handle)


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
        yield from keys_of(data)
        if data.use_tweak_mode:
            yield from keys_of_action(data.action_tweak_storage, compat.stored_slot_handle(data))
        for _, strip, _ in strips_of(data):
            yield from keys_of(strip)
    if isinstance(datablock, bpy.types.Object):
        bones = datablock.pose.bones if datablock.pose is not None else ()
        for holder in (datablock, *bones):
            for constraint in holder.constraints:
                if constraint.type == "ACTION":
                    yield from keys_of(constraint)


def keys_of(player: Any) -> tuple[Key, ...]:
    """The slot that an AnimData, an NLA strip or an Action constraint plays; () for none."""
    return keys_of_action(player.action, compat.slot_handle(player))


def keys_of_action(action: Any, handle: int) -> tuple[Key, ...]:
    """(an action, the slot of that handle); () for no action, or none of its slots."""
    return ((action.session_uid, handle),) if action is not None and not compat.plays_nothing(handle) else ()


def strips_of(data: Any) -> Iterator[tuple[int, Any, bool]]:
    """(number of its track, strip, whether it is evaluated as the file is now), the lowest first, within metas too."""
    for number, (track, on) in enumerate(_tracks(data)):
        yield from ((number, strip, counts) for strip, counts in _strips(track.strips, on))


def _tracks(data: Any) -> list[tuple[Any, bool]]:
    """(track, whether it is evaluated): one with Solo silences the others."""
    solo = any(track.is_solo for track in data.nla_tracks)
    return [(t, data.use_nla and (t.is_solo if solo else not t.mute)) for t in data.nla_tracks]


def _strips(strips: Any, on: bool) -> Iterator[tuple[Any, bool]]:
    for strip in strips:
        counts = on and not strip.mute
        yield strip, counts
        yield from _strips(strip.strips, counts)  # of a meta strip


def action_counts(data: Any) -> bool:
    """Whether the active action of an AnimData is evaluated: a track with Solo silences it."""
    return not (data.use_nla and any(track.is_solo for track in data.nla_tracks))


def in_nla(data: Any) -> bool:
    """Whether the NLA evaluates an AnimData: a track that is on has strips, be they muted."""
    return any(on and len(track.strips) for track, on in _tracks(data))


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


def guessed(users: Iterable[User], bone: str, prop: str) -> Played:
    """How the rig that an action is likely made for would play a rotation. What it has stored is nobody's: unknown."""
    modes = tuple(dict.fromkeys(holder.rotation_mode for _, holder in holders(users, bone)))
    return Played(modes, next((mode for mode in modes if mode in EULER_ORDERS), "XYZ"), None)


def animated_elsewhere(players: Users, among: tuple[Key, ...], data_path: str, own: Key) -> set[int]:
    """Components of a property that one of some slots but `own` animates.

    What such a component has stored is that action's pose at the current frame, not a value of the rig.
    """
    if all(key == own for key in among):
        return set()
    curves = players.animated(among)
    return {c for c in range(4) if any(key != own for key in curves.get((data_path, c), ()))}


def is_animated(datablock: Any, data_path: str) -> bool:
    """Whether a curve or a driver sets a property of an ID right now; muted ones do not."""
    if any(path == data_path for path, _ in _driven(datablock)):
        return True
    wanted = set(_playing(datablock))
    if not wanted:
        return False
    actions = [action for action in bpy.data.actions if any(uid == action.session_uid for uid, _ in wanted)]
    return any(
        fcurve.data_path == data_path and not fcurve.mute
        for action in actions
        for part in compat.curve_sets(action)
        if (action.session_uid, part.handle) in wanted
        for fcurve in part.fcurves
    )


def _playing(datablock: Any) -> Iterator[Key]:
    """The active action and the NLA strips that are evaluated as the file is now."""
    data = getattr(datablock, "animation_data", None)
    if data is None:
        return
    if action_counts(data):
        yield from keys_of(data)
    for _, strip, counts in strips_of(data):
        if counts:
            yield from keys_of(strip)


def holder_of(user: User, bone: str) -> Any:
    """The user's bone, or the object itself for ""; None where it has none."""
    if not user.is_object:
        return None
    if not bone:
        return user.datablock
    return user.datablock.pose.bones.get(bone) if user.datablock.pose is not None else None


def holders(users: Iterable[User], bone: str) -> list[tuple[User, Any]]:
    """(user, its bone, or the object itself for "") for each user that has it."""
    return [(user, holder) for user in users if (holder := holder_of(user, bone)) is not None]
