# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output of the benchmark: what it prints itself, and nothing of what else writes there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
# Writes as Blender does: from Python, past Python, from a child, and when the process ends.
NOISY = """
import atexit, os, subprocess, sys
sys.path.insert(0, {scripts!r})
from bench_timing import take_output
out = take_output()
atexit.register(os.write, 1, b"noise at the end\\n")
print("noise of print")
os.write(1, b"noise past Python\\n")
subprocess.run([sys.executable, "-c", "print('noise of a child')"], check=True)
print('{{"name": "→"}}', file=out, flush=True)
print("noise after")
"""


def test_what_writes_to_standard_output_does_not_reach_the_json() -> None:
    run = subprocess.run([sys.executable, "-c", NOISY.format(scripts=str(SCRIPTS))], capture_output=True, check=True)
    assert json.loads(run.stdout) == {"name": "→"}
    wanted = ("of print", "past Python", "of a child", "after", "at the end")
    assert sorted(run.stderr.decode().splitlines()) == sorted(f"noise {where}" for where in wanted)
