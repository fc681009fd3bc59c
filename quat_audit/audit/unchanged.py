# SPDX-License-Identifier: GPL-3.0-or-later
"""What an edit leaves as it was by construction, so that the proof need not measure it.

Keys are compared bit for bit: what is not found here is measured.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import AXIS_ANGLE, ELASTIC, EULER, LINEAR, QUATERNION, Clip
from ..motion.keys import Keys, Steps

# An edit leaves a rotation as it was within this, or within what float32 costs where that is more.
KEY_TOLERANCE_DEG = 1e-4
TURN = 2.0 * np.pi


class Turned(NamedTuple):
    """Of N rows the whole turns (N, n) by which their angles moved, and what is left of the moves, degrees (N,).

    `stays` (N,): what is left is no more than storing the values costs. Rows that are no Euler angles do not.
    """

    turns: Floats
    left_deg: Floats
    stays: Bools


def turned(keys: Keys, after_keys: Keys, tolerance_deg: Floats) -> Turned:
    """By how many whole turns an edit moved the angles of the same rows; `tolerance_deg` (T,) is that of each track."""
    if keys.kind != EULER:
        none = np.zeros(len(keys.value))
        return Turned(np.zeros(keys.value.shape), none, none > 0)
    shift = after_keys.value - keys.value
    turns = np.round(shift * (1.0 / TURN))
    shift -= TURN * turns
    np.abs(shift, out=shift)
    left_deg = np.degrees(shift[:, 0] + shift[:, 1] + shift[:, 2])
    return Turned(turns, left_deg, left_deg <= tolerance_deg[keys.tracks][keys.member])


def keys_stay(keys: Keys, after_keys: Keys, moved: Turned, rows: Ints, key_deg: Floats) -> Bools:
    """(P,) rows that hold the same rotation by construction: q or -q, or Euler angles whole turns apart.

    What rounding left of whole turns bounds the change: a rotation differs by no more than its three angles together.
    It is noted in `key_deg` (T,), unless it is as much as to be measured.
    """
    if keys.kind == QUATERNION:
        was, now = keys.value[rows], after_keys.value[rows]
        return np.asarray(np.all(was == now, axis=1) | np.all(was == -now, axis=1))
    small = moved.stays[rows]
    if small.any():
        np.maximum.at(key_deg, keys.track_of(rows[small]), moved.left_deg[rows[small]])
    return np.asarray(small)


def lines_turn(before: Clip, after: Clip, keys: Keys, moved: Turned, steps: Steps, which: Ints) -> Bools:
    """(P,) straight steps whose two ends moved by the same whole turns: what plays between is the same rotation."""
    linear = before.curves.interpolation == LINEAR
    if keys.kind != EULER or not linear.any() or after.curves.interpolation is not before.curves.interpolation:
        return np.zeros(len(which), dtype=bool)
    first, second = steps.first[which], steps.second[which]
    result = moved.stays[first] & moved.stays[second]
    for component in range(keys.key.shape[1]):
        key, end = keys.key[first, component], keys.key[second, component]
        result &= (key >= 0) & (end == key + 1) & linear[key]
        result &= moved.turns[first, component] == moved.turns[second, component]
    return np.asarray(result)


def arcs_stay(before: Clip, after: Clip, keys: Keys, after_keys: Keys, steps: Steps, which: Ints) -> Bools:
    """(P,) a slerp between q or -q of what its ends were: the same arc, the short way."""
    if keys.kind != QUATERNION or not np.array_equal(before.curves.interpolation, after.curves.interpolation):
        return np.zeros(len(which), dtype=bool)
    spherical = steps.slerp[which]
    if not spherical.any():
        return np.asarray(spherical)
    was, now = keys.value, after_keys.value
    same = np.all(was == now, axis=1) | np.all(was == -now, axis=1)
    return np.asarray(spherical & same[steps.first[which]] & same[steps.second[which]])


def ends_changed_together(before: Clip, after: Clip, keys: Keys, steps: Steps, which: Ints) -> Bools:
    """(P,) what plays on the step is the same rotation by construction: both ends were negated with their
    handles, or shifted by the same half or whole turns, or mirrored alike (the equivalent triple; angle and axis)."""
    if not np.array_equal(before.curves.interpolation, after.curves.interpolation):
        return np.zeros(len(which), dtype=bool)
    first, second = keys.key[steps.first[which]], keys.key[steps.second[which]]
    together = np.all((first >= 0) & (second >= 0), axis=1)
    # Only the keys of these steps are looked at.
    looked_at = np.zeros(len(before.curves.co) + 1, dtype=bool)  # the last one stands for "no key"
    looked_at[first] = looked_at[second] = True
    looked_at[-1] = False
    used = np.flatnonzero(looked_at)
    if not len(used):
        return np.zeros(len(which), dtype=bool)
    number = np.maximum(np.cumsum(looked_at) - 1, 0)
    first, second = number[first], number[second]
    # Blender's elastic ease is no odd function of the change: a negated segment plays another curve.
    together &= ~np.any(before.curves.interpolation[used][first] == ELASTIC, axis=1)
    old, new = (
        [getattr(c, name)[used, 1].astype(np.float64) for name in ("co", "handle_left", "handle_right")]
        for c in (before.curves, after.curves)
    )
    if keys.kind == QUATERNION:
        kept = np.all([x == y for x, y in zip(old, new, strict=True)], axis=0)
        negated = np.all([x == -y for x, y in zip(old, new, strict=True)], axis=0)
        return np.asarray(together & (_everywhere(kept, first, second) | _everywhere(negated, first, second)))
    if keys.kind == AXIS_ANGLE:
        return np.asarray(together & _axis_angles_moved_alike(old, new, first, second))
    close = 4.0 * np.finfo(np.float32).eps * np.fmax.reduce(np.abs(new[0]), initial=1.0)
    shift = new[0] - old[0]
    whole = np.abs(shift - np.pi * np.round(shift / np.pi)) <= close
    plain = whole & np.all([np.abs(y - x - shift) <= close for x, y in zip(old[1:], new[1:], strict=True)], axis=0)
    result = together & _everywhere(plain, first, second)
    for component in range(first.shape[1]):
        result &= np.abs(shift.take(first[:, component]) - shift.take(second[:, component])) <= close
    rest = np.flatnonzero(together & ~result)
    if len(rest):
        first, second = first[rest], second[rest]
        mirror = new[0] + old[0]
        mirrored = np.all([np.abs(y + x - mirror) <= close for x, y in zip(old[1:], new[1:], strict=True)], axis=0)
        moved = (plain[first] & plain[second]) & (np.abs(shift[first] - shift[second]) <= close)
        turned = (mirrored[first] & mirrored[second]) & (np.abs(mirror[first] - mirror[second]) <= close)
        result[rest] = np.all(moved | turned, axis=1)
    return np.asarray(result)


def _axis_angles_moved_alike(old: list[Floats], new: list[Floats], first: Ints, second: Ints) -> Bools:
    """(P,) angle and axis at both ends have the same sign as before or both another, and the same whole turns more."""
    result = np.zeros(len(first), dtype=bool)
    close = 4.0 * np.finfo(np.float32).eps * np.fmax.reduce(np.abs(new[0]), initial=1.0)
    for sign in (1.0, -1.0):
        axis = np.all([y == sign * x for x, y in zip(old, new, strict=True)], axis=0)
        turns = np.round((new[0] - sign * old[0]) / TURN)
        angle = np.all([np.abs(y - sign * x - TURN * turns) <= close for x, y in zip(old, new, strict=True)], axis=0)
        ends = angle[first[:, 0]] & angle[second[:, 0]] & (turns[first[:, 0]] == turns[second[:, 0]])
        result |= ends & _everywhere(axis, first[:, 1:], second[:, 1:])
    return result


def _everywhere(flag: Bools, first: Ints, second: Ints) -> Bools:
    """(P,) the flag of a key holds for every component at both ends."""
    result = np.ones(len(first), dtype=bool)
    for key in (first, second):
        for component in range(key.shape[1]):
            result &= flag.take(key[:, component])
    return result
