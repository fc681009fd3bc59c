# SPDX-License-Identifier: GPL-3.0-or-later
"""The sidebar tab "Rig Audit": the same panel in the 3D Viewport, Graph Editor, Dope Sheet and NLA Editor."""

from __future__ import annotations

from typing import Any

import bpy

from ..audit import noise
from ..findings.finding import NONE, SAFE, SEVERITIES, UNSAFE
from ..findings.report import who_plays
from ..results.memory import RESULTS, Summary
from ..results.rows import ACTION, MESH, Row
from ..text import Text
from . import auditing, following, icons, properties, repairing, scope
from .comparison import state as comparing
from .translations import CONTEXT
from .wording import figures, label, lines, not_safe, other_way_of, remedy_of, say, summary_of

CATEGORY = "Rig Audit"
# Of a long list in the panel, what is read.
MOST_LISTED = 20

_COUNTED = {
    "error": (Text("1 error"), "{count} errors"),
    "warning": (Text("1 warning"), "{count} warnings"),
    "note": (Text("1 note"), "{count} notes"),
}
_FIXES = {
    ACTION: {
        SAFE: "Safe fix: no keyed pose changes",
        UNSAFE: "Unsafe fix: keyed poses may change",
        NONE: "No automatic fix",
    },
    MESH: {
        SAFE: "Safe fix: no vertex that is in order moves",
        UNSAFE: "Unsafe fix: vertices may move",
        NONE: "No automatic fix",
    },
}


def paragraph(layout: Any, context: Any, text: str, *, icon: str = "NONE", indent: int = 0) -> None:
    """A text in as many lines as it needs."""
    column = layout.column(align=True)
    column.scale_y = 0.85
    indent += icon != "NONE"
    for number, line in enumerate(lines(context, text, indent)):
        if icon == "NONE":
            column.label(text=line, translate=False)
        else:
            column.label(text=line, icon=icon if number == 0 else "BLANK1", translate=False)


class _Main:
    """Scope, profile, Audit, and what was found in numbers."""

    bl_label = "Rig Audit"

    def draw_header_preset(self, context: Any) -> None:
        self.layout.operator("quat_audit.help", text="", icon="HELP", emboss=False)  # type: ignore[attr-defined]

    def draw(self, context: Any) -> None:
        layout = self.layout  # type: ignore[attr-defined]
        choices = properties.state(context)
        following.notice_removed()
        column = layout.column()
        column.enabled = not choices.running
        column.prop(choices, "scope", text="")
        column.prop(choices, "profile", text="")
        if choices.running:
            layout.progress(factor=choices.progress, text=say("Auditing"))
            layout.label(text="Esc stops it")
        else:
            row = layout.row()
            row.scale_y = 1.4
            row.operator("quat_audit.audit", icon="VIEWZOOM")
            why = scope.why_not(context, choices.scope)
            if why is not None:
                paragraph(layout, context, say(why), icon="INFO")
        _draw_summary(layout, context)


def _draw_summary(layout: Any, context: Any) -> None:
    if RESULTS.message:
        paragraph(layout, context, say(RESULTS.message), icon="INFO")
    _draw_comparison(layout, context)
    if not RESULTS.audited:
        return
    summary = RESULTS.summary()
    if not any(summary.counts.values()):
        for text in _clean(summary):
            layout.label(text=say(text), icon="CHECKMARK", translate=False)
    else:
        column = layout.column(align=True)
        for severity in reversed(SEVERITIES):
            count = summary.counts[severity]
            if not count:
                continue
            one, several = _COUNTED[severity]
            row = column.row()
            row.label(
                text=say(one if count == 1 else Text(several, {"count": count})),
                icon_value=icons.of(severity),
                translate=False,
            )
            if severity in summary.worst:
                figure = row.row()
                figure.alignment = "RIGHT"
                figure.label(text=say(Text("up to {figures}", {"figures": figures(summary.worst[severity])})))
    if RESULTS.any_outdated:
        paragraph(layout, context, say("The file changed since the audit"), icon="ERROR")
    if summary.ignored:
        layout.label(text=say(Text("{count} ignored", {"count": summary.ignored})), icon="HIDE_ON", translate=False)
    channels = len(RESULTS.not_evaluated(ACTION))
    if channels:
        paragraph(
            layout,
            context,
            say(Text("{count} channels could not be judged: see the report", {"count": channels})),
            icon="QUESTION",
        )


