# SPDX-License-Identifier: GPL-3.0-or-later
"""Rows and steps of rotations against a scalar walk over the keys (tests/contract.py)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import AXIS_ANGLE, BEZIER, CONSTANT, EULER, LINEAR, QUATERNION, SLERP, Clip
from quat_audit.motion.keys import keyed_together, rotation_keys, rotation_steps
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
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_raw, union_rows

TIMES = [1.0, 5.0, 12.0, 20.0]


def ragged(seed: int, bone: str, **options: Any) -> Clip:
    """A quaternion track whose components are keyed at random subsets of the times; the first has them all."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.5, 4, 8))
    q = random_quaternions(rng, 8)
    keys = {}
    for part in range(4):
        keep = np.sort(rng.choice(8, size=int(rng.integers(1, 9)), replace=False)) if part else np.arange(8)
        keys[part] = (times[keep], q[keep, part])
    return track_clip(QUATERNION, keys, bone=bone, dtype=np.float64, **options)


def random_clip(seed: int) -> Clip:
    rng = np.random.default_rng(seed + 100)
    parts = [
        quaternion_clip(TIMES, random_quaternions(rng, 4), bone="A", interpolation=BEZIER, handles="thirds"),
        ragged(seed, "B", interpolation=LINEAR),
        euler_clip([2, 3], rng.uniform(-200, 200, (2, 3)), bone="C"),
        channel_clip([1, 2, 3], [1, 2, 3]),
        ragged(seed + 1, "D", interpolation=BEZIER, handles="thirds", linear_extrapolation=bool(seed % 2)),
        quaternion_clip([], [], bone="E"),
        track_clip(QUATERNION, {0: ([1, 2], [1, 1]), 3: ([1, 3], [0, 1])}, bone="F", pose=(9, 0.25, -0.5, 9)),
        quaternion_clip([7], [[0, 1, 0, 0]], bone="G"),
    ]
    return joined(*[parts[i] for i in rng.permutation(len(parts))])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind, n", [(QUATERNION, 4), (EULER, 3)])
def test_rows_are_the_moments_at_which_a_track_is_keyed(seed: int, kind: str, n: int) -> None:
    clip = random_clip(seed)
    keys = rotation_keys(clip, kind)
    assert [clip.tracks.kind[t] for t in keys.tracks] == [kind] * len(keys.tracks)
    assert len(keys.tracks) == clip.tracks.kind.count(kind)
    for member, track in enumerate(keys.tracks):
        rows = slice(int(keys.offsets[member]), int(keys.offsets[member + 1]))
        wanted = union_rows(clip, int(track))
        assert set(keys.member[rows]) <= {member}
        assert keys.time[rows].tolist() == [row[0] for row in wanted]
        for row, (time, _, values) in zip(range(rows.start, rows.stop), wanted, strict=True):
            played = scalar_raw(clip, int(track), time)
            assert [int(k) >= 0 for k in keys.key[row]] == [p in values for p in range(n)]
            for part in range(n):
                assert keys.value[row, part] == pytest.approx(values.get(part, played[part]), abs=1e-9)
                if part in values:
                    assert clip.curves.co[keys.key[row, part], 1] == values[part]
            assert keys.norm[row] == pytest.approx(math.sqrt(sum(v * v for v in keys.value[row])))
    assert int(keys.offsets[-1]) == len(keys.time) == len(keys.value) == len(keys.valid)


@pytest.mark.parametrize("seed", range(8))
def test_steps_are_neighbours_of_one_track(seed: int) -> None:
    clip = random_clip(seed)
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    wanted = [(row, row + 1) for row in range(len(keys.time) - 1) if keys.member[row] == keys.member[row + 1]]
    assert list(zip(steps.first.tolist(), steps.second.tolist(), strict=True)) == wanted
    for step, (a, b) in enumerate(wanted):
        dot = float(keys.value[a] @ keys.value[b]) / float(keys.norm[a] * keys.norm[b])
        assert steps.dot[step] == pytest.approx(dot, abs=1e-12)
        assert steps.gap_frames[step] == keys.time[b] - keys.time[a]


