# SPDX-License-Identifier: GPL-3.0-or-later
"""Quaternion algebra against scalar references written here."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from quat_audit.rotation import quaternion
from quat_audit.rotation.interpolation import slerp


def random_units(seed: int, n: int) -> np.ndarray:
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return q / np.sqrt((q * q).sum(axis=1, keepdims=True))


def scalar_rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Rodrigues' formula with the axis and angle of one quaternion: shares nothing with the package."""
    w, axis = q[0], np.array(q[1:])
    sine = math.sqrt(float(axis @ axis))
    angle = 2 * math.atan2(sine, w)
    k = axis / sine
    return v * math.cos(angle) + np.cross(k, v) * math.sin(angle) + k * (k @ v) * (1 - math.cos(angle))


def test_rotate_and_matrix_equal_rodrigues() -> None:
    q, v = random_units(1, 200), np.random.default_rng(2).normal(size=(200, 3))
    expected = np.array([scalar_rotate(a, b) for a, b in zip(q, v, strict=True)])
    np.testing.assert_allclose(quaternion.rotate(q, v), expected, atol=1e-14)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", quaternion.to_matrix(q), v), expected, atol=1e-14)


def test_product_is_first_b_then_a() -> None:
    a, b, v = random_units(3, 50), random_units(4, 50), np.array([0.3, -1.0, 2.0])
    np.testing.assert_allclose(
        quaternion.rotate(quaternion.multiply(a, b), v), quaternion.rotate(a, quaternion.rotate(b, v)), atol=1e-14
    )
    np.testing.assert_allclose(quaternion.multiply(a, quaternion.conjugate(a)), [[1, 0, 0, 0]] * 50, atol=1e-15)


def test_axis_angle_uses_half_angles_without_choosing_a_sign() -> None:
    q = quaternion.from_axis_angle([0, 0, 2], np.radians([0, 90, 360, 450]))
    s = math.sqrt(0.5)
    np.testing.assert_allclose(q, [[1, 0, 0, 0], [s, 0, 0, s], [-1, 0, 0, 0], [-s, 0, 0, -s]], atol=1e-15)
    np.testing.assert_array_equal(quaternion.from_axis_angle([0, 0, 0], 1.0), [1, 0, 0, 0])


def test_exp_and_log_are_inverse_over_the_whole_sphere() -> None:
    q = np.concatenate((random_units(5, 300), [[1, 0, 0, 0], [-0.5, 0.5, 0.5, 0.5], [1, 1e-12, 0, 0]]))
    np.testing.assert_allclose(quaternion.exp(quaternion.log(q)), q, atol=1e-15)
    v = quaternion.log(q)
    np.testing.assert_allclose(np.sqrt((v * v).sum(axis=1)), np.arccos(np.clip(q[:, 0], -1, 1)), atol=1e-7)


# ------------------------------------------------------------------------------------------ angles


@pytest.mark.parametrize("degrees", [0.0, 1e-7, 1e-3, 20.0, 179.999999, 180.0])
def test_small_and_large_angles_keep_their_digits(degrees: float) -> None:
    base = random_units(6, 20)
    turned = quaternion.multiply(base, quaternion.from_axis_angle([1, 2, 3], math.radians(degrees)))
    for sign in (1, -1):
        got = np.degrees(quaternion.angle_between(base, 3.0 * sign * turned))
        np.testing.assert_allclose(got, degrees, atol=3e-14 * 57)


@pytest.mark.parametrize("degrees", [0.0, 1e-6, 90.0, 180.0, 270.0, 340.0, 360.0 - 1e-6])
def test_arc_angle_does_not_choose_a_hemisphere(degrees: float) -> None:
    base = random_units(7, 20)
    turned = quaternion.multiply(base, quaternion.from_axis_angle([3, -1, 2], math.radians(degrees)))
    np.testing.assert_allclose(np.degrees(quaternion.arc_angle(base, turned)), degrees, atol=3e-14 * 57)
    np.testing.assert_allclose(np.degrees(quaternion.arc_angle(base, -turned)), 360.0 - degrees, atol=3e-14 * 57)


def test_the_two_angles_agree() -> None:
    a, b = random_units(8, 500), random_units(9, 500)
    arc = quaternion.arc_angle(a, b)
    np.testing.assert_allclose(quaternion.angle_between(a, b), np.minimum(arc, 2 * np.pi - arc), atol=1e-14)
    # An independent figure for the same: chords on the sphere.
    chord = 4 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))
    np.testing.assert_allclose(arc, chord, atol=1e-13)


# ------------------------------------------------------------------------------------------ lengths (REFERENCE 4)


@pytest.mark.parametrize("size", [1e200, 1e-3, 7.0, -7.0, 1.0])
def test_normalize_survives_any_size_and_keeps_the_rotation(size: float) -> None:
    q = random_units(10, 50)
    got = quaternion.normalize(size * q)
    np.testing.assert_allclose(got, np.sign(size) * q, atol=1e-15)
    np.testing.assert_allclose(quaternion.to_matrix(got), quaternion.to_matrix(q), atol=1e-14)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e-3, 0.0])
