# SPDX-License-Identifier: GPL-3.0-or-later
"""Put finished files in their place, so that no moment exists in which something is lost.

Everything is first written beside its target, on the same file system, and then renamed: a killed run
leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..errors import InputError
from .names import one_file, spelling

TEMPORARY = ".quat_audit-"
# Of a path on Windows, unless long paths were turned on; the names of files being made are a little longer.
MOST_CHARACTERS = 259 - len(TEMPORARY) - 10


@dataclass(frozen=True)
class Target:
    """Where the result of one file goes.

    Attributes:
        path: the file to write.
        inside: nothing is written outside this folder (an output folder).
        backup: an existing file is kept under another name (repair in place).
        keep: the result is thrown away after it was checked (a dry run).
    """

    path: Path
    inside: Path
    backup: bool = False
    keep: bool = True


@dataclass(frozen=True)
class Staged:
    """One finished file: where it lies now, and its name relative to the main file's folder ("": the main file)."""

    path: Path
    name: str


@dataclass
class Publisher:
    """Publishes the files of one run and remembers them: two inputs may share a buffer file.

    Attributes:
        sources: resolved paths that must never be overwritten except by their own repair in place.
        written: resolved path → whether it was changed by a repair (or only copied along).
        begun: the files whose turn it was to be moved to their place, whether they got there or not.
    """

    sources: frozenset[Path] = frozenset()
    written: dict[Path, bool] = field(default_factory=dict)
    begun: list[Path] = field(default_factory=list)
    _sources_by_spelling: dict[str, list[Path]] = field(default_factory=dict, init=False, repr=False)
    _written_by_spelling: dict[str, list[Path]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for source in self.sources:
            self._sources_by_spelling.setdefault(spelling(source), []).append(source)

    def publish(self, target: Target, changed: Sequence[Staged], copies: Sequence[Staged]) -> str:
        """Move the files to their place, the main file last. Returns the backup's path, "" without one.

        Raises:
            InputError: a file would be written outside the folder, over a source, or over another result.
        """
        moves: list[tuple[Path, Path, bool]] = []
        for staged, is_change in [*((s, True) for s in changed), *((s, False) for s in copies)]:
            final = self.final_path(target, staged.name)
            if target.backup and _same_bytes(staged.path, final):
                continue  # a file that did not change is not touched
            if self.written.get(final) and not _same_bytes(staged.path, final):
                if not is_change:
                    continue  # the other file's repair of it stays
                raise InputError(
                    f"{final} was already written for another file of this run, with other repairs; "
                    "repair the files that share it one at a time"
                )
            moves.append((staged.path, final, is_change))
        backups: list[tuple[Path, Path]] = []
        try:
            # A main file names places in its side files: a new one must never stand beside old ones.
            main = self.final_path(target, "")
            for source, final, is_change in sorted(moves, key=lambda move: move[1] == main):
                self.begun.append(final)
                final.parent.mkdir(parents=True, exist_ok=True)
                if target.backup and final.exists():
                    shutil.copymode(final, source)
                    backups.append((_set_aside(final), final))
                os.replace(source, final)
                if final not in self.written:
                    self._written_by_spelling.setdefault(spelling(final), []).append(final)
                self.written[final] = self.written.get(final, False) or is_change
        except OSError:
            # Windows replaces no file that a program has open: what was there gets its own name back.
            for aside, final in reversed(backups):
                _put_back(aside, final)
                self.written.pop(final, None)
            raise
        return str(backups[-1][0]) if backups else ""

    def final_path(self, target: Target, name: str) -> Path:
        """The resolved path that a file of the result gets; InputError when it must not be written."""
        relative = PurePosixPath(name) if name else target.path.name
        final = self._as_written(Path(os.path.normpath(target.path.parent.resolve() / relative)))
        if target.backup:
            return final
        if not final.is_relative_to(target.inside.resolve()):
            raise InputError(f"refers to {name}, outside the folder given: name the folder that holds both")
        resolved = final.resolve()
        if any(one_file(resolved, source) for source in self._sources_by_spelling.get(spelling(resolved), ())):
            raise InputError(
                f"the result {final} would overwrite a source of this run, {resolved}: choose another --output-dir"
            )
        return final

    def _as_written(self, final: Path) -> Path:
        """The path, as this run spelled it before if it did."""
        alike = self._written_by_spelling.get(spelling(final), ())
        return next((path for path in alike if one_file(path, final)), final)


@contextmanager
def staging(target: Target, names: Sequence[str], *, beside: bool = False) -> Iterator[tuple[Path, str]]:
    """A folder on the target's file system to write the files `names` into, and the main file's name in it.

    It is gone afterwards. It is as deep as the names climb (``../textures/a.png``), so that they stay in it.

    Parameters:
        beside: the folder is the target's own and the name a temporary one, for a file whose relative paths
            are worked out when it is saved.

    Raises:
        InputError: the target's folder cannot be written.
    """
    parent = target.path.parent if target.keep else None
    with _writable(target.path.parent):
        if parent is not None:
            parent.mkdir(parents=True, exist_ok=True)
        top = _new_folder(parent or Path(tempfile.gettempdir()))
    # Not longer than it must be: a name has 255 bytes at the most, and Windows' paths often 259 characters.
    temporary = top.with_name(top.name + target.path.suffix)
    try:
        if beside and parent is not None:
            yield parent, temporary.name
        else:
            climb = max((PurePosixPath(name).parts.count("..") for name in names), default=0)
            folder = top.joinpath(*["d"] * climb)
            folder.mkdir(parents=True, exist_ok=True)
            yield folder, target.path.name
    except OSError as error:
        raise InputError(f"cannot write {target.path}: {_why(error, target.path)}") from error
    except InputError as error:
        # A person knows the name of the result, not the one that it had while it was made.
        said = str(error).replace(str(temporary), str(target.path)).replace(str(top), str(target.path.parent))
        raise InputError(said) from error
    finally:
        for path in (temporary, temporary.with_name(f"{temporary.name}@")):  # Blender's own, of a save that failed
            path.unlink(missing_ok=True)
        _remove(top)


def _new_folder(parent: Path) -> Path:
    """A folder for unfinished files, which others cannot look into where that is a matter of its mode."""
    while True:
        folder = parent / f"{TEMPORARY}{secrets.token_hex(4)}"
        try:
            # On Windows 0o700 (and `mkdtemp`, from Python 3.12.4 on) would keep others out of the files for good: they
            # take their permissions along when they are moved.
            os.mkdir(folder, 0o777 if os.name == "nt" else 0o700)
        except FileExistsError:
            continue
        return folder


def _remove(folder: Path) -> None:
    if os.name == "nt":  # which removes no read-only file
        for path in folder.rglob("*"):
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


def write_whole(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Write a file whole or not at all, from its bytes or its parts. A pipe or device is written as it is.

    Raises:
        InputError: it cannot be written.
    """
    given = (data,) if isinstance(data, bytes) else data
    with _writable(path):
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                stream.writelines(given)
            return
        final = path.resolve()
        handle, name = tempfile.mkstemp(prefix=TEMPORARY, dir=final.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.writelines(given)
            if final.exists():
                shutil.copymode(final, name)
            else:
                os.chmod(name, 0o666 & ~_umask())
            os.replace(name, final)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise


def check_writable(path: Path) -> None:
    """Raise InputError when a file could not be written there (before hours of work, not after)."""
    if path.is_dir():
        raise InputError(f"cannot write {path}: it is a folder; name a file in it")
    if not path.parent.is_dir():
        raise InputError(f"cannot write {path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path.parent, os.W_OK) and not (path.exists() and os.access(path, os.W_OK)):
        raise InputError(f"cannot write {path}: no permission to write into {path.parent}")


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot write {path}: {_why(error, path)}") from None


def _why(error: OSError, path: Path, *, windows: bool = os.name == "nt") -> str:
    """The reason in the system's words, and what usually stands behind it on Windows."""
    said = error.strerror or str(error)
    if windows and isinstance(error, PermissionError):
        return f"{said}: close the program that has it open, or take off its write protection"
    if windows and isinstance(error, FileNotFoundError) and len(os.path.abspath(path)) > MOST_CHARACTERS:
        return f"{said}: its path is longer than {MOST_CHARACTERS} characters, use a folder with a shorter one"
    return said


def _set_aside(path: Path) -> Path:
    """Give a file a second name, ``name.ext.bak`` (numbered when taken), and return it."""
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.bak{number or ''}")
        number += 1
        if os.path.lexists(backup):
            continue
        try:
            # A link leaves no moment in which the name is gone.
            os.link(path, backup)
        except FileExistsError:
            continue
        except OSError:
            os.rename(path, backup)  # a file system without links
        return backup


def _put_back(backup: Path, path: Path) -> None:
    """Undo `_set_aside`. What cannot be put back stays as the backup, so nothing is lost."""
    with suppress(OSError):
        if path.exists() and os.path.samefile(backup, path):
            backup.unlink()  # two names of one file: renaming one to the other would do nothing
        else:
            os.replace(backup, path)


def _same_bytes(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def _umask() -> int:
    # There is no way to read it without setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
