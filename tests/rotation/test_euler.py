# SPDX-License-Identifier: GPL-3.0-or-later
"""Euler angles in all six orders against products of axis matrices written here."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from quat_audit.motion.clip import EULER_ORDERS
from quat_audit.rotation import euler, quaternion

ORDERS = pytest.mark.parametrize("order", EULER_ORDERS)


def axis_matrix(axis: int, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m = np.eye(3)
    m[i, i], m[i, j], m[j, i], m[j, j] = c, -s, s, c
    return m


def reference_matrix(angles: np.ndarray, order: str) -> np.ndarray:
    """The first axis of the order is applied first, so it stands rightmost."""
    m = np.eye(3)
    for axis in order:
        m = axis_matrix("XYZ".index(axis), angles["XYZ".index(axis)]) @ m
    return m


def random_angles(seed: int, n: int, turns: float = 2.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-turns * math.pi, turns * math.pi, (n, 3))


def largest_angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(quaternion.angle_between(a, b)).max())


@ORDERS
def test_quaternion_and_matrix_equal_the_product_of_axis_turns(order: str) -> None:
    angles = random_angles(1, 100)
    expected = np.array([reference_matrix(a, order) for a in angles])
    np.testing.assert_allclose(euler.to_matrix(angles, order), expected, atol=1e-14)
    np.testing.assert_allclose(quaternion.to_matrix(euler.to_quaternion(angles, order)), expected, atol=1e-14)


@ORDERS
def test_round_trip_gimbal_lock_included(order: str) -> None:
    angles = random_angles(2, 300)
    middle = euler.middle_axis(order)
    assert "XYZ".index(order[1]) == middle
    angles[:50, middle] = math.pi / 2
    angles[50:100, middle] = -math.pi / 2
    angles[100:150, middle] = math.pi / 2 + np.geomspace(1e-12, 1e-3, 50)
    q = euler.to_quaternion(angles, order)
    back = euler.from_quaternion(q, order)
    assert largest_angle(euler.to_quaternion(back, order), q) < 1e-10
    np.testing.assert_array_equal(back[:100, "XYZ".index(order[2])], 0.0)
    assert (np.abs(back[:, middle]) <= math.pi / 2).all() and (np.abs(back) <= math.pi).all()


@ORDERS
def test_a_continuous_path_of_angles_gives_a_continuous_path_of_quaternions(order: str) -> None:
    path = np.linspace([-7.0, 5.0, -11.0], [9.0, -8.0, 13.0], 4000)
    q = euler.to_quaternion(path, order)
    assert quaternion.dot(q[1:], q[:-1]).min() > 0.9999
    # One more whole turn about any axis is the antipode.
    for axis in range(3):
        np.testing.assert_allclose(euler.to_quaternion(path + 2 * math.pi * np.eye(3)[axis], order), -q, atol=1e-14)


@ORDERS
def test_the_equivalent_triple_is_the_same_rotation_and_its_own_inverse(order: str) -> None:
    angles = random_angles(3, 100)
    other = euler.equivalent(angles, order)
    assert largest_angle(euler.to_quaternion(angles, order), euler.to_quaternion(other, order)) < 1e-12
    assert np.abs(other - angles).sum(axis=1).min() > 1.0
    turns = (euler.equivalent(other, order) - angles) / (2 * math.pi)
    np.testing.assert_allclose(turns, np.round(turns), atol=1e-14)


@ORDERS
def test_nearest_is_the_best_of_all_representations(order: str) -> None:
    angles, previous = random_angles(4, 60, turns=4.0), random_angles(5, 60, turns=4.0)
    got = euler.nearest(angles, previous, order)
    assert largest_angle(euler.to_quaternion(got, order), euler.to_quaternion(angles, order)) < 1e-12
    turns = np.array(list(itertools.product(range(-9, 10), repeat=3))) * 2 * math.pi
    for a, p, g in zip(angles, previous, got, strict=True):
        candidates = np.concatenate((a + turns, euler.equivalent(a, order) + turns))
        assert np.abs(g - p).sum() <= np.abs(candidates - p).sum(axis=1).min() + 1e-9


def test_the_orders_differ_in_their_equivalent_triple() -> None:
    angles = np.radians([10.0, 20.0, 30.0])
    degrees = {order: np.degrees(euler.equivalent(angles, order)).round(9).tolist() for order in EULER_ORDERS}
    assert degrees["XYZ"] == degrees["ZYX"] == [190.0, 160.0, 210.0]
    assert degrees["YXZ"] == degrees["ZXY"] == [170.0, 200.0, 210.0]
    assert degrees["XZY"] == degrees["YZX"] == [190.0, 200.0, 150.0]


@ORDERS
def test_nearest_leaves_half_turns_and_what_is_near_alone_bit_for_bit(order: str) -> None:
    rng = np.random.default_rng(6)
    previous = rng.normal(size=(100, 3))
    near = previous + rng.uniform(-0.5, 0.5, (100, 3))
    np.testing.assert_array_equal(euler.nearest(near, previous, order), near)
    for half in (math.pi, -math.pi, float(np.float32(math.pi)), -float(np.float32(math.pi))):
        lone = np.zeros((3, 3)) + half * np.eye(3)
        np.testing.assert_array_equal(euler.nearest(lone, np.zeros(3), order)[[0, 1, 2], [0, 1, 2]], [half] * 3)


def test_nearest_undoes_wraps() -> None:
    angles, previous = [[-170.0, 0, 0], [10, 0, 0], [0, 0, 730]], [[170.0, 0, 0], [350, 0, 0], [0, 0, 0]]
    got = euler.nearest(np.radians(angles), np.radians(previous), "XYZ")
    np.testing.assert_allclose(np.degrees(got), [[190, 0, 0], [370, 0, 0], [0, 0, 10]], atol=1e-9)


def test_a_nan_stays_a_nan_and_touches_nothing_else() -> None:
    got = euler.nearest([[np.nan, 0.1, 0.2], [7.0, 0, 0]], np.zeros((2, 3)), "ZXY")
    assert np.isnan(got[0, 0])
    np.testing.assert_allclose(got[1], [7.0 - 2 * math.pi, 0, 0])


def test_an_unknown_order_is_named() -> None:
    with pytest.raises(ValueError, match="order must be one of XYZ.*got 'XYX'"):
        euler.to_quaternion([0, 0, 0], "XYX")
