# SPDX-License-Identifier: GPL-3.0-or-later
"""Alt-F: selected quaternion keys aligned or flipped through the operator, in the editors, on Blender's own keys."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import ui
from quat_audit.ui import auditing
from quat_audit.ui.operators import keys as key_operators
from tests.blender import build_case as build

FRAMES = (1, 6, 11, 16)
EDITORS = ("GRAPH_EDITOR", "DOPESHEET_EDITOR")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ui.register()
    yield
    ui.unregister()


def turn(degrees: float) -> list[float]:
    half = math.radians(degrees) / 2
    return [math.cos(half), *(math.sin(half) * part / math.sqrt(14) for part in (1, 2, 3))]


def make_rig(name: str = "Rig", bones: tuple[str, ...] = ("Arm", "Leg"), flipped: tuple[int, ...] = (6,)) -> Any:
    """Bones that turn by 20° a key, the keys at some frames stored as −q; selected, in Pose Mode, no key selected."""
    rig = build.make_rig(name, bones)
    for bone in rig.pose.bones:
        for frame, degrees in zip(FRAMES, (10, 30, 50, 70), strict=True):
            sign = -1 if frame in flipped else 1
            bone.rotation_quaternion = [sign * value for value in turn(degrees)]
            bone.keyframe_insert("rotation_quaternion", frame=frame)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="SELECT")
    for curve in build.fcurves_of(rig.animation_data.action):
        for key in curve.keyframe_points:
            key.select_control_point = key.select_left_handle = key.select_right_handle = False
            key.interpolation = "LINEAR"
    return rig


def curves(rig: Any, bone: str = "Arm") -> dict[int, Any]:
    every = build.fcurves_of(rig.animation_data.action)
    return {curve.array_index: curve for curve in every if f'"{bone}"' in curve.data_path}


def select(rig: Any, frames: tuple[int, ...], bone: str = "Arm", components=range(4)) -> None:
    for component in components:
        for key in curves(rig, bone)[component].keyframe_points:
            key.select_control_point = key.co[0] in frames


def snapshot(rig: Any) -> dict[tuple[str, int], list[tuple]]:
    return {
        (c.data_path, c.array_index): [
            (tuple(k.co), tuple(k.handle_left), tuple(k.handle_right), k.interpolation, k.type, k.select_control_point)
            for k in c.keyframe_points
        ]
        for c in build.fcurves_of(rig.animation_data.action)
    }


def negated(before: dict, after: dict) -> set[tuple[str, int]]:
    """(bone, frame) of the keys that are exactly negated, handles too; it fails when anything else changed."""
    assert before.keys() == after.keys()
    found: dict[tuple[str, int], set[int]] = {}
    for (path, component), keys in before.items():
        for old, new in zip(keys, after[path, component], strict=True):
            if new == old:
                continue
            flipped = tuple((point[0], -point[1]) for point in old[:3])
            assert (*flipped, *old[3:]) == new, f"{path}[{component}] frame {old[0][0]}: {old} → {new}"
            found.setdefault((path.split('"')[1], int(old[0][0])), set()).add(component)
    assert all(components == {0, 1, 2, 3} for components in found.values()), "half a key was negated"
    return set(found)


@contextmanager
def editor(kind: str = "GRAPH_EDITOR", mode: str | None = None) -> Iterator[None]:
    window = bpy.context.window_manager.windows[0]
    area = max(window.screen.areas, key=lambda a: a.width * a.height)
    area.type = kind
    if mode is not None:
        area.spaces.active.mode = mode
    region = next(r for r in area.regions if r.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield


class _Reports(list):
    """What the operator reported, caught where it is said."""

    def __call__(self, kinds: set[str], message: str) -> None:
        self.append((next(iter(kinds)), message))


def run(how: str = "ALIGN", kind: str = "GRAPH_EDITOR") -> set[str]:
    """Run the operator in an editor."""
    with editor(kind):
        result: set[str] = bpy.ops.quat_audit.key_signs(how=how)
    return result


def executed(how: str = "ALIGN", kind: str = "GRAPH_EDITOR") -> tuple[set[str], list[tuple[str, str]]]:
    """The operator's own `execute`, with a stand-in for what it was called on, so that its reports can be read."""
    reports = _Reports()
    operator = type("Operator", (), {"how": how, "report": lambda self, kinds, text: reports(kinds, text)})()
    with editor(kind):
        result = key_operators.QUATAUDIT_OT_key_signs.execute(operator, bpy.context)
    return result, reports


@pytest.mark.parametrize("kind", EDITORS)
def test_align_negates_what_is_selected_and_flipped_and_nothing_else(kind: str) -> None:
    rig = make_rig()
    select(rig, FRAMES)
    before = snapshot(rig)
    assert run(kind=kind) == {"FINISHED"}
    assert negated(before, snapshot(rig)) == {("Arm", 6)}  # Leg has the same flip and is not selected


