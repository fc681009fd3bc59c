# SPDX-License-Identifier: GPL-3.0-or-later
"""QA201 euler-wraparound."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.findings.finding import Finding
from quat_audit.motion.clip import (
    BEZIER,
    CONSTANT,
    CUBIC,
    CYCLE_REPEAT,
    CYCLE_REPEAT_OFFSET,
    EULER,
    LINEAR,
    Clip,
    Cycles,
)
from quat_audit.motion.readers import Drawn, Reader, Way
from quat_audit.rules.qa201_euler_wraparound import RULE
from tests.clips import NAN, euler_clip, free_handles, joined, quaternion_clip, times_of, track_clip, values_of
from tests.contract import assert_contract, assert_same
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, turn_deg

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
SAFE_WRAPS = ("visible", "latent")


def on(axis: int, angles: Any) -> np.ndarray:
    """(N, 3) degrees, one axis moving."""
    degrees = np.zeros((len(angles), 3))
    degrees[:, axis] = angles
    return degrees


def found(clip: Clip) -> list[tuple[tuple[float, ...], str, str, str]]:
    """(frames, kind, severity, fix) of every occurrence."""
    result = []
    for f in audit_clip(clip, [RULE]):
        o = f.occurrences
        result += [
            (tuple(map(float, o.frames[i])), str(o.kind[i]), str(o.severity[i]), str(o.fix[i])) for i in range(len(o))
        ]
    return result


def only(clip: Clip) -> Finding:
    (finding,) = audit_clip(clip, [RULE])
    return finding


# (frames, angles of one axis, findings); gaps and values from the catalogue.
CASES: dict[str, tuple[list[float], list[float], list[tuple[tuple[float, float], str, str, str]]]] = {
    "one frame": ([1, 2], [179, -179], [((1, 2), "latent", "warning", "safe")]),
    "half a frame": ([1, 1.5], [179, -179], [((1, 1.5), "latent", "warning", "safe")]),
    "two frames": ([1, 3], [179, -179], [((1, 3), "visible", "error", "safe")]),
    "one and a half": ([1, 2.5], [179, -179], [((1, 2.5), "visible", "error", "safe")]),
    "downwards": ([1, 2], [-170, 170], [((1, 2), "latent", "warning", "safe")]),
    "there and back by almost a turn": (
        [1, 2, 3],
        [0, 359.9, 0],
        [((1, 2), "latent", "warning", "safe"), ((2, 3), "latent", "warning", "safe")],
    ),
    "just below a turn": ([1, 2], [0, 359.985], [((1, 2), "latent", "warning", "safe")]),
    "just a turn": ([1, 2], [0, 359.995], []),
    "0 and 360": ([1, 2], [350, 10], [((1, 2), "latent", "warning", "safe")]),
    "true step just below 90": ([1, 2], [0, 271], [((1, 2), "latent", "warning", "safe")]),
    "true step just above 90": ([1, 2], [0, 269], [((1, 2), "ambiguous", "note", "unsafe")]),
    "true step of 90": ([1, 2], [135, -135], [((1, 2), "ambiguous", "note", "unsafe")]),
    "true step of 90 less the tolerance": ([1, 2], [135, -135.005], [((1, 2), "ambiguous", "note", "unsafe")]),
    "true step clearly below 90": ([1, 2], [135, -135.02], [((1, 2), "latent", "warning", "safe")]),
    "sparse 350→10": ([1, 20], [350, 10], [((1, 20), "ambiguous-straddling", "warning", "unsafe")]),
    "sparse 170→−170": ([1, 20], [170, -170], [((1, 20), "ambiguous-straddling", "warning", "unsafe")]),
    "sparse −10→−350": ([1, 20], [-10, -350], [((1, 20), "ambiguous-straddling", "warning", "unsafe")]),
    "sparse, true step of 45": ([1, 20], [337.5, 22.5], [((1, 20), "ambiguous", "note", "unsafe")]),
    "sparse, true step below 45": ([1, 20], [338, 22], [((1, 20), "ambiguous-straddling", "warning", "unsafe")]),
    "0→345": ([1, 40], [0, 345], [((1, 40), "ambiguous", "note", "unsafe")]),
    "1→345": ([1, 40], [1, 345], [((1, 40), "ambiguous", "note", "unsafe")]),
    "1.02→345": ([1, 40], [1.02, 345], [((1, 40), "ambiguous-straddling", "warning", "unsafe")]),
    "0.5→345": ([1, 40], [0.5, 345], [((1, 40), "ambiguous", "note", "unsafe")]),
    "360→15": ([1, 40], [360, 15], [((1, 40), "ambiguous", "note", "unsafe")]),
    "376→132": ([1, 50], [376, 132], [((1, 50), "ambiguous", "note", "unsafe")]),
    "three frames is sparse": ([1, 4], [0, 340], [((1, 4), "ambiguous", "note", "unsafe")]),
    "neighbors go on": (
        [1, 11, 21, 31],
        [100, 140, -180, -140],
        [((11, 21), "visible", "error", "safe")],
    ),
    "neighbors spin": (
        [1, 6, 11, 21],
        [20, 190, 360, 700],  # 34° a frame throughout
        [((11, 21), "ambiguous", "note", "unsafe")],
    ),
    "neighbors hold": ([1, 11, 21, 31], [5, 5, 350, 350], [((11, 21), "ambiguous-straddling", "warning", "unsafe")]),
    "the next key alone goes on": ([1, 11, 21], [170, -170, -150], [((1, 11), "visible", "error", "safe")]),
    "the key before alone goes on": ([1, 11, 21], [330, 350, 10], [((11, 21), "visible", "error", "safe")]),
    # Spins that slow down, settle or drift: no neighbour may turn them into wraps.
    "spin, then drift": ([1, 20, 30], [0, 340, 345], [((1, 20), "ambiguous", "note", "unsafe")]),
    "spin, then slow down": ([1, 20, 25], [0, 350, 360], [((1, 20), "ambiguous", "note", "unsafe")]),
    "spin, then settle back": ([1, 40, 60], [0, 350, 340], [((1, 40), "ambiguous", "note", "unsafe")]),
    "slow, spin, slow": ([1, 30, 40, 70], [0, 0.5, 340.5, 343.5], [((30, 40), "ambiguous", "note", "unsafe")]),
    "slow, more than a turn, slow": ([1, 30, 40, 70], [0, 3, 423, 426], []),
    # Turns in a row, and one that comes back (REFERENCE.md 24).
    "60 a frame, one wrap": (
        [1, 2, 3, 4, 5, 6, 7, 8],
        [0, 60, 120, 180, 240, 300, 0, 60],
        [((6, 7), "latent", "warning", "safe")],
    ),
    "355 a frame": (
        [1, 2, 3, 4],
        [0, 355, 710, 1065],
        [((a, a + 1), "ambiguous", "note", "unsafe") for a in (1, 2, 3)],
    ),
    "300 a frame, downwards": (
        [5, 6, 7],
        [0, -300, -600],
        [((a, a + 1), "ambiguous", "note", "unsafe") for a in (5, 6)],
    ),
    "a rotor": (
        list(range(1, 15)),
        [0, *np.cumsum([30, 60, 120, 170, 200, 240, 280, 300, 300, 300, 300, 280, 0])],
        [((a, a + 1), "ambiguous", "note", "unsafe") for a in range(5, 13)],
    ),
    "a rotor up to its first large step": (
        [1, 2, 3, 4, 5],
        [0, 120, 290, 570, 570],
        [((3, 4), "ambiguous", "note", "unsafe")],
    ),
    "a rotor on twos, baked on ones": (
        [1, 2, 3, 4, 5],
        [0, 300, 300, 600, 600],
        [((1, 2), "ambiguous", "note", "unsafe"), ((3, 4), "ambiguous", "note", "unsafe")],
    ),
    "355, then a whole turn": ([1, 2, 3], [0, 355, 715], [((1, 2), "ambiguous", "note", "unsafe")]),
    "340 a frame, between 0 and 360 at first": (
        [1, 2, 3],
        [10, 350, 690],
        [((1, 2), "ambiguous", "note", "unsafe"), ((2, 3), "ambiguous", "note", "unsafe")],
    ),
    "350 and back": (
        [1, 2, 3],
        [5, 355, 5],
        [((1, 2), "latent", "warning", "safe"), ((2, 3), "latent", "warning", "safe")],
    ),
    "the next half as large": ([1, 2, 3], [0, 300, 455], [((1, 2), "ambiguous", "note", "unsafe")]),
    "the next less than half as large": ([1, 2, 3], [0, 300, 445], [((1, 2), "latent", "warning", "safe")]),
    "a spin of twice as many degrees after it": (
        [1, 2, 30],
        [170, -170, -860],
        [((1, 2), "latent", "warning", "safe")],
    ),
    "there and back": (
        [1, 2, 3, 4],
        [175, -179, -178, 179],
        [((1, 2), "latent", "warning", "safe"), ((3, 4), "latent", "warning", "safe")],
    ),
    # A capture at rest writes either end of its window.
    "flicker": (
        [1, 2, 3],
        [180, -180, 180],
        [((1, 2), "latent", "warning", "safe"), ((2, 3), "latent", "warning", "safe")],
    ),
    "flicker within a hundredth": ([1, 2], [180, -179.9925], [((1, 2), "latent", "warning", "safe")]),
    "it stays at the other end": ([1, 2, 3], [180, -180, -180], [((1, 2), "latent", "warning", "safe")]),
    "180, −180 with a frame between": ([1, 3], [180, -180], []),
    "a turn a frame": ([1, 2, 3], [-180, 180, 540], []),
    "180 and 540": ([1, 2, 3], [180, 540, 180], []),
    "a turn beside 180": ([1, 2, 3], [179.9, -180.1, 179.9], []),
    # Nothing to find.
    "two turns in two frames": ([1, 3], [0, 725], []),
    "two turns in a frame": ([1, 2], [10, 735], []),
    "one key": ([1], [700], []),
    "whole turns": ([1, 2, 3], [0, 360, 720], []),
    "ten turns": ([1, 240], [5, 3605], []),
    "half turns": ([1, 2, 3, 4], [0, 180, 360, 540], []),
    "quarter turns": ([1, 2, 3], [0, 90, 180], []),
    "exactly half a turn back": ([1, 2], [90, -90], []),
    "179 degrees": ([1, 2], [0, 179], []),
    "same key twice": ([1, 2], [200, 200], []),
}


# A lone channel turns about one axis whatever the order: each axis, once as the first, the middle and the last.
@pytest.mark.slow
@pytest.mark.parametrize("order, axis", [("XYZ", 0), ("ZXY", 1), ("YZX", 2)])
@pytest.mark.parametrize("name", CASES)
def test_one_axis(name, order, axis):
    frames, angles, expected = CASES[name]
    clip = euler_clip(frames, on(axis, angles), order)
    assert found(clip) == expected
    for unsafe in (False, True):
        repair = assert_contract(clip, RULE, unsafe=unsafe)
        repairable = [e for e in expected if unsafe or e[3] == "safe"]
        assert (repair.subject is clip) == (not repairable)
        # What is left differs by whole turns only, and keys before the first repaired step not at all.
        moved = np.degrees(values_of(repair.subject) - values_of(clip)) / 360
        np.testing.assert_allclose(moved, np.round(moved), atol=1e-5)
        first = min((f[0][1] for f in repairable), default=math.inf)
        assert np.all(moved[np.array(frames) < first] == 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_lone_channel_and_doubles(name):
    frames, angles, expected = CASES[name]
    lone = euler_clip(frames, on(1, angles), "YZX", components=(1,))
    assert found(lone) == expected
    assert_contract(lone, RULE)
    wide = euler_clip(frames, on(1, angles), "YZX", dtype=np.float64)
    assert found(wide) == expected
    assert_contract(wide, RULE, unsafe=True)


def test_measured_angles():
    measured = only(euler_clip([1, 2], on(2, [170, -170]))).occurrences.measured
    assert {k: float(v[0]) for k, v in measured.items()} == pytest.approx(
        {"excess_deg": 320, "swept_deg": 340, "shortest_deg": 20, "nearest_deg": 20}, abs=1e-3
    )


def test_message_names_place_and_angles():
    finding = only(euler_clip([16, 17], on(2, [170, -170]), bone="腕.L"))
    assert finding.message == "腕.L, frames 16→17: swings 340.0° where 20.0° suffices"
    assert (finding.bone, finding.code, finding.rule) == ("腕.L", "QA201", "euler-wraparound")
    assert only(euler_clip([1, 40], on(0, [0, 345]))).message.endswith("meant?")


def equivalent(degrees: Any, order: str) -> np.ndarray:
    first, middle, last = ("XYZ".index(a) for a in order)
    result = np.array(degrees, dtype=float)
    result[..., first] += 180
    result[..., middle] = 180 - result[..., middle]
    result[..., last] -= 180
    return result


@pytest.mark.parametrize("order", ORDERS)
def test_equivalent_triple(order):
    path = np.array([[10, 20, 30], [14, 15, 33], [18, 12, 31], [25, 10, 36]], float)
    broken = path.copy()
    broken[1:3] = equivalent(path[1:3], order)
    clip = euler_clip([1, 2, 3, 4], broken, order)
    assert [f[0] for f in found(clip)] == [(1, 2), (3, 4)]
    assert {f[1:] for f in found(clip)} == {("latent", "warning", "safe")}
    repair = assert_contract(clip, RULE)
    np.testing.assert_allclose(np.degrees(values_of(repair.subject)), path, atol=2e-5)
    np.testing.assert_array_equal(values_of(repair.subject)[[0, 3]], values_of(clip)[[0, 3]])


@pytest.mark.parametrize("order", ORDERS)
def test_a_triple_of_another_order_is_another_rotation(order):
    other = next(o for o in ORDERS if o[1] != order[1])
    path = np.array([[10, 20, 30], [14, 15, 33]], float)
    near = path[1].copy()
    path[1] = equivalent(path[1], other)
    for unsafe in (False, True):
        repair = assert_contract(euler_clip([1, 2], path, order), RULE, unsafe=unsafe)
        assert np.abs(np.degrees(values_of(repair.subject)[1]) - near).max() > 1


@pytest.mark.parametrize("order", ORDERS)
def test_the_first_key_keeps_its_representation(order):
    path = equivalent([[10, 20, 30], [14, 15, 33], [18, 12, 31]], order)
    clip = euler_clip([1, 2, 3], path, order)
    assert found(clip) == []
    broken = np.concatenate([path[:1], [[14, 15, 33], [18, 12, 31]]])
    repair = assert_contract(euler_clip([1, 2, 3], broken, order), RULE)
    after = np.degrees(values_of(repair.subject))
    assert np.abs(np.diff(after, axis=0)).max() < 10


def test_a_spin_after_a_wrap_stays_a_spin():
    clip = euler_clip([1, 2, 3, 50, 51], on(0, [170, -170, -170, 550, 550]))
    repair = assert_contract(clip, RULE)
    assert np.degrees(values_of(repair.subject)[:, 0]) == pytest.approx([170, 190, 190, 910, 910], abs=1e-3)


def test_a_spin_after_an_equivalent_triple_keeps_its_path():
    broken = equivalent([[0, 20, 0], [4, 22, 3], [4, 22, 363]], "XYZ")
    clip = euler_clip([1, 2, 3, 40], np.concatenate([[[-3, 18, -2]], broken]))
    repair = assert_contract(clip, RULE)
    for step in range(37):
        was = scalar_rotation(clip, 0, scalar_raw(clip, 0, 3 + step))
        now = scalar_rotation(repair.subject, 0, scalar_raw(repair.subject, 0, 3 + step))
        assert was and now and turn_deg(was, now) < 1e-3
    assert path_deg(repair.subject, 0, 3, 40) == pytest.approx(path_deg(clip, 0, 3, 40), abs=1e-2)


def test_ambiguous_steps_are_left_beside_safe_ones():
    clip = euler_clip([1, 2, 30, 31], on(1, [170, -170, 175, -178]))
    kinds = [f[1] for f in found(clip)]
    assert kinds == ["latent", "ambiguous-straddling", "latent"]
    repair = assert_contract(clip, RULE)
    assert np.degrees(values_of(repair.subject)[:, 1]) == pytest.approx([170, 190, 535, 542], abs=1e-3)
    repair = assert_contract(clip, RULE, unsafe=True)
    assert np.degrees(values_of(repair.subject)[:, 1]) == pytest.approx([170, 190, 175, 182], abs=1e-3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ORDERS)
def test_handles_move_with_their_key(order, dtype):
    rng = np.random.default_rng(4)
    path = np.cumsum(rng.uniform(-12, 12, (12, 3)), axis=0)
    path[4:7] = equivalent(path[4:7], order)
    path[9:, 0] += 360
    handles = free_handles(rng, np.arange(12), np.radians(path), 0.1)
    clip = euler_clip(np.arange(12), path, order, interpolation=BEZIER, handles=handles, dtype=dtype)
    repair = assert_contract(clip, RULE)
    a, b = clip.curves, repair.subject.curves
    middle = "XYZ".index(order[1])
    for axis in range(3):
        rows = a.rows(axis)
        for name in ("handle_left", "handle_right"):
            reach = (getattr(a, name) - a.co)[rows].astype(float)
            now = (getattr(b, name) - b.co)[rows].astype(float)
            if axis == middle:
                reach[4:7, 1] *= -1
            np.testing.assert_allclose(now, reach, atol=3e-6)
        np.testing.assert_array_equal(b.co[rows][:4], a.co[rows][:4])


@pytest.mark.parametrize("interpolation", [BEZIER, CUBIC])
def test_other_interpolations_are_measured_and_repaired(interpolation):
    easing = 2 if interpolation == CUBIC else None
    clip = euler_clip([1, 2], on(0, [179, -179]), interpolation=interpolation, handles="thirds", easing=easing)
    assert [f[1:] for f in found(clip)] == [("latent", "warning", "safe")]
    assert_contract(clip, RULE)


def test_held_keys_play_nothing_between():
    clip = euler_clip([1, 10, 20], on(0, [179, -179, 179]), interpolation=CONSTANT)
    assert found(clip) == []
    assert_contract(clip, RULE)


def test_all_axes_wrap_at_once():
    clip = euler_clip([1, 2], [[175, 178, -177], [-179, -176, 179]])
    assert len(found(clip)) == 1
    repair = assert_contract(clip, RULE)
    assert np.degrees(values_of(repair.subject)[1]) == pytest.approx([181, 184, -181], abs=1e-4)


@pytest.mark.parametrize("order", ORDERS)
def test_a_flicker_at_rest_only(order):
    """All channels may rest at either end, but none may move meanwhile, unless they are inside the window."""
    axis = "XYZ".index(order[2])
    at_rest = np.array([[180, 10, -180], [-180, 10, 180]], float)
    assert [f[1:] for f in found(euler_clip([1, 2], np.roll(at_rest, axis, axis=1), order))] == [
        ("latent", "warning", "safe")
    ]
    for move, expected in ((0.005, 1), (0.02, 0)):
        moving = np.roll([[180, 10, 20], [-180, 10 + move, 20]], axis, axis=1)
        assert len(found(euler_clip([1, 2], moving, order))) == expected
    captured = np.roll([[179.999, 10, 20], [-179.998, 13, 20]], axis, axis=1)
    assert [f[1:] for f in found(euler_clip([1, 2], captured, order))] == [("latent", "warning", "safe")]
    assert found(euler_clip([1, 3], captured, order)) == []  # a frame is drawn between


def going_on(clip: Clip, component: int, *, linear: bool = False, cycles: Cycles | None = None) -> Clip:
    """The clip with one channel extrapolated."""
    straight, modifiers = np.zeros(3, dtype=bool), [None, None, None]
    straight[component], modifiers[component] = linear, cycles
    return replace(clip, curves=replace(clip.curves, linear_extrapolation=straight, cycles=tuple(modifiers)))


OFFSET_AFTER = Cycles(CYCLE_REPEAT, CYCLE_REPEAT_OFFSET, 0, 0)
OFFSET_BEFORE = Cycles(CYCLE_REPEAT_OFFSET, "NONE", 0, 0)
REPEATED = Cycles(CYCLE_REPEAT, CYCLE_REPEAT, 0, 0)


@pytest.mark.parametrize("order, axis", [("XYZ", 0), ("ZXY", 1), ("YZX", 2)])
@pytest.mark.parametrize(
    "options, safe",
    [
        ({"linear": True}, False),
        ({"cycles": OFFSET_AFTER}, False),
        ({"cycles": OFFSET_BEFORE}, False),
        ({"cycles": REPEATED}, True),
        ({}, True),
    ],
)
def test_what_goes_on_outside_the_keys_is_ambiguous(options, safe, order, axis):
    """A fan: 150° a frame for ever. Another channel may go on as it likes."""
    fan = euler_clip([1, 3], on(axis, [0, 300]), order)
    judged = found(going_on(fan, axis, **options))
    assert judged == [((1, 3), "visible", "error", "safe") if safe else ((1, 3), "ambiguous", "note", "unsafe")]
    assert found(going_on(fan, (axis + 1) % 3, **options)) == [((1, 3), "visible", "error", "safe")]
    looks_like_a_wrap = going_on(euler_clip([1, 2], on(axis, [170, -170]), order), axis, **options)
    kind = ("latent", "warning", "safe") if safe else ("ambiguous-straddling", "warning", "unsafe")
    assert [f[1:] for f in found(looks_like_a_wrap)] == [kind]


@pytest.mark.parametrize("component", range(3))
def test_a_triple_moves_all_channels_that_go_on(component):
    path = np.array([[10, 20, 30], equivalent([14, 15, 33], "XYZ")], float)
    clip = euler_clip([1, 2], path)
    assert found(clip)[0][3] == "safe"
    assert found(going_on(clip, component, linear=True)) == [((1, 2), "ambiguous", "note", "unsafe")]


def test_large_steps_within_a_window_of_a_turn_are_no_spin():
    """At the singularity only X − Z counts, which makes one turn; steps of X by 200 and 101 stay within 0 … 301."""
    clip = euler_clip([1, 2, 3], [[0, 90, 0], [200, 90, -160], [301, 90, -59]])
    assert found(clip) == [((1, 2), "latent", "warning", "safe")]


def shown(clip: Clip, *drawn: Drawn, **reader: Any) -> Clip:
    return replace(clip, readers=(Reader("Rig", drawn=drawn, **reader),))


@pytest.mark.parametrize(
    "frames, drawn, kind",
    [
        ([1, 4], Drawn(), "visible"),
        ([1, 4], Drawn(start=1, spacing=3), "latent"),  # a strip at a third of its length
        ([1, 2], Drawn(start=0.5), "visible"),  # a strip that begins half-way between two frames
        ([2.6, 3.4], Drawn(), "visible"),  # keys at 30 frames a second in a scene at 24
        ([1, 2], Drawn(spacing=0.5), "visible"),  # slowed down
        ([1, 4], Drawn(last=1), "latent"),  # the scene ends there
    ],
)
def test_it_shows_where_a_frame_is_drawn_between(frames, drawn, kind):
    clip = euler_clip(frames, on(0, [179, -179]))
    finding = audit_clip(shown(clip, drawn), [RULE], {"QA201": {"dense_gap_frames": 3.0}})[0]
    assert set(finding.occurrences.kind) == {kind}
    assert finding.severity == {"visible": "error", "latent": "warning"}[kind]


def test_a_flicker_of_a_strip_that_is_played_fast():
    """No frame is drawn between keys three frames apart: a flicker. Slowed down, a turn is drawn: none."""
    clip = euler_clip([1, 4], on(0, [180, -180]))
    assert [f[1:] for f in found(shown(clip, Drawn(start=1, spacing=3)))] == [("latent", "warning", "safe")]
    near = euler_clip([1, 2], on(0, [180, -180]))
    assert found(shown(near, Drawn())) and not found(shown(near, Drawn(spacing=0.5)))


def test_undrawn_moments_may_count():
    clip = euler_clip([1, 2], on(0, [179, -179]))
    (finding,) = audit_clip(clip, [RULE], {"QA201": {"undrawn_shows": 1.0}})
    assert (finding.severity, finding.fix) == ("error", "safe")


STEPPED = {0: [LINEAR] * 2, 1: [CONSTANT] * 2, 2: [CONSTANT] * 2}


@pytest.mark.parametrize("order", ORDERS)
def test_a_held_channel_that_jumps_is_no_wrap(order):
    assert found(euler_clip([1, 21], [[0, 0, 175], [40, 0, -175]], order, interpolation=STEPPED)) == []
    # The other way round it is one, as is what moves beside a jump; the repair leaves the jump alone.
    moving = {0: STEPPED[1], 1: STEPPED[1], 2: STEPPED[0]}
    assert [f[1] for f in found(euler_clip([1, 3], [[0, 0, 175], [40, 0, -175]], order, interpolation=moving))] == [
        "visible"
    ]
    clip = euler_clip([1, 3], [[170, 0, 175], [-170, 0, -175]], order, interpolation=STEPPED)
    for judged in (clip, going_on(clip, 2, linear=True)):  # what jumps is not moved, so it may go on
        assert [f[1:] for f in found(judged)] == [("visible", "error", "safe")]
    after = np.degrees(values_of(assert_contract(clip, RULE).subject))
    assert after[1] == pytest.approx([190, 0, -175], abs=1e-4)


def test_stepped_channels_keyed_apart_only_pop():
    keys = {0: ([1, 4, 16], np.radians([0, 5, 8])), 1: ([1, 6], np.radians([0, 3]))}
    angles = np.radians([160, 165, 170, 172, 175, -180, -175, -170])
    clip = track_clip(EULER, {**keys, 2: (np.arange(8) * 2 + 1, angles)}, interpolation=CONSTANT)
    assert found(clip) == []
    # With Z straight it swings.
    modes = {0: [CONSTANT] * 3, 1: [CONSTANT] * 2, 2: [LINEAR] * 8}
    swinging = track_clip(EULER, {**keys, 2: (np.arange(8) * 2 + 1, angles)}, interpolation=modes)
    assert [f[0] for f in found(swinging)] == [(9, 11)]


def read_in(clip: Clip, *orders: str) -> Clip:
    """The clip as read by one object for each order."""
    (path,) = set(clip.curves.data_path)
    readers = tuple(Reader(f"Rig{o}", ways={path: Way(o, (0.0, 0.0, 0.0, 0.0))}) for o in orders)
    return replace(clip, users=tuple(r.owner for r in readers), readers=readers)


@pytest.mark.parametrize("order", ORDERS)
def test_the_triple_only_where_all_readers_share_the_middle_axis(order):
    path = np.array([[10, 20, 30], equivalent([14, 15, 33], order)], float)
    clip = euler_clip([1, 2], path, order)
    for other in ORDERS:
        read = read_in(clip, order, other)
        alike = other[1] == order[1]
        assert [f[1:] for f in found(read)] == [("latent", "warning", "safe" if alike else "unsafe")]
        assert (repair_clip(read, [RULE]).subject is read) is not alike
        if not alike:
            (finding,) = audit_clip(read, [RULE])
            assert f"Rig{other}" in str(finding.caution)
    assert found(replace(clip, users=(), readers=()))[0][3] == "unsafe"  # in an order that nobody tells


@pytest.mark.parametrize("order", ORDERS)
def test_whole_turns_come_first_where_readers_differ(order):
    """Near the singularity the triple is nearer still, but whole turns do most of it: they are safe for all."""
    first, middle, last = ("XYZ".index(a) for a in order)
    path = np.zeros((2, 3))
    path[:, middle] = 89
    # There only the difference counts (in the other three orders the sum): 30° from a to b, 390° by the way played.
    path[:, first], path[1, last] = [100, -180], 110 if order in ("XYZ", "YZX", "ZXY") else -110
    alone = assert_contract(read_in(euler_clip([1, 2], path, order), order), RULE).subject
    assert np.degrees(values_of(alone)[1, middle]) == pytest.approx(91, abs=1e-4)
    for other in (o for o in ORDERS if o[1] != order[1]):
        readers = read_in(euler_clip([1, 2], path, order), order, other)
        assert [f[1:] for f in found(readers)] == [("latent", "warning", "safe")]
        after = np.degrees(values_of(assert_contract(readers, RULE).subject))
        assert after[:, first] == pytest.approx([100, 180], abs=1e-4)
        np.testing.assert_allclose(np.delete(after, first, axis=1), np.delete(path, first, axis=1), atol=1e-4)


def test_what_is_safe_for_all_is_repaired_beside_a_triple_that_is_not():
    path = np.array([[170, 20, 30], [-175, 20, 30], [-165, 20, 30], equivalent([-160, 15, 33], "XYZ")], float)
    clip = read_in(euler_clip([1, 2, 3, 4], path), "XYZ", "ZXY")
    assert [(f[0], f[3]) for f in found(clip)] == [((1, 2), "safe"), ((3, 4), "unsafe")]
    repair = assert_contract(clip, RULE)
    assert np.degrees(values_of(repair.subject)[:3, 0]) == pytest.approx([170, 185, 195], abs=1e-4)
    (left,) = audit_clip(repair.subject, [RULE])
    assert left.fix == "unsafe" and "RigZXY" in str(left.caution)


def test_large_angles_in_single_precision():
    """At a hundred turns float32 knows a degree to 2e-3: the wrap is repaired, within what storing it costs."""
    clip = euler_clip([1, 2, 3], on(2, [36000 + 170, 36000 - 170, 36000 - 160]))
    repair = assert_contract(clip, RULE)
    assert not repair.refused
    assert np.degrees(values_of(repair.subject)[:, 2]) == pytest.approx([36170, 36190, 36200], abs=0.01)


def test_a_wrap_across_an_unusable_key():
    clip = euler_clip([1, 2, 3, 4], on(0, [177, NAN, -179, -177]), "ZXY")
    assert [f[0] for f in found(clip)] == [(1, 3)]
    after = repair_clip(clip).subject  # QA101 bridges the short way first, then the wrap is one of neighbours
    assert np.degrees(values_of(after)) == pytest.approx(on(0, [177, 179, 181, 183]), abs=1e-3)


def test_a_bridge_across_a_spin_stays_a_spin():
    for angles in ([0, NAN, 360], [0, NAN, 300], [5, NAN, 3605]):
        frames = [1, 2, 3] if angles[2] == 360 else [1, 21, 41]
        after = repair_clip(euler_clip(frames, on(0, angles))).subject
        assert np.degrees(values_of(after)[:, 0]) == pytest.approx(
            [angles[0], (angles[0] + angles[2]) / 2, angles[2]], abs=1e-3
        )


def test_channels_keyed_apart():
    """Y has no key where X wraps: X alone moves."""
    keys = {0: ([1, 2, 3], np.radians([170, -170, -160])), 1: ([1, 3], np.radians([0, 10])), 2: ([1], [0.0])}
    clip = track_clip(EULER, keys)
    assert [f[0] for f in found(clip)] == [(1, 2)]
    repair = assert_contract(clip, RULE)
    x = repair.subject.curves.co[repair.subject.curves.rows(0), 1]
    assert np.degrees(x) == pytest.approx([170, 190, 200], abs=1e-4)


def test_a_triple_on_channels_keyed_apart_is_told_and_left():
    first, second = [10.0, 20.0, 30.0], equivalent([12.0, 22.0, 33.0], "XYZ")
    keys: dict[int, Any] = {axis: ([1, 2], np.radians([first[axis], second[axis]])) for axis in range(3)}
    keys[1] = ([1, 2, 3], np.radians([first[1], second[1], second[1]]))
    clip = track_clip(EULER, keys)
    assert all(f[3] == "none" for f in found(clip)) and found(clip)
    assert_contract(clip, RULE)


def test_other_tracks_are_left_bit_for_bit():
    clip = joined(
        euler_clip([1, 2], on(0, [170, -170]), bone="A"),
        euler_clip([1, 2], on(0, [0, 720]), bone="B"),
        euler_clip([1, 2], on(2, [170, -170]), bone="C", order="YZX"),
        quaternion_clip([1, 2], [[1, 0, 0, 0], [-1, 0, 0, 0]], bone="D"),
    )
    assert [f.bone for f in audit_clip(clip, [RULE])] == ["A", "C"]
    repair = assert_contract(clip, RULE)
    assert repair.applied[0].tracks == 2 and repair.applied[0].keys_changed == 2
    assert np.degrees(values_of(repair.subject, 2)[:, 2]) == pytest.approx([170, 190], abs=1e-4)


def test_what_must_not_be_written_is_refused():
    clip = euler_clip([1, 2], on(0, [170, -170]), read_only="linked from rig.blend")
    repair = assert_contract(clip, RULE)
    assert repair.subject is clip
    assert [(r.code, r.why) for r in repair.refused] == [("QA201", "linked from rig.blend")]


def test_what_cannot_be_evaluated_is_not_judged():
    assert found(euler_clip([1, 2], on(0, [170, -170]), unevaluable="NOISE modifier")) == []


def test_delta_rotation_and_objects():
    clip = euler_clip([1, 2], on(0, [170, -170]), bone="", delta=True)
    assert only(clip).data_path == "delta_rotation_euler"
    assert_contract(clip, RULE)


def test_limits_are_settings():
    clip = euler_clip([1, 4], on(0, [170, -170]))
    assert found(clip)[0][1] == "ambiguous-straddling"
    finding = audit_clip(clip, [RULE], {"QA201": {"dense_gap_frames": 3.0}})[0]
    assert finding.fix == "safe"
    assert_contract(clip, RULE, limits={"QA201": {"dense_gap_frames": 3.0}})


@pytest.mark.slow
def test_clean_walk_is_not_touched():
    rng = np.random.default_rng(1)
    walk = 60 * np.sin(np.arange(16)[:, None] / 3 + rng.uniform(0, 6, 3))
    for order in ORDERS:
        clip = euler_clip(np.arange(16), walk, order, interpolation=BEZIER, handles="thirds")
        assert found(clip) == []
        repair = assert_contract(clip, RULE)
        assert_same(clip, repair.subject)
        assert len(times_of(clip)) == 16
