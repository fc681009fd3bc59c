# SPDX-License-Identifier: GPL-3.0-or-later
"""QA204 long-way-round."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, EULER, EULER_ORDERS, LINEAR, SINE, Clip
from quat_audit.rules import RULES
from quat_audit.rules.qa204_long_way_round import RULE
from tests.clips import euler_clip, joined, quaternion_clip, times_of, track_clip, turns
from tests.contract import assert_contract, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, scalar_slerp, turn_deg


def across(order: str = "XYZ", half_deg: float = 44.9, off_deg: float = 30.0) -> np.ndarray:
    """Two keys (2, 3), degrees, of which the middle angle passes 90° while the outer two nearly cancel each other.

    The equivalent triple is a little further away, so no wrap. In cyclic orders (XYZ, YZX, ZXY) the outer two cancel
    when they turn the same way, in the others when they turn against each other.
    """
    keys = np.array([[-half_deg] * 3, [half_deg] * 3])
    keys[:, "XYZ".index(order[2])] *= 1 if order in ("XYZ", "YZX", "ZXY") else -1
    keys[:, "XYZ".index(order[1])] = 90 - off_deg, 90 + off_deg
    return keys


def shortest(clip: Clip, start: float, end: float) -> float:
    a, b = (scalar_rotation(clip, 0, scalar_raw(clip, 0, t)) for t in (start, end))
    assert a is not None and b is not None
    return turn_deg(a, b)


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_a_detour_by_the_order_of_the_axes(order: str) -> None:
    clip = euler_clip([1, 21], across(order), order)
    assert found(clip, RULE) == [((1, 21), "visible", "warning", "unsafe")]
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(65.56, abs=0.1)
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(path_deg(clip, 0, 1, 21), rel=0.01)
    assert measured(clip, RULE, "shortest_deg")[0] == pytest.approx(shortest(clip, 1, 21), abs=1e-3)
    assert [finding.code for finding in audit_clip(clip)] == ["QA204"]


@pytest.mark.parametrize("half_deg, off_deg, reported", [(44.9, 12.6, False), (44.9, 14, True), (42, 30, False)])
def test_just_inside_and_outside_of_both_limits(half_deg: float, off_deg: float, reported: bool) -> None:
    """10° longer, and half as much again."""
    clip = euler_clip([1, 21], across("XYZ", half_deg, off_deg))
    swept, least = path_deg(clip, 0, 1, 21), shortest(clip, 1, 21)
    assert swept is not None
    assert (swept >= least + 10 and swept >= 1.5 * least) is reported
    assert swept > least + (9 if half_deg > 44 else 10) and swept > 1.4 * least
    assert bool(found(clip, RULE)) is reported


def test_a_long_step_that_is_a_little_longer_is_none() -> None:
    """6° more than 114.4° is how Euler angles are."""
    clip = euler_clip([1, 21], [[0, 0, 0], [90, 80, 0]])
    assert path_deg(clip, 0, 1, 21) - shortest(clip, 1, 21) == pytest.approx(6.01, abs=0.05)
    assert found(clip, RULE) == []


@pytest.mark.parametrize(
    "times, kind, severity",
    [
        ([1, 21], "visible", "warning"),
        ([1, 3], "visible", "warning"),
        ([1, 2], "latent", "note"),
        ([1.25, 1.75], "latent", "note"),
    ],
)
def test_grading_by_what_is_drawn(times: list[float], kind: str, severity: str) -> None:
    clip = euler_clip(times, across())
    assert found(clip, RULE) == [((times[0], times[1]), kind, severity, "unsafe")]


def test_wraps_spins_handles_and_holds_are_others() -> None:
    wrap = euler_clip([1, 3], [[0, 0, 170], [0, 0, -170]])
    spin = euler_clip([1, 25], [[0, 0, 0], [0, 0, 360]])
    held = euler_clip([1, 21], across(), interpolation=CONSTANT)
    still = euler_clip([1, 21], [across()[0]] * 2)
    # Handles that lead far out on straight angles: QA403.
    values = np.radians([[0.0, 0.0, 0.0], [0.0, 0.0, 20.0]])
    left, right = (np.stack([np.repeat([[1.0], [21.0]], 3, axis=1), values], axis=-1) for _ in range(2))
    right[0, 2], left[1, 2] = (8, np.radians(200)), (14, np.radians(200))
    far = euler_clip([1, 21], np.degrees(values), interpolation=BEZIER, handles=(left, right))
    for clip, codes in ((wrap, {"QA201"}), (spin, {"QA203"}), (held, set()), (still, set()), (far, {"QA403"})):
        assert {finding.code for finding in audit_clip(clip)} == codes


@pytest.mark.parametrize("seed", range(6))
def test_every_step_that_is_long_enough_is_found_and_no_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = EULER_ORDERS[seed]
    times = 1 + np.arange(16) * 8.0
    values = np.cumsum(rng.uniform(-55, 55, (16, 3)), axis=0)
    for row in range(1, 15, 2):
        turn = 360 * rng.integers(-1, 2, 3)
        values[row : row + 2] = (
            across(order, rng.uniform(44, 45), rng.uniform(12, 40)) + rng.uniform(-0.5, 0.5, 3) + turn
        )
    clip = euler_clip(times, values, order, dtype=np.float64)
    reported = {
        tuple(place)
        for finding in audit_clip(clip)
        if finding.code in ("QA201", "QA203")
        for place in finding.occurrences.frames.tolist()
    }
    wanted = []
    for start, end in pairwise(times):
        swept, least = path_deg(clip, 0, start, end), shortest(clip, start, end)
        assert swept is not None
        # The oracle's chords are a little short of the path: leave out what is close to a limit.
        if abs(swept - max(least + 10, 1.5 * least)) < 0.1:
            continue
        if swept >= max(least + 10, 1.5 * least) and (start, end) not in reported:
            wanted.append((start, end))
    assert len(wanted) > 2
    assert [frames for frames, *_ in found(clip, RULE)] == wanted


def test_safe_repair_leaves_it_alone() -> None:
    clip = euler_clip([1, 21], across())
    assert repair_clip(clip, [RULE]).subject is clip


# Through the pole itself, close beside it, and further away; the other way round.
STEPS = [
    across(),
    across("XYZ", 44.9, 15),
    across("XYZ", 44.5, 35) + np.array([0, 0, 0.7]),
    across()[::-1] + np.array([360, 0, -3]),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(STEPS)))
@pytest.mark.parametrize("mode", [LINEAR, BEZIER, SINE])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unsafe_repair_goes_the_short_way(number: int, mode: int, dtype: Any) -> None:
    first, second = STEPS[number]
    keys = [first, second, second + np.array([10, -20, 5])]
    easing = {"easing": [0] * 3} if mode == SINE else {}
    clip = euler_clip([1, 41, 61], keys, interpolation=mode, handles="thirds", dtype=dtype, **easing)
    assert found(clip, RULE) == [((1, 41), "visible", "warning", "unsafe")]
    after = assert_contract(clip, RULE, unsafe=True).subject
    least = shortest(clip, 1, 41)
    travelled = sum(path_deg(after, 0, float(a), float(b)) or 0.0 for a, b in pairwise(times_of(after)) if b <= 41)
    assert travelled == pytest.approx(least, rel=0.05)
    a, b = (scalar_rotation(clip, 0, scalar_raw(clip, 0, t)) for t in (1.0, 41.0))
    assert a is not None and b is not None
    arc = [scalar_slerp(a, b, part) for part in np.linspace(0, 1, 101)]
    for time in np.linspace(1, 41, 41):
        played = scalar_rotation(after, 0, scalar_raw(after, 0, float(time)))
        assert played is not None and min(turn_deg(point, played) for point in arc) < 1.5
    # What plays afterwards plays as before, whatever representation it has now.
    for time in np.linspace(41, 61, 9):
        was, now = (scalar_rotation(c, 0, scalar_raw(c, 0, float(time))) for c in (clip, after))
        assert was is not None and now is not None and turn_deg(was, now) < 1e-3
    assert audit_clip(after) == []


def test_components_keyed_apart_have_no_fix() -> None:
    keys = {part: ([1, 21], np.radians(across())[:, part]) for part in range(3)}
    keys[1] = ([1, 20.5, 21], np.radians([60, 118.5, 120]))
    clip = track_clip(EULER, keys)
    assert {fix for *_, fix in found(clip, RULE)} == {"none"}
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip


def test_a_step_too_short_for_a_key_keeps_its_keys() -> None:
    clip = euler_clip([1, 1.02], across())
    assert len(found(clip, RULE)) == 1
    repair = assert_contract(clip, RULE, unsafe=True)
    assert repair.subject is clip and len(repair.refused) == 1


def test_other_tracks_stay() -> None:
    beside = quaternion_clip([1, 6, 11], turns("X", [0, 20, 40]), bone="Leg", interpolation=BEZIER, handles="thirds")
    clip = joined(euler_clip([1, 21], across()), beside)
    after = assert_contract(clip, RULES, unsafe=True).subject
    assert [after.curves.counts[c] for c in after.tracks.curves[1]] == [3] * 4
