# SPDX-License-Identifier: GPL-3.0-or-later
"""What an .fbx file says that Blender's importers leave out: how its skins deform, and keys that do not arrive.

Of the animation only the structure is read, binary or text: which node is keyed in which take, on which axes, by how
many keys. The format is described at https://code.blender.org/2013/08/fbx-binary-file-format-specification/.
"""

from __future__ import annotations

import mmap
import re
import struct
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError
from ..motion.clip import Clip

LINEAR, RIGID, DUAL_QUATERNION, BLEND = "Linear", "Rigid", "DualQuaternion", "Blend"

# The property of a Skin deformer (FbxSkin::EType) in a binary file, where a string is "S", its length as four bytes
# and the characters, and in an ASCII one.
_SKINNING = re.compile(rb'SkinningType(?:S[\x00-\xff]{4}|\s*:\s*")(Linear|Rigid|DualQuaternion|Blend)(?![A-Za-z])')

_MAGIC = b"Kaydara FBX Binary"
_VERSION_AT, _FIRST_RECORD = 23, 27
# From this version on, offsets and counts of a binary file have 64 bits.
_WIDE = 7500
_SIZES = {b"C": 1, b"B": 1, b"Y": 2, b"I": 4, b"F": 4, b"L": 8, b"D": 8}
_OBJECTS = (b"Model", b"AnimationStack", b"AnimationLayer", b"AnimationCurveNode", b"AnimationCurve")
_TEXT = re.compile(
    rb"^[ \t]*(?:"
    rb'(?P<kind>Model|Animation(?:Stack|Layer|CurveNode|Curve)):[ \t]*(?P<id>\d+)[ \t]*,[ \t]*"(?P<name>[^"\r\n]*)"'
    rb"|KeyTime:[ \t]*(?:\*(?P<keys>\d+)|-?\d)"
    rb'|C:[ \t]*"O[OP]",[ \t]*(?P<from>\d+),[ \t]*(?P<to>\d+)(?:,[ \t]*"(?P<property>[^"\r\n]*)")?'
    rb")",
    re.MULTILINE,
)
# What Blender calls the properties of a node.
_PROPERTIES = {"Lcl Translation": "location", "Lcl Rotation": "rotation", "Lcl Scaling": "scale"}
# Blender's names had 63 bytes, and the importer in Python ends longer ones with a hash.
_SURE_BYTES = 55
_NUMBER = re.compile(r"\.\d{3,}$")


# Why rotations of an imported file may turn otherwise than those of the file itself.
REWRITTEN = "Blender's importer wraps and unwraps rotation curves, so that its full turns are not those of the file"
_HOW = "export it with keys on all axes, or audit it with Blender 5.2 or newer"


class Keyed(NamedTuple):
    """A node that a layer of a take keys: of its location, rotation and scale, axis → number of keys."""

    take: str
    node: str
    keys: Mapping[str, Mapping[str, int]]

    def whole(self, name: str) -> bool:
        """Whether a property has a curve for its first axis."""
        return "X" in self.keys[name]


def skinning_methods(path: Path) -> frozenset[str]:
    """How the skins of an .fbx file are to be deformed; Blend: by both, with weights of its own.

    Raises: OSError: the file cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return frozenset(match[1].decode("ascii") for match in _SKINNING.finditer(data))


def keyed_nodes(path: Path) -> tuple[Keyed, ...]:
    """The nodes that a file of FBX 7 keys, in the order of their curves. Older files are built otherwise: none.

    Raises:
        OSError: the file cannot be read.
        InputError: it is damaged.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = _Graph()
        if data[: len(_MAGIC)] == _MAGIC:
            _read_binary(data, found)
        else:
            _read_text(data, found)
    return tuple(found.keyed())


