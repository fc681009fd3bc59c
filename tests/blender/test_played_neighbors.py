# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighbors of the cases that somebody reported: dead channels and modes that contend, and what is drawn of a flip."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import open, read, write
from quat_audit.findings.finding import Finding
from tests.blender import build_case as build
from tests.blender import scene_poses as scene
from tests.clips import about
from tests.judging import audit_clip, repair_clip

FRAMES = (1.0, 11.0, 21.0)
SWING = (0, 80, 0)
# Property → values of the swing.
VALUES: dict[str, list[list[float]]] = {
    "quaternion": [about("Z", degrees) for degrees in SWING],
    "euler": [[0.0, 0.0, math.radians(degrees)] for degrees in SWING],
    "axis_angle": [[math.radians(degrees), 0.0, 0.0, 1.0] for degrees in SWING],
}


def empty(mode: str) -> Any:
    obj = bpy.data.objects.new("Obj", None)
    bpy.context.scene.collection.objects.link(obj)
    obj.rotation_mode = mode
    return obj


def keyed(action: str, prop: str, bone: str = "", slot: str = "Obj") -> Any:
    """The swing on one rotation property of a bone or object."""
    kind = prop.removeprefix("delta_").removeprefix("rotation_")
    path = f'pose.bones["{bone}"].{prop}' if bone else prop
    for part in range(len(VALUES[kind][0])):
        curves = build.make_fcurves(action, slot)
        build.make_curve(curves, path, part, FRAMES, [value[part] for value in VALUES[kind]])
    return bpy.data.actions[action]


def found(*codes: str) -> list[Finding]:
    return [f for r in read.read_file() for f in audit_clip(r.clip) if f.code in codes]


def swings(name: str = "Obj", bone: str = "") -> float:
    first, middle = scene.matrices([(name, bone)], FRAMES[:2])[0]
    return float(scene.angle_deg(first, middle))


# Channels of one object ---------------------------------------------------------------------------

DELTA_Q, DELTA_E = "delta_rotation_quaternion", "delta_rotation_euler"
Q, E, A = "rotation_quaternion", "rotation_euler", "rotation_axis_angle"
# (mode, what is keyed, codes and severities, which of them plays by Blender's evaluation)
CHANNELS = [
    ("QUATERNION", (DELTA_Q,), [], 80),
    ("QUATERNION", (DELTA_E,), [("QA301", "error")], 0),
    ("AXIS_ANGLE", (DELTA_Q,), [("QA301", "error")], 0),
    ("AXIS_ANGLE", (DELTA_E,), [("QA301", "error")], 0),
    ("ZYX", (DELTA_E,), [], 80),
    ("ZYX", (DELTA_Q,), [("QA301", "error")], 0),
    ("XYZ", (E, DELTA_E), [("QA304", "warning")], 160),
    ("QUATERNION", (Q, DELTA_Q), [("QA304", "warning")], 160),
    ("XYZ", (Q, DELTA_E), [("QA301", "error")], 80),
    ("XYZ", (Q, E), [("QA301", "note")], 80),
    ("XYZ", (A, E), [("QA301", "note")], 80),
    ("AXIS_ANGLE", (A,), [], 80),
    ("QUATERNION", (A,), [("QA301", "error")], 0),
]


@pytest.mark.parametrize("mode, props, expected, degrees", CHANNELS)
def test_channels_that_play_and_that_do_not(mode: str, props: Any, expected: Any, degrees: float) -> None:
    obj = empty(mode)
    for prop in props:
        build.assign(obj.animation_data_create(), keyed("A", prop))
    assert swings() == pytest.approx(degrees, abs=0.01)
    assert [(f.code, f.severity) for f in found("QA301", "QA304")] == expected


# Modes that contend -------------------------------------------------------------------------------


def rig_with(mode: str, name: str = "Rig") -> Any:
    return build.make_rig(name, ["B"], mode)


def stash(rig: Any, action: Any, *, muted: bool, start: int = 1) -> None:
    track = rig.animation_data_create().nla_tracks.new()
    made = track.strips.new(action.name, start, action)
    if build.LAYERED:
        made.action_slot = action.slots[0]
    track.mute = muted


