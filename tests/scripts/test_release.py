# SPDX-License-Identifier: GPL-3.0-or-later
"""A release is refused for every single thing that is missing, and what is released is what was tested."""

from __future__ import annotations

import subprocess
from pathlib import Path

import environment
import pytest
import release

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = 'id = "quat_audit"\nversion = "1.2.3"\nmaintainer = "Somebody"\nwebsite = "https://example.org"\n'
CHANGES = "# Changelog\n\n## 1.2.3 (2026-12-24)\n\n* New.\n\n## 1.2.2 (2026-11-30)\n\n* Old.\n"


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository that is ready for a release."""
    root = tmp_path / "checkout"
    root.mkdir()
    _git(root, "init", "--quiet")
    _commit(root, "v1.2.3", {"blender_manifest.toml": MANIFEST, "CHANGELOG.md": CHANGES})
    return root


def _commit(root: Path, tag: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8", newline="\n")
    _git(root, "add", ".")
    _git(root, "commit", "--quiet", "--allow-empty", "-m", "release")
    if tag:
        _git(root, "tag", "--force", tag)


def test_nothing_is_missing(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.missing(checkout) == []
    assert release.main(["--check"], checkout) == 0
    assert "nothing is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, good, bad, said",
    [
        ("blender_manifest.toml", "Somebody", release.PLACEHOLDER, "maintainer in blender_manifest.toml is still"),
        ("blender_manifest.toml", "Somebody", " ", "maintainer in blender_manifest.toml is still"),
        ("blender_manifest.toml", 'website = "https://example.org"\n', "", "website is left out"),
        ("CHANGELOG.md", "(2026-12-24)", "(unreleased)", "the first section of CHANGELOG.md is '1.2.3 (unreleased)'"),
        ("CHANGELOG.md", " (2026-12-24)", "", "the first section of CHANGELOG.md is '1.2.3'"),
        ("CHANGELOG.md", "## 1.2.3 (", "## 1.2.4 (", "no section for 1.2.3"),
        ("CHANGELOG.md", "## 1.2.3 (", "## 11.2.3 (", "no section for 1.2.3"),
        ("CHANGELOG.md", "* New.\n", "", "no section for 1.2.3, or an empty one"),
        (
            "CHANGELOG.md",
            "## 1.2.3 (",
            "## Next\n\n* More.\n\n## 1.2.3 (",
            "the first section of CHANGELOG.md is 'Next'",
        ),
    ],
)
def test_it_says_what_is_missing_and_refuses(
    checkout: Path, capsys: pytest.CaptureFixture[str], name: str, good: str, bad: str, said: str
) -> None:
    text = (checkout / name).read_text(encoding="utf-8")
    assert text.count(good) == 1
    _commit(checkout, "v1.2.3", {name: text.replace(good, bad)})
    (sentence,) = release.missing(checkout)
    assert said in sentence
    assert release.main([], checkout) == 1
    assert said in capsys.readouterr().err
    assert not (checkout / "dist").exists()


def test_the_tag_is_on_the_commit_and_is_the_version(checkout: Path) -> None:
    _commit(checkout, "", {"notes.txt": "after the tag"})
    (sentence,) = release.missing(checkout)
    assert "the commit has no tag v1.2.3" in sentence
    _git(checkout, "tag", "v1.2.4")
    (sentence,) = release.missing(checkout)
    assert "the commit has the tag v1.2.4, and the manifest says v1.2.3" in sentence
    _git(checkout, "tag", "--delete", "v1.2.4")
    _git(checkout, "tag", "nightly")
    _git(checkout, "tag", "--force", "v1.2.3")
    assert release.missing(checkout) == []


@pytest.mark.parametrize("change", ["modified", "new", "staged"])
def test_the_working_tree_is_clean(checkout: Path, change: str) -> None:
    name = "notes.txt" if change == "new" else "CHANGELOG.md"
    (checkout / name).write_text(CHANGES + "more\n", encoding="utf-8", newline="\n")
    if change == "staged":
        _git(checkout, "add", ".")
    (sentence,) = release.missing(checkout)
    assert sentence.startswith(f"not committed: {name}. ")


def test_everything_that_is_missing_is_said_at_once(checkout: Path) -> None:
    _commit(checkout, "", {"blender_manifest.toml": 'version = "2.0.0"\n'})
    (checkout / "notes.txt").touch()
    assert len(release.missing(checkout)) == 5


@pytest.mark.parametrize("text", [None, "version = ", 'id = "x"\n'])
def test_without_a_version_there_is_no_release(checkout: Path, text: str | None) -> None:
    manifest = checkout / "blender_manifest.toml"
    manifest.unlink() if text is None else manifest.write_text(text, encoding="utf-8")
    with pytest.raises(release.ReleaseError, match=r"blender_manifest\.toml says no version"):
        release.missing(checkout)
    assert release.main(["--check"], checkout) == 1


def test_a_folder_without_git_is_refused(tmp_path: Path) -> None:
    (tmp_path / "blender_manifest.toml").write_text(MANIFEST, encoding="utf-8")
    with pytest.raises(release.ReleaseError, match="no git checkout"):
        release.missing(tmp_path)


def test_this_checkout_says_what_it_lacks() -> None:
    said = "\n".join(release.missing(ROOT))
    manifest = (ROOT / "blender_manifest.toml").read_text(encoding="utf-8")
    assert ("maintainer" in said) == (release.PLACEHOLDER in manifest)
    assert ("website" in said) == ("\nwebsite" not in manifest)
    assert (ROOT / release.TESTS).is_file()


@pytest.mark.parametrize("fails", ["", "build_extension.py", "pytest"])
def test_what_is_released_was_built_and_tested_as_installed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fails: str
) -> None:
    tested: list[str] = []

    def run(root: Path, command: list[str], **variables: str) -> int:
        if fails and any(fails in word for word in command):
            return 1
        if "--output" in command:
            Path(command[-1], "quat_audit-1.2.3.zip").write_bytes(b"zip")
        else:
            assert Path(variables["QUAT_AUDIT_ZIP"]).read_bytes() == b"zip"
            tested.append(command[0])
        return 0

    monkeypatch.setattr(environment, "ensure", lambda wheel, dev: Path(wheel.bpy))
    monkeypatch.setattr(release, "_run", run)
    assert release.main(["--all"], checkout) == (1 if fails else 0)
    said = capsys.readouterr()
    if fails:
        assert not (checkout / "dist").exists()
        assert "release: the " in said.err
    else:
        assert tested == [wheel.bpy for wheel in environment.MATRIX]
        assert (checkout / "dist/quat_audit-1.2.3.zip").read_bytes() == b"zip"
        assert said.out.startswith("* New.\n") and "Old" not in said.out


def test_a_zip_that_the_tests_changed_is_not_released(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(root: Path, command: list[str], **variables: str) -> int:
        path = Path(variables.get("QUAT_AUDIT_ZIP", Path(command[-1], "quat_audit-1.2.3.zip")))
        path.write_bytes(b"other" if variables else b"zip")
        return 0

    monkeypatch.setattr(environment, "ensure", lambda wheel, dev: Path(wheel.bpy))
    monkeypatch.setattr(release, "_run", run)
    assert release.main([], checkout) == 1
    assert not (checkout / "dist").exists()
