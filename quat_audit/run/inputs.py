# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a person types (files, folders, globs) to the files to work on, in a fixed order."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import InputError
from .names import composed, one_file, spelling, within

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
        walked: it was found in a folder or by a pattern, not named itself.
        skipped: it is left out on purpose (for the reason), it did not fail.
    """

    path: Path
    root: Path
    reason: str = ""
    walked: bool = False
    skipped: bool = False


def expand(arguments: Sequence[str], *, exclude: Path | None = None) -> list[Input]:
    """The inputs that the arguments name, sorted by path, each once: two names of one file are one input.

    Parameters:
        arguments: files, folders (walked) or globs (``**`` goes through folders); ``~`` is the home folder.
        exclude: a folder left out of walks (the output folder of an earlier run).

    Raises:
        InputError: an argument is empty (a script's unset variable), which must not mean the current folder.
    """
    found: dict[str, Input] = {}
    spelled: dict[str, list[str]] = {}
    for argument in arguments:
        if not argument:
            raise InputError("a PATH is empty: name a file, a folder or a glob (. is the current folder)")
        for item in _expand_one(os.path.expanduser(argument), Path(os.path.realpath(exclude)) if exclude else None):
            key = _key(os.path.realpath(item.path), spelled)
            known = found.get(key)
            if known is None or _rank(item) < _rank(known):
                # Who names a file itself means it, under whatever name a folder holds it too.
                found[key] = replace(item, walked=item.walked and (known is None or known.walked))
            elif known.walked and not item.walked:
                found[key] = replace(known, walked=False)
    return sorted(found.values(), key=lambda item: str(item.path))


def _key(real: str, spelled: dict[str, list[str]]) -> str:
    """The first spelling of a resolved path that was met."""
    known = spelled.setdefault(spelling(real), [])
    for path in known:
        if one_file(Path(path), Path(real)):
            return path
    known.append(real)
    return real


def _rank(item: Input) -> tuple[bool, bool, bool, str]:
    """Of two inputs that are one file the lower stays: never a failure, rather the file's own name than a link."""
    is_link = os.path.abspath(item.path) != os.path.realpath(item.path)
    return bool(item.reason), is_link, ".." in item.path.parts, str(item.path)


def common_root(inputs: Sequence[Input]) -> Path:
    """The folder that all inputs lie below; InputError when there is none (two drives)."""
    roots = sorted({str(Path(os.path.abspath(item.root))) for item in inputs})
    try:
        return Path(os.path.commonpath(roots)) if roots else Path.cwd()
    except ValueError:
        raise InputError(f"{', '.join(roots)} have no common folder: run one at a time with --output-dir") from None


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
    matches = sorted(set(_matches(root, Path(pattern).parts[len(fixed) :])))
    if not matches:
        yield Input(Path(pattern), root, "no file matches this pattern")
    anything = False
    for path in matches:
        if os.path.isdir(path):
            # `**` also yields the folders themselves: their files match on their own.
            if "**" not in pattern:
                anything = True
                yield from (replace(item, root=root) for item in _walk(path, exclude))
        elif path.suffix.lower() in SUFFIXES:
            anything = True
            if not _inside(path, exclude):
                yield Input(path, root, walked=True)
    if matches and not anything:
        yield Input(Path(pattern), root, f"matches no file of a supported kind ({', '.join(SUFFIXES)})")


def _matches(base: Path, parts: Sequence[str]) -> Iterator[Path]:
    """What a pattern matches below a folder. Unlike `glob` it ends when links lead in a circle."""
    if not parts:
        yield base
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        for folder in _folders(base, set()):
            yield from _matches(folder, rest) if rest else (folder / name for name in _names(folder))
    elif glob.has_magic(part):
        for name in _names(base, hidden=part.startswith(".")):
            if fnmatch.fnmatch(composed(name), composed(part)):
                yield from _matches(base / name, rest)
    elif os.path.lexists(base / part):
        yield from _matches(base / part, rest)


def _folders(folder: Path, seen: set[str]) -> Iterator[Path]:
    """A folder and all below it, links followed, each real folder once (by its own name, if it has one here)."""
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    yield folder
    below = [folder / name for name in _names(folder)]
    for path in sorted((path for path in below if os.path.isdir(path)), key=lambda path: (path.is_symlink(), path)):
        yield from _folders(path, seen)


def _names(folder: Path, *, hidden: bool = False) -> list[str]:
    """The names in a folder, [] when it cannot be listed or is none; dot files only if asked for, as in a shell."""
    try:
        return sorted(name for name in os.listdir(folder) if hidden or not name.startswith("."))
    except OSError:
        return []


def _walk(folder: Path, exclude: Path | None) -> Iterator[Input]:
    errors: list[OSError] = []
    anything = False
    for here, folders, files in os.walk(folder, onerror=errors.append):
        folders[:] = sorted(f for f in folders if not _is(Path(here, f), exclude))
        for name in sorted(files):
            # Dot files are leftovers (macOS resource forks, a temporary file of a killed run), not animation.
            if Path(name).suffix.lower() in SUFFIXES and not name.startswith("."):
                anything = True
                yield Input(Path(here, name), folder, walked=True)
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
    return exclude is not None and one_file(Path(os.path.realpath(path)), exclude)


def _inside(path: Path, exclude: Path | None) -> bool:
    return exclude is not None and within(Path(os.path.realpath(path)), exclude)


def _why(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)