def test_norm_neither_overflows_nor_vanishes(size: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(quaternion.norm(size * random_units(11, 9)), size, rtol=1e-14)
        assert quaternion.norm([np.inf, 0, 0, 0]) == np.inf
        assert np.isnan(quaternion.norm([np.nan, 1, 0, 0]))


@pytest.mark.parametrize(
    "q, says",
    [
        ([0, 0, 0, 0], "zero-length"),
        ([9e-7, 0, 0, 0], "zero-length"),
        ([1, np.nan, 0, 0], "NaN"),
        ([1, np.inf, 0, 0], "NaN or infinite"),
        ([1, 0, 0], r"shape \(\.\.\., 4\)"),
        (1.0, "shape"),
    ],
)
def test_normalize_names_what_is_wrong(q: object, says: str) -> None:
    with pytest.raises(ValueError, match=rf"^key .*{says}"):
        quaternion.normalize(q, "key")


def test_normalize_says_where() -> None:
    q = random_units(12, 6).reshape(2, 3, 4)
    q[1, 2] = 0
    with pytest.raises(ValueError, match=r"q is a zero-length quaternion.* at index \(1, 2\)"):
        quaternion.normalize(q)


def test_normalize_or_nan_marks_only_what_is_bad() -> None:
    q = 5.0 * random_units(13, 6)
    q[1], q[2, 3], q[4, 0] = 0, np.nan, np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = quaternion.normalize_or_nan(q)
    bad = np.isin(np.arange(6), (1, 2, 4))
    assert np.isnan(got[bad]).all()
    np.testing.assert_allclose(got[~bad], q[~bad] / 5.0, atol=1e-15)


def test_reference_15_zero_plays_as_a_half_turn_about_x_and_half_length_as_a_plain_turn() -> None:
    np.testing.assert_array_equal(
        quaternion.to_matrix(quaternion.as_played([0.0, 0, 0, 0])), np.diag([1.0, -1.0, -1.0])
    )
    matrix = quaternion.to_matrix(quaternion.as_played([0.5, 0, 0, 0.5]))
    np.testing.assert_allclose(matrix, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-15)
    assert math.degrees(quaternion.angle_between([1, 0, 0, 0], [0.5, 0, 0, 0.5])) == pytest.approx(90.0, abs=1e-12)


# ------------------------------------------------------------------------------------------ hemispheres


def test_hemisphere_signs_equal_a_walk_along_each_track() -> None:
    rng = np.random.default_rng(14)
    for _ in range(50):
        n = int(rng.integers(1, 60))
        flip, starts = rng.random(n) < 0.4, rng.random(n) < 0.15
        starts[0] = True
        expected, sign = [], 1.0
        for f, s in zip(flip, starts, strict=True):
            sign = 1.0 if s else -sign if f else sign
            expected.append(sign)
        np.testing.assert_array_equal(quaternion.hemisphere_signs(flip, starts), expected)


def test_hemisphere_signs_of_nothing_is_nothing() -> None:
    assert quaternion.hemisphere_signs(np.zeros(0, bool), np.zeros(0, bool)).shape == (0,)


def test_signs_make_every_neighbouring_dot_non_negative() -> None:
    q = random_units(15, 1000)
    starts = np.zeros(1000, bool)
    starts[[0, 10, 11, 700]] = True
    flip = np.concatenate(([False], quaternion.dot(q[1:], q[:-1]) < 0))
    aligned = q * quaternion.hemisphere_signs(flip, starts)[:, None]
    assert (quaternion.dot(aligned[1:], aligned[:-1])[~starts[1:]] >= 0).all()
    np.testing.assert_array_equal(aligned[starts], q[starts])


@pytest.mark.parametrize("seed", range(4))
def test_angle_from_arc_is_the_angle_to_the_nearest_of_many_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    q, a, b = (quaternion.normalize(rng.normal(size=(50, 4))) for _ in range(3))
    if seed == 1:  # on the arc, up to sign
        part = rng.uniform(size=(50, 1))
        q = -slerp(a, b, part[:, 0])
    elif seed == 2:  # ends that are the same rotation
        b = -a
    along = slerp(a[:, None], b[:, None], np.linspace(0, 1, 2001))
    nearest = quaternion.angle_between(q[:, None], along).min(axis=1)
    np.testing.assert_allclose(quaternion.angle_from_arc(q, a, b), nearest, atol=2e-3)
    if seed == 1:
        assert quaternion.angle_from_arc(q, a, b).max() < 1e-7


def test_angle_from_arc_half_a_turn_apart_follows_what_is_stored() -> None:
    a, b = np.array([1.0, 0, 0, 0]), np.array([0.0, 1, 0, 0])
    quarter = np.array([[1.0, 1, 0, 0], [1, -1, 0, 0]]) / np.sqrt(2)
    np.testing.assert_allclose(np.degrees(quaternion.angle_from_arc(quarter, a, b)), [0, 90], atol=1e-9)
    np.testing.assert_allclose(np.degrees(quaternion.angle_from_arc(quarter, a, -b)), [90, 0], atol=1e-9)
