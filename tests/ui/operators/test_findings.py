# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be done with a finding but a fix: go to it, mark it, ignore it, report it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import reports
from quat_audit.blender import compat, ignore, read
from quat_audit.results.memory import RESULTS
from quat_audit.ui.operators import report
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.drawing import draw_all
from tests.ui.scenes import choose, state

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


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
    scenes.refresh()
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
    # Two steps of 340°: more of them, or wider, would not be what was ignored.
    assert (kept.count, kept.figure) == (2, pytest.approx(340.0, abs=0.1))
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
    path = tmp_path / f"report{report.suffix_of(name)}"
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
        page = report.documentation(code)
        assert page is not None and page.is_file()
    assert report.documentation("QA999") is None
    assert ops.help(code="QA104") == {"FINISHED"}
    assert ops.help(code="QA999") == {"CANCELLED"}
