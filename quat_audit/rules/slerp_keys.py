# SPDX-License-Identifier: GPL-3.0-or-later
"""Insert keys on the slerp between two keys (QA105, QA204): an unsafe repair, it changes the path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import BEZIER, EULER, LINEAR, Clip, RotationKind, with_curves
from ..motion.edit import add_keys, straighten_handles, why_unsound
from ..motion.keys import SAME_TIME_FRAMES, Keys, rotation_keys, rotation_steps
from ..motion.sweep import SAMPLES, to_rotation
from ..rotation import euler
from ..rotation.interpolation import slerp
from ..rotation.quaternion import angle_between, angle_from_arc
from .euler_steps import nearest_representation

# Between keys this close together the component-wise path of quaternions stays within 0.3° of the slerp.
STEP_DEG = 30.0
# Euler angles are keyed closer where straight lines between them would still leave the slerp by more than this …
OFF_DEG = 0.5
# … but only so often: a pole that is passed exactly turns two angles by half a turn in no time.
MOST_HALVINGS = 6
# Keys are not inserted closer together than this: a key within 0.01 frame of another one is that one.
LEAST_FRAMES = 2 * SAME_TIME_FRAMES


def keyed_together(clip: Clip, keys: Keys, rows: Ints) -> Bools:
    """(P,) the track of each row has all its components, keyed together and in order of time."""
    sound = keys.aligned.copy()
    for member in np.unique(keys.member[rows]):
        curves = clip.tracks.curves[keys.tracks[member]]
        sound[member] &= not any(why_unsound(clip, int(c)) for c in curves if c >= 0)
    return np.asarray(sound[keys.member[rows]])


def insert_slerp_keys(clip: Clip, kind: RotationKind, rows: Ints) -> Clip:
    """Insert keys on the slerp of the steps that end at `rows` (of the rows of that kind), the short way.

    The handles within those steps are laid straight. Left as they are: tracks that `keyed_together` denies, and
    steps too short in time for the keys. Where the slerp of Euler angles ends in another representation of the second
    key, that key and the run that follows take it; their rotations stay.
    """
    keys, steps = rotation_keys(clip, kind), rotation_steps(clip, kind)
    rows = rows[np.isin(rows, steps.second[~steps.slerp])]
    rows = rows[keyed_together(clip, keys, rows)]
    first = steps.first[np.searchsorted(steps.second, rows)]
    a, b = (to_rotation(clip, keys, keys.value[row], row) for row in (first, rows))
    pieces = np.maximum(np.ceil(np.degrees(angle_between(a, b)) / STEP_DEG - 1e-6), 2).astype(np.int64)
    room = (keys.time[rows] - keys.time[first]) / pieces > LEAST_FRAMES
    if not room.any():
        return clip
    rows, first, a, b, pieces = (x[room] for x in (rows, first, a, b, pieces))
    parts = [np.linspace(0.0, 1.0, int(count) + 1) for count in pieces]
    if kind == EULER:
        tracks = keys.track_of(first)
        for number, row in enumerate(first):  # steps that are repaired are few
            gap = float(keys.time[rows[number]] - keys.time[row])
            order = clip.tracks.order[tracks[number]]
            parts[number] = _halved(keys.value[row], a[number], b[number], parts[number], gap, order)
    count = np.array([len(part) - 2 for part in parts])
    step, part = np.repeat(np.arange(len(rows)), count), np.concatenate([part[1:-1] for part in parts])
    value = slerp(a[step], b[step], part)
    if kind == EULER:
        bounds = np.cumsum(count)[:-1]
        value = np.concatenate(
            [
                _followed(keys.value[row], q, clip.tracks.order[track])
                for row, q, track in zip(first, np.split(value, bounds), keys.track_of(first), strict=True)
            ]
        )
    edited = _added(clip, keys, first, rows, step, part, value)
    # Each second key's row has moved on by the keys inserted before it.
    return _joined_on(edited, rows + np.cumsum(count)) if kind == EULER else edited


def _added(clip: Clip, keys: Keys, first: Ints, second: Ints, step: Ints, part: Floats, value: Floats) -> Clip:
    """The clip with keys of values (P, n) at a part (P,) of the time of steps; easing gives way to straight lines."""
    eased = keys.key[first].ravel()
    played = clip.curves.interpolation.copy()
    played[eased] = np.where(played[eased] == BEZIER, BEZIER, LINEAR)
    clip = with_curves(clip, replace(clip.curves, interpolation=played))
    n = value.shape[1]
    curve = clip.tracks.curves[keys.track_of(first[step]), :n]
    time = keys.time[first[step]] * (1 - part) + keys.time[second[step]] * part
    return add_keys(clip, curve.ravel(), np.repeat(time, n), value.ravel())


def _joined_on(clip: Clip, rows: Ints) -> Clip:
    """The clip whose Euler rows (P,), and the runs that follow, are the representation nearest to the inserted keys."""
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    moved = nearest_representation(clip, keys, steps, np.flatnonzero(np.isin(steps.second, rows)))
    if moved is clip:
        return clip
    before, after = keys.key[rows - 1].ravel(), keys.key[rows].ravel()
    key, right = np.concatenate([before, after]), np.arange(2 * len(after)) < len(before)
    return with_curves(moved, straighten_handles(moved.curves, key, ~right, right))


def _followed(start: Floats, q: Floats, order: str) -> Floats:
    """(P, 3) angles of rotations (P, 4), each the representation nearest to the one before, the first to `start`."""
    angles = euler.from_quaternion(q, order)
    for number in range(len(angles)):
        angles[number] = euler.nearest(angles[number], angles[number - 1] if number else start, order)
    return angles


def _halved(start: Floats, a: Floats, b: Floats, parts: Floats, gap_frames: float, order: str) -> Floats:
    """Where to cut the way from a to b so that straight lines of angles between the cuts hardly leave it."""
    fractions = np.linspace(0.0, 1.0, SAMPLES + 1)[:, None]
    for _ in range(MOST_HALVINGS):
        q = slerp(a, b, parts)
        angles = _followed(start, q, order)
        lines = angles[:-1, None] + fractions * (angles[1:] - angles[:-1])[:, None]
        off = angle_from_arc(euler.to_quaternion(lines, order), q[:-1, None], q[1:, None]).max(axis=1)
        cut = (np.degrees(off) > OFF_DEG) & (np.diff(parts) * gap_frames > 2 * LEAST_FRAMES)
        if not cut.any():
            break
        parts = np.sort(np.concatenate([parts, (parts[:-1] + parts[1:])[cut] / 2]))
    return parts
