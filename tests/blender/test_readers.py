# SPDX-License-Identifier: GPL-3.0-or-later
"""Who plays a slot and how, held against what Blender itself evaluates."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import open, read, users
from quat_audit.motion.readers import Drawn, Reader
from quat_audit.results.rows import clip_state
from tests.blender import build_case as build
from tests.blender.clips_read import only
from tests.clips import about

PATH = 'pose.bones["B"].rotation_quaternion'
EULER_PATH = 'pose.bones["B"].rotation_euler'


@pytest.fixture
def rig() -> Any:
    return build.make_rig("Rig", ["B", "Control"])


def action(name: str, path: str = PATH, values: Any = None, components: Any = None, frames: Any = (1, 20)) -> Any:
    rows = [about("Z", 40), about("Z", 40)] if values is None else values
    fcurves = build.make_fcurves(name, "Rig")
    for part in range(len(rows[0])) if components is None else components:
        build.make_curve(fcurves, path, part, frames, [row[part] for row in rows])
    return bpy.data.actions[name]


def strip_of(obj: Any, which: Any, start: int = 1, **settings: Any) -> Any:
    made = obj.animation_data_create().nla_tracks.new().strips.new(which.name, start, which)
    if build.LAYERED:
        made.action_slot = which.slots[0]
    for name, value in settings.items():
        setattr(made, name, value)
    return made


def set_influence(strip: Any, value: float) -> None:
    strip.influence = value
    strip.use_animated_influence = True
    strip.fcurves.find("influence").keyframe_points.insert(1, value)


def reload(folder: Path) -> None:
    """A stack that was made in memory can play stale."""
    open.save_blend(folder / "stack.blend", compress=False)
    open.open_blend(folder / "stack.blend")


def clip_of(name: str) -> Any:
    return only(read.read_action(bpy.data.actions[name]))


def words(name: str) -> list[str]:
    return [str(reader.words) for reader in clip_of(name).readers]


def shown(bone: str = "B", frame: float = 5, rig: str = "Rig") -> Any:
    bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
    evaluated = bpy.data.objects[rig].evaluated_get(bpy.context.evaluated_depsgraph_get())
    return evaluated.pose.bones[bone].matrix_basis.to_quaternion()


def turned(a: Any, b: Any) -> float:
    return math.degrees(a.rotation_difference(b).angle) if abs(a.dot(b)) < 0.9999999 else 0.0


# Routes -------------------------------------------------------------------------------------------


def test_every_route_is_found(rig: Any) -> None:
    a = action("A")
    build.assign(rig.animation_data_create(), a)
    assert words("A") == ["Rig"]
    strip_of(rig, a).name = "Plain"
    strip_of(rig, a, mute=True).name = "Off"
    strip_of(rig, a).name = "Stash"
    rig.animation_data.nla_tracks[2].mute = True
    assert words("A") == [
        *("Rig, by the strip 'Plain'", "Rig"),
        *("Rig, by the muted strip 'Off'", "Rig, by the muted strip 'Stash'"),
    ]
    for holder, name in ((rig, "Whole"), (rig.pose.bones["B"], "Lid")):
        constraint = holder.constraints.new("ACTION")
        constraint.name = name
        build.assign(constraint, a)
    rig.constraints["Whole"].mute = True
    assert words("A")[2:4] == ["Rig, by the Action constraint 'Lid'", "Rig, by the muted strip 'Off'"]
    assert "Rig, by the muted Action constraint 'Whole'" in words("A")


def test_a_solo_silences_the_others(rig: Any) -> None:
    a, b = action("A"), action("B")
    build.assign(rig.animation_data_create(), a)
    strip_of(rig, b)
    strip_of(rig, a).name = "Top"
    rig.animation_data.nla_tracks[0].is_solo = True
    assert [r.muted for r in clip_of("A").readers] == [True, True] and words("B") == ["Rig, by the strip 'B'"]
    rig.animation_data.use_nla = False  # nothing is solo in what is off
    assert words("A") == ["Rig", "Rig, by the muted strip 'Top'"] and words("B") == ["Rig, by the muted strip 'B'"]


def test_a_strip_that_is_tweaked(rig: Any) -> None:
    a, b = action("A"), action("B")
    data = rig.animation_data_create()
    build.assign(data, a)
    strip_of(rig, b).select = True
    data.nla_tracks[0].select = True
    data.nla_tracks.active = data.nla_tracks[0]
    data.use_tweak_mode = True
    try:
        assert data.action == b and words("B") == ["Rig, by the strip 'B'"] and words("A") == ["Rig"]
    finally:
        data.use_tweak_mode = False


def make_meta(rig: Any) -> Any:
    """Both strips of the first track in a meta strip, by the NLA's operator."""
    for strip in rig.animation_data.nla_tracks[0].strips:
        strip.select = True
    rig.select_set(True)
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    was, area.type = area.type, "NLA_EDITOR"
    with bpy.context.temp_override(window=window, area=area, region=area.regions[-1]):
        bpy.ops.nla.meta_add()
    area.type = was
    return rig.animation_data.nla_tracks[0].strips[0]


