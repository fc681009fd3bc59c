# SPDX-License-Identifier: GPL-3.0-or-later
"""The preview from the command line: figures against the reference and against Blender, files written, bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import example_limbs  # noqa: E402

from quat_audit import api, cli  # noqa: E402
from quat_audit.blender import render  # noqa: E402
from quat_audit.errors import InputError  # noqa: E402
from tests.blender import skinned  # noqa: E402
from tests.blender.test_skin import snapshot  # noqa: E402
from tests.json_schema import check_schema  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
TUBE, ELBOW = example_limbs.LIMBS


def run(*arguments: object) -> int:
    return cli.main([str(a) for a in arguments])


def read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    check_schema(data, ROOT / "docs/preview.schema.json")
    return data


def save(path: Path) -> Path:
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)
    return path


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of figures alone: rendering takes seconds, and is tested in test_preview_pictures.py."""
    monkeypatch.setattr(render, "render", lambda drawing: b"no picture" * 1100)


@pytest.fixture(scope="module")
def limbs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limbs")
    for limb in example_limbs.LIMBS:
        example_limbs.save(limb, folder / f"{limb.name}.blend")
    return folder


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
    """Six influences a vertex against the four heaviest, renormalised, on Blender's own meshes."""
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


def test_twice_the_same_bytes_and_earlier_results_are_replaced(limbs: Path, tmp_path: Path) -> None:
    file = limbs / "bent_elbow.blend"
    assert run("preview", file, "--frames", "21", "--output", tmp_path) == 0
    first = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    (tmp_path / "Bent Elbow.json").write_text("old", encoding="utf-8")
    (tmp_path / "Bent Elbow-sheet.png").write_bytes(b"old")
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
        (["--object", "Rig"], "Rig is no mesh"),
    ],
)
def test_bad_usage(limbs: Path, tmp_path: Path, capsys: Any, arguments: list[str], says: str) -> None:
    assert run("preview", limbs / "bent_elbow.blend", *arguments, "--output", tmp_path) == 2
    captured = capsys.readouterr()
    assert says in captured.err and captured.out == ""
    assert not list(tmp_path.iterdir())


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


def test_a_preview_leaves_the_session_as_it_was(tmp_path: Path) -> None:
    obj, rig = skinned.make_tube()
    skinned.animate(rig, 120.0)
    bpy.context.scene.frame_set(7)
    before, kinds = snapshot(), [kind for kind in dir(bpy.data) if hasattr(getattr(bpy.data, kind), "remove")]
    data = {kind: [item.name_full for item in getattr(bpy.data, kind)] for kind in kinds}
    scene, dirty = bpy.context.scene.name, bpy.data.is_dirty
    row = api.preview_object(obj, tmp_path)
    assert row.figures["worst"]["radius"]["frame"] == 21
    assert snapshot() == before
    assert {kind: [item.name_full for item in getattr(bpy.data, kind)] for kind in kinds} == data
    assert (bpy.context.scene.name, bpy.data.is_dirty) == (scene, dirty)


# ---- bad input: a message each, and the exit code ---------------------------------------------------------------


def _no_modifier(obj: Any, rig: Any) -> None:
    obj.modifiers.clear()


def _no_armature(obj: Any, rig: Any) -> None:
    obj.modifiers[0].object = None


def _bound_to_nothing(obj: Any, rig: Any) -> None:
    obj.modifiers[0].use_vertex_groups = False


def _no_groups(obj: Any, rig: Any) -> None:
    obj.vertex_groups.clear()


def _no_bones(obj: Any, rig: Any) -> None:
    for group in obj.vertex_groups:
        group.name = f"mixamorig:{group.name}"


def _zero(obj: Any, rig: Any) -> None:
    for group in obj.vertex_groups:
        group.add(range(len(obj.data.vertices)), 0.0, "REPLACE")


def _nan(obj: Any, rig: Any) -> None:
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            entry.weight = float("nan")


def _no_vertices(obj: Any, rig: Any) -> None:
    obj.data.clear_geometry()


def _hidden_away(obj: Any, rig: Any) -> None:
    bpy.context.scene.collection.objects.unlink(rig)
    rig.use_fake_user = True


BAD = {
    "no modifier": (_no_modifier, "Tube has no Armature modifier: nothing to measure"),
    "no armature": (_no_armature, "its Armature modifier names no armature: choose one in the modifier"),
    "bound to nothing": (_bound_to_nothing, "is bound to neither vertex groups nor envelopes"),
    "no groups": (_no_groups, "Tube has no vertex groups: give it weights"),
    "groups without bones": (_no_bones, "no vertex group of Tube has the name of a deforming bone of Rig"),
    "zero weights": (_zero, "all weights of Tube on deforming bones of Rig are zero"),
    "NaN weights": (_nan, "the weights of Tube are no numbers (NaN)"),
    "no vertices": (_no_vertices, "Tube has no vertices"),
    "not in the view layer": (_hidden_away, "Rig is not in the view layer"),
}


