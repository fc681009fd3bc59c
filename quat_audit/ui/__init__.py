# SPDX-License-Identifier: GPL-3.0-or-later
"""The artist's side: a sidebar tab, operators, preferences. It only registers; nothing here works without bpy.

command.py        `blender --command quat_audit …`
scope.py          what "active action", "whole file", … mean in the open file
auditing.py       an audit in small slices; following.py keeps its result in step with the file
repairing.py      repairs of chosen findings, with the proof
wording.py icons.py           how a finding is put into words and icons
properties.py preferences.py  what the panel and the extension remember
panel.py lists.py menus.py    what is drawn; canvas.py lines and words on a viewport
operators/        what is clicked
skin/             audit and repair of weights and deformation
preview/          the skinning preview
comparison/       before and after of a repair
hooks.py          automatic audits; translations.py languages
handlers.py windows.py        what Blender calls, and every viewport at once
guard.py          a mistake of ours is logged and told as one, whatever called us

The rows of the list are in results/, which needs no bpy.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import bpy

from ..blender import compat
from . import following, hooks, lists, menus, panel, preferences, properties, translations
from .comparison import operators as comparison_operators
from .comparison import state as comparison_state
from .operators import audit, fix, ignore, keys, navigate, report, skin
from .preview import operators as preview_operators
from .preview import panel as preview_panel
from .preview import properties as preview_properties
from .preview import state as preview_state
from .skin import panel as skin_panel

# In this order: the panel's properties need the preferences, the panels need all the rest.
MODULES: Sequence[ModuleType] = (
    preferences,
    properties,
    lists,
    audit,
    skin,
    fix,
    navigate,
    ignore,
    report,
    keys,
    comparison_operators,
    hooks,
    menus,
    panel,
    skin_panel,
    comparison_state,
    following,
    preview_properties,
    preview_operators,
    preview_panel,
    preview_state,
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
