# SPDX-License-Identifier: GPL-3.0-or-later
"""What a hurried or hostile person does to a command line: nothing of theirs is lost, and one line says why."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quat_audit import api
from quat_audit.cli import main as cli
from quat_audit.errors import InputError
from quat_audit.findings.report import FileReport, Report
from quat_audit.reports import FORMATS
from quat_audit.run.publish import Target, staging
from tests.conditions import AS_IN_A_TERMINAL, DEVICE_FILES, PROC, SHELL_AND_DEV_FULL, SIGNALS, SYMBOLIC_LINKS
from tests.run.test_bad_input import BVH, glb

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/a.glb").write_bytes(glb())
    (tmp_path / "in/deep/b.bvh").write_text(BVH, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files_below(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def run_json(*arguments: object) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the rows by path (with / on every system)."""
    code = cli.main([*map(str, arguments), "--format", "json", "--output", "report"])
    report = json.loads(Path("report").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    return code, {Path(row["path"]).as_posix(): row for row in report["files"]}


def process(*arguments: str, code: str = "", **options: Any) -> subprocess.Popen[bytes]:
    """The real command line, with SIGINT as a terminal's child has it (a job in the background ignores it)."""
    command = [sys.executable, *(["-c", code] if code else ["-m", "quat_audit"]), *arguments]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        **AS_IN_A_TERMINAL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


@pytest.mark.parametrize(
    "verb", [["audit"], ["fix", "--dry-run"], ["fix", "--in-place"], ["fix", "--output-dir", "out"]]
)
@pytest.mark.parametrize(
    "output",
    [
        "in/a.glb",
        "in/deep/../a.glb",
        "new.glb",
        "x.BLEND",
        "x.blend1",
        "in/a.glb.bak",
        "in/a.glb.bak12",
        pytest.param("link", marks=SYMBOLIC_LINKS),
        "data.bin",
    ],
)
def test_a_report_never_takes_the_place_of_an_animation(
    folder: Path, verb: list[str], output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if output == "link":
        (folder / "link").symlink_to(folder / "in/deep/b.bvh")
    (folder / "data.bin").write_bytes(b"\x01\0\0\0")
    before = files_below(folder)
    assert cli.main([*verb, "in", "--output", output]) == 2
    assert "--output" in capsys.readouterr().err
    assert files_below(folder) == before


def test_a_report_takes_the_place_of_a_report(folder: Path) -> None:
    for _ in range(2):
        assert cli.main(["audit", "in", "--output", "report.json", "--fail-on", "never"]) == 0
    assert cli.main(["rules", "--output", "rules.glb"]) == 2
    assert cli.main(["audit", "in", "--output", os.devnull, "--fail-on", "never"]) == 0


@SYMBOLIC_LINKS
@DEVICE_FILES
def test_what_is_no_regular_file_is_a_row_and_is_never_opened(folder: Path) -> None:
    os.mkfifo(folder / "in/pipe.glb")
    (folder / "in/zero.bvh").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind("in/s.blend")
        for arguments in (["in"], ["in/*"], ["in/pipe.glb", "in/zero.bvh", "in/s.blend", "in/a.glb"]):
            code, rows = run_json("audit", *arguments)
            assert code == 2
            for name, kind in (("pipe.glb", "a pipe"), ("zero.bvh", "a device"), ("s.blend", "a socket")):
                row = rows[f"in/{name}"]
                assert row["status"] == "failed"
                assert f"is not a regular file but {kind}" in row["reason"]
            assert rows["in/a.glb"]["status"] == "audited"


def test_an_empty_path_is_bad_usage_and_not_the_current_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = files_below(folder)
    bad = (["audit", ""], ["fix", "--in-place", ""], ["audit", "in", ""], ["fix", "in", "--output-dir", ""])
    for arguments in (*bad, ["audit", "in", "--output", ""]):
        assert cli.main(arguments) == 2
        assert "empty" in capsys.readouterr().err
    assert files_below(folder) == before


def test_the_home_folder_is_meant_by_a_tilde(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    code, rows = run_json("audit", "~/in/a.glb", "--fail-on", "never")
    assert (code, list(rows)) == (0, [(folder / "in/a.glb").as_posix()])
    assert cli.main(["fix", "in", "--output-dir=~/out", "--output=~/out.txt"]) == 0
    assert {"out/a.glb", "out.txt"} <= set(files_below(folder))


@SYMBOLIC_LINKS
def test_in_place_stays_in_the_folder_that_was_named(folder: Path) -> None:
    (folder / "other").mkdir()
    shutil.copy("in/a.glb", "other/a.glb")
    (folder / "in/out.glb").symlink_to(folder / "other/a.glb")
    (folder / "in/same.glb").symlink_to("a.glb")
    code, rows = run_json("fix", "--in-place", "in")
    assert (code, set(rows)) == (2, {"in/a.glb", "in/deep/b.bvh", "in/out.glb"})
    assert rows["in/out.glb"]["status"] == "skipped"
    assert f"leads out of the folder, to {folder / 'other/a.glb'}: name that file" in rows["in/out.glb"]["reason"]
    assert os.listdir("other") == ["a.glb"]
    # Named itself, also together with the folder, it is meant.
    code, rows = run_json("fix", "--in-place", "in/out.glb", "in")
    assert (code, sorted(os.listdir("other"))) == (0, ["a.glb", "a.glb.bak"])
    assert rows["in/out.glb"]["repair"]["output"] == str(folder / "other/a.glb")


@SHELL_AND_DEV_FULL
@pytest.mark.slow
def test_standard_output_that_is_closed_or_full(folder: Path) -> None:
    commands = (["audit", "in"], ["rules"], ["--help"], ["audit", "in", "--format", "json"])
    for arguments in commands:
        shell = f'exec "$0" -m quat_audit {" ".join(arguments)}'
        for redirect, why in ((">&-", "is closed"), ("> /dev/full", "No space left on device")):
            run = subprocess.run(
                ["sh", "-c", f"{shell} {redirect}", sys.executable],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                capture_output=True,
                encoding="utf-8",
                check=False,
            )
            assert run.returncode == 2, (arguments, run)
            assert run.stderr.count("\n") == 1 and why in run.stderr, (arguments, run)
    closed = subprocess.run(
        ["sh", "-c", 'exec "$0" -m quat_audit audit in >&- 2>&-', sys.executable],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert closed.returncode == 2


def test_without_numpy_it_says_how_to_install_it(folder: Path) -> None:
    code = "import runpy, sys; sys.modules['numpy'] = None; runpy.run_module('quat_audit', run_name='__main__')"
    child = process("audit", "in", code=code)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.count(b"\n")) == (2, b"", 1)
    assert b"-m pip install numpy" in err


def test_a_name_that_no_file_can_have() -> None:
    for row in (api.audit_file("x\0.glb"), api.fix_file("x\0.glb"), api.fix_file("x\0", in_place=True)):
        assert row.status == "failed"
        assert "no file can have this name" in row.reason


def test_a_full_disk_names_the_result_and_the_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if ".quat_audit-" in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return real(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    code, rows = run_json("fix", "in/a.glb", "--output-dir", "out")
    assert code == 2
    assert rows["in/a.glb"]["reason"] == f"cannot write {Path('out/a.glb')}: No space left on device"
    assert files_below(folder / "out") == {}


def test_errors_never_show_the_temporary_name(tmp_path: Path) -> None:
    target = Target(tmp_path / "walk.blend", tmp_path)
    with pytest.raises(InputError) as error, staging(target, ["walk.blend"], beside=True) as (place, name):
        (place / f"{name}@").write_bytes(b"half of what Blender wrote")
        raise InputError(f"{place / name}: cannot be written: No space left on device")
    assert str(error.value) == f"{target.path}: cannot be written: No space left on device"
    assert list(tmp_path.iterdir()) == []


def test_a_limit_is_no_negative_number(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", "in", "--limit", "QA104.visible_deg=-1"]) == 2
    assert "cannot be negative" in capsys.readouterr().err
    assert cli.main(["audit", "in", "--limit", "QA104.visible_deg=0"]) == 1


def test_names_that_begin_with_a_dash(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy("in/deep/b.bvh", "-b.bvh")
    assert cli.main(["audit", "-b.bvh"]) == 2
    assert "write -- before it (… -- -b.bvh)" in capsys.readouterr().err
    assert cli.main(["audit", "--fail-on", "never", "--", "-b.bvh"]) == 0
    assert "-b.bvh" in capsys.readouterr().out


EVIL = "a\x1b]0;owned\x07\n\x9b31m\u202e"


@pytest.mark.parametrize("color", [False, True])
def test_names_are_shown_and_not_obeyed(color: bool) -> None:
    rows = [
        FileReport(f"1{EVIL}.glb"),
        FileReport(f"2{EVIL}.glb", "failed", f"no {EVIL}"),
        FileReport("3.glb", not_evaluated=[(EVIL, EVIL)]),
    ]
    said = FORMATS["text"](Report(rows), color=color)
    plain = re.sub(r"\x1b\[\d+m", "", said) if color else said
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", plain)
    shown = r"a\x1b]0;owned\x07\n\x9b31m\u202e"
    assert f"1{shown}.glb" in plain and f"2{shown}.glb: no {shown}" in plain and f"{shown}: {shown}" in plain
    assert ("\x1b[" in said) == color


def test_error_lines_and_usage_do_not_obey_either(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["audit", "in", "--output", "no\x1b[2J/x"],
        ["audit", "in", "--\x1b[2J"],
        ["audit", "\x1b[2J.glb"],
    ):
        assert cli.main(arguments) == 2
        captured = capsys.readouterr()
        assert "\x1b" not in captured.err + captured.out
        assert r"\x1b[2J" in captured.err + captured.out


def test_json_is_strict_whatever_a_name_holds() -> None:
    names = ["\udcff", "\\udcff", "\\\udcff", "\U0001f600", "\ud83d", "\udc00\ud83d", "腕\x1b\udc80"]
    said = FORMATS["json"](Report([FileReport(f"{i}{name}") for i, name in enumerate(names)]))
    assert said.isascii()
    paths = [row["path"][1:] for row in json.loads(said)["files"]]
    for path in paths:
        path.encode("utf-8")
    assert paths == ["\\xff", "\\udcff", "\\\\xff", "\U0001f600", "\\ud83d", "\\udc00\\ud83d", "腕\x1b\\x80"]


def test_a_failure_is_said_once_and_nothing_is_not_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", "none.glb"]) == 2
    said = capsys.readouterr().out
    assert said.count("none.glb") == 1 and "nothing found" not in said
    rows = [FileReport(f"{i}.glb", "skipped", "interrupted") for i in range(56)]
    said = FORMATS["text"](Report([FileReport("done.glb"), *rows]))
    assert said.splitlines()[-3:] == [
        "56 files skipped (interrupted)",
        "57 files: 1 audited, 56 skipped",
        "nothing found",
    ]
    assert "5.glb" not in said


@SYMBOLIC_LINKS
def test_the_source_that_would_be_overwritten_is_named(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "out/a.glb").symlink_to(folder / "in/deep/b.bvh")
    _, rows = run_json("fix", "in/a.glb", "in/deep/b.bvh", "--output-dir", "out")
    assert f"the result {folder / 'out/a.glb'} would overwrite" in rows["in/a.glb"]["reason"]
    assert str(folder / "in/deep/b.bvh") in rows["in/a.glb"]["reason"]


def interrupt(child: subprocess.Popen[bytes], started: Any, presses: int = 1) -> tuple[int, str, str]:
    end = time.monotonic() + 60.0
    while not started() and child.poll() is None and time.monotonic() < end:
        time.sleep(0.005)
    for _ in range(presses):
        child.send_signal(signal.SIGINT)
        time.sleep(0.05)
    out, err = child.communicate(timeout=120)
    return child.returncode, out.decode(), err.decode()


def in_maps(child: subprocess.Popen[bytes], word: str) -> Any:
    def check() -> bool:
        try:
            return word in Path(f"/proc/{child.pid}/maps").read_text(encoding="utf-8")
        except OSError:
            return False

    return check


@PROC
@pytest.mark.parametrize("loaded", ["_multiarray_umath", "_umath_linalg"])
def test_ctrl_c_while_everything_is_imported(folder: Path, loaded: str) -> None:
    child = process("audit", "in")
    code, _, err = interrupt(child, in_maps(child, loaded))
    assert code == 2
    assert "Traceback" not in err and "interrupted" in err


@pytest.mark.parametrize("presses", [1, 2])
@SIGNALS
@pytest.mark.slow
def test_ctrl_c_ends_after_the_file_at_hand(folder: Path, presses: int) -> None:
    many = folder / "many"
    many.mkdir()
    for i in range(400):
        (many / f"{i:03}.glb").write_bytes(glb())
    arguments: Sequence[str] = ("fix", "many", "--output-dir", "out", "--format", "json", "--output", "r.json")
    child = process(*arguments)
    code, _, err = interrupt(child, lambda: len(list(folder.glob("out/*.glb"))) > 3, presses)
    assert code == 2
    assert "Traceback" not in err and "interrupted" in err
    report = json.loads((folder / "r.json").read_text(encoding="utf-8"))
    done = {Path(row["path"]).name for row in report["files"] if row["status"] == "audited"}
    assert 3 <= len(done) < 400
    assert {row["reason"] for row in report["files"] if row["status"] == "skipped"} == {"interrupted"}
    # A second Ctrl-C may come while a file is put in its place: then its row says so.
    failed = {Path(row["path"]).name: row["reason"] for row in report["files"] if row["status"] == "failed"}
    assert len(failed) < presses and all("check" in reason for reason in failed.values())
    assert done <= {p.name for p in (folder / "out").iterdir()} <= done | set(failed)


@pytest.mark.parametrize("moment", ["_same_bytes", "shutil.copymode"])
def test_a_second_ctrl_c_never_leaves_a_changed_file_that_is_said_to_be_skipped(
    folder: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def pressed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"quat_audit.run.publish.{moment}", pressed)
        said: list[Report] = []
        patch.setattr(cli.reports, "parts", lambda name, report, **_: iter(said.append(report) or ()))
        assert cli.main(["fix", "in", "--in-place", "--format", "json"]) == 2
    first, second = said[0].files
    if moment == "_same_bytes":  # nothing was touched yet
        assert (first.status, first.reason) == ("skipped", "interrupted")
    else:
        assert (first.status, str(folder / "in/a.glb") in first.reason) == ("failed", True)
    assert second.reason == "interrupted"
