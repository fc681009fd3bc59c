# SPDX-License-Identifier: GPL-3.0-or-later
"""Edits of a clip's curves: scale, set, insert and remove keys, add and remove curves.

Each returns a new Clip and leaves what it does not name as it was, handles included. They know nothing of
rules; the rules decide what to edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from .bezier import split_bezier
from .clip import BEZIER, CONSTANT, LINEAR, Clip, Curves, with_curves
from .curve import evaluate
from .easing import DEFAULT_PARAMETERS
from .keys import SAME_TIME_FRAMES

# Segments divided between two moments at which work may pause.
AT_ONCE = 1 << 15


def scale_keys(clip: Clip, key: Ints, factor: Floats) -> Clip:
    """Multiply the values of some keys (P,) and of both their handles by `factor` (P,)."""
    curves = clip.curves
    co, left, right = curves.co.copy(), curves.handle_left.copy(), curves.handle_right.copy()
    for points in (co, left, right):
        points[key, 1] = points[key, 1] * factor
    return with_curves(clip, replace(curves, co=co, handle_left=left, handle_right=right))


def map_keys(clip: Clip, key: Ints, factor: Floats, offset: Floats) -> Clip:
    """value → factor × value + offset for some keys (P,) and both their handles."""
    curves = clip.curves
    co, left, right = curves.co.copy(), curves.handle_left.copy(), curves.handle_right.copy()
    scaled = bool(np.any(factor != 1.0))
    for points in (co, left, right):
        values = points[key, 1].astype(np.float64)
        if scaled:
            values *= factor
        values += offset
        points[key, 1] = values
    return with_curves(clip, replace(curves, co=co, handle_left=left, handle_right=right))


def bridge_keys(clip: Clip, key: Ints, time: Floats, value: Floats) -> Clip:
    """Give keys (P,) a new time and value and mark them; their handles lie on the chords to the neighbors.

    The chords are taken after all values are set, so that a run of bridged keys is smooth in itself.
    """
    curves = clip.curves
    co, marked = curves.co.copy(), curves.marked.copy()
    co[key, 0], co[key, 1], marked[key] = time, value, True
    edited = replace(curves, co=co, marked=marked)
    return with_curves(clip, straighten_handles(edited, key, np.ones(len(key), bool), np.ones(len(key), bool)))


def straighten_handles(curves: Curves, key: Ints, left_too: Bools, right_too: Bools) -> Curves:
    """Lay the handles of keys (P,) a third of the way along the chord to the neighboring key.

    Where there is none, or where it is not finite, they are flat and one frame long.
    """
    co = curves.co
    left, right = curves.handle_left.copy(), curves.handle_right.copy()
    curve = np.searchsorted(curves.offsets, key, side="right") - 1
    is_first, is_last = key == curves.offsets[curve], key == curves.offsets[curve + 1] - 1
    for points, chosen, step, at_end in ((left, left_too, -1, is_first), (right, right_too, 1, is_last)):
        inner = chosen & ~at_end
        inner[inner] = np.isfinite(co[key[inner] + step]).all(axis=1)
        here, there = key[inner], key[inner] + step
        points[here] = co[here] + (co[there] - co[here]) / 3.0
        outer = key[chosen & ~inner]
        points[outer] = co[outer] + (np.array([step, 0.0], dtype=co.dtype))
    return replace(curves, handle_left=left, handle_right=right)


def keep_keys(clip: Clip, keep: Bools) -> Clip:
    """Remove the keys (K,) that are not kept. A curve may end up without keys."""
    curves = clip.curves
    counts = np.bincount(curves.curve_of_key()[keep], minlength=len(curves))
    return with_curves(clip, replace(_take_keys(curves, np.flatnonzero(keep)), offsets=_offsets(counts)))


def reorder_keys(clip: Clip, key: Ints) -> Clip:
    """The keys in another order (K,), each still within its own curve."""
    return with_curves(clip, _take_keys(clip.curves, key))


def _offsets(counts: Ints) -> Ints:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _take_keys(curves: Curves, key: Ints) -> Curves:
    return replace(
        curves,
        co=curves.co[key],
        handle_left=curves.handle_left[key],
        handle_right=curves.handle_right[key],
        interpolation=curves.interpolation[key],
        easing=None if curves.easing is None else curves.easing[key],
        easing_parameters=None if curves.easing_parameters is None else curves.easing_parameters[key],
        origin=curves.origin[key],
        marked=curves.marked[key],
    )


def keep_curves(clip: Clip, keep: Bools) -> Clip:
    """Remove the curves (C,) that are not kept, and the tracks that lose all of theirs."""
    curves, tracks = clip.curves, clip.tracks
    chosen = np.flatnonzero(keep)
    key = np.flatnonzero(keep[curves.curve_of_key()])
    fewer = replace(
        _take_keys(curves, key),
        data_path=tuple(curves.data_path[c] for c in chosen),
        component=curves.component[chosen],
        offsets=_offsets(curves.counts[chosen]),
        linear_extrapolation=curves.linear_extrapolation[chosen],
        cycles=tuple(curves.cycles[c] for c in chosen),
        unevaluable=tuple(curves.unevaluable[c] for c in chosen),
        read_only=tuple(curves.read_only[c] for c in chosen),
        orphan=curves.orphan[chosen],
        ancestor=curves.ancestor[chosen],
    )
    number = np.full(len(curves) + 1, -1, dtype=np.int64)
    number[chosen] = np.arange(len(chosen))
    renamed = number[tracks.curves]  # -1 looks up the last entry, which is -1
    alive = np.flatnonzero(np.any(renamed >= 0, axis=1))
    fewer_tracks = replace(
        tracks,
        data_path=tuple(tracks.data_path[t] for t in alive),
        bone=tuple(tracks.bone[t] for t in alive),
        kind=tuple(tracks.kind[t] for t in alive),
        order=tuple(tracks.order[t] for t in alive),
        modes=tuple(tracks.modes[t] for t in alive),
        curves=renamed[alive],
        pose=tracks.pose[alive],
        delta=tuple(tracks.delta[t] for t in alive),
    )
    return replace(clip, curves=fewer, tracks=fewer_tracks)


def add_curves(
    clip: Clip,
    like: Ints,
    data_path: Sequence[str],
    component: Ints,
    co: Sequence[Floats],
    interpolation: Sequence[Ints],
) -> Clip:
    """Append curves with marked keys.

    Each new curve is like an existing one (P,): same extrapolation, cycles and owner. `co` has a (k, 2)
    array of times and values, `interpolation` a (k,) array each. Handles lie on the chords. Tracks are not
    touched: the caller names the new curves (they come last).
    """
    old = clip.curves
    counts = np.array([len(c) for c in co], dtype=np.int64)
    total = int(counts.sum())
    points = np.concatenate([old.co, *co]).astype(old.co.dtype)
    new = np.arange(len(old.co), len(points))

    def longer(values: npt.NDArray[Any] | None, tail: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
        return None if values is None else np.concatenate([values, tail.astype(values.dtype)])

    grown = Curves(
        data_path=(*old.data_path, *data_path),
        component=np.concatenate([old.component, component]),
        offsets=_offsets(np.concatenate([old.counts, counts])),
        co=points,
        handle_left=np.concatenate([old.handle_left, points[new]]),
        handle_right=np.concatenate([old.handle_right, points[new]]),
        interpolation=np.concatenate([old.interpolation, *interpolation]).astype(np.uint8),
        easing=longer(old.easing, np.zeros(total, np.uint8)),
        easing_parameters=longer(old.easing_parameters, np.tile(DEFAULT_PARAMETERS, (total, 1))),
        linear_extrapolation=np.concatenate([old.linear_extrapolation, old.linear_extrapolation[like]]),
        cycles=(*old.cycles, *(old.cycles[c] for c in like)),
        unevaluable=(*old.unevaluable, *(old.unevaluable[c] for c in like)),
        read_only=(*old.read_only, *(old.read_only[c] for c in like)),
        orphan=np.concatenate([old.orphan, old.orphan[like]]),
        ancestor=np.concatenate([old.ancestor, np.full(len(like), -1)]),
        origin=np.concatenate([old.origin, np.full(total, -1)]),
        marked=np.concatenate([old.marked, np.ones(total, bool)]),
    )
    every = np.ones(total, bool)
    return with_curves(clip, straighten_handles(grown, new, every, every))


def insert_keys(clip: Clip, curve: Ints, time: Floats) -> Clip:
    """Insert keys at (curve, time) pairs (P,) on the curves as they run.

    Bézier segments are split exactly (De Casteljau), so that the curve keeps its shape; LINEAR and CONSTANT
    segments are exact by nature; outside the keyed range the value that Blender extrapolates is keyed.
    A pair within 0.01 frame of an existing key is left out. Segments with an easing equation cannot be
    split; ask `can_insert` first. One thing does change: beyond a last key that is LINEAR, linear extrapolation
    follows the chord of the last two keys, which are others once a last segment that is not LINEAR is divided.
    """
    pause_point()
    pending = np.lexsort((time, curve))
    curve, time = np.asarray(curve)[pending], np.asarray(time, dtype=np.float64)[pending]
    pause_point()
    while len(curve):  # one key a segment and pass: at most as many passes as keys fall into one segment
        segment = _segments(clip.curves, curve, time)
        pause_point()
        taken = _close_to_key(clip.curves, curve, segment, time)
        curve, time, segment = curve[~taken], time[~taken], segment[~taken]
        if not len(curve):
            break
        # The same gap of the same curve has one segment number, and pairs are in order.
        first = np.ones(len(curve), dtype=bool)
        first[1:] = (np.diff(segment) != 0) | (np.diff(curve) != 0)
        clip = with_curves(clip, _insert_pass(clip.curves, curve[first], segment[first], time[first]))
        curve, time = curve[~first], time[~first]
    return clip


def can_insert(clip: Clip, curve: int) -> str:
    """Why keys cannot be inserted into a curve without changing its shape; "" when they can."""
    curves = clip.curves
    played = curves.interpolation[curves.rows(curve)]
    why = why_unsound(clip, curve)
    if why:
        return why
    if curves.unevaluable[curve]:
        return f"its values between keys cannot be computed ({curves.unevaluable[curve]})"
    if np.any((played > BEZIER) & (played <= 12)):
        return "an easing equation cannot be split into two segments of the same shape"
    if curves.cycles[curve] is not None:
        return "its Cycles modifier repeats the keyed range, which a key outside of it would change"
    return ""


def why_unsound(clip: Clip, curve: int) -> str:
    """Why nobody can tell what a curve plays between its keys, "" when it is sound."""
    curves = clip.curves
    rows = curves.rows(curve)
    if not all(np.isfinite(p[rows]).all() for p in (curves.co, curves.handle_left, curves.handle_right)):
        return "some of its keys are not finite numbers (QA101)"
    if np.any(np.diff(curves.co[rows, 0]) <= 0):
        return "its keys are not in order of time (QA401)"
    return ""


def _segments(curves: Curves, curve: Ints, time: Floats) -> Ints:
    """Key row that each time comes after; the row before the curve's first when it comes before all."""
    key = np.empty(len(curve), dtype=np.int64)
    for c in np.unique(curve):  # only curves that get keys
        mask = curve == c
        start, end = int(curves.offsets[c]), int(curves.offsets[c + 1])
        key[mask] = start + np.searchsorted(curves.co[start:end, 0], time[mask], side="right") - 1
    return key


