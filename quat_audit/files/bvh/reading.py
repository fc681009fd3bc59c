# SPDX-License-Identifier: GPL-3.0-or-later
"""BVH files: bytes to one Clip, and an edited Clip back into just the motion values that changed.

A joint's rotation channels are intrinsic: "Zrotation Xrotation Yrotation" means R = Rz · Rx · Ry on column
vectors, the last channel being applied first. Blender names an order by what is applied first, so that its name
is the channel order read backwards: "YXZ".

Frames are numbered from 1, as Blender's importer does. Names are UTF-8, or Latin-1 where they are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import InputError
from ...motion.clip import EULER, LINEAR, Clip, Storage, Track, make_curves, make_tracks
from ..raw_file import Patched, RawFile
from .motion import Floats64, parse_motion
from .patch import Layout, patch

# Blender's importer falls back to the scene's rate, which is 24 in a new scene.
DEFAULT_FRAME_RATE = 24.0
# Seconds. Below a microsecond it is a zero that was written in another way.
SHORTEST_FRAME_TIME = 1e-6

_CHANNEL = re.compile(rb"([xyz])(position|rotation)", re.IGNORECASE)
_LINE_END = re.compile(rb"\r\n|\r|\n")
_COUNT = re.compile(rb"\d{1,18}")
_WORD = re.compile(rb"[{}]|[^\s{}]+")
_FRAMES = re.compile(rb"\s*frames\s*:\s*(\S*)\s*", re.IGNORECASE)
_FRAME_TIME = re.compile(rb"\s*frame\s+time\s*:\s*(\S*)\s*", re.IGNORECASE)
_KEYWORDS = {b"HIERARCHY", b"ROOT", b"JOINT", b"END", b"OFFSET", b"CHANNELS", b"MOTION", b"{", b"}"}
_CUT_OFF = "the file is cut off; export or copy it again"

Notes = list[tuple[str, str]]


@dataclass(frozen=True)
class Joint:
    """A joint as the file has it: channel words and the column of the first."""

    name: str
    channels: tuple[bytes, ...]
    column: int


@dataclass(frozen=True)
class _Header:
    joints: tuple[Joint, ...]
    motion_start: int
    motion_line: int
    frames: int | None
    frame_time: float | None
    remarks: tuple[tuple[str, str], ...]


def read(path: Path) -> RawFile:
    """A BVH file as one clip: angles in radians, LINEAR keys at frames 1, 2, …

    Args:
        path: the file.

    Returns:
        One clip, with a track a joint that has rotation channels.

    Raises:
        InputError: the file cannot be read, or is no BVH; says the line and what to do.
    """
    path = Path(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}") from error
    clip, layout = parse(data, path.stem)

    def write(edited: Sequence[Clip]) -> Patched:
        return patch(path.name, data, clip, layout, edited, reread=lambda new: parse(new, path.stem)[0])

    return RawFile(path=path, clips=(clip,), not_evaluated=clip.not_evaluated, patch=write)


def parse(data: bytes, action: str) -> tuple[Clip, Layout]:
    """The clip that some bytes hold, and where in them its values lie. Raises InputError."""
    header = _read_header(data)
    width = sum(len(joint.channels) for joint in header.joints)
    values = parse_motion(data[header.motion_start :], width, header.motion_line)
    notes: Notes = list(header.remarks)
    if header.frames is not None and header.frames != len(values):
        notes.append(
            (
                "frame count",
                f"the header says {header.frames} frames, the file has {len(values)}: those present are used",
            )
        )
    if not len(values):
        notes.append(("motion", "the file has no frames: a skeleton only"))
    rate = _frame_rate(header.frame_time, notes)
    clip, layout = _make_clip(header, values, action, rate, notes)
    return clip, layout


def _make_clip(header: _Header, values: Floats64, action: str, rate: float, notes: Notes) -> tuple[Clip, Layout]:
    paths: list[str] = []
    components: list[int] = []
    columns: list[int] = []
    tracks: list[Track] = []
    for joint in header.joints:
        for kind in ("position", "rotation"):
            found = _columns(joint, kind, notes)
            path = f"joint/{joint.name}/{kind}"
            first = len(paths)
            paths += [path] * len(found)
            components += [axis for axis, _ in found]
            columns += [column for _, column in found]
            if kind == "rotation" and found:
                tracks.append(_track(joint, path, [axis for axis, _ in found], first))
    if not len(values):
        paths, components, columns, tracks = [], [], [], []

    radians = np.array([path.endswith("/rotation") for path in paths], dtype=bool)
    co = np.empty((len(paths), len(values), 2))
    co[:, :, 0] = np.arange(1, len(values) + 1)
    co[:, :, 1] = values[:, columns].T
    co[radians, :, 1] = np.radians(co[radians, :, 1])
    keys = co.reshape(-1, 2)
    curves = make_curves(
        paths,
        components,
        [len(values)] * len(paths),
        keys,
        # LINEAR keys have no handles of their own; nothing changes in place, so that one array serves.
        handle_left=keys,
        handle_right=keys,
        interpolation=LINEAR,
    )
    owner = header.joints[0].name
    clip = Clip(
        action=action,
        slot="",
        owner=owner,
        users=(owner,),
        format="bvh",
        frame_rate=rate,
        seconds=False,
        curves=curves,
        tracks=make_tracks(tracks),
        not_evaluated=tuple(notes),
        storage=Storage(
            "in a BVH file each channel has one value a frame: no key can be added, removed or moved",
            bridges=True,
            bits=np.zeros(len(paths), dtype=np.int64),
            signed=np.zeros(len(paths), dtype=bool),
            step=np.zeros(len(paths)),
        ),
    )
    width = sum(len(joint.channels) for joint in header.joints)
    return clip, Layout(header.motion_start, width, np.array(columns, dtype=np.int64), radians)


def _columns(joint: Joint, kind: str, notes: Notes) -> list[tuple[int, int]]:
    """(axis, column) of the joint's channels of one kind, in the file's order."""
    found = []
    for number, word in enumerate(joint.channels):
        match = _CHANNEL.fullmatch(word)
        if match and match[2].decode().lower() == kind:
            found.append(("xyz".index(match[1].decode().lower()), joint.column + number))
        elif not match and kind == "position":
            notes.append((f"joint/{joint.name}", f"its channel {word.decode('latin-1')!r} is not one that BVH knows"))
    axes = [axis for axis, _ in found]
    if len(set(axes)) < len(axes):
        listed = " ".join("XYZ"[axis] for axis in axes)
        notes.append((f"joint/{joint.name}/{kind}", f"the joint has the same axis twice ({listed})"))
        return []
    return found


def _track(joint: Joint, path: str, axes: list[int], first: int) -> Track:
    curve_of = {axis: first + number for number, axis in enumerate(axes)}
    # An axis without a channel is zero throughout: where it stands in the order does not matter.
    every = axes + [axis for axis in range(3) if axis not in axes]
    order = "".join("XYZ"[axis] for axis in reversed(every))
    return Track(
        data_path=path,
        bone=joint.name,
        kind=EULER,
        curves=(curve_of.get(0, -1), curve_of.get(1, -1), curve_of.get(2, -1), -1),
        order=order,
        modes=(order,),
        pose=(0.0, 0.0, 0.0, 0.0),
    )


def _frame_rate(frame_time: float | None, notes: Notes) -> float:
    if frame_time is not None and SHORTEST_FRAME_TIME <= frame_time < np.inf:
        return 1 / frame_time
    says = "no frame time is given" if frame_time is None else f"the frame time is {frame_time:g}"
    notes.append(("frame time", f"{says}: {DEFAULT_FRAME_RATE:g} frames per second are assumed"))
    return DEFAULT_FRAME_RATE


def _read_header(data: bytes) -> _Header:
    start = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("line 1: the file is UTF-16 text; save it as UTF-8")
    first = _WORD.search(data, start)
    if first is None:
        raise InputError("line 1: the file is empty; export or copy it again")
    if first[0].upper() != b"HIERARCHY":
        raise InputError('line 1: this is no BVH file (it must begin with "HIERARCHY"); check the file')
    joints, position = _read_hierarchy(data, first.end())
    return _read_motion_header(data, joints, position)


def _read_hierarchy(data: bytes, position: int) -> tuple[tuple[Joint, ...], int]:
    """The joints, depth first as the file lists them, and the byte after the word MOTION."""
    joints: list[Joint] = []
    open_blocks: list[int] = []  # joint number, or -1 for an End Site
    names: set[str] = set()
    column = 0
    words = _Words(data, position)
    for word in words:
        key = word.upper()
        inside = open_blocks[-1] if open_blocks else None
        in_joint = inside is not None and inside >= 0
        if (key == b"ROOT" and inside is None) or (key in (b"JOINT", b"END") and in_joint):
            name = words.rest_of_line()
            if words.take() != b"{":
                words.fail(f"'{{' must follow {key.decode()} {name}")
            if key == b"END":
                open_blocks.append(-1)
            else:
                open_blocks.append(len(joints))
                joints.append(Joint(_unique(name, names), (), column))
        elif key == b"}" and open_blocks:
            open_blocks.pop()
        elif key == b"OFFSET" and inside is not None:
            for _ in range(3):
                if not _is_number(words.take()):
                    words.fail("OFFSET needs three numbers")
        elif key == b"CHANNELS" and inside is not None and inside >= 0 and not joints[inside].channels:
            channels = _read_channels(words)
            joints[inside] = Joint(joints[inside].name, channels, column)
            column += len(channels)
        elif key == b"MOTION" and not open_blocks and joints:
            return tuple(joints), words.position
        else:
            where = f"inside joint {joints[inside].name!r}" if inside is not None and inside >= 0 else "here"
            words.fail(f"{word[:40].decode('latin-1')!r} is not expected {where}")
    words.fail(f"the file ends inside the hierarchy, before MOTION: {_CUT_OFF}")


def _read_channels(words: _Words) -> tuple[bytes, ...]:
    count = words.take()
    if not _COUNT.fullmatch(count):
        words.fail("CHANNELS needs the number of channels")
    channels: list[bytes] = []
    for _ in range(int(count)):
        word = words.take()
        if word.upper() in _KEYWORDS:
            words.fail(f"CHANNELS says {int(count)} but lists {len(channels)}")
        channels.append(word)
    return tuple(channels)


def _read_motion_header(data: bytes, joints: tuple[Joint, ...], position: int) -> _Header:
    line_end = _LINE_END.search(data, position)
    start = line_end.end() if line_end else len(data)
    line = _line_number(data, start) if line_end else _line_number(data, start) + 1
    frames: int | None = None
    frame_time: float | None = None
    seen = False
    remarks: Notes = []
    while start < len(data) and (frames is None or frame_time is None):
        line_end = _LINE_END.search(data, start)
        stop, following = line_end.span() if line_end else (len(data), len(data))
        text = data[start:stop]
        if match := _FRAMES.fullmatch(text):
            frames = int(match[1]) if _COUNT.fullmatch(match[1]) else None
            if frames is None:
                remarks.append(("frame count", f"line {line}: 'Frames:' gives no number"))
        elif match := _FRAME_TIME.fullmatch(text):
            frame_time = float(match[1]) if _is_number(match[1]) else np.nan
            seen = True
        elif text.strip():
            break
        start, line = following, line + 1
    if not seen and start >= len(data):
        raise InputError(f"line {line - 1}: the file ends before 'Frame Time:': {_CUT_OFF}")
    return _Header(joints, start, line, frames, frame_time, tuple(remarks))


class _Words:
    """The words of the hierarchy one by one, with the place for a message."""

    def __init__(self, data: bytes, position: int) -> None:
        self.data = data
        self.position = position
        self.started = position

    def __iter__(self) -> Iterator[bytes]:
        while match := _WORD.search(self.data, self.position):
            self.started, self.position = match.span()
            yield match[0]

    def take(self) -> bytes:
        """The next word; InputError at the end of the file."""
        match = _WORD.search(self.data, self.position)
        if match is None:
            self.started = len(self.data.rstrip())
            self.fail(f"the file ends inside the hierarchy: {_CUT_OFF}")
        self.started, self.position = match.span()
        return match[0]

    def rest_of_line(self) -> str:
        """A joint's name: what is left of the line, spaces included, but for a brace that opens the block."""
        line_end = _LINE_END.search(self.data, self.position)
        stop = line_end.start() if line_end else len(self.data)
        text = self.data[self.position : stop]
        if brace := re.search(rb"(?:(?<=\s)|^)\{(?=\s|$)|\{\s*$", text):
            text, stop = text[: brace.start()], self.position + brace.start()
        self.position = stop
        return decode_name(text.strip())

    def fail(self, says: str) -> NoReturn:
        remedy = "" if _CUT_OFF in says else "; export the file again"
        raise InputError(f"line {_line_number(self.data, self.started)}: {says}{remedy}")


def decode_name(name: bytes) -> str:
    """A joint name as text: UTF-8, else Latin-1, in which every byte is a character."""
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")


def _unique(name: str, taken: set[str]) -> str:
    """The name, or with a number as Blender adds one when it is taken."""
    name = name or "joint"
    unique, number = name, 0
    while unique in taken:
        number += 1
        unique = f"{name}.{number:03d}"
    taken.add(unique)
    return unique


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _line_number(data: bytes, position: int) -> int:
    return len(_LINE_END.findall(data, 0, position)) + 1
