# SPDX-License-Identifier: GPL-3.0-or-later
"""QA104 sign-flip; REFERENCE.md 1, 2, 3, 13 and 14 as Blender plays them."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import (
    BEZIER,
    CONSTANT,
    CYCLE_MIRROR,
    CYCLE_REPEAT,
    CYCLE_REPEAT_OFFSET,
    LINEAR,
    QUATERNION,
    SINE,
    SLERP,
    Clip,
    Cycles,
)
from quat_audit.motion.readers import Drawn, Reader
from quat_audit.rules import RULES
from quat_audit.rules.qa104_sign_flip import RULE
from tests.clips import (
    NAN,
    about,
    free_handles,
    joined,
    quaternion_clip,
    random_quaternions,
    track_clip,
    turns,
    values_of,
)
from tests.contract import assert_contract, found, measured
from tests.judging import audit_clip, repair_clip
from tests.oracle import path_deg, scalar_raw, scalar_rotation, turn_deg


def pair(degrees: float, gap: float = 10.0, sign: float = -1.0, axis: Any = "Z", **options: Any) -> Clip:
    """Two keys, the second in the other hemisphere."""
    return quaternion_clip([1, 1 + gap], [about(axis, 0), sign * np.array(about(axis, degrees))], **options)


def flat(times: Any, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The handles that Blender gives new keys: level, a third of the gap long."""
    points = np.stack([np.repeat(np.array(times, float)[:, None], 4, axis=1), values], axis=-1)
    reach = np.array([(times[1] - times[0]) / 3, 0.0])
    return points - reach, points + reach


def dots(clip: Clip, track: int = 0) -> np.ndarray:
    q = values_of(clip, track).astype(np.float64)
    return np.einsum("ij,ij->i", q[:-1], q[1:])


# ---- reference numbers ------------------------------------------------------------------------------------


def test_reference_1_twenty_degrees_with_the_end_negated() -> None:
    clip = pair(20, dtype=np.float64)
    assert measured(clip, RULE, "dot")[0] == pytest.approx(-0.9848077, abs=1e-7)
    middle = scalar_rotation(clip, 0, scalar_raw(clip, 0, 6.0))
    assert middle is not None and turn_deg(about("Z", 0), middle) == pytest.approx(170, abs=1e-9)
    after = assert_contract(clip, RULE).subject
    middle = scalar_rotation(after, 0, scalar_raw(after, 0, 6.0))
    assert middle is not None and turn_deg(about("Z", 10), middle) < 1e-9


def test_reference_2_the_same_rotation_with_the_other_sign() -> None:
    clip = pair(0, dtype=np.float64)
    assert scalar_raw(clip, 0, 6.0) == [0, 0, 0, 0]
    assert found(clip, RULE) == [((1, 11), "visible", "error", "safe")]
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(360, abs=1e-6)
    after = assert_contract(clip, RULE).subject
    for time in np.linspace(1, 11, 30):
        assert scalar_raw(after, 0, float(time)) == [1, 0, 0, 0]


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_reference_3_a_zero_dot_keeps_its_sign(zero: float) -> None:
    clip = quaternion_clip([1, 11], [[1, zero, 0, zero], [zero, 0, zero, -1]])
    assert found(clip, RULE) == []
    assert assert_contract(clip, RULE, unsafe=True).subject is clip


def test_reference_13_linear_keys_21_degrees_apart() -> None:
    clip = pair(21)
    assert math.sqrt(sum(v * v for v in scalar_raw(clip, 0, 6.0))) == pytest.approx(0.0915, abs=5e-5)
    middle = scalar_rotation(clip, 0, scalar_raw(clip, 0, 6.0))
    assert middle is not None and turn_deg(about("Z", 0), middle) == pytest.approx(169.5, abs=1e-3)
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(339, abs=1e-3)
    after = assert_contract(clip, RULE).subject
    middle = scalar_rotation(after, 0, scalar_raw(after, 0, 6.0))
    assert middle is not None and turn_deg(about("Z", 10.5), middle) < 1e-4


