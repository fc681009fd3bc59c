# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview from the command line: figures against the reference and against Blender, files written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import example_limbs

from quat_audit import api
from quat_audit.preview.png import SIGNATURE
from tests.blender import skinned
from tests.blender.previewed import read, run, save
from tests.conditions import SYMBOLIC_LINKS


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("limb", example_limbs.LIMBS, ids=lambda limb: limb.name)
def test_the_figures_of_the_reference(limbs: Path, tmp_path: Path, limb: Any, capsys: Any) -> None:
    """REFERENCE.md 19, for a twist and for a bend: LBS keeps |cos(angle / 2)| of the ring, DQS all of it."""
    file = limbs / f"{limb.name}.blend"
    before = file.read_bytes()
    assert run("preview", file, "--output", tmp_path / "new" / "folder") == 0
    assert file.read_bytes() == before
    name = limb.name.replace("_", " ").title()
    folder = tmp_path / "new" / "folder"
    assert sorted(p.name for p in folder.iterdir()) == [f"{name}-curve.png", f"{name}-sheet.png", f"{name}.json"]
    data = read(folder / f"{name}.json")
    (joint,) = data["series"]["joints"]
    frames = data["series"]["frames"]
    assert frames == [float(f) for f in range(1, max(limb.keys) + 1)]
    reference = {0.0: 1.0, 90.0: 0.7071, 135.0: 0.3827, 179.0: 0.0087, 270.0: 0.7071}
    for frame, degrees in limb.keys.items():
        at = frames.index(frame)
        assert joint["radius"]["lbs_of_rest"][at] == pytest.approx(reference[degrees], abs=1e-4)
        assert joint["radius"]["dqs_of_rest"][at] == pytest.approx(1.0, abs=1e-4)
        assert joint["radius"]["lbs_of_dqs"][at] == pytest.approx(reference[degrees], abs=1e-4)
    worst = max(limb.keys, key=lambda frame: -reference[limb.keys[frame]])
    said = data["worst"]["radius"]
    assert (said["frame"], said["joint"]) == (worst, limb.bones[1])
    assert said["lbs_of_rest"] == pytest.approx(reference[limb.keys[worst]], abs=1e-4)
    out = capsys.readouterr().out
    assert f"LBS {100 * reference[limb.keys[worst]]:.1f} %, DQS 100.0 % of rest" in out
    assert all(str(folder / p) in out for p in (f"{name}.json", f"{name}-sheet.png", f"{name}-curve.png"))


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("limb", example_limbs.LIMBS, ids=lambda limb: limb.name)
def test_the_figures_against_what_blender_evaluates(limbs: Path, tmp_path: Path, limb: Any) -> None:
    """Gap, mean gap and volume of each frame, from Blender's own meshes with and without Preserve Volume."""
    file = limbs / f"{limb.name}.blend"
    (row,) = api.preview_file(file, tmp_path, frames=[float(f) for f in limb.keys])
    bpy.ops.wm.open_mainfile(filepath=str(file))
    obj = next(o for o in bpy.data.objects if o.type == "MESH")
    shapes: dict[bool, list[np.ndarray]] = {False: [], True: []}
    for preserve, found in shapes.items():
        obj.modifiers[0].use_deform_preserve_volume = preserve
        for frame in limb.keys:
            bpy.context.scene.frame_set(frame)
            found.append(skinned.evaluated(obj))
    size = float(np.linalg.norm(np.ptp([v.co for v in obj.data.vertices], axis=0))) * 1000.0
    apart = 1000.0 * np.linalg.norm(np.array(shapes[True]) - np.array(shapes[False]), axis=2)
    series, worst = row.figures["series"], row.figures["worst"]
    assert row.figures["size_mm"] == pytest.approx(size, rel=1e-5)
    np.testing.assert_allclose(series["gap_mm"], apart.max(axis=1), atol=2e-5 * size)
    np.testing.assert_allclose(series["gap_mean_mm"], apart.mean(axis=1), atol=2e-5 * size)
    frame = int(apart.max(axis=1).argmax())
    assert worst["gap"]["frame"] == list(limb.keys)[frame]
    assert worst["gap"]["percent_of_mesh"] == pytest.approx(100.0 * apart.max() / size, rel=1e-3)
    assert apart[frame, worst["gap"]["vertex"]] == pytest.approx(apart.max(), rel=1e-4)
    volumes = {way: [volume(obj, points) for points in found] for way, found in shapes.items()}
    for way, name in ((False, "lbs"), (True, "dqs")):
        expected = np.array(volumes[way]) / volumes[way][0]  # the first frame is the rest pose
        np.testing.assert_allclose(series["volume_of_rest"][name], expected, atol=1e-4)
    assert not any(series["cut_mm"]) and worst["cut"]["vertices"] == 0