@pytest.mark.parametrize("off", ["", "meta", "strip"])
def test_strips_within_a_meta_strip(rig: Any, off: str, tmp_path: Path) -> None:
    a = action("A")
    track = rig.animation_data_create().nla_tracks.new()
    for start in (1, 30):
        made = track.strips.new("A", start, a)
        if build.LAYERED:
            made.action_slot = a.slots[0]
    meta = make_meta(rig)
    assert meta.type == "META"
    meta.mute, meta.strips[0].mute = off == "meta", off == "strip"
    meta.blend_type = "ADD"  # counts for nothing in a meta strip
    reload(tmp_path)
    plays = turned(shown(), bpy.data.objects["Rig"].pose.bones["Control"].matrix_basis.to_quaternion()) > 30
    by_strip = {r.by: r for r in clip_of("A").readers}
    assert plays == (off == "") and by_strip["A"].muted == (not plays) and len(by_strip) == 2
    assert not any(r.mixed for r in by_strip.values())


def test_linked_and_overridden_users(rig: Any, tmp_path: Path) -> None:
    a = action("A")
    build.assign(rig.animation_data_create(), a)
    open.save_blend(tmp_path / "library.blend", compress=False)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    linked = bpy.data.objects["Rig"]
    bpy.context.scene.collection.objects.link(linked)
    (reader,) = clip_of("A").readers
    assert reader.linked and reader.owner == "Rig"
    override = linked.override_create()
    override.name = "Mine"
    readers = {r.owner: r for r in clip_of("A").readers}
    assert set(readers) == {"Rig", "Mine"} and all(r.linked for r in readers.values())
    local = build.make_rig("Local", ["B"])
    build.assign(local.animation_data_create(), bpy.data.actions["A"])
    assert {r.owner: r.linked for r in clip_of("A").readers} == {"Rig": True, "Mine": True, "Local": False}


def test_a_user_in_another_scene(rig: Any) -> None:
    other = bpy.data.scenes.new("Other")
    bpy.context.scene.collection.objects.unlink(rig)
    other.collection.objects.link(rig)
    other.render.frame_map_old, other.render.frame_map_new = 100, 400
    build.assign(rig.animation_data_create(), action("A"))
    (reader,) = clip_of("A").readers
    assert reader.drawn == (Drawn(0.0, 0.25),)


# Fills --------------------------------------------------------------------------------------------


def plain_rig_settings(data: Any, beside: Any) -> dict[str, Callable[[], None]]:
    def strip(**settings: Any) -> Callable[[], None]:
        return lambda: strip_of(data, beside, **settings) and None

    def muted_track() -> None:
        strip_of(data, beside)
        data.animation_data.nla_tracks[0].mute = True

    def nla_off() -> None:
        strip_of(data, beside)
        data.animation_data.use_nla = False

    return {
        "no strips": lambda: None,
        "a strip": strip(),
        "a muted strip": strip(mute=True),
        "a strip elsewhere in time": strip(start=200, extrapolation="NOTHING"),
        "a muted track": muted_track,
        "the NLA is off": nla_off,
    }


