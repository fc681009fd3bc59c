# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic audits through Blender's own glTF and FBX add-ons: off by default, never in the way of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import ui
from quat_audit.blender import compat
from quat_audit.results.memory import RESULTS
from quat_audit.ui import auditing, hooks, preferences
from tests.blender import build_case as build

EXPORT = {"export_animations": True, "export_force_sampling": False}


@pytest.fixture
def told(monkeypatch) -> list[tuple[str, str]]:
    """(severity, message) of what was reported, in order."""
    said: list[tuple[str, str]] = []
    cls = hooks.QUATAUDIT_OT_tell
    execute = cls.execute

    def spy(self, context):
        said.append((self.severity, self.message))
        return execute(self, context)

    monkeypatch.setattr(cls, "execute", spy)
    return said


@pytest.fixture(autouse=True)
def registered(told) -> Iterator[None]:
    """The package as an enabled add-on, as far as the glTF add-on and the preferences can tell."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    for module in ("io_scene_gltf2", "io_scene_fbx"):
        compat.enable_addon(module)
    addon = bpy.context.preferences.addons.new()
    addon.module = preferences.ADDON
    ui.register()
    RESULTS.clear()
    hooks._WATCH.last, hooks._WATCH.known = None, set()
    yield
    ui.unregister()
    bpy.context.preferences.addons.remove(bpy.context.preferences.addons[preferences.ADDON])


def switch_on(**which: bool) -> None:
    chosen = bpy.context.preferences.addons[preferences.ADDON].preferences
    for name, on in which.items():
        setattr(chosen, name, on)


def make_object(name: str, flipped: bool, step: float = 20.0) -> Any:
    """An object that turns about Z by `step` degrees a key; its second key may be stored as −q."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    obj.rotation_mode = "QUATERNION"
    for number, frame in enumerate((1, 11, 21)):
        half = math.radians(number * step) / 2
        sign = -1 if flipped and number == 1 else 1
        obj.rotation_quaternion = (sign * math.cos(half), 0, 0, sign * math.sin(half))
        obj.keyframe_insert("rotation_quaternion", frame=frame)
    for curve in build.fcurves_of(obj.animation_data.action):
        for key in curve.keyframe_points:
            key.interpolation = "LINEAR"
    return obj


def codes() -> list[str]:
    return sorted(row.key.code for row in RESULTS.rows)


def actions_shown() -> set[str]:
    return {result.name for _, result in RESULTS.by_address()}


# --- glTF


def export_gltf(path: Path, **options: Any) -> None:
    assert bpy.ops.export_scene.gltf(filepath=str(path), export_format="GLB", **EXPORT, **options) == {"FINISHED"}
    assert path.stat().st_size > 500


def test_both_are_off_by_default(tmp_path: Path, told) -> None:
    make_object("Cube", flipped=True)
    export_gltf(tmp_path / "a.glb")
    assert bpy.ops.import_scene.gltf(filepath=str(tmp_path / "a.glb")) == {"FINISHED"}
    assert told == [] and not RESULTS.audited


def test_an_export_is_audited_before_and_says_what_is_wrong(tmp_path: Path, told) -> None:
    make_object("Cube", flipped=True)
    switch_on(audit_before_export=True)
    export_gltf(tmp_path / "a.glb")
    assert told == [("WARNING", "Export: 1 error, 0 warnings in rotation keys; see the Rig Audit tab")]
    assert codes() == ["QA104"]


def test_the_audit_does_not_change_what_is_exported(tmp_path: Path, told) -> None:
    make_object("Cube", flipped=True)
    export_gltf(tmp_path / "without.glb")
    switch_on(audit_before_export=True)
    export_gltf(tmp_path / "with.glb")
    assert len(told) == 1
    assert (tmp_path / "with.glb").read_bytes() == (tmp_path / "without.glb").read_bytes()


