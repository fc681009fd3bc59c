# SPDX-License-Identifier: GPL-3.0-or-later
"""Conventions of quat_audit.rotation against mathutils: signs and orders included."""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.motion.clip import EULER_ORDERS
from quat_audit.rotation import euler, interpolation, quaternion

mathutils = pytest.importorskip("mathutils")

# mathutils keeps float32.
SINGLE = 2e-6


def units(seed: int, n: int = 60) -> np.ndarray:
    return quaternion.normalize(np.random.default_rng(seed).normal(size=(n, 4)))


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_euler_orders_and_signs(order: str) -> None:
    angles = np.random.default_rng(1).uniform(-10, 10, (100, 3))
    expected = [mathutils.Euler(a, order) for a in angles]
    np.testing.assert_allclose(
        euler.to_quaternion(angles, order), [list(e.to_quaternion()) for e in expected], atol=SINGLE
    )
    np.testing.assert_allclose(
        euler.to_matrix(angles, order), [[list(r) for r in e.to_matrix()] for e in expected], atol=SINGLE
    )
    back = euler.from_quaternion(euler.to_quaternion(angles, order), order)
    again = [list(mathutils.Euler(a, order).to_quaternion()) for a in back]
    assert np.abs(quaternion.dot(again, euler.to_quaternion(angles, order))).min() > 1 - SINGLE


def test_product_rotation_and_matrix() -> None:
    a, b = units(2), units(3)
    v = np.random.default_rng(4).normal(size=(60, 3))
    blender = [(mathutils.Quaternion(p), mathutils.Quaternion(q)) for p, q in zip(a, b, strict=True)]
    np.testing.assert_allclose(quaternion.multiply(a, b), [list(p @ q) for p, q in blender], atol=SINGLE)
    turned = [list(p @ mathutils.Vector(w)) for (p, _), w in zip(blender, v, strict=True)]
    np.testing.assert_allclose(quaternion.rotate(a, v), turned, atol=5 * SINGLE)
    np.testing.assert_allclose(
        quaternion.to_matrix(a), [[list(r) for r in p.to_matrix()] for p, _ in blender], atol=SINGLE
    )
    angles = [p.rotation_difference(q).angle for p, q in blender]
    shortest = np.minimum(angles, 2 * np.pi - np.array(angles))
    np.testing.assert_allclose(quaternion.angle_between(a, b), shortest, atol=5e-5)


def test_axis_angle_and_slerp() -> None:
    rng = np.random.default_rng(5)
    axes, angles = rng.normal(size=(60, 3)), rng.uniform(-3.1, 3.1, 60)  # mathutils wraps others
    expected = [list(mathutils.Quaternion(v, t)) for v, t in zip(axes, angles, strict=True)]
    np.testing.assert_allclose(quaternion.from_axis_angle(axes, angles), expected, atol=SINGLE)
    a, b, t = units(6), units(7), rng.random(60)
    expected = [
        list(mathutils.Quaternion(p).slerp(q, w)) for p, q, w in zip(a, map(mathutils.Quaternion, b), t, strict=True)
    ]
    # Which of q and -q mathutils returns is its own affair.
    assert np.degrees(quaternion.angle_between(interpolation.slerp(a, b, t), expected)).max() < 1e-3
