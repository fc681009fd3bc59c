# SPDX-License-Identifier: GPL-3.0-or-later
"""Safe means safe for all who play the keys, by Blender's own evaluation.

Random actions with one to four random readers are built, saved and posed as each reader plays them; then the safe fixes
are made, and the file is saved, loaded and posed again. No maths of the package is used: a pose is what Blender shows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import open, read, write
from tests.blender import build_case as build
from tests.clips import random_quaternions
from tests.judging import repair_clip

pytestmark = pytest.mark.slow

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
MODES = ("QUATERNION", *ORDERS, "AXIS_ANGLE")
# What a safe fix may move a keyed pose by, and what a pose of Blender's (float32 matrices) is good to.
MOVED_DEG, POSE_DEG = 1e-4, 5e-5
LAST = 1.0  # the control bone's way through an Action constraint

Pose = dict[tuple[int, float, str, str], np.ndarray]


# Building -----------------------------------------------------------------------------------------


def random_values(rng: np.random.Generator, kind: str, count: int) -> np.ndarray:
    """(N, n) values with the faults that safe fixes are for: flips, wrong lengths, wraps in any order's triples."""
    if kind == "QUATERNION":
        smooth = rng.random() < 0.7
        q = np.cumsum(rng.normal(scale=0.15, size=(count, 4)), axis=0) + np.eye(4)[0]
        values = q / np.linalg.norm(q, axis=1, keepdims=True) if smooth else random_quaternions(rng, count)
        if rng.random() < 0.7:
            values = values * rng.choice([-1.0, 1.0], (count, 1))
        if rng.random() < 0.3:
            values = values * rng.uniform(0.7, 1.4, (count, 1))
        return values
    values = rng.uniform(-math.pi, math.pi, 3) + np.cumsum(rng.normal(scale=0.2, size=(count, 3)), axis=0)
    for row in range(count):
        if rng.random() < 0.3:
            values[row] += 2 * math.pi * rng.integers(-1, 2, 3)
        if rng.random() < 0.25:
            middle = "XYZ".index(rng.choice(ORDERS)[1])
            values[row] += math.pi
            values[row, middle] = 2 * math.pi - values[row, middle]
    return values


def random_curves(rng: np.random.Generator, fcurves: Any, path: str, kind: str, frames: Sequence[float]) -> None:
    """A rotation: all of its components, or without one, or one keyed less often."""
    values = random_values(rng, kind, len(frames))
    parts = list(range(values.shape[1]))
    short = int(rng.integers(len(parts)))
    layout = rng.choice(["whole", "whole", "missing", "misaligned"])
    easing = str(rng.choice(["LINEAR", "BEZIER", "CONSTANT"]))
    for part in parts:
        if part == short and layout == "missing":
            continue
        keep = [0, *(n for n in range(1, len(frames)) if rng.random() < 0.5)]
        rows = keep if part == short and layout == "misaligned" else list(range(len(frames)))
        build.make_curve(fcurves, path, part, [frames[n] for n in rows], values[rows, part], easing)


def random_action(rng: np.random.Generator, name: str, frames: Sequence[float]) -> Any:
    fcurves = build.make_fcurves(name, "Rig")
    kinds = [["QUATERNION"], ["EULER"], ["QUATERNION", "EULER"]][int(rng.integers(3))]
    for head in ('pose.bones["B"].', *([""] if rng.random() < 0.3 else [])):
        for kind in kinds:
            random_curves(rng, fcurves, f"{head}rotation_{kind.lower()}", kind, frames)
    return bpy.data.actions[name]


def random_rig(rng: np.random.Generator, name: str) -> Any:
    rig = build.make_rig(name, ["B", "Control"], str(rng.choice(MODES)))
    rig.rotation_mode = str(rng.choice(MODES))
    for holder in (rig, rig.pose.bones["B"]):
        holder.rotation_quaternion = random_quaternions(rng, 1)[0]
        holder.rotation_euler = rng.uniform(-2, 2, 3)
        holder.rotation_axis_angle = (rng.uniform(-2, 2), *random_quaternions(rng, 1)[0, 1:])
    return rig


