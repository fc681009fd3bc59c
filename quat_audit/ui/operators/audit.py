# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit: at once, or step by step with progress in the status bar while Blender stays alive."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty

from ...findings.finding import ERROR, NOTE, WARNING
from ...results.memory import RESULTS, Summary
from ...text import Text
from .. import auditing, following, preferences, properties, scope
from ..guard import guarded
from ..translations import CONTEXT
from ..wording import enabled, figures, reasons, say_report

# Blender gets its turn this often.
TIMER_SECONDS = 0.01


def profile_property() -> Any:
    """The profile of an audit; the panel's choice where it is not given."""
    return EnumProperty(
        name="Profile",
        description="What the animation is for: which rules apply, by which limits, and how severe they are",
        items=preferences.PROFILE_ITEMS,
        default=preferences.DEFAULT_PROFILE,
        options={"SKIP_SAVE"},
        translation_context=CONTEXT,
    )


class Stepwise:
    """An operator that audits at once, or in steps while Blender stays alive; `_make` begins the audit."""

    _job: auditing.Job | None = None
    _timer: Any = None

    def _make(self, context: Any, profile: str) -> auditing.Job:
        """The audit, not yet begun. Raises NothingToAudit."""
        raise NotImplementedError

    def _outcome(self, summary: Summary) -> Text:
        return outcome(summary)

    @guarded
    def execute(self, context: Any) -> set[str]:
        job = self._start(context)
        if job is None:
            return {"CANCELLED"}
        while job.running:
            job.run(60.0)
        return self._end(context, job)

    @guarded
    def invoke(self, context: Any, event: Any) -> set[str]:
        if bpy.app.background:
            return self.execute(context)
        job = self._start(context)
        if job is None:
            return {"CANCELLED"}
        # Most audits are done before anybody could look at a progress bar.
        job.run()
        if not job.running:
            return self._end(context, job)
        self._job = job
        auditing.RUNNING.append(job)
        choices = properties.state(context)
        choices.running, choices.progress = True, job.fraction
        self._timer = context.window_manager.event_timer_add(TIMER_SECONDS, window=context.window)
        context.window_manager.modal_handler_add(self)
        self._show(context)
        return {"RUNNING_MODAL"}

    @guarded
    def modal(self, context: Any, event: Any) -> set[str]:
        job = self._job
        assert job is not None
        if event.type == "ESC" and event.value == "PRESS":
            job.abort(Text("The audit was stopped; the findings of the one before stay"))
        elif event.type == "TIMER" and job.running:
            job.run()
            self._show(context)
        if job.running:
            # Nothing else gets through: whatever changes the keys while they are read would make the audit wrong.
            return {"RUNNING_MODAL"}
        self._tidy(context)
        return self._end(context, job)

    def cancel(self, context: Any) -> None:
        """Blender ends the operator by itself: a file is opened, or Blender quits."""
        self.put_back(context)

    def put_back(self, context: Any) -> None:
        """End an audit that is running, and leave nothing of it behind."""
        if self._job is not None:
            self._job.abort(Text("The audit was stopped"))
            self._tidy(context)

    def _start(self, context: Any) -> auditing.Job | None:
        given = self.properties.is_property_set("profile")  # type: ignore[attr-defined]
        profile = self.profile if given else properties.state(context).profile  # type: ignore[attr-defined]
        try:
            return self._make(context, profile)
        except auditing.NothingToAudit as error:
            self.report({"WARNING"}, say_report(error.why))  # type: ignore[attr-defined]
            return None

    def _show(self, context: Any) -> None:
        job = self._job
        assert job is not None
        properties.state(context).progress = job.fraction

        def draw(header: Any, _context: Any) -> None:
            header.layout.progress(factor=job.fraction, text=bpy.app.translations.pgettext_iface("Auditing"))
            # The icon of a key is wider than others, and a label's own text would touch it.
            header.layout.label(text="", icon="EVENT_ESC")
            header.layout.label(text="Stop")

        context.workspace.status_text_set(draw)
        following.redraw()

    def _tidy(self, context: Any) -> None:
        if self._timer is not None:
            context.window_manager.event_timer_remove(self._timer)
        self._job = self._timer = None
        auditing.RUNNING.clear()
        properties.state(context).running = False
        if context.workspace is not None:
            context.workspace.status_text_set(None)

    def _end(self, context: Any, job: auditing.Job) -> set[str]:
        following.redraw()
        if job.why_aborted is not None:
            self.report({"WARNING"}, say_report(job.why_aborted))  # type: ignore[attr-defined]
            return {"CANCELLED"}
        unread = [result.why_unread for result in job.found if result.why_unread]
        if unread:
            self.report({"WARNING"}, reasons(unread))  # type: ignore[attr-defined]
        if job.found and len(unread) == len(job.found):
            return {"CANCELLED"}  # none of them can be audited: what was found before stays
        summary = job.finish(context)
        if job.remark is not None:
            self.report({"WARNING"}, say_report(job.remark))  # type: ignore[attr-defined]
        self.report({"INFO"}, say_report(self._outcome(summary)))  # type: ignore[attr-defined]
        return {"FINISHED"}


class QUATAUDIT_OT_audit(Stepwise, bpy.types.Operator):
    """Look for broken rotation keys, and measure how much each of them shows"""

    bl_idname = "quat_audit.audit"
    bl_label = "Audit"
    bl_options = {"REGISTER"}  # nothing of the file changes

    scope: EnumProperty(  # type: ignore[valid-type]
        name="Scope", description="What to audit", items=scope.ITEMS, default=scope.ACTIVE_ACTION, options={"SKIP_SAVE"}
    )
    profile: profile_property()  # type: ignore[valid-type]

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, auditing.why_running() or scope.why_not(context, properties.state(context).scope))

    def _make(self, context: Any, profile: str) -> auditing.Job:
        given = self.properties.is_property_set("scope")
        return auditing.start(context, self.scope if given else properties.state(context).scope, profile)


def outcome(summary: Summary) -> Text:
    """An audit in one line."""
    values = {
        "errors": summary.counts[ERROR],
        "warnings": summary.counts[WARNING],
        "notes": summary.counts[NOTE],
        "keys": summary.keys,
        "worst": figures(largest(summary)),
    }
    if not any(summary.counts.values()):
        if not summary.keys:
            return Text("There are no keys to audit")
        return Text("Nothing found in {keys} keys", values)
    return Text("Errors: {errors}, warnings: {warnings}, notes: {notes}; the worst is {worst}", values)


def largest(summary: Summary) -> dict[str, float]:
    """Unit → the largest figure of all severities."""
    found: dict[str, float] = {}
    for worst in summary.worst.values():
        for unit, value in worst.items():
            found[unit] = max(found.get(unit, 0.0), value)
    return found


class QUATAUDIT_OT_clear_results(bpy.types.Operator):
    """Forget the findings; nothing of the file changes"""

    bl_idname = "quat_audit.clear_results"
    bl_label = "Clear Findings"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if RESULTS.audited else Text("There are no findings: audit first"))

    @guarded
    def execute(self, context: Any) -> set[str]:
        RESULTS.clear()
        properties.sync(properties.state(context))
        following.redraw()
        return {"FINISHED"}


CLASSES = (QUATAUDIT_OT_audit, QUATAUDIT_OT_clear_results)
