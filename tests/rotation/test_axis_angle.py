# SPDX-License-Identifier: GPL-3.0-or-later
"""Axis-angle values against scalar references written here."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from quat_audit.rotation import axis_angle, quaternion

X, Y, Z = np.eye(3)


def value(degrees: float, axis: object) -> np.ndarray:
    return np.array([math.radians(degrees), *np.asarray(axis, float)])


def scalar_length(a: np.ndarray, b: np.ndarray, steps: int = 2048) -> float:
    """Radians of the straight way, by matrices: shares nothing with the package."""

    def matrix(v: np.ndarray) -> np.ndarray:
        k = v[1:] / math.sqrt(float(v[1:] @ v[1:]))
        cross = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
        return np.eye(3) + math.sin(v[0]) * cross + (1 - math.cos(v[0])) * cross @ cross

    way = [a + (b - a) * (i + 0.5) / steps for i in range(steps)]
    turned = [matrix(v) for v in (a, *way, b)]
    off = [p.T @ q - np.eye(3) for p, q in pairwise(turned)]
    return sum(2 * math.asin(min(1.0, math.sqrt(float((o * o).sum()) / 8))) for o in off)


def random_values(seed: int, count: int, turns: float = 3.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.uniform(-turns, turns, count) * 2 * math.pi, rng.normal(size=(count, 3))])


def test_rotations_equal_rodrigues_for_axes_of_any_length() -> None:
    values = random_values(1, 300)
    values[:, 1:] *= 10.0 ** np.random.default_rng(2).uniform(-9, 9, (300, 1))
    v = np.random.default_rng(3).normal(size=(300, 3))
    got = quaternion.rotate(axis_angle.to_quaternion(values), v)
    for given, vector, turned in zip(values, v, got, strict=True):
        k, angle = given[1:] / np.sqrt(given[1:] @ given[1:]), given[0]
        expected = vector * math.cos(angle) + np.cross(k, vector) * math.sin(angle)
        np.testing.assert_allclose(turned, expected + k * (k @ vector) * (1 - math.cos(angle)), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "is_rotation"),
    [
        ([0, 0, 0, 0], True),
        ([2 * math.pi, 0, 0, 0], True),
        ([float(np.float32(20 * math.pi)), 0, 0, 0], True),
        ([1e-3, 0, 0, 0], False),
        ([math.pi, 1e-13, 0, 0], False),
        ([math.pi, 1e-9, 0, 0], True),
        ([math.nan, 0, 0, 1], False),
        ([0, math.nan, 0, 1], False),
        ([0, 0, math.inf, 1], False),
        ([math.inf, 0, 0, 0], False),
    ],
)
def test_what_is_no_rotation_is_nan(given: list[float], is_rotation: bool) -> None:
    got = axis_angle.to_quaternion(np.array([given, [1.0, 0.0, 0.0, 1.0]]))
    assert np.isfinite(got).all(axis=1).tolist() == [is_rotation, True]
    assert np.isnan(got[0]).all() or abs(np.sqrt(got[0] @ got[0]) - 1) < 1e-15


def test_straight_ways_equal_a_scalar_sum() -> None:
    a, b = random_values(4, 25), random_values(5, 25)
    got = axis_angle.straight_length(a, b)
    expected = [scalar_length(p, q) for p, q in zip(a, b, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=0.05)


@pytest.mark.parametrize("axis", [Z, [0.6, -0.48, 0.64], [1e-3, 2e-3, -5e-4]])
@pytest.mark.parametrize(
    ("before", "degrees", "other_way", "near"),
    [
        (350, 10, False, 370),
        (10, 350, False, -10),
        (359.99, 0.01, False, 360.01),
        (0, 725, False, 5),
        (80, -90, True, 90),
        (-90, 100, True, -100),
        (180, 180, True, 180),  # the same pose; but halfway the axis would be zero
        (80, 80, True, -80),
        (45, 45, True, -45),
        (720, 10, True, 710),
        (0, 180, False, 180),
        (0, -180, False, -180),
        (30, 200, False, 200),
    ],
)
def test_the_nearest_value_on_an_axis(
    axis: list[float], before: float, degrees: float, other_way: bool, near: float
) -> None:
    a = value(before, axis)[None]
    b = value(degrees, -np.asarray(axis, float) if other_way else axis)[None]
    got = axis_angle.moved(b, *axis_angle.nearest_step(a, b))[0]
    np.testing.assert_allclose(got, value(near, axis), atol=1e-12)


def test_no_other_value_is_nearer() -> None:
    a, b = random_values(6, 30), random_values(7, 30)
    near = axis_angle.moved(b, *axis_angle.nearest_step(a, b))
    assert quaternion.angle_between(axis_angle.to_quaternion(b), axis_angle.to_quaternion(near)).max() < 1e-13
    for before, given, chosen in zip(a, b, near, strict=True):
        others = [sign * given + [2 * math.pi * k, 0, 0, 0] for sign in (1, -1) for k in range(-7, 8)]
        within = [other for other in others if abs(other[0] - before[0]) <= math.pi]
        assert scalar_length(before, chosen, 256) <= min(scalar_length(before, o, 256) for o in within) + 1e-2


def test_quaternions_become_values_without_detours() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        # A smooth way with rests, through the identity, half turns and whole turns about changing axes.
        axis, turned = rng.normal(size=3), np.cumsum(rng.uniform(-25, 25, 120)) + rng.choice([0.0, 170.0, 350.0])
        turned[rng.integers(0, 120, 5)] = 0.0
        tilt = quaternion.from_axis_angle(rng.normal(size=3), np.radians(np.linspace(0, rng.choice([0.0, 90.0]), 120)))
        q = quaternion.multiply(tilt, quaternion.from_axis_angle(axis, np.radians(np.sort(turned))))
        q *= rng.choice([-1.0, 1.0], (120, 1))
        starts = np.zeros(120, dtype=bool)
        starts[60] = True
        got = axis_angle.from_quaternion(q, starts)
        assert quaternion.angle_between(axis_angle.to_quaternion(got), q).max() < 1e-12
        np.testing.assert_allclose(np.sqrt((got[:, 1:] ** 2).sum(axis=1)), 1.0, atol=1e-12)
        step = np.flatnonzero(~starts[1:])
        assert np.abs(np.diff(got[:, 0]))[step].max() <= math.pi + 1e-5
        travelled = axis_angle.straight_length(got[step], got[step + 1])
        shortest = quaternion.angle_between(q[step], q[step + 1])
        assert (travelled - shortest)[shortest < np.radians(60)].max() < np.radians(10)
        if np.ptp(tilt[:, 0]) == 0.0:
            np.testing.assert_allclose(travelled, shortest, atol=1e-9)


def test_a_row_that_turns_nothing_takes_the_axis_beside_it() -> None:
    q = quaternion.from_axis_angle([X, X, X, Y, Y], np.radians([0.0, 90.0, 0.0, 0.0, 60.0]))
    np.testing.assert_allclose(axis_angle.from_quaternion(q)[:, 1:], [X, X, X, Y, Y], atol=1e-15)
    still = axis_angle.from_quaternion(np.tile([-1.0, 0.0, 0.0, 0.0], (3, 1)))
    np.testing.assert_allclose(quaternion.angle_between(axis_angle.to_quaternion(still), [1, 0, 0, 0]), 0, atol=1e-15)
    assert axis_angle.from_quaternion(np.zeros((0, 4))).shape == (0, 4)
