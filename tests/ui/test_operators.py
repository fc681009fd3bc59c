# SPDX-License-Identifier: GPL-3.0-or-later
"""Every operator run at once (EXEC): what it changes, what it says, and why it is grey."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")
mathutils = pytest.importorskip("mathutils")

from quat_audit import api, reports, ui  # noqa: E402
from quat_audit.blender import compat, ignore, read  # noqa: E402
from quat_audit.ui import auditing, properties, report_operators  # noqa: E402
from quat_audit.ui.results import RESULTS  # noqa: E402
from tests.blender import build_case as build  # noqa: E402
from tests.blender import skinned  # noqa: E402
from tests.ui import scenes  # noqa: E402
from tests.ui.drawing import draw_all  # noqa: E402

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


def state():
    return properties.state(bpy.context)


def choose(label: str, code: str = "QA104") -> None:
    (number,) = [n for n, row in enumerate(RESULTS.rows) if (row.label, row.key.code) == (label, code)]
    state().active = number


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


# --- fix


def test_fix_safe_negates_what_is_wrong_and_says_the_proof(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    action = rig.animation_data.action
    before = scenes.values(action)
    scenes.audit()
    said()
    assert ops.fix_safe() == {"FINISHED"}
    (line,) = said()
    assert line == (
        "Info: 2 keys negated on 2 bones; keyed poses changed by 0.000°; worst in-between was 340.0°, now 20.0°"
    )
    after = scenes.values(action)
    flipped = {(path, component): [*v[:2], -v[2], v[3]] for (path, component), v in before.items()}
    assert after == flipped
    assert RESULTS.rows == [] and len(state().rows) == 0
    assert "2 keys negated on 2 bones" in draw_all().text


def test_the_proof_knows_which_keys_a_repair_added(said) -> None:
    """A component without its key in the middle: the keys after the new one are still the ones they were."""
    rig = build.make_rig("Rig", ("Arm",))
    fcurves = build.make_fcurves("Walk", "Rig")
    path = 'pose.bones["Arm"].rotation_quaternion'
    p = np.linspace(0.0, 4.0, 9)
    quaternions = [mathutils.Euler((0.4 * np.sin(2 * t), 0.0, 0.5 * np.cos(2 * t))).to_quaternion() for t in p]
    for index in range(4):
        step = 2 if index == 3 else 1
        frames, values = 1.0 + 6.0 * np.arange(9), [q[index] for q in quaternions]
        build.make_curve(fcurves, path, index, frames[::step], values[::step])
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    assert bpy.ops.quat_audit.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
    assert {len(c.keyframe_points) for c in build.fcurves_of(bpy.data.actions["Walk"])} == {9}
    assert "keyed poses changed by 0.000°" in said()[-1]


def test_fix_this_leaves_the_other_bones_alone(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    action = rig.animation_data.action
    before = scenes.values(action)
    scenes.audit()
    choose("Leg")
    assert ops.fix_active() == {"FINISHED"}
    changed = {path for (path, component), v in scenes.values(action).items() if v != before[path, component]}
    assert changed == {'pose.bones["Leg"].rotation_quaternion'}
    assert [row.label for row in RESULTS.rows] == ["Arm"]


def test_fix_selected_takes_the_checked_ones_unsafe_included(said) -> None:
    rig = build.make_rig("Rig", ["Arm", "Leg", "Toe"])
    fcurves = build.make_fcurves("Walk", "Rig")
    wide = np.array([scenes.turned(0), scenes.turned(150), scenes.turned(150), scenes.turned(150)])
    for bone in ("Arm", "Toe"):
        scenes.key(fcurves, bone, wide * [[1], [-1], [-1], [-1]])  # 210° where 150° suffice: may be meant
    scenes.key(fcurves, "Leg", scenes.flipped())
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    fixes = {row.label: row.finding.fix for row in RESULTS.rows if row.key.code == "QA104"}
    assert fixes == {"Arm": "unsafe", "Leg": "safe", "Toe": "unsafe"}
    before = scenes.values(bpy.data.actions["Walk"])
    assert scenes.why_grey(ops.fix_checked) == "Check some findings in the list first"
    for item, row in zip(state().rows, RESULTS.rows, strict=True):
        item.checked = row.label in ("Arm", "Leg") and row.key.code == "QA104"
    said()
    assert ops.fix_checked() == {"FINISHED"}
    assert any(line.startswith("Info: ") and "keys negated on 2 bones" in line for line in said())
    after = scenes.values(bpy.data.actions["Walk"])
    assert {path.split('"')[1] for (path, c), v in after.items() if v != before[path, c]} == {"Arm", "Leg"}


def test_an_unsafe_finding_is_not_among_all_safe() -> None:
    rig = build.make_rig("Rig", ["Arm"])
    wide = np.array([scenes.turned(0), scenes.turned(150), scenes.turned(150), scenes.turned(150)])
    scenes.key(build.make_fcurves("Walk", "Rig"), "Arm", wide * [[1], [-1], [-1], [-1]])
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    assert scenes.why_grey(ops.fix_safe) == "No finding has a safe fix"
    choose("Arm")
    assert "Unsafe fix: keyed poses may change" in draw_all().texts
    assert ops.fix_active() == {"FINISHED"}


def test_what_cannot_be_fixed_says_why() -> None:
    rig = build.make_rig("Rig", ["Arm"])
    half_turn = np.array([scenes.turned(0), scenes.turned(180), scenes.turned(180), scenes.turned(180)])
    path = scenes.key(build.make_fcurves("Walk", "Rig"), "Arm", half_turn)
    rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    none = [n for n, row in enumerate(RESULTS.rows) if row.finding.fix == "none"]
    for number in none:
        state().active = number
        assert scenes.why_grey(ops.fix_active) == "There is no automatic fix for this finding"
    for curve in build.fcurves_of(bpy.data.actions["Walk"]):
        curve.lock = curve.data_path == path
    scenes.audit()
    assert RESULTS.rows
    assert scenes.why_grey(ops.fix_active) == "Cannot be fixed: the curve is locked"
    assert "Cannot be fixed: the curve is locked" in draw_all().text


def test_checking_follows_the_filter() -> None:
    scenes.broken_rig(["Arm", "Leg", "Toe"])
    scenes.audit()
    state().search = "leg"
    ops.check_rows(action="ALL")
    assert {key.data_path for key in RESULTS.checked} == {'pose.bones["Leg"].rotation_quaternion'}
    assert [item.checked for item in state().rows] == [row.label == "Leg" for row in RESULTS.rows]
    state().search = ""
    ops.check_rows(action="INVERT")
    assert {row.label for row in RESULTS.checked_rows()} == {"Arm", "Toe"}
    ops.check_rows(action="NONE")
    assert RESULTS.checked == set()


# --- go to


def test_go_to_sets_frame_bone_and_keys(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    choose("Leg")
    said()
    assert ops.go_to() == {"FINISHED"}
    assert said() == ["Info: Leg, frames 11→21: swings 340.0° where 20.0° suffices"]
    assert bpy.context.scene.frame_current == 11
    assert (rig.mode, rig.data.bones.active.name) == ("POSE", "Leg")
    assert [compat.is_selected(bone) for bone in rig.pose.bones] == [False, True]
    for curve in build.fcurves_of(rig.animation_data.action):
        mine = "Leg" in curve.data_path
        assert curve.select is mine
        assert [k.select_control_point for k in curve.keyframe_points] == [False, mine, mine, False]
    assert not RESULTS.any_outdated


def test_next_and_previous_go_round(said) -> None:
    scenes.broken_rig()
    scenes.audit()
    assert len(RESULTS.rows[0].finding.occurrences) == 2
    seen = []
    for direction in ("NEXT", "NEXT", "PREVIOUS", "PREVIOUS", "PREVIOUS"):
        assert ops.occurrence_step(direction=direction) == {"FINISHED"}
        seen.append(bpy.context.scene.frame_current)
    assert seen == [21, 11, 21, 11, 21]


def test_go_to_makes_the_user_active_that_plays_the_action() -> None:
    first = scenes.broken_rig(["Arm"], "First", "Walk")
    second = scenes.broken_rig(["Leg"], "Second", "Run")
    scenes.audit("FILE")
    choose("Arm")
    bpy.context.view_layer.objects.active = second
    ops.go_to()
    assert bpy.context.view_layer.objects.active == first and first.select_get() and not second.select_get()


def test_looking_does_not_outdate(said) -> None:
    """Going somewhere changes the frame, the selection and the pose that is stored: the findings stay true."""
    scenes.broken_rig()
    scenes.audit()
    ops.go_to()
    ops.occurrence_step()
    from quat_audit.ui import following

    following.look_again()
    following.refresh_now()
    assert not RESULTS.any_outdated


# --- markers


def test_markers_are_added_once_and_removed_alone() -> None:
    scenes.broken_rig()
    markers = bpy.context.scene.timeline_markers
    markers.new("mine", frame=3)
    scenes.audit()
    assert scenes.why_grey(ops.markers_remove) == "There are no markers of findings"
    assert ops.markers_add() == {"FINISHED"}
    assert sorted((m.frame, m.name) for m in markers) == [(3, "mine"), (11, "QA104 Arm"), (21, "QA104 Arm")]
    assert ops.markers_add() == {"CANCELLED"}
    assert ops.markers_remove() == {"FINISHED"}
    assert [(m.frame, m.name) for m in markers] == [(3, "mine")]


# --- ignore


def test_ignore_is_kept_in_the_action_and_taken_back(said, tmp_path: Path) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    action = rig.animation_data.action
    scenes.audit()
    choose("Arm")
    state().ignore_reason = " a cartwheel "
    assert ops.ignore() == {"FINISHED"}
    (kept,) = ignore.list_ignores(action)
    assert (kept.code, kept.data_path, kept.reason) == ("QA104", 'pose.bones["Arm"].rotation_quaternion', "a cartwheel")
    assert [row.label for row in RESULTS.rows] == ["Leg"] and state().ignore_reason == ""
    drawn = draw_all().text
    assert "1 ignored" in drawn and "a cartwheel" in drawn and "QA104 Arm" in drawn
    assert ops.fix_safe() == {"FINISHED"}
    assert [v[2] < 0 for (p, c), v in scenes.values(action).items() if "Arm" in p and c == 0] == [True]
    # Respected by who reads the file, and still there after a new audit.
    (record,) = read.read_action(action)
    assert record.clip.ignores == (kept,)
    scenes.audit()
    assert RESULTS.rows == [] and len(RESULTS.ignored) == 1
    assert ops.unignore(number=0) == {"FINISHED"}
    assert ignore.list_ignores(action) == () and [row.label for row in RESULTS.rows] == ["Arm"]
    assert scenes.why_grey(ops.unignore) == "No finding is ignored"


def test_all_ignores_are_taken_back_at_once() -> None:
    scenes.broken_rig(["Arm", "Leg", "Toe"])
    scenes.audit()
    for _ in range(3):
        assert ops.ignore(reason="meant") == {"FINISHED"}
    assert RESULTS.rows == [] and len(RESULTS.ignored) == 3
    assert ops.unignore() == {"FINISHED"}
    assert len(RESULTS.rows) == 3 and RESULTS.ignored == []


# --- report


@pytest.mark.parametrize("name", sorted(reports.FORMATS))
def test_the_report_is_written_in_every_format(name: str, tmp_path: Path, said) -> None:
    scenes.broken_rig(["Bone “é” 🦴"])
    scenes.audit()
    path = tmp_path / f"report{report_operators.suffix_of(name)}"
    assert ops.export_report(filepath=str(path), format=name.upper()) == {"FINISHED"}
    text = path.read_text(encoding="utf-8")
    if name == "json":
        (file,) = json.loads(text)["files"]
        assert [f["bone"] for f in file["findings"]] == ["Bone “é” 🦴"] and file["read_via"] == "blender"
    else:
        assert "Bone “é” 🦴" in text and "QA104" in text


def test_a_report_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    scenes.broken_rig()
    scenes.audit()
    with pytest.raises(RuntimeError, match=r"missing.*cannot be written: No such file"):
        ops.export_report(filepath=str(tmp_path / "missing" / "r.txt"))


def test_help_finds_its_pages() -> None:
    for code in ("", "QA104"):
        page = report_operators.documentation(code)
        assert page is not None and page.is_file()
    assert report_operators.documentation("QA999") is None
    assert ops.help(code="QA104") == {"FINISHED"}
    assert ops.help(code="QA999") == {"CANCELLED"}


# --- before there is anything


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
    reads_only = {"audit", "audit_skin", "check_rows", "clear_results", "export_report", "help", "preview"}
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
