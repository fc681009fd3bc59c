# SPDX-License-Identifier: GPL-3.0-or-later
"""Who plays an action, and what its clip takes from them: rotation modes, the stored pose, orphans."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import read
from tests.blender import build_case as build
from tests.blender.clips_read import PATH, only, path_of, quaternion_curves


def test_unused_action_guesses_its_object_and_says_so():
    build.make_rig("Aaa", ["Other"])
    rig = build.make_rig("Rig", ["Arm", "Leg"])
    twin = build.make_rig("Twin", ["Arm", "Leg"], mode="XYZ")
    for bone in ("Arm", "Leg", "Gone"):
        quaternion_curves(build.make_fcurves("A", "Rig"), f'pose.bones["{bone}"].{PATH}')
    rig.pose.bones["Leg"].rotation_mode = "XZY"
    clip = only(read.read_file())
    assert clip.owner == "Rig" and clip.users == ()  # Twin has as many bones: name order decides
    assert clip.tracks.modes == (("QUATERNION",), ("XZY",), ())
    assert np.isnan(clip.tracks.pose[2]).all()
    assert not clip.curves.orphan.any()
    # Played by Twin, it is no guess any more.
    build.assign(twin.animation_data_create(), bpy.data.actions["A"])
    clip = only(read.read_file())
    assert clip.users == ("Twin",) and clip.tracks.modes == (("XYZ",), ("XYZ",), ())
    assert clip.curves.orphan.tolist() == [False] * 8 + [True] * 4


def test_a_curve_that_blender_gave_up_on_is_an_orphan_and_no_riddle():
    rig = build.make_rig("Rig", ["Arm"])
    quaternion_curves(build.make_fcurves("A", "Rig"), 'pose.bones["Gone"].rotation_quaternion')
    quaternion_curves(build.make_fcurves("A", "Rig"), path_of(rig, "Arm"))
    build.assign(rig.animation_data_create(), bpy.data.actions["A"])
    bpy.context.scene.frame_set(2)  # from here on `is_valid` is False on the first four
    clip = only(read.read_file())
    assert clip.curves.orphan.tolist() == [True] * 4 + [False] * 4
    assert clip.curves.unevaluable == ("",) * 8


def test_unused_object_level_action_is_not_pinned_on_a_stranger():
    bpy.data.objects.new("Aaa", None)
    door = bpy.data.objects.new("Door", None)
    door.rotation_mode = "ZYX"
    build.make_curve(build.make_fcurves("Open", "Slot"), "rotation_euler", 0, [1, 2], [0, 1])
    build.make_curve(build.make_fcurves("DoorAction", "Door"), "rotation_euler", 0, [1, 2], [0, 1])
    owners = {r.clip.action: (r.clip.owner, r.clip.tracks.order) for r in read.read_file()}
    assert owners == {"Open": ("", ("XYZ",)), "DoorAction": ("Door", ("ZYX",))}


def test_users_by_nla_tweak_mode_and_constraint():
    rigs = {name: build.make_rig(name, ["Arm"]) for name in ("Active", "Bone", "Constraint", "Meta", "Strip", "Tweak")}
    quaternion_curves(build.make_fcurves("A", "Rig"), path_of(rigs["Active"], "Arm"))
    quaternion_curves(build.make_fcurves("B", "Rig"), path_of(rigs["Active"], "Arm"))
    a, b = bpy.data.actions["A"], bpy.data.actions["B"]
    build.assign(rigs["Active"].animation_data_create(), a)
    for name in ("Strip", "Tweak", "Meta"):
        track = rigs[name].animation_data_create().nla_tracks.new()
        strip = track.strips.new("s", 1, a if name != "Tweak" else b)
        if build.LAYERED:
            strip.action_slot = strip.action.slots[0]
        track.mute = name == "Meta"
    build.assign(rigs["Bone"].pose.bones[0].constraints.new("ACTION"), a)
    build.assign(rigs["Constraint"].constraints.new("ACTION"), a)
    tweaked = rigs["Tweak"].animation_data
    build.assign(tweaked, a)
    tweaked.nla_tracks[0].select = True
    tweaked.nla_tracks.active = tweaked.nla_tracks[0]
    tweaked.nla_tracks[0].strips[0].select = True
    tweaked.use_tweak_mode = True
    assert tweaked.use_tweak_mode and tweaked.action == b
    clips = {r.clip.action: r.clip for r in read.read_file()}
    assert clips["A"].users == ("Active", "Bone", "Constraint", "Meta", "Strip", "Tweak")
    assert clips["B"].users == ("Tweak",)
    assert [r.clip.action for r in read.read_object(rigs["Tweak"])] == ["B", "A"]
    assert only(read.read_object(rigs["Bone"])).users == clips["A"].users
    tweaked.use_tweak_mode = False


def test_modes_of_all_users_in_order():
    rig = build.make_rig("A", ["Arm"], mode="AXIS_ANGLE")
    other = build.make_rig("B", ["Arm"], mode="YXZ")
    third = build.make_rig("C", ["Arm"], mode="AXIS_ANGLE")
    build.make_curve(build.make_fcurves("Act", "Rig"), path_of(rig, "Arm", "rotation_euler"), 0, [1, 2], [0, 1])
    for ob in (third, other, rig):
        build.assign(ob.animation_data_create(), bpy.data.actions["Act"])
    clip = only(read.read_file())
    assert clip.users == ("A", "B", "C")
    assert clip.tracks.modes == (("AXIS_ANGLE", "YXZ"),)
    assert clip.tracks.order == ("YXZ",)  # the only one that is an Euler order


def test_an_action_without_its_slot_plays_nothing():
    if not build.has_slots():
        return
    rig = build.make_rig("Rig", ["Arm"])
    quaternion_curves(build.make_fcurves("A", "Rig"), path_of(rig, "Arm"))
    rig.animation_data_create().action = bpy.data.actions["A"]
    rig.animation_data.action_slot = None
    assert only(read.read_file()).users == ()


def test_the_pose_of_another_action_is_no_stored_value() -> None:
    """Two actions of one bone: only z keyed in the first, all four in the second, which is played just now."""
    rig = build.make_rig("Rig", ["B"])
    data = rig.animation_data_create()
    path = 'pose.bones["B"].rotation_quaternion'
    for name, components in (("One", (3,)), ("Two", (0, 1, 2, 3))):
        curves = build.make_fcurves(name, "Rig")
        for component in components:
            build.make_curve(curves, path, component, [1, 10], [0.5, 0.6])
    one, two = bpy.data.actions["One"], bpy.data.actions["Two"]
    build.assign(data, one)
    (record,) = read.read_action(one)
    assert np.isfinite(record.clip.tracks.pose).all()
    build.assign(data.nla_tracks.new().strips.new("One", 1, one), one)
    build.assign(data, two)
    (record,) = read.read_action(one)
    assert record.clip.users == ("Rig",)
    assert record.clip.tracks.pose[0].tolist() == [1, 0, 0, 0]  # the NLA takes the identity
