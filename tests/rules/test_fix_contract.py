# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix contract over random clips: whatever a track holds, a repair keeps its promises (tests/contract.py).

Examples are derandomized: the same ones on every machine. What a strategy draws here is a small description; the
clip is built from it with a seeded generator.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quat_audit.findings.finding import SAFE
from quat_audit.motion.clip import (
    BEZIER,
    CONSTANT,
    CYCLE_MIRROR,
    CYCLE_NONE,
    CYCLE_REPEAT,
    CYCLE_REPEAT_OFFSET,
    EULER_ORDERS,
    LINEAR,
    SINE,
    SLERP,
    Clip,
    Cycles,
)
from quat_audit.rules import RULES
from tests.clips import channel_clip, free_handles, joined, random_quaternions, track_clip, turns
from tests.contract import assert_contract, assert_same, at_fault, fixable
from tests.judging import audit_clip, repair_clip

pytestmark = pytest.mark.slow

fixed = settings(
    derandomize=True, deadline=None, max_examples=100, database=None, suppress_health_check=list(HealthCheck)
)

BY_CODE = {rule.code: rule for rule in RULES}
# Rules whose repair adds keys or curves, moves keys in time, or plays another channel than before.
SAFE_RULES = [rule for rule in RULES if rule.fix is not None]


@dataclass(frozen=True)
class Recipe:
    """What a random track is made of."""

    seed: int
    count: int
    gap: float
    motion: str  # smooth, wild, still, half turns
    signs: str  # none, some, every
    lengths: str  # unit, noisy, wrong
    broken: str  # none, nan value, nan row, infinity, nan time, nan handle, zero
    interpolation: int | str  # a number, or "mixed"
    handles: str  # key, thirds, mild, wild
    single: bool  # float32
    layout: str  # whole, missing, misaligned, duplicate
    cycles: str
    locked: str  # "", read_only, unevaluable
    unknown_pose: bool


recipes = st.builds(
    Recipe,
    seed=st.integers(0, 2**16),
    count=st.sampled_from([0, 1, 2, 3, 5, 8]),
    gap=st.sampled_from([0.02, 0.5, 1.0, 3.0, 10.0]),
    motion=st.sampled_from(["smooth", "wild", "still", "half turns"]),
    signs=st.sampled_from(["none", "some", "every"]),
    lengths=st.sampled_from(["unit", "unit", "noisy", "wrong"]),
    broken=st.sampled_from(
        [
            "none",
            "none",
            "none",
            "nan value",
            "nan row",
            "infinity",
            "nan time",
            "nan handle",
            "zero",
            "all nan",
            "all zero",
        ]
    ),
    interpolation=st.sampled_from([CONSTANT, LINEAR, LINEAR, BEZIER, BEZIER, SINE, 10, SLERP, "mixed", "easing"]),
    handles=st.sampled_from(["key", "thirds", "mild", "wild"]),
    single=st.booleans(),
    layout=st.sampled_from(["whole", "whole", "whole", "missing", "misaligned", "nearly", "duplicate"]),
    cycles=st.sampled_from(["", "", "", CYCLE_NONE, CYCLE_REPEAT, CYCLE_REPEAT_OFFSET, CYCLE_MIRROR]),
    locked=st.sampled_from(["", "", "", "", "read_only", "unevaluable"]),
    unknown_pose=st.booleans(),
)


def quaternion_values(rng: np.random.Generator, r: Recipe) -> np.ndarray:
    if r.motion == "wild":
        values = random_quaternions(rng, r.count)
    elif r.motion == "half turns":
        values = turns("Z", 180.0 * np.arange(r.count))
    else:
        step = 0.0 if r.motion == "still" else rng.uniform(1, 50)
        values = turns(rng.normal(size=3), step * np.arange(r.count))
    sign = {"none": np.ones(r.count), "every": (-1.0) ** np.arange(r.count)}.get(r.signs)
    values = values * (rng.choice([-1.0, 1.0], r.count) if sign is None else sign)[:, None]
    spread = {"unit": 0.0, "noisy": 1e-2, "wrong": 1.5}[r.lengths]
    return values * np.exp(rng.uniform(-spread, spread, r.count))[:, None]


def euler_values(rng: np.random.Generator, r: Recipe) -> np.ndarray:
    step = {"smooth": 20.0, "wild": 150.0, "still": 0.0, "half turns": 180.0}[r.motion]
    values = np.cumsum(rng.uniform(-step, step, (r.count, 3)), axis=0)
    wraps = {"none": 0, "some": 1, "every": 2}[r.signs]
    values += 360.0 * rng.integers(-wraps, wraps + 1, (r.count, 3))
    return np.radians(values)


