# SPDX-License-Identifier: GPL-3.0-or-later
"""REFERENCE 1 to 11: numbers of the interpolations, and the errors that name the argument."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from quat_audit.rotation import euler, quaternion
from quat_audit.rotation.interpolation import nlerp, sample_track, slerp, weighted_mix
from tests.rotation.reference_interpolation import (
    catmull_rom,
    sample_loop,
    slerp_axis_angle,
    slerp_exponential,
    slerp_sine,
)

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])
FORMS: tuple[Callable[..., Any], ...] = (
    slerp_sine,
    slerp_exponential,
    slerp_axis_angle,
)


def about_z(degrees: Any) -> np.ndarray:
    return quaternion.from_axis_angle([0, 0, 1], np.radians(degrees))


def turned(q: np.ndarray) -> np.ndarray:
    """Degrees about Z, -180 to 180, read off the turned X axis: blind to the sign of q."""
    x = quaternion.rotate(q, [1.0, 0.0, 0.0])
    return np.degrees(np.arctan2(x[..., 1], x[..., 0]))


def basis_gap(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of the three turned basis vectors (REFERENCE 9)."""
    return float(np.abs(quaternion.to_matrix(a) - quaternion.to_matrix(b)).max())


def random_units(seed: int, n: int) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return q / np.sqrt((q * q).sum(axis=1, keepdims=True))


# ------------------------------------------------------------------------------------------ 1 to 5


def test_reference_1_a_negated_end_swings_the_long_way() -> None:
    end = -about_z(20.0)
    assert quaternion.dot(IDENTITY, end) == pytest.approx(-0.9848077, abs=1e-7)
    assert abs(turned(nlerp(IDENTITY, end, 0.5, shortest=False))) == pytest.approx(170.0, abs=1e-10)
    assert turned(nlerp(IDENTITY, end, 0.5)) == pytest.approx(10.0, abs=1e-12)
    assert turned(slerp(IDENTITY, end, 0.5)) == pytest.approx(10.0, abs=1e-12)
    # Arithmetic in float32 leaves 169.99997 and 9.99997; here only the input is float32.
    single = end.astype(np.float32)
    assert abs(turned(nlerp(IDENTITY, single, 0.5, shortest=False))) == pytest.approx(170.0, abs=1e-6)
    assert turned(nlerp(IDENTITY, single, 0.5)) == pytest.approx(10.0, abs=1e-6)


def test_reference_2_q_to_minus_q_is_an_error_as_stored_and_the_same_rotation_otherwise() -> None:
    for q in random_units(2, 20):
        np.testing.assert_array_equal(0.5 * q + 0.5 * -q, 0.0)
        for function in (nlerp, slerp, *FORMS):
            with pytest.raises(ValueError, match="antipodal"):
                function(q, -q, 0.5, shortest=False)
            assert basis_gap(function(q, -q, np.linspace(0, 1, 11)), np.broadcast_to(q, (11, 4))) < 1e-15


def test_reference_3_a_zero_dot_keeps_its_sign() -> None:
    end = np.array([0.0, 0.0, 0.0, 1.0])
    assert quaternion.arc_angle(IDENTITY, end) == pytest.approx(math.pi, abs=0)
    for function in (nlerp, slerp, *FORMS):
        np.testing.assert_allclose(function(IDENTITY, end, 0.5), about_z(90.0), atol=1e-15)
        np.testing.assert_allclose(function(IDENTITY, -end, 0.5), about_z(-90.0), atol=1e-15)
        np.testing.assert_allclose(function(IDENTITY, end, 1.0), end, atol=1e-15)
        # What is zero but for rounding is zero: cos 90° computed in doubles, either sign.
        for noise in (6.1e-17, -6.1e-17, -3e-13):
            assert function(IDENTITY, [noise, 0, 0, 1], 0.5)[3] == pytest.approx(math.sqrt(0.5), abs=1e-12)


