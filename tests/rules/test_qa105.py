# SPDX-License-Identifier: GPL-3.0-or-later
"""QA105 collapsing-interpolation."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BACK, BEZIER, CONSTANT, LINEAR, QUATERNION, SINE, SLERP, Clip
from quat_audit.rules import RULES
from quat_audit.rules.detours import NORM_FLOOR
from quat_audit.rules.qa105_collapsing_interpolation import RULE
from tests.clips import (
    free_handles,
    hermite_clip,
    joined,
    left_behind,
    quaternion_clip,
    random_path,
    times_of,
    track_clip,
    turns,
    values_of,
)
from tests.contract import assert_contract, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, scalar_slerp, turn_deg, union_rows


def through_zero(gap: float = 10.0, deepest: float = -0.02, *, first: float = 1.0, **options: Any) -> Clip:
    """Two keys 40° apart with level handles of a third of the gap that make all components pass `deepest` × middle.

    With both handles at h, the middle of a Bézier segment is (a + b) / 8 + 3 h / 4.
    """
    q = turns("Z", [-20, 20])
    handle = (deepest * q.sum(axis=0) / 2 - q.sum(axis=0) / 8) * 4 / 3
    times = np.array([first, first + gap])
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


@pytest.mark.parametrize("deepest, collapses", [(-0.6, True), (-0.05, True), (0.4, False), (0.8, False)])
def test_it_takes_a_short_interpolant_and_a_longer_way(deepest: float, collapses: bool) -> None:
    """On this side of zero the pose goes straight from key to key, however short the interpolant gets."""
    clip = through_zero(deepest=deepest)
    assert (least_norm(clip, 1, 11) < NORM_FLOOR) is (deepest < 0.7)
    assert bool(found(clip, RULE)) is collapses
    if collapses:
        assert measured(clip, RULE, "least_norm")[0] == pytest.approx(least_norm(clip, 1, 11), abs=1e-9)


def one_swings(floor: float) -> Clip:
    """Two keys 40° apart; the handles take x back to 0 half-way, and w down to `floor`, which is the length then."""
    q = turns("X", [0, 40])
    # The middle of a Bézier segment is (a + b) / 8 + 3 h / 4 for two handles at the height h.
    handle = np.array([floor - 0.002, 0.0, 0.0, 0.0]) * 4 / 3 - q.sum(axis=0) / 6
    times = np.array([1.0, 21.0])
    left, right = (np.stack([np.repeat(times[:, None], 4, axis=1), q], axis=-1) for _ in range(2))
    left[..., 0] -= 20 / 3
    right[..., 0] += 20 / 3
    right[0, :, 1] = left[1, :, 1] = handle
    return quaternion_clip(times, q, interpolation=BEZIER, handles=(left, right), dtype=np.float64)


@pytest.mark.parametrize("scale", [1.0, 0.3, 5.0])
def test_the_floor_of_the_length(scale: float) -> None:
    """√½ of the shorter key's length, which no straight blend of two keys in one hemisphere falls below."""
    for floor in (NORM_FLOOR - 0.01, NORM_FLOOR + 0.01):
        clip = one_swings(floor)
        assert least_norm(clip, 1, 21) == pytest.approx(floor, abs=0.005)
        arrays = {n: getattr(clip.curves, n) * [1, scale] for n in ("co", "handle_left", "handle_right")}
        sized = replace(clip, curves=replace(clip.curves, **arrays))
        assert bool(found(sized, RULE)) is (floor < NORM_FLOOR)


@pytest.mark.parametrize(
    "gap, first, kind, severity",
    [
        (10, 1, "visible", "error"),
        (1.02, 1.5, "visible", "error"),
        (1.0, 1, "latent", "note"),
        (0.9, 1.05, "latent", "note"),
    ],
)
def test_grading_by_what_is_drawn(gap: float, first: float, kind: str, severity: str) -> None:
    # Off the middle, so that the path swings round instead of back along itself.
    clip = through_zero(gap, deepest=-0.05, first=first)
    assert found(clip, RULE) == [((first, first + gap), kind, severity, "unsafe")]
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
    assert least_norm(clip, 1, 11) < NORM_FLOOR
    assert found(clip, RULE) == []


@pytest.mark.parametrize("back, collapses", [(1.7, False), (60.0, True)])
def test_an_easing_that_swings_through_zero(back: float, collapses: bool) -> None:
    """BACK in only one component: w falls through zero while x, y, z run straight."""
    q = turns("X", [0, 60])
    mode = {0: [BACK, BACK], **{part: [LINEAR, LINEAR] for part in (1, 2, 3)}}
    easing = {"easing": [1, 1], "easing_parameters": [back, 0.8, 4.1]}
    flipped = np.array([[0.95, 0, 0, 0], [0.99, 0.1, 0, 0]]) if collapses else q
    clip = quaternion_clip([1, 21], flipped, interpolation=mode, dtype=np.float64, **easing)
    assert (least_norm(clip, 1, 21) < 0.7) is collapses
    assert bool(found(clip, RULE)) is collapses
    assert found(quaternion_clip([1, 21], q, interpolation=SINE, easing=[0, 0]), RULE) == []


