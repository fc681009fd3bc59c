# SPDX-License-Identifier: GPL-3.0-or-later
"""The artist's side: a sidebar tab, operators, preferences. It only registers; nothing here works without bpy.

results.py rows.py    the last audit as plain Python: rows, filters, what no longer applies     no bpy
scope.py              what "active action", "whole file", … mean in the open file
auditing.py           an audit in small steps; following.py keeps its result in step with the file
repairing.py          repairs of chosen findings, with the proof; outcome.py tells it
skin_auditing.py skin_repairing.py                the same for weights and deformation of meshes
wording.py icons.py   how a finding is put into words and icons
properties.py preferences.py                      what the panel and the extension remember
panel.py skin_panel.py lists.py menus.py          what is drawn
audit_, skin_, fix_, navigate_, ignore_, report_, key_, comparison_operators.py    what is clicked
preview.py preview_source.py preview_drawing.py   the skinning preview: what it holds, shows, and draws
preview_properties.py preview_operators.py preview_panel.py    its choices, buttons and panel
comparing.py comparison_view.py comparison_graph.py canvas.py       before and after of a repair, and its drawing
hooks.py translations.py                          automatic audits, languages
handlers.py windows.py                            what Blender calls, and every viewport at once
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import bpy

from ..blender import compat
from . import (
    audit_operators,
    comparing,
    comparison_operators,
    fix_operators,
    following,
    hooks,
    ignore_operators,
    key_operators,
    lists,
    menus,
    navigate_operators,
    panel,
    preferences,
    preview,
    preview_operators,
    preview_panel,
    preview_properties,
    properties,
    report_operators,
    skin_operators,
    skin_panel,
    translations,
)

# In this order: the panel's properties need the preferences, the panels need all the rest.
MODULES: Sequence[ModuleType] = (
    preferences,
    properties,
    lists,
    audit_operators,
    skin_operators,
    fix_operators,
    navigate_operators,
    ignore_operators,
    report_operators,
    key_operators,
    comparison_operators,
    hooks,
    menus,
    panel,
    skin_panel,
    comparing,
    following,
    preview_properties,
    preview_operators,
    preview_panel,
    preview,
    translations,
)

_registered: list[Any] = []


def register() -> None:
    """Register all classes, then what each module adds beyond them. A failure leaves nothing registered."""
    try:
        for module in MODULES:
            for cls in module.CLASSES:
                bpy.utils.register_class(cls)
                _registered.append(cls)
            if hasattr(module, "register"):
                module.register()
                _registered.append(module)
    except BaseException:
        unregister()
        raise
    if compat.runs_as_module():
        # Blender as a Python module does not disable add-ons when it ends, and classes left over make 4.5 hang.
        atexit.register(unregister)


def unregister() -> None:
    """Take it all back, the last first."""
    atexit.unregister(unregister)
    while _registered:
        item = _registered.pop()
        if isinstance(item, ModuleType):
            item.unregister()
        else:
            bpy.utils.unregister_class(item)
