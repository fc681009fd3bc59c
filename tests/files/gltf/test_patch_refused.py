# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits that a file cannot express, or must not: the bytes stay, and the reason is given."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quat_audit.files.gltf import reading as gltf
from quat_audit.motion.clip import Curves, with_curves

from .gltf_builder import Builder, channel, pointer, quaternions, rotation
from .patching import TIMES, WXYZ, no_change, patched, scaled, simple


def _drop_last_key(c: Curves) -> Curves:
    keep = np.ones(len(c.co), bool)
    keep[c.offsets[1:] - 1] = False
    per_key = ("co", "handle_left", "handle_right", "interpolation", "origin", "marked")
    return dataclasses.replace(
        c, offsets=c.offsets - np.arange(len(c.offsets)), **{k: getattr(c, k)[keep] for k in per_key}
    )


def _values(c: Curves, value: float) -> Curves:
    co = c.co.copy()
    co[2, 1] = value
    return dataclasses.replace(c, co=co)


def _times(c: Curves) -> Curves:
    co = c.co.copy()
    co[1::4, 0] += 1.0
    return dataclasses.replace(c, co=co)


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (_drop_last_key, "keys were added or removed"),
        (_times, "key times were changed"),
        (lambda c: dataclasses.replace(c, interpolation=np.zeros_like(c.interpolation)), "interpolation was changed"),
        (
            lambda c: dataclasses.replace(c, ancestor=np.array([0, 1, 2, -1]), data_path=(*c.data_path[:3], "/x")),
            "curve was",
        ),
        (lambda c: _values(c, np.inf), "not finite"),
        (lambda c: _values(c, 1e39), "too large"),
    ],
)
def test_what_cannot_be_expressed(edit: Callable[[Curves], Curves], says: str, tmp_path: Path) -> None:
    b, _ = simple()
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = raw_file.clips[0]
    result = raw_file.patch([with_curves(clip, edit(clip.curves))])
    assert result.outputs == {"file.glb": raw_file.path.read_bytes()}
    assert result.refused
    assert all(says in r.why for r in result.refused)
    assert "/nodes/0/rotation" in {r.data_path for r in result.refused}


def test_other_channels_are_refused_and_do_not_stop_rotations(tmp_path: Path) -> None:
    b, q = simple()
    b.doc["animations"][0]["channels"].append({"sampler": 1, "target": {"node": 0, "path": "scale"}})
    b.doc["animations"][0]["samplers"].append({"input": 0, "output": b.accessor(np.ones((4, 3)))})
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = scaled(raw_file.clips[0], 0, [1])
    clip.curves.co[-1, 1] = 7.0
    again, result, _ = patched(raw_file, tmp_path, clip)
    assert [(r.clip, r.data_path) for r in result.refused] == [(0, "/nodes/0/scale")]
    np.testing.assert_array_equal(rotation(again)[1], -q[1, WXYZ])
    assert again.clips[0].curves.co[-1, 1] == 1.0


def shared(second: str = "rotation") -> Builder:
    """Two animations that play the same output accessor."""
    b, _ = simple()
    b.animate(channel(0, 1, 1, second) if second == "rotation" else pointer(0, 1, second), name="second")
    return b


def test_shared_output_follows_when_all_ask_for_the_same(tmp_path: Path) -> None:
    raw_file = gltf.read(shared().write_glb(tmp_path))
    again, result, changed = patched(raw_file, tmp_path, *(scaled(c, 0, [2]) for c in raw_file.clips))
    assert result.refused == ()
    assert len(changed) == 4
    for c in range(2):
        np.testing.assert_array_equal(rotation(again, c)[2], -rotation(raw_file, c)[2])


def test_shared_output_stays_when_they_do_not(tmp_path: Path) -> None:
    raw_file = gltf.read(shared().write_glb(tmp_path))
    no_change(raw_file, scaled(raw_file.clips[0], 0, [2]), "animation 'second', /nodes/1/rotation, which does not get")
    for keys, factor in (([1], -1.0), ([1, 2], -1.0), ([2], 0.5)):
        result = raw_file.patch([scaled(raw_file.clips[0], 0, [2]), scaled(raw_file.clips[1], 0, keys, factor)])
        assert len(result.refused) == 2
        assert "asks for a different change" in result.refused[0].why
        assert result.outputs == {"file.glb": raw_file.path.read_bytes()}
    b, _ = simple()  # equal bytes everywhere: only where they lie tells the two wishes apart
    values = b.accessor(np.full((4, 4), 64), "int8", normalized=True)
    b.animate(channel(0, values), channel(0, values, 1), name="equal keys")
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = scaled(scaled(raw_file.clips[1], 0, [1]), 1, [2])
    result = raw_file.patch([raw_file.clips[0], clip])
    assert len(result.refused) == 2
    assert "asks for a different change" in result.refused[0].why
    assert result.outputs == {"file.glb": raw_file.path.read_bytes()}


