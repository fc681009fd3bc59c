# SPDX-License-Identifier: GPL-3.0-or-later
"""QA205 axis-angle-detour."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.pipeline import judge
from quat_audit.findings.finding import Finding
from quat_audit.motion.clip import (
    BEZIER,
    CONSTANT,
    CYCLE_REPEAT,
    CYCLE_REPEAT_OFFSET,
    LINEAR,
    Clip,
    Cycles,
)
from quat_audit.motion.readers import Drawn, Reader, Way
from quat_audit.rules import RULES
from quat_audit.rules.qa201_euler_wraparound import RULE as EULER_WRAP
from quat_audit.rules.qa205_axis_angle_detour import RULE
from tests.clips import (
    NAN,
    axis_angle_clip,
    euler_clip,
    free_handles,
    joined,
    quaternion_clip,
    track_clip,
    turns,
    values_of,
)
from tests.contract import assert_contract, found
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, turn_deg
from tests.rules.test_qa201 import CASES as EULER_CASES

X, Y, Z = np.eye(3)
# Any axis will do, of any length; opposite ones are opposite bit for bit.
AXES = [Z, np.array([0.6, -0.48, 0.64]), np.array([-3.0, 5.0, 1.0]), np.array([2e-3, 1e-3, 3e-3])]
VISIBLE, LATENT = ("visible", "error", "safe"), ("latent", "warning", "safe")
AMBIGUOUS, STRADDLING = ("ambiguous", "note", "unsafe"), ("ambiguous-straddling", "warning", "unsafe")
SAFE, UNSAFE = ("harmless", "note", "safe"), ("harmless", "note", "unsafe")


def only(clip: Clip) -> Finding:
    (finding,) = audit_clip(clip, [RULE])
    return finding


def keyed(clip: Clip) -> np.ndarray:
    """(N, 4) keys, the angle in degrees."""
    values = values_of(clip).astype(float)
    values[:, 0] = np.degrees(values[:, 0])
    return values


def swept(clip: Clip, *frames: float) -> float:
    length = path_deg(clip, 0, *frames)
    assert length is not None
    return length


# ---- whole turns: as a channel of Euler angles ---------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", EULER_CASES)
def test_an_angle_is_judged_as_an_euler_channel_is(name: str) -> None:
    frames, degrees, expected = EULER_CASES[name]
    axis = AXES[len(name) % len(AXES)]
    clip = axis_angle_clip(frames, degrees, axis)
    assert found(clip, RULE) == expected
    assert_contract(clip, RULE)
    euler = euler_clip(frames, np.column_stack([np.zeros((len(frames), 2)), degrees]))
    after, other = (repair_clip(c, [r], unsafe=True).subject for c, r in ((clip, RULE), (euler, EULER_WRAP)))
    np.testing.assert_allclose(values_of(after)[:, 0], values_of(other)[:, 2], atol=1e-5)
    np.testing.assert_array_equal(values_of(after)[:, 1:], values_of(clip)[:, 1:])


# ---- the other direction of the axis -------------------------------------------------------------------------

# (frames, degrees about ±the axis, found, angles after all fixes)
TURNED_OVER: dict[str, tuple[list[float], list[tuple[float, int]], list[tuple[str, str, str]], list[float]]] = {
    "10 as -10": ([1, 5], [(9, 1), (-10, -1)], [VISIBLE], [9, 10]),
    "X-Plane": ([1, 20, 40], [(80, 1), (-90, -1), (100, 1)], [VISIBLE, VISIBLE], [80, 90, 100]),
    "no frame drawn between": ([1, 2], [(80, 1), (-90, -1)], [LATENT], [80, 90]),
    "at half a turn": ([1, 3, 5], [(170, 1), (180, 1), (170, -1)], [VISIBLE], [170, 180, 190]),
    "the same half turn": ([1, 3], [(180, 1), (180, -1)], [VISIBLE], [180, 180]),
    "the same half turn, no frame at its middle": ([1, 4], [(180, 1), (180, -1)], [], [180, 180]),
    "and whole turns": ([1, 3, 5], [(10, 1), (350, -1), (20, 1)], [VISIBLE, VISIBLE], [10, 10, 20]),
    "equally long, but it turns over": ([1, 4], [(59, 1), (59, -1)], [VISIBLE], [59, -59]),
    "119.98 apart": ([1, 4], [(60, 1), (59.98, -1)], [VISIBLE], [60, -59.98]),
    "120 apart": ([1, 4], [(60, 1), (60, -1)], [AMBIGUOUS], [60, -60]),
    "a degree off": ([1, 4], [(1.5, 1), (1.5, -1)], [VISIBLE], [1.5, -1.5]),
    "less than a degree off": ([1, 4], [(1.4, 1), (1.4, -1)], [], [1.4, 1.4]),
    "two turns": ([1, 4], [(0, 1), (725, -1)], [], [0, 725]),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("axis, dtype", list(zip(AXES, [np.float32, np.float64] * 2, strict=True)), ids=str)
@pytest.mark.parametrize("frames, keys, expected, after", TURNED_OVER.values(), ids=TURNED_OVER)
def test_the_axis_the_other_way(
    frames: Any, keys: Any, expected: Any, after: list[float], axis: Any, dtype: Any
) -> None:
    degrees, signs = np.array(keys, float).T
    clip = axis_angle_clip(frames, degrees, signs[:, None] * axis, dtype=dtype)
    assert [f[1:] for f in found(clip, RULE)] == expected
    assert_contract(clip, RULE)
    fixed = assert_contract(clip, RULE, unsafe=True).subject
    if expected:
        np.testing.assert_allclose(keyed(fixed)[:, 0], after, atol=1e-3)
        np.testing.assert_array_equal(keyed(fixed)[:, 1:], np.tile(np.asarray(axis, dtype), (len(frames), 1)))


# ---- an axis at 0° --------------------------------------------------------------------------------------------

RESTS: dict[str, tuple[list[float], list[Any], int, list[Any]]] = {
    "Blender's own axis": ([0, 90], [Y, X], 1, [X, X]),
    "and at the end": ([90, 0], [X, Y], 1, [X, X]),
    "a whole turn is a rest": ([360, 450], [Y, X], 1, [X, X]),
    "rests in a row": ([90, 0, 0, 0, 90], [X, Y, Y, Y, Z], 2, [X, X, Y, Z, Z]),
    "between two axes": ([90, 0, 90], [X, Y, Z], 1, [X, X, Z]),
    "between two axes, with one of them": ([90, 0, 90], [X, Z, Z], 0, [X, Z, Z]),
    "between opposite axes": ([45, 0, 45], [X, Y, -X], 2, [X, X, X]),
    "its axis is that of both": ([90, 0, 90], [X, X, X], 0, [X, X, X]),
    "nothing turns": ([0, 0, 0], [X, Y, -X], 0, [X, Y, -X]),
    "no axis": ([90, 0, 90], [X, 0 * X, X], 0, [X, 0 * X, X]),
    "a spin between two axes": ([0, 725], [Y, Z], 1, [Z, Z]),
    "a whole turn between rests": ([0, 360], [Y, Z], 0, [Y, Z]),
    "nearly 0": ([0.01, 90], [Y, X], 0, [Y, X]),
    "a small detour": ([0, 3], [Y, X], 0, [Y, X]),
    "a detour of a little more": ([0, 4], [Y, X], 1, [X, X]),
}


@pytest.mark.slow
@pytest.mark.parametrize("degrees, axes, count, after", RESTS.values(), ids=RESTS)
def test_the_axis_of_a_rest_is_a_neighbors(degrees: Any, axes: Any, count: int, after: Any) -> None:
    frames = [1 + 10 * n for n in range(len(degrees))]
    clip = axis_angle_clip(frames, degrees, axes)
    assert [f[1:] for f in found(clip, RULE)] == [VISIBLE] * count
    fixed = assert_contract(clip, RULE).subject
    np.testing.assert_allclose(keyed(fixed)[:, 1:], after, atol=1e-7)
    if count:
        assert "means nothing" in only(clip).message
        assert only(clip).occurrences.measured["nearest_deg"][0] < only(clip).occurrences.measured["swept_deg"][0] - 0.9


def test_what_it_says_and_measures() -> None:
    """REFERENCE.md, 28."""
    dense = axis_angle_clip([1, 3, 5, 7], [340, 350, 10, 20], Z)
    assert only(dense).message.endswith("swings 340.0° where 20.0° suffices")
    assert swept(dense, 1, 7) == pytest.approx(360.0, abs=0.1)
    assert swept(repair_clip(dense, [RULE]).subject, 1, 7) == pytest.approx(40.0, abs=1e-3)
    antipodal = axis_angle_clip([1, 20, 40], [80, -90, 100], [Z, -Z, Z])
    assert swept(antipodal, 1, 20) + swept(antipodal, 20, 40) == pytest.approx(380.0, abs=0.1)
    assert sum(only(antipodal).occurrences.measured["swept_deg"]) == pytest.approx(380.0, abs=4.0)
    assert swept(repair_clip(antipodal, [RULE]).subject, 1, 40) == pytest.approx(20.0, abs=1e-3)
    over = only(axis_angle_clip([1, 4], [59, 59], [Z, -Z]))
    assert over.message.endswith("the axis turns over on the way: 39.3° off the short way")


@pytest.mark.parametrize(
    "name, options, expected",
    [
        ("two frames", {}, VISIBLE),
        ("held", {"interpolation": CONSTANT}, SAFE),
        ("a frame", {"times": [1, 2]}, LATENT),
        ("a strip that plays at a third", {"times": [1, 1.5], "drawn": Drawn(spacing=0.2)}, VISIBLE),
        ("a strip that plays twice as fast", {"drawn": Drawn(spacing=2.0, start=1.0)}, LATENT),
    ],
)
def test_it_is_graded_by_what_is_drawn(name: str, options: dict[str, Any], expected: Any) -> None:
    shown = options.pop("drawn", None)
    for degrees, axes in (([350, 10], [Z, Z]), ([80, -90], [Z, -Z])):
        clip = axis_angle_clip(
            options.get("times", [1, 3]), degrees, axes, interpolation=options.get("interpolation", 1)
        )
        if shown is not None:
            path = clip.tracks.data_path[0]
            reader = Reader("Rig", ways={path: Way("AXIS_ANGLE", (0, 0, 1, 0))}, drawn=(shown,))
            clip = replace(clip, readers=(reader,))
        assert [f[1:] for f in found(clip, RULE)] == [expected]


def test_held_spins_are_left_and_held_rests_mean_nothing() -> None:
    assert [f[1:] for f in found(axis_angle_clip([1, 20], [0, 345], Z, interpolation=CONSTANT), RULE)] == [UNSAFE]
    assert found(axis_angle_clip([1, 20, 30], [90, 0, 90], [X, Y, X], interpolation=CONSTANT), RULE) == []


def test_unsafe_grades_as_if_frames_were_drawn_everywhere() -> None:
    clip = axis_angle_clip([1, 2], [350, 10], Z)
    assert [f[1] for f in found(clip, RULE, {"QA205": {"undrawn_shows": 1.0}})] == ["visible"]


@pytest.mark.parametrize(
    "options",
    [
        {"linear_extrapolation": True},
        {"cycles": Cycles(CYCLE_REPEAT_OFFSET, CYCLE_REPEAT_OFFSET, 0, 0)},
        {"cycles": Cycles(CYCLE_REPEAT, CYCLE_REPEAT_OFFSET, 0, 0)},
    ],
)
@pytest.mark.parametrize(
    "degrees, axes",
    [([340, 350, 10, 20], [Z] * 4), ([70, 80, -90, 100], [Z, Z, -Z, Z]), ([0, 10, 20, 30], [Y, Z, Z, Z])],
)
def test_what_goes_on_outside_is_ambiguous(degrees: Any, axes: Any, options: Any) -> None:
    clip = axis_angle_clip([1, 3, 5, 7], degrees, axes, **options)
    assert {f[3] for f in found(clip, RULE)} == {"unsafe"}
    assert assert_contract(clip, RULE).subject is clip
    repeats = axis_angle_clip([1, 3, 5, 7], degrees, axes, cycles=Cycles(CYCLE_REPEAT, CYCLE_REPEAT, 0, 0))
    assert {f[3] for f in found(repeats, RULE)} == {"safe"}
    assert_contract(repeats, RULE)


def test_steps_of_an_axis_that_turns_over_say_nothing_of_a_spin() -> None:
    """350° and then -330°, no spin by the numbers; but the first of them turns over."""
    clip = axis_angle_clip([1, 3, 5, 7], [-10, 340, 10, 20], [-Z, Z, Z, Z])
    assert [f[1:] for f in found(clip, RULE)] == [VISIBLE, VISIBLE]
    np.testing.assert_allclose(np.diff(keyed(assert_contract(clip, RULE).subject)[:, 0]), [30, -30, -10], atol=1e-3)


# ---- what moves along -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_any_representation_is_brought_back_to_a_smooth_one(seed: int) -> None:
    """A path keyed smoothly, its keys written otherwise: repaired it plays as the smooth one did, within a degree."""
    rng = np.random.default_rng(seed)
    count = 16
    times = 1.0 + 2.0 * np.arange(count)
    axes = rng.normal(size=3) + np.arange(count)[:, None] * rng.normal(size=3) * (seed % 3) * 0.1
    axes *= rng.uniform(0.5, 2.0) / np.linalg.norm(axes, axis=1, keepdims=True)
    degrees = np.cumsum(rng.uniform(-30, 30, count)) + rng.choice([0.0, 170.0, 350.0])
    smooth = axis_angle_clip(times, degrees, axes, dtype=np.float64)
    assert found(smooth, RULE) == []
    sign = rng.choice([-1.0, 1.0], count)
    # Written within one turn, as a converter does it: two wraps in a row would be a spin.
    turned = sign * degrees
    turned -= 360.0 * np.floor(turned / 360.0 + 0.5)
    messy = axis_angle_clip(times, turned, axes * sign[:, None], dtype=np.float64)
    after = assert_contract(messy, RULE).subject
    length = np.array([[swept(c, *step) for step in pairwise(times)] for c in (smooth, messy, after)])
    assert (length[1] - length[0]).max() > 50.0
    assert (length[2] - length[0]).max() < 1.0
    np.testing.assert_array_equal(values_of(after)[0], values_of(messy)[0])  # all others are told from the first key


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_handles_move_with_their_key(dtype: Any) -> None:
    rng = np.random.default_rng(4)
    times = np.array([1.0, 3.0, 5.0, 7.0, 9.0])
    degrees = np.array([340.0, 350.0, 10.0, -20.0, -30.0])
    axes = np.array([Z, Z, Z, -Z, -Z])
    values = np.column_stack([np.radians(degrees), axes])
    left, right = free_handles(rng, times, values, spread=0.05, reach=0.4)
    clip = axis_angle_clip(times, degrees, axes, interpolation=BEZIER, handles=(left, right), dtype=dtype)
    after = assert_contract(clip, RULE).subject
    np.testing.assert_allclose(keyed(after)[:, 0], [340, 350, 370, 380, 390], atol=1e-3)
    turn, sign = 2 * np.pi * np.array([0, 0, 1, 1, 1]), np.array([1, 1, 1, -1, -1])
    for part in range(4):
        rows = clip.curves.rows(part)
        for name in ("handle_left", "handle_right"):
            was, now = getattr(clip.curves, name)[rows], getattr(after.curves, name)[rows]
            np.testing.assert_array_equal(was[:, 0], now[:, 0])
            np.testing.assert_allclose(now[:, 1], sign * was[:, 1] + (turn if part == 0 else 0.0), atol=2e-6)
    # What follows the last changed step plays as before.
    for time in (7.3, 8.0, 8.9):
        a, b = (scalar_rotation(c, 0, scalar_raw(c, 0, time)) for c in (clip, after))
        assert a is not None and b is not None
        assert turn_deg(a, b) < 1e-4


def test_a_rest_gets_level_handles_with_its_new_axis() -> None:
    clip = axis_angle_clip([1, 11], [0, 90], [Y, X], interpolation=BEZIER, handles="thirds", dtype=np.float64)
    curves = assert_contract(clip, RULE).subject.curves
    for part, level in ((1, 1.0), (2, 0.0), (3, 0.0)):
        assert curves.handle_right[curves.rows(part)][0].tolist() == [clip.curves.handle_right[2 * part][0], level]
    assert curves.handle_right[0].tolist() == clip.curves.handle_right[0].tolist()


def test_keys_that_are_no_rotation_are_passed_over() -> None:
    degrees, axes = [350, 10, 45, 20, 0], [Z, Z, 0 * Z, -Z, Y]
    clip = axis_angle_clip([1, 3, 4, 5, 7], degrees, axes)
    assert [f[:2] for f in found(clip, RULE)] == [((1, 3), "visible"), ((3, 5), "visible"), ((5, 7), "visible")]
    after = keyed(assert_contract(clip, RULE).subject)
    np.testing.assert_allclose(after[[0, 1, 3, 4], 0], [350, 370, 340, 360], atol=1e-3)
    np.testing.assert_array_equal(after[2], keyed(clip)[2])


# ---- what is not judged, and what is there in part -------------------------------------------------------------


def test_sound_tracks_and_other_kinds_are_silent() -> None:
    spin = axis_angle_clip([1, 20, 40], [0, 720, 740], [0.3, 0.4, -0.5])
    clip = joined(
        spin,
        axis_angle_clip([1, 2, 3], [170, 180, 190], AXES[1], bone="Two"),
        quaternion_clip([1, 3], turns("Z", [350, 10]), bone="Q"),
        euler_clip([1, 3], [[0, 0, 350], [0, 0, 10]], bone="E"),
    )
    assert found(clip, RULE) == []
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip
    assert audit_clip(spin) == []


def test_components_keyed_apart_are_not_evaluated() -> None:
    times, rows = [1.0, 3.0, 5.0], np.column_stack([np.radians([350, 10, 20]), [Z, -Z, Z]])
    keys = {part: (times, rows[:, part]) for part in range(4)}
    apart = track_clip("AXIS_ANGLE", keys | {3: ([1.0, 5.0], [1.0, 1.0])})
    assert found(apart, RULE) == []
    (row,) = judge(apart).not_evaluated
    assert row[0] == 'Action: pose.bones["Arm"].rotation_axis_angle' and "different times" in str(row[1])
    assert judge(track_clip("AXIS_ANGLE", keys)).not_evaluated == ()
    unknown = track_clip("AXIS_ANGLE", {0: keys[0], 3: keys[3]}, pose=[NAN] * 4)
    assert found(unknown, RULE) == []
    (row,) = judge(unknown).not_evaluated
    assert "nobody tells" in str(row[1])


@pytest.mark.parametrize("pose", [(0.0, 0.6, -0.48, 0.64), (NAN, NAN, NAN, NAN)])
def test_the_angle_alone_is_unwrapped(pose: Any) -> None:
    clip = axis_angle_clip([1, 3, 5], [350, 10, 20], Z, components=[0], pose=pose)
    assert [f[1:] for f in found(clip, RULE)] == [VISIBLE]
    after = assert_contract(clip, RULE).subject
    np.testing.assert_allclose(np.degrees(after.curves.co[:, 1]), [350, 370, 380], atol=1e-3)
    assert judge(clip).not_evaluated == ()


def test_an_axis_with_a_fixed_part_is_not_turned_over() -> None:
    options: dict[str, Any] = {"components": [0, 3], "pose": (0.0, 0.0, 1.0, 0.0)}
    clip = axis_angle_clip([1, 5], [80, -90], [Z, -Z], **(options | {"pose": (0.0, 0.0, 0.0, 0.0)}))
    assert [f[1:] for f in found(clip, RULE)] == [("visible", "error", "none")]
    assert assert_contract(clip, RULE).subject is clip
    turned = axis_angle_clip([1, 3], [350, 10], Z, **options)
    assert [f[1:] for f in found(turned, RULE)] == [VISIBLE]
    assert_contract(turned, RULE)


def test_nobody_plays_it_no_more_than_a_note() -> None:
    clip = axis_angle_clip([1, 3], [350, 10], Z, modes=("XYZ",))
    (finding,) = audit_clip(clip, [RULE])
    assert finding.severity == "note"


def test_mixed_readers_and_drivers_make_it_unsafe() -> None:
    clip = axis_angle_clip([1, 20, 40], [80, -90, 100], [Z, -Z, Z])
    path = clip.tracks.data_path[0]
    plain = Reader("Rig", ways={path: Way("AXIS_ANGLE", (0, 0, 1, 0))})
    assert only(replace(clip, readers=(plain,))).fix == "safe"
    mixed = replace(plain, route="strip", by="Walk", mixed="influence 0.5", mixed_paths=frozenset({path}))
    driver = Reader("Prop", route="driver", by="scale", reads=frozenset({(path, 0)}))
    for other in (mixed, driver):
        both = replace(clip, readers=(plain, other))
        assert only(both).fix == "unsafe"
        assert repair_clip(both, [RULE]).subject is both


def test_all_rules_leave_a_repaired_axis_angle_alone() -> None:
    clip = axis_angle_clip([1, 3, 5, 7, 9], [340, 350, 10, -20, 0], [Z, Z, Z, -Z, Y], interpolation=LINEAR)
    after = assert_contract(clip, RULES).subject
    assert audit_clip(after) == []
    assert {f.code for f in audit_clip(clip)} == {"QA205"}
