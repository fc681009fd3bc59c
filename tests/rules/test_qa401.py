# SPDX-License-Identifier: GPL-3.0-or-later
"""QA401 unordered-key-times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, CUBIC, EULER, QUATERNION, Clip
from quat_audit.rules.qa401_unordered_key_times import RULE
from tests.clips import NAN, about, channel_clip, joined, quaternion_clip, track_clip, turns
from tests.contract import assert_contract, assert_same
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_raw

PATH = 'pose.bones["Arm"].location'


def channel(times: Any, values: Any, **options: Any) -> Clip:
    return channel_clip(times, values, **options)


def found(clip: Clip) -> list[tuple[str, tuple[float, ...], str]]:
    """(class, frames, fix) of every occurrence; all of them errors."""
    result = []
    for f in audit_clip(clip, [RULE]):
        o = f.occurrences
        assert f.severity == "error" and set(o.severity) == {"error"}
        result += [(str(o.kind[i]), tuple(map(float, o.frames[i])), str(o.fix[i])) for i in range(len(o))]
    return result


# times, values → findings, what is left by a safe fix, what by an unsafe one
CASES: dict[str, tuple[list[float], list[float], list[Any], Any, Any]] = {
    "in order": ([1, 2, 3], [0, 1, 2], [], None, None),
    "one key": ([5], [0], [], None, None),
    "none": ([], [], [], None, None),
    "a thousandth apart": ([1, 1.001], [0, 0], [], None, None),
    "duplicate": (
        [1, 5, 5, 9],
        [0, 3, 3, 4],
        [("duplicate", (5, 5), "safe")],
        [(1, 0), (5, 3), (9, 4)],
        [(1, 0), (5, 3), (9, 4)],
    ),
    "three the same": (
        [1, 5, 5, 5],
        [0, 3, 3, 3],
        [("duplicate", (5, 5), "safe")],
        [(1, 0), (5, 3)],
        [(1, 0), (5, 3)],
    ),
    "two values": (
        [1, 5, 5, 9],
        [0, 3, 7, 4],
        [("two-values", (5, 5), "unsafe")],
        [(1, 0), (5, 3), (5, 7), (9, 4)],
        [(1, 0), (5, 7), (9, 4)],  # the last is kept
    ),
    "decreasing": (
        [1, 9, 5, 12],
        [0, 1, 2, 3],
        [("decreasing", (9, 5), "unsafe")],
        [(1, 0), (9, 1), (5, 2), (12, 3)],
        [(1, 0), (5, 2), (9, 1), (12, 3)],
    ),
    "decreasing onto another": (
        [1, 5, 9, 5],
        [0, 1, 2, 3],
        [("decreasing", (9, 5), "unsafe")],
        [(1, 0), (5, 1), (9, 2), (5, 3)],
        [(1, 0), (5, 3), (9, 2)],
    ),
    "some of each": (
        [1, 1, 5, 5, 9, 8],
        [0, 0, 3, 7, 1, 2],
        [("duplicate", (1, 1), "safe"), ("two-values", (5, 5), "unsafe"), ("decreasing", (9, 8), "unsafe")],
        [(1, 0), (5, 3), (5, 7), (9, 1), (8, 2)],
        [(1, 0), (5, 7), (8, 2), (9, 1)],
    ),
}


def keys_of(clip: Clip) -> list[tuple[float, float]]:
    return [(float(t), float(v)) for t, v in clip.curves.co]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", CASES)
def test_one_channel(name, dtype):
    times, values, expected, safe, unsafe = CASES[name]
    clip = channel(times, values, dtype=dtype)
    assert sorted(found(clip)) == sorted(expected)
    for ask, result in ((False, safe), (True, unsafe)):
        repair = assert_contract(clip, RULE, unsafe=ask)
        if result is None:
            assert repair.subject is clip
        else:
            assert keys_of(repair.subject) == result
            assert not repair.subject.curves.marked.any()


@pytest.mark.parametrize("gap, same", [(0.0, True), (5e-5, True), (2e-4, False)])
def test_tolerance_of_a_ten_thousandth_of_a_frame(gap, same):
    clip = channel([1, 5, 5 + gap], [0, 3, 3], dtype=np.float64)
    assert [f[0] for f in found(clip)] == (["duplicate"] if same else [])


def test_negative_times_and_zero():
    assert found(channel([-10, -5, 0, 5], [0, 1, 2, 3])) == []
    assert [f[0] for f in found(channel([-5, -10], [0, 1]))] == ["decreasing"]


def test_message():
    (finding,) = audit_clip(channel([1, 5, 5], [0, 3, 7]), [RULE])
    assert finding.message == "Arm, frame 5: two keys at one time with different values"
    assert (finding.data_path, finding.bone) == (PATH, "Arm")


def test_the_components_of_a_key_are_one_occurrence():
    q = turns("X", [0, 30, 30, 60])
    clip = quaternion_clip([1, 5, 5, 9], q)
    assert found(clip) == [("duplicate", (5, 5), "safe")]
    repair = assert_contract(clip, RULE)
    assert repair.subject.curves.counts.tolist() == [3] * 4
    assert (repair.applied[0].tracks, repair.proof.keys_removed) == (1, 4)


def test_a_difference_in_one_component_is_a_difference():
    q = np.array([about("X", 0), about("X", 30), about("X", 32), about("X", 60)])
    clip = quaternion_clip([1, 5, 5, 9], q)
    assert found(clip) == [("two-values", (5, 5), "unsafe")]
    assert assert_contract(clip, RULE).subject is clip  # also where Y and Z alone are the same
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert repair.subject.curves.counts.tolist() == [3] * 4
    np.testing.assert_allclose(scalar_raw(repair.subject, 0, 5), about("X", 32), atol=1e-7)


def test_handles_and_interpolation_around_a_duplicate():
    """The way into the first and the way out of the last are what was played."""
    times, values = [1.0, 5.0, 5.0, 9.0], [0.0, 3.0, 3.0, 4.0]
    left = np.array([[0, 0], [4, 9], [4.5, -9], [8, 4]], float)
    right = np.array([[2, 0], [5.5, 77], [6, 1], [10, 4]], float)
    clip = track_clip(
        QUATERNION,
        {0: (times, values)},
        handles={0: (left, right)},
        interpolation=[BEZIER, BEZIER, CUBIC, CONSTANT],
        easing=[0, 1, 2, 3],
        easing_parameters=(1.5, 0.5, 3.0),
    )
    after = assert_contract(clip, RULE).subject.curves
    np.testing.assert_array_equal(after.handle_left, left[[0, 1, 3]])
    np.testing.assert_array_equal(after.handle_right, right[[0, 2, 3]])
    assert after.interpolation.tolist() == [BEZIER, CUBIC, CONSTANT] and after.easing.tolist() == [0, 2, 3]
    for time in np.linspace(0, 10, 41):
        if time != 5:
            assert scalar_raw(clip, 0, float(time))[0] == pytest.approx(
                scalar_raw(repair_clip(clip, [RULE]).subject, 0, float(time))[0], abs=1e-6
            )


def test_sorting_takes_handles_along():
    rng = np.random.default_rng(2)
    times = rng.permutation(20).astype(float)
    values = rng.normal(size=20)
    left, right = np.stack([times - 1, values - 2], 1), np.stack([times + 1, values + 2], 1)
    clip = track_clip(EULER, {1: (times, values)}, handles={1: (left, right)}, interpolation=np.arange(20) % 3)
    repair = assert_contract(clip, RULE, unsafe=True)
    after, order = repair.subject.curves, np.argsort(times)
    np.testing.assert_array_equal(after.co, clip.curves.co[order])
    np.testing.assert_array_equal(after.handle_left, clip.curves.handle_left[order])
    np.testing.assert_array_equal(after.handle_right, clip.curves.handle_right[order])
    np.testing.assert_array_equal(after.interpolation, clip.curves.interpolation[order])
    np.testing.assert_array_equal(after.origin, order)


def test_only_the_paths_at_fault():
    clip = joined(
        channel([1, 2], [0, 1], data_path="location"),
        channel([2, 1], [0, 1], data_path="scale"),
        quaternion_clip([1, 5, 5], turns("X", [0, 9, 9]), bone="A"),
        quaternion_clip([1, 5], turns("X", [0, 9]), bone="B"),
    )
    assert [(f.data_path, f.fix) for f in audit_clip(clip, [RULE])] == [
        ("scale", "unsafe"),
        ('pose.bones["A"].rotation_quaternion', "safe"),
    ]
    assert_contract(clip, RULE)
    assert_contract(clip, RULE, unsafe=True)


def test_a_time_that_is_no_number_is_another_rule():
    clip = channel([1, NAN, 3], [0, 1, 2])
    assert found(clip) == []
    assert_same(clip, assert_contract(clip, RULE).subject)


def test_sorting_beside_a_time_that_is_no_number():
    clip = channel([9, NAN, 3, 3], [0, 1, 2, 2])
    after = repair_clip(clip, unsafe=True).subject
    assert keys_of(after) == [(3, 2), (9, 0)] and not audit_clip(after)


def test_read_only():
    repair = assert_contract(channel([1, 1], [0, 0], read_only="linked from a.blend"), RULE)
    assert [r.why for r in repair.refused] == ["linked from a.blend"]


def test_many_duplicates():
    times = np.repeat(np.arange(500.0), 2)
    clip = channel(times, np.repeat(np.sin(np.arange(500)), 2))
    repair = assert_contract(clip, RULE)
    assert repair.subject.curves.co[:, 0].tolist() == list(range(500))
