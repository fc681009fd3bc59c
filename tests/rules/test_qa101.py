# SPDX-License-Identifier: GPL-3.0-or-later
"""QA101 non-finite-key."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, EULER, QUATERNION, Clip
from quat_audit.rules.qa101_non_finite_key import RULE
from tests.clips import NAN, channel_clip, euler_clip, joined, quaternion_clip, times_of, track_clip, turns, values_of
from tests.contract import assert_contract, assert_same, found
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_slerp, turn_deg

INF = math.inf
TIMES = [1.0, 5.0, 8.0, 20.0]
DEGREES = [0.0, 30.0, 50.0, 90.0]


def broken(rows: Any, value: float = NAN, part: Any = slice(None), **options: Any) -> Clip:
    q = turns((1, 2, 3), DEGREES)
    q[rows, part] = value
    return quaternion_clip(TIMES, q, **options)


def all_finite(clip: Clip) -> bool:
    c = clip.curves
    return all(bool(np.isfinite(p).all()) for p in (c.co, c.handle_left, c.handle_right))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", [0, 1, BEZIER])
def test_finite_clips_are_silent_and_untouched(dtype: Any, mode: int) -> None:
    clip = joined(
        quaternion_clip(TIMES, turns("X", DEGREES), interpolation=mode, handles="thirds", dtype=dtype),
        euler_clip(TIMES, np.zeros((4, 3)), bone="Leg", dtype=dtype),
        channel_clip(TIMES, [0, 1e30, -1e30, 0], dtype=dtype),
    )
    assert found(clip, RULE) == []
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_one_component_is_one_error_at_its_frame(value: float) -> None:
    clip = broken(2, value, 3)
    assert found(clip, RULE) == [((8, 8), "value", "error", "safe")]
    assert audit_clip(clip, [RULE])[0].bone == "Arm"


def test_components_that_break_together_are_one_occurrence_and_the_first_frame_is_named() -> None:
    clip = broken([1, 3])
    (finding,) = audit_clip(clip, [RULE])
    assert found(clip, RULE) == [((5, 5), "value", "error", "safe"), ((20, 20), "value", "error", "safe")]
    assert finding.occurrences.measured["components"].tolist() == [4, 4]
    assert "frame 5" in finding.message and "1 more" in finding.message


def test_any_channel_is_looked_at() -> None:
    clip = joined(
        quaternion_clip(TIMES, turns("X", DEGREES)),
        channel_clip([1, 2, 3], [0, NAN, 1], 'pose.bones["Arm"].scale', 2),
        channel_clip([1, 2], [INF, 1], "location"),
    )
    paths = {f.data_path: f.bone for f in audit_clip(clip, [RULE])}
    assert paths == {'pose.bones["Arm"].scale': "Arm", "location": ""}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", [0, 1, BEZIER])
@pytest.mark.parametrize("part", [0, 2, slice(None)])
def test_a_gap_is_bridged_on_the_slerp_at_that_time(dtype: Any, mode: int, part: Any) -> None:
    clip = broken([1, 2], NAN, part, dtype=dtype, interpolation=mode, handles="thirds")
    after = assert_contract(clip, RULE).subject
    ends = turns((1, 2, 3), DEGREES)[[0, 3]]
    for row, time in ((1, 5.0), (2, 8.0)):
        wanted = scalar_slerp(ends[0], ends[1], (time - 1) / 19)
        assert turn_deg(wanted, values_of(after)[row]) < 1e-4
        assert abs(np.linalg.norm(values_of(after)[row]) - 1) < 1e-6
    assert np.array_equal(after.curves.marked.reshape(4, 4), np.tile([False, True, True, False], (4, 1)))
    assert all_finite(after)


def test_the_bridge_takes_the_short_way_between_opposite_signs() -> None:
    q = turns("Z", [0, 0, 40])
    q[1], q[2] = NAN, -q[2]
    after = assert_contract(quaternion_clip([1, 6, 11], q), RULE).subject
    assert turn_deg(turns("Z", [20])[0], values_of(after)[1]) < 1e-4


@pytest.mark.parametrize("rows, donor", [([0, 1], 2), ([2, 3], 1)])
def test_with_one_valid_side_the_rotation_is_held_bit_for_bit(rows: list[int], donor: int) -> None:
    clip = broken(rows, NAN, 1)
    after = assert_contract(clip, RULE).subject
    for row in rows:
        assert values_of(after)[row].tobytes() == values_of(clip)[donor].tobytes()


def test_a_zero_key_is_no_valid_side() -> None:
    clip = broken(1)
    clip.curves.co[[0, 4, 8, 12], 1] = 0.0
    after = repair_clip(clip, [RULE]).subject
    assert values_of(after)[1].tobytes() == values_of(clip)[2].tobytes()
    assert np.all(values_of(after)[0] == 0)


def test_without_any_valid_key_only_an_unsafe_fix_helps() -> None:
    clip = broken(slice(None), NAN, 2)
    assert {fix for *_, fix in found(clip, RULE)} == {"unsafe"}
    assert assert_contract(clip, RULE).subject is clip
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert np.array_equal(values_of(after), np.tile([1, 0, 0, 0], (4, 1)))


def test_a_bad_handle_of_a_rotation_without_any_valid_key_is_still_straightened() -> None:
    """Its key's component is finite: what is safe about it is done, and nothing non-finite is written."""
    clip = broken(slice(None), NAN, 2, handles="thirds", interpolation=BEZIER)
    clip.curves.handle_left[1, 1] = NAN
    after = assert_contract(clip, RULE).subject
    assert np.isfinite(after.curves.handle_left[1]).all()
    assert np.isnan(values_of(after)[:, 2]).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_authored_times_of_the_bridged_row_stay(dtype: Any) -> None:
    """Components that stand a few thousandths of a frame apart are one row; none of them is moved."""
    q = turns("X", DEGREES)
    q[1, 0] = NAN
    shift = np.array([0.0, 0.003, -0.004, 0.002])
    clip = track_clip(QUATERNION, {p: (np.array(TIMES) + shift[p], q[:, p]) for p in range(4)}, dtype=dtype)
    after = assert_contract(clip, RULE).subject
    assert after.curves.co[:, 0].tobytes() == clip.curves.co[:, 0].tobytes()


