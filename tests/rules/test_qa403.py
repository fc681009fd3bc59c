# SPDX-License-Identifier: GPL-3.0-or-later
"""QA403 tangent-overshoot."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BACK, BEZIER, BOUNCE, CONSTANT, ELASTIC, EULER, LINEAR, QUATERNION, SINE, Clip
from quat_audit.motion.handles import segment_bend
from quat_audit.rules import RULES
from quat_audit.rules.qa403_tangent_overshoot import RULE
from tests.clips import (
    automatic,
    euler_clip,
    free_handles,
    hermite_clip,
    joined,
    left_behind,
    quaternion_clip,
    random_path,
    thirds,
    track_clip,
    turns,
)
from tests.contract import assert_contract, assert_same, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, scalar_slerp, turn_deg

TIMES = np.array([1.0, 11.0, 21.0])


def eased_clip(times: Any, values: Any, clamped: bool, kind: str = QUATERNION) -> Clip:
    """Keys with automatic handles, as Blender sets them, or clamped ones."""
    values = np.asarray(values, float)
    handles = {part: automatic(times, column, clamped=clamped) for part, column in enumerate(values.T)}
    keys = {part: (times, column) for part, column in enumerate(values.T)}
    return track_clip(kind, keys, interpolation=BEZIER, handles=handles, dtype=np.float64)


def angle_clip(times: Any, degrees: Any, left_deg: dict[int, float], right_deg: dict[int, float], **more: Any) -> Clip:
    """A turn about Z keyed in Euler angles, with some handles at other angles than a third of the way."""
    z = np.radians(degrees)
    left, right = thirds(times, z)
    for handle, moved in ((left, left_deg), (right, right_deg)):
        for key, value in moved.items():
            handle[key, 1] = math.radians(value)
    still = np.zeros(len(z))
    handles = {0: thirds(times, still), 1: thirds(times, still), 2: (left, right)}
    keys = np.stack([still, still, np.asarray(degrees, float)], axis=1)
    return euler_clip(times, keys, interpolation=BEZIER, handles=handles, **more)


def beyond(clip: Clip, start: float, end: float) -> float:
    """Degrees by which the path is off the arc, by brute force: the nearest of many points of the slerp."""
    ends = [scalar_rotation(clip, 0, scalar_raw(clip, 0, t)) for t in (start, end)]
    assert ends[0] is not None and ends[1] is not None
    arc = [scalar_slerp(ends[0], ends[1], part) for part in np.linspace(0, 1, 200)]
    worst = 0.0
    for time in np.linspace(start, end, 65)[1:-1]:
        played = scalar_rotation(clip, 0, scalar_raw(clip, 0, float(time)))
        assert played is not None
        worst = max(worst, min(turn_deg(played, point) for point in arc))
    return worst


def test_automatic_handles_beyond_a_key_that_holds() -> None:
    """The second step is a hold, and its handles go on rising: beyond the end, not beside the arc."""
    for clip, within in (
        (eased_clip(TIMES, turns("X", [0, 90, 90]), clamped=False), 0.1),
        (eased_clip(TIMES, np.radians([[0, 0, 0], [90, 0, 0], [90, 0, 0]]), clamped=False, kind=EULER), 0.1),
    ):
        assert found(clip, RULE) == [((11, 21), "visible", "warning", "unsafe")]
        assert measured(clip, RULE, "overshoot_deg")[0] == pytest.approx(beyond(clip, 11, 21), abs=within)
        assert measured(clip, RULE, "detour_deg")[0] == pytest.approx(2 * beyond(clip, 11, 21), abs=2 * within)


def test_a_smooth_corner_swings_to_the_side() -> None:
    clip = eased_clip(TIMES, [*turns("X", [0]), *turns("Y", [90]), *turns("Z", [90])], clamped=False)
    assert found(clip, RULE)[0] == ((1, 11), "visible", "warning", "unsafe")
    assert measured(clip, RULE, "overshoot_deg")[0] == pytest.approx(beyond(clip, 1, 11), abs=0.1)
    assert measured(clip, RULE, "detour_deg")[0] < 4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [QUATERNION, EULER])
def test_ordinary_ease_is_silent(seed: int, kind: str) -> None:
    """Clamped automatic handles, straight ones, flat ones of any length, easing equations, straight lines, holds."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(2, 12, 8))
    values = random_path(rng, 8) if kind == QUATERNION else np.radians(rng.uniform(-80, 80, (8, 3)))
    keys = {part: (times, column) for part, column in enumerate(values.T)}
    flat = {}
    for part, column in enumerate(values.T):
        left, right = (np.stack([times, column], axis=1) for _ in range(2))
        left[:, 0] -= rng.uniform(0, 8, 8)
        right[:, 0] += rng.uniform(0, 8, 8)
        flat[part] = left, right
    mixed = rng.choice([CONSTANT, LINEAR, BEZIER], (4, 8))
    for clip in (
        eased_clip(times, values, clamped=True, kind=kind),
        track_clip(kind, keys, interpolation=BEZIER, handles="thirds"),
        track_clip(kind, keys, interpolation=BEZIER, handles=flat),
        track_clip(kind, keys, interpolation=SINE, easing=[0] * 8),
        track_clip(kind, keys, interpolation=BOUNCE, easing=[1] * 8),
        track_clip(kind, keys, interpolation=LINEAR),
        track_clip(kind, keys, interpolation=CONSTANT),
        track_clip(kind, keys, interpolation={part: mixed[part] for part in keys}, handles=flat),
    ):
        assert found(clip, RULE) == []


