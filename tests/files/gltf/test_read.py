# SPDX-License-Identifier: GPL-3.0-or-later
"""What a glTF file's bytes become: every way to store an animation, against the numbers that were stored."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quat_audit.errors import InputError
from quat_audit.files.gltf import reading as gltf
from quat_audit.motion.clip import BEZIER, CONSTANT, LINEAR, SLERP
from tests.conditions import PIPES_WITH_NAMES

from .gltf_builder import Builder, channel, pointer, quaternions, rotation

WXYZ = [3, 0, 1, 2]
TIMES = [0.0, 0.25, 1.0, 1.5]


def _counts(raw_file: gltf.RawFile) -> dict[str, int]:
    """The counts of raw_expected.json, straight from the clips."""
    n = dict.fromkeys(("flip_tracks", "flips", "half_turns", "keys", "non_finite", "non_unit", "zero"), 0)
    for c, clip in enumerate(raw_file.clips):
        clip.validate()
        for t in range(len(clip.tracks)):
            q = rotation(raw_file, c, t)
            finite = np.isfinite(q).all(axis=1)
            norm = np.linalg.norm(q, axis=1)
            valid = finite & (norm >= 1e-6)
            unit = q[valid] / norm[valid, None]
            dots = np.sum(unit[1:] * unit[:-1], axis=1)
            n["keys"] += len(q)
            n["non_finite"] += int(np.sum(~finite))
            n["zero"] += int(np.sum(finite & (norm < 1e-6)))
            n["non_unit"] += int(np.sum(valid & (np.abs(norm - 1.0) > 1e-3)))
            n["flips"] += int(np.sum(dots < -1e-3))
            n["half_turns"] += int(np.sum(np.abs(dots) <= 1e-3))
            n["flip_tracks"] += bool(np.any(dots < -1e-3))
    return n


@pytest.mark.slow
def test_raw_counts_of_all_real_files(cases: Path) -> None:
    expected = json.loads((cases / "raw_expected.json").read_text(encoding="utf-8"))
    assert len(expected) == 13
    got = {name: _counts(gltf.read(cases / "files" / name)) for name in expected}
    assert got == expected


def test_real_file_names_and_times(cases: Path) -> None:
    raw_file = gltf.read(cases / "files/bevy/Fox.glb")
    assert [c.action for c in raw_file.clips] == ["Survey", "Walk", "Run"]
    for clip in raw_file.clips:
        assert (clip.owner, clip.users, clip.slot, clip.format) == ("Fox", ("Fox",), "", "gltf")
        assert clip.seconds
        assert clip.frame_rate == 24.0
        assert clip.not_evaluated == ()
    assert raw_file.clips[0].frame_range == (0.0, pytest.approx(82.0, abs=1e-4))
    assert "b_Neck_04" in raw_file.clips[0].tracks.bone


@pytest.mark.parametrize(
    ("dtype", "scale"), [("float32", 1.0), ("int8", 127.0), ("uint8", 255.0), ("int16", 32767.0), ("uint16", 65535.0)]
)
@pytest.mark.parametrize("layout", ["tight", "stride", "offset", "sparse", "sparse without base"])
def test_component_types_and_layouts(dtype: str, scale: float, layout: str, tmp_path: Path) -> None:
    q = quaternions(2, 4).astype(np.float64)
    stored = np.abs(q) if dtype.startswith("u") else q.copy()
    if dtype != "float32":
        stored = np.rint(stored * scale)
    if dtype.startswith("int"):
        stored[1, 2] = np.iinfo(dtype).min  # −128 means −1 too
    expected = np.maximum(stored / scale, -1.0)
    b = Builder()
    times = b.accessor(TIMES)
    options: dict[str, Any] = {"normalized": dtype != "float32"}
    if layout == "stride":
        values = b.accessor(stored, dtype, stride=20, **options)
    elif layout == "offset":
        values = b.accessor(stored, dtype, offset=2, **options)  # not aligned to a float
    elif layout == "sparse":
        base = np.zeros_like(stored)
        base[[0, 2]] = stored[[0, 2]]
        values = b.accessor(base, dtype, sparse=([1, 3], stored[[1, 3]]), **options)
    elif layout == "sparse without base":
        values = b.accessor(np.zeros_like(stored), dtype, sparse=([1, 3], stored[[1, 3]]), base=False, **options)
        expected[[0, 2]] = 0.0
    else:
        values = b.accessor(stored, dtype, **options)
    b.animate(channel(times, values))
    got = rotation(gltf.read(b.write_glb(tmp_path)))
    np.testing.assert_allclose(got, expected[:, WXYZ], rtol=0, atol=1e-15)
    if dtype == "float32":
        np.testing.assert_array_equal(got, expected[:, WXYZ])


def test_interpolations_times_and_other_channels(tmp_path: Path) -> None:
    b = Builder()
    q, move = quaternions(3, 4), np.arange(12.0).reshape(4, 3)
    times = b.accessor(TIMES)
    b.doc["nodes"][1]["rotation"] = [0.5, 0.5, 0.5, -0.5]
    b.animate(
        channel(times, b.accessor(q)),
        channel(times, b.accessor(q), 1, interpolation="STEP"),
        channel(times, b.accessor(move), 1, "translation", "LINEAR"),
        channel(times, b.accessor(np.arange(8.0)), 2, "weights"),
    )
    clip = gltf.read(b.write_glb(tmp_path)).clips[0]
    clip.validate()
    assert clip.action == "animation 0"
    assert clip.curves.data_path == (
        *("/nodes/0/rotation",) * 4,
        *("/nodes/1/rotation",) * 4,
        *("/nodes/1/translation",) * 3,
        *("/nodes/2/weights",) * 2,
    )
    np.testing.assert_array_equal(clip.curves.component, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 0, 1])
    kinds = clip.curves.interpolation.reshape(-1, 4)
    np.testing.assert_array_equal(kinds[:, 0], [SLERP] * 4 + [CONSTANT] * 4 + [LINEAR] * 5)
    assert (kinds == kinds[:, :1]).all()
    np.testing.assert_array_equal(clip.curves.co[:, 0].reshape(-1, 4), np.tile(np.array(TIMES) * 24.0, (13, 1)))
    np.testing.assert_array_equal(clip.curves.co[32:44, 1].reshape(3, 4).T, move)
    np.testing.assert_array_equal(clip.curves.co[44:, 1].reshape(2, 4).T, np.arange(8.0).reshape(4, 2))
    np.testing.assert_array_equal(clip.tracks.pose, [[1, 0, 0, 0], [-0.5, 0.5, 0.5, 0.5]])
    assert clip.tracks.bone == ("Bone0", "Bone1")
    assert clip.tracks.modes == (("QUATERNION",), ("QUATERNION",))


def _hermite(t: float, v0: float, b0: float, v1: float, a1: float, dt: float) -> float:
    """glTF 2.0 appendix C.3, cubic spline interpolation."""
    return (
        (2 * t**3 - 3 * t**2 + 1) * v0
        + dt * (t**3 - 2 * t**2 + t) * b0
        + (-2 * t**3 + 3 * t**2) * v1
        + dt * (t**3 - t**2) * a1
    )


def test_cubic_spline_is_the_same_cubic(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    stored = rng.normal(size=(12, 4)).astype(np.float32)
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(stored), interpolation="CUBICSPLINE"))
    clip = gltf.read(b.write_glb(tmp_path)).clips[0]
    c = clip.curves
    assert (c.interpolation == BEZIER).all()
    spline = stored.reshape(4, 3, 4).astype(np.float64)
    for component, place in enumerate(WXYZ):
        rows = c.rows(component)
        co, left, right = c.co[rows], c.handle_left[rows], c.handle_right[rows]
        for k in range(3):
            points = np.stack([co[k], right[k], left[k + 1], co[k + 1]])
            dt = TIMES[k + 1] - TIMES[k]
            for t in np.linspace(0.0, 1.0, 7):
                weights = np.array([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3])
                frame, value = weights @ points
                want = _hermite(
                    t, spline[k, 1, place], spline[k, 2, place], spline[k + 1, 1, place], spline[k + 1, 0, place], dt
                )
                assert frame == pytest.approx((TIMES[k] + t * dt) * 24.0, abs=1e-12)
                assert value == pytest.approx(want, abs=1e-13)


def test_animation_pointers(tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(5, 4)
    times = b.accessor(TIMES)
    b.animate(
        pointer(times, b.accessor(q), "/nodes/2/rotation"),
        pointer(times, b.accessor(np.arange(4.0)), "/materials/0/pbrMetallicRoughness/roughnessFactor"),
        pointer(times, b.accessor(q), "/nodes/02/rotation"),
        pointer(times, b.accessor(q), "nodes/0/rotation"),
    )
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = raw_file.clips[0]
    assert clip.tracks.data_path == ("/nodes/2/rotation",)
    assert clip.tracks.bone == ("Bone2",)
    np.testing.assert_array_equal(rotation(raw_file), q[:, WXYZ])
    assert clip.curves.data_path[4] == "/materials/0/pbrMetallicRoughness/roughnessFactor"
    assert clip.curves.interpolation[16] == LINEAR
    assert [what for what, _ in clip.not_evaluated] == ["animation 'animation 0', channel 3"]
    assert "KHR_animation_pointer gives none" in clip.not_evaluated[0][1]


def test_names_are_made_unique(tmp_path: Path) -> None:
    b = Builder(nodes=4)
    b.doc["nodes"] = [{"name": "Arm"}, {"name": "Arm"}, {}, {"name": '手 "x"\\'}]
    times, q = b.accessor(TIMES), b.accessor(quaternions(6, 4))
    b.animate(*(channel(times, q, n) for n in range(4)), name="Walk")
    b.animate(name="Walk")
    raw_file = gltf.read(b.write_glb(tmp_path))
    assert raw_file.clips[0].tracks.bone == ("Arm (node 0)", "Arm (node 1)", "node 2", '手 "x"\\')
    assert [c.action for c in raw_file.clips] == ["Walk (animation 0)", "Walk (animation 1)"]


def test_two_channels_for_one_rotation_are_two_tracks(tmp_path: Path) -> None:
    b = Builder()
    times = b.accessor(TIMES)
    b.animate(*(channel(times, b.accessor(quaternions(s, 4))) for s in (7, 8)))
    clip = gltf.read(b.write_glb(tmp_path)).clips[0]
    clip.validate()
    assert clip.tracks.data_path == ("/nodes/0/rotation",) * 2


@pytest.mark.parametrize("mirrored", [False, True])
def test_pose_from_matrix(mirrored: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    b = Builder(nodes=40)
    times, q = b.accessor(TIMES), b.accessor(quaternions(6, 4))
    truth = quaternions(10, 40).astype(np.float64)[:, WXYZ]
    truth[0] = 0.0, 0.0, 1.0, 0.0  # a half turn
    for node, (w, x, y, z) in zip(b.doc["nodes"], truth, strict=True):
        m = np.eye(4)
        m[:3, :3] = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
        m[:3, :3] *= rng.uniform(0.1, 5.0, 3) * (-1.0 if mirrored else 1.0)
        m[:3, 3] = rng.normal(size=3)
        node["matrix"] = m.T.ravel().tolist()
    b.animate(*(channel(times, q, n) for n in range(40)))
    pose = gltf.read(b.write_glb(tmp_path)).clips[0].tracks.pose
    np.testing.assert_allclose(np.abs(np.sum(pose * truth, axis=1)), 1.0, atol=1e-6)


def test_zero_matrix_rests_at_identity(tmp_path: Path) -> None:
    b = Builder()
    b.doc["nodes"][0]["matrix"] = [0.0] * 16
    b.animate(channel(b.accessor(TIMES), b.accessor(quaternions(6, 4))))
    np.testing.assert_array_equal(gltf.read(b.write_glb(tmp_path)).clips[0].tracks.pose, [[1, 0, 0, 0]])


def test_one_bad_channel_does_not_cost_the_others(tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(11, 4)
    times, good = b.accessor(TIMES), b.accessor(q)
    b.animate(
        channel(times, good),
        channel(times, b.accessor(q[:, :3])),
        channel(times, good, path="color"),
        channel(times, good, interpolation="SMOOTH"),
        channel(good, good),
        channel(times, b.accessor(quaternions(12, 3)), 1),
        channel(times, b.accessor(quaternions(13, 8)), 2, interpolation="CUBICSPLINE"),
        channel(times, b.accessor(np.arange(7.0)), 2, "weights"),
    )
    b.doc["animations"][0]["channels"].append({"sampler": 0})
    raw_file = gltf.read(b.write_glb(tmp_path))
    clip = raw_file.clips[0]
    clip.validate()
    np.testing.assert_array_equal(rotation(raw_file), q[:, WXYZ])
    why = dict(clip.not_evaluated)
    name = "animation 'animation 0', channel"
    expected = {
        f"{name} 1": "must have 4 components, has 3",
        f"{name} 2": "'color' is unknown",
        f"{name} 3": "'SMOOTH' is unknown",
        f"{name} 4": "must be SCALAR",
        f"{name} 5 (/nodes/1/rotation)": "4 key times and 3 values where 4 belong: only the first 3 keys",
        f"{name} 6 (/nodes/2/rotation)": "4 key times and 8 values where 12 belong: only the first 2 keys",
        f"{name} 7": "do not divide evenly",
        f"{name} 8": "no target",
    }
    assert why.keys() == expected.keys()
    for what, says in expected.items():
        assert says in why[what], what
    assert [len(rotation(raw_file, 0, t)) for t in range(3)] == [4, 3, 2]


@pytest.mark.parametrize(
    "change, says",
    [
        ({"sampler": 50}, "sampler 50 does not exist, there are 2"),
        ({"sampler": None}, "it has no sampler"),
        ({"output": 99}, "output accessor 99 does not exist, there are 2"),
        ({"input": -1}, "input accessor -1 does not exist, there are 2"),
        ({"input": None}, "it has no input accessor"),
        ({"node": 77}, "target node 77 does not exist, there are 3"),
        ({"pointer": "/nodes/9/rotation"}, "/nodes/9/rotation does not exist, there are 3 nodes"),
        ({"path": "color", "output": 99}, "output accessor 99 does not exist, there are 2"),
    ],
)
def test_a_channel_that_refers_to_nothing_fails_the_file(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    b = Builder(nodes=3)
    times, q = b.accessor(TIMES), b.accessor(quaternions(11, 4))
    b.animate(channel(times, q), channel(times, q, 1), name="Wave")
    animation = b.doc["animations"][0]
    item, sampler = animation["channels"][1], animation["samplers"][1]
    for key, value in change.items():
        if key == "pointer":
            item["target"] = {"path": "pointer", "extensions": {"KHR_animation_pointer": {"pointer": value}}}
            continue
        owner = {"sampler": item, "node": item["target"], "path": item["target"]}.get(key, sampler)
        if value is None:
            del owner[key]
        else:
            owner[key] = value
    with pytest.raises(InputError) as error:
        gltf.read(b.write_glb(tmp_path))
    assert str(error.value).startswith("animation 'Wave', channel 1: ")
    assert says in str(error.value)


def test_a_file_of_which_nothing_could_be_read_does_not_pass(tmp_path: Path) -> None:
    b = Builder()
    times, packed = b.accessor(TIMES), b.accessor(quaternions(14, 4))
    extension = "EXT_meshopt_compression"
    b.doc["bufferViews"][b.doc["accessors"][packed]["bufferView"]]["extensions"] = {extension: {"buffer": 0}}
    b.animate(channel(times, packed), channel(times, packed, 1), name="A")
    b.animate(channel(times, times), name="B")
    with pytest.raises(InputError) as error:
        gltf.read(b.write_glb(tmp_path))
    assert str(error.value).startswith("none of its animation could be evaluated: its data is compressed")
    assert "(channels: 2)" in str(error.value) and "must have 4 components, has 1" in str(error.value)


@PIPES_WITH_NAMES
def test_a_buffer_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    b = Builder()
    b.animate(channel(b.accessor(TIMES), b.accessor(quaternions(14, 4))))
    path = b.write_external(tmp_path)
    name = json.loads(path.read_text(encoding="utf-8"))["buffers"][0]["uri"].replace("%20", " ")
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="not a regular file"):
        gltf.read(path)


@pytest.mark.parametrize("extension", ["EXT_meshopt_compression", "KHR_meshopt_compression"])
def test_compressed_views_are_not_evaluated(extension: str, tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(14, 4)
    times, plain, packed = b.accessor(TIMES), b.accessor(q), b.accessor(q)
    b.doc["bufferViews"][b.doc["accessors"][packed]["bufferView"]]["extensions"] = {extension: {"buffer": 0}}
    b.doc["extensionsRequired"] = [extension, "VENDOR_unknown"]
    b.animate(channel(times, plain), channel(times, packed, 1))
    raw_file = gltf.read(b.write_glb(tmp_path))
    np.testing.assert_array_equal(rotation(raw_file), q[:, WXYZ])
    assert raw_file.clips[0].not_evaluated == (
        ("animation 'animation 0', channel 1", f"its data is compressed with {extension}"),
    )


def test_not_finite_values_and_times_are_kept(tmp_path: Path) -> None:
    b = Builder()
    q = quaternions(15, 4)
    q[1, 2], q[2, 0] = np.nan, -np.inf
    b.animate(
        channel(b.accessor([0.0, np.nan, -1.0, -1.0]), b.accessor(q)),
        channel(
            b.accessor([0.0, np.inf, 2.0, 2.0]), b.accessor(np.repeat(q, 3, axis=0)), 1, interpolation="CUBICSPLINE"
        ),
    )
    raw_file = gltf.read(b.write_glb(tmp_path))
    for track in range(2):
        np.testing.assert_array_equal(rotation(raw_file, 0, track), q[:, WXYZ])
    np.testing.assert_array_equal(raw_file.clips[0].curves.co[:4, 0], [0.0, np.nan, -24.0, -24.0])


def test_files_without_animation(tmp_path: Path) -> None:
    assert gltf.read(Builder().write_glb(tmp_path)).clips == ()
    b = Builder()
    b.animate(name="empty")
    (clip,) = gltf.read(b.write_glb(tmp_path)).clips
    clip.validate()
    assert len(clip.curves) == 0
