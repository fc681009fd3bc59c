# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder of links for development: made, renewed, removed; nothing else is touched."""

from __future__ import annotations

import sys
from pathlib import Path

import link_dev
import pytest

from tests.conditions import SYMBOLIC_LINKS

ROOT = Path(__file__).resolve().parents[2]


def _farm(tmp_path: Path) -> Path:
    return tmp_path / "user_default" / "quat_audit"


@SYMBOLIC_LINKS
def test_every_child_of_the_package_is_linked_and_the_manifest_lies_beside(tmp_path: Path) -> None:
    said = link_dev.link(tmp_path)
    folder = _farm(tmp_path)
    package = {path.name for path in (ROOT / "quat_audit").iterdir()} - {"__pycache__"}
    assert {path.name for path in folder.iterdir()} == package | {
        "blender_manifest.toml",
        "LICENSE",
        "README.md",
        "docs",
    }
    assert all(path.is_symlink() for path in folder.iterdir())
    assert not folder.is_symlink()
    assert (folder / "__init__.py").read_bytes() == (ROOT / "quat_audit" / "__init__.py").read_bytes()
    assert said == f"made {len(package) + 4} links in {folder} to {ROOT}"


@SYMBOLIC_LINKS
def test_again_renews_stale_links(tmp_path: Path) -> None:
    link_dev.link(tmp_path)
    folder = _farm(tmp_path)
    (folder / "gone.py").symlink_to(ROOT / "quat_audit" / "gone.py")
    (folder / "__pycache__").mkdir()
    before = {path.name for path in folder.iterdir()} - {"gone.py", "__pycache__"}
    assert link_dev.link(tmp_path).startswith("renewed ")
    assert {path.name for path in folder.iterdir()} == before


@SYMBOLIC_LINKS
def test_undo_leaves_the_checkout(tmp_path: Path) -> None:
    checkout = sorted(path for path in (ROOT / "quat_audit").rglob("*.py"))
    assert link_dev.unlink(tmp_path).startswith("nothing to undo: ")
    link_dev.link(tmp_path)
    (_farm(tmp_path) / "__pycache__").mkdir()
    assert link_dev.unlink(tmp_path).startswith("removed ")
    assert not _farm(tmp_path).exists()
    assert sorted(path for path in (ROOT / "quat_audit").rglob("*.py")) == checkout


def test_an_installed_extension_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = _farm(tmp_path)
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("installed", encoding="utf-8")
    for undo in ([], ["--undo"]):
        assert link_dev.main(["--extensions", str(tmp_path), *undo]) == 1
        assert str(folder) in capsys.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["__init__.py"]
    assert (folder / "__init__.py").read_text(encoding="utf-8") == "installed"


@pytest.mark.parametrize("as_link", [True, False])
@SYMBOLIC_LINKS
def test_a_link_in_the_folders_place_is_refused(tmp_path: Path, as_link: bool) -> None:
    folder = _farm(tmp_path)
    folder.parent.mkdir()
    folder.symlink_to(ROOT / "quat_audit" if as_link else tmp_path / "nowhere")
    with pytest.raises(link_dev.LinkError, match="is a link itself"):
        link_dev.link(tmp_path)
    with pytest.raises(link_dev.LinkError, match="not made by this script"):
        link_dev.unlink(tmp_path)
    assert folder.is_symlink()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user folder of Blender's for this test only."""
    monkeypatch.delenv("BLENDER_USER_RESOURCES", raising=False)
    monkeypatch.setattr(link_dev, "user_folder", lambda: tmp_path)
    return tmp_path


def test_the_newest_blender_is_taken_by_number(home: Path) -> None:
    for name in ("3.6", "4.2", "4.10", "5.0x", "cache"):
        (home / name).mkdir()
    assert link_dev.extensions_folder(None) == home / "4.10" / "extensions"
    assert link_dev.extensions_folder("4.2") == home / "4.2" / "extensions"


@pytest.mark.parametrize("names", [[], ["3.6", "4.1"]])
def test_without_a_fitting_blender_it_says_what_to_do(home: Path, names: list[str]) -> None:
    for name in names:
        (home / name).mkdir()
    with pytest.raises(link_dev.LinkError, match=r"name a version, or a folder by --extensions"):
        link_dev.extensions_folder(None)


def test_blenders_own_variable_is_respected(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BLENDER_USER_RESOURCES", str(home / "mine"))
    assert link_dev.extensions_folder(None) == home / "mine" / "extensions"


@pytest.mark.parametrize(
    "platform, variable, expected",
    [
        ("linux", "XDG_CONFIG_HOME", "blender"),
        ("darwin", "HOME", "Library/Application Support/Blender"),
        ("win32", "APPDATA", "Blender Foundation/Blender"),
    ],
)
def test_the_user_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, platform: str, variable: str, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name in (variable, *(("USERPROFILE",) if variable == "HOME" else ())):  # the home folder of Windows
        monkeypatch.setenv(name, str(tmp_path))
    assert link_dev.user_folder() == tmp_path / expected
