# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs: one finding, all safe ones, or those that are checked. Each is one undo step and says its proof."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import bpy
from bpy.props import EnumProperty

from ...findings.finding import NONE
from ...results.memory import RESULTS
from ...results.rows import ACTION, MESH, Row
from ...text import Text
from .. import auditing, following, properties, repairing
from ..comparison import state as comparing
from ..guard import guarded
from ..windows import waiting
from ..wording import MOST_REASONS, enabled, lines, reasons, remedy_of, say, say_report, summary_of

DIALOG_WIDTH = 420


def why_not_now(context: Any) -> Text | None:
    """Why nothing can be repaired at the moment."""
    if auditing.RUNNING:
        return auditing.why_running()
    if not RESULTS.audited:
        return Text("There are no findings: audit first")
    if context.mode.startswith("EDIT"):
        # Edit modes undo their own data only: keys and weights would stay changed.
        return Text("Leave Edit Mode: a fix could not be undone there")
    return None


def why_not_row(row: Row | None) -> Text | str | None:
    """Why a finding cannot be repaired."""
    if row is None:
        return Text("No finding is chosen")
    locked = repairing.why_locked(row)
    if locked:
        return Text("Cannot be fixed: {why}", {"why": locked})
    if row.finding.fix == NONE:
        return Text("There is no automatic fix for this finding")
    return None


def repair(operator: Any, context: Any, rows: Sequence[Row], *, unsafe: bool) -> set[str]:
    """Repair some findings, and say what was done and what was not."""
    with waiting(context):
        outcome = repairing.repair_rows(rows, partial(auditing.settings_of_results, context), unsafe=unsafe)
    properties.sync(properties.state(context))
    following.redraw()
    said = [say_report(sentence) for sentence in outcome.sentences()]
    for why in outcome.failed:
        operator.report({"ERROR"}, say_report(why))
    if outcome.outdated:
        operator.report(
            {"WARNING"},
            say_report(Text("Not there any more: {count} findings; the file changed", {"count": outcome.outdated})),
        )
    refused = [f"{item.code} {say_report(item.why)}".strip() for item in outcome.refused]
    if refused:
        values = {"count": len(refused), "why": reasons(refused)}
        operator.report({"WARNING"}, say_report(Text("Not fixed on {count} channels: {why}", values)))
    if not outcome.changed:
        if not (outcome.failed or outcome.outdated or refused):
            operator.report({"INFO"}, say_report("Nothing had to be changed"))
        RESULTS.message = ""
        return {"CANCELLED"}
    operator.report({"INFO"}, "; ".join(said))
    RESULTS.message = "; ".join(said)
    comparing.keep_last(outcome.edits, rows, RESULTS.message)
    return {"FINISHED"}


def confirmation(rows: Sequence[Row]) -> Text:
    """What unsafe fixes are going to change, before they do."""
    kinds = {row.key.address.kind for row in rows}
    values = {
        "findings": len(rows),
        "bones": len({(row.key.address, bone or row.label) for row in rows for bone in row.finding.bones}),
        "unsafe": sum(not row.safe for row in rows),
    }
    if kinds == {ACTION}:
        return Text(
            "Repairs {findings} findings on {bones} bones; {unsafe} of these fixes may change keyed poses. "
            "Undo takes all of it back.",
            values,
        )
    if kinds == {MESH}:
        return Text(
            "Repairs {findings} findings on meshes; {unsafe} of these fixes may move vertices. "
            "Undo takes all of it back.",
            values,
        )
    return Text(
        "Repairs {findings} findings on bones and meshes; {unsafe} of these fixes may change keyed poses or move "
        "vertices. Undo takes all of it back.",
        values,
    )