@pytest.mark.parametrize("kind", EDITORS)
def test_flip_negates_all_that_is_selected(kind: str) -> None:
    rig = make_rig()
    select(rig, (1, 16))
    select(rig, (11,), "Leg")
    before = snapshot(rig)
    assert run("FLIP", kind) == {"FINISHED"}
    assert negated(before, snapshot(rig)) == {("Arm", 1), ("Arm", 16), ("Leg", 11)}


@pytest.mark.parametrize("component", [0, 1])
def test_one_selected_component_is_the_whole_key(component: int) -> None:
    rig = make_rig()
    select(rig, (6,), components=[component])
    before = snapshot(rig)
    assert run() == {"FINISHED"}
    assert negated(before, snapshot(rig)) == {("Arm", 6)}


def test_a_selected_handle_selects_its_key() -> None:
    rig = make_rig()
    curves(rig)[0].keyframe_points[1].select_left_handle = True
    before = snapshot(rig)
    assert run() == {"FINISHED"}
    assert negated(before, snapshot(rig)) == {("Arm", 6)}


def test_a_curve_that_the_editor_does_not_show_goes_along_but_selects_nothing() -> None:
    rig = make_rig()
    select(rig, (6,), components=[1, 2, 3])
    select(rig, FRAMES, "Leg")
    for curve in curves(rig, "Leg").values():
        curve.hide = True  # hidden in the Graph Editor: not what is worked on
    curves(rig)[0].hide = True  # and this one belongs to a key that is
    before = snapshot(rig)
    assert run() == {"FINISHED"}
    assert negated(before, snapshot(rig)) == {("Arm", 6)}


def test_the_pose_at_every_keyed_frame_stays_and_the_motion_between_gets_short() -> None:
    rig = make_rig()
    bpy.ops.object.mode_set(mode="POSE")

    def matrix(frame: int) -> Any:
        bpy.context.scene.frame_set(frame)
        return rig.pose.bones["Arm"].matrix_basis.copy()

    select(rig, FRAMES)
    keyed = [matrix(frame) for frame in FRAMES]
    middle = matrix(3)
    run()
    for frame, was in zip(FRAMES, keyed, strict=True):
        np.testing.assert_allclose(np.array(matrix(frame)), np.array(was), atol=1e-6)
    turned = math.degrees(matrix(3).to_quaternion().rotation_difference(keyed[0].to_quaternion()).angle)
    before = math.degrees(middle.to_quaternion().rotation_difference(keyed[0].to_quaternion()).angle)
    assert turned == pytest.approx(8.0, abs=0.3) and before > 30


def test_what_is_reported_is_the_proof() -> None:
    rig = make_rig()
    select(rig, FRAMES)
    select(rig, FRAMES, "Leg")
    result, reports = executed()
    assert result == {"FINISHED"}
    said = "2 keys negated on 2 bones; keyed poses changed by 0.000°; worst in-between was 340.0°, now 20.0°"
    assert reports == [("INFO", said)]
    assert executed() == ({"CANCELLED"}, [("INFO", "The selected keys are aligned already")])


def test_nothing_selected_says_so_and_changes_nothing() -> None:
    rig = make_rig()
    before = snapshot(rig)
    assert executed() == ({"CANCELLED"}, [("WARNING", "Select some quaternion keys first")])
    assert snapshot(rig) == before


def test_selected_keys_of_other_channels_are_not_quaternion_keys() -> None:
    rig = make_rig()
    bone = rig.pose.bones["Arm"]
    for frame in FRAMES:
        bone.keyframe_insert("location", frame=frame)
        rig.keyframe_insert("rotation_euler", frame=frame)
    for curve in build.fcurves_of(rig.animation_data.action):
        for key in curve.keyframe_points:
            key.select_control_point = "quaternion" not in curve.data_path
    before = snapshot(rig)
    assert executed("FLIP")[1] == [("WARNING", "Select some quaternion keys first")]
    assert snapshot(rig) == before


def test_align_is_refused_where_it_would_lengthen_the_motion_and_says_what_to_do() -> None:
    rig = make_rig(flipped=(6, 11, 16))
    select(rig, (6,))
    before = snapshot(rig)
    result, ((kind, said),) = executed()
    assert (result, kind) == ({"CANCELLED"}, "WARNING")
    assert "Not fixed on 1 channel" in said and "select the keys that follow too" in said
    assert snapshot(rig) == before
    assert executed("FLIP")[0] == {"FINISHED"}, "flipping is what the artist asks for"
    assert negated(before, snapshot(rig)) == {("Arm", 6)}


def test_a_locked_component_refuses_its_key_and_the_others_are_done() -> None:
    rig = make_rig()
    select(rig, FRAMES)
    select(rig, FRAMES, "Leg")
    curves(rig)[2].lock = True
    before = snapshot(rig)
    result, reports = executed()
    assert result == {"FINISHED"}
    assert ("WARNING", "Not fixed on 1 channel: the curve is locked") in reports
    assert negated(before, snapshot(rig)) == {("Leg", 6)}