@pytest.mark.parametrize("named", [True, False], ids=["named", "all"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_input(tmp_path: Path, capsys: Any, kind: str, named: bool) -> None:
    change, says = BAD[kind]
    obj, rig = skinned.make_tube()
    change(obj, rig)
    file = save(tmp_path / "bad.blend")
    capsys.readouterr()
    assert run("preview", file, *(["--object", "Tube"] if named else []), "--output", tmp_path / "out") == 2
    captured = capsys.readouterr()
    if kind == "no modifier" and not named:
        says = "nothing to preview: no mesh of the file has an Armature modifier (1 mesh in all)"
    assert says in captured.err
    assert captured.out == "" and not list((tmp_path / "out").iterdir())


@pytest.mark.usefixtures("no_pictures")
def test_some_meshes_cannot_be_previewed(tmp_path: Path, capsys: Any) -> None:
    _, rig = skinned.make_tube()
    skinned.make_mesh("Empty", np.zeros((0, 3)), rig, [])
    file = save(tmp_path / "some.blend")
    assert run("preview", file, "--output", tmp_path / "out") == 0
    captured = capsys.readouterr()
    assert "Empty: no preview: Empty has no vertices" in captured.err and "Tube: 252 vertices" in captured.out
    assert run("preview", file, "--output", tmp_path / "out", "--object", "Empty") == 2


def test_an_armature_in_edit_mode(tmp_path: Path, capsys: Any) -> None:
    obj, rig = skinned.make_tube()
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(LookupError, match="Rig is in edit mode, where it deforms nothing: leave edit mode"):
        api.preview_object(obj, tmp_path)
    file = save(tmp_path / "edit.blend")
    assert run("preview", file, "--output", tmp_path) == 2
    assert "Rig is in edit mode" in capsys.readouterr().err


@pytest.mark.usefixtures("no_pictures")
def test_a_mirrored_object_scale(tmp_path: Path) -> None:
    obj, rig = skinned.make_tube()
    skinned.animate(rig, 90.0)
    plain = api.preview_object(obj, tmp_path).figures
    obj.scale = rig.scale = (-1.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    mirrored = api.preview_object(obj, tmp_path).figures
    assert mirrored["not_evaluated"] == [
        {"what": "Tube", "why": "its scale is negative: it is shown mirrored, as in the viewport"}
    ]
    assert mirrored["worst"]["gap"]["mm"] == pytest.approx(plain["worst"]["gap"]["mm"], rel=1e-4)
    assert mirrored["worst"]["radius"]["lbs_of_rest"] == pytest.approx(plain["worst"]["radius"]["lbs_of_rest"])


@pytest.mark.usefixtures("no_pictures")
def test_some_weights_are_no_numbers_or_missing(tmp_path: Path) -> None:
    obj, rig = skinned.make_tube()
    skinned.animate(rig, 90.0)
    obj.data.vertices[3].groups[0].weight = float("nan")
    for group in obj.vertex_groups:
        group.remove([5, 6])
    said = {item["why"] for item in api.preview_object(obj, tmp_path).figures["not_evaluated"]}
    assert said == {
        "weights that are no numbers hold 1 vertex in place, as in Blender (QA608)",
        "missing weights hold 2 vertices in place (QA601)",
    }


@pytest.mark.usefixtures("no_pictures")
def test_a_linked_mesh_and_its_library_gone(tmp_path: Path, capsys: Any) -> None:
    _, rig = skinned.make_tube()
    skinned.animate(rig, 90.0)
    library = save(tmp_path / "library.blend")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (there, here):
        here.objects = list(there.objects)
    for one in here.objects:
        bpy.context.scene.collection.objects.link(one)
    bpy.context.scene.frame_end = 21
    file = save(tmp_path / "linking.blend")
    assert run("preview", file, "--output", tmp_path / "out") == 0
    data = read(tmp_path / "out" / "Tube.json")
    assert data["worst"]["radius"]["lbs_of_rest"] < 0.8
    assert "the object is linked from another file" in data["not_evaluated"][0]["why"]
    library.unlink()
    capsys.readouterr()
    assert run("preview", file, "--object", "Tube", "--output", tmp_path / "gone") == 2
    assert "library.blend, where it is no longer found: relocate the library" in capsys.readouterr().err


@pytest.mark.parametrize(
    "name, content, says",
    [
        ("walk.bvh", b"HIERARCHY", "a .bvh file has no mesh"),
        ("none.blend", None, "no such file"),
        ("empty.glb", b"", "the file is empty"),
        ("text.blend", b"hello", "not a Blender file"),
        ("notes.txt", b"hello", "is not supported"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, capsys: Any, name: str, content: bytes | None, says: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert run("preview", tmp_path / name, "--output", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert says in error and f"error: {tmp_path / name}: " in error


def test_output_is_asked_for_and_the_api_raises(tmp_path: Path, capsys: Any) -> None:
    assert run("preview", "x.blend") == 2
    assert "--output" in capsys.readouterr().err
    with pytest.raises(InputError, match="no such file"):
        api.preview_file(tmp_path / "none.blend", tmp_path)


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


def test_a_real_file_with_pictures(cases: Path, tmp_path: Path) -> None:
    knight = cases / "files" / "KayKit-Character-Pack-Adventures-1.0/Knight.glb"
    assert run("preview", knight, "--object", "Knight_ArmLeft", "--frames", "16", "--output", tmp_path) == 0
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in tmp_path.glob("*.png"))
    assert read(tmp_path / "Knight_ArmLeft.json")["worst"]["gap"]["joint"] == "hand.l"
