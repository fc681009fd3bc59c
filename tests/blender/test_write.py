# SPDX-License-Identifier: GPL-3.0-or-later
"""An edited Clip -> its action, checked through Blender's own per-key access, evaluation and files."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from quat_audit import api
from quat_audit.audit.settings import Settings
from quat_audit.errors import GoneError, RefusedError
from quat_audit.findings.report import HandleChange, Report
from quat_audit.motion.clip import Clip, Cycles
from quat_audit.reports import FORMATS
from quat_audit.rules.qa303_misaligned_components import RULE as QA303

bpy = pytest.importorskip("bpy")

from quat_audit.blender import (
    open,
    read,
    write,
)
from tests.blender import build_case as build

PATH = 'pose.bones["Arm"].rotation_quaternion'
QUATERNIONS = np.array([(1, 0, 0, 0), (-0.9, 0.1, 0.2, 0.3), (0.8, 0.1, 0.2, 0.35), (0.7, 0.1, 0.2, 0.4)], "f4")
FRAMES = (1.0, 11.0, 21.0, 31.0)
SCALARS = ("interpolation", "easing", "back", "amplitude", "period", "type", "handle_left_type", "handle_right_type")
SELECTION = ("select_control_point", "select_left_handle", "select_right_handle")


@pytest.fixture
def rig():
    """One bone, four quaternion keys with a sign flip, automatic Bézier handles, and a location beside it."""
    rig = build.make_rig("Rig", ["Arm"])
    bone = rig.pose.bones["Arm"]
    for frame, value in zip(FRAMES, QUATERNIONS, strict=True):
        bone.rotation_quaternion = value
        bone.location = value[:3]
        bone.keyframe_insert("rotation_quaternion", frame=frame, group="Arm")
        bone.keyframe_insert("location", frame=frame, group="Arm")
    rng = np.random.default_rng(5)
    for curve in build.fcurves_of(rig.animation_data.action):
        curve.color_mode = "AUTO_YRGB" if "quaternion" in curve.data_path else "AUTO_RGB"
        for number, key in enumerate(curve.keyframe_points):
            key.back, key.amplitude, key.period = rng.random(3)
            key.easing = ("AUTO", "EASE_IN", "EASE_OUT", "EASE_IN_OUT")[number]
            key.type = ("KEYFRAME", "BREAKDOWN", "EXTREME", "JITTER")[number]
            key.select_control_point = number % 2 == 0
            key.select_left_handle = key.select_right_handle = number == 3
    return rig


def one() -> read.BlenderClip:
    (record,) = read.read_file()
    return record


def state(key) -> tuple:
    """All that a key has, read one by one."""
    return (
        *(tuple(getattr(key, n)) for n in ("co", "handle_left", "handle_right")),
        *(getattr(key, n) for n in SCALARS + SELECTION),
    )


def states(rig=None) -> dict:
    action = bpy.data.actions[0]
    return {(c.data_path, c.array_index): [state(k) for k in c.keyframe_points] for c in build.fcurves_of(action)}


def pose(rig, frame: float) -> bytes:
    bpy.context.scene.frame_set(int(frame), subframe=frame % 1)
    evaluated = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array(evaluated.pose.bones["Arm"].matrix_basis, "f4").tobytes()


def poses(rig) -> list[bytes]:
    return [pose(rig, frame) for frame in np.linspace(0, 33, 12)]


def edited(clip: Clip, **curves) -> Clip:
    after = replace(clip, curves=replace(clip.curves, **curves))
    after.validate()
    return after


def negated(clip: Clip, key: int, components=range(4)) -> Clip:
    """The clip with one quaternion key and its handles negated."""
    arrays = {name: getattr(clip.curves, name).copy() for name in ("co", "handle_left", "handle_right")}
    for component in components:
        row = clip.curves.offsets[clip.tracks.curves[0][component]] + key
        for values in arrays.values():
            values[row, 1] *= -1
    return edited(clip, **arrays)


def resized(clip: Clip, curve: int, rows: dict[str, np.ndarray]) -> Clip:
    """The clip with all keys of one curve replaced by others."""
    c = clip.curves
    at = c.rows(curve)
    arrays = {n: np.concatenate([getattr(c, n)[: at.start], rows[n], getattr(c, n)[at.stop :]]) for n in rows}
    offsets = c.offsets.copy()
    offsets[curve + 1 :] += len(rows["co"]) - (at.stop - at.start)
    return edited(clip, offsets=offsets, **arrays)


def with_key_inserted(clip: Clip, curve: int, after_key: int, frame: float, value: float, shorten: bool = True) -> Clip:
    c, at = clip.curves, clip.curves.rows(curve)
    rows = {
        n: getattr(c, n)[at].copy() for n in ("co", "handle_left", "handle_right", "interpolation", "origin", "marked")
    }
    if c.easing is not None:
        rows |= {"easing": c.easing[at].copy(), "easing_parameters": c.easing_parameters[at].copy()}
    if shorten:
        for name, key in (("handle_right", after_key), ("handle_left", after_key + 1)):
            rows[name][key] = (rows[name][key] + rows["co"][key]) / 2
    new = {"co": (frame, value), "handle_left": (frame - 1, value), "handle_right": (frame + 1, value)}
    new |= {"interpolation": 2, "origin": -1, "marked": True, "easing": 0, "easing_parameters": 0}
    rows = {n: np.insert(v, after_key + 1, new[n], axis=0) for n, v in rows.items()}
    return resized(clip, curve, rows)


def test_nothing_changed_is_not_written(rig):
    before, looks = states(), poses(rig)
    record = one()
    written = write.write_clip(record, record.clip)
    assert written == write.Written() and not written
    copies = {n: getattr(record.clip.curves, n).astype(np.float64) for n in ("co", "handle_left", "handle_right")}
    assert not write.write_clip(record, edited(record.clip, **copies))  # as if a repair had worked in double precision
    assert states() == before and poses(rig) == looks


def test_only_the_keys_at_fault_change_and_the_pose_is_seen(rig):
    before, looks = states(), poses(rig)
    record = one()
    assert write.write_clip(record, negated(record.clip, 1)) == write.Written(curves_changed=4)
    now = states()
    for (path, index), keys in before.items():
        for number, was in enumerate(keys):
            if path == PATH and number == 1:
                flipped = tuple((frame, -value) for frame, value in was[:3])
                assert now[path, index][number] == (*flipped, *was[3:])
            else:
                assert now[path, index][number] == was
    # The keyed pose stays to the bit, the way between is another: Blender has taken notice.
    assert pose(rig, 11) == pose_of(QUATERNIONS[1])
    assert poses(rig) != looks
    expected = sum(np.array([1, -1]) * [0.5, 0.5] * [QUATERNIONS[0][0], QUATERNIONS[1][0]])
    assert build.fcurves_of(bpy.data.actions[0]).find(PATH, index=0).evaluate(6) == pytest.approx(expected, abs=0.02)


def pose_of(quaternion) -> bytes:
    """What Blender itself shows for an unanimated bone with this value (and location) at frame 11."""
    other = build.make_rig("Other", ["Arm"])
    other.pose.bones["Arm"].rotation_quaternion = quaternion
    other.pose.bones["Arm"].location = quaternion[:3]
    return pose(other, 11)


def test_shown_without_a_change_of_frame(rig):
    record = one()
    pose(rig, 6)
    write.write_clip(record, negated(record.clip, 1))
    bpy.context.view_layer.update()
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["Arm"].rotation_quaternion[0]
    assert shown == pytest.approx(build.fcurves_of(bpy.data.actions[0]).find(PATH, index=0).evaluate(6), abs=1e-6)
    assert shown > 0.9


def test_what_is_written_is_what_is_read_again_and_saved(rig, tmp_path):
    record = one()
    after = negated(record.clip, 1, components=(0, 2))
    assert write.write_clip(record, after).curves_changed == 2
    again = read.read_again(record).clip
    for name in ("co", "handle_left", "handle_right", "interpolation"):
        np.testing.assert_array_equal(getattr(again.curves, name), getattr(after.curves, name))
    expected = states()
    open.save_blend(tmp_path / "x.blend", compress=True)
    open.open_blend(tmp_path / "x.blend")
    assert states() == expected


def test_interpolation_extrapolation_and_marks(rig):
    # A handle that says automatic and is not where Blender would put it: nobody asked to have it moved.
    odd = build.fcurves_of(rig.animation_data.action).find(PATH, index=2).keyframe_points
    handles = np.arange(8, dtype="f4")
    odd.foreach_set("handle_left", handles)
    before, record = states(), one()
    curve = int(record.clip.tracks.curves[0][2])
    row = record.clip.curves.offsets[curve] + 2
    interpolation, marked = record.clip.curves.interpolation.copy(), record.clip.curves.marked.copy()
    extrapolation = record.clip.curves.linear_extrapolation.copy()
    interpolation[row], marked[row + 1], extrapolation[curve] = 1, True, True
    after = edited(record.clip, interpolation=interpolation, marked=marked, linear_extrapolation=extrapolation)
    assert write.write_clip(record, after).curves_changed == 1
    fcurve = build.fcurves_of(bpy.data.actions[0]).find(PATH, index=2)
    assert [k.interpolation for k in fcurve.keyframe_points] == ["BEZIER", "BEZIER", "LINEAR", "BEZIER"]
    assert [k.type for k in fcurve.keyframe_points] == ["KEYFRAME", "BREAKDOWN", "EXTREME", "GENERATED"]
    assert fcurve.extrapolation == "LINEAR"
    assert [state(k)[:3] for k in fcurve.keyframe_points] == [was[:3] for was in before[PATH, 2]]
    before.pop((PATH, 2))
    assert {k: v for k, v in states().items() if k != (PATH, 2)} == before


def test_inserted_key_takes_everything_along(rig):
    before, record = states(), one()
    curve = int(record.clip.tracks.curves[0][1])
    after = with_key_inserted(record.clip, curve, after_key=1, frame=15.0, value=0.25)
    retyped = (HandleChange("AUTO_CLAMPED", "ALIGNED", 4),)
    assert write.write_clip(record, after) == write.Written(curves_changed=1, handle_types=retyped)
    fcurve = build.fcurves_of(bpy.data.actions[0]).find(PATH, index=1)
    keys = list(fcurve.keyframe_points)
    assert [k.co[0] for k in keys] == [1, 11, 15, 21, 31]
    made = keys.pop(2)
    assert (made.type, made.handle_left_type, made.handle_right_type, made.interpolation) == (
        "GENERATED",
        "FREE",
        "FREE",
        "BEZIER",
    )
    assert not made.select_control_point
    was = before[PATH, 1]
    assert [state(k)[3:9] for k in keys] == [w[3:9] for w in was]  # interpolation, easing and its parameters, type
    assert [state(k)[-3:] for k in keys] == [w[-3:] for w in was]  # selection
    # The two whose handle was shortened are no longer automatic, the others still are.
    assert [k.handle_right_type for k in keys] == ["AUTO_CLAMPED", "ALIGNED", "ALIGNED", "AUTO_CLAMPED"]
    assert [k.handle_left_type for k in keys] == ["AUTO_CLAMPED", "ALIGNED", "ALIGNED", "AUTO_CLAMPED"]
    shape = [(tuple(k.handle_left), tuple(k.handle_right)) for k in fcurve.keyframe_points][1:4]
    fcurve.update()  # as any edit of the artist would
    held = [(tuple(k.handle_left), tuple(k.handle_right)) for k in fcurve.keyframe_points][1:4]
    np.testing.assert_allclose(held, shape, atol=1e-4)
    before.pop((PATH, 1))
    assert {k: v for k, v in states().items() if k != (PATH, 1)} == before
    again = read.read_again(record).clip
    np.testing.assert_array_equal(again.curves.co, after.curves.co)


def handle_types() -> dict[tuple[str, int, float, str], str]:
    """The type of each handle by its curve, frame and side."""
    return {
        (c.data_path, c.array_index, k.co[0], side): getattr(k, f"handle_{side}_type")
        for c in build.fcurves_of(bpy.data.actions[0])
        for k in c.keyframe_points
        for side in ("left", "right")
    }


def test_a_repair_counts_the_handles_whose_type_is_another_in_the_written_file(rig, tmp_path):
    fcurve = build.fcurves_of(rig.animation_data.action).find(PATH, index=2)
    fcurve.keyframe_points.remove(fcurve.keyframe_points[1])
    for number, kind in enumerate(("AUTO", "VECTOR", "FREE")):
        key = fcurve.keyframe_points[number]
        key.handle_left_type = key.handle_right_type = kind
    fcurve.update()
    was = handle_types()
    open.save_blend(tmp_path / "rig.blend", compress=False)
    report = api.fix_file(tmp_path / "rig.blend", Settings((QA303,)), output=tmp_path / "fixed.blend")
    open.open_blend(tmp_path / "fixed.blend")
    now = handle_types()
    assert set(now) - set(was) == {(PATH, 2, 11.0, "left"), (PATH, 2, 11.0, "right")}
    other = Counter((kind, now[key]) for key, kind in was.items() if now[key] != kind)
    assert other == {("AUTO", "ALIGNED"): 2, ("VECTOR", "FREE"): 1}
    assert {(c.was, c.now): c.handles for c in report.repair.handle_types} == other
    said = FORMATS["text"](Report([report]))
    assert "type changed on 3 handles beside inserted keys: AUTO → ALIGNED × 2, VECTOR → FREE × 1" in said
    assert '"from": "VECTOR"' in FORMATS["json"](Report([report]))


def test_insertion_leaves_handles_that_did_not_move_automatic(rig):
    record = one()
    flipped = negated(record.clip, 2)
    curve = int(record.clip.tracks.curves[0][3])
    write.write_clip(record, with_key_inserted(flipped, curve, after_key=0, frame=5.0, value=0.1, shorten=False))
    keys = build.fcurves_of(bpy.data.actions[0]).find(PATH, index=3).keyframe_points
    kinds = [(k.handle_left_type, k.handle_right_type) for k in keys]
    assert kinds == [("AUTO_CLAMPED",) * 2, ("FREE", "FREE"), *[("AUTO_CLAMPED",) * 2] * 3]


def test_removed_and_reordered_keys(rig):
    before, record = states(), one()
    c = record.clip.curves
    curve = int(record.clip.tracks.curves[0][3])
    at = c.rows(curve)
    pick = np.array([3, 1])  # not in order: what is written is what is asked for
    names = ("co", "handle_left", "handle_right", "interpolation", "origin", "marked")
    rows = {n: getattr(c, n)[at][pick] for n in names}
    rows["marked"][0] = True
    write.write_clip(record, resized(record.clip, curve, rows))
    first, second = states()[PATH, 3]
    assert second == before[PATH, 3][1]
    assert (first[8], before[PATH, 3][3][8]) == ("GENERATED", "JITTER")
    assert first[:8] + first[9:] == before[PATH, 3][3][:8] + before[PATH, 3][3][9:]


def without(clip: Clip, curve: int) -> Clip:
    c = clip.curves
    keep = np.arange(len(c)) != curve
    keys = c.curve_of_key() != curve
    track = np.where(clip.tracks.curves == curve, -1, clip.tracks.curves)
    per_key = {
        n: getattr(c, n)[keys] for n in ("co", "handle_left", "handle_right", "interpolation", "origin", "marked")
    }
    per_curve = {
        n: tuple(v for v, k in zip(getattr(c, n), keep, strict=True) if k)
        for n in ("data_path", "cycles", "unevaluable", "read_only")
    }
    arrays = {n: getattr(c, n)[keep] for n in ("component", "linear_extrapolation", "orphan", "ancestor")}
    offsets = np.concatenate([[0], np.cumsum(c.counts[keep])])
    track = np.where(track > curve, track - 1, track)
    easing = {} if c.easing is None else {"easing": c.easing[keys], "easing_parameters": c.easing_parameters[keys]}
    curves = replace(c, offsets=offsets, **per_key, **per_curve, **arrays, **easing)
    after = replace(clip, curves=curves, tracks=replace(clip.tracks, curves=track))
    after.validate()
    return after


def test_removed_curve(rig):
    before, record = states(), one()
    curve = int(record.clip.tracks.curves[0][2])
    assert write.write_clip(record, without(record.clip, curve)) == write.Written(curves_removed=1)
    before.pop((PATH, 2))
    assert states() == before


def added(clip: Clip, path: str, component: int, co: np.ndarray, cycles: Cycles | None = None) -> Clip:
    """The clip with one more curve, linear, at the end."""
    c, n, reach = clip.curves, len(co), np.array([1.0, 0.0], "f4")
    end = {
        "co": co, "handle_left": co - reach, "handle_right": co + reach, "interpolation": np.ones(n, np.uint8),
        "origin": np.full(n, -1), "marked": np.ones(n, bool), "component": [component], "linear_extrapolation": [True],
        "orphan": [False], "ancestor": [-1], "offsets": [c.offsets[-1] + n],
    }  # fmt: skip
    arrays = {name: np.concatenate([getattr(c, name), value]) for name, value in end.items()}
    arrays["interpolation"] = arrays["interpolation"].astype(np.uint8)
    after = edited(
        clip, **arrays, data_path=(*c.data_path, path), cycles=(*c.cycles, cycles),
        unevaluable=(*c.unevaluable, ""), read_only=(*c.read_only, ""),
    )  # fmt: skip
    return after


@pytest.mark.parametrize("left_empty", [False, True])
def test_added_curve_is_like_its_siblings(rig, left_empty):
    fcurves = build.fcurves_of(rig.animation_data.action)
    fcurves.remove(fcurves.find(PATH, index=2))
    if left_empty:
        fcurves.new(PATH, index=2)  # without keys it counts as missing
    before, record = states(), one()
    assert record.clip.tracks.curves[0][2] == -1
    co = np.array([(1, 0.5), (21, 0.5)], "f4")
    cycles = Cycles("REPEAT", "MIRROR", 2, 3)
    assert write.write_clip(record, added(record.clip, PATH, 2, co, cycles)) == write.Written(curves_added=1)
    fcurve = fcurves.find(PATH, index=2)
    assert [tuple(k.co) for k in fcurve.keyframe_points] == [(1, 0.5), (21, 0.5)]
    assert [(k.type, k.interpolation, k.handle_left_type) for k in fcurve.keyframe_points] == [
        ("GENERATED", "LINEAR", "FREE")
    ] * 2
    assert fcurve.extrapolation == "LINEAR"
    if not left_empty:
        assert (fcurve.group.name, fcurve.color_mode) == ("Arm", "AUTO_YRGB")
    again = read.read_again(record).clip
    assert again.curves.cycles[again.tracks.curves[0][2]] == cycles
    assert {k: v for k, v in states().items() if k != (PATH, 2)} == {k: v for k, v in before.items() if k != (PATH, 2)}
    pose(rig, 11)
    shown = rig.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones["Arm"].rotation_quaternion[2]
    assert shown == 0.5


def test_a_key_inserted_by_hand_has_the_defaults_of_a_made_one(rig):
    fcurves = build.fcurves_of(rig.animation_data.action)
    by_hand = fcurves.find(PATH, index=0).keyframe_points.insert(41, 0)
    defaults = (by_hand.easing, by_hand.back, by_hand.amplitude, by_hand.period)
    record = one()
    write.write_clip(record, with_key_inserted(record.clip, int(record.clip.tracks.curves[0][1]), 1, 15.0, 0.25))
    made = fcurves.find(PATH, index=1).keyframe_points[2]
    assert (made.easing, made.back, made.amplitude, made.period) == defaults


def test_rotation_mode_is_set_on_every_user(rig):
    other = build.make_rig("Other", ["Arm"], mode="XYZ")
    rig.pose.bones["Arm"].rotation_mode = "XYZ"
    build.assign(other.animation_data_create(), rig.animation_data.action)
    stranger = build.make_rig("Stranger", ["Arm"], mode="XYZ")
    record = one()
    assert record.clip.tracks.modes == (("XYZ",),)
    after = replace(record.clip, tracks=replace(record.clip.tracks, modes=(("QUATERNION",),)))
    assert write.write_clip(record, after) == write.Written(modes_set=2)
    assert [ob.pose.bones["Arm"].rotation_mode for ob in (rig, other, stranger)] == ["QUATERNION", "QUATERNION", "XYZ"]
    assert not write.write_clip(read.read_again(record), after)


def test_what_must_not_be_written_is_refused_whole(rig):
    fcurves = build.fcurves_of(rig.animation_data.action)
    fcurves.find(PATH, index=3).lock = True
    before, record = states(), one()
    with pytest.raises(RefusedError, match="the curve is locked"):
        write.write_clip(record, negated(record.clip, 1))
    assert states() == before  # the three that are not locked neither
    co = record.clip.curves.co.copy()
    co[record.clip.curves.offsets[0] + 1, 1] = np.nan
    with pytest.raises(RefusedError, match="not finite at frame 11"):
        write.write_clip(record, edited(record.clip, co=co))
    assert states() == before


def test_a_nan_that_was_there_does_not_stop_other_keys(rig):
    fcurve = build.fcurves_of(rig.animation_data.action).find(PATH, index=0)
    co = np.empty(8, "f4")
    fcurve.keyframe_points.foreach_get("co", co)
    co[7] = np.nan
    fcurve.keyframe_points.foreach_set("co", co)
    record = one()
    assert write.write_clip(record, negated(record.clip, 1)).curves_changed == 4
    values = [k.co[1] for k in fcurve.keyframe_points]
    assert values[1] == pytest.approx(0.9) and np.isnan(values[3])


def test_stale_records_are_refused(rig):
    record = one()
    fcurve = build.fcurves_of(rig.animation_data.action).find(PATH, index=0)
    fcurve.keyframe_points.insert(50, 1)
    before = states()
    with pytest.raises(GoneError, match="changed since it was read"):
        write.write_clip(record, negated(record.clip, 1))
    assert states() == before


def test_a_linked_action_is_never_written(rig, tmp_path):
    open.save_blend(tmp_path / "library.blend", compress=False)
    open.new_file()
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, into):
        into.objects = ["Rig"]
    record = one()
    assert record.clip.users == ("Rig",)
    with pytest.raises(RefusedError, match=r"linked from library\.blend"):
        write.write_clip(record, negated(record.clip, 1))
    with pytest.raises(RefusedError, match=r"linked from library\.blend"):
        write.write_clip(record, added(record.clip, "rotation_euler", 0, np.array([(1, 0)], "f4")))
    after = replace(record.clip, tracks=replace(record.clip.tracks, modes=(("XYZ",),)))
    written = write.write_clip(record, after)
    assert written.modes_set == 0 and written.skipped == (
        (PATH, "“Rig” is linked: its rotation mode stays QUATERNION"),
    )


def test_second_slot_is_written_and_the_first_left_alone():
    if not build.has_slots():
        return
    for name in ("Rig", "Prop"):
        rig = build.make_rig(name, ["Arm"])
        for component in range(4):
            build.make_curve(build.make_fcurves("A", name), PATH, component, FRAMES, QUATERNIONS[:, component])
        build.assign(rig.animation_data_create(), bpy.data.actions["A"], name)
    first, second = read.read_file()
    assert write.write_clip(second, negated(second.clip, 1)).curves_changed == 4
    assert read.read_again(first).clip.curves.co.tobytes() == first.clip.curves.co.tobytes()
    np.testing.assert_array_equal(read.read_again(second).clip.curves.co, negated(second.clip, 1).curves.co)


def test_other_data_is_written_too():
    material = bpy.data.materials.new("Red")
    material.keyframe_insert("diffuse_color", frame=1)
    record = one()
    co = record.clip.curves.co.copy()
    co[2, 1] = 0.25
    assert write.write_clip(record, edited(record.clip, co=co)).curves_changed == 1
    assert read.read_again(record).clip.curves.co[2, 1] == 0.25


def test_a_handle_that_moved_without_its_key_is_free(rig):
    """Blender would put an automatic one back at the next edit. What moved with its key stays as it is."""
    record = one()
    clip = negated(record.clip, 2)
    curve = int(clip.tracks.curves[0][1])
    right = clip.curves.handle_right.copy()
    right[clip.curves.offsets[curve] + 1, 1] += 0.25
    write.write_clip(record, edited(clip, handle_right=right))
    fcurves = build.fcurves_of(bpy.data.actions[0])
    kinds = [
        [(k.handle_left_type, k.handle_right_type) for k in fcurves.find(PATH, index=i).keyframe_points] for i in (0, 1)
    ]
    automatic, free = ("AUTO_CLAMPED", "AUTO_CLAMPED"), ("FREE", "FREE")
    assert kinds == [[automatic] * 4, [automatic, free, *[automatic] * 2]]
    fcurve = fcurves.find(PATH, index=1)
    was = tuple(fcurve.keyframe_points[1].handle_right)
    fcurve.update()  # as any edit of the artist would
    assert tuple(fcurve.keyframe_points[1].handle_right) == pytest.approx(was)
