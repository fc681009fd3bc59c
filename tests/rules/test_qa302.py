# SPDX-License-Identifier: GPL-3.0-or-later
"""QA302 missing-component."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CUBIC, CYCLE_REPEAT_OFFSET, EULER, QUATERNION, Clip, Cycles
from quat_audit.motion.curve import evaluate
from quat_audit.rules.qa302_missing_component import RULE
from tests.clips import NAN, euler_clip, free_handles, joined, quaternion_clip, track_clip, turns
from tests.contract import assert_contract
from tests.judging import audit_clip
from tests.oracle import scalar_raw, scalar_rotation, turn_deg

HALF = math.sqrt(0.5)


def found(clip: Clip) -> list[tuple[str, str, str, int, float]]:
    """(class, severity, fix, components missing, degrees)."""
    return [
        (
            str(f.occurrences.kind[0]),
            f.severity,
            f.fix,
            int(f.occurrences.measured["missing"][0]),
            round(float(f.occurrences.measured["effect_deg"][0]), 3),
        )
        for f in audit_clip(clip, [RULE])
    ]


def only_w(pose, **options) -> Clip:
    return track_clip(QUATERNION, {0: ([1, 10], [HALF, 0.5])}, pose=pose, **options)


STILL = [[0, 0, 0], [30, 0, 0]]
FOUND = {
    "whole quaternion": (quaternion_clip([1, 2], turns("X", [0, 10])), []),
    "whole Euler": (euler_clip([1, 2], [[0, 0, 0], [1, 2, 3]]), []),
    # 2 atan(.7071 / .5) at frame 10; against w alone: the identity.
    "only w": (only_w([HALF, 0, HALF, 0]), [("visible", "warning", "safe", 3, 109.471)]),
    "only w, pose at rest": (only_w([1, 0, 0, 0]), [("slight", "note", "safe", 3, 0.0)]),
    "only w, hardly posed": (only_w([1, 0.001, 0, 0]), [("slight", "note", "safe", 3, 0.229)]),
    "nobody tells": (only_w([NAN] * 4), [("unknown", "note", "none", 3, 0.0)]),
    "w is keyed, nobody asks": (only_w([NAN, 0, HALF, 0]), [("visible", "warning", "safe", 3, 109.471)]),
    "x unknown": (only_w([1, NAN, 0, 0]), [("unknown", "note", "none", 3, 0.0)]),
    # A wheel keyed on one axis is how people work.
    "Euler": (euler_clip([1, 2], STILL, components=(0,)), []),
    "Euler, nobody tells": (euler_clip([1, 2], STILL, components=(0,), pose=[NAN] * 3), []),
    "Euler, hardly posed": (euler_clip([1, 2], STILL, components=(0,), pose=(9, 0.01, 0)), []),
    "Euler, posed": (
        euler_clip([1, 2], STILL, components=(0,), pose=(9, math.radians(90), 0)),
        [("visible", "note", "safe", 2, 90.0)],
    ),
    "BVH": (euler_clip([1, 2], STILL, components=(0,), format="bvh"), []),
    "keys alone tell": (
        only_w([HALF, 0, HALF, 0], unevaluable="NOISE modifier"),
        [("visible", "warning", "safe", 3, 109.471)],
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    clip, expected = FOUND[name]
    assert found(clip) == expected
    repair = assert_contract(clip, RULE)
    assert (repair.subject is clip) == (not any(f[2] == "safe" for f in expected))


def test_message_names_the_components():
    (finding,) = audit_clip(only_w([HALF, 0, HALF, 0]), [RULE])
    assert finding.message == (
        "Arm, frames 1→10: no keys on x, y, z: the stored pose value is played (109.5° against the identity)"
    )
    (finding,) = audit_clip(only_w([NAN] * 4), [RULE])
    assert "no keys on x, y, z" in finding.message and "nobody" in finding.message


@pytest.mark.parametrize("kind", [QUATERNION, EULER])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_set_of_components_is_completed_and_nothing_moves(kind, dtype):
    rng = np.random.default_rng(7)
    n = 4 if kind == QUATERNION else 3
    for size in range(1, n):
        for components in itertools.combinations(range(n), size):
            times = np.array([1.0, 4.0, 9.0])
            values = rng.uniform(-1, 1, (3, n)) + [1.0, 0, 0, 0][:n]
            left, right = free_handles(rng, times, values, 0.2)
            pose = np.float32(rng.uniform(-1, 1, n) + 0.3)
            clip = track_clip(
                kind,
                {c: (times, values[:, c]) for c in components},
                pose=[float(p) for p in pose],
                order="ZXY",
                interpolation=BEZIER,
                handles={c: (left[:, c], right[:, c]) for c in components},
                dtype=dtype,
            )
            after = assert_contract(clip, RULE).subject
            assert np.all(after.tracks.curves[0, :n] >= 0) and len(after.curves) == n
            assert sorted(after.curves.component.tolist()) == list(range(n))
            for time in np.linspace(-3, 13, 33):  # everywhere, not only at keys
                was = scalar_rotation(clip, 0, scalar_raw(clip, 0, float(time)))
                now = scalar_rotation(after, 0, scalar_raw(after, 0, float(time)))
                assert was and now and turn_deg(was, now) < 1e-5
            for c in set(range(n)) - set(components):
                curve = int(after.tracks.curves[0, c])
                rows = after.curves.rows(curve)
                np.testing.assert_array_equal(after.curves.co[rows, 0], times)
                np.testing.assert_array_equal(after.curves.co[rows, 1], np.full(3, pose[c], dtype))
                assert after.curves.marked[rows].all() and set(after.curves.origin[rows]) == {-1}
                assert after.curves.ancestor[curve] == -1 and set(after.curves.interpolation[rows]) == {BEZIER}


def test_keys_apart_give_the_union_of_times():
    clip = track_clip(QUATERNION, {0: ([1, 10], [1, 0.9]), 2: ([5, 20], [0.1, 0.4])}, pose=(1, 0.1, 0, 0.2))
    after = assert_contract(clip, RULE).subject
    for c in (1, 3):
        rows = after.curves.rows(int(after.tracks.curves[0, c]))
        assert after.curves.co[rows, 0].tolist() == [1, 5, 10, 20]
    for c in (0, 2):  # what was keyed stays as it was: that is QA303
        assert after.curves.counts[after.tracks.curves[0, c]] == 2


@pytest.mark.parametrize(
    "options",
    [
        {"interpolation": CUBIC, "easing": 1},
        {"cycles": Cycles(CYCLE_REPEAT_OFFSET, CYCLE_REPEAT_OFFSET, 0, 0)},
        {"linear_extrapolation": True},
        {"interpolation": BEZIER, "handles": "thirds", "linear_extrapolation": True},
    ],
    ids=str,
)
def test_the_new_curves_hold_their_value_for_ever(options):
    clip = only_w([1, 0.25, -0.5, 0.125], **options)
    after = assert_contract(clip, RULE).subject
    for c in (1, 2, 3):
        curve = int(after.tracks.curves[0, c])
        np.testing.assert_array_equal(evaluate(after.curves, curve, np.linspace(-40, 60, 201)), clip.tracks.pose[0, c])


def test_other_tracks_and_channels_are_left():
    clip = joined(
        quaternion_clip([1, 2], turns("X", [0, 10]), bone="A"),
        only_w([HALF, 0, HALF, 0], bone="B"),
        euler_clip([3, 4], [[0, 0, 0], [0, 5, 0]], components=(1,), pose=(0.5, 9, 0), bone="C"),
    )
    assert [f.bone for f in audit_clip(clip, [RULE])] == ["B", "C"]
    repair = assert_contract(clip, RULE)
    assert len(repair.subject.curves) == len(clip.curves) + 3 + 2
    assert repair.applied[0].tracks == 2 and repair.applied[0].keys_changed == 4
    assert repair.proof.keys_added == 3 * 2 + 2 * 2


def test_read_only_group_is_refused():
    repair = assert_contract(only_w([HALF, 0, HALF, 0], read_only="linked from rig.blend"), RULE)
    assert [r.why for r in repair.refused] == ["linked from rig.blend"]


def test_delta_rotation():
    clip = track_clip(QUATERNION, {0: ([1, 10], [1, 0.9])}, bone="", delta=True, pose=(1, 0, 0, 0.5))
    assert [f[0] for f in found(clip)] == ["visible"]
    after = assert_contract(clip, RULE).subject
    assert set(after.curves.data_path) == {"delta_rotation_quaternion"}