def test_a_detour_by_the_order_of_the_axes_is_another_rules() -> None:
    for mode in (LINEAR, BEZIER):
        clip = euler_clip([1, 21], [[0, 0, 0], [90, 80, 0]], interpolation=mode, handles="thirds")
        assert beyond(clip, 1, 21) == pytest.approx(17.1469, abs=0.05)
        assert path_deg(clip, 0, 1, 21) == pytest.approx(120.4158, abs=0.05)
        assert found(clip, RULE) == []


def test_a_component_that_holds_is_not_accused() -> None:
    q = turns((1, 1, 0), [0, 80, 80])
    handles = {part: automatic(TIMES, q[:, part], clamped=False) for part in range(4)}
    modes = {part: [CONSTANT] * 3 if part else [BEZIER] * 3 for part in range(4)}
    keys = {part: (TIMES, q[:, part]) for part in range(4)}
    one = track_clip(QUATERNION, keys, interpolation=modes, handles=handles, dtype=np.float64)
    # Only w plays, beyond its second key: that is left of the overshoot of all four.
    whole = eased_clip(TIMES, q, clamped=False)
    assert found(one, RULE) == [] or measured(one, RULE, "overshoot_deg") < measured(whole, RULE, "overshoot_deg")
    assert found(track_clip(QUATERNION, keys, interpolation=CONSTANT, handles=handles), RULE) == []


@pytest.mark.parametrize(
    "beyond_deg, first, severity",
    [(1.95, 1.0, None), (2.05, 1.0, "note"), (4.9, 1.0, "note"), (5.05, 1.0, "warning"), (29.0, 1.0, "warning")],
)
def test_grading_by_degrees(beyond_deg: float, first: float, severity: str | None) -> None:
    # From 0 to 0: the middle of the segment is at 3/4 of the height of its handles.
    times = [first, first + 10]
    clip = angle_clip(times, [0, 0], {1: beyond_deg / 0.75}, {0: beyond_deg / 0.75})
    assert [s for *_, s, _ in found(clip, RULE)] == ([severity] if severity else [])


def test_an_error_is_a_detour_of_more_than_60_degrees_on_a_drawn_frame() -> None:
    for height, gap, kind, severity in (
        (29.9, 10.0, "visible", "warning"),
        (30.1, 10.0, "visible", "error"),
        (30.1, 1.0, "latent", "note"),
        (30.1, 1.25, "visible", "error"),
    ):
        clip = angle_clip([1, 1 + gap], [0, 0], {1: height / 0.75}, {0: height / 0.75})
        assert found(clip, RULE) == [((1, 1 + gap), kind, severity, "unsafe")], (height, gap)
    retimed = found(angle_clip([1, 2], [0, 0], {1: 41}, {0: 41}), RULE, {"QA403": {"undrawn_shows": 1.0}})
    assert [severity for *_, severity, _ in retimed] == ["error"]


