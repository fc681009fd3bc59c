# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit Skin and all that can be done with what it finds: fix, select, go to, ignore, follow, report."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api  # noqa: E402
from quat_audit.blender import ignore, playback, pose, posed_skin, skin  # noqa: E402
from quat_audit.finding import Text  # noqa: E402
from quat_audit.skinning.skin import influences  # noqa: E402
from quat_audit.ui import auditing, fix_operators, following, properties, skin_auditing  # noqa: E402
from quat_audit.ui.results import RESULTS  # noqa: E402
from quat_audit.ui.rows import MESH, Place  # noqa: E402
from tests.blender import skinned  # noqa: E402
from tests.ui import scenes, skins  # noqa: E402
from tests.ui.drawing import draw_all  # noqa: E402
from tests.ui.skins import audit, choose_finding, codes  # noqa: E402

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


def offending(body: Any, code: str) -> set[int]:
    """Which vertices have a fault, told from Blender's own data, vertex by vertex."""
    bones = {b.name for b in body.find_armature().data.bones if b.use_deform}
    names = [g.name for g in body.vertex_groups]
    found = set()
    for vertex in body.data.vertices:
        mine = [g.weight for g in vertex.groups if names[g.group] in bones]
        bad = any(not np.isfinite(w) for w in mine)
        if {
            "QA601": not bad and sum(mine) <= 1e-4,
            "QA602": not bad and sum(mine) > 1e-4 and abs(sum(mine) - 1) > 2e-3,
            "QA603": sum(w > 0 for w in mine) > 4,
            "QA604": any(names[g.group] == "Tail" and g.weight > 0 for g in vertex.groups),
            "QA608": bad,
        }[code]:
            found.add(vertex.index)
    assert found
    return found


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
    assert figures["QA601"] is figures["QA608"] is None
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
    kinds = [row.key.place.kind for row in RESULTS.rows]
    assert [row.key for row in RESULTS.rows if row.key.place.kind == MESH] == mesh_rows and "action" in kinds
    assert "340" not in str(RESULTS.summary((MESH,)).worst)
    worst = RESULTS.summary().worst["error"]
    assert set(worst) == {"°"} and worst["°"] > 180
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


# --- steps


def test_the_audit_in_steps_leaves_the_scene_as_it_was_after_each_of_them(faulty) -> None:
    body, rig = faulty
    scene, bone = bpy.context.scene, rig.pose.bones["Hips"]
    scene.frame_set(7, subframe=0.25)
    bone.location = (0.1, 0.2, 0.3)  # posed by hand, not keyed
    bpy.context.view_layer.update()
    shape = skinned.evaluated(body).copy()
    skin_read = skin.read_object(body)
    pairs, frames = [(body, rig)], playback.scene_frames(scene)
    at_once = pose.pose_many(pairs, frames)[0]
    steps = 0
    for done, motions in pose.pose_steps(pairs, frames, slice_seconds=0.0):
        steps += 1
        assert scene.frame_current_final == 7.25 and body.modifiers[0].show_viewport
        np.testing.assert_allclose(bone.location, (0.1, 0.2, 0.3), atol=1e-6)
        np.testing.assert_array_equal(skinned.evaluated(body), shape)
        assert (motions is not None) is (done == 1.0)
    assert steps == len(frames)
    np.testing.assert_array_equal(motions[0].deform, at_once.deform)
    np.testing.assert_array_equal(motions[0].to_world, at_once.to_world)
    assert skin.read_object(body).skin.weight.tobytes() == skin_read.skin.weight.tobytes()


def test_weights_read_in_steps_are_the_weights(faulty, monkeypatch) -> None:
    body, _ = faulty
    whole = skin.read_object(body).skin
    monkeypatch.setattr(skin, "AT_ONCE", 7)
    records = list(skin.read_object_steps(body))
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


# --- fixes


def test_fix_all_safe_repairs_in_place_and_says_the_proof(faulty, said) -> None:
    body, _ = faulty
    before = skins.weights(body)
    wrong = {code: offending(body, code) for code in ("QA601", "QA602", "QA603", "QA604", "QA608")}
    audit()
    said()
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
    count = len(wrong["QA602"] | wrong["QA608"])
    (line,) = said()
    assert f"Info: weights of {count} vertices repaired on 1 mesh" in line
    assert "vertices that were in order moved by 0.00" in line and " mm at most" in line
    assert codes() == ["QA601", "QA603", "QA604", "QA605"]
    after = skins.weights(body)
    assert {n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b} == wrong["QA602"] | wrong["QA608"]
    assert codes() == sorted({f.code for f in api.audit_mesh(body)})
    draw_all()


