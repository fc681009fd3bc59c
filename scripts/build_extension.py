# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the extension: dist/quat_audit-VERSION.zip, checked by Blender's own validator.

    python3 scripts/build_extension.py                  from a clean checkout
    python3 scripts/build_extension.py --allow-dirty    what lies there now, for trying it out
    python3 scripts/build_extension.py --output DIR

Install it in Blender by Edit ▸ Preferences ▸ Get Extensions ▸ Install from Disk, or by dropping it on the window.
The same sources give the same bytes. A Blender is not needed: the builder comes with the bpy wheel.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path

import blender_tool
import docs_html
import environment

PACKAGE = "quat_audit"
DOCS = "docs"
SCHEMA = ".schema.json"
README = "README.md"
MANIFEST = "blender_manifest.toml"
# What lies beside the package in the zip.
BESIDE = (MANIFEST, "LICENSE", README)
# The earliest time that a zip can hold: times of a checkout say when it was made, not what is in it.
EPOCH = (1980, 1, 1, 0, 0, 0)


class BuildError(Exception):
    """The extension cannot be built. The message says what to do."""


def sources(root: Path, allow_dirty: bool) -> list[str]:
    """Files of the package and its documentation, as paths from the root; BuildError unless they are committed."""
    changed = _git(root, "status", "--porcelain", "--", PACKAGE, DOCS, *BESIDE)
    if changed and not allow_dirty:
        raise BuildError(
            "the checkout differs from what is committed:\n  "
            + "\n  ".join(changed)
            + "\nCommit or stash that, or build with --allow-dirty to try it out."
        )
    # What git ignores (caches) never comes along; what is new and not ignored does, when that is allowed.
    listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard", "--", PACKAGE, DOCS)
    return sorted({line for line in listed if (root / line).is_file()})


def _git(root: Path, *arguments: str) -> list[str]:
    command = ["git", "-c", "core.quotePath=false", "-C", str(root), *arguments]
    try:
        run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    except FileNotFoundError:
        raise BuildError("git is not installed: it says which files belong to the package") from None
    if run.returncode:
        raise BuildError(
            f"{root} is no git checkout ({run.stderr.strip()}): git says which files belong to the package"
        )
    return [line for line in run.stdout.splitlines() if line]


def stage(root: Path, names: list[str], folder: Path) -> list[str]:
    """Copy the package and what lies beside it into one folder, as the builder needs it; the names in the zip.

    The documentation becomes HTML, which a browser shows without a network; the schemas stay beside it.
    """
    staged: dict[str, str] = {}
    for name in [*BESIDE, *names]:
        source = root / name
        if source.is_symlink():
            raise BuildError(f"{name} is a symbolic link: Blender's builder would leave it out")
        if name.startswith(f"{DOCS}/") and not name.endswith(SCHEMA):
            page = docs_html.page(source, root / DOCS)
            if page:
                inside, content = f"{DOCS}/{page[0]}", page[1]
                (folder / inside).parent.mkdir(parents=True, exist_ok=True)
                (folder / inside).write_bytes(content)
                staged[name] = inside
            continue
        inside = name.removeprefix(f"{PACKAGE}/")
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        staged[name] = inside
    readme = folder / README
    readme.write_bytes(with_links_inside(readme.read_text(encoding="utf-8"), staged).encode())
    return sorted(staged.values())


def with_links_inside(text: str, inside: Mapping[str, str]) -> str:
    """A page of the checkout's top with its links led to what is in the zip; the others become plain words.

    Args:
        text: Markdown.
        inside: path in the checkout → path in the zip.
    """

    def led(match: re.Match[str]) -> str:
        words, path, anchor = match["words"], match["path"], match["anchor"] or ""
        if "://" in path or not path:
            return match[0]
        return f"[{words}]({inside[path]}{anchor})" if path in inside else words

    return re.sub(r"\[(?P<words>[^\]]*)\]\((?P<path>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)", led, text)


