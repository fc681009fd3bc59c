# SPDX-License-Identifier: GPL-3.0-or-later
"""Small .fbx files of animated nodes, as text and binary: one tree of records, written both ways."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SECOND = 46186158000  # FBX's ticks
PROPERTIES = {"T": "Lcl Translation", "R": "Lcl Rotation", "S": "Lcl Scaling"}


class Named(NamedTuple):
    """The name of an object: "Model::Arm" in text, "Arm", two bytes, "Model" in binary."""

    kind: str
    name: str


class Record(NamedTuple):
    name: str
    values: Sequence[int | float | str | Named | list[int] | list[float]] = ()
    children: Sequence[Record] = ()


class Node(NamedTuple):
    """A model, and of each take the curves that it has.

    takes: take → {"RX": [(seconds, value), …], "TY": …}; a property with no curve but an entry like "R" has a curve
    node without curves.
    """

    name: str
    takes: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]
    kind: str = "Null"
    parent: int = -1


def tree(nodes: Sequence[Node], *, layers: int = 1) -> list[Record]:
    """The records of a file of some nodes; the curves lie on the last of the layers of their take."""
    objects: list[Record] = []
    links: list[Record] = []
    takes = list(dict.fromkeys(take for node in nodes for take in node.takes))
    for t, take in enumerate(takes):
        objects.append(Record("AnimationStack", [2000 + t, Named("AnimStack", take), ""]))
        for n in range(layers):
            objects.append(Record("AnimationLayer", [3000 + 10 * t + n, Named("AnimLayer", f"Layer{n}"), ""]))
            links.append(Record("C", ["OO", 3000 + 10 * t + n, 2000 + t]))
    number = 10_000
    for i, node in enumerate(nodes):
        objects.append(Record("Model", [100 + i, Named("Model", node.name), node.kind], [Record("Version", [232])]))
        links.append(Record("C", ["OO", 100 + i, 100 + node.parent if node.parent >= 0 else 0]))
        if node.kind == "LimbNode":
            flags = Record("TypeFlags", ["Skeleton"])
            objects.append(Record("NodeAttribute", [5000 + i, Named("NodeAttribute", ""), "LimbNode"], [flags]))
            links.append(Record("C", ["OO", 5000 + i, 100 + i]))
        for take, curves in node.takes.items():
            for letter in dict.fromkeys(key[0] for key in curves):
                holder = number = number + 1
                objects.append(Record("AnimationCurveNode", [holder, Named("AnimCurveNode", letter), ""]))
                layer = 3000 + 10 * takes.index(take) + layers - 1
                links.append(Record("C", ["OO", holder, layer]))
                links.append(Record("C", ["OP", holder, 100 + i, PROPERTIES[letter]]))
                for key, points in curves.items():
                    if key[0] != letter or len(key) == 1:
                        continue
                    number += 1
                    objects.append(_curve(number, points))
                    links.append(Record("C", ["OP", number, holder, f"d|{key[1]}"]))
    up = Record("P", ["UpAxis", "int", "Integer", "", 1])
    rate = Record("P", ["TimeMode", "enum", "", "", 11])
    return [
        Record("FBXHeaderExtension", [], [Record("FBXHeaderVersion", [1003]), Record("FBXVersion", [7400])]),
        Record("GlobalSettings", [], [Record("Version", [1000]), Record("Properties70", [], [up, rate])]),
        Record("Objects", [], objects),
        Record("Connections", [], links),
    ]


def _curve(number: int, points: Sequence[tuple[float, float]]) -> Record:
    return Record(
        "AnimationCurve",
        [number, Named("AnimCurve", ""), ""],
        [
            Record("Default", [0]),
            Record("KeyVer", [4008]),
            Record("KeyTime", [[int(seconds * SECOND) for seconds, _ in points]]),
            Record("KeyValueFloat", [[float(value) for _, value in points]]),
            Record("KeyAttrFlags", [[4]]),
            Record("KeyAttrDataFloat", [[0.0, 0.0, 0.0, 0.0]]),
            Record("KeyAttrRefCount", [[len(points)]]),
        ],
    )


def text(records: Iterable[Record], depth: int = 0) -> str:
    """As the text form has them."""
    lines = [] if depth else ["; FBX 7.4.0 project file"]
    tab = "\t" * depth
    for record in records:
        said = [_text_value(value, tab) for value in record.values]
        inner = text(record.children, depth + 1) if record.children else ""
        body = f" {{\n{inner}\n{tab}}}" if record.children or record.name in ("Objects", "Connections") else ""
        lines.append(f"{tab}{record.name}: {','.join(said)}{body}")
    return "\n".join(lines)


def _text_value(value: object, tab: str) -> str:
    if isinstance(value, Named):
        return f'"{value.kind}::{value.name}"'
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return f"*{len(value)} {{\n{tab}\ta: {','.join(map(str, value))}\n{tab}}}"
    return str(value)


def binary(records: Iterable[Record], version: int = 7400) -> bytes:
    """As the binary form has them; from 7500 on with 64-bit offsets."""
    head = b"Kaydara FBX Binary  \x00\x1a\x00" + struct.pack("<I", version)
    wide = version >= 7500
    body = b""
    for record in records:
        body += _binary(record, len(head) + len(body), wide)
    return head + body + bytes(25 if wide else 13) + bytes(16)


def _binary(record: Record, at: int, wide: bool) -> bytes:
    values = b"".join(_binary_value(value, wide=record.name in _WITH_64_BITS) for value in record.values)
    name = record.name.encode()
    form, null = ("<QQQB", 25) if wide else ("<IIIB", 13)
    start = at + null + len(name) + len(values)
    inner = b""
    for child in record.children:
        inner += _binary(child, start + len(inner), wide)
    if inner:
        inner += bytes(null)
    return struct.pack(form, start + len(inner), len(record.values), len(values), len(name)) + name + values + inner


# Blender's importer in Python insists on the sizes that FBX's own software writes.
_WITH_64_BITS = frozenset(
    [
        "C",
        "Model",
        "NodeAttribute",
        "KeyTime",
        "AnimationStack",
        "AnimationLayer",
        "AnimationCurveNode",
        "AnimationCurve",
    ]
)


def _binary_value(value: object, *, wide: bool = False) -> bytes:
    if isinstance(value, Named):
        return _binary_value(f"{value.name}\x00\x01{value.kind}")
    if isinstance(value, str):
        raw = value.encode()
        return b"S" + struct.pack("<I", len(raw)) + raw
    whole = "q" if wide else "i"
    if isinstance(value, list):
        form = "f" if any(isinstance(v, float) for v in value) else whole
        raw = struct.pack(f"<{len(value)}{form}", *value)
        return {"q": b"l"}.get(form, form.encode()) + struct.pack("<III", len(value), 0, len(raw)) + raw
    if isinstance(value, float):
        return b"D" + struct.pack("<d", value)
    return (b"L" if wide else b"I") + struct.pack(f"<{whole}", int(str(value)))


def write(path: Path, nodes: Sequence[Node], *, as_text: bool = False, layers: int = 1, version: int = 7400) -> Path:
    """Write a file of some nodes."""
    records = tree(nodes, layers=layers)
    path.write_bytes(text(records).encode() if as_text else binary(records, version))
    return path
