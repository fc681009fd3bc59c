# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs: one finding, all safe ones, or those that are checked. Each is one undo step and says its proof."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty

from ...findings.finding import NONE
from ...results.memory import RESULTS
from ...results.rows import ACTION, MESH, Row
from ...text import Text, listed
from .. import auditing, following, properties, repairing
from ..comparison import state as comparing
from ..guard import guarded
from ..windows import waiting
from ..wording import (
    MOST_REASONS,
    enabled,
    lines,
    not_safe,
    other_way_of,
    reasons,
    remedy_of,
    say,
    say_report,
    summary_of,
)

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
    way = other_way_of(row.key.code)
    if row.finding.fix == NONE and not (way is not None and way.always):
        return Text("There is no automatic fix for this finding")
    return None


def repair(
    operator: Any, context: Any, rows: Sequence[Row], *, unsafe: bool, other_way: bool = False, everything: bool = False
) -> set[str]:
    """Repair some findings, and say what was done and what was not.

    other_way: as `Rule.other_way` has it. everything: what is left alone then is said, too.
    """
    settings_of = partial(auditing.settings_of_results, context)
    with waiting(context):
        outcome = repairing.repair_rows(rows, settings_of, unsafe=unsafe, other_way=other_way)
    if outcome.proof.not_measured:
        # A rotation mode or a slot that was set concerns the other actions of whoever has it.
        following.look_again(delay_seconds=0.0)
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
        if other_way and not (outcome.failed or outcome.outdated or refused):
            no_way = Text("These keys cannot be repaired in this way: see the known limits of the rule")
            operator.report({"WARNING"}, say_report(no_way))
        elif not (outcome.failed or outcome.outdated or refused):
            operator.report({"INFO"}, say_report("Nothing had to be changed"))
        RESULTS.message = ""
        return {"CANCELLED"}
    if everything and (left := left_alone()) is not None:
        said.append(say_report(left))
    operator.report({"INFO"}, "; ".join(said))
    RESULTS.message = "; ".join(said)
    comparing.keep_last(outcome.edits, rows, RESULTS.message)
    return {"FINISHED"}


def left_alone() -> Text | None:
    """The findings whose fix is not safe, and for whom; None without any."""
    cautions = RESULTS.summary().cautions
    values = {"findings": sum(cautions.values()), "why": listed(list(cautions))}
    return Text("{findings} findings left alone: {why}", values) if cautions else None


def confirmation(rows: Sequence[Row], *, other_way: bool = False) -> Text:
    """What unsafe fixes are going to change, before they do."""
    kinds = {row.key.address.kind for row in rows}
    values = {
        "findings": len(rows),
        "bones": len({(row.key.address, bone or row.label) for row in rows for bone in row.finding.bones}),
        "unsafe": sum(other_way or not row.safe for row in rows),
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


def warnings(rows: Sequence[Row], *, other_way: bool = False) -> list[str]:
    """What a person reads before some unsafe fixes: what they change, for whom, and how."""
    unsafe = [row for row in rows if other_way or not row.safe]
    cautions = dict.fromkeys(not_safe(row.finding.caution) for row in unsafe if row.finding.caution)
    remedies = dict.fromkeys(remedy_of(row.key.code, other_way=other_way) for row in unsafe)
    return [
        confirmation(rows, other_way=other_way),
        *[*filter(None, remedies)][:MOST_REASONS],
        *[*cautions][:MOST_REASONS],
    ]


class _Confirmed:
    """Asks before an unsafe fix, in the one dialog that there is."""

    _says: Sequence[str] = ()

    def _ask(self, context: Any, event: Any, rows: Sequence[Row], *, other_way: bool = False) -> set[str]:
        if bpy.app.background or (all(row.safe for row in rows) and not other_way):
            return self.execute(context)  # type: ignore[attr-defined]
        self._says = [say(text) for text in warnings(rows, other_way=other_way)]
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

    other_way: BoolProperty(  # type: ignore[valid-type]
        name="Other Way",
        description="Repair it in the other way that its rule offers",
        default=False,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def description(cls, context: Any, properties_: Any) -> str:
        row = properties.chosen_row(context)
        if row is None:
            return say("Repair the finding that is shown; everything not at fault stays as it is")
        words = remedy_of(row.key.code, other_way=properties_.other_way) or summary_of(row.key.code)
        caution = row.finding.caution if row.fixable else ""
        return f"{words}\n{say(not_safe(caution))}" if caution else words

    @classmethod
    def poll(cls, context: Any) -> bool:
        why = why_not_now(context) or why_not_row(properties.chosen_row(context))
        return enabled(cls, why)

    @guarded
    def invoke(self, context: Any, event: Any) -> set[str]:
        row = properties.chosen_row(context)
        return self._ask(context, event, [row] if row is not None else [], other_way=self.other_way)

    @guarded
    def execute(self, context: Any) -> set[str]:
        row = properties.chosen_row(context)
        if row is None or (row.finding.fix == NONE and not self.other_way):
            self.report({"WARNING"}, say_report("There is no automatic fix for this finding"))
            return {"CANCELLED"}
        return repair(self, context, [row], unsafe=self.other_way or not row.safe, other_way=self.other_way)


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
            cautions = RESULTS.summary().cautions
            if cautions:
                why = Text("No fix is safe: {why}", {"why": listed(list(cautions))})
        return enabled(cls, why)

    @guarded
    def execute(self, context: Any) -> set[str]:
        return repair(self, context, [row for row in RESULTS.rows if row.safe], unsafe=False, everything=True)


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