def _clean(summary: Summary) -> list[Text]:
    """What an audit says that found nothing."""
    found = []
    if MESH in RESULTS.profiles:
        values = {"vertices": summary.vertices, "meshes": summary.meshes}
        found.append(Text("Clean: {vertices} vertices of {meshes} meshes", values))
    if ACTION in RESULTS.profiles:
        found.append(Text("Clean: {keys} keys", {"keys": summary.keys}) if summary.keys else Text("No keys to audit"))
    return found


def _draw_comparison(layout: Any, context: Any) -> None:
    """The switch of the before and after that is drawn, or the offer of that of the last fix."""
    shown = comparing.STATE.shown
    if shown is not None:
        words = say(Text("Before and after: {bone}", {"bone": shown.label}))
        layout.operator("quat_audit.compare_off", text=words, icon="PANEL_CLOSE", depress=True, translate=False)
        if shown.outdated:
            paragraph(layout, context, say(shown.remarks[0]), icon="ERROR")
    elif comparing.offered(RESULTS.message) is not None:
        layout.operator("quat_audit.compare_last", icon="ONIONSKIN_ON")


class _Findings:
    """The list, and the fixes for more than one finding."""

    bl_label = "Findings"

    @classmethod
    def poll(cls, context: Any) -> bool:
        return bool(RESULTS.rows)

    def draw_header_preset(self, context: Any) -> None:
        self.layout.menu("QUATAUDIT_MT_findings", text="", icon="DOWNARROW_HLT")  # type: ignore[attr-defined]

    def draw(self, context: Any) -> None:
        layout = self.layout  # type: ignore[attr-defined]
        choices = properties.state(context)
        layout.template_list("QUATAUDIT_UL_findings", "", choices, "rows", choices, "active", rows=6)
        column = layout.column(align=True)
        safe = RESULTS.summary().safe
        column.operator(
            "quat_audit.fix_safe",
            text=say(Text("Fix All Safe ({count})", {"count": safe})) if safe else say("Fix All Safe"),
            translate=False,
        )
        checked = len(RESULTS.checked_rows())
        column.operator(
            "quat_audit.fix_checked",
            text=say(Text("Fix Selected ({count})", {"count": checked})) if checked else say("Fix Selected"),
            translate=False,
        )


class _Detail:
    """One finding in plain words: what it is, what it does here, what its fix will do, what stays."""

    bl_label = "Detail"
    bl_translation_context = CONTEXT  # Blender's own "Detail" is that of a texture

    @classmethod
    def poll(cls, context: Any) -> bool:
        return properties.active_row(properties.state(context)) is not None

    def draw(self, context: Any) -> None:
        layout = self.layout  # type: ignore[attr-defined]
        choices = properties.state(context)
        row = properties.active_row(choices)
        if row is None:
            return
        finding = row.finding
        header = layout.row()
        header.label(text=label(row.label), icon_value=icons.of(finding.severity), translate=False)
        code = header.row()
        code.alignment = "RIGHT"
        code.operator("quat_audit.help", text=row.key.code, icon="HELP", translate=False).code = row.key.code
        outdated = RESULTS.outdated(row)
        if outdated is not None:
            paragraph(layout, context, say(outdated), icon="ERROR")
        paragraph(layout, context, _first_upper(summary_of(row.key.code)))
        if finding.data_path == noise.DATA_PATH:
            together = Text(
                "Told together: each is below {degrees}°, which does not show", {"degrees": noise.NOISE_DEG}
            )
            paragraph(layout, context, say(together))
        _draw_place(layout, context, choices, row)
        _draw_fix(layout, context, row)
        column = layout.column(align=True)
        column.prop(choices, "ignore_reason", text="", placeholder="Why it is meant")
        column.operator("quat_audit.ignore", icon="HIDE_ON")


def _draw_place(layout: Any, context: Any, choices: Any, row: Row) -> None:
    finding = row.finding
    box = layout.box()
    column = box.column()
    count = len(finding.occurrences)
    if count:
        number = properties.occurrence(choices, row)
        text = f"{_first_upper(say(finding.where(number)))}: {say(finding.what(number))}"
        paragraph(column, context, text, indent=1)
        steps = column.row(align=True)
        steps.operator("quat_audit.occurrence_step", text="", icon="TRIA_LEFT").direction = "PREVIOUS"
        go_to = Text("Go To ({number} of {count})", {"number": number + 1, "count": count})
        steps.operator("quat_audit.go_to", text=say(go_to) if count > 1 else say("Go To"), translate=False)
        steps.operator("quat_audit.occurrence_step", text="", icon="TRIA_RIGHT").direction = "NEXT"
    else:
        paragraph(column, context, finding.message, indent=1)
    if len(finding.bones) > 1:
        column.operator("quat_audit.select_bones", icon="BONE_DATA")
    if row.key.address.kind == MESH:
        column.operator("quat_audit.select_vertices", icon="VERTEXSEL")
        paragraph(column, context, finding.owner, icon="MESH_DATA", indent=1)
    words = " · ".join(filter(None, (finding.action, finding.slot if finding.slot != finding.owner else "")))
    if words:
        paragraph(column, context, words, icon="ACTION", indent=1)
    shown = RESULTS.shown(row.key.address)
    if shown is not None and shown.line is not None:
        for who in who_plays(shown.line.readers):
            paragraph(column, context, say(who), icon="PLAY", indent=1)


