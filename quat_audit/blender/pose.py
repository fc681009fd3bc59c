# SPDX-License-Identifier: GPL-3.0-or-later
"""Poses of armatures on many frames: the scene is stepped through them without evaluating any skinned mesh.

Everything is put back afterwards: the frame, the modifiers that were switched off meanwhile, and what was posed by
hand and not keyed (which a change of frame takes away). Work in slices puts it back at the end of each, so that nobody
ever sees another frame, and stopping it leaves nothing to clean up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import bpy
import numpy as np

from ..arrays import Bools, Floats
from ..errors import SkinError
from ..skinning.skin import Motion
from ..text import Text

_CHANNELS = (
    ("location", 3),
    ("rotation_quaternion", 4),
    ("rotation_euler", 3),
    ("rotation_axis_angle", 4),
    ("scale", 3),
)


def pose_matrices(obj: Any, rig: Any, frames: Sequence[float] | None = None) -> Motion:
    """What poses a mesh object on some frames.

    Args:
        obj, rig: the mesh object and the armature of its modifier.
        frames: may have fractions; None: as the scene stands now, without a step.

    Raises:
        SkinError: the armature is not evaluated in this view layer, or an object is scaled to nothing.
    """
    (motion,) = pose_many([(obj, rig)], frames)
    if isinstance(motion, str):
        raise SkinError(motion)
    return motion


def check_posed(obj: Any, rig: Any) -> None:
    """Raise SkinError when Blender does not evaluate one of them in this view layer."""
    bpy.context.view_layer.update()  # what was linked just now is in the layer only after that
    layer = bpy.context.view_layer.objects
    for one in (obj, rig):
        elsewhere = one.users_scene
        if elsewhere and bpy.context.scene not in elsewhere:
            raise SkinError(
                Text(
                    "{object} is in the scene {scene}, and only the active scene is posed: make that one active",
                    {"object": one.name, "scene": elsewhere[0].name},
                )
            )
        if not in_layer(one, layer):
            raise SkinError(
                Text(
                    "{object} is not in the view layer, so Blender does not pose it: include its collection",
                    {"object": one.name},
                )
            )
        if not one.evaluated_get(bpy.context.evaluated_depsgraph_get()).is_evaluated:
            raise SkinError(
                Text("{object} is disabled in viewports, so Blender does not pose it: enable it", {"object": one.name})
            )


def in_layer(obj: Any, objects: Any) -> bool:
    """Whether an object is among those of a view layer, where a linked and a local one may have the same name."""
    return bool(objects.get(obj.name) == obj) or any(one == obj for one in objects)


def pose_many(pairs: Sequence[tuple[Any, Any]], frames: Sequence[float] | None = None) -> list[Motion | str]:
    """As `pose_matrices` for several (mesh object, armature) pairs in one pass; why not, for those scaled to nothing.

    Raises:
        SkinError: one of them is not evaluated in this view layer.
    """
    *_, (_, motions) = pose_slices(pairs, frames)
    assert motions is not None
    return motions


def pose_slices(
    pairs: Sequence[tuple[Any, Any]], frames: Sequence[float] | None = None, *, slice_seconds: float = math.inf
) -> Iterator[tuple[float, list[Motion | str] | None]]:
    """The same in slices: (share of the frames done, None) after each, at last (1.0, what `pose_many` gives).

    A slice takes about `slice_seconds`, up to twice as long where putting the scene back takes longer, so that less of
    the time goes into that. After each the scene is as it was; closing the iterator leaves nothing behind.
    """
    scene = bpy.context.scene
    for obj, rig in pairs:
        check_posed(obj, rig)
    at = [scene.frame_current_final] if frames is None else list(frames)
    deform = [np.empty((len(at), len(rig.pose.bones), 16), dtype=np.float32) for _, rig in pairs]
    worlds = np.empty((len(pairs), 2, len(at), 4, 4))
    if frames is None:
        _take(pairs, 0, deform, worlds)
    else:
        number, putting_back = 0, 0.0
        # An armature that is hidden is posed only because a mesh that is not hidden needs it.
        keep = any(not rig.visible_get() for _, rig in pairs)
        while number < len(at):
            with stepping(scene, keep=keep):
                until = time.perf_counter() + max(slice_seconds, min(putting_back, 2.0 * slice_seconds))
                while number < len(at):
                    whole = int(np.floor(at[number]))
                    scene.frame_set(whole, subframe=float(at[number]) - whole)
                    _take(pairs, number, deform, worlds)
                    number += 1
                    if time.perf_counter() >= until:
                        break
                done = time.perf_counter()
            putting_back = time.perf_counter() - done
            if number < len(at):
                yield number / len(at), None
    yield 1.0, [_motion(pair, at, *taken) for pair, taken in zip(pairs, zip(deform, worlds, strict=True), strict=True)]


def _motion(pair: tuple[Any, Any], at: Sequence[float], matrices: Floats, worlds: Floats) -> Motion | str:
    """What was taken of one pair, (F, B, 16) and (2, F, 4, 4), or why it is of no use.

    Frames on which an object is scaled to nothing, as is done to hide it, or a deforming bone is nowhere, are left out:
    there is no shape on them.
    """
    obj, rig = pair
    names = {"mesh": obj.name, "armature": rig.name}
    there = _somewhere(rig, matrices, worlds)
    if not there.any():
        return Text("{mesh} or {armature} is nowhere (NaN): look for keys or transforms that are no numbers", names)
    there[there] = np.all(np.linalg.det(worlds[:, there]) != 0.0, axis=0)
    if not there.any():
        return Text("{mesh} or {armature} is scaled to nothing: give it a scale, or choose other frames", names)
    world, rig_world = worlds[:, there]
    # Blender hands matrices out column by column.
    channel = matrices[there].reshape(len(world), -1, 4, 4).swapaxes(-1, -2).astype(np.float64)
    to_armature = np.linalg.inv(rig_world) @ world
    return Motion(np.array(at, dtype=np.float64)[there], channel, to_armature, world, _action_name(rig))


def _somewhere(rig: Any, matrices: Floats, worlds: Floats) -> Bools:
    """(F,) whether both objects and all deforming bones have a position, (F, B × 16) and (2, F, 4, 4)."""
    deforming = np.zeros(len(rig.data.bones), dtype=bool)
    rig.data.bones.foreach_get("use_deform", deforming)
    by_bone = np.isfinite(matrices.reshape(len(matrices), -1, 16)).all(axis=2)
    return np.asarray(by_bone[:, deforming].all(axis=1) & np.isfinite(worlds).all(axis=(0, 2, 3)))


def pose_as_evaluated(obj: Any, rig: Any, depsgraph: Any) -> Motion:
    """What poses a mesh object as a depsgraph holds it now. It evaluates nothing, and so may be asked while drawing.

    Raises:
        SkinError: an object is scaled to nothing.
    """
    deform = [np.empty((1, len(rig.pose.bones), 16), dtype=np.float32)]
    worlds = np.empty((1, 2, 1, 4, 4))
    _take([(obj, rig)], 0, deform, worlds, depsgraph)
    motion = _motion((obj, rig), [depsgraph.scene.frame_current_final], deform[0], worlds[0])
    if isinstance(motion, str):
        raise SkinError(motion)
    return motion


def _take(
    pairs: Sequence[tuple[Any, Any]], number: int, deform: list[Floats], worlds: Floats, depsgraph: Any = None
) -> None:
    depsgraph = depsgraph or bpy.context.evaluated_depsgraph_get()
    for pair, (obj, rig) in enumerate(pairs):
        posed = rig.evaluated_get(depsgraph)
        posed.pose.bones.foreach_get("matrix_channel", deform[pair][number].reshape(-1))
        worlds[pair, 0, number] = obj.evaluated_get(depsgraph).matrix_world
        worlds[pair, 1, number] = posed.matrix_world


def _action_name(rig: Any) -> str:
    data = rig.animation_data
    return data.action.name if data is not None and data.action is not None else ""


@contextmanager
def stepping(scene: Any, *, keep: bool) -> Iterator[None]:
    """Switch mesh modifiers off (unless they are to be kept) while the frame changes; put everything back."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    meshes = [o for o in scene.objects if o.type == "MESH" and len(o.modifiers)]
    off = [] if keep or _geometry_is_asked_for(scene) else [m for o in meshes for m in o.modifiers if m.show_viewport]
    posed = _posed(scene)
    try:
        for modifier in off:
            modifier.show_viewport = False
        yield
    finally:
        for modifier in off:
            modifier.show_viewport = True
        scene.frame_set(frame, subframe=subframe)
        _pose_again(posed)
        bpy.context.view_layer.update()


