# SPDX-License-Identifier: GPL-3.0-or-later
"""A small BVH file, the real ones, and what the BVH tests do to clips of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from quat_audit.errors import InputError
from quat_audit.files.bvh import reading as bvh
from quat_audit.files.raw_file import RawFile
from quat_audit.motion.clip import Clip

# File → tracks, curves, frames, steps of one channel by more than half a turn.
REAL = {
    "AnimatedDrawings/zombie.bvh": (27, 84, 779, 16),
    "assimp/01_01.bvh": (31, 96, 2752, 0),
    "deep-motion-editing/old_13_000.bvh": (31, 96, 189, 23),
    "pybvh/cmu_12_01_walk.bvh": (31, 96, 524, 0),
    "pybvh/rotation_first_root.bvh": (4, 15, 4, 0),
}

TWO = """\
HIERARCHY
ROOT Hips
{
\tOFFSET 0.0 0.0 0.0
\tCHANNELS 6 Zrotation Xrotation Yrotation Xposition Yposition Zposition
\tJOINT Left Leg
\t{
\t\tOFFSET 0.0 -1.0 0.0
\t\tCHANNELS 3 Yrotation Zrotation Xrotation
\t\tEnd Site
\t\t{
\t\t\tOFFSET 0.0 -1.0 0.0
\t\t}
\t}
}
MOTION
Frames: 3
Frame Time: 0.04
10.5 20.25 -30 1 2 3  4.000 5.00 6.0
11.5 21.25 -31 1.5 2.5 3.5\t4.001 5.01 6.1
12.5 22.25 -32 2 3 4 4.002 5.02 6.2
"""


def load(tmp_path: Path, text: str | bytes, name: str = "walk.bvh") -> RawFile:
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    raw_file = bvh.read(path)
    for clip in raw_file.clips:
        clip.validate()
    return raw_file


def clip_of(text: str | bytes) -> Clip:
    clip = bvh.parse(text.encode() if isinstance(text, str) else text, "walk")[0]
    clip.validate()
    return clip


def attempt(data: bytes) -> tuple[Clip | None, str]:
    """The clip, or what the InputError says; any other exception is the test's failure."""
    try:
        return clip_of(data), ""
    except InputError as error:
        return None, str(error)


def values(clip: Clip, path: str) -> dict[int, list[float]]:
    """Component → values of one data path."""
    c = clip.curves
    return {int(c.component[i]): c.co[c.rows(i), 1].tolist() for i in range(len(c)) if c.data_path[i] == path}


def scalar_reader(text: str) -> dict[tuple[str, int, str], list[float]]:
    """(joint, axis, kind) → values in the file's units, word by word. For files with unique one-word names."""
    words = text.split()
    motion = words.index("MOTION")
    channels = []
    joint = ""
    for i in range(motion):
        if words[i] in ("ROOT", "JOINT"):
            joint = words[i + 1]
        if words[i] == "CHANNELS":
            for word in words[i + 2 : i + 2 + int(words[i + 1])]:
                channels.append((joint, "XYZ".index(word[0]), word[1:]))
    numbers = words[words.index("Time:") + 2 :]
    found: dict[tuple[str, int, str], list[float]] = {c: [] for c in channels}
    for i, word in enumerate(numbers):
        found[channels[i % len(channels)]].append(float(word))
    return found


def edit(clip: Clip, co: np.ndarray, **others: object) -> Clip:
    return replace(clip, curves=replace(clip.curves, co=co, **others))  # type: ignore[arg-type]


def without(clip: Clip, rows: list[int]) -> Clip:
    """The clip with some key rows removed, as a repair removes them."""
    c = clip.curves
    keep = np.ones(len(c.co), dtype=bool)
    keep[rows] = False
    counts = np.bincount(c.curve_of_key()[keep], minlength=len(c))
    per_key = {n: getattr(c, n)[keep] for n in ("co", "interpolation", "origin", "marked")}
    offsets = np.concatenate([[0], np.cumsum(counts)])
    curves = replace(c, **per_key, handle_left=per_key["co"], handle_right=per_key["co"], offsets=offsets)
    edited = replace(clip, curves=curves)
    edited.validate()
    return edited
