# SPDX-License-Identifier: GPL-3.0-or-later
"""A mistake in the code on the command line: a row, or the end with exit code 2; the traceback for who asks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from quat_audit import api
from quat_audit.cli import main as cli
from tests.cli.test_main import ROOT, WRAPPED, bvh, run_json

WITH_A_MISTAKE = """
import sys
from quat_audit.cli import main as cli
from quat_audit.rules import RULES

def rule_at_fault(*_):
    raise IndexError("index 3")

for rule in RULES:
    object.__setattr__(rule, "find", rule_at_fault)
sys.exit(cli.main(sys.argv[1:], prog="quat_audit"))
"""
ASKS = "please report it with the file, the version of Blender and what --verbose shows"


def test_the_traceback_is_shown_where_it_is_asked_for(tmp_path: Path) -> None:
    path = bvh(tmp_path / "walk.bvh", WRAPPED)

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", WITH_A_MISTAKE, "audit", str(path), *options]
        return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)

    plain, verbose = run(), run("--verbose")
    assert plain.returncode == verbose.returncode == 2
    for done in (plain, verbose):
        assert f"internal error: IndexError: index 3; {ASKS}" in " ".join(done.stdout.split())
    assert plain.stderr == ""
    assert "Traceback" in verbose.stderr and "in rule_at_fault" in verbose.stderr


@pytest.mark.parametrize(("verb", "fault"), [("audit", "find"), ("fix", "fix")])
def test_a_mistake_in_a_rule_is_the_reason_of_its_file(tmp_path, monkeypatch, caplog, verb: str, fault: str) -> None:
    path = bvh(tmp_path / "in/walk.bvh", WRAPPED)

    def rule_at_fault(*_: object, **__: object) -> object:
        raise KeyError("x")

    monkeypatch.setattr(f"quat_audit.rules.qa201_euler_wraparound.{fault}", rule_at_fault)
    for rule in cli.RULES:
        if rule.code == "QA201":
            monkeypatch.setitem(rule.__dict__, fault, rule_at_fault)
    where = ["--output-dir", tmp_path / "out"] if verb == "fix" else []
    code, report = run_json(tmp_path, verb, path, *where)
    assert code == 2
    assert report["files"][0]["reason"] == f"internal error: KeyError: 'x'; {ASKS}"
    (record,) = [r for r in caplog.records if r.exc_info is not None]
    assert record.exc_info[0] is KeyError and record.getMessage() == f"internal error: {path}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("error", [IndexError("index 3"), RuntimeError("no"), RecursionError("deep")])
def test_what_escapes_ends_the_run_with_2_in_the_same_words(tmp_path, monkeypatch, capsys, caplog, error) -> None:
    def fault(*_: object, **__: object) -> object:
        raise error

    monkeypatch.setattr(api, "audit_file", fault)
    assert cli.main(["audit", str(bvh(tmp_path / "walk.bvh", WRAPPED))], prog="quat_audit") == 2
    said = f"quat_audit: error: internal error: {type(error).__name__}: {error}; {ASKS}\n"
    assert capsys.readouterr() == ("", said)
    assert [r.exc_info[1] for r in caplog.records if r.exc_info is not None] == [error]


def test_the_system_s_errors_that_escape_are_told_plainly(tmp_path, monkeypatch, capsys) -> None:
    def full(*_: object, **__: object) -> object:
        raise OSError(28, "No space left on device", "report.json")

    monkeypatch.setattr(api, "audit_file", full)
    assert cli.main(["audit", str(bvh(tmp_path / "walk.bvh", WRAPPED))], prog="quat_audit") == 2
    assert capsys.readouterr().err == "quat_audit: error: No space left on device: report.json\n"
