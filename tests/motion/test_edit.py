# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits: what they name changes, everything else stays bit for bit, and inserting a key moves nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, LINEAR, QUATERNION, SINE, Clip, Cycles
from quat_audit.motion.edit import (
    add_curves,
    add_keys,
    bridge_keys,
    can_insert,
    insert_keys,
    keep_curves,
    keep_keys,
    map_keys,
    reorder_keys,
    scale_keys,
    straighten_handles,
)
from tests.clips import (
    NAN,
    channel_clip,
    euler_clip,
    free_handles,
    joined,
    quaternion_clip,
    random_quaternions,
    track_clip,
    values_of,
)
from tests.contract import KEY_ARRAYS, assert_same, frozen, snapshot
from tests.oracle import scalar_value

TIMES = [1.0, 5.0, 12.0, 20.0]


def example(seed: int = 0, dtype: Any = np.float64, **options: Any) -> Clip:
    """Two tracks and a channel with everything in them."""
    rng = np.random.default_rng(seed)
    q = random_quaternions(rng, 4)
    options = {"interpolation": BEZIER, "handles": free_handles(rng, TIMES, q, reach=0.5), "dtype": dtype, **options}
    return joined(
        quaternion_clip(TIMES, q, **options),
        euler_clip(
            [2, 4, 6], rng.uniform(-90, 90, (3, 3)), bone="Leg", easing=[1, 2, 3], interpolation=SINE, dtype=dtype
        ),
        channel_clip([1, 9], [3, 4], dtype=dtype),
    )


def others_same(before: Clip, after: Clip, key: Any) -> None:
    """Every array of the keys not in `key` is bit for bit the same."""
    rest = np.setdiff1d(np.arange(len(before.curves.co)), key)
    for name in (*KEY_ARRAYS, "origin", "marked"):
        assert frozen(getattr(before.curves, name)[rest]) == frozen(getattr(after.curves, name)[rest]), name


# ---- values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaling_takes_both_handles_and_nothing_else(dtype: Any) -> None:
    clip = example(dtype=dtype)
    untouched, key = snapshot(clip), np.array([2, 7, 17])
    after = scale_keys(clip, key, np.array([-1.0, 0.5, 3.0]))
    assert snapshot(clip) == untouched
    others_same(clip, after, key)
    for name in ("co", "handle_left", "handle_right"):
        was, now = getattr(clip.curves, name)[key], getattr(after.curves, name)[key]
        assert now.dtype == dtype
        assert np.array_equal(now[:, 1], (was[:, 1] * [-1.0, 0.5, 3.0]).astype(dtype))
        assert np.array_equal(now[:, 0], was[:, 0])
    back = scale_keys(scale_keys(clip, key, -np.ones(3)), key, -np.ones(3))
    assert_same(clip, back)


def test_mapping_is_done_in_double_precision() -> None:
    clip = example(dtype=np.float32)
    key = np.array([0, 16])
    after = map_keys(clip, key, np.array([-1.0, 1.0]), np.array([2 * np.pi, -4 * np.pi]))
    others_same(clip, after, key)
    for name in ("co", "handle_left", "handle_right"):
        was = getattr(clip.curves, name)[key, 1].astype(np.float64)
        wanted = (was * [-1, 1] + [2 * np.pi, -4 * np.pi]).astype(np.float32)
        assert np.array_equal(getattr(after.curves, name)[key, 1], wanted)


def test_bridging_marks_and_straightens_a_run_of_keys() -> None:
    clip = example()
    key = np.array([1, 2])
    after = bridge_keys(clip, key, np.array([5.0, 12.0]), np.array([0.25, 0.75]))
    others_same(clip, after, key)
    c = after.curves
    assert c.co[key].tolist() == [[5, 0.25], [12, 0.75]]
    assert c.marked[key].all()
    np.testing.assert_allclose(c.handle_right[1], [5 + 7 / 3, 0.25 + 0.5 / 3])
    np.testing.assert_allclose(c.handle_left[2], [12 - 7 / 3, 0.75 - 0.5 / 3])


def test_straight_handles_stop_at_the_ends_and_beside_nan() -> None:
    clip = channel_clip([1, 4, 7], [0.0, NAN, 6.0], dtype=np.float64)
    key = np.arange(3)
    c = straighten_handles(clip.curves, key, np.ones(3, bool), np.ones(3, bool))
    assert c.handle_left[0].tolist() == [0, 0] and c.handle_right[2].tolist() == [8, 6]
    assert c.handle_right[0].tolist() == [2, 0] and c.handle_left[2].tolist() == [6, 6]
    chosen = straighten_handles(example().curves, np.array([1]), np.array([True]), np.array([False]))
    assert frozen(chosen.handle_right) == frozen(example().curves.handle_right)


# ---- removing and ordering --------------------------------------------------------------------------------


