# SPDX-License-Identifier: GPL-3.0-or-later
"""Patched bytes: exactly the rotation values that were asked for, nothing else."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quat_audit.files.gltf import reading as gltf
from quat_audit.files.gltf.changes import encode
from quat_audit.motion.clip import with_curves

from .gltf_builder import Builder, channel, pointer, quaternions, rotation
from .patching import TIMES, WXYZ, Array, no_change, patched, scaled, simple


def glb_json(raw: bytes) -> tuple[dict[str, Any], int]:
    """The JSON of a .glb, and where its BIN data starts."""
    length = int.from_bytes(raw[12:16], "little")
    return json.loads(raw[20 : 20 + length]), 20 + length + 8


def output_range(doc: dict[str, Any], binary: int, accessor: int) -> range:
    """Where the bytes of a float VEC4 accessor lie in a .glb, from its JSON alone."""
    item = doc["accessors"][accessor]
    start = binary + doc["bufferViews"][item["bufferView"]].get("byteOffset", 0) + item.get("byteOffset", 0)
    return range(start, start + item["count"] * 16)


@pytest.mark.slow
def test_real_file_negations_change_sign_bits_of_rotation_outputs_only(cases: Path, tmp_path: Path) -> None:
    path = cases / "files/KayKit-Character-Pack-Adventures-1.0/Knight.glb"
    raw = path.read_bytes()
    raw_file = gltf.read(path)
    rng = np.random.default_rng(22)
    edited, wanted, chosen = [], {}, 0
    for c, clip in enumerate(raw_file.clips):
        new = clip
        for t in range(len(clip.tracks)):
            if rng.random() < 0.05:
                q = rotation(raw_file, c, t)
                negative = rng.random(len(q)) < 0.5
                new = scaled(new, t, negative)
                wanted[c, t] = np.where(negative[:, None], -q, q)
                chosen += 1
        edited.append(new)
    again, result, changed = patched(raw_file, tmp_path, *edited)
    assert chosen > 100
    assert result.refused == ()
    doc, binary = glb_json(raw)
    allowed = np.zeros(len(raw), bool)
    for c, clip in enumerate(raw_file.clips):
        for t in range(len(clip.tracks)):
            q = rotation(raw_file, c, t)
            np.testing.assert_array_equal(rotation(again, c, t), wanted.get((c, t), q))
    for c, animation in enumerate(doc["animations"]):
        outputs = [
            (f"/nodes/{x['target']['node']}/rotation", animation["samplers"][x["sampler"]]["output"])
            for x in animation["channels"]
            if x["target"]["path"] == "rotation"
        ]
        for t, (data_path, output) in enumerate(outputs):
            assert raw_file.clips[c].tracks.data_path[t] == data_path
            if (c, t) in wanted:
                where = output_range(doc, binary, output)
                allowed[where.start : where.stop] = True
    assert len(changed)
    assert allowed[changed].all()
    old, new = (np.frombuffer(x, np.uint8)[changed] for x in (raw, result.outputs["Knight.glb"]))
    assert ((old ^ new) == 0x80).all()


def test_no_edit_gives_the_same_bytes(cases: Path) -> None:
    for name in json.loads((cases / "raw_expected.json").read_text(encoding="utf-8")):
        raw_file = gltf.read(cases / "files" / name)
        for clips in (raw_file.clips, [scaled(c, 0, slice(0)) if len(c.tracks) else c for c in raw_file.clips]):
            result = raw_file.patch(clips)
            assert result.outputs == {raw_file.path.name: raw_file.path.read_bytes()}
            assert result.refused == ()
        assert set(result.copies) == {p.name for p in raw_file.path.parent.glob("*.bin")}


@pytest.mark.parametrize("name", ["magnum-plugins/animation/animation.gltf", "market-assets/model.gltf"])
def test_real_gltf_with_external_and_embedded_buffers(name: str, cases: Path, tmp_path: Path) -> None:
    raw_file = gltf.read(cases / "files" / name)
    clips = [scaled(c, 0, [0]) if len(c.tracks) and c.action != "empty TRS animation" else c for c in raw_file.clips]
    again, result, changed = patched(raw_file, tmp_path, *clips)
    assert result.refused == ()
    assert len(changed)
    names = [raw_file.path.name] + (["animation.bin"] if "magnum" in name else [])
    assert list(result.outputs) == names
    for c, clip in enumerate(raw_file.clips):
        for t in range(len(clip.tracks)):
            q = rotation(raw_file, c, t)
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
    raw_file = gltf.read(path)
    again, result, changed = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [1, 3], 0.5))
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
    raw_file = gltf.read(b.write_glb(tmp_path))
    _, _, changed = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [1]))
    where = output_range(*glb_json(raw_file.path.read_bytes()), 1)
    assert changed.tolist() == [where.start + 16 + 11, where.start + 16 + 15]


@pytest.mark.parametrize("stride", [16, 24])
@pytest.mark.parametrize("offset", [0, 2])
def test_strided_and_unaligned(stride: int, offset: int, tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(23, 4)
    b.animate(channel(b.accessor(TIMES), b.accessor(q, stride=stride, offset=offset)))
    raw_file = gltf.read(b.write_glb(tmp_path))
    again, result, changed = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [2]))
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
    raw_file = gltf.read(b.write_glb(tmp_path))
    before = rotation(raw_file)
    again, result, _ = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [1, 2]))
    assert result.refused == ()
    expected = before.copy()
    expected[[1, 2]] *= -1.0
    np.testing.assert_array_equal(rotation(again), expected)
    assert expected[1, 3] == 1.0  # −128 and 127 are both whole
    no_change(raw_file, scaled(raw_file.clips[0], 0, [0], 0.99), "cannot hold")
    no_change(raw_file, scaled(raw_file.clips[0], 0, [1], 2.0), "cannot hold")


@pytest.mark.parametrize(("code", "dtype", "most"), [(5120, "i1", 127), (5122, "<i2", 32767)])
def test_every_integer_fits_itself(code: int, dtype: str, most: int) -> None:
    numbers = np.arange(-most, most + 1)
    for fractions in (numbers / most, (numbers / most).astype(np.float32).astype(np.float64)):
        np.testing.assert_array_equal(encode(fractions, code, True).view(dtype).ravel(), numbers)


def test_plain_integers_have_one_more_negative(tmp_path: Path) -> None:
    b = Builder()
    b.animate(channel(b.accessor([0.0, 1.0]), b.accessor([[0, 0, 0, 1], [0, 0, -128, 3]], "int8")))
    raw_file = gltf.read(b.write_glb(tmp_path))
    no_change(raw_file, scaled(raw_file.clips[0], 0, [1]), "cannot hold 128 exactly")
    again, result, _ = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [0]))
    assert result.refused == ()
    np.testing.assert_array_equal(rotation(again), [[-1, 0, 0, 0], [3, 0, 0, -128]])


def test_pointer_to_a_rotation(tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(29, 4)
    b.animate(pointer(b.accessor(TIMES), b.accessor(q), "/nodes/1/rotation"))
    raw_file = gltf.read(b.write_glb(tmp_path))
    again, result, changed = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [3]))
    assert result.refused == ()
    assert len(changed) == 4
    np.testing.assert_array_equal(rotation(again)[3], -q[3, WXYZ].astype(np.float64))


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_unsigned_integers_have_no_sign(dtype: str, tmp_path: Path) -> None:
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(np.arange(16.0).reshape(4, 4), dtype, normalized=True)))
    raw_file = gltf.read(b.write_glb(tmp_path))
    no_change(raw_file, scaled(raw_file.clips[0], 0, [1]), "no sign fits")


def test_sparse_values_in_their_block_and_base_values_in_theirs(tmp_path: Path) -> None:
    q = quaternions(25, 4)
    b = Builder()
    b.animate(
        channel(b.accessor(TIMES), b.accessor(q, sparse=([1, 3], q[[1, 3]]))),
        channel(0, b.accessor(np.zeros((4, 4)), sparse=([1, 3], q[[1, 3]]), base=False), 1),
    )
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = scaled(scaled(raw_file.clips[0], 0, [0, 1]), 1, [3])
    again, result, changed = patched(raw_file, tmp_path, clip)
    assert result.refused == ()
    assert len(changed) == 12
    expected = q[:, WXYZ].astype(np.float64)
    expected[[0, 1]] *= -1.0
    np.testing.assert_array_equal(rotation(again), expected)
    np.testing.assert_array_equal(rotation(again, 0, 1)[3], -q[3, WXYZ].astype(np.float64))

    c = raw_file.clips[0].curves
    co = c.co.copy()
    co[c.rows(4), 1] = 1.0  # also at the keys that the file does not store
    no_change(raw_file, with_curves(raw_file.clips[0], dataclasses.replace(c, co=co)), "no bytes")


def cubic(times: list[float], seed: int = 26) -> tuple[Builder, Array]:
    b = Builder()
    stored = np.random.default_rng(seed).normal(size=(3 * len(times), 4)).astype(np.float32)
    b.animate(channel(b.accessor(times), b.accessor(stored), interpolation="CUBICSPLINE"))
    return b, stored


@pytest.mark.parametrize("times", [TIMES, [0.5], [0.0, 1.0, 1.0, 2.0], [0.0, np.nan, 1.0]])
def test_cubic_key_takes_its_tangents_with_it(times: list[float], tmp_path: Path) -> None:
    b, stored = cubic(times)
    raw_file = gltf.read(b.write_glb(tmp_path))
    last = len(times) - 1
    _, result, changed = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [last]))
    assert result.refused == ()
    where = output_range(*glb_json(raw_file.path.read_bytes()), 1)
    raw = result.outputs["file.glb"]
    got = np.frombuffer(raw, "<f4", stored.size, where.start).reshape(-1, 4)
    expected = stored.copy()
    expected[3 * last :] *= -1.0
    np.testing.assert_array_equal(got, expected)
    assert len(changed) == 12  # three elements of four sign bits


def test_cubic_values_and_tangents_scaled(tmp_path: Path) -> None:
    b, stored = cubic(TIMES)
    raw_file = gltf.read(b.write_glb(tmp_path))
    _, result, _ = patched(raw_file, tmp_path, scaled(raw_file.clips[0], 0, [0, 3], 1.25))
    assert result.refused == ()
    expected = stored.reshape(4, 3, 4).copy()
    expected[[0, 3]] *= 1.25
    got = np.frombuffer(
        result.outputs["file.glb"], "<f4", stored.size, output_range(*glb_json(raw_file.path.read_bytes()), 1).start
    ).reshape(4, 3, 4)
    np.testing.assert_allclose(got, expected, rtol=2e-7)
    np.testing.assert_array_equal(got[1:3], expected[1:3])


def test_cubic_handle_without_a_segment_is_refused(tmp_path: Path) -> None:
    b, _ = cubic([0.0, 1.0, 1.0])
    raw_file = gltf.read(b.write_glb(tmp_path))
    c = raw_file.clips[0].curves
    left = c.handle_left.copy()
    left[2, 1] += 0.5
    no_change(raw_file, with_curves(raw_file.clips[0], dataclasses.replace(c, handle_left=left)), "without a time")


def test_not_finite_keys_are_replaced(tmp_path: Path) -> None:
    q = quaternions(27, 4)
    q[1] = np.nan
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(q)))
    raw_file = gltf.read(b.write_glb(tmp_path))
    c = raw_file.clips[0].curves
    co = c.co.copy()
    co[[1, 5, 9, 13], 1] = [0.1, 0.7, 0.1, 0.7]
    again, result, _ = patched(raw_file, tmp_path, with_curves(raw_file.clips[0], dataclasses.replace(c, co=co)))
    assert result.refused == ()
    np.testing.assert_array_equal(rotation(again)[1], np.array([0.1, 0.7, 0.1, 0.7], np.float32).astype(np.float64))


def test_patch_uses_the_bytes_that_were_read(tmp_path: Path) -> None:
    b, _ = simple()
    raw_file = gltf.read(b.write_external(tmp_path))
    (tmp_path / "my data.bin").unlink()
    result = raw_file.patch([scaled(raw_file.clips[0], 0, [1])])
    assert result.refused == ()
    assert len(result.outputs["my data.bin"]) == len(b.data)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.slow
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
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = raw_file.clips[0]
    np.testing.assert_array_equal(rotation(raw_file), stored[0][:, WXYZ])
    co = clip.curves.co.copy()
    for row in data.draw(st.sets(st.integers(0, 4 * keys - 1))):
        co[row, 1] = data.draw(number)
    again, result, _ = patched(raw_file, tmp_path, with_curves(clip, dataclasses.replace(clip.curves, co=co)))
    assert result.refused == ()
    np.testing.assert_array_equal(again.clips[0].curves.co, co)
    np.testing.assert_array_equal(
        again.clips[0].curves.co[4 * keys :].view(np.int64), clip.curves.co[4 * keys :].view(np.int64)
    )