def test_handles_far_away() -> None:
    """0° to 20° with both handles at 600°; a key whose handles stayed a turn below when it was moved."""
    clip = angle_clip([1, 21], [0, 20], {1: 600}, {0: 600})
    clip = replace(clip, curves=replace(clip.curves, handle_right=_at(clip, 4, 8), handle_left=_at(clip, 5, 14)))
    assert found(clip, RULE) == [((1, 21), "visible", "error", "unsafe")]
    assert measured(clip, RULE, "swept_deg") == pytest.approx([885], abs=1)
    assert measured(clip, RULE, "straight_deg") == pytest.approx([20], abs=1e-3)
    # Above as is: 175° → 185° → 190°, with the handles of 185° at about −175°.
    moved = angle_clip([1, 11, 21, 31], [170, 175, 185, 190], {2: 185 - 360}, {2: 185 - 360})
    assert [(frames, severity) for frames, _, severity, _ in found(moved, RULE)] == [
        ((11, 21), "error"),
        ((21, 31), "error"),
    ]
    assert sum(measured(moved, RULE, "swept_deg")) + 5 == pytest.approx(641, abs=5)


def _at(clip: Clip, key: int, frame: float) -> np.ndarray:
    """The handles of the side that key needs (4: right, 5: left), at another frame."""
    points = (clip.curves.handle_right if key == 4 else clip.curves.handle_left).copy()
    points[key, 0] = frame
    return points


@pytest.mark.parametrize(
    "mode, parameters, swept",
    [(BACK, (30, 0.8, 4.1), 235), (ELASTIC, (1.7, 5, 4), 1299), (BACK, (1.70158, 0.8, 4.1), 0)],
)
def test_easing_equations(mode: int, parameters: tuple[float, ...], swept: float) -> None:
    clip = quaternion_clip(
        [1, 21], turns("X", [0, 40]), interpolation=mode, easing=[0, 0], easing_parameters=parameters, dtype=np.float64
    )
    if swept:
        assert found(clip, RULE) == [((1, 21), "visible", "error", "unsafe")]
        assert measured(clip, RULE, "swept_deg") == pytest.approx([swept], rel=2e-3)
    else:  # a tenth of the way beyond
        assert [severity for *_, severity, _ in found(clip, RULE)] == ["note"]
        assert measured(clip, RULE, "overshoot_deg") == pytest.approx([4.0], abs=0.3)


def test_cubic_tangents_that_are_not_scaled_by_the_time_step() -> None:
    """glTF CUBICSPLINE 0°, 20°, 40° with tangents per key instead of per second: on the arc, to and fro."""
    q = turns("X", [0, 20, 40])
    times = np.array([0.0, 20.0, 40.0])
    tangents = np.stack([q[1] - q[0], (q[2] - q[0]) / 2, q[2] - q[1]])
    clip = hermite_clip(times, q, tangents, format="gltf")
    assert [severity for *_, severity, _ in found(clip, RULE)] == ["error", "error"]
    for (start, end), swept in zip([(0, 20), (20, 40)], measured(clip, RULE, "swept_deg"), strict=True):
        assert swept == pytest.approx(path_deg(clip, 0, start, end), rel=0.01)
    # So far to and fro that it never leaves the arc: the degrees tell.
    inside = hermite_clip([0, 10], turns("X", [0, 150]), np.tile((turns("X", [150]) - turns("X", [0])) * 0.45, (2, 1)))
    assert beyond(inside, 0, 10) < 2
    assert found(inside, RULE) == [((0, 10), "visible", "error", "unsafe")]
    assert "straight lines" in audit_clip(inside, [RULE])[0].message
    right = hermite_clip(times, q, tangents / 20, format="gltf")
    assert found(right, RULE) == []


