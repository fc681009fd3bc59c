# SPDX-License-Identifier: GPL-3.0-or-later
"""How far handles and easing equations can take a curve from the straight line between its keys.

Bounds from the control points alone, without evaluating a curve: a Bézier segment stays within the hull of its four
points. They tell which few of many steps are worth sampling, and how densely.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from .clip import BACK, BEZIER, ELASTIC, SLERP, Clip, Curves
from .keys import Keys, Steps

# Two handles weigh at most this much together: 3 u (1 − u)² + 3 u² (1 − u), at the middle.
HANDLE_WEIGHT = 0.75
# Keys at a time: temporaries stay in the processor's cache.
_BLOCK = 1 << 14


def segment_bend(clip: Clip) -> Floats:
    """(K,) how far the segment after each key can be from the straight line to the next key, at any time on it.

    An upper bound in the unit of the values, for each component by itself. 0 where the curve is straight or holds, NaN
    where a NaN enters, infinite where an easing equation overshoots. Computed once a clip.
    """
    if "segment_bend" not in clip.cache:
        clip.cache["segment_bend"] = _segment_bend(clip.curves)
    bend: Floats = clip.cache["segment_bend"]
    return bend


def _segment_bend(curves: Curves) -> Floats:
    count = len(curves.co)
    bend = np.zeros(count, dtype=curves.co.dtype)
    bezier = curves.interpolation == BEZIER
    if bezier.any():
        with np.errstate(all="ignore"):  # across two curves, and where times are equal, it means nothing
            for start in range(0, count - 1, _BLOCK):
                pause_point()
                stop = min(start + _BLOCK, count - 1)
                bend[start:stop] = _bezier_bend(curves, slice(start, stop), slice(start + 1, stop + 1))
        if not bezier.all():
            bend[~bezier] = 0.0
    eased = np.flatnonzero((curves.interpolation > BEZIER) & (curves.interpolation < SLERP))
    if len(eased):
        played, value = curves.interpolation[eased], curves.co[:, 1]
        within = np.abs(value[np.minimum(eased + 1, count - 1)] - value[eased])
        bend[eased] = np.where((played == BACK) | (played == ELASTIC), np.inf, within)
    bend[curves.offsets[1:][curves.counts > 0] - 1] = 0.0
    return bend


def _bezier_bend(curves: Curves, here: slice, there: slice) -> Floats:
    """Of segments between the keys `here` and `there`: taking the straight line away leaves a Bézier of the handles'
    distances from it, whatever their times are (Blender shortens long handles along their direction: less, never more).
    """
    (x0, y0), (x1, y1) = np.ascontiguousarray(curves.co[here].T), np.ascontiguousarray(curves.co[there].T)
    right, left = np.ascontiguousarray(curves.handle_right[here].T), np.ascontiguousarray(curves.handle_left[there].T)
    slope = (y1 - y0) / (x1 - x0)
    off = np.abs(right[1] - y0 - slope * (right[0] - x0))
    np.maximum(off, np.abs(left[1] - y1 - slope * (left[0] - x1)), out=off)
    off *= HANDLE_WEIGHT
    return np.asarray(off)


def bent_steps(clip: Clip, keys: Keys, steps: Steps, least: float) -> Ints:
    """Numbers of the steps on which some component can be more than `least` from the straight line between its keys.

    Left out are steps without time or anything to play between, and those whose components all follow one easing
    equation that stays between the keys: the value keeps to the straight line, only its timing differs.
    """
    far = segment_bend(clip) > least
    if not far.any():
        return np.zeros(0, dtype=np.int64)
    pause_point()
    row = np.zeros(len(keys.time), dtype=bool)
    for component in range(keys.key.shape[1]):
        key = keys.key[:, component]
        row |= far[key] & (key >= 0)
    if not keys.aligned.all():
        row |= _within_bent_segment(clip, keys, far, least)
    possible = row[steps.first] & ~steps.constant & ~steps.slerp & (steps.gap_frames > 0)
    which = np.flatnonzero(possible)
    pause_point()
    return np.asarray(which[~_eased_alike(clip, keys, steps, which)])


def _within_bent_segment(clip: Clip, keys: Keys, far: Bools, least: float) -> Bools:
    """(N,) a component without a key at the row is on a segment of which a part can be that far from its own line."""
    twice = segment_bend(clip) > least / 2  # both ends of the part may lie on the other side of the whole one's line
    result = np.zeros(len(keys.time), dtype=bool)
    curves = clip.tracks.curves[keys.tracks]
    for component in range(keys.key.shape[1]):
        key = keys.key[:, component]
        pause_point()
        last = np.maximum.accumulate(np.where(key >= 0, np.arange(len(key)), -1))
        known = (last >= keys.offsets[keys.member]) & (key < 0) & (curves[keys.member, component] >= 0)
        result[known] |= twice[key[last[known]]]
    return result


def _eased_alike(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Bools:
    """(P,) all components of a step leave its first key by one easing equation that stays between the keys."""
    curves = clip.curves
    if curves.easing is None or not len(which):
        return np.zeros(len(which), dtype=bool)
    key = keys.key[steps.first[which]]
    played, direction = curves.interpolation[key], curves.easing[key]
    between = (played > BEZIER) & (played < SLERP) & (played != BACK) & (played != ELASTIC)
    alike = (played == played[:, :1]) & (direction == direction[:, :1])
    return np.asarray((between & alike & (key >= 0)).all(axis=1))


def beyond_keys(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """(P, n) how far each component can leave the values of its two keys within a step, in value; an upper bound.

    0 where its handles lie between its keys: such a Bézier segment never turns back. Infinite where an easing equation
    overshoots, 0 for a component without keys of its own at both ends.
    """
    curves = clip.curves
    start, end = keys.key[steps.first[which]], keys.key[steps.second[which]]
    direct = (start >= 0) & (end == start + 1)
    played = curves.interpolation[start]
    pause_point()
    a, b = keys.value[steps.first[which]], keys.value[steps.second[which]]
    pause_point()
    right, left = curves.handle_right[start, 1], curves.handle_left[end, 1]
    pause_point()
    above = np.maximum(right, left) - np.maximum(a, b)
    below = np.minimum(a, b) - np.minimum(right, left)
    pause_point()
    beyond = np.where(played == BEZIER, HANDLE_WEIGHT * np.maximum(np.maximum(above, below), 0.0), 0.0)
    beyond[(played == BACK) | (played == ELASTIC)] = np.inf
    return np.asarray(np.where(direct, beyond, 0.0))


def travel(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """(P,) an upper bound of what the components travel on steps, summed, in the unit of the values.

    A component without keys of its own at both ends counts with the difference of its values.
    """
    curves = clip.curves
    a, b = keys.value[steps.first[which]], keys.value[steps.second[which]]
    result = np.abs(b - a)
    start, end = keys.key[steps.first[which]], keys.key[steps.second[which]]
    at, part = np.nonzero((start >= 0) & (end == start + 1))
    key = start[at, part]
    played = curves.interpolation[key]
    bezier = played == BEZIER
    row, column, key = at[bezier], part[bezier], key[bezier]
    right, left = curves.handle_right[key, 1].astype(np.float64), curves.handle_left[key + 1, 1].astype(np.float64)
    first, second = a[row, column], b[row, column]
    result[row, column] = np.abs(right - first) + np.abs(left - right) + np.abs(second - left)
    if curves.easing_parameters is not None:
        for equation in (BACK, ELASTIC):
            chosen = np.flatnonzero(played == equation)
            row, column = at[chosen], part[chosen]
            result[row, column] += _overshoots(clip, equation, start[row, column])
    return np.asarray(result.sum(axis=1))


def _overshoots(clip: Clip, equation: int, key: Ints) -> Floats:
    """(P,) what an easing equation that overshoots travels beyond the keys of segments, at most."""
    curves = clip.curves
    assert curves.easing_parameters is not None
    back, amplitude, period = curves.easing_parameters[key].astype(np.float64).T
    change = np.abs(curves.co[key + 1, 1].astype(np.float64) - curves.co[key, 1])
    if equation == BACK:  # in and out is 1.525 times as strong, on half of the way each
        return np.asarray(change * 2.0 * 1.525 * np.abs(back))
    duration = curves.co[key + 1, 0].astype(np.float64) - curves.co[key, 0]
    period = np.where(period == 0.0, 0.3 * duration, np.abs(period))
    # Swings that shrink by 2^(−5 × period / duration) from each to the next.
    return np.asarray(2.0 * np.maximum(amplitude, change) / (1.0 - 2.0 ** (-5.0 * period / duration)))
