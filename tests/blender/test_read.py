# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions -> Clips, against what Blender's own per-key access says."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from quat_audit.errors import GoneError
from quat_audit.motion.clip import AXIS_ANGLE, EULER, QUATERNION, Cycles, make_curves, make_tracks

bpy = pytest.importorskip("bpy")

from quat_audit.blender import (
    compat,
    open,
    read,
    users,
)
from tests.blender import build_case as build
from tests.blender.clips_read import PATH, only, path_of, quaternion_curves

NAMES = ["Arm", 'say "hi"', "back\\slash", 'x"].rotation_euler', "腕.左", "🦴", "it's", "tail\\", "new\nline", 'a"]["b']


def test_every_key_array_equals_what_each_key_says():
    fcurves = build.make_fcurves("A", "Rig")
    rng = np.random.default_rng(1)
    for index, count in enumerate((5, 1, 9)):
        curve = build.make_curve(fcurves, "location", index, np.arange(count) * 2.5, rng.normal(size=count), "BEZIER")
        for key in curve.keyframe_points:
            key.interpolation = rng.choice(build.INTERPOLATION)
            key.easing = rng.choice(["AUTO", "EASE_IN", "EASE_OUT", "EASE_IN_OUT"])
            key.back, key.amplitude, key.period = rng.random(3)
            key.handle_left_type = key.handle_right_type = "FREE"
            key.handle_left = (key.co[0] - rng.random(), rng.normal())
    build.make_curve(fcurves, "scale", 0, [1, 2], [1, 1], "LINEAR")
    clip = only(read.read_file())
    keys = [key for curve in fcurves for key in curve.keyframe_points]
    easings = ["AUTO", "EASE_IN", "EASE_OUT", "EASE_IN_OUT"]
    for name in ("co", "handle_left", "handle_right"):
        np.testing.assert_array_equal(getattr(clip.curves, name), np.array([getattr(k, name)[:] for k in keys], "f4"))
    assert clip.curves.interpolation.tolist() == [build.INTERPOLATION.index(k.interpolation) for k in keys]
    eased = np.array([k.interpolation not in build.INTERPOLATION[:3] for k in keys])
    assert eased.any() and not eased.all()
    assert clip.curves.easing[eased].tolist() == [
        easings.index(k.easing) for k in keys if k.interpolation not in build.INTERPOLATION[:3]
    ]
    expected = np.array([(k.back, k.amplitude, k.period) for k in keys], "f4")
    np.testing.assert_array_equal(clip.curves.easing_parameters[eased], expected[eased])
    assert clip.curves.counts.tolist() == [5, 1, 9, 2]
    assert clip.curves.co.dtype == np.float32


def test_no_easing_arrays_without_easing():
    build.make_curve(build.make_fcurves("A", "Rig"), "location", 0, [1, 2], [0, 1], "BEZIER")
    clip = only(read.read_file())
    assert clip.curves.easing is None and clip.curves.easing_parameters is None


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_bone_names(name):
    rig = build.make_rig("Rig", [name])
    bone = rig.pose.bones[0]
    bone.rotation_quaternion = (0.5, 0.1, 0.2, 0.3)
    bone.rotation_mode = "ZXY"
    for prop in (PATH, "rotation_euler", "rotation_axis_angle"):
        bone.keyframe_insert(prop, frame=1)
    tracks = only(read.read_file()).tracks
    assert tracks.bone == (bone.name,) * 3
    assert tracks.kind == (QUATERNION, EULER, AXIS_ANGLE)
    assert tracks.order == ("ZXY",) * 3
    assert tracks.modes == (("ZXY",),) * 3
    assert tracks.data_path == tuple(
        path_of(rig, bone.name, p) for p in (PATH, "rotation_euler", "rotation_axis_angle")
    )
    # What has a curve needs no stored value, which is the pose of the frame.
    np.testing.assert_array_equal(tracks.pose[:2], [(1, 0, 0, 0), (0, 0, 0, 0)])
    assert not only(read.read_file()).curves.orphan.any()


