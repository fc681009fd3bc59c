# SPDX-License-Identifier: GPL-3.0-or-later
"""QA105 collapsing-interpolation."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BACK, BEZIER, CONSTANT, LINEAR, SINE, SLERP, Clip
from quat_audit.rules import RULES
from quat_audit.rules.qa105_collapsing_interpolation import HARMLESS_HANDLE, LIMITS, RULE
from tests.clips import free_handles, joined, quaternion_clip, random_path, times_of, turns, values_of
from tests.contract import assert_contract, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, scalar_slerp, turn_deg


def through_zero(gap: float = 10.0, deepest: float = 0.0, **options: Any) -> Clip:
    """Two keys 40° apart with level handles of a third of the gap that make all components pass `deepest` × middle.

    With both handles at h, the middle of a Bézier segment is (a + b) / 8 + 3 h / 4.
    """
    q = turns("Z", [-20, 20])
    handle = (deepest * q.sum(axis=0) / 2 - q.sum(axis=0) / 8) * 4 / 3
    times = np.array([1.0, 1.0 + gap])
    left, right = (np.stack([np.repeat(times[:, None], 4, axis=1), q], axis=-1) for _ in range(2))
    left[..., 0] -= gap / 3
    right[..., 0] += gap / 3
    right[0, :, 1] = left[1, :, 1] = handle
    options = {"interpolation": BEZIER, "handles": (left, right), "dtype": np.float64, **options}
    return quaternion_clip(times, q, **options)


def least_norm(clip: Clip, start: float, end: float) -> float:
    times = np.linspace(start, end, 33)[1:-1]
    return min(math.sqrt(sum(v * v for v in scalar_raw(clip, 0, float(t)))) for t in times)


@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, SLERP])
def test_plain_tracks_are_silent(mode: int) -> None:
    clip = quaternion_clip(np.arange(8) * 3, turns((1, 2, 3), np.arange(8) * 40), interpolation=mode, handles="thirds")
    assert found(clip, RULE) == []
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip


@pytest.mark.parametrize("deepest, collapses", [(0.09, True), (0.11, False), (0.3, False)])
def test_the_floor_of_the_length(deepest: float, collapses: bool) -> None:
    clip = through_zero(deepest=deepest)
    norm = deepest * math.cos(math.radians(10))
    assert least_norm(clip, 1, 11) == pytest.approx(norm, abs=0.01)
    assert bool(found(clip, RULE)) is collapses
    if collapses:
        assert measured(clip, RULE, "least_norm")[0] == pytest.approx(least_norm(clip, 1, 11), abs=1e-9)


@pytest.mark.parametrize(
    "gap, kind, severity", [(10, "visible", "error"), (1.02, "visible", "error"), (1.0, "latent", "note")]
)
def test_grading(gap: float, kind: str, severity: str) -> None:
    # Off the middle, so that the path swings round instead of back along itself.
    clip = through_zero(gap, deepest=-0.05)
    assert found(clip, RULE) == [((1, 1 + gap), kind, severity, "unsafe")]
    (finding,) = audit_clip(clip, [RULE])
    assert "collapses" in finding.message and "suffices" in finding.message


def test_swept_is_what_a_scalar_reference_travels() -> None:
    clip = through_zero(deepest=-0.08)
    wanted = path_deg(clip, 0, 1, 11)
    assert wanted is not None
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(wanted, rel=0.02)
    assert measured(clip, RULE, "shortest_deg")[0] == pytest.approx(40, abs=1e-6)


def test_a_sign_flip_is_not_reported_twice() -> None:
    clip = quaternion_clip([1, 11], turns("Z", [0, 20]) * [[1], [-1]])
    assert least_norm(clip, 1, 11) < LIMITS["norm_floor"] * 2
    assert found(clip, RULE) == []


def test_an_easing_that_swings_through_zero() -> None:
    """BACK with a large overshoot drives the components far beyond the keys."""
    q = turns("Z", [-80, 80])
    easing = {"easing": [3, 3], "easing_parameters": [9.0, 0.8, 4.1]}
    clip = quaternion_clip([1, 21], q, interpolation=BACK, dtype=np.float64, **easing)
    expected = least_norm(clip, 1, 21) < LIMITS["norm_floor"]
    assert bool(found(clip, RULE)) is expected
    assert found(quaternion_clip([1, 21], q, interpolation=SINE, easing=[0, 0]), RULE) == []


def test_short_keys_can_collapse_by_straight_lines() -> None:
    q = turns("Z", [0, 170]) * [[0.09], [0.09]]
    assert least_norm(quaternion_clip([1, 11], q), 1, 11) < 0.1
    assert len(found(quaternion_clip([1, 11], q), RULE)) == 1


@pytest.mark.parametrize("seed", range(6))
def test_no_step_that_collapses_is_missed(seed: int) -> None:
    """What is not sampled because its handles are near is never below the floor; what is found, is."""
    rng = np.random.default_rng(seed)
    times = np.arange(12) * 5.0
    q = random_path(rng, 12)
    spread = [0.9 * HARMLESS_HANDLE, HARMLESS_HANDLE, 0.6, 1.0, 2.0, 0.3][seed]
    clip = quaternion_clip(
        times, q, interpolation=BEZIER, handles=free_handles(rng, times, q, spread), dtype=np.float64
    )
    wanted = [(a, b) for a, b in pairwise(times) if least_norm(clip, a, b) < 0.1]
    assert [frames for frames, *_ in found(clip, RULE)] == wanted


def test_safe_repair_leaves_it_alone() -> None:
    clip = through_zero()
    assert assert_contract(clip, RULE).subject is clip


@pytest.mark.parametrize("degrees", [40.0, 100.0, 170.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unsafe_repair_inserts_keys_on_the_slerp(degrees: float, dtype: Any) -> None:
    q = turns((1, 1, 0), [0, degrees])
    middle = q.sum(axis=0) / 2
    left, right = (np.stack([np.repeat([[1.0], [21.0]], 4, axis=1), q], axis=-1) for _ in range(2))
    right[0, :, 0], left[1, :, 0] = 8, 14
    right[0, :, 1] = left[1, :, 1] = -middle * 0.4
    clip = quaternion_clip([1, 21], q, interpolation=BEZIER, handles=(left, right), dtype=dtype)
    assert len(found(clip, RULE)) == 1
    repair = assert_contract(clip, RULE, unsafe=True)
    after = repair.subject
    times = times_of(after)
    assert len(times) == max(math.ceil(degrees / 30), 2) + 1
    for time, value in zip(times, values_of(after), strict=True):
        assert turn_deg(scalar_slerp(q[0], q[1], (float(time) - 1) / 20), value) < 1e-3
    assert after.curves.marked.reshape(4, -1)[0].tolist() == [False] + [True] * (len(times) - 2) + [False]
    assert path_deg(after, 0, 1, 21) == pytest.approx(degrees, abs=0.1)
    for time in np.linspace(1, 21, 41):
        played = scalar_rotation(after, 0, scalar_raw(after, 0, float(time)))
        assert played is not None and turn_deg(scalar_slerp(q[0], q[1], (float(time) - 1) / 20), played) < 1.0
    assert repair.proof.keys_added == 4 * (len(times) - 2)


def test_easing_gives_way_to_straight_lines() -> None:
    q = turns("Z", [0, 170]) * [[0.09], [0.09]]
    clip = quaternion_clip([1, 11], q, interpolation=SINE, easing=[0, 0])
    assert len(found(clip, RULE)) == 1
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert set(after.curves.interpolation[after.curves.origin != 1].tolist()) == {LINEAR}


@pytest.mark.parametrize("gap", [0.005, 0.02, 0.03])
def test_a_step_too_short_for_a_key_keeps_its_keys(gap: float) -> None:
    """Inserting within 0.01 frame of a key would overwrite that key's pose."""
    clip = through_zero(gap)
    assert len(found(clip, RULE)) == 1
    repair = assert_contract(clip, RULE, unsafe=True)
    assert repair.subject is clip and len(repair.refused) == 1


def test_other_steps_and_tracks_stay() -> None:
    beside = quaternion_clip([1, 6, 11], turns("X", [0, 20, 40]), bone="Leg", interpolation=BEZIER, handles="thirds")
    clip = joined(through_zero(dtype=np.float32), beside)
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert values_of(after, 1).tobytes() == values_of(beside).tobytes()
    assert found(assert_contract(clip, RULES, unsafe=True).subject, RULE) == []
