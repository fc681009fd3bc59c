# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender makes of axis-angle keys: each of four curves by itself, the axis normalized afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from quat_audit.comparison.angles import Channel, rotations
from quat_audit.motion.clip import AXIS_ANGLE
from quat_audit.motion.keys import rotation_keys, rotation_steps
from quat_audit.motion.sweep import sweep
from quat_audit.rotation import axis_angle
from quat_audit.rotation.quaternion import to_matrix
from quat_audit.rules.qa102_zero_length_quaternion import RULE as ZERO_AXIS
from quat_audit.rules.qa205_axis_angle_detour import RULE
from tests.judging import audit_clip, repair_clip

bpy = pytest.importorskip("bpy")
from mathutils import Quaternion

from quat_audit.blender import read, write
from tests.blender import build_case as build
from tests.blender import scene_poses as scene

X, Y, Z = np.eye(3)
PATH = "rotation_axis_angle"
OWNER = [("Ob", "")]


def build_object(frames: Sequence[float], degrees: Any, axes: Any, interpolation: str = "LINEAR") -> Any:
    """An object that plays the keys; its record as it is read."""
    ob = bpy.data.objects.new("Ob", None)
    bpy.context.scene.collection.objects.link(ob)
    ob.rotation_mode = "AXIS_ANGLE"
    values = np.column_stack([np.radians(degrees), np.broadcast_to(np.asarray(axes, float), (len(frames), 3))])
    fcurves = build.make_fcurves("A", "Ob")
    for part in range(4):
        build.make_curve(fcurves, PATH, part, frames, values[:, part], interpolation)
    build.assign(ob.animation_data_create(), bpy.data.actions["A"])
    return again()


def again() -> Any:
    (record,) = read.read_action(bpy.data.actions["A"])
    return record


def travelled_deg(first: float, last: float, steps: int) -> float:
    """Degrees from subframe to subframe, as the scene poses them."""
    (path,) = scene.matrices(OWNER, np.linspace(first, last, steps + 1))
    return float(scene.angle_deg(path[1:], path[:-1]).sum())


def test_conventions_of_mathutils() -> None:
    rng = np.random.default_rng(1)
    values = np.column_stack([rng.uniform(-3.1, 3.1, 60), rng.normal(size=(60, 3))])  # mathutils wraps other angles
    expected = [list(Quaternion(v[1:], v[0])) for v in values]
    np.testing.assert_allclose(axis_angle.to_quaternion(values), expected, atol=2e-6)
    back = axis_angle.from_quaternion(np.array(expected, dtype=np.float64), np.ones(60, dtype=bool))
    again = [np.array(Quaternion(v[1:], v[0]).to_matrix()) for v in back]
    assert scene.angle_deg(np.array(again), to_matrix(np.array(expected))).max() < 1e-3


@pytest.mark.parametrize(
    "value, posed",
    [
        ((1.0, 0, 0, 0), False),
        ((1.0, 0, 0, 1e-20), False),
        ((1.0, 0, 0, 1e-6), True),
        ((1.0, 0, 0, 5.0), True),
        ((7.0, 0, 0, -1.0), True),
    ],
)
def test_a_zero_axis_poses_the_rest_rotation(value: tuple[float, ...], posed: bool) -> None:
    angle, *axis = value
    record = build_object([1, 5], np.degrees([angle, angle]), axis)
    (matrix,) = scene.matrices(OWNER, [1.0])
    expected = to_matrix(axis_angle.to_quaternion([angle, *(np.sign(axis))])) if posed else np.eye(3)
    assert scene.angle_deg(matrix[0], expected) < 1e-3
    assert bool(audit_clip(record.clip, [ZERO_AXIS])) == (not posed)


