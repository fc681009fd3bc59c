# SPDX-License-Identifier: GPL-3.0-or-later
"""QA103 non-unit-quaternion."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, CUBIC, LINEAR, QUATERNION, SLERP, Clip
from quat_audit.rules import RULES
from quat_audit.rules.qa103_non_unit_quaternion import RULE
from tests.clips import NAN, free_handles, quaternion_clip, random_quaternions, times_of, track_clip, turns, values_of
from tests.contract import assert_contract, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_raw, scalar_rotation, turn_deg

TIMES = [1.0, 11.0, 21.0]


def scaled(lengths: Any, degrees: Any = (0.0, 60.0, 120.0), **options: Any) -> Clip:
    return quaternion_clip(TIMES, turns((0, 1, 1), degrees) * np.array(lengths)[:, None], **options)


@pytest.mark.parametrize("off, reported", [(0.0, False), (0.99e-3, False), (1.01e-3, True), (0.5, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_the_tolerance(off: float, reported: bool, sign: int) -> None:
    clip = scaled([1, 1 + sign * off, 1], dtype=np.float64)
    assert len(found(clip, RULE)) == reported
    repair = assert_contract(clip, RULE)
    assert (repair.subject is clip) is not reported


def test_what_is_below_is_bit_for_bit_untouched() -> None:
    """8-bit keys, off by less than the tolerance, are the noise of exporters."""
    q = np.round(turns((0, 0.1, 1), [0.0, 1.0, 2.0]) * 1e4) / 1e4
    clip = quaternion_clip(TIMES, q)
    assert np.any(np.linalg.norm(q, axis=1) != 1)
    assert assert_contract(clip, RULE, unsafe=True).subject is clip


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", [LINEAR, BEZIER])
def test_the_deviation_is_that_of_a_scalar_comparison(seed: int, mode: int) -> None:
    rng = np.random.default_rng(seed)
    unit = turns(rng.normal(size=3), [0, 50, 90])
    lengths = np.array([1.0, rng.uniform(0.3, 3), 1.0])
    handles = free_handles(rng, TIMES, unit, 0.05)
    handles[0][..., 1] *= lengths[:, None]
    handles[1][..., 1] *= lengths[:, None]
    clip = quaternion_clip(TIMES, unit * lengths[:, None], interpolation=mode, handles=handles, dtype=np.float64)
    fixed_handles = tuple(np.concatenate([h[..., :1], h[..., 1:] / lengths[:, None, None]], axis=-1) for h in handles)
    right = quaternion_clip(TIMES, unit, interpolation=mode, handles=fixed_handles, dtype=np.float64)
    wanted = 0.0
    for time in np.linspace(1, 21, 161):
        a, b = (scalar_rotation(c, 0, scalar_raw(c, 0, float(time))) for c in (clip, right))
        assert a is not None and b is not None
        wanted = max(wanted, turn_deg(a, b))
    (deviation,) = measured(clip, RULE, "deviation_deg")
    assert wanted * 0.97 - 0.01 <= deviation <= wanted + 1e-6


@pytest.mark.parametrize("factor, severity, kind", [(1.5, "warning", "mistimed"), (1.02, "note", "slight")])
def test_severity_is_what_shows(factor: float, severity: str, kind: str) -> None:
    clip = scaled([1, factor, 1])
    assert found(clip, RULE) == [((11, 11), kind, severity, "safe")]
    assert (measured(clip, RULE, "deviation_deg")[0] >= 1) == (severity == "warning")


def test_all_keys_of_one_length_show_nothing() -> None:
    clip = scaled([2, 2, 2])
    assert [severity for _, _, severity, _ in found(clip, RULE)] == ["note"] * 3
    assert max(measured(clip, RULE, "deviation_deg")) < 1e-5


def test_held_keys_show_nothing() -> None:
    clip = scaled([1, 3, 1], interpolation=CONSTANT)
    assert found(clip, RULE) == [((11, 11), "slight", "note", "safe")]


@pytest.mark.parametrize("off, severity", [(0.0076, "note"), (0.0078, "warning"), (-0.0078, "warning")])
@pytest.mark.parametrize("mode", [SLERP, BEZIER, CONSTANT])
def test_in_a_gltf_file_the_format_decides(off: float, severity: str, mode: int) -> None:
    clip = scaled([1, 1 + off, 1], format="gltf", interpolation=mode, dtype=np.float64, handles="thirds")
    assert found(clip, RULE) == [((11, 11), "forbidden" if severity == "warning" else "slight", severity, "safe")]


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-7), (np.float64, 1e-15)])
@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, CUBIC])
def test_value_and_both_handles_are_divided_by_the_length(dtype: Any, tolerance: float, mode: int) -> None:
    rng = np.random.default_rng(5)
    q = turns(rng.normal(size=3), [0, 30, 60]) * np.array([[1.0], [2.5], [1.0]])
    clip = quaternion_clip(TIMES, q, interpolation=mode, handles="thirds", dtype=dtype)
    after = assert_contract(clip, RULE).subject
    np.testing.assert_allclose(np.linalg.norm(values_of(after), axis=1), 1, atol=tolerance)
    for name in ("co", "handle_left", "handle_right"):
        was, now = (getattr(c.curves, name).reshape(4, 3, 2) for c in (clip, after))
        np.testing.assert_allclose(now[:, 1, 1], was[:, 1, 1] / 2.5, rtol=1e-6)
        assert now[:, [0, 2]].tobytes() == was[:, [0, 2]].tobytes()
        assert now[..., 0].tobytes() == was[..., 0].tobytes()
    assert not after.curves.marked.any()


def test_handles_that_would_make_the_path_longer_are_a_reason_to_refuse() -> None:
    rng = np.random.default_rng(5)
    q = turns(rng.normal(size=3), [0, 30, 60]) * np.array([[1.0], [2.5], [1.0]])
    clip = quaternion_clip(TIMES, q, interpolation=BEZIER, handles=free_handles(rng, TIMES, q, 0.05))
    repair = assert_contract(clip, RULE)
    assert repair.subject is clip
    assert "longer" in repair.refused[0].why


def test_only_key_values_count_not_the_pose_between() -> None:
    """Half-way through a step of 120° the components have length ½: nothing is wrong with that."""
    assert found(quaternion_clip([1, 21], turns("X", [0, 120])), RULE) == []
    # y has a key where the others have none: what they play there is no key.
    q = turns("X", [0, 120])
    keys = {p: ([1, 21], q[:, p]) for p in (0, 1, 3)} | {2: ([1, 11, 21], [0, 0, 0])}
    assert found(track_clip(QUATERNION, keys), RULE) == []


def test_zero_and_nan_keys_are_left_to_their_rules() -> None:
    q = turns("X", [0, 10, 20]) * np.array([[1.0], [0.0], [NAN]])
    assert found(quaternion_clip(TIMES, q), RULE) == []


@pytest.mark.parametrize("length", [1.1e-6, 1e-3, 1e5])
def test_extreme_lengths_keep_their_rotation(length: float) -> None:
    clip = scaled([1, length, 1])
    after = assert_contract(clip, RULE).subject
    assert abs(np.linalg.norm(values_of(after)[1]) - 1) < 1e-6


def test_misaligned_tracks_are_repaired_once_completed() -> None:
    q = turns("X", [0, 40, 80]) * np.array([[1.0], [1.5], [1.0]])
    keys = {p: (TIMES, q[:, p]) for p in (0, 1, 2)} | {3: ([1, 21], [0, 0])}
    clip = track_clip(QUATERNION, keys)
    assert assert_contract(clip, RULE).subject is clip
    after = assert_contract(clip, RULES).subject
    np.testing.assert_allclose(np.linalg.norm(values_of(after), axis=1), 1, atol=1e-6)
    assert times_of(after).tolist() == TIMES


def test_many_random_tracks() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        q = random_quaternions(rng, 6) * rng.uniform(0.2, 4, (6, 1))
        clip = quaternion_clip(np.arange(6) * 5.0, q, interpolation=LINEAR)
        repair = assert_contract(clip, RULE)
        assert repair.refused == ()  # by straight lines the arc is the same, only its timing changes


def test_the_message_has_length_and_effect() -> None:
    (finding,) = audit_clip(scaled([1, 1.5, 1]), [RULE])
    assert "length 1.5000" in finding.message and "off by up to" in finding.message
    (finding,) = audit_clip(scaled([2, 2, 2]), [RULE])
    assert "off by" not in finding.message and "2 more" in finding.message
    assert repair_clip(scaled([2, 2, 2]), [RULE]).applied[0].keys_changed == 3