def test_an_export_of_the_selection_audits_the_selection(tmp_path: Path, told) -> None:
    bad, good = make_object("Bad", flipped=True), make_object("Good", flipped=False)
    bad.select_set(False)
    good.select_set(True)
    switch_on(audit_before_export=True)
    export_gltf(tmp_path / "a.glb", use_selection=True)
    assert told == [("INFO", "Export: rotation keys are clean (0 notes)")]
    assert actions_shown() == {good.animation_data.action.name}


def test_an_import_is_audited_after_and_only_what_came_in(tmp_path: Path, told) -> None:
    # A half turn in one step is what the importer leaves as it is.
    make_object("Half", flipped=False, step=179.0)
    export_gltf(tmp_path / "a.glb")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    make_object("Mine", flipped=True)
    switch_on(audit_after_import=True)
    before = {action.name for action in bpy.data.actions}
    assert bpy.ops.import_scene.gltf(filepath=str(tmp_path / "a.glb")) == {"FINISHED"}
    came_in = {action.name for action in bpy.data.actions} - before
    assert len(came_in) == 1 and actions_shown() == came_in
    assert [kind for kind, _ in told] == ["INFO"] and told[0][1].startswith("Import: rotation keys are clean (")
    assert set(codes()) == {"QA106"}


def test_an_import_without_animation_says_nothing(tmp_path: Path, told) -> None:
    make_object("Cube", flipped=True)
    export_gltf(tmp_path / "a.glb")
    still = tmp_path / "still.glb"
    assert bpy.ops.export_scene.gltf(filepath=str(still), export_format="GLB", export_animations=False) == {"FINISHED"}
    switch_on(audit_after_import=True)
    assert bpy.ops.import_scene.gltf(filepath=str(still)) == {"FINISHED"}
    assert told == [] and not RESULTS.audited


