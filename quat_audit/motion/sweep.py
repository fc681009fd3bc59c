# SPDX-License-Identifier: GPL-3.0-or-later
"""What a step between two keys really plays: the path, sampled, and the rotation travelled along it.

*swept* is travelled by the interpolation that will really be used (Blender: each component by itself, then
normalized), *shortest* is the geodesic angle between the two keyed rotations, *excess* their difference. A CONSTANT
component jumps at the second key: that is a pop, and no part of what is travelled.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from ..rotation import axis_angle, euler, quaternion
from ..rotation.interpolation import slerp
from ..rotation.quaternion import path_length
from .clip import AXIS_ANGLE, EULER, LINEAR, QUATERNION, Clip
from .curve import evaluate
from .handles import travel
from .keys import Keys, Steps, assumed_pose, held_components

# Sub-steps of a step. The arc between two samples is measured on the 3-sphere without choosing a
# hemisphere, so that even a jump across zero length counts; 32 puts the sum within 0.1 % of the true
# length for the cubic eases that occur.
SAMPLES = 32
# Euler paths are smooth, and sampled by how far they turn.
EULER_SAMPLES = 8
# No sub-step of an Euler path turns further than this, or a spin would be lost between samples.
SAMPLE_STEP_RAD = np.radians(20.0)
MAX_SAMPLES = 4096
# So many times closer samples lie where an axis changes its side.
CLOSE_TO_JUMPS = 16.0
# Samples measured at a time: temporaries stay small, and so does the time between two pause points.
BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class Sweep:
    """Angles of P steps, degrees: travelled, from key to key the short way, and travelled more than necessary.

    The excess is the difference of the two; where a component jumps at the second key, it is that to the rotation from
    which it jumps.
    """

    swept_deg: Floats
    shortest_deg: Floats
    excess_deg: Floats

    def at(self, part: Ints | Bools) -> Sweep:
        """Those of some of the steps."""
        return Sweep(self.swept_deg[part], self.shortest_deg[part], self.excess_deg[part])


def step_orders(clip: Clip, keys: Keys, rows: Ints) -> tuple[Ints, tuple[str, ...]]:
    """Which Euler order each row has: indices into the distinct orders that are also returned."""
    distinct = tuple(sorted(set(clip.tracks.order)))
    numbers = np.array([distinct.index(o) for o in clip.tracks.order], dtype=np.int64)
    return numbers[keys.track_of(rows)], distinct


def to_rotation(clip: Clip, keys: Keys, value: Floats, rows: Ints) -> Floats:
    """Quaternions (P, …, 4) of raw track values (P, …, n); `rows` (P,) tell the track of each.

    Zero and non-finite values give NaN; so does a turn about a zero axis, which Blender does not carry out.
    """
    if keys.kind == QUATERNION:
        return quaternion.normalize_or_nan(value)
    if keys.kind == AXIS_ANGLE:
        return axis_angle.to_quaternion(value)
    which, orders = step_orders(clip, keys, rows)
    if len(orders) == 1:
        with np.errstate(invalid="ignore"):
            return euler.to_quaternion(value, orders[0])
    result = np.empty((*value.shape[:-1], 4))
    for number in np.unique(which):  # at most six
        mask = which == number
        with np.errstate(invalid="ignore"):
            result[mask] = euler.to_quaternion(value[mask], orders[number])
    return result


def posed_rotation(clip: Clip, keys: Keys, value: Floats, rows: Ints) -> Floats:
    """As `to_rotation`, but with what Blender poses where an axis is zero: the rest rotation."""
    if keys.kind == AXIS_ANGLE:
        return quaternion.from_axis_angle(value[..., 1:], value[..., 0])
    return to_rotation(clip, keys, value, rows)


def played_values(clip: Clip, keys: Keys, steps: Steps, which: Ints, fractions: Floats) -> Floats:
    """Raw values (P, F, n) that the curves give at fractions (F,) or (P, F) of the steps `which` (P,)."""
    first, second = steps.first[which], steps.second[which]
    n = keys.value.shape[1]
    tracks = keys.track_of(first)
    curves = clip.tracks.curves[tracks, :n]
    # A straight line between two keys of one curve needs no look-up: most baked and captured keys.
    start, end = keys.key[first], keys.key[second]
    straight = (start >= 0) & (end == start + 1)
    straight &= clip.curves.interpolation[np.where(straight, start, 0)] == LINEAR if len(clip.curves.co) else False
    a, b = keys.value[first, None], keys.value[second, None]
    value = a + fractions[..., None] * (b - a)
    if straight.all():
        return value
    absent = curves < 0
    at, part = np.nonzero(absent)
    value[at, :, part] = assumed_pose(clip)[tracks[at], part, None]
    at, part = np.nonzero(~absent & ~straight)
    share = np.broadcast_to(fractions, (len(which), fractions.shape[-1]))[at]
    time = keys.time[first[at], None] + share * (keys.time[second[at]] - keys.time[first[at]])[:, None]
    value[at, :, part] = evaluate(clip.curves, np.repeat(curves[at, part], time.shape[1]), time.ravel()).reshape(
        time.shape
    )
    return value


def arriving_values(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """Raw values (P, n) just before the second key of the steps `which` (P,): what holds has not jumped yet."""
    first, second = steps.first[which], steps.second[which]
    return np.where(held_components(clip, keys, first), keys.value[first], keys.value[second])


def played_path(
    clip: Clip, keys: Keys, steps: Steps, which: Ints, samples: int = SAMPLES, *, jump: bool = True
) -> Floats:
    """Unit quaternions (P, samples + 1, 4) along the steps `which`, from key to key.

    Without `jump` they end just before the second key, where components that hold have not jumped yet.
    """
    fractions = np.linspace(0.0, 1.0, samples + 1)
    first, second = steps.first[which], steps.second[which]
    value = np.empty((len(which), samples + 1, keys.value.shape[1]))
    value[:, 0] = keys.value[first]
    value[:, -1] = keys.value[second] if jump else arriving_values(clip, keys, steps, which)
    value[:, 1:-1] = played_values(clip, keys, steps, which, fractions[1:-1])
    path = to_rotation(clip, keys, value, first)
    spherical = steps.slerp[which]
    if spherical.any():
        ends = path[spherical][:, (0, -1)]
        path[spherical] = slerp(ends[:, :1], ends[:, 1:], fractions)
    return path


def travelled(keys: Keys, path: Floats) -> Floats:
    """Rotation travelled along unit quaternions (…, S, 4) that keys of a kind play, radians (…).

    An axis that passes through zero jumps to its other side, however far its quaternion is from the one before: only
    the rotation between the two is seen.
    """
    return path_length(path, short=keys.kind == AXIS_ANGLE)


def sample_blocks(
    clip: Clip, keys: Keys, steps: Steps, which: Ints, least: int, step_rad: float = SAMPLE_STEP_RAD
) -> Iterator[tuple[Ints, int]]:
    """(numbers within `which`, samples) in blocks: enough samples that no turn is lost between two of them."""
    # What an angle travels, the rotation does at most; a component of a unit quaternion turns it by twice as much.
    far = travel(clip, keys, steps, which) * (2.0 if keys.kind == QUATERNION else 1.0)
    if keys.kind == AXIS_ANGLE:
        turned, jumps = _axis_turn(keys.value[steps.first[which], 1:], keys.value[steps.second[which], 1:])
        far += 2.0 * turned
        far[jumps] *= CLOSE_TO_JUMPS
    enough = np.clip(np.nan_to_num(np.ceil(far / step_rad), posinf=MAX_SAMPLES), least, MAX_SAMPLES)
    samples = 1 << np.ceil(np.log2(enough)).astype(np.int64)
    for count in np.unique(samples):  # few: powers of two
        chosen = np.flatnonzero(samples == count)
        block = max(1, BLOCK // int(count))
        for start in range(0, len(chosen), block):
            pause_point()
            yield chosen[start : start + block], int(count)


def _axis_turn(a: Floats, b: Floats) -> tuple[Floats, Bools]:
    """(P,) angles between axes (P, 3), radians; (P,) whether the axis may jump on the way from a to b.

    What the angle turns from the sample before a jump to the one after is not seen: they had better be close.
    """
    size = quaternion.norm(a) * quaternion.norm(b)
    cosine = np.einsum("ij,ij->i", a, b) / np.where(size > 0.0, size, 1.0)
    return np.asarray(np.arccos(np.clip(cosine, -1.0, 1.0))), np.asarray(cosine < 0.0)


def step_blocks(count: int, samples: int) -> Iterator[slice]:
    """Slices of `count` steps, as many at a time as can be sampled at `samples` places."""
    block = max(1, BLOCK // samples)
    for start in range(0, count, block):
        pause_point()
        yield slice(start, start + block)


def sweep(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Sweep:
    """Angles of the steps `which` (P,) of a clip."""
    first, second = steps.first[which], steps.second[which]
    start = to_rotation(clip, keys, keys.value[first], first)
    shortest = quaternion.angle_between(start, to_rotation(clip, keys, keys.value[second], first))
    # What the travelled way needs at least; NaN where it ends at zero length: nothing can be said of it.
    end = to_rotation(clip, keys, arriving_values(clip, keys, steps, which), first)
    needed = np.nan_to_num(quaternion.angle_between(start, end))
    swept = needed.copy()
    # A slerp travels the shortest way, and what is held nothing: no need to sample those.
    sampled = np.flatnonzero(~steps.slerp[which] & ~steps.constant[which])
    least = SAMPLES if keys.kind != EULER else EULER_SAMPLES
    for part, count in sample_blocks(clip, keys, steps, which[sampled], least):
        path = played_path(clip, keys, steps, which[sampled[part]], count, jump=False)
        swept[sampled[part]] = np.maximum(travelled(keys, path), needed[sampled[part]])
    return Sweep(np.degrees(swept), np.degrees(shortest), np.degrees(swept - needed))
