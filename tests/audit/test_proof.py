# SPDX-License-Identifier: GPL-3.0-or-later
"""The proof says what an edit did: against known edits and a scalar reference."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.proof import KEY_TOLERANCE_DEG, compare, prove
from quat_audit.findings.report import Proof
from quat_audit.motion.clip import (
    BEZIER,
    CYCLE_NONE,
    CYCLE_REPEAT,
    CYCLE_REPEAT_OFFSET,
    ELASTIC,
    EULER_ORDERS,
    LINEAR,
    QUATERNION,
    SLERP,
    Clip,
    Cycles,
    with_curves,
)
from quat_audit.motion.edit import insert_keys, keep_curves, keep_keys, map_keys, scale_keys
from tests.clips import (
    NAN,
    axis_angle_clip,
    channel_clip,
    euler_clip,
    free_handles,
    joined,
    quaternion_clip,
    random_quaternions,
    track_clip,
    turns,
)
from tests.oracle import path_deg, scalar_raw, scalar_rotation, turn_deg

TIMES = np.array([1.0, 11.0, 21.0, 31.0])


def example(seed: int = 0, **options: Any) -> Clip:
    rng = np.random.default_rng(seed)
    options = {"interpolation": LINEAR, "handles": "thirds", "dtype": np.float64, **options}
    return quaternion_clip(TIMES, turns(rng.normal(size=3), [0, 30, 60, 90]), **options)


def turned(clip: Clip, row: int, degrees: float) -> Clip:
    """One key of the first track turned about X."""
    co = clip.curves.co.copy()
    q = co[row:16:4, 1]
    half = np.radians(degrees) / 2
    w, x, y, z = q
    c, s = np.cos(half), np.sin(half)
    co[row:16:4, 1] = [c * w - s * x, c * x + s * w, c * y - s * z, c * z + s * y]
    return with_curves(clip, replace(clip.curves, co=co))


def test_nothing_done_is_nothing_proven() -> None:
    clip = example()
    assert prove(clip, clip) == Proof()
    same = with_curves(clip, replace(clip.curves, co=clip.curves.co.copy()))
    assert prove(clip, same) == Proof()
    assert not compare(clip, same).changed.any()


@pytest.mark.parametrize("degrees", [1e-3, 0.5, 20.0, 180.0])
@pytest.mark.parametrize("row", [0, 1, 3])
def test_a_turned_key_is_seen(degrees: float, row: int) -> None:
    clip = joined(example(), example(1, bone="B"))
    changes = compare(clip, turned(clip, row, degrees))
    assert changes.key_deg == pytest.approx([degrees, 0], abs=1e-6)
    assert changes.changed.tolist() == [True, False]
    assert prove(clip, turned(clip, row, degrees)).max_key_change_deg == pytest.approx(degrees, abs=1e-6)


def test_signs_and_lengths_change_no_keyed_rotation() -> None:
    clip = example()
    everything = np.arange(16)
    for factor in (-1.0, 7.0, -1e-3):
        proof = prove(clip, scale_keys(clip, everything, np.full(16, factor)))
        assert proof.max_key_change_deg < 1e-9 and proof.max_between_change_deg < 1e-6


def test_a_flip_turns_what_plays_between() -> None:
    clip = example()
    key = np.array([1, 5, 9, 13])
    changes = compare(clip, scale_keys(clip, key, -np.ones(4)))
    assert changes.key_deg[0] < 1e-9
    # Half-way the flipped path is 180° off; and 330° are travelled where 30° were.
    assert changes.between_deg[0] == pytest.approx(180, abs=1e-3)
    assert changes.longer_deg[0] == pytest.approx(300, abs=1e-3)
    back = compare(scale_keys(clip, key, -np.ones(4)), clip)
    assert back.longer_deg[0] <= 0


@pytest.mark.parametrize("seed", range(5))
def test_between_and_longer_against_a_scalar_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q = turns(rng.normal(size=3), [0, 30, 60, 90])
    a = quaternion_clip(TIMES, q, interpolation=BEZIER, handles=free_handles(rng, TIMES, q, 0.1, 0.5), dtype=np.float64)
    b = quaternion_clip(TIMES, q, interpolation=BEZIER, handles=free_handles(rng, TIMES, q, 0.3, 0.5), dtype=np.float64)
    changes = compare(a, b)
    assert changes.key_deg[0] == 0
    largest = 0.0
    for time in np.linspace(1, 31, 121):
        x, y = (scalar_rotation(c, 0, scalar_raw(c, 0, float(time))) for c in (a, b))
        assert x is not None and y is not None
        largest = max(largest, turn_deg(x, y))
    assert 0.9 * largest <= changes.between_deg[0] <= largest + 0.05
    longer = max(
        (path_deg(b, 0, float(s), float(e)) or 0) - (path_deg(a, 0, float(s), float(e)) or 0)
        for s, e in pairwise(TIMES)
    )
    assert changes.longer_deg[0] == pytest.approx(max(longer, 0.0), rel=0.01, abs=0.1)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_turns_and_equivalent_triples_play_the_same(order: str) -> None:
    rng = np.random.default_rng(3)
    clip = euler_clip(
        TIMES, rng.uniform(-60, 60, (4, 3)), order, dtype=np.float64, interpolation=BEZIER, handles="thirds"
    )
    key = np.arange(12)
    whole = map_keys(clip, key, np.ones(12), np.repeat([2 * np.pi, 0, -4 * np.pi], 4))
    changes = compare(clip, whole)
    assert changes.key_deg[0] < 1e-9 and changes.between_deg[0] < 1e-9
    middle = "XYZ".index(order[1])
    factor, offset = np.ones(12), np.full(12, np.pi)
    factor[middle * 4 : middle * 4 + 4] = -1
    triple = compare(clip, map_keys(clip, key, factor, offset))
    assert triple.key_deg[0] < 1e-9 and triple.between_deg[0] < 1e-9 and triple.longer_deg[0] < 1e-9
    # The triple of another order turns the keys.
    factor = np.roll(factor, 4)
    assert compare(clip, map_keys(clip, key, factor, offset)).key_deg[0] > 1
    # Half a turn on one axis alone is no representation of the same rotation.
    one = map_keys(clip, key[:4], np.ones(4), np.full(4, np.pi))
    assert compare(clip, one).key_deg[0] > 1


def test_inserted_and_removed_keys_are_counted_and_leave_no_trace() -> None:
    clip = example(interpolation=BEZIER)
    more = insert_keys(clip, np.repeat(np.arange(4), 2), np.tile([4.0, 15.0], 4))
    proof = prove(clip, more)
    assert (proof.keys_added, proof.keys_removed) == (8, 0)
    assert proof.max_key_change_deg < 1e-6 and proof.max_between_change_deg < 1e-5
    keep = np.ones(16, bool)
    keep[2::4] = False
    fewer = prove(clip, keep_keys(clip, keep))
    assert (fewer.keys_added, fewer.keys_removed) == (0, 4)


def test_keys_at_one_time_are_compared_each_with_itself() -> None:
    """Two keys at frame 11 with two values; removing a key elsewhere changes neither of them."""
    q = turns("X", [0, 30, 90, 120])
    clip = joined(
        quaternion_clip([1, 11, 11, 21], q, dtype=np.float64),
        channel_clip([1, 2], [0, 1], dtype=np.float64),
        example(bone="B"),
    )
    keep = np.ones(len(clip.curves.co), bool)
    keep[-1] = False  # a key of another track: rows of all tracks are renumbered
    after = scale_keys(keep_keys(clip, keep), np.arange(16), -np.ones(16))
    changes = compare(clip, after)
    assert changes.key_deg[0] < 1e-9
    assert changes.longer_deg[0] < 1e-6


def test_a_slerp_is_compared_as_a_slerp_when_rows_were_renumbered() -> None:
    q = turns("Z", [0, 20, 40]) * [[1], [-1], [1]]
    clip = joined(
        quaternion_clip([1, 11, 21], q, interpolation=SLERP, format="gltf", dtype=np.float64), example(bone="B")
    )
    keep = np.ones(len(clip.curves.co), bool)
    keep[-1] = False
    after = scale_keys(keep_keys(clip, keep), np.array([1, 4, 7, 10]), -np.ones(4))
    changes = compare(clip, after)
    assert changes.key_deg[0] < 1e-9 and changes.between_deg[0] < 1e-6 and abs(changes.longer_deg[0]) < 1e-6


def test_what_played_nothing_before_has_no_length_to_keep() -> None:
    """A NaN key, and a zero key, between two keys of opposite signs: bridging it cannot be called longer."""
    for bad in (NAN, 0.0):
        q = turns("Z", [0, 0, 20])
        q[1], q[2] = bad, -q[2]
        before = quaternion_clip([1, 4.3, 11], q, dtype=np.float64)
        q[1] = turns("Z", [6])[0]
        after = quaternion_clip([1, 4.3, 11], q, dtype=np.float64)
        changes = compare(before, after)
        assert changes.key_deg[0] < 1e-9 and changes.longer_deg[0] == 0


@pytest.mark.parametrize("mode, seen", [(CYCLE_NONE, False), (CYCLE_REPEAT, False), (CYCLE_REPEAT_OFFSET, True)])
def test_cycles_that_add_up_are_looked_at_one_cycle_further(mode: str, seen: bool) -> None:
    clip = example(cycles=Cycles(CYCLE_NONE, mode, 0, 0))
    last = np.array([3, 7, 11, 15])
    assert bool(compare(clip, scale_keys(clip, last, -np.ones(4))).key_deg[0] > 1) is seen


def test_a_rotation_that_becomes_none_is_half_a_turn_off() -> None:
    clip = example()
    assert prove(clip, scale_keys(clip, np.array([1, 5, 9, 13]), np.zeros(4))).max_key_change_deg == 180


def test_the_tolerance_is_what_storing_costs() -> None:
    small = example(dtype=np.float32)
    assert compare(small, scale_keys(small, np.arange(16), -np.ones(16))).tolerance_deg[0] == pytest.approx(
        KEY_TOLERANCE_DEG, rel=0.5
    )
    far = euler_clip(TIMES, np.full((4, 3), 36000.0))
    moved = map_keys(far, np.arange(12), np.ones(12), np.full(12, 2 * np.pi))
    changes = compare(far, moved)
    assert changes.key_deg[0] <= changes.tolerance_deg[0] < 0.1


def test_an_infinite_key_makes_nothing_tolerable() -> None:
    clip = example()
    clip.curves.co[2, 1] = np.inf
    changes = compare(clip, turned(clip, 0, 1.0))
    assert changes.key_deg[0] == pytest.approx(1, abs=1e-6)
    assert changes.tolerance_deg[0] < 1e-3


def test_an_elastic_ease_plays_otherwise_when_negated() -> None:
    """Blender's equation is not odd in the change where its amplitude is the larger."""
    clip = example(interpolation=ELASTIC, easing=[2, 2, 2, 2], easing_parameters=(1.7, 5.0, 4.1))
    changes = compare(clip, scale_keys(clip, np.arange(16), -np.ones(16)))
    largest = 0.0
    for time in np.linspace(1, 31, 241):
        x = scalar_rotation(clip, 0, scalar_raw(clip, 0, float(time)))
        negated = scale_keys(clip, np.arange(16), -np.ones(16))
        y = scalar_rotation(negated, 0, scalar_raw(negated, 0, float(time)))
        assert x is not None and y is not None
        largest = max(largest, turn_deg(x, y))
    assert largest > 10
    assert changes.between_deg[0] == pytest.approx(largest, rel=0.3)