def axis_angle_values(rng: np.random.Generator, r: Recipe) -> np.ndarray:
    """Turns about one axis, or about one that drifts; wraps, flipped axes, and keys of 0° with any axis."""
    step = {"smooth": 25.0, "wild": 150.0, "still": 0.0, "half turns": 180.0}[r.motion]
    degrees = np.cumsum(rng.uniform(-step, step, r.count)) if r.motion != "half turns" else step * np.arange(r.count)
    axes = rng.normal(size=3) + np.cumsum(rng.normal(size=(r.count, 3)), axis=0) * (0.5 if r.seed % 3 else 0.0)
    resting = rng.uniform(size=r.count) < (0.3 if r.seed % 2 else 0.0)
    degrees[resting] = 0.0
    axes[resting] = rng.normal(size=(r.count, 3))[resting]
    values = np.column_stack([np.radians(degrees), axes])
    sign = {"none": np.ones(r.count), "every": (-1.0) ** np.arange(r.count)}.get(r.signs)
    values *= (rng.choice([-1.0, 1.0], r.count) if sign is None else sign)[:, None]
    wraps = {"none": 0, "some": 1, "every": 2}[r.signs]
    values[:, 0] += 2 * np.pi * rng.integers(-wraps, wraps + 1, r.count)
    spread = {"unit": 0.0, "noisy": 1e-2, "wrong": 1.5}[r.lengths]
    values[:, 1:] *= np.exp(rng.uniform(-spread, spread, r.count))[:, None]
    return values


def build(r: Recipe, kind: str = "QUATERNION", bone: str = "Arm", order: str = "XYZ") -> Clip:
    rng = np.random.default_rng(r.seed)
    times = 1.0 + np.cumsum(rng.uniform(0.6, 1.4, r.count)) * r.gap
    if kind == "QUATERNION":
        values, n = quaternion_values(rng, r), 4
    elif kind == "AXIS_ANGLE":
        values, n = axis_angle_values(rng, r), 4
    else:
        values, n = euler_values(rng, r), 3
    if r.layout == "duplicate" and r.count > 2:
        times[-1] = times[-2]
        values[-1] = values[-2] if r.seed % 2 else values[-1]
    spread = {"key": 0.0, "thirds": 0.0, "mild": 0.2, "wild": 2.0}[r.handles]
    left, right = free_handles(rng, times, values, spread)
    every_time = np.repeat(times[:, None], n, axis=1)
    at = int(rng.integers(0, r.count)) if r.count else 0
    part = int(rng.integers(0, n))
    if r.count:
        if r.broken == "nan value":
            values[at, part] = np.nan
        elif r.broken == "nan row":
            values[at] = np.nan
        elif r.broken == "infinity":
            values[at, part] = np.inf
        elif r.broken == "nan time":
            every_time[at, part if r.seed % 3 else slice(None)] = np.nan
        elif r.broken == "nan handle":
            left[at, part, r.seed % 2] = np.nan
            right[at, part, 1] = np.inf
        elif r.broken == "zero":
            values[at, -3 if kind == "AXIS_ANGLE" else 0 :] = 0.0
        elif r.broken == "all nan":
            values[:] = np.nan
        elif r.broken == "all zero":
            values[:] = 0.0
    parts = [p for p in range(n) if r.layout != "missing" or p != part]
    keep = {p: np.ones(r.count, bool) for p in parts}
    if r.layout == "misaligned" and r.count > 1:
        for p in parts:
            keep[p] = rng.uniform(size=r.count) < 0.6
            keep[p][0] = True
    if r.layout == "nearly" and r.gap >= 0.5:
        every_time = every_time + rng.uniform(-0.004, 0.004, every_time.shape)
    played = {"mixed": rng.choice([CONSTANT, LINEAR, BEZIER], r.count), "easing": rng.integers(0, 13, r.count)}
    mode = played.get(
        str(r.interpolation), np.full(r.count, r.interpolation if isinstance(r.interpolation, int) else 0)
    )
    easing = rng.integers(0, 4, r.count) if r.interpolation in ("easing", SINE, 10) else None
    return track_clip(
        kind,
        {p: (every_time[keep[p], p], values[keep[p], p]) for p in parts},
        bone=bone,
        order=order,
        interpolation={p: mode[keep[p]] for p in parts},
        handles={p: (left[keep[p], p], right[keep[p], p]) for p in parts}
        if spread
        else (None if r.handles == "key" else "thirds"),
        easing=None if easing is None else {p: easing[keep[p]] for p in parts},
        format="gltf" if r.interpolation == SLERP else "blender",
        dtype=np.float32 if r.single else np.float64,
        pose=[np.nan] * 4 if r.unknown_pose else [0.5, 0.5, 0.5, 0.5] if kind == "QUATERNION" else [0.3, 0.2, 0.1],
        cycles=Cycles(r.cycles, r.cycles, 0, 0) if r.cycles else None,
        linear_extrapolation=bool(r.seed % 2),
        read_only="linked" if r.locked == "read_only" else "",
        unevaluable="a Noise modifier" if r.locked == "unevaluable" else "",
    )