@pytest.mark.parametrize("function", [nlerp, slerp, *FORMS])
@pytest.mark.parametrize(
    "a, b, t, name",
    [
        ([0, 0, 0, 0], IDENTITY, 0.5, "a"),
        (IDENTITY, [0, 0, 0, 0], 0.5, "b"),
        ([np.nan, 0, 0, 1], IDENTITY, 0.5, "a"),
        (IDENTITY, [1, np.inf, 0, 0], 0.5, "b"),
        (IDENTITY, about_z(20), -1e-9, "t"),
        (IDENTITY, about_z(20), 1.0000001, "t"),
        (IDENTITY, about_z(20), np.nan, "t"),
        (IDENTITY, about_z(20), [0.5, np.inf], "t"),
    ],
)
def test_reference_4_bad_input_is_named(function: Callable[..., Any], a: Any, b: Any, t: Any, name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name} "):
        function(a, b, t)


@pytest.mark.parametrize("function", [nlerp, slerp, *FORMS])
def test_reference_4_scale_and_sign_change_no_rotation(function: Callable[..., Any]) -> None:
    a, b, t = random_units(4, 100), random_units(5, 100), np.random.default_rng(6).random(100)
    plain = function(a, b, t)
    for scale in (7.0, -1.0, -7.0, 1e200):
        assert basis_gap(function(a * scale, b, t), plain) < 4e-15
        assert basis_gap(function(a, b * scale, t), plain) < 4e-15


def test_reference_5_three_forms_agree() -> None:
    a, b, t = random_units(7, 2000), random_units(8, 2000), np.random.default_rng(9).random(2000)
    for shortest in (True, False):
        one, two, three = (f(a, b, t, shortest=shortest) for f in FORMS)
        np.testing.assert_allclose(two, one, atol=1e-12)
        np.testing.assert_allclose(three, one, atol=1e-12)
        np.testing.assert_allclose(slerp(a, b, t, shortest=shortest), one, atol=1e-12)


@pytest.mark.parametrize("degrees", [0.0, 1e-9, 1e-5, 359.9999, 360.0 - 1e-5])
def test_reference_5_tiny_and_nearly_whole_turns(degrees: float) -> None:
    for function in FORMS:
        got = function(IDENTITY, about_z(degrees), [0.0, 0.25, 1.0], shortest=False)
        expected = about_z(np.array([0.0, 0.25, 1.0]) * degrees)
        # Within an angle of 1e-5 of a whole turn, rounding moves the arc's own plane: of π - φ, 1e-16 is 1e-9.
        np.testing.assert_allclose(got, expected, atol=1e-15 if degrees < 1 else 1e-9)


def test_reference_5_slerp_is_nlerp_above_the_limit_and_not_below() -> None:
    above, below = 2 * math.degrees(math.acos(0.99951)), 2 * math.degrees(math.acos(0.99949))
    np.testing.assert_array_equal(slerp(IDENTITY, about_z(above), 0.3), nlerp(IDENTITY, about_z(above), 0.3))
    assert turned(slerp(IDENTITY, about_z(below), 0.3)) == pytest.approx(0.3 * below, abs=1e-12)
    assert turned(nlerp(IDENTITY, about_z(below), 0.3)) != pytest.approx(0.3 * below, abs=1e-6)
    # Both at once, in one call, and equal ends.
    ends = about_z([above, below, 0.0])
    np.testing.assert_allclose(turned(slerp(IDENTITY, ends, 0.5)), [above / 2, below / 2, 0], atol=1e-12)


def test_shapes_broadcast() -> None:
    assert slerp(random_units(1, 3)[:, None], random_units(2, 5), np.full((2, 1, 1), 0.5)).shape == (2, 3, 5, 4)
    assert slerp(IDENTITY, about_z([1.0, 90.0]), np.full((3, 1), 0.5)).shape == (3, 2, 4)


# ------------------------------------------------------------------------------------------ 6 to 8