@pytest.mark.parametrize("value", [NAN, INF])
@pytest.mark.parametrize("part", [0, 1, 3])
def test_a_key_without_a_time_takes_it_from_the_other_components(part: int, value: float) -> None:
    clip = quaternion_clip(TIMES, turns("X", DEGREES))
    clip.curves.co[part * 4 + 2, 0] = value
    assert [kind for _, kind, *_ in found(clip, RULE)] == ["time"]
    after = assert_contract(clip, RULE).subject
    assert np.array_equal(after.curves.co[:, 0].reshape(4, 4), np.tile(np.float32(TIMES), (4, 1)))
    assert values_of(after).tobytes() == values_of(clip).tobytes()
    assert np.flatnonzero(after.curves.marked).tolist() == [part * 4 + 2]


def test_a_moment_without_any_time_is_removed() -> None:
    clip = quaternion_clip(TIMES, turns("X", DEGREES))
    clip.curves.co[1::4, 0] = NAN
    after = assert_contract(clip, RULE).subject
    assert times_of(after).tolist() == [1, 8, 20]
    assert values_of(after).tobytes() == values_of(clip)[[0, 2, 3]].tobytes()


def test_other_channels_lose_the_key_and_a_channel_of_nothing_else_goes() -> None:
    clip = joined(
        channel_clip([1, 2, 3, 4], [0, NAN, 5, INF], handles="thirds", interpolation=BEZIER),
        channel_clip([1, 2], [NAN, NAN], "location"),
        channel_clip([1, 2], [3, 4], "scale"),
    )
    after = repair_clip(clip, [RULE]).subject
    after.validate()
    assert after.curves.data_path == ('pose.bones["Arm"].location', "scale")
    assert after.curves.co.tolist() == [[1, 0], [3, 5], [1, 3], [2, 4]]
    assert all_finite(after)
    assert found(after, RULE) == []
    assert repair_clip(after, [RULE]).subject is after


