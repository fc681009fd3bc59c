# SPDX-License-Identifier: GPL-3.0-or-later
"""From a finding of Audit Skin to its vertices, its joint and its frame."""

from __future__ import annotations

from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.results.memory import RESULTS
from quat_audit.ui import properties
from tests.ui import scenes, skins
from tests.ui.drawing import draw_all
from tests.ui.skins import audit, choose_finding, offending

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


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
    scenes.refresh()
    assert not RESULTS.any_outdated
    assert scenes.why_grey(ops.fix_active) == "Leave Edit Mode: a fix could not be undone there"
    assert "the mesh is in Edit Mode" in draw_all().text


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
    (line,) = said()
    # The mesh can still be gone to, where only its vertices are others.
    shown = change is _another_vertex
    assert line.startswith("Info: Body, vertex " if shown else "Warning: vertex ") and (why in line) != shown
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
