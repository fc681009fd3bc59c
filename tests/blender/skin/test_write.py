# SPDX-License-Identifier: GPL-3.0-or-later
"""Weights written back: what a repair changed and nothing else; whole files; the Python API."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.audit.profiles import MOCAP, profile_settings
from quat_audit.blender import pose
from quat_audit.blender.skin import mesh as skin
from quat_audit.errors import SkinError
from quat_audit.skinning import weights
from tests.blender import skinned
from tests.blender.skinned import animate, make_tube
from tests.judging import repair_skin


def stored(obj: Any) -> list[dict[str, float]]:
    names = [g.name for g in obj.vertex_groups]
    return [{names[g.group]: g.weight for g in v.groups} for v in obj.data.vertices]


def test_only_what_a_repair_changed_is_written() -> None:
    obj, _ = skinned.random_rig(3)
    record = skin.read_object(obj)
    before = stored(obj)
    chosen = weights.counts(record.skin) > 3
    edited = weights.cut(record.skin, 3, vertices=chosen)
    assert skin.write_weights(record, edited) == chosen.sum() > 20
    after = stored(obj)
    for vertex, (old, new) in enumerate(zip(before, after, strict=True)):
        if not chosen[vertex]:
            assert old == new
            continue
        deforming = {g: w for g, w in old.items() if g != "No bone"}
        kept = sorted(deforming, key=lambda g: -deforming[g])[:3]
        total = sum(deforming[g] for g in kept)
        assert new == pytest.approx(
            {g: deforming[g] / total for g in kept} | {g: w for g, w in old.items() if g == "No bone"}
        )
    again = skin.read_object(obj)
    assert skin.write_weights(again, again.skin) == 0


def test_what_must_not_be_written_says_so() -> None:
    obj, _ = skinned.random_rig(4)
    record = skin.read_object(obj)
    edited = weights.cut(record.skin, 1)
    linked = replace(record, skin=replace(record.skin, read_only="the mesh is linked from another file"))
    with pytest.raises(SkinError, match="linked from another file"):
        skin.write_weights(linked, edited)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(SkinError, match="is in edit mode"):
        skin.write_weights(record, edited)
    bpy.ops.object.mode_set(mode="OBJECT")
    obj.vertex_groups.new(name="New")
    with pytest.raises(SkinError, match="has changed since it was read"):
        skin.write_weights(record, edited)
    bpy.data.objects.remove(obj)
    with pytest.raises(SkinError, match="no longer in this file"):
        skin.write_weights(record, edited)


def test_a_linked_mesh_is_read_and_reported_as_such(tmp_path: Path) -> None:
    skinned.random_rig(5)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, here):
        here.objects = ["Mesh", "Rig"]
    for obj in here.objects:
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.update()
    record = skin.read_object(bpy.data.objects["Mesh"])
    assert "linked from another file" in record.skin.read_only
    motion = pose.pose_matrices(bpy.data.objects["Mesh"], bpy.data.objects["Rig"], [1.0, 2.0])
    assert len(motion) == 2 and bpy.data.objects["Mesh"].modifiers[0].show_viewport
    repair = repair_skin(record.skin, motion, unsafe=True)
    assert repair.subject.skin is record.skin and {r.why for r in repair.refused} == {record.skin.read_only}


def test_a_file_is_audited_and_repaired_with_its_weights(tmp_path: Path) -> None:
    obj, rig = make_tube()
    animate(rig, 140.0)
    obj.vertex_groups["Bone0"].add([3], 0.4, "REPLACE")
    for group in obj.vertex_groups:
        group.remove([250])
    path = tmp_path / "tube.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    report = api.audit_file(path)
    assert report.status == "audited", report.reason
    skins = {f.code: f for f in report.findings if f.code.startswith("QA6")}
    assert set(skins) == {"QA601", "QA602", "QA605"}
    assert list(skins["QA601"].occurrences.rows) == [250] and list(skins["QA602"].occurrences.rows) == [3]
    assert skins["QA605"].bone == "Bone1" and skins["QA605"].occurrences.frames[0, 0] == 21.0
    assert skins["QA605"].action == "Twist"
    capped = api.audit_file(path, api.Settings(caps={"QA605": "note"}))
    assert [(f.code, f.severity) for f in capped.findings if f.code == "QA605"] == [("QA605", "note")]
    assert not [f for f in api.audit_file(path, profile_settings(MOCAP)).findings if f.code.startswith("QA6")]
    fixed = api.fix_file(path, output=tmp_path / "fixed.blend")
    assert fixed.status == "audited" and fixed.repair is not None and fixed.after is not None, fixed.reason
    assert [(a.code, a.tracks, a.keys_changed) for a in fixed.repair.applied if a.code == "QA602"] == [("QA602", 1, 1)]
    assert fixed.repair.skin_proof.vertices == 1 and fixed.repair.skin_proof.sound_mm < 1e-2
    assert {f.code for f in fixed.after.findings if f.code.startswith("QA6")} == {"QA601", "QA605"}
    everything = api.fix_file(path, api.Settings(unsafe=True), output=tmp_path / "all.blend")
    assert everything.after is not None
    assert {f.code for f in everything.after.findings if f.code.startswith("QA6")} == {"QA605"}


def test_the_api_repairs_a_mesh_where_it_is() -> None:
    obj, rig = make_tube()
    animate(rig, 140.0)
    obj.vertex_groups["Bone0"].add([3], 0.4, "REPLACE")
    found = {f.code: f for f in api.audit_mesh(obj)}
    assert set(found) == {"QA602", "QA605"} and found["QA605"].occurrences.frames[0, 0] == 21.0
    repair = api.fix_mesh(obj, frames=[1.0, 21.0])
    assert [a.code for a in repair.applied] == ["QA602"]
    assert stored(obj)[3] == {"Bone0": 1.0, "Bone1": 0.0}
    assert [f.code for f in api.audit_mesh(obj)] == ["QA605"]
    with pytest.raises(SkinError, match="no mesh"):
        api.audit_mesh(rig)
