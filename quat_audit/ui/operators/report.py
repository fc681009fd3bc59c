# SPDX-License-Identifier: GPL-3.0-or-later
"""Export of the findings in every format that there is, and the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import EnumProperty, StringProperty
from bpy_extras.io_utils import ExportHelper

from ... import reports, version
from ...findings.report import Report
from ...results.memory import RESULTS
from ...text import Text
from ..guard import guarded
from ..wording import enabled, say_report

_SUFFIXES = {"text": ".txt", "json": ".json"}
_LABELS = {"text": ("Text", "For a person to read"), "json": ("JSON", "For a machine, as the command line writes it")}


def suffix_of(name: str) -> str:
    """The suffix of a format's files."""
    return _SUFFIXES.get(name, f".{name}")


def _format_items() -> tuple[tuple[str, str, str], ...]:
    return tuple((name.upper(), *_LABELS.get(name, (name, ""))) for name in sorted(reports.FORMATS, reverse=True))


class QUATAUDIT_OT_export_report(bpy.types.Operator, ExportHelper):
    """Write the findings to a file"""

    bl_idname = "quat_audit.export_report"
    bl_label = "Export Report"
    bl_options = {"REGISTER"}

    filename_ext = ".txt"
    filter_glob: StringProperty(default="*.txt;*.json", options={"HIDDEN"})  # type: ignore[valid-type]
    format: EnumProperty(  # type: ignore[valid-type]
        name="Format", description="How the report is written", items=_format_items(), default="TEXT"
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, None if RESULTS.audited else Text("There are no findings: audit first"))

    @guarded
    def invoke(self, context: Any, event: Any) -> set[str]:
        self.filename_ext = suffix_of(self.format.lower())
        if not self.filepath:  # type: ignore[has-type]  # ExportHelper has it
            stem = Path(bpy.data.filepath).stem or "untitled"
            self.filepath = f"{stem}_rig_audit{self.filename_ext}"
        result: set[str] = ExportHelper.invoke(self, context, event)
        return result

    def check(self, context: Any) -> bool:
        """The suffix follows the format."""
        wanted = suffix_of(self.format.lower())
        path = Path(self.filepath)
        if not path.name or path.suffix == wanted:
            return False
        known = {suffix_of(name) for name in reports.FORMATS}
        self.filepath = str(path.with_suffix(wanted) if path.suffix in known else path.with_name(path.name + wanted))
        return True

    @guarded
    def execute(self, context: Any) -> set[str]:
        if not self.filepath:
            self.report({"ERROR"}, say_report("No file to write to: give a path"))
            return {"CANCELLED"}
        path = Path(bpy.path.abspath(self.filepath))
        report = Report([RESULTS.report(bpy.data.filepath or "(not saved)")], bpy.app.version_string)
        try:
            path.write_text(reports.FORMATS[self.format.lower()](report), encoding="utf-8", newline="\n")
        except OSError as error:
            self.report(
                {"ERROR"},
                say_report(
                    Text("{path} cannot be written: {why}", {"path": str(path), "why": error.strerror or str(error)})
                ),
            )
            return {"CANCELLED"}
        self.report({"INFO"}, say_report(Text("Report written to {path}", {"path": str(path)})))
        return {"FINISHED"}


class QUATAUDIT_OT_help(bpy.types.Operator):
    """Open the documentation: of the rule of the finding that is shown, or the quick start"""

    bl_idname = "quat_audit.help"
    bl_label = "Help"
    bl_options = {"REGISTER"}

    code: StringProperty(  # type: ignore[valid-type]
        name="Rule", description="Code of a rule; empty opens the quick start", options={"SKIP_SAVE"}
    )

    @guarded
    def execute(self, context: Any) -> set[str]:
        page = documentation(self.code)
        if page is None:
            self.report({"WARNING"}, say_report("The documentation is not part of this installation"))
            return {"CANCELLED"}
        if bpy.app.background:
            self.report({"INFO"}, str(page))
        else:
            bpy.ops.wm.url_open(url=page.as_uri())
        return {"FINISHED"}


def documentation(code: str) -> Path | None:
    """The page about a rule, or the quick start; it lies beside the manifest, in a checkout and when installed."""
    package = Path(version.__file__).parent
    name = f"rules/{code}" if code else "quick-start"
    pages = [folder / "docs" / f"{name}{suffix}" for folder in (package, package.parent) for suffix in (".html", ".md")]
    return next((page for page in pages if page.is_file()), None)


CLASSES = (QUATAUDIT_OT_export_report, QUATAUDIT_OT_help)
