# SPDX-License-Identifier: GPL-3.0-or-later
"""`audit` and `fix` on files that cannot hold every repair: each rule by itself, and announced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quat_audit.cli import main
from quat_audit.files.bvh import reading as bvh
from quat_audit.files.gltf import reading as gltf
from tests.clips import about

from .gltf_builder import Builder, channel, rotation

SCALES = {"int8": 127, "int16": 32767, "uint8": 255, "uint16": 65535, "float32": 1}
LENGTH_AND_FLIPS = [(20, 1), (40, -1), (60, -1), (80, 1)]


def turned(pairs: list[tuple[float, float]], axis: Any = "Z") -> np.ndarray[Any, Any]:
    """(n, 4) x, y, z, w."""
    return np.array([[f * v for v in about(axis, d)] for d, f in pairs])[:, [1, 2, 3, 0]]


def rows_of(verb: str, path: Path, *options: object) -> dict[str, Any]:
    report = path.with_suffix(".json")
    arguments = [verb, path, *options, "--format", "json", "--output", report, "--fail-on", "never"]
    assert main.main([str(argument) for argument in arguments]) == 0
    row: dict[str, Any] = json.loads(report.read_text(encoding="utf-8"))["files"][0]
    return row


def found(row: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(f["code"], f["data_path"]): f["fix"] for f in row["findings"]}


def stored(dtype: str, values: np.ndarray[Any, Any], folder: Path, times: Any = (0, 1, 2, 3)) -> Path:
    b = Builder(1)
    scale = SCALES[dtype]
    whole = values if scale == 1 else np.rint(values * scale)
    b.animate(channel(b.accessor(list(times)), b.accessor(whole, dtype, normalized=scale != 1)))
    return b.write_glb(folder)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_the_flips_of_integers_are_repaired_although_their_length_cannot_be(tmp_path: Path, dtype: str) -> None:
    """What is named as applied is in the file; the refusal names the rule that it is about."""
    q = turned(LENGTH_AND_FLIPS) * (1 if dtype == "int8" else 0.99)
    path = stored(dtype, q, tmp_path)
    before = rotation(gltf.read(path))
    where = "/nodes/0/rotation"
    assert found(rows_of("audit", path)) == {("QA103", where): "none", ("QA104", where): "safe"}
    row = rows_of("fix", path, "--output-dir", tmp_path / "out")
    assert row["repair"]["applied"] == [{"code": "QA104", "tracks": 1, "keys_changed": 2}]
    ((refused),) = row["repair"]["refused"]
    assert (refused["code"], refused["data_path"]) == ("QA103", where)
    assert f"stored as {dtype[3:]}-bit integers, which cannot hold" in refused["why"]
    after = rotation(gltf.read(tmp_path / "out" / path.name))
    assert np.array_equal(after, before * np.array([1, -1, -1, 1])[:, None])
    assert row["repair"]["proof"]["max_key_change_deg"] == 0


def test_a_track_that_cannot_be_repaired_takes_no_other_along(tmp_path: Path) -> None:
    """Small faults of an action are one finding: of its tracks the one in integers is refused, the other is done."""
    b = Builder(2)
    times = b.accessor([0, 1, 2])
    q = turned([(0, 1), (20, 0.9963), (40, 1)])
    b.animate(
        channel(times, b.accessor(np.rint(127 * q), "int8", normalized=True), 0),
        channel(times, b.accessor(q), 1),
    )
    path = b.write_glb(tmp_path)
    row = rows_of("fix", path, "--output-dir", tmp_path / "out")
    assert row["repair"]["applied"] == [{"code": "QA103", "tracks": 1, "keys_changed": 1}]
    assert [(r["code"], r["data_path"]) for r in row["repair"]["refused"]] == [("QA103", "/nodes/0/rotation")]
    after = gltf.read(tmp_path / "out" / path.name)
    assert np.linalg.norm(rotation(after, 0, 1), axis=1) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_a_file_that_can_hold_nothing_of_it_stays_as_it_is(tmp_path: Path, dtype: str) -> None:
    path = stored(dtype, 0.95 * turned([(0, 1), (20, 1), (40, 1)]), tmp_path, (0, 1, 2))
    assert found(rows_of("audit", path)) == {("QA103", "/nodes/0/rotation"): "none"}
    row = rows_of("fix", path, "--unsafe-fixes", "--output-dir", tmp_path / "out")
    assert row["repair"]["applied"] == [] and [r["code"] for r in row["repair"]["refused"]] == ["QA103"]
    assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_keys_that_would_come_or_go_have_no_fix_in_a_file_that_keeps_their_number(tmp_path: Path) -> None:
    b = Builder(3)
    half = b.accessor(turned([(0, 1), (180, 1), (200, 1)]))
    twice = b.accessor(turned([(0, 1), (10, 1), (20, 1)]))
    nan = b.accessor([[0, 0, 0], [np.nan, 0, 0], [1, 0, 0]])
    steady = b.accessor([0, 1, 2])
    b.animate(
        channel(steady, half, 0),
        channel(b.accessor([0, 1, 1]), twice, 1),
        channel(steady, nan, 2, "translation"),
        channel(steady, b.accessor(turned([(0, 1), (10, 2), (20, -1)])), 2),
    )
    path = b.write_glb(tmp_path)
    row = rows_of("audit", path)
    fixes = found(row)
    assert fixes["QA106", "/nodes/0/rotation"] == fixes["QA401", "/nodes/1/rotation"] == "none"
    assert fixes["QA101", "/nodes/2/translation"] == "none"
    assert fixes["QA103", "/nodes/2/rotation"] == fixes["QA104", "/nodes/2/rotation"] == "safe"
    said = {f["code"]: f["message"] for f in row["findings"]}
    assert "no key can be added, removed or moved, because channels share their times" in said["QA401"]
    assert "only rotations are written into a glTF file" in said["QA101"]
    done = rows_of("fix", path, "--unsafe-fixes", "--output-dir", tmp_path / "out")
    assert {line["code"] for line in done["repair"]["applied"]} == {"QA103", "QA104"}


def test_bytes_that_a_mesh_reads_too_take_every_rule_of_their_path_and_of_no_other_animation(tmp_path: Path) -> None:
    """Only the writer knows that; each rule is named, and the same path of another animation is done."""
    b = Builder(1)
    times = b.accessor([0, 1, 2])
    shared, own = (b.accessor(turned([(0, 1), (10, 2), (20, -1)])) for _ in range(2))
    b.animate(channel(times, shared), name="Shared")
    b.animate(channel(times, own), name="Own")
    b.doc["meshes"] = [{"primitives": [{"attributes": {"TANGENT": shared}}]}]
    path = b.write_glb(tmp_path)
    row = rows_of("fix", path, "--output-dir", tmp_path / "out")
    assert [(line["code"], line["tracks"], line["keys_changed"]) for line in row["repair"]["applied"]] == [
        ("QA103", 1, 1),
        ("QA104", 1, 1),
    ]
    refused = row["repair"]["refused"]
    assert [(r["code"], r["data_path"]) for r in refused] == [(c, "/nodes/0/rotation") for c in ("QA103", "QA104")]
    assert all("'Shared'" in r["why"] and "a mesh" in r["why"] for r in refused)
    read = gltf.read(tmp_path / "out" / path.name)
    assert np.array_equal(rotation(read, 0), rotation(gltf.read(path), 0))
    assert np.linalg.norm(rotation(read, 1), axis=1) == pytest.approx(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_what_audit_calls_fixable_is_never_refused_by_the_file(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dtype = list(SCALES)[seed % len(SCALES)]
    b = Builder(8)
    for node in range(8):
        n = int(rng.integers(2, 9))
        degrees = np.cumsum(rng.choice([0, 10, 60, 119, 180], n))
        signs = rng.choice([1, 1, 1, -1], n)
        sizes = 1.0 if rng.integers(2) else rng.choice([1, 0.9, 0.5], n)
        values = turned(list(zip(degrees, signs * sizes, strict=True)), rng.normal(size=3).tolist())
        times = np.cumsum(rng.choice([0, 1, 1, 1], n))
        scale = SCALES[dtype]
        values = values if scale == 1 else np.rint(values * scale)
        values = np.maximum(values, 0) if dtype.startswith("u") else values
        cubic = int(rng.integers(3)) == 0
        if cubic:
            values = np.stack([0 * values, values, 0 * values], axis=1).reshape(-1, 4)
        output = b.accessor(values, dtype, normalized=scale != 1)
        b.animate(channel(b.accessor(times), output, node, interpolation="CUBICSPLINE" if cubic else None))
    path = b.write_glb(tmp_path)
    fixable = {key for key, fix in found(rows_of("audit", path)).items() if fix != "none"}
    row = rows_of("fix", path, "--unsafe-fixes", "--output-dir", tmp_path / "out")
    for refused in row["repair"]["refused"]:
        if (refused["code"], refused["data_path"]) in fixable:
            assert not any(w in refused["why"] for w in ("integers", "glTF", "animation", "layout")), refused
    changed = (tmp_path / "out" / path.name).read_bytes() != path.read_bytes()
    assert changed == bool(row["repair"]["applied"])


def test_a_bvh_file_has_one_value_a_frame(tmp_path: Path) -> None:
    joint = ["HIERARCHY", "ROOT Hips", "{", "OFFSET 0 0 0", "CHANNELS 3 Zrotation Xrotation Yrotation"]
    end = ["End Site", "{", "OFFSET 0 1 0", "}", "}", "MOTION", "Frames: 4", "Frame Time: 0.5"]
    lines = [*joint, *end, "0 0 0", "0 0 400", "0 0 410", "0 0 420"]
    path = tmp_path / "spin.bvh"
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    assert bvh.read(path).clips[0].storage is not None
    fixes = found(rows_of("audit", path))
    assert fixes["QA203", "joint/Hips/rotation"] == "none"
    said = next(f["message"] for f in rows_of("audit", path)["findings"] if f["code"] == "QA203")
    assert "each channel has one value a frame: no key can be added, removed or moved" in said
