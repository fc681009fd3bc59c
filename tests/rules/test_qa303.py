# SPDX-License-Identifier: GPL-3.0-or-later
"""QA303 misaligned-components."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, CUBIC, CYCLE_REPEAT, EULER, LINEAR, QUATERNION, Clip, Cycles
from quat_audit.rules.qa303_misaligned_components import RULE
from tests.clips import NAN, euler_clip, free_handles, joined, quaternion_clip, track_clip, turns
from tests.contract import assert_contract, assert_same
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_raw, scalar_rotation, turn_deg


def about_x(degrees: float) -> tuple[float, float]:
    return math.cos(math.radians(degrees) / 2), math.sin(math.radians(degrees) / 2)


def apart(**options: Any) -> Clip:
    """W and X keyed apart: 60° at frame 20; X has a key more at frame 10, off the straight line by a little or much."""
    w, x = about_x(60)
    middle = options.pop("middle", x / 2)
    keys: dict[int, Any] = {
        0: ([1, 19], [1, w]),
        1: ([1, 10, 19], [0, middle, x]),
        2: ([1, 19], [0, options.pop("off_plane", 0.0)]),
        3: ([1, 19], [0, 0]),
    }
    return track_clip(QUATERNION, keys, **options)


def found(clip: Clip) -> list[tuple[str, str, str, float, int]]:
    """(class, severity, fix, degrees off the arc, gaps)."""
    return [
        (
            str(f.occurrences.kind[0]),
            f.severity,
            f.fix,
            round(float(f.occurrences.measured["off_arc_deg"][0]), 2),
            int(f.occurrences.measured["times"][0]),
        )
        for f in audit_clip(clip, [RULE])
    ]


def test_found_and_graded():
    assert found(apart()) == [("slight", "note", "safe", 0.0, 3)]
    assert found(quaternion_clip([1, 10, 20], turns("X", [0, 20, 60]))) == []
    assert found(euler_clip([1, 10], [[0, 0, 0], [1, 2, 3]])) == []
    assert found(track_clip(EULER, {0: ([1, 10], [0, 1]), 1: ([1, 5], [0, 1])})) == []
    # Absent components are QA302; those that are there must still be keyed together.
    assert found(track_clip(QUATERNION, {0: ([1, 10], [1, 0.9]), 1: ([1, 10], [0, 0.1])})) == []
    assert [f[4] for f in found(track_clip(QUATERNION, {0: ([1, 10], [1, 0.9]), 1: ([1, 5], [0, 0.1])}))] == [2]


@pytest.mark.parametrize("late, gaps", [(0.0, 0), (0.004, 0), (0.009, 0), (0.02, 8), (0.5, 8)])
def test_tolerance_of_a_hundredth_of_a_frame(late, gaps):
    q = turns("X", [0, 60])
    keys = {c: ([1 + late * (c == 2), 20 + late * (c == 2)], q[:, c]) for c in range(4)}
    clip = track_clip(QUATERNION, keys)
    assert [f[4] for f in found(clip)] == ([gaps] if gaps else [])
    assert_contract(clip, RULE)


def off_arc_by_hand(clip: Clip, start: float, end: float) -> float:
    """Largest distance in degrees of the played rotation from any rotation of the arc between two times."""
    ends = [scalar_rotation(clip, 0, scalar_raw(clip, 0, t)) for t in (start, end)]
    a, b = np.array(ends[0]), np.array(ends[1])
    angle = math.acos(float(np.clip(a @ b, -1, 1)))
    arc = [(math.sin((1 - u) * angle) * a + math.sin(u * angle) * b) / math.sin(angle) for u in np.linspace(0, 1, 400)]
    worst = 0.0
    for u in np.linspace(0, 1, 33):
        now = scalar_rotation(clip, 0, scalar_raw(clip, 0, start + u * (end - start)))
        assert now is not None
        worst = max(worst, min(turn_deg(now, list(on)) for on in arc))
    return worst


def test_degrees_off_the_arc():
    """Y eases in by its own handles while W and X run straight: the rotation leaves the arc between the keys."""
    w, x, y = 0.8, 0.36, 0.48
    handles = {
        c: (np.array([[1, 0], [13, v]], float), np.array([[7, 0 + (c == 0)], [19, v]], float))
        for c, v in enumerate((w, x, y, 0))
    }
    handles[2] = (np.array([[1, 0], [18, 0.1]], float), np.array([[17, 0], [19, y]], float))
    keys: dict[int, Any] = {c: ([1, 19], [float(c == 0), v]) for c, v in enumerate((w, x, y, 0))}
    keys[3] = ([1, 10, 19], [0, 0, 0])
    handles[3] = (np.array([[1, 0], [9, 0], [19, 0]], float), np.array([[1, 0], [11, 0], [19, 0]], float))
    clip = track_clip(QUATERNION, keys, interpolation=BEZIER, handles=handles)
    expected = max(off_arc_by_hand(clip, 1, 10), off_arc_by_hand(clip, 10, 19))
    ((kind, severity, fix, off, _),) = found(clip)
    assert off == pytest.approx(expected, rel=0.05) and expected > 5
    assert (kind, severity, fix) == ("visible", "warning", "safe")
    assert_contract(clip, RULE)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("interpolation", [CONSTANT, LINEAR, BEZIER])
@pytest.mark.parametrize("seed", range(3))
def test_nothing_moves_anywhere(seed, interpolation, dtype):
    rng = np.random.default_rng([seed, interpolation])
    keys, handles = {}, {}
    for c in range(4):
        times = np.sort(rng.choice(np.arange(1, 40), size=rng.integers(2, 7), replace=False)).astype(float)
        values = rng.uniform(-0.4, 0.4, (len(times), 1)) + float(c == 0)
        left, right = free_handles(rng, times, values, 0.1)
        # Handles that do not cross: a half of a segment where they do can need a handle longer than itself.
        left[:, 0, 0] = times - (times - left[:, 0, 0]) * 0.35
        right[:, 0, 0] = times + (right[:, 0, 0] - times) * 0.35
        keys[c], handles[c] = (times, values[:, 0]), (left[:, 0], right[:, 0])
    clip = track_clip(QUATERNION, keys, interpolation=interpolation, handles=handles, dtype=dtype)
    repair = assert_contract(clip, RULE)
    after = repair.subject
    assert not found(after)
    union = sorted({t for times, _ in keys.values() for t in times})
    for c in range(4):
        rows = after.curves.rows(c)
        assert after.curves.co[rows, 0].tolist() == union
        made = after.curves.origin[rows] < 0
        np.testing.assert_array_equal(after.curves.marked[rows], made)
        assert after.curves.co[rows][~made].tolist() == clip.curves.co[clip.curves.rows(c)].tolist()
    for time in np.linspace(-4, 44, 193):
        was = scalar_rotation(clip, 0, scalar_raw(clip, 0, float(time)))
        now = scalar_rotation(after, 0, scalar_raw(after, 0, float(time)))
        assert was and now
        assert turn_deg(was, now) < (2e-3 if dtype == np.float32 else 1e-5), time
    assert repair.proof.max_between_change_deg < 2e-3


@pytest.mark.parametrize("interpolation", [CONSTANT, LINEAR, BEZIER])
@pytest.mark.parametrize("handles", [None, "thirds"])
def test_slopes_beyond_the_keys_go_on(interpolation, handles):
    """Linear extrapolation: keys added beyond a component's own last key, and the slope beyond those."""
    keys: dict[int, Any] = {
        0: ([5, 10], [1, 0.95]),
        1: ([1, 20], [0, 0.4]),
        2: ([5, 10], [0, 0.1]),
        3: ([5, 20], [0, 0]),
    }
    clip = track_clip(
        QUATERNION, keys, interpolation=interpolation, handles=handles, linear_extrapolation=True, dtype=np.float64
    )
    if handles is None and interpolation == BEZIER:
        return  # handles on their keys have no slope: covered by "thirds"
    after = assert_contract(clip, RULE).subject
    for time in np.linspace(-10, 30, 81):
        np.testing.assert_allclose(scalar_raw(after, 0, float(time)), scalar_raw(clip, 0, float(time)), atol=1e-9)


