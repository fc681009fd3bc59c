# SPDX-License-Identifier: GPL-3.0-or-later
"""Twenty situations in which panels crash, each with the panel open: no traceback, and the right message.

`draw_all` draws every panel, menu and list line by a layout that checks each call. Six of the situations are in
test_hostile_changes.py: those in which something goes on after the audit or beside it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import compat
from quat_audit.results.memory import RESULTS
from quat_audit.ui import properties
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.drawing import draw_all
from tests.ui.scenes import labels, refresh

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


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
    assert labels() == ["Arm", "Rig"]
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


def linked_hero(folder: Path) -> Any:
    """A rig of another file, hero.blend, linked into an empty one."""
    scenes.broken_rig(name="Hero", action="Hero Walk")
    path = folder / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, into):
        into.objects = ["Hero"]
    hero = bpy.data.objects["Hero"]
    bpy.context.scene.collection.objects.link(hero)
    return hero


# 6
def test_linked_library(tmp_path: Path, said) -> None:
    bpy.context.view_layer.objects.active = linked_hero(tmp_path)
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
    hero = linked_hero(tmp_path).override_create(remap_local_usages=True)
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