def test_removed_curves_and_tracks_are_no_error() -> None:
    clip = joined(example(), example(1, bone="B"))
    assert prove(clip, keep_curves(clip, np.arange(8) < 4)).max_key_change_deg == 0
    lost = keep_curves(clip, np.arange(8) != 2)
    assert compare(clip, lost).changed.tolist() == [True, False]
    # The pose value plays instead of the curve.
    assert compare(clip, lost).key_deg[0] > 1


def test_added_components_with_the_pose_value_change_nothing() -> None:
    pose = (0.5, 0.5, 0.5, 0.5)
    before = track_clip(QUATERNION, {0: ([1, 11], [1.0, 0.2])}, pose=pose, dtype=np.float64)
    whole = {p: ([1, 11], [0.5, 0.5]) for p in (1, 2, 3)} | {0: ([1, 11], [1.0, 0.2])}
    after = track_clip(QUATERNION, whole, pose=pose, dtype=np.float64)
    after = replace(after, curves=replace(after.curves, ancestor=np.array([0, -1, -1, -1])))
    changes = compare(before, after)
    assert changes.changed[0] and changes.key_deg[0] < 1e-9 and changes.between_deg[0] < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_many_tracks_at_once_are_as_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [
        quaternion_clip(np.sort(rng.uniform(1, 50, 6)), random_quaternions(rng, 6), bone=str(b), dtype=np.float64)
        for b in range(6)
    ]
    whole = joined(*parts)
    factor = rng.choice([-1.0, 1.0, 2.0], len(whole.curves.co))
    together = compare(whole, scale_keys(whole, np.arange(len(factor)), factor))
    for track, part in enumerate(parts):
        alone = compare(part, scale_keys(part, np.arange(24), factor[24 * track : 24 * track + 24]))
        for name in ("key_deg", "between_deg", "longer_deg", "tolerance_deg"):
            assert getattr(together, name)[track] == pytest.approx(getattr(alone, name)[0], abs=1e-9)