@pytest.mark.parametrize(
    "options", [{"interpolation": CUBIC, "easing": 1}, {"cycles": Cycles(CYCLE_REPEAT, CYCLE_REPEAT, 0, 0)}]
)
def test_what_cannot_be_split_is_told_and_left(options):
    clip = apart(**options)
    assert [f[2] for f in found(clip)] == ["none"]
    repair = assert_contract(clip, RULE)
    assert repair.subject is clip and not repair.refused


@pytest.mark.parametrize("reach, fix", [(0.5, "safe"), (0.52, "none"), (1.0, "none"), (3.0, "none")])
def test_handles_that_cross_are_not_split(reach, fix):
    """A half of such a segment can need handles longer than itself, which Blender shortens: the path would move."""
    w, x = about_x(60)
    keys: dict[int, Any] = {
        0: ([1, 21], [1, w]),
        1: ([1, 21], [0, x]),
        2: ([1, 6, 21], [0, 0, 0]),
        3: ([1, 21], [0, 0]),
    }
    handles = {c: (np.stack(keys[c], axis=1), np.stack(keys[c], axis=1)) for c in keys}
    handles[1][1][0] = (1 + 20 * reach, 0.2)
    handles[1][0][1] = (21 - 20 * reach, -0.2)
    clip = track_clip(QUATERNION, keys, interpolation=BEZIER, handles=handles)
    assert [f[2] for f in found(clip)] == [fix]
    repair = assert_contract(clip, RULE)
    assert (repair.subject is clip) == (fix == "none") and not repair.refused
    for time in np.linspace(1, 21, 81):
        was = scalar_rotation(clip, 0, scalar_raw(clip, 0, float(time)))
        now = scalar_rotation(repair.subject, 0, scalar_raw(repair.subject, 0, float(time)))
        assert was and now and turn_deg(was, now) < 1e-3
    # A gap elsewhere on such a curve is none in it.
    keys[1] = ([1, 21, 30], [0, x, x])
    handles[1] = tuple(np.concatenate([h, [[30, x]]]) for h in handles[1])
    keys[2] = ([1, 21, 25], [0, 0, 0])
    handles[2] = (np.stack(keys[2], axis=1),) * 2
    clip = track_clip(QUATERNION, keys, interpolation=BEZIER, handles=handles)
    assert [f[2] for f in found(clip)] == ["safe"]
    assert_contract(clip, RULE)