def _close_to_key(curves: Curves, curve: Ints, segment: Ints, time: Floats) -> Bools:
    close = np.zeros(len(curve), dtype=bool)
    for row, inside in (
        (segment, segment >= curves.offsets[curve]),
        (segment + 1, segment + 1 < curves.offsets[curve + 1]),
    ):
        at = np.flatnonzero(inside)
        close[at] |= np.abs(curves.co[row[at], 0] - time[at]) <= SAME_TIME_FRAMES
    return close


def _insert_pass(curves: Curves, curve: Ints, segment: Ints, time: Floats) -> Curves:
    """Insert one key after each of the key rows `segment` (P,), all of them different segments."""
    value = evaluate(curves, curve, time)
    pause_point()
    before, after = segment < curves.offsets[curve], segment + 1 >= curves.offsets[curve + 1]
    inner = ~before & ~after
    like = np.where(before, segment + 1, segment)
    played = curves.interpolation[like]
    # Before the first and beyond the last key the curve runs straight: LINEAR keys go on as it did.
    played = np.where(before | (after & (played != CONSTANT)), LINEAR, played).astype(np.uint8)
    co = np.stack([time, value], axis=1)
    left, right = co.copy(), co.copy()
    handle_left, handle_right = curves.handle_left.copy(), curves.handle_right.copy()
    bezier = np.flatnonzero(inner & (played == BEZIER))
    for start in range(0, len(bezier), AT_ONCE):
        pause_point()
        some = bezier[start : start + AT_ONCE]
        a, b = segment[some], segment[some] + 1
        right0, new_left, new, new_right, left1 = split_bezier(
            curves.co[a], curves.handle_right[a], curves.handle_left[b], curves.co[b], time[some]
        )
        handle_right[a], handle_left[b] = right0, left1
        co[some], left[some], right[some] = new, new_left, new_right
    pause_point()
    interpolation = curves.interpolation.copy()
    interpolation[segment[after]] = np.where(interpolation[segment[after]] == CONSTANT, CONSTANT, LINEAR)
    order = np.argsort(np.concatenate([np.arange(len(curves.co)) + 0.0, segment + 0.5]), kind="stable")
    pause_point()

    def merged(old: npt.NDArray[Any], new: npt.NDArray[Any]) -> npt.NDArray[Any]:
        pause_point()
        return np.asarray(np.concatenate([old, new.astype(old.dtype)])[order])

    count = len(curve)
    counts = curves.counts + np.bincount(curve, minlength=len(curves))
    result = replace(
        curves,
        offsets=_offsets(counts),
        co=merged(curves.co, co),
        handle_left=merged(handle_left, left),
        handle_right=merged(handle_right, right),
        interpolation=merged(interpolation, played),
        easing=None if curves.easing is None else merged(curves.easing, np.zeros(count)),
        easing_parameters=(
            None
            if curves.easing_parameters is None
            else merged(curves.easing_parameters, np.tile(DEFAULT_PARAMETERS, (count, 1)))
        ),
        origin=merged(curves.origin, np.full(count, -1)),
        marked=merged(curves.marked, np.ones(count, bool)),
    )
    pause_point()
    straight = np.flatnonzero(order >= len(curves.co))
    is_bezier = np.zeros(count, dtype=bool)
    is_bezier[bezier] = True
    lay = ~is_bezier[order[straight] - len(curves.co)]
    return straighten_handles(result, straight, lay, lay)