def volume(obj: Any, points: np.ndarray) -> float:
    obj.data.calc_loop_triangles()
    corners = points[np.array([t.vertices for t in obj.data.loop_triangles])]
    return float(np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0)


@pytest.mark.usefixtures("no_pictures")
def test_a_cut_of_influences_against_blender(tmp_path: Path) -> None:
    """Six influences a vertex against the four heaviest, renormalized, on Blender's own meshes."""
    obj, rig = skinned.random_rig(5, influences=6)
    skinned.random_pose(rig, np.random.default_rng(5))
    bpy.context.view_layer.update()
    row = api.preview_object(obj, tmp_path)
    whole = skinned.evaluated(obj)
    deforming = {b.name for b in rig.data.bones}
    for vertex in obj.data.vertices:
        mine = [(g.weight, -g.group) for g in vertex.groups if obj.vertex_groups[g.group].name in deforming]
        for _, group in sorted(mine, reverse=True)[4:]:
            obj.vertex_groups[-group].remove([vertex.index])
    bpy.context.view_layer.update()
    moved = 1000.0 * np.linalg.norm(skinned.evaluated(obj) - whole, axis=1)
    cut = row.figures["worst"]["cut"]
    assert moved.max() > 1.0
    assert cut["mm"] == pytest.approx(moved.max(), rel=1e-3)
    assert cut["vertex"] == int(moved.argmax())
    assert row.figures["method"] == "LBS"


@pytest.mark.usefixtures("coarse_pictures")
def test_twice_the_same_bytes_and_earlier_results_are_replaced(limbs: Path, tmp_path: Path) -> None:
    file = limbs / "bent_elbow.blend"
    assert run("preview", file, "--frames", "21", "--output", tmp_path) == 0
    first = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    old = {"schema": "quat_audit.preview/0", "file": "/elsewhere/bent_elbow.blend"}
    (tmp_path / "Bent Elbow.json").write_text(json.dumps(old), encoding="utf-8")
    (tmp_path / "Bent Elbow-sheet.png").write_bytes(SIGNATURE + b"old")
    assert run("preview", file, "--frames", "21", "--output", tmp_path) == 0
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == first


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    "words, frames",
    [("11-13", [11, 12, 13]), ("21", [21]), ("-2-1", [-2, -1, 0, 1]), ("-3--1", [-3, -2, -1]), ("-5", [-5])],
)
def test_frames(limbs: Path, tmp_path: Path, words: str, frames: list[int]) -> None:
    assert run("preview", limbs / "bent_elbow.blend", "--frames", words, "--output", tmp_path) == 0
    assert read(tmp_path / "Bent Elbow.json")["series"]["frames"] == frames


@pytest.mark.usefixtures("no_pictures")
def test_many_frames_are_thinned_and_that_is_said(limbs: Path, tmp_path: Path) -> None:
    assert run("preview", limbs / "bent_elbow.blend", "--frames", "1-2000", "--output", tmp_path) == 0
    data = read(tmp_path / "Bent Elbow.json")
    assert len(data["series"]["frames"]) == 500
    why = {item["what"]: item["why"] for item in data["not_evaluated"]}
    assert why["frames"] == "measured on 500 of the 2,000 asked for, evenly picked"


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--frames", "20-10"], "it ends before it begins; write 10-20"),
        (["--frames", "1..5"], "write A-B, or one frame"),
        (["--frames", "0-9999999"], "Blender has frames from"),
        (["--object", "Nobody"], "no object is called 'Nobody': its skinned meshes are Bent Elbow"),
        (["--object", "Rig"], "Rig is no mesh: its skinned meshes are Bent Elbow"),
        (["--object", ""], "it is empty: name a mesh object, or leave the option out"),
        (["--frames", ""], "--frames '': write A-B, or one frame"),
    ],
)
def test_bad_usage(limbs: Path, tmp_path: Path, capsys: Any, arguments: list[str], says: str) -> None:
    assert run("preview", limbs / "bent_elbow.blend", *arguments, "--output", tmp_path / "out") == 2
    captured = capsys.readouterr()
    assert says in captured.err and captured.out == ""
    assert not list(tmp_path.iterdir())


