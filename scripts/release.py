# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a release: say what is missing, or build the zip, validate it, and test it as installed.

    python3 scripts/release.py --check          what is missing, nothing is built
    python3 scripts/release.py                  dist/quat_audit-VERSION.zip, tested on the Blender that fits this Python
    python3 scripts/release.py --all            tested on every supported Blender

A release is a commit with the tag vVERSION, a section ## VERSION (YYYY-MM-DD) in CHANGELOG.md, and the same version in
blender_manifest.toml. The zip reaches dist/ when all tests have passed on exactly that file.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

import build_extension
import environment

# What the manifest says while nobody has given a person or an address.
PLACEHOLDER = "The quat_audit authors"
CHANGELOG = "CHANGELOG.md"
TESTS = "tests/blender/test_extension.py"


class ReleaseError(Exception):
    """The release cannot be made. The message says why."""


def missing(root: Path) -> list[str]:
    """What the checkout lacks for a release, each as a sentence that says what to do; [] when it is ready.

    Raises:
        ReleaseError: there is no git checkout, or no manifest.
    """
    try:
        manifest = tomllib.loads((root / build_extension.MANIFEST).read_text(encoding="utf-8"))
        version = str(manifest["version"])
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise ReleaseError(f"{build_extension.MANIFEST} says no version: {error}") from None
    found = [*_manifest_lacks(manifest), *_changelog_lacks(root, version)]
    changed = _git(root, "status", "--porcelain")
    if changed:
        listed = ", ".join(line[3:] for line in changed)
        found.append(f"not committed: {listed}. Commit it, ignore it, or move it away.")
    return found + _tag_lacks(_git(root, "tag", "--points-at", "HEAD"), f"v{version}")


def _manifest_lacks(manifest: dict[str, object]) -> list[str]:
    found = []
    if str(manifest.get("maintainer", "")).strip() in ("", PLACEHOLDER):
        found.append(
            f"maintainer in {build_extension.MANIFEST} is still {PLACEHOLDER!r}: name who answers for the release, "
            "with an address of theirs."
        )
    if not manifest.get("website"):
        found.append(f"website is left out of {build_extension.MANIFEST}: give the page that people report faults on.")
    return found


def _changelog_lacks(root: Path, version: str) -> list[str]:
    text = (root / CHANGELOG).read_text(encoding="utf-8") if (root / CHANGELOG).is_file() else ""
    newest = re.search(r"^## (.*)$", text, re.MULTILINE)
    if not newest or not section(text, version):
        return [f"{CHANGELOG} has no section for {version}, or an empty one: say what is new in ## {version} (DATE)."]
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", newest[1]):
        return [f"the first section of {CHANGELOG} is {newest[1]!r}: make it '{version} (YYYY-MM-DD)'."]
    return []


def _tag_lacks(tags: Sequence[str], wanted: str) -> list[str]:
    others = [tag for tag in tags if re.match(r"v\d", tag) and tag != wanted]
    if others:
        return [f"the commit has the tag {', '.join(others)}, and the manifest says {wanted}: make them agree."]
    if wanted not in tags:
        return [f"the commit has no tag {wanted}: run git tag --annotate {wanted} when all else is done."]
    return []


def section(changelog: str, version: str) -> str:
    """What the change log says of a version, without the heading; "" when there is nothing."""
    found = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def make(root: Path, output: Path, wheels: Sequence[environment.Wheel]) -> Path:
    """Build, validate and test; the zip in `output`. Nothing is put there unless every test passed.

    Raises:
        ReleaseError: the build or a test failed.
        SetupError: an environment cannot be made.
    """
    with tempfile.TemporaryDirectory(prefix="quat_audit_release_") as folder:
        builder = environment.ensure(wheels[0], dev=True)
        if _run(root, [str(builder), "scripts/build_extension.py", "--output", folder]):
            raise ReleaseError("the extension could not be built or is not valid, as said above")
        (made,) = Path(folder).glob("*.zip")
        before = _digest(made)
        for wheel in wheels:
            python = environment.ensure(wheel, dev=True)
            if _run(root, [str(python), "-m", "pytest", "-q", TESTS], QUAT_AUDIT_ZIP=str(made)):
                raise ReleaseError(f"the zip does not pass {TESTS} on Blender {wheel.name}")
        if _digest(made) != before:
            raise ReleaseError("the tests changed the zip")
        output.mkdir(parents=True, exist_ok=True)
        return Path(shutil.move(made, output / made.name))


def _run(root: Path, command: list[str], **variables: str) -> int:
    return subprocess.run(command, cwd=root, env=environment.clean_environment() | variables, check=False).returncode


def _git(root: Path, *arguments: str) -> list[str]:
    try:
        return build_extension._git(root, *arguments)
    except build_extension.BuildError as error:
        raise ReleaseError(str(error)) from None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main(arguments: list[str] | None = None, root: Path = environment.ROOT) -> int:
    parser = argparse.ArgumentParser(description="Say what a release lacks, or build and test it.")
    parser.add_argument("--check", action="store_true", help="say what is missing, build nothing")
    parser.add_argument("--all", action="store_true", help="test on " + environment.describe())
    parser.add_argument("--output", type=Path, default=root / "dist", metavar="DIR", help="default: dist/")
    options = parser.parse_args(arguments)
    try:
        lacks = missing(root)
        for sentence in lacks:
            print(f"release: {sentence}", file=sys.stderr)
        if lacks or options.check:
            print(f"release: {f'refused, {len(lacks)} missing' if lacks else 'nothing is missing'}", file=sys.stderr)
            return 1 if lacks else 0
        wheels = environment.MATRIX if options.all else (environment.fitting_wheel(),)
        made = make(root, options.output, wheels)
    except (ReleaseError, environment.SetupError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    version = made.stem.rpartition("-")[2]
    print(section((root / CHANGELOG).read_text(encoding="utf-8"), version))
    print(f"\n{made}\nsha256 {_digest(made)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
