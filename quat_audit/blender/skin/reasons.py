# SPDX-License-Identifier: GPL-3.0-or-later
"""Why the arrays of a skin are not all that deforms its mesh, and why its weights must not be written."""

from __future__ import annotations

from typing import Any, NamedTuple

import bpy
import numpy as np

from ...skinning.skin import Bones, Groups
from ...text import Text
from .. import users


class Reasons(NamedTuple):
    """What is left out, and which of that makes positions wrong."""

    not_evaluated: tuple[str, ...]
    blocking: tuple[str, ...]


def reasons(obj: Any, modifier: Any, rig: Any, bones: Bones, groups: Groups, offsets: Any, group: Any) -> Reasons:
    """Everything that a Skin of this mesh and modifier does not hold."""
    notes, blocking = _of_modifiers(obj, modifier)
    blocking += _of_bones(rig, bones, groups, group)
    if _preserve_volume_changes(obj, modifier):
        blocking.append(
            Text(
                "Preserve Volume of {modifier} is animated or driven, and only its value on the current frame is known:"
                " remove its keys or driver",
                {"modifier": modifier.name},
            )
        )
    if modifier.use_bone_envelopes:
        blocking += _of_envelopes(groups, offsets, group)
    if _shape_keys_move(obj):
        blocking.append(Text("shape keys are not included: the rest shape is the reference key"))
    if rig.data.is_editmode:
        blocking.append(
            Text("{armature} is in edit mode, where it deforms nothing: leave edit mode", {"armature": rig.name})
        )
    if rig.data.pose_position == "REST":  # positions are right, but nothing that is true of the clip shows
        values = {"armature": rig.name}
        blocking.append(Text("{armature} is in rest position, so nothing is posed: switch Pose Position on", values))
    if obj.data.is_editmode:
        notes.append(Text("the mesh is in edit mode: weights are those from before"))
    return Reasons((*notes, *blocking), tuple(blocking))


def _of_modifiers(obj: Any, modifier: Any) -> tuple[list[Text], list[Text]]:
    """(left out, and positions are right as far as they go; positions are wrong)."""
    if not modifier.show_viewport:
        return [Text("its Armature modifier is switched off in the viewport: measured as if it were on")], []
    shown = [m for m in obj.modifiers if m.show_viewport]
    at = shown.index(modifier)
    before, after = shown[:at], shown[at + 1 :]
    notes, blocking = [], []
    chained = ", ".join(m.name for m in after if m.type == "ARMATURE")
    if chained:
        values = {"modifier": modifier.name, "others": chained}
        blocking.append(Text("several Armature modifiers in a chain: only {modifier} is read, not {others}", values))
    if before:
        names = ", ".join(m.name for m in before)
        blocking.append(Text("modifiers before the Armature modifier change its input: {names}", {"names": names}))
    correctives = ", ".join(m.name for m in after if m.type != "ARMATURE")
    if correctives:
        notes.append(Text("modifiers after the Armature modifier are not included: {names}", {"names": correctives}))
    return notes, blocking


def _preserve_volume_changes(obj: Any, modifier: Any) -> bool:
    name = bpy.utils.escape_identifier(modifier.name)
    return users.is_animated(obj, f'modifiers["{name}"].use_deform_preserve_volume')


def _of_bones(rig: Any, bones: Bones, groups: Groups, group: Any) -> list[Text]:
    used = np.unique(groups.bone[group]) if len(group) else np.zeros(0, dtype=np.int64)
    names = [bones.names[b] for b in used if b >= 0]
    found = []
    curved = ", ".join(name for name in names if rig.data.bones[name].bbone_segments > 1)
    if curved:
        found.append(Text("bendy bones are not computed: {names}", {"names": curved}))
    enveloped = ", ".join(name for name in names if rig.data.bones[name].use_envelope_multiply)
    if enveloped:
        found.append(Text("weights multiplied by bone envelopes are not computed: {names}", {"names": enveloped}))
    return found


def _of_envelopes(groups: Groups, offsets: Any, group: Any) -> list[Text]:
    """Vertices without a bone's group go by envelopes, every other one by its groups alone."""
    count = len(offsets) - 1
    has = np.bincount(np.repeat(np.arange(count), np.diff(offsets))[groups.bone[group] >= 0], minlength=count)
    bare = int(np.sum(has == 0))
    if not bare:
        return []
    return [
        Text("bone envelopes are not computed; {count} vertices without a bone's group go by them", {"count": bare})
    ]


def _shape_keys_move(obj: Any) -> bool:
    keys = obj.data.shape_keys
    if keys is None or len(keys.key_blocks) < 2:
        return False
    if not keys.use_relative or keys.animation_data is not None or obj.show_only_shape_key:
        return True
    return any(not block.mute and block.value for block in keys.key_blocks if block != keys.reference_key)


def read_only(obj: Any) -> str:
    """Why the weights of a mesh object must not be written; "" when they may be."""
    if obj.library is not None:
        return Text("the object is linked from another file")
    if obj.data.library is not None:
        return Text("the mesh is linked from another file")
    if obj.data.override_library is not None:
        return Text("the mesh is a library override: edit it in its own file")
    return ""
