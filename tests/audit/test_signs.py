# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs of selected keys: aligned or flipped as whole keys, with the guarantees of a repair."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quat_audit.audit.signs import ALIGN, FLIP, align_selected, change_signs, flip_selected
from quat_audit.motion.clip import BEZIER, CYCLE_REPEAT_OFFSET, QUATERNION, Clip, Cycles
from tests.clips import (
    NAN,
    euler_clip,
    free_handles,
    joined,
    quaternion_clip,
    random_quaternions,
    times_of,
    track_clip,
    turns,
    values_of,
)
from tests.contract import frozen

FRAMES = [1, 6, 11, 16, 21]


def signs_of(before: Clip, after: Clip, track: int = 0) -> list[int]:
    """+1 or -1 of each key; it fails unless all four components and both handles are exactly that multiple."""
    n = 4
    curves = [int(c) for c in before.tracks.curves[track, :n]]
    rows = [before.curves.rows(c) for c in curves]
    signs = []
    for key in range(rows[0].stop - rows[0].start):
        for sign in (1, -1):
            same = [
                np.array_equal(
                    getattr(after.curves, name)[r][key],
                    getattr(before.curves, name)[r][key] * [1, sign],
                    equal_nan=True,
                )
                for name in ("co", "handle_left", "handle_right")
                for r in rows
            ]
            if all(same):
                signs.append(sign)
                break
        else:
            raise AssertionError(f"key {key} is neither kept nor negated as a whole")
    return signs


def picked(clip: Clip, frames, component: int | None = None, track: int = 0) -> np.ndarray:
    """(K,) keys of a track at some frames: of all components, or of one."""
    result = np.zeros(len(clip.curves.co), dtype=bool)
    for part, curve in enumerate(clip.tracks.curves[track]):
        if curve >= 0 and component in (None, part):
            rows = clip.curves.rows(int(curve))
            result[rows] = np.isin(clip.curves.co[rows, 0], frames)
    return result


def flipped(signs, degrees=(0, 20, 40, 60, 80), **options) -> Clip:
    return quaternion_clip(FRAMES, turns("X", degrees) * np.array(signs, float)[:, None], **options)


def negated(clip: Clip, frames, how=align_selected) -> list[int]:
    edited = how(clip, picked(clip, frames))
    return [frame for frame, sign in zip(FRAMES, signs_of(clip, edited), strict=True) if sign < 0]


@pytest.mark.parametrize(
    "signs, selected, changes",
    [
        ([1, -1, 1, 1, 1], FRAMES, [6]),
        ([1, -1, -1, -1, -1], FRAMES, [6, 11, 16, 21]),
        ([1, -1, 1, -1, 1], FRAMES, [6, 16]),
        ([-1, 1, -1, 1, 1], FRAMES, [6, 16, 21]),  # the first key keeps its sign, whatever it is
        ([1, -1, 1, -1, 1], [6], [6]),
        ([1, -1, -1, -1, 1], [11], []),  # as the key before it, which is not selected
        ([1, -1, -1, 1, 1], [16], [16]),
        ([1, -1, -1, 1, 1], [6, 16], [6, 16]),  # each by the key before: 11 is not selected and stays negative
        ([1, -1, 1, 1, 1], [1], []),
        ([1, -1, 1, 1, 1], [], []),
    ],
)
def test_align_gives_each_selected_key_the_side_of_the_key_before(signs, selected, changes) -> None:
    assert negated(flipped(signs), selected) == changes


@given(st.lists(st.sampled_from([1, -1]), min_size=5, max_size=5), st.sets(st.sampled_from(FRAMES)))
def test_align_against_a_key_by_key_reference(signs, selected) -> None:
    clip = flipped(signs)
    values = values_of(clip).astype(float)
    expected = []
    for number in range(1, 5):
        if FRAMES[number] in selected and float(values[number] @ values[number - 1]) < 0:
            values[number] *= -1
            expected.append(FRAMES[number])
    assert negated(clip, list(selected)) == expected
    assert negated(clip, list(selected), flip_selected) == sorted(selected)


@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("how", [align_selected, flip_selected])
def test_one_component_selects_the_whole_key(component: int, how) -> None:
    clip = flipped([1, 1, -1, 1, 1])
    edited = how(clip, picked(clip, [11], component))
    assert signs_of(clip, edited) == [1, 1, -1, 1, 1]


