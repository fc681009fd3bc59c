# SPDX-License-Identifier: GPL-3.0-or-later
"""What a repair sets beside keys: rotation modes, the slot that somebody plays, the connection of bones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy

from ..motion.readers import Connected, Unbound
from ..text import Text
from . import compat, users
from .read import BlenderClip

Skipped = tuple[str, Text]  # (data path, why)


def set_modes(record: BlenderClip, modes: dict[str, tuple[str, str]]) -> tuple[int, tuple[Skipped, ...]]:
    """Data path → (bone, rotation mode), set on every user; (how many, which could not and why)."""
    if not modes:
        return 0, ()
    who = users.find_users().get((record.action_uid, record.handle), [])
    done = 0
    skipped: list[Skipped] = []
    for path, (bone, mode) in modes.items():
        for user, holder in users.holders(who, bone):
            if not isinstance(user.datablock, bpy.types.Object) or not user.datablock.is_editable:
                values = {"object": user.name, "mode": holder.rotation_mode}
                skipped.append((path, Text("“{object}” is linked: its rotation mode stays {mode}", values)))
            elif holder.rotation_mode != mode:
                holder.rotation_mode = mode
                done += 1
    return done, tuple(skipped)


def bind_slots(record: BlenderClip, wanted: Sequence[Unbound]) -> tuple[int, tuple[Skipped, ...]]:
    """Let those who have the action play this slot of it; (how many, who could not and why)."""
    if not wanted:
        return 0, ()
    players = users.find_users()
    numbers = {(one.owner, one.number) for one in wanted}
    done = 0
    skipped: list[Skipped] = []
    for holder in players.holders.get(record.action_uid, ()):
        # An object and its data may have one name: the slot suits one of them.
        if (holder.name, holder.number) not in numbers or record.handle not in compat.suitable_slots(holder.player):
            continue
        if holder.datablock.is_editable:
            compat.bind_slot(holder.player, record.handle)
            done += 1
        else:
            why = Text("“{object}” is linked: it is not bound to the slot", {"object": holder.name})
            skipped.append((f"{holder.name}.action_slot", why))
    return done, tuple(skipped)


def release(wanted: Sequence[Connected]) -> tuple[int, tuple[Skipped, ...]]:
    """Disconnect bones from their parents; (how many, which could not and why)."""
    done = 0
    skipped: list[Skipped] = []
    for name in dict.fromkeys(owner for one in wanted for owner in one.owners):
        mine = [one for one in wanted if name in one.owners]
        obj = bpy.data.objects.get((name, None))  # of one name the one of this file
        if obj is None or obj.data.library is not None or obj.data.override_library is not None:
            why = Text("“{object}” is linked: its bones stay connected", {"object": name})
            skipped += [(one.data_path, why) for one in mine]
            continue
        bones = [one.bone for one in mine if obj.data.bones[one.bone].use_connect]
        if bones:  # they are free already where two objects share the armature
            with _in_edit_mode(obj):
                for bone in bones:
                    obj.data.edit_bones[bone].use_connect = False
        done += len(bones)
    return done, tuple(skipped)


@contextmanager
def _in_edit_mode(obj: Any) -> Iterator[None]:
    """The armature of an object in edit mode, hidden or in another scene; what was active, and its mode, come back."""
    layer = bpy.context.view_layer
    active = layer.objects.active
    mode = active.mode if active is not None else "OBJECT"
    if mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    # Blender edits what is visible: another object with the same armature stands in for one that is not.
    seen = obj if obj.name in layer.objects and obj.visible_get() else bpy.data.objects.new(obj.name, obj.data)
    if seen is not obj:
        bpy.context.scene.collection.objects.link(seen)
    layer.objects.active = seen
    bpy.ops.object.mode_set(mode="EDIT")
    try:
        yield
    finally:
        bpy.ops.object.mode_set(mode="OBJECT")
        layer.objects.active = active
        if seen is not obj:
            bpy.data.objects.remove(seen)
        if mode != "OBJECT":
            bpy.ops.object.mode_set(mode=mode)
