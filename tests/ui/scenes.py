# SPDX-License-Identifier: GPL-3.0-or-later
"""Rigs with faults for the interface's tests, and what a person does in the panel with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from quat_audit.results.memory import RESULTS
from quat_audit.ui import following, properties
from tests.blender import build_case as build

FRAMES = (1.0, 11.0, 21.0, 31.0)


def flipped(count: int = 4, at: int = 2) -> np.ndarray:
    """(count, 4) a turn of 20° a key about X, with the other sign from one key to the next but one."""
    half = np.radians(20.0 * np.arange(count)) / 2
    values = np.stack([np.cos(half), np.sin(half), 0 * half, 0 * half], axis=1)
    values[at] *= -1.0
    return values


def key(fcurves: Any, bone: str, values: np.ndarray, frames: Sequence[float] = FRAMES) -> str:
    """Key a bone's quaternion; returns the data path."""
    path = f'pose.bones["{bpy.utils.escape_identifier(bone)}"].rotation_quaternion'
    for index in range(4):
        build.make_curve(fcurves, path, index, frames, values[:, index])
    return path


def broken_rig(bones: Sequence[str] = ("Arm",), name: str = "Rig", action: str = "Walk") -> Any:
    """An armature that plays an action in which every bone has a sign flip (two steps of 340° instead of 20°)."""
    rig = build.make_rig(name, bones)
    fcurves = build.make_fcurves(action, name)
    for bone in bones:
        key(fcurves, bone, flipped())
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions[action])
    return rig


def values(action: Any) -> dict[tuple[str, int], list[float]]:
    """(data path, component) → the keys' values."""
    return {(c.data_path, c.array_index): [k.co[1] for k in c.keyframe_points] for c in build.fcurves_of(action)}


def turned(degrees: float) -> tuple[float, float, float, float]:
    half = math.radians(degrees) / 2
    return (math.cos(half), math.sin(half), 0.0, 0.0)


def state() -> Any:
    """What is chosen in the panel."""
    return properties.state(bpy.context)


def audit(scope: str = "ACTIVE_ACTION", profile: str = "EVERYTHING") -> None:
    """Choose in the panel, and press Audit."""
    choices = state()
    choices.scope, choices.profile = scope, profile
    assert bpy.ops.quat_audit.audit("EXEC_DEFAULT") == {"FINISHED"}


def labels() -> list[str]:
    return [row.label for row in RESULTS.rows]


def choose(label: str, code: str = "QA104") -> None:
    """Look at the finding of a rule on a bone."""
    (number,) = [n for n, row in enumerate(RESULTS.rows) if (row.label, row.key.code) == (label, code)]
    state().active = number


def refresh() -> None:
    """What the panel does soon after a change: look whether the findings still hold."""
    following.look_again()
    following.refresh_now()


def why_grey(operator: Any, **options: Any) -> str:
    """What a greyed-out button says."""
    try:
        operator(**options)
    except RuntimeError as error:
        text = str(error)
        assert ".poll()" in text, text
        return text.split(".poll()")[1].strip()
    raise AssertionError(f"{operator} is not gray")