@pytest.mark.parametrize("interpolation", ["LINEAR", "BEZIER", "SINE"])
def test_every_subframe_is_what_the_components_say(interpolation: str) -> None:
    rng = np.random.default_rng(7)
    frames = np.cumsum(rng.integers(2, 9, 8))
    axes = rng.normal(size=(8, 3))
    axes[3] = -axes[2]  # through zero
    degrees = rng.uniform(-500, 500, 8)
    degrees[5] = 0.0
    record = build_object(frames.tolist(), degrees, axes, interpolation)
    times = np.arange(frames[0], frames[-1] + 0.1, 0.25)
    times = times[np.abs(times - (frames[2] + frames[3]) / 2) > 0.1]  # at zero itself rounding gives the direction
    (posed,) = scene.matrices(OWNER, times)
    ours = to_matrix(rotations(record.clip, Channel(PATH, ""), times))
    assert scene.angle_deg(posed, ours).max() < 2e-3
    keys, steps = rotation_keys(record.clip, AXIS_ANGLE), rotation_steps(record.clip, AXIS_ANGLE)
    swept = sweep(record.clip, keys, steps, np.arange(7)).swept_deg
    for row, (first, last) in enumerate(zip(frames[:-1].tolist(), frames[1:].tolist(), strict=True)):
        assert swept[row] == pytest.approx(travelled_deg(first, last, 401), rel=0.02)  # not the middle


def test_half_way_to_the_opposite_axis_the_rest_rotation_is_drawn() -> None:
    record = build_object([1, 3], [180, 180], [X, -X])
    (posed,) = scene.matrices(OWNER, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(scene.angle_deg(posed, posed[:1]), [0, 180, 0], atol=1e-3)
    (finding,) = audit_clip(record.clip, [RULE])
    assert (finding.severity, finding.fix) == ("error", "safe")
    assert "180.0° off" in finding.message


@pytest.mark.parametrize("interpolation", ["LINEAR", "BEZIER"])
@pytest.mark.parametrize(
    "frames, degrees, sides, before, after",
    [
        ([1, 3, 5, 7], [340, 350, 10, 20], [1, 1, 1, 1], 360, 40),
        ([1, 20, 40], [80, -90, 100], [1, -1, 1], 379, 20),
        ([1, 3, 5], [170, 180, 170], [1, 1, -1], 30, 20),
    ],
)
@pytest.mark.parametrize("axis", [Z, np.array([3.0, -1.0, 2.0])], ids=["Z", "any"])
def test_a_repair_keeps_the_keys_and_plays_the_short_way(
    frames: Any, degrees: Any, sides: Any, before: float, after: float, axis: Any, interpolation: str
) -> None:
    record = build_object(frames, degrees, np.outer(sides, axis), interpolation)
    was = scene.matrices(OWNER, frames)
    if interpolation == "LINEAR":
        assert travelled_deg(frames[0], frames[-1], 1170) == pytest.approx(before, abs=1.5)
    repair = repair_clip(record.clip)
    assert [a.code for a in repair.applied] == ["QA205"]
    write.write_clip(record, repair.subject)
    assert scene.angle_deg(was, scene.matrices(OWNER, frames)).max() < 1e-3
    assert travelled_deg(frames[0], frames[-1], 1170) == pytest.approx(
        after, rel=0.25 if interpolation == "BEZIER" else 1e-3
    )
    assert audit_clip(again().clip) == []


def test_the_axis_of_a_rest_is_written() -> None:
    record = build_object([1, 10, 19], [0, 90, 0], [Y, X, Z], "BEZIER")
    assert travelled_deg(1, 19, 720) > 200
    write.write_clip(record, repair_clip(record.clip).subject)
    assert travelled_deg(1, 19, 720) == pytest.approx(180, abs=0.1)
    (posed,) = scene.matrices(OWNER, [1.0, 10.0, 19.0])
    np.testing.assert_allclose(scene.angle_deg(posed, np.eye(3)), [0, 90, 0], atol=1e-3)
    assert audit_clip(again().clip) == []


@pytest.mark.parametrize("seed", range(4))
def test_values_made_of_quaternions_play_on_without_detours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames = np.arange(1, 25)
    turned = np.cumsum(rng.uniform(-40, 60, 24))
    q = axis_angle.to_quaternion(np.column_stack([np.radians(turned), np.tile(rng.normal(size=3), (24, 1))]))
    values = axis_angle.from_quaternion(q * rng.choice([-1.0, 1.0], (24, 1)))
    record = build_object(frames.tolist(), np.degrees(values[:, 0]), values[:, 1:])
    (posed,) = scene.matrices(OWNER, frames)
    assert scene.angle_deg(posed, to_matrix(q)).max() < 1e-3
    assert travelled_deg(1, 24, 460) == pytest.approx(np.abs(np.diff(turned)).sum(), rel=1e-3)
    assert audit_clip(record.clip) == []
