# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's zip: what is in it, what is refused, and that it is the same wherever it is built."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path

import build_extension
import pytest

from tests.conditions import SYMBOLIC_LINKS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small repository of its own with the real manifest, committed and clean."""
    root = tmp_path / "checkout"
    (root / "quat_audit" / "rules").mkdir(parents=True)
    for name in ("blender_manifest.toml", "LICENSE", "README.md", ".gitignore"):
        shutil.copy(ROOT / name, root / name)
    (root / "quat_audit" / "__init__.py").write_text("def register():\n    pass\n", encoding="utf-8")
    (root / "quat_audit" / "rules" / "one.py").write_bytes(b"ONE = 1\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_one.py").write_text("\n", encoding="utf-8")
    _git(root, "init", "--quiet")
    _git(root, "add", ".")
    _git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "all")
    return root


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), *arguments], check=True)


def _names(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as opened:
        return opened.namelist()


ALL = ["LICENSE", "README.md", "__init__.py", "blender_manifest.toml", "rules/one.py"]


def test_the_zip_holds_the_package_and_nothing_else(checkout: Path, tmp_path: Path) -> None:
    (checkout / "quat_audit" / "__pycache__").mkdir()
    (checkout / "quat_audit" / "__pycache__" / "one.cpython-311.pyc").write_bytes(b"")
    made = build_extension.build(checkout, tmp_path / "dist")
    version = tomllib.loads((ROOT / "blender_manifest.toml").read_text(encoding="utf-8"))["version"]
    assert made == tmp_path / "dist" / f"quat_audit-{version}.zip"
    assert _names(made) == ALL
    with zipfile.ZipFile(made) as opened:
        assert opened.read("rules/one.py") == b"ONE = 1\n"
    assert [path.name for path in (tmp_path / "dist").iterdir()] == [made.name]


def test_the_same_sources_give_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    first = build_extension.build(checkout, tmp_path / "one")
    for path in checkout.rglob("*.py"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
        path.chmod(0o700)
    _git(checkout, "config", "core.fileMode", "false")
    second = build_extension.build(checkout, tmp_path / "two")
    assert hashlib.sha256(first.read_bytes()).digest() == hashlib.sha256(second.read_bytes()).digest()


@pytest.mark.parametrize("change", ["modified", "new", "deleted", "staged", "manifest"])
def test_a_dirty_tree_is_refused_unless_allowed(checkout: Path, tmp_path: Path, change: str) -> None:
    one = checkout / "quat_audit" / "rules" / "one.py"
    expected = list(ALL)
    if change == "modified":
        one.write_text("ONE = 2\n", encoding="utf-8")
    elif change == "new":
        (checkout / "quat_audit" / "two.py").write_text("\n", encoding="utf-8")
        expected.append("two.py")
    elif change == "deleted":
        one.unlink()
        expected.remove("rules/one.py")
    elif change == "staged":
        one.write_text("ONE = 2\n", encoding="utf-8")
        _git(checkout, "add", ".")
    else:
        with (checkout / "blender_manifest.toml").open("a", encoding="utf-8") as manifest:
            manifest.write("# changed\n")
    with pytest.raises(build_extension.BuildError, match="--allow-dirty"):
        build_extension.build(checkout, tmp_path / "dist")
    assert not (tmp_path / "dist").exists()
    # A build is refused unless its zip holds just this.
    allowed = build_extension.sources(checkout, True)
    assert build_extension.stage(checkout, allowed, tmp_path / "staged") == expected


def test_a_dirty_tree_is_built_where_that_is_allowed(checkout: Path, tmp_path: Path) -> None:
    (checkout / "quat_audit" / "two.py").write_text("\n", encoding="utf-8")
    assert _names(build_extension.build(checkout, tmp_path / "dist", allow_dirty=True)) == [*ALL, "two.py"]


def test_a_change_outside_of_the_zip_does_not_matter(checkout: Path, tmp_path: Path) -> None:
    (checkout / "tests" / "test_two.py").write_text("\n", encoding="utf-8")
    names = build_extension.sources(checkout, False)
    assert build_extension.stage(checkout, names, tmp_path / "staged") == ALL


@pytest.mark.parametrize(
    "names, why",
    [
        (["conftest.py", "notes.py.orig", "scripts/one.py", "test_one.py", "tests/one.py"], "no part of an extension"),
        ([".x"], "the zip is not what was staged: ['.x']"),  # Blender's builder leaves it out
    ],
)
def test_what_is_no_part_of_an_extension_is_refused(checkout: Path, tmp_path: Path, names: list[str], why: str) -> None:
    for name in names:
        path = checkout / "quat_audit" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n", encoding="utf-8")
    with pytest.raises(build_extension.BuildError) as refused:
        build_extension.build(checkout, tmp_path / "dist", allow_dirty=True)
    assert why in str(refused.value)
    assert [name for name in names if name not in str(refused.value)] == []
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(
    "good, bad, said",
    [
        ('tags = ["Animation",', 'tags = ["Spinning",', "Spinning"),
        ('version = "0.1.0"', 'version = "0.1"', r"0\.1"),
        ('"4.2.0"', '"4.2"', "blender_version_min"),
    ],
)
def test_what_blenders_validator_refuses_is_not_built(
    checkout: Path, tmp_path: Path, good: str, bad: str, said: str
) -> None:
    manifest = checkout / "blender_manifest.toml"
    text = manifest.read_text(encoding="utf-8")
    assert good in text
    manifest.write_text(text.replace(good, bad), encoding="utf-8")
    with pytest.raises(build_extension.BuildError, match=f"(?s)refuses to (build|validate).*{said}"):
        build_extension.build(checkout, tmp_path / "dist", allow_dirty=True)
    assert not (tmp_path / "dist").exists()


@SYMBOLIC_LINKS
def test_a_symbolic_link_is_refused(checkout: Path, tmp_path: Path) -> None:
    (checkout / "quat_audit" / "linked.py").symlink_to(checkout / "quat_audit" / "__init__.py")
    with pytest.raises(build_extension.BuildError, match=r"quat_audit/linked\.py is a symbolic link"):
        build_extension.build(checkout, tmp_path / "dist", allow_dirty=True)


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    with pytest.raises(build_extension.BuildError, match="is no git checkout"):
        build_extension.sources(tmp_path, False)
