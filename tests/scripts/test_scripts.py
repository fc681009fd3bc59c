# SPDX-License-Identifier: GPL-3.0-or-later
"""The scripts that make environments and run the checks: pins agree, interrupted installs are made anew."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import audit
import environment
import pytest

from quat_audit.run import opening
from tests.conditions import BASH

_SPEC = importlib.util.spec_from_file_location("test_all", Path(environment.__file__).with_name("test.py"))
assert _SPEC is not None and _SPEC.loader is not None
test_all = importlib.util.module_from_spec(_SPEC)  # Python has a package "test" of its own
_SPEC.loader.exec_module(test_all)

ROOT = Path(__file__).resolve().parents[2]


def test_the_pins_agree_everywhere() -> None:
    defaults = {python: wheel.bpy for python, wheel in environment.DEFAULT.items()}
    assert {f"{a}.{b}": wheel for (a, b), wheel in opening.WHEELS.items()} == defaults
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (5\.\d[^|]*?|4\.\d[^|]*?) \| ([\d.]+) \| ([\d.]+) \|", readme, re.MULTILINE)
    assert [environment.Wheel(*row) for row in rows] == list(environment.MATRIX)


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What would be run to make an environment; a venv becomes an empty folder with an interpreter in it."""
    made: list[list[str]] = []

    def call(command: list[str], what: str) -> None:
        made.append(command)
        if "venv" in command:
            inside = Path(command[-1]) / ("Scripts" if os.name == "nt" else "bin") / environment.PYTHON
            inside.parent.mkdir(parents=True)
            inside.touch()
        if made[-1][-1].startswith("fail"):
            raise environment.SetupError(what)

    monkeypatch.setenv("QUAT_AUDIT_CACHE", str(tmp_path))
    monkeypatch.setattr(environment, "_call", call)
    return made


def _steps(calls: list[list[str]]) -> list[str]:
    steps = ["venv" if "venv" in call else call[-1] for call in calls]
    calls.clear()
    return steps


def test_an_environment_is_made_once_and_the_tools_only_when_asked_for(calls: list[list[str]], tmp_path: Path) -> None:
    wheel = environment.Wheel("test", "9.9.9", "3.11")
    python = environment.ensure(wheel, python="some-python")
    assert python.exists()
    assert python.is_relative_to(tmp_path)
    assert _steps(calls) == ["venv", "bpy==9.9.9"]
    environment.ensure(wheel, python="some-python")
    assert _steps(calls) == []
    environment.ensure(wheel, dev=True, python="some-python")
    assert _steps(calls) == [str(environment.REQUIREMENTS)]
    environment.ensure(wheel, dev=True, python="some-python")
    assert _steps(calls) == []


def test_the_environment_of_pure_code_has_numpy_and_the_tools_and_no_bpy(calls: list[list[str]]) -> None:
    assert sorted(environment.NUMPY) == sorted(environment.DEFAULT), "a NumPy for every Python"
    environment.ensure_pure("3.11", python="some-python")
    assert _steps(calls) == ["venv", "numpy==" + environment.NUMPY["3.11"], str(environment.REQUIREMENTS)]
    environment.ensure_pure("3.11", python="some-python")
    assert _steps(calls) == []


def test_what_needs_bpy_is_told_by_its_folder() -> None:
    assert test_all.chosen_tests(True, ["-k", "flip"]) == ["tests/blender", "tests/ui", "-k", "flip"]
    assert test_all.chosen_tests(False, []) == ["--ignore=tests/blender", "--ignore=tests/ui"]
    mixed = ["-x", "tests/ui/test_hooks.py", "tests/rotation", "tests/blender/test_read.py::test_one"]
    assert test_all.chosen_tests(True, mixed) == [
        "-x",
        "tests/ui/test_hooks.py",
        "tests/blender/test_read.py::test_one",
    ]
    assert test_all.chosen_tests(False, mixed) == ["-x", "tests/rotation"]
    assert test_all.chosen_tests(True, ["tests/rotation"]) is None
    for path in (ROOT / "tests").rglob("*.py"):
        if test_all._needs_bpy(str(path)) or path.name == "test_scripts.py":
            continue
        assert not re.search(r"importorskip|^ *(import|from) (bpy|mathutils)", path.read_text("utf-8"), re.M), path