def add_keys(clip: Clip, curve: Ints, time: Floats, value: Floats) -> Clip:
    """Insert keys at (curve, time) pairs (P,) with values of their own; handles around them lie straight.

    A pair within 0.01 frame of an existing key is left out: that key keeps its value.
    """
    near = _close_to_key(clip.curves, curve, _segments(clip.curves, curve, time), time)
    curve, time, value = curve[~near], time[~near], value[~near]
    if not len(curve):
        return clip
    clip = insert_keys(clip, curve, time)
    curves = clip.curves
    key = _segments(curves, curve, time + SAME_TIME_FRAMES / 2)
    co = curves.co.copy()
    co[key, 1] = value
    start, end = curves.offsets[curve], curves.offsets[curve + 1]
    touched = np.unique(np.concatenate([key, key[key > start] - 1, key[key + 1 < end] + 1]))
    new = np.zeros(len(co) + 1, dtype=bool)
    new[key] = True
    owner = np.searchsorted(curves.offsets, touched, side="right") - 1
    left = new[touched] | (new[touched - 1] & (touched > curves.offsets[owner]))
    right = new[touched] | (new[touched + 1] & (touched + 1 < curves.offsets[owner + 1]))
    return with_curves(clip, straighten_handles(replace(curves, co=co), touched, left, right))


def with_origins(read: Clip, edited: Clip) -> Clip:
    """What was read again, knowing which key each of its keys was: a file does not say, the repair does.

    Where a writer refused the repair of a track the keys are those of the old file, and their own origins.
    """
    a, b = read.curves, edited.curves
    if not len(b):
        return read
    named = {(b.data_path[c], int(b.component[c])): c for c in range(len(b))}
    ancestor, origin = a.ancestor.copy(), a.origin.copy()
    for curve, path in enumerate(a.data_path):
        other = named.get((path, int(a.component[curve])))
        if other is not None and a.counts[curve] == b.counts[other]:
            ancestor[curve], origin[a.rows(curve)] = b.ancestor[other], b.origin[b.rows(other)]
    return with_curves(read, replace(a, ancestor=ancestor, origin=origin))
