# SPDX-License-Identifier: GPL-3.0-or-later
"""Euler repair in all six orders on seeded tracks, and Blender's own `graph.euler_filter` on the same data.

The filter's errors are asserted too: a fix upstream makes these tests fail, and their message says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.repair import Repair
from quat_audit.findings.finding import NOTE
from tests.judging import audit_clip, repair_clip

bpy = pytest.importorskip("bpy")
from mathutils import Euler

from quat_audit.blender import read, write
from tests.blender import build_case as build
from tests.blender import scene_poses as scene

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
SOUND = ("XYZ", "ZYX")
# order → most degrees that Blender's filter changes a keyed rotation by, at least (166° to 180° were measured).
FILTER_ERROR_DEG = 90.0
FIXED_UPSTREAM = (
    "graph.euler_filter of this Blender behaves better than BLENDER.md says: correct BLENDER.md, the documentation of "
    "QA201 (rules/qa201_euler_wraparound.py) and this test"
)
KEYS = 40
# mathutils works in float32, which is good to about 1e-5°.
POSE_DEG = 1e-4
Array = Any


def true_path(rng: np.random.Generator, order: str) -> Array:
    """(KEYS, 3) degrees by axis, one key a frame: less than 60° a step, the middle angle clear of gimbal lock."""
    path = np.cumsum(rng.uniform(-19.0, 19.0, (KEYS, 3)), axis=0)
    middle = "XYZ".index(order[1])
    path[:, middle] = 80.0 * np.sin(np.radians(path[:, middle]))
    return path


def injected(rng: np.random.Generator, path: Array, order: str) -> tuple[Array, int, bool]:
    """The same rotations as a capture writes them: some as the other triple, all from −180° to 180°.

    And on how many steps the representation changes; is the first key the other triple?
    """
    first, middle, last = ("XYZ".index(a) for a in order)
    result = path.copy()
    other = rng.random(KEYS) < 0.25
    result[other, first] += 180.0
    result[other, middle] = 180.0 - result[other, middle]
    result[other, last] += 180.0
    turns = np.floor(result / 360.0 + 0.5)
    state = np.concatenate([other[:, None], turns], axis=1)
    return result - 360.0 * turns, int(np.any(np.diff(state, axis=0) != 0, axis=1).sum()), bool(other[0])


def build_object(order: str, frames: Sequence[float], degrees: Array, interpolation: str = "LINEAR") -> Any:
    """An object that plays the keys; its F-curves."""
    ob = bpy.data.objects.new("Ob", None)
    bpy.context.scene.collection.objects.link(ob)
    ob.rotation_mode = order
    fcurves = build.make_fcurves("A", "Ob")
    for axis in range(3):
        build.make_curve(fcurves, "rotation_euler", axis, frames, np.radians(degrees[:, axis]), interpolation)
    build.assign(ob.animation_data_create(), bpy.data.actions["A"])
    bpy.context.view_layer.objects.active = ob
    ob.select_set(True)
    return fcurves


def matrices(radians: Array, order: str) -> Array:
    """(N, 3, 3) by mathutils."""
    return np.array([np.array(Euler(row, order).to_matrix()) for row in radians], dtype=np.float64)


def key_change_deg(before: Array, after: Array, order: str) -> float:
    return float(scene.angle_deg(matrices(before, order), matrices(after, order)).max())


def repair_and_write() -> tuple[Repair, Any]:
    (record,) = read.read_file()
    repair = repair_clip(record.clip)
    write.write_clip(record, repair.subject)
    return repair, record.clip


def blender_filter(fcurves: Any) -> set[str]:
    """Run `graph.euler_filter` in a Graph Editor: also without a display, the start-up file has a window."""
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.type = "GRAPH_EDITOR"
    region = next(r for r in area.regions if r.type == "WINDOW")
    for curve in fcurves:
        curve.select = True
    with bpy.context.temp_override(window=window, screen=window.screen, area=area, region=region):
        result: set[str] = bpy.ops.graph.euler_filter()
    return result


def test_what_is_injected_is_the_same_rotation():
    for order in ORDERS:
        rng = np.random.default_rng(5)
        path = true_path(rng, order)
        broken, steps, _ = injected(rng, path, order)
        assert key_change_deg(np.radians(path), np.radians(broken), order) < POSE_DEG and steps > 5
        poses = matrices(np.radians(path), order)
        assert scene.angle_deg(poses[1:], poses[:-1]).max() < 60.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("order", ORDERS)
def test_dense_tracks_are_unwrapped(order, seed):
    rng = np.random.default_rng([seed, ORDERS.index(order)])
    path = true_path(rng, order)
    broken, steps, mirrored = injected(rng, path, order)
    fcurves = build_object(order, np.arange(1.0, KEYS + 1), broken)
    before = scene.values("A", "rotation_euler")
    posed = scene.matrices([("Ob", "")], range(1, KEYS + 1))

    repair, clip = repair_and_write()

    after = scene.values("A", "rotation_euler")
    assert key_change_deg(before, after, order) <= POSE_DEG
    assert scene.angle_deg(posed, scene.matrices([("Ob", "")], range(1, KEYS + 1))).max() <= POSE_DEG
    assert repair.proof.max_key_change_deg <= POSE_DEG and not repair.refused
    found = {f.code: f for f in audit_clip(clip)}
    assert len(found["QA201"].occurrences) == steps
    assert set(found["QA201"].occurrences.kind) == {"latent"} and found["QA201"].fix == "safe"
    # All injected jumps are gone: the steps are those of the true path, in one representation throughout.
    sign = np.ones(3)
    sign["XYZ".index(order[1])] = -1.0 if mirrored else 1.0
    np.testing.assert_array_equal(after[0], before[0])
    np.testing.assert_allclose(np.diff(after, axis=0), sign * np.diff(np.radians(path), axis=0), atol=1e-5)
    (again,) = read.read_file()
    assert not [f for f in audit_clip(again.clip) if f.code == "QA201"]
    assert repair_clip(again.clip).subject is again.clip
    assert [len(c.keyframe_points) for c in fcurves] == [KEYS] * 3


SPINS = {
    "0→360→720 densely": ([1, 2, 3], [0, 360, 720]),
    "0→360→720": ([1, 25, 49], [0, 360, 720]),
    "376→132": ([1, 50], [376, 132]),
    "0→3600": ([1, 240], [0, 3600]),
    "−990": ([0, 80], [0, -990]),
    "0→345": ([1, 40], [0, 345]),
    "4 keys a turn": ([1, 7, 13, 19, 25], [0, 90, 180, 270, 360]),
    "half turns": ([1, 2, 3, 4], [0, 180, 360, 540]),
}


@pytest.mark.parametrize("name", SPINS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("axis", range(3))
def test_spins_are_sacred(order, name, axis):
    frames, angles = SPINS[name]
    degrees = np.zeros((len(frames), 3))
    degrees[:, axis] = angles
    build_object(order, frames, degrees)
    before = scene.stored()
    repair, clip = repair_and_write()
    assert repair.subject is clip and not repair.applied
    assert scene.stored() == before
    assert {f.severity for f in audit_clip(clip)} <= {NOTE}


@pytest.mark.parametrize("order", ORDERS)
def test_blenders_own_filter_on_the_same_tracks(order):
    worst = 0.0
    for seed in range(3):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        rng = np.random.default_rng([seed, ORDERS.index(order)])
        broken, _, _ = injected(rng, true_path(rng, order), order)
        fcurves = build_object(order, np.arange(1.0, KEYS + 1), broken)
        before = scene.values("A", "rotation_euler")
        assert blender_filter(fcurves) == {"FINISHED"}
        worst = max(worst, key_change_deg(before, scene.values("A", "rotation_euler"), order))
    if order in SOUND:
        assert worst <= POSE_DEG
    else:
        assert worst > FILTER_ERROR_DEG, FIXED_UPSTREAM


def test_blenders_own_filter_unwinds_spins():
    degrees = np.zeros((3, 3))
    degrees[:, 0] = [0, 360, 720]
    fcurves = build_object("XYZ", [1, 2, 3], degrees)
    assert blender_filter(fcurves) == {"FINISHED"}
    values = np.degrees(scene.values("A", "rotation_euler"))
    assert values[:, 0] == pytest.approx([0, 0, 0], abs=1e-3), FIXED_UPSTREAM


def test_blenders_own_filter_does_nothing_for_two_keys_on_a_lone_channel():
    fcurves = build_object("XYZ", [1, 2], np.array([[170.0, 0, 0], [-170.0, 0, 0]]))
    for curve in list(fcurves)[1:]:
        fcurves.remove(curve)
    assert blender_filter(fcurves) == {"CANCELLED"}, FIXED_UPSTREAM
    assert np.degrees(scene.values("A", "rotation_euler")[:, 0]) == pytest.approx([170, -170]), FIXED_UPSTREAM
    repair, _ = repair_and_write()
    assert np.degrees(scene.values("A", "rotation_euler")[:, 0]) == pytest.approx([170, 190])
    assert next(a for a in repair.applied if a.code == "QA201").keys_changed == 1