def test_a_step_is_reported_once() -> None:
    """A collapse is QA105, a sign flip QA104, a wrap QA201, with what automatic handles make of the steps beside it."""
    for clip, code in (
        (left_behind(20, range(4)), "QA105"),
        (left_behind(20, [0]), "QA105"),
        (eased_clip(TIMES, turns("X", [0, 20, 40]) * [[1], [-1], [-1]], clamped=False), "QA104"),
        (
            eased_clip(
                np.arange(6) * 2.0, np.radians([[0, 0, z] for z in (160, 165, 170, -175, -170, -165)]), False, EULER
            ),
            "QA201",
        ),
    ):
        assert {finding.code for finding in audit_clip(clip)} == {code}


def off(clip: Clip, raw: list[float], arc: list[list[float]]) -> float:
    played = scalar_rotation(clip, 0, raw)
    return 0.0 if played is None else min(turn_deg(played, point) for point in arc)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", [QUATERNION, EULER])
def test_what_is_not_sampled_does_not_overshoot(seed: int, kind: str) -> None:
    """Every handle within its bound: no step leaves the way that its components, kept between their keys, would go."""
    rng = np.random.default_rng(seed)
    spread = [0.004, 0.008, 0.02, 0.05, 0.2, 0.6][seed]
    times = np.arange(10) * 5.0
    values = (
        random_path(rng, 10) if kind == QUATERNION else np.radians(np.cumsum(rng.uniform(-40, 40, (10, 3)), axis=0))
    )
    build = quaternion_clip if kind == QUATERNION else euler_clip
    handles = free_handles(rng, times, values, spread)
    given = values if kind == QUATERNION else np.degrees(values)
    clip = build(times, given, interpolation=BEZIER, handles=handles, dtype=np.float64)
    silent = {frames for frames, *_ in found(clip, RULE)}
    others = {
        tuple(place)
        for finding in audit_clip(clip)
        if finding.code in ("QA105", "QA201")
        for place in finding.occurrences.frames.tolist()
    }
    for start, end in pairwise(times):
        if (start, end) in silent | others:
            continue
        ends = [scalar_raw(clip, 0, float(t)) for t in (start, end)]
        a, b = (scalar_rotation(clip, 0, raw) for raw in ends)
        assert a is not None and b is not None
        arc = [scalar_slerp(a, b, part) for part in np.linspace(0, 1, 100)]

        def off(raw: list[float], arc: list[list[float]] = arc) -> float:
            played = scalar_rotation(clip, 0, raw)
            return 0.0 if played is None else min(turn_deg(played, point) for point in arc)

        paths = [scalar_raw(clip, 0, float(t)) for t in np.linspace(start, end, 33)[1:-1]]
        kept = [
            [min(max(v, min(p)), max(p)) for v, p in zip(raw, zip(*ends, strict=True), strict=True)] for raw in paths
        ]
        assert max(map(off, paths)) - max(map(off, kept)) < 2.1


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_holds_for_every_segment(seed: int) -> None:
    """No Bézier is further from the straight line between its keys than its handles say, wherever they are in time."""
    rng = np.random.default_rng(seed)
    times, values = np.cumsum(rng.uniform(0.5, 6, 9)), rng.normal(size=(9, 4))
    clip = quaternion_clip(
        times, values, interpolation=BEZIER, handles=free_handles(rng, times, values, 1.0, reach=1.6), dtype=np.float64
    )
    bend = segment_bend(clip).reshape(4, 9)
    assert np.all(bend[:, -1] == 0)
    for key in range(8):
        for part in np.linspace(0, 1, 33)[1:-1]:
            time = times[key] + part * (times[key + 1] - times[key])
            straight = values[key] + part * (values[key + 1] - values[key])
            assert np.all(np.abs(np.array(scalar_raw(clip, 0, float(time))) - straight) <= bend[:, key] + 1e-6)


def test_safe_repair_leaves_it_alone() -> None:
    clip = angle_clip([1, 21], [0, 20], {1: 600}, {0: 600})
    assert repair_clip(clip, [RULE]).subject is clip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("height", [4.0, 20.0, 600.0])