def build(root: Path, output: Path, *, allow_dirty: bool = False) -> Path:
    """Stage, build, make it reproducible, compare with what was staged, validate; the zip in `output`.

    Raises:
        BuildError: with what to do about it. Nothing is left in `output` then.
    """
    manifest = tomllib.loads((root / MANIFEST).read_text(encoding="utf-8"))
    names = sources(root, allow_dirty)
    with tempfile.TemporaryDirectory(prefix="quat_audit_build_") as temporary:
        staged = stage(root, names, Path(temporary) / "staged")
        built = Path(temporary) / "built.zip"
        _blender("build", "--source-dir", str(Path(temporary) / "staged"), "--output-filepath", str(built))
        finished = Path(temporary) / f"{manifest['id']}-{manifest['version']}.zip"
        _reproducible(built, finished)
        check_names(finished, staged)
        _blender("validate", "--valid-tags", str(blender_tool.tags()), str(finished))
        output.mkdir(parents=True, exist_ok=True)
        # Moved when everything holds: what lies in dist/ is valid.
        return Path(shutil.move(finished, output / finished.name))


def _blender(*arguments: str) -> None:
    command = [sys.executable, "-X", "utf8", "-B", str(blender_tool.builder()), *arguments]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    said = (run.stdout + run.stderr).strip()
    # It has been seen to report errors and return 0.
    if run.returncode or "FATAL_ERROR" in said or "Error in" in said:
        raise BuildError(f"Blender's extension tool refuses to {arguments[0]}:\n{said}")


def _reproducible(built: Path, finished: Path) -> None:
    """Write the archive again: sorted, without the times of this machine and without its file modes."""
    with zipfile.ZipFile(built) as old, zipfile.ZipFile(finished, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
        for name in sorted(old.namelist()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.create_system = 3
            new.writestr(entry, old.read(name), zipfile.ZIP_DEFLATED, 9)


def check_names(archive: Path, expected: list[str]) -> None:
    """BuildError unless the zip holds exactly what was staged, and nothing that has no business there."""
    with zipfile.ZipFile(archive) as opened:
        inside = opened.namelist()
    if sorted(inside) != expected:
        difference = sorted(set(inside) ^ set(expected)) or "the same name twice"
        raise BuildError(f"the zip is not what was staged: {difference}")
    strangers = [name for name in inside if _is_stranger(name)]
    if strangers:
        raise BuildError(f"no part of an extension: {', '.join(strangers)}. Remove it from {PACKAGE}/.")


def _is_stranger(name: str) -> bool:
    parts = name.split("/")
    hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
    foreign = parts[0] in ("tests", "scripts", "examples", "dist")
    test = parts[-1].startswith(("test_", "conftest"))
    return hidden or foreign or test or name.endswith((".pyc", ".pyo", ".orig", ".rej", ".bak", "~", ".blend1", ".zip"))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Build and validate the extension.")
    parser.add_argument("--output", type=Path, default=environment.ROOT / "dist", metavar="DIR", help="default: dist/")
    parser.add_argument("--allow-dirty", action="store_true", help="build what is not committed, too")
    options = parser.parse_args(arguments)
    try:
        if not blender_tool.available() or importlib.util.find_spec("markdown_it") is None:
            # Another Python has the wheel and what makes the pages: the same script, run there.
            python = environment.ensure(environment.fitting_wheel(), dev=True)
            command = [str(python), __file__, *(sys.argv[1:] if arguments is None else arguments)]
            return subprocess.run(command, env=environment.clean_environment(), check=False).returncode
        made = build(environment.ROOT, options.output, allow_dirty=options.allow_dirty)
    except (BuildError, environment.SetupError) as error:
        print(f"build_extension: {error}", file=sys.stderr)
        return 1
    print(f"{made}  ({made.stat().st_size:,} bytes)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
