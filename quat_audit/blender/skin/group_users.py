# SPDX-License-Identifier: GPL-3.0-or-later
"""What names the vertex groups of a mesh object, beside its Armature modifier's bones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

from .. import compat
from ..names import read_text

# What holds an object and a name in it, of constraints: the second pair is the pole of IK.
_TARGETS = (("target", "subtarget"), ("pole_target", "pole_subtarget"))


def groups_in_use(obj: Any) -> set[str]:
    """Names that modifiers, shape keys, particle systems and constraints use as vertex groups of a mesh object.

    Text given to a Geometry Nodes modifier may name an attribute, and so a group: all of it is counted. Names that
    are no group of the mesh, "" among them, do no harm.
    """
    return {*_of_modifiers(obj), *_of_data(obj), *_of_constraints(obj)}


def _of_modifiers(obj: Any) -> Iterator[str]:
    for modifier in obj.modifiers:
        yield from _named_in(modifier)
        # Cloth, soft body and fluid keep their groups in settings of their own; an ID is another's.
        for prop in modifier.bl_rna.properties:
            held = getattr(modifier, prop.identifier) if prop.type == "POINTER" else None
            if held is not None and prop.identifier != "rna_type" and not isinstance(held, bpy.types.ID):
                yield from _named_in(held)
        if modifier.type == "NODES":
            yield from compat.texts_of_nodes(modifier)


def _of_data(obj: Any) -> Iterator[str]:
    keys = obj.data.shape_keys
    for holder in (*obj.particle_systems, *(keys.key_blocks if keys is not None else ())):
        yield from _named_in(holder)


def _of_constraints(obj: Any) -> Iterator[str]:
    for other in bpy.data.objects:
        for holder in (other, *(other.pose.bones if other.pose is not None else ())):
            for constraint in holder.constraints:
                for target, subtarget in _TARGETS:
                    if getattr(constraint, target, None) == obj:
                        yield read_text(constraint, subtarget)


def _named_in(holder: Any) -> Iterator[str]:
    for prop in holder.bl_rna.properties:
        if prop.type == "STRING" and "vertex_group" in prop.identifier:
            yield read_text(holder, prop.identifier)
