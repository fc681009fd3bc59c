# SPDX-License-Identifier: GPL-3.0-or-later
"""REFERENCE.md 13 to 15: what Blender shows, what the audit says of it, and what Blender shows after the repair."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quat_audit.findings.finding import Finding
from tests.judging import audit_clip, repair_clip

bpy = pytest.importorskip("bpy")

from quat_audit.blender import read, write
from tests.blender import build_case as build
from tests.blender import scene_poses as scene

IDENTITY = np.eye(3)
ARM = [("Rig", "Arm")]


def keyed_rig(times: list[float], quaternions: list[tuple[float, ...]], interpolation: str) -> None:
    rig = build.make_rig("Rig", ["Arm"])
    fcurves = build.make_fcurves("A", "Rig")
    for c, values in enumerate(zip(*quaternions, strict=True)):
        build.make_curve(fcurves, 'pose.bones["Arm"].rotation_quaternion', c, times, values, interpolation)
    build.assign(rig.animation_data_create(), bpy.data.actions["A"])


def about_z(degrees: float, sign: float = 1.0) -> tuple[float, ...]:
    half = math.radians(degrees) / 2
    return (sign * math.cos(half), 0.0, 0.0, sign * math.sin(half))


def swing(frames) -> np.ndarray:
    """Degrees from the rest pose at each frame."""
    return scene.angle_deg(IDENTITY, scene.matrices(ARM, list(frames))[0])


def audit() -> list[Finding]:
    (record,) = read.read_file()
    return audit_clip(record.clip)


def repair() -> None:
    (record,) = read.read_file()
    assert write.write_clip(record, repair_clip(record.clip).subject)


def test_13_linear_keys_21_degrees_apart():
    keyed_rig([1, 11], [about_z(0), about_z(21, -1.0)], "LINEAR")
    assert swing([6]) == pytest.approx([169.5], abs=0.01)
    bpy.context.scene.frame_set(6)
    norm = math.hypot(*(c.evaluate(6) for c in build.fcurves_of(bpy.data.actions["A"])))
    assert norm == pytest.approx(0.0915, abs=1e-4)
    (finding,) = audit()
    measured = {name: float(values[0]) for name, values in finding.occurrences.measured.items()}
    assert (finding.code, finding.severity) == ("QA104", "error")
    assert measured["swept_deg"] == pytest.approx(339.0, abs=0.5)
    assert measured["shortest_deg"] == pytest.approx(21.0, abs=1e-3)
    repair()
    assert swing([1, 6, 11]) == pytest.approx([0, 10.5, 21], abs=1e-3)
    assert audit() == []


def test_14_bezier_keys_10_degrees_apart():
    keyed_rig([1, 11], [about_z(0), about_z(10, -1.0)], "BEZIER")
    frames = np.arange(1.0, 11.01, 0.25)
    assert swing([6]) == pytest.approx([175.0], abs=0.01)
    (finding,) = audit()
    assert (finding.code, finding.severity, finding.fix) == ("QA104", "error", "safe")
    assert finding.occurrences.measured["swept_deg"][0] == pytest.approx(350.0, abs=0.5)
    repair()
    after = swing(frames)
    assert np.all(np.diff(after) > -1e-4) and after[-1] == pytest.approx(10.0, abs=1e-3)
    assert audit() == []


def test_15_zero_quaternion_and_stored_pose():
    keyed_rig([1, 11], [(0, 0, 0, 0), about_z(30)], "LINEAR")
    np.testing.assert_array_equal(scene.matrices(ARM, [1])[0, 0], np.diag([1.0, -1.0, -1.0]))
    (finding,) = audit()
    assert (finding.code, finding.severity) == ("QA102", "error")
    repair()
    assert swing([1, 11]) == pytest.approx([30, 30], abs=1e-3)


def test_15_pose_value_of_length_less_than_one():
    rig = build.make_rig("Rig", ["Arm"])
    rig.pose.bones["Arm"].rotation_quaternion = (0.5, 0.0, 0.0, 0.5)
    bpy.context.view_layer.update()
    assert swing([1]) == pytest.approx([90.0], abs=1e-3)
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    assert tuple(evaluated.pose.bones["Arm"].matrix_basis.to_scale()) == pytest.approx((1, 1, 1), abs=1e-6)