def _draw_fix(layout: Any, context: Any, row: Row) -> None:
    locked = repairing.why_locked(row)
    if locked:
        paragraph(layout, context, say(Text("Cannot be fixed: {why}", {"why": locked})), icon="LOCKED")
        return
    fix, caution = row.finding.fix, row.finding.caution
    if not caution:
        icon = {SAFE: "CHECKMARK", UNSAFE: "ERROR", NONE: "X"}[fix]
        paragraph(layout, context, say(_FIXES[row.key.address.kind][fix]), icon=icon)
    elif fix == NONE:
        paragraph(layout, context, f"{say(_FIXES[row.key.address.kind][NONE])}: {say(caution)}", icon="X")
    remedy = remedy_of(row.key.code)
    if remedy and fix != NONE:
        paragraph(layout, context, remedy)
        if caution:
            paragraph(layout, context, say(not_safe(caution)), icon="ERROR")
        layout.operator("quat_audit.fix_active").other_way = False
    way = other_way_of(row.key.code)
    if way is not None and (fix != NONE or way.always):
        layout.operator("quat_audit.fix_active", text=say(way.label), translate=False).other_way = True
    shown = comparing.STATE.shown
    layout.operator("quat_audit.compare", icon="ONIONSKIN_ON", depress=shown is not None and shown.key == row.key)


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


class _Tools:
    """Markers, the report, and what is ignored."""

    bl_label = "Tools"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: Any) -> bool:
        return not auditing.RUNNING

    def draw(self, context: Any) -> None:
        layout = self.layout  # type: ignore[attr-defined]
        column = layout.column(align=True)
        column.operator("quat_audit.markers_add", icon="MARKER_HLT")
        column.operator("quat_audit.markers_remove", icon="MARKER")
        layout.operator("quat_audit.export_report", icon="EXPORT")
        _draw_ignored(layout, context)


def _draw_ignored(layout: Any, context: Any) -> None:
    ignored = RESULTS.ignored
    if not ignored:
        return
    box = layout.box()
    box.label(text=say(Text("{count} ignored", {"count": len(ignored)})), icon="HIDE_ON", translate=False)
    for number, (_, item) in enumerate(ignored[:MOST_LISTED]):
        f = item.finding
        line = box.row(align=True)
        line.label(text=f"{f.code} {f.bone or f.owner or f.data_path}", translate=False)
        line.operator("quat_audit.unignore", text="", icon="LOOP_BACK", emboss=False).number = number
        if item.reason:
            paragraph(box, context, item.reason, indent=1)
    if len(ignored) > MOST_LISTED:
        box.label(text=say(Text("and {count} more", {"count": len(ignored) - MOST_LISTED})), translate=False)
    box.operator("quat_audit.unignore", text="Report All Again").number = -1


_PARTS = (("main", _Main), ("findings", _Findings), ("detail", _Detail), ("tools", _Tools))
_EDITORS = (
    ("view3d", "VIEW_3D"),
    ("graph", "GRAPH_EDITOR"),
    ("dopesheet", "DOPESHEET_EDITOR"),
    ("nla", "NLA_EDITOR"),
)


def _panel(part: str, base: type, editor: str, space: str) -> type:
    """The panel class of one part in one editor: Blender wants a class for each."""
    identifier = f"QUATAUDIT_PT_{part}_{editor}"
    attributes = {
        "__doc__": base.__doc__,
        "bl_idname": identifier,
        "bl_label": base.bl_label,  # type: ignore[attr-defined]
        "bl_space_type": space,
        "bl_region_type": "UI",
        "bl_category": CATEGORY,
    }
    if part != "main":
        attributes["bl_parent_id"] = f"QUATAUDIT_PT_main_{editor}"
        # Other files put theirs in between.
        attributes["bl_order"] = 10 * [name for name, _ in _PARTS].index(part)
    return type(identifier, (base, bpy.types.Panel), attributes)


CLASSES = tuple(_panel(part, base, editor, space) for editor, space in _EDITORS for part, base in _PARTS)
