# SPDX-License-Identifier: GPL-3.0-or-later
"""What the forge reads agrees with the scripts: Pythons, libraries, pins, and what the forms ask for."""

from __future__ import annotations

import re
from pathlib import Path

import environment

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8")
FORMS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")}


def _list(name: str) -> list[str]:
    (found,) = re.findall(rf"^ +{name}: \[(.+)\]$", WORKFLOW, re.MULTILINE)
    return [item.strip('" ') for item in found.split(",")]


def test_the_workflow_runs_all_checks_on_three_systems_and_every_python_with_a_wheel() -> None:
    assert _list("system") == ["ubuntu-latest", "windows-latest", "macos-latest"]
    assert _list("python") == sorted(environment.DEFAULT)
    assert "run: python scripts/test.py\n" in WORKFLOW
    assert re.search(r"run: .*\.ci/run$", WORKFLOW, re.MULTILINE)


def test_the_workflow_installs_the_libraries_that_the_ci_entry_does() -> None:
    entry = (ROOT / ".ci/run").read_text(encoding="utf-8")
    libraries = re.findall(r"lib\w+\.so\.\d:([\w-]+)", entry)
    (installed,) = re.findall(r"--no-install-recommends \\\n +(.+)\n", WORKFLOW)
    assert installed.split() == libraries


def test_the_pins_before_a_commit_are_those_of_the_tests() -> None:
    requirements = (ROOT / "scripts/requirements-dev.txt").read_text(encoding="utf-8").split()
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    pins = re.findall(r"additional_dependencies: \[(.+)\]", hooks)
    assert pins
    assert set(pins) <= set(requirements)


def test_the_forms_ask_for_what_a_fault_is_found_with() -> None:
    assert set(FORMS) == {"config", "bug", "false-alarm", "feature"}
    for form, fields in (
        ("bug", {"blender", "version", "system", "file", "report"}),
        ("false-alarm", {"rule", "finding"}),
    ):
        assert fields <= set(re.findall(r"^ +id: (\S+)$", FORMS[form], re.MULTILINE))


def test_no_address_is_given_that_nobody_has() -> None:
    security, contributing = ((ROOT / name).read_text(encoding="utf-8") for name in ("SECURITY.md", "CONTRIBUTING.md"))
    pages = [*FORMS.values(), security, contributing]
    assert not [word for page in pages for word in re.findall(r"\S+@\S+\.\S+|https?://\S+", page)]
    assert "Report a vulnerability" in security
