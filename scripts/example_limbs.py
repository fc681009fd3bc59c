# SPDX-License-Identifier: GPL-3.0-or-later
"""The two limbs that linear blending is known for: a tube that is twisted and an elbow that is bent, as .blend files.

Only the ring at the joint belongs to both bones in equal parts, so that it keeps |cos(angle / 2)| of its radius; the
rings beside it belong to one of them by more than three quarters.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from example_walk import Floats

SIDES = 40
SLANT = 3
# Share of the lower bone from ring to ring across the joint.
SHARES = (0.01, 0.03, 0.07, 0.14, 0.24, 0.5, 0.76, 0.86, 0.93, 0.97, 0.99)


@dataclass(frozen=True)
class Limb:
    """Two bones in a row and what surrounds them, along an axis from 0 to `length`, the joint in the middle.

    Attributes:
        name: of the file, mesh, rig and action.
        bones: upper and lower.
        radius: of the limb at its start and its end.
        rings: of the whole limb; an odd number has one at the joint.
        lying: along X instead of Z.
        keys: frame → degrees that the lower bone is turned by.
        axis: about which of its own axes (0 X, 1 Y).
    """

    name: str
    bones: tuple[str, str]
    length: float
    radius: tuple[float, float]
    rings: int
    lying: bool
    keys: dict[int, float]
    axis: int


LIMBS = (
    Limb(
        "twisted_tube",
        ("Lower", "Upper"),
        2.0,
        (0.3, 0.3),
        41,
        False,
        {1: 0.0, 11: 90.0, 21: 135.0, 31: 179.0, 41: 270.0},
        1,
    ),
    Limb(
        "bent_elbow",
        ("Upper Arm", "Forearm"),
        0.64,
        (0.055, 0.04),
        41,
        True,
        {1: 0.0, 11: 90.0, 21: 135.0},
        0,
    ),
)


def save(limb: Limb, path: Path) -> None:
    """Build a limb in an empty file and save it. Loses what is open in Blender."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.context.preferences.filepaths.save_version = 0
    rig = _rig(limb)
    _mesh(limb, rig)
    _animate(limb, rig)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False, relative_remap=False)


def _along(limb: Limb, points: Floats) -> Floats:
    """Points about Z, about X if the limb lies."""
    return points[:, [2, 0, 1]] if limb.lying else points


def _rig(limb: Limb) -> Any:
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    ends = _along(limb, np.array([(0.0, 0.0, limb.length * part) for part in (0.0, 0.5, 1.0)]))
    above = None
    for name, head, tail in zip(limb.bones, ends[:-1], ends[1:], strict=True):
        bone = rig.data.edit_bones.new(name)
        bone.head, bone.tail, bone.parent = head, tail, above
        bone.align_roll((0.0, -1.0, 0.0) if not limb.lying else (0.0, 0.0, 1.0))
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def _mesh(limb: Limb, rig: Any) -> None:
    height = np.linspace(0.0, limb.length, limb.rings)
    radius = np.linspace(*limb.radius, limb.rings)
    angle = 2.0 * np.pi * np.arange(SIDES) / SIDES
    points = [(r * np.cos(a), r * np.sin(a), z) for z, r in zip(height, radius, strict=True) for a in angle]
    faces: list[list[int]] = []
    for ring in range(limb.rings - 1):
        # A twist goes through the two bands beside the joint: woven against it, they do not cut into the tube.
        slant = SLANT if limb.axis == 1 and abs(ring + 0.5 - limb.rings // 2) < 1 else 0
        for side in range(SIDES):
            over = (side + 1) % SIDES
            low, high = ring * SIDES, (ring + 1) * SIDES
            faces.append([low + side, low + over, high + (over - slant) % SIDES, high + (side - slant) % SIDES])
    faces.append(list(range(SIDES))[::-1])
    faces.append([(limb.rings - 1) * SIDES + side for side in range(SIDES)])
    data = bpy.data.meshes.new(limb.name)
    data.from_pydata(_along(limb, np.array(points)).tolist(), [], faces)
    for polygon in data.polygons:
        polygon.use_smooth = len(polygon.vertices) == 4
    body = bpy.data.objects.new(limb.name.replace("_", " ").title(), data)
    bpy.context.scene.collection.objects.link(body)
    body.parent = rig
    share = np.zeros(limb.rings)
    first = limb.rings // 2 - len(SHARES) // 2
    share[first : first + len(SHARES)] = SHARES
    share[first + len(SHARES) :] = 1.0
    for bone, weight in zip(limb.bones, (1.0 - share, share), strict=True):
        group = body.vertex_groups.new(name=bone)
        for ring in np.flatnonzero(weight > 0):
            group.add(list(range(ring * SIDES, (ring + 1) * SIDES)), float(weight[ring]), "REPLACE")
    body.modifiers.new("Armature", "ARMATURE").object = rig


def _animate(limb: Limb, rig: Any) -> None:
    bone = rig.pose.bones[limb.bones[1]]
    bone.rotation_mode = "QUATERNION"
    for frame, degrees in limb.keys.items():
        half = np.radians(degrees) / 2.0
        value = [np.cos(half), 0.0, 0.0, 0.0]
        value[1 + limb.axis] = np.sin(half)
        bone.rotation_quaternion = value
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    rig.animation_data.action.name = limb.name.replace("_", " ").title()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = min(limb.keys), max(limb.keys)
    scene.frame_set(scene.frame_start)