def lost_keys(keyed: Sequence[Keyed], clips: Sequence[Clip]) -> list[tuple[str, str]]:
    """(what, why) for the keys of a file that are not in the clips that an importer made of it.

    The importer of 4.5 to 5.1 leaves out a node none of whose properties has a curve for X. Where one has, it keys all
    three at that one's times alone. Those of 4.2 and from 5.2 on bring in everything.
    """
    arrived = _Arrived(clips)
    expected = Counter(_sure(one.node) for one in keyed)
    rows: list[tuple[str, str]] = []
    for one in keyed:
        what = f"{one.take}: {one.node}"
        partial = [name for name in one.keys if not one.whole(name)]
        if arrived.clips[_sure(one.node)] < expected[_sure(one.node)]:
            if len(partial) == len(one.keys):
                rows.append((what, f"it is keyed without a curve for X, and Blender's importer left it out: {_HOW}"))
            continue
        for name in partial:
            here, there = arrived.keys(one, name), max(one.keys[name].values())
            if here is not None and here < there:
                why = f"its {name} has {there} keys and no curve for X, of which Blender's importer brought in {here}"
                rows.append((what, f"{why}: {_HOW}"))
    return rows


class _Arrived:
    """What an importer made of the nodes: in how many clips each is keyed, and how often."""

    def __init__(self, clips: Sequence[Clip]) -> None:
        self.clips: Counter[str] = Counter()
        self._keys: dict[str, list[tuple[str, dict[str, int]]]] = defaultdict(list)  # node → action, property → keys
        for clip in clips:
            counts = dict(zip(clip.curves.data_path, clip.curves.counts.tolist(), strict=True))
            for bone, path in zip(clip.tracks.bone, clip.tracks.data_path, strict=True):
                # Of an object's take that is not assigned the first part of the action's name tells, by the older one.
                node = _sure(bone or clip.owner or clip.slot or clip.action.partition("|")[0])
                owner = path.removesuffix(path.rpartition(".")[2])
                paths = {"location": f"{owner}location", "rotation": path, "scale": f"{owner}scale"}
                self.clips[node] += 1
                self._keys[node].append((clip.action, {name: counts.get(at, 0) for name, at in paths.items()}))

    def keys(self, one: Keyed, name: str) -> int | None:
        """How many keys of a property arrived; None where it cannot be told from another take's."""
        found = [k[name] for action, k in self._keys[_sure(one.node)] if f"|{one.take}|" in f"|{_unnumbered(action)}|"]
        return found[0] if len(found) == 1 else None


def _sure(name: str) -> str:
    """What a node's name and that of what was made of it have in common."""
    return _unnumbered(name).encode("utf-8")[:_SURE_BYTES].decode("utf-8", errors="ignore")


def _unnumbered(name: str) -> str:
    return _NUMBER.sub("", name)


@dataclass
class _Graph:
    """Objects by their number, and what is connected to what."""

    names: dict[int, tuple[bytes, str]] = field(default_factory=dict)  # number → kind, name
    keys: dict[int, int] = field(default_factory=dict)  # curve → number of keys
    links: list[tuple[int, int, str]] = field(default_factory=list)  # from, to, property

    def keyed(self) -> Iterator[Keyed]:
        to: dict[int, list[tuple[int, str]]] = defaultdict(list)
        curves: dict[int, dict[str, int]] = defaultdict(dict)
        for source, target, name in self.links:
            if source in self.keys:
                axis = name.rpartition("|")[2]
                curves[target][axis] = max(self.keys[source], curves[target].get(axis, 0))
            else:
                to[source].append((target, name))
        found: dict[tuple[int, int], dict[str, dict[str, int]]] = {}
        for number, (kind, _) in self.names.items():
            axes = {axis: keys for axis, keys in curves[number].items() if keys} if number in curves else {}
            if kind != b"AnimationCurveNode" or not axes:
                continue
            layers = [target for target, _ in to[number] if self._is(target, b"AnimationLayer")]
            nodes = [(t, n) for t, n in to[number] if self._is(t, b"Model") and n in _PROPERTIES]
            for layer in layers:
                for node, name in nodes:
                    found.setdefault((layer, node), {})[_PROPERTIES[name]] = axes
        for (layer, node), keys in found.items():
            takes = [target for target, _ in to[layer] if self._is(target, b"AnimationStack")]
            if takes and self.names[node][1]:
                yield Keyed(self.names[takes[0]][1], self.names[node][1], keys)

    def _is(self, number: int, kind: bytes) -> bool:
        return number in self.names and self.names[number][0] == kind


