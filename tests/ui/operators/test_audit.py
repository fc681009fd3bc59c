# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit of keys run at once (EXEC), and what holds for every operator: when it is gray, and how it is described."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api, ui
from quat_audit.results.memory import RESULTS
from quat_audit.ui import auditing
from tests.blender import build_case as build
from tests.blender import skinned
from tests.ui import scenes
from tests.ui.drawing import draw_all
from tests.ui.scenes import state

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


# --- audit


def test_audit_says_what_it_found_and_changes_nothing(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    before = scenes.values(rig.animation_data.action)
    scenes.audit()
    assert said() == ["Info: Errors: 2, warnings: 0, notes: 0; the worst is 340°"]
    assert [(row.label, row.key.code, row.frame) for row in RESULTS.rows] == [
        ("Arm", "QA104", 11.0),
        ("Leg", "QA104", 11.0),
    ]
    assert len(state().rows) == 2 and state().active == 0
    assert scenes.values(rig.animation_data.action) == before


def test_an_audit_of_keys_leaves_meshes_alone(said) -> None:
    rig = scenes.broken_rig(["Arm"])
    mesh = skinned.make_mesh("Body", np.eye(3), rig, [{"Arm": 0.4}, {}, {"Gone": 1.0}])
    assert {f.code for f in api.audit_mesh(mesh)} == {"QA601", "QA602", "QA604"}
    scenes.audit("FILE")
    assert [(row.label, row.key.code) for row in RESULTS.rows] == [("Arm", "QA104")]
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"} and not RESULTS.rows
    assert [[g.weight for g in vertex.groups] for vertex in mesh.data.vertices] == [[pytest.approx(0.4)], [], [1.0]]


def test_audit_uses_the_choices_of_the_panel(said) -> None:
    scenes.broken_rig()
    state().scope, state().profile = "FILE", "FILM"
    assert ops.audit("EXEC_DEFAULT") == {"FINISHED"}
    assert (RESULTS.scope, RESULTS.profiles) == ("FILE", {"action": "FILM"})
    assert ops.audit("EXEC_DEFAULT", scope="OBJECT", profile="MOCAP") == {"FINISHED"}
    assert (RESULTS.scope, RESULTS.profiles) == ("OBJECT", {"action": "MOCAP"})
    assert state().scope == "FILE"


def test_scopes(said) -> None:
    first = scenes.broken_rig(["Arm"], "First", "Walk")
    scenes.broken_rig(["Leg"], "Second", "Run")
    spare = build.make_fcurves("Spare", "First")  # nobody plays it; it is made for First
    scenes.key(spare, "Arm", scenes.flipped())
    track = first.animation_data.nla_tracks.new()
    track.strips.new("Nod", 1, _action_of("Nod", "First", "Arm"))
    if build.LAYERED:
        strip = track.strips[0]
        strip.action_slot = strip.action.slots[0]

    def actions(scope: str) -> list[str]:
        scenes.audit(scope)
        return sorted({row.finding.action for row in RESULTS.rows})

    bpy.context.view_layer.objects.active = first
    assert actions("ACTIVE_ACTION") == ["Walk"]
    assert actions("OBJECT") == ["Nod", "Spare", "Walk"]
    assert actions("FILE") == ["Nod", "Run", "Spare", "Walk"]
    for obj in bpy.data.objects:
        obj.select_set(obj.name == "Second")
    assert actions("SELECTED") == ["Run"]


def _action_of(name: str, slot: str, bone: str):
    scenes.key(build.make_fcurves(name, slot), bone, scenes.flipped())
    return bpy.data.actions[name]


def test_a_mesh_means_the_armature_that_deforms_it() -> None:
    rig = scenes.broken_rig()
    mesh = bpy.data.objects.new("Body", bpy.data.meshes.new("Body"))
    bpy.context.scene.collection.objects.link(mesh)
    mesh.parent = rig
    mesh.modifiers.new("Armature", "ARMATURE").object = rig
    bpy.context.view_layer.objects.active = mesh
    scenes.audit()
    assert [row.label for row in RESULTS.rows] == ["Arm"]


def test_a_clean_file_is_called_clean(said) -> None:
    rig = build.make_rig("Rig", ["Arm"])
    scenes.key(build.make_fcurves("Walk", "Rig"), "Arm", np.abs(scenes.flipped()))
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    assert said() == ["Info: Nothing found in 16 keys"]
    assert "Clean: 16 keys" in draw_all().texts
    assert scenes.why_grey(ops.fix_safe) == "No finding has a safe fix"


# --- every operator


def test_without_findings_every_button_is_grey_and_says_so() -> None:
    scenes.broken_rig()
    for operator in (ops.fix_active, ops.fix_safe, ops.fix_checked, ops.ignore, ops.check_rows, ops.markers_add):
        assert scenes.why_grey(operator) == "There are no findings: audit first"
    for operator in (ops.export_report, ops.clear_results):
        assert scenes.why_grey(operator) == "There are no findings: audit first"
    for operator in (ops.go_to, ops.occurrence_step):
        assert scenes.why_grey(operator) == "No finding is chosen"


def test_clear_forgets_everything() -> None:
    scenes.broken_rig()
    scenes.audit()
    assert ops.clear_results() == {"FINISHED"}
    assert not RESULTS.audited and len(state().rows) == 0
    assert "error" not in draw_all().text


def test_while_an_audit_runs_nothing_else_does() -> None:
    scenes.broken_rig()
    scenes.audit()
    auditing.RUNNING.append(auditing.start(bpy.context, "FILE", "EVERYTHING"))
    try:
        for operator in (ops.audit, ops.fix_active, ops.fix_safe, ops.fix_checked, ops.go_to, ops.ignore):
            assert scenes.why_grey(operator) == "An audit is running; Esc stops it"
    finally:
        auditing.RUNNING.clear()


def test_every_operator_is_described_and_undoable_when_it_changes_data() -> None:
    classes = {c.bl_idname: c for m in ui.MODULES for c in m.CLASSES if issubclass(c, bpy.types.Operator)}
    assert {name.removeprefix("quat_audit.") for name in classes} == {n for n in dir(ops) if not n.startswith("__")}
    reads_only = {"audit", "audit_skin", "check_rows", "clear_results", "export_report", "help"}
    reads_only |= {"compare", "compare_last", "compare_off", "preview"}
    for identifier, cls in classes.items():
        if "INTERNAL" in cls.bl_options:
            continue
        name = identifier.removeprefix("quat_audit.")
        rna = getattr(ops, name).get_rna_type()
        assert rna.description and not rna.description.endswith("."), name
        assert ("UNDO" in cls.bl_options) is (name not in reads_only), name
        for option in rna.properties:
            if option.identifier not in ("rna_type", "filepath", "check_existing", "filter_glob"):
                assert option.name and option.description, (name, option.identifier)