def test_keeping_keys() -> None:
    clip = example()
    keep = np.ones(len(clip.curves.co), bool)
    keep[[0, 5, 6, 25, 26]] = False  # all keys of the last curve but none left: its two are 25 and 26
    after = keep_keys(clip, keep)
    after.validate()
    assert after.curves.counts.tolist() == [3, 2, 4, 4, 3, 3, 3, 0]
    for name in (*KEY_ARRAYS, "origin", "marked"):
        assert frozen(getattr(after.curves, name)) == frozen(getattr(clip.curves, name)[keep])


def test_keeping_curves_renumbers_tracks_and_drops_empty_ones() -> None:
    clip = example()
    keep = np.array([True, True, False, True, False, False, False, True])
    after = keep_curves(clip, keep)
    after.validate()
    assert after.tracks.data_path == clip.tracks.data_path[:1]
    assert after.tracks.curves.tolist() == [[0, 1, -1, 2]]
    assert after.curves.ancestor.tolist() == [0, 1, 3, 7]
    assert after.curves.data_path == tuple(p for p, k in zip(clip.curves.data_path, keep, strict=True) if k)
    assert_same(clip, keep_curves(clip, np.ones(8, bool)))
    nothing = keep_curves(clip, np.zeros(8, bool))
    nothing.validate()
    assert len(nothing.tracks) == len(nothing.curves) == 0


def test_reordering() -> None:
    clip = example()
    order = np.arange(len(clip.curves.co))
    order[[0, 3]] = [3, 0]
    after = reorder_keys(clip, order)
    assert after.curves.co[[0, 3]].tolist() == clip.curves.co[[3, 0]].tolist()
    assert after.curves.origin[[0, 3]].tolist() == [3, 0]
    assert_same(clip, reorder_keys(after, order))


# ---- inserting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, "mixed"])
@pytest.mark.parametrize("straight_on", [False, True])
def test_inserting_keys_moves_nothing(seed: int, mode: Any, straight_on: bool) -> None:
    """Within, before and beyond the keys, several into one segment, in any order, on several curves at once."""
    rng = np.random.default_rng(seed)
    played = rng.integers(0, 3, 4) if mode == "mixed" else mode
    clip = example(seed, interpolation=played, linear_extrapolation=straight_on)
    inside = seed % 2 == 0
    times = rng.uniform(1.0, 20.0, 9) if inside else rng.uniform(-6.0, 27.0, 9)
    curve = rng.integers(0, 4, 9)
    after = insert_keys(clip, curve, times)
    after.validate()
    assert frozen(after.curves.counts[4:]) == frozen(clip.curves.counts[4:])
    new = after.curves.marked
    assert np.array_equal(new, after.curves.origin < 0)
    assert int(new.sum()) == 9
    owner = after.curves.curve_of_key()
    assert sorted(zip(owner[new].tolist(), after.curves.co[new, 0].tolist(), strict=True)) == sorted(
        zip(curve.tolist(), times.tolist(), strict=True)
    )
    for c in range(4):
        at = after.curves.co[after.curves.rows(c), 0]
        assert np.all(np.diff(at) > 0)
        # A last key that is LINEAR after a segment that is not goes on along another chord (see insert_keys).
        first, last = (1, 20) if mode == "mixed" and straight_on else (-9, 30)
        for time in np.linspace(first, last, 79):
            was, now = scalar_value(clip, c, float(time)), scalar_value(after, c, float(time))
            assert now == pytest.approx(was, abs=1e-6)
    # Authored keys keep time, value and what is not the handle of a divided segment.
    kept = after.curves.origin >= 0
    for name in ("co", "easing", "easing_parameters"):
        assert frozen(getattr(after.curves, name)[kept]) == frozen(getattr(clip.curves, name))


@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, SINE])
def test_what_plays_beyond_a_key_at_the_end_goes_on(mode: int) -> None:
    clip = channel_clip(
        [1, 11], [0.0, 5.0], interpolation=mode, handles="thirds", linear_extrapolation=True, dtype=np.float64
    )
    after = insert_keys(clip, np.array([0, 0]), np.array([-4.0, 21.0]))
    for time in (-20.0, -4.0, 0.0, 1.0, 6.0, 11.0, 15.0, 21.0, 40.0):
        assert scalar_value(after, 0, time) == pytest.approx(scalar_value(clip, 0, time), abs=1e-9)


@pytest.mark.parametrize("offset", [-0.0099, -0.004, 0.0, 0.009])
def test_a_time_on_a_key_is_left_out(offset: float) -> None:
    clip = example()
    assert insert_keys(clip, np.array([1, 1]), np.array([5.0 + offset, 20.0 + offset])) is clip
    twice = insert_keys(clip, np.array([1, 1]), np.array([8.0, 8.005]))
    assert twice.curves.counts[1] == 5


def test_inserting_nothing_is_the_same_clip() -> None:
    clip = example()
    assert insert_keys(clip, np.zeros(0, np.int64), np.zeros(0)) is clip


