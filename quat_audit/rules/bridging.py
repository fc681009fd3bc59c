# SPDX-License-Identifier: GPL-3.0-or-later
"""Bridge rows without a usable rotation from the nearest valid keys of their track (QA101, QA102)."""

from __future__ import annotations

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import AXIS_ANGLE, EULER, QUATERNION, Clip
from ..motion.edit import bridge_keys
from ..motion.keys import Keys
from ..motion.sweep import to_rotation
from ..rotation import axis_angle, euler
from ..rotation.interpolation import slerp
from ..rotation.quaternion import angle_between, norm
from .rule import ROUND_DEG
from .spin_or_wrap import LIMITS as STEP_LIMITS
from .spin_or_wrap import is_whole_turn


def valid_neighbours(keys: Keys, rows: Ints) -> tuple[Ints, Ints]:
    """(P,) nearest valid row before and after each row within its track, -1 where there is none."""
    numbers = np.arange(len(keys.time))
    before = np.maximum.accumulate(np.where(keys.valid, numbers, -1))[rows]
    after = np.minimum.accumulate(np.where(keys.valid, numbers, len(numbers))[::-1])[::-1][rows]
    member = keys.member[rows]
    before = np.where(before >= keys.offsets[member], before, -1)
    after = np.where(after < keys.offsets[member + 1], after, -1)
    return before, after


def bridged_values(clip: Clip, keys: Keys, rows: Ints, time: Floats) -> Floats:
    """(P, n) values for rows: slerp of the valid neighbors at `time`, one neighbor held, else the rest pose.

    Euler angles and the angles of an axis keep their turns: where one moves by half a turn or more between the
    neighbors, and they are no wrap, the line between them is taken, since a slerp would unwind it.
    """
    before, after = valid_neighbours(keys, rows)
    only = np.where(before >= 0, before, after)
    first, second = np.where(before >= 0, before, only), np.where(after >= 0, after, only)
    n = keys.value.shape[1]
    result = np.zeros((len(rows), n))
    if keys.kind == QUATERNION:
        result[:, 0] = 1.0
    elif keys.kind == AXIS_ANGLE:
        result[:, 2] = 1.0
    found = np.flatnonzero(only >= 0)
    first, second = first[found], second[found]
    gap = keys.time[second] - keys.time[first]
    part = np.divide(time[found] - keys.time[first], gap, out=np.zeros(len(found)), where=gap > 0)
    part = np.clip(part, 0.0, 1.0)
    a, b = keys.value[first], keys.value[second]
    between = slerp(to_rotation(clip, keys, a, first), to_rotation(clip, keys, b, second), part)
    if keys.kind == EULER:
        line = a + part[:, None] * (b - a)
        orders = [clip.tracks.order[t] for t in keys.track_of(first)]
        near = np.array(
            [euler.nearest(euler.from_quaternion(q, o), v, o) for q, o, v in zip(between, orders, line, strict=True)]
        )
        spins = np.abs(b - a).max(axis=1, initial=0.0) >= np.pi
        spins &= ~_wraps(clip, keys, first, second)
        between = np.where(spins[:, None], line, near.reshape(line.shape))
    elif keys.kind == AXIS_ANGLE:
        spins = (np.abs(b - a)[:, 0] >= np.pi) & (np.einsum("ij,ij->i", a[:, 1:], b[:, 1:]) > 0.0)
        spins &= ~_wraps(clip, keys, first, second)
        line = a + part[:, None] * (b - a)
        between = np.where(spins[:, None], line, _axis_angle_near(between, a, b))
    same = first == second
    between[same] = a[same]  # held bit for bit
    result[found] = between
    return result


def _axis_angle_near(between: Floats, a: Floats, b: Floats) -> Floats:
    """Axis-angle values (P, 4) of unit quaternions (P, 4): those that go on from the values a, with an axis as long."""
    every = np.ones(len(between), dtype=bool)
    value = axis_angle.from_quaternion(between, every)
    axis = np.where(axis_angle.has_axis(a)[:, None], a[:, 1:], b[:, 1:])
    still = axis_angle.turns_nothing(value) & axis_angle.has_axis(np.concatenate([a[:, :1], axis], axis=1))
    length = norm(axis)[:, None]
    value[:, 1:] = np.where(still[:, None], axis, value[:, 1:] * np.where(length > axis_angle.ZERO_AXIS, length, 1.0))
    return axis_angle.moved(value, *axis_angle.nearest_step(a, value))


def _wraps(clip: Clip, keys: Keys, first: Ints, second: Ints) -> Bools:
    """(P,) the two keys are a wrap as QA201 and QA205 see one: dense keys, a small true step, less than a turn."""
    a, b = keys.value[first], keys.value[second]
    angle = angle_between(to_rotation(clip, keys, a, first), to_rotation(clip, keys, b, second))
    turned = (b - a)[:, :1] if keys.kind == AXIS_ANGLE else b - a
    spacing = (keys.time[second] - keys.time[first]) / np.maximum(second - first, 1)
    dense = spacing <= STEP_LIMITS["dense_gap_frames"] * (1 + 1e-4)
    small = np.degrees(angle) < STEP_LIMITS["dense_true_step_deg"] - ROUND_DEG
    return np.asarray(dense & small & ~is_whole_turn(turned, STEP_LIMITS))


def bridge_rows(clip: Clip, keys: Keys, rows: Ints, time: Floats) -> Clip:
    """Set all components of aligned rows (only the unusable ones of others) to the bridged value, marked."""
    value = bridged_values(clip, keys, rows, time)
    key = keys.key[rows]
    whole = keys.aligned[keys.member[rows]][:, None]
    write = (key >= 0) & (whole | ~np.isfinite(clip.curves.co[key, 1]))
    # A key keeps the time that it has: components may stand up to 0.01 frame apart.
    own = clip.curves.co[key, 0].astype(np.float64)
    times = np.where(np.isfinite(own), own, time[:, None])
    return bridge_keys(clip, key[write], times[write], value[write])
