# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a person types (files, folders, globs) to the files to work on, in a fixed order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

BYTES_SUFFIXES = (".glb", ".gltf", ".vrm", ".vrma", ".bvh")
BLENDER_SUFFIXES = (".blend", ".fbx")
SUFFIXES = BYTES_SUFFIXES + BLENDER_SUFFIXES


@dataclass(frozen=True)
class Input:
    """One file to work on, or (with a reason) something that cannot be.

    Attributes:
        path: as it will be reported.
        root: the folder that the argument named; output folders keep the tree below it.
        reason: why it cannot be worked on; "" when it can.
    """

    path: Path
    root: Path
    reason: str = ""


def expand(arguments: Sequence[str], *, exclude: Path | None = None) -> list[Input]:
    """The inputs that the arguments name, sorted by path, each once.

    Parameters:
        arguments: files, folders (walked) or globs (``**`` goes through folders).
        exclude: a folder left out of walks (the output folder of an earlier run).
    """
    found: dict[str, Input] = {}
    for argument in arguments:
        for item in _expand_one(argument, exclude.resolve() if exclude else None):
            # An earlier argument wins, but never a failure over a file that can be read.
            known = found.get(str(item.path))
            if known is None or (known.reason and not item.reason):
                found[str(item.path)] = item
    return [found[key] for key in sorted(found)]


def common_root(inputs: Sequence[Input]) -> Path:
    """The folder that all inputs lie below; ValueError when there is none (two drives)."""
    roots = sorted({str(Path(os.path.abspath(item.root))) for item in inputs})
    try:
        return Path(os.path.commonpath(roots)) if roots else Path.cwd()
    except ValueError:
        raise ValueError(f"{', '.join(roots)} have no common folder: run one at a time with --output-dir") from None


def _expand_one(argument: str, exclude: Path | None) -> Iterator[Input]:
    path = Path(argument)
    try:
        is_dir, exists = path.is_dir(), os.path.lexists(path)
    except (OSError, ValueError) as error:
        yield Input(path, path.parent, f"cannot be looked at: {_why(error)}")
        return
    if is_dir:
        yield from _walk(path, exclude)
    elif exists:
        yield Input(path, path.parent, _unsupported(path))
    elif glob.has_magic(argument):
        yield from _glob(argument, exclude)
    else:
        yield Input(path, path.parent, "no such file or folder: check the path")


def _glob(pattern: str, exclude: Path | None) -> Iterator[Input]:
    fixed = []
    for part in Path(pattern).parts:
        if glob.has_magic(part):
            break
        fixed.append(part)
    root = Path(*fixed)
    matches = sorted(glob.glob(pattern, recursive=True))
    if not matches:
        yield Input(Path(pattern), root, "no file matches this pattern")
    anything = False
    for match in matches:
        path = Path(match)
        if path.is_dir():
            # `**` also yields the folders themselves: their files match on their own.
            if "**" not in pattern:
                anything = True
                yield from (Input(item.path, root, item.reason) for item in _walk(path, exclude))
        elif path.suffix.lower() in SUFFIXES:
            anything = True
            if not _inside(path, exclude):
                yield Input(path, root)
    if matches and not anything:
        yield Input(Path(pattern), root, f"matches no file of a supported kind ({', '.join(SUFFIXES)})")


def _walk(folder: Path, exclude: Path | None) -> Iterator[Input]:
    errors: list[OSError] = []
    anything = False
    for here, folders, files in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(f for f in folders if not _is(Path(here, f), exclude))
        for name in sorted(files):
            # Dot files are leftovers (macOS resource forks, a temporary file of a killed run), not animation.
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith("."):
                anything = True
                yield Input(Path(here, name), folder)
    for error in errors:
        yield Input(Path(error.filename or folder), folder, f"the folder cannot be listed: {_why(error)}")
    if not anything and not errors:
        yield Input(folder, folder, f"the folder holds no file of a supported kind ({', '.join(SUFFIXES)})")


def _unsupported(path: Path) -> str:
    if path.suffix.lower() in SUFFIXES:
        return ""
    what = f"a {path.suffix} file" if path.suffix else "a file without a suffix"
    return f"{what} is not supported: {', '.join(SUFFIXES)} are"


def _is(path: Path, exclude: Path | None) -> bool:
    return exclude is not None and path.resolve() == exclude


def _inside(path: Path, exclude: Path | None) -> bool:
    return exclude is not None and path.resolve().is_relative_to(exclude)


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
