# SPDX-License-Identifier: GPL-3.0-or-later
"""What the skinning preview shows: the mesh that is meant, as a skin, and what a person should know about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...blender import pose
from ...blender.skin import mesh as skin
from ...blender.skin.mesh import BlenderSkin
from ...errors import SkinError
from ...skinning.skin import Skin, influences
from ...text import Text


@dataclass(frozen=True, eq=False)
class PreviewedMesh:
    """A mesh that can be previewed.

    Attributes:
        record: its skin.
        mesh_uid: `session_uid` of the mesh data, whose updates tell that weights or positions changed.
        notes: what differs from what Blender shows, and what is odd about the weights.
    """

    record: BlenderSkin
    mesh_uid: int
    notes: tuple[str, ...]


def chosen(context: Any) -> Any:
    """The mesh object that is meant: the active one, or the largest that the active armature deforms.

    Raises:
        SkinError: there is none.
    """
    obj = context.active_object
    if obj is None:
        raise SkinError(Text("No object is active: select a skinned mesh or its armature"))
    if obj.type != "ARMATURE":
        return obj
    meshes = [other for other in context.view_layer.objects if _deformed_by(other, obj)]
    if not meshes:
        raise SkinError(
            Text("{armature} deforms no mesh of this view layer: select a skinned mesh", {"armature": obj.name})
        )
    return max(meshes, key=lambda other: (other.visible_get(), len(other.data.vertices)))


def _deformed_by(obj: Any, rig: Any) -> bool:
    return obj.type == "MESH" and any(m.type == "ARMATURE" and m.object == rig for m in obj.modifiers)


def read(obj: Any) -> PreviewedMesh:
    """A mesh object as the preview needs it.

    Raises:
        SkinError: there is nothing to show; the message says why and what to do.
    """
    record = skin.read_object(obj)
    found = record.skin
    if not len(found.triangles):
        raise SkinError(Text("{mesh} has no faces: there is nothing to show", {"mesh": obj.name}))
    _check_weights(found)
    _, rig, _ = skin.find(record)
    pose.check_posed(obj, rig)
    notes = [note for what, note in found.not_evaluated if what == obj.name]
    return PreviewedMesh(record, obj.data.session_uid, (*notes, *_notes(obj, found)))


def _check_weights(found: Skin) -> None:
    names = {"mesh": found.mesh, "armature": found.armature}
    if not len(found.groups):
        raise SkinError(Text("{mesh} has no vertex groups: bind it to {armature} with weights", names))
    if not np.any(found.groups.bone >= 0):
        raise SkinError(Text("No vertex group of {mesh} is named after a deforming bone of {armature}", names))
    if not influences(found).live.any():
        raise SkinError(Text("No vertex of {mesh} has a weight above 0 on a deforming bone of {armature}", names))


def _notes(obj: Any, found: Skin) -> Iterator[str]:
    inf = influences(found)
    without = int(np.sum(~inf.live & np.isfinite(inf.total)))
    if without:
        yield Text("{count} vertices have no weight on a deforming bone: they stay at rest", {"count": f"{without:,}"})
    wrong = int(np.sum(~np.isfinite(inf.total)))
    if wrong:
        yield Text("{count} vertices have a weight that is no number: they are shown at rest", {"count": f"{wrong:,}"})
    lost = [name for name, bone in zip(found.groups.names, found.groups.bone, strict=True) if bone < 0]
    lost = [name for name in lost if not found.groups.elsewhere[found.groups.names.index(name)]]
    if lost:
        values = {"count": len(lost), "first": lost[0]}
        yield Text("{count} vertex groups name no deforming bone and move nothing (the first: {first})", values)
    if obj.matrix_world.is_negative:
        yield Text("The object's scale is negative: it is shown mirrored, as Blender shows it")
    if found.read_only:
        yield Text("{why}: it is shown, and never written", {"why": found.read_only})


def find(mesh: PreviewedMesh) -> tuple[Any, Any] | None:
    """(mesh object, armature object) now; None when one of them is gone. Asked at each redraw, so by name first."""
    record = mesh.record
    obj = _by_uid(record.skin.mesh, record.object_uid)
    rig = _by_uid(record.skin.armature, record.armature_uid)
    return None if obj is None or rig is None else (obj, rig)


def _by_uid(name: str, uid: int) -> Any:
    named = bpy.data.objects.get(name)
    if named is not None and named.session_uid == uid:
        return named
    return next((obj for obj in bpy.data.objects if obj.session_uid == uid), None)
