# SPDX-License-Identifier: GPL-3.0-or-later
"""Bad input: one InputError that says what, where and what to do, never anything else."""

from __future__ import annotations

import base64
import json
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quat_audit.errors import InputError
from quat_audit.files.gltf import reading as gltf
from quat_audit.files.gltf.container import open_document, parse, resources

from .gltf_builder import Builder, channel, quaternions, rotation


def _small() -> Builder:
    b = Builder()
    times = b.accessor([0.0, 0.5, 1.0])
    q = quaternions(1, 3)
    b.animate(
        channel(times, b.accessor(q)),
        channel(times, b.accessor(np.rint(q * 32767), "int16", normalized=True), 1),
        channel(times, b.accessor(np.repeat(q, 3, axis=0)), 2, interpolation="CUBICSPLINE"),
        channel(times, b.accessor(np.zeros((3, 4)), sparse=([0, 2], q[:2]), base=False), 0),
        channel(times, b.accessor(q[:, :3]), 0, "translation"),
    )
    return b


def _read(raw: bytes, folder: Path, name: str = "file.glb") -> Any:
    (folder / name).write_bytes(raw)
    return gltf.read(folder / name)


@pytest.mark.slow
def test_every_truncation_is_an_input_error(tmp_path: Path) -> None:
    raw = _small().glb()
    assert len(_read(raw, tmp_path).clips[0].tracks) == 4
    for length in range(len(raw)):
        with pytest.raises(InputError):
            _read(raw[:length], tmp_path)


@pytest.mark.slow
def test_truncations_of_json_are_input_errors(tmp_path: Path) -> None:
    raw = _small().gltf_embedded()
    for length in range(len(raw)):
        with pytest.raises(InputError):
            _read(raw[:length], tmp_path, "file.gltf")


_RAW = _small().glb()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, len(_RAW) - 1), st.integers(0, 255)), min_size=1, max_size=6))
@pytest.mark.slow
def test_flipped_bytes_raise_nothing_else(flips: list[tuple[int, int]], tmp_path: Path) -> None:
    raw = bytearray(_RAW)
    for at, value in flips:
        raw[at] = value
    _reads_or_says(bytes(raw), tmp_path)


def _reads_or_says(raw: bytes, folder: Path) -> None:
    try:
        raw_file = _read(raw, folder)
    except InputError:
        return
    for clip in raw_file.clips:
        clip.validate()
    assert next(iter(raw_file.patch(raw_file.clips).outputs.values())) == raw


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(p for key, child in children for p in _paths(child, (*path, key)))]


_WRONG: list[Any] = [None, True, -1, 0, 1, 7, 3.5, 2**31, 2**63, 10**30, 1e300, "x", "", [], [1], {}, {"a": 1}]


@pytest.mark.slow
def test_every_json_value_replaced_raises_nothing_else(tmp_path: Path) -> None:
    """Each value of the JSON, one after the other, becomes something it must not be, or is left out."""
    b = _small()
    b.glb()
    original = json.dumps(b.doc)
    for path in _paths(b.doc)[1:]:
        for wrong in [*_WRONG, "absent"]:
            b.doc = json.loads(original)
            owner = b.doc
            for key in path[:-1]:
                owner = owner[key]
            if wrong == "absent":
                del owner[path[-1]]
            else:
                owner[path[-1]] = wrong
            text = json.dumps(b.doc).encode()
            data = bytes(b.data) + b"\0" * (-len(b.data) % 4)
            chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data
            _reads_or_says(b"glTF" + struct.pack("<II", 2, 12 + len(chunks)) + chunks, tmp_path)


