# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignore a finding with a reason, and take that back. It is kept in the action, and respected headless too."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import IntProperty, StringProperty

from ..blender import ignore
from ..finding import Text
from . import auditing, fix_operators, following, properties, repairing, scope
from .results import RESULTS
from .rows import Place
from .wording import say, say_report


def _audit_again(context: Any, place: Place) -> None:
    record = repairing.find_record(place)
    if record is not None:
        RESULTS.replace_clip(auditing.audit_record(record, auditing.settings_of_results(context)))
    properties.sync(properties.state(context))
    following.redraw()


class QUATAUDIT_OT_ignore(bpy.types.Operator):
    """Do not report this finding any more: it is meant, or does not matter. Kept in the action, with the reason"""

    bl_idname = "quat_audit.ignore"
    bl_label = "Ignore"
    bl_options = {"REGISTER", "UNDO"}

    reason: StringProperty(  # type: ignore[valid-type]
        name="Reason",
        description="Why the finding is meant or does not matter; kept in the action",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        row = properties.active_row(properties.state(context))
        why = fix_operators.why_not_now(context)
        if why is None and row is None:
            why = Text("No finding is chosen")
        if why is None and row is not None:
            action = scope.find_action(row.key.place.action_uid)
            if action is None:
                why = RESULTS.outdated(row)
            elif not action.is_editable or action.library is not None or action.override_library is not None:
                why = Text("The action is linked: ignore the finding in the file that it comes from")
        if why is not None:
            cls.poll_message_set(say(why))
        return why is None

    def execute(self, context: Any) -> set[str]:
        choices = properties.state(context)
        row = properties.active_row(choices)
        action = scope.find_action(row.key.place.action_uid) if row is not None else None
        if row is None or action is None:
            return {"CANCELLED"}
        reason = self.reason if self.properties.is_property_set("reason") else choices.ignore_reason
        try:
            ignore.add_ignore(action, row.key.code, row.key.data_path, reason.strip(), slot=row.finding.slot)
        except ValueError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        choices.ignore_reason = ""
        _audit_again(context, row.key.place)
        self.report(
            {"INFO"}, say_report(Text("{code} on {bone} is ignored", {"code": row.key.code, "bone": row.label}))
        )
        return {"FINISHED"}


class QUATAUDIT_OT_unignore(bpy.types.Operator):
    """Report this finding again"""

    bl_idname = "quat_audit.unignore"
    bl_label = "Report Again"
    bl_options = {"REGISTER", "UNDO"}

    number: IntProperty(  # type: ignore[valid-type]
        name="Number", description="Which of the ignored findings; -1 is all of them", default=-1, min=-1
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = fix_operators.why_not_now(context)
        if why is None and not RESULTS.ignored:
            why = Text("No finding is ignored")
        if why is not None:
            cls.poll_message_set(say(why))
        return why is None

    def execute(self, context: Any) -> set[str]:
        chosen = RESULTS.ignored if self.number < 0 else RESULTS.ignored[self.number : self.number + 1]
        count = 0
        for place, item in chosen:
            action = scope.find_action(place.action_uid)
            if action is None:
                continue
            f = item.finding
            try:
                # It may have been ignored in this slot, or in all of them.
                removed = ignore.remove_ignore(action, f.code, f.data_path, slot=f.slot)
                count += removed or ignore.remove_ignore(action, f.code, f.data_path)
            except ValueError as error:
                self.report({"ERROR"}, str(error))
        for place in {place for place, _ in chosen}:
            _audit_again(context, place)
        self.report({"INFO"}, say_report(Text("Reported again: {count} findings", {"count": count})))
        return {"FINISHED"} if count else {"CANCELLED"}


CLASSES = (QUATAUDIT_OT_ignore, QUATAUDIT_OT_unignore)