# Degrees that an ulp of float32 on each component is, for values of 1.
ULP_DEG = float(np.degrees(2.0**-23))


def tolerances(before: Clip, after: Clip) -> list[float]:
    return compare(before, after).tolerance_deg.tolist()


@pytest.mark.parametrize("turns_up", [50.0, 400.0])
def test_the_cost_of_storing_euler_angles_is_an_ulp_of_the_largest_for_each_of_three(turns_up: float) -> None:
    degrees = np.array([[1.0, 2.0, 3.0], [2.0, 360 * turns_up, 4.0], [3.0, 5.0, 6.0], [1.0, 1.0, 1.0]])
    clip = euler_clip(TIMES, degrees, dtype=np.float64)
    nudged = map_keys(clip, np.array([0]), np.ones(1), np.array([1e-3]))
    assert tolerances(clip, nudged) == pytest.approx([3 * ULP_DEG * 2 * np.pi * turns_up], rel=1e-6)


def test_the_cost_is_that_of_the_larger_values_before_or_after() -> None:
    near = euler_clip(TIMES, np.full((4, 3), 10.0), dtype=np.float64)
    far = map_keys(near, np.arange(4), np.ones(4), np.full(4, 200 * np.pi))
    expected = [3 * ULP_DEG * (200 * np.pi + np.radians(10))]
    assert tolerances(near, far) == pytest.approx(expected, rel=1e-6)
    assert tolerances(far, near) == pytest.approx(expected, rel=1e-6)


