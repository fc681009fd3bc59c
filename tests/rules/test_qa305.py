# SPDX-License-Identifier: GPL-3.0-or-later
"""QA305 orphan-channel."""

from __future__ import annotations

from quat_audit.motion.clip import Clip
from quat_audit.rules.qa305_orphan_channel import RULE
from tests.clips import channel_clip, euler_clip, joined, quaternion_clip, turns, values_of
from tests.contract import assert_contract
from tests.judging import audit_clip, repair_clip

Q = turns("X", [0, 30])


def q(bone: str, *, orphan: bool = False, **options) -> Clip:
    return quaternion_clip([1, 9], Q, bone=bone, orphan=orphan, **options)


def gone(bone: str, **options) -> Clip:
    return channel_clip([0, 5, 20], [1, 2, 3], f'pose.bones["{bone}"].location', 2, orphan=True, **options)


def found(clip: Clip) -> list[tuple[str, str, str, str, str]]:
    return [
        (f.data_path, f.bone, " ".join(map(str, f.occurrences.kind)), f.severity, f.fix)
        for f in audit_clip(clip, [RULE])
    ]


def test_nothing_is_orphan():
    assert found(joined(q("A"), q("B"))) == []
    assert found(q("A", orphan=True, users=())) == []  # there is nobody to ask


def test_some():
    clip = joined(q("A"), q("B", orphan=True), gone("C"), euler_clip([1, 2], [[0, 0, 0]] * 2, bone="D"))
    assert found(clip) == [
        ('pose.bones["B"].rotation_quaternion', "B", "some", "note", "unsafe"),
        ('pose.bones["C"].location', "C", "some", "note", "unsafe"),
    ]
    assert [f.occurrences.measured["curves"].tolist() for f in audit_clip(clip, [RULE])] == [[4], [1]]
    assert assert_contract(clip, RULE).subject is clip
    repair = assert_contract(clip, RULE, unsafe=True, tracks_kept=False)
    after = repair.subject
    assert after.tracks.bone == ("A", "D") and len(after.curves) == 4 + 3
    assert after.curves.ancestor.tolist() == [0, 1, 2, 3, 9, 10, 11]
    assert values_of(after, 0).tolist() == values_of(clip, 0).tolist()
    assert repair.proof.keys_removed == 4 * 2 + 3 and repair.applied[0].tracks == 2
    assert repair.proof.max_key_change_deg == 0


def test_all():
    clip = joined(q("B", orphan=True), gone("C"))
    assert found(clip) == [('pose.bones["B"].rotation_quaternion', "B", "all", "error", "unsafe")]
    (finding,) = audit_clip(clip, [RULE])
    assert "the action plays nothing" in finding.message and "Rig" in finding.message
    assert finding.occurrences.measured["curves"].tolist() == [5]
    assert finding.occurrences.frames.tolist() == [[0, 20]]
    repair = assert_contract(clip, RULE, unsafe=True, tracks_kept=False)
    assert len(repair.subject.curves) == 0 and len(repair.subject.tracks) == 0


def test_read_only_curves_stay():
    clip = joined(q("A"), q("B", orphan=True, read_only="the curve is locked"), q("C", orphan=True))
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert repair.subject.tracks.bone == ("A", "B")
    assert [(r.data_path, r.why) for r in repair.refused] == [
        ('pose.bones["B"].rotation_quaternion', "the curve is locked")
    ]


def test_read_only_curves_stay_when_all_are_dead():
    """One finding speaks for all of them, and none of the locked ones may go."""
    clip = joined(q("A", orphan=True), q("B", orphan=True, read_only="the curve is locked"))
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert repair.subject.tracks.bone == ("B",)
    assert repair_clip(repair.subject, [RULE], unsafe=True).subject is repair.subject
    clip = joined(q("A", orphan=True, read_only="the curve is locked"), q("B", orphan=True))
    after = repair_clip(clip, [RULE], unsafe=True).subject
    assert "A" in after.tracks.bone
