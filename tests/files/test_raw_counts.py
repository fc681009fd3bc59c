# SPDX-License-Identifier: GPL-3.0-or-later
"""The real files of shared/cases: counts over the keys as stored equal those of an independent reader."""

from __future__ import annotations

import base64
import csv
import json
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quat_audit import api
from quat_audit.audit.proof import KEY_TOLERANCE_DEG
from quat_audit.files.bvh import reading as bvh
from quat_audit.files.gltf import reading as gltf
from quat_audit.findings.finding import ERROR, NOTE
from quat_audit.motion.clip import Clip
from quat_audit.motion.keys import rotation_keys
from tests.judging import audit_clip, repair_clip

pytestmark = pytest.mark.slow

KNIGHT = "KayKit-Character-Pack-Adventures-1.0/Knight.glb"
# Every file of raw_expected.json; `test_no_file_is_forgotten` holds the two together.
GLTF = (
    KNIGHT,
    "MeshesLibrary/emoji_heart.glb",
    "assimp/quad_skin.glb",
    "bevy/Fox.glb",
    "glTF-Blender-IO/03_animated_cube/03_animated_cube.gltf",
    "glTF-Validator/invalid_input_values/invalid_input_values.gltf",
    "glTF-Validator/quaternion_non_unit_values/quaternion_non_unit_values.gltf",
    "glTF-Validator/sampler_too_few_cubic_frames.gltf",
    "godot-demo-projects/mannequiny.glb",
    "magnum-plugins/animation-patching/animation-patching.gltf",
    "magnum-plugins/animation/animation.gltf",
    "market-assets/model.gltf",
    "raylib/robot.glb",
)
# name → steps with a wrap, and the worst severity that is right.
BVH = {
    "assimp/01_01.bvh": (0, NOTE),
    "pybvh/cmu_12_01_walk.bvh": (0, None),
    "pybvh/rotation_first_root.bvh": (0, None),
    # 23 channel values jump, on 20 steps: three equivalent triples are two jumps on one step.
    "deep-motion-editing/old_13_000.bvh": (20, "warning"),
    "AnimatedDrawings/zombie.bvh": (16, "warning"),
}
BYTES = (".glb", ".gltf", ".bvh")


def clips_of(path: Path) -> tuple[Clip, ...]:
    raw_file = bvh.read(path) if path.suffix == ".bvh" else gltf.read(path)
    for clip in raw_file.clips:
        clip.validate()
    return raw_file.clips


def count(clips: tuple[Clip, ...]) -> tuple[Counter[tuple[str, str]], set[tuple[int, str]]]:
    """(code, kind) → occurrences, and the (clip, data path) of every sign flip."""
    found: Counter[tuple[str, str]] = Counter()
    flipped = set()
    for number, clip in enumerate(clips):
        for finding in audit_clip(clip):
            found.update((finding.code, str(kind)) for kind in finding.occurrences.kind)
            if finding.code == "QA104":
                flipped.add((number, finding.data_path))
    return found, flipped


def of_code(found: Counter[tuple[str, str]], code: str) -> int:
    return sum(n for (c, _), n in found.items() if c == code)


def test_no_file_is_forgotten(cases):
    expected = json.loads((cases / "raw_expected.json").read_text(encoding="utf-8"))
    assert set(expected) == set(GLTF)
    with (cases / "FILES.tsv").open(encoding="utf-8") as lines:
        listed = [row["file"] for row in csv.DictReader(lines, delimiter="\t")]
    assert {name for name in listed if name.endswith(BYTES)} == set(GLTF) | set(BVH)


@pytest.mark.parametrize("name", GLTF)
def test_counts_as_stored(cases, name):
    expected = json.loads((cases / "raw_expected.json").read_text(encoding="utf-8"))[name]
    clips = clips_of(cases / "files" / name)
    found, flipped = count(clips)
    assert {
        "flips": of_code(found, "QA104"),
        "flip_tracks": len(flipped),
        "half_turns": found["QA106", "half-turn"],
        "keys": sum(len(rotation_keys(clip, "QUATERNION").time) for clip in clips),
        "non_finite": of_code(found, "QA101"),
        "non_unit": of_code(found, "QA103"),
        "zero": of_code(found, "QA102"),
    } == expected