def test_reference_6_and_11_the_short_arc_and_the_naive_angles() -> None:
    angles = np.radians([[0, 0, 170.0], [0, 0, -170.0]])
    keys = euler.to_quaternion(angles, "XYZ")
    assert turned(euler.to_quaternion(angles.mean(axis=0), "XYZ")) == pytest.approx(0.0, abs=1e-12)
    assert math.degrees(quaternion.arc_angle(*keys)) == pytest.approx(340.0, abs=1e-12)
    assert math.degrees(quaternion.angle_between(*keys)) == pytest.approx(20.0, abs=1e-12)
    assert abs(turned(sample_track([0, 2], keys, 1.0))) == pytest.approx(180.0, abs=1e-12)
    assert turned(sample_track([0, 4], keys, 1.0)) == pytest.approx(175.0, abs=1e-12)
    keys = about_z([350.0, 10.0])
    assert math.degrees(quaternion.angle_between(*keys)) == pytest.approx(20.0, abs=1e-12)
    assert math.degrees(quaternion.arc_angle(*keys)) == pytest.approx(340.0, abs=1e-12)


def test_reference_7_angular_speed_of_slerp_and_nlerp() -> None:
    times = np.linspace(0, 2, 101)
    keys = about_z([0.0, 120.0])
    speeds = {
        f: np.degrees(quaternion.angle_between(q[1:], q[:-1])) / 0.02
        for f in (slerp, nlerp)
        for q in [sample_track([0, 2], keys, times, between=f)]
    }
    assert np.abs(speeds[slerp] - 60.0).max() < 1.5e-12
    assert speeds[nlerp].min() == pytest.approx(49.8676861, abs=5e-8)
    assert speeds[nlerp].max() == pytest.approx(66.1565273, abs=5e-8)
    # The closed form, integrated over each step by Simpson's rule.
    alpha = math.radians(60.0)

    def on_sphere(u: np.ndarray) -> np.ndarray:
        return math.sin(alpha) / (1 - 2 * u * (1 - u) * (1 - math.cos(alpha)))

    u = times / 2
    step = (on_sphere(u[:-1]) + 4 * on_sphere((u[:-1] + u[1:]) / 2) + on_sphere(u[1:])) / 6 * 0.01
    np.testing.assert_allclose(speeds[nlerp], np.degrees(2 * step) / 0.02, atol=1e-6)


