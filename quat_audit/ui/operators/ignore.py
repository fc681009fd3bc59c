# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignore a finding with a reason, and take that back. It is kept in the action or the mesh object, and respected
headless too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy
from bpy.props import IntProperty, StringProperty

from ...blender import ignore
from ...errors import RefusedError, SkinError
from ...findings.ignores import ignore_of
from ...results.memory import RESULTS
from ...results.rows import MESH, Address, AuditResult, Row, unread_result
from ...text import Text
from .. import auditing, following, properties, repairing, scope
from ..guard import guarded
from ..skin import auditing as skin_auditing
from ..wording import enabled, say_report
from . import fix


def _audit_again(context: Any, addresses: Iterable[Address]) -> None:
    for address in addresses:
        result = _audited(context, address)
        if result is not None:
            RESULTS.replace_one(result)
    properties.sync(properties.state(context))
    following.redraw()


def _audited(context: Any, address: Address) -> AuditResult | None:
    settings = auditing.settings_of_results(context, address.kind)
    if address.kind != MESH:
        record = repairing.find_record(address)
        return auditing.audit_record(record, settings) if record is not None else None
    obj, shown = scope.find_object(address.uid), RESULTS.shown(address)
    if obj is None or shown is None:
        return None
    try:
        return skin_auditing.split_anew(obj, shown, settings)
    except SkinError as error:
        return unread_result(address, obj.name, error.why)


def _why_not(row: Row | None) -> Text | None:
    """Why a finding cannot be ignored."""
    if row is None:
        return Text("No finding is chosen")
    holder = scope.find_holder(row.key.address)
    if holder is None:
        return RESULTS.outdated(row)
    if ignore.is_editable(holder):
        return None
    if row.key.address.kind == MESH:
        return Text("The mesh object is linked: ignore the finding in the file that it comes from")
    return Text("The action is linked: ignore the finding in the file that it comes from")


class QUATAUDIT_OT_ignore(bpy.types.Operator):
    """Do not report this finding any more: it is meant, or does not matter. Kept in the action or mesh object"""

    bl_idname = "quat_audit.ignore"
    bl_label = "Ignore"
    bl_options = {"REGISTER", "UNDO"}

    reason: StringProperty(  # type: ignore[valid-type]
        name="Reason",
        description="Why the finding is meant or does not matter; kept with the action or mesh",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, fix.why_not_now(context) or _why_not(properties.chosen_row(context)))

    @guarded
    def execute(self, context: Any) -> set[str]:
        row, choices = properties.chosen_row(context), properties.state(context)
        holder = scope.find_holder(row.key.address) if row is not None else None
        if row is None or holder is None:
            return {"CANCELLED"}
        reason = self.reason if self.properties.is_property_set("reason") else choices.ignore_reason
        try:
            ignore.add_ignore(holder, ignore_of(row.finding, reason.strip()))
        except RefusedError as error:
            self.report({"ERROR"}, say_report(error.why))
            return {"CANCELLED"}
        choices.ignore_reason = ""
        _audit_again(context, [row.key.address])
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
        why = fix.why_not_now(context)
        return enabled(cls, why or (None if RESULTS.ignored else Text("No finding is ignored")))

    @guarded
    def execute(self, context: Any) -> set[str]:
        chosen = RESULTS.ignored if self.number < 0 else RESULTS.ignored[self.number : self.number + 1]
        count = 0
        for address, item in chosen:
            holder = scope.find_holder(address)
            if holder is None:
                continue
            f = item.finding
            try:
                # It may have been ignored in this slot, or in all of them.
                removed = ignore.remove_ignore(holder, f.code, f.data_path, slot=f.slot)
                count += removed or ignore.remove_ignore(holder, f.code, f.data_path)
            except RefusedError as error:
                self.report({"ERROR"}, say_report(error.why))
        _audit_again(context, dict.fromkeys(address for address, _ in chosen))
        self.report({"INFO"}, say_report(Text("Reported again: {count} findings", {"count": count})))
        return {"FINISHED"} if count else {"CANCELLED"}


CLASSES = (QUATAUDIT_OT_ignore, QUATAUDIT_OT_unignore)
