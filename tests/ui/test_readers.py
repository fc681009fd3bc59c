# SPDX-License-Identifier: GPL-3.0-or-later
"""Who plays the keys, in the panel: readers, whom a fix would change, findings about several bones and about none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")
mathutils = pytest.importorskip("mathutils")

from quat_audit.blender import compat
from quat_audit.results.memory import RESULTS
from quat_audit.ui import panel, properties
from quat_audit.ui.comparison import state as comparing
from quat_audit.ui.operators import fix
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.drawing import draw, draw_all
from tests.ui.scenes import choose, state

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
# The last two are the equivalent triple of XYZ, which is another rotation in other orders.
TRIPLES = ((10, 20, 30), (12, 24, 33), (-166, 152, -144), (-164, 148, -141))
FRAMES = (1.0, 2.0, 3.0, 4.0)


def euler(fcurves: Any, bone: str, degrees: Sequence[Sequence[float]], frames: Sequence[float] = FRAMES) -> None:
    for index in range(3):
        values = [math.radians(row[index]) for row in degrees]
        build.make_curve(fcurves, f'pose.bones["{bone}"].rotation_euler', index, frames, values)


def play(obj: Any, action: str) -> None:
    build.assign(obj.animation_data_create(), bpy.data.actions[action])


def two_orders() -> tuple[Any, Any]:
    """Two rigs that play one action, in XYZ and in ZXY; its wrap on "B" can only be repaired for the first.

    "C" has a sign flip, which is the same for both.
    """
    rigs = [build.make_rig(name, ("B", "C"), "XYZ") for name in ("RigA", "RigB")]
    rigs[1].pose.bones["B"].rotation_mode = "ZXY"
    fcurves = build.make_fcurves("Walk", "RigA")
    euler(fcurves, "B", TRIPLES)
    scenes.key(fcurves, "C", scenes.flipped())
    for rig in rigs:
        rig.pose.bones["C"].rotation_mode = "QUATERNION"
        play(rig, "Walk")
    return rigs[0], rigs[1]


def detail() -> str:
    shown = draw(panel._Detail)
    assert shown is not None
    return shown.text


def turned_deg(rig: Any, frame: float, order: str) -> float:
    """Degrees from what the keys of "B" were in an order to what a rig plays."""
    bpy.context.scene.frame_set(int(frame))
    keyed = mathutils.Euler([math.radians(v) for v in TRIPLES[int(frame) - 1]], order).to_quaternion()
    return math.degrees(rig.pose.bones["B"].matrix_basis.to_quaternion().rotation_difference(keyed).angle)


def test_a_fix_that_is_safe_for_one_reader_only_says_for_whom_it_is_not(said) -> None:
    _, second = two_orders()
    scenes.audit()
    why = "a keyed rotation of RigB would change by 70.8°"
    choose("B", "QA201")
    shown = detail()
    assert "Played by RigA; RigB" in shown and f"Not safe here: {why}" in shown
    assert "Unsafe fix" not in shown
    (row,) = [row for row in RESULTS.rows if row.key.code == "QA201"]
    assert f"Not safe here: {why}" in fix.warnings([row])
    options = SimpleNamespace(other_way=False)
    assert fix.QUATAUDIT_OT_fix_active.description(bpy.context, options).endswith(f"\nNot safe here: {why}")
    said()
    before = scenes.values(bpy.data.actions["Walk"])
    assert ops.fix_safe() == {"FINISHED"}
    assert said()[-1].endswith(f"; 1 finding left alone: {why}")
    assert f"1 finding left alone: {why}" in draw_all().text
    changed = {path for (path, n), v in scenes.values(bpy.data.actions["Walk"]).items() if v != before[path, n]}
    assert changed == {'pose.bones["C"].rotation_quaternion'}
    assert scenes.why_grey(ops.fix_safe) == f"No fix is safe: {why}"
    assert max(turned_deg(second, frame, "ZXY") for frame in FRAMES) < 1e-3
    choose("B", "QA201")
    assert ops.fix_active() == {"FINISHED"}
    assert max(turned_deg(second, frame, "ZXY") for frame in FRAMES) == pytest.approx(70.8, abs=0.05)
    assert "keyed poses changed by 70.786°" in said()[-1]


def test_readers_are_named_and_what_there_is_to_know_of_them_and_of_many_the_number() -> None:
    rig = scenes.broken_rig()
    base = build.make_fcurves("Base", "Rig")
    scenes.key(base, "Arm", np.array([scenes.turned(0.0)] * 4))
    data, walk = rig.animation_data, bpy.data.actions["Walk"]
    data.action = None
    for name, muted, half in (("Base", False, False), ("Walk", False, True), ("Walk", True, False)):
        track = data.nla_tracks.new()
        strip = track.strips.new(name, 1, bpy.data.actions[name])
        if build.LAYERED:
            strip.action_slot = bpy.data.actions[name].slots[0]
        strip.name, track.mute = ("Stash" if muted else name), muted
        if half:
            strip.use_animated_influence = True
            strip.fcurves.find("influence").keyframe_points.insert(1, 0.5)
    scenes.audit("FILE")
    choose("Arm")
    mixes = "mixes it with other motion (its influence is below 1), which would change"
    shown = detail()
    assert "Rig, by the strip 'Walk' (mixed: its influence is below 1); Rig, by the muted strip 'Stash'" in shown
    assert f"Not safe here: Rig, by the strip 'Walk' {mixes}" in shown
    for name in ("Two", "Three"):
        play(build.make_rig(name, ("Arm",)), "Walk")
    driver = rig.driver_add("location", 0).driver
    driver.variables.new().targets[0].id = rig
    driver.variables[0].targets[0].data_path = 'pose.bones["Arm"].rotation_quaternion[1]'
    driver.expression = "var"
    scenes.audit("FILE")
    choose("Arm")
    shown = detail()
    assert "(+1)" in shown and "Read by Rig, by the driver of location" in shown
    assert ops.fix_active() == {"FINISHED"}
    assert "changed on purpose: Rig, by the strip 'Walk': what it mixes with other motion changed" in RESULTS.message
    assert RESULTS.message.endswith("; Rig, by the driver of location: a number that it reads changed")
    for other in ("Two", "Three", "Rig"):
        bpy.data.objects.remove(bpy.data.objects[other])
    assert walk.use_fake_user
    for curve in build.fcurves_of(walk):
        curve.keyframe_points[1].co[1] *= -1.0
    scenes.audit("FILE")
    choose(scenes.labels()[0])
    assert "Nobody in this file plays these keys" in detail()


# --- about several bones


def ignored(bones: Sequence[str] = ("Arm", "Leg")) -> Any:
    """A rig in Euler modes whose action has quaternion keys: none plays."""
    rig = build.make_rig("Rig", bones, "XYZ")
    fcurves = build.make_fcurves("Walk", "Rig")
    for number, bone in enumerate(bones):
        turns = np.array([scenes.turned(20.0 * (n + number)) for n in range(4)])
        scenes.key(fcurves, bone, turns)
    play(rig, "Walk")
    rig.pose.bones["Arm"].rotation_euler = (math.radians(30.0), 0.0, 0.0)
    scenes.audit()
    choose("2 bones", "QA301")
    return rig


def test_a_finding_about_several_bones_is_gone_to_selected_searched_and_ignored(said) -> None:
    rig = ignored()
    choices = state()
    for bone in ("Arm", "Leg"):
        choices.bone = bone
        assert [row.key.code for row in RESULTS.shown_rows(properties.filters(choices))] == ["QA301"]
        choices.bone, choices.search = "", bone.lower()
        assert [row.key.code for row in RESULTS.shown_rows(properties.filters(choices))] == ["QA301"]
        choices.search = ""
    seen = set()
    for _ in range(2):
        assert ops.occurrence_step() == {"FINISHED"}
        line = said()[-1]
        assert line.startswith("Info: ")
        (selected,) = [bone.name for bone in rig.pose.bones if compat.is_selected(bone)]
        seen.add(selected)
        curves = [c for c in build.fcurves_of(bpy.data.actions["Walk"]) if c.select]
        assert {c.data_path.split('"')[1] for c in curves} == {selected} and f"of {selected} are not played" in line
    assert seen == {"Arm", "Leg"}
    assert "quat_audit.select_bones" in draw_all().operators
    assert ops.select_bones() == {"FINISHED"} and said()[-1] == "Info: Selected: 2 bones"
    assert all(compat.is_selected(bone) for bone in rig.pose.bones)
    scenes.refresh()
    assert not RESULTS.any_outdated
    build.fcurves_of(bpy.data.actions["Walk"])[0].keyframe_points[0].co[0] += 0.5
    scenes.refresh()
    assert "The action changed since the audit" in draw_all().text and "The channel is gone" not in draw_all().text
    build.fcurves_of(bpy.data.actions["Walk"])[0].keyframe_points[0].co[0] -= 0.5
    scenes.refresh()
    assert ops.ignore(reason="meant") == {"FINISHED"} and not RESULTS.rows
    assert ops.unignore() == {"FINISHED"} and scenes.labels() == ["2 bones"]


def test_before_and_after_of_keys_that_do_not_play_begins_with_the_pose_that_shows() -> None:
    rig = ignored()
    state().occurrence = RESULTS.rows[0].finding.bones.index("Arm")
    assert ops.compare() == {"FINISHED"}
    angles = comparing.STATE.shown.angles
    np.testing.assert_allclose(angles.before_deg, 0.0, atol=1e-4)
    # The pose that shows is turned by 30°, the keys by 0 to 60°.
    assert (angles.after_deg.max(), angles.after_deg[0]) == pytest.approx((30.0, 30.0), abs=0.01)
    assert angles.swept_deg == pytest.approx((0.0, 60.0), abs=0.01)
    assert comparing.STATE.shown.label == "Arm"
    assert ops.fix_active() == {"FINISHED"}
    assert {bone.rotation_mode for bone in rig.pose.bones} == {"QUATERNION"}


def test_the_mode_is_set_or_the_keys_are_converted_as_the_artist_chooses(said) -> None:
    rig = ignored()
    detail_panel = draw(panel._Detail)
    assert detail_panel.operators.count("quat_audit.fix_active") == 2
    options = SimpleNamespace(other_way=True)
    tip = fix.QUATAUDIT_OT_fix_active.description(bpy.context, options)
    assert tip.startswith("Converts the keys into the rotation mode in use")
    assert ops.fix_active(other_way=True) == {"FINISHED"}
    assert {bone.rotation_mode for bone in rig.pose.bones} == {"XYZ"} and RESULTS.rows == []
    assert {c.data_path.rpartition(".")[2] for c in build.fcurves_of(bpy.data.actions["Walk"])} == {"rotation_euler"}
    for frame, degrees in ((1, 0.0), (31, 60.0)):
        bpy.context.scene.frame_set(frame)
        played = rig.pose.bones["Arm"].matrix_basis.to_quaternion()
        assert math.degrees(played.angle) == pytest.approx(degrees, abs=0.01)
    assert "changed on purpose: Walk, Arm: its rotation_quaternion keys were converted or removed" in said()[-1]
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    rig = ignored()
    assert ops.fix_active() == {"FINISHED"}
    assert {bone.rotation_mode for bone in rig.pose.bones} == {"QUATERNION"}
    assert "changed on purpose: Walk, Arm: the rotation mode was set to QUATERNION" in said()[-1]


def test_the_rig_that_does_not_play_the_keys_is_gone_to_and_not_the_other(said) -> None:
    first, second = (build.make_rig(name, ("Arm",), mode) for name, mode in (("RigA", "QUATERNION"), ("RigB", "XYZ")))
    scenes.key(build.make_fcurves("Walk", "RigA"), "Arm", np.array([scenes.turned(20.0 * n) for n in range(4)]))
    for rig in (first, second):
        play(rig, "Walk")
    bpy.context.view_layer.objects.active = first
    scenes.audit()
    choose("Arm", "QA301")
    assert ops.go_to() == {"FINISHED"} and bpy.context.view_layer.objects.active == second
    assert ops.compare() == {"FINISHED"}
    assert comparing.STATE.shown.angles.swept_deg == pytest.approx((0.0, 60.0), abs=0.01)


# --- about no channel, and about no rotation


def test_an_action_without_its_slot_selects_the_object_and_plays_after_the_fix(said) -> None:
    if not build.has_slots():
        return
    rig = scenes.broken_rig()
    rig.animation_data.action_slot = None
    other = build.make_rig("Other", ("Arm",))
    bpy.context.view_layer.objects.active = rig
    scenes.audit()
    choose("Rig", "QA307")
    assert "Nobody in this file plays these keys" in detail()
    bpy.context.view_layer.objects.active = other
    said()
    assert ops.go_to() == {"FINISHED"}
    assert said() == ["Info: Rig, frames 1→31: Rig has the action but none of its slots, so nothing plays"]
    assert bpy.context.view_layer.objects.active == rig and rig.select_get()
    scenes.refresh()
    assert not RESULTS.any_outdated
    assert scenes.why_grey(ops.compare) == "Rotations are drawn, and this finding is about something else"
    assert scenes.why_grey(ops.select_bones) == "This finding is about no bone"
    assert ops.ignore(reason="later") == {"FINISHED"} and "QA307" not in {row.key.code for row in RESULTS.rows}
    assert ops.unignore() == {"FINISHED"}
    choose("Rig", "QA307")
    assert ops.fix_active() == {"FINISHED"}
    assert rig.animation_data.action_slot == bpy.data.actions["Walk"].slots[0]
    assert said()[-1] == "Info: changed on purpose: Rig: the action 'Walk' plays now"
    assert "QA307" not in {row.key.code for row in RESULTS.rows}


def test_location_keys_of_a_connected_bone_are_removed_or_the_bone_is_disconnected(said) -> None:
    for other_way in (False, True):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        rig = build.make_rig("Rig", ("A",))
        bpy.ops.object.mode_set(mode="EDIT")
        bone = rig.data.edit_bones.new("B")
        bone.head, bone.tail, bone.parent, bone.use_connect = (0, 0, 1), (0, 0, 2), rig.data.edit_bones["A"], True
        bpy.ops.object.mode_set(mode="OBJECT")
        path = 'pose.bones["B"].location'
        build.make_curve(build.make_fcurves("Walk", "Rig"), path, 0, (1.0, 11.0), (0.0, 0.5))
        play(rig, "Walk")
        scenes.audit()
        choose("B", "QA308")
        assert ops.go_to() == {"FINISHED"} and rig.data.bones.active.name == "B"
        assert said()[-1].startswith("Info: B, frame 11: the bone is connected")
        assert scenes.why_grey(ops.compare) == "Rotations are drawn, and this finding is about something else"
        bpy.ops.object.mode_set(mode="POSE")
        assert ops.fix_active(other_way=other_way) == {"FINISHED"} and RESULTS.rows == []
        assert rig.data.bones["B"].use_connect is not other_way and rig.mode == "POSE"
        assert len(build.fcurves_of(bpy.data.actions["Walk"])) == other_way
        bpy.context.scene.frame_set(11)
        assert rig.pose.bones["B"].head[0] == pytest.approx(0.5 * other_way, abs=1e-6)


def test_a_way_that_is_not_possible_says_so(said) -> None:
    """Axis-angle keys are not converted."""
    rig = build.make_rig("Rig", ("Arm",), "XYZ")
    fcurves = build.make_fcurves("Walk", "Rig")
    for index, last in enumerate((1.0, 0.0, 0.0, 1.0)):
        path = 'pose.bones["Arm"].rotation_axis_angle'
        build.make_curve(fcurves, path, index, (1.0, 11.0), (last if index else 0.0, last))
    play(rig, "Walk")
    scenes.audit()
    choose("Arm", "QA301")
    assert ops.fix_active(other_way=True) == {"CANCELLED"}
    why = "These keys cannot be repaired in this way: see the known limits of the rule"
    assert said()[-1] == f"Warning: {why}" and rig.pose.bones["Arm"].rotation_mode == "XYZ"
    assert ops.fix_active() == {"FINISHED"} and rig.pose.bones["Arm"].rotation_mode == "AXIS_ANGLE"