@pytest.mark.parametrize(
    "setting", ["no strips", "a strip", "a muted strip", "a strip elsewhere in time", "a muted track", "the NLA is off"]
)
@pytest.mark.parametrize("mode", ["QUATERNION", "ZXY"])
def test_what_is_taken_for_an_absent_component(rig: Any, setting: str, mode: str, tmp_path: Path) -> None:
    bone = rig.pose.bones["B"]
    bone.rotation_mode = mode
    bone.rotation_quaternion, bone.rotation_euler = (1, 0.5, 0.2, 0), (0.7, 0.4, 0.1)
    path, values = (PATH, [about("Z", 60)] * 2) if mode == "QUATERNION" else (EULER_PATH, [(0, 0, 1.0)] * 2)
    build.assign(
        rig.animation_data_create(), action("A", path, values, components=(0, 3) if mode == "QUATERNION" else (2,))
    )
    beside = action("Beside", 'pose.bones["Control"].location', [(0, 0, 1)] * 2)
    plain_rig_settings(rig, beside)[setting]()
    reload(tmp_path)
    (reader,) = clip_of("A").readers
    way = reader.ways[path]
    was = shown()
    # Blender shows the same once what the reader is said to take has keys.
    curves = build.fcurves_of(bpy.data.actions["A"])
    for part in range(len(values[0])):
        if curves.find(path, index=part) is None:
            build.make_curve(curves, path, part, (1, 20), [way.fill[part]] * 2)
    reload(tmp_path)
    assert way.mode == mode and turned(was, shown()) < 0.05
    by_identity = mode == "QUATERNION" and setting in ("a strip", "a muted strip", "a strip elsewhere in time")
    assert way.fill[1] == pytest.approx(0.0 if by_identity else 0.5 if mode == "QUATERNION" else 0.4)


# Mixing -------------------------------------------------------------------------------------------

LOWER, UPPER = "Lower", "Upper"


def mix(name: str, lower: Any, upper: Any) -> None:
    """One way in which the upper strip lies over the lower one."""
    data = bpy.data.objects["Rig"].animation_data
    blend, _, rest = name.partition(" ")
    upper.blend_type = blend
    match rest:
        case "half":
            set_influence(upper, 0.5)
        case "in full":
            set_influence(upper, 1.0)
        case "said to be half":
            upper.influence = 0.5  # Blender computes it from the blends
        case "blended in":
            upper.blend_in = 12
        case "lower blended in":
            lower.blend_in = 12
        case "lower half":
            set_influence(lower, 0.5)
        case "lower muted":
            data.nla_tracks[0].mute = True


MIXES = [
    *("REPLACE", "REPLACE half", "REPLACE in full", "REPLACE said to be half", "REPLACE blended in"),
    *("REPLACE lower blended in", "REPLACE lower half", "COMBINE", "COMBINE half", "ADD", "SUBTRACT", "MULTIPLY"),
]


@pytest.mark.parametrize("kind", ["QUATERNION", "EULER"])
@pytest.mark.parametrize("name", MIXES)
def test_what_is_mixed_is_what_another_sign_or_triple_shows_in(rig: Any, kind: str, name: str, tmp_path: Path) -> None:
    """Each of two strips is said to be mixed exactly where its keys, stored otherwise, pose another rotation."""
    mode, path = ("QUATERNION", PATH) if kind == "QUATERNION" else ("XYZ", EULER_PATH)
    rig.pose.bones["B"].rotation_mode = mode
    first, second = (about("X", 50), about("Z", 40)) if kind == "QUATERNION" else ((0.3, 0.4, 0.5), (0.2, 0.1, 0.6))
    lower, upper = action(LOWER, path, [first] * 2), action(UPPER, path, [second] * 2)
    below, over = strip_of(rig, lower), strip_of(rig, upper)
    mix(name, below, over)
    reload(tmp_path)
    said = {n: bool(r.mixed) for n in (LOWER, UPPER) for r in clip_of(n).readers}
    was = shown()
    for one in (LOWER, UPPER):
        for curve in build.fcurves_of(bpy.data.actions[one]):
            part = curve.array_index
            for key in curve.keyframe_points:
                triple = math.pi - key.co[1] if part == 1 else key.co[1] + math.pi
                key.co[1] = -key.co[1] if kind == "QUATERNION" else triple
        reload(tmp_path)
        changes = turned(was, shown()) > 0.1
        assert said[one] or not changes, f"{one} is mixed"
        # A factor of a product that counts as mixed; and one that is mixed with less, and hidden by the upper one.
        factor = kind == "QUATERNION" and (name == "MULTIPLY" or (name == "COMBINE half" and one == LOWER))
        hidden = one == LOWER and name in ("REPLACE lower blended in", "REPLACE lower half")
        if not factor and not hidden:
            assert said[one] == changes, one
        was = shown()