def random_strip(rng: np.random.Generator, rig: Any, action: Any, start: int) -> None:
    track = rig.animation_data_create().nla_tracks.new()
    strip = track.strips.new(action.name, start, action)
    if build.LAYERED:
        strip.action_slot = action.slots[0]
    strip.blend_type = str(rng.choice(["REPLACE", "REPLACE", "REPLACE", "COMBINE", "ADD", "SUBTRACT", "MULTIPLY"]))
    strip.extrapolation = str(rng.choice(["HOLD", "HOLD_FORWARD", "NOTHING"]))
    track.mute = rng.random() < 0.4
    strip.mute = rng.random() < 0.15
    if rng.random() < 0.2:
        strip.blend_in = rng.uniform(1, 8)
    if rng.random() < 0.25:
        strip.influence = rng.uniform(0.3, 1.0)
        strip.use_animated_influence = True
        strip.fcurves.find("influence").keyframe_points.insert(1, strip.influence)


def add_constraint(rig: Any, action: Any, frames: Sequence[float]) -> None:
    constraint = rig.pose.bones["B"].constraints.new("ACTION")
    constraint.target, constraint.subtarget = rig, "Control"
    constraint.transform_channel, constraint.target_space = "LOCATION_X", "LOCAL"
    constraint.min, constraint.max = 0, LAST
    constraint.frame_start, constraint.frame_end = int(frames[0]), int(frames[-1])
    build.assign(constraint, action)
    if not build.LAYERED:  # there a constraint finds the curves of its bone by the name of their group
        group = action.groups.get("B") or action.groups.new("B")
        for curve in action.fcurves:
            if curve.data_path.startswith("pose.bones"):
                curve.group = group


def add_driver(rng: np.random.Generator, rig: Any, number: int) -> None:
    driven = bpy.data.objects.new(f"Driven{number}", None)
    bpy.context.scene.collection.objects.link(driven)
    driver = driven.driver_add("rotation_euler", 0).driver
    driver.type, driver.expression = "SCRIPTED", "v * 0.3"
    variable = driver.variables.new()
    variable.name = "v"
    target = variable.targets[0]
    if rng.random() < 0.3 and rig.pose.bones["B"].rotation_mode in ORDERS:
        variable.type = "TRANSFORMS"
        target.id, target.bone_target = rig, "B"
        target.transform_type, target.transform_space = str(rng.choice(["ROT_X", "ROT_Y", "ROT_Z"])), "LOCAL_SPACE"
        return
    paths = sorted({curve.data_path for curve in build.fcurves_of(bpy.data.actions["Shared"])})
    path = paths[int(rng.integers(len(paths)))].replace('["B"]', str(rng.choice(['["B"]', "[0]"])))
    letters = "wxyz" if "quaternion" in path else "xyz"
    part = int(rng.integers(len(letters)))
    end = str(rng.choice([f"[{part}]", f".{letters[part]}"]))
    variable.type = "SINGLE_PROP"
    target.id, target.data_path = rig, path + end


def build_random(seed: int) -> list[float]:
    """A file of one to four readers of an action, some with another action beside it; returns the frames of keys."""
    rng = np.random.default_rng(seed)
    gap = float(rng.choice([2, 2, 5]))
    frames = [1.0 + gap * n for n in range(int(rng.integers(3, 7)))]
    shared = random_action(rng, "Shared", frames)
    rigs = [random_rig(rng, name) for name in ("RigA", "RigB")[: int(rng.integers(1, 3))]]
    for number in range(int(rng.integers(1, 5))):
        rig = rigs[int(rng.integers(len(rigs)))]
        route = rng.choice(["active", "strip", "strip", "constraint", "driver"], p=[0.25, 0.25, 0.15, 0.15, 0.2])
        if route == "active":
            build.assign(rig.animation_data_create(), shared)
        elif route == "constraint":
            add_constraint(rig, shared, frames)
        elif route == "driver":
            add_driver(rng, rig, number)
        else:
            if rng.random() < 0.5:
                random_strip(rng, rig, random_action(rng, f"Beside{number}", frames), 1)
            random_strip(rng, rig, shared, 1)
    for rig in rigs:
        data = rig.animation_data
        if data is not None and data.action is not None and len(data.nla_tracks) and rng.random() < 0.3:
            data.action_influence = rng.uniform(0.4, 1.0)
    return frames


# Posing -------------------------------------------------------------------------------------------


AS_IT_IS, ALL_ON, ALL_STRIPS = range(3)


