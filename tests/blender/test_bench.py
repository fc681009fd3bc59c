# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark in a Blender that writes to standard output itself: with --json that is JSON alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench.py"
# The rows take minutes: one that writes as they do stands for them.
SMALL = """
import os, runpy, sys
sys.path.insert(0, os.path.dirname({script!r}))
import bench
def one(*_):
    import bpy
    os.write(1, b"Info: as Blender writes\\n")
    bpy.ops.wm.save_as_mainfile(filepath={saved!r})  # says so on standard output
    yield bench.Row("what", "against", 1.0, 0.5, 1.0, 2.0)
bench._rows = one
sys.exit(bench.main(["--json"]))
"""


def test_json_is_all_that_is_on_standard_output(tmp_path: Path) -> None:
    code = SMALL.format(script=str(SCRIPT), saved=str(tmp_path / "saved.blend"))
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert run.returncode == 0, run.stderr
    document = json.loads(run.stdout)
    assert [row["what"] for row in document["rows"]] == ["what"]
    assert b"saved.blend" in run.stderr, "Blender wrote nothing: the test tests nothing"
