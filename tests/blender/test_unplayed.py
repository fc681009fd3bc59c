# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions of which nothing plays, and location keys of connected bones: read, repaired, saved, loaded, posed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from mathutils import Quaternion

from quat_audit.audit.repair import Repair
from quat_audit.blender import open, read, write
from quat_audit.motion.clip import Clip
from quat_audit.rules import RULES
from tests.blender import build_case as build
from tests.blender import scene_poses as scene
from tests.blender.clips_read import only
from tests.clips import about
from tests.judging import audit_clip, repair_clip

PATH = 'pose.bones["B"].rotation_quaternion'
FRAMES = (1.0, 6.0, 11.0)
TURN = [about("X", degrees) for degrees in (0, 40, 90)]
DISCONNECT = {"QA308": {"disconnect": 1.0}}
BY_CODE = {rule.code: rule for rule in RULES}


def action(name: str = "A", slot: str = "Rig", path: str = PATH) -> Any:
    for part in range(4):
        build.make_curve(build.make_fcurves(name, slot), path, part, FRAMES, [q[part] for q in TURN])
    return bpy.data.actions[name]


def repaired(folder: Path, code: str, limits: Any = None, *, unsafe: bool = True) -> Repair[Clip]:
    """Repair by one rule, write, save and load."""
    (record,) = [r for r in read.read_file() if audit_clip(r.clip, [BY_CODE[code]])]
    repair = repair_clip(record.clip, [BY_CODE[code]], limits, unsafe=unsafe)
    write.write_clip(record, repair.subject)
    open.save_blend(folder / "repaired.blend", compress=False)
    open.open_blend(folder / "repaired.blend")
    return repair


def slots_found() -> list[tuple[str, str, str, bool]]:
    return sorted(
        (one.owner, one.by, one.slot, one.fits)
        for record in read.read_file()
        for one in record.clip.unbound
        if audit_clip(record.clip, [BY_CODE["QA307"]])
    )


# Slots --------------------------------------------------------------------------------------------


def without_slot(player: Any, which: Any) -> None:
    player.action = which
    player.action_slot = None


@pytest.mark.parametrize("by", ["", "strip", "muted strip"])
@pytest.mark.parametrize("bound", ["no slot", "an empty slot"])
def test_what_is_bound_plays_the_curves_at_every_key(by: str, bound: str, tmp_path: Path) -> None:
    if not build.has_slots():
        return
    rig = build.make_rig("Rig", ["B"])
    rig.pose.bones["B"].rotation_quaternion = about("Y", 20)
    which, player = action(), rig.animation_data_create()
    if by:
        track = player.nla_tracks.new()
        player = track.strips.new("Walk", 1, which)
        track.mute = by == "muted strip"
    without_slot(player, which)
    if bound == "an empty slot":
        player.action_slot = which.slots.new(id_type="OBJECT", name="Empty")
    expected = ("Rig", "Walk" if by else "", "Empty" if bound == "an empty slot" else "", True)
    assert slots_found() == [expected]
    (finding,) = audit_clip(only(r for r in read.read_file() if r.clip.unbound), [BY_CODE["QA307"]])
    assert finding.severity == ("note" if by == "muted strip" else "error") and finding.fix == "unsafe"
    still = scene.matrices([("Rig", "B")], FRAMES)
    assert scene.angle_deg(still[0, 0], still[0, 2]) < 1e-4
    repair = repaired(tmp_path, "QA307")
    assert repair.proof.not_measured and slots_found() == []
    for track in bpy.data.objects["Rig"].animation_data.nla_tracks:
        track.mute = False
    open.save_blend(tmp_path / "on.blend", compress=False)
    open.open_blend(tmp_path / "on.blend")
    for frame, matrix in zip(FRAMES, scene.matrices([("Rig", "B")], FRAMES)[0], strict=True):
        curves = build.fcurves_of(bpy.data.actions["A"])
        q = [curves.find(PATH, index=part).evaluate(frame) for part in range(4)]
        assert scene.angle_deg(matrix, np.array(Quaternion(q).to_matrix())) < 1e-4


def test_which_slot_cannot_be_told_is_said_once() -> None:
    if not build.has_slots():
        return
    rig = build.make_rig("Rig", ["B"])
    action(slot="One"), action(slot="Two")
    without_slot(rig.animation_data_create(), bpy.data.actions["A"])
    assert slots_found() == [("Rig", "", "", False)]
    found = [f for r in read.read_file() for f in audit_clip(r.clip, [BY_CODE["QA307"]])]
    assert [(f.slot, f.fix) for f in found] == [("One", "none")]