def test_alignment() -> None:
    q = random_quaternions(np.random.default_rng(0), 4)

    def aligned(shift: float) -> bool:
        keys = {p: (np.array(TIMES) + (shift if p == 2 else 0.0), q[:, p]) for p in range(4)}
        return bool(rotation_keys(track_clip(QUATERNION, keys, dtype=np.float64), QUATERNION).aligned[0])

    assert aligned(0.0) and aligned(0.0099) and aligned(-0.0099)
    assert not aligned(0.0101) and not aligned(-0.0101) and not aligned(1.0)
    assert not rotation_keys(ragged(0, "A"), QUATERNION).aligned[0]
    missing = {p: (TIMES, q[:, p]) for p in range(3)}
    assert not rotation_keys(track_clip(QUATERNION, missing), QUATERNION).aligned[0]


def test_the_same_number_of_keys_at_other_times_is_not_aligned() -> None:
    keys = {p: ([1, 5 + (p == 3), 9], [1, 1, 1]) for p in range(4)}
    rows = rotation_keys(track_clip(QUATERNION, keys), QUATERNION)
    assert rows.time.tolist() == [1, 5, 6, 9]
    assert not rows.aligned[0]


@pytest.mark.parametrize("value", [NAN, math.inf])
@pytest.mark.parametrize("part", [0, 3])
def test_a_time_that_is_no_number_says_nothing_about_alignment(value: float, part: int) -> None:
    clip = quaternion_clip(TIMES, random_quaternions(np.random.default_rng(1), 4))
    clip.curves.co[part * 4 + 1, 0] = value
    assert rotation_keys(clip, QUATERNION).aligned[0]


def test_validity() -> None:
    q = np.array([[1, 0, 0, 0], [NAN, 0, 0, 1], [0, math.inf, 0, 0], [0, 0, 0, 0], [5e-7, 0, 0, 0], [2e-6, 0, 0, 0]])
    clip = quaternion_clip(range(6), q, dtype=np.float64)
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    assert keys.valid.tolist() == [True, False, False, False, False, True]
    assert (steps.first.tolist(), steps.second.tolist(), steps.gap_frames.tolist()) == ([0], [5], [5])
    euler = euler_clip([1, 2, 3], [[0, 0, 0], [NAN, 0, 0], [0, 0, 0]])
    assert rotation_keys(euler, EULER).valid.tolist() == [True, False, True]
    assert np.isnan(rotation_steps(euler, EULER).dot).all()


def test_an_unknown_stored_pose_makes_no_valid_rotation() -> None:
    clip = track_clip(QUATERNION, {0: ([1, 2], [1, 1])}, pose=[NAN] * 4)
    assert not rotation_keys(clip, QUATERNION).valid.any()


def test_a_lone_euler_channel_is_judged_although_nobody_plays_it() -> None:
    """Whatever the other two hold, its own turns are the same."""
    clip = euler_clip([1, 2], [[170, 0, 0], [-175, 0, 0]], components=(0,), pose=[NAN] * 3, users=(), modes=())
    assert rotation_keys(clip, EULER).valid.all()
    (finding,) = [f for f in audit_clip(clip) if f.code == "QA201"]
    assert finding.fix == "safe"
    repair = repair_clip(clip)
    assert np.degrees(repair.subject.curves.co[:, 1]) == pytest.approx([170, 185])
    assert repair.proof.max_key_change_deg < 1e-4


@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, SLERP])
def test_how_a_step_is_played(mode: int) -> None:
    clip = quaternion_clip(TIMES, turns("X", [0, 1, 2, 3]), interpolation=mode, handles="thirds")
    steps = rotation_steps(clip, QUATERNION)
    assert steps.constant.tolist() == [mode == CONSTANT] * 3
    assert steps.slerp.tolist() == [mode == SLERP] * 3