def test_what_only_looks_like_a_rotation_is_none():
    fcurves = build.make_fcurves("A", "Rig")
    paths = [
        'pose.bones["A"]["rotation_quaternion"]',
        'pose.bones["A"].rotation_mode',
        'pose.bones["A.rotation_euler',
        '["rotation_euler"]',
    ]
    for path in paths:
        build.make_curve(fcurves, path, 0, [1, 2], [0, 1])
    clip = only(read.read_file())
    assert clip.curves.data_path == tuple(paths) and len(clip.tracks) == 0


def test_single_quoted_path_is_a_bone():
    build.make_rig("Rig", ["Arm"])
    build.make_curve(build.make_fcurves("A", "Rig"), "pose.bones['Arm'].rotation_quaternion", 2, [1, 2], [0, 1])
    tracks = only(read.read_file()).tracks
    assert tracks.bone == ("Arm",) and tracks.curves.tolist() == [[-1, -1, 0, -1]]


def test_object_and_delta_rotations():
    ob = bpy.data.objects.new("Cam", bpy.data.cameras.new("Cam"))
    ob.rotation_mode = "YZX"
    ob.delta_rotation_euler = (0.1, 0.2, 0.3)
    for prop in ("rotation_euler", "delta_rotation_euler", "delta_rotation_quaternion", "location"):
        ob.keyframe_insert(prop, frame=3)
    clip = only(read.read_file())
    assert clip.tracks.data_path == ("rotation_euler", "delta_rotation_euler", "delta_rotation_quaternion")
    assert clip.tracks.delta == (False, True, True)
    assert clip.tracks.order[:2] == ("YZX", "YZX") and clip.tracks.bone == ("",) * 3
    assert clip.owner == "Cam" and clip.users == ("Cam",) and len(clip.curves) == 13


def test_keys_of_other_data_are_a_clip_without_tracks():
    material = bpy.data.materials.new("Red")
    if material.node_tree is None:  # 5.0 on: always there
        material.use_nodes = True
    material.keyframe_insert("diffuse_color", frame=1)
    tree = material.node_tree
    tree.nodes.new("ShaderNodeValue").outputs[0].keyframe_insert("default_value", frame=1)
    clips = [r.clip for r in read.read_file()]
    assert sorted((c.owner, len(c.curves), len(c.tracks)) for c in clips) == [("Red", 4, 0), ("Red (nodes)", 1, 0)]
    assert not any(c.curves.orphan.any() for c in clips)


def test_missing_component_and_components_out_of_range():
    rig = build.make_rig("Rig", ["Arm"])
    fcurves = build.make_fcurves("A", "Rig")
    quaternion_curves(fcurves, path_of(rig, "Arm"), components=(3, 1, 7))
    fcurves.new(path_of(rig, "Arm"), index=2)  # no keys: Blender passes it over
    tracks = only(read.read_file()).tracks
    assert tracks.curves.tolist() == [[-1, 1, -1, 0]]


@pytest.mark.parametrize("fault, says", [
    ("mute", "muted"), ("group mute", "muted"), ("noise", "NOISE"), ("restricted", "CYCLES"), ("influence", "CYCLES"),
    ("two", "NOISE"), ("driver", "driven"), ("baked", "baked"),
])  # fmt: skip
def test_curves_that_do_not_play_their_keys(fault, says):
    rig = build.make_rig("Rig", ["Arm"])
    bone = rig.pose.bones[0]
    for frame in (1, 5):
        bone.keyframe_insert(PATH, frame=frame, group="Arm")
    curve = build.fcurves_of(rig.animation_data.action)[2]
    if fault == "mute":
        curve.mute = True
    elif fault == "group mute":
        curve.group.mute = True
    elif fault == "noise":
        curve.modifiers.new(type="NOISE")
    elif fault == "driver":
        bone.driver_add(PATH, 2)
        bone.driver_add(PATH, 0).mute = True
    elif fault == "baked":
        curve.convert_to_samples(1, 5)
    else:
        cycles = curve.modifiers.new(type="CYCLES")
        cycles.use_restricted_range = fault == "restricted"
        cycles.use_influence, cycles.influence = fault == "influence", 0.5
        if fault == "two":
            curve.modifiers.new(type="NOISE")
    clip = only(read.read_file())
    assert [says in why for why in clip.curves.unevaluable] == (
        [False, False, True, False] if fault != "group mute" else [True] * 4
    )
    assert clip.tracks.curves.tolist() == [[0, 1, 2, 3]]
    assert clip.not_evaluated == (
        ((f"{path_of(rig, 'Arm')}[2]", "its keys were baked to samples"),) if fault == "baked" else ()
    )