def test_a_skip_that_hides_a_test_is_counted() -> None:
    lacking = ["not available: shared/cases", "not available: shared/cases/robot.blend"]
    hiding = ["could not import 'bpy': No module named 'bpy'"]
    assert test_all.hidden_skips(lacking, pure=True) == test_all.hidden_skips(lacking, pure=False) == 0
    assert test_all.hidden_skips(lacking + hiding, pure=True) == test_all.hidden_skips(hiding, pure=False) == 1


def test_the_slowest_tests_of_a_part_are_named(tmp_path: Path) -> None:
    cases = [f'<testcase classname="tests.a" name="test_{n}" time="{n / 10}"/>' for n in (3, 12, *range(20, 40))]
    (tmp_path / "result.xml").write_text(f"<a><b>{''.join(cases)}</b></a>", encoding="utf-8")
    found = test_all.slowest_tests(tmp_path / "result.xml")
    assert found == tuple((n / 10, f"tests.a::test_{n}") for n in range(39, 29, -1))
    assert test_all.slowest_tests(tmp_path / "none.xml") == ()


@pytest.mark.parametrize("error", [KeyboardInterrupt, environment.SetupError])
def test_an_interrupted_install_is_made_anew(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    wheel = environment.Wheel("test", "9.9.9", "3.11")
    good = environment._call

    def interrupted(command: list[str], what: str) -> None:
        good(command, what)
        if "pip" in command:
            raise error

    monkeypatch.setattr(environment, "_call", interrupted)
    with pytest.raises(error):
        environment.ensure(wheel, python="some-python")
    monkeypatch.setattr(environment, "_call", good)
    calls.clear()
    environment.ensure(wheel, python="some-python")
    assert _steps(calls) == ["venv", "bpy==9.9.9"]


def test_a_python_without_a_wheel_gets_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.sys, "version_info", (3, 12, 1))
    with pytest.raises(environment.SetupError, match=r"3\.12 has no bpy wheel.* 3\.11 .*3\.13"):
        environment.fitting_wheel()


def test_a_missing_interpreter_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(environment.SetupError, match=r"put python3\.1 on PATH, or run `pyenv install 3\.1`"):
        environment.find_python("3.1")


@BASH
def test_the_ci_entry_runs_everything() -> None:
    path = ROOT / ".ci" / "run"
    assert os.access(path, os.X_OK)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "scripts/test.py --all" in text
    assert subprocess.run(["bash", "-n", str(path)], check=False).returncode == 0


def test_audit_without_arguments_explains_itself() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "audit.py")]
    run = subprocess.run(script, capture_output=True, encoding="utf-8", check=False)
    assert (run.returncode, run.stdout) == (2, "")
    assert "scripts/audit.py examples" in run.stderr


def test_audit_waits_for_the_report_after_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        signal.raise_signal(signal.SIGINT)
        return subprocess.CompletedProcess(command, 2)

    monkeypatch.setattr(environment, "ensure", lambda wheel: Path(sys.executable))
    monkeypatch.setattr(audit.subprocess, "run", interrupted)
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert audit.main(["audit", "none.glb"]) == 2
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_window_test_reaches_for_modules_that_are_there() -> None:
    named = {
        name
        for path in (ROOT / "scripts").glob("ui_*.py")
        for name in re.findall(r'\bmodule\("([\w.]+)"\)', path.read_text(encoding="utf-8"))
    }
    assert len(named) >= 5
    assert [
        n for n in sorted(named) if not (ROOT / "quat_audit" / n.replace(".", "/")).with_suffix(".py").is_file()
    ] == []
