# SPDX-License-Identifier: GPL-3.0-or-later
"""One Bézier segment without Blender: a scalar reference, long handles, exact splitting, Hermite.

tests/blender/test_curve_evaluate.py compares with Blender itself.
"""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.motion import bezier, clip, curve


def bisected(points: np.ndarray, time: float) -> float:
    """Value of a Bézier segment (4, 2) at a time, by halving the parameter: slow, and sure where x rises."""

    def at(u: float) -> np.ndarray:
        p = points
        while len(p) > 1:
            p = p[:-1] + u * (p[1:] - p[:-1])
        return p[0]

    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle)[0] < time else (low, middle)
    return float(at((low + high) / 2)[1])


def random_segments(seed: int, n: int) -> np.ndarray:
    """(N, 4, 2) key, handle, handle, key with x rising from 0 to 10; among them flat, vertical and even ones."""
    rng = np.random.default_rng(seed)
    p = rng.normal(size=(n, 4, 2))
    p[:, 0, 0], p[:, 3, 0] = 0.0, 10.0
    p[:, 1:3, 0] = rng.uniform(0, 10, (n, 2))
    p[0, 1:3, 0] = 0.0, 0.0
    p[1, 1:3, 0] = 10.0, 10.0
    p[2, 1:3, 0] = 10 / 3, 20 / 3
    p[3, 1:3, 0] = 0.0, 10.0
    return p


def as_curves(p: np.ndarray) -> clip.Curves:
    """Each segment a curve of its own."""
    n = len(p)
    return clip.make_curves(
        ["x"] * n,
        range(n),
        [2] * n,
        p[:, [0, 3]].reshape(-1, 2),
        handle_right=p[:, [1, 3]].reshape(-1, 2),
        handle_left=p[:, [0, 2]].reshape(-1, 2),
        interpolation=clip.BEZIER,
    )


@pytest.mark.slow
def test_bezier_equals_bisection() -> None:
    p = random_segments(1, 60)
    at = np.random.default_rng(2).uniform(0.001, 9.999, 40)
    got = curve.evaluate(as_curves(p), np.arange(60)[:, None], at)
    assert got.shape == (60, 40)
    np.testing.assert_allclose(got, [[bisected(points, t) for t in at] for points in p], atol=1e-11)


@pytest.mark.parametrize("noise", [0.0, 1e-15, -1e-14, 1e-12, -1e-10, 1e-8, 1e-4])
def test_a_vanishing_cubic_coefficient_costs_no_digits(noise: float) -> None:
    # Handles a third of the segment apart make the time a quadratic, or, at the thirds, a linear function: glTF's.
    p = random_segments(9, 30)[4:]
    p[:, 1, 0] = np.append(np.linspace(0, 20 / 3, 25), 10 / 3)
    p[:, 2, 0] = p[:, 1, 0] + 10 / 3 + noise
    at = np.linspace(0.1, 9.9, 9)
    got = curve.evaluate(as_curves(p), np.arange(26)[:, None], at)
    np.testing.assert_allclose(got, [[bisected(points, t) for t in at] for points in p], atol=1e-12)


def test_long_handles_are_shortened_along_their_direction() -> None:
    p = random_segments(3, 20)
    long = p.copy()
    # Twice the segment's length in time: what counts is the part within it.
    p[:, 1, 0], p[:, 2, 0] = 10.0, 0.0
    long[:, 1] = p[:, 0] + 2.0 * (p[:, 1] - p[:, 0])
    long[:, 2] = p[:, 3] + 2.0 * (p[:, 2] - p[:, 3])
    # Beside the vertical tangent in the middle, where the value does not depend continuously on rounding.
    at = np.array([0.5, 2.0, 4.0, 6.0, 9.0])
    got = curve.evaluate(as_curves(long), np.arange(20)[:, None], at)
    np.testing.assert_allclose(got, [[bisected(points, t) for t in at] for points in p], atol=1e-9)
    right, left = bezier.clamp_handles(long[:, 0], long[:, 1], long[:, 2], long[:, 3])
    np.testing.assert_allclose(right, p[:, 1], atol=1e-14)
    np.testing.assert_allclose(left, p[:, 2], atol=1e-14)


# ------------------------------------------------------------------------------------------ splitting, Hermite


def test_a_split_segment_is_the_same_curve() -> None:
    p = random_segments(5, 200)
    rng = np.random.default_rng(6)
    # Handles beyond the segment too.
    p[150:, 1, 0] += rng.uniform(0, 5, 50)
    p[150:, 2, 0] -= rng.uniform(0, 5, 50)
    at = rng.uniform(0.5, 9.5, 200)
    split = bezier.split_bezier(p[:, 0], p[:, 1], p[:, 2], p[:, 3], at)
    np.testing.assert_array_equal(split.co[:, 0], at)
    whole = as_curves(p)
    np.testing.assert_allclose(split.co[:, 1], curve.evaluate(whole, np.arange(200), at), atol=1e-9)
    halves = (
        np.stack((p[:, 0], split.right0, split.left, split.co), axis=1),
        np.stack((split.co, split.right, split.left1, p[:, 3]), axis=1),
    )
    # Where the handles cross, a half can need one that is longer than itself, and those are shortened on playback.
    right, left = bezier.clamp_handles(p[:, 0], p[:, 1], p[:, 2], p[:, 3])
    crossing = right[:, 0] > left[:, 0]
    assert 40 < crossing.sum() < 160
    for half, (low, high) in zip(halves, ((np.zeros(200), at), (at, np.full(200, 10.0))), strict=True):
        shortened = bezier.clamp_handles(half[:, 0], half[:, 1], half[:, 2], half[:, 3])
        playable = np.isclose(shortened, half[:, 1:3].swapaxes(0, 1), atol=1e-9).all(axis=(0, 2))
        assert playable[~crossing].all() and playable.mean() > 0.7
        for part in (0.1, 0.5, 0.83):
            t = low + part * (high - low)
            expected = curve.evaluate(whole, np.arange(200), t)
            got = curve.evaluate(as_curves(half), np.arange(200), t)
            np.testing.assert_allclose(got[playable], expected[playable], atol=1e-8)


def test_a_split_broadcasts_over_times_and_refuses_times_outside() -> None:
    p = random_segments(7, 5)[4]
    split = bezier.split_bezier(*p, [1.0, 5.0, 9.0])
    assert all(part.shape == (3, 2) for part in split)
    for at in (0.0, 10.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="strictly between"):
            bezier.split_bezier(*p, at)