def test_not_judged_and_not_written():
    assert found(apart(unevaluable="NOISE modifier")) == []
    clip = apart(read_only="the curve is locked")
    repair = assert_contract(clip, RULE)
    assert [r.why for r in repair.refused] == ["the curve is locked"]


def test_only_the_track_at_fault():
    clip = joined(
        quaternion_clip([1, 10, 20], turns("X", [0, 20, 60]), bone="A"),
        apart(bone="B"),
        track_clip(EULER, {0: ([1, 10], [0, 1]), 1: ([1, 5], [0, 1])}, bone="C"),
        apart(bone="D"),
    )
    assert [f.bone for f in audit_clip(clip, [RULE])] == ["B", "D"]
    repair = assert_contract(clip, RULE)
    assert (repair.applied[0].tracks, repair.proof.keys_added) == (2, 6)


def test_keys_that_are_no_numbers():
    clip = track_clip(
        QUATERNION, {0: ([1, 10], [1, 0.9]), 1: ([1, 5, 10], [0, NAN, 0.3]), 2: ([1, 10], [0, 0]), 3: ([1, 10], [0, 0])}
    )
    repair = repair_clip(clip, [RULE])
    assert np.isfinite(repair.subject.curves.co[~np.isnan(repair.subject.curves.co[:, 1])]).all()
    whole = repair_clip(clip)
    assert np.isfinite(whole.subject.curves.co).all() and not audit_clip(whole.subject)


def test_message_and_clean():
    (finding,) = audit_clip(apart(), [RULE])
    assert finding.message.startswith("Arm, frame 10: components are keyed at different times")
    clip = quaternion_clip([1, 10, 20], turns("X", [0, 20, 60]), interpolation=BEZIER, handles="thirds")
    assert_same(clip, assert_contract(clip, RULE).subject)
