# SPDX-License-Identifier: GPL-3.0-or-later
"""Which frames are looked at: of the scene, of what plays beyond it, of an imported clip; never silently fewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import compat, open, playback
from quat_audit.blender.skin import posed as posed_skin
from tests.blender import build_case as build
from tests.blender import skinned
from tests.blender.previewed import read, run, save

LATE = 400


def late_twist(first: int = 1) -> Any:
    """A tube at rest up to frame 300, twisted by half a turn at 400: all within what no empty file's range shows."""
    _, rig = skinned.make_tube()
    half = np.radians(170.0 / 2)
    curves = build.make_fcurves("Late", rig.name)
    for index, values in ((0, (1.0, 1.0, np.cos(half))), (2, (0.0, 0.0, np.sin(half)))):
        path = 'pose.bones["Bone1"].rotation_quaternion'
        build.make_curve(curves, path, index, (first, 300, LATE), values)
    build.assign(rig.animation_data_create(), bpy.data.actions["Late"])
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = first, LATE
    return rig


def export(path: Path) -> Path:
    if path.suffix == ".glb":
        compat.enable_addon("io_scene_gltf2")
        bpy.ops.export_scene.gltf(filepath=str(path))
    else:
        compat.enable_addon("io_scene_fbx")
        bpy.ops.export_scene.fbx(filepath=str(path), add_leaf_bones=False)
    return path


def frames() -> list[float]:
    posed, _ = posed_skin.read_posed()
    found: list[float] = posed[0].motion.frames.tolist()
    return found


def audit_here() -> Any:
    """The session as a file, audited."""
    path = Path(bpy.app.tempdir) / "here.blend"
    return api.audit_file(save(path))


def notes() -> dict[str, str]:
    return dict(posed_skin.read_posed()[1])


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("suffix", [".glb", ".fbx"])
def test_an_imported_clip_is_looked_at_to_its_end(tmp_path: Path, suffix: str, capsys: Any) -> None:
    late_twist()
    expected = api.preview_object(bpy.data.objects["Tube"], tmp_path).figures["worst"]["radius"]
    assert expected["lbs_of_rest"] < 0.3 and expected["frame"] == LATE
    file = export(tmp_path / f"late{suffix}")
    capsys.readouterr()
    assert run("preview", file, "--output", tmp_path / "out") == 0
    (written,) = (tmp_path / "out").glob("*.json")
    data = read(written)
    seen = data["series"]["frames"]
    assert seen[0] in (0.0, 1.0) and seen[-1] >= LATE - 1 and len(seen) == seen[-1] - seen[0] + 1
    assert data["worst"]["radius"]["lbs_of_rest"] == pytest.approx(expected["lbs_of_rest"], abs=2e-3)
    assert data["worst"]["radius"]["frame"] >= LATE - 1
    report = api.audit_file(file, api.Settings(via="blender"))
    assert [f.code for f in report.findings if f.code == "QA605"] == ["QA605"]


def test_an_import_gives_the_scene_the_range_of_what_plays(cases: Path) -> None:
    for name, span in (
        ("bevy/Fox.glb", (0, 82)),
        ("pybvh/rotation_first_root.bvh", (1, 4)),
        ("ufbx/blender_293_half_skinned_7400_binary.fbx", (1, 250)),  # without animation: as Blender has it
    ):
        open.import_file(cases / "files" / name)
        assert playback.scene_range(bpy.context.scene) == span


def test_a_clip_longer_than_its_scene_is_looked_at_whole() -> None:
    rig = late_twist()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 10, 250
    assert frames() == [float(f) for f in range(1, LATE + 1)]
    assert notes() == {}
    one = posed_skin.read_posed_object(bpy.data.objects["Tube"])
    assert one.motion.frames.tolist() == frames() and not one.record.skin.not_evaluated
    into: list[Any] = []
    list(posed_skin.read_posed_slices([bpy.data.objects["Tube"]], into, [], slice_seconds=0.01))
    assert into[0].motion.frames.tolist() == frames()
    rig.animation_data.action = None  # nothing plays: the pose as it stands, or the scene where something else does
    assert frames() == [float(f) for f in range(10, 251)]


