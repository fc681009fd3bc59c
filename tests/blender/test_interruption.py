# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C, a real one, while Blender is at work; and what Blender leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from tests.blender import skinned
from tests.conditions import AS_IN_A_TERMINAL, PROC, SIGNALS

ROOT = Path(__file__).resolve().parents[2]
FILES = 60
# The command line, its pictures with few samples: what smooths their edges takes most of a preview's time.
COARSELY = (
    "import runpy; from quat_audit.blender.draw import render; render.SAMPLES = 1; "
    "runpy.run_module('quat_audit', run_name='__main__', alter_sys=True)"
)
pytestmark = SIGNALS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first = tmp_path / "in/000.blend"
    first.parent.mkdir()
    item = bpy.data.objects.new("Item", None)
    bpy.context.scene.collection.objects.link(item)
    item.rotation_mode = "QUATERNION"
    for i, value in enumerate([(1.0, 0.0, 0.0, 0.0), (-0.9848078, 0.0, 0.0, -0.1736482)]):
        item.rotation_quaternion = value
        item.keyframe_insert("rotation_quaternion", frame=1 + 10 * i)
    bpy.ops.wm.save_as_mainfile(filepath=str(first), copy=True, check_existing=False)
    for i in range(1, FILES):
        shutil.copy(first, first.with_name(f"{i:03}.blend"))
    (tmp_path / "temporary").mkdir()
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "quat_audit", *arguments, "--format", "json", "--output", "r.json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(folder / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **AS_IN_A_TERMINAL,
    )


def wait_for(condition: Callable[[], bool], child: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120.0
    while not condition() and child.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def maps(child: subprocess.Popen[bytes]) -> str:
    try:
        return Path(f"/proc/{child.pid}/maps").read_text(encoding="utf-8")
    except OSError:
        return ""


def finish(folder: Path, child: subprocess.Popen[bytes]) -> tuple[list[str], set[str]]:
    """Names of what was done, and the statuses of the rest; checks all that holds at any moment."""
    out, err = child.communicate(timeout=120)
    assert child.returncode == 2, err.decode()
    assert b"Traceback" not in out + err and b"KeyboardInterrupt" not in out + err, err.decode()
    assert b"interrupted" in err
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    rows = {Path(row["path"]).name: row for row in report["files"]}
    assert len(rows) == FILES
    assert {row["reason"] for row in rows.values() if row["status"] != "audited"} <= {"interrupted"}
    assert not [p.name for p in (folder / "temporary").iterdir() if p.name.startswith("blender_")]
    return [n for n, row in rows.items() if row["status"] == "audited"], {row["status"] for row in rows.values()}


@pytest.mark.parametrize("delay", [0.0, 0.07])
def test_ctrl_c_between_many_files(folder: Path, delay: float) -> None:
    child = start(folder, "fix", "in", "--output-dir", "out")
    wait_for(lambda: len(list(folder.glob("out/*.blend"))) > 1, child)
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    done, statuses = finish(folder, child)
    assert statuses == {"audited", "skipped"}
    assert sorted(p.name for p in (folder / "out").iterdir()) == sorted(done)


@PROC
def test_ctrl_c_while_blender_is_imported(folder: Path) -> None:
    child = start(folder, "audit", "in")
    wait_for(lambda: "site-packages/bpy/" in maps(child), child)
    time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    done, statuses = finish(folder, child)
    assert len(done) <= 1 and "skipped" in statuses


def test_nothing_of_blender_stays_in_the_temporary_folder(folder: Path) -> None:
    child = start(folder, "audit", "in/000.blend")
    child.communicate(timeout=120)
    assert child.returncode == 1
    assert not [p.name for p in (folder / "temporary").iterdir()]


def test_ctrl_c_between_the_meshes_of_a_preview(tmp_path: Path) -> None:
    rig = skinned.make_armature("Rig", skinned.HEADS, skinned.HEADS + np.array([0, 0, 1.0]), [-1, 0])
    for number in range(12):
        corners = np.array([(0.1, 0, 0.5), (0, 0.1, 1.0), (-0.1, 0, 1.5)])
        skinned.make_mesh(f"Mesh{number:02}", corners, rig, [{"Bone0": 0.5, "Bone1": 0.5}] * 3, [(0, 1, 2)])
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "many.blend"), copy=True, check_existing=False)
    (tmp_path / "temporary").mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", COARSELY, "preview", "many.blend", "--output", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **AS_IN_A_TERMINAL,
    )
    wait_for(lambda: len(list(tmp_path.glob("out/*.json"))) > 0, child)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert child.returncode == 2 and b"interrupted" in err and b"Traceback" not in out + err, err.decode()
    done = sorted(path.stem for path in tmp_path.glob("out/*.json"))
    assert 0 < len(done) < 12
    assert f"interrupted: {12 - len(done)} of 12 without a preview".encode() in err
    assert all(f"{name}: 3 vertices".encode() in out for name in done)
    assert len(list((tmp_path / "out").iterdir())) == 3 * len(done)  # whole sets, nothing unfinished
    assert not list((tmp_path / "temporary").iterdir())
