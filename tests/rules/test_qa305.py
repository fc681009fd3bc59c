# SPDX-License-Identifier: GPL-3.0-or-later
"""QA305 orphan-channel."""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.motion.clip import Clip
from quat_audit.rules.qa305_orphan_channel import RULE
from tests.clips import channel_clip, euler_clip, joined, quaternion_clip, turns, values_of
from tests.contract import assert_contract
from tests.judging import audit_clip, repair_clip

Q = turns("X", [0, 30])


def q(bone: str, *, orphan: bool = False, **options) -> Clip:
    return quaternion_clip([1, 9], Q, bone=bone, orphan=orphan, **options)


def gone(bone: str, times=(0, 5, 20), values=(1, 2, 3), **options) -> Clip:
    path = f'pose.bones["{bone}"].location'
    return channel_clip(list(times), list(values)[: len(times)], path, 2, orphan=True, **options)


def found(clip: Clip) -> list[tuple[str, str, str, str, str]]:
    return [
        (f.data_path, f.bone, " ".join(map(str, f.occurrences.kind)), f.severity, f.fix)
        for f in audit_clip(clip, [RULE])
    ]


def test_nothing_is_orphan():
    assert found(joined(q("A"), q("B"))) == []
    assert found(q("A", orphan=True, users=())) == []  # there is nobody to ask


def test_a_note_a_bone_with_its_dead_properties_named():
    other = euler_clip([1, 2], [[0, 0, 0]] * 2, bone="D")
    clip = joined(q("A"), q("B", orphan=True), gone("C"), other, gone("B", times=[2, 30]))
    assert found(clip) == [
        ('pose.bones["B"]', "B", "some some", "note", "unsafe"),
        ('pose.bones["C"]', "C", "some", "note", "unsafe"),
    ]
    first, second = audit_clip(clip, [RULE])
    assert first.paths == ('pose.bones["B"].rotation_quaternion', 'pose.bones["B"].location')
    assert first.occurrences.measured["curves"].tolist() == [4, 1]
    assert first.occurrences.frames.tolist() == [[1, 9], [2, 30]]
    assert "nothing plays rotation_quaternion, location" in first.message and second.message.endswith("plays location")
    assert assert_contract(clip, RULE).subject is clip
    repair = assert_contract(clip, RULE, unsafe=True, tracks_kept=False)
    after = repair.subject
    assert after.tracks.bone == ("A", "D") and len(after.curves) == 4 + 3
    assert after.curves.ancestor.tolist() == [0, 1, 2, 3, 9, 10, 11]
    assert values_of(after, 0).tolist() == values_of(clip, 0).tolist()
    assert repair.proof.keys_removed == 4 * 2 + 3 + 2 and repair.applied[0].tracks == 3
    assert repair.proof.max_key_change_deg == 0
    only = repair_clip(clip, [RULE], unsafe=True, only=[("QA305", 'pose.bones["C"]')])
    assert set(clip.curves.data_path) - set(only.subject.curves.data_path) == {'pose.bones["C"].location'}
    assert only.met == {("QA305", 'pose.bones["C"]')}


@pytest.mark.parametrize("bone", ['a"b', "a\\b", "a].b", "a\nb"])
def test_hostile_names_of_bones_are_one_bone_each(bone):
    """The reader unescapes the names of rotations; this rule finds those of other channels in the path alone."""
    path = f'pose.bones["{bone.replace(chr(92), chr(92) * 2).replace(chr(34), chr(92) + chr(34))}"]'
    location = channel_clip([0, 20], [1, 3], f"{path}.location", orphan=True)
    influence = channel_clip([0, 20], [1, 3], f'{path}.constraints["I.K"].influence', orphan=True)
    (finding,) = audit_clip(joined(q("A"), location, influence), [RULE])
    assert (finding.bone, finding.data_path) == (bone, path)
    assert 'location, constraints["I.K"].influence' in finding.message


def test_the_figure_is_how_far_the_keys_turn_and_nothing_for_what_turns_nothing():
    clip = joined(q("A"), q("B", orphan=True), gone("C"), gone("D", values=[2, 2, 2]))
    figures = [f.figure and round(f.figure.value, 3) for f in audit_clip(clip, [RULE])]
    assert figures == [30, None, 0]


