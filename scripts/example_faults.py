# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of the examples: each takes the clean walk and spoils it in the one way that one rule is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import example_skin_faults as skin
import numpy as np
from example_walk import (
    CAMERA,
    LINEAR,
    PROP,
    RIG,
    Curve,
    Floats,
    Scene,
    camera_angles,
    euler_to_quaternion,
    group,
    rotation,
)


@dataclass(frozen=True)
class Example:
    """A broken file: the rule it is for, the formats that can hold the fault, and the fault.

    `also` are rules that find what the fault does to the body, which is no other fault. `since` is the first Blender
    whose files can hold the fault.
    """

    name: str
    code: str
    says: str
    formats: tuple[str, ...]
    spoil: Callable[[Scene], Scene]
    also: tuple[str, ...] = ()
    since: tuple[int, int] = (4, 2)


def _edit(scene: Scene, bone: str, prop: str, change: Callable[[Curve], Curve | None], owner: str = RIG) -> Scene:
    """The scene with each curve of one property changed, or left out where the change gives None."""
    curves = [change(c) if (c.owner, c.bone, c.prop) == (owner, bone, prop) else c for c in scene.curves]
    return replace(scene, curves=tuple(c for c in curves if c is not None))


def _set(scene: Scene, bone: str, values: Callable[[Curve], Floats]) -> Scene:
    return _edit(scene, bone, "rotation_quaternion", lambda c: replace(c, values=values(c)))


def _regroup(scene: Scene, curves: list[Curve]) -> Scene:
    """The scene with the curves of one property replaced."""
    key = (curves[0].owner, curves[0].bone, curves[0].prop)
    return replace(scene, curves=tuple(c for c in scene.curves if (c.owner, c.bone, c.prop) != key) + tuple(curves))


def non_finite_key(scene: Scene) -> Scene:
    return _set(scene, "Forearm.L", lambda c: np.where((c.frames == 13) & (c.index == 0), np.nan, c.values))


def zero_length_quaternion(scene: Scene) -> Scene:
    return _set(scene, "Shin.R", lambda c: np.where(c.frames == 21, 0.0, c.values))


def non_unit_quaternion(scene: Scene) -> Scene:
    """A run of keys that a careless blend baked at half their length."""

    def halve(curve: Curve) -> Curve:
        values = np.where((curve.frames >= 17) & (curve.frames <= 33), 0.5 * curve.values, curve.values)
        return replace(curve, values=values, interpolation=LINEAR)

    return _edit(scene, "Thigh.L", "rotation_quaternion", halve)


def sign_flip(scene: Scene) -> Scene:
    """A whole run negated from frame 17 on, and one key by itself on another bone."""
    scene = _set(scene, "Thigh.L", lambda c: np.where(c.frames >= 17, -c.values, c.values))
    return _set(scene, "Arm.R", lambda c: np.where(c.frames == 25, -c.values, c.values))


def collapsing_interpolation(scene: Scene) -> Scene:
    """Handles that pull w through zero between frames 21 and 25."""

    def pull(curve: Curve) -> Curve:
        frames, values = curve.frames, curve.values
        step, rise = np.diff(frames, append=frames[-1] + 4) / 3, np.diff(values, append=values[-1:]) / 3
        right = np.stack([frames + step, values + rise], axis=1)
        left = np.stack([frames - np.roll(step, 1), values - np.roll(rise, 1)], axis=1)
        left[0] = frames[0] - 4 / 3, values[0]
        if curve.index == 0:
            # A Bézier segment passes its middle at (a + 3 h + 3 h + b) / 8 for two handles at the height h.
            a, b = np.flatnonzero(frames == 21)[0], np.flatnonzero(frames == 25)[0]
            height = (8 * -0.02 - values[a] - values[b]) / 6
            right[a, 1] = left[b, 1] = height
        return replace(curve, handles=(left, right))

    return _edit(scene, "Spine", "rotation_quaternion", pull)


def half_turn_step(scene: Scene) -> Scene:
    """A forearm that turns over by exactly half a turn from one key to the next, and back."""
    frames = np.array([1.0, 13.0, 25.0, 37.0, 49.0])
    values = np.repeat([[1.0, 0.0, 0.0, 0.0]], len(frames), axis=0)
    values[2] = 0, 0, 1, 0
    return _regroup(scene, group(RIG, "Forearm.R", "rotation_quaternion", frames, values, LINEAR))


