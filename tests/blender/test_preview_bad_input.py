# SPDX-License-Identifier: GPL-3.0-or-later
"""What cannot be previewed, or not as it is: a message each, and the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.errors import InputError, SkinError
from quat_audit.preview.png import SIGNATURE
from tests.blender import skinned
from tests.blender.previewed import read, run, save
from tests.conditions import SYMBOLIC_LINKS


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
    assert captured.out == "" and not (tmp_path / "out").exists()


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
    with pytest.raises(SkinError, match="Rig is in edit mode, where it deforms nothing: leave edit mode"):
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
    assert run("preview", file, "--output", tmp_path / "gone") == 2
    says = "library.blend: no preview: the linked file is not there, so Rig, Tube could not be read: put it there"
    assert says in capsys.readouterr().err
    assert not (tmp_path / "gone").exists()


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


@pytest.mark.usefixtures("no_pictures")
def test_a_sheet_that_cannot_be_written_leaves_the_earlier_figures(tmp_path: Path, capsys: Any) -> None:
    _, rig = skinned.make_tube()
    skinned.animate(rig, 90.0)
    file = save(tmp_path / "tube.blend")
    out = tmp_path / "out"
    for ending in ("-sheet.png", "-curve.png", ".json"):
        (out / f"Tube{ending}").mkdir(parents=True)
        before = {path: path.read_bytes() for path in out.iterdir() if path.is_file()}
        assert run("preview", file, "--output", out) == 2
        says = f"Tube{ending}: it is a folder; move it away, or choose another --output"
        assert says in capsys.readouterr().err
        assert {path: path.read_bytes() for path in out.iterdir() if path.is_file()} == before
        (out / f"Tube{ending}").rmdir()
        (out / f"Tube{ending}").write_bytes(SIGNATURE + b"earlier")


@pytest.mark.usefixtures("no_pictures")
@SYMBOLIC_LINKS
def test_an_imported_input_is_not_written_over_through_a_link(cases: Path, tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "fox.glb"
    file.write_bytes((cases / "files/bevy/Fox.glb").read_bytes())
    before = file.read_bytes()
    assert run("preview", file, "--frames", "1", "--output", tmp_path / "out") == 0
    (picture,) = (tmp_path / "out").glob("*-sheet.png")
    picture.unlink()
    picture.symlink_to(file)
    capsys.readouterr()
    assert run("preview", file, "--frames", "1", "--output", tmp_path / "out") == 2
    assert "belongs to what is previewed: choose another folder" in capsys.readouterr().err
    assert file.read_bytes() == before


@SYMBOLIC_LINKS
def test_output_folders_that_cannot_be(tmp_path: Path, capsys: Any) -> None:
    skinned.make_tube()
    file = save(tmp_path / "tube.blend")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    for folder, says in (
        (file, "tube.blend is a file: name a folder"),
        (file / "below", "tube.blend is a file: name a folder"),
        (tmp_path / "nowhere", "nowhere is a link to nothing: name a folder"),
    ):
        assert run("preview", file, "--output", folder) == 2
        error = capsys.readouterr().err
        # It is the folder that is wrong, not the file to be previewed.
        assert says in error and f"error: --output {folder}: " in error


@pytest.mark.usefixtures("no_pictures")
def test_a_mesh_of_another_scene(tmp_path: Path, capsys: Any) -> None:
    obj, rig = skinned.make_tube()
    other = bpy.data.scenes.new("Backstage")
    for one in (obj, rig):
        bpy.context.scene.collection.objects.unlink(one)
        other.collection.objects.link(one)
    file = save(tmp_path / "two.blend")
    assert run("preview", file, "--output", tmp_path / "out") == 2
    says = "Tube is in the scene Backstage, and only the active scene is posed: make that one active"
    assert says in capsys.readouterr().err


def test_an_import_that_fails_says_what_to_do(cases: Path, tmp_path: Path, capsys: Any) -> None:
    whole = (cases / "files/bevy/Fox.glb").read_bytes()
    (tmp_path / "cut.glb").write_bytes(whole[: len(whole) // 2])
    assert run("preview", tmp_path / "cut.glb", "--output", tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert "Blender's importer failed: " in error and "; export or fetch the file again" in error


@pytest.mark.usefixtures("no_pictures")
def test_dual_quaternions_that_the_importer_drops(cases: Path, tmp_path: Path, capsys: Any) -> None:
    file = cases / "files/ufbx/maya_dual_quaternion_7500_ascii.fbx"
    code = run("preview", file, "--output", tmp_path / "out")
    captured = capsys.readouterr()
    if code == 2 and "an ASCII FBX, which this Blender cannot read" in captured.err:
        return  # 4.2
    assert code == 0
    assert "the file asks for dual quaternions, which Blender's importer does not read" in captured.out
    assert read(tmp_path / "out" / "pCube1.json")["method"] == "DQS"
    report = api.audit_file(file)
    assert report.not_evaluated[0][0] == "skinning" and "Preserve Volume was switched on" in report.not_evaluated[0][1]
    assert "QA605" not in {finding.code for finding in report.findings}  # it does not collapse as it is to be shown
