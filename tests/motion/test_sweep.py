# SPDX-License-Identifier: GPL-3.0-or-later
"""Swept and shortest angles against closed forms and a scalar reference."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import (
    AXIS_ANGLE,
    BEZIER,
    CONSTANT,
    EULER,
    EULER_ORDERS,
    LINEAR,
    QUATERNION,
    SINE,
    SLERP,
    Clip,
)
from quat_audit.motion.keys import rotation_keys, rotation_steps
from quat_audit.motion.sweep import Sweep, played_path, played_values, sweep, to_rotation
from quat_audit.rotation.quaternion import path_length
from tests.clips import (
    NAN,
    about,
    axis_angle_clip,
    euler_clip,
    free_handles,
    joined,
    quaternion_clip,
    random_quaternions,
    track_clip,
    turns,
)
from tests.oracle import path_deg, scalar_raw, scalar_rotation, turn_deg, union_rows


def swept(clip: Clip, kind: str = QUATERNION) -> Sweep:
    keys, steps = rotation_keys(clip, kind), rotation_steps(clip, kind)
    return sweep(clip, keys, steps, np.arange(len(steps.first)))


@pytest.mark.parametrize("degrees", [0.0, 1e-3, 1.0, 20.0, 90.0, 170.0, 180.0])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("lengths", [(1.0, 1.0), (1.0, 3.0)])
def test_a_straight_line_travels_the_arc_that_its_signs_say(degrees: float, sign: int, lengths: Any) -> None:
    q = turns((1, 2, 2), [0, degrees]) * np.array([[lengths[0]], [sign * lengths[1]]])
    s = swept(quaternion_clip([1, 11], q, dtype=np.float64))
    wanted = degrees if sign > 0 else 360 - degrees
    assert s.swept_deg[0] == pytest.approx(wanted, abs=1e-6)
    assert s.shortest_deg[0] == pytest.approx(degrees, abs=1e-6)
    assert s.excess_deg[0] == pytest.approx(wanted - degrees, abs=1e-6)


def test_q_to_minus_q_is_a_whole_turn_even_where_a_sample_vanishes() -> None:
    """Half-way the components are exactly zero; the jump across that moment counts."""
    q = about((1, -2, 3), 77)
    for lengths in ((1, 1), (1, 3), (1, 15)):  # the zero falls on the middle, the quarter, a sixteenth
        clip = quaternion_clip([1, 11], [np.array(q) * lengths[0], -np.array(q) * lengths[1]], dtype=np.float64)
        assert swept(clip).swept_deg[0] == pytest.approx(360, abs=1e-6)


@pytest.mark.parametrize(("mode", "travelled"), [(CONSTANT, 0.0), (SLERP, 20.0)])
def test_held_steps_travel_nothing_and_spherical_ones_what_they_must(mode: int, travelled: float) -> None:
    q = turns("Z", [0, 20]) * [[1], [-1]]
    s = swept(quaternion_clip([1, 11], q, interpolation=mode, dtype=np.float64))
    assert s.shortest_deg[0] == pytest.approx(20, abs=1e-9) and s.excess_deg[0] == 0
    assert s.swept_deg[0] == pytest.approx(travelled, abs=1e-9)


# Component → how the key at the first frame leaves, for X 0 → 40 and Z 175 → −175; degrees travelled.
HELD = [
    ({0: [LINEAR], 1: [CONSTANT], 2: [CONSTANT]}, 40.0),
    ({0: [CONSTANT], 1: [CONSTANT], 2: [LINEAR]}, 350.0),
    ({0: [CONSTANT], 1: [LINEAR], 2: [CONSTANT]}, 0.0),
    ({0: [CONSTANT], 1: [CONSTANT], 2: [CONSTANT]}, 0.0),
    ({0: [BEZIER], 1: [CONSTANT], 2: [CONSTANT]}, 40.0),
]


@pytest.mark.parametrize("order", EULER_ORDERS)
@pytest.mark.parametrize(("modes", "travelled"), HELD)
def test_a_held_component_pops_and_travels_nothing(modes: Any, travelled: float, order: str) -> None:
    both = {part: [modes[part][0]] * 2 for part in range(3)}
    handles = "thirds" if modes[0] == [BEZIER] else None
    clip = euler_clip(
        [1, 21], [[0, 0, 175], [40, 0, -175]], order, interpolation=both, handles=handles, dtype=np.float64
    )
    s = swept(clip, EULER)
    assert s.swept_deg[0] == pytest.approx(travelled, abs=1e-6)
    assert s.excess_deg[0] == pytest.approx(340.0 if travelled == 350 else 0.0, abs=1e-6)
    assert s.shortest_deg[0] == pytest.approx(turn_deg(*(to_rotation_of(clip, t) for t in (1, 21))), abs=1e-6)


def to_rotation_of(clip: Clip, time: float) -> Any:
    return scalar_rotation(clip, 0, scalar_raw(clip, 0, time))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_travelled_between_keys_apart_is_that_of_the_open_interval(seed: int) -> None:
    """Random modes, components keyed at times of their own: the way up to just before the second row, by the oracle."""
    rng = np.random.default_rng(seed)
    keys, modes = {}, {}
    for part in range(3):
        times = np.unique(np.concatenate([[0.0, 40.0][: 1 + seed % 2], rng.choice(np.arange(1, 40), 6)]))
        keys[part] = (times, np.radians(np.cumsum(rng.uniform(-80, 80, len(times)))))
        modes[part] = rng.choice([CONSTANT, CONSTANT, LINEAR], len(times))
    clip = track_clip(EULER, keys, interpolation=modes, dtype=np.float64)
    held = rotation_steps(clip, EULER).constant
    s, rows = swept(clip, EULER), union_rows(clip, 0)
    assert held.any() and not held.all()
    for step, (start, end) in enumerate(pairwise(row[0] for row in rows)):
        wanted = path_deg(clip, 0, start, end - 1e-6)
        assert wanted is not None
        assert s.swept_deg[step] == pytest.approx(wanted, rel=5e-3, abs=1e-3)
        assert not held[step] or wanted < 1e-9


@pytest.mark.parametrize("mode", [LINEAR, BEZIER, SINE])
@pytest.mark.parametrize("seed", range(4))
def test_quaternion_steps_equal_a_scalar_reference(mode: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    times, q = np.cumsum(rng.uniform(1, 9, 6)), random_quaternions(rng, 6)
    clip = quaternion_clip(times, q, interpolation=mode, handles=free_handles(rng, times, q, 0.4), dtype=np.float64)
    s = swept(clip)
    for step in range(5):
        wanted = path_deg(clip, 0, float(times[step]), float(times[step + 1]))
        assert wanted is not None
        assert s.swept_deg[step] == pytest.approx(max(wanted, turn_deg(q[step], q[step + 1])), rel=0.02, abs=0.05)
        assert s.shortest_deg[step] == pytest.approx(turn_deg(q[step], q[step + 1]), abs=1e-6)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_steps_equal_a_scalar_reference(order: str) -> None:
    rng = np.random.default_rng(EULER_ORDERS.index(order))
    degrees = np.cumsum(rng.uniform(-170, 170, (6, 3)), axis=0)
    clip = euler_clip(np.arange(6) * 10.0, degrees, order, dtype=np.float64)
    # In a clip with another order beside it, each track is read in its own.
    other = "ZYX" if order == "XYZ" else "XYZ"
    both = joined(euler_clip([1, 11], [[0, 0, 0], [10, 20, 30]], other, bone="Leg", dtype=np.float64), clip)
    s = swept(both, EULER)
    for step in range(5):
        wanted = path_deg(clip, 0, step * 10.0, step * 10.0 + 10)
        assert wanted is not None
        assert s.swept_deg[1 + step] == pytest.approx(wanted, rel=5e-3)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [LINEAR, BEZIER, SINE])
def test_axis_angle_steps_equal_a_scalar_reference(mode: int) -> None:
    rng = np.random.default_rng(mode)
    times = np.cumsum(rng.uniform(1, 10, 12))
    degrees, axes = rng.uniform(-700, 700, 12), rng.normal(size=3) + rng.normal(size=(12, 3))
    handles = free_handles(rng, times, np.column_stack([np.radians(degrees), axes]), 0.3, 0.4)
    options: Any = {"interpolation": mode, "handles": handles, "easing": 0, "dtype": np.float64}
    clip = axis_angle_clip(times, degrees, axes, **options)
    s = swept(clip, AXIS_ANGLE)
    for row, (start, end) in enumerate(pairwise(times)):
        parts = [start + (end - start) * n / 40 for n in range(41)]
        wanted = sum(path_deg(clip, 0, a, b) or 0.0 for a, b in pairwise(parts))
        assert s.swept_deg[row] == pytest.approx(wanted, rel=0.02, abs=0.1)
        ends = [scalar_rotation(clip, 0, scalar_raw(clip, 0, t)) for t in (start, end)]
        assert s.shortest_deg[row] == pytest.approx(turn_deg(ends[0], ends[1]), abs=1e-5)  # type: ignore[arg-type]


@pytest.mark.parametrize("degrees", [(80, -90), (-90, 100), (180, 180), (30, 30)])
def test_an_axis_that_turns_over_jumps(degrees: tuple[float, float]) -> None:
    """The zero falls on the middle, the quarter, a sixteenth, and between two samples."""
    axis = np.array([0.6, -0.48, 0.64])
    for after in (1, 3, 15, 2.6):
        clip = axis_angle_clip([1, 11], degrees, [axis, -after * axis], dtype=np.float64)
        at = degrees[0] + (degrees[1] - degrees[0]) / (1 + after)
        wanted = abs(degrees[1] - degrees[0]) + min(2 * abs(at), 360 - 2 * abs(at))
        assert swept(clip, AXIS_ANGLE).swept_deg[0] == pytest.approx(wanted, abs=3.0)


@pytest.mark.parametrize("degrees", [90, 359, 360, 720, 3600, 36000])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_no_turn_of_a_spin_is_lost(degrees: float, axis: int) -> None:
    angles = np.zeros((2, 3))
    angles[1, axis] = degrees
    s = swept(euler_clip([1, 11], angles, dtype=np.float64), EULER)
    assert s.swept_deg[0] == pytest.approx(degrees, rel=1e-9)
    wrapped = degrees % 360
    assert s.shortest_deg[0] == pytest.approx(min(wrapped, 360 - wrapped), abs=1e-5)


def test_an_absent_component_plays_the_stored_pose() -> None:
    clip = track_clip(QUATERNION, {3: ([1, 11], [0.0, 1.0])}, pose=(1, 0, 0, 0), dtype=np.float64)
    s = swept(clip)
    assert s.swept_deg[0] == pytest.approx(90, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_played_values_are_those_of_the_curves(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for number, mode in enumerate([LINEAR, BEZIER, CONSTANT, SINE]):
        times, q = np.cumsum(rng.uniform(1, 5, 5)), random_quaternions(rng, 5)
        parts.append(
            quaternion_clip(
                times,
                q,
                bone=str(number),
                interpolation=mode,
                handles=free_handles(rng, times, q, reach=0.5),
                components=(0, 1, 3) if number == 1 else (0, 1, 2, 3),
                pose=(0, 0, 0.5, 0),
                dtype=np.float64,
            )
        )
    clip = joined(*parts)
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    which = rng.permutation(len(steps.first))[:9]
    fractions = np.array([0.1, 0.5, 0.77])
    got = played_values(clip, keys, steps, which, fractions)
    assert got.shape == (9, 3, 4)
    for row, step in enumerate(which):
        first, track = steps.first[step], int(keys.track_of(steps.first[step : step + 1])[0])
        for column, fraction in enumerate(fractions):
            time = float(keys.time[first] + fraction * steps.gap_frames[step])
            np.testing.assert_allclose(got[row, column], scalar_raw(clip, track, time), atol=1e-7)


def test_paths_start_and_end_at_the_keys() -> None:
    rng = np.random.default_rng(2)
    q = random_quaternions(rng, 4)
    clip = quaternion_clip([1, 2, 5, 9], q, interpolation=BEZIER, handles="thirds", dtype=np.float64)
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    path = played_path(clip, keys, steps, np.arange(3), 16)
    assert path.shape == (3, 17, 4)
    np.testing.assert_allclose(path[:, 0], q[:-1], atol=1e-15)
    np.testing.assert_allclose(path[:, -1], q[1:], atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(path, axis=-1), 1)


def test_path_length_leaves_out_what_is_no_rotation() -> None:
    q = turns("X", [0, 10, 30, 60, 100])
    whole = path_length(q)
    assert math.degrees(float(whole)) == pytest.approx(100)
    for hole in ([2], [0], [4], [1, 2], [0, 1, 3]):
        broken = q.copy()
        broken[hole] = NAN
        rest = np.delete(np.array([0, 10, 30, 60, 100]), hole)
        assert math.degrees(float(path_length(broken))) == pytest.approx(rest[-1] - rest[0])
    assert path_length(np.full((3, 5, 4), NAN)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_rotations_of_raw_values(order: str) -> None:
    rng = np.random.default_rng(9)
    clip = euler_clip(range(5), rng.uniform(-300, 300, (5, 3)), order, dtype=np.float64)
    keys = rotation_keys(clip, EULER)
    got = to_rotation(clip, keys, keys.value, np.arange(5))
    for row in range(5):
        wanted = scalar_rotation(clip, 0, list(keys.value[row]))
        assert wanted is not None and turn_deg(wanted, got[row]) < 1e-9


def test_zero_and_non_finite_values_are_no_rotation() -> None:
    clip = quaternion_clip(range(3), [[0, 0, 0, 0], [NAN, 0, 0, 1], [0, 3, 0, 4]], dtype=np.float64)
    keys = rotation_keys(clip, QUATERNION)
    got = to_rotation(clip, keys, keys.value, np.arange(3))
    assert np.isnan(got[:2]).all()
    np.testing.assert_allclose(got[2], [0, 0.6, 0, 0.8])


def test_no_steps() -> None:
    for clip in (quaternion_clip([], []), quaternion_clip([1], [[1, 0, 0, 0]])):
        s = swept(clip)
        assert len(s.swept_deg) == len(s.shortest_deg) == len(s.excess_deg) == 0
