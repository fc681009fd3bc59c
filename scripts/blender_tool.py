# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the bpy wheel of this Python keeps Blender's extension builder; found without importing bpy."""

from __future__ import annotations

import importlib.util
from pathlib import Path


def _scripts() -> Path | None:
    """The wheel's scripts folder (it is named after the version: bpy/4.2/scripts)."""
    found = importlib.util.find_spec("bpy")
    for folder in (found.submodule_search_locations or []) if found else []:
        for scripts in sorted(Path(folder).glob("[0-9]*/scripts")):
            return scripts
    return None


def available() -> bool:
    """Whether this Python has a bpy wheel."""
    return _scripts() is not None


def builder() -> Path:
    """blender_ext.py: `blender --command extension` without a Blender."""
    return _inside("addons_core/bl_pkg/cli/blender_ext.py")


def tags() -> Path:
    """The tags that an extension may have."""
    return _inside("modules/_bpy_internal/extensions/tags.py")


def _inside(name: str) -> Path:
    scripts = _scripts()
    if scripts is None or not (scripts / name).is_file():
        raise FileNotFoundError(f"this Python has no bpy wheel with scripts/{name}: pip install bpy")
    return scripts / name
