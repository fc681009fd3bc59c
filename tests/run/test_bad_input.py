# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that a folder can hold by mistake, in one run of the real command line: one clear line each,
exit code 2, all other files done, valid JSON. The .blend cases are in tests/blender/test_blender_cli.py.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conditions import PERMISSIONS

ROOT = Path(__file__).resolve().parents[2]

BVH = """HIERARCHY
ROOT Hips
{
  OFFSET 0 0 0
  CHANNELS 3 Zrotation Xrotation Yrotation
}
MOTION
Frames: 3
Frame Time: 0.04
170 0 0
-170 0 0
-150 0 0
"""


def glb(*, keys: int = 3, says: int = 3) -> bytes:
    """A .glb of one node that flips its sign; `says` is the count that the accessors claim."""
    turn = [(0.0, 0.0, 0.0, 1.0), (0.0, 0.0, -0.0871557, -0.9961947), (0.0, 0.0, 0.1736482, 0.9848078)]
    binary = b"".join(struct.pack("<f", i / 24) for i in range(keys))
    binary += b"".join(struct.pack("<4f", *turn[i % 3]) for i in range(keys))
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"name": "Arm"}],
        "scenes": [{"nodes": [0]}],
        "buffers": [{"byteLength": len(binary)}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 4 * keys},
            {"buffer": 0, "byteOffset": 4 * keys, "byteLength": 16 * keys},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": says, "type": "SCALAR", "min": [0], "max": [1]},
            {"bufferView": 1, "componentType": 5126, "count": says, "type": "VEC4"},
        ],
        "animations": [
            {
                "name": "Wave",
                "samplers": [{"input": 0, "output": 1}],
                "channels": [{"sampler": 0, "target": {"node": 0, "path": "rotation"}}],
            }
        ],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    binary += b"\0" * (-len(binary) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(binary), 0x004E4942) + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