def test_the_cost_of_a_quaternion_is_an_ulp_for_each_of_four() -> None:
    clip = example()
    long = scale_keys(clip, np.array([2, 6, 10, 14]), np.full(4, 1000.0))
    largest = float(np.abs(clip.curves.co[[2, 6, 10, 14], 1]).max()) * 1000.0
    assert tolerances(clip, long) == pytest.approx([4 * ULP_DEG * largest], rel=1e-6)


def test_a_small_value_costs_no_less_than_the_tolerance_of_a_key() -> None:
    clip = euler_clip(TIMES, np.full((4, 3), 1.0), dtype=np.float64)
    assert 3 * ULP_DEG < KEY_TOLERANCE_DEG
    assert tolerances(clip, map_keys(clip, np.array([0]), np.ones(1), np.array([0.1]))) == [KEY_TOLERANCE_DEG]


def test_each_track_has_the_cost_of_its_own_values_and_of_its_partner() -> None:
    """The edited clip has the tracks in another order, and one track more."""

    def named(**degrees: float) -> Clip:
        return joined(*(euler_clip(TIMES, np.full((4, 3), d), bone=b, dtype=np.float64) for b, d in degrees.items()))

    before = named(A=36000.0, B=10.0, C=10.0, D=72000.0)
    after = named(X=720000.0, D=10.0, C=10.0, B=18000.0, A=10.0)
    largest = np.radians([36000.0, 18000.0, 0.0, 72000.0])
    expected = np.maximum(3 * ULP_DEG * largest, KEY_TOLERANCE_DEG)
    assert tolerances(before, after) == pytest.approx(expected.tolist(), rel=1e-6)


def test_infinity_and_nan_cost_nothing() -> None:
    clip = euler_clip(TIMES, [[36000.0, NAN, 1.0], [2.0, np.inf, 3.0], [3.0, -np.inf, 1.0], [1.0, 1.0, 1.0]])
    nudged = map_keys(clip, np.array([3]), np.ones(1), np.array([1.0]))
    assert tolerances(clip, nudged) == pytest.approx([3 * ULP_DEG * np.radians(36000)], rel=1e-6)