def test_a_stray_key_far_away_does_not_thin_out_the_scene() -> None:
    late_twist()
    track = next(c for s in compat.curve_sets(bpy.data.actions["Late"]) for c in s.fcurves)
    track.keyframe_points.insert(1_000_000, 1.0)
    bpy.context.scene.frame_end = 250
    at = frames()
    assert at[:250] == [float(f) for f in range(1, 251)] and at[-1] == 1_000_000.0
    assert len(at) == 250 + posed_skin.MOST_FRAMES
    assert notes()["deformation"] == "measured on 750 of 1,000,000 frames, evenly picked"


def test_a_preview_range_is_taken_alone_and_that_is_said(tmp_path: Path) -> None:
    late_twist()
    scene = bpy.context.scene
    scene.use_preview_range = True
    scene.frame_preview_start, scene.frame_preview_end = -5, 40
    assert frames() == [float(f) for f in range(-5, 41)]
    why = "measured on the preview range alone, frames -5 to 40"
    assert notes()["deformation"] == why
    assert ("Tube", why) in posed_skin.read_posed_object(bpy.data.objects["Tube"]).record.skin.not_evaluated
    report = api.audit_file(save(tmp_path / "narrow.blend"))
    assert ("deformation", why) in report.not_evaluated
    assert not [f for f in report.findings if f.code == "QA605"]


def test_keys_before_frame_zero() -> None:
    late_twist(first=-30)
    assert bpy.context.scene.frame_start == 0  # the least that Blender takes
    assert frames()[0] == -30.0 and len(frames()) == LATE + 31


@pytest.mark.parametrize("way", ["strip", "muted", "muted strip", "solo elsewhere", "NLA off"])
def test_strips_count_where_they_play(way: str) -> None:
    rig = late_twist()
    data = rig.animation_data
    action, data.action = data.action, None
    track = data.nla_tracks.new()
    strip = track.strips.new("Late", 700, action)
    other = data.nla_tracks.new()
    other.strips.new("Again", 900, action).frame_end = 950
    if way == "muted":
        track.mute = other.mute = True
    elif way == "muted strip":
        strip.mute = True
    elif way == "solo elsewhere":
        other.is_solo = True
    elif way == "NLA off":
        data.use_nla = False
    expected = {
        "strip": (700, int(strip.frame_end)),
        "muted": None,
        "muted strip": (900, 950),
        "solo elsewhere": (900, 950),
        "NLA off": None,
    }
    assert playback.played_range([rig]) == expected[way]


def test_what_moves_the_armature_from_outside_counts() -> None:
    rig = late_twist()
    made = {}
    for name in ("Parent", "Target", "Target's parent", "Pole", "Stranger"):
        # An Armature constraint takes nothing else for a target.
        made[name] = bpy.data.objects.new(name, bpy.data.armatures.new(name) if name == "Pole" else None)
        bpy.context.scene.collection.objects.link(made[name])
    rig.parent, made["Target"].parent = made["Parent"], made["Target's parent"]
    rig.pose.bones["Bone1"].constraints.new("COPY_ROTATION").target = made["Target"]
    several = rig.constraints.new("ARMATURE").targets.new()
    several.target = made["Pole"]
    made["Target"].constraints.new("COPY_LOCATION").target = rig  # round in a circle
    assert set(playback.posing([rig])) == {rig, *made.values()} - {made["Stranger"]}
    curves = build.make_fcurves("Walks", "Target's parent")
    build.make_curve(curves, "location", 0, (1, 523), (0.0, 1.0))
    build.assign(made["Target's parent"].animation_data_create(), bpy.data.actions["Walks"])
    bpy.context.view_layer.update()
    assert frames()[-1] == 523.0


def drive(rig: Any, target: Any, expression: str = "") -> Any:
    """The second bone of the tube turned about its own axis by the X location of an object."""
    rig.pose.bones["Bone1"].rotation_mode = "XYZ"
    driver = rig.driver_add('pose.bones["Bone1"].rotation_euler', 1).driver
    driver.type = "SCRIPTED" if expression else "AVERAGE"
    variable = driver.variables.new()
    variable.name = "turn"
    variable.targets[0].id, variable.targets[0].data_path = target, "location.x"
    if expression:
        driver.expression = expression
    return driver


