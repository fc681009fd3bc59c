# SPDX-License-Identifier: GPL-3.0-or-later
"""Data that the open file links and that could not be found: what is not there is not judged, and that is said."""

from __future__ import annotations

from typing import Any

import bpy

from . import compat

# How many names a message holds.
MOST_NAMED = 5
# Whose lack takes animation or skins away; a brush or a picture is no loss to an audit.
_KINDS = (
    bpy.types.Action,
    bpy.types.Armature,
    bpy.types.Collection,
    bpy.types.Key,
    bpy.types.Mesh,
    bpy.types.Object,
    bpy.types.Scene,
)


def missing() -> list[tuple[str, str]]:
    """(path of the library, why not all of it could be looked at) for each from which something may be missing."""
    found = []
    for library in bpy.data.libraries:
        lost = sorted(item.name for item in library.users_id if item.is_missing and isinstance(item, _KINDS))
        if lost:
            found.append((library.filepath, _why(library, lost)))
        elif any(library.version) and (foreign := _foreign(tuple(library.version[:2]))):
            found.append((library.filepath, foreign))
    return sorted(found)


def _foreign(saved_by: tuple[int, int]) -> str:
    """Why animation of a library that was saved by such a Blender may not have arrived; "" where it has."""
    words = f"the linked file was saved by Blender {saved_by[0]}.{saved_by[1]:02d}"
    if compat.drops_animation_of(saved_by):
        return f"{words}, before 2.50: its animation is not loaded: open and save it with Blender 4.5"
    here = bpy.app.version[:2]
    if saved_by > here:
        return f"{words}, which {here[0]}.{here[1]} cannot read in full; run the audit with that version or newer"
    return ""


def _why(library: Any, lost: list[str]) -> str:
    some = ", ".join(lost[:MOST_NAMED]) + (f", … ({len(lost):,})" if len(lost) > MOST_NAMED else "")
    if library.is_missing:
        return f"the linked file is not there, so {some} could not be read: put it there, or relocate the library"
    return f"{some} can no longer be found in the linked file: link anew, or relocate the library"
