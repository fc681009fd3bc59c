# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after of a repair: on for the finding that is shown, on for what was just repaired, and off."""

from __future__ import annotations

from typing import Any

import bpy

from ...results.memory import RESULTS
from ...text import Text
from .. import auditing, following, properties
from ..guard import guarded
from ..windows import waiting
from ..wording import enabled, say_report
from . import state as comparing


def why_not_now(context: Any) -> Text | None:
    """Why nothing can be compared at the moment."""
    if auditing.RUNNING:
        return auditing.why_running()
    if context.mode.startswith("EDIT"):
        return Text("Leave Edit Mode: there is no pose in it")
    return None


def compare(operator: Any, context: Any, make: Any, key: Any, number: int) -> set[str]:
    """Switch a comparison on; `make` gives what is compared."""
    try:
        with waiting(context):
            shown = comparing.show(context, make(), key, number)
    except comparing.CannotCompare as error:
        operator.report({"WARNING"}, say_report(error.why))
        return {"CANCELLED"}
    if shown.remark:
        operator.report({"INFO"}, say_report(shown.remark))
    return {"FINISHED"}


class QUATAUDIT_OT_compare(bpy.types.Operator):
    """Draw the motion before and after this fix into the viewport; nothing is changed. Again: off, or anew"""

    bl_idname = "quat_audit.compare"
    bl_label = "Before and After"
    bl_options = {"REGISTER"}  # nothing of the file changes

    @classmethod
    def poll(cls, context: Any) -> bool:
        row = properties.active_row(properties.state(context))
        why = why_not_now(context) or comparing.why_not(row)
        return enabled(cls, why)

    @guarded
    def execute(self, context: Any) -> set[str]:
        choices = properties.state(context)
        row = properties.active_row(choices)
        if row is None:
            return {"CANCELLED"}
        number = properties.occurrence(choices, row)
        shown = comparing.STATE.shown
        if shown is not None and shown.key == row.key and not shown.outdated:
            comparing.switch_off()
            return {"FINISHED"}
        settings = auditing.settings_of_results(context, row.key.address.kind)
        return compare(self, context, lambda: comparing.before_after_of(row, settings), row.key, number)


class QUATAUDIT_OT_compare_last(bpy.types.Operator):
    """Draw the motion before and after the last fix into the viewport"""

    bl_idname = "quat_audit.compare_last"
    bl_label = "Before and After"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = why_not_now(context)
        if why is None and comparing.offered(RESULTS.message) is None:
            why = Text("Nothing was fixed just now")
        return enabled(cls, why)

    @guarded
    def execute(self, context: Any) -> set[str]:
        compared = comparing.offered(RESULTS.message)
        if compared is None:
            return {"CANCELLED"}
        done = compare(self, context, lambda: compared, None, max(compared.finding.worst, 0))
        following.look_again([compared.address.uid], 0.0)  # the keys may have been edited since
        return done


class QUATAUDIT_OT_compare_off(bpy.types.Operator):
    """Draw no before and after any more"""

    bl_idname = "quat_audit.compare_off"
    bl_label = "Hide Before and After"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if comparing.STATE.shown is not None else Text("No before and after is drawn"))

    @guarded
    def execute(self, context: Any) -> set[str]:
        comparing.switch_off()
        return {"FINISHED"}


CLASSES = (QUATAUDIT_OT_compare, QUATAUDIT_OT_compare_last, QUATAUDIT_OT_compare_off)
