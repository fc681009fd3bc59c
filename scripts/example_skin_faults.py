# SPDX-License-Identifier: GPL-3.0-or-later
"""The faults of the body's weights and of what poses it, for the skin rules. Only .blend files hold them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from example_walk import RIG, Scene, body_weights, euler_to_quaternion, group

Pairs = tuple[tuple[str, float], ...]


def _reweigh(scene: Scene, bone: str, change: Callable[[Pairs], Pairs]) -> Scene:
    """The weights of every vertex that one bone has, changed."""
    weights = scene.weights or body_weights()
    return replace(
        scene, weights=tuple(change(pairs) if bone in [name for name, _ in pairs] else pairs for pairs in weights)
    )


def unweighted_vertex(scene: Scene) -> Scene:
    """A head without weights."""
    return _reweigh(scene, "Head", lambda pairs: ())


def weights_not_normalised(scene: Scene) -> Scene:
    """A foot painted at 80 %."""
    return _reweigh(scene, "Foot.L", lambda pairs: tuple((name, 0.8 * weight) for name, weight in pairs))


def too_many_influences(scene: Scene) -> Scene:
    """A head that five bones have a part in."""
    spread = (("Head", 0.6), ("Spine", 0.15), ("Hips", 0.1), ("Arm.L", 0.08), ("Arm.R", 0.07))
    return _reweigh(scene, "Head", lambda pairs: spread)


def group_without_bone(scene: Scene) -> Scene:
    """The group of a bone that was deleted."""
    return _reweigh(scene, "Hips", lambda pairs: (*pairs, ("Tail", 0.3)))


def volume_collapse(scene: Scene) -> Scene:
    """A forearm twisted until the elbow is a point."""
    frames = np.arange(1.0, 50.0, 2.0)
    twist = np.zeros((len(frames), 3))
    twist[:, 1] = np.radians(150) * (0.5 - 0.5 * np.cos(2 * np.pi * (frames - 1) / 48))
    forearm = group(RIG, "Forearm.L", "rotation_quaternion", frames, euler_to_quaternion(twist))
    others = tuple(c for c in scene.curves if (c.owner, c.bone, c.prop) != (RIG, "Forearm.L", "rotation_quaternion"))
    return replace(scene, curves=others + tuple(forearm))


def preserve_volume_lost(scene: Scene) -> Scene:
    """The walk with Preserve Volume."""
    return replace(scene, preserve_volume=True)


def scaled_dual_quaternion(scene: Scene) -> Scene:
    """A head that is squashed with Preserve Volume on."""
    frames = np.array([1.0, 25.0, 49.0])
    squash = np.array([[1.0, 1.0, 1.0], [1.2, 0.7, 1.2], [1.0, 1.0, 1.0]])
    curves = scene.curves + tuple(group(RIG, "Head", "scale", frames, squash))
    return replace(scene, curves=curves, preserve_volume=True)


def bad_weight(scene: Scene) -> Scene:
    """A weight that is no number beside one that is."""
    return _reweigh(scene, "Foot.R", lambda pairs: (*pairs, ("Hips", float("nan"))))