def euler_wraparound(scene: Scene) -> Scene:
    """A camera that pans across ±180° with a key every other frame, stored within ±180°."""
    frames = np.arange(1.0, 50.0, 2.0)
    pan = 180 + 30 * np.sin(2 * np.pi * (frames - 1) / 48)
    wrapped = (pan + 180) % 360 - 180
    return _regroup(scene, group(CAMERA, "", "rotation_euler", frames, camera_angles(frames, wrapped), LINEAR))


def full_turn(scene: Scene) -> Scene:
    """0 → 360 → 720 degrees in two steps: meant, but lost in any format of quaternions."""
    spin = np.zeros((3, 3))
    spin[:, 2] = 0, 2 * np.pi, 4 * np.pi
    return _regroup(scene, group(PROP, "", "rotation_euler", np.array([1.0, 25.0, 49.0]), spin, LINEAR))


def long_way_round(scene: Scene) -> Scene:
    """A prop tipped over its own middle axis: two angles turn by 90° and nearly cancel each other."""
    tipped = np.radians([[-44.9, 60.0, -44.9], [44.9, 120.0, 44.9], [-44.9, 60.0, -44.9]])
    return _regroup(scene, group(PROP, "", "rotation_euler", np.array([1.0, 25.0, 49.0]), tipped, LINEAR))


def axis_angle_detour(scene: Scene) -> Scene:
    """A prop that turns on past 360°, stored within a turn, and whose axis a converter turned over for a while."""
    frames = np.arange(1.0, 50.0, 4.0)
    turned = np.radians(300 + 10 * np.arange(len(frames)))
    values = np.column_stack([turned % (2 * np.pi), np.zeros((len(frames), 2)), np.ones(len(frames))])
    values[3:6] *= -1
    scene = replace(scene, curves=tuple(c for c in scene.curves if c.owner != PROP))
    scene = replace(scene, modes=scene.modes | {(PROP, ""): "AXIS_ANGLE"})
    return _regroup(scene, group(PROP, "", "rotation_axis_angle", frames, values, LINEAR))


def ignored_rotation_channel(scene: Scene) -> Scene:
    """A bone switched to Euler angles after its quaternions were keyed: it no longer moves."""
    return replace(scene, modes=scene.modes | {(RIG, "Shin.L"): "XYZ"})


def missing_component(scene: Scene) -> Scene:
    """The curve of x was deleted; the pose has a stored x that stays in force."""
    scene = _edit(scene, "Arm.L", "rotation_quaternion", lambda c: None if c.index == 1 else c)
    return replace(scene, pose=scene.pose | {(RIG, "Arm.L"): (1.0, 0.35, 0.0, 0.0)})


def misaligned_components(scene: Scene) -> Scene:
    """An arm that circles, with every other key of z cleaned away: between those the arm is where nobody put it."""
    frames = np.arange(1.0, 50.0, 6.0)
    p = 2 * np.pi * (frames - 1) / 24
    circle = euler_to_quaternion(np.radians(np.stack([-24 * np.sin(p), 0 * p, 30 * np.cos(p)], axis=1)))
    curves = group(RIG, "Arm.L", "rotation_quaternion", frames, circle)
    curves[3] = replace(curves[3], frames=frames[::2], values=curves[3].values[::2])
    return _regroup(scene, curves)


def duplicate_rotation_channels(scene: Scene) -> Scene:
    """The prop is turned by its rotation and by its delta rotation at once."""
    frames = np.array([1.0, 25.0, 49.0])
    swing = np.zeros((3, 3))
    swing[1, 0] = 0.5
    return replace(scene, curves=scene.curves + tuple(group(PROP, "", "delta_rotation_euler", frames, swing)))


def orphan_channel(scene: Scene) -> Scene:
    """Keys of a bone that the rig no longer has."""
    frames = np.arange(1.0, 50.0, 4.0)
    tail = group(RIG, "Tail", "rotation_quaternion", frames, rotation("Spine", frames))
    return replace(scene, curves=scene.curves + tuple(tail))


def action_without_slot(scene: Scene) -> Scene:
    """The prop has its action, assigned by a script from before Blender 4.4."""
    return replace(scene, without_slot=frozenset([PROP]))


def ignored_location_channel(scene: Scene) -> Scene:
    """A shin that is to slide by 5 cm, connected to its thigh."""
    frames = np.array([1.0, 25.0, 49.0])
    slide = np.zeros((3, 3))
    slide[1, 1] = 0.05
    curves = scene.curves + tuple(group(RIG, "Shin.L", "location", frames, slide))
    return replace(scene, curves=curves, connected=frozenset(["Shin.L"]))


