# SPDX-License-Identifier: GPL-3.0-or-later
"""Twenty situations in which panels crash, each with the panel open: no traceback, and the right message.

`draw_all` draws every panel, menu and list line by a layout that checks each call.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import ui  # noqa: E402
from quat_audit.blender import compat  # noqa: E402
from quat_audit.ui import auditing, following, properties  # noqa: E402
from quat_audit.ui.results import RESULTS  # noqa: E402
from tests.blender import build_case as build  # noqa: E402
from tests.ui import scenes  # noqa: E402
from tests.ui.drawing import draw_all  # noqa: E402

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
CHANGED = "The action changed since the audit: audit again"
NO_LONGER = "Not there any more: 1 finding; the file changed"


def refresh() -> None:
    following.look_again()
    following.refresh_now()


def labels() -> list[str]:
    return [row.label for row in RESULTS.rows]


# 1
def test_no_object() -> None:
    bpy.data.actions.new("Walk")
    assert "No active object: select an armature, or choose the scope Whole File" in draw_all().text
    assert scenes.why_grey(ops.audit).startswith("No active object")
    properties.state(bpy.context).scope = "SELECTED"
    assert scenes.why_grey(ops.audit) == "No object is selected"


# 2
def test_no_armature() -> None:
    bpy.data.actions.new("Walk")
    cube = bpy.data.objects.new("Cube", bpy.data.meshes.new("Cube"))
    bpy.context.scene.collection.objects.link(cube)
    bpy.context.view_layer.objects.active = cube
    assert "“Cube” has no active action: assign one, or choose another scope" in draw_all().text
    assert "“Cube” has no active action" in scenes.why_grey(ops.audit)


# 3
def test_no_action(said) -> None:
    build.make_rig("Rig", ["Arm"])
    assert "This file has no actions" in draw_all().text
    for scope in ("ACTIVE_ACTION", "OBJECT", "SELECTED", "FILE"):
        properties.state(bpy.context).scope = scope
        assert scenes.why_grey(ops.audit) == "This file has no actions"
    bpy.data.actions.new("Empty")
    assert ops.audit("EXEC_DEFAULT", scope="FILE") == {"FINISHED"}
    assert said()[-1] == "Info: There are no keys to audit"
    assert "No keys to audit" in draw_all().texts


# 4
def test_action_without_slot(said) -> None:
    rig = scenes.broken_rig()
    if not build.LAYERED:
        # 4.2 and 4.3 have no slots: the nearest is an action without anything in it.
        rig.animation_data.action = bpy.data.actions.new("Empty")
        scenes.audit()
        assert said()[-1] == "Info: There are no keys to audit"
        return
    rig.animation_data.action_slot = None
    scenes.audit()
    assert "Warning: “Rig” plays no slot of “Walk”: all slots were audited" in said()
    assert labels() == ["Arm"]
    assert "“Rig” plays no slot of “Walk”: all slots were audited" in draw_all().text
    while rig.animation_data.action.slots:
        rig.animation_data.action.slots.remove(rig.animation_data.action.slots[0])
    refresh()
    draw_all()
    assert ops.fix_safe() == {"CANCELLED"}
    assert "Warning: Not there any more: 1 finding; the file changed" in said()


# 5
def test_two_armatures_share_an_action(said) -> None:
    first = scenes.broken_rig()
    second = build.make_rig("Twin", ["Arm"])
    second.animation_data_create()
    build.assign(second.animation_data, bpy.data.actions["Walk"])
    scenes.audit()
    (row,) = RESULTS.rows
    assert set(row.users) == {"Rig", "Twin"}
    bpy.context.view_layer.objects.active = second
    assert ops.go_to() == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == second  # it plays the action: no need to leave it
    assert ops.fix_safe() == {"FINISHED"}
    bpy.context.scene.frame_set(16)
    poses = [tuple(obj.pose.bones["Arm"].matrix_basis.to_quaternion()) for obj in (first, second)]
    assert poses[0] == poses[1]
    draw_all()


# 6
def test_linked_library(tmp_path: Path, said) -> None:
    scenes.broken_rig(name="Hero", action="Hero Walk")
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, into):
        into.objects = ["Hero"]
    hero = bpy.data.objects["Hero"]
    bpy.context.scene.collection.objects.link(hero)
    bpy.context.view_layer.objects.active = hero
    scenes.audit()
    assert labels() == ["Arm"]
    assert "Cannot be fixed: linked from hero.blend" in draw_all().text
    assert scenes.why_grey(ops.fix_active) == "Cannot be fixed: linked from hero.blend"
    assert scenes.why_grey(ops.fix_safe) == "No finding has a safe fix"
    assert "The action is linked" in scenes.why_grey(ops.ignore)
    ops.check_rows(action="ALL")
    assert scenes.why_grey(ops.fix_checked) == "None of the checked findings can be fixed"
    assert ops.go_to() == {"FINISHED"} and bpy.context.scene.frame_current == 11


# 7
def test_override(tmp_path: Path) -> None:
    scenes.broken_rig(name="Hero", action="Hero Walk")
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, into):
        into.objects = ["Hero"]
    linked = bpy.data.objects["Hero"]
    bpy.context.scene.collection.objects.link(linked)
    hero = linked.override_create(remap_local_usages=True)
    bpy.context.view_layer.objects.active = hero
    assert hero.override_library is not None
    scenes.audit()
    assert labels() == ["Arm"]
    assert "Cannot be fixed: linked from hero.blend" in draw_all().text
    assert "Cannot be fixed" in scenes.why_grey(ops.fix_active)
    assert ops.go_to() == {"FINISHED"}
    # The action may be overridden as well: its keys still belong to the library.
    action = hero.animation_data.action.override_create(remap_local_usages=True)
    hero.animation_data.action = action
    scenes.audit()
    assert "a library override" in RESULTS.rows[0].locked
    assert "a library override: edit the action in its own file" in draw_all().text


# 8
def test_a_thousand_bones(said) -> None:
    scenes.broken_rig([f"Bone.{n:04d}" for n in range(1000)])
    scenes.audit()
    assert said() == ["Info: Errors: 1000, warnings: 0, notes: 0; the worst is 340°"]
    assert len(properties.state(bpy.context).rows) == 1000
    draw_all()
    properties.state(bpy.context).bone = "Bone.0500"
    assert [r.label for r in RESULTS.shown_rows(properties.filters(properties.state(bpy.context)))] == ["Bone.0500"]
    assert ops.fix_safe() == {"FINISHED"}
    assert "1000 keys negated on 1000 bones" in said()[-1]
    draw_all()


# 9
def test_bone_renamed_between_audit_and_fix(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    rig.data.bones["Arm"].name = "Elbow"  # Blender renames the channels too
    refresh()
    (arm,) = [row for row in RESULTS.rows if row.label == "Arm"]
    assert str(RESULTS.outdated(arm)) == "The channel is gone: renamed or deleted since the audit"
    properties.state(bpy.context).active = RESULTS.number_of(arm.key)
    drawn = draw_all()
    assert "The file changed since the audit" in drawn.texts
    assert "The channel is gone: renamed or deleted since the audit" in drawn.text
    before = scenes.values(rig.animation_data.action)
    said()
    assert ops.go_to() == {"FINISHED"}
    assert "“Rig” has no bone “Arm” any more" in said()[0]
    assert ops.fix_active() == {"CANCELLED"}
    assert said() == [f"Warning: {NO_LONGER}"]
    assert scenes.values(rig.animation_data.action) == before
    assert sorted(labels()) == ["Elbow", "Leg"]  # the fix looked again
    assert ops.fix_safe() == {"FINISHED"}


# 10
def test_action_deleted_between_audit_and_fix(said) -> None:
    scenes.broken_rig()
    scenes.audit()
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    draw_all()  # before anybody noticed
    refresh()
    assert "The action “Walk” is no longer in this file" in draw_all().text
    said()
    assert ops.go_to() == {"FINISHED"}
    assert "The action “Walk” is no longer in this file" in said()[0]
    assert ops.fix_safe() == {"CANCELLED"}
    assert said() == [f"Warning: {NO_LONGER}"]
    assert scenes.why_grey(ops.ignore) == "The action “Walk” is no longer in this file"
    draw_all()


# 11
def test_undo_past_the_audit(said) -> None:
    """What undo does to the keys, done by hand: there is none without a window (scripts/test_ui.py presses Ctrl-Z)."""
    rig = scenes.broken_rig()
    curve = next(c for c in build.fcurves_of(rig.animation_data.action) if c.array_index == 1)
    scenes.audit()
    audited = [key.co[1] for key in curve.keyframe_points]
    curve.keyframe_points.foreach_set("co", np.array([(f, 0.0) for f in scenes.FRAMES], "f4").ravel())
    following._undo_post()
    following.refresh_now()
    assert str(RESULTS.outdated(RESULTS.rows[0])) == CHANGED
    assert CHANGED in draw_all().text
    for point, value in zip(curve.keyframe_points, audited, strict=True):
        point.co[1] = value
        point.handle_left[1], point.handle_right[1] = point.handle_left[1], point.handle_right[1]
    curve.update()
    scenes.audit()
    ops.fix_safe()
    assert RESULTS.rows == []
    for curve in build.fcurves_of(rig.animation_data.action):  # undo of the fix: the third key as it was
        point = curve.keyframe_points[2]
        left, right = point.handle_left[1], point.handle_right[1]
        point.co[1] *= -1
        point.handle_left[1], point.handle_right[1] = -left, -right
    following._undo_post()
    following.refresh_now()
    assert labels() == ["Arm"] and not RESULTS.any_outdated  # the findings are back without an audit
    said()
    assert ops.fix_safe() == {"FINISHED"}
    assert "1 key negated on 1 bone" in said()[0]


# 12
def test_file_reload(tmp_path: Path, said) -> None:
    scenes.broken_rig()
    path = tmp_path / "walk.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    scenes.audit()
    uid = bpy.data.actions["Walk"].session_uid
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert bpy.data.actions["Walk"].session_uid != uid
    draw_all()
    following.refresh_now()
    assert labels() == ["Arm"] and not RESULTS.any_outdated
    assert len(properties.state(bpy.context).rows) == 1
    assert ops.go_to() == {"FINISHED"}
    assert ops.fix_safe() == {"FINISHED"}
    assert "1 key negated on 1 bone" in said()[-1]
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert RESULTS.rows == [] and not RESULTS.audited
    assert "Another file was opened: audit again" in draw_all().text
    assert scenes.why_grey(ops.fix_safe) == "There are no findings: audit first"


# 13
def test_edit_mode(said) -> None:
    rig = scenes.broken_rig()
    scenes.audit()
    bpy.ops.object.mode_set(mode="EDIT")
    draw_all()
    for operator in (ops.fix_active, ops.fix_safe, ops.ignore):
        assert scenes.why_grey(operator) == "Leave Edit Mode: a fix could not be undone there"
    said()
    assert ops.go_to() == {"FINISHED"}
    assert "Leave Edit Mode to have the bone selected" in said()[0]
    assert (bpy.context.scene.frame_current, rig.mode) == (11, "EDIT")
    scenes.audit()
    assert labels() == ["Arm"]
    bpy.ops.object.mode_set(mode="OBJECT")
    assert ops.fix_safe() == {"FINISHED"}


# 14
def test_muted_and_locked_curves(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg", "Toe"])
    for curve in build.fcurves_of(rig.animation_data.action):
        curve.mute = "Leg" in curve.data_path
        curve.lock = "Toe" in curve.data_path
    scenes.audit()
    assert sorted(labels()) == ["Arm", "Toe"]
    assert "1 channel could not be judged: see the report" in draw_all().text
    (toe,) = [row for row in RESULTS.rows if row.label == "Toe"]
    assert toe.locked == "the curve is locked"
    before = scenes.values(rig.animation_data.action)
    assert ops.fix_safe() == {"FINISHED"}
    after = scenes.values(rig.animation_data.action)
    assert {path.split('"')[1] for (path, c), v in after.items() if v != before[path, c]} == {"Arm"}
    assert labels() == ["Toe"]
    assert scenes.why_grey(ops.fix_active) == "Cannot be fixed: the curve is locked"


# 15
def test_nla_tweak_mode(said) -> None:
    rig = scenes.broken_rig()
    data, action = rig.animation_data, rig.animation_data.action
    strip = data.nla_tracks.new().strips.new("Walk", 1, action)
    if build.LAYERED:
        strip.action_slot = action.slots[0]
    data.action = None
    data.nla_tracks[0].select = data.nla_tracks[0].is_solo = True
    strip.select = True
    data.use_tweak_mode = True
    assert data.use_tweak_mode
    for scope in ("ACTIVE_ACTION", "OBJECT", "FILE"):
        scenes.audit(scope)
        assert labels() == ["Arm"], scope
    draw_all()
    assert ops.go_to() == {"FINISHED"}
    assert ops.fix_safe() == {"FINISHED"}
    assert RESULTS.rows == []
    data.use_tweak_mode = False
    refresh()
    assert not RESULTS.any_outdated


# 16
def test_multi_user_armature_data(said) -> None:
    first = scenes.broken_rig()
    second = bpy.data.objects.new("Twin", first.data)
    bpy.context.scene.collection.objects.link(second)
    bpy.context.view_layer.objects.active = second
    assert "“Twin” has no active action" in scenes.why_grey(ops.audit)
    scenes.audit("FILE")
    draw_all()
    assert ops.go_to() == {"FINISHED"}
    assert bpy.context.view_layer.objects.active == first and first.mode == "POSE"
    assert compat.is_selected(first.pose.bones["Arm"])
    assert ops.fix_safe() == {"FINISHED"}


# 17
def test_names_with_quotes_and_emoji(said, tmp_path: Path) -> None:
    names = ['Arm "left"', "back\\slash", "🦴 骨", 'x"].y', "{brace}", "%s"]
    rig = scenes.broken_rig(names, name='Rig "🐙"', action="Wälk {x} %d 🚶")
    scenes.audit()
    assert sorted(labels()) == sorted(names)
    for number, row in enumerate(RESULTS.rows):
        properties.state(bpy.context).active = number
        assert row.label in draw_all().texts
        said()
        assert ops.go_to() == {"FINISHED"}
        assert said()[0].startswith(f"Info: {row.label}, frames 11→21")
        assert rig.data.bones.active.name == row.label
    assert ops.markers_add() == {"FINISHED"}
    assert ops.ignore(reason='say "why" {x} 🦴') == {"FINISHED"}
    assert 'say "why" {x} 🦴' in draw_all().text
    assert ops.unignore() == {"FINISHED"}
    assert ops.fix_safe() == {"FINISHED"}
    assert "6 keys negated on 6 bones" in said()[-1]


# 18
def test_add_on_disabled_and_enabled_again() -> None:
    scenes.broken_rig()
    scenes.audit()
    handlers = {name: len(getattr(bpy.app.handlers, name)) for name, _ in following._HANDLERS}
    entries = len(bpy.types.VIEW3D_MT_pose._dyn_ui_initialize())
    ui.unregister()
    assert not hasattr(bpy.types.WindowManager, properties.NAME)
    assert len(bpy.types.VIEW3D_MT_pose._dyn_ui_initialize()) == entries - 1
    # Two of our modules listen to the loading of a file.
    ours = {name: 1 + (name == "load_pre") for name in handlers}
    assert all(len(getattr(bpy.app.handlers, name)) == count - ours[name] for name, count in handlers.items())
    ui.unregister()  # nothing left: no harm
    for _ in range(2):
        ui.register()
        assert RESULTS.rows == [] and "Whole File" not in draw_all().text
        scenes.audit()
        assert labels() == ["Arm"]
        draw_all()
        ui.unregister()
    ui.register()
    assert len(bpy.types.VIEW3D_MT_pose._dyn_ui_initialize()) == entries
    assert {name: len(getattr(bpy.app.handlers, name)) for name in handlers} == handlers


# 19
def test_scripts_disabled(tmp_path: Path, said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    driver = rig.driver_add("location", 0).driver
    driver.expression = "__import__('os').getpid()"
    text = bpy.data.texts.new("startup.py")
    text.use_module = True
    text.write("import bpy\nbpy.data.objects['Rig'].name = 'the script ran'\n")
    path = tmp_path / "scripted.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path), use_scripts=False)
    assert "Rig" in bpy.data.objects
    scenes.audit()
    draw_all()
    assert ops.go_to() == {"FINISHED"}
    assert ops.fix_safe() == {"FINISHED"}
    assert "2 keys negated on 2 bones" in said()[-1]


# 20
@pytest.mark.parametrize("meanwhile", ["undo", "deleted", "keys", "load"])
def test_two_windows(meanwhile: str, said) -> None:
    """While an audit runs in one window, something happens in the other: the audit stops or is right, never wrong."""
    rig = scenes.broken_rig([f"Bone.{n}" for n in range(50)])
    scenes.audit()
    before = list(RESULTS.rows)
    job = auditing.start(bpy.context, "ACTIVE_ACTION", "EVERYTHING")
    job.run(0.0)
    job.run(0.0)
    assert job.running
    auditing.RUNNING.append(job)
    try:
        draw_all()
        if meanwhile == "undo":
            following._undo_pre()
            why = "Undo or redo stopped the audit"
        elif meanwhile == "deleted":
            bpy.data.actions.remove(rig.animation_data.action)
            why = ""
        elif meanwhile == "keys":
            build.fcurves_of(rig.animation_data.action)[0].keyframe_points.add(3)
            why = None
        else:
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
            why = "Another file was opened while it was audited"
        while job.running:
            job.run()
    finally:
        auditing.RUNNING.clear()
    if why is None:
        assert job.why_aborted is None or "changed" in job.why_aborted
    elif why:
        assert job.why_aborted == why
    if meanwhile != "load":
        assert before == RESULTS.rows  # the earlier findings stay until an audit is complete
    refresh()
    draw_all()