def test_shared_with_another_kind_of_channel(tmp_path: Path) -> None:
    raw_file = gltf.read(shared("/nodes/1/weights").write_glb(tmp_path))
    no_change(raw_file, scaled(raw_file.clips[0], 0, [2]), "also used by /nodes/1/weights in 'second'")


def _mesh(b: Builder) -> None:
    b.doc["meshes"] = [{"primitives": [{"attributes": {"TANGENT": 1}}]}]


def _overlapping_accessor(b: Builder) -> None:
    b.doc["accessors"].append({"componentType": 5126, "type": "VEC3", "count": 1, "bufferView": 1, "byteOffset": 40})


def _image(b: Builder) -> None:
    b.doc["images"] = [{"bufferView": 1, "mimeType": "image/png"}]


def _opaque_view(b: Builder) -> None:
    b.doc["bufferViews"].append(b.doc["bufferViews"][1] | {"byteLength": 48})


def _second_view_same_bytes(b: Builder) -> None:
    b.doc["bufferViews"].append(dict(b.doc["bufferViews"][1]))
    b.doc["accessors"].append(b.doc["accessors"][1] | {"bufferView": len(b.doc["bufferViews"]) - 1})
    b.animate(channel(0, len(b.doc["accessors"]) - 1, 1), name="second")


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (_mesh, "used by a mesh"),
        (_overlapping_accessor, "those of accessor 2"),
        (_image, "those of bufferView 1"),
        (_opaque_view, "those of bufferView 2"),
        (_second_view_same_bytes, "animation 'second'"),
        (lambda b: b.doc["skins"].append({"inverseBindMatrices": 1}), "used by a skin"),
        (lambda b: b.animate(channel(0, 1, 1, interpolation="SMOOTH"), name="broken"), "could not be read"),
        (lambda b: b.animate(channel(1, 1, 1), name="as times"), "could not be read"),
    ],
)
def test_bytes_that_something_else_reads(use: Callable[[Builder], Any], says: str, tmp_path: Path) -> None:
    b, _ = simple()
    b.doc["skins"] = []
    use(b)
    raw_file = gltf.read(b.write_glb(tmp_path))
    no_change(raw_file, scaled(raw_file.clips[0], 0, [2]), says)


def test_interleaved_neighbours_do_not_count_as_shared(tmp_path: Path) -> None:
    """A quaternion and a scalar alternate in one view: their extents overlap, their bytes do not."""
    b = Builder()
    q = quaternions(28, 4)
    times = b.accessor(TIMES)
    view = b.view(np.concatenate([q, np.arange(4, dtype=np.float32)[:, None]], axis=1).astype("<f4").tobytes(), 20)
    common = {"bufferView": view, "componentType": 5126, "count": 4}
    b.doc["accessors"] += [common | {"type": "VEC4"}, common | {"type": "SCALAR", "byteOffset": 16}]
    b.animate(channel(times, 1), channel(times, 2, 1, "weights"))
    raw_file = gltf.read(b.write_glb(tmp_path))
    again, result, changed = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, slice(None)))
    assert result.refused == ()
    assert len(changed) == 16
    np.testing.assert_array_equal(rotation(again), -q[:, WXYZ].astype(np.float64))
    np.testing.assert_array_equal(again.clips[0].curves.co[16:, 1], np.arange(4.0))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda raw, folder: raw.replace(b"base64,", b"base64,\\u0041", 1).replace(b"\\u0041A", b"\\u0041", 1),
            "escapes",
        ),
        (lambda raw, folder: raw.replace(b"base64,", b"base64, ", 1), "not plain base64"),
    ],
)
def test_data_uris_that_cannot_be_rewritten(change: Callable[..., bytes], says: str, tmp_path: Path) -> None:
    b, _ = simple()
    raw = change(b.gltf_embedded(), tmp_path)
    (tmp_path / "file.gltf").write_bytes(raw)
    raw_file = gltf.read(tmp_path / "file.gltf")
    assert len(rotation(raw_file)) == 4
    no_change(raw_file, scaled(raw_file.clips[0], 0, [1]), says)


def test_buffers_outside_the_folder_are_not_written(tmp_path: Path) -> None:
    b, _ = simple()
    (tmp_path / "data.bin").write_bytes(bytes(b.data))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file.gltf").write_bytes(b._document("../data.bin"))
    raw_file = gltf.read(tmp_path / "folder/file.gltf")
    no_change(raw_file, scaled(raw_file.clips[0], 0, [1]), "outside the glTF's folder")
