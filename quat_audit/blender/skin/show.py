# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring a mesh before the artist's eyes: the object, the bone of a joint, vertices selected in edit mode."""

from __future__ import annotations

from typing import Any

import bmesh
import bpy
import numpy as np

from ...arrays import Ints
from ...errors import SkinError
from ...text import Text
from .. import show
from ..pose import in_layer
from . import mesh as skin


def why_not_shown(context: Any, obj: Any) -> Text | None:
    """Why a mesh object cannot be selected here, and what to do; None when it can."""
    name = {"object": obj.name}
    if not in_layer(obj, context.view_layer.objects):
        return Text("“{object}” is not in this view layer: include its collection", name)
    if obj.hide_get():
        return Text("“{object}” is hidden: show it (Alt H)", name)
    if not obj.visible_get():
        return Text("“{object}” is disabled in viewports, or its collection is hidden: show it", name)
    space = context.space_data
    if space is not None and space.type == "VIEW_3D" and space.local_view and not obj.local_view_get(space):
        return Text("“{object}” is not in the local view: leave it (numpad /)", name)
    return None


def show_mesh(context: Any, obj: Any, bone: str) -> list[Text]:
    """Select a mesh object alone and make it active; for a joint, select its bone in the armature's pose as well.

    Returns what could not be done. No edit mode is left: it has an undo of its own.
    """
    why = why_not_shown(context, obj)
    if why is not None:
        return [why]
    if context.mode.startswith("EDIT"):
        return [Text("Leave Edit Mode to have the mesh selected")]
    if not bone:
        _select_alone(context, obj)
        return []
    try:
        rig = skin.armature_of(obj)
    except SkinError as error:
        _select_alone(context, obj)
        return [Text("{why}", {"why": error.why})]
    remarks = show.show_owner(context, [rig.name], [bone])
    obj.select_set(True)
    return remarks


def _select_alone(context: Any, obj: Any) -> None:
    if context.object is not None and context.object != obj and context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    for other in context.selected_objects:
        other.select_set(other == obj)
    obj.select_set(True)
    context.view_layer.objects.active = obj


def select_vertices(context: Any, obj: Any, vertices: Ints, count: int) -> None:
    """Enter edit mode of a mesh object with exactly some vertices selected; those that are hidden are shown.

    Args:
        vertices: (U,) their numbers.
        count: how many vertices the mesh had when they were counted.

    Raises:
        SkinError: it cannot be done; the message says why and what to do. Nothing has changed then.
    """
    why = why_not_shown(context, obj) or _why_not_edited(obj, count)
    if why is not None:
        raise SkinError(why)
    if context.object is not None and context.object.mode != "OBJECT":
        bpy.ops.object.mode_set(mode="OBJECT")
    _select_alone(context, obj)
    bpy.ops.object.mode_set(mode="EDIT")
    context.tool_settings.mesh_select_mode = (True, False, False)
    mesh = bmesh.from_edit_mesh(obj.data)
    mesh.select_mode = {"VERT"}
    for part in (mesh.faces, mesh.edges, mesh.verts):
        for element in part:
            element.select = False
    mesh.select_history.clear()
    mesh.verts.ensure_lookup_table()
    for vertex in np.unique(vertices).tolist():
        mesh.verts[vertex].hide = False
        mesh.verts[vertex].select = True
    mesh.select_flush_mode()
    bmesh.update_edit_mesh(obj.data, loop_triangles=False, destructive=False)


def _why_not_edited(obj: Any, count: int) -> Text | None:
    name = {"mesh": obj.name}
    if obj.library is not None or obj.data.library is not None:
        return Text("“{mesh}” is linked: its vertices can only be selected in the file that it comes from", name)
    now = len(bmesh.from_edit_mesh(obj.data).verts) if obj.data.is_editmode else len(obj.data.vertices)
    if now != count:
        return Text(
            "“{mesh}” has {now} vertices and had {count} when it was audited: audit again",
            {**name, "now": now, "count": count},
        )
    return None
