# SPDX-License-Identifier: GPL-3.0-or-later
"""Insert keys on the slerp between two quaternion keys (QA105): an unsafe repair, it changes the path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Ints
from ..motion.clip import BEZIER, LINEAR, QUATERNION, Clip, with_curves
from ..motion.edit import add_keys, why_unsound
from ..motion.keys import SAME_TIME_FRAMES, rotation_keys, rotation_steps
from ..rotation.interpolation import slerp
from ..rotation.quaternion import angle_between, normalize_or_nan

# Between keys this close together the component-wise path stays within 0.3° of the slerp.
STEP_DEG = 30.0


def insert_slerp_keys(clip: Clip, rows: Ints) -> Clip:
    """Insert keys on the slerp of the steps that end at `rows` (of the quaternion rows), the short way.

    The handles within those steps are laid straight. Left as they are: tracks with absent or misaligned components
    or with keys out of order, and steps too short in time for the keys.
    """
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    rows = rows[keys.aligned[keys.member[rows]] & np.isin(rows, steps.second[~steps.slerp])]
    if not len(rows):
        return clip
    tracks = keys.track_of(rows)
    unsound = {int(t) for t in np.unique(tracks) if any(why_unsound(clip, int(c)) for c in clip.tracks.curves[t])}
    rows = rows[[int(t) not in unsound for t in tracks]]
    first = steps.first[np.searchsorted(steps.second, rows)]
    a, b = normalize_or_nan(keys.value[first]), normalize_or_nan(keys.value[rows])
    count = np.maximum(np.ceil(np.degrees(angle_between(a, b)) / STEP_DEG - 1e-6), 2).astype(np.int64) - 1
    room = (keys.time[rows] - keys.time[first]) / (count + 1) > 2 * SAME_TIME_FRAMES
    if not room.any():
        return clip
    rows, first, a, b, count = rows[room], first[room], a[room], b[room], count[room]
    step = np.repeat(np.arange(len(rows)), count)
    part = (np.arange(len(step)) - np.repeat(np.cumsum(count) - count, count) + 1) / (count[step] + 1)
    value = slerp(a[step], b[step], part)
    time = keys.time[first[step]] * (1 - part) + keys.time[rows[step]] * part
    eased = keys.key[first].ravel()
    played = clip.curves.interpolation.copy()
    played[eased] = np.where(played[eased] == BEZIER, BEZIER, LINEAR)
    clip = with_curves(clip, replace(clip.curves, interpolation=played))
    curve = clip.tracks.curves[keys.track_of(first[step])]
    return add_keys(clip, curve.ravel(), np.repeat(time, 4), value.ravel())