def test_an_action_on_the_wrong_rig_is_one_error():
    own = channel_clip([0, 20], [1, 3], "location")
    for clip, says in (
        (joined(q("B", orphan=True), gone("C")), "no channel"),
        (joined(q("B", orphan=True), own), "none"),
    ):
        assert found(clip)[0][:2] == ("*", "") and found(clip)[0][3:] == ("error", "unsafe")
        (finding,) = audit_clip(clip, [RULE])
        assert says in finding.message and "Rig" in finding.message
        assert set(finding.paths) == set(np.array(clip.curves.data_path)[clip.curves.orphan])
        after = assert_contract(clip, RULE, unsafe=True, tracks_kept=False).subject
        assert len(after.curves) == (~clip.curves.orphan).sum() and len(after.tracks) == 0


@pytest.mark.parametrize(
    "clip",
    [
        gone("C"),  # it turns nothing
        channel_clip([0, 20], [1, 3], "color_tag", orphan=True),  # Blender took such properties away
        channel_clip([0, 20], [1, 3], 'nodes["Mix"].inputs[0].default_value', orphan=True),
        joined(q("B", orphan=True), channel_clip([0, 20], [1, 3], 'pose.bones["A"].location')),  # the rig is right
    ],
)
def test_no_error_where_no_rotation_is_lost_or_a_bone_is_there(clip):
    assert {f.severity for f in audit_clip(clip, [RULE])} == {"note"}


def test_properties_without_a_bone_go_by_their_holder():
    paths = ('nodes["Mix"].inputs[0].default_value', 'nodes["Mix"].mute', "color_tag", '["spin"]')
    clip = joined(*(channel_clip([0, 20], [1, 3], path, orphan=True) for path in paths))
    assert [f.data_path for f in audit_clip(clip, [RULE])] == ['["spin"]', "color_tag", 'nodes["Mix"]']


def test_what_other_rules_find_in_keys_that_nobody_has_is_a_note():
    """The motion of a bone that is there stays as serious as it was, in the same action."""
    flip = np.array([Q[0], -Q[1]])
    nan = np.array([Q[0], [np.nan] * 4])
    for values, code in ((flip, "QA104"), (nan, "QA101")):
        there, away = (quaternion_clip([1, 9], values, bone=b, orphan=o) for b, o in (("A", False), ("B", True)))
        severities = {f.bone: f.severity for f in audit_clip(joined(there, away)) if f.code == code}
        assert severities == {"A": "error", "B": "note"}


def test_read_only_curves_stay():
    clip = joined(q("A"), q("B", orphan=True, read_only="the curve is locked"), q("C", orphan=True))
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert repair.subject.tracks.bone == ("A", "B")
    assert [(r.data_path, r.why) for r in repair.refused] == [
        ('pose.bones["B"].rotation_quaternion', "the curve is locked")
    ]


def test_of_a_bone_only_the_locked_channel_stays():
    clip = joined(q("A"), q("B", orphan=True, read_only="the curve is locked"), gone("B"))
    (finding,) = audit_clip(clip, [RULE])
    assert (finding.fix, finding.locked, finding.occurrences.fix.tolist()) == ("unsafe", "", ["none", "unsafe"])
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert set(clip.curves.data_path) - set(repair.subject.curves.data_path) == {'pose.bones["B"].location'}
    assert [r.data_path for r in repair.refused] == ['pose.bones["B"].rotation_quaternion']
    (left,) = audit_clip(repair.subject, [RULE])
    assert (left.fix, left.locked) == ("none", "the curve is locked")


def test_read_only_curves_stay_when_all_are_dead():
    """One finding speaks for all of them, and none of the locked ones may go."""
    clip = joined(q("A", orphan=True), q("B", orphan=True, read_only="the curve is locked"))
    repair = repair_clip(clip, [RULE], unsafe=True)
    assert repair.subject.tracks.bone == ("B",)
    assert repair_clip(repair.subject, [RULE], unsafe=True).subject is repair.subject
    clip = joined(q("A", orphan=True, read_only="the curve is locked"), q("B", orphan=True))
    after = repair_clip(clip, [RULE], unsafe=True).subject
    assert "A" in after.tracks.bone
