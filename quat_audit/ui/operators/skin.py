# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit Skin, and the vertices of a finding selected in edit mode."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty

from ...arrays import Ints
from ...blender import show
from ...blender.skin import mesh as skin
from ...blender.skin import show as show_mesh
from ...errors import SkinError
from ...findings.finding import ERROR, NOTE, WARNING
from ...results.memory import RESULTS, Summary
from ...results.rows import MESH, Row, same_skin, skin_state
from ...rules import RULES
from ...text import Text
from .. import auditing, following, properties, scope
from ..guard import guarded
from ..skin import auditing as skin_auditing
from ..wording import enabled, figures, say_report
from .audit import Stepwise, largest, profile_property

_VERTICES_AT = {rule.code: rule.vertices_at for rule in RULES}


class QUATAUDIT_OT_audit_skin(Stepwise, bpy.types.Operator):
    """Look for broken weights and bad deformation of the selected meshes, or of those that the armature deforms"""

    bl_idname = "quat_audit.audit_skin"
    bl_label = "Audit Skin"
    bl_options = {"REGISTER"}  # nothing of the file changes

    profile: profile_property()  # type: ignore[valid-type]

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, auditing.why_running() or skin_auditing.why_not(context))

    def _make(self, context: Any, profile: str) -> auditing.Job:
        return skin_auditing.start(context, profile)

    def _outcome(self, summary: Summary) -> Text:
        values = {
            "errors": summary.counts[ERROR],
            "warnings": summary.counts[WARNING],
            "notes": summary.counts[NOTE],
            "vertices": summary.vertices,
            "meshes": summary.meshes,
            "worst": figures(largest(summary)),
        }
        if not any(summary.counts.values()):
            return Text("Nothing found in {vertices} vertices of {meshes} meshes", values)
        return Text("Errors: {errors}, warnings: {warnings}, notes: {notes}; the worst is {worst}", values)


class QUATAUDIT_OT_select_vertices(bpy.types.Operator):
    """Enter Edit Mode of the mesh with exactly the vertices of this finding selected"""

    bl_idname = "quat_audit.select_vertices"
    bl_label = "Select Vertices"
    bl_options = {"REGISTER", "UNDO"}

    go_to_frame: BoolProperty(  # type: ignore[valid-type]
        name="Go to Frame", description="Set the frame on which the place that is looked at shows most", default=False
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, _why_not_selected(properties.chosen_row(context)))

    @guarded
    def execute(self, context: Any) -> set[str]:
        row = properties.chosen_row(context)
        obj = scope.find_object(row.key.address.uid) if row is not None else None
        shown = RESULTS.shown(row.key.address) if row is not None else None
        if row is None or obj is None or shown is None:
            return {"CANCELLED"}
        number = properties.occurrence(properties.state(context), row)
        try:
            vertices = _vertices(obj, row, number)
            if not len(vertices):
                raise SkinError(Text("No vertex belongs to this finding"))
            show_mesh.select_vertices(context, obj, vertices, shown.vertices)
        except SkinError as error:
            self.report({"WARNING"}, say_report(error.why))
            return {"CANCELLED"}
        if self.go_to_frame:
            show.show_frame(context, float(row.finding.occurrences.frames[number, 0]))
        following.redraw()
        values = {"count": len(vertices), "mesh": obj.name}
        self.report({"INFO"}, say_report(Text("Selected: {count} vertices of {mesh}", values)))
        return {"FINISHED"}


def _why_not_selected(row: Row | None) -> Text | None:
    if auditing.RUNNING:
        return auditing.why_running()
    if row is None:
        return Text("No finding is chosen")
    if row.key.address.kind != MESH:
        return Text("This finding is about keys, not about vertices")
    if scope.find_object(row.key.address.uid) is None:
        return RESULTS.outdated(row) or Text("The mesh “{mesh}” is no longer in this file", {"mesh": row.finding.owner})
    return None


def _vertices(obj: Any, row: Row, number: int) -> Ints:
    """The vertices of a finding; of one whose rows are groups, joints or bones, those of the place looked at.

    Raises:
        SkinError: they cannot be told any more.
    """
    vertices_at = _VERTICES_AT[row.key.code]
    if vertices_at is None:
        return row.finding.occurrences.rows
    read, shown = skin.read_object(obj).skin, RESULTS.shown(row.key.address)
    if shown is None or not same_skin(skin_state(read), shown.state):
        raise SkinError(Text("The mesh changed since the audit: audit again"))
    # Which vertices they are does not depend on the motion.
    return vertices_at(read, row.finding, number)


CLASSES = (QUATAUDIT_OT_audit_skin, QUATAUDIT_OT_select_vertices)