def test_a_slot_whose_curves_mean_nothing_to_the_owner_does_not_count() -> None:
    if not build.has_slots():
        return
    rig = build.make_rig("Rig", ["B"])
    action(slot="Other rig", path='pose.bones["Gone"].rotation_quaternion')
    without_slot(rig.animation_data_create(), bpy.data.actions["A"])
    assert slots_found() == []
    action(slot="Mine")
    assert slots_found() == [("Rig", "", "", True)]


def test_a_slot_for_other_data_does_not_count() -> None:
    if not build.has_slots():
        return
    material = bpy.data.materials.new("M")
    action()
    without_slot(material.animation_data_create(), bpy.data.actions["A"])
    assert slots_found() == []


def test_of_an_object_and_its_data_of_one_name_the_one_that_suits_is_bound(tmp_path: Path) -> None:
    if not build.has_slots():
        return
    rig = build.make_rig("Rig", ["B"])
    assert rig.data.name == rig.name
    which = action()
    for owner in (rig, rig.data):
        without_slot(owner.animation_data_create(), which)
    repaired(tmp_path, "QA307")
    rig = bpy.data.objects["Rig"]
    assert rig.animation_data.action_slot.name_display == "Rig" and rig.data.animation_data.action_slot is None


def test_what_plays_is_no_fault() -> None:
    rig = build.make_rig("Rig", ["B"])
    which = action()
    build.assign(rig.animation_data_create(), which)
    track = rig.animation_data.nla_tracks.new()
    made = track.strips.new("Walk", 1, which)
    if build.has_slots():
        made.action_slot = which.slots[0]
    assert slots_found() == []


# Connected bones ----------------------------------------------------------------------------------


def chain(name: str = "Rig", connected: bool = True, data: Any = None) -> Any:
    """Three bones, each beginning where its parent ends."""
    armature = data or bpy.data.armatures.new(name)
    rig = bpy.data.objects.new(name, armature)
    bpy.context.scene.collection.objects.link(rig)
    if data is not None:
        return rig
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for number, bone_name in enumerate(("A", 'B"q', "C")):
        bone = armature.edit_bones.new(bone_name)
        bone.head, bone.tail, bone.parent = (0, 0, number), (0, 0, number + 1), parent
        bone.use_connect = connected and parent is not None
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def slide(rig: Any, meters: float, turned: bool = True) -> Any:
    """The second bone slides and turns; the third turns."""
    path = rig.pose.bones['B"q'].path_from_id()
    fcurves = build.make_fcurves("Slide", rig.name)
    build.make_curve(fcurves, f"{path}.location", 0, FRAMES, (0, meters, 0))
    build.make_curve(fcurves, f"{path}.location", 1, FRAMES, (0, 0, 0))
    for target in (path, rig.pose.bones["C"].path_from_id()) if turned else ():
        for part in range(4):
            build.make_curve(fcurves, f"{target}.rotation_quaternion", part, FRAMES, [q[part] for q in TURN])
    build.assign(rig.animation_data_create(), bpy.data.actions["Slide"])
    return bpy.data.actions["Slide"]


def whole_pose(name: str = "Rig") -> bytes:
    """All bones at all keys, to the bit."""
    poses = []
    for frame in FRAMES:
        bpy.context.scene.frame_set(int(frame))
        evaluated = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get())
        poses += [np.array(bone.matrix, dtype=np.float32) for bone in evaluated.pose.bones]
    return np.array(poses).tobytes()


def head(bone: str, frame: float, name: str = "Rig") -> Any:
    bpy.context.scene.frame_set(int(frame))
    return bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[bone].head.copy()


@pytest.mark.parametrize("meters, unsafe", [(0.0005, False), (0.5, True)])
def test_where_curves_are_removed_the_pose_is_equal_bit_for_bit(meters: float, unsafe: bool, tmp_path: Path) -> None:
    slide(chain(), meters)
    (finding,) = audit_clip(only(read.read_file()), [BY_CODE["QA308"]])
    assert finding.fix == ("unsafe" if unsafe else "safe") and finding.bone == 'B"q'
    assert finding.figure.value == pytest.approx(1000 * meters)
    was = whole_pose()
    repaired(tmp_path, "QA308", unsafe=unsafe)
    assert {c.data_path.rpartition(".")[2] for c in build.fcurves_of(bpy.data.actions["Slide"])} == {
        "rotation_quaternion"
    }
    assert whole_pose() == was