def test_the_clip_of_what_a_driver_reads_counts() -> None:
    _, rig = skinned.make_tube()
    control = bpy.data.objects.new("Control", None)
    bpy.context.scene.collection.objects.link(control)
    curves = build.make_fcurves("Turns", "Control")
    build.make_curve(curves, "location", 0, (1, 20, 60), (0.0, 0.0, np.radians(170.0)))
    build.assign(control.animation_data_create(), bpy.data.actions["Turns"])
    drive(rig, control)
    bpy.context.scene.frame_end = 20
    assert frames()[-1] == 60.0
    (found,) = (f for f in audit_here().findings if f.code == "QA605")
    assert found.occurrences.frames[0, 0] == 60.0


@pytest.mark.usefixtures("no_pictures")
def test_drivers_that_need_python_are_named(tmp_path: Path, capsys: Any) -> None:
    _, rig = skinned.make_tube()
    control = bpy.data.objects.new("Control", None)
    bpy.context.scene.collection.objects.link(control)
    drive(rig, control, "turn * 2 + sin(turn)")
    rig.driver_add("hide_viewport").driver.expression = "[0][0]"  # poses nothing
    assert not audit_here().not_evaluated  # Blender computes the first itself
    drive(bpy.data.objects["Rig"], bpy.data.objects["Control"], "sum([turn for i in (1,)])")
    report = audit_here()
    what, why = report.not_evaluated[0]
    assert what == "drivers" and why == (
        "1 driver needs Python, which does not run here, so what depends on them is not posed: "
        'Rig: pose.bones["Bone1"].rotation_euler'
    )
    file = Path(bpy.data.filepath)
    capsys.readouterr()
    assert run("preview", file, "--frames", "1", "--output", tmp_path / "out") == 0
    assert "1 driver needs Python" in capsys.readouterr().out


def test_a_mesh_that_moves_against_a_still_rig_is_measured_on_all_frames() -> None:
    obj, rig = skinned.make_tube()
    rig.pose.bones["Bone1"].rotation_quaternion = (np.cos(1.0), np.sin(1.0), 0.0, 0.0)
    curves = build.make_fcurves("Slides", "Tube")
    build.make_curve(curves, "location", 0, (1, 30), (0.0, 3.0))
    build.assign(obj.animation_data_create(), bpy.data.actions["Slides"])
    bpy.context.scene.frame_end = 10
    assert frames() == [float(f) for f in range(1, 31)]
    obj.parent = rig.parent = None
    obj.animation_data_clear()
    assert len(frames()) == 1


def test_poses_that_are_nowhere_are_said(tmp_path: Path) -> None:
    late_twist()
    rig = bpy.data.objects["Rig"]
    curves = next(s.fcurves for s in compat.curve_sets(bpy.data.actions["Late"]))
    nan = build.make_curve(curves, 'pose.bones["Bone0"].location', 0, (1, 350, 351), (0.0, 0.0, 0.0))
    nan.keyframe_points[2].co[1] = np.nan
    nan.keyframe_points[1].interpolation = "CONSTANT"
    posed, unread = posed_skin.read_posed()
    assert posed[0].motion.frames.tolist() == [float(f) for f in range(1, 351)] and not unread
    why = "scaled to nothing, or nowhere, on frame 351: 50 of 400 frames are not measured"
    assert ("Tube", why) in posed[0].record.skin.not_evaluated
    rig.animation_data_clear()
    rig.location.x = np.nan
    posed, unread = posed_skin.read_posed()
    assert not posed
    assert "Tube or Rig is nowhere (NaN): look for keys or transforms that are no numbers" in dict(unread)["Tube"]


