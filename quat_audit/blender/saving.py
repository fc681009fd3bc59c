# SPDX-License-Identifier: GPL-3.0-or-later
"""What has to be seen to before the open file is saved elsewhere."""

from __future__ import annotations

from pathlib import Path

import bpy


def has_relative_paths() -> bool:
    """Whether the open file refers to others by paths relative to itself (so that a plain copy would lose them)."""
    return any(path.startswith("//") for path in bpy.utils.blend_paths(absolute=False, packed=False, local=False))


def libraries() -> tuple[Path, ...]:
    """The .blend files that the open file links."""
    return tuple(Path(bpy.path.abspath(library.filepath)) for library in bpy.data.libraries)


def unused_actions() -> dict[int, str]:
    """session_uid → name of the actions of the open file that Blender will not save, because nobody uses them.

    A file may hold one: saved by an object that was itself not saved, since no collection had it.
    """
    return {a.session_uid: a.name for a in bpy.data.actions if a.library is None and a.users == 0}


def keep_actions() -> None:
    """Give every action without a user a fake one: Blender does not save data that nobody uses."""
    for action in bpy.data.actions:
        if action.library is None and action.users == 0:
            action.use_fake_user = True
