# SPDX-License-Identifier: GPL-3.0-or-later
"""REFERENCE 12: the vectorised evaluation against FCurve.evaluate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quat_audit.motion import clip, curve
from quat_audit.motion.bezier import split_bezier

bpy = pytest.importorskip("bpy")

# By Blender's numbers.
INTERPOLATIONS = (
    *("CONSTANT", "LINEAR", "BEZIER"),
    *("BACK", "BOUNCE", "CIRC", "CUBIC", "ELASTIC", "EXPO", "QUAD", "QUART", "QUINT", "SINE"),
)
EASINGS = ("AUTO", "EASE_IN", "EASE_OUT", "EASE_IN_OUT")


def new_fcurves() -> Any:
    """An empty collection of F-curves, in whichever way this Blender keeps them."""
    action = bpy.data.actions.new("evaluate")
    if "fcurves" in bpy.types.Action.bl_rna.properties and not hasattr(action, "slots"):
        return action.fcurves
    slot = action.slots.new(id_type="OBJECT", name="evaluate")
    strip = action.layers.new("layer").strips.new(type="KEYFRAME")
    return strip.channelbag(slot, ensure=True).fcurves


def make(fcurves: Any, co: np.ndarray, **attributes: Any) -> Any:
    """One F-curve with these keys exactly: no handle is recomputed afterwards."""
    fcurve = fcurves.new("location", index=len(fcurves))
    points = fcurve.keyframe_points
    points.add(len(co))
    points.foreach_set("co", co.ravel())
    for name in ("handle_left_type", "handle_right_type"):
        points.foreach_set(name, np.zeros(len(co), np.int32))  # FREE
    for name, values in attributes.items():
        points.foreach_set(name, np.ascontiguousarray(values).ravel())
    return fcurve


def read(fcurves: Any) -> clip.Curves:
    """Curves of a whole collection, key by key through RNA (not through the package's own reader)."""
    all_keys = [k for f in fcurves for k in f.keyframe_points]
    cycles = []
    for f in fcurves:
        m = f.modifiers[0] if len(f.modifiers) else None
        cycles.append(clip.Cycles(m.mode_before, m.mode_after, m.cycles_before, m.cycles_after) if m else None)
    return clip.make_curves(
        [f.data_path for f in fcurves],
        [f.array_index for f in fcurves],
        [len(f.keyframe_points) for f in fcurves],
        np.array([k.co for k in all_keys], np.float32).reshape(-1, 2),
        handle_left=np.array([k.handle_left for k in all_keys], np.float32).reshape(-1, 2),
        handle_right=np.array([k.handle_right for k in all_keys], np.float32).reshape(-1, 2),
        interpolation=np.array([INTERPOLATIONS.index(k.interpolation) for k in all_keys], np.uint8),
        easing=np.array([EASINGS.index(k.easing) for k in all_keys], np.uint8),
        easing_parameters=np.array([(k.back, k.amplitude, k.period) for k in all_keys], np.float32).reshape(-1, 3),
        linear_extrapolation=[f.extrapolation == "LINEAR" for f in fcurves],
        cycles=cycles,
    )


def random_fcurve(fcurves: Any, rng: np.random.Generator, interpolations: Any, *, keys: int = 12) -> Any:
    """Keys 1 to 30 frames apart, handles up to 1.5 segments long, so that many overlap."""
    x = np.cumsum(rng.uniform(1.0, 30.0, keys)) - 40.0
    co = np.stack((x, rng.normal(size=keys)), axis=-1).astype(np.float32)
    left, right = co.copy(), co.copy()
    gap = np.diff(x, prepend=x[0] - 5, append=x[-1] + 5)
    left[:, 0] -= gap[:-1] * rng.uniform(0, 1.5, keys)
    right[:, 0] += gap[1:] * rng.uniform(0, 1.5, keys)
    left[:, 1] += rng.normal(size=keys)
    right[:, 1] += rng.normal(size=keys)
    fcurve = make(
        fcurves,
        co,
        handle_left=left,
        handle_right=right,
        interpolation=rng.choice(interpolations, keys).astype(np.int32),
        easing=rng.integers(0, 4, keys).astype(np.int32),
        back=rng.uniform(0, 3, keys).astype(np.float32),
        amplitude=np.where(rng.random(keys) < 0.3, 0, rng.uniform(0, 3, keys)).astype(np.float32),
        period=np.where(rng.random(keys) < 0.3, 0, rng.uniform(2, 10, keys)).astype(np.float32),
    )
    fcurve.extrapolation = rng.choice(("CONSTANT", "LINEAR"))
    return fcurve


def add_cycles(fcurve: Any, rng: np.random.Generator) -> None:
    modifier = fcurve.modifiers.new("CYCLES")
    modes = ("NONE", "REPEAT", "REPEAT_OFFSET", "MIRROR")
    modifier.mode_before, modifier.mode_after = rng.choice(modes), rng.choice(modes)
    modifier.cycles_before, modifier.cycles_after = (int(n) for n in rng.integers(0, 4, 2))


def assert_equal(fcurves: Any, rng: np.random.Generator, *, times: int, relative: float = 1e-5) -> None:
    """Compare at random times over three times the keyed range, and at the keys and just beside them."""
    curves = read(fcurves)
    for number, fcurve in enumerate(fcurves):
        x = curves.co[curves.rows(number), 0]
        span = max(float(x[-1] - x[0]), 1.0)
        at = np.concatenate(
            (rng.uniform(x[0] - 3 * span, x[-1] + 3 * span, times // 4), rng.uniform(x[0], x[-1], times))
        )
        at = np.concatenate((at, x, x + 5e-5, x - 5e-5, x - 2e-4)).astype(np.float32)
        expected = np.array([fcurve.evaluate(float(t)) for t in at])
        got = curve.evaluate(curves, np.full(len(at), number), at)
        inside = (at >= x[0]) & (at <= x[-1])
        scale = np.ptp(expected[inside]) if len(x) > 1 else 1.0
        # Far outside, a linear extrapolation is as long as the slope makes it: then its own size counts.
        error = np.abs(got - expected) / np.maximum(scale, np.abs(expected))
        worst = int(error.argmax())
        assert error[worst] <= relative, (number, at[worst], expected[worst], got[worst], curves.rows(number))


@pytest.mark.parametrize("mode", range(len(INTERPOLATIONS)), ids=INTERPOLATIONS)
def test_every_interpolation_equals_blender(mode: int) -> None:
    rng = np.random.default_rng(100 + mode)
    fcurves = new_fcurves()
    for _ in range(6):
        random_fcurve(fcurves, rng, [mode])
    assert_equal(fcurves, rng, times=400)


def test_mixed_curves_with_cycles_equal_blender_at_ten_thousand_times() -> None:
    rng = np.random.default_rng(12)
    fcurves = new_fcurves()
    for number in range(40):
        fcurve = random_fcurve(fcurves, rng, np.arange(len(INTERPOLATIONS)), keys=int(rng.integers(1, 14)))
        if number % 2:
            add_cycles(fcurve, rng)
    assert_equal(fcurves, rng, times=200)


def test_handles_that_point_backwards_choose_the_same_of_several_solutions() -> None:
    rng = np.random.default_rng(13)
    fcurves = new_fcurves()
    for _ in range(20):
        co = np.stack((np.arange(6) * 10.0, rng.normal(size=6)), axis=-1).astype(np.float32)
        left, right = (co + rng.uniform(-1, 1, (6, 2)) * [14.0, 2.0] for _ in range(2))
        make(
            fcurves,
            co,
            handle_left=left.astype(np.float32),
            handle_right=right.astype(np.float32),
            interpolation=np.full(6, clip.BEZIER, np.int32),
        )
    assert_equal(fcurves, rng, times=300)


@pytest.mark.parametrize("mode", (clip.LINEAR, clip.BEZIER, clip.ELASTIC, clip.SINE))
def test_a_nan_key_poisons_as_much_as_in_blender(mode: int) -> None:
    co = np.array([(0, 1), (10, 2), (20, np.nan), (30, 4), (40, 5)], np.float32)
    third = np.array([10 / 3, 0.0], np.float32)
    fcurves = new_fcurves()
    interpolation = np.full(5, mode, np.int32)
    fcurve = make(fcurves, co, handle_left=co - third, handle_right=co + third, interpolation=interpolation)
    at = np.array([-5, 5, 10, 10.001, 15, 20, 25, 29.999, 30, 35, 40, 50], np.float32)
    expected = [fcurve.evaluate(float(t)) for t in at]
    assert np.isnan(expected).sum() == 5
    np.testing.assert_allclose(curve.evaluate(read(fcurves), 0, at), expected, atol=1e-5)


def test_a_segment_split_and_stored_plays_in_blender_as_before() -> None:
    rng = np.random.default_rng(14)
    whole, halves = new_fcurves(), new_fcurves()
    for _ in range(30):
        co = np.array([(10, rng.normal()), (30, rng.normal())], np.float32)
        # Handles may be longer than the segment, but do not cross: those cannot be split exactly.
        reach = rng.uniform(0, 20)
        right = co[0] + np.array([reach, rng.normal()], np.float32)
        left = co[1] - np.array([rng.uniform(0, 20 - reach), rng.normal()], np.float32)
        split = split_bezier(co[0], right, left, co[1], rng.uniform(11, 29))
        bezier = {"interpolation": np.full(2, clip.BEZIER, np.int32)}
        make(
            whole,
            co,
            handle_left=np.array([co[0], left], np.float32),
            handle_right=np.array([right, co[1]], np.float32),
            **bezier,
        )
        make(
            halves,
            np.array([co[0], split.co, co[1]], np.float32),
            handle_left=np.array([co[0], split.left, split.left1], np.float32),
            handle_right=np.array([split.right0, split.right, co[1]], np.float32),
            interpolation=np.full(3, clip.BEZIER, np.int32),
        )
    at = np.linspace(10, 30, 101)
    before = np.array([[f.evaluate(t) for t in at] for f in whole])
    after = np.array([[f.evaluate(t) for t in at] for f in halves])
    assert (np.abs(after - before) <= 2e-5 * np.ptp(before, axis=1, keepdims=True)).all()