def test_an_unsafe_fix_of_one_finding_leaves_the_others(faulty, said) -> None:
    body, _ = faulty
    before, bare = skins.weights(body), offending(body, "QA601")
    audit()
    choose_finding("QA601")
    said()
    assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}
    (line,) = said()
    assert f"Info: {len(bare)} vertices given weights on 1 mesh" in line
    assert "vertices that were in order moved by 0.000 mm at most" in line
    after = skins.weights(body)
    assert {n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b} == bare
    assert codes() == ["QA602", "QA603", "QA604", "QA605", "QA608"]


def test_fix_selected_on_keys_and_meshes_at_once(faulty, said) -> None:
    _, rig = faulty
    for curve in scenes.build.fcurves_of(rig.animation_data.action):
        if curve.data_path == 'pose.bones["Thigh.L"].rotation_quaternion':
            curve.keyframe_points[2].co.y *= -1.0
    audit()
    skins.choose(rig)
    scenes.audit()
    RESULTS.checked = {row.key for row in RESULTS.rows if row.key.code in ("QA104", "QA603")}
    assert "keyed poses or move vertices" in fix_operators.confirmation(RESULTS.checked_rows())
    said()
    assert ops.fix_checked("EXEC_DEFAULT") == {"FINISHED"}
    (line,) = said()
    assert "key negated" in line and "cut to fewer influences on 1 mesh" in line
    assert not {"QA104", "QA603"} & {row.key.code for row in RESULTS.rows}


def test_locked_groups_keep_their_weights(faulty, said) -> None:
    body, _ = faulty
    for name in ("Foot.L", "Hips", "Arm.R"):
        body.vertex_groups[name].lock_weight = True
    before = skins.weights(body)
    audit()
    RESULTS.checked = {row.key for row in RESULTS.rows}
    ops.fix_checked("EXEC_DEFAULT")
    after = skins.weights(body)
    locked = {"Foot.L", "Hips", "Arm.R"}
    bare = {vertex for vertex, entries in enumerate(before) if not entries}
    for vertex, (old, new) in enumerate(zip(before, after, strict=True)):
        if vertex not in bare:  # those get all the weights of their neighbour
            assert [e for e in old if e[0] in locked] == [e for e in new if e[0] in locked], vertex


def test_two_objects_of_one_mesh_are_repaired_once(faulty, said) -> None:
    body, _ = faulty
    twin = body.copy()
    bpy.context.scene.collection.objects.link(twin)
    skins.choose(body, twin)
    audit()
    assert len({row.key.place for row in RESULTS.rows}) == 2
    said()
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
    assert not any(line.startswith(("Warning", "Error")) for line in said())
    assert codes() == ["QA601", "QA603", "QA604", "QA605"] and not RESULTS.any_outdated
    following.refresh_now()
    assert not RESULTS.any_outdated


# --- the state of the file


def test_changed_weights_are_noticed_and_brought_back(faulty) -> None:
    body, _ = faulty
    audit()
    group = body.vertex_groups["Spine"]
    number = next(v.index for v in body.data.vertices if any(g.group == group.index for g in v.groups))
    was = group.weight(number)
    group.add([number], was * 0.5, "REPLACE")
    following.look_again()
    following.refresh_now()
    assert RESULTS.any_outdated
    assert RESULTS.outdated(RESULTS.rows[0]) == "The mesh changed since the audit: audit again"
    assert "The file changed since the audit" in draw_all().text
    group.add([number], was, "REPLACE")
    following.look_again()
    following.refresh_now()
    assert not RESULTS.any_outdated


@pytest.mark.parametrize(
    "change",
    [
        lambda body: setattr(body.vertex_groups["Hips"], "lock_weight", True),
        lambda body: setattr(body.modifiers[0], "use_deform_preserve_volume", True),
        lambda body: setattr(body.vertex_groups["Hips"], "name", "Pelvis"),
        lambda body: body.modifiers.new("Second", "ARMATURE"),
        lambda body: body.modifiers.clear(),
    ],
)
def test_locks_groups_and_modifiers_are_part_of_the_state(faulty, change) -> None:
    body, _ = faulty
    audit()
    state = skin_auditing.state_of(body)
    assert state == RESULTS.shown(Place(body.session_uid, kind=MESH)).fingerprint == skin_auditing.state_of(body)
    change(body)
    assert skin_auditing.state_of(body) != state


