# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs in the open file: what is told of them is what Blender stored, and what it did not let be done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import open as scene
from quat_audit.blender import read, write
from quat_audit.blender.skin import mesh as skin
from quat_audit.results.rows import clip_state
from tests.blender import build_case as build
from tests.blender.skinned import animate, make_tube

PATH = 'pose.bones["B"].location'
DISCONNECT = api.Settings(unsafe=True, limits={"QA308": {"disconnect": 1.0}})


@pytest.fixture(autouse=True)
def empty_file() -> None:
    scene.new_file()


def flipping(action: str = "Walk") -> Any:
    fcurves = build.make_fcurves(action, "Rig")
    for index, values in enumerate([(1.0, -0.985, 0.94), (0.0, -0.174, 0.342), (0.0,) * 3, (0.0,) * 3]):
        build.make_curve(fcurves, 'pose.bones["A"].rotation_quaternion', index, (1.0, 11.0, 21.0), values)
    return bpy.data.actions[action]


def test_a_clip_is_told_as_blender_stored_it(monkeypatch: pytest.MonkeyPatch) -> None:
    action = flipping()
    (done,) = api.fix_action(action)
    (stored,) = read.read_action(action)
    assert clip_state(done.subject) == clip_state(stored.clip) and done.proof.max_key_change_deg < 1e-3

    def off(record: Any, after: Any, own: Any = write.write_clip) -> Any:
        written = own(record, after)
        build.fcurves_of(bpy.data.actions["Run"])[1].keyframe_points[2].co[1] += 0.02
        return written

    monkeypatch.setattr(write, "write_clip", off)
    (done,) = api.fix_action(flipping("Run"))
    assert done.proof.max_key_change_deg == pytest.approx(2.2, abs=0.2), "the proof is of what the repair meant"


def test_a_mesh_is_told_as_blender_stored_it(monkeypatch: pytest.MonkeyPatch) -> None:
    obj, rig = make_tube()
    animate(rig, 140.0)
    obj.vertex_groups["Bone0"].add([3], 0.4, "REPLACE")

    def off(record: Any, edited: Any, own: Any = skin.write_weights) -> Any:
        count = own(record, edited)
        obj.vertex_groups["Bone1"].add([7], 0.9, "REPLACE")
        return count

    monkeypatch.setattr(skin, "write_weights", off)
    done = api.fix_mesh(obj, frames=[1.0, 21.0])
    assert done.proof.vertices == 2 and done.proof.sound_mm > 1.0, "the proof is of what the repair meant"
    assert done.subject.skin.weight.tolist() == skin.read_object(obj).skin.weight.tolist()


def connected(folder: Path) -> Path:
    """A file with a connected bone that has location keys; its armature is linked from another file."""
    rig = build.make_rig("Rig", ("A",))
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones.new("B")
    bone.head, bone.tail, bone.parent, bone.use_connect = (0, 0, 1), (0, 0, 2), rig.data.edit_bones["A"], True
    bpy.ops.object.mode_set(mode="OBJECT")
    scene.save_blend(folder / "library.blend", compress=False)
    scene.new_file()
    with bpy.data.libraries.load(str(folder / "library.blend"), link=True) as (_, into):
        into.armatures = ["Rig"]
    rig = bpy.data.objects.new("Rig", bpy.data.armatures["Rig"])
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.update()  # without a pose yet it cannot play an action: Blender would crash
    build.make_curve(build.make_fcurves("Walk", "Rig"), PATH, 0, (1.0, 11.0), (0.0, 0.5))
    build.assign(rig.animation_data_create(), bpy.data.actions["Walk"])
    scene.save_blend(folder / "connected.blend", compress=False)
    return folder / "connected.blend"


def test_what_blender_does_not_let_be_done_is_refused_and_not_applied(tmp_path: Path) -> None:
    path = connected(tmp_path)
    why = "“Rig” is linked: its bones stay connected"
    (done,) = api.fix_action(bpy.data.actions["Walk"], DISCONNECT)
    assert [(r.code, r.data_path, r.why) for r in done.refused] == [("QA308", PATH, why)] and done.applied == ()
    report = api.fix_file(path, DISCONNECT)
    assert report.status == "audited" and report.repair is not None, report.reason
    assert [(r.code, r.data_path, r.why) for r in report.repair.refused] == [("QA308", PATH, why)]
    assert report.repair.applied == [] and report.repair.proof.not_measured == ()
    scene.open_blend(tmp_path / "library.blend")
    build.make_curve(build.make_fcurves("Walk", "Rig"), PATH, 0, (1.0, 11.0), (0.0, 0.5))
    build.assign(bpy.data.objects["Rig"].animation_data_create(), bpy.data.actions["Walk"])
    (done,) = api.fix_action(bpy.data.actions["Walk"], DISCONNECT)
    assert [a.code for a in done.applied] == ["QA308"] and done.refused == ()
    assert not bpy.data.objects["Rig"].data.bones["B"].use_connect
