# SPDX-License-Identifier: GPL-3.0-or-later
"""Put finished files in their place, so that no moment exists in which something is lost.

Everything is first written beside its target, on the same file system, and then renamed: a killed run
leaves the old file or the new one, never half of one.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ..errors import InputError

TEMPORARY = ".quat_audit-"


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

    def publish(self, target: Target, changed: Sequence[Staged], copies: Sequence[Staged]) -> str:
        """Move the files to their place, the main file last. Returns the backup's path, "" without one.

        Raises:
            InputError: a file would be written outside the folder, over a source, or over another result.
        """
        moves: list[tuple[Path, Path, bool]] = []
        for staged, is_change in [*((s, True) for s in changed), *((s, False) for s in copies)]:
            final = self.place(target, staged.name)
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
        backup = ""
        # A main file names places in its side files: a new one must never stand beside old ones.
        main = self.place(target, "")
        for source, final, is_change in sorted(moves, key=lambda move: move[1] == main):
            self.begun.append(final)
            final.parent.mkdir(parents=True, exist_ok=True)
            if target.backup and final.exists():
                shutil.copymode(final, source)
                backup = str(_set_aside(final))
            os.replace(source, final)
            self.written[final] = self.written.get(final, False) or is_change
        return backup

    def place(self, target: Target, name: str) -> Path:
        """The resolved path that a file of the result gets; InputError when it must not be written."""
        relative = PurePosixPath(name) if name else target.path.name
        final = Path(os.path.normpath(target.path.parent.resolve() / relative))
        if target.backup:
            return final
        if not final.is_relative_to(target.inside.resolve()):
            raise InputError(f"refers to {name}, outside the folder given: name the folder that holds both")
        if final.resolve() in self.sources:
            raise InputError(
                f"the result {final} would overwrite a source of this run, {final.resolve()}: "
                "choose another --output-dir"
            )
        return final


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
        top = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
    temporary = top.with_name(f"{top.name}-{target.path.name}")
    try:
        if beside and parent is not None:
            yield parent, temporary.name
        else:
            climb = max((PurePosixPath(name).parts.count("..") for name in names), default=0)
            folder = top.joinpath(*["d"] * climb)
            folder.mkdir(parents=True, exist_ok=True)
            yield folder, target.path.name
    except OSError as error:
        raise InputError(f"cannot write {target.path}: {error.strerror or error}") from error
    except InputError as error:
        # A person knows the name of the result, not the one that it had while it was made.
        said = str(error).replace(str(temporary), str(target.path)).replace(str(top), str(target.path.parent))
        raise InputError(said) from error
    finally:
        for path in (temporary, temporary.with_name(f"{temporary.name}@")):  # Blender's own, of a save that failed
            path.unlink(missing_ok=True)
        shutil.rmtree(top, ignore_errors=True)


def write_whole(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. A pipe or device is written as it is.

    Raises:
        InputError: it cannot be written.
    """
    with _writable(path):
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        final = path.resolve()
        handle, name = tempfile.mkstemp(prefix=TEMPORARY, dir=final.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
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
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


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


def _same_bytes(one: Path, other: Path) -> bool:
    return other.is_file() and one.read_bytes() == other.read_bytes()


def _umask() -> int:
    # There is no way to read it without setting it.
    mask = os.umask(0)
    os.umask(mask)
    return mask
