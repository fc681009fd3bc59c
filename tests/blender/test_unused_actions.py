# SPDX-License-Identifier: GPL-3.0-or-later
"""An action that Blender drops at the next save: the file is repaired all the same, and the loss is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import open, read
from tests.blender.previewed import run, save

FLIP = [(1.0, 0.0, 0.0, 0.0), (-0.995, 0.0, 0.0, -0.0998), (0.98, 0.0, 0.0, 0.199)]


def flipping_object(name: str) -> object:
    obj = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(obj)
    obj.rotation_mode = "QUATERNION"
    for frame, value in zip((1, 11, 21), FLIP, strict=True):
        obj.rotation_quaternion = value
        obj.keyframe_insert("rotation_quaternion", frame=frame)
    obj.animation_data.action.name = name
    return obj


@pytest.fixture
def leftover(tmp_path: Path) -> Path:
    open.new_file()
    flipping_object("Kept")
    bpy.context.scene.collection.objects.unlink(flipping_object("Lost"))
    return save(tmp_path / "leftover.blend")


def fixed(path: Path, *options: object) -> tuple[dict, int]:
    output = path.with_suffix(".json")
    code = run("fix", path, *options, "--format", "json", "--output", output, "--fail-on", "never")
    return json.loads(output.read_text(encoding="utf-8"))["files"][0], code


def actions(path: Path) -> list[str]:
    open.open_blend(path)
    return [record.clip.action for record in read.read_file()]


def test_the_other_action_is_repaired_and_the_drop_is_said(leftover: Path, tmp_path: Path) -> None:
    assert actions(leftover) == ["Kept", "Lost"]
    row, code = fixed(leftover, "--output-dir", tmp_path / "fixed")
    assert (row["status"], code) == ("audited", 0), row
    found = {f["action"]: f for f in row["findings"] if f["code"] == "QA104"}
    assert (found["Kept"]["fix"], found["Lost"]["fix"]) == ("safe", "none")
    assert row["repair"]["applied"] == [{"code": "QA104", "tracks": 1, "keys_changed": 1}]
    ((refused),) = row["repair"]["refused"]
    assert refused["code"] == "QA104" and "nobody uses its action" in refused["why"]
    assert "dropped by Blender, which saves no action that nobody uses: Lost" in row["repair"]["remark"]
    assert [clip["action"] for clip in row["after"]["clips"]] == ["Kept"]
    assert actions(Path(row["repair"]["output"])) == ["Kept"]


def test_where_only_the_unused_action_is_at_fault_nothing_is_saved_without_it(leftover: Path, tmp_path: Path) -> None:
    """The repaired file would be the old one without that action."""
    open.open_blend(leftover)
    bpy.data.objects["Kept"].animation_data_clear()
    bpy.data.actions.remove(bpy.data.actions["Kept"])
    bpy.context.scene.collection.objects.unlink(flipping_object("Lost"))
    lone = save(tmp_path / "lone.blend")
    before = lone.read_bytes()
    row, _ = fixed(lone, "--in-place")
    assert row["repair"]["applied"] == [] and "remark" not in row["repair"]
    assert lone.read_bytes() == before and not list(tmp_path.glob("*.bak"))
    row, _ = fixed(lone, "--output-dir", tmp_path / "fixed")
    assert actions(Path(row["repair"]["output"])) != []


def test_an_unused_action_with_a_fake_user_is_as_any_other(leftover: Path, tmp_path: Path) -> None:
    open.open_blend(leftover)
    bpy.data.actions["Lost"].use_fake_user = True
    path = save(tmp_path / "shielded.blend")
    row, _ = fixed(path, "--in-place")
    assert row["repair"]["applied"] == [{"code": "QA104", "tracks": 2, "keys_changed": 2}]
    assert actions(path) == ["Kept", "Lost"]


def test_any_other_action_that_is_gone_is_a_reason_to_write_nothing(
    leftover: Path, tmp_path: Path, monkeypatch
) -> None:
    from quat_audit.blender import saving

    monkeypatch.setattr(saving, "unused_actions", dict)
    row, code = fixed(leftover, "--output-dir", tmp_path / "fixed")
    assert (row["status"], code) == ("failed", 2)
    assert row["reason"] == "refused: the written file does not hold the same actions (Lost)"
