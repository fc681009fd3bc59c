# SPDX-License-Identifier: GPL-3.0-or-later
"""QA102 zero-length-quaternion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, LINEAR, QUATERNION, SLERP, Clip
from quat_audit.rules import RULES
from quat_audit.rules.qa102_zero_length_quaternion import RULE
from quat_audit.rules.qa104_sign_flip import RULE as SIGN_FLIP
from tests.clips import NAN, axis_angle_clip, euler_clip, joined, quaternion_clip, track_clip, turns, values_of
from tests.contract import assert_contract, found
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_slerp, turn_deg

TIMES = [1.0, 3.0, 11.0, 12.0]
DEGREES = [10.0, 20.0, 60.0, 70.0]


def zeroed(rows: Any, **options: Any) -> Clip:
    q = turns((1, -1, 2), DEGREES)
    q[rows] = 0.0
    return quaternion_clip(TIMES, q, **options)


def test_unit_keys_and_euler_zeros_are_silent() -> None:
    clip = joined(quaternion_clip(TIMES, turns("X", DEGREES)), euler_clip([1, 2], np.zeros((2, 3)), bone="Leg"))
    assert found(clip, RULE) == []
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip


@pytest.mark.parametrize(
    "length, is_zero", [(0.0, True), (0.99e-6, True), (1.01e-6, False), (1e-30, True), (0.1, False)]
)
def test_the_limit_is_a_millionth(length: float, is_zero: bool) -> None:
    q = turns((1, -1, 2), DEGREES)
    q[2] *= length
    clip = quaternion_clip(TIMES, q, dtype=np.float64)
    assert found(clip, RULE) == ([((11, 11), "zero", "error", "safe")] if is_zero else [])
    assert_contract(clip, RULE)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, SLERP])
def test_it_is_bridged_by_the_slerp_of_its_valid_neighbours(dtype: Any, mode: int) -> None:
    clip = zeroed([1, 2], dtype=dtype, interpolation=mode, handles="thirds")
    after = assert_contract(clip, RULE).subject
    ends = turns((1, -1, 2), DEGREES)[[0, 3]]
    for row, time in ((1, 3.0), (2, 11.0)):
        assert turn_deg(scalar_slerp(ends[0], ends[1], (time - 1) / 11), values_of(after)[row]) < 1e-4
    assert np.array_equal(after.curves.marked.reshape(4, 4)[0], [False, True, True, False])


def test_handles_of_a_bridged_key_lie_on_the_chords() -> None:
    clip = zeroed(1, interpolation=BEZIER, handles="thirds", dtype=np.float64)
    c = assert_contract(clip, RULE).subject.curves
    for start in (0, 4, 8, 12):
        np.testing.assert_allclose(c.handle_left[start + 1], c.co[start + 1] + (c.co[start] - c.co[start + 1]) / 3)
        np.testing.assert_allclose(c.handle_right[start + 1], c.co[start + 1] + (c.co[start + 2] - c.co[start + 1]) / 3)


@pytest.mark.parametrize("rows, donor", [([0], 1), ([0, 1], 2), ([3], 2)])
def test_with_one_valid_side_it_is_held(rows: list[int], donor: int) -> None:
    clip = zeroed(rows)
    after = assert_contract(clip, RULE).subject
    assert all(values_of(after)[row].tobytes() == values_of(clip)[donor].tobytes() for row in rows)


def test_without_a_valid_key_it_is_unsafe_and_becomes_the_rest_rotation() -> None:
    clip = zeroed(slice(None))
    assert [fix for *_, fix in found(clip, RULE)] == ["unsafe"] * 4
    assert assert_contract(clip, RULE).subject is clip
    assert np.array_equal(values_of(assert_contract(clip, RULE, unsafe=True).subject), np.tile([1, 0, 0, 0], (4, 1)))


@pytest.mark.parametrize("times", [[1.0, 6.0, 11.0], [1.0, 4.3, 11.0]])
@pytest.mark.parametrize("mode", [LINEAR, BEZIER])
def test_between_neighbours_of_opposite_sign_it_is_repaired_all_the_same(times: list[float], mode: int) -> None:
    """What plays across a zero key is not a path that could get longer; the flip that remains is QA104's."""
    q = turns("Z", [0.0, 0.0, 20.0])
    q[1], q[2] = 0.0, -q[2]
    clip = quaternion_clip(times, q, interpolation=mode, handles="thirds")
    repair = assert_contract(clip, RULE)
    assert repair.refused == () and len(repair.applied) == 1
    assert found(assert_contract(clip, [RULE, SIGN_FLIP]).subject, SIGN_FLIP) == []


def test_dots_with_a_zero_key_are_no_flips() -> None:
    q = turns("Z", [0.0, 10.0, 20.0, 30.0])
    q[1] = [-1e-9, 0, 0, -1e-9]
    assert found(quaternion_clip([1, 5, 9, 13], q), SIGN_FLIP) == []


def test_a_nan_neighbour_is_no_support() -> None:
    q = turns("X", [0.0, 10.0, 20.0, 30.0])
    q[1], q[2] = 0.0, NAN
    after = repair_clip(quaternion_clip([1, 2, 3, 4], q), [RULE]).subject
    assert turn_deg(turns("X", [10.0])[0], values_of(after)[1]) < 1e-4
    assert np.isnan(values_of(after)[2]).all()


