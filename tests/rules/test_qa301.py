# SPDX-License-Identifier: GPL-3.0-or-later
"""QA301 ignored-rotation-channel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import AXIS_ANGLE, CONSTANT, EULER, QUATERNION, Clip
from quat_audit.motion.readers import Reader, Way
from quat_audit.rules.qa301_ignored_rotation_channel import RULE
from tests.clips import IDENTITY, euler_clip, joined, quaternion_clip, random_quaternions, track_clip, turns, values_of
from tests.contract import assert_contract
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_raw, scalar_rotation, turn_deg

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
CONVERT = {"QA301": {"convert_keys": 1.0}}


def found(clip: Clip) -> list[tuple[str, str, str, str]]:
    """(kind of keys, class, severity, fix)."""
    return sorted(
        (clip.tracks.kind[row], str(kind), str(severity), str(fix))
        for f in audit_clip(clip, [RULE])
        for row, kind, severity, fix in zip(
            f.occurrences.rows.tolist(), f.occurrences.kind, f.occurrences.severity, f.occurrences.fix, strict=True
        )
    )


def quaternions(*modes: str, **options) -> Clip:
    return quaternion_clip([1, 10, 20], turns("Y", [0, 40, 90]), modes=modes, **options)


def angles(*modes: str, order: str = "XYZ", **options) -> Clip:
    return euler_clip([1, 10, 20], [[0, 0, 0], [10, 40, 5], [20, 80, 9]], order, modes=modes, **options)


def axis_angles(*modes: str) -> Clip:
    return track_clip(
        AXIS_ANGLE, {c: ([1, 20], v) for c, v in enumerate([[0, 1], [0, 0], [1, 1], [0, 0]])}, modes=modes
    )


DEAD_Q, DEAD_E = (QUATERNION, "dead", "error", "unsafe"), (EULER, "dead", "error", "unsafe")
STILL_Q = (QUATERNION, "slight", "note", "unsafe")
FOUND = {
    "quaternions": (quaternions(QUATERNION), []),
    **{f"{order} angles": (angles(order, order=order), []) for order in ORDERS},
    "axis-angle": (axis_angles(AXIS_ANGLE), []),
    **{f"quaternions in {order}": (quaternions(order), [DEAD_Q]) for order in ORDERS},
    "quaternions in axis-angle": (quaternions(AXIS_ANGLE), [DEAD_Q]),
    "angles in quaternion": (angles(QUATERNION), [DEAD_E]),
    "angles in axis-angle": (angles(AXIS_ANGLE), [DEAD_E]),
    "axis-angle in ZXY": (axis_angles("ZXY"), [(AXIS_ANGLE, "dead", "error", "unsafe")]),
    "both, angles play": (joined(quaternions("XYZ"), angles("XYZ")), [(QUATERNION, "both", "note", "none")]),
    "both, quaternions play": (
        joined(quaternions(QUATERNION), angles(QUATERNION)),
        [(EULER, "both", "note", "none")],
    ),
    "both, neither plays": (joined(quaternions(AXIS_ANGLE), angles(AXIS_ANGLE)), [DEAD_E, DEAD_Q]),
    "another bone's keys are no comfort": (joined(quaternions("XYZ", bone="A"), angles("XYZ", bone="B")), [DEAD_Q]),
    "dead for one of two users": (quaternions(QUATERNION, "XYZ"), [DEAD_Q]),
    "each user has keys of its own": (joined(quaternions(QUATERNION, "XYZ"), angles(QUATERNION, "XYZ")), []),
    "two Euler orders": (angles("XYZ", "ZXY"), []),
    "nobody tells": (quaternions(), []),
    "nobody plays it: a guess is no fault": (quaternions("XYZ", users=()), []),
    "an object": (quaternions("XYZ", bone=""), [DEAD_Q]),
    "delta quaternions": (quaternions("XYZ", bone="", delta=True), [DEAD_Q]),
    "delta angles": (angles(QUATERNION, bone="", delta=True), [DEAD_E]),
    "delta that plays": (quaternions(QUATERNION, bone="", delta=True), []),
    "the plain channel's keys are no comfort for the delta": (
        joined(quaternions("XYZ", bone="", delta=True), angles("XYZ", bone="")),
        [(QUATERNION, "dead", "error", "none")],  # to set the mode would kill the angles
    ),
    "identity": (quaternion_clip([1, 20], [IDENTITY] * 2, modes=("XYZ",)), [STILL_Q]),
    "0.9 degrees": (quaternion_clip([1, 20], turns("X", [0, 0.9]), modes=("XYZ",)), [STILL_Q]),
    "1.1 degrees": (quaternion_clip([1, 20], turns("X", [0, 1.1]), modes=("XYZ",)), [DEAD_Q]),
    "between two later keys": (quaternion_clip([1, 2, 3], turns("X", [0, -0.6, 0.6]), modes=("XYZ",)), [DEAD_Q]),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    clip, expected = FOUND[name]
    assert found(clip) == expected
    repair = assert_contract(clip, RULE)
    assert repair.subject is clip and not repair.applied


def test_message():
    (finding,) = audit_clip(quaternions("XYZ"), [RULE])
    assert finding.message == (
        "Arm, frames 1→20: quaternion keys of Arm are not played, the rotation mode is XYZ: a motion of 90.0° is dead"
    )
    (finding,) = audit_clip(quaternions(QUATERNION, "ZYX"), [RULE])
    assert "the rotation mode is ZYX" in finding.message
    assert finding.occurrences.measured["keys"].tolist() == [3]


@pytest.mark.parametrize("dead, mode", [(quaternions("XYZ"), QUATERNION), (angles(QUATERNION, order="ZXY"), "ZXY")])
def test_the_mode_that_the_keys_need_is_set(dead, mode):
    clip = joined(dead, quaternions(QUATERNION, bone="B"))
    repair = assert_contract(clip, RULE, unsafe=True)
    assert repair.subject.tracks.modes == ((mode,), (QUATERNION,))
    assert repair.subject.curves is clip.curves  # no key is touched
    assert [(a.code, a.tracks, a.keys_changed) for a in repair.applied] == [("QA301", 1, 1)]


def test_the_mode_is_set_for_all_users():
    repair = assert_contract(quaternions(QUATERNION, "XYZ"), RULE, unsafe=True)
    assert repair.subject.tracks.modes == ((QUATERNION,),)


@pytest.mark.parametrize("order", ORDERS)
def test_quaternions_become_euler_angles(order):
    rng = np.random.default_rng(3)
    path = np.cumsum(rng.uniform(-25, 25, (12, 3)), axis=0)
    start = euler_clip(np.arange(12), path, order)
    q = np.array([scalar_rotation(start, 0, scalar_raw(start, 0, t)) for t in range(12)]) * rng.choice([-1, 1], (12, 1))
    clip = quaternion_clip(np.arange(12), q, modes=(order,), interpolation=CONSTANT)
    repair = assert_contract(clip, RULE, unsafe=True, limits=CONVERT, tracks_kept=False)
    after = repair.subject
    assert (after.tracks.kind, after.tracks.order, after.tracks.modes) == ((EULER,), (order,), ((order,),))
    assert after.tracks.data_path == ('pose.bones["Arm"].rotation_euler',) and len(after.curves) == 3
    assert set(after.curves.ancestor) == {-1} and set(after.curves.interpolation) == {CONSTANT}
    for t in range(12):
        was, now = scalar_rotation(clip, 0, list(q[t])), scalar_rotation(after, 0, scalar_raw(after, 0, t))
        assert was and now and turn_deg(was, now) < 1e-4
    assert np.abs(np.diff(np.degrees(values_of(after)), axis=0)).max() < 60  # no wrap is made


@pytest.mark.parametrize("order", ORDERS)
def test_euler_angles_become_quaternions(order):
    clip = angles(QUATERNION, order=order)
    repair = assert_contract(clip, RULE, unsafe=True, limits=CONVERT, tracks_kept=False)
    after = repair.subject
    assert after.tracks.kind == (QUATERNION,) and len(after.curves) == 4
    for t in (1, 10, 20):
        was = scalar_rotation(clip, 0, scalar_raw(clip, 0, t))
        now = scalar_rotation(after, 0, scalar_raw(after, 0, t))
        assert was and now and turn_deg(was, now) < 1e-4
    q = values_of(after)
    assert np.all(np.einsum("ij,ij->i", q[1:], q[:-1]) > 0)


def test_keys_that_some_users_play_are_not_converted():
    clip = quaternions(QUATERNION, "ZXY")
    (finding,) = audit_clip(clip, [RULE], CONVERT)
    assert finding.fix == "none" and repair_clip(clip, [RULE], CONVERT, unsafe=True).subject is clip


def test_conversion_touches_nothing_else():
    other = quaternion_clip([1, 5], random_quaternions(np.random.default_rng(1), 2), bone="B")
    clip = joined(other, angles(QUATERNION, bone="A"), replace(other))
    clip = replace(
        clip,
        tracks=replace(
            clip.tracks,
            bone=("B", "A", "C"),
            data_path=(*clip.tracks.data_path[:2], 'pose.bones["C"].rotation_quaternion'),
        ),
    )
    after = repair_clip(clip, [RULE], CONVERT, unsafe=True).subject
    after.validate()
    assert after.tracks.bone == ("B", "A", "C")
    for track in (0, 2):
        np.testing.assert_array_equal(values_of(after, track), values_of(clip, track))


def test_what_cannot_be_converted_is_not_offered():
    for clip in (axis_angles("XYZ"), quaternions("XYZ", read_only="linked"), quaternions("XYZ", bone="", delta=True)):
        (finding,) = audit_clip(clip, [RULE], CONVERT)
        assert finding.fix == "none" and repair_clip(clip, [RULE], CONVERT, unsafe=True).subject is clip


# ---- several readers --------------------------------------------------------------------------------------


def read(clip: Clip, *readers: Reader) -> Clip:
    return replace(clip, readers=readers, users=tuple(dict.fromkeys(r.owner for r in readers)))


def reader(owner: str, mode: str, *, instead: Sequence[float] = (np.nan,) * 4, **options: Any) -> Reader:
    paths = [f'pose.bones["{bone}"].rotation_{kind}' for bone in "AB" for kind in ("quaternion", "euler")]
    w, x, y, z = instead
    return Reader(owner=owner, ways={path: Way(mode, IDENTITY, (w, x, y, z)) for path in paths}, **options)


def two_bones() -> Clip:
    return joined(quaternions(bone="A"), quaternions(bone="B"))


def test_one_finding_for_a_rig_its_bones_are_the_places():
    clip = read(two_bones(), reader("Rig", "XYZ"), reader("Other", "ZXY"), reader("Right", QUATERNION))
    first, second = audit_clip(clip, [RULE])
    assert {first.owner, second.owner} == {"Rig", "Other"} and first.bone == ""
    assert first.data_path == f"{first.owner}.rotation_mode" and len(first.occurrences) == 2
    assert first.paths == tuple(f'pose.bones["{bone}"].rotation_quaternion' for bone in "AB")
    assert dict(first.occurrences.names)["name"] == ("A", "B")


def test_what_only_a_muted_strip_plays_is_a_note():
    stash = reader("Rig", "XYZ", route="strip", by="Stash", muted=True)
    (finding,) = audit_clip(read(two_bones(), stash), [RULE])
    assert finding.severity == "note" and "only a muted strip" in finding.message
    (finding,) = audit_clip(read(two_bones(), stash, reader("Rig", "XYZ")), [RULE])
    assert finding.severity == "error" and len(finding.occurrences) == 2


def test_the_pose_that_shows_instead_counts():
    held = quaternion_clip([1, 20], turns("X", [30, 30]), bone="A")
    for pose, severity in ((IDENTITY, "error"), (turns("X", [30])[0], "note"), ((np.nan,) * 4, "note")):
        (finding,) = audit_clip(read(held, reader("Rig", "XYZ", instead=pose)), [RULE])
        assert finding.severity == severity


@pytest.mark.parametrize("rival", ["rotation_euler", "delta_rotation_euler"])
def test_where_the_mode_would_kill_another_action_the_keys_are_converted(rival):
    clip = quaternions(bone="A")
    alone = read(clip, reader("Rig", "XYZ"))
    assert repair_clip(alone, [RULE], unsafe=True).subject.tracks.modes == ((QUATERNION,),)
    contested = read(clip, reader("Rig", "XYZ", rivals=frozenset([f'pose.bones["A"].{rival}'])))
    after = assert_contract(contested, RULE, unsafe=True, tracks_kept=False).subject
    assert after.tracks.kind == (EULER,) and after.tracks.modes == clip.tracks.modes
    # A rival in the mode that the keys need is none.
    friend = read(clip, reader("Rig", "XYZ", rivals=frozenset(['pose.bones["A"].rotation_quaternion'])))
    assert repair_clip(friend, [RULE], unsafe=True).subject.tracks.modes == ((QUATERNION,),)


def test_where_converted_keys_would_cover_what_plays_below_there_is_no_fix():
    path = frozenset(['pose.bones["A"].rotation_euler'])
    for covers, fix in ((path, "none"), (frozenset(['pose.bones["B"].rotation_euler']), "unsafe")):
        clip = read(quaternions(bone="A"), reader("Rig", "XYZ", rivals=path, covers=covers))
        (finding,) = audit_clip(clip, [RULE])
        assert finding.fix == fix and finding.severity == "error"
        assert (repair_clip(clip, [RULE], unsafe=True).subject is clip) == (fix == "none")


def test_a_mode_that_is_animated_is_not_judged():
    assert audit_clip(read(two_bones(), reader("Rig", "ANIMATED")), [RULE]) == []


def test_a_linked_action_does_not_lock_the_mode_of_a_local_rig():
    linked = quaternions(bone="A", read_only="linked from walk.blend")
    (finding,) = audit_clip(read(linked, reader("Rig", "XYZ")), [RULE])
    assert finding.fix == "unsafe" and not finding.locked
    after = repair_clip(read(linked, reader("Rig", "XYZ")), [RULE], unsafe=True).subject
    assert after.tracks.modes == ((QUATERNION,),) and after.curves is linked.curves
    (finding,) = audit_clip(read(linked, reader("Rig", "XYZ", linked=True)), [RULE])
    assert finding.fix == "none"  # neither the keys nor the mode may be written