@pytest.mark.parametrize("degrees", [20.0, 90.0, 179.0])
def test_straight_lines_never_collapse(degrees: float) -> None:
    """Nor do they between keys far from unit length: that is QA103."""
    for sizes in ([1.0, 1.0], [0.09, 0.09], [1.0, 0.1]):
        for mode in (LINEAR, BEZIER, SINE):
            q = turns("Z", [0, degrees]) * np.array(sizes)[:, None]
            assert found(quaternion_clip([1, 11], q, interpolation=mode, handles="thirds", easing=[0, 0]), RULE) == []


@pytest.mark.parametrize("step, swept", [(20, 163), (40, 294), (90, 483)])
def test_handles_left_in_the_other_hemisphere(step: float, swept: float) -> None:
    """The middle key of three was negated back, its handles were not: the length on the way is 1/9 at the least."""
    clip = left_behind(step, range(4))
    assert measured(clip, RULE, "least_norm") == pytest.approx([1 / 9] * 2, abs=0.05)
    assert sum(measured(clip, RULE, "swept_deg")) == pytest.approx(swept, rel=0.02)
    assert [severity for _, _, severity, _ in found(clip, RULE)] == ["error", "error"]


def test_one_component_left_in_the_other_hemisphere() -> None:
    clip = left_behind(20, [0])
    assert sum(measured(clip, RULE, "swept_deg")) == pytest.approx(354, rel=0.05)


def test_cubic_tangents_of_the_other_sign() -> None:
    """glTF CUBICSPLINE from 20° to 40°: the tangents belong to the negated keys, one a key."""
    q = turns("X", [20, 40])
    clip = hermite_clip([0, 24], q, 3 / 24 * np.stack([-q[1] - q[0], q[0] + q[1]]), format="gltf")
    expected = path_deg(clip, 0, 0, 24)
    assert expected is not None and expected > 600
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(expected, rel=0.1)
    assert measured(clip, RULE, "least_norm")[0] < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("apart", [False, True], ids=["aligned", "apart"])
def test_no_step_that_collapses_is_missed(seed: int, apart: bool) -> None:
    """What is not sampled for its handles neither gets short nor travels a longer way; what is found, does."""
    rng = np.random.default_rng(seed)
    times = np.arange(12) * 5.0
    q = random_path(rng, 12)
    spread = [0.005, 0.02, 0.1, 0.3, 1.0, 2.0][seed]
    left, right = free_handles(rng, times, q, spread)
    keep = {part: np.ones(12, dtype=bool) for part in range(4)}
    if apart:
        keep[2][[3, 4, 8]] = False
    clip = track_clip(
        QUATERNION,
        {part: (times[kept], q[kept, part]) for part, kept in keep.items()},
        interpolation=BEZIER,
        handles={part: (left[kept, part], right[kept, part]) for part, kept in keep.items()},
        dtype=np.float64,
    )
    wanted = []
    for (start, _, a), (end, _, b) in pairwise(union_rows(clip, 0)):
        ends = [[keys.get(p, v) for p, v in enumerate(scalar_raw(clip, 0, t))] for t, keys in ((start, a), (end, b))]
        sizes = [math.sqrt(sum(v * v for v in end)) for end in ends]
        cosine = sum(v * w for v, w in zip(*ends, strict=True)) / math.prod(sizes)
        path, shortest = (
            path_deg(clip, 0, start, end),
            turn_deg(*([v / s for v in e] for e, s in zip(ends, sizes, strict=True))),
        )
        excess = 0.0 if path is None else path - shortest
        if cosine >= -1e-3 and least_norm(clip, start, end) < NORM_FLOOR * min(sizes) and excess > 1.5:
            wanted.append((start, end))
    got = [frames for frames, *_ in found(clip, RULE)]
    assert set(wanted) <= set(got)
    for start, end in set(got) - set(wanted):  # close to the limits only, which the oracle samples more coarsely
        assert least_norm(clip, start, end) < NORM_FLOOR * 1.001
        assert (path_deg(clip, 0, start, end) or 0.0) > 0.9


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
    mode = {0: [BACK, BACK], **{part: [LINEAR, LINEAR] for part in (1, 2, 3)}}
    values = np.array([[0.95, 0, 0, 0], [0.99, 0.1, 0, 0]])
    clip = quaternion_clip([1, 11], values, interpolation=mode, easing=[1, 1], easing_parameters=[60.0, 0.8, 4.1])
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
    repaired = assert_contract(clip, RULES, unsafe=True).subject
    assert {finding.code for finding in audit_clip(repaired)} <= {"QA106"}, "neither a flip nor a collapse is left"