def test_times_of_components_a_little_apart_stay() -> None:
    q = turns("X", DEGREES)
    q[1] = 0.0
    clip = track_clip(QUATERNION, {p: (np.array(TIMES) + 0.002 * p, q[:, p]) for p in range(4)}, dtype=np.float64)
    after = assert_contract(clip, RULE).subject
    assert after.curves.co[:, 0].tobytes() == clip.curves.co[:, 0].tobytes()


def test_components_at_different_times_are_completed_first() -> None:
    """x has no key at the zero moment: alone the rule says so; with the others it is repaired."""
    keys: dict[int, Any] = {p: ([1, 5, 9], [1.0, 0.0, 1.0]) for p in (0,)}
    keys |= {1: ([1, 9], [0.0, 0.0]), 2: ([1, 5, 9], [0.0] * 3), 3: ([1, 5, 9], [0.0] * 3)}
    clip = track_clip(QUATERNION, keys)
    assert found(clip, RULE) == []
    after = assert_contract(clip, RULES).subject
    assert after.curves.counts.tolist() == [3, 3, 3, 3]
    assert found(after, RULE) == []
    np.testing.assert_allclose(np.linalg.norm(values_of(after), axis=1), 1, atol=1e-6)


def test_the_message_says_where_and_what_it_looks_like() -> None:
    (finding,) = audit_clip(zeroed([1, 3]), [RULE])
    assert finding.severity == "error"
    assert "frame 3" in finding.message and "180°" in finding.message


# ---- axis-angle ----------------------------------------------------------------------------------------------

AXIS = np.array([0.6, -0.48, 0.64])


def without_axis(rows: Any, degrees: Any = DEGREES, axis: Any = AXIS, **options: Any) -> Clip:
    axes = np.tile(np.asarray(axis, float), (len(degrees), 1))
    axes[rows] = 0.0
    return axis_angle_clip(TIMES, degrees, axes, **options)


@pytest.mark.parametrize(
    "degrees, turned", [(0.0, False), (360.0, False), (-720.0, False), (0.001, True), (45.0, True)]
)
def test_a_zero_axis_is_a_fault_where_the_angle_turns(degrees: float, turned: bool) -> None:
    clip = without_axis(2, [10.0, 20.0, degrees, 70.0])
    assert found(clip, RULE) == ([((11, 11), "zero", "error", "safe")] if turned else [])
    assert_contract(clip, RULE)


@pytest.mark.parametrize("length, is_zero", [(0.0, True), (1e-13, True), (1e-9, False), (7.0, False)])
def test_an_axis_has_a_direction_however_short_it_is(length: float, is_zero: bool) -> None:
    axes = np.tile(AXIS, (4, 1))
    axes[2] *= length
    clip = axis_angle_clip(TIMES, DEGREES, axes, dtype=np.float64)
    assert bool(found(clip, RULE)) == is_zero


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER])
def test_a_zero_axis_is_bridged_about_the_axis_beside_it(dtype: Any, mode: int) -> None:
    clip = without_axis([1, 2], axis=3 * AXIS, dtype=dtype, interpolation=mode, handles="thirds")
    (finding,) = audit_clip(clip, [RULE])
    assert finding.message.endswith("the axis is zero: Blender poses the rest rotation, the turn of 20.0° is lost")
    after = assert_contract(clip, RULE).subject
    expected = np.column_stack([np.radians([10, 10 + 60 * 2 / 11, 10 + 60 * 10 / 11, 70]), np.tile(3 * AXIS, (4, 1))])
    np.testing.assert_allclose(values_of(after), expected, atol=1e-5)
    assert after.curves.marked.reshape(4, 4).tolist() == [[False, True, True, False]] * 4


@pytest.mark.parametrize(
    "degrees, axes, bridged, axis",
    [
        # A spin goes on along the line; a wrap does not.
        ([10, 0, 0, 710], [1, 0, 0, 1], [10 + 700 * 2 / 11, 10 + 700 * 10 / 11], AXIS),
        # Of the other representations of the key after, the one before counts: QA205 tells the key after from it.
        ([10, 0, 0, -70], [1, 0, 0, -1], [10 + 60 * 2 / 11, 10 + 60 * 10 / 11], AXIS),
        # What turns nothing has no axis to give.
        ([0, 0, 0, 70], [0, 0, 0, 1], [70 * 2 / 11, 70 * 10 / 11], AXIS),
    ],
)
def test_the_bridge_goes_on_from_the_key_before(degrees: Any, axes: Any, bridged: Any, axis: Any) -> None:
    degrees = np.array(degrees, float)
    degrees[1:3] = 45.0
    clip = axis_angle_clip(TIMES, degrees, np.array(axes, float)[:, None] * AXIS)
    after = values_of(assert_contract(clip, RULE).subject)
    np.testing.assert_allclose(np.degrees(after[1:3, 0]), bridged, atol=1e-3)
    np.testing.assert_allclose(after[1:3, 1:], [axis, axis], atol=1e-6)


def test_without_any_axis_the_rest_rotation_is_unsafe() -> None:
    clip = without_axis(slice(None))
    assert {f[3] for f in found(clip, RULE)} == {"unsafe"}
    assert assert_contract(clip, RULE).subject is clip
    after = values_of(assert_contract(clip, RULE, unsafe=True).subject)
    np.testing.assert_array_equal(after, [[0, 0, 1, 0]] * 4)


def test_both_kinds_in_one_clip() -> None:
    clip = joined(zeroed(1), without_axis(2, bone="Leg"))
    assert [len(f.occurrences) for f in audit_clip(clip, [RULE])] == [1, 1]
    assert found(assert_contract(clip, RULE).subject, RULE) == []
