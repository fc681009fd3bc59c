# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinning preview on and off, and the frame on which it is worst."""

from __future__ import annotations

from typing import Any

import bpy

from ...blender import show
from ...blender.skin import posed
from ...errors import SkinError
from ...skinning import heat
from ...text import Text
from .. import auditing
from ..guard import guarded
from ..windows import waiting
from ..wording import enabled, frame_number, say_report
from . import previewed_mesh, properties
from . import state as preview
from .drawing import KIND_LABELS, ticked


def why_not(context: Any) -> Text | None:
    """Why there is no mesh to preview."""
    if auditing.RUNNING:
        return auditing.why_running()
    if context.active_object is None:
        return Text("No object is active: select a skinned mesh or its armature")
    return None


class QUATAUDIT_OT_preview(bpy.types.Operator):
    """Draw how the active mesh deforms by other methods, over the 3D Viewport; nothing in the file is changed"""

    bl_idname = "quat_audit.preview"
    bl_label = "Preview Skinning"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if preview.current() else why_not(context))

    @guarded
    def execute(self, context: Any) -> set[str]:
        if preview.current():
            preview.switch_off()
            return {"FINISHED"}
        try:
            preview.switch_on(context)
        except SkinError as error:
            self.report({"ERROR"}, say_report(error.why))
            return {"CANCELLED"}
        return {"FINISHED"}


class QUATAUDIT_OT_preview_worst(bpy.types.Operator):
    """Look through the frames of the scene for the one on which the mesh is worst, and go there"""

    bl_idname = "quat_audit.preview_worst"
    bl_label = "Go to Worst Frame"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if preview.current() else why_not(context))

    @guarded
    def execute(self, context: Any) -> set[str]:
        kind = properties.kind(properties.choices(context)) or heat.GAP
        with waiting(context):
            return self._go(context, kind)

    def _go(self, context: Any, kind: heat.HeatMap) -> set[str]:
        try:
            found = posed.read_posed_object(_meant(context))
        except SkinError as error:
            self.report({"ERROR"}, say_report(error.why))
            return {"CANCELLED"}
        most = properties.choices(context).most
        worst = heat.worst(found.record.skin, found.motion, kind, most=most)
        preview.know_clip(kind, worst.value)
        if not worst.value:
            self.report({"INFO"}, say_report(Text("{what}: nothing on any frame", {"what": Text(KIND_LABELS[kind])})))
            return {"FINISHED"}
        show.show_frame(context, worst.frame)
        values = {
            "what": Text(KIND_LABELS[kind]),
            "figure": f"{ticked(worst.value)} {kind.unit}",
            "frame": frame_number(worst.frame),
            "vertex": worst.vertex,
        }
        self.report({"INFO"}, say_report(Text("{what}: {figure} on frame {frame}, at vertex {vertex}", values)))
        return {"FINISHED"}


def _meant(context: Any) -> Any:
    """The mesh that is previewed, or the one that would be. Raises SkinError."""
    held = preview.current()
    if held is None:
        return previewed_mesh.chosen(context)
    found = previewed_mesh.find(held.mesh)
    if found is None:
        raise SkinError(preview.gone(held))
    return found[0]


CLASSES = (QUATAUDIT_OT_preview, QUATAUDIT_OT_preview_worst)