def test_two_rigs_are_worked_on_together() -> None:
    first = make_rig("One", ("Arm",))
    bpy.ops.object.mode_set(mode="OBJECT")
    second = make_rig("Two", ("Leg",))
    bpy.ops.object.mode_set(mode="OBJECT")
    first.select_set(True)
    second.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="SELECT")
    select(first, FRAMES)
    select(second, FRAMES, "Leg")
    before = {**snapshot(first), **snapshot(second)}
    result, reports = executed(kind="DOPESHEET_EDITOR")
    assert result == {"FINISHED"} and reports[0][1].startswith("2 keys negated on 2 bones")
    assert negated(before, {**snapshot(first), **snapshot(second)}) == {("Arm", 6), ("Leg", 6)}


# --- where it can be used


def why(kind: str, mode: str | None = None) -> str | None:
    with editor(kind, mode):
        said = key_operators.why_not_here(bpy.context)
        assert bpy.ops.quat_audit.key_signs.poll() == (said is None)
    return said


def test_it_is_for_the_editors_of_keys_and_says_so_elsewhere(monkeypatch) -> None:
    rig = make_rig()
    assert why("GRAPH_EDITOR") is None and why("DOPESHEET_EDITOR") is None
    assert why("DOPESHEET_EDITOR", "ACTION") is None
    assert why("GRAPH_EDITOR", "DRIVERS") == why("DOPESHEET_EDITOR", "MASK") == "Only where keys of actions are shown"
    assert why("VIEW_3D") == "Only in a Graph Editor or a Dope Sheet"
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    assert why("GRAPH_EDITOR", "FCURVES") == "Leave Edit Mode: a fix could not be undone there"
    bpy.ops.object.mode_set(mode="OBJECT")
    monkeypatch.setattr(auditing, "RUNNING", [object()])
    assert "audit is running" in why("GRAPH_EDITOR")


def test_without_any_object_nothing_is_selected() -> None:
    assert executed() == ({"CANCELLED"}, [("WARNING", "Select some quaternion keys first")])


def addon_items() -> list[tuple[str, str, bool, bool, bool, str]]:
    keymaps = bpy.context.window_manager.keyconfigs.addon.keymaps
    return [
        (keymap.name, item.type, item.alt, item.ctrl, item.shift, keymap.space_type)
        for keymap in keymaps
        for item in keymap.keymap_items
        if item.idname == "quat_audit.key_signs"
    ]


def test_alt_f_is_there_once_and_gone_when_unregistered() -> None:
    expected = [
        ("Dopesheet", "F", True, False, False, "DOPESHEET_EDITOR"),
        ("Graph Editor", "F", True, False, False, "GRAPH_EDITOR"),
    ]
    assert sorted(addon_items()) == expected
    ui.unregister()
    try:
        assert addon_items() == []
        assert not [f for name in key_operators._MENUS for f in drawn(name) if f is key_operators._menu]
    finally:
        ui.register()
    assert sorted(addon_items()) == expected
    assert [drawn(name).count(key_operators._menu) for name in key_operators._MENUS] == [1, 1]


def drawn(menu: str) -> list[Any]:
    return list(getattr(getattr(bpy.types, menu).draw, "_draw_funcs", []))


@pytest.mark.parametrize("keymap_file", ["blender_default", "industry_compatible_data"])
def test_blender_itself_does_not_use_alt_f_there(keymap_file: str) -> None:
    import importlib.util
    from pathlib import Path

    folder = Path(bpy.utils.system_resource("SCRIPTS")) / "presets" / "keyconfig" / "keymap_data"
    spec = importlib.util.spec_from_file_location(keymap_file, folder / f"{keymap_file}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    keymaps = module.generate_keymaps(module.Params()) if hasattr(module, "Params") else module.generate_keymaps()
    ours = {"Graph Editor", "Graph Editor Generic", "Dopesheet", "Dopesheet Generic", "Animation"}
    seen = {name for name, _, _ in keymaps}
    assert {"Graph Editor", "Dopesheet"} <= seen
    taken = [
        (name, item[0])
        for name, _, content in keymaps
        if name in ours
        for item in content["items"]
        if item[1].get("type") == "F" and item[1].get("alt") and not item[1].get("ctrl") and not item[1].get("shift")
    ]
    assert taken == []


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_bone_with_a_bad_key_that_stays_is_not_counted(bad: float) -> None:
    """NaN is not equal to itself; a key that holds it is as it was all the same."""
    rig = make_rig()
    for curve in curves(rig, "Leg").values():
        curve.keyframe_points[2].co[1] = bad
    select(rig, FRAMES)
    result, reports = executed()
    assert result == {"FINISHED"}
    ((kind, said),) = reports
    assert kind == "INFO" and said.startswith("1 key negated on 1 bone; ")


def test_a_bad_key_of_the_same_bone_is_passed_over() -> None:
    rig = make_rig()
    curves(rig)[2].keyframe_points[2].co[1] = math.nan
    select(rig, FRAMES)
    result, reports = executed("FLIP")
    assert result == {"FINISHED"}
    assert reports[0][1].startswith("3 keys negated on 1 bone; ")
