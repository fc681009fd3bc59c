# SPDX-License-Identifier: GPL-3.0-or-later
"""An armature or object as Blender evaluates it on many frames: what `comparison.kinematics` starts from.

The scene is stepped through the frames and put back as it was (`pose.stepping`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Quaternion

from ..arrays import Floats
from ..comparison.kinematics import PosedRig, Rig
from ..errors import QuatAuditError
from ..motion.clip import EULER_ORDERS, QUATERNION
from ..text import Text
from . import compat
from .pose import stepping

# An object that has no size of its own (an empty, a light) is drawn this large.
OBJECT_SIZE = 1.0


class NoPosesError(QuatAuditError):
    """Nothing that can be seen shows the poses of an action."""


def find_player(context: Any, names: Sequence[str], bone: str, action_uid: int, handle: int) -> Any:
    """The object among some whose poses show an action: the active one, or the first that can be seen.

    Raises: NoPosesError: none does, and why.
    """
    layer = context.view_layer.objects
    here = [layer[name] for name in names if name in layer]
    here.sort(key=lambda obj: obj != layer.active)
    if not here:
        raise NoPosesError(Text("Nobody in this view layer plays the action: there are no poses to show"))
    whys = [_why_not(obj, bone, action_uid, handle) for obj in here]
    for obj, why in zip(here, whys, strict=True):
        if why is None:
            return obj
    assert whys[0] is not None
    raise NoPosesError(whys[0])


def _why_not(obj: Any, bone: str, action_uid: int, handle: int) -> Text | None:
    data = obj.animation_data
    if not obj.visible_get():
        return Text("“{object}” is hidden: there are no poses to show", {"object": obj.name})
    if bone and (obj.pose is None or bone not in obj.pose.bones):
        return Text("“{object}” has no bone “{bone}” any more", {"object": obj.name, "bone": bone})
    if obj.mode == "EDIT":
        return Text("Leave Edit Mode: there is no pose in it")
    playing = data is not None and data.action is not None and data.action.session_uid == action_uid
    if not playing or compat.slot_handle(data) != handle or data.use_tweak_mode:
        return Text(
            "“{object}” does not play this action by itself now: there are no poses to show", {"object": obj.name}
        )
    if data.action_blend_type != "REPLACE" or data.action_influence != 1.0:
        return Text("“{object}” mixes this action with others: there are no poses to show", {"object": obj.name})
    return None


def selected_bones(obj: Any) -> list[str]:
    """The bones of an armature that are selected in Pose Mode and can be seen."""
    if obj.pose is None or obj.mode != "POSE":
        return []
    return [b.name for b in obj.pose.bones if compat.is_selected(b) and not compat.is_hidden(b)]


def evaluate(obj: Any, frames: Floats, *, as_rig: bool) -> PosedRig:
    """An object on some frames, subframes included: its bones, or itself as one bone without a name.

    The bone of an object stands in world space, its `length` is about half the object's size.
    """
    bones = list(obj.pose.bones) if as_rig else []
    count = len(bones) if as_rig else 1
    pose, basis = np.zeros((2, len(frames), count, 16), dtype=np.float32)
    scale = np.zeros((len(frames), count, 3), dtype=np.float32)
    world = np.zeros((len(frames), 4, 4))
    outer, inner = np.zeros((2, len(frames), 3, 3))
    scene = bpy.context.scene
    with stepping(scene, keep=False):
        for row, frame in enumerate(frames):
            whole = int(np.floor(frame))
            scene.frame_set(whole, subframe=float(frame) - whole)
            seen = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
            world[row] = seen.matrix_world
            outer[row] = inner[row] = np.eye(3)
            if as_rig:
                for name, target in (("matrix", pose), ("matrix_basis", basis), ("scale", scale)):
                    seen.pose.bones.foreach_get(name, target[row].reshape(-1))
            else:
                basis[row, 0] = np.array(seen.matrix_basis).T.ravel()
                scale[row, 0] = np.array(seen.scale) * np.array(seen.delta_scale)
                outer[row], inner[row] = (np.array(turn.to_matrix()) for turn in _object_rotation(seen))
    rig = _rig(bones) if as_rig else _object_rig(obj)
    if not as_rig:
        pose, world = world.copy().swapaxes(-1, -2).reshape(len(frames), 1, 16), np.tile(np.eye(4), (len(frames), 1, 1))
    # Blender hands matrices out column by column.
    pose, basis = (m.reshape(len(frames), count, 4, 4).swapaxes(-1, -2).astype(np.float64) for m in (pose, basis))
    return PosedRig(
        rig, np.asarray(frames, dtype=np.float64), world, pose, basis, scale.astype(np.float64), outer, inner
    )


def _object_rotation(obj: Any) -> tuple[Any, Any]:
    """(delta, plain) rotation of an evaluated object; an axis-angle has no delta of its own kind."""
    mode = obj.rotation_mode
    if mode == QUATERNION:
        return obj.delta_rotation_quaternion.normalized(), obj.rotation_quaternion.normalized()
    if mode in EULER_ORDERS:
        return Euler(obj.delta_rotation_euler, mode), Euler(obj.rotation_euler, mode)
    angle, *axis = obj.rotation_axis_angle
    return Quaternion(), Quaternion(axis, angle)


def _rig(bones: Sequence[Any]) -> Rig:
    number = {bone.name: row for row, bone in enumerate(bones)}
    chained = _in_chains(bones)
    return Rig(
        names=tuple(number),
        parents=np.array([number[b.parent.name] if b.parent is not None else -1 for b in bones], dtype=np.int64),
        lengths=np.array([b.bone.length for b in bones], dtype=np.float64),
        inherits_rotation=np.array([b.bone.use_inherit_rotation for b in bones], dtype=bool),
        inherits_scale=np.array([b.bone.inherit_scale in {"FULL", "FIX_SHEAR"} for b in bones], dtype=bool),
        constrained=np.array([b.name in chained for b in bones], dtype=bool),
    )


def _in_chains(bones: Sequence[Any]) -> set[str]:
    """Bones on which a constraint acts, and those that inverse kinematics turns along with them."""
    found = set()
    for bone in bones:
        for constraint in bone.constraints:
            if constraint.mute or constraint.influence == 0.0:
                continue
            found.add(bone.name)
            if constraint.type in {"IK", "SPLINE_IK"}:
                found |= {up.name for up in bone.parent_recursive[: getattr(constraint, "chain_count", 0) or None]}
    return found


def _object_rig(obj: Any) -> Rig:
    size = {"CAMERA": getattr(obj.data, "display_size", 0.0), "EMPTY": obj.empty_display_size}.get(obj.type, 0.0)
    size = size or 0.6 * max(obj.dimensions) or OBJECT_SIZE
    yes = np.ones(1, dtype=bool)
    constrained = np.array([any(not c.mute and c.influence > 0.0 for c in obj.constraints)])
    return Rig(("",), np.array([-1]), np.array([size]), yes, yes, constrained)