@pytest.mark.usefixtures("no_pictures")
def test_actions_that_do_not_play_are_said_and_strips_play(tmp_path: Path, capsys: Any) -> None:
    rig = late_twist()
    data = rig.animation_data
    other = build.make_fcurves("Other", rig.name)
    build.make_curve(other, 'pose.bones["Bone1"].location', 0, (1, 9), (0.0, 1.0))
    bpy.data.actions["Other"].use_fake_user = True
    says = "deformation is measured with what plays now: assign them to their armature in turn"
    assert notes() == {"1 of 2 actions of bones": says}
    action, data.action = data.action, None
    data.nla_tracks.new().strips.new("Late", 1, action)
    assert notes() == {"1 of 2 actions of bones": says}
    data.nla_tracks.new().strips.new("Other", 500, bpy.data.actions["Other"])
    assert notes() == {}
    data.nla_tracks[0].mute = True
    file = save(tmp_path / "one.blend")
    capsys.readouterr()
    assert run("preview", file, "--frames", "1", "--output", tmp_path / "out") == 0
    assert f"1 of 2 actions of bones: {says}" in capsys.readouterr().out


@pytest.mark.usefixtures("no_pictures")
def test_a_linked_mesh_and_a_local_one_of_the_same_name(tmp_path: Path) -> None:
    late_twist()
    library = save(tmp_path / "library.blend")
    save(tmp_path / "both.blend")
    with bpy.data.libraries.load(str(library), link=True) as (there, here):
        here.objects = list(there.objects)
    for one in here.objects:
        bpy.context.scene.collection.objects.link(one)
    assert [obj.name for obj in bpy.context.scene.objects if obj.type == "MESH"] == ["Tube", "Tube"]
    posed, unread = posed_skin.read_posed()
    assert [item.record.skin.mesh for item in posed] == ["Tube", "Tube"] and not unread
    assert len({item.record.object_uid for item in posed}) == 2
    bpy.context.scene.collection.objects.unlink(
        next(obj for obj in bpy.data.objects if obj.library is None and obj.type == "MESH")
    )
    posed, unread = posed_skin.read_posed()
    assert len(posed) == 1 and "is not in the view layer" in dict(unread)["Tube"]


def test_actions_without_keys_have_no_range() -> None:
    _, rig = skinned.make_tube()
    build.make_fcurves("Empty", rig.name)
    rig.animation_data_create().action = bpy.data.actions["Empty"]
    assert playback.played_range([rig]) is None
    assert playback.played_range([]) is None


@pytest.mark.usefixtures("no_pictures")
def test_large_and_divided_frames_are_written_out(tmp_path: Path) -> None:
    late_twist()
    at = [1_000_001.0, 1_000_002.5, 1_048_574.0]
    figures = api.preview_object(bpy.data.objects["Tube"], tmp_path, frames=at).figures
    assert figures["series"]["frames"] == at
    assert read(tmp_path / "Tube.json")["worst"]["gap"]["frame"] in at


@pytest.mark.usefixtures("no_pictures")
def test_frames_on_which_the_mesh_is_scaled_to_nothing_are_left_out(tmp_path: Path) -> None:
    """As is done to hide an object: the other frames are measured, and the collapse on them is found."""
    late_twist()
    curves = build.make_fcurves("Hides", "Tube")
    for index in range(3):
        build.make_curve(curves, "scale", index, (1, 11, 12, 400), (0.0, 0.0, 1.0, 1.0), interpolation="CONSTANT")
    obj = bpy.data.objects["Tube"]
    build.assign(obj.animation_data_create(), bpy.data.actions["Hides"])
    bpy.context.scene.frame_set(50)
    posed, unread = posed_skin.read_posed()
    assert posed[0].motion.frames.tolist() == [float(f) for f in range(12, LATE + 1)] and not unread
    why = "scaled to nothing, or nowhere, on frame 1: 11 of 400 frames are not measured"
    assert why in dict(posed[0].record.skin.not_evaluated).values()
    assert why in {item["why"] for item in api.preview_object(obj, tmp_path).figures["not_evaluated"]}
    report = api.audit_file(save(tmp_path / "hides.blend"))
    assert "QA605" in {f.code for f in report.findings} and ("Tube", why) in report.not_evaluated