def _edit(change: Callable[[dict[str, Any]], None]) -> bytes:
    b = _small()
    b.glb()
    change(b.doc)
    b._document = lambda uri: json.dumps(b.doc).encode()  # type: ignore[method-assign]
    return b.glb()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "empty"),
        (b"glTF\x02\0\0\0", "truncated"),
        (b"Kaydara FBX Binary  ", "starts with"),
        (b"glTF" + struct.pack("<II", 1, 20) + b"\0" * 8, "version 1"),
        (b"glTF" + struct.pack("<II", 2, 999) + b"\0" * 8, "promises 999 bytes, the file has 20"),
        (b"glTF" + struct.pack("<II", 2, 20) + struct.pack("<I4s", 99, b"JSON"), "chunk at byte 12 promises 99"),
        (b"glTF" + struct.pack("<II", 2, 20) + struct.pack("<I4s", 0, b"BIN\0"), "must be JSON"),
        (b'{"asset": {"version": "2.0"},\n nodes}', "line 2, column 2"),
        (b'{"asset": {"version": "2.0"}, "x": NaN}', "NaN"),
        (b'{"asset": {"version": "1.0"}}', "version 1.0"),
        (b'{"assets": 1}', "no asset.version"),
        (b'{"asset": "\xff"}', "UTF-8"),
        (b'{"a":' * 100_000, "cannot be read"),
        (_edit(lambda d: d["accessors"][1].update(count=4000)), "accessor 1 is out of range"),
        (_edit(lambda d: d["accessors"][1].update(bufferView=99)), "bufferView 99"),
        (_edit(lambda d: d["accessors"][1].update(componentType=5130)), "unknown componentType 5130"),
        (_edit(lambda d: d["accessors"][1].update(count=-1)), "accessor 1: 'count' must be a whole number"),
        (_edit(lambda d: d["bufferViews"][2].update(byteLength=4000)), "bufferView 2 is out of range"),
        (_edit(lambda d: d["bufferViews"][2].update(byteStride=4)), "byteStride 4 is less"),
        (_edit(lambda d: d["buffers"][0].update(byteLength=4000)), "buffer 0: byteLength promises 4000"),
        (_edit(lambda d: d["accessors"][4]["sparse"].update(count=9)), "replaces 9 of 3"),
        (
            _edit(lambda d: d["accessors"][4].pop("sparse") and d["accessors"][4].update(count=10**9)),
            "without any data",
        ),
        (_edit(lambda d: d["buffers"][0].update(uri="missing.bin")), "'missing.bin' cannot be read"),
        (_edit(lambda d: d["buffers"][0].update(uri="https://example.com/a.bin")), "only files beside it"),
        (_edit(lambda d: d["buffers"][0].update(uri="data:;base64,A!")), "not base64"),
        (_edit(lambda d: d["buffers"][0].update(uri="data:x")), "no comma"),
        (_edit(lambda d: d["nodes"][0].update(rotation=[0, 0, 1])), "node 0: 'rotation' must be 4 numbers"),
    ],
)
def test_what_is_said(raw: bytes, says: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        _read(raw, tmp_path)
    assert says in str(error.value)


def test_zeros_without_data_are_bounded_in_a_file_not_in_an_accessor(tmp_path: Path) -> None:
    """313 bytes can ask for gigabytes otherwise."""
    times = {"componentType": 5126, "type": "SCALAR", "count": 10**5}
    values = {"componentType": 5126, "type": "VEC4", "count": 10**5}

    def document(channels: int) -> bytes:
        samplers = [{"input": 2 * i, "output": 2 * i + 1} for i in range(channels)]
        targets = [{"sampler": i, "target": {"node": i, "path": "rotation"}} for i in range(channels)]
        animations = [{"channels": targets, "samplers": samplers}]
        nodes: list[dict[str, Any]] = [{}] * channels
        found = {"asset": {"version": "2.0"}, "nodes": nodes, "accessors": [times, values] * channels}
        return json.dumps(found | {"animations": animations}).encode()

    with pytest.raises(InputError, match="1100000 elements without any data in the file"):
        _read(document(6), tmp_path)
    _read(document(1), tmp_path)


@pytest.mark.parametrize("name", ["zeros.glb", "zeros.gltf"])
def test_a_file_of_zeros_is_known_by_its_first_bytes(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    with path.open("wb") as file:
        file.truncate(2**24)
    tracemalloc.start()
    try:
        with pytest.raises(InputError):
            open_document(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_white_space_before_the_json_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "late.gltf"
    path.write_bytes(b"\xef\xbb\xbf" + b" " * 10_000 + b'{"asset": {"version": "2.0"}}')
    assert open_document(path).json == {"asset": {"version": "2.0"}}


def test_missing_file_and_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.glb", tmp_path):
        with pytest.raises(InputError, match="cannot be opened"):
            gltf.read(path)


def test_glb_chunks_after_bin_and_trailing_bytes_are_kept(tmp_path: Path) -> None:
    raw = bytearray(_small().glb()) + struct.pack("<I4s", 4, b"XTRA") + b"abcd"
    struct.pack_into("<I", raw, 8, len(raw))
    raw += b"trailing"
    raw_file = _read(bytes(raw), tmp_path)
    assert len(raw_file.clips[0].tracks) == 4
    assert raw_file.patch(raw_file.clips).outputs == {"file.glb": bytes(raw)}


def test_embedded_external_and_glb_read_the_same(tmp_path: Path) -> None:
    b = _small()
    expected = _read(b.glb(), tmp_path)
    embedded = _read(b.gltf_embedded(), tmp_path, "embedded.gltf")
    external = gltf.read(b.write_external(tmp_path))
    for raw_file in (embedded, external):
        for track in range(4):
            np.testing.assert_array_equal(rotation(raw_file, 0, track), rotation(expected, 0, track))


def test_data_uri_without_padding_or_with_percent_encoding(tmp_path: Path) -> None:
    b = _small()
    expected = rotation(_read(b.glb(), tmp_path))
    b.data += b"\0"  # a length that needs padding
    text = base64.b64encode(b.data).decode()
    assert text.endswith("=")
    for uri in (
        "data:;base64," + text.rstrip("="),
        "data:;base64," + text.replace("+", "%2B").replace("/", "%2F"),
        "data:application/octet-stream," + "".join(f"%{byte:02X}" for byte in b.data),
    ):
        np.testing.assert_array_equal(rotation(_read(b._document(uri), tmp_path, "uri.gltf")), expected)


def test_a_missing_resource_that_no_animation_uses_costs_nothing(tmp_path: Path) -> None:
    b = _small()
    b.glb()
    b.doc["buffers"].append({"byteLength": 12, "uri": "mesh.bin"})
    b._document = lambda uri: json.dumps(b.doc).encode()  # type: ignore[method-assign]
    assert len(_read(b.glb(), tmp_path).clips[0].tracks) == 4


def test_resources_lists_existing_files_below_the_folder_only(tmp_path: Path) -> None:
    (tmp_path / "textures").mkdir()
    (tmp_path / "textures/a b.png").write_bytes(b"x")
    uris = ["textures/a%20b.png", "absent.png", "../outside.png", "data:,x", "https://example.com/x.png", "a\0b"]
    doc = {"asset": {"version": "2.0"}, "images": [{"uri": u} for u in uris]}
    assert resources(parse(tmp_path / "x.gltf", json.dumps(doc).encode(), lambda _: b"")) == ("textures/a b.png",)
