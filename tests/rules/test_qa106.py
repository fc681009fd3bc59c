# SPDX-License-Identifier: GPL-3.0-or-later
"""QA106 half-turn-step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, EXPO, LINEAR, SLERP, Clip, Cycles
from quat_audit.rules import RULES
from quat_audit.rules.qa104_sign_flip import RULE as SIGN_FLIP
from quat_audit.rules.qa106_half_turn_step import RULE
from tests.clips import about, free_handles, joined, quaternion_clip, random_path, times_of, turns, values_of
from tests.contract import assert_contract, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_raw, scalar_rotation, turn_deg


def step(degrees: float, gap: float = 10.0, axis: Any = "Z", **options: Any) -> Clip:
    return quaternion_clip([1, 1 + gap], turns(axis, [0, degrees]), **options)


def half(side: float = 1.0, **options: Any) -> Clip:
    """Exactly half a turn: a zero dot, in every precision."""
    return quaternion_clip([1, 11], [[1, 0, 0, 0], [0, 0, 0, side]], **options)


@pytest.mark.parametrize("degrees", [0, 5, 60, 119.9, 120, 120.005])
def test_smaller_steps_are_silent(degrees: float) -> None:
    clip = step(degrees)
    assert found(clip, RULE) == []
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip


@pytest.mark.parametrize(
    "degrees, kind",
    [(120.02, "fragile"), (150, "fragile"), (179.8, "fragile"), (179.95, "half-turn"), (180, "half-turn")],
)
def test_large_steps_are_notes(degrees: float, kind: str) -> None:
    clip = step(degrees, dtype=np.float64)
    assert found(clip, RULE) == [((1, 11), kind, "note", "unsafe")]
    assert measured(clip, RULE, "shortest_deg")[0] == pytest.approx(degrees, abs=1e-5)


@pytest.mark.parametrize(
    "dot, kind", [(0.9e-3, "half-turn"), (-0.9e-3, "half-turn"), (1.1e-3, "fragile"), (-1.1e-3, None)]
)
def test_the_limit_of_the_dot_product(dot: float, kind: str | None) -> None:
    """Beyond it on the negative side the long way is played: QA104 has it, and QA106 is silent."""
    clip = quaternion_clip([1, 11], [[1, 0, 0, 0], [dot, 0, 0, math.sqrt(1 - dot * dot)]], dtype=np.float64)
    assert [k for _, k, *_ in found(clip, RULE)] == ([kind] if kind else [])
    assert bool(found(clip, SIGN_FLIP)) is (kind is None)


@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, SLERP])
@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_a_zero_dot_is_reported_whatever_plays_and_its_sign_stays(mode: int, zero: float) -> None:
    clip = quaternion_clip([1, 11], [[1, zero, 0, zero], [zero, 0, 0, -1]], interpolation=mode)
    assert [k for _, k, *_ in found(clip, RULE)] == ["half-turn"]
    assert assert_contract(clip, RULES).subject is clip


def test_held_large_steps_are_no_matter() -> None:
    assert found(step(150, interpolation=CONSTANT), RULE) == []
    assert found(step(150, interpolation=SLERP), RULE) != []


def test_what_qa104_reports_is_told_once() -> None:
    for mode in (CONSTANT, LINEAR, BEZIER, SLERP):
        clip = quaternion_clip([1, 11], turns("Z", [0, 150]) * [[1], [-1]], interpolation=mode, handles="thirds")
        assert len(found(clip, SIGN_FLIP)) == 1 and found(clip, RULE) == []


def test_a_repaired_flip_of_a_large_step_is_only_then_fragile() -> None:
    clip = quaternion_clip([1, 11], turns("Z", [0, 150]) * [[1], [-1]])
    assert found(clip, RULE) == []
    after = repair_clip(clip, [SIGN_FLIP], unsafe=True).subject
    assert [k for _, k, *_ in found(after, RULE)] == ["fragile"]


def test_the_message_says_how_far() -> None:
    assert "half turn (180.0°)" in audit_clip(half(), [RULE])[0].message
    assert "step of 150.0°" in audit_clip(step(150), [RULE])[0].message


def test_safe_repair_never_touches_it() -> None:
    clip = joined(half(), step(150, bone="B"), step(-180, bone="C", interpolation=BEZIER, handles="thirds"))
    assert assert_contract(clip, RULE).subject is clip
    assert assert_contract(clip, RULES).subject is clip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("mode", [LINEAR, BEZIER])
def test_unsafe_repair_keys_the_middle_on_the_side_that_plays(dtype: Any, side: float, mode: int) -> None:
    clip = half(side, dtype=dtype, interpolation=mode, handles="thirds")
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert times_of(after).tolist() == [1, 6, 11]
    middle = values_of(after)[1]
    assert turn_deg(about("Z", 90 * side), middle) < 1e-4
    assert abs(np.linalg.norm(middle) - 1) < 1e-6
    assert values_of(after)[[0, 2]].tobytes() == values_of(clip).tobytes()
    assert after.curves.marked.reshape(4, 3)[0].tolist() == [False, True, False]
    for time in np.linspace(1, 11, 21):
        was, now = (scalar_rotation(c, 0, scalar_raw(c, 0, float(time))) for c in (clip, after))
        assert was is not None and now is not None
        # A turn about one axis stays one; only its timing may change a little.
        assert abs(now[1]) + abs(now[2]) < 1e-6
        assert turn_deg(was, now) < 15


def test_a_fragile_step_is_divided_into_equal_halves() -> None:
    after = assert_contract(step(170, axis=(1, 2, 3)), RULE, unsafe=True).subject
    q = values_of(after)
    assert turn_deg(q[0], q[1]) == pytest.approx(85, abs=0.1)
    assert turn_deg(q[1], q[2]) == pytest.approx(85, abs=0.1)


def test_where_the_time_is_uneven_the_turn_is_halved_not_the_time() -> None:
    """Handles that stay long and then hurry: half-way in time is a tenth of the turn."""
    q = np.array([[1.0, 0, 0, 0], [0, 0, 0, 1.0]])
    left, right = (np.stack([np.repeat([[1.0], [21.0]], 4, axis=1), q], axis=-1) for _ in range(2))
    right[0, :, 0], left[1, :, 0] = 19, 20
    left[1, :, 1] = q[0]
    clip = quaternion_clip([1, 21], q, interpolation=BEZIER, handles=(left, right), dtype=np.float64)
    after = assert_contract(clip, RULE, unsafe=True).subject
    middle = values_of(after)[1]
    assert 14 < times_of(after)[1] < 21
    assert max(turn_deg(q[0], middle), turn_deg(middle, q[1])) < 120


@pytest.mark.parametrize(
    "options, gap",
    [
        ({"interpolation": EXPO, "easing": [1, 1]}, 10.0),
        ({"cycles": Cycles("REPEAT", "REPEAT", 0, 0)}, 10.0),
        ({}, 0.02),
        ({}, 0.03),
    ],
)
def test_what_cannot_be_divided_is_refused_and_not_tried_again(options: dict[str, Any], gap: float) -> None:
    clip = quaternion_clip([1, 1 + gap], [[1, 0, 0, 0], [0, 0, 0, 1]], **options)
    repair = assert_contract(clip, RULE, unsafe=True)
    assert repair.subject is clip
    assert [r.code for r in repair.refused] == ["QA106"]


@pytest.mark.parametrize("options", [{"interpolation": SLERP, "format": "gltf"}, {"interpolation": CONSTANT}])
def test_where_no_side_plays_there_is_no_repair(options: dict[str, Any]) -> None:
    clip = half(**options)
    assert found(clip, RULE) == [((1, 11), "half-turn", "note", "none")]
    assert assert_contract(clip, RULE, unsafe=True).subject is clip


def test_keys_that_other_repairs_made_are_left() -> None:
    """An inserted key of another track is not scaled to unit length by this rule."""
    q = turns("X", [0, 90])
    keys = quaternion_clip([1, 11, 21], np.concatenate([q, q[:1]]), bone="Leg", dtype=np.float64)
    keys.curves.origin[1::3] = -1
    keys.curves.co[1::3, 1] *= 1.0005
    after = repair_clip(joined(half(dtype=np.float64), keys), [RULE], unsafe=True).subject
    assert values_of(after, 1).tobytes() == values_of(keys).tobytes()


@pytest.mark.parametrize("seed", range(5))
def test_random_tracks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times = np.arange(10) * 4.0
    q = random_path(rng, 10)
    clip = quaternion_clip(times, q, interpolation=BEZIER, handles=free_handles(rng, times, q, 0.05))
    large = [i for i in range(9) if turn_deg(q[i] / np.linalg.norm(q[i]), q[i + 1]) > 120]
    assert [frames for frames, *_ in found(clip, RULE)] == [(times[i], times[i + 1]) for i in large]
    after = assert_contract(clip, RULE, unsafe=True, path_kept=False).subject
    assert len(times_of(after)) == 10 + len(large)
