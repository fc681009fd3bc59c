# SPDX-License-Identifier: GPL-3.0-or-later
"""Forward kinematics of the comparison against Blender itself: both actions are played, heads and tails compared."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import posed_rig, read
from quat_audit.comparison.angles import Channel, rotations
from quat_audit.comparison.kinematics import replace_rotations
from quat_audit.motion.clip import EULER_ORDERS
from quat_audit.rotation.quaternion import to_matrix
from tests.blender import build_case as build

MODES = ("QUATERNION", *EULER_ORDERS, "AXIS_ANGLE")
PROPERTIES = {"QUATERNION": ("rotation_quaternion", 4), "AXIS_ANGLE": ("rotation_axis_angle", 4)}
FRAMES = (1.0, 4.0, 11.0)
# Frames between keys among them; exactly what the timeline can stand on.
TIMES = np.array([1.0, 1.25, 2.5, 3.75, 4.0, 6.125, 8.5, 11.0])


@pytest.fixture(autouse=True)
def _empty():
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def make_rig(rng: np.random.Generator, modes: list[str]):
    """A tree of bones of all lengths, directions and rolls, in an object that is turned, scaled and moved."""
    data = bpy.data.armatures.new("Rig")
    rig = bpy.data.objects.new("Rig", data)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    made = []
    for number in range(len(modes)):
        bone = data.edit_bones.new(f"Bone {number}")
        parent = made[rng.integers(max(0, number - 3), number)] if number else None
        head = (
            rng.normal(size=3) if parent is None else np.array(parent.tail) + rng.choice([0.0, 0.3]) * _direction(rng)
        )
        bone.head, bone.tail = head, head + (0.3 + rng.random()) * _direction(rng)
        bone.roll = rng.uniform(-3, 3)
        bone.parent = parent
        made.append(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone, mode in zip(rig.pose.bones, modes, strict=True):
        bone.rotation_mode = mode
        bone.location = 0.2 * rng.normal(size=3)
    rig.location, rig.rotation_euler, rig.scale = rng.normal(size=3), rng.normal(size=3), (1.5, 0.5, -2.0)
    return rig


def _direction(rng: np.random.Generator) -> np.ndarray:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def key_all(rng: np.random.Generator, name: str, rig, like=None, only: tuple[str, ...] = ()) -> None:
    """An action that keys every bone's rotation at random; as in `like` but for the bones `only`."""
    fcurves = build.make_fcurves(name, "Rig")
    for bone in rig.pose.bones:
        prop, width = PROPERTIES.get(bone.rotation_mode, ("rotation_euler", 3))
        path = f'pose.bones["{bone.name}"].{prop}'
        for index in range(width):
            kind = ("BEZIER", "LINEAR", "CONSTANT")[rng.integers(3)]
            values = 2.0 * rng.normal(size=len(FRAMES))
            if like is not None and bone.name not in only:
                old = next(c for c in build.fcurves_of(like) if (c.data_path, c.array_index) == (path, index))
                values, kind = [k.co[1] for k in old.keyframe_points], old.keyframe_points[0].interpolation
            build.make_curve(fcurves, path, index, FRAMES, values, kind)


def heads_and_tails(rig, times: np.ndarray) -> np.ndarray:
    """(frames, bones, 2, 3) in the world, as Blender poses them."""
    found = []
    for time in times:
        bpy.context.scene.frame_set(int(np.floor(time)), subframe=float(time % 1.0))
        seen = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        found.append([[seen.matrix_world @ b.head, seen.matrix_world @ b.tail] for b in seen.pose.bones])
    return np.array(found)


def predicted(posed, pose: np.ndarray) -> np.ndarray:
    world = posed.world[:, None] @ pose
    tails = world[..., :3, 3] + world[..., :3, 1] * posed.rig.lengths[:, None]
    return np.stack([world[..., :3, 3], tails], axis=2)


def play(rig, name: str):
    if rig.animation_data is None:
        rig.animation_data_create()
    build.assign(rig.animation_data, bpy.data.actions[name])
    (record,) = read.read_action(bpy.data.actions[name])
    return record.clip


def check(rig, seed: int, turned: tuple[str, ...], tolerance: float = 1e-4) -> None:
    rng = np.random.default_rng(seed)
    key_all(rng, "Before", rig)
    key_all(rng, "After", rig, bpy.data.actions["Before"], turned)
    after = play(rig, "After")
    expected = heads_and_tails(rig, TIMES)
    before = play(rig, "Before")
    was = heads_and_tails(rig, TIMES)
    bpy.context.scene.frame_set(7, subframe=0.5)
    seen = posed_rig.evaluate(rig, TIMES, as_rig=True)
    assert bpy.context.scene.frame_current_final == 7.5
    paths = {c.data_path.split('"')[1]: c.data_path for c in build.fcurves_of(bpy.data.actions["Before"])}

    def posed(clip) -> np.ndarray:
        replaced = {}
        for name in turned:
            quats = rotations(clip, Channel(paths[name], name), TIMES)
            replaced[seen.rig.names.index(name)] = to_matrix(quats)
        return predicted(seen, replace_rotations(seen, replaced))

    size = np.ptp(was.reshape(-1, 3), axis=0).max()
    assert np.abs(was - expected).max() > 0.1 * size  # the two really differ
    assert np.abs(posed(before) - was).max() < tolerance * size
    assert np.abs(posed(after) - expected).max() < tolerance * size


@pytest.mark.parametrize("mode", MODES)
def test_a_chain_in_one_mode(mode: str) -> None:
    seed = MODES.index(mode)
    rig = make_rig(np.random.default_rng(100 + seed), [mode] * 5)
    check(rig, seed, ("Bone 1", "Bone 2"))


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_in_all_modes(seed: int) -> None:
    rng = np.random.default_rng(200 + seed)
    rig = make_rig(rng, rng.permutation(MODES).tolist() * 2)
    check(rig, seed, tuple(f"Bone {n}" for n in (0, 1, 3, 6)))


@pytest.mark.parametrize("inherit_scale", ["FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY"])
def test_inheritance_of_scale(inherit_scale: str) -> None:
    rng = np.random.default_rng(300)
    rig = make_rig(rng, ["QUATERNION", "XZY", "QUATERNION", "AXIS_ANGLE", "ZYX", "YXZ"])
    for bone in rig.pose.bones:
        bone.scale = [float(rng.uniform(0.6, 1.6))] * 3
        bone.bone.inherit_scale = inherit_scale
    check(rig, 300, ("Bone 0", "Bone 2"))


def test_uneven_scale_of_the_bones_themselves() -> None:
    rng = np.random.default_rng(301)
    rig = make_rig(rng, ["QUATERNION", "XZY", "QUATERNION", "AXIS_ANGLE", "ZYX", "YXZ"])
    for bone in rig.pose.bones:
        bone.scale = rng.uniform(0.5, 1.5, size=3) * rng.choice([-1.0, 1.0], size=3)
    check(rig, 301, ("Bone 0", "Bone 2"))


def test_rotation_and_location_that_are_not_inherited() -> None:
    rng = np.random.default_rng(302)
    rig = make_rig(rng, [*MODES, *MODES])
    for number, bone in enumerate(rig.pose.bones):
        bone.bone.use_inherit_rotation = number % 2 == 0
        bone.bone.use_local_location = number % 3 != 0
    check(rig, 302, ("Bone 0", "Bone 1", "Bone 4"))
