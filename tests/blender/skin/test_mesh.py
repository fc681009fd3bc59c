# SPDX-License-Identifier: GPL-3.0-or-later
"""Skins read from the scene, the poses of a clip, and weights written back: nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.audit.pipeline import judge
from quat_audit.blender import compat, playback, pose
from quat_audit.blender.skin import mesh as skin
from quat_audit.blender.skin import mesh_state
from quat_audit.blender.skin import posed as posed_skin
from quat_audit.errors import SkinError
from quat_audit.skinning import linear, measure
from quat_audit.ui.preview import previewed_mesh
from tests.blender import skinned
from tests.blender.skinned import HEADS, animate, make_tube


def test_what_is_read_is_what_the_mesh_holds() -> None:
    obj, rig = skinned.random_rig(1)
    obj.vertex_groups["Bone2"].lock_weight = True
    rig.data.bones["Bone4"].use_deform = False
    record = skin.read_object(obj)
    s = record.skin
    assert (s.mesh, s.armature, record.modifier) == ("Mesh", "Rig", "Armature")
    assert s.groups.names == tuple(g.name for g in obj.vertex_groups)
    assert [s.groups.names[i] for i in np.flatnonzero(s.groups.locked)] == ["Bone2"]
    for vertex in obj.data.vertices:
        rows = slice(s.offsets[vertex.index], s.offsets[vertex.index + 1])
        stored = [(g.group, g.weight) for g in vertex.groups]
        assert list(zip(s.group[rows].tolist(), s.weight[rows].tolist(), strict=True)) == stored
        assert tuple(s.vertices[vertex.index]) == tuple(vertex.co)
    for group, bone in zip(s.groups.names, s.groups.bone.tolist(), strict=True):
        assert bone == (-1 if group in ("No bone", "Bone4") else rig.pose.bones.find(group))
    for number, bone in enumerate(rig.data.bones):
        assert s.bones.names[number] == bone.name
        np.testing.assert_array_equal(s.bones.rest[number], np.array(bone.matrix_local, dtype=np.float64))
        assert s.bones.parent[number] == (rig.data.bones.find(bone.parent.name) if bone.parent else -1)


def test_closed_meshes_and_their_triangles() -> None:
    obj, _ = make_tube()
    assert not skin.read_object(obj).skin.closed
    rig = bpy.data.objects["Rig"]
    corners = [(x, y, z) for z in (0, 2) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))]
    faces = [(3, 2, 1, 0), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    box = skin.read_object(skinned.make_mesh("Box", np.array(corners), rig, [{"Bone0": 1.0}] * 8, faces)).skin
    assert box.closed and len(box.triangles) == 12
    assert measure.enclosed(box.vertices.T[:, None], box.triangles.T)[0] == pytest.approx(2.0)


def test_the_twisted_tube_of_the_reference() -> None:
    obj, rig = make_tube()
    animate(rig, 179.0)
    record = skin.read_object(obj)
    motion = pose.pose_matrices(obj, rig, [1.0, 21.0])
    assert motion.action == "Twist"
    ring = np.flatnonzero(np.isclose(record.skin.vertices[:, 2], 1.0))
    radius = np.linalg.norm(linear.deform(record.skin, motion)[1, ring, :2], axis=1)
    np.testing.assert_allclose(radius / 0.3, 0.0087, atol=1e-4)


def test_a_scan_leaves_the_scene_as_it_was() -> None:
    obj, rig = make_tube()
    animate(rig, 120.0)
    obj.modifiers.new("Off", "SUBSURF").show_viewport = False
    bpy.context.scene.frame_set(7, subframe=0.25)
    rig.pose.bones["Bone1"].rotation_quaternion = (0.6, 0.8, 0.0, 0.0)  # posed by hand, not keyed
    rig.pose.bones["Bone0"].location = (0.0, 0.1, 0.0)
    bpy.context.view_layer.update()
    before, shape = skinned.snapshot(), skinned.evaluated(obj)
    motion = pose.pose_matrices(obj, rig, playback.frames_of(playback.scene_range(bpy.context.scene)))
    assert len(motion) == 21
    assert skinned.snapshot() == before
    np.testing.assert_array_equal(skinned.evaluated(obj), shape)
    with pytest.raises(TypeError):
        pose.pose_matrices(obj, rig, [1.0, "no frame"])
    assert skinned.snapshot() == before  # also when it breaks off half-way


def test_a_clip_is_as_every_frame_is_by_itself() -> None:
    obj, rig = make_tube()
    animate(rig, 100.0)
    obj.location = (1.0, 2.0, 3.0)
    frames = [1.0, 4.5, 21.0]
    record, motion = skin.read_object(obj), pose.pose_matrices(obj, rig, frames)
    ours = linear.deform(record.skin, motion)
    for number, frame in enumerate(frames):
        bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
        np.testing.assert_allclose(ours[number], skinned.evaluated(obj), atol=1e-5)


def test_a_pose_that_asks_for_the_shape_of_a_mesh_gets_it() -> None:
    """A bone on a vertex of the deformed tube: its modifier must stay on while frames are stepped."""
    obj, rig = make_tube()
    animate(rig, 90.0)
    follower = skinned.make_armature("Follower", HEADS[:1], HEADS[:1] + np.array([0.0, 0.0, 1.0]), [-1])
    constraint = follower.pose.bones["Bone0"].constraints.new("COPY_LOCATION")
    top = obj.vertex_groups.new(name="Top")
    top.add([len(obj.data.vertices) - 1], 1.0, "REPLACE")
    constraint.target, constraint.subtarget = obj, "Top"
    cloth = skinned.make_mesh("Cloth", np.array([[0.0, 0.0, 0.5]]), follower, [{"Bone0": 1.0}])
    motion = pose.pose_matrices(cloth, follower, [1.0, 21.0])
    ours = linear.deform(skin.read_object(cloth).skin, motion)
    bpy.context.scene.frame_set(21)
    np.testing.assert_allclose(ours[1], skinned.evaluated(cloth), atol=1e-5)
    assert np.abs(ours[1] - ours[0]).max() > 0.1


# ---- what cannot be measured, and what to do about it -----------------------------------------------------------


def _message(obj: Any) -> str:
    with pytest.raises(SkinError) as caught:
        skin.read_object(obj)
    return str(caught.value)


def test_a_message_each_for_what_is_no_skin() -> None:
    obj, rig = make_tube()
    assert "Rig is no mesh" in _message(rig)
    modifier = obj.modifiers[0]
    modifier.use_vertex_groups = False
    assert "bound to neither vertex groups nor envelopes" in _message(obj)
    modifier.use_vertex_groups = True
    modifier.object = None
    assert "names no armature" in _message(obj)
    obj.modifiers.clear()
    assert "no Armature modifier" in _message(obj)
    obj.parent, obj.parent_type = rig, "ARMATURE"
    assert "deformed by its parent Rig without an Armature modifier" in _message(obj)
    empty = skinned.make_mesh("Empty", np.zeros((0, 3)), rig, [])
    assert "Empty has no vertices" in _message(empty)
    records, failed = skin.read_file()
    assert not records and {f.mesh for f in failed} == {"Tube", "Empty"}


def _blocking(change: Any) -> str:
    obj, rig = make_tube()
    change(obj, rig)
    found = skin.read_object(obj).skin
    assert set(found.blocking) <= {why for _, why in found.not_evaluated}
    return "; ".join(found.blocking)


def _second(obj: Any, rig: Any) -> None:
    obj.modifiers.new("Again", "ARMATURE").object = rig


def _before(obj: Any, rig: Any) -> None:
    obj.modifiers.new("Wave", "WAVE")
    obj.modifiers.move(1, 0)


def _shape(obj: Any, rig: Any) -> None:
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="Smile").value = 0.5


def _edit_rig(obj: Any, rig: Any) -> None:
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")


def _rest_position(obj: Any, rig: Any) -> None:
    rig.data.pose_position = "REST"


def _keyed(obj: Any, rig: Any) -> None:
    modifier = obj.modifiers[0]
    modifier.name = 'A "b" \\ c'  # a path escapes it
    modifier.keyframe_insert("use_deform_preserve_volume", frame=1)


def _driven(obj: Any, rig: Any) -> None:
    obj.modifiers[0].driver_add("use_deform_preserve_volume").driver.expression = "frame > 5"


def _keyed_in_a_strip(obj: Any, rig: Any) -> None:
    obj.modifiers[0].keyframe_insert("use_deform_preserve_volume", frame=1)
    data = obj.animation_data
    data.nla_tracks.new().strips.new("Strip", 1, data.action)
    data.action = None


def _bendy(obj: Any, rig: Any) -> None:
    rig.data.bones["Bone1"].bbone_segments = 4


def _multiplied(obj: Any, rig: Any) -> None:
    rig.data.bones["Bone0"].use_envelope_multiply = True


def _envelopes(obj: Any, rig: Any) -> None:
    obj.modifiers[0].use_bone_envelopes = True
    for group in obj.vertex_groups:
        group.remove([0, 1, 2])


@pytest.mark.parametrize(
    "change, says",
    [
        (_second, "several Armature modifiers in a chain: only Armature is read, not Again"),
        (_before, "modifiers before the Armature modifier change its input: Wave"),
        (_shape, "shape keys are not included"),
        (_edit_rig, "Rig is in edit mode, where it deforms nothing"),
        (_rest_position, "Rig is in rest position, so nothing is posed: switch Pose Position on"),
        (_keyed, 'Preserve Volume of A "b" \\ c is animated or driven'),
        (_driven, "Preserve Volume of Armature is animated or driven"),
        (_keyed_in_a_strip, "Preserve Volume of Armature is animated or driven"),
        (_bendy, "bendy bones are not computed: Bone1"),
        (_multiplied, "weights multiplied by bone envelopes are not computed: Bone0"),
        (_envelopes, "bone envelopes are not computed; 3 vertices"),
    ],
)
def test_what_makes_positions_wrong_is_said(change: Any, says: str) -> None:
    assert says in _blocking(change)


@pytest.mark.parametrize("on", [False, True])
@pytest.mark.parametrize("change", [_rest_position, _keyed, _driven, _keyed_in_a_strip])
def test_a_twist_that_cannot_be_judged_is_not_judged(on: bool, change: Any) -> None:
    obj, rig = make_tube()
    animate(rig, 170.0)
    obj.modifiers[0].use_deform_preserve_volume = on
    code = "QA606" if on else "QA605"
    assert code in {f.code for f in api.audit_mesh(obj)}
    change(obj, rig)
    assert not {"QA605", "QA606"} & {f.code for f in api.audit_mesh(obj)}
    (posed,), _ = posed_skin.read_posed()
    said = [why for what, why in judge(posed.subject).not_evaluated if what == "Tube"]
    assert said[-1] == "what shows of its deformation is not measured, for the reasons given" and len(said) == 2
    assert said[0] in previewed_mesh.read(obj).notes


def test_preserve_volume_whose_curve_is_muted_is_judged() -> None:
    def muted(obj: Any, rig: Any) -> None:
        _keyed(obj, rig)
        for found in compat.curve_sets(obj.animation_data.action):
            for fcurve in found.fcurves:
                fcurve.mute = True

    def of_another_modifier(obj: Any, rig: Any) -> None:
        obj.animation_data_create()
        other = obj.modifiers.new("Other", "ARMATURE")
        other.show_viewport = False
        other.keyframe_insert("use_deform_preserve_volume", frame=1)
        obj.modifiers[0].keyframe_insert("use_deform_preserve_volume", frame=1)
        obj.modifiers[0].keyframe_delete("use_deform_preserve_volume", frame=1)

    assert _blocking(muted) == "" and _blocking(of_another_modifier) == ""


def test_switching_the_rest_position_is_a_change_of_the_skin() -> None:
    obj, rig = make_tube()
    before = mesh_state.mesh_state(obj, rig, bpy.context.scene)
    rig.data.pose_position = "REST"
    assert mesh_state.mesh_state(obj, rig, bpy.context.scene) != before


def test_vertices_without_a_place_are_counted_in_words() -> None:
    obj, _ = make_tube()
    obj.data.vertices[3].co.x = np.nan
    assert skin.read_object(obj).skin.not_evaluated == (
        ("Tube", "1 vertex has coordinates that are no numbers: it is not measured"),
    )
    obj.data.vertices[4].co.y = np.nan
    assert skin.read_object(obj).skin.not_evaluated == (
        ("Tube", "2 vertices have coordinates that are no numbers: they are not measured"),
    )


def test_what_does_not_matter_blocks_nothing() -> None:
    def harmless(obj: Any, rig: Any) -> None:
        obj.modifiers.new("Off", "WAVE").show_viewport = False
        obj.modifiers[0].use_bone_envelopes = True  # every vertex has groups
        obj.shape_key_add(name="Basis")
        obj.shape_key_add(name="Smile").value = 0.0
        rig.data.bones["Bone0"].use_deform = False
        rig.data.bones["Bone0"].bbone_segments = 5

    assert _blocking(harmless) == ""


def test_bones_of_a_second_armature_hold_their_vertices() -> None:
    obj, _ = make_tube()
    other = skinned.make_armature("Other", HEADS[:1], HEADS[:1] + np.array([0.0, 0.0, 1.0]), [-1])
    other.data.bones[0].name = "Tail"
    obj.modifiers.new("Again", "ARMATURE").object = other
    for group in obj.vertex_groups:
        group.remove([0, 1])
    obj.vertex_groups.new(name="Tail").add([0], 1.0, "REPLACE")
    found = {f.code: f for f in api.audit_mesh(obj)}
    assert set(found) == {"QA601"} and list(found["QA601"].occurrences.rows) == [1]


def test_modifiers_after_it_are_named() -> None:
    obj, _ = make_tube()
    obj.modifiers.new("Corrective", "CORRECTIVE_SMOOTH")
    found = skin.read_object(obj).skin
    assert not found.blocking
    assert found.not_evaluated == (("Tube", "modifiers after the Armature modifier are not included: Corrective"),)


def test_an_armature_outside_the_view_layer_and_one_scaled_to_nothing() -> None:
    _, rig = make_tube()
    other, _ = skinned.random_rig(2)
    bpy.context.scene.collection.objects.unlink(rig)
    posed, unread = posed_skin.read_posed()
    assert [p.record.skin.mesh for p in posed] == ["Mesh"]
    assert unread[0][0] == "Tube" and "Rig is not in the view layer" in unread[0][1]
    other.scale = (0.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    posed, unread = posed_skin.read_posed()
    assert not posed and "scaled to nothing" in dict(unread)["Mesh"]


@pytest.mark.parametrize("parented", [False, True])
@pytest.mark.parametrize("hidden", ["rig", "mesh", "both"])
def test_what_is_hidden_is_posed_all_the_same(hidden: str, parented: bool) -> None:
    obj, rig = make_tube()
    animate(rig, 90.0)
    obj.parent = rig if parented else None
    bpy.context.view_layer.update()
    expected = pose.pose_matrices(obj, rig, [1.0, 21.0])
    for one in {"rig": [rig], "mesh": [obj], "both": [obj, rig]}[hidden]:
        one.hide_set(True)
    motion = pose.pose_matrices(obj, rig, [1.0, 21.0])
    np.testing.assert_array_equal(motion.deform, expected.deform)
    np.testing.assert_array_equal(motion.to_armature, expected.to_armature)
    assert np.abs(motion.deform[1] - motion.deform[0]).max() > 0.5


@pytest.mark.parametrize("parented", [False, True])
def test_what_is_disabled_in_viewports(parented: bool) -> None:
    obj, rig = make_tube()
    animate(rig, 90.0)
    obj.parent = rig if parented else None
    bpy.context.view_layer.update()
    expected = pose.pose_matrices(obj, rig, [1.0, 21.0])
    rig.hide_viewport = True  # posed still, as the mesh needs it
    np.testing.assert_array_equal(pose.pose_matrices(obj, rig, [1.0, 21.0]).deform, expected.deform)
    rig.hide_viewport, obj.hide_viewport = False, True
    with pytest.raises(SkinError, match="Tube is disabled in viewports"):
        pose.pose_matrices(obj, rig, [1.0, 21.0])


def test_long_scenes_are_measured_on_some_of_their_frames() -> None:
    _, rig = make_tube()
    animate(rig, 90.0, (1, 1200))
    posed, unread = posed_skin.read_posed()
    frames = posed[0].motion.frames
    assert len(frames) == posed_skin.MOST_FRAMES and (frames[0], frames[-1]) == (1.0, 1200.0)
    assert dict(unread)["deformation"] == "measured on 500 of 1,200 frames, evenly picked"
