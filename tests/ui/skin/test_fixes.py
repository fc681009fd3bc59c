# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit Skin's findings repaired or ignored: what changes, what is said, and what the command line makes of it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import ignore
from quat_audit.results.memory import RESULTS
from quat_audit.results.rows import MESH
from quat_audit.ui import following, properties
from quat_audit.ui.operators import fix
from tests.ui import scenes, skins
from tests.ui.drawing import draw_all
from tests.ui.skins import audit, choose_finding, codes, offending

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


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
    assert f"Info: {count} vertices with repaired weights on 1 mesh" in line
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
    assert "keyed poses or move vertices" in fix.confirmation(RESULTS.checked_rows())
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
    assert len({row.key.address for row in RESULTS.rows}) == 2
    said()
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
    assert [line for line in said() if line.startswith(("Warning", "Error"))] == []
    assert codes() == ["QA601", "QA603", "QA604", "QA605"] and not RESULTS.any_outdated
    following.refresh_now()
    assert not RESULTS.any_outdated


# --- ignore


def test_an_ignored_finding_is_kept_with_the_mesh_and_respected_headless(faulty, said, tmp_path: Path) -> None:
    body, _ = faulty
    audit()
    choose_finding("QA602")
    properties.state(bpy.context).ignore_reason = "the engine normalizes"
    assert ops.ignore("EXEC_DEFAULT") == {"FINISHED"}
    assert "QA602" not in codes() and [i.reason for _, i in RESULTS.ignored] == ["the engine normalizes"]
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
        ("QA602", "the engine normalizes")
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
    scenes.refresh()
    assert not RESULTS.any_outdated


def test_an_unreadable_list_ignores_nothing_and_is_said(faulty) -> None:
    body, _ = faulty
    body[ignore.PROPERTY] = "{"
    audit()
    assert codes() == list(skins.CODES)
    assert any("so nothing is ignored" in why for _, why in RESULTS.not_evaluated(MESH))
    assert "so nothing is ignored" in draw_all().text