@pytest.mark.parametrize("side", ["handle_left", "handle_right"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_bad_handle_is_laid_on_the_chord_and_the_others_stay(side: str, axis: int) -> None:
    clip = quaternion_clip(TIMES, turns("Y", DEGREES), handles="thirds", interpolation=BEZIER, dtype=np.float64)
    wanted = getattr(clip.curves, side).copy()
    getattr(clip.curves, side)[9, axis] = NAN  # the second key of y
    assert found(clip, RULE) == [((5, 5), "handle", "error", "safe")]
    after = assert_contract(clip, RULE).subject
    np.testing.assert_allclose(getattr(after.curves, side), wanted, atol=1e-12)
    assert after.curves.co.tobytes() == clip.curves.co.tobytes()


def test_a_bad_handle_beside_a_bad_key_comes_out_finite() -> None:
    clip = channel_clip([1, 2, 3], [0, NAN, 5], handles="thirds", interpolation=BEZIER)
    assert all_finite(repair_clip(clip, [RULE]).subject)


@pytest.mark.parametrize("order", ["XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"])
def test_euler_angles_are_bridged_by_slerp_and_stay_near(order: str) -> None:
    degrees = np.array([[350.0, 10, 0], [NAN, 0, 0], [380, 40, 20]])
    after = assert_contract(euler_clip([1, 4, 7], degrees, order), RULE).subject
    got = np.degrees(values_of(after)[1])
    assert np.all(np.abs(got - [365, 25, 10]) < 3)


def test_an_euler_spin_keeps_its_turns() -> None:
    degrees = np.array([[0.0, 0, 0], [NAN, NAN, NAN], [720, 0, 0]])
    after = assert_contract(euler_clip([1, 21, 41], degrees), RULE).subject
    np.testing.assert_allclose(np.degrees(values_of(after)[1]), [360, 0, 0], atol=1e-4)


def test_absent_and_misaligned_components() -> None:
    q = turns("X", DEGREES)
    q[2, 1] = NAN
    keys = {p: (TIMES, q[:, p]) for p in (0, 1)} | {2: (TIMES[:3], q[:3, 2])}
    after = assert_contract(track_clip(QUATERNION, keys), RULE).subject
    assert all_finite(after)
    assert after.curves.counts.tolist() == [4, 4, 3]
    # Only the unusable component is written.
    assert np.flatnonzero(after.curves.marked).tolist() == [6]


def test_one_key_and_no_key() -> None:
    assert assert_contract(quaternion_clip([], []), RULE).applied == ()
    lone = quaternion_clip([3], [[NAN, 0, 0, 1]])
    after = assert_contract(lone, RULE, unsafe=True).subject
    assert values_of(after).tolist() == [[1, 0, 0, 0]]


def test_read_only_curves_are_refused_and_say_why() -> None:
    clip = broken(1, read_only="linked from lib.blend")
    repair = assert_contract(clip, RULE)
    assert repair.subject is clip
    assert [r.why for r in repair.refused] == ["linked from lib.blend"]


def test_what_cannot_be_evaluated_is_still_judged_by_its_keys() -> None:
    clip = broken(1, unevaluable="a Noise modifier")
    assert len(found(clip, RULE)) == 1
    assert all_finite(assert_contract(clip, RULE).subject)


def test_axis_angle_keys_are_never_left_nan() -> None:
    q = np.ones((3, 4))
    q[1, 2] = NAN
    clip = track_clip("AXIS_ANGLE", {p: ([1, 2, 3], q[:, p]) for p in range(4)}, modes=("AXIS_ANGLE",))
    after = assert_contract(clip, RULE).subject
    assert all_finite(after)
    assert np.array_equal(values_of(after), np.ones((3, 4)))


def test_sound_tracks_beside_are_not_touched() -> None:
    sound = euler_clip(TIMES, np.ones((4, 3)), bone="Leg")
    clip = joined(broken(1), sound)
    after = assert_contract(clip, RULE).subject
    assert after.curves.co[16:].tobytes() == sound.curves.co.tobytes()
    assert {EULER, QUATERNION} == set(after.tracks.kind)
    assert_same(sound, repair_clip(sound, [RULE]).subject)