def test_a_single_strip_that_blends_in_is_mixed_with_the_identity(rig: Any, tmp_path: Path) -> None:
    strip_of(rig, action("A"), blend_in=12)
    reload(tmp_path)
    was = shown()
    assert [r.mixed for r in clip_of("A").readers] == ["it blends in or out"]
    for curve in build.fcurves_of(bpy.data.actions["A"]):
        for key in curve.keyframe_points:
            key.co[1] *= -1
    reload(tmp_path)
    assert turned(was, shown()) > 10


def test_a_muted_strip_that_would_mix_counts(rig: Any) -> None:
    strip_of(rig, action(LOWER))
    strip_of(rig, action(UPPER), blend_type="ADD", mute=True)
    for name in (LOWER, UPPER):
        (reader,) = clip_of(name).readers
        assert reader.mixed and reader.mixed_paths == {PATH}


def test_the_influence_of_an_action_without_strips_counts_for_nothing(rig: Any, tmp_path: Path) -> None:
    build.assign(rig.animation_data_create(), action("A"))
    rig.animation_data.action_influence = 0.5
    reload(tmp_path)
    assert turned(shown(), bpy.data.objects["Rig"].pose.bones["Control"].matrix_basis.to_quaternion()) > 39.9
    assert [r.mixed for r in clip_of("A").readers] == [""]
    strip_of(bpy.data.objects["Rig"], action(LOWER))
    assert [bool(r.mixed) for r in clip_of("A").readers] == [True]
    assert [str(r.mixed) for r in clip_of(LOWER).readers] == ["the active action is mixed over it"]


def test_a_transition_mixes_its_neighbours(rig: Any) -> None:
    track = rig.animation_data_create().nla_tracks.new()
    a = action("A")
    for start in (1, 40):
        made = track.strips.new("A", start, a)
        if build.LAYERED:
            made.action_slot = a.slots[0]
    assert not any(r.mixed for r in clip_of("A").readers)
    for strip in track.strips:
        strip.select = True
    rig.select_set(True)
    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    was, area.type = area.type, "NLA_EDITOR"
    with bpy.context.temp_override(window=window, area=area, region=area.regions[-1]):
        bpy.ops.nla.transition_add()
    area.type = was
    assert [s.type for s in track.strips] == ["CLIP", "TRANSITION", "CLIP"]
    assert [r.mixed for r in clip_of("A").readers] == ["a transition mixes it"] * 2


# Drivers ------------------------------------------------------------------------------------------

READS = [
    *("[2]", ".z", '["z"]', ".zz", "[ 2 ]", "[02]"),  # as Blender takes them
    *(".Z", "[-1]", "", "[3]"),  # as it does not
]


@pytest.mark.parametrize("end", READS)
@pytest.mark.parametrize("head", ['pose.bones["A\\"b"].', "pose.bones[0].", "", "pose.bones['A\"b']."])
def test_a_driver_that_reads_a_component(head: str, end: str) -> None:
    rig = build.make_rig("Rig", ['A"b'], "XYZ")
    bone = rig.pose.bones[0]
    rig.rotation_euler = bone.rotation_euler = (0.1, 0.2, 0.3)
    for path in (f"{bone.path_from_id()}.rotation_euler", "rotation_euler"):
        for part in range(3):
            build.make_curve(build.make_fcurves("A", "Rig"), path, part, [1, 9], [rig.rotation_euler[part]] * 2)
    build.assign(rig.animation_data_create(), bpy.data.actions["A"])
    driver, holder = add_driver(rig, head + "rotation_euler" + end)
    bpy.context.view_layer.update()
    value = holder.evaluated_get(bpy.context.evaluated_depsgraph_get()).location[0]
    read_by = [r for r in clip_of("A").readers if r.route == "driver"]
    if not driver.is_valid or value == 0.0:
        assert read_by == []
        return
    assert value == pytest.approx(0.3)
    (reader,) = read_by
    path = f"{bone.path_from_id()}.rotation_euler" if head else "rotation_euler"
    assert reader.reads == {(path, 2)} and str(reader.words) == "Holder, by the driver of location"