@pytest.mark.parametrize("how", [align_selected, flip_selected])
def test_handles_are_negated_with_their_key_and_nothing_else_changes(how) -> None:
    rng = np.random.default_rng(7)
    values = turns("X", [0, 20 + 360, 40, 60, 80])
    clip = joined(
        quaternion_clip(FRAMES, values, interpolation=BEZIER, handles=free_handles(rng, FRAMES, values)),
        quaternion_clip(FRAMES, values, bone="Leg", interpolation=BEZIER, handles="thirds"),
        euler_clip(FRAMES, rng.normal(size=(5, 3)) * 90, bone="Hip"),
    )
    edited = how(clip, picked(clip, [6]))
    assert signs_of(clip, edited) == [1, -1, 1, 1, 1]
    assert signs_of(clip, edited, 1) == [1] * 5
    for name in ("interpolation", "marked", "origin", "ancestor", "offsets", "easing", "data_path", "component"):
        assert frozen(getattr(edited.curves, name)) == frozen(getattr(clip.curves, name))
    hip = slice(int(clip.curves.offsets[8]), None)
    for name in ("co", "handle_left", "handle_right"):
        assert frozen(getattr(edited.curves, name)[hip]) == frozen(getattr(clip.curves, name)[hip])
    assert edited.tracks is clip.tracks


@pytest.mark.parametrize("how", [align_selected, flip_selected])
def test_nothing_to_do_is_the_same_clip(how) -> None:
    clip = flipped([1] * 5)
    nothing = np.zeros(len(clip.curves.co), dtype=bool)
    assert how(clip, nothing) is clip
    assert align_selected(clip, ~nothing) is clip
    angles = euler_clip(FRAMES, np.zeros((5, 3)))
    assert how(angles, np.ones(len(angles.curves.co), dtype=bool)) is angles


def test_keys_that_are_no_rotation_are_passed_over() -> None:
    values = turns("X", [0, 10, 20, 30, 40]) * np.array([1, 1, -1, -1, 1.0])[:, None]
    values[1], values[3] = NAN, 0.0
    clip = quaternion_clip(FRAMES, values)
    assert negated(clip, FRAMES) == [11]
    assert negated(clip, FRAMES, flip_selected) == [1, 11, 21]


def test_a_half_turn_keeps_what_it_plays() -> None:
    # 0 → 180° about X has a dot product of zero: no sign is nearer. What follows goes along.
    values = turns("X", [0, 20 + 360, 200 + 360, 220 + 360, 240 + 360])
    clip = quaternion_clip(FRAMES, values, dtype=np.float64)
    edited = align_selected(clip, picked(clip, FRAMES))
    assert signs_of(clip, edited) == [1, -1, -1, -1, -1]


# ---- with the guarantees -----------------------------------------------------------------------------------


def test_align_reports_what_it_did_and_that_no_keyed_pose_changed() -> None:
    clip = joined(
        flipped([1, -1, 1, -1, 1]), flipped([1, 1, 1, 1, 1], bone="Leg"), flipped([1, 1, -1, 1, 1], bone="Hip")
    )
    repair = change_signs(clip, np.ones(len(clip.curves.co), dtype=bool), ALIGN)
    assert [(a.code, a.tracks, a.keys_changed) for a in repair.applied] == [(ALIGN, 2, 3)]
    assert repair.refused == ()
    assert repair.proof.max_key_change_deg == 0.0
    assert (repair.proof.worst_before_deg, repair.proof.worst_after_deg) == pytest.approx((340.0, 20.0), abs=0.01)
    again = change_signs(repair.subject, np.ones(len(clip.curves.co), dtype=bool), ALIGN)
    assert again.subject is repair.subject and again.applied == () and again.refused == ()


def test_align_is_refused_where_the_path_to_the_next_key_would_get_longer() -> None:
    clip = joined(flipped([1, -1, -1, -1, -1]), flipped([1, -1, 1, 1, 1], bone="Leg"))
    selected = picked(clip, [6], track=0) | picked(clip, [6], track=1)
    repair = change_signs(clip, selected, ALIGN)
    assert signs_of(clip, repair.subject, 0) == [1] * 5
    assert signs_of(clip, repair.subject, 1) == [1, -1, 1, 1, 1]
    ((code, path, why),) = [(r.code, r.data_path, r.why) for r in repair.refused]
    assert (code, path) == (ALIGN, clip.tracks.data_path[0])
    assert "320.0° longer" in why and "select the keys that follow" in why
    whole = change_signs(clip, selected | picked(clip, [11, 16, 21], track=0), ALIGN)
    assert whole.refused == () and signs_of(clip, whole.subject, 0) == [1, -1, -1, -1, -1]


def test_flip_does_what_is_asked_and_says_what_it_costs() -> None:
    clip = flipped([1, 1, 1, 1, 1])
    repair = change_signs(clip, picked(clip, [11]), FLIP)
    assert signs_of(clip, repair.subject) == [1, 1, -1, 1, 1]
    assert repair.proof.max_key_change_deg == 0.0
    assert (repair.proof.worst_before_deg, repair.proof.worst_after_deg) == pytest.approx((20.0, 340.0), abs=0.01)
    back = change_signs(repair.subject, picked(clip, [11]), FLIP)
    assert signs_of(clip, back.subject) == [1] * 5


