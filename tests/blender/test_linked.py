# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file links and that is not there is named in a report: a file that was not seen is not passed."""

from __future__ import annotations

from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import linked
from tests.blender import build_case, skinned
from tests.blender.previewed import run, save


def link(library: Path, kind: str) -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (there, here):
        setattr(here, kind, list(getattr(there, kind)))
    if kind == "materials":
        bpy.data.meshes.new("Local").materials.append(here.materials[0])
        here.objects = [bpy.data.objects.new("Local", bpy.data.meshes["Local"])]
    for one in here.objects:
        bpy.context.scene.collection.objects.link(one)


@pytest.fixture
def character(tmp_path: Path) -> Path:
    _, rig = skinned.make_tube()
    skinned.animate(rig, 90.0)
    bpy.data.materials.new("Skin").use_fake_user = True
    return save(tmp_path / "角色.blend")


def test_a_library_that_is_there_is_no_news(character: Path, tmp_path: Path) -> None:
    link(character, "objects")
    report = api.audit_file(save(tmp_path / "shot.blend"))
    assert not [why for _, why in report.not_evaluated if "linked file" in why]


def test_a_missing_library_is_named(character: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    link(character, "objects")
    shot = save(tmp_path / "shot.blend")
    character.rename(tmp_path / "moved.blend")
    report = api.audit_file(shot)
    ((what, why),) = report.not_evaluated
    assert what.endswith("角色.blend")
    assert why == "the linked file is not there, so Rig, Tube could not be read: put it there, or relocate the library"
    capsys.readouterr()
    assert run("audit", shot) == 0
    out = capsys.readouterr().out
    assert "角色.blend: the linked file is not there" in out and "1 not evaluated (that is not passed)" in out
    (tmp_path / "moved.blend").rename(character)
    assert not api.audit_file(shot).not_evaluated


def test_a_library_whose_animation_does_not_arrive_is_named(character: Path, tmp_path: Path, monkeypatch) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(character), compress=False)
    link(character, "objects")
    shot = save(tmp_path / "shot.blend")
    whole, here = character.read_bytes(), bpy.app.version
    old, new = (b"%02d%02d", b"9999") if b"BLENDER17" in whole[:9] else (b"%d%02d", b"999")
    character.write_bytes(whole.replace(b"v" + old % here[:2], b"v" + new, 1))
    ((what, why),) = api.audit_file(shot).not_evaluated
    assert what.endswith("角色.blend") and "cannot read in full; run the audit with that version or newer" in why
    character.write_bytes(whole)
    with monkeypatch.context() as patched:
        patched.setattr(linked.compat, "drops_animation_of", lambda version: version == tuple(here[:2]))
        bpy.ops.wm.open_mainfile(filepath=str(shot))
        ((what, why),) = linked.missing()
    assert what.endswith("角色.blend") and "its animation is not loaded: open and save it with Blender 4.5" in why


def test_data_that_a_library_no_longer_has(character: Path, tmp_path: Path) -> None:
    link(character, "objects")
    shot = save(tmp_path / "shot.blend")
    bpy.ops.wm.open_mainfile(filepath=str(character))
    bpy.data.objects["Tube"].name = "Renamed"
    save(character)
    report = api.audit_file(shot)
    assert [why for _, why in report.not_evaluated] == [
        "Tube can no longer be found in the linked file: link anew, or relocate the library"
    ]


def test_many_names_are_cut_short(tmp_path: Path) -> None:
    for number in range(9):
        bpy.context.scene.collection.objects.link(bpy.data.objects.new(f"Bone {number}", None))
    library = save(tmp_path / "library.blend")
    link(library, "objects")
    shot = save(tmp_path / "shot.blend")
    library.unlink()
    bpy.ops.wm.open_mainfile(filepath=str(shot))
    ((_, why),) = linked.missing()
    assert "so Bone 0, Bone 1, Bone 2, Bone 3, Bone 4, … (9) could not" in why


def test_what_has_no_part_in_an_audit_may_be_missing(character: Path, tmp_path: Path) -> None:
    link(character, "materials")
    shot = save(tmp_path / "shot.blend")
    character.unlink()
    assert not api.audit_file(shot).not_evaluated
    assert bpy.data.materials["Skin"].is_missing


def test_a_slot_whose_keys_are_linked_and_at_fault_stays_unbound_and_the_rest_is_repaired(tmp_path: Path) -> None:
    """Bound, the linked keys would play: their flips would be errors that nobody can repair here."""
    if not build_case.has_slots():
        return
    bones = ["A", "B", "C"]
    theirs = build_case.make_rig("Theirs", bones, "ZYX")
    fcurves = build_case.make_fcurves("Walk", "Theirs")
    for bone in bones:
        for index, values in enumerate([[1, 0.97, -0.87], [0, 0, 0], [0, 0, 0], [0, 0.24, -0.49]]):
            build_case.make_curve(fcurves, f'pose.bones["{bone}"].rotation_quaternion', index, [1, 10, 20], values)
    build_case.assign(theirs.animation_data_create(), bpy.data.actions["Walk"])
    link(save(tmp_path / "library.blend"), "objects")
    ours = build_case.make_rig("Ours", bones).animation_data_create()
    ours.action = bpy.data.actions["Walk"]
    ours.action_slot = None
    prop = bpy.data.objects.new("Prop", None)
    prop.rotation_mode = "QUATERNION"
    bpy.context.scene.collection.objects.link(prop)
    own = build_case.make_fcurves("Own", "Prop")
    for index, values in enumerate([[1, -1], [0, 0], [0, 0], [0, 0]]):
        build_case.make_curve(own, "rotation_quaternion", index, [1, 10], values)
    build_case.assign(prop.animation_data_create(), bpy.data.actions["Own"])
    report = api.fix_file(save(tmp_path / "shot.blend"), settings=api.Settings(unsafe=True))
    assert report.status == "audited" and report.repair is not None
    refused = {item.code: item.why for item in report.repair.refused}
    assert refused["QA307"].startswith("it would leave 4 errors where there were 2")
    assert [item.code for item in report.repair.applied] == ["QA104"]
