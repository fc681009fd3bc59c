# SPDX-License-Identifier: GPL-3.0-or-later
"""What the artist's choice of scope means in the open file: which actions, or why there is nothing to audit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import bpy

from ..blender import compat, users
from ..blender.read import BlenderClip
from ..results.rows import MESH, Address
from ..text import Text

ACTIVE_ACTION, OBJECT, SELECTED, FILE = "ACTIVE_ACTION", "OBJECT", "SELECTED", "FILE"

ITEMS = (
    (ACTIVE_ACTION, "Active Action", "The action that the active object plays, with all its slots"),
    (
        OBJECT,
        "All Its Actions",
        "Every action of the active object: played, in the NLA, in constraints, made for it",
    ),
    (SELECTED, "Selected Objects", "Every action that the selected objects play"),
    (FILE, "Whole File", "Every action of this file: used or not, linked ones too"),
)


@dataclass(frozen=True, eq=False)
class Targets:
    """The actions to audit, by `session_uid`, and which of their clips count.

    Attributes:
        uids: in order.
        wanted: (action, slot handle) that count; None: all.
        owners: clips of nobody count when they are made for one of these (by name).
        why_none: why there is nothing to audit.
        remark: what the artist should know although there is something.
    """

    uids: tuple[int, ...] = ()
    wanted: frozenset[tuple[int, int]] | None = None
    owners: frozenset[str] = frozenset()
    why_none: Text | None = None
    remark: Text | None = None

    def counts(self, record: BlenderClip) -> bool:
        if self.wanted is None or (record.action_uid, record.handle) in self.wanted:
            return True
        return not record.clip.users and bool(record.clip.owner) and record.clip.owner in self.owners


def subject(context: Any) -> Any:
    """The object that the artist means: the active one, or the armature that deforms it."""
    obj = context.view_layer.objects.active if context.view_layer is not None else None
    if obj is not None and obj.type != "ARMATURE" and not plays_something(obj):
        return obj.find_armature() or obj
    return obj


def plays_something(datablock: Any) -> bool:
    """Whether an ID has an action, or NLA strips."""
    data = datablock.animation_data
    return data is not None and (data.action is not None or any(len(track.strips) for track in data.nla_tracks))


def why_not(context: Any, scope: str) -> Text | None:
    """Why there is nothing to audit, asked before every draw: None when there may be something."""
    if not len(bpy.data.actions):
        return Text("This file has no actions")
    if scope == FILE:
        return None
    if scope == SELECTED:
        return None if context.selected_objects else Text("No object is selected")
    obj = subject(context)
    if obj is None:
        return Text("No active object: select an armature, or choose the scope Whole File")
    if scope == ACTIVE_ACTION and (obj.animation_data is None or obj.animation_data.action is None):
        return Text("“{object}” has no active action: assign one, or choose another scope", {"object": obj.name})
    return None


def targets(context: Any, scope: str) -> Targets:
    """What to audit."""
    why = why_not(context, scope)
    if why is not None:
        return Targets(why_none=why)
    actions = sorted(bpy.data.actions, key=lambda a: (a.name, a.library.filepath if a.library else ""))
    if scope == FILE:
        return Targets(tuple(action.session_uid for action in actions))
    if scope == ACTIVE_ACTION:
        return _active_action(subject(context))
    objects = list(context.selected_objects) if scope == SELECTED else [subject(context)]
    wanted = frozenset(users.find_users(_with_data(objects)))
    played = [action.session_uid for action in actions if any(uid == action.session_uid for uid, _ in wanted)]
    if scope == SELECTED:
        if not played:
            return Targets(why_none=Text("The selected objects play no action"))
        return Targets(tuple(played), wanted)
    # An action that waits for its turn is nobody's: it is read to see whether it is made for this object.
    everywhere = {uid for uid, _ in users.find_users()}
    spare = [action.session_uid for action in actions if action.session_uid not in everywhere]
    if not played and not spare:
        return Targets(why_none=Text("“{object}” plays no action", {"object": objects[0].name}))
    return Targets((*played, *spare), wanted, frozenset([objects[0].name]))


def _with_data(objects: Iterable[Any]) -> list[Any]:
    """Objects and what hangs on them, as their shape keys and data play actions too."""
    found: dict[int, Any] = {}
    for obj in objects:
        for datablock in (obj, obj.data, getattr(obj.data, "shape_keys", None)):
            if datablock is not None:
                found[datablock.as_pointer()] = datablock
    return list(found.values())


def _active_action(obj: Any) -> Targets:
    data = obj.animation_data
    action = data.action
    remark = None
    if compat.plays_nothing(compat.slot_handle(data)):
        remark = Text(
            "“{object}” plays no slot of “{action}”: all slots were audited",
            {"object": obj.name, "action": action.name},
        )
    return Targets((action.session_uid,), remark=remark)


def find_action(uid: int) -> Any:
    """The action of a `session_uid`, None when it is gone."""
    return next((action for action in bpy.data.actions if action.session_uid == uid), None)


def find_object(uid: int) -> Any:
    """The object of a `session_uid`, None when it is gone."""
    return next((obj for obj in bpy.data.objects if obj.session_uid == uid), None)


def find_holder(address: Address) -> Any:
    """The action or the mesh object that an address is in, None when it is gone."""
    return find_object(address.uid) if address.kind == MESH else find_action(address.uid)