def test_cycles_modifier_and_extrapolation():
    curve = build.make_curve(build.make_fcurves("A", "Rig"), "location", 0, [1, 2], [0, 1])
    cycles = curve.modifiers.new(type="CYCLES")
    cycles.mode_before, cycles.mode_after, cycles.cycles_before, cycles.cycles_after = "MIRROR", "REPEAT_OFFSET", 2, 3
    curve.modifiers.new(type="NOISE").mute = True
    build.make_curve(build.make_fcurves("A", "Rig"), "location", 1, [1, 2], [0, 1]).extrapolation = "LINEAR"
    clip = only(read.read_file())
    assert clip.curves.cycles == (Cycles("MIRROR", "REPEAT_OFFSET", 2, 3), None)
    assert clip.curves.unevaluable == ("", "")
    assert clip.curves.linear_extrapolation.tolist() == [False, True]


def test_locked_curve_and_group():
    rig = build.make_rig("Rig", ["Arm", "Leg"])
    for bone in rig.pose.bones:
        bone.keyframe_insert(PATH, frame=1, group=bone.name)
    fcurves = build.fcurves_of(rig.animation_data.action)
    fcurves[1].lock = True
    fcurves[4].group.lock = True
    assert only(read.read_file()).curves.read_only == (
        "",
        "the curve is locked",
        "",
        "",
        *["the group 'Leg' is locked"] * 4,
    )


def test_empty_action_is_a_clip():
    bpy.data.actions.new("Nothing").use_fake_user = True
    clip = only(read.read_file())
    assert (clip.action, len(clip.curves), clip.frame_range) == ("Nothing", 0, None)


def test_frame_rate():
    bpy.data.actions.new("A")
    bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = 30, 1.001
    assert only(read.read_file()).frame_rate == pytest.approx(30 / 1.001)


def test_two_slots_are_two_clips():
    if not build.has_slots():
        return
    for name in ("Rig", "Prop"):
        rig = build.make_rig(name, ["Arm"], mode="QUATERNION" if name == "Rig" else "XYZ")
        quaternion_curves(
            build.make_fcurves("A", name), path_of(rig, "Arm"), components=range(4 if name == "Rig" else 2)
        )
        build.assign(rig.animation_data_create(), bpy.data.actions["A"], name)
    bpy.data.actions["A"].slots.new(id_type="MATERIAL", name="Empty")
    clips = [r.clip for r in read.read_file()]
    assert [(c.slot, c.users, len(c.curves)) for c in clips] == [
        ("Rig", ("Rig",), 4),
        ("Prop", ("Prop",), 2),
        ("Empty", (), 0),
    ]
    assert clips[1].tracks.modes == (("XYZ",),)
    assert [r.clip.slot for r in read.read_object(bpy.data.objects["Prop"])] == ["Prop"]


def test_layers_and_strips_are_told_apart():
    """No release lets anybody make a second layer or strip so far; the day one does, this says so."""
    if not build.has_slots():
        return
    fcurves = build.make_fcurves("A", "Rig")
    build.make_curve(fcurves, "location", 0, [1, 2], [0, 1])
    action = bpy.data.actions["A"]
    with pytest.raises(RuntimeError, match="more than one layer"):
        action.layers.new("Second")
    with pytest.raises(RuntimeError, match="more than one strip"):
        action.layers[0].strips.new(type="KEYFRAME")
    # Until then: an action of the same shape, made of Blender's own strip twice and an empty third.
    real = action.layers[0].strips[0]
    layers = [SimpleNamespace(strips=[real, SimpleNamespace(channelbags=[])]), SimpleNamespace(strips=[real])]
    sets = list(compat.curve_sets(SimpleNamespace(slots=action.slots, layers=layers)))
    assert [(s.slot, s.layer, s.strip, s.label) for s in sets] == [
        ("Rig", 0, 0, "layer 1 · strip 1"),
        ("Rig", 1, 0, "layer 2"),
    ]


