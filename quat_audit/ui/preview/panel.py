# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel "Skinning Preview" in the sidebar of the 3D Viewport: what it draws is seen nowhere else."""

from __future__ import annotations

from typing import Any

import bpy

from .. import panel
from ..wording import say
from . import properties
from . import state as preview
from .operators import QUATAUDIT_OT_preview, QUATAUDIT_OT_preview_worst


class QUATAUDIT_PT_preview_view3d(bpy.types.Panel):
    """How the mesh deforms by other methods, and where that matters"""

    bl_idname = "QUATAUDIT_PT_preview_view3d"
    bl_label = "Skinning Preview"
    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = panel.CATEGORY
    bl_parent_id = "QUATAUDIT_PT_main_view3d"
    bl_options = {"DEFAULT_CLOSED"}
    bl_order = 10

    def draw_header_preset(self, context: Any) -> None:
        if preview.current() is not None:  # folded, the panel still says that it is on, and ends it
            name = QUATAUDIT_OT_preview.bl_idname
            self.layout.operator(name, text="", icon="HIDE_OFF", depress=True, emboss=False)

    def draw(self, context: Any) -> None:
        layout, chosen, held = self.layout, properties.choices(context), preview.current()
        row = layout.row()
        row.scale_y = 1.2
        row.operator(
            QUATAUDIT_OT_preview.bl_idname,
            text="Stop Preview" if held else "Preview Skinning",
            icon="HIDE_OFF" if held else "HIDE_ON",
            depress=held is not None,
        )
        column = layout.column()
        column.prop(chosen, "show", text="")
        if chosen.show == "CUT":
            column.prop(chosen, "most")
        if properties.kind(chosen) is not None:
            column.prop(chosen, "auto_top")
            if not chosen.auto_top:
                column.prop(chosen, "top")
        column.prop(chosen, "opacity", slider=True)
        column.prop(chosen, "in_front")
        layout.operator(QUATAUDIT_OT_preview_worst.bl_idname, icon="FF")
        if held is None:
            return
        panel.paragraph(layout, context, held.mesh.record.skin.mesh, icon="OUTLINER_OB_MESH")
        for remark in held.remarks_in(context.area):
            panel.paragraph(layout, context, say(remark), icon="INFO")


CLASSES = (QUATAUDIT_PT_preview_view3d,)
