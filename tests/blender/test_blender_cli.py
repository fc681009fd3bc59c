# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line through Blender: .blend audited, repaired and proven; what cannot be opened is a row."""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

import numpy as np

from quat_audit import api
from quat_audit.blender import open as blender_open
from quat_audit.cli import main as cli
from tests.blender import build_case

ROOT = Path(__file__).resolve().parents[2]
FLIPS = [(1.0, 0.0, 0.0, 0.0), (-0.9848078, 0.0, 0.0, -0.1736482), (0.9396926, 0.0, 0.0, 0.3420201)]


def add_action(name: str, quaternions: Sequence[Sequence[float]], *, used: bool) -> None:
    """An object with quaternion keys ten frames apart; unused actions are kept by a fake user."""
    item = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(item)
    item.rotation_mode = "QUATERNION"
    for i, value in enumerate(quaternions):
        item.rotation_quaternion = value
        item.keyframe_insert("rotation_quaternion", frame=1 + 10 * i)
    action = item.animation_data.action
    action.name = name
    if not used:
        action.use_fake_user = True
        bpy.data.objects.remove(item)


def save(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, check_existing=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    add_action("flips", FLIPS, used=True)
    add_action("unused", FLIPS, used=False)
    add_action("clean", np.abs(FLIPS).tolist(), used=True)
    save(tmp_path / "in/flips.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    add_action("clean", np.abs(FLIPS).tolist(), used=True)
    save(tmp_path / "in/clean.blend")
    return tmp_path


def run_json(tmp_path: Path, *arguments: object) -> tuple[int, dict[str, Any]]:
    output = tmp_path / "report.json"
    code = cli.main([*map(str, arguments), "--format", "json", "--output", str(output)])
    return code, json.loads(output.read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_audit_finds_the_flips_of_used_and_unused_actions(folder: Path) -> None:
    code, report = run_json(folder, "audit", folder / "in")
    clean, flips = report["files"]
    assert (code, clean["findings"], clean["read_via"]) == (1, [], "blender")
    assert {(f["action"], f["code"], len(f["occurrences"])) for f in flips["findings"] if f["code"] == "QA104"} == {
        ("flips", "QA104", 2),
        ("unused", "QA104", 2),
    }
    assert report["tool"]["blender"] == bpy.app.version_string


def test_fix_writes_a_repaired_copy_and_proves_it(folder: Path) -> None:
    before = {p.name: p.read_bytes() for p in (folder / "in").iterdir()}
    code, report = run_json(folder, "fix", folder / "in", "--output-dir", folder / "out")
    assert code == 0
    assert {p.name: p.read_bytes() for p in (folder / "in").iterdir()} == before
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["clean.blend", "flips.blend"]
    assert (folder / "out/clean.blend").read_bytes() == before["clean.blend"]
    flips = report["files"][1]
    assert flips["after"]["findings"] == []
    assert {a["code"]: (a["tracks"], a["keys_changed"]) for a in flips["repair"]["applied"]} == {"QA104": (2, 2)}
    assert flips["repair"]["proof"]["max_key_change_deg"] <= 1e-4
    assert flips["repair"]["proof"]["max_between_change_deg"] > 90.0
    again, _ = run_json(folder, "audit", folder / "out")
    assert again == 0


def test_fix_in_place_keeps_a_backup_and_stops_at_clean_files(folder: Path) -> None:
    before = {p.name: p.read_bytes() for p in (folder / "in").iterdir()}
    code, _ = run_json(folder, "fix", folder / "in", "--in-place")
    after = {p.name: p.read_bytes() for p in (folder / "in").iterdir()}
    assert code == 0
    assert set(after) == {"clean.blend", "flips.blend", "flips.blend.bak"}
    assert (after["clean.blend"], after["flips.blend.bak"]) == (before["clean.blend"], before["flips.blend"])
    code, report = run_json(folder, "fix", folder / "in", "--in-place")
    assert (code, [f["repair"]["output"] for f in report["files"]]) == (0, [None, None])


def test_relative_paths_hold_in_the_copy(folder: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(folder / "in/clean.blend"))
    image = bpy.data.images.new("t", 1, 1)
    image.filepath_raw, image.file_format = str(folder / "textures/t.png"), "PNG"
    (folder / "textures").mkdir()
    image.save()
    image.filepath = "//../textures/t.png"
    image.use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "in/clean.blend"))
    _, report = run_json(folder, "fix", folder / "in/clean.blend", "--output-dir", folder / "a/b")
    assert "relative paths" in report["files"][0]["repair"]["remark"]
    bpy.ops.wm.open_mainfile(filepath=str(folder / "a/b/clean.blend"))
    assert Path(bpy.path.abspath(bpy.data.images["t"].filepath)).resolve() == (folder / "textures/t.png").resolve()


def test_blend_files_that_are_none(folder: Path) -> None:
    good = (folder / "in/flips.blend").read_bytes()
    for name, data in {
        "a_empty.blend": b"",
        "b_words.blend": b"this is a text file\n",
        "c_header.blend": good[:12],
        "d_half.blend": good[: len(good) // 2],
        "e_words.fbx": b"; not FBX\n",
    }.items():
        (folder / "in" / name).write_bytes(data)
    code, report = run_json(folder, "audit", folder / "in")
    assert code == 2
    rows = {Path(f["path"]).name: f for f in report["files"]}
    assert {name for name, row in rows.items() if row["status"] == "audited"} == {"clean.blend", "flips.blend"}
    for name, row in rows.items():
        if row["status"] == "failed":
            assert row["reason"], name
            assert "internal error" not in row["reason"], row["reason"]
            assert "\n" not in row["reason"]
            assert str(folder) not in row["reason"], "the path stands in the row already"


def test_what_blender_imports_is_repaired_into_a_blend(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x/clean.bvh").write_text(
        "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
        "End Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 3\nFrame Time: 0.04\n0 0 0\n5 0 0\n10 0 0\n",
        encoding="utf-8",
    )
    shutil.copy(folder / "in/clean.blend", folder / "x/clean.blend")
    code, report = run_json(folder, "fix", folder / "x", "--output-dir", folder / "out", "--via", "blender")
    assert code == 0
    # clean.blend keeps its name, clean.bvh makes room.
    assert sorted(p.name for p in (folder / "out").iterdir()) == ["clean.blend", "clean.bvh.blend"]
    row = next(f for f in report["files"] if f["path"].endswith(".bvh"))
    assert (row["read_via"], Path(row["repair"]["output"]).name) == ("blender", "clean.bvh.blend")
    assert "saved as a .blend" in row["repair"]["remark"]


BVH = (
    "HIERARCHY\nROOT Hips\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n"
    "End Site\n{\nOFFSET 0 1 0\n}\n}\nMOTION\nFrames: 3\nFrame Time: 0.04\n"
)


def fix_in_place(folder: Path) -> tuple[int, dict[str, Any]]:
    code, report = run_json(folder, "fix", folder / "x/walk.bvh", "--in-place", "--via", "blender")
    return code, report["files"][0]


def test_what_is_imported_is_repaired_in_place_once(folder: Path) -> None:
    (folder / "x").mkdir()
    path, result = folder / "x/walk.bvh", folder / "x/walk.blend"
    path.write_text(BVH + "0 0 0\n5 0 0\n10 0 0\n", encoding="utf-8")
    for _ in range(2):
        code, row = fix_in_place(folder)
        assert (code, row["repair"]["output"], row["after"]["findings"]) == (0, None, [])
        assert row["repair"]["remark"] == "nothing to repair, so no .blend is written"
        assert os.listdir(folder / "x") == ["walk.bvh"]

    # Importers unroll Euler angles, so the fault is made after the import.
    path.write_text(BVH + "170 0 0\n-170 0 0\n-150 0 0\n", encoding="utf-8")
    real = blender_open.import_file

    def wrapped(which: Path) -> None:
        real(which)
        for action in bpy.data.actions:
            for curve in build_case.fcurves_of(action):
                if "rotation" in curve.data_path and curve.range()[1] > 1 and curve.keyframe_points[0].co.y:
                    for key in list(curve.keyframe_points)[1:]:
                        key.co.y -= math.tau
                    curve.update()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blender_open, "import_file", wrapped)
        code, row = fix_in_place(folder)
        assert row["repair"]["applied"], "the case makes something to repair"
        assert (code, row["repair"]["output"]) == (0, str(result))
        first = result.read_bytes()
        code, row = fix_in_place(folder)
        assert (code, row["repair"]["output"], row["after"]["findings"]) == (0, None, [])
        assert "an earlier run repaired it" in row["repair"]["remark"]
        assert result.read_bytes() == first
        shutil.copy(folder / "in/flips.blend", result)
        code, row = fix_in_place(folder)
        assert (code, row["status"]) == (2, "failed")
        assert "exists and holds something else: move that file away" in row["reason"]
    assert result.read_bytes() == (folder / "in/flips.blend").read_bytes()
    assert sorted(os.listdir(folder / "x")) == ["walk.blend", "walk.bvh"]


def test_a_library_of_the_same_run_is_remarked(folder: Path) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    add_action("own", FLIPS, used=True)
    with bpy.data.libraries.load(str(folder / "in/flips.blend"), link=True) as (_, into):
        into.actions = ["unused"]
    item = bpy.data.objects.new("user", None)
    bpy.context.scene.collection.objects.link(item)
    item.animation_data_create().action = bpy.data.actions["unused"]
    bpy.ops.wm.save_as_mainfile(filepath=str(folder / "in/shot.blend"), check_existing=False)
    bpy.ops.file.make_paths_relative()
    bpy.ops.wm.save_mainfile()
    (folder / "in/shot.blend1").unlink(missing_ok=True)
    _, report = run_json(folder, "fix", folder / "in", "--output-dir", folder / "out")
    rows = {Path(f["path"]).name: f for f in report["files"]}
    assert rows["shot.blend"]["status"] == "audited", rows["shot.blend"]["reason"]
    assert (
        f"it still links {folder / 'in/flips.blend'}, not the repaired copy" in rows["shot.blend"]["repair"]["remark"]
    )
    assert "remark" not in rows["flips.blend"]["repair"]
    _, report = run_json(folder, "fix", folder / "in/shot.blend", "--output-dir", folder / "alone")
    assert "links" not in report["files"][0]["repair"].get("remark", "")


def test_the_api_repairs_actions_and_objects_where_they_are(folder: Path) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(folder / "in/flips.blend"))
    assert {f.code for f in api.audit_action(bpy.data.actions["flips"])} >= {"QA104"}
    (repair,) = api.fix_object(bpy.data.objects["flips"])
    assert [(a.code, a.keys_changed) for a in repair.applied] == [("QA104", 1)]
    assert api.audit_object(bpy.data.objects["flips"]) == []
    assert {f.code for f in api.audit_action(bpy.data.actions["unused"])} >= {"QA104"}
    api.fix_action(bpy.data.actions["unused"])
    assert api.audit_action(bpy.data.actions["unused"]) == []


def test_as_an_extension_registering_offers_the_command_and_a_process_of_its_own_exits_well(folder: Path) -> None:
    code = (
        "import sys, bpy, quat_audit\n"
        "quat_audit.register(); quat_audit.unregister()\n"
        "quat_audit.register(); quat_audit.unregister()\n"
        "from quat_audit.cli.main import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "audit", str(folder / "in/flips.blend"), "--format", "json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, env=environment, timeout=120)
    assert run.returncode == 1, run.stderr
    assert json.loads(run.stdout)["summary"]["occurrences"]["QA104"] == 4