@SYMBOLIC_LINKS
def test_the_result_never_replaces_an_input(limbs: Path, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "in.blend"
    file.write_bytes((limbs / "bent_elbow.blend").read_bytes())
    before = file.read_bytes()
    (tmp_path / "Bent Elbow-sheet.png").symlink_to(file)
    assert run("preview", file, "--frames", "1", "--output", tmp_path) == 2
    assert "belongs to what is previewed: choose another folder" in capsys.readouterr().err
    assert file.read_bytes() == before
    assert run("preview", file, "--output", file) == 2
    assert "is a file: name a folder" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.usefixtures("no_pictures")
def test_names_of_any_kind(tmp_path: Path, capsys: Any) -> None:
    names = ["腕/モーション", "🔥🦊", "Arm", "arm", "line\nbreak", ".."]
    rig = skinned.make_armature("リグ", skinned.HEADS, skinned.HEADS + np.array([0, 0, 1.0]), [-1, 0])
    for name in names:
        corners = np.array([(0.1, 0, 0.5), (0, 0.1, 1.0), (-0.1, 0, 1.5)])
        skinned.make_mesh(name, corners, rig, [{"Bone0": 0.5, "Bone1": 0.5}] * 3, [(0, 1, 2)])
    rig.pose.bones["Bone1"].rotation_quaternion = (0.6, 0.8, 0.0, 0.0)
    file = save(tmp_path / "名前.blend")
    capsys.readouterr()
    assert run("preview", file, "--output", tmp_path / "out") == 0
    written = [read(path) for path in sorted((tmp_path / "out").glob("*.json"))]
    assert sorted(data["object"] for data in written) == sorted(names)
    assert len(list((tmp_path / "out").iterdir())) == 3 * len(names)
    assert len({p.name.casefold() for p in (tmp_path / "out").iterdir()}) == 3 * len(names)
    for data in written:
        assert all((tmp_path / "out" / name).stat().st_size > 1000 for name in data["pictures"].values())
    assert "\nbreak" not in capsys.readouterr().out


@pytest.mark.usefixtures("coarse_pictures")
def test_a_preview_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    obj, rig = skinned.make_tube()
    skinned.animate(rig, 120.0)
    bpy.context.scene.frame_set(7)
    before, kinds = skinned.snapshot(), [kind for kind in dir(bpy.data) if hasattr(getattr(bpy.data, kind), "remove")]
    data = {kind: [item.name_full for item in getattr(bpy.data, kind)] for kind in kinds}
    scene, dirty = bpy.context.scene.name, bpy.data.is_dirty
    row = api.preview_object(obj, tmp_path)
    assert row.figures["worst"]["radius"]["frame"] == 21
    assert skinned.snapshot() == before
    assert {kind: [item.name_full for item in getattr(bpy.data, kind)] for kind in kinds} == data
    assert (bpy.context.scene.name, bpy.data.is_dirty) == (scene, dirty)


# ---- real files -------------------------------------------------------------------------------------------------

CASES = {
    "KayKit-Character-Pack-Adventures-1.0/Knight.glb": 6,
    "glTF-Blender-IO/03_skinned_cylinder.blend": 1,
    "assimp/quad_skin.glb": 1,
    "ufbx/blender_293_half_skinned_7400_binary.fbx": 1,
    "bevy/Fox.glb": 1,
}


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("name", CASES)
def test_real_files(cases: Path, tmp_path: Path, name: str) -> None:
    assert run("preview", cases / "files" / name, "--frames", "1-20", "--output", tmp_path) == 0
    written = [read(path) for path in tmp_path.glob("*.json")]
    assert len(written) == CASES[name]
    for data in written:
        series, worst = data["series"], data["worst"]
        assert len(series["frames"]) == len(series["gap_mm"]) == 20
        assert worst["gap"]["mm"] == max(series["gap_mm"]) and 0.0 <= worst["gap"]["percent_of_mesh"] < 100.0
        assert worst["gap_mean"]["mm"] <= worst["gap"]["mm"]
        for joint in series["joints"]:
            assert max(joint["gap_mm"]) <= worst["gap"]["mm"]
            if joint["radius"] is not None:
                assert all(value is None or 0.0 <= value < 2.0 for value in joint["radius"]["lbs_of_dqs"])
        for picture in data["pictures"].values():
            assert (tmp_path / picture).stat().st_size > 10_000


@pytest.mark.usefixtures("coarse_pictures")
def test_a_real_file_with_pictures(cases: Path, tmp_path: Path) -> None:
    knight = cases / "files" / "KayKit-Character-Pack-Adventures-1.0/Knight.glb"
    assert run("preview", knight, "--object", "Knight_ArmLeft", "--frames", "16", "--output", tmp_path) == 0
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    assert read(tmp_path / "Knight_ArmLeft.json")["worst"]["gap"]["joint"] == "hand.l"
