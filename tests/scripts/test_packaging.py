# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifest says what Blender wants to hear, and the version stands in one place only."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from quat_audit.version import version

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))


def test_the_manifest() -> None:
    assert MANIFEST["schema_version"] == "1.0.0"
    assert MANIFEST["id"] == "quat_audit"
    assert MANIFEST["type"] == "add-on"
    assert MANIFEST["license"] == ["SPDX:GPL-3.0-or-later"]
    assert MANIFEST["blender_version_min"] == "4.2.0"
    assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST["version"])
    assert len(MANIFEST["tagline"]) <= 64
    assert MANIFEST["tagline"][-1].isalnum()
    assert set(MANIFEST["permissions"]) == {"files"}
    reason = MANIFEST["permissions"]["files"]
    assert len(reason) <= 64
    assert not reason.endswith(".")


def test_the_version_stands_in_the_manifest_only() -> None:
    assert version() == MANIFEST["version"]
    pattern = re.compile(r"""(__version__|\bbl_info\b|^\s*version)\s*[=:]\s*["'(]""", re.MULTILINE)
    files = [*(ROOT / "quat_audit").rglob("*.py"), ROOT / "pyproject.toml"]
    assert [path.name for path in files if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_the_changelog_has_an_entry_for_the_version() -> None:
    assert re.search(
        rf"^## {re.escape(version())}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )


def test_the_licence_is_the_gpl() -> None:
    assert "GNU GENERAL PUBLIC LICENSE\n                       Version 3" in (ROOT / "LICENSE").read_text(
        encoding="utf-8"
    )


@pytest.mark.slow
def test_the_package_works_under_the_name_that_an_extension_has(tmp_path: Path) -> None:
    # As Blender installs it: the manifest beside __init__.py, below packages that are not ours.
    folder = tmp_path / "bl_ext" / "user_default" / "quat_audit"
    shutil.copytree(ROOT / "quat_audit", folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "blender_manifest.toml", folder)
    code = "import sys; from bl_ext.user_default.quat_audit.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for arguments in (["--version"], ["rules", "QA104"], ["audit", str(tmp_path / "none.glb"), "--format", "json"]):
        command = [sys.executable, "-c", code, *arguments]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        assert (run.returncode, run.stderr) == (2 * (arguments[0] == "audit"), "")
        assert arguments[0] != "--version" or run.stdout.split() == ["quat_audit", version()]