def _geometry_is_asked_for(scene: Any) -> bool:
    """Whether some pose depends on a mesh's shape: then all modifiers stay on."""
    for obj in scene.objects:
        if obj.parent_type in {"VERTEX", "VERTEX_3"}:
            return True
        holders = [obj, *(obj.pose.bones if obj.pose is not None else ())]
        for constraint in (c for holder in holders for c in holder.constraints):
            target = getattr(constraint, "target", None)
            shape = constraint.type == "SHRINKWRAP" or getattr(constraint, "subtarget", "")
            if target is not None and target.type == "MESH" and shape:
                return True
    return False


def _posed(scene: Any) -> list[tuple[Any, str, Floats]]:
    """(collection or object, property, values) of all that animation could overwrite."""
    kept = []
    for obj in scene.objects:
        if obj.animation_data is None:
            continue
        kept += [(obj, name, np.array(getattr(obj, name), dtype=np.float32)) for name, _ in _CHANNELS]
        if obj.pose is not None:
            bones = obj.pose.bones
            kept += [(bones, name, _all(bones, name, width)) for name, width in _CHANNELS]
    return kept


def _all(bones: Any, name: str, width: int) -> Floats:
    values = np.empty(len(bones) * width, dtype=np.float32)
    bones.foreach_get(name, values)
    return values


def _pose_again(posed: Sequence[tuple[Any, str, Floats]]) -> None:
    """Only what differs is set, and one by one: unlike `foreach_set` that tells Blender to pose it again."""
    for holder, name, values in posed:
        if hasattr(holder, "foreach_get"):
            count = len(holder)
            width = len(values) // count if count else 0  # an armature may have no bones yet
            rows = values.reshape(count, width)
            now = _all(holder, name, width).reshape(count, width)
            for bone in np.flatnonzero(_rows_differ(now, rows)):
                setattr(holder[int(bone)], name, rows[bone].tolist())
        elif not np.array_equal(np.array(getattr(holder, name), dtype=np.float32), values, equal_nan=True):
            setattr(holder, name, values.tolist())


def _rows_differ(a: Floats, b: Floats) -> Bools:
    """(N,) some value of the row is another; NaN equals NaN."""
    return np.asarray(np.any((a != b) & ~(np.isnan(a) & np.isnan(b)), axis=1))