def test_a_change_of_weights_tells_blender_and_us(faulty) -> None:
    body, rig = faulty
    audit()
    following._WATCH.uids = set()
    body.vertex_groups["Spine"].add([0], 0.5, "REPLACE")
    bpy.context.view_layer.update()
    assert following._WATCH.uids == {body.session_uid}
    following._WATCH.uids = set()
    rig.pose.bones["Spine"].rotation_quaternion = (0.9, 0.1, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert following._WATCH.uids == set()  # a pose is no change of weights
    body.modifiers[0].use_deform_preserve_volume = True
    bpy.context.view_layer.update()
    assert following._WATCH.uids == {body.session_uid}


def test_a_removed_mesh_is_noticed(faulty) -> None:
    body, _ = faulty
    audit()
    bpy.data.objects.remove(body)
    following.look_again()
    following.refresh_now()
    row = choose_finding("QA601")
    assert RESULTS.outdated(row) == "The mesh “Body” is no longer in this file"
    assert scenes.why_grey(ops.select_vertices) == "The mesh “Body” is no longer in this file"
    assert scenes.why_grey(ops.ignore) == "The mesh “Body” is no longer in this file"
    assert ops.fix_active("EXEC_DEFAULT") == {"CANCELLED"}
    draw_all()


def test_the_file_opened_again_has_its_findings(faulty, tmp_path: Path) -> None:
    path = str(tmp_path / "again.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    audit()
    shown = codes()
    bpy.ops.wm.open_mainfile(filepath=path)
    following.refresh_now()
    assert codes() == shown and not RESULTS.any_outdated
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"}


# --- select vertices


@pytest.mark.parametrize("code", ["QA601", "QA602", "QA603", "QA604", "QA608"])
def test_exactly_the_offending_vertices_are_selected(faulty, said, code: str) -> None:
    body, rig = faulty
    wanted = offending(body, code)
    audit()
    choose_finding(code)
    skins.choose(rig)
    bpy.ops.object.mode_set(mode="POSE")
    body.data.vertices.foreach_set("hide", [True] * len(body.data.vertices))
    said()
    assert ops.select_vertices("EXEC_DEFAULT") == {"FINISHED"}
    assert said() == [f"Info: Selected: {len(wanted)} vertices of Body"]
    assert bpy.context.mode == "EDIT_MESH" and bpy.context.view_layer.objects.active == body
    assert tuple(bpy.context.tool_settings.mesh_select_mode) == (True, False, False)
    assert skins.selected(body) == wanted
    assert ops.select_vertices("EXEC_DEFAULT") == {"FINISHED"}  # from edit mode, too
    assert skins.selected(body) == wanted
    following.look_again()
    following.refresh_now()
    assert not RESULTS.any_outdated
    assert scenes.why_grey(ops.fix_active) == "Leave Edit Mode: a fix could not be undone there"
    assert "the mesh is in Edit Mode" in draw_all().text or code == "QA604"


def test_the_vertices_of_a_joint(faulty) -> None:
    body, _ = faulty
    audit()
    row = choose_finding("QA605")
    assert row.label == row.finding.bone == "Forearm.L"
    assert ops.select_vertices("EXEC_DEFAULT", go_to_frame=True) == {"FINISHED"}
    assert bpy.context.scene.frame_current == row.finding.occurrences.frames[0, 0]
    names = [g.name for g in body.vertex_groups]
    shared = {
        v.index
        for v in body.data.vertices
        if {"Arm.L", "Forearm.L"} <= {names[g.group] for g in v.groups if g.weight > 1e-3}
    }
    assert skins.selected(body) == shared and shared


def _hidden(body: Any) -> None:
    body.hide_set(True)


def _disabled(body: Any) -> None:
    body.hide_viewport = True


def _excluded(body: Any) -> None:
    collection = bpy.data.collections.new("Away")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(body)
    bpy.context.scene.collection.objects.unlink(body)
    bpy.context.view_layer.layer_collection.children["Away"].exclude = True


def _unlinked(body: Any) -> None:
    bpy.context.scene.collection.objects.unlink(body)


def _another_vertex(body: Any) -> None:
    body.data.vertices.add(1)


@pytest.mark.parametrize(
    "change, why",
    [
        (_hidden, "“Body” is hidden: show it (Alt H)"),
        (_disabled, "“Body” is disabled in viewports, or its collection is hidden: show it"),
        (_excluded, "“Body” is not in this view layer: include its collection"),
        (_unlinked, "“Body” is not in this view layer: include its collection"),
        (_another_vertex, "vertices and had "),
    ],
)
def test_what_cannot_be_selected_says_why(faulty, said, change, why: str) -> None:
    body, _ = faulty
    audit()
    choose_finding("QA602")
    change(body)
    bpy.context.view_layer.update()
    mode = bpy.context.mode
    said()
    assert ops.select_vertices("EXEC_DEFAULT") == {"CANCELLED"}
    (line,) = said()
    assert line.startswith("Warning: ") and why in line and bpy.context.mode == mode
    assert ops.go_to("EXEC_DEFAULT") == {"FINISHED"}
    assert change is _another_vertex or why in said()[0]
    draw_all()


def test_findings_about_keys_have_no_vertices(panel) -> None:
    scenes.broken_rig()
    scenes.audit()
    assert scenes.why_grey(ops.select_vertices) == "This finding is about keys, not about vertices"
    RESULTS.clear()
    properties.sync(properties.state(bpy.context))
    assert scenes.why_grey(ops.select_vertices) == "No finding is chosen"


# --- go to


def test_go_to_a_joint(faulty, said) -> None:
    body, rig = faulty
    audit()
    row = choose_finding("QA605")
    bpy.context.scene.frame_set(1)
    assert ops.go_to("EXEC_DEFAULT") == {"FINISHED"}
    assert bpy.context.scene.frame_current == row.finding.occurrences.frames[0, 0] != 1
    assert bpy.context.view_layer.objects.active == rig and rig.mode == "POSE" and body.select_get()
    assert rig.data.bones.active.name == "Forearm.L"


def test_go_to_a_fault_of_every_frame_leaves_the_frame(faulty, said) -> None:
    body, rig = faulty
    audit()
    choose_finding("QA601")
    skins.choose(rig)
    bpy.context.scene.frame_set(9)
    said()
    assert ops.go_to("EXEC_DEFAULT") == {"FINISHED"}
    assert bpy.context.scene.frame_current == 9
    assert bpy.context.view_layer.objects.active == body and not rig.select_get()
    assert said()[0].startswith("Info: Body, vertex ")


# --- ignore


def test_an_ignored_finding_is_kept_with_the_mesh_and_respected_headless(faulty, said, tmp_path: Path) -> None:
    body, _ = faulty
    audit()
    choose_finding("QA602")
    properties.state(bpy.context).ignore_reason = "the engine normalises"
    assert ops.ignore("EXEC_DEFAULT") == {"FINISHED"}
    assert "QA602" not in codes() and [i.reason for _, i in RESULTS.ignored] == ["the engine normalises"]
    assert [i.code for i in ignore.list_ignores(body)] == ["QA602"] and not RESULTS.any_outdated
    assert json.loads(body[ignore.PROPERTY])["ignores"][0]["data_path"] == "vertex_groups"
    assert "QA602" not in {f.code for f in api.audit_mesh(body)}
    before = skins.weights(body)
    fixed = api.fix_mesh(body)
    assert [a.code for a in fixed.applied] == ["QA608"]
    after = skins.weights(body)
    changed = {n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b}
    assert changed == offending_bits(before)
    path = tmp_path / "ignored.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    report = api.audit_file(path)
    assert [(i.finding.code, i.reason) for i in report.ignored if i.finding.code == "QA602"] == [
        ("QA602", "the engine normalises")
    ]


def offending_bits(stored: list) -> set[int]:
    """Vertices with a weight that is no number."""
    return {
        vertex
        for vertex, entries in enumerate(stored)
        if any(np.isnan(np.frombuffer(bits, "<f4"))[0] for _, bits in entries)
    }


def test_ignored_for_one_joint_and_reported_again(faulty) -> None:
    body, _ = faulty
    audit()
    everything = [row.key for row in RESULTS.rows]
    choose_finding("QA605")
    assert ops.ignore("EXEC_DEFAULT", reason="") == {"FINISHED"}
    assert [i.data_path for i in ignore.list_ignores(body)] == ['vertex_groups["Forearm.L"]']
    assert ops.unignore("EXEC_DEFAULT") == {"FINISHED"}
    assert [row.key for row in RESULTS.rows] == everything and ignore.PROPERTY not in body
    following.look_again()
    following.refresh_now()
    assert not RESULTS.any_outdated


def test_an_unreadable_list_ignores_nothing_and_is_said(faulty) -> None:
    body, _ = faulty
    body[ignore.PROPERTY] = "{"
    audit()
    assert codes() == list(skins.CODES)
    assert any("so nothing is ignored" in why for _, why in RESULTS.not_evaluated(MESH))
    assert "so nothing is ignored" in draw_all().text


# --- the report


def test_the_report_has_the_findings_of_meshes(faulty, tmp_path: Path) -> None:
    audit()
    path = tmp_path / "report.json"
    assert ops.export_report("EXEC_DEFAULT", filepath=str(path), format="JSON") == {"FINISHED"}
    (row,) = json.loads(path.read_text())["files"]
    assert row["clips"] == [] and {f["code"] for f in row["findings"]} == set(skins.CODES)
    assert ops.markers_add("EXEC_DEFAULT", which="LISTED") == {"FINISHED"}


def test_influences_of_the_scene_are_what_the_test_says(faulty) -> None:
    """The oracle above counts as the house does: five influences on an arm."""
    body, _ = faulty
    read = posed_skin.read_posed_object(body).record.skin
    assert set(np.flatnonzero(influences(read).counts > 4)) == offending(body, "QA603")


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
