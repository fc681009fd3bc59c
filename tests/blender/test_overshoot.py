# SPDX-License-Identifier: GPL-3.0-or-later
"""QA403 on handles as Blender sets them, measured by Blender's own curves."""

from __future__ import annotations

import math

import pytest

bpy = pytest.importorskip("bpy")
from mathutils import Quaternion

from quat_audit.audit.pipeline import find
from quat_audit.audit.repair import repair
from quat_audit.audit.settings import Settings
from quat_audit.blender import read, write
from quat_audit.rules.qa403_tangent_overshoot import RULE
from tests.blender import build_case as build

QUARTER = math.pi / 2
STILL = Quaternion()
HOLD = [STILL, Quaternion((1, 0, 0), QUARTER), Quaternion((1, 0, 0), QUARTER)]
CORNER = [STILL, Quaternion((0, 1, 0), QUARTER), Quaternion((0, 0, 1), QUARTER)]
FRAMES = (1, 11, 21)


def keyed(rotations: list[Quaternion], mode: str, handle: str) -> read.BlenderClip:
    """The clip of a bone keyed with these rotations."""
    rig = build.make_rig("Rig", ["Arm"])
    bone = rig.pose.bones["Arm"]
    bone.rotation_mode = mode
    for frame, rotation in zip(FRAMES, rotations, strict=True):
        bone.rotation_quaternion, bone.rotation_euler = rotation, rotation.to_euler("XYZ")
        bone.keyframe_insert("rotation_quaternion" if mode == "QUATERNION" else "rotation_euler", frame=frame)
    for curve in build.fcurves_of(rig.animation_data.action):
        for key in curve.keyframe_points:
            key.interpolation = "BEZIER"
            key.handle_left_type = key.handle_right_type = handle
        curve.update()
    (record,) = read.read_file()
    return record


def off_deg(number: int) -> float:
    """How far the pose gets from the slerp between two keys, by the scene's own evaluation."""
    start, end = FRAMES[number], FRAMES[number + 1]

    def shown(time: float) -> Quaternion:
        bpy.context.scene.frame_set(int(time), subframe=time % 1)
        rig = bpy.data.objects["Rig"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        return rig.pose.bones["Arm"].matrix_basis.to_quaternion()

    a, b = shown(start), shown(end)
    arc = [a.slerp(b, part / 100) for part in range(101)]
    path = [shown(start + (end - start) * part / 40) for part in range(1, 40)]
    angles = [min(2 * math.acos(min(1.0, abs(q.dot(point)))) for point in arc) for q in path]
    return math.degrees(max(angles))


@pytest.mark.parametrize(
    "rotations, mode, number, degrees",
    [(HOLD, "QUATERNION", 1, 8.7), (HOLD, "XYZ", 1, 10.0), (CORNER, "QUATERNION", 0, 9.3)],
    ids=["hold", "hold in Euler angles", "corner"],
)
def test_automatic_handles_overshoot(rotations: list[Quaternion], mode: str, number: int, degrees: float) -> None:
    record = keyed(rotations, mode, "AUTO")
    assert off_deg(number) == pytest.approx(degrees, abs=0.7)
    (finding,) = find(RULE, record.clip)
    places = finding.occurrences
    at = places.frames[:, 0].tolist().index(FRAMES[number])
    assert places.measured["overshoot_deg"][at] == pytest.approx(off_deg(number), abs=0.15)
    assert places.severity[at] == "warning"
    # Flattened, written, and still so after an edit of the artist.
    write.write_clip(record, repair(record.clip, Settings(rules=(RULE,), unsafe=True)).subject)
    for curve in build.fcurves_of(bpy.data.actions[0]):
        curve.update()
    (again,) = read.read_file()
    assert find(RULE, again.clip) == []
    assert off_deg(number) < 2.01


@pytest.mark.parametrize("handle", ["AUTO_CLAMPED", "VECTOR"])
@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ"])
@pytest.mark.parametrize("rotations", [HOLD, CORNER], ids=["hold", "corner"])
def test_clamped_and_straight_handles_do_not(rotations: list[Quaternion], mode: str, handle: str) -> None:
    assert find(RULE, keyed(rotations, mode, handle).clip) == []