@pytest.mark.parametrize("how", [ALIGN, FLIP])
@pytest.mark.parametrize(
    "options, says",
    [
        ({"read_only": "the curve is locked"}, "the curve is locked"),
        ({"unevaluable": "driven"}, "does not play its keys (driven)"),
        ({"cycles": Cycles(CYCLE_REPEAT_OFFSET, CYCLE_REPEAT_OFFSET, 0, 0)}, "a keyed rotation would change by"),
    ],
)
def test_what_must_not_or_cannot_be_changed_is_refused_and_the_rest_is_done(how, options, says) -> None:
    # The last key: with REPEAT_OFFSET its sign is what every further cycle adds.
    bad, good = [1, 1, 1, 1, -1], [1, 1, 1, 1, -1]
    clip = joined(flipped(bad, **options), flipped(good, bone="Leg"))
    repair = change_signs(clip, picked(clip, [21]) | picked(clip, [21], track=1), how)
    assert signs_of(clip, repair.subject, 0) == [1] * 5
    assert signs_of(clip, repair.subject, 1) == [1, 1, 1, 1, -1]
    ((path, why),) = [(r.data_path, r.why) for r in repair.refused]
    assert path == clip.tracks.data_path[0] and says in why
    assert [(a.tracks, a.keys_changed) for a in repair.applied] == [(1, 1)]


@pytest.mark.parametrize("how", [ALIGN, FLIP])
def test_a_key_that_lacks_a_component_is_refused(how) -> None:
    values = turns("X", [0, 20 + 360, 40, 60, 80])
    columns = {c: (FRAMES, values[:, c]) for c in range(4)}
    columns[2] = ([1, 11, 16, 21], values[[0, 2, 3, 4], 2])
    clip = track_clip(QUATERNION, columns)
    selected = np.zeros(len(clip.curves.co), dtype=bool)
    selected[1] = True  # w at frame 6
    repair = change_signs(clip, selected, how)
    assert repair.subject is clip and repair.applied == ()
    assert "lacks a component" in repair.refused[0].why and "QA302" in repair.refused[0].why
    missing = flipped([1, -1, 1, 1, 1], components=(0, 1, 3))
    repair = change_signs(missing, picked(missing, [6]), how)
    assert repair.subject is missing and "lacks a component" in repair.refused[0].why


def test_selected_keys_that_are_no_rotation_are_refused_by_name() -> None:
    values = turns("X", [0, 20, 40, 60, 80])
    values[2] = 0.0
    clip = quaternion_clip(FRAMES, values)
    repair = change_signs(clip, picked(clip, [11]), FLIP)
    assert repair.subject is clip and "QA102" in repair.refused[0].why


@given(st.integers(0, 2**32 - 1), st.sampled_from([ALIGN, FLIP]))
@pytest.mark.slow
def test_no_keyed_pose_changes_and_no_aligned_path_gets_longer(seed: int, how: str) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    times = np.cumsum(rng.integers(1, 9, count)).astype(float)
    values = random_quaternions(rng, count)
    clip = joined(quaternion_clip(times, values), quaternion_clip(times, random_quaternions(rng, count), bone="Leg"))
    selected = rng.random(len(clip.curves.co)) < 0.3
    repair = change_signs(clip, selected, how)
    assert repair.proof.max_key_change_deg <= 1e-12  # the rounding of the angle itself
    refused = {r.data_path for r in repair.refused}
    for track in range(2):
        signs = signs_of(clip, repair.subject, track)
        if clip.tracks.data_path[track] in refused:
            assert signs == [1] * count
        rows = [i for i, t in enumerate(times_of(clip, track)) if picked_row(clip, selected, track, i)]
        assert all(sign == 1 or number in rows for number, sign in enumerate(signs))
        if how == ALIGN:
            before, after = values_of(clip, track).astype(float), values_of(repair.subject, track).astype(float)
            longer = path(after) - path(before)
            assert longer.max(initial=0.0) <= 0.01


def picked_row(clip: Clip, selected: np.ndarray, track: int, row: int) -> bool:
    return any(selected[clip.curves.rows(int(c))][row] for c in clip.tracks.curves[track])


def path(values: np.ndarray) -> np.ndarray:
    """Degrees that each LINEAR step sweeps, played by components: all in one plane, so it is the angle of 4-vectors."""
    degrees = []
    for a, b in pairwise(values):
        dot = float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))
        degrees.append(2 * math.degrees(math.acos(min(1.0, max(-1.0, dot)))))
    return np.array(degrees)


def test_a_clip_with_ignores_keeps_them() -> None:
    clip = replace(flipped([1, -1, 1, 1, 1]), slot="Other")
    repair = change_signs(clip, np.ones(len(clip.curves.co), dtype=bool), ALIGN)
    assert repair.subject.slot == "Other" and repair.subject.ignores == clip.ignores