class _Confirmed:
    """Asks before an unsafe fix, in the one dialog that there is."""

    _says: Sequence[str] = ()

    def _ask(self, context: Any, event: Any, rows: Sequence[Row]) -> set[str]:
        if bpy.app.background or all(row.safe for row in rows):
            return self.execute(context)  # type: ignore[attr-defined]
        remedies = dict.fromkeys(remedy_of(row.key.code) for row in rows if not row.safe)
        self._says = [say(confirmation(rows)), *[text for text in remedies if text][:MOST_REASONS]]
        result: set[str] = context.window_manager.invoke_props_dialog(
            self, width=DIALOG_WIDTH, title=say("Unsafe Fixes"), confirm_text=say("Fix")
        )
        return result

    def draw(self, context: Any) -> None:
        for text in self._says:
            column = self.layout.column(align=True)  # type: ignore[attr-defined]
            for line in lines(context, text, width=DIALOG_WIDTH - 40):
                column.label(text=line, translate=False)


class QUATAUDIT_OT_fix_active(_Confirmed, bpy.types.Operator):
    """Repair the finding that is shown; everything not at fault stays as it is"""

    bl_idname = "quat_audit.fix_active"
    bl_label = "Fix This"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def description(cls, context: Any, properties_: Any) -> str:
        row = properties.chosen_row(context)
        if row is None:
            return say("Repair the finding that is shown; everything not at fault stays as it is")
        return remedy_of(row.key.code) or summary_of(row.key.code)

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = why_not_now(context) or why_not_row(properties.chosen_row(context))
        return enabled(cls, why)

    @guarded
    def invoke(self, context: Any, event: Any) -> set[str]:
        row = properties.chosen_row(context)
        return self._ask(context, event, [row] if row is not None else [])

    @guarded
    def execute(self, context: Any) -> set[str]:
        row = properties.chosen_row(context)
        if row is None:
            return {"CANCELLED"}
        return repair(self, context, [row], unsafe=not row.safe)


class QUATAUDIT_OT_fix_safe(bpy.types.Operator):
    """Repair everything that can be repaired without changing a keyed pose; the rest stays as it is"""

    bl_idname = "quat_audit.fix_safe"
    bl_label = "Fix All Safe"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = why_not_now(context)
        if why is None and not RESULTS.summary().safe:
            why = Text("No finding has a safe fix")
        return enabled(cls, why)

    @guarded
    def execute(self, context: Any) -> set[str]:
        return repair(self, context, [row for row in RESULTS.rows if row.safe], unsafe=False)


class QUATAUDIT_OT_fix_checked(_Confirmed, bpy.types.Operator):
    """Repair the findings that are checked in the list, also where a keyed pose may change; it asks first"""

    bl_idname = "quat_audit.fix_checked"
    bl_label = "Fix Selected"
    bl_options = {"REGISTER", "UNDO"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = why_not_now(context)
        if why is None and not RESULTS.checked:
            why = Text("Check some findings in the list first")
        elif why is None and not RESULTS.checked_rows():
            why = Text("None of the checked findings can be fixed")
        return enabled(cls, why)

    @guarded
    def invoke(self, context: Any, event: Any) -> set[str]:
        return self._ask(context, event, RESULTS.checked_rows())

    @guarded
    def execute(self, context: Any) -> set[str]:
        return repair(self, context, RESULTS.checked_rows(), unsafe=True)


class QUATAUDIT_OT_check_rows(bpy.types.Operator):
    """Check findings for Fix Selected"""

    bl_idname = "quat_audit.check_rows"
    bl_label = "Check Findings"
    bl_options = {"REGISTER"}  # the check marks are not part of the file

    action: EnumProperty(  # type: ignore[valid-type]
        name="Action",
        description="What to check",
        items=(
            ("ALL", "All", "Check all findings that are listed"),
            ("NONE", "None", "Check nothing"),
            ("INVERT", "Invert", "Check those listed that are not checked, and the other way round"),
        ),
        default="ALL",
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if RESULTS.rows else Text("There are no findings: audit first"))

    @guarded
    def execute(self, context: Any) -> set[str]:
        listed = {row.key for row in RESULTS.shown_rows(properties.filters(properties.state(context)))}
        if self.action == "ALL":
            RESULTS.checked |= listed
        elif self.action == "NONE":
            RESULTS.checked.clear()
        else:
            RESULTS.checked ^= listed
        following.redraw()
        return {"FINISHED"}


CLASSES = (QUATAUDIT_OT_fix_active, QUATAUDIT_OT_fix_safe, QUATAUDIT_OT_fix_checked, QUATAUDIT_OT_check_rows)