def test_a_step_is_held_only_when_all_components_are() -> None:
    q = turns("X", [0, 1, 2, 3])
    modes = {p: [CONSTANT, CONSTANT, LINEAR, LINEAR] for p in range(3)} | {3: [CONSTANT, LINEAR, LINEAR, CONSTANT]}
    steps = rotation_steps(quaternion_clip(TIMES, q, interpolation=modes), QUATERNION)
    assert steps.constant.tolist() == [True, False, False]
    # A component without a curve holds its value.
    missing = quaternion_clip(TIMES, q, components=(0, 1), interpolation=[CONSTANT, LINEAR, CONSTANT, LINEAR])
    assert rotation_steps(missing, QUATERNION).constant.tolist() == [True, False, True]


def test_views_are_computed_once_and_never_change_the_clip() -> None:
    clip = random_clip(0)
    before = clip.curves.co.tobytes()
    assert rotation_keys(clip, QUATERNION) is rotation_keys(clip, QUATERNION)
    rotation_keys(clip, QUATERNION).value[:] = 7
    assert clip.curves.co.tobytes() == before


def test_clips_without_rotations() -> None:
    for clip in (channel_clip([1, 2], [0, 1]), channel_clip([], []), quaternion_clip([], [])):
        for kind in (QUATERNION, EULER):
            assert len(rotation_keys(clip, kind).time) == len(rotation_steps(clip, kind).first) == 0


def test_free_handles_between_keys_of_ragged_components() -> None:
    """What a component plays where others are keyed comes from its own curve, curved as it is."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=3)
    times = np.array([1.0, 8.0, 15.0])
    left, right = free_handles(rng, times, x[:, None])
    flat = (np.stack([[1.0, 6.0, 15.0], [0, 0, 0]], axis=1),) * 2
    clip = track_clip(
        QUATERNION,
        {0: (times, x), 1: ([1.0, 6.0, 15.0], [0, 0, 0])},
        handles={0: (left[:, 0], right[:, 0]), 1: flat},
        interpolation=BEZIER,
        dtype=np.float64,
    )
    keys = rotation_keys(clip, QUATERNION)
    assert keys.time.tolist() == [1, 6, 8, 15]
    assert keys.value[1, 0] == pytest.approx(scalar_raw(clip, 0, 6.0)[0], abs=1e-9)


def test_validity_and_components_of_an_axis_angle() -> None:
    degrees, axes = [0, 90, 90, NAN, 360, 90], [[0, 0, 0], [0, 0, 0], [0, 0, 5], [0, 0, 1], [0, 0, 0], [0, NAN, 1]]
    clip = axis_angle_clip(range(1, 7), degrees, axes)
    keys = rotation_keys(clip, AXIS_ANGLE)
    assert keys.valid.tolist() == [True, False, True, False, True, False]
    steps = rotation_steps(clip, AXIS_ANGLE)
    assert list(zip(steps.first.tolist(), steps.second.tolist(), strict=True)) == [(0, 2), (2, 4)]
    whole = axis_angle_clip([1, 5], [0, 90], [0, 0, 1])
    angle = axis_angle_clip([1, 5], [0, 90], [0, 0, 1], components=[0], pose=[NAN] * 4, bone="Angle")
    part = axis_angle_clip([1, 5], [0, 90], [0, 0, 1], components=[0, 3], pose=[NAN] * 4, bone="Part")
    apart = track_clip("AXIS_ANGLE", {p: ([1, 5 + (p == 3)], [1, 2]) for p in range(4)}, bone="Apart")
    clip = joined(whole, angle, part, apart)
    keys = rotation_keys(clip, AXIS_ANGLE)
    assert keyed_together(clip, keys).tolist() == [True, True, True, False]
    assert keys.aligned.tolist() == [True, False, False, False]
    # An angle alone turns about some axis, whichever: it is judged. A part of an unknown axis is no axis.
    assert [bool(keys.valid[keys.member == m].all()) for m in range(4)] == [True, True, False, True]
