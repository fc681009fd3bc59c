# SPDX-License-Identifier: GPL-3.0-or-later
"""Patched bytes: exactly the rotation values that were asked for, nothing else, or a reason why not."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quat_audit.clip import Clip, Curves, with_curves
from quat_audit.files import gltf
from quat_audit.files.gltf_edit import encode
from quat_audit.files.source import Patched, Source

from .gltf_builder import Builder, channel, pointer, quaternions, rotation

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


def patched(source: Source, folder: Path, *clips: Clip) -> tuple[Source, Patched, Array]:
    """The patched file read again, and the positions of the changed bytes of the last output."""
    result = source.patch(clips)
    folder = folder / "out"
    folder.mkdir(exist_ok=True)
    for name in result.copies:
        (folder / name).write_bytes((source.path.parent / name).read_bytes())
    for name, data in result.outputs.items():
        (folder / name).write_bytes(data)
    name = list(result.outputs)[-1]
    before = np.frombuffer((source.path.parent / name).read_bytes(), np.uint8)
    after = np.frombuffer(result.outputs[name], np.uint8)
    assert len(before) == len(after)
    return gltf.read(folder / source.path.name), result, np.flatnonzero(before != after)


def no_change(source: Source, edited: Clip, says: str) -> None:
    """The edit of the first clip is refused with a reason and the bytes stay."""
    result = source.patch([edited, *source.clips[1:]])
    assert len(result.refused) == 1
    assert says in result.refused[0].why
    assert f"animation {edited.action!r}" in result.refused[0].why
    for name, data in result.outputs.items():
        assert data == (source.path.parent / name).read_bytes()


def simple(**sampler: Any) -> tuple[Builder, Array]:
    b = Builder()
    q = quaternions(21, 4)
    b.animate(channel(b.accessor(TIMES), b.accessor(q), **sampler))
    return b, q.astype(np.float64)


def glb_json(raw: bytes) -> tuple[dict[str, Any], int]:
    """The JSON of a .glb, and where its BIN data starts."""
    length = int.from_bytes(raw[12:16], "little")
    return json.loads(raw[20 : 20 + length]), 20 + length + 8


def output_range(doc: dict[str, Any], binary: int, accessor: int) -> range:
    """Where the bytes of a float VEC4 accessor lie in a .glb, from its JSON alone."""
    item = doc["accessors"][accessor]
    start = binary + doc["bufferViews"][item["bufferView"]].get("byteOffset", 0) + item.get("byteOffset", 0)
    return range(start, start + item["count"] * 16)


def test_real_file_negations_change_sign_bits_of_rotation_outputs_only(cases: Path, tmp_path: Path) -> None:
    path = cases / "files/KayKit-Character-Pack-Adventures-1.0/Knight.glb"
    raw = path.read_bytes()
    source = gltf.read(path)
    rng = np.random.default_rng(22)
    edited, wanted, chosen = [], {}, 0
    for c, clip in enumerate(source.clips):
        new = clip
        for t in range(len(clip.tracks)):
            if rng.random() < 0.05:
                q = rotation(source, c, t)
                negative = rng.random(len(q)) < 0.5
                new = scaled(new, t, negative)
                wanted[c, t] = np.where(negative[:, None], -q, q)
                chosen += 1
        edited.append(new)
    again, result, changed = patched(source, tmp_path, *edited)
    assert chosen > 100
    assert result.refused == ()
    doc, binary = glb_json(raw)
    allowed = np.zeros(len(raw), bool)
    for c, clip in enumerate(source.clips):
        for t in range(len(clip.tracks)):
            q = rotation(source, c, t)
            np.testing.assert_array_equal(rotation(again, c, t), wanted.get((c, t), q))
    for c, animation in enumerate(doc["animations"]):
        outputs = [
            (f"/nodes/{x['target']['node']}/rotation", animation["samplers"][x["sampler"]]["output"])
            for x in animation["channels"]
            if x["target"]["path"] == "rotation"
        ]
        for t, (data_path, output) in enumerate(outputs):
            assert source.clips[c].tracks.data_path[t] == data_path
            if (c, t) in wanted:
                where = output_range(doc, binary, output)
                allowed[where.start : where.stop] = True
    assert len(changed)
    assert allowed[changed].all()
    old, new = (np.frombuffer(x, np.uint8)[changed] for x in (raw, result.outputs["Knight.glb"]))
    assert ((old ^ new) == 0x80).all()


def test_no_edit_gives_the_same_bytes(cases: Path) -> None:
    for name in json.loads((cases / "raw_expected.json").read_text()):
        source = gltf.read(cases / "files" / name)
        for clips in (source.clips, [scaled(c, 0, slice(0)) if len(c.tracks) else c for c in source.clips]):
            result = source.patch(clips)
            assert result.outputs == {source.path.name: source.path.read_bytes()}
            assert result.refused == ()
        assert set(result.copies) == {p.name for p in source.path.parent.glob("*.bin")}


@pytest.mark.parametrize("name", ["magnum-plugins/animation/animation.gltf", "market-assets/model.gltf"])
def test_real_gltf_with_external_and_embedded_buffers(name: str, cases: Path, tmp_path: Path) -> None:
    source = gltf.read(cases / "files" / name)
    clips = [scaled(c, 0, [0]) if len(c.tracks) and c.action != "empty TRS animation" else c for c in source.clips]
    again, result, changed = patched(source, tmp_path, *clips)
    assert result.refused == ()
    assert len(changed)
    names = [source.path.name] + (["animation.bin"] if "magnum" in name else [])
    assert list(result.outputs) == names
    for c, clip in enumerate(source.clips):
        for t in range(len(clip.tracks)):
            q = rotation(source, c, t)
            q[:1] *= -1.0 if clips[c] is not clip else 1.0
            np.testing.assert_array_equal(rotation(again, c, t), q)


@pytest.mark.parametrize("storage", ["glb", "external", "embedded"])
def test_float_values_in_every_container(storage: str, tmp_path: Path) -> None:
    b, q = simple()
    if storage == "external":
        path = b.write_external(tmp_path)
    elif storage == "glb":
        path = b.write_glb(tmp_path)
    else:
        path = tmp_path / "file.gltf"
        path.write_bytes(b.gltf_embedded())
    source = gltf.read(path)
    again, result, changed = patched(source, tmp_path, scaled(source.clips[0], 0, [1, 3], 0.5))
    assert result.refused == ()
    expected = q[:, WXYZ]
    expected[[1, 3]] *= 0.5
    np.testing.assert_array_equal(rotation(again), expected)
    assert list(result.outputs) == [path.name] + (["my data.bin"] if storage == "external" else [])
    if storage == "external":
        assert result.outputs["file.gltf"] == path.read_bytes()
    assert len(changed)


def test_zeros_and_unchanged_components_keep_their_bytes(tmp_path: Path) -> None:
    b = Builder()
    b.animate(channel(b.accessor([0.0, 1.0]), b.accessor([[0.0, -0.0, 0.6, 0.8], [0.0, 0.0, 0.6, 0.8]])))
    source = gltf.read(b.write_glb(tmp_path))
    _, _, changed = patched(source, tmp_path, scaled(source.clips[0], 0, [1]))
    where = output_range(*glb_json(source.path.read_bytes()), 1)
    assert changed.tolist() == [where.start + 16 + 11, where.start + 16 + 15]


@pytest.mark.parametrize("stride", [16, 24])
@pytest.mark.parametrize("offset", [0, 2])
def test_strided_and_unaligned(stride: int, offset: int, tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(23, 4)
    b.animate(channel(b.accessor(TIMES), b.accessor(q, stride=stride, offset=offset)))
    source = gltf.read(b.write_glb(tmp_path))
    again, result, changed = patched(source, tmp_path, scaled(source.clips[0], 0, [2]))
    assert result.refused == ()
    assert len(changed) == 4
    expected = q[:, WXYZ].astype(np.float64)
    expected[2] *= -1.0
    np.testing.assert_array_equal(rotation(again), expected)


@pytest.mark.parametrize(("dtype", "scale"), [("int8", 127.0), ("int16", 32767.0)])
def test_normalised_integers_negate(dtype: str, scale: float, tmp_path: Path) -> None:
    stored = np.rint(quaternions(24, 4) * scale)
    stored[1, 2] = np.iinfo(dtype).min
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(stored, dtype, normalized=True)))
    source = gltf.read(b.write_glb(tmp_path))
    before = rotation(source)
    again, result, _ = patched(source, tmp_path, scaled(source.clips[0], 0, [1, 2]))
    assert result.refused == ()
    expected = before.copy()
    expected[[1, 2]] *= -1.0
    np.testing.assert_array_equal(rotation(again), expected)
    assert expected[1, 3] == 1.0  # −128 and 127 are both whole
    no_change(source, scaled(source.clips[0], 0, [0], 0.99), "cannot hold")
    no_change(source, scaled(source.clips[0], 0, [1], 2.0), "cannot hold")


@pytest.mark.parametrize(("code", "dtype", "most"), [(5120, "i1", 127), (5122, "<i2", 32767)])
def test_every_integer_fits_itself(code: int, dtype: str, most: int) -> None:
    numbers = np.arange(-most, most + 1)
    for fractions in (numbers / most, (numbers / most).astype(np.float32).astype(np.float64)):
        np.testing.assert_array_equal(encode(fractions, code, True).view(dtype).ravel(), numbers)


def test_plain_integers_have_one_more_negative(tmp_path: Path) -> None:
    b = Builder()
    b.animate(channel(b.accessor([0.0, 1.0]), b.accessor([[0, 0, 0, 1], [0, 0, -128, 3]], "int8")))
    source = gltf.read(b.write_glb(tmp_path))
    no_change(source, scaled(source.clips[0], 0, [1]), "cannot hold 128 exactly")
    again, result, _ = patched(source, tmp_path, scaled(source.clips[0], 0, [0]))
    assert result.refused == ()
    np.testing.assert_array_equal(rotation(again), [[-1, 0, 0, 0], [3, 0, 0, -128]])


def test_pointer_to_a_rotation(tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(29, 4)
    b.animate(pointer(b.accessor(TIMES), b.accessor(q), "/nodes/1/rotation"))
    source = gltf.read(b.write_glb(tmp_path))
    again, result, changed = patched(source, tmp_path, scaled(source.clips[0], 0, [3]))
    assert result.refused == ()
    assert len(changed) == 4
    np.testing.assert_array_equal(rotation(again)[3], -q[3, WXYZ].astype(np.float64))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_unsigned_integers_have_no_sign(dtype: str, tmp_path: Path) -> None:
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(np.arange(16.0).reshape(4, 4), dtype, normalized=True)))
    source = gltf.read(b.write_glb(tmp_path))
    no_change(source, scaled(source.clips[0], 0, [1]), "no sign fits")


def test_sparse_values_in_their_block_and_base_values_in_theirs(tmp_path: Path) -> None:
    q = quaternions(25, 4)
    b = Builder()
    b.animate(
        channel(b.accessor(TIMES), b.accessor(q, sparse=([1, 3], q[[1, 3]]))),
        channel(0, b.accessor(np.zeros((4, 4)), sparse=([1, 3], q[[1, 3]]), base=False), 1),
    )
    source = gltf.read(b.write_glb(tmp_path))
    clip = scaled(scaled(source.clips[0], 0, [0, 1]), 1, [3])
    again, result, changed = patched(source, tmp_path, clip)
    assert result.refused == ()
    assert len(changed) == 12
    expected = q[:, WXYZ].astype(np.float64)
    expected[[0, 1]] *= -1.0
    np.testing.assert_array_equal(rotation(again), expected)
    np.testing.assert_array_equal(rotation(again, 0, 1)[3], -q[3, WXYZ].astype(np.float64))

    c = source.clips[0].curves
    co = c.co.copy()
    co[c.rows(4), 1] = 1.0  # also at the keys that the file does not store
    no_change(source, with_curves(source.clips[0], dataclasses.replace(c, co=co)), "no bytes")


def cubic(times: list[float], seed: int = 26) -> tuple[Builder, Array]:
    b = Builder()
    stored = np.random.default_rng(seed).normal(size=(3 * len(times), 4)).astype(np.float32)
    b.animate(channel(b.accessor(times), b.accessor(stored), interpolation="CUBICSPLINE"))
    return b, stored


@pytest.mark.parametrize("times", [TIMES, [0.5], [0.0, 1.0, 1.0, 2.0], [0.0, np.nan, 1.0]])
def test_cubic_key_takes_its_tangents_with_it(times: list[float], tmp_path: Path) -> None:
    b, stored = cubic(times)
    source = gltf.read(b.write_glb(tmp_path))
    last = len(times) - 1
    _, result, changed = patched(source, tmp_path, scaled(source.clips[0], 0, [last]))
    assert result.refused == ()
    where = output_range(*glb_json(source.path.read_bytes()), 1)
    raw = result.outputs["file.glb"]
    got = np.frombuffer(raw, "<f4", stored.size, where.start).reshape(-1, 4)
    expected = stored.copy()
    expected[3 * last :] *= -1.0
    np.testing.assert_array_equal(got, expected)
    assert len(changed) == 12  # three elements of four sign bits


def test_cubic_values_and_tangents_scaled(tmp_path: Path) -> None:
    b, stored = cubic(TIMES)
    source = gltf.read(b.write_glb(tmp_path))
    _, result, _ = patched(source, tmp_path, scaled(source.clips[0], 0, [0, 3], 1.25))
    assert result.refused == ()
    expected = stored.reshape(4, 3, 4).copy()
    expected[[0, 3]] *= 1.25
    got = np.frombuffer(
        result.outputs["file.glb"], "<f4", stored.size, output_range(*glb_json(source.path.read_bytes()), 1).start
    ).reshape(4, 3, 4)
    np.testing.assert_allclose(got, expected, rtol=2e-7)
    np.testing.assert_array_equal(got[1:3], expected[1:3])


def test_cubic_handle_without_a_segment_is_refused(tmp_path: Path) -> None:
    b, _ = cubic([0.0, 1.0, 1.0])
    source = gltf.read(b.write_glb(tmp_path))
    c = source.clips[0].curves
    left = c.handle_left.copy()
    left[2, 1] += 0.5
    no_change(source, with_curves(source.clips[0], dataclasses.replace(c, handle_left=left)), "without a time")


def test_not_finite_keys_are_replaced(tmp_path: Path) -> None:
    q = quaternions(27, 4)
    q[1] = np.nan
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(q)))
    source = gltf.read(b.write_glb(tmp_path))
    c = source.clips[0].curves
    co = c.co.copy()
    co[[1, 5, 9, 13], 1] = [0.1, 0.7, 0.1, 0.7]
    again, result, _ = patched(source, tmp_path, with_curves(source.clips[0], dataclasses.replace(c, co=co)))
    assert result.refused == ()
    np.testing.assert_array_equal(rotation(again)[1], np.array([0.1, 0.7, 0.1, 0.7], np.float32).astype(np.float64))


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
            lambda c: dataclasses.replace(c, source=np.array([0, 1, 2, -1]), data_path=(*c.data_path[:3], "/x")),
            "curve was",
        ),
        (lambda c: _values(c, np.inf), "not finite"),
        (lambda c: _values(c, 1e39), "too large"),
    ],
)
def test_what_cannot_be_expressed(edit: Callable[[Curves], Curves], says: str, tmp_path: Path) -> None:
    b, _ = simple()
    source = gltf.read(b.write_glb(tmp_path))
    clip = source.clips[0]
    result = source.patch([with_curves(clip, edit(clip.curves))])
    assert result.outputs == {"file.glb": source.path.read_bytes()}
    assert result.refused
    assert all(says in r.why for r in result.refused)
    assert "/nodes/0/rotation" in {r.data_path for r in result.refused}


def test_other_channels_are_refused_and_do_not_stop_rotations(tmp_path: Path) -> None:
    b, q = simple()
    b.doc["animations"][0]["channels"].append({"sampler": 1, "target": {"node": 0, "path": "scale"}})
    b.doc["animations"][0]["samplers"].append({"input": 0, "output": b.accessor(np.ones((4, 3)))})
    source = gltf.read(b.write_glb(tmp_path))
    clip = scaled(source.clips[0], 0, [1])
    clip.curves.co[-1, 1] = 7.0
    again, result, _ = patched(source, tmp_path, clip)
    assert [(r.code, r.data_path) for r in result.refused] == [("", "/nodes/0/scale")]
    np.testing.assert_array_equal(rotation(again)[1], -q[1, WXYZ])
    assert again.clips[0].curves.co[-1, 1] == 1.0


def shared(second: str = "rotation") -> Builder:
    """Two animations that play the same output accessor."""
    b, _ = simple()
    b.animate(channel(0, 1, 1, second) if second == "rotation" else pointer(0, 1, second), name="second")
    return b


def test_shared_output_follows_when_all_ask_for_the_same(tmp_path: Path) -> None:
    source = gltf.read(shared().write_glb(tmp_path))
    again, result, changed = patched(source, tmp_path, *(scaled(c, 0, [2]) for c in source.clips))
    assert result.refused == ()
    assert len(changed) == 4
    for c in range(2):
        np.testing.assert_array_equal(rotation(again, c)[2], -rotation(source, c)[2])


def test_shared_output_stays_when_they_do_not(tmp_path: Path) -> None:
    source = gltf.read(shared().write_glb(tmp_path))
    no_change(source, scaled(source.clips[0], 0, [2]), "animation 'second', /nodes/1/rotation, which does not get")
    for keys, factor in (([1], -1.0), ([1, 2], -1.0), ([2], 0.5)):
        result = source.patch([scaled(source.clips[0], 0, [2]), scaled(source.clips[1], 0, keys, factor)])
        assert len(result.refused) == 2
        assert "asks for a different change" in result.refused[0].why
        assert result.outputs == {"file.glb": source.path.read_bytes()}
    b, _ = simple()  # equal bytes everywhere: only where they lie tells the two wishes apart
    values = b.accessor(np.full((4, 4), 64), "int8", normalized=True)
    b.animate(channel(0, values), channel(0, values, 1), name="equal keys")
    source = gltf.read(b.write_glb(tmp_path))
    clip = scaled(scaled(source.clips[1], 0, [1]), 1, [2])
    result = source.patch([source.clips[0], clip])
    assert len(result.refused) == 2
    assert "asks for a different change" in result.refused[0].why
    assert result.outputs == {"file.glb": source.path.read_bytes()}


def test_shared_with_another_kind_of_channel(tmp_path: Path) -> None:
    source = gltf.read(shared("/nodes/1/weights").write_glb(tmp_path))
    no_change(source, scaled(source.clips[0], 0, [2]), "also used by /nodes/1/weights in 'second'")


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
    source = gltf.read(b.write_glb(tmp_path))
    no_change(source, scaled(source.clips[0], 0, [2]), says)


def test_interleaved_neighbours_do_not_count_as_shared(tmp_path: Path) -> None:
    """A quaternion and a scalar alternate in one view: their extents overlap, their bytes do not."""
    b = Builder()
    q = quaternions(28, 4)
    times = b.accessor(TIMES)
    view = b.view(np.concatenate([q, np.arange(4, dtype=np.float32)[:, None]], axis=1).astype("<f4").tobytes(), 20)
    common = {"bufferView": view, "componentType": 5126, "count": 4}
    b.doc["accessors"] += [common | {"type": "VEC4"}, common | {"type": "SCALAR", "byteOffset": 16}]
    b.animate(channel(times, 1), channel(times, 2, 1, "weights"))
    source = gltf.read(b.write_glb(tmp_path))
    again, result, changed = patched(source, tmp_path, scaled(source.clips[0], 0, slice(None)))
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
    source = gltf.read(tmp_path / "file.gltf")
    assert len(rotation(source)) == 4
    no_change(source, scaled(source.clips[0], 0, [1]), says)


def test_buffers_outside_the_folder_are_not_written(tmp_path: Path) -> None:
    b, _ = simple()
    (tmp_path / "data.bin").write_bytes(bytes(b.data))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file.gltf").write_bytes(b._document("../data.bin"))
    source = gltf.read(tmp_path / "folder/file.gltf")
    no_change(source, scaled(source.clips[0], 0, [1]), "outside the glTF's folder")


def test_patch_uses_the_bytes_that_were_read(tmp_path: Path) -> None:
    b, _ = simple()
    source = gltf.read(b.write_external(tmp_path))
    (tmp_path / "my data.bin").unlink()
    result = source.patch([scaled(source.clips[0], 0, [1])])
    assert result.refused == ()
    assert len(result.outputs["my data.bin"]) == len(b.data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_round_trip(data: st.DataObject, tmp_path: Path) -> None:
    """Any new float32 values of any keys, in any layout: they read back, everything else bit for bit."""
    number = st.floats(width=32, allow_nan=False, allow_infinity=False)
    any_number = st.floats(width=32)
    keys = data.draw(st.integers(1, 5))
    interpolation = data.draw(st.sampled_from(["LINEAR", "STEP"]))
    b = Builder()
    times = b.accessor(np.arange(float(keys)))
    stored = [
        np.array(data.draw(st.lists(any_number, min_size=4 * keys, max_size=4 * keys)), np.float32).reshape(keys, 4)
        for _ in range(2)
    ]
    some = sorted(data.draw(st.sets(st.integers(0, keys - 1))))
    options: dict[str, Any] = {"stride": data.draw(st.sampled_from([0, 16, 20, 36]))}
    if some:
        options["sparse"] = (some, stored[0][some])
    b.animate(
        channel(times, b.accessor(stored[0], **options), 0, "rotation", interpolation),
        channel(times, b.accessor(stored[1]), 1),
    )
    source = gltf.read(b.write_glb(tmp_path))
    clip = source.clips[0]
    np.testing.assert_array_equal(rotation(source), stored[0][:, WXYZ])
    co = clip.curves.co.copy()
    for row in data.draw(st.sets(st.integers(0, 4 * keys - 1))):
        co[row, 1] = data.draw(number)
    again, result, _ = patched(source, tmp_path, with_curves(clip, dataclasses.replace(clip.curves, co=co)))
    assert result.refused == ()
    np.testing.assert_array_equal(again.clips[0].curves.co, co)
    np.testing.assert_array_equal(
        again.clips[0].curves.co[4 * keys :].view(np.int64), clip.curves.co[4 * keys :].view(np.int64)
    )
