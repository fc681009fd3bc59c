# SPDX-License-Identifier: GPL-3.0-or-later
"""Keyed rotations, and the clip that is read of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quat_audit.blender.read import BlenderClip
from quat_audit.motion.clip import Clip
from tests.blender import build_case as build

PATH = "rotation_quaternion"


def path_of(rig: Any, bone: str, prop: str = PATH) -> str:
    """The data path as Blender writes it: the oracle for every bone name."""
    return f"{rig.pose.bones[bone].path_from_id()}.{prop}"


def quaternion_curves(fcurves: Any, path: str, frames=(1.0, 11.0), components=range(4)) -> None:
    for c in components:
        build.make_curve(fcurves, path, c, frames, [float(c == 0)] * len(frames))


def only(clips: Iterable[BlenderClip]) -> Clip:
    """The one clip there is, checked."""
    (record,) = clips
    record.clip.validate()
    return record.clip