def test_reference_14_default_bezier_handles() -> None:
    q = np.array([about("Z", 0), [-v for v in about("Z", 10)]])
    clip = quaternion_clip([1, 11], q, interpolation=BEZIER, handles=flat([1, 11], q))
    middle = scalar_rotation(clip, 0, scalar_raw(clip, 0, 6.0))
    assert middle is not None and turn_deg(about("Z", 0), middle) == pytest.approx(175, abs=1e-3)
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(350, rel=1e-3)
    after = assert_contract(clip, RULE).subject
    assert path_deg(after, 0, 1, 11) == pytest.approx(10, abs=1e-3)


# ---- finding and grading ----------------------------------------------------------------------------------


def test_clean_tracks_are_silent() -> None:
    rng = np.random.default_rng(1)
    clip = joined(
        quaternion_clip(range(20), turns(rng.normal(size=3), np.arange(20) * 35)),
        quaternion_clip(range(5), -turns("X", [0, 10, 20, 30, 40]), bone="Leg", interpolation=BEZIER, handles="thirds"),
    )
    assert found(clip, RULE) == []
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip


@pytest.mark.parametrize("dot, flips", [(-0.9e-3, False), (-1.1e-3, True), (1e-3, False), (0.0, False)])
def test_the_limit_of_the_dot_product(dot: float, flips: bool) -> None:
    q = [[1, 0, 0, 0], [dot, 0, 0, math.sqrt(1 - dot * dot)]]
    clip = quaternion_clip([1, 11], q, dtype=np.float64)
    assert bool(found(clip, RULE)) is flips


def test_the_dot_is_normalised() -> None:
    clip = quaternion_clip([1, 11], [[1e-2, 0, 0, 0], [-1e-2, 0, 0, 0]], dtype=np.float64)
    assert measured(clip, RULE, "dot") == [pytest.approx(-1)]


@pytest.mark.parametrize(
    "gap, kind, severity",
    [(10, "visible", "error"), (1.5, "visible", "error"), (1.0, "latent", "warning"), (0.3, "latent", "warning")],
)
def test_it_shows_where_a_frame_is_drawn_between(gap: float, kind: str, severity: str) -> None:
    clip = pair(20, gap, dtype=np.float64)
    assert found(clip, RULE) == [((1, 1 + gap), kind, severity, "safe")]


def test_neighbouring_frames_late_in_a_float32_clip_are_latent() -> None:
    """Frames that float32 does not tell from whole ones; a tenth of a frame later one is drawn between."""
    q = turns("X", [0, 10, 20, 30]) * [[1], [-1], [-1], [-1]]
    for late, kind in ((0.01, "latent"), (0.1, "visible")):
        clip = quaternion_clip(np.arange(100000, 100004) + late, q)
        assert [k for _, k, *_ in found(clip, RULE)] == [kind]


@pytest.mark.parametrize(
    ("frames", "drawn", "kind"),
    [
        ([1, 4], Drawn(), "visible"),
        ([1, 4], Drawn(start=1, spacing=3), "latent"),  # a strip at a third of its length
        ([1, 2], Drawn(start=0.5), "visible"),  # a strip that begins half-way between two frames
        ([2.6, 3.4], Drawn(), "visible"),  # keys at 30 frames a second in a scene at 24
    ],
)
def test_by_the_frames_of_the_scene(frames: list[float], drawn: Drawn, kind: str) -> None:
    clip = quaternion_clip(frames, turns("X", [0, 20]) * [[1], [-1]])
    (finding,) = audit_clip(replace(clip, readers=(Reader("Rig", drawn=(drawn,)),)), [RULE])
    assert finding.occurrences.kind.tolist() == [kind]
    assert finding.severity == {"visible": "error", "latent": "warning"}[kind]