def test_neighbouring_curves_get_keys_at_their_ends() -> None:
    """After the last key of one curve and before the first of the next: the same place in the arrays."""
    clip = joined(channel_clip([1, 2], [1, 1]), channel_clip([5, 6], [2, 2], "scale"))
    after = insert_keys(clip, np.array([1, 0]), np.array([3.0, 4.0]))
    assert after.curves.co.tolist() == [[1, 1], [2, 1], [4, 1], [3, 2], [5, 2], [6, 2]]
    assert after.curves.counts.tolist() == [3, 3]


@pytest.mark.parametrize(
    "options, reason",
    [
        ({}, ""),
        ({"interpolation": CONSTANT}, ""),
        ({"interpolation": SINE}, "easing"),
        ({"unevaluable": "a Noise modifier"}, "Noise"),
        ({"cycles": Cycles("REPEAT", "REPEAT", 0, 0)}, "Cycles"),
    ],
)
def test_reasons_not_to_insert(options: dict[str, Any], reason: str) -> None:
    why = can_insert(quaternion_clip(TIMES, random_quaternions(np.random.default_rng(0), 4), **options), 0)
    assert (reason in why) if reason else why == ""


def test_no_key_is_inserted_where_nobody_knows_what_plays() -> None:
    assert "QA101" in can_insert(channel_clip([1, 2, 3], [0, NAN, 1]), 0)
    assert "QA401" in can_insert(channel_clip([1, 3, 3], [0, 1, 2]), 0)
    assert "QA401" in can_insert(channel_clip([1, 3, 2], [0, 1, 2]), 0)


# ---- adding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [LINEAR, BEZIER])
def test_added_keys_have_their_value_and_lie_straight(mode: int) -> None:
    clip = example(interpolation=mode)
    after = add_keys(clip, np.array([1, 1, 3]), np.array([8.0, 10.0, 3.0]), np.array([0.5, -0.5, 9.0]))
    after.validate()
    c = after.curves
    rows = c.rows(1)
    assert c.co[rows][2:4].tolist() == [[8, 0.5], [10, -0.5]]
    assert c.co[c.rows(3)][1].tolist() == [3, 9]
    key = rows.start + 2
    np.testing.assert_allclose(c.handle_right[key], c.co[key] + (c.co[key + 1] - c.co[key]) / 3)
    np.testing.assert_allclose(c.handle_left[key], c.co[key] + (c.co[key - 1] - c.co[key]) / 3)
    np.testing.assert_allclose(c.handle_right[key - 1], c.co[key - 1] + (c.co[key] - c.co[key - 1]) / 3)
    # On the far side of a neighbour nothing changes.
    assert frozen(c.handle_left[key - 1]) == frozen(clip.curves.handle_left[5])
    assert frozen(c.co[c.origin >= 0]) == frozen(clip.curves.co)


@pytest.mark.parametrize("offset", [-0.009, 0.0, 0.009])
def test_a_key_that_is_there_is_not_overwritten(offset: float) -> None:
    clip = example()
    assert add_keys(clip, np.array([1]), np.array([5.0 + offset]), np.array([77.0])) is clip
    after = add_keys(clip, np.array([1, 1]), np.array([5.0 + offset, 9.0]), np.array([77.0, 88.0]))
    assert frozen(after.curves.co[after.curves.origin >= 0]) == frozen(clip.curves.co)
    assert 77.0 not in after.curves.co[:, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_added_curves_are_like_their_sibling(dtype: Any) -> None:
    cycles = Cycles("REPEAT", "MIRROR", 2, 0)
    clip = track_clip(QUATERNION, {0: (TIMES, [1] * 4), 1: (TIMES, [0] * 4)}, cycles=cycles, dtype=dtype, easing=0)
    points = [np.array([[1.0, 0.5], [5.0, 0.25]]), np.zeros((0, 2))]
    after = add_curves(
        clip, np.array([0, 1]), ["a", "b"], np.array([2, 3]), points, [np.array([1, 2]), np.zeros(0, int)]
    )
    after.validate()
    c = after.curves
    assert c.co.dtype == dtype and c.easing is not None and c.easing_parameters is not None
    assert c.easing_parameters.dtype == dtype
    assert c.data_path[2:] == ("a", "b") and c.component.tolist() == [0, 1, 2, 3]
    assert c.cycles == (cycles,) * 4
    assert c.ancestor.tolist() == [0, 1, -1, -1]
    assert c.marked[8:].all() and np.all(c.origin[8:] == -1) and c.interpolation[8:].tolist() == [1, 2]
    for name in (*KEY_ARRAYS, "origin", "marked"):
        assert frozen(getattr(c, name)[:8]) == frozen(getattr(clip.curves, name))
    assert values_of(joined(quaternion_clip([1], [[1, 0, 0, 0]]), after)).shape == (1, 4)
