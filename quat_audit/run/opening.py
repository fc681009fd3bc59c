# SPDX-License-Identifier: GPL-3.0-or-later
"""Open a path by its bytes or through Blender, and give both the same shape.

Nothing here imports bpy until a file needs it.
"""

from __future__ import annotations

import importlib.util
import shutil
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, get_args

from ..audit.settings import Via
from ..errors import InputError
from ..files import fbx
from ..files.bvh import reading as bvh
from ..files.gltf import reading as gltf
from ..files.raw_file import RawFile, Unwritten
from ..findings.report import HandleChange, ReadVia, merge_handle_changes
from ..motion.clip import Clip
from ..skinning.skin import PosedSkin, Skin
from ..text import Text
from .inputs import BLENDER_SUFFIXES, BYTES_SUFFIXES, SUFFIXES
from .publish import Staged

AUTO: Final = "auto"
BYTES: Final = "bytes"
BLENDER: Final = "blender"
VIA: Final[tuple[Via, ...]] = get_args(Via)

_ALL_DUAL_QUATERNIONS = (
    "the file asks for dual quaternions, which Blender's importer does not read: Preserve Volume was switched on"
)
_SOME_DUAL_QUATERNIONS = (
    "the file asks for dual quaternions on some skins or vertices, which Blender's importer does not read: looked at "
    "as imported, by LBS"
)

_DROPPED = (
    "nobody uses its action, so Blender drops it when it saves the file: give it a fake user, or assign it to an object"
)

# The wheel to name when bpy is missing: the LTS that fits the interpreter.
WHEELS = {(3, 11): "4.5.15", (3, 13): "5.2.3"}


@dataclass(frozen=True, eq=False)
class Saved:
    """Files that were written to a folder: changed by the repair, and copied along so that they work.

    ``libraries`` are files that the main one links and that stay where they are; ``dropped`` are the actions that
    Blender did not save; ``handle_types`` are those that could not stay.
    """

    changed: tuple[Staged, ...]
    copies: tuple[Staged, ...] = ()
    refused: tuple[Unwritten, ...] = ()
    remark: str = ""
    libraries: tuple[Path, ...] = ()
    dropped: frozenset[str] = frozenset()
    handle_types: tuple[HandleChange, ...] = ()


@dataclass(frozen=True, eq=False)
class Skins:
    """Skinned meshes of a file with what poses each, in a fixed order; and (what, why) of what could not be read."""

    posed: tuple[PosedSkin, ...] = ()
    not_evaluated: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Opened:
    """A file that was read.

    Attributes:
        clips: its clips, in a fixed order.
        not_evaluated: (what, why) of what could not be read, beyond what the clips say.
        via: "bytes" or "blender".
        suffix: the suffix that a repaired file gets.
        names: () -> relative names of the files that a repaired one consists of, the main file first.
        save: (folder, file name, edited clips, edited skins or () for none) -> what was written. With nothing edited
            the bytes stay.
        skins: () -> its skinned meshes. It may take as long as playing the file does, and is done once.
        beside: the file has to be saved in the folder where it will stay, for its relative paths.
    """

    clips: tuple[Clip, ...]
    not_evaluated: tuple[tuple[str, str], ...]
    via: ReadVia
    suffix: str
    names: Callable[[], tuple[str, ...]]
    save: Callable[[Path, str, Sequence[Clip], Sequence[Skin]], Saved]
    skins: Callable[[], Skins] = Skins
    beside: bool = False


def open_path(path: Path, via: Via = AUTO) -> Opened:
    """Read a file.

    Parameters:
        via: "auto" takes the bytes of formats that have a reader here, since Blender's importers repair and
            introduce sign flips; "bytes"; "blender" imports anything.

    Raises:
        InputError: it cannot be read; the message says what to do.
    """
    check_readable(path)
    if how(path, via) == BLENDER:
        return _open_in_blender(path)
    suffix = path.suffix.lower()
    return _from_bytes(bvh.read(path) if suffix == ".bvh" else gltf.read(path))