# ---- axis-angle ----------------------------------------------------------------------------------------------


def spun(**options: Any) -> Clip:
    axes = np.array([0.6, -0.48, 0.64]) + np.arange(4)[:, None] * [0.1, 0.0, -0.2]
    return axis_angle_clip(TIMES, [10, 200, 150, 400], axes, **{"dtype": np.float64, **options})


def with_keys(clip: Clip, rows: slice, factor: Any, offset: Any) -> Clip:
    """Some rows of the first track multiplied and moved, a number for each component."""
    key = np.array([np.arange(4)[rows] + 4 * part for part in range(4)])
    factor, offset = (np.broadcast_to(np.asarray(v, float)[:, None], key.shape).ravel() for v in (factor, offset))
    return map_keys(clip, key.ravel(), factor, offset)


@pytest.mark.parametrize("rows", [slice(0, 4), slice(2, 4), slice(1, 2)], ids=["all", "a run", "one"])
@pytest.mark.parametrize("sign, turns", [(1, 1), (1, -2), (-1, 0), (-1, 3)])
def test_other_values_of_an_axis_angle_keep_its_keys(rows: slice, sign: int, turns: int) -> None:
    for dtype in (np.float32, np.float64):
        clip = spun(interpolation=BEZIER, handles="thirds", dtype=dtype)
        changes = compare(clip, with_keys(clip, rows, [sign] * 4, [2 * np.pi * turns, 0, 0, 0]))
        assert changes.changed[0] and changes.key_deg[0] <= changes.tolerance_deg[0]
        whole = rows == slice(0, 4)
        assert (changes.between_deg[0] < 5e-4) == whole
        assert not whole or abs(changes.longer_deg[0]) < 1e-2


def test_what_changes_an_axis_angle_key_is_told_by_how_much() -> None:
    clip = spun()
    for factor, offset, key_deg in (
        ([1, 1, 1, 1], [np.radians(30), 0, 0, 0], 30.0),
        ([-1, 1, 1, 1], [0] * 4, 40.0),  # 200° the other way
        ([1, -1, -1, -1], [0] * 4, 40.0),
        ([1, 5, 5, 5], [0] * 4, 0.0),  # an axis of any length
        ([1, 0, 0, 0], [0] * 4, 180.0),  # no axis: no rotation any more
    ):
        changes = compare(clip, with_keys(clip, slice(1, 2), factor, offset))
        assert changes.key_deg[0] == pytest.approx(key_deg, abs=1e-9)


@pytest.mark.parametrize(
    "factor, offset",
    [([1, 1, 1, 1], [np.pi, 0, 0, 0]), ([-1, 1, 1, 1], [0] * 4), ([1, -1, -1, -1], [2 * np.pi, 0, 0, 0])],
)
def test_an_axis_angle_that_changed_as_a_whole_is_not_taken_for_the_same(factor: Any, offset: Any) -> None:
    changes = compare(spun(), with_keys(spun(), slice(0, 4), factor, offset))
    assert min(changes.key_deg[0], changes.between_deg[0]) > 20.0


def test_the_path_of_an_axis_angle_is_measured() -> None:
    good, bad = (axis_angle_clip([1, 3], [350, d], [0, 0, 1], dtype=np.float64) for d in (370, 10))
    for before, after, longer_deg, swept_deg in ((good, bad, 320.0, [20, 340]), (bad, good, 0.0, [340, 20])):
        changes = compare(before, after)
        assert changes.longer_deg[0] == pytest.approx(longer_deg, abs=1e-6)
        assert changes.swept_deg[0] == pytest.approx(swept_deg, abs=1e-6)
        assert changes.key_deg[0] < 1e-9
    # 350° to 170°, where the axis turns over (20°, seen from one side to the other), and back to 10°.
    over = axis_angle_clip([1, 3], [350, -10], [[0, 0, 1], [0, 0, -1]], dtype=np.float64)
    assert compare(over, good).swept_deg[0] == pytest.approx([360 + 20, 20], abs=4.0)
    assert compare(good, over).longer_deg[0] > 340.0
