# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of clips read from glTF, and what the patched bytes are: for the tests of patching."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from quat_audit.files.gltf import reading as gltf
from quat_audit.files.raw_file import Patched, RawFile
from quat_audit.motion.clip import Clip, with_curves

from .gltf_builder import Builder, channel, quaternions

TIMES = [0.0, 0.25, 1.0, 1.5]
WXYZ = [3, 0, 1, 2]
Array = np.ndarray[Any, Any]


def scaled(clip: Clip, track: int, keys: Any, factor: float = -1.0) -> Clip:
    """The clip with some keys of a track, and their handles, multiplied."""
    c = clip.curves
    arrays = [a.copy() for a in (c.co, c.handle_left, c.handle_right)]
    for curve in clip.tracks.curves[track].tolist():
        rows = np.arange(len(c.co))[c.rows(curve)][keys]
        for a in arrays:
            a[rows, 1] *= factor
    return with_curves(clip, dataclasses.replace(c, co=arrays[0], handle_left=arrays[1], handle_right=arrays[2]))


def patched(raw_file: RawFile, folder: Path, *clips: Clip) -> tuple[RawFile, Patched, Array]:
    """The patched file read again, and the positions of the changed bytes of the last output."""
    result = raw_file.patch(clips)
    folder = folder / "out"
    folder.mkdir(exist_ok=True)
    for name in result.copies:
        (folder / name).write_bytes((raw_file.path.parent / name).read_bytes())
    for name, data in result.outputs.items():
        (folder / name).write_bytes(data)
    name = list(result.outputs)[-1]
    before = np.frombuffer((raw_file.path.parent / name).read_bytes(), np.uint8)
    after = np.frombuffer(result.outputs[name], np.uint8)
    assert len(before) == len(after)
    return gltf.read(folder / raw_file.path.name), result, np.flatnonzero(before != after)


def no_change(raw_file: RawFile, edited: Clip, says: str) -> None:
    """The edit of the first clip is refused with a reason and the bytes stay."""
    result = raw_file.patch([edited, *raw_file.clips[1:]])
    assert len(result.refused) == 1
    assert says in result.refused[0].why
    assert f"animation {edited.action!r}" in result.refused[0].why
    for name, data in result.outputs.items():
        assert data == (raw_file.path.parent / name).read_bytes()


def simple(**sampler: Any) -> tuple[Builder, Array]:
    b = Builder()
    q = quaternions(21, 4)
    b.animate(channel(b.accessor(TIMES), b.accessor(q), **sampler))
    return b, q.astype(np.float64)
