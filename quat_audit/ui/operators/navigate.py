# SPDX-License-Identifier: GPL-3.0-or-later
"""Go to where a finding is, and from place to place; timeline markers for the places."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from bpy.props import EnumProperty, IntProperty

from ...blender import show
from ...blender.skin import show as show_mesh
from ...results.memory import RESULTS
from ...results.rows import ACTION, MESH, Row
from ...text import Text
from .. import auditing, properties, repairing, scope
from ..comparison import state as comparing
from ..guard import guarded
from ..wording import enabled, say, say_report

# Markers are found again by their name: Blender 5.0 took custom properties from them.
MARKER = re.compile(r"QA\d{3}( .*)?")
# Beyond it the timeline shows nothing but markers.
MOST_MARKERS = 2000


def go(operator: Any, context: Any, row: Row, number: int) -> set[str]:
    """Show one place of a finding."""
    remarks = _show_mesh(context, row, number) if row.key.address.kind == MESH else _show_keys(context, row, number)
    where = say_report(row.finding.where(number))
    if remarks:
        operator.report({"WARNING"}, f"{where}: " + "; ".join(say_report(remark) for remark in remarks))
    else:
        who = "" if row.finding.locator == "keys of a bone" else f"{row.label}, "
        operator.report({"INFO"}, f"{who}{where}: {say_report(row.finding.what(number))}")
    return {"FINISHED"}


def _show_mesh(context: Any, row: Row, number: int) -> list[str]:
    """The frame, the mesh, and the bone of the joint; what could not be done."""
    if row.timed:  # a fault of every frame is seen on this one too
        show.show_frame(context, float(row.finding.occurrences.frames[number, 0]))
    obj = scope.find_object(row.key.address.uid)
    if obj is None:
        return [str(RESULTS.outdated(row) or "")]
    return [*show_mesh.show_mesh(context, obj, row.finding.bone)]


def _show_keys(context: Any, row: Row, number: int) -> list[str]:
    """The frame, the object or bone, its keys and its curves; what could not be done."""
    frames = [float(f) for f in row.finding.occurrences.frames[number]]
    bone, path = row.finding.whose(number)
    show.show_frame(context, frames[0])
    remarks: list[str] = list(show.show_owner(context, row.users, [bone] if bone else []))
    record = repairing.find_record(row.key.address)
    if record is None:
        remarks.append(Text("The action “{action}” is no longer in this file", {"action": row.finding.action}))
    elif row.channels:
        keys = show.show_keys(record, path, frames)
        if not keys:
            remarks.append(RESULTS.outdated(row) or Text("There is no key at this frame any more"))
        show.frame_graph_editors(context)
    comparing.follow(context, row, number, auditing.settings_of_results(context, ACTION))
    return remarks


def why_not(context: Any) -> Text | None:
    """Why there is no place to go to."""
    if auditing.RUNNING:
        return auditing.why_running()
    row = properties.chosen_row(context)
    if row is None:
        return Text("No finding is chosen")
    if not len(row.finding.occurrences):
        return Text("This finding is about the whole action")
    return None


class QUATAUDIT_OT_go_to(bpy.types.Operator):
    """Set the frame, select the bone and its keys, and show its curves in an open Graph Editor; or select the mesh"""

    bl_idname = "quat_audit.go_to"
    bl_label = "Go To"
    bl_options = {"REGISTER", "UNDO"}

    row: IntProperty(  # type: ignore[valid-type]
        name="Finding", description="Number of the finding; -1 is the one shown", default=-1, options={"SKIP_SAVE"}
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, why_not(context))

    @guarded
    def execute(self, context: Any) -> set[str]:
        if self.row >= 0:
            properties.state(context).active = self.row
        return _step(self, context, 0)


class QUATAUDIT_OT_occurrence_step(bpy.types.Operator):
    """Go to the next or the previous place of this finding"""

    bl_idname = "quat_audit.occurrence_step"
    bl_label = "Next Occurrence"
    bl_options = {"REGISTER", "UNDO"}

    direction: EnumProperty(  # type: ignore[valid-type]
        name="Direction",
        description="Which way",
        items=(("NEXT", "Next", "The place after this one"), ("PREVIOUS", "Previous", "The place before this one")),
        default="NEXT",
    )

    @classmethod
    def description(cls, context: Any, properties_: Any) -> str:
        if properties_.direction == "PREVIOUS":
            return say("Go to the previous place of this finding; after the first comes the last")
        return say("Go to the next place of this finding; after the last comes the first")

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, why_not(context))

    @guarded
    def execute(self, context: Any) -> set[str]:
        return _step(self, context, 1 if self.direction == "NEXT" else -1)


def _step(operator: Any, context: Any, by: int) -> set[str]:
    """Show the place of the chosen finding that is so many places on."""
    row, choices = properties.chosen_row(context), properties.state(context)
    if row is None or not len(row.finding.occurrences):
        return {"CANCELLED"}
    number = (properties.occurrence(choices, row) + by) % len(row.finding.occurrences)
    choices.occurrence = number
    return go(operator, context, row, number)


class QUATAUDIT_OT_select_bones(bpy.types.Operator):
    """Select all bones of this finding in Pose Mode, and no other"""

    bl_idname = "quat_audit.select_bones"
    bl_label = "Select Bones"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = why_not(context)
        row = properties.chosen_row(context)
        if why is None and row is not None and not any(row.finding.bones):
            why = Text("This finding is about no bone")
        return enabled(cls, why)

    @guarded
    def execute(self, context: Any) -> set[str]:
        row = properties.chosen_row(context)
        if row is None:
            return {"CANCELLED"}
        bones = [bone for bone in row.finding.bones if bone]
        remarks = show.show_owner(context, row.users, bones)
        if remarks:
            self.report({"WARNING"}, "; ".join(say_report(remark) for remark in remarks))
        else:
            self.report({"INFO"}, say_report(Text("Selected: {count} bones", {"count": len(bones)})))
        return {"FINISHED"}


class QUATAUDIT_OT_markers_add(bpy.types.Operator):
    """Put a timeline marker at each place of the findings"""

    bl_idname = "quat_audit.markers_add"
    bl_label = "Add Markers"
    bl_options = {"REGISTER", "UNDO"}

    which: EnumProperty(  # type: ignore[valid-type]
        name="Findings",
        description="The findings that get markers",
        items=(
            ("LISTED", "Listed", "All findings that the list shows"),
            ("SHOWN", "This", "The finding that is shown in detail"),
        ),
        default="LISTED",
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if RESULTS.rows else Text("There are no findings: audit first"))

    @guarded
    def execute(self, context: Any) -> set[str]:
        choices = properties.state(context)
        shown = properties.active_row(choices)
        rows = RESULTS.shown_rows(properties.filters(choices)) if self.which == "LISTED" else [shown] if shown else []
        markers = context.scene.timeline_markers
        there = {(marker.frame, marker.name) for marker in markers}
        wanted = sorted(marks(rows) - there)
        for frame, name in wanted[:MOST_MARKERS]:
            markers.new(name, frame=frame)
        if len(wanted) > MOST_MARKERS:
            self.report(
                {"WARNING"},
                say_report(
                    Text(
                        "{count} markers added; {left} more are too many to see: narrow the list by a filter",
                        {"count": MOST_MARKERS, "left": len(wanted) - MOST_MARKERS},
                    )
                ),
            )
        else:
            self.report({"INFO"}, say_report(Text("{count} markers added", {"count": len(wanted)})))
        return {"FINISHED"} if wanted else {"CANCELLED"}


def marks(rows: Sequence[Row]) -> set[tuple[int, str]]:
    """(frame, name) of the markers of some findings: one a frame and name."""
    found = set()
    for row in rows:
        frames = row.finding.occurrences.frames[:, 0]
        for frame in np.unique(np.floor(frames[np.isfinite(frames)])).tolist():
            if abs(frame) < 2**31 - 1:
                # 63 bytes are what Blender keeps of a marker's name.
                found.add((int(frame), f"{row.key.code} {row.label}".encode()[:63].decode(errors="ignore")))
    return found


class QUATAUDIT_OT_markers_remove(bpy.types.Operator):
    """Remove the timeline markers of findings: those whose name begins with the code of a rule"""

    bl_idname = "quat_audit.markers_remove"
    bl_label = "Remove Markers"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        ours = any(MARKER.fullmatch(marker.name) for marker in context.scene.timeline_markers)
        return enabled(cls, None if ours else Text("There are no markers of findings"))

    @guarded
    def execute(self, context: Any) -> set[str]:
        markers = context.scene.timeline_markers
        ours = [marker for marker in markers if MARKER.fullmatch(marker.name)]
        for marker in ours:
            markers.remove(marker)
        self.report({"INFO"}, say_report(Text("{count} markers removed", {"count": len(ours)})))
        return {"FINISHED"}


CLASSES = (
    QUATAUDIT_OT_go_to,
    QUATAUDIT_OT_occurrence_step,
    QUATAUDIT_OT_select_bones,
    QUATAUDIT_OT_markers_add,
    QUATAUDIT_OT_markers_remove,
)