def test_reference_8_sampling_rates_agree_with_the_analytic_rotation() -> None:
    axis = np.array([1.0, 2.0, -2.0]) / 3
    times = np.array([0.0, 0.5, 1.25, 2.0])
    keys = quaternion.from_axis_angle(axis, np.radians(60.0) * times)
    keys[2] *= -1
    sampled = {}
    for rate in (30, 60, 144):
        at = np.arange(2 * rate + 1) / rate
        assert len(at) == {30: 61, 60: 121, 144: 289}[rate]
        sampled[rate] = sample_track(times, keys, at)
        assert basis_gap(sampled[rate], quaternion.from_axis_angle(axis, np.radians(60.0) * at)) < 2e-15
        # Seeking backwards, and one by one.
        assert basis_gap(sample_track(times, keys, at[::-1])[::-1], sampled[rate]) < 5e-16
        one_by_one = np.array([sample_track(times, keys, t) for t in at])
        assert basis_gap(one_by_one, sampled[rate]) < 5e-16
    # Every sixth of a second is common to all: 13 times.
    common = [sampled[rate][:: rate // 6] for rate in (30, 60, 144)]
    assert [len(c) for c in common] == [13, 13, 13]
    np.testing.assert_array_equal(common[0], common[1])
    np.testing.assert_array_equal(common[0], common[2])


def test_reference_8_outside_holds_and_one_key_is_constant() -> None:
    keys = random_units(10, 3)
    got = sample_track([1, 2, 5], keys, [-1e9, 1, 5, 1e9])
    assert basis_gap(got, keys[[0, 0, 2, 2]]) < 1e-15
    assert basis_gap(sample_track([7], keys[:1], [0.0, 7.0, 9.0]), keys[[0, 0, 0]]) < 1e-15


@pytest.mark.parametrize(
    "times, keys, at, says",
    [
        ([], np.zeros((0, 4)), 0.0, "empty"),
        ([0, 1, 1], [IDENTITY] * 3, 0.0, "times must be strictly increasing, but index 2"),
        ([0, 2, 1], [IDENTITY] * 3, 0.0, "times must be strictly increasing, but index 2"),
        ([0, np.nan], [IDENTITY] * 2, 0.0, "times has a NaN"),
        ([0, np.inf], [IDENTITY] * 2, 0.0, "times has a NaN or infinity at index 1"),
        ([0, 1, 2], [IDENTITY] * 2, 0.0, r"times must have shape \(2,\)"),
        ([0, 1], [IDENTITY, 0 * IDENTITY], 0.0, "quaternions is a zero-length"),
        ([0, 1], [IDENTITY] * 2, np.nan, "at has a NaN"),
    ],
)
def test_reference_8_errors(times: Any, keys: Any, at: Any, says: str) -> None:
    for sample in (sample_track, sample_loop):
        with pytest.raises(ValueError, match=says):
            sample(times, np.array(keys), at)


# ------------------------------------------------------------------------------------------ 9 to 11


def test_reference_9_one_turned_point_is_blind_to_twist() -> None:
    a, b = about_z(0.0), about_z(77.0)
    np.testing.assert_allclose(quaternion.rotate(a, [0, 0, 1]), quaternion.rotate(b, [0, 0, 1]), atol=1e-15)
    assert basis_gap(a, b) > 0.5
    assert basis_gap(b, -b) == 0.0
    assert abs(quaternion.dot(b, -b)) == pytest.approx(1.0, abs=1e-15)


def test_reference_10_the_mix_does_not_depend_on_the_order_given() -> None:
    rng = np.random.default_rng(11)
    q, w, ids = random_units(12, 9), rng.random(9), np.arange(9) * 3
    expected = weighted_mix(q, w, ids, reference=6)
    for _ in range(30):
        p = rng.permutation(9)
        np.testing.assert_array_equal(weighted_mix(q[p], w[p], ids[p], reference=6), expected)
    # Signs of the others do not matter, the reference's decides the result's.
    signs = np.where(ids == 6, 1.0, rng.choice([-1.0, 1.0], 9))[:, None]
    np.testing.assert_array_equal(weighted_mix(q * signs, w, ids, reference=6), expected)
    np.testing.assert_array_equal(weighted_mix(-q, w, ids, reference=6), -expected)
    # An independent sum.
    aligned = [a if a @ q[2] >= 0 else -a for a in q]
    total = [math.fsum(w[i] * aligned[i][c] for i in range(9)) for c in range(4)]
    np.testing.assert_allclose(expected, np.array(total) / math.sqrt(sum(c * c for c in total)), atol=1e-15)


def test_reference_10_a_reference_without_weight_hands_on_to_the_next_id() -> None:
    # Which of -b and c the sum takes depends on whose hemisphere they are put in.
    a, b, c = about_z(0.0), about_z(120.0), about_z(240.0)
    q, ids = np.array([a, b, c]), ["hip", "knee", "toe"]
    first = weighted_mix(q, [0.5, 0.3, 0.2], ids)
    np.testing.assert_array_equal(weighted_mix(q, [0.5, 0.3, 0.2], ids, reference="hip"), first)
    by_knee = weighted_mix(q, [0.0, 0.6, 0.4], ids, reference="hip")
    np.testing.assert_array_equal(by_knee, weighted_mix(q, [0.0, 0.6, 0.4], ids, reference="knee"))
    np.testing.assert_array_equal(by_knee, weighted_mix(q, [0.0, 0.6, 0.4], ids))
    np.testing.assert_array_equal(
        weighted_mix(-q, [0.7, 0.3, 0.0], ids, reference="toe"), weighted_mix(-q, [0.7, 0.3, 0.0], ids, reference="hip")
    )


def test_reference_10_tiny_weights_mix_like_large_ones() -> None:
    q = random_units(13, 4)
    w = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(weighted_mix(q, w * 1e-12, range(4)), weighted_mix(q, w, range(4)), atol=1e-15)


@pytest.mark.parametrize(
    "q, w, ids, reference, says",
    [
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [0.0, 0.0], [0, 1], None, "weights are all 0"),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [0.5, 1.5], [0, 1], None, "weights must be within 0 to 1"),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [0.5, np.nan], [0, 1], None, "weights must be within 0 to 1"),
        ([[1, 0, 0, 0], [0, 0, 0, 0]], [0.5, 0.5], [0, 1], None, "quaternions is a zero-length"),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [0.5, 0.5], [4, 4], None, "ids must be distinct"),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [0.5, 0.5], [0, 1], 7, "reference 7 is not among ids"),
        ([[1, 0, 0, 0], [0, 1, 0, 0]], [0.5], [0, 1], None, "weights and ids must have shape"),
        (np.zeros((0, 4)), [], [], None, "at least one"),
    ],
)
def test_reference_10_errors(q: Any, w: Any, ids: Any, reference: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        weighted_mix(np.array(q, float), w, ids, reference)


def test_reference_10_a_zero_sum_is_an_error() -> None:
    # All have a zero dot with the reference (none is flipped), whose share of the sum vanishes beside theirs; they
    # cancel each other: three quaternions 120° apart in a plane.
    plane = [[0, math.cos(a), math.sin(a), 0] for a in (0, 2 * math.pi / 3, 4 * math.pi / 3)]
    with pytest.raises(ValueError, match="zero quaternion"):
        weighted_mix([[1, 0, 0, 0], *plane], [1e-9, 1, 1, 1], range(4))


def test_reference_11_a_loop_takes_time_modulo_its_length() -> None:
    times, keys = [10.0, 11.0, 12.0, 13.0], about_z([0.0, 120.0, 240.0, 360.0])
    at = np.linspace(-20, 40, 601)
    got = sample_loop(times, keys, at)
    # A steady turn without a seam: 120° a unit of time from 10 on.
    assert basis_gap(got, about_z(120.0 * (at - 10.0))) < 2e-13
    # A longer loop leaves a seam over which the last key goes into the first.
    got = sample_loop(times[:3], keys[:3], at, length=3.0)
    assert basis_gap(got, about_z(120.0 * (at - 10.0))) < 2e-13
    for length in (1.5, -1.0, 0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="length"):
            sample_loop(times, keys, 0.0, length=length)


def test_reference_11_catmull_rom_passes_through_its_points_with_continuous_velocity() -> None:
    rng = np.random.default_rng(14)
    times, points = np.cumsum(rng.uniform(0.2, 2.0, 9)), rng.normal(size=(9, 3))
    points[-1] = points[0]
    for loop in (False, True):
        at = [times[1:-1], times[:-1]][loop]
        np.testing.assert_array_equal(
            catmull_rom(points, at, times=times, loop=loop), points[[slice(1, -1), slice(-1)][loop]]
        )
        h = 1e-5
        before, here, after = (catmull_rom(points, at + d, times=times, loop=loop) for d in (-h, 0.0, h))
        np.testing.assert_allclose((here - before) / h, (after - here) / h, atol=1e-3)
    length = times[-1] - times[0]
    np.testing.assert_allclose(
        catmull_rom(points, times[2:5] + 0.1 - 3 * length, times=times, loop=True),
        catmull_rom(points, times[2:5] + 0.1, times=times, loop=True),
        atol=1e-12,
    )
    # Straight, evenly keyed motion stays exactly that.
    line = np.arange(5.0)[:, None] * [[1.0, -2.0]]
    at = np.linspace(0, 4, 33)
    np.testing.assert_allclose(catmull_rom(line, at), at[:, None] * [[1.0, -2.0]], atol=1e-14)
    with pytest.raises(ValueError, match="close the loop"):
        catmull_rom(line, 0.0, loop=True)
