# SPDX-License-Identifier: GPL-3.0-or-later
"""Previews of the skinned meshes of one file, mesh by mesh: read, measured, drawn, written.

The file itself is only read. Nothing here imports bpy until a file needs it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import InputError, SkinError, reason_of
from ..preview import figures
from ..preview.earlier import check_replaces_own
from ..preview.figures import Measured
from ..preview.graph import graph
from ..preview.sheet import sheet
from ..preview.usable import check, remarks
from ..reports.json_report import as_json
from ..text import file_stems
from .opening import blender_version, open_scene
from .publish import write_whole


@dataclass(frozen=True)
class Previewed:
    """A mesh, or what could not be previewed.

    Attributes:
        name: of the mesh object, or of what else the reason is about.
        figures: schema ``quat_audit.preview/1``; {} where there is a reason.
        paths: the files written: figures, contact sheet, curve.
        reason: why there is no preview; "" when there is one.
    """

    name: str
    figures: dict[str, Any] = field(default_factory=dict)
    paths: tuple[Path, ...] = ()
    reason: str = ""


@dataclass(frozen=True, eq=False)
class MeshJob:
    """A mesh whose turn it is: `number` of `total`, and what makes its preview (it never raises InputError)."""

    name: str
    number: int
    total: int
    work: Callable[[], Previewed]


def mesh_jobs(path: Path, folder: Path, *, name: str = "", frames: Sequence[float] | None = None) -> Iterator[MeshJob]:
    """Open a file and give its skinned meshes in turn, those first that cannot be previewed.

    Args:
        path: .blend, .fbx, or anything else with a mesh that Blender imports.
        folder: where the files go; it is made when there is something to write.
        name: only the mesh object of that name.
        frames: by default those that play: of the scene, and of the actions where these are longer.

    Raises:
        InputError: the file cannot be opened, has no skinned mesh, or none of that name; the folder cannot be written.
    """
    if path.suffix.lower() == ".bvh":
        raise InputError("a .bvh file has no mesh: preview the .blend, .fbx or .glb file with the character")
    check_folder(folder)
    left_out = open_scene(path)
    from ..blender.names import readable_names
    from ..blender.skin import previews

    frames, remarks_on_all = _at_most(frames)
    remarks_on_all += left_out
    failed: list[tuple[str, str]] = []
    try:
        with readable_names():
            if name:
                posed = [previews.read_named(name, frames)]
            else:
                posed, failed, said = previews.read(frames)
                remarks_on_all += said
    except SkinError as error:
        raise InputError(error.why) from None
    if not posed and not failed:
        raise InputError(f"nothing to preview: {previews.skinned_meshes()}")
    done = [Previewed(mesh, reason=why) for mesh, why in failed]
    stems = file_stems([item.record.skin.mesh for item in posed])  # a linked mesh and a local one may share a name
    total = len(done) + len(posed)
    for number, one in enumerate(done):
        yield MeshJob(one.name, number, total, lambda one=one: one)  # type: ignore[misc]
    for number, (item, stem) in enumerate(zip(posed, stems, strict=True), start=len(done)):
        mesh = item.record.skin.mesh

        def work(item: Any = item, mesh: str = mesh, stem: str = stem) -> Previewed:
            return _guarded(mesh, lambda: _write(item, folder, stem, str(path), remarks_on_all))

        yield MeshJob(mesh, number, total, work)


def preview_object(obj: Any, folder: Path, frames: Sequence[float] | None = None) -> Previewed:
    """One mesh object of the session, which stays as it is.

    Raises:
        SkinError: it is no skinned mesh, or nothing of it is posed; the message says what to do.
        InputError: the files cannot be written.
    """
    from ..blender.skin import previews

    check_folder(folder)
    frames, said = _at_most(frames)
    item = previews.read_one(obj, frames)
    (stem,) = file_stems([item.record.skin.mesh])
    return _write(item, folder, stem, previews.file_name(), said)


def _at_most(frames: Sequence[float] | None) -> tuple[Sequence[float] | None, list[tuple[str, str]]]:
    """The frames, or as many as are measured; and what is to be said of that."""
    from ..blender.skin.posed import thinned

    picked = None if frames is None else thinned(frames)
    if frames is None or picked is None or len(picked) == len(frames):
        return picked, []
    return picked, [("frames", f"measured on {len(picked)} of the {len(frames):,} asked for, evenly picked")]


def _write(item: Any, folder: Path, stem: str, file: str, said: Sequence[tuple[str, str]]) -> Previewed:
    from ..blender.draw import render
    from ..blender.skin import previews

    skin, motion = item.record.skin, item.motion
    check(skin)
    paths = tuple(folder / f"{stem}{ending}" for ending in (".json", "-sheet.png", "-curve.png"))
    taken = previews.inputs() | {Path(file).resolve()}  # Blender has no path for what it imported
    for path in paths:
        if path.resolve() in taken:
            raise InputError(f"{path} belongs to what is previewed: choose another folder")
        if path.is_dir():
            raise InputError(f"cannot write {path}: it is a folder; move it away, or choose another --output")
    check_replaces_own(paths[0], paths[1:], file)
    found: Measured = figures.measure(skin, motion, [*said, *remarks(skin, motion)])
    data = figures.as_dict(found, file=file, blender=blender_version())
    data["pictures"] = {"sheet": paths[1].name, "curve": paths[2].name}
    short = Path(file).name
    pictures = [render.render(drawing) for drawing in (sheet(found, short), graph(found, short))]
    make_folder(folder)
    # The figures come last: where they are new, the pictures are.
    contents = dict(zip((*paths[1:], paths[0]), [*pictures, as_json(data).encode("ascii")], strict=True))
    new = [path for path in paths if not os.path.lexists(path)]
    try:
        for path, content in contents.items():
            write_whole(path, content)
    except BaseException:
        for path in new:  # a picture without figures would be in the way of the next run
            path.unlink(missing_ok=True)
        raise
    return Previewed(skin.mesh, data, paths)


def _guarded(name: str, work: Callable[[], Previewed]) -> Previewed:
    """Do the work on one mesh; whatever goes wrong with it is its reason, not the end of the run."""
    try:
        return work()
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        return Previewed(name, reason=reason_of(error, f"the preview of {name}"))


def check_folder(folder: Path) -> None:
    """Raise InputError when results could not be written into a folder (before the work, not after)."""
    there = next((path for path in (folder, *folder.absolute().parents) if os.path.lexists(path)), Path.cwd())
    if not there.is_dir():
        what = "a link to nothing" if there.is_symlink() and not there.exists() else "a file"
        raise InputError(f"--output {folder}: {there} is {what}: name a folder")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"--output {folder}: no permission to write into {there}: choose another folder")


def make_folder(folder: Path) -> None:
    """Make a folder for results; InputError when it cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {folder}: {error.strerror or error}") from None
