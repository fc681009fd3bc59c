# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that handles or easing equations take off the way between their keys (QA105, QA403)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import EULER, QUATERNION, Clip, RotationKind
from ..motion.handles import bent_steps, beyond_keys, segment_bend
from ..motion.keys import Keys, Steps, held_components, rotation_keys, rotation_steps
from ..motion.sweep import (
    EULER_SAMPLES,
    SAMPLES,
    played_values,
    sample_blocks,
    step_blocks,
    sweep,
    to_rotation,
)
from ..pausing import pause_point
from ..rotation.quaternion import HALF_TURN_DOT, angle_from_arc, norm, path_length
from .rule import ROUND_DEG, Limits
from .showing import UNDRAWN_SHOWS

# Two keys in one hemisphere are at most 90° apart on the sphere: the straight line between them keeps at least √½ of
# the shorter one's length.
NORM_FLOOR = float(np.sqrt(0.5))
# No step whose components all stay this close to the straight line between their keys leaves the arc by 2°: four
# components together are off by E ≤ 2 × 0.005, and 2 asin(E / (√½ − E)) = 1.64°, even with keys of length 0.9 only.
HARMLESS_BEND, SHORT_NORM = 0.005, 0.9
# The same for three angles, radians: 1.72° together.
HARMLESS_BEND_RAD = 0.01
# An overshoot below this is not looked for.
LEAST_DEG = 1.5
# Keys this near to half a turn apart leave so little above √½ that the smallest bend counts.
NEAR_HALF_TURN_DOT = 0.05

COLLAPSE_LIMITS = {
    # Less is not seen on a limb: 1° moves a hand at 0.6 m by 1 cm.
    "visible_deg": 1.0,
    # As QA104: both ways are equally short, or the sign flips.
    "half_turn_dot": HALF_TURN_DOT,
    # Keys without a frame drawn between them show nothing but motion blur.
    "undrawn_shows": UNDRAWN_SHOWS,
}


@dataclass(frozen=True, eq=False)
class Detours:
    """P steps that may leave the way between their keys, sampled.

    Attributes:
        which: their numbers within the steps.
        least_norm: length of the interpolant where it is shortest, of that of the shorter key (1 for Euler angles).
        overshoot_deg: largest distance of the path to the arc from key to key, less what it would be if each component
            were kept between the values of its two keys. 0 for ordinary ease, for straight lines, for what holds.
        turns_back: some component's handles or easing take it beyond its two keys, so that it comes back.
    """

    which: Ints
    least_norm: Floats
    overshoot_deg: Floats
    turns_back: Bools


def detours(clip: Clip, kind: RotationKind) -> Detours:
    """The steps of a kind of rotation that need a look, measured; computed once a clip."""
    name = f"detours:{kind}"
    if name not in clip.cache:
        clip.cache[name] = _detours(clip, kind)
    found: Detours = clip.cache[name]
    return found


def _detours(clip: Clip, kind: RotationKind) -> Detours:
    keys, steps = rotation_keys(clip, kind), rotation_steps(clip, kind)
    which, turns_back = _worth_sampling(clip, keys, steps)
    least, overshoot = np.ones(len(which)), np.empty(len(which))
    fractions = np.linspace(0.0, 1.0, SAMPLES + 1)[1:-1]
    for block in step_blocks(len(which), SAMPLES):
        part = which[block]
        a, b = keys.value[steps.first[part]], keys.value[steps.second[part]]
        raw = played_values(clip, keys, steps, part, fractions)
        kept = np.clip(raw, np.minimum(a, b)[:, None], np.maximum(a, b)[:, None])
        overshoot[block] = _off_deg(clip, keys, steps, part, raw) - _off_deg(clip, keys, steps, part, kept)
        if kind == QUATERNION:
            least[block] = norm(raw).min(axis=1) / np.minimum(norm(a), norm(b))
    return Detours(which, least, overshoot, turns_back)


def _worth_sampling(clip: Clip, keys: Keys, steps: Steps) -> tuple[Ints, Bools]:
    """Numbers of steps that can overshoot or collapse, by their handles alone; and which of them turn back for sure."""
    harmless = HARMLESS_BEND if keys.kind == QUATERNION else HARMLESS_BEND_RAD
    which = bent_steps(clip, keys, steps, harmless)
    if keys.kind == QUATERNION:
        small = np.minimum(keys.norm[steps.first], keys.norm[steps.second]) < SHORT_NORM
        small |= np.abs(steps.dot) < NEAR_HALF_TURN_DOT
        if small.any():
            curved = bent_steps(clip, keys, steps, 0.0)
            either = np.zeros(len(steps.first), dtype=bool)
            either[which] = either[curved[small[curved]]] = True
            which = np.flatnonzero(either)
    pause_point()
    apart = ~keys.aligned[keys.member[steps.first[which]]]  # of these the handles do not tell all
    beyond = beyond_keys(clip, keys, steps, which)
    if keys.kind == QUATERNION:
        shorter = np.minimum(keys.norm[steps.first[which]], keys.norm[steps.second[which]])
        line = np.sqrt(np.maximum(1.0 + steps.dot[which], 0.0) / 2.0)
        pause_point()
        bend = segment_bend(clip)[keys.key[steps.first[which]]]
        # Not `<`: what is not a number is worth a look.
        thin = ~(line - np.sqrt(np.square(bend).sum(axis=1)) / shorter >= NORM_FLOOR)
        sine = np.sin(np.radians(LEAST_DEG / 2))
        out = np.sqrt(np.square(beyond).sum(axis=1)) / shorter >= sine / (1.0 + sine) * line
    else:
        thin = np.zeros(len(which), dtype=bool)
        out = beyond.sum(axis=1) >= np.radians(LEAST_DEG)
    wanted = apart | thin | out
    return which[wanted], out[wanted]


def _off_deg(clip: Clip, keys: Keys, steps: Steps, part: Ints, raw: Floats) -> Floats:
    """(P,) largest distance of raw values (P, F, n) to the arc between the keys of each step."""
    first, second = steps.first[part], steps.second[part]
    a, b = (to_rotation(clip, keys, keys.value[row], row)[:, None] for row in (first, second))
    path = to_rotation(clip, keys, raw, first)
    return np.asarray(np.degrees(np.nan_to_num(angle_from_arc(path, a, b)).max(axis=1)))


def straight_deg(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """(P,) degrees travelled where the components ran straight from key to key; those that hold do, and jump unseen."""
    swept = np.empty(len(which))
    held = held_components(clip, keys, steps.first[which])
    for part, count in sample_blocks(clip, keys, steps, which, SAMPLES if keys.kind != EULER else EULER_SAMPLES):
        first, second = steps.first[which[part]], steps.second[which[part]]
        a, b = keys.value[first, None], keys.value[second, None]
        raw = np.where(held[part, None], a, a + np.linspace(0.0, 1.0, count + 1)[:, None] * (b - a))
        swept[part] = path_length(to_rotation(clip, keys, raw, first))
    return np.degrees(swept)


def collapsing(clip: Clip, limits: Limits) -> tuple[Ints, Floats]:
    """Numbers of the quaternion steps whose interpolant collapses, and its least length there.

    A step whose keys lie in opposite hemispheres is a sign flip, not a collapse.
    """
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    seen = detours(clip, QUATERNION)
    low = np.flatnonzero((seen.least_norm < NORM_FLOOR) & (steps.dot[seen.which] >= -limits["half_turn_dot"]))
    excess = sweep(clip, keys, steps, seen.which[low]).excess_deg
    low = low[excess >= limits["visible_deg"] - ROUND_DEG]
    return seen.which[low], seen.least_norm[low]
