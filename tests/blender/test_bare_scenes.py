# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes that lack what every scene has, and files that hold nothing: audited or refused, never a traceback."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api, ui
from quat_audit.audit.settings import Settings
from quat_audit.blender import open
from quat_audit.blender.draw import render
from quat_audit.errors import InputError
from quat_audit.ui import properties
from tests.blender import build_case as build

FLIP = ((1, (1, 0, 0, 0)), (11, (-0.9848078, 0, 0, -0.1736482)), (21, (0.9396926, 0, 0, 0.3420201)))


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rendering takes seconds, and is tested elsewhere."""
    monkeypatch.setattr(render, "render", lambda drawing: b"")


def linked(name: str, data: Any = None) -> Any:
    """A new object in the scene."""
    obj = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def skinned(group: str = "Bone") -> Any:
    """A keyed rig of one bone and the triangle that follows it; returns the mesh object."""
    rig = build.make_rig("Rig", ["Bone"])
    for frame, value in FLIP:
        rig.pose.bones["Bone"].rotation_quaternion = value
        rig.pose.bones["Bone"].keyframe_insert("rotation_quaternion", frame=frame)
    mesh = bpy.data.meshes.new("Skin")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    skin = linked("Skin", mesh)
    skin.vertex_groups.new(name="Bone").add([0, 1, 2], 1.0, "REPLACE")
    if group != "Bone":
        skin.vertex_groups.new(name=group).add([0], 0.5, "REPLACE")
    skin.modifiers.new("Armature", "ARMATURE").object = rig
    return skin


def drive(owner: Any, path: str, index: int = -1) -> None:
    """Drive a property by the frame, without Python."""
    curve = owner.driver_add(path, index) if index >= 0 else owner.driver_add(path)
    variable = curve.driver.variables.new()
    variable.targets[0].id_type = "SCENE"
    variable.targets[0].id = bpy.context.scene
    variable.targets[0].data_path = "frame_current"
    curve.driver.type = "SUM"


def nothing() -> None:
    pass


def armature_without_bones() -> None:
    skinned()
    empty = linked("Empty", bpy.data.armatures.new("Empty"))
    empty.keyframe_insert("location", frame=1)


def armature_without_bones_with_a_skin() -> None:
    skinned().modifiers[0].object = linked("Empty", bpy.data.armatures.new("Empty"))
    bpy.data.objects["Empty"].keyframe_insert("rotation_euler", frame=1)


def drivers_only() -> None:
    """On an armature without bones, its data, a camera's data, shape keys and a material; nobody has an action."""
    empty = linked("Empty", bpy.data.armatures.new("Empty"))
    drive(empty, "rotation_euler", 0)
    empty.data["own"] = 1.0
    drive(empty.data, '["own"]')
    camera = linked("Camera", bpy.data.cameras.new("Camera"))
    drive(camera.data, "lens")
    skin = skinned()
    skin.shape_key_add(name="Basis")
    skin.shape_key_add(name="Smile")
    drive(skin.data.shape_keys.key_blocks["Smile"], "value")


def an_action_without_curves() -> None:
    obj = linked("Prop")
    obj.animation_data_create()
    obj.animation_data.action = bpy.data.actions.new("Nothing")


def a_mesh_without_vertices() -> None:
    skin = skinned()
    skin.data.clear_geometry()


SCENES: list[Callable[[], None]] = [
    nothing,
    armature_without_bones,
    armature_without_bones_with_a_skin,
    drivers_only,
    an_action_without_curves,
    a_mesh_without_vertices,
]


def everything(path: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> list[Any]:
    """The rows of audit and of both dry repairs; preview and the panel have looked at the file too."""
    with caplog.at_level(logging.DEBUG):
        rows = [api.audit_file(path), *(api.fix_file(path, Settings(unsafe=unsafe)) for unsafe in (False, True))]
        try:
            reasons = [shown.reason for shown in api.preview_file(path, folder)]
        except InputError as error:
            reasons = [str(error)]
    for text in (*(row.reason for row in rows), *reasons, *(record.getMessage() for record in caplog.records)):
        assert "internal error" not in text and "Traceback" not in text
    return rows


def in_the_panel(path: Path) -> None:
    """Open the file, and press both Audit buttons for the whole file: a traceback would be a RuntimeError."""
    open.open_blend(path)
    ui.register()
    try:
        properties.state(bpy.context).scope = "FILE"
        for audit in (bpy.ops.quat_audit.audit, bpy.ops.quat_audit.audit_skin):
            if audit.poll():
                assert audit("EXEC_DEFAULT") <= {"FINISHED", "CANCELLED"}
    finally:
        ui.unregister()


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.__name__)
def test_a_bare_scene_is_audited(scene: Callable[[], None], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open.new_file()
    scene()
    path = tmp_path / "bare.blend"
    open.save_blend(path, compress=False)
    for row in everything(path, tmp_path / "out", caplog):
        assert (row.status, row.reason) == ("audited", "")
    in_the_panel(path)


def with_latin(path: Path, name: bytes) -> None:
    """Put a byte of Latin-1 into a name of a saved file."""
    data = path.read_bytes()
    assert name in data
    path.write_bytes(data.replace(name, name.replace(b"_", b"\xe9")))


def test_a_vertex_group_whose_name_is_no_utf8_is_audited(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open.new_file()
    skinned("Forearm_R")
    path = tmp_path / "latin.blend"
    open.save_blend(path, compress=False)
    with_latin(path, b"Forearm_R")
    rows = everything(path, tmp_path / "out", caplog)
    assert [row.status for row in rows] == ["audited"] * 3
    assert [f.code for f in rows[0].findings] == ["QA104", "QA604"]
    assert r"Forearm\xe9R" in rows[0].findings[1].message
    in_the_panel(path)


def test_another_name_that_is_no_utf8_is_a_reason(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    open.new_file()
    skinned()
    bpy.data.objects["Rig"].animation_data.action.name = "Walk_R"
    path = tmp_path / "latin.blend"
    open.save_blend(path, compress=False)
    with_latin(path, b"Walk_R")
    for row in everything(path, tmp_path / "out", caplog):
        assert row.status == "failed" and r"no UTF-8 (Walk\xe9R)" in row.reason


@pytest.mark.parametrize(
    ("suffix", "head"),
    [(suffix, b"") for suffix in (".blend", ".glb", ".gltf", ".vrm", ".bvh", ".fbx")]
    + [(".blend", b"BLENDER-v405"), (".glb", b"glTF\x02\0\0\0")],
)
def test_a_file_of_zeros_is_refused(suffix: str, head: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / f"zeros{suffix}"
    path.write_bytes(head + bytes(100_000))
    for row in (*everything(path, tmp_path / "out", caplog), api.audit_file(path, Settings(via="blender"))):
        assert row.status == "failed" and row.reason and "internal error" not in row.reason