@pytest.mark.parametrize("error", [RuntimeError("broken"), KeyError("x"), ReferenceError("gone")])
def test_whatever_goes_wrong_is_told_and_stays_here(tmp_path: Path, told, monkeypatch, caplog, error) -> None:
    make_object("Cube", flipped=True)
    switch_on(audit_before_export=True, audit_after_import=True)

    def fail(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(auditing, "audit_now", fail)
    export_gltf(tmp_path / "a.glb")
    assert bpy.ops.import_scene.gltf(filepath=str(tmp_path / "a.glb")) == {"FINISHED"}
    assert [severity for severity, _ in told] == ["ERROR", "ERROR"]
    assert {message.split("; ")[0] for _, message in told} == {f"internal error: {type(error).__name__}: {error}"}
    failures = [record for record in caplog.records if record.exc_info is not None]
    assert len(failures) == 2 and all(type(error) is record.exc_info[0] for record in failures)


def test_a_running_audit_is_left_alone(tmp_path: Path, told, monkeypatch) -> None:
    make_object("Cube", flipped=True)
    switch_on(audit_before_export=True)
    monkeypatch.setattr(auditing, "RUNNING", [object()])
    export_gltf(tmp_path / "a.glb")
    assert told == [] and not RESULTS.audited


def test_the_names_that_gltf_looks_for_are_there_while_registered() -> None:
    module = sys.modules[preferences.ADDON]
    names = ("glTF2ImportUserExtension", "glTF2_pre_export_callback")
    assert all(hasattr(module, name) for name in names)
    ui.unregister()
    try:
        assert not any(hasattr(module, name) for name in names)
    finally:
        ui.register()
    assert all(hasattr(module, name) for name in names)


# --- FBX


def as_a_person(operator: Any, **properties: Any) -> None:
    """Run an operator the way a click does: Blender lists it among those that can be repeated."""
    window = bpy.context.window_manager.windows[0]
    with bpy.context.temp_override(window=window):
        assert operator("EXEC_DEFAULT", True, **properties) == {"FINISHED"}
    assert bpy.context.window_manager.operators[-1].bl_idname == operator.idname()


def importers() -> list[Any]:
    found = [bpy.ops.import_scene.fbx]
    if compat.has_operator("wm", "fbx_import"):  # the C++ one, 4.5
        found.append(bpy.ops.wm.fbx_import)
    return found


@pytest.fixture
def fbx(tmp_path: Path) -> Path:
    """A file with an animated object. (The add-on writes Euler angles, so that no sign flip can be in it.)"""
    make_object("Turning", flipped=False)
    path = tmp_path / "a.fbx"
    assert bpy.ops.export_scene.fbx(filepath=str(path), bake_anim=True) == {"FINISHED"}
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    return path


@pytest.mark.parametrize("number", [0, 1], ids=["Python", "C++"])
def test_an_fbx_import_that_a_person_ran_is_audited_once(fbx: Path, told, number: int) -> None:
    if number == len(importers()):
        assert bpy.app.version < (4, 5)  # there is only one
        return
    switch_on(audit_after_import=True)
    make_object("Mine", flipped=True)
    assert hooks.look_at_operators() == hooks.WATCH_SECONDS
    before = {action.name for action in bpy.data.actions}
    as_a_person(importers()[number], filepath=str(fbx))
    assert told == []
    hooks.look_at_operators()
    came_in = {action.name for action in bpy.data.actions} - before
    assert came_in and actions_shown() == came_in
    assert len(told) == 1 and told[0][1].startswith("Import: ")
    hooks.look_at_operators()
    as_a_person(bpy.ops.object.select_all, action="SELECT")
    hooks.look_at_operators()
    assert len(told) == 1
    as_a_person(importers()[number], filepath=str(fbx))
    hooks.look_at_operators()
    assert len(told) == 2, "another import is another audit"
    assert not actions_shown() & (came_in | before)


def test_an_fbx_export_is_audited_when_it_is_done(tmp_path: Path, told) -> None:
    switch_on(audit_before_export=True)
    bad, good = make_object("Bad", flipped=True), make_object("Good", flipped=False)
    hooks.look_at_operators()
    as_a_person(bpy.ops.export_scene.fbx, filepath=str(tmp_path / "a.fbx"))
    hooks.look_at_operators()
    assert told == [("WARNING", "Export: 1 error, 0 warnings in rotation keys; see the Rig Audit tab")]
    bad.select_set(False)
    good.select_set(True)
    as_a_person(bpy.ops.export_scene.fbx, filepath=str(tmp_path / "b.fbx"), use_selection=True)
    hooks.look_at_operators()
    assert told[1:] == [("INFO", "Export: rotation keys are clean (0 notes)")]
    assert actions_shown() == {good.animation_data.action.name}


def test_what_a_script_ran_and_what_is_off_is_not_audited(fbx: Path, told) -> None:
    switch_on(audit_after_import=True)
    make_object("Mine", flipped=True)
    hooks.look_at_operators()
    assert bpy.ops.import_scene.fbx(filepath=str(fbx)) == {"FINISHED"}
    hooks.look_at_operators()
    assert told == []
    switch_on(audit_after_import=False)
    as_a_person(bpy.ops.import_scene.fbx, filepath=str(fbx))
    hooks.look_at_operators()
    as_a_person(bpy.ops.export_scene.fbx, filepath=str(fbx))
    hooks.look_at_operators()
    assert told == [] and not RESULTS.audited


def test_what_was_done_before_the_first_look_is_not_audited(fbx: Path, told) -> None:
    switch_on(audit_after_import=True)
    as_a_person(bpy.ops.import_scene.fbx, filepath=str(fbx))
    hooks.look_at_operators()
    assert told == []
    as_a_person(bpy.ops.import_scene.fbx, filepath=str(fbx))
    hooks.look_at_operators()
    assert len(told) == 1


def test_the_importers_and_exporters_that_are_watched_are_those_that_exist() -> None:
    assert {operator.idname() for operator in importers()} <= set(hooks.FBX_IMPORTS)
    assert (len(importers()) == len(hooks.FBX_IMPORTS)) == (bpy.app.version >= (4, 5))
    assert bpy.ops.export_scene.fbx.idname() in hooks.FBX_EXPORTS
    # Should Blender get an exporter of its own, it is to be watched too.
    assert [name for name in dir(bpy.ops.wm) if name.startswith("fbx_")] in ([], ["fbx_import"])