GOOD = {"good.glb": glb(), "good.bvh": BVH.encode()}
# name → (bytes, words that its reason must hold)
BAD = {
    "empty.glb": (b"", "0 bytes"),
    "empty.bvh": (b"", "0 bytes"),
    "empty.gltf": (b"", "0 bytes"),
    "cut.glb": (glb()[:400], ""),
    "header.glb": (glb()[:10], ""),
    "cut.bvh": (BVH[: BVH.index("CHANNELS")].encode(), "line"),
    "range.glb": (glb(says=3000), "accessor"),
    "words.glb": (b"this is a text file, not a binary glTF\n", ""),
    "words.bvh": (b"this is a text file, not a motion capture\n", "line"),
    "words.gltf": (b"{ not json", ""),
    "missing_buffer.gltf": (
        b'{"asset":{"version":"2.0"},"buffers":[{"uri":"gone.bin","byteLength":20}],'
        b'"bufferViews":[{"buffer":0,"byteLength":4},{"buffer":0,"byteOffset":4,"byteLength":16}],'
        b'"accessors":[{"bufferView":0,"componentType":5126,"count":1,"type":"SCALAR"},'
        b'{"bufferView":1,"componentType":5126,"count":1,"type":"VEC4"}],"nodes":[{}],"animations":'
        b'[{"samplers":[{"input":0,"output":1}],"channels":[{"sampler":0,"target":{"node":0,"path":"rotation"}}]}]}',
        "gone.bin",
    ),
    "notes.txt": (b"not an animation", "not supported"),
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user can reach (pytest's own are private)."""
    path = Path(tempfile.mkdtemp(prefix="quat_audit-test-"))
    path.chmod(0o755)
    yield path
    for each in path.rglob("*"):
        if each.is_dir():
            each.chmod(0o755)
    shutil.rmtree(path)


def fill(folder: Path) -> None:
    for name, data in GOOD.items():
        (folder / name).write_bytes(data)
    for name, (data, _) in BAD.items():
        (folder / name).write_bytes(data)
    (folder / "nothing_here").mkdir()


def run(arguments: list[str], *, as_nobody: bool = False) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    """The real command line in a process of its own, and the JSON it wrote on stdout.

    Permissions mean nothing to root, so as root the process steps down once everything is imported.
    """
    step_down = "os.setegid(65534); os.seteuid(65534);" if as_nobody and os.geteuid() == 0 else ""
    with tempfile.TemporaryDirectory() as warm:
        for name, data in GOOD.items():
            Path(warm, name).write_bytes(data)
        # Python and NumPy load parts of themselves late, from folders that nobody may not read.
        warm_up = f"main(['fix', {warm!r}, '--dry-run', '--output', os.devnull, '--format', 'json']);"
        code = (
            f"import os, sys; from quat_audit.cli.main import main; {warm_up} {step_down} sys.exit(main(sys.argv[1:]))"
        )
        result = subprocess.run(
            [sys.executable, "-c", code, *arguments, "--format", "json"],
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    return result, json.loads(result.stdout, parse_constant=pytest.fail)


def check_line(row: dict[str, Any], words: str = "") -> None:
    assert row["status"] == "failed", row["path"]
    assert row["reason"], row["path"]
    assert "\n" not in row["reason"]
    assert "internal error" not in row["reason"]
    assert "Traceback" not in row["reason"]
    assert words in row["reason"], (row["path"], row["reason"])


def test_all_bad_input_of_one_run(folder: Path) -> None:
    fill(folder)
    names = [*GOOD, *BAD, "nothing_here", "not_there.glb", "*.nope"]
    result, report = run(["audit", *(str(folder / name) for name in names)])
    assert (result.returncode, result.stderr) == (2, "")
    rows = {Path(row["path"]).name: row for row in report["files"]}
    assert set(rows) == set(names)
    for name, (_, words) in BAD.items():
        check_line(rows[name], words)
    check_line(rows["nothing_here"], "no file of a supported kind")
    check_line(rows["not_there.glb"], "no such file")
    check_line(rows["*.nope"], "no file matches")
    for name, code in (("good.glb", "QA104"), ("good.bvh", "QA201")):
        assert rows[name]["status"] == "audited"
        assert code in {finding["code"] for finding in rows[name]["findings"]}
    assert report["summary"]["audited"] == 2
    assert report["summary"]["failed"] == len(names) - 2


def test_fix_repairs_the_good_files_among_the_bad(folder: Path) -> None:
    (folder / "in").mkdir()
    fill(folder / "in")
    result, report = run(["fix", str(folder / "in"), "--output-dir", str(folder / "out")])
    assert (result.returncode, result.stderr) == (2, "")
    assert {p.name for p in (folder / "out").rglob("*")} == set(GOOD)
    for row in report["files"]:
        if Path(row["path"]).name in GOOD:
            assert row["repair"]["applied"]
            assert row["after"]["findings"] == []
        else:
            check_line(row)


def test_blender_files_without_their_blender_or_by_their_bytes(folder: Path) -> None:
    for name in ("a.blend", "a.fbx"):
        (folder / name).write_bytes(b"BLENDER-v405")
    _, report = run(["audit", str(folder), "--via", "bytes"])
    for row in report["files"]:
        check_line(row, "--via")


def test_missing_bpy_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quat_audit.errors import InputError
    from quat_audit.run import opening

    monkeypatch.delitem(sys.modules, "bpy", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install.*bpy.*`blender --command quat_audit"):
        opening.require_blender()


@PERMISSIONS
def test_folders_and_files_without_permission(folder: Path) -> None:
    for name in ("open", "locked", "secret"):
        (folder / name).mkdir()
        (folder / name / "good.glb").write_bytes(glb())
    (folder / "open" / "private.bvh").write_text(BVH, encoding="utf-8")
    (folder / "open" / "private.bvh").chmod(0)
    for path in (folder / "open", folder / "open/good.glb", folder / "locked/good.glb"):
        path.chmod(0o777)
    (folder / "locked").chmod(0o555)
    (folder / "secret").chmod(0)
    result, report = run(["fix", str(folder), "--in-place"], as_nobody=True)
    assert (result.returncode, result.stderr) == (2, "")
    rows = {Path(row["path"]).relative_to(folder).as_posix(): row for row in report["files"]}
    assert set(rows) == {"open/good.glb", "open/private.bvh", "locked/good.glb", "secret"}
    check_line(rows["open/private.bvh"], "Permission denied")
    check_line(rows["locked/good.glb"], "Permission denied")
    check_line(rows["secret"], "Permission denied")
    assert rows["open/good.glb"]["after"]["findings"] == []
    assert (folder / "locked/good.glb").read_bytes() == glb()
    assert sorted(p.name for p in (folder / "open").iterdir()) == ["good.glb", "good.glb.bak", "private.bvh"]


@PERMISSIONS
def test_an_output_folder_that_cannot_be_written(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in/good.glb").write_bytes(glb())
    (folder / "shut").mkdir(mode=0o555)
    result, report = run(["fix", str(folder / "in"), "--output-dir", str(folder / "shut/out")], as_nobody=True)
    assert (result.returncode, result.stderr) == (2, "")
    check_line(report["files"][0], "cannot write")
    assert list((folder / "shut").iterdir()) == []


def test_a_truncated_file_fails_or_is_read_at_every_length(folder: Path) -> None:
    data = glb()
    for length in range(0, len(data), 7):
        (folder / f"{length:05}.glb").write_bytes(data[:length])
    _, report = run(["audit", str(folder)])
    assert report["summary"]["failed"] == report["summary"]["files"] > 90
    for row in report["files"]:
        check_line(row)