def add_driver(target: Any, path: str, id_type: str = "OBJECT") -> Any:
    holder = bpy.data.objects.new("Holder", None)
    bpy.context.scene.collection.objects.link(holder)
    driver = holder.driver_add("location", 0).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.targets[0].id_type = id_type
    variable.targets[0].id, variable.targets[0].data_path = target, path
    return driver, holder


def test_drivers_that_come_from_elsewhere(rig: Any) -> None:
    """By the parent of another object, the camera of the scene, the active scene; and on a material's own data."""
    action("A", "rotation_euler", [(0.1, 0.2, 0.3)] * 2)
    build.assign(rig.animation_data_create(), bpy.data.actions["A"])
    rig.rotation_mode = "XYZ"
    child = bpy.data.objects.new("Child", None)
    bpy.context.scene.collection.objects.link(child)
    child.parent = rig
    bpy.context.scene.camera = rig
    add_driver(child, "parent.rotation_euler[0]")
    add_driver(bpy.context.scene, "camera.rotation_euler[1]", "SCENE")
    material = bpy.data.materials.new("M")
    variable = material.driver_add("roughness").driver.variables.new()
    variable.type = "CONTEXT_PROP"
    variable.targets[0].context_property = "ACTIVE_SCENE"
    variable.targets[0].data_path = "camera.rotation_euler.z"
    found = {(r.owner, *next(iter(r.reads))) for r in clip_of("A").readers if r.route == "driver"}
    assert found == {("Holder", "rotation_euler", 0), ("Holder.001", "rotation_euler", 1), ("M", "rotation_euler", 2)}


@pytest.mark.parametrize("mode", ["AUTO", "XYZ", "QUATERNION", "SWING_TWIST_Z"])
def test_a_variable_for_a_rotation(mode: str, tmp_path: Path) -> None:
    """It counts as reading the number where a whole turn more shows in it."""
    rig = build.make_rig("Rig", ["B"], "XYZ")
    build.assign(rig.animation_data_create(), action("A", EULER_PATH, [(0.1, 0.2, 0.3)] * 2))
    driver, _ = add_driver(rig, "")
    variable = driver.variables[0]
    variable.type = "TRANSFORMS"
    target = variable.targets[0]
    target.id, target.bone_target, target.transform_type = rig, "B", "ROT_Z"
    target.rotation_mode, target.transform_space = mode, "LOCAL_SPACE"

    def value() -> float:
        bpy.context.scene.frame_set(5)
        return float(bpy.data.objects["Holder"].evaluated_get(bpy.context.evaluated_depsgraph_get()).location[0])

    reload(tmp_path)
    was = value()
    reads = {r.reads for r in clip_of("A").readers if r.route == "driver"}
    for key in build.fcurves_of(bpy.data.actions["A"]).find(EULER_PATH, index=2).keyframe_points:
        key.co[1] += 2 * math.pi
    reload(tmp_path)
    assert reads == ({frozenset([(EULER_PATH, 2)])} if abs(value() - was) > 1 else set())
    assert bool(reads) == (mode == "AUTO")


# What is drawn ------------------------------------------------------------------------------------

STRIPS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "at half frames": {"frame_start": 1.5, "frame_end": 21.5},
    "slow": {"scale": 2.5},
    "fast": {"scale": 0.3},
    "twice": {"repeat": 2.0},
    "two and a half times": {"repeat": 2.5, "scale": 0.7},
    "backwards": {"use_reverse": True, "scale": 0.7},
    "a part": {"action_frame_start": 4.25, "action_frame_end": 13.0},
}


