# SPDX-License-Identifier: GPL-3.0-or-later
"""The sub-panel "Skin" of the 3D Viewport: which meshes are audited, the button, and what could not be judged."""

from __future__ import annotations

from typing import Any

import bpy

from ...results.memory import RESULTS
from ...results.rows import MESH
from ...text import Text
from .. import auditing
from ..panel import CATEGORY, MOST_LISTED, paragraph
from ..translations import CONTEXT
from ..wording import say
from . import auditing as skin_auditing


class QUATAUDIT_PT_skin_view3d(bpy.types.Panel):
    """Weights and deformation of meshes"""

    bl_idname = "QUATAUDIT_PT_skin_view3d"
    bl_label = "Skin"
    bl_translation_context = CONTEXT  # in Blender "Skin" is a modifier
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = CATEGORY
    bl_parent_id = "QUATAUDIT_PT_main_view3d"
    bl_order = 1  # before the findings

    @classmethod
    def poll(cls, context: Any) -> bool:
        return not auditing.RUNNING

    def draw(self, context: Any) -> None:
        layout = self.layout
        why = skin_auditing.why_not(context)
        layout.operator("quat_audit.audit_skin", icon="MOD_VERTEX_WEIGHT")
        if why is not None:
            paragraph(layout, context, say(why), icon="INFO")
        else:
            found = skin_auditing.meshes(context)
            names = found[0].name if len(found) == 1 else say(Text("{count} meshes", {"count": len(found)}))
            layout.label(text=names, icon="MESH_DATA", translate=False)
        _draw_unjudged(layout, context)


def _draw_unjudged(layout: Any, context: Any) -> None:
    unjudged = RESULTS.not_evaluated(MESH)
    for mesh, why in unjudged[:MOST_LISTED]:
        paragraph(layout, context, say(Text("{mesh}: {why}", {"mesh": mesh, "why": why})), icon="QUESTION")
    if len(unjudged) > MOST_LISTED:
        layout.label(text=say(Text("and {count} more", {"count": len(unjudged) - MOST_LISTED})), translate=False)


CLASSES = (QUATAUDIT_PT_skin_view3d,)