def test_a_second_curve_for_a_component_is_a_second_track():
    path = "rotation_quaternion"
    curves = make_curves([path] * 6, [0, 1, 2, 3, 1, 0], [1] * 6, np.zeros((6, 2), "f4"))
    tracks = make_tracks(read._tracks({path: ("", path)}, curves, {path: users.guessed([], "", path)}))
    assert tracks.curves.tolist() == [[0, 1, 2, 3], [5, 4, -1, -1]]
    assert tracks.modes == ((), ()) and np.isnan(tracks.pose).all()


def test_linked_action_is_read_and_read_only(tmp_path):
    rig = build.make_rig("Rig", ["Arm"])
    quaternion_curves(build.make_fcurves("A", "Rig"), path_of(rig, "Arm"))
    build.assign(rig.animation_data_create(), bpy.data.actions["A"])
    library = tmp_path / "library.blend"
    open.save_blend(library, compress=False)
    open.new_file()
    with bpy.data.libraries.load(str(library), link=True) as (_, into):
        into.objects = ["Rig"]
    bpy.data.actions.new("A")
    clips = [r.clip for r in read.read_file()]
    assert [(c.action, c.users, set(c.curves.read_only)) for c in clips] == [
        ("A", (), set()),
        ("A", ("Rig",), {"linked from library.blend"}),
    ]
    assert clips[1].tracks.bone == ("Arm",)


def test_all_report_cases_are_read_as_they_are_written(cases):
    entries = json.loads((cases / "reports.json").read_text(encoding="utf-8"))
    assert len(entries) == 23
    for name, entry in entries.items():
        open.new_file()
        build.build_case(entry)
        clips = {(r.clip.action, r.clip.slot or "Rig"): r.clip for r in read.read_file()}
        for action in entry.get("actions", ()):
            for slot in action["slots"]:
                clip = clips.get((action["action"], slot["slot"])) or clips[(action["action"], "Rig")]
                clip.validate()
                expected = np.array([key["co"] for c in slot["curves"] for key in c["keys"]], "f4")
                np.testing.assert_array_equal(clip.curves.co, expected, err_msg=name)
                assert clip.curves.data_path == tuple(c["data_path"] for c in slot["curves"])
                assert all(
                    clip.curves.read_only[i] == "" == clip.curves.unevaluable[i] for i in range(len(clip.curves))
                )
        for owner in entry.get("owners", ()):
            played = {owner["active_action"], *(strip["action"] for strip in owner["nla"])} - {None}
            assert {c.action for c in clips.values() if owner["object"] in c.users} == played


def test_the_record_of_a_removed_action_says_so():
    build.make_curve(build.make_fcurves("A", "Rig"), "location", 0, [1, 2], [0, 1])
    (record,) = read.read_file()
    again = read.read_again(record)
    np.testing.assert_array_equal(again.clip.curves.co, record.clip.curves.co)
    bpy.data.actions.remove(bpy.data.actions["A"])
    with pytest.raises(GoneError, match="no longer in this file"):
        read.read_again(record)


def test_a_rotation_that_is_keyed_by_the_number_of_its_bone_too_is_not_judged():
    """Blender plays both curves; a repair of the one by name would move what the later one leaves."""
    rig = build.make_rig("Rig", ["First", "Arm"])
    curves = build.make_fcurves("A", "Rig")
    quaternion_curves(curves, path_of(rig, "Arm"))
    build.make_curve(curves, "pose.bones[1].rotation_quaternion", 0, [1, 2], [0.5, 0.5])
    build.assign(rig.animation_data_create(), bpy.data.actions["A"])
    clip = only(read.read_file())
    reasons = dict(zip(clip.curves.data_path, clip.curves.unevaluable, strict=True))
    assert "by the bone's number" in reasons[path_of(rig, "Arm")]
