# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender itself plays and stores: the oracle that a repair is held against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import bpy
import numpy as np

from tests.blender import build_case as build

# All that a key has; compared as bytes.
KEY = (
    ("co", 2, np.float32),
    ("handle_left", 2, np.float32),
    ("handle_right", 2, np.float32),
    ("interpolation", 1, np.uint8),
    ("easing", 1, np.uint8),
    ("handle_left_type", 1, np.uint8),
    ("handle_right_type", 1, np.uint8),
    ("type", 1, np.uint8),
)


def matrices(holders: Iterable[tuple[str, str]], frames: Sequence[float]) -> np.ndarray:
    """(holders, frames, 3, 3) rotation as the evaluated scene poses it; a holder is (object, bone or "")."""
    scene, poses = bpy.context.scene, []
    holders = list(holders)
    for frame in frames:
        whole = int(np.floor(frame))
        scene.frame_set(whole, subframe=float(frame) - whole)
        depsgraph = bpy.context.evaluated_depsgraph_get()
        for name, bone in holders:
            evaluated = bpy.data.objects[name].evaluated_get(depsgraph)
            matrix = evaluated.pose.bones[bone].matrix_basis if bone else evaluated.matrix_world
            poses.append(np.array(matrix.to_3x3(), dtype=np.float64))
    return np.array(poses).reshape(len(frames), len(holders), 3, 3).swapaxes(0, 1)


def angle_deg(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(…) degrees from rotation matrix to rotation matrix: from the chord, which is exact where acos is not."""
    chord = np.sqrt(((a - b) ** 2).sum(axis=(-2, -1))) / np.sqrt(8.0)
    return np.degrees(2.0 * np.arcsin(np.minimum(chord, 1.0)))


def keyed_frames() -> dict[tuple[str, str], list[float]]:
    """(object, bone or "") → the finite key times of what is keyed on it, over all actions, in order."""
    result = {}
    for ob in bpy.data.objects:
        for bone in ("", *(b.name for b in (ob.pose.bones if ob.pose else ()))):
            prefix = f"{ob.pose.bones[bone].path_from_id()}." if bone else ""
            times = {
                float(t)
                for action in bpy.data.actions
                for c in build.fcurves_of(action)
                if c.data_path.startswith(prefix) and (bone or not c.data_path.startswith("pose.bones"))
                for t in points(c, "co", 2, np.float32)[::2]
            }
            if times:
                result[ob.name, bone] = sorted(t for t in times if np.isfinite(t))
    return result


def points(curve: Any, name: str, width: int, dtype: Any) -> np.ndarray:
    values = np.zeros(len(curve.keyframe_points) * width, dtype=dtype)
    curve.keyframe_points.foreach_get(name, values)
    return values


def stored() -> dict[tuple[str, str, int], bytes]:
    """(action, path, component) → every byte of its keys."""
    return {
        (action.name, c.data_path, c.array_index): b"".join(points(c, *item).tobytes() for item in KEY)
        for action in bpy.data.actions
        for c in build.fcurves_of(action)
    }


def values(action: str, path: str) -> np.ndarray:
    """(keys, components) stored values of the curves of one path, in order of component."""
    curves = sorted(
        (c for c in build.fcurves_of(bpy.data.actions[action]) if c.data_path == path), key=lambda c: c.array_index
    )
    return np.stack([points(c, "co", 2, np.float32)[1::2] for c in curves], axis=1).astype(np.float64)
