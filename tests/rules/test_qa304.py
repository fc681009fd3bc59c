# SPDX-License-Identifier: GPL-3.0-or-later
"""QA304 duplicate-rotation-channels."""

from __future__ import annotations

import pytest

from quat_audit.motion.clip import Clip
from quat_audit.rules.qa304_duplicate_rotation_channels import RULE
from tests.clips import euler_clip, joined, quaternion_clip, turns
from tests.contract import assert_contract
from tests.judging import audit_clip

Q = turns("X", [0, 30])
E = [[0, 0, 0], [5, 0, 0]]


def q(bone: str = "", **options) -> Clip:
    return quaternion_clip([1, 9], Q, bone=bone, **options)


def e(bone: str = "", **options) -> Clip:
    return euler_clip([2, 7], E, bone=bone, **options)


FOUND = {
    "one": (q(), []),
    "delta alone": (q(delta=True), []),
    "both": (joined(q(), q(delta=True)), [("delta_rotation_quaternion", "delta", (1, 9))]),
    "delta first": (joined(q(delta=True), q()), [("delta_rotation_quaternion", "delta", (1, 9))]),
    "both, Euler": (joined(e(), e(delta=True)), [("delta_rotation_euler", "delta", (2, 7))]),
    "of two kinds only one is played": (joined(q(), e(delta=True)), []),
    "neither is played": (joined(q(modes=("XYZ",)), q(delta=True, modes=("XYZ",))), []),
    "quaternion and Euler are QA301": (joined(q(), e()), []),
    "a bone and the object's delta": (joined(q("Arm"), q(delta=True)), []),
    "two bones": (joined(q("A"), q("B")), []),
    "one channel twice": (joined(q("A"), q("A")), [('pose.bones["A"].rotation_quaternion', "twice", (1, 9))]),
    "halves of one rotation": (
        joined(q("A", components=(0, 1)), q("A", components=(2, 3))),
        [],
    ),
    "overlapping in one component": (
        joined(q("A", components=(0, 1)), q("A", components=(1, 2, 3))),
        [('pose.bones["A"].rotation_quaternion', "twice", (1, 9))],
    ),
    "three times": (
        joined(q("A"), q("A"), q("A")),
        [('pose.bones["A"].rotation_quaternion', "twice", (1, 9))] * 2,
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    clip, expected = FOUND[name]
    findings = audit_clip(clip, [RULE])
    assert [
        (f.data_path, str(f.occurrences.kind[0]), tuple(map(float, f.occurrences.frames[0]))) for f in findings
    ] == expected
    assert {f.severity for f in findings} <= {"warning"} and {f.fix for f in findings} <= {"none"}
    for unsafe in (False, True):
        assert assert_contract(clip, RULE, unsafe=unsafe).subject is clip


def test_messages():
    (finding,) = audit_clip(joined(q(), q(delta=True)), [RULE])
    assert finding.message.startswith("Rig, frames 1→9: both the rotation and the delta rotation are keyed")
    (finding,) = audit_clip(joined(q("A"), q("A")), [RULE])
    assert finding.message.startswith("A, frames 1→9: two channels animate the same component")
