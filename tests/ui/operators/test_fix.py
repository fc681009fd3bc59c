# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators that repair keys: what they change, what they say, and why they are gray."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")
mathutils = pytest.importorskip("mathutils")

from quat_audit.results.memory import RESULTS
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.drawing import draw_all
from tests.ui.scenes import choose, state

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


def test_fix_safe_negates_what_is_wrong_and_says_the_proof(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    action = rig.animation_data.action
    before = scenes.values(action)
    scenes.audit()
    said()
    assert ops.fix_safe() == {"FINISHED"}
    (line,) = said()
    assert line == (
        "Info: 2 keys negated on 2 bones; keyed poses changed by 0.000°; worst in-between was 340.0°, now 20.0°"
    )
    after = scenes.values(action)
    flipped = {(path, component): [*v[:2], -v[2], v[3]] for (path, component), v in before.items()}
    assert after == flipped
    assert RESULTS.rows == [] and len(state().rows) == 0
    assert "2 keys negated on 2 bones" in draw_all().text


def test_the_proof_knows_which_keys_a_repair_added(said) -> None:
    """A component without its key in the middle: the keys after the new one are still the ones they were."""
    rig = build.make_rig("Rig", ("Arm",))
    fcurves = build.make_fcurves("Walk", "Rig")
    path = 'pose.bones["Arm"].rotation_quaternion'
    p = np.linspace(0.0, 4.0, 9)
    quaternions = [mathutils.Euler((0.4 * np.sin(2 * t), 0.0, 0.5 * np.cos(2 * t))).to_quaternion() for t in p]
    for index in range(4):
        step = 2 if index == 3 else 1
        frames, values = 1.0 + 6.0 * np.arange(9), [q[index] for q in quaternions]
        curve = build.make_curve(fcurves, path, index, frames[::step], values[::step], "BEZIER")
        for key in curve.keyframe_points:
            key.handle_left_type = key.handle_right_type = "AUTO_CLAMPED"
        curve.update()
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    assert bpy.ops.quat_audit.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
    assert {len(c.keyframe_points) for c in build.fcurves_of(bpy.data.actions["Walk"])} == {9}
    told = said()[-1]
    assert "keyed poses changed by 0.000°" in told
    keys = [k for c in build.fcurves_of(bpy.data.actions["Walk"]) for k in c.keyframe_points if k.type != "GENERATED"]
    aligned = sum(kind == "ALIGNED" for k in keys for kind in (k.handle_left_type, k.handle_right_type))
    assert aligned and f"type changed on {aligned} handles beside inserted keys: AUTO_CLAMPED → ALIGNED" in told


def test_what_does_not_show_is_one_row_that_is_fixed_gone_to_and_ignored_as_one(said) -> None:
    rig = build.make_rig("Rig", ("Arm", "Leg", "Toe"))
    fcurves = build.make_fcurves("Walk", "Rig")
    for bone, length in (("Arm", 1.002), ("Leg", 1.003), ("Toe", 1.5)):
        scenes.key(fcurves, bone, np.array([scenes.turned(20.0 * n) for n in range(4)]) * [[1], [length], [1], [1]])
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    assert sorted(scenes.labels()) == ["2 bones", "Toe"]
    scenes.choose("2 bones", "QA103")
    shown = draw_all().text
    assert "Told together: each is below 0.1°" in shown and "Leg, frame 11" in shown
    assert bpy.ops.quat_audit.occurrence_step("EXEC_DEFAULT") == {"FINISHED"}
    assert said()[-1].startswith("Info: Arm, frame 11: ") and rig.data.bones.active.name == "Arm"
    assert bpy.ops.quat_audit.ignore("EXEC_DEFAULT", reason="rounding") == {"FINISHED"}
    assert scenes.labels() == ["Toe"]
    assert bpy.ops.quat_audit.unignore("EXEC_DEFAULT") == {"FINISHED"}
    scenes.choose("2 bones", "QA103")
    before = scenes.values(bpy.data.actions["Walk"])
    assert bpy.ops.quat_audit.fix_active("EXEC_DEFAULT") == {"FINISHED"}
    told = [line for line in said() if "normalized" in line]
    assert "2 keys normalized on 2 bones" in told[-1] and scenes.labels() == ["Toe"]
    after = scenes.values(bpy.data.actions["Walk"])
    assert {path.split('"')[1] for path, index in before if before[path, index] != after[path, index]} == {"Arm", "Leg"}


def test_fix_this_leaves_the_other_bones_alone(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    action = rig.animation_data.action
    before = scenes.values(action)
    scenes.audit()
    choose("Leg")
    assert ops.fix_active() == {"FINISHED"}
    changed = {path for (path, component), v in scenes.values(action).items() if v != before[path, component]}
    assert changed == {'pose.bones["Leg"].rotation_quaternion'}
    assert [row.label for row in RESULTS.rows] == ["Arm"]


def test_fix_selected_takes_the_checked_ones_unsafe_included(said) -> None:
    rig = build.make_rig("Rig", ["Arm", "Leg", "Toe"])
    fcurves = build.make_fcurves("Walk", "Rig")
    wide = np.array([scenes.turned(0), scenes.turned(150), scenes.turned(150), scenes.turned(150)])
    for bone in ("Arm", "Toe"):
        scenes.key(fcurves, bone, wide * [[1], [-1], [-1], [-1]])  # 210° where 150° suffice: may be meant
    scenes.key(fcurves, "Leg", scenes.flipped())
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    fixes = {row.label: row.finding.fix for row in RESULTS.rows if row.key.code == "QA104"}
    assert fixes == {"Arm": "unsafe", "Leg": "safe", "Toe": "unsafe"}
    before = scenes.values(bpy.data.actions["Walk"])
    assert scenes.why_grey(ops.fix_checked) == "Check some findings in the list first"
    for item, row in zip(state().rows, RESULTS.rows, strict=True):
        item.checked = row.label in ("Arm", "Leg") and row.key.code == "QA104"
    said()
    assert ops.fix_checked() == {"FINISHED"}
    assert any(line.startswith("Info: ") and "keys negated on 2 bones" in line for line in said())
    after = scenes.values(bpy.data.actions["Walk"])
    assert {path.split('"')[1] for (path, c), v in after.items() if v != before[path, c]} == {"Arm", "Leg"}


def test_an_unsafe_finding_is_not_among_all_safe() -> None:
    rig = build.make_rig("Rig", ["Arm"])
    wide = np.array([scenes.turned(0), scenes.turned(150), scenes.turned(150), scenes.turned(150)])
    scenes.key(build.make_fcurves("Walk", "Rig"), "Arm", wide * [[1], [-1], [-1], [-1]])
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    assert scenes.why_grey(ops.fix_safe) == "No finding has a safe fix"
    choose("Arm")
    assert "Unsafe fix: keyed poses may change" in draw_all().texts
    assert ops.fix_active() == {"FINISHED"}


def test_what_cannot_be_fixed_says_why() -> None:
    rig = build.make_rig("Rig", ["Arm"])
    half_turn = np.array([scenes.turned(0), scenes.turned(180), scenes.turned(180), scenes.turned(180)])
    path = scenes.key(build.make_fcurves("Walk", "Rig"), "Arm", half_turn)
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    none = [n for n, row in enumerate(RESULTS.rows) if row.finding.fix == "none"]
    for number in none:
        state().active = number
        assert scenes.why_grey(ops.fix_active) == "There is no automatic fix for this finding"
    for curve in build.fcurves_of(bpy.data.actions["Walk"]):
        curve.lock = curve.data_path == path
    scenes.audit()
    assert RESULTS.rows
    assert scenes.why_grey(ops.fix_active) == "Cannot be fixed: the curve is locked"
    assert "Cannot be fixed: the curve is locked" in draw_all().text


def test_checking_follows_the_filter() -> None:
    scenes.broken_rig(["Arm", "Leg", "Toe"])
    scenes.audit()
    state().search = "leg"
    ops.check_rows(action="ALL")
    assert {key.data_path for key in RESULTS.checked} == {'pose.bones["Leg"].rotation_quaternion'}
    assert [item.checked for item in state().rows] == [row.label == "Leg" for row in RESULTS.rows]
    state().search = ""
    ops.check_rows(action="INVERT")
    assert {row.label for row in RESULTS.checked_rows()} == {"Arm", "Toe"}
    ops.check_rows(action="NONE")
    assert RESULTS.checked == set()
