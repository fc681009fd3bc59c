# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinned meshes of the open file that a preview is made of, and its pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bpy

from ...errors import InputError, SkinError
from .. import linked
from . import posed as posed_skin
from .mesh import find, read_file
from .posed import PosedMesh

# How many objects a message names.
MOST_NAMED = 12


def read(frames: Sequence[float] | None) -> tuple[list[PosedMesh], list[tuple[str, str]], list[tuple[str, str]]]:
    """Every skinned mesh that is posed, (what, why) of what cannot be previewed, (what, why) of remarks on all."""
    posed, said = posed_skin.read_posed(frames)
    failed = [(what, why) for what, why in said if what in bpy.data.objects]
    remarks = [item for item in said if item not in failed]
    kept = []
    for item in posed:
        try:
            check(item)
            kept.append(item)
        except SkinError as error:
            failed.append((item.record.skin.mesh, error.why))
    return kept, failed + linked.missing(), remarks


def read_named(name: str, frames: Sequence[float] | None) -> PosedMesh:
    """One mesh of the open file.

    Raises:
        InputError: there is no mesh of that name; the message says what there is.
        SkinError: it is no skinned mesh, or cannot be posed; the message says why and what to do.
    """
    obj = bpy.data.objects.get(name)
    if obj is None:
        raise InputError(f"no object is called {name!r}: {skinned_meshes()}")
    if obj.type != "MESH" and not obj.is_missing:
        raise InputError(f"{name} is no mesh: {skinned_meshes()}")
    return read_one(obj, frames)


def read_one(obj: Any, frames: Sequence[float] | None) -> PosedMesh:
    """One mesh object.

    Raises:
        SkinError: it is no skinned mesh, or cannot be posed; the message says why and what to do.
    """
    item = posed_skin.read_posed_object(obj, frames)
    check(item)
    return item


def check(item: PosedMesh) -> None:
    """Raise SkinError for an armature that deforms nothing just now."""
    _, rig, _ = find(item.record)
    if rig.data.is_editmode:
        raise SkinError(f"{rig.name} is in edit mode, where it deforms nothing: leave edit mode")


def skinned_meshes() -> str:
    """What there is to preview, for a message."""
    records, failed = read_file()
    names = sorted([record.skin.mesh for record in records] + [item.mesh for item in failed])
    if not names:
        meshes = sum(obj.type == "MESH" for obj in bpy.data.objects)
        return f"no mesh of the file has an Armature modifier ({meshes} {'mesh' if meshes == 1 else 'meshes'} in all)"
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"its skinned meshes are {', '.join(names[:MOST_NAMED])}{more}"


def inputs() -> set[Path]:
    """The real paths of the open file and of all that it refers to: nothing may be written over them."""
    paths = [bpy.data.filepath, *bpy.utils.blend_paths(absolute=True, packed=False, local=False)]
    return {Path(path).resolve() for path in paths if path}


def file_name() -> str:
    """The open file's path, "" for one that was never saved."""
    return str(bpy.data.filepath)
