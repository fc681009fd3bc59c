# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit Skin: what it audits, finds, lists and reports, at once and in slices."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import playback, pose
from quat_audit.blender.skin import mesh as skin
from quat_audit.blender.skin import posed
from quat_audit.results.memory import RESULTS
from quat_audit.results.rows import MESH
from quat_audit.skinning.skin import influences
from quat_audit.text import Text
from quat_audit.ui import auditing, following, properties
from quat_audit.ui.skin import auditing as skin_auditing
from tests.blender import skinned
from tests.ui import scenes, skins
from tests.ui.drawing import draw_all
from tests.ui.skins import audit, codes

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


# --- the audit


def test_it_finds_what_the_command_line_finds_and_changes_nothing(faulty, said) -> None:
    body, _ = faulty
    before, frame = skins.weights(body), bpy.context.scene.frame_current_final
    audit()
    assert codes() == list(skins.CODES)
    headless = {(f.code, f.data_path, f.fix, tuple(f.occurrences.rows)) for f in api.audit_mesh(body)}
    shown = {(f.code, f.data_path, f.fix, tuple(f.occurrences.rows)) for f in (row.finding for row in RESULTS.rows)}
    assert shown == headless
    assert skins.weights(body) == before and bpy.context.scene.frame_current_final == frame
    (line,) = said()
    assert line.startswith("Info: Errors: 2, warnings: ") and "mm" in line and "%" in line and "°" not in line
    figures = {row.key.code: row.figure for row in RESULTS.rows}
    assert figures["QA602"].unit == figures["QA603"].unit == "mm" and figures["QA605"].unit == "%"
    assert figures["QA601"] is None and figures["QA608"].unit == "mm"
    panel = draw_all()
    assert "up to" in panel.text and "°" not in panel.text and "Body" in panel.texts


def test_what_is_audited(faulty) -> None:
    body, rig = faulty
    prop = bpy.data.objects["Prop"]
    skins.choose(rig)
    assert skin_auditing.meshes(bpy.context) == [body]
    skins.choose(rig, prop)
    assert skin_auditing.meshes(bpy.context) == [prop]  # what is selected goes before what is deformed
    skins.choose(body, rig)
    assert skin_auditing.meshes(bpy.context) == [body]
    body.select_set(False)
    rig.select_set(False)
    assert skin_auditing.meshes(bpy.context) == [body]  # the active one


def test_without_a_mesh_the_button_says_what_to_do(said) -> None:
    assert scenes.why_grey(ops.audit_skin) == "Select a mesh, or the armature that deforms it"
    rig = scenes.broken_rig()
    skins.choose(rig)
    assert scenes.why_grey(ops.audit_skin) == "“Rig” deforms no mesh of this view layer: select a mesh"
    assert "deforms no mesh" in draw_all().text


def test_each_audit_replaces_the_findings_of_its_own_kind(faulty) -> None:
    body, rig = faulty
    example = rig.animation_data.action
    for curve in scenes.build.fcurves_of(example):
        if curve.data_path == 'pose.bones["Thigh.L"].rotation_quaternion':
            curve.keyframe_points[2].co.y *= -1.0
    audit()
    mesh_rows = [row.key for row in RESULTS.rows]
    skins.choose(rig)
    scenes.audit()
    kinds = [row.key.address.kind for row in RESULTS.rows]
    assert [row.key for row in RESULTS.rows if row.key.address.kind == MESH] == mesh_rows and "action" in kinds
    assert "340" not in str(RESULTS.summary((MESH,)).worst)
    worst = RESULTS.summary().worst["error"]
    assert set(worst) == {"°", "mm"} and worst["°"] > 180
    count = len(RESULTS.rows)
    skins.choose(body)
    audit()
    assert len(RESULTS.rows) == count
    assert RESULTS.profiles == {"action": "EVERYTHING", "mesh": "EVERYTHING"}
    draw_all()


def test_clean_says_so(panel, tmp_path: Path, said) -> None:
    body, _ = skins.sound(tmp_path / "sound.blend")
    audit()
    count = len(body.data.vertices)
    assert said()[-1] == f"Info: Nothing found in {count} vertices of 1 mesh"
    assert f"Clean: {count} vertices of 1 mesh" in draw_all().texts