@pytest.mark.parametrize(("share", "kind"), [(0.0235, "latent"), (0.0245, "visible")])
def test_it_shows_by_the_degrees_on_the_drawn_frame(share: float, kind: str) -> None:
    """From 0° by way of 180° to 20°, stored as −q: 2.4 % of the way is 0.5° on the one side, and −0.5° on the other."""
    clip = replace(pair(20, dtype=np.float64), readers=(Reader("Rig", drawn=(Drawn(times=(1 + 10 * share,)),)),))
    was = scalar_rotation(clip, 0, scalar_raw(clip, 0, 1 + 10 * share))
    assert was is not None
    assert (turn_deg(about("Z", 20 * share), was) >= 1) is (kind == "visible")
    assert [k for _, k, *_ in found(clip, RULE)] == [kind]


def test_undrawn_moments_may_count() -> None:
    assert found(pair(20, 1.0), RULE, {"QA104": {"undrawn_shows": 1.0}}) == [((1, 2), "visible", "error", "safe")]


@pytest.mark.parametrize(
    "degrees, kind, fix",
    [
        (119, "visible", "safe"),
        (119.98, "visible", "safe"),
        (119.995, "ambiguous", "unsafe"),
        (121, "ambiguous", "unsafe"),
        (175, "ambiguous", "unsafe"),
    ],
)
def test_beyond_a_third_of_a_turn_it_may_be_meant(degrees: float, kind: str, fix: str) -> None:
    clip = pair(degrees)
    (occurrence,) = found(clip, RULE)
    assert (occurrence[1], occurrence[3]) == (kind, fix)
    assert measured(clip, RULE, "shortest_deg")[0] == pytest.approx(degrees, abs=1e-3)
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(360 - degrees, abs=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("start", [0.0, 17.0, 100.0])
def test_reference_24_a_keyed_turn_of_240(dtype: Any, start: float) -> None:
    """0, 240, 480 about any axis: both steps are judged alike, and neither is left to what rounding says."""
    rng = np.random.default_rng(24)
    for axis in [*"XYZ", *rng.normal(size=(40, 3))]:
        clip = quaternion_clip([1, 30, 60], turns(axis, start + np.array([0, 240, 480])), dtype=dtype)
        assert [f[1:] for f in found(clip, RULE)] == [("ambiguous", "note", "unsafe")] * 2
        assert assert_contract(clip, RULE).subject is clip


def test_nothing_plays_between_held_keys() -> None:
    clip = pair(20, interpolation=CONSTANT)
    assert found(clip, RULE) == [((1, 11), "harmless", "note", "safe")]
    assert measured(clip, RULE, "excess_deg") == [0]
    # Held in some components only is not held.
    mixed = pair(20, interpolation={0: [0, 0], 1: [0, 0], 2: [0, 0], 3: [1, 1]})
    assert found(mixed, RULE)[0][1] == "visible"


def test_gltf_linear_is_latent_and_cubic_is_by_components() -> None:
    assert found(pair(20, interpolation=SLERP, format="gltf"), RULE) == [((1, 11), "latent", "warning", "safe")]
    assert measured(pair(20, interpolation=SLERP), RULE, "excess_deg")[0] < 1e-6
    assert found(pair(150, interpolation=SLERP, format="gltf"), RULE)[0][1] == "latent"
    cubic = pair(20, interpolation=BEZIER, handles="thirds", format="gltf")
    assert found(cubic, RULE)[0][1:] == ("visible", "error", "safe")
    assert found(pair(20, interpolation=CONSTANT, format="gltf"), RULE)[0][1] == "harmless"


@pytest.mark.parametrize("mode", [LINEAR, BEZIER, SINE])
@pytest.mark.parametrize("seed", range(5))
def test_swept_is_what_a_scalar_reference_travels(mode: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a = random_quaternions(rng, 1)[0]
    b = a + rng.normal(size=4) * 0.2
    q = np.array([a, -b / np.linalg.norm(b)])
    handles = free_handles(rng, [1, 11], q, 0.2)
    clip = quaternion_clip([1, 11], q, interpolation=mode, handles=handles, dtype=np.float64)
    wanted = path_deg(clip, 0, 1, 11)
    assert wanted is not None
    assert measured(clip, RULE, "swept_deg")[0] == pytest.approx(wanted, rel=5e-3, abs=0.1)


def test_bad_keys_are_passed_over_and_the_valid_neighbours_compared() -> None:
    q = turns("Z", [0, 5, 10, 15, 20])
    q[1], q[3], q[2:] = NAN, 0.0, -q[2:]
    q[3] = 0.0
    assert [frames for frames, *_ in found(quaternion_clip([1, 5, 9, 13, 17], q), RULE)] == [(1, 9)]


def test_components_at_different_times_are_judged_but_repaired_later() -> None:
    q = turns("Z", [0, 5, 10]) * [[1], [-1], [-1]]
    keys = {p: ([1, 11, 21], q[:, p]) for p in (0, 3)} | {1: ([1, 11], [0, 0]), 2: ([1], [0])}
    clip = track_clip(QUATERNION, keys)
    assert len(found(clip, RULE)) == 1
    repair = assert_contract(clip, RULE)
    assert repair.subject is clip and len(repair.refused) == 1
    assert found(assert_contract(clip, RULES).subject, RULE) == []


def test_what_cannot_be_evaluated_is_not_judged() -> None:
    assert audit_clip(pair(20, unevaluable="a Noise modifier"), [RULE]) == []


def test_the_message() -> None:
    (finding,) = audit_clip(pair(20, gap=1.5), [RULE])
    assert finding.message == "Arm, frames 1→2.5: swings 340.0° where 20.0° suffices"
    assert "meant?" in audit_clip(pair(150), [RULE])[0].message
    latent = audit_clip(pair(20, interpolation=SLERP, format="gltf"), [RULE])[0].message
    assert "340.0°" in latent and "0.042→0.458 s" in latent


# ---- repair -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mode", [CONSTANT, LINEAR, BEZIER, SLERP, SINE])
@pytest.mark.parametrize("seed", range(3))
def test_signs_are_chosen_along_the_track_and_the_first_stays(dtype: Any, mode: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    smooth = turns(rng.normal(size=3), np.arange(12) * 25.0)
    signs = rng.choice([-1.0, 1.0], 12)
    clip = quaternion_clip(
        np.arange(12) * 4.0, smooth * signs[:, None], interpolation=mode, handles="thirds", dtype=dtype
    )
    after = assert_contract(clip, RULE).subject
    stored = values_of(clip)
    wanted = stored * (signs[0] * signs)[:, None].astype(dtype)
    assert np.array_equal(values_of(after), wanted)
    # The handles of a key go with it, bit for bit but for their sign.
    flipped = np.repeat(signs[None] != signs[0], 4, axis=0).ravel()
    for name in ("co", "handle_left", "handle_right"):
        was, now = getattr(clip.curves, name), getattr(after.curves, name)
        assert np.array_equal(now[flipped, 1], -was[flipped, 1])
        assert np.array_equal(now[~flipped], was[~flipped])
        assert np.array_equal(now[:, 0], was[:, 0])
    assert not after.curves.marked.any()


def test_pairs_that_may_be_meant_keep_their_relative_sign() -> None:
    q = turns("Z", [0, 10, 150, 160]) * [[1], [-1], [1], [-1]]
    clip = quaternion_clip([1, 11, 21, 31], q)
    assert [kind for _, kind, *_ in found(clip, RULE)] == ["visible", "ambiguous", "visible"]
    safe = assert_contract(clip, RULE).subject
    assert np.sign(dots(safe)).tolist() == [1, -1, 1]
    assert np.sign(dots(assert_contract(clip, RULE, unsafe=True).subject)).tolist() == [1, 1, 1]


def test_a_half_turn_is_never_turned_round() -> None:
    """Signs after it are chosen relative to the key before, so that the side Blender plays now stays."""
    half = [0.0, 0.0, 0.0, -1.0]
    q = np.array([about("Z", 0), half, -np.array(about("Z", 190)) * -1])
    clip = quaternion_clip([1, 11, 21], q, dtype=np.float64)
    after = assert_contract(clip, RULE, unsafe=True).subject
    assert values_of(after)[:2].tobytes() == values_of(clip)[:2].tobytes()
    assert dots(after)[1] > 0


def test_each_track_on_its_own() -> None:
    rng = np.random.default_rng(3)
    parts = []
    for number in range(5):
        q = turns(rng.normal(size=3), np.arange(number) * 20.0) * rng.choice([-1.0, 1.0], (number, 1))
        parts.append(quaternion_clip(np.arange(number) * 2.0, q, bone=f"Bone{number}"))
    after = assert_contract(joined(*parts), RULE).subject
    for track, part in enumerate(parts):
        assert np.all(dots(after, track) > 0)
        if len(values_of(part)):
            assert np.array_equal(values_of(after, track)[0], values_of(part)[0])


def test_a_track_at_rest_in_the_other_hemisphere_is_no_flip() -> None:
    clip = quaternion_clip([1, 2, 3], -turns("X", [0, 1, 2]))
    assert assert_contract(clip, RULE, unsafe=True).subject is clip


@pytest.mark.parametrize("mode, refused", [(CYCLE_REPEAT, False), (CYCLE_MIRROR, False), (CYCLE_REPEAT_OFFSET, True)])
def test_cycles_that_add_up_would_show_another_pose(mode: str, refused: bool) -> None:
    """With REPEAT_OFFSET the difference of last and first is added in each cycle: its sign is what plays there."""
    q = turns("Z", [0, 20, 40]) * [[1], [1], [-1]]
    clip = quaternion_clip([1, 11, 21], q, cycles=Cycles(mode, mode, 0, 0))
    repair = assert_contract(clip, RULE)
    assert bool(repair.refused) is refused
    if refused:
        assert repair.subject is clip and "keyed rotation would change" in repair.refused[0].why
    else:
        assert np.all(dots(repair.subject) > 0)


def test_a_path_that_would_get_longer_is_refused() -> None:
    """Handles made for the other sign: with the signs right the components would swing further than now."""
    q = np.array([about("Z", 0), [-v for v in about("Z", 60)]])
    left, right = np.zeros((2, 4, 2)), np.zeros((2, 4, 2))
    for key, time in ((0, 1.0), (1, 11.0)):
        left[key, :, 0], right[key, :, 0] = time - 5, time + 5
        left[key, :, 1] = right[key, :, 1] = q[key]
    # From the first key the handle already points beyond the end's opposite.
    right[0, :, 1] = np.array(about("Z", -60)) * 6
    left[1, :, 1] = np.array(about("Z", -60)) * 6
    clip = quaternion_clip([1, 11], q, interpolation=BEZIER, handles=(left, right))
    repair = assert_contract(clip, RULE)
    before = path_deg(clip, 0, 1, 11)
    other = np.array([[[[1.0, 1.0]]], [[[1.0, -1.0]]]])[:, 0]  # the second key's handles turn with its value
    flipped = quaternion_clip([1, 11], [q[0], -q[1]], interpolation=BEZIER, handles=(left * other, right * other))
    after = path_deg(flipped, 0, 1, 11)
    assert before is not None and after is not None and after > before + 100.0
    (refused,) = repair.refused
    assert repair.subject is clip and refused.code == "QA104"
    # Both are sampled, each by its own program, and the path runs near zero.
    (longer,) = re.findall(r"would get ([\d.]+)° longer", refused.why)
    assert float(longer) == pytest.approx(after - before, abs=1.0)


def test_counts_are_keys_not_components() -> None:
    q = turns("Z", [0, 20, 40, 60]) * [[1], [-1], [-1], [1]]
    repair = assert_contract(quaternion_clip([1, 11, 21, 31], q), RULE)
    (applied,) = repair.applied
    assert (applied.code, applied.tracks, applied.keys_changed) == ("QA104", 1, 2)
    assert repair.proof.keys_added == repair.proof.keys_removed == 0
    assert repair.proof.max_key_change_deg == 0
    assert 170 <= repair.proof.max_between_change_deg <= 180
