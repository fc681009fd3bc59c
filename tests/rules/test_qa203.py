# SPDX-License-Identifier: GPL-3.0-or-later
"""QA203 full-turn."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, CUBIC, CYCLE_REPEAT, EULER, LINEAR, Clip, Cycles
from quat_audit.rules.qa203_full_turn import RULE
from tests.clips import euler_clip, joined, quaternion_clip, times_of, track_clip, turns, values_of
from tests.contract import assert_contract
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, turn_deg, union_rows

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")


def on(axis: int, angles: Any) -> np.ndarray:
    degrees = np.zeros((len(angles), 3))
    degrees[:, axis] = angles
    return degrees


def found(clip: Clip) -> list[tuple[tuple[float, ...], float]]:
    """(frames, degrees swept) of every occurrence; all of them notes."""
    result = []
    for f in audit_clip(clip, [RULE]):
        assert f.severity == "note" and set(f.occurrences.severity) == {"note"} and set(f.occurrences.kind) == {"kept"}
        swept = f.occurrences.measured["swept_deg"]
        np.testing.assert_allclose(f.occurrences.measured["turns"], swept / 360)
        result += [(tuple(map(float, x)), float(s)) for x, s in zip(f.occurrences.frames, swept, strict=True)]
    return result


# A lone channel turns about one axis whatever the order: each order once, and each axis.
@pytest.mark.slow
@pytest.mark.parametrize("order, axis", [(order, number % 3) for number, order in enumerate(ORDERS)])
@pytest.mark.parametrize(
    "frames, angles, swept",
    [
        ([1, 25, 49], [0, 360, 720], [360, 360]),
        ([1, 50], [376, 132], []),  # QA201 asks whether it is meant
        ([1, 2], [10, 735], [725]),  # more than a turn is never a wrap
        ([1, 2, 3], [-180, 180, 540], [360, 360]),
        ([1, 2, 3], [180, -180, 180], []),  # a flicker: QA201
        ([1, 3], [180, -180], [360]),  # a frame is drawn between
        ([1, 240], [0, 3600], [3600]),
        ([0, 80], [0, -990], [990]),
        ([1, 2, 3], [0, 360, 720], [360, 360]),  # densely: still a whole number of turns
        ([1, 40], [0, 180.3], [180.3]),
        ([1, 40], [0, 180.005], []),
        ([1, 40], [0, 180], []),
        ([1, 40, 80], [0, 90, 180], []),
        ([1], [720], []),
        ([1, 2], [170, -170], []),  # a wrap: QA201
        ([1, 20], [350, 10], []),  # so likely one that it is a warning there
    ],
)
def test_turns(frames, angles, swept, order, axis):
    clip = euler_clip(frames, on(axis, angles), order)
    assert [s for _, s in found(clip)] == pytest.approx(swept, rel=2e-3)
    assert assert_contract(clip, RULE).subject is clip
    repair = assert_contract(clip, RULE, unsafe=True)
    assert (repair.subject is clip) == (not swept)


def test_message():
    (finding,) = audit_clip(euler_clip([1, 240], on(0, [0, 3600])), [RULE])
    assert "3600°" in finding.message and "10.00 turns" in finding.message and "frames 1→240" in finding.message


@pytest.mark.parametrize("interpolation", [LINEAR, BEZIER])
@pytest.mark.parametrize("order", ["XYZ", "YXZ"])
def test_inserted_keys_are_less_than_120_degrees_apart_and_lie_on_the_curve(order, interpolation):
    degrees = np.array([[0, 10, 0], [20, 20, 1010], [30, 10, 1000]], float)
    clip = euler_clip([1, 40, 60], degrees, order, interpolation=interpolation, handles="thirds")
    before = path_deg(clip, 0, 1, 40)
    repair = assert_contract(clip, RULE, unsafe=True)
    after = repair.subject
    times = [row[0] for row in union_rows(after, 0)]
    assert times[0] == 1 and times[-1] == 60 and len(times) == after.curves.counts[0] and len(times) >= 10
    for start, end in pairwise(times):
        step = path_deg(after, 0, start, end)
        assert step is not None and step < 120
    # Exactly the motion that was there, keyed and in between.
    for time in np.linspace(1, 60, 119):
        was = scalar_rotation(clip, 0, scalar_raw(clip, 0, time))
        now = scalar_rotation(after, 0, scalar_raw(after, 0, time))
        assert was and now and turn_deg(was, now) < 2e-2
    assert before == pytest.approx(sum(path_deg(after, 0, a, b) or 0 for a, b in pairwise(times) if b <= 40), rel=5e-3)
    # Every inserted key is marked, no authored one is, and an authored one keeps its bits.
    kept = after.curves.origin >= 0
    np.testing.assert_array_equal(after.curves.marked, ~kept)
    np.testing.assert_array_equal(after.curves.co[kept], clip.curves.co)
    assert repair.proof.keys_added == 3 * (len(times) - 3) and repair.proof.max_between_change_deg < 2e-2


def test_neighbouring_steps_get_no_keys():
    clip = euler_clip([1, 10, 20, 30], on(2, [20, 20, 420, 420]))
    after = assert_contract(clip, RULE, unsafe=True).subject
    times = times_of(after)
    assert [t for t in times if t <= 10 or t >= 20] == [1, 10, 20, 30] and len(times) == 4 + 3


def test_only_the_tracks_at_fault():
    clip = joined(
        euler_clip([1, 40], on(0, [0, 720]), bone="A"),
        euler_clip([1, 40], on(0, [0, 30]), bone="B"),
        quaternion_clip([1, 40], turns("X", [0, 350]), bone="C"),
    )
    assert [f.bone for f in audit_clip(clip, [RULE])] == ["A"]
    assert_contract(clip, RULE, unsafe=True)


def test_channels_keyed_apart_are_completed_where_keys_go():
    clip = track_clip(EULER, {0: ([1, 40], [0.0, 8 * np.pi]), 1: ([1, 20, 40], [0.0, 0.2, 0.1])})
    assert [f for f, _ in found(clip)] == [(1, 20), (20, 40)]
    repair = assert_contract(clip, RULE, unsafe=True)
    assert not found(repair.subject)


@pytest.mark.parametrize(
    "options", [{"interpolation": CUBIC, "easing": 2}, {"cycles": Cycles(CYCLE_REPEAT, CYCLE_REPEAT, 0, 0)}]
)
def test_what_cannot_be_split_is_told_and_left(options):
    clip = euler_clip([1, 40], on(0, [0, 720]), **options)
    (finding,) = audit_clip(clip, [RULE])
    assert finding.fix == "none"
    repair = assert_contract(clip, RULE, unsafe=True)
    assert repair.subject is clip and not repair.refused


def test_held_keys_are_no_turn():
    assert found(euler_clip([1, 40], on(0, [0, 720]), interpolation=CONSTANT)) == []


@pytest.mark.parametrize("order", ORDERS)
def test_a_held_channel_that_jumps_is_no_turn(order):
    stepped = {0: [LINEAR] * 2, 1: [CONSTANT] * 2, 2: [CONSTANT] * 2}
    assert found(euler_clip([1, 40], [[0, 0, 0], [40, 0, 720]], order, interpolation=stepped)) == []
    # What turns beside it counts by itself, and so do the keys that are inserted: 400° in four parts.
    clip = euler_clip([1, 41], [[0, 0, 0], [400, 0, 720]], order, interpolation=stepped)
    assert [s for _, s in found(clip)] == pytest.approx([400])
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert times_of(after).tolist() == pytest.approx([1, 11, 21, 31, 41], abs=1e-3)


def test_handles_may_make_a_turn():
    """Two keys 100° apart whose handles swing far beyond: the path is what counts."""
    clip = euler_clip([1, 41], on(0, [0, 100]), interpolation=BEZIER)
    right, left = clip.curves.handle_right.copy(), clip.curves.handle_left.copy()
    right[0], left[1] = (14, np.radians(600)), (28, np.radians(-400))
    clip = euler_clip(
        [1, 41],
        on(0, [0, 100]),
        interpolation=BEZIER,
        handles={0: (left[:2], right[:2]), **{c: (clip.curves.co[2 * c : 2 * c + 2],) * 2 for c in (1, 2)}},
    )
    ((frames, swept),) = found(clip)
    assert frames == (1, 41) and swept > 180
    assert swept == pytest.approx(path_deg(clip, 0, 1, 41), rel=3e-2)
    assert_contract(clip, RULE, unsafe=True)


def test_read_only_curves():
    clip = euler_clip([1, 40], on(0, [0, 720]), read_only="the curve is locked")
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert repair.subject is clip and [r.why for r in repair.refused] == ["the curve is locked"]


def test_all_unsafe_repairs_keep_a_spin_of_whole_turns():
    """With every rule at work, QA201 among them, the spin is still played, and no format can lose it."""
    clip = euler_clip([1, 50, 100], on(1, [0, 720, 720]), "ZXY")
    after = repair_clip(clip, unsafe=True).subject
    assert np.degrees(values_of(after)[-1, 1]) == pytest.approx(720)
    times = [row[0] for row in union_rows(after, 0)]
    assert sum(path_deg(after, 0, a, b) or 0 for a, b in pairwise(times)) == pytest.approx(720, rel=5e-3)