def how(path: Path, via: Via = AUTO) -> ReadVia:
    """ "bytes" or "blender": how a path is read; InputError when it cannot be."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{suffix or 'a file without a suffix'} is not supported: {', '.join(SUFFIXES)} are")
    if via == BYTES and suffix in BLENDER_SUFFIXES:
        raise InputError(f"a {suffix} file can only be read through Blender: use --via auto or --via blender")
    return BYTES if suffix in BYTES_SUFFIXES and via != BLENDER else BLENDER


def check_readable(path: Path) -> None:
    """Raise InputError when the file is missing, no regular file, empty or not readable."""
    try:
        # Before it is opened: that alone would wait for ever at a pipe that nobody writes to.
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise InputError("is a folder, not a file")
        if not stat.S_ISREG(mode):
            raise InputError(f"is not a regular file but {_kind(mode)}: copy what it gives into a file first")
        with path.open("rb") as stream:
            if not stream.read(1):
                raise InputError("the file is empty (0 bytes): export or save it again")
    except FileNotFoundError:
        what = "a link to a file that does not exist" if path.is_symlink() else "no such file"
        raise InputError(f"{what}: check the path") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"no file can have this name: {error}") from None


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return next((word for test, word in kinds if test(mode)), "a device")


def require_blender() -> None:
    """Raise InputError when there is no Blender to open a file with."""
    if "bpy" in sys.modules or importlib.util.find_spec("bpy") is not None:
        return
    version = sys.version_info[:2]
    wheel = WHEELS.get(version)
    install = (
        f"run `{Path(sys.executable).name} -m pip install bpy=={wheel}`"
        if wheel
        else f"there is no bpy wheel for Python {version[0]}.{version[1]}: use 3.11 or 3.13 with `pip install bpy`"
    )
    raise InputError(f"needs Blender: {install}, or run inside Blender with `blender --command quat_audit …`")


def blender_version() -> str | None:
    """The Blender that runs this, None when none was needed so far."""
    if "bpy" not in sys.modules:
        return None
    return str(sys.modules["bpy"].app.version_string)


def _from_bytes(raw: RawFile) -> Opened:
    def save(folder: Path, name: str, edited: Sequence[Clip], skins: Sequence[Skin]) -> Saved:
        patched = raw.patch(edited)
        changed = []
        for i, (relative, data) in enumerate(patched.outputs.items()):
            staged = Staged(folder / name, "") if i == 0 else Staged(_make_room(folder, relative), relative)
            staged.path.write_bytes(data)
            changed.append(staged)
        copies, missing = [], []
        for relative in patched.copies:
            original = raw.path.parent / PurePosixPath(relative)
            if not original.is_file():
                missing.append(relative)
                continue
            copies.append(Staged(_make_room(folder, relative), relative))
            shutil.copyfile(original, copies[-1].path)
        remark = f"files it refers to that are missing: {', '.join(missing)}" if missing else ""
        return Saved(tuple(changed), tuple(copies), patched.refused, remark)

    def names() -> tuple[str, ...]:
        untouched = raw.patch(raw.clips)
        return (*untouched.outputs, *untouched.copies)

    return Opened(
        clips=raw.clips,
        not_evaluated=raw.not_evaluated,
        via=BYTES,
        suffix=raw.path.suffix,
        names=names,
        save=save,
        skins=lambda: _unread_skins(raw.skins),
    )


def _unread_skins(count: int) -> Skins:
    """What a report says of skins that a reader of bytes leaves alone."""
    if not count:
        return Skins()
    why = Text("weights and deformation are not looked at in the bytes of a file: --via blender does")
    return Skins(not_evaluated=((Text("1 skin") if count == 1 else Text("{count} skins", {"count": count}), why),))


def _make_room(folder: Path, name: str) -> Path:
    path = folder / name
    if PurePath(name).anchor:  # also C:name and \name on Windows
        raise InputError(f"refers to {name}, a path of this machine: put that file beside it and refer to it by name")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def open_scene(path: Path) -> list[tuple[str, str]]:
    """Open a file in Blender, or import it into an empty one, for what is done with the scene itself.

    Returns (what, why) of what that leaves out.

    Raises:
        InputError: it cannot be read; the message says what to do.
    """
    check_readable(path)
    how(path, BLENDER)
    require_blender()
    return _load(path)


def _load(path: Path) -> list[tuple[str, str]]:
    from ..blender import open as scene
    from ..blender import scripted
    from ..blender.names import readable_names

    if path.suffix.lower() == ".blend":
        complaint = scene.open_blend(path)
        said = [("the file", f"Blender opened it, but said: {complaint}")] if complaint else []
        with readable_names():
            return said + scripted.unplayed_drivers()
    scene.import_file(path)
    methods = fbx.skinning_methods(path) if path.suffix.lower() == ".fbx" else frozenset()
    if methods == {fbx.DUAL_QUATERNION}:
        scene.preserve_volume()
        return [("skinning", _ALL_DUAL_QUATERNIONS)]
    return [("skinning", _SOME_DUAL_QUATERNIONS)] if methods & {fbx.DUAL_QUATERNION, fbx.BLEND} else []


def _open_in_blender(path: Path) -> Opened:
    require_blender()
    from ..blender import linked, read, saving, write
    from ..blender import open as scene
    from ..blender.names import readable_names
    from ..blender.skin import mesh as skin
    from ..blender.skin import posed as posed_skin

    is_blend = path.suffix.lower() == ".blend"
    left_out = _load(path)
    with readable_names():
        records = read.read_file()
        lost = linked.missing()
        unused = saving.unused_actions() if is_blend else {}
    clips = tuple(_locked(r.clip, _DROPPED) if r.action_uid in unused else r.clip for r in records)
    if path.suffix.lower() == ".fbx":
        clips = tuple(_as_imported(clip) for clip in clips)
        lost += _keys_not_imported(path, clips)
    posed: list[posed_skin.PosedMesh] = []
    found: list[Skins] = []

    def skins() -> Skins:
        if not found:
            with readable_names():
                some, unread = posed_skin.read_posed()
            posed.extend(some)
            found.append(Skins(tuple(p.subject for p in posed), tuple(unread)))
        return found[0]

    def save(folder: Path, name: str, edited: Sequence[Clip], skins: Sequence[Skin]) -> Saved:
        staged = Staged(folder / name, "")
        changes = [
            (n, records[n], new) for n, (old, new) in enumerate(zip(clips, edited, strict=True)) if new is not old
        ]
        weights = [(p.record, new) for p, new in zip(posed, skins, strict=False) if new is not p.record.skin]
        if is_blend and not changes and not weights and not saving.has_relative_paths():
            shutil.copyfile(path, staged.path)
            return Saved((staged,), libraries=saving.libraries())
        remarks = []
        retyped: list[HandleChange] = []
        refused: list[Unwritten] = []
        for number, record, new in changes:
            written = write.write_clip(record, new)
            refused += [Unwritten(number, *skipped) for skipped in written.skipped]
            retyped += written.handle_types
        for skinned, weighted in weights:
            skin.write_weights(skinned, weighted)
        if not is_blend:
            saving.keep_actions()
        elif not changes and not weights:
            remarks.append("saved by Blender so that its relative paths still hold; no key was changed")
        dropped = frozenset(saving.unused_actions().values())
        if dropped:
            remarks.append(f"dropped by Blender, which saves no action that nobody uses: {', '.join(sorted(dropped))}")
        libraries = saving.libraries()  # before their paths are made to fit the copy
        complaint = scene.save_blend(staged.path, compress=not is_blend or scene.is_compressed(path))
        if complaint:
            remarks.append(f"Blender saved it, but said: {complaint}")
        return Saved(
            (staged,),
            refused=tuple(refused),
            remark="; ".join(remarks),
            libraries=libraries,
            dropped=dropped,
            handle_types=merge_handle_changes(retyped),
        )

    return Opened(
        clips=clips,
        not_evaluated=(*left_out, *lost),
        via=BLENDER,
        suffix=path.suffix if is_blend else ".blend",
        names=lambda: (path.name,),
        save=save,
        skins=skins,
        beside=True,
    )


def _as_imported(clip: Clip) -> Clip:
    """The clip, knowing what Blender's importer did to it."""
    connected = tuple(replace(one, imported=True) for one in clip.connected)
    return replace(clip, rewritten=fbx.REWRITTEN, connected=connected)


def _locked(clip: Clip, why: str) -> Clip:
    """The clip with curves that must not be written, because."""
    read_only = tuple(own or why for own in clip.curves.read_only)
    return replace(clip, curves=replace(clip.curves, read_only=read_only))


def _keys_not_imported(path: Path, clips: Sequence[Clip]) -> list[tuple[str, str]]:
    try:
        return fbx.lost_keys(fbx.keyed_nodes(path), clips)
    except InputError as error:
        return [("the file", f"whether all of its animation was imported is not known: {error}")]


def output_suffix(path: Path, via: Via = AUTO) -> str:
    """The suffix that a repaired file gets: what Blender imports is saved as .blend."""
    return ".blend" if how(path, via) == BLENDER else path.suffix
