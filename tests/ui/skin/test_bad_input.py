# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that cannot be audited, or not repaired, and what the panel says about each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.results.memory import RESULTS
from quat_audit.ui import properties
from quat_audit.ui.operators import fix
from tests.ui import scenes, skins
from tests.ui.drawing import draw_all
from tests.ui.skins import audit, choose_finding, codes

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


def _no_modifier(body: Any, rig: Any) -> None:
    body.modifiers.clear()
    body.parent = None


def _no_armature(body: Any, rig: Any) -> None:
    body.modifiers[0].object = None


def _bound_to_nothing(body: Any, rig: Any) -> None:
    body.modifiers[0].use_vertex_groups = body.modifiers[0].use_bone_envelopes = False


def _no_vertices(body: Any, rig: Any) -> None:
    body.data.clear_geometry()


def _scaled_to_nothing(body: Any, rig: Any) -> None:
    body.scale = (1.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "change, why",
    [
        (_no_modifier, "Body has no Armature modifier: nothing to measure"),
        (_no_armature, "Body: its Armature modifier names no armature: choose one in the modifier"),
        (_bound_to_nothing, "bound to neither vertex groups nor envelopes: switch one on"),
        (_no_vertices, "Body has no vertices"),
        (_scaled_to_nothing, "Body or Rig is scaled to nothing: give it a scale, or choose other frames"),
    ],
)
def test_a_mesh_that_cannot_be_audited_says_why_and_the_findings_stay(faulty, said, change, why: str) -> None:
    body, rig = faulty
    audit()
    rows = RESULTS.rows
    change(body, rig)
    bpy.context.view_layer.update()
    said()
    assert ops.audit_skin("EXEC_DEFAULT") == {"CANCELLED"}
    (line,) = said()
    assert line.startswith("Warning: ") and why in line
    assert RESULTS.rows == rows
    draw_all()


def test_of_two_meshes_the_one_that_can_be_audited_is(faulty, said) -> None:
    body, _ = faulty
    skins.choose(body, bpy.data.objects["Prop"])
    said()
    audit()
    warning, info = said()
    assert warning == "Warning: Prop has no Armature modifier: nothing to measure" and info.startswith("Info: Errors")
    assert codes() == list(skins.CODES)
    assert "Prop has no Armature modifier" in draw_all().text


def test_groups_without_bones(faulty) -> None:
    body, _ = faulty
    for group in body.vertex_groups:
        group.name = f"Old {group.name}"
    audit()
    assert codes() == ["QA601", "QA604"]
    (row,) = [row for row in RESULTS.rows if row.key.code == "QA601"]
    assert "bound to nothing" in row.finding.message and not row.fixable


def test_weights_of_zero_and_no_numbers(faulty) -> None:
    body, _ = faulty
    for vertex in body.data.vertices:
        for entry in vertex.groups:
            body.vertex_groups[entry.group].add([vertex.index], 0.0 if vertex.index % 2 else float("nan"), "REPLACE")
    audit()
    assert {"QA601", "QA608"} <= set(codes()) and all(
        not row.fixable for row in RESULTS.rows if row.key.code == "QA608"
    )
    draw_all()


def test_a_mirrored_object(faulty) -> None:
    body, rig = faulty
    rig.scale = (-1.0, 1.0, 1.0)
    body.scale = (1.0, -2.0, 1.0)
    bpy.context.view_layer.update()
    audit()
    assert {"QA601", "QA602", "QA608"} <= set(codes())
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
    assert not {"QA602", "QA608"} & set(codes())


def test_an_armature_in_edit_mode_measures_weights_alone(faulty, said) -> None:
    _, rig = faulty
    skins.choose(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    audit()
    assert codes() == ["QA601", "QA602", "QA603", "QA604", "QA608"]
    assert "Rig is in edit mode, where it deforms nothing: leave edit mode" in draw_all().text
    assert scenes.why_grey(ops.fix_safe) == "Leave Edit Mode: a fix could not be undone there"
    bpy.ops.object.mode_set(mode="OBJECT")


def test_a_mesh_in_edit_mode_is_audited_and_not_written(faulty, said) -> None:
    body, _ = faulty
    twin = body.copy()
    twin.data = body.data
    bpy.context.scene.collection.objects.link(twin)
    skins.choose(body)
    bpy.ops.object.mode_set(mode="EDIT")
    audit()
    assert codes() == list(skins.CODES)
    assert "the mesh is in edit mode: weights are those from before" in draw_all().text
    choose_finding("QA602")
    assert fix.why_not_row(properties.chosen_row(bpy.context)) == (
        "Cannot be fixed: the mesh is in Edit Mode: leave it"
    )
    assert "Cannot be fixed: the mesh is in Edit Mode: leave it" in draw_all().text


@pytest.mark.parametrize(
    "change, why",
    [
        (
            lambda body, rig: body.modifiers.new("Two", "ARMATURE").__setattr__("object", rig),
            "several Armature modifiers",
        ),
        (lambda body, rig: _move_key(body), "shape keys are not included"),
    ],
)
def test_deformation_that_is_not_computed_is_not_judged(faulty, change, why: str) -> None:
    body, rig = faulty
    change(body, rig)
    bpy.context.view_layer.update()
    audit()
    assert codes() == ["QA601", "QA602", "QA603", "QA604", "QA608"]
    assert why in draw_all().text and "is not measured, for the reasons given" in draw_all().text


def _move_key(body: Any) -> None:
    body.shape_key_add(name="Basis")
    body.shape_key_add(name="Smile").value = 0.5


def test_a_linked_mesh_is_audited_and_says_why_it_has_no_fix(faulty, said, tmp_path: Path) -> None:
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (_, here):
        here.objects = ["Body", "Rig"]
    for obj in here.objects:
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.scene.frame_end = 49
    body = bpy.data.objects["Body"]
    skins.choose(body)
    audit()
    row = choose_finding("QA602")
    assert row.locked == "the object is linked from another file" and not row.fixable
    assert not RESULTS.summary().safe
    assert scenes.why_grey(ops.fix_active) == "Cannot be fixed: the object is linked from another file"
    assert scenes.why_grey(ops.ignore) == "The mesh object is linked: ignore the finding in the file that it comes from"
    said()
    assert ops.select_vertices("EXEC_DEFAULT") == {"CANCELLED"}
    assert "“Body” is linked: its vertices can only be selected in the file that it comes from" in said()[0]
    assert ops.go_to("EXEC_DEFAULT") == {"FINISHED"}
    headless = {f.code: f for f in api.audit_mesh(body)}
    assert headless["QA602"].fix == "none" and headless["QA602"].message.endswith("linked from another file)")
    assert not headless["QA605"].message.endswith("linked from another file)")
    draw_all()
