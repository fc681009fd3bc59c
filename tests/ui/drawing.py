# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the panel without a window: a layout that checks every call against Blender's own description of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import bpy

_PARAMETERS = {
    name: {parameter.identifier: parameter for parameter in function.parameters}
    for name, function in bpy.types.UILayout.bl_rna.functions.items()
}
_ICONS = {item.identifier for item in _PARAMETERS["label"]["icon"].enum_items}


class Layout:
    """Records what is drawn: `calls` of (what, text or name)."""

    def __init__(self, calls: list[tuple[str, str]] | None = None) -> None:
        self.calls = [] if calls is None else calls

    @property
    def texts(self) -> list[str]:
        return [text for what, text in self.calls if what == "label" and text]

    @property
    def text(self) -> str:
        """All labels, a space between two lines."""
        return " ".join(self.texts)

    @property
    def operators(self) -> list[str]:
        return [text for what, text in self.calls if what == "operator"]

    def _check(self, function: str, given: dict[str, Any]) -> None:
        unknown = set(given) - set(_PARAMETERS[function])
        assert not unknown, f"layout.{function} has no {unknown} in this Blender"
        assert given.get("icon", "NONE") in _ICONS, given
        assert isinstance(given.get("text", ""), str), given

    def label(self, **given: Any) -> None:
        self._check("label", given)
        self.calls.append(("label", given.get("text", "")))

    def prop(self, data: Any, name: str, **given: Any) -> None:
        self._check("prop", given)
        assert name in data.bl_rna.properties, name
        self.calls.append(("prop", name))

    def operator(self, name: str, **given: Any) -> Any:
        self._check("operator", given)
        category, _, function = name.partition(".")
        rna = getattr(getattr(bpy.ops, category), function).get_rna_type()  # KeyError: there is none
        self.calls.append(("operator", name))
        return _Options({p.identifier for p in rna.properties})

    def menu(self, name: str, **given: Any) -> None:
        self._check("menu", given)
        assert hasattr(bpy.types, name), name
        self.calls.append(("menu", name))

    def template_list(
        self, name: str, identifier: str, data: Any, prop: str, active: Any, index: str, **given: Any
    ) -> None:
        self._check("template_list", given)
        assert hasattr(bpy.types, name), name
        assert prop in data.bl_rna.properties and index in active.bl_rna.properties
        self.calls.append(("list", name))

    def progress(self, **given: Any) -> None:
        self._check("progress", given)
        self.calls.append(("progress", given.get("text", "")))

    def separator(self, **given: Any) -> None:
        self._check("separator", given)

    def _child(self, function: str, given: dict[str, Any]) -> Layout:
        self._check(function, given)
        return Layout(self.calls)

    def row(self, **given: Any) -> Layout:
        return self._child("row", given)

    def column(self, **given: Any) -> Layout:
        return self._child("column", given)

    def split(self, **given: Any) -> Layout:
        return self._child("split", given)

    def box(self, **given: Any) -> Layout:
        return self._child("box", given)


class _Options:
    """The properties of an operator's button: only those that the operator has."""

    def __init__(self, names: set[str]) -> None:
        object.__setattr__(self, "_names", names)

    def __setattr__(self, name: str, value: Any) -> None:
        assert name in self._names, name


def draw(cls: Any, method: str = "draw") -> Layout | None:
    """What a panel or menu shows now; None where it does not show."""
    if hasattr(cls, "poll") and not cls.poll(bpy.context):
        return None
    layout = Layout()
    getattr(cls, method)(SimpleNamespace(layout=layout), bpy.context)
    return layout


def draw_all() -> Layout:
    """Everything that is drawn, of all panels and menus of one editor, and of the list's visible lines."""
    from quat_audit.ui import lists, menus, panel, properties
    from quat_audit.ui.skin import panel as skin_panel

    whole = Layout()
    for base in (panel._Main, skin_panel.QUATAUDIT_PT_skin_view3d, panel._Findings, panel._Detail, panel._Tools):
        for method in ("draw_header_preset", "draw"):
            if hasattr(base, method):
                part = draw(base, method)
                whole.calls += part.calls if part is not None else []
    for menu in menus.CLASSES:
        whole.calls += draw(menu).calls
    choices = properties.state(bpy.context)
    ui_list = SimpleNamespace(bitflag_filter_item=1 << 30)
    flags, order = lists.QUATAUDIT_UL_findings.filter_items(ui_list, bpy.context, choices, "rows")
    assert len(flags) == len(order) == (len(choices.rows) if flags else 0)
    assert sorted(order) == list(range(len(order)))
    for number in range(min(len(choices.rows), 12)):
        lists.QUATAUDIT_UL_findings.draw_item(
            ui_list, bpy.context, whole, choices, choices.rows[number], 0, choices, "active", number
        )
    lists.QUATAUDIT_UL_findings.draw_filter(ui_list, bpy.context, whole)
    return whole


def steps_of(function: Callable[[], object]) -> int:
    """How many steps of the interpreter a call takes: what it costs, whatever else the machine does."""
    steps = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal steps
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        steps += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return steps
