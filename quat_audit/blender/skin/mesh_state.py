# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a skin that was read is still what the file holds, asked so cheaply that every redraw can.

Weights and positions are not looked at: of those Blender tells, by an update of the Mesh (a pose updates only the
objects and the Armature).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..names import group_names, read_text

_OF_MODIFIER = (
    "use_deform_preserve_volume",
    "use_vertex_groups",
    "use_bone_envelopes",
    "invert_vertex_group",
)


def mesh_state(obj: Any, rig: Any, scene: Any) -> tuple[Any, ...]:
    """Equal as long as nothing was changed that `skin.read_object` reads, but for weights and positions.

    Args:
        obj, rig: the mesh object and the armature by which it was read.
        scene: whose units count.
    """
    mesh, bones = obj.data, rig.data.bones
    rest = np.empty(16 * len(bones), dtype=np.float32)
    deform = np.empty(len(bones), dtype=bool)
    bones.foreach_get("matrix_local", rest)
    bones.foreach_get("use_deform", deform)
    return (
        mesh.session_uid,
        len(mesh.vertices),
        mesh.is_editmode,
        group_names(obj),
        tuple(_of_modifier(modifier) for modifier in obj.modifiers),
        rig.data.is_editmode,
        rig.data.pose_position,
        tuple(bones.keys()),
        rest.tobytes(),
        deform.tobytes(),
        scene.unit_settings.scale_length,
    )


def _of_modifier(modifier: Any) -> tuple[Any, ...]:
    common = (modifier.name, modifier.type, modifier.show_viewport)
    if modifier.type != "ARMATURE":
        return common
    target = modifier.object.session_uid if modifier.object is not None else 0
    return (*common, target, read_text(modifier, "vertex_group"), *(getattr(modifier, name) for name in _OF_MODIFIER))
