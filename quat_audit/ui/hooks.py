# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic audits after an import and before an export; off unless the preferences say otherwise.

What Blender offers, in 4.2 to 5.3:

    glTF import   `glTF2ImportUserExtension`: its hooks are called while the file is imported, from scripts too
    glTF export   `glTF2_pre_export_callback`: called before anything is written, from scripts too
    FBX import    nothing; the list of finished operators is looked at (the Python importer and, from 4.5, the C++ one)
    FBX export    nothing before it; it is audited as soon as it is done

The glTF add-on looks for these names in the module of every enabled add-on, so they are put there while we are
registered. Blender lists only operators that a person ran: an FBX import or export by a script is not seen. Nothing
here ever raises into an importer or exporter, and none is held up but for the time of the audit.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import bpy
from bpy.props import EnumProperty, StringProperty

from ..findings.finding import SEVERITIES
from ..results.memory import Summary
from ..text import Text
from . import auditing, guard, handlers, preferences, scope
from .wording import say_report

# What engines get is what both formats are for.
PROFILE = "game_export"
# FBX has no hook: how often the list of finished operators is looked at. It costs a microsecond.
WATCH_SECONDS = 0.5
FBX_IMPORTS = ("IMPORT_SCENE_OT_fbx", "WM_OT_fbx_import")
FBX_EXPORTS = ("EXPORT_SCENE_OT_fbx",)

_IMPORT, _EXPORT = "glTF2ImportUserExtension", "glTF2_pre_export_callback"


def after_import(known: set[int]) -> None:
    """Audit the actions that came in: those that are not `known` (by their session_uid)."""
    if not preferences.get_or_default(bpy.context).audit_after_import:
        return
    actions = [action for action in bpy.data.actions if action.session_uid not in known]
    if actions:
        _audit(lambda: auditing.audit_now(bpy.context, actions, profile=PROFILE), Text("Import"))


def before_export(selected_only: bool) -> None:
    """Audit what is going to be exported: the whole file, or the selected objects."""
    if not preferences.get_or_default(bpy.context).audit_before_export:
        return
    scope_name = scope.SELECTED if selected_only else scope.FILE
    _audit(lambda: auditing.audit_now(bpy.context, scope_name=scope_name, profile=PROFILE), Text("Export"))


def _audit(audit: Callable[[], Summary], what: Text) -> None:
    """Audit and report it; whatever goes wrong is told and stays here."""
    try:
        if auditing.RUNNING:
            return  # the artist's own audit has the panel
        try:
            summary = audit()
        except auditing.NothingToAudit:
            return
        severity, message = report_of(summary, what)
        bpy.ops.quat_audit.tell("EXEC_DEFAULT", severity=severity, message=say_report(message))
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        guard.tell(error, "the automatic audit; nothing was held up")


def report_of(summary: Summary, what: Text) -> tuple[str, Text]:
    """(kind of report, message) about an automatic audit."""
    counts = {"what": what, **{f"{severity}s": summary.counts.get(severity, 0) for severity in SEVERITIES}}
    if counts["errors"] or counts["warnings"]:
        return "WARNING", Text(
            "{what}: {errors} errors, {warnings} warnings in rotation keys; see the Rig Audit tab", counts
        )
    return "INFO", Text("{what}: rotation keys are clean ({notes} notes)", counts)


# --- glTF


class _ImportExtension:
    """What the glTF importer makes one of for each import, and calls by the names of its hooks."""

    def __init__(self) -> None:
        self._known = _action_uids()

    def gather_import_gltf_before_hook(self, *_: Any) -> None:
        self._known = _action_uids()

    def gather_import_scene_after_animation_hook(self, *_: Any) -> None:
        after_import(self._known)
        _WATCH.known = _action_uids()


def _pre_export(export_settings: Any) -> None:
    selected_only = isinstance(export_settings, Mapping) and bool(export_settings.get("gltf_selected", False))
    before_export(selected_only)


def _action_uids() -> set[int]:
    return {action.session_uid for action in bpy.data.actions}


# --- FBX


@dataclass
class _Watch:
    """The last operator that was looked at, by pointer (None: no look yet), and the actions that there were then."""

    last: int | None = None
    known: set[int] = field(default_factory=set)


_WATCH = _Watch()


def look_at_operators() -> float:
    """Audit when the last operator that a person ran was an FBX import or export. Called by a timer."""
    operators = bpy.context.window_manager.operators
    newest = operators[-1] if len(operators) else None
    pointer = newest.as_pointer() if newest is not None else 0
    if _WATCH.last is None:
        _WATCH.last = pointer  # what was done before we were there is not ours
    elif newest is not None and pointer != _WATCH.last:
        _WATCH.last = pointer
        if newest.bl_idname in FBX_IMPORTS:
            after_import(_WATCH.known)
        elif newest.bl_idname in FBX_EXPORTS:
            before_export(bool(getattr(newest, "use_selection", False)))
    if len(bpy.data.actions) != len(_WATCH.known):
        _WATCH.known = _action_uids()
    return WATCH_SECONDS


class QUATAUDIT_OT_tell(bpy.types.Operator):
    """Report a message, where nobody else can"""

    bl_idname = "quat_audit.tell"
    bl_label = "Report"
    bl_options = {"INTERNAL"}

    severity: EnumProperty(items=(("INFO", "Info", ""), ("WARNING", "Warning", ""), ("ERROR", "Error", "")))  # type: ignore[valid-type]
    message: StringProperty()  # type: ignore[valid-type]

    def execute(self, context: Any) -> set[str]:
        self.report({self.severity}, self.message)
        return {"FINISHED"}


CLASSES = (QUATAUDIT_OT_tell,)


def register() -> None:
    module = sys.modules[preferences.ADDON]
    setattr(module, _IMPORT, _ImportExtension)
    setattr(module, _EXPORT, _pre_export)
    if not bpy.app.background:
        _WATCH.last = None
        bpy.app.timers.register(look_at_operators, first_interval=WATCH_SECONDS, persistent=True)


def unregister() -> None:
    module = sys.modules[preferences.ADDON]
    for name in (_IMPORT, _EXPORT):
        if hasattr(module, name):
            delattr(module, name)
    handlers.stop_timer(look_at_operators)
