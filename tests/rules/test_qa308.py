# SPDX-License-Identifier: GPL-3.0-or-later
"""QA308 ignored-location-channel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, Clip
from quat_audit.motion.readers import Connected, newly_released
from quat_audit.rules.qa308_ignored_location_channel import RULE
from tests.clips import channel_clip, joined, quaternion_clip, turns
from tests.contract import assert_contract
from tests.judging import audit_clip, repair_clip

PATH = 'pose.bones["Arm"].location'
DISCONNECT = {"QA308": {"disconnect": 1.0}}
TURNING = quaternion_clip([1, 10], turns("Y", [0, 40]))
STILL = quaternion_clip([1, 10], turns("Y", [40, 40]))
OF_ANOTHER = quaternion_clip([1, 10], turns("Y", [0, 40]), bone="Arm2")


def stuck(values, *others: Clip, component: int = 0, **options) -> Clip:
    """Location keys at frames 1, 11, 21 … of a connected bone; a unit is a meter."""
    moved = channel_clip([1.0 + 10 * n for n in range(len(values))], values, PATH, component)
    one = Connected(PATH, "Arm", ("Rig",), 1000.0, **{"everywhere": True, **options})
    return replace(joined(moved, *others), connected=(one,))


def found(clip: Clip, limits=None):
    return [
        (str(f.occurrences.kind[0]), f.severity, f.fix, round(f.figure.value, 4))
        for f in audit_clip(clip, [RULE], limits)
    ]


FOUND = {
    "below 1 mm": (stuck([0, 0.00099], TURNING), [("slight", "note", "safe", 0.99)]),
    "1 mm": (stuck([0, 0.00101], TURNING), [("visible", "warning", "unsafe", 1.01)]),
    "backwards": (stuck([0, -0.5, 0], TURNING), [("visible", "warning", "unsafe", 500.0)]),
    "held, not moving": (stuck([0.5, 0.5], TURNING), [("visible", "warning", "unsafe", 500.0)]),
    "z": (stuck([0, 0.5], TURNING, component=2), [("visible", "warning", "unsafe", 500.0)]),
    "its only motion": (stuck([0, 0.5]), [("dead", "error", "unsafe", 500.0)]),
    "beside keys that stand still": (stuck([0, 0.5], STILL), [("dead", "error", "unsafe", 500.0)]),
    "beside another bone": (stuck([0, 0.5], OF_ANOTHER), [("dead", "error", "unsafe", 500.0)]),
    "free in another armature": (stuck([0, 0.5], TURNING, everywhere=False), [("visible", "warning", "none", 500.0)]),
    "slight, free in another armature": (
        stuck([0, 5e-4], TURNING, everywhere=False),
        [("slight", "note", "none", 0.5)],
    ),
    "by Blender's importer": (stuck([0, 0.5], TURNING, imported=True), [("visible", "warning", "safe", 500.0)]),
    "zero": (stuck([0, 0, 0]), []),
    "float noise of zero": (stuck([0, 5e-7]), []),
    "not connected": (replace(stuck([0, 0.5]), connected=()), []),
    "disconnected since": (stuck([0, 0.5], released=True), []),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    clip, expected = FOUND[name]
    assert found(clip) == expected


def test_two_components_count_together_at_all_their_keys():
    parts = [
        channel_clip([1, 21], [0.0, 0.6], PATH, 0),
        channel_clip([1, 11, 21], [0.0, 0.9, 0.0], PATH, 1, interpolation=BEZIER),
    ]
    clip = replace(joined(*parts), connected=(Connected(PATH, "Arm", ("Rig",), 10.0, True),))
    (finding,) = audit_clip(clip, [RULE])
    # At frame 11 x is half-way.
    assert finding.figure.value == pytest.approx(10 * np.hypot(0.3, 0.9), abs=1e-5)
    assert finding.occurrences.frames.tolist() == [[11, 11]] and finding.bone == "Arm"
    assert "location keys that would move it by 9.5 mm play nothing" in finding.message


def test_a_key_that_is_no_number_is_passed_over():
    assert found(stuck([0, np.nan, 0.002], TURNING)) == [("visible", "warning", "unsafe", 2.0)]


def test_what_is_slight_is_removed_as_safe():
    clip = stuck([0, 5e-4], TURNING)
    repair = assert_contract(clip, RULE, tracks_kept=False)
    after = repair.subject
    assert after.curves.data_path == TURNING.curves.data_path
    for array in ("co", "handle_left", "handle_right"):
        assert getattr(after.curves, array).tobytes() == getattr(TURNING.curves, array).tobytes()
    assert newly_released(clip, after) == () and repair.proof.not_measured == ()


def test_what_shows_is_removed_only_when_asked():
    clip = stuck([0, 0.5], TURNING)
    assert repair_clip(clip, [RULE]).subject is clip
    after = assert_contract(clip, RULE, unsafe=True, tracks_kept=False).subject
    assert PATH not in after.curves.data_path


def test_or_the_bone_is_disconnected():
    clip = stuck([0, 0.5], TURNING)
    assert repair_clip(clip, [RULE], DISCONNECT).subject is clip
    repair = assert_contract(clip, RULE, unsafe=True, limits=DISCONNECT)
    assert repair.subject.curves is clip.curves
    assert [one.bone for one in newly_released(clip, repair.subject)] == ["Arm"]
    assert repair.proof.not_measured == ("Rig, Arm: disconnected from its parent, so its location keys play",)
    assert [(a.code, a.tracks, a.keys_changed) for a in repair.applied] == [("QA308", 1, 1)]


def test_what_the_importer_connected_is_disconnected_as_safe():
    clip = stuck([0, 0.5], TURNING, imported=True)
    repair = assert_contract(clip, RULE)
    assert repair.subject.curves is clip.curves and repair.subject.connected[0].released


def test_a_bone_that_is_free_elsewhere_keeps_its_keys():
    clip = stuck([0, 0.5], TURNING, everywhere=False)
    assert repair_clip(clip, [RULE], unsafe=True).subject is clip
    assert repair_clip(clip, [RULE], DISCONNECT, unsafe=True).subject.connected[0].released
