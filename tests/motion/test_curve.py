# SPDX-License-Identifier: GPL-3.0-or-later
"""F-curve evaluation without Blender: extrapolation, cycles, REFERENCE 13, 14 and 18, NaN keys, easing.

tests/blender/test_curve_evaluate.py compares with Blender itself.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from quat_audit.motion import clip, curve, easing
from quat_audit.rotation import quaternion


def curves_of(*keys: Any, **options: Any) -> clip.Curves:
    """One curve for each list of (time, value)."""
    co = np.array([k for curve_keys in keys for k in curve_keys], np.float64).reshape(-1, 2)
    return clip.make_curves(["x"] * len(keys), range(len(keys)), [len(k) for k in keys], co, **options)


def test_curves_of_different_lengths_do_not_mix() -> None:
    rng = np.random.default_rng(4)
    keys = []
    for n in (1, 2, 3, 50, 7):
        keys.append(np.stack((np.cumsum(rng.uniform(0.5, 3, n)), rng.normal(size=n)), axis=1))
    curves = curves_of(*keys)
    which, at = rng.integers(0, 5, 3000), rng.uniform(-5, 120, 3000)
    expected = [np.interp(t, keys[w][:, 0], keys[w][:, 1]) for w, t in zip(which, at, strict=True)]
    # Within a ten-thousandth of a key, the key.
    np.testing.assert_allclose(curve.evaluate(curves, which, at), expected, atol=1e-3)
    far = [np.abs(keys[w][:, 0] - t).min() > 2e-4 for w, t in zip(which, at, strict=True)]
    np.testing.assert_allclose(curve.evaluate(curves, which, at)[far], np.array(expected)[far], atol=1e-13)


def test_more_times_than_one_step_takes() -> None:
    curves = curves_of([(0, 0), (1000, 1000)])
    at = np.linspace(-1, 1001, 100_001)
    np.testing.assert_allclose(curve.evaluate(curves, 0, at), np.clip(at, 0, 1000), atol=1e-4)


def test_a_time_at_or_beside_a_key_is_the_key_and_a_step_holds_until_then() -> None:
    curves = curves_of([(1, 10), (2, 20), (3, 30)], interpolation=clip.CONSTANT)
    got = curve.evaluate(curves, 0, [1.0, 1.5, 1.9998, 1.99991, 2.0, 2.00009, 2.5, 3.0, 99.0])
    np.testing.assert_array_equal(got, [10, 10, 10, 20, 20, 20, 20, 30, 30])


def test_slerp_segments_come_out_linear() -> None:
    curves = curves_of([(0, 1), (4, 3)], interpolation=clip.SLERP, linear_extrapolation=[True])
    np.testing.assert_allclose(curve.evaluate(curves, 0, [1.0, 6.0, -2.0]), [1.5, 4.0, 0.0])


def test_extrapolation_follows_the_end_key() -> None:
    keys = [(0, 0), (10, 5)]
    handles = {"handle_left": np.array([[-1.0, -3], [9, 5]]), "handle_right": np.array([[1.0, 3], [12, 9]])}
    at = np.array([-2.0, 14.0])
    for mode, linear, expected in (
        (clip.LINEAR, True, [-1.0, 7.0]),
        (clip.LINEAR, False, [0.0, 5.0]),
        (clip.CONSTANT, True, [0.0, 5.0]),
        (clip.BEZIER, True, [-6.0, 13.0]),
        (clip.SINE, True, [-6.0, 13.0]),
    ):
        curves = curves_of(keys, interpolation=mode, linear_extrapolation=[linear], **handles)
        np.testing.assert_allclose(curve.evaluate(curves, 0, at), expected)
    one = {"handle_left": np.array([[-1.0, -3]]), "handle_right": np.array([[1.0, 3]])}
    for mode, expected in ((clip.LINEAR, [0.0, 0.0]), (clip.BEZIER, [-6.0, 42.0])):
        curves = curves_of([(0, 0)], interpolation=mode, linear_extrapolation=[True], **one)
        np.testing.assert_allclose(curve.evaluate(curves, 0, at), expected)


def cyclic(before: str, after: str, n_before: int = 0, n_after: int = 0) -> clip.Curves:
    # 0 → 1 over ten frames, with a knee that tells the two directions apart.
    return curves_of(
        [(0, 0), (2, 0.8), (10, 1)],
        cycles=[clip.Cycles(before, after, n_before, n_after)],
        linear_extrapolation=[True],
    )


@pytest.mark.parametrize(
    "mode, at, plain, lift",
    [
        # Time, the time within the keys that plays, and the whole cycles that REPEAT_OFFSET adds.
        ("REPEAT", [12, 25, 10, 20, -3, -10, -12], [2, 5, 10, 10, 7, 0, 8], None),
        ("REPEAT_OFFSET", [12, 25, 20, -3, -10, -12], [2, 5, 10, 7, 0, 8], [1, 2, 1, -1, -1, -2]),
        ("MIRROR", [12, 25, 20, 30, -3, -10, -12], [8, 5, 0, 10, 3, 10, 8], None),
    ],
)
def test_cycles(mode: str, at: list[float], plain: list[float], lift: list[int] | None) -> None:
    curves = cyclic(mode, mode)
    expected = np.interp(plain, [0, 2, 10], [0, 0.8, 1]) + (0 if lift is None else np.array(lift))
    np.testing.assert_allclose(curve.evaluate(curves, 0, np.array(at, float)), expected, atol=1e-12)


def test_counted_cycles_end_in_the_extrapolation() -> None:
    curves = cyclic("NONE", "REPEAT", 0, 2)
    got = curve.evaluate(curves, 0, [-5.0, 15.0, 29.0, 31.0])
    np.testing.assert_allclose(got, [-2.0, 0.875, 0.975, 1 + 21 * 0.025], atol=1e-12)


def test_reference_18_offset_cycles_on_quaternion_components_drift_off_unit_length() -> None:
    q = quaternion.from_axis_angle([0, 0, 1], np.radians([0.0, 45.0]))
    repeat = clip.Cycles(clip.CYCLE_REPEAT_OFFSET, clip.CYCLE_REPEAT_OFFSET, 0, 0)
    curves = curves_of(*([(0, q[0, c]), (10, q[1, c])] for c in range(4)), cycles=[repeat] * 4)
    norms = quaternion.norm(curve.evaluate(curves, np.arange(4), np.array([[10.0], [20.0], [30.0], [40.0]])))
    drift = q[0] + np.arange(1, 5)[:, None] * (q[1] - q[0])
    np.testing.assert_allclose(norms, np.sqrt((drift**2).sum(axis=1)), atol=1e-12)
    np.testing.assert_allclose(norms, [1.00, 1.14, 1.38, 1.68], atol=6e-3)


# ------------------------------------------------------------------------------------------ 13 and 14


def flipped(degrees: float, interpolation: int) -> clip.Curves:
    """Keys at frames 1 and 11, the second negated; Bézier handles flat at a third, as Blender makes them by default."""
    q = quaternion.from_axis_angle([0, 0, 1], np.radians([0.0, degrees])) * [[1.0], [-1.0]]
    co = np.stack(([[1.0, 11.0]] * 4, q.T), axis=-1).reshape(-1, 2)
    third = np.array([10 / 3, 0.0])
    return clip.make_curves(
        ["q"] * 4,
        range(4),
        [2] * 4,
        co,
        handle_left=co - third,
        handle_right=co + third,
        interpolation=interpolation,
    )


def test_reference_13_linear_keys_through_a_flip() -> None:
    value = curve.evaluate(flipped(21.0, clip.LINEAR), np.arange(4), 6.0)
    assert quaternion.norm(value) == pytest.approx(0.0915, abs=5e-4)
    assert np.degrees(quaternion.angle_between([1, 0, 0, 0], value)) == pytest.approx(169.5, abs=1e-9)
    repaired = value * 0 + curve.evaluate(flipped(21.0, clip.LINEAR), np.arange(4), np.array([[1.0], [11.0]])).T @ [
        0.5,
        -0.5,
    ]
    assert np.degrees(quaternion.angle_between([1, 0, 0, 0], repaired)) == pytest.approx(10.5, abs=1e-9)


def test_reference_14_default_bezier_keys_swing_away_and_back() -> None:
    at = np.linspace(1, 11, 401)
    played = quaternion.normalize_or_nan(curve.evaluate(flipped(10.0, clip.BEZIER), np.arange(4), at[:, None]))
    away = np.degrees(quaternion.angle_between([1, 0, 0, 0], played))
    assert away[200] == pytest.approx(175.0, abs=1e-6)
    assert away[0] == pytest.approx(0.0, abs=1e-9) and away[-1] == pytest.approx(10.0, abs=1e-9)
    swept = np.degrees(quaternion.arc_angle(played[:-1], played[1:])).sum()
    assert swept == pytest.approx(350.0, abs=0.1)


# ------------------------------------------------------------------------------------------ NaN and disorder


@pytest.mark.parametrize("mode", [clip.LINEAR, clip.BEZIER, *range(clip.BACK, clip.SINE + 1)])
def test_a_nan_key_poisons_the_open_interval_and_no_more(mode: int) -> None:
    keys = np.array([(0, 1), (10, 2), (20, np.nan), (30, 4), (40, 5)])
    third = np.array([10 / 3, 0.0])
    curves = curves_of(keys, interpolation=mode, handle_left=keys - third, handle_right=keys + third)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = curve.evaluate(curves, 0, [5, 10, 10.001, 15, 20, 25, 29.999, 30, 35, 40, 50])
    np.testing.assert_array_equal(np.isnan(got), [False] * 2 + [True] * 5 + [False] * 4)
    np.testing.assert_array_equal(got[[1, 7, 9, 10]], [2, 4, 5, 5])


def test_no_key_a_nan_time_and_infinite_keys_raise_no_warning() -> None:
    curves = curves_of([], [(0, 0), (np.inf, 1)], [(0, np.inf), (1, -np.inf)], [(np.nan, 1), (2, 3)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = curve.evaluate(curves, np.arange(4)[:, None], [0.0, 0.5, np.nan])
        cyclic_nan = curve.evaluate(cyclic("REPEAT", "MIRROR"), 0, [np.nan, np.inf])
    assert np.isnan(got[0]).all() and np.isnan(got[:, 2]).all() and np.isnan(cyclic_nan).all()
    assert got.shape == (4, 3)
    assert curve.evaluate(curves, [], []).shape == (0,)


def test_equal_times_give_the_values_of_those_keys() -> None:
    curves = curves_of([(0, 0), (5, 1), (5, 9), (10, 10)])
    got = curve.evaluate(curves, 0, [2.5, 5.0, 7.5])
    np.testing.assert_allclose(got, [0.5, 9.0, 9.5])


# ------------------------------------------------------------------------------------------ easing


@pytest.mark.parametrize("mode", range(clip.BACK, clip.SINE + 1))
@pytest.mark.parametrize("direction", range(4))
def test_easing_runs_from_key_to_key_and_mirrors(mode: int, direction: int) -> None:
    u = np.linspace(0, 1, 1001)
    one = np.ones_like(u)
    parameters = np.broadcast_to(np.array(easing.DEFAULT_PARAMETERS), (1001, 3))

    def eased(way: int) -> np.ndarray:
        return easing.ease(
            mode, u, direction=np.full(1001, way, np.uint8), change=2 * one, duration=12 * one, parameters=parameters
        )

    got = eased(direction)
    tolerance = 4e-3 if mode == clip.ELASTIC else 1e-12
    np.testing.assert_allclose(got[[0, -1]], [0, 2], atol=tolerance)
    assert np.abs(np.diff(got)).max() < 0.3
    ease_in, ease_out, both = (eased(w) for w in (clip.EASE_IN, clip.EASE_OUT, clip.EASE_IN_OUT))
    np.testing.assert_allclose(ease_out, 2 - ease_in[::-1], atol=1e-12)
    np.testing.assert_allclose(both, 2 - both[::-1], atol=1e-12)
    springy = mode in (clip.BACK, clip.BOUNCE, clip.ELASTIC)
    if direction == clip.EASE_AUTO:
        np.testing.assert_array_equal(got, ease_out if springy else ease_in)
    if not springy:
        assert (np.diff(ease_in) >= 0).all() and ease_in[500] < 1.0 < ease_out[500]