def arranged(path: Path, arrangement: int) -> bool:
    """Open a file and arrange it as some of its readers are played; False when there are no more arrangements.

    As it is; all strips on, with and without the active action; each track by itself.
    """
    open.open_blend(path)
    if arrangement == AS_IT_IS:
        return True
    stacks = [obj.animation_data for obj in bpy.data.objects if obj.animation_data is not None]
    tracks = [track for data in stacks for track in data.nla_tracks]
    for track in tracks:
        track.mute = False
        for strip in track.strips:
            strip.mute = False
    if arrangement >= ALL_STRIPS:
        for data in stacks:
            data.action = None
    if arrangement > ALL_STRIPS:
        if arrangement - ALL_STRIPS > len(tracks):
            return False
        tracks[arrangement - ALL_STRIPS - 1].is_solo = True
    # A stack that was changed in memory can play stale until it is loaded.
    open.save_blend(path.with_suffix(".arranged.blend"), compress=False)
    open.open_blend(path.with_suffix(".arranged.blend"))
    return bool(tracks)


def poses(path: Path, frames: Sequence[float]) -> Pose:
    """(arrangement, frame, object, bone) → 3x3 rotation of all that moves in a file."""
    found: Pose = {}
    for arrangement in itertools.count():
        if not arranged(path, arrangement):
            return found
        names = sorted(obj.name for obj in bpy.data.objects)
        for frame in frames:
            for name in names:
                if (control := _bone(bpy.data.objects[name], "Control")) is not None:
                    share = (frame - frames[0]) / (frames[-1] - frames[0])
                    control.location = (LAST * share, 0, 0)
            bpy.context.scene.frame_set(int(frame))
            depsgraph = bpy.context.evaluated_depsgraph_get()
            for name in names:
                evaluated = bpy.data.objects[name].evaluated_get(depsgraph)
                found[arrangement, frame, name, ""] = rotation(evaluated.matrix_world)
                if (bone := _bone(evaluated, "B")) is not None:
                    found[arrangement, frame, name, "B"] = rotation(bone.matrix)
    raise AssertionError


def _bone(obj: Any, name: str) -> Any:
    return obj.pose.bones.get(name) if obj.pose is not None else None


def rotation(matrix: Any) -> np.ndarray:
    return np.array(matrix.to_3x3().normalized(), dtype=np.float64)


def turn_deg(a: np.ndarray, b: np.ndarray) -> float:
    """Degrees between two rotations, exact for small ones too."""
    m = a.T @ b
    sine = math.sqrt((m[2, 1] - m[1, 2]) ** 2 + (m[0, 2] - m[2, 0]) ** 2 + (m[1, 0] - m[0, 1]) ** 2) / 2
    return math.degrees(math.atan2(sine, (np.trace(m) - 1) / 2))


def largest_value() -> float:
    curves = [curve for action in bpy.data.actions for curve in build.fcurves_of(action)]
    return max((abs(key.co[1]) for curve in curves for key in curve.keyframe_points), default=1.0)


# The promise --------------------------------------------------------------------------------------


def check(seed: int, folder: Path) -> int:
    """Build, pose, fix, pose again; returns how many clips a safe fix changed."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    frames = build_random(seed)
    before, after = folder / f"{seed}.blend", folder / f"{seed}_fixed.blend"
    open.save_blend(before, compress=False)
    was = poses(before, frames)
    open.open_blend(before)
    cost = math.degrees(4 * np.finfo(np.float32).eps * max(largest_value(), 1.0))
    changed = 0
    for record in read.read_file():
        repair = repair_clip(record.clip)
        changed += bool(write.write_clip(record, repair.subject))
    open.save_blend(after, compress=False)
    now = poses(after, frames)
    assert was.keys() == now.keys()
    moved = {key: turn_deg(was[key], now[key]) for key in was}
    worst = max(moved, key=lambda key: moved[key])
    assert moved[worst] <= max(MOVED_DEG, cost) + POSE_DEG, f"seed {seed}: {worst} moved by {moved[worst]:.5f}°"
    return changed


@pytest.mark.parametrize("first", [20, 30])
def test_no_reader_of_a_key_moves(first: int, tmp_path: Path) -> None:
    changed = [check(seed, tmp_path) for seed in range(first, first + 10)]
    assert sum(count > 0 for count in changed) >= 3  # and fixes there are