@pytest.mark.parametrize("seen", ["as it is", "hidden", "off", "in another scene", "in pose mode", "one of two"])
def test_a_disconnected_bone_moves_as_keyed(seen: str, tmp_path: Path) -> None:
    rig = chain()
    slide(rig, 0.5)
    if seen == "hidden":
        rig.hide_set(True)
    elif seen == "off":
        rig.hide_viewport = True
    elif seen == "in another scene":
        bpy.context.scene.collection.objects.unlink(rig)
        bpy.data.scenes.new("Other").collection.objects.link(rig)
    elif seen == "in pose mode":
        bpy.ops.object.mode_set(mode="POSE")
    elif seen == "one of two":
        build.assign(chain("Twin", data=rig.data).animation_data_create(), bpy.data.actions["Slide"])
    objects, mode = len(bpy.data.objects), rig.mode
    active = bpy.context.view_layer.objects.active
    (record,) = read.read_file()
    repair = repair_clip(record.clip, [BY_CODE["QA308"]], DISCONNECT, unsafe=True)
    written = write.write_clip(record, repair.subject)
    assert (written.bones_released, written.curves_removed, written.skipped) == (1, 0, ())
    assert len(bpy.data.objects) == objects and rig.mode == mode and bpy.context.view_layer.objects.active == active
    assert not rig.data.bones['B"q'].use_connect and rig.data.bones["C"].use_connect
    open.save_blend(tmp_path / "free.blend", compress=False)
    open.open_blend(tmp_path / "free.blend")
    if seen in ("as it is", "in pose mode", "one of two"):
        moved = head('B"q', 6) - head('B"q', 1)
        assert tuple(moved) == pytest.approx((0.5, 0, 0), abs=1e-6)
    assert audit_clip(only(read.read_file()), [BY_CODE["QA308"]]) == []


def test_every_armature_in_which_it_is_connected_is_changed() -> None:
    which = slide(chain(), 0.5)
    for name, connected in (("Second", True), ("Third", False)):
        build.assign(chain(name, connected).animation_data_create(), which)
    (record,) = read.read_file()
    (one,) = record.clip.connected
    assert one.owners == ("Rig", "Second") and not one.everywhere
    assert repair_clip(record.clip, [BY_CODE["QA308"]], unsafe=True).subject is record.clip  # the third plays them
    repair = repair_clip(record.clip, [BY_CODE["QA308"]], DISCONNECT, unsafe=True)
    assert write.write_clip(record, repair.subject).bones_released == 2
    assert not any(bpy.data.objects[n].data.bones['B"q'].use_connect for n in ("Rig", "Second", "Third"))


def test_keys_that_a_driver_reads_are_not_dead() -> None:
    rig = chain()
    slide(rig, 0.5)
    lid = bpy.data.objects.new("Lid", None)
    variable = lid.driver_add("location", 0).driver.variables.new()
    variable.targets[0].id = rig
    variable.targets[0].data_path = rig.pose.bones['B"q'].path_from_id() + ".location.x"
    assert only(read.read_file()).connected == ()


def test_the_scale_of_object_and_scene_counts() -> None:
    rig = chain()
    rig.scale = (0.01, 0.01, 0.01)
    bpy.context.scene.unit_settings.scale_length = 10
    slide(rig, 0.5)
    bpy.context.view_layer.update()
    (finding,) = audit_clip(only(read.read_file()), [BY_CODE["QA308"]])
    assert finding.figure.value == pytest.approx(50)


def test_a_linked_armature_stays_as_it_is(tmp_path: Path) -> None:
    which = slide(chain(), 0.5)
    which.use_fake_user = True
    open.save_blend(tmp_path / "library.blend", compress=False)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    bpy.context.scene.collection.objects.link(bpy.data.objects["Rig"])
    (record,) = read.read_file()
    repair = repair_clip(record.clip, [BY_CODE["QA308"]], DISCONNECT, unsafe=True)
    assert repair.subject is record.clip and [r.code for r in repair.refused] == ["QA308"]
