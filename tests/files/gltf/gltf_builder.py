# SPDX-License-Identifier: GPL-3.0-or-later
"""Small glTF files made for a test: accessors are appended, the container is chosen at the end."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from quat_audit.files.raw_file import RawFile

CODES = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}


class Builder:
    """A document under construction: `doc` is its JSON, `data` its one buffer."""

    def __init__(self, nodes: int = 3) -> None:
        self.data = bytearray()
        self.doc: dict[str, Any] = {
            "asset": {"version": "2.0"},
            "nodes": [{"name": f"Bone{i}"} for i in range(nodes)],
            "accessors": [],
            "bufferViews": [],
            "animations": [],
        }

    def view(self, payload: bytes, stride: int = 0) -> int:
        self.data += b"\xee" * (-len(self.data) % 4)  # padding that a stray write would show up in
        item = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(payload)}
        if stride:
            item["byteStride"] = stride
        self.data += payload
        self.doc["bufferViews"].append(item)
        return len(self.doc["bufferViews"]) - 1

    def accessor(
        self,
        values: Any,
        dtype: str = "float32",
        *,
        normalized: bool = False,
        stride: int = 0,
        offset: int = 0,
        sparse: tuple[Any, Any] | None = None,
        base: bool = True,
    ) -> int:
        """``values`` (n,) or (n, width) as stored. ``sparse``: indices, values."""
        array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
        array = array.reshape(len(array), -1)
        item: dict[str, Any] = {"componentType": CODES[dtype], "count": len(array), "type": TYPES[array.shape[1]]}
        if normalized:
            item["normalized"] = True
        if base:
            rows = [row.tobytes() for row in array]
            if stride:
                rows = [row + b"\xdd" * (stride - len(row)) for row in rows]
            item["bufferView"] = self.view(b"\xcc" * offset + b"".join(rows), stride)
            if offset:
                item["byteOffset"] = offset
        if sparse:
            indices, replaced = sparse
            item["sparse"] = {
                "count": len(indices),
                "indices": {"bufferView": self.view(np.array(indices, "<u2").tobytes()), "componentType": 5123},
                "values": {"bufferView": self.view(np.array(replaced, array.dtype).tobytes())},
            }
        self.doc["accessors"].append(item)
        return len(self.doc["accessors"]) - 1

    def animate(self, *channels: dict[str, Any], name: str | None = None) -> int:
        """An animation of channels made by `channel`."""
        item: dict[str, Any] = {"channels": [], "samplers": []}
        if name is not None:
            item["name"] = name
        for c in channels:
            item["channels"].append({"sampler": len(item["samplers"]), "target": c["target"]})
            item["samplers"].append(c["sampler"])
        self.doc["animations"].append(item)
        return len(self.doc["animations"]) - 1

    def _document(self, uri: str | None) -> bytes:
        if self.data:
            self.doc["buffers"] = [{"byteLength": len(self.data)} | ({"uri": uri} if uri is not None else {})]
        return json.dumps(self.doc).encode()

    def glb(self) -> bytes:
        text = self._document(None)
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
        return b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks

    def gltf_embedded(self) -> bytes:
        return self._document("data:application/octet-stream;base64," + base64.b64encode(self.data).decode())

    def write_glb(self, folder: Path, name: str = "file.glb") -> Path:
        (folder / name).write_bytes(self.glb())
        return folder / name

    def write_external(self, folder: Path) -> Path:
        (folder / "my data.bin").write_bytes(bytes(self.data))
        (folder / "file.gltf").write_bytes(self._document("my%20data.bin"))
        return folder / "file.gltf"


def channel(
    times: int, values: int, node: int = 0, path: str = "rotation", interpolation: str | None = None
) -> dict[str, Any]:
    sampler: dict[str, Any] = {"input": times, "output": values}
    if interpolation:
        sampler["interpolation"] = interpolation
    return {"sampler": sampler, "target": {"node": node, "path": path}}


def pointer(times: int, values: int, target: str, interpolation: str = "LINEAR") -> dict[str, Any]:
    sampler = {"input": times, "output": values, "interpolation": interpolation}
    extensions = {"KHR_animation_pointer": {"pointer": target}}
    return {"sampler": sampler, "target": {"path": "pointer", "extensions": extensions}}


def rotation(raw_file: RawFile, clip: int = 0, track: int = 0) -> np.ndarray[Any, Any]:
    """(n, 4) w, x, y, z of a track."""
    c = raw_file.clips[clip]
    return np.stack([c.curves.co[c.curves.rows(i), 1] for i in c.tracks.curves[track].tolist()], axis=1)


def quaternions(seed: int, n: int) -> np.ndarray[Any, Any]:
    """(n, 4) random unit quaternions as float32, x, y, z, w."""
    q = np.random.default_rng(seed).normal(size=(n, 4))
    return (q / np.linalg.norm(q, axis=1, keepdims=True)).astype(np.float32)