def unordered_key_times(scene: Scene) -> Scene:
    """One key stands on the time of the one before, two others are swapped."""

    def disorder(curve: Curve) -> Curve:
        frames = curve.frames.copy()
        frames[3] = frames[2]
        frames[[7, 8]] = frames[[8, 7]]
        return replace(curve, frames=frames, interpolation=LINEAR)

    return _edit(scene, "Foot.L", "rotation_quaternion", disorder)


def tangent_overshoot(scene: Scene) -> Scene:
    """The camera tilts by 8° and holds; the handles of the hold go on rising."""
    frames, tilt = np.array([1.0, 25.0, 49.0]), np.zeros((3, 3))
    tilt[1:, 0] = np.radians(8)
    curves = group(CAMERA, "", "rotation_euler", frames, camera_angles(frames, np.zeros(3)) + tilt)
    left, right = (np.stack([frames, curves[0].values], axis=1) for _ in range(2))
    left[:, 0] -= 8
    right[:, 0] += 8
    right[1, 1] += np.radians(20)
    left[2, 1] += np.radians(20)
    curves[0] = replace(curves[0], handles=(left, right))
    return _regroup(scene, curves)


BLEND, GLB, BVH = "blend", "glb", "bvh"

EXAMPLES = (
    Example("non_finite_key", "QA101", "a key without a number", (BLEND, GLB, BVH), non_finite_key),
    Example("zero_length_quaternion", "QA102", "a key (0, 0, 0, 0)", (BLEND, GLB), zero_length_quaternion),
    Example("non_unit_quaternion", "QA103", "a run of keys of length 0.5", (BLEND, GLB), non_unit_quaternion),
    Example("sign_flip", "QA104", "keys negated", (BLEND, GLB), sign_flip),
    Example(
        "collapsing_interpolation", "QA105", "handles through zero", (BLEND, GLB), collapsing_interpolation, ("QA605",)
    ),
    Example("half_turn_step", "QA106", "180° from key to key", (BLEND, GLB), half_turn_step, ("QA605",)),
    Example("euler_wraparound", "QA201", "a pan across ±180°", (BLEND, BVH), euler_wraparound),
    Example("full_turn", "QA203", "0 → 360 → 720 in two steps", (BLEND,), full_turn),
    Example("long_way_round", "QA204", "a detour by the order of the axes", (BLEND,), long_way_round),
    Example("axis_angle_detour", "QA205", "10° after 350°, an axis turned over", (BLEND,), axis_angle_detour),
    Example("ignored_rotation_channel", "QA301", "the mode does not play it", (BLEND,), ignored_rotation_channel),
    Example("missing_component", "QA302", "no curve for x", (BLEND,), missing_component),
    Example("misaligned_components", "QA303", "z has fewer keys than w, x, y", (BLEND,), misaligned_components),
    Example("duplicate_rotation_channels", "QA304", "rotation and delta", (BLEND, GLB), duplicate_rotation_channels),
    Example("orphan_channel", "QA305", "keys of a deleted bone", (BLEND,), orphan_channel),
    Example("action_without_slot", "QA307", "an action without its slot", (BLEND,), action_without_slot, since=(4, 4)),
    Example("ignored_location_channel", "QA308", "a connected bone", (BLEND,), ignored_location_channel),
    Example("unordered_key_times", "QA401", "times not rising", (BLEND, GLB), unordered_key_times),
    Example("tangent_overshoot", "QA403", "handles beyond a hold", (BLEND,), tangent_overshoot),
    Example("unweighted_vertex", "QA601", "a head without weights", (BLEND,), skin.unweighted_vertex),
    Example("weights_not_normalised", "QA602", "a foot at 80 %", (BLEND,), skin.weights_not_normalised),
    Example("too_many_influences", "QA603", "five bones on one vertex", (BLEND,), skin.too_many_influences),
    Example("group_without_bone", "QA604", "the group of a deleted bone", (BLEND,), skin.group_without_bone),
    Example("volume_collapse", "QA605", "a twisted elbow", (BLEND,), skin.volume_collapse),
    Example("preserve_volume_lost", "QA606", "Preserve Volume is on", (BLEND,), skin.preserve_volume_lost),
    Example("scaled_dual_quaternion", "QA607", "a squashed head", (BLEND,), skin.scaled_dual_quaternion, ("QA606",)),
    Example("bad_weight", "QA608", "a weight that is no number", (BLEND,), skin.bad_weight),
)