@pytest.mark.parametrize("remap", [(100, 100), (100, 400), (300, 100)])
@pytest.mark.parametrize("name", [*STRIPS, "by a curve", "by a curve that goes round"])
def test_drawn_times_are_those_that_blender_shows(rig: Any, name: str, remap: tuple[int, int], tmp_path: Path) -> None:
    """A channel whose value is its time says which time each frame of the scene shows."""
    times = [1.0, 21.0]
    a = action("A", 'pose.bones["B"].location', [(t, 0, 0) for t in times], components=(0,), frames=times)
    for part, values in enumerate(zip(*[about("Z", t) for t in times], strict=True)):
        build.make_curve(build.fcurves_of(a), PATH, part, times, values)
    strip = strip_of(rig, a, **STRIPS.get(name, {}))
    strip.extrapolation = "NOTHING"
    if name.startswith("by a curve"):
        strip.use_animated_time = True
        strip.use_animated_time_cyclic = name.endswith("round")
        points = strip.fcurves.find("strip_time").keyframe_points
        for frame, time in ((1, 3.0), (8, 12.5), (21, 28.0 if name.endswith("round") else 5.0)):
            points.insert(frame, time).interpolation = "LINEAR"
    scene = bpy.context.scene
    scene.render.frame_map_old, scene.render.frame_map_new = remap
    reload(tmp_path)
    (reader,) = clip_of("A").readers
    strip = bpy.data.objects["Rig"].animation_data.nla_tracks[0].strips[0]
    step = remap[0] / remap[1]
    played = set()
    for frame in range(math.ceil(strip.frame_start / step), math.floor(strip.frame_end / step) + 1):
        bpy.context.scene.frame_set(frame)
        evaluated = bpy.data.objects["Rig"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        played.add(round(evaluated.pose.bones["B"].location[0], 2))
    said = {round(time, 2) for item in reader.drawn for time in all_times(item)}
    edges = {round(edge, 2) for edge in (strip.action_frame_start, strip.action_frame_end)}  # nothing is beyond
    assert {t for t in played - edges if all(abs(t - other) >= 0.02 for other in said)} == set()
    # A part of a cycle is taken for a whole one.
    if name != "two and a half times":
        assert {t for t in said - edges if all(abs(t - other) >= 0.02 for other in played)} == set()


def all_times(item: Drawn) -> list[float]:
    if item.times:
        return list(item.times)
    count = np.arange(math.ceil((item.first - item.start) / item.spacing - 1e-6), 1000)
    times = item.start + count * item.spacing
    return [float(t) for t in times if t <= item.last + 1e-6]


# States -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["XYZ", "QUATERNION"])
def test_another_frame_is_no_other_state(rig: Any, mode: str) -> None:
    """What the stored pose is at a frame is nothing of a clip; what a reader takes from it is."""
    bone = rig.pose.bones["B"]
    bone.rotation_mode = mode
    rig.rotation_mode = "XYZ"
    a = action("A", values=[about("Z", 0), about("Z", 80)])
    for path in (EULER_PATH, "rotation_euler"):
        for part in range(3):
            build.make_curve(build.fcurves_of(a), path, part, (1, 20), (0, 1))
    build.assign(rig.animation_data_create(), a)
    states = set()
    for frame in (1, 7, 20):
        bpy.context.scene.frame_set(frame)
        states.add(clip_state(clip_of("A")))
    assert len(states) == 1
    rig.pose.bones["Control"].rotation_mode = "XYZ"
    assert clip_state(clip_of("A")) in states  # it has no keys
    bone.rotation_mode = "ZXY"
    assert clip_state(clip_of("A")) not in states


def test_what_shows_instead_is_the_stored_pose_of_the_mode(rig: Any) -> None:
    bone = rig.pose.bones["B"]
    bone.rotation_mode, bone.rotation_euler = "XYZ", (0, 0, math.radians(40))
    build.assign(rig.animation_data_create(), action("A"))
    (reader,) = clip_of("A").readers
    np.testing.assert_allclose(reader.ways[PATH].instead, about("Z", 40), atol=1e-6)


def test_layers_are_looked_up_once_for_all_slots(rig: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(30):
        strip_of(rig, action(f"A{number}"))
    asked = []
    once = users.strips_of
    monkeypatch.setattr(users, "strips_of", lambda data: asked.append(data) or once(data))
    readers: list[Reader] = [r for record in read.read_file() for r in record.clip.readers]
    assert len(readers) == 30 and len(asked) <= 5
