# SPDX-License-Identifier: GPL-3.0-or-later
"""Open, import and save files headless. Scripts in them never run; what Blender prints goes to the log."""

from __future__ import annotations

import ctypes
import errno
import gc
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import bpy

from ..errors import InputError
from ..files import blend
from . import compat, playback

log = logging.getLogger(__name__)

# An empty .blend takes about as much.
LEAST_FREE_BYTES = 2**19
_GLTF_SUFFIXES, _GLTF_BLANK = (".glb", ".gltf", ".vrm", ".vrma"), b"\xef\xbb\xbf \t\r\n"
IMPORTED = (".fbx", *_GLTF_SUFFIXES, ".bvh")


def open_blend(path: Path) -> str:
    """Open a .blend file, scripts disabled.

    Returns what Blender complains about although the file is open (a library that is damaged), "" when of nothing.

    Raises: InputError: it is missing, empty, no .blend, damaged, saved by a newer Blender, or before 2.50 and this one
    does not load such animation.
    """
    magic = _magic(path)
    if not magic.startswith((blend.GZIP, blend.ZSTD, blend.PLAIN)):
        raise InputError(f"{path}: not a Blender file (it starts with {magic[:8]!r}); check what it really is")
    # Before it is opened: what is that old may not open at all, with a reason that helps nobody.
    _refuse_too_old(path, blend.version(path))
    complaint = ""
    forget()
    with _loaded() as loaded:
        try:
            with quiet():
                bpy.ops.wm.open_mainfile(filepath=str(path.absolute()), load_ui=False, use_scripts=False)
        except RuntimeError as error:
            # Python raises for every report of an error, also of an operator that did its work.
            if not loaded:
                raise InputError(f"{path}: {_why_unreadable(str(error))}") from error
            complaint = _errors(str(error))
    saved_by, here = (int(bpy.data.version[0]), int(bpy.data.version[1])), bpy.app.version[:2]
    _refuse_too_old(path, saved_by)
    if saved_by > here:
        # Newer actions may arrive with their keys missing: an audit of that would pass what it never saw.
        new_file()
        raise InputError(
            f"{path}: saved by Blender {saved_by[0]}.{saved_by[1]}, which {here[0]}.{here[1]} cannot read in full; "
            f"run the audit with Blender {saved_by[0]}.{saved_by[1]} or newer"
        )
    return complaint


def _refuse_too_old(path: Path, saved_by: tuple[int, int] | None) -> None:
    """Raise InputError for a file whose animation would not arrive: an empty file must not pass for a clean one."""
    if saved_by is not None and compat.drops_animation_of(saved_by):
        new_file()
        raise InputError(
            f"{path}: saved by Blender {saved_by[0]}.{saved_by[1]:02d}, before 2.50: its animation is not loaded: "
            "open and save it with Blender 4.5"
        )


@contextmanager
def _loaded() -> Iterator[list[str]]:
    """Collect the files that Blender has loaded to the end, which its operator's errors do not tell."""
    paths: list[str] = []

    @bpy.app.handlers.persistent
    def note(*given: Any) -> None:
        paths.append(str(given[0]))

    bpy.app.handlers.load_post.append(note)
    try:
        yield paths
    finally:
        bpy.app.handlers.load_post.remove(note)  # one that is left makes Blender hang at its end


def _why_unreadable(error: str) -> str:
    """What Blender's complaint about a file means that does begin like a .blend."""
    again = "fetch the file again or open a backup (.blend1)"
    if "not a blend file" in error:  # 5.0 made the header longer, which older versions do not know
        return f"damaged, or saved by Blender 5.0 or newer; open it with the version that saved it, or {again}"
    if any(sign in error for sign in ("Missing DNA", "not supported", "incomplete header")):
        # The block that describes the data is the last but one in a file: what is cut short lacks it.
        return f"cut short or damaged; {again}"
    return f"cannot be read: {_reason(error)}; {again}"


def import_file(path: Path) -> None:
    """Import a .fbx, .glb, .gltf, .vrm, .vrma or .bvh into an empty file, with the importer that Blender ships.

    The scene then has the range of what plays: no importer sets it, and the 1 to 250 of an empty file mean nothing.

    Raises: InputError: it is missing, empty, of another kind, or the importer gave up.
    """
    suffix = path.suffix.lower()
    magic = _magic(path)
    if suffix not in IMPORTED:
        raise InputError(
            f"{path}: no importer for {suffix or 'a file without suffix'}; give one of {', '.join(IMPORTED)}"
        )
    if suffix == ".fbx" and not magic.startswith(b"Kaydara FBX Binary") and not _new_fbx():
        raise InputError(f"{path}: an ASCII FBX, which this Blender cannot read; convert it to binary FBX 7.4 or newer")
    if suffix in _GLTF_SUFFIXES and not (magic.lstrip(_GLTF_BLANK) or b"{").startswith((b"glTF", b"{")):
        # The importer would read all of it first, however large it is.
        raise InputError(f"{path}: not a glTF file (it starts with {magic[:8]!r}); check what it really is")
    new_file()
    importer = _importer(suffix)
    try:
        with quiet() as said:
            result = importer(filepath=str(path.absolute()))
    except Exception as error:  # an importer written in Python may raise anything on a bad file
        raise InputError(f"{path}: {_why_not_imported(str(error))}") from error
    if "FINISHED" not in result:
        raise InputError(f"{path}: Blender's importer gave up: {_reason(said())}")
    span = playback.played_range(bpy.data.objects)
    if span is not None:
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = (max(frame, 0) for frame in span)