def test_unsafe_repair_flattens_no_more_than_needed(height: float, dtype: Any) -> None:
    clip = angle_clip([1, 11, 21], [0, 0, 90], {1: height}, {0: height}, dtype=dtype)
    repair = assert_contract(clip, RULE, unsafe=True)
    after = repair.subject
    assert found(after, RULE) == [] and beyond(after, 1, 11) < 2.01
    # From the keys outward nothing moved, nor did the handles of the other step.
    assert after.curves.co.tobytes() == clip.curves.co.tobytes()
    assert np.array_equal(after.curves.handle_right[1::3], clip.curves.handle_right[1::3])
    was, now = clip.curves.handle_right[6, 1], after.curves.handle_right[6, 1]
    share = float(now / was)
    assert share == pytest.approx({4.0: 0.5, 20.0: 0.0, 600.0: 0.0}[height], abs=1e-6)
    assert repair.proof.keys_added == 0


def test_easing_gives_way_to_flat_handles() -> None:
    clip = quaternion_clip(
        [1, 21, 41],
        turns("X", [0, 40, 60]),
        interpolation=[BACK, SINE, SINE],
        easing=[0] * 3,
        easing_parameters=(30, 0.8, 4.1),
    )
    after = repair_clip(clip, [RULE], unsafe=True).subject
    assert found(after, RULE) == []
    assert after.curves.interpolation.reshape(4, 3).tolist() == [[BEZIER, SINE, SINE]] * 4
    assert path_deg(after, 0, 1, 21) == pytest.approx(40, abs=0.01)
    assert repair_clip(after, [RULE], unsafe=True).subject is after


def test_handles_that_take_their_own_time_are_repaired_too() -> None:
    """Two components in time, two out of it and beyond: level handles alone leave the path beside the arc."""
    q = turns((1, 1, 1), [0, 120])
    handles = {}
    for part in range(4):
        left, right = (np.stack([[1.0, 21.0], q[:, part]], axis=1) for _ in range(2))
        right[0] = (20.0 if part < 2 else 1.1), q[0, part] + (0.6 if part < 2 else 0.0)
        left[1] = (20.9 if part < 2 else 2.0), q[1, part] + (0.6 if part < 2 else 0.0)
        handles[part] = left, right
    clip = track_clip(
        QUATERNION, {p: ([1, 21], q[:, p]) for p in range(4)}, interpolation=BEZIER, handles=handles, dtype=np.float64
    )
    assert len(found(clip, RULE)) == 1
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert found(after, RULE) == []


def test_components_keyed_apart_have_no_fix() -> None:
    clip = eased_clip(TIMES, turns("X", [0, 90, 90]), clamped=False)
    whole = {part: (TIMES, turns("X", [0, 90, 90])[:, part]) for part in range(4)}
    whole[3] = (TIMES[[0, 2]], whole[3][1][[0, 2]])
    handles = {part: automatic(TIMES, turns("X", [0, 90, 90])[:, part], clamped=False) for part in range(3)}
    handles[3] = tuple(h[[0, 2]] for h in automatic(TIMES, turns("X", [0, 90, 90])[:, 3], clamped=False))
    apart = track_clip(QUATERNION, whole, interpolation=BEZIER, handles=handles, dtype=np.float64)
    assert [fix for *_, fix in found(clip, RULE)] == ["unsafe"]
    assert {fix for *_, fix in found(apart, RULE)} == {"none"}
    assert repair_clip(apart, [RULE], unsafe=True).subject is apart


def test_other_tracks_stay() -> None:
    beside = quaternion_clip([1, 6, 11], turns("X", [0, 20, 40]), bone="Leg", interpolation=BEZIER, handles="thirds")
    clip = joined(angle_clip([1, 21], [0, 20], {1: 600}, {0: 600}), beside)
    after = assert_contract(clip, RULES, unsafe=True, keys_kept=True).subject
    rows = slice(int(clip.curves.offsets[3]), None)
    assert after.curves.handle_left[rows].tobytes() == clip.curves.handle_left[rows].tobytes()
    clean = eased_clip(TIMES, turns("X", [0, 45, 90]), clamped=True)
    assert_same(clean, repair_clip(clean, unsafe=True).subject)
