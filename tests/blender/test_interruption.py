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

import pytest

bpy = pytest.importorskip("bpy")

ROOT = Path(__file__).resolve().parents[2]
FILES = 60
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")


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
        # A job in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 no threads here
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


@pytest.mark.parametrize("delay", [0.0, 0.03, 0.11])
def test_ctrl_c_between_many_files(folder: Path, delay: float) -> None:
    child = start(folder, "fix", "in", "--output-dir", "out")
    wait_for(lambda: len(list(folder.glob("out/*.blend"))) > 1, child)
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    done, statuses = finish(folder, child)
    assert statuses == {"audited", "skipped"}
    assert sorted(p.name for p in (folder / "out").iterdir()) == sorted(done)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
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
