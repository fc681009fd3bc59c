# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after: on, off, across a fix, and what must stay as it was."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.results.memory import RESULTS
from quat_audit.ui import properties
from quat_audit.ui.comparison import state as comparing
from tests.blender import build_case as build
from tests.blender import scene_poses
from tests.ui import scenes
from tests.ui.drawing import draw_all

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
STATE = comparing.STATE


@pytest.fixture
def rig():
    made = scenes.broken_rig(["Arm", "Leg"])
    made.pose.bones["Leg"].location = (1.0, 2.0, 3.0)  # by hand, and not keyed
    bpy.context.scene.frame_set(7, subframe=0.25)
    scenes.audit()
    return made


def everything(rig) -> tuple:
    scene = bpy.context.scene
    poses = [(b.name, *map(tuple, b.matrix_basis)) for b in rig.pose.bones]
    return scene_poses.stored(), scene.frame_current_final, poses, len(bpy.data.objects), len(bpy.data.actions)


def test_on_and_off_change_nothing(rig) -> None:
    before = everything(rig)
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    shown = STATE.shown
    assert shown is not None and len(STATE.handles) == 1
    assert (shown.label, shown.angles.step) == ("Arm", (11.0, 21.0))
    assert shown.angles.swept_deg == pytest.approx((340.0, 20.0), abs=0.1)
    assert shown.remark == "" and shown.bones == (0,)
    assert everything(rig) == before
    assert "quat_audit.compare_off" in draw_all().operators
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    assert STATE.shown is None and STATE.handles == []
    assert scenes.why_grey(ops.compare_off) == "No before and after is drawn"
    assert everything(rig) == before


def test_what_is_predicted_is_what_the_fix_does(rig) -> None:
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    poses = STATE.shown.poses
    keyed = np.isin(poses.frames, scenes.FRAMES)
    assert keyed.sum() == 4 and np.abs(poses.before[keyed] - poses.after[keyed]).max() < 1e-6
    rest = np.array(rig.data.bones["Arm"].matrix_local)[:3, :3]
    played = rest @ scene_poses.matrices([("Rig", "Arm")], poses.frames)[0]
    assert scene_poses.angle_deg(played, poses.before[:, 0, :3, :3]).max() < 0.01
    assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}
    assert STATE.shown is not None and STATE.shown.poses is poses  # stays on after the fix
    rest = np.array(rig.data.bones["Arm"].matrix_local)[:3, :3]
    played = rest @ scene_poses.matrices([("Rig", "Arm")], poses.frames)[0]
    assert scene_poses.angle_deg(played, poses.after[:, 0, :3, :3]).max() < 0.01
    assert ops.compare_off("EXEC_DEFAULT") == {"FINISHED"} and not STATE.handles


def test_an_axis_angle_bone_has_a_graph_and_trails() -> None:
    made = build.make_rig("Rig", ["Arm"], mode="AXIS_ANGLE")
    fcurves = build.make_fcurves("Walk", "Rig")
    values = np.array([[np.radians(340), 0, 0.6, 0.8], [np.radians(350), 0, 0.6, 0.8], [np.radians(10), 0, 0.6, 0.8]])
    for index in range(4):
        build.make_curve(fcurves, 'pose.bones["Arm"].rotation_axis_angle', index, (1, 3, 5), values[:, index])
    build.assign(made.animation_data_create(), bpy.data.actions["Walk"])
    scenes.audit()
    assert [row.finding.code for row in RESULTS.rows] == ["QA205"]
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    shown = STATE.shown
    assert shown.angles.swept_deg == pytest.approx((340.0, 20.0), abs=0.1) and shown.remark == ""
    rest = np.array(made.data.bones["Arm"].matrix_local)[:3, :3]
    for poses in (shown.poses.before, shown.poses.after):
        played = rest @ scene_poses.matrices([("Rig", "Arm")], shown.poses.frames)[0]
        assert scene_poses.angle_deg(played, poses[:, 0, :3, :3]).max() < 0.01
        if poses is shown.poses.before:
            assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}


