# SPDX-License-Identifier: GPL-3.0-or-later
"""Menu entries: Pose, Key and Channel have the same submenu, which also makes F3 find its operators."""

from __future__ import annotations

from typing import Any

import bpy


class QUATAUDIT_MT_rig_audit(bpy.types.Menu):
    """Audit and repair rotation animation"""

    bl_idname = "QUATAUDIT_MT_rig_audit"
    bl_label = "Rig Audit"

    def draw(self, context: Any) -> None:
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        layout.operator("quat_audit.audit", icon="VIEWZOOM")
        layout.operator("quat_audit.audit_skin", icon="MOD_VERTEX_WEIGHT")
        layout.separator()
        layout.operator("quat_audit.go_to", icon="RESTRICT_SELECT_OFF")
        layout.operator("quat_audit.occurrence_step", text="Next Occurrence", icon="FRAME_NEXT").direction = "NEXT"
        layout.operator(
            "quat_audit.occurrence_step", text="Previous Occurrence", icon="FRAME_PREV"
        ).direction = "PREVIOUS"
        layout.operator("quat_audit.select_bones", icon="BONE_DATA")
        layout.operator("quat_audit.select_vertices", icon="VERTEXSEL")
        layout.separator()
        layout.operator("quat_audit.fix_active")
        layout.operator("quat_audit.fix_safe")
        layout.operator("quat_audit.fix_checked")
        layout.operator("quat_audit.ignore")
        layout.separator()
        layout.operator("quat_audit.markers_add")
        layout.operator("quat_audit.markers_remove")
        layout.operator("quat_audit.export_report", icon="EXPORT")


class QUATAUDIT_MT_findings(bpy.types.Menu):
    """Check, mark and forget findings"""

    bl_idname = "QUATAUDIT_MT_findings"
    bl_label = "Findings"

    def draw(self, context: Any) -> None:
        layout = self.layout
        layout.operator("quat_audit.check_rows", text="Check All", icon="CHECKBOX_HLT").action = "ALL"
        layout.operator("quat_audit.check_rows", text="Check None", icon="CHECKBOX_DEHLT").action = "NONE"
        layout.operator("quat_audit.check_rows", text="Invert Checks").action = "INVERT"
        layout.separator()
        layout.operator("quat_audit.markers_add", text="Add Markers for Listed").which = "LISTED"
        layout.operator("quat_audit.markers_add", text="Add Markers for This").which = "SHOWN"
        layout.operator("quat_audit.markers_remove")
        layout.separator()
        layout.operator("quat_audit.clear_results", icon="X")


def _entry(self: Any, context: Any) -> None:
    self.layout.separator()
    self.layout.menu(QUATAUDIT_MT_rig_audit.bl_idname)


# Where animators look: the menus of the pose, of keys, and of channels. The Dope Sheet and the Graph Editor each have
# a menu of their own for the two latter.
_MENUS = (
    "VIEW3D_MT_pose",
    "GRAPH_MT_key",
    "GRAPH_MT_channel",
    "DOPESHEET_MT_key",
    "DOPESHEET_MT_channel",
)


def register() -> None:
    for name in _MENUS:
        getattr(bpy.types, name).append(_entry)


def unregister() -> None:
    for name in _MENUS:
        getattr(bpy.types, name).remove(_entry)


CLASSES = (QUATAUDIT_MT_rig_audit, QUATAUDIT_MT_findings)
