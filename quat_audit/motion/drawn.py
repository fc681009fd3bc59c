# SPDX-License-Identifier: GPL-3.0-or-later
"""What is drawn between two keys: the frames that a scene shows there, and how far off they are.

Between keys without a drawn frame a fault is latent: it shows in motion blur, in retiming, in another frame rate.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..rotation.interpolation import slerp
from ..rotation.quaternion import angle_between
from .clip import Clip
from .keys import Keys, Steps
from .readers import Drawn, players, playing
from .sweep import played_values, posed_rotation, step_blocks, to_rotation

# A frame this close to a key shows the key: a thousandth of a frame, or what float32 tells apart.
AT_KEY = 1e-3
# Frames looked at between two keys; of more, as many, evenly chosen.
MOST = 16

WHOLE_FRAMES = (Drawn(),)


def drawn(clip: Clip) -> tuple[Drawn, ...]:
    """Which times of the clip are shown: by those that play it, muted ones only when no other does."""
    found = [item for reader in playing(players(clip)) for item in reader.drawn]
    return tuple(dict.fromkeys(found)) or WHOLE_FRAMES


def drawn_between(clip: Clip, first: Floats, second: Floats) -> Bools:
    """(P,) whether a frame is drawn strictly between times (P,) and (P,), in frames of the clip."""
    result = np.zeros(len(first), dtype=bool)
    for item in drawn(clip):
        low, high = _numbers(item, first, second)
        result |= high >= low
    return result


def offset_deg(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """(P,) the largest angle on a frame drawn within the steps `which` (P,) between what it shows and the short way.

    0 where no frame is drawn there. The short way is the slerp between the two keyed rotations.
    """
    result = np.zeros(len(which))
    swings = np.flatnonzero(~steps.slerp[which])  # a slerp is the short way
    for block in step_blocks(len(swings), MOST):
        part = which[swings[block]]
        first, second = keys.time[steps.first[part]], keys.time[steps.second[part]]
        a = to_rotation(clip, keys, keys.value[steps.first[part]], steps.first[part])
        b = to_rotation(clip, keys, keys.value[steps.second[part]], steps.second[part])
        for item in drawn(clip):
            low, high = _numbers(item, first, second)
            some = np.flatnonzero(high >= low)
            if not len(some):
                continue
            times = _times(item, low[some], high[some], first[some], second[some])
            share = (times - first[some, None]) / (second - first)[some, None]
            values = played_values(clip, keys, steps, part[some], share)
            shown = posed_rotation(clip, keys, values, steps.first[part[some]])
            angle = angle_between(shown, slerp(a[some, None], b[some, None], share))
            seen = np.degrees(np.nan_to_num(angle, nan=np.pi)).max(axis=1)
            at = swings[block][some]
            result[at] = np.maximum(result[at], seen)
    return result


def _numbers(item: Drawn, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """(P,) and (P,): the first and the last frame between two times, counted from `start`; none: first > last."""
    near = np.maximum(AT_KEY, 4.0 * np.finfo(np.float32).eps * np.maximum(np.abs(first), np.abs(second)))
    low, high = np.maximum(first + near, item.first - near), np.minimum(second - near, item.last + near)
    if item.times:
        times = np.asarray(item.times)
        return np.searchsorted(times, low).astype(np.float64), np.searchsorted(times, high, side="right") - 1.0
    if item.spacing <= 0.0:  # any time may be shown: count in sixteenths of the step
        return np.where(high > low, 1.0, 0.0), np.where(high > low, MOST - 1.0, -1.0)
    return np.ceil((low - item.start) / item.spacing), np.floor((high - item.start) / item.spacing)


def _times(item: Drawn, low: Floats, high: Floats, first: Floats, second: Floats) -> Floats:
    """(P, MOST) times of frames, evenly chosen from those of the numbers `low` to `high` (P,); the last is repeated."""
    count = (high - low)[:, None]
    chosen = np.round(np.linspace(0.0, 1.0, MOST) * np.maximum(count, MOST - 1))
    number = low[:, None] + np.minimum(chosen, count)
    if item.times:
        return np.asarray(np.asarray(item.times)[number.astype(np.int64)])
    if item.spacing <= 0.0:
        return np.asarray(first[:, None] + number / MOST * (second - first)[:, None])
    return np.asarray(item.start + number * item.spacing)