def test_a_look_back_at_the_last_fix(rig) -> None:
    assert scenes.why_grey(ops.compare_last) == "Nothing was fixed just now"
    ops.fix_safe("EXEC_DEFAULT")
    assert not RESULTS.rows and "quat_audit.compare_last" in draw_all().operators
    before = everything(rig)
    assert ops.compare_last("EXEC_DEFAULT") == {"FINISHED"}
    shown = STATE.shown
    assert shown.key is None and shown.angles.swept_deg == pytest.approx((340.0, 20.0), abs=0.1)
    turned = [scene_poses.angle_deg(shown.poses.before[:, n, :3, :3], shown.poses.after[:, n, :3, :3]) for n in (0, 1)]
    assert [angle.max() > 90.0 for angle in turned] == [True, True]  # both bones were repaired
    assert everything(rig) == before
    RESULTS.message = ""
    assert comparing.offered(RESULTS.message) is None


def test_selected_bones_leave_trails_too(rig) -> None:
    from quat_audit.blender import compat

    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        compat.select_bone(bone, bone.name == "Leg")
    ops.compare("EXEC_DEFAULT")
    assert [STATE.shown.poses.rig.names[n] for n in STATE.shown.bones] == ["Arm", "Leg"]


def test_an_action_of_nobody_has_a_graph_and_no_poses(rig, said) -> None:
    rig.animation_data.action = None
    scenes.audit("FILE")
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    assert STATE.shown.poses is None and "no poses to show" in STATE.shown.remark
    assert any("no poses to show" in line for line in said())
    assert STATE.shown.angles.swept_deg == pytest.approx((340.0, 20.0), abs=0.1)


def test_an_object_shows_the_ends_of_its_axes() -> None:
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    bpy.context.scene.collection.objects.link(camera)
    camera.rotation_mode, camera.delta_rotation_quaternion = "QUATERNION", scenes.turned(90.0)
    fcurves = build.make_fcurves("Pan", "Camera")
    for index in range(4):
        build.make_curve(fcurves, "rotation_quaternion", index, scenes.FRAMES, scenes.flipped()[:, index])
    build.assign(camera.animation_data_create(), bpy.data.actions["Pan"])
    bpy.context.view_layer.objects.active = camera
    scenes.audit()
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    poses = STATE.shown.poses
    assert poses.rig.names == ("",) and poses.marker(0).any()
    for clip in ("before", "after"):
        played = scene_poses.matrices([("Camera", "")], poses.frames)[0]
        assert scene_poses.angle_deg(played, getattr(poses, clip)[:, 0, :3, :3]).max() < 0.01
        if clip == "before":
            assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}


def test_why_it_is_grey(rig) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    assert scenes.why_grey(ops.compare) == "Leave Edit Mode: there is no pose in it"
    bpy.ops.object.mode_set(mode="OBJECT")
    RESULTS.clear()
    properties.sync(properties.state(bpy.context))
    assert scenes.why_grey(ops.compare) == "No finding is chosen"


def test_another_place_is_followed(rig) -> None:
    ops.compare("EXEC_DEFAULT")
    assert STATE.shown.angles.step == (11.0, 21.0)
    ops.occurrence_step("EXEC_DEFAULT")
    assert STATE.shown.angles.step == (21.0, 31.0)


def test_a_new_file_and_unregistering_switch_it_off(rig) -> None:
    ops.compare("EXEC_DEFAULT")
    ops.fix_active("EXEC_DEFAULT")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert STATE.shown is None and STATE.last is None and STATE.handles == []


def test_nothing_breaks_when_the_armature_changes_under_it(rig) -> None:
    ops.compare("EXEC_DEFAULT")
    uid = STATE.shown.object_uid
    rig.data.bones["Arm"].name = "Other"
    assert rig.session_uid == uid
    bpy.data.objects.remove(rig)
    assert not comparing._seen(bpy.context, uid)
    draw_all()
    assert ops.compare_off("EXEC_DEFAULT") == {"FINISHED"}