@fixed
@given(recipes)
@pytest.mark.parametrize("code", ["QA101", "QA102", "QA103", "QA104"])
def test_each_safe_rule_alone(code: str, recipe: Recipe) -> None:
    assert_contract(build(recipe), BY_CODE[code])


@fixed
@given(recipes)
@pytest.mark.parametrize("code", ["QA101", "QA102", "QA205"])
def test_each_safe_rule_alone_on_an_axis_angle(code: str, recipe: Recipe) -> None:
    assert_contract(build(recipe, "AXIS_ANGLE"), BY_CODE[code])


@fixed
@given(recipes)
@pytest.mark.parametrize("unsafe", [False, True])
def test_all_rules_on_an_axis_angle(unsafe: bool, recipe: Recipe) -> None:
    clip = build(recipe, "AXIS_ANGLE")
    assert_contract(clip, RULES, unsafe=unsafe, keys_kept=not unsafe, path_kept=not unsafe, tracks_kept=not unsafe)


@fixed
@given(recipes, recipes, st.sampled_from(EULER_ORDERS))
def test_all_rules_safe(one: Recipe, other: Recipe, order: str) -> None:
    clip = joined(build(one), build(other, "EULER", "Leg", order), channel_clip([1, 2, 3], [0.0, np.nan, 1.0]))
    assert_contract(clip, RULES)


@fixed
@given(recipes, recipes, st.sampled_from(EULER_ORDERS))
def test_all_rules_unsafe(one: Recipe, other: Recipe, order: str) -> None:
    clip = joined(build(one), build(other, "EULER", "Leg", order))
    assert_contract(clip, RULES, unsafe=True, keys_kept=False, path_kept=False, tracks_kept=False)


@fixed
@given(recipes, recipes, st.sampled_from(EULER_ORDERS))
def test_what_is_called_safe_is_not_refused(one: Recipe, other: Recipe, order: str) -> None:
    clip = joined(build(one), build(other, "EULER", "Leg", order))
    safe = {(f.code, path) for f in audit_clip(clip) if f.fix == SAFE for path in f.paths}
    refused = {(r.code, r.data_path): r.why for r in repair_clip(clip).refused}
    assert {which: refused[which] for which in safe & set(refused)} == {}


@fixed
@given(recipes)
def test_what_is_clean_stays_bit_for_bit(recipe: Recipe) -> None:
    """A clip without findings, and one whose tracks must not be written, come back as the same object."""
    clean = build(
        replace(recipe, motion="smooth", signs="none", lengths="unit", broken="none", layout="whole", locked="")
    )
    if not audit_clip(clean):
        assert repair_clip(clean, unsafe=True).subject is clean
    locked = build(replace(recipe, locked="read_only"))
    repair = repair_clip(locked, unsafe=True)
    assert repair.subject is locked
    assert_same(locked, build(replace(recipe, locked="read_only")))
    assert {(r.code, r.data_path) for r in repair.refused} == set(fixable(locked, RULES, True))


@fixed
@given(recipes, st.integers(1, 2**16))
def test_sound_neighbours_are_not_touched(recipe: Recipe, seed: int) -> None:
    """A sound track, drawn with everything it can have, beside a broken one stays as it was."""
    sound = build(
        Recipe(
            seed, 5, 3.0, "smooth", "none", "unit", "none", "mixed", "thirds", recipe.single, "whole", "", "", False
        ),
        bone="Sound",
    )
    if at_fault(sound, RULES):
        return
    clip = joined(build(recipe), sound)
    after = repair_clip(clip, unsafe=True).subject
    rows_before = [clip.curves.rows(int(c)) for c in clip.tracks.curves[-1]]
    rows_after = [after.curves.rows(int(c)) for c in after.tracks.curves[-1]]
    for a, b in zip(rows_before, rows_after, strict=True):
        for name in ("co", "handle_left", "handle_right", "interpolation", "marked"):
            assert getattr(clip.curves, name)[a].tobytes() == getattr(after.curves, name)[b].tobytes()