def test_sort_search_and_filters(faulty) -> None:
    audit()
    choices = properties.state(bpy.context)
    choices.sort = "FIGURE"
    shown = [row.figure for row in RESULTS.shown_rows(properties.filters(choices))]
    units = [f.unit if f is not None else "" for f in shown]
    assert units == sorted(units, key=["mm", "%", ""].index)
    for unit in ("mm", "%"):
        values = [f.value for f in shown if f is not None and f.unit == unit]
        assert values == sorted(values, reverse=True)
    choices.search = "body tail"
    assert [row.key.code for row in RESULTS.shown_rows(properties.filters(choices))] == ["QA604"]


def test_influences_of_the_scene_are_what_the_test_says(faulty) -> None:
    """`skins.offending` counts as the house does: five influences on an arm."""
    body, _ = faulty
    read = posed.read_posed_object(body).record.skin
    assert set(np.flatnonzero(influences(read).counts > 4)) == skins.offending(body, "QA603")


# --- slices


def test_the_audit_in_slices_leaves_the_scene_as_it_was_after_each_of_them(faulty) -> None:
    body, rig = faulty
    scene, bone = bpy.context.scene, rig.pose.bones["Hips"]
    scene.frame_set(7, subframe=0.25)
    bone.location = (0.1, 0.2, 0.3)  # posed by hand, not keyed
    bpy.context.view_layer.update()
    shape = skinned.evaluated(body).copy()
    skin_read = skin.read_object(body)
    pairs, frames = [(body, rig)], playback.frames_of(playback.scene_range(scene))
    at_once = pose.pose_many(pairs, frames)[0]
    slices = 0
    for done, motions in pose.pose_slices(pairs, frames, slice_seconds=0.0):
        slices += 1
        assert scene.frame_current_final == 7.25 and body.modifiers[0].show_viewport
        np.testing.assert_allclose(bone.location, (0.1, 0.2, 0.3), atol=1e-6)
        np.testing.assert_array_equal(skinned.evaluated(body), shape)
        assert (motions is not None) is (done == 1.0)
    assert slices == len(frames)
    np.testing.assert_array_equal(motions[0].deform, at_once.deform)
    np.testing.assert_array_equal(motions[0].to_world, at_once.to_world)
    assert skin.read_object(body).skin.weight.tobytes() == skin_read.skin.weight.tobytes()


def test_weights_read_in_slices_are_the_weights(faulty, monkeypatch) -> None:
    body, _ = faulty
    whole = skin.read_object(body).skin
    monkeypatch.setattr(skin, "AT_ONCE", 7)
    records = list(skin.read_object_slices(body))
    assert len(records) == -(-len(whole) // 7) + 1 and records[:-1] == [None] * (len(records) - 1)
    part = records[-1].skin
    for name in ("offsets", "group", "weight"):
        assert getattr(part, name).tobytes() == getattr(whole, name).tobytes()


def test_an_audit_that_is_stopped_leaves_everything(faulty) -> None:
    body, _ = faulty
    audit()
    rows, frame = RESULTS.rows, bpy.context.scene.frame_current
    before = skins.weights(body)
    job = skin_auditing.start(bpy.context, "EVERYTHING")
    while job.running and job.fraction < 0.4:
        job.run(0.0)
    assert job.running
    job.abort(Text("stop"))
    assert not job.running and job.why_aborted == "stop"
    assert RESULTS.rows == rows and bpy.context.scene.frame_current == frame
    assert skins.weights(body) == before and all(m.show_viewport for m in body.modifiers)


def test_undo_stops_an_audit_of_meshes(faulty) -> None:
    job = skin_auditing.start(bpy.context, "EVERYTHING")
    auditing.RUNNING.append(job)
    try:
        job.run(0.0)
        assert scenes.why_grey(ops.audit_skin) == "An audit is running; Esc stops it"
        following._undo_pre(SimpleNamespace())
        assert job.why_aborted == "Undo or redo stopped the audit"
    finally:
        auditing.RUNNING.clear()


# --- the report


def test_the_report_has_the_findings_of_meshes(faulty, tmp_path: Path) -> None:
    audit()
    path = tmp_path / "report.json"
    assert ops.export_report("EXEC_DEFAULT", filepath=str(path), format="JSON") == {"FINISHED"}
    (row,) = json.loads(path.read_text(encoding="utf-8"))["files"]
    assert row["clips"] == [] and {f["code"] for f in row["findings"]} == set(skins.CODES)
    assert ops.markers_add("EXEC_DEFAULT", which="LISTED") == {"FINISHED"}