def contend(kind: str) -> tuple[str, str]:
    """Something plays Euler keys of a bone, something else has quaternion keys; (object, bone) that plays."""
    rig = rig_with("XYZ")
    dead, plays = keyed("Dead", Q, "B", "Rig"), keyed("Plays", E, "B", "Rig")
    if kind == "stashed beside the active action":
        stash(rig, dead, muted=True)
        build.assign(rig.animation_data_create(), plays)
    elif kind == "a strip below the active action":
        stash(rig, dead, muted=False)
        build.assign(rig.animation_data_create(), plays)
    elif kind == "the active action over a stash":
        stash(rig, plays, muted=True)
        build.assign(rig.animation_data_create(), dead)
        return "Rig", ""
    elif kind == "two strips in a row":
        stash(rig, plays, muted=False)
        stash(rig, dead, muted=False, start=40)
    elif kind == "another rig in the mode of the keys":
        build.assign(rig.animation_data_create(), dead)
        other = rig_with("QUATERNION", "Other")
        build.assign(other.animation_data_create(), dead)
        return "Other", "B"
    elif kind == "an Action constraint":
        build.assign(rig.animation_data_create(), plays)
        build.assign(rig.pose.bones["B"].constraints.new("ACTION"), dead)
    return "Rig", "B"


CONTENDING = [
    "stashed beside the active action",
    "a strip below the active action",
    "the active action over a stash",
    "two strips in a row",
    "another rig in the mode of the keys",
    "an Action constraint",
]


@pytest.mark.parametrize("kind", CONTENDING)
def test_no_fix_kills_what_another_plays(kind: str, tmp_path: Path) -> None:
    """Unsafe fixes keep what plays, give the dead keys nothing to contend for, and come to rest."""
    holder = contend(kind)
    assert found("QA301")
    was = scene.matrices([holder], FRAMES)
    modes = {(o.name, b.name): b.rotation_mode for o in bpy.data.objects for b in o.pose.bones}
    for record in read.read_file():
        write.write_clip(record, repair_clip(record.clip, unsafe=True).subject)
    open.save_blend(tmp_path / "fixed.blend", compress=False)
    open.open_blend(tmp_path / "fixed.blend")
    np.testing.assert_array_less(scene.angle_deg(was, scene.matrices([holder], FRAMES)), 1e-3)
    if kind != "another rig in the mode of the keys":
        assert {(o.name, b.name): b.rotation_mode for o in bpy.data.objects for b in o.pose.bones} == modes
    for record in read.read_file():
        assert repair_clip(record.clip, unsafe=True).subject is record.clip


# What is drawn of a flip --------------------------------------------------------------------------


def flip_in_a_strip(rng: np.random.Generator) -> None:
    gap = float(rng.choice([0.4, 0.8, 1.0, 2.0, 3.0]))
    count, first = 16, int(rng.integers(3, 12))
    times = [1.0 + gap * n for n in range(count)]
    rig = build.make_rig("Rig", ["B"])
    values = [np.array(about("Z", 3.0 * n)) * (1 if n < first else -1) for n in range(count)]
    curves = build.make_fcurves("A", "Rig")
    for part in range(4):
        build.make_curve(curves, 'pose.bones["B"].rotation_quaternion', part, times, [float(v[part]) for v in values])
    which = bpy.data.actions["A"]
    if rng.random() < 0.25:
        build.assign(rig.animation_data_create(), which)
    else:
        stash(rig, which, muted=False)
        strip = rig.animation_data.nla_tracks[0].strips[0]
        strip.scale = float(rng.choice([1 / 3, 0.5, 1.0, 2.0]))
        strip.use_reverse = rng.random() < 0.3
        shift = float(rng.choice([0.0, 0.25, 0.5]))
        start, end = strip.frame_start, strip.frame_end
        strip.frame_end, strip.frame_start = end + shift, start + shift
        strip.extrapolation = "NOTHING"
    old, new = [(100, 100), (100, 100), (100, 400), (200, 100)][int(rng.integers(4))]
    bpy.context.scene.render.frame_map_old, bpy.context.scene.render.frame_map_new = old, new


@pytest.mark.parametrize("seed", range(16))
def test_a_flip_is_visible_where_a_drawn_frame_shows_it(seed: int, tmp_path: Path) -> None:
    """Against Blender: the frames of the scene before and after the repair, which leaves the short way."""
    flip_in_a_strip(np.random.default_rng(seed))
    open.save_blend(tmp_path / "a.blend", compress=False)
    open.open_blend(tmp_path / "a.blend")
    frames = np.arange(-5.0, 400.0)
    was = scene.matrices([("Rig", "B")], frames)
    (record,) = read.read_file()
    (finding,) = [f for f in audit_clip(record.clip) if f.code == "QA104"]
    write.write_clip(record, repair_clip(record.clip).subject)
    open.save_blend(tmp_path / "b.blend", compress=False)
    open.open_blend(tmp_path / "b.blend")
    off = float(scene.angle_deg(was, scene.matrices([("Rig", "B")], frames)).max())
    assert finding.severity == ("error" if off >= 1.0 else "warning"), off