def preserve_volume() -> None:
    """Have every Armature modifier of the open file deform by dual quaternions."""
    for modifier in (modifier for obj in bpy.data.objects for modifier in obj.modifiers):
        if modifier.type == "ARMATURE":
            modifier.use_deform_preserve_volume = True


def _why_not_imported(error: str) -> str:
    if "draco" in error.lower():
        # The wheel comes without the decoder of the full Blender.
        return (
            "its meshes are compressed by Draco, which this Blender cannot decode; run inside Blender "
            "(`blender --command quat_audit`), or export it without compression"
        )
    return f"Blender's importer failed: {_reason(error)}; export or fetch the file again"


def save_blend(path: Path, *, compress: bool) -> str:
    """Save a copy of the open file; paths in it are kept right when it goes into another folder.

    Returns what Blender complains about although the file is written (an image that it cannot pack), "" when of
    nothing.

    Raises: InputError: it cannot be written there.
    """
    before = _identity(path)
    try:
        with quiet():
            bpy.ops.wm.save_as_mainfile(
                filepath=str(path.absolute()), copy=True, compress=compress, relative_remap=True, check_existing=False
            )
    except RuntimeError as error:
        # As on opening. Blender writes beside the path, and renames what is whole.
        if _identity(path) in (None, before) or not _magic(path).startswith((blend.GZIP, blend.ZSTD, blend.PLAIN)):
            raise InputError(f"{path}: cannot be written: {_why_unwritten(path, str(error))}") from error
        return _errors(str(error))
    return ""


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What tells a file from another one that had its name; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _why_unwritten(path: Path, error: str) -> str:
    # On a full disk Blender reports the errno of what it does next: taking its unfinished file away.
    opened = Path(bpy.data.filepath)
    needed = opened.stat().st_size if bpy.data.filepath and opened.is_file() else 0
    if path.parent.is_dir() and shutil.disk_usage(path.parent).free < max(needed, LEAST_FREE_BYTES):
        return os.strerror(errno.ENOSPC)
    return _reason(error)


def is_compressed(path: Path) -> bool:
    """Whether a .blend file is compressed: zstd since 3.0, gzip before."""
    return _magic(path).startswith((blend.GZIP, blend.ZSTD))


def new_file() -> None:
    """An empty file of factory settings."""
    forget()
    with quiet():
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def forget() -> None:
    """Let Python's garbage go while what it points to is still there.

    What refers to Blender's data in a circle is only collected now and then. After the file is gone that can crash
    Blender: seen on 4.2, in the midst of an import into the next file.
    """
    gc.collect()


@contextmanager
def quiet() -> Iterator[Callable[[], str]]:
    """Keep what Blender and its importers print out of the report; yields what gives the text so far.

    By file descriptor, because C code writes past `sys.stdout`. The text goes to the log at the end.
    """
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as sink:

        def said() -> str:
            _flush(sink)
            sink.seek(0)
            return sink.read()

        _flush(sys.stdout, sys.stderr)
        saved = [os.dup(number) for number in (1, 2)]
        for number in (1, 2):
            os.dup2(sink.fileno(), number)
        try:
            # Importers write by Python, to what may be no file at all (a test's, a notebook's).
            with redirect_stdout(sink), redirect_stderr(sink):
                yield said
        finally:
            text = said().strip()
            for number, original in zip((1, 2), saved, strict=True):
                os.dup2(original, number)
                os.close(original)
            if text:
                log.debug("Blender: %s", text)


def _flush(*streams: TextIO | None) -> None:
    for stream in streams:
        if stream is not None:  # as under pythonw
            stream.flush()
    # C keeps a buffer of its own, which would otherwise come out after stdout is put back.
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            magic = file.read(32)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; check the path") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; check its permissions") from error
    if not magic:
        raise InputError(f"{path}: the file is empty (0 bytes); fetch it again")
    return magic


def _new_fbx() -> bool:
    # 4.5 brought the importer in C++ (ufbx), which reads ASCII too.
    return compat.has_operator("wm", "fbx_import")


def _importer(suffix: str) -> Callable[..., Any]:
    if suffix == ".bvh":
        compat.enable_addon("io_anim_bvh")
        return bpy.ops.import_anim.bvh
    if suffix == ".fbx":
        if _new_fbx():
            return bpy.ops.wm.fbx_import
        compat.enable_addon("io_scene_fbx")
        return bpy.ops.import_scene.fbx
    compat.enable_addon("io_scene_gltf2")
    return bpy.ops.import_scene.gltf


def _reason(text: str) -> str:
    """The line that tells most: the last one of a traceback, without what Blender puts around it."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("Location:")]
    return lines[-1].removeprefix("Error: ") if lines else "it gives no reason"


def _errors(text: str) -> str:
    """All errors of a report, without what Blender puts around them."""
    lines = [line.strip().removeprefix("Error: ") for line in text.splitlines()]
    return "; ".join(line for line in lines if line and not line.startswith("Location:")) or "it gives no reason"