@pytest.mark.parametrize("name", BVH)
def test_wraps_of_captures(cases, name):
    (clip,) = clips_of(cases / "files" / name)
    wraps, worst = BVH[name]
    findings = audit_clip(clip)
    found, _ = count((clip,))
    assert found["QA201", "latent"] + found["QA201", "visible"] == wraps
    assert (findings[0].severity if findings else None) == worst
    assert ERROR not in {f.severity for f in findings}  # neighbouring frames: nothing shows between them


@pytest.mark.parametrize("name", (*GLTF, *BVH))
def test_repair_in_memory(cases, name):
    for clip in clips_of(cases / "files" / name):
        before = clip.curves.co.tobytes()
        repair = repair_clip(clip)
        assert clip.curves.co.tobytes() == before
        assert repair.proof.max_key_change_deg <= KEY_TOLERANCE_DEG
        repair.subject.validate()
        left = audit_clip(repair.subject)
        assert not [f for f in left if f.fix == "safe"]
        # What is refused is what the audit says that the file cannot hold.
        refused = {(r.code, r.data_path) for r in repair.refused}
        assert refused <= {(f.code, f.data_path) for f in left if f.locked}
        assert bool(refused) == (name == "glTF-Validator/invalid_input_values/invalid_input_values.gltf")
        again = repair_clip(repair.subject)
        assert again.subject is repair.subject and not again.applied
        if not any(f.fix == "safe" for f in audit_clip(clip)):
            assert repair.subject is clip and not repair.applied


@pytest.mark.parametrize("name", (*GLTF, *BVH))
def test_every_file_is_audited(cases, name):
    report = api.audit_file(cases / "files" / name)
    assert (report.status, report.reason, report.read_via) == ("audited", "", "bytes")


def rotations_of_glb(path: Path) -> list[np.ndarray]:
    """The LINEAR rotation outputs (N, 4) of a .glb or .gltf, read without the package: float accessors only."""
    raw = path.read_bytes()
    if path.suffix == ".glb":
        size = struct.unpack_from("<I", raw, 12)[0]
        document: dict[str, Any] = json.loads(raw[20 : 20 + size])
        buffer = raw[20 + size + 8 :]
    else:
        document = json.loads(raw)
        uri = document["buffers"][0]["uri"]
        inline = uri.startswith("data:")
        buffer = base64.b64decode(uri.partition(",")[2]) if inline else (path.parent / uri).read_bytes()
    outputs = []
    for animation in document["animations"]:
        for channel in animation["channels"]:
            if channel["target"]["path"] != "rotation":
                continue
            accessor = document["accessors"][animation["samplers"][channel["sampler"]]["output"]]
            assert accessor["componentType"] == 5126 and accessor["type"] == "VEC4"
            view = document["bufferViews"][accessor["bufferView"]]
            start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
            assert view.get("byteStride", 16) == 16
            values = np.frombuffer(buffer, "<f4", accessor["count"] * 4, start)
            outputs.append(values.reshape(-1, 4).astype(np.float64))
    return outputs


def flips(outputs: list[np.ndarray]) -> int:
    return sum(int(np.sum(np.einsum("ij,ij->i", q[1:], q[:-1]) < -1e-3)) for q in outputs)


@pytest.mark.parametrize("name, before", [(KNIGHT, 370), ("godot-demo-projects/mannequiny.glb", 35)])
def test_fixed_file_has_no_flip(cases, tmp_path, name, before):
    raw_file, target = cases / "files" / name, tmp_path / Path(name).name
    report = api.fix_file(raw_file, output=target)
    assert report.status == "audited" and report.repair is not None and report.after is not None
    assert not report.repair.refused
    assert not [f for f in report.after.findings if f.code == "QA104"]
    was, now = rotations_of_glb(raw_file), rotations_of_glb(target)
    assert flips(was) == before and flips(now) == 0
    # The same rotations: every key is what it was, or its negative, bit for bit.
    for a, b in zip(was, now, strict=True):
        assert np.all(np.all(a == b, axis=1) | np.all(a == -b, axis=1))
        np.testing.assert_array_equal(a[0], b[0])


def test_non_unit_keys_of_a_file_are_normalised(cases, tmp_path):
    raw_file = cases / "files/magnum-plugins/animation-patching/animation-patching.gltf"
    report = api.fix_file(raw_file, output=tmp_path / raw_file.name)
    assert report.repair is not None and report.repair.output is not None
    found, _ = count(clips_of(tmp_path / raw_file.name))
    assert of_code(found, "QA103") == of_code(found, "QA104") == 0