def _read_text(data: mmap.mmap, found: _Graph) -> None:
    curve = None
    for match in _TEXT.finditer(data):
        if kind := match["kind"]:
            number = int(match["id"])
            found.names[number] = (kind, match["name"].decode("utf-8", errors="replace").rpartition("::")[2])
            curve = number if kind == b"AnimationCurve" else None
            if curve is not None:
                found.keys[curve] = 0
        elif match["from"]:
            property_name = (match["property"] or b"").decode("utf-8", errors="replace")
            found.links.append((int(match["from"]), int(match["to"]), property_name))
        elif curve is not None:
            found.keys[curve] = int(match["keys"] or 1)


class _Record(NamedTuple):
    """A record of a binary file: where its values, its children and what comes after it begin."""

    name: bytes
    values: int
    children: int
    end: int


def _read_binary(data: mmap.mmap, found: _Graph) -> None:
    try:
        wide = struct.unpack_from("<I", data, _VERSION_AT)[0] >= _WIDE
        for part in _records(data, _FIRST_RECORD, len(data), wide):
            if part.name == b"Objects":
                for record in _records(data, part.children, part.end, wide):
                    if record.name in _OBJECTS:
                        _read_object(data, record, found, wide)
            elif part.name == b"Connections":
                for record in _records(data, part.children, part.end, wide):
                    if record.name == b"C":
                        kind, source, target, *rest = _values(data, record, 4)
                        if kind in (b"OO", b"OP"):
                            name = rest[0] if rest and isinstance(rest[0], bytes) else b""
                            found.links.append((int(source), int(target), name.decode("utf-8", errors="replace")))
    except (struct.error, ValueError):
        raise InputError("its records are damaged") from None


def _read_object(data: mmap.mmap, record: _Record, found: _Graph, wide: bool) -> None:
    number, name = _values(data, record, 2)
    if not isinstance(name, bytes):
        raise ValueError(name)
    found.names[int(number)] = (record.name, name.partition(b"\x00\x01")[0].decode("utf-8", errors="replace"))
    if record.name == b"AnimationCurve":
        inside = _records(data, record.children, record.end, wide)
        keys = (struct.unpack_from("<I", data, child.values + 1)[0] for child in inside if child.name == b"KeyTime")
        found.keys[int(number)] = next(keys, 0)


def _records(data: mmap.mmap, at: int, stop: int, wide: bool) -> Iterator[_Record]:
    """The records between two positions, up to the empty one that ends a list."""
    form = struct.Struct("<QQQB" if wide else "<IIIB")
    while at + form.size <= stop:
        end, _, length, name_length = form.unpack_from(data, at)
        if not end:
            return
        values = at + form.size + name_length
        if not values + length <= end <= stop:
            raise ValueError(end)
        yield _Record(data[at + form.size : values], values, values + length, end)
        at = end


def _values(data: mmap.mmap, record: _Record, most: int) -> list[bytes | int]:
    """The first values of a record: texts as bytes, numbers as integers; what else there is as 0."""
    values: list[bytes | int] = []
    at = record.values
    while at < record.children and len(values) < most:
        kind = data[at : at + 1]
        at += 1
        if kind in (b"S", b"R"):
            (length,) = struct.unpack_from("<I", data, at)
            at += 4 + length
            if at > record.children:
                raise ValueError(length)
            values.append(data[at - length : at])
        elif kind in _SIZES:
            whole = {b"I": "<i", b"L": "<q", b"Y": "<h"}.get(kind)
            values.append(struct.unpack_from(whole, data, at)[0] if whole else 0)
            at += _SIZES[kind]
        else:
            raise ValueError(kind)
    return values
