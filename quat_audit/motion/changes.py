# SPDX-License-Identifier: GPL-3.0-or-later
"""What is not the same in two states of a clip: keys, and how many of them on which data path."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import Bools, Floats, Ints
from .clip import Clip, Curves, RotationKind
from .curve import evaluate
from .keys import SAME_TIME_FRAMES
from .readers import Reader, newly_bound, newly_released

# A value counts as the same within some ulps of float32.
SAME_VALUE = 4.0 * float(np.finfo(np.float32).eps)


def changed_keys(a: Curves, b: Curves) -> Bools:
    """(K,) keys that are not bit for bit the same (NaN equals NaN); the curves have the same keys."""
    key = a.interpolation != b.interpolation
    for x, y in ((a.co, b.co), (a.handle_left, b.handle_left), (a.handle_right, b.handle_right)):
        if x is not y:
            for column in (0, 1):
                p, q = x[:, column], y[:, column]
                key |= (p != q) & ~(np.isnan(p) & np.isnan(q))
    return np.asarray(key)


def curves_differ(a: Curves, b: Curves, tracks_a: Ints, tracks_b: Ints, partner: Ints) -> Bools:
    """(T,) some key of the track's curves is not bit for bit the same, or curves came or went."""
    result = np.zeros(len(partner), dtype=bool)
    if np.array_equal(a.offsets, b.offsets) and np.array_equal(tracks_a, tracks_b[partner]):
        changed = np.zeros(len(a) + 1, dtype=bool)
        changed[np.searchsorted(a.offsets, np.flatnonzero(changed_keys(a, b)), side="right") - 1] = True
        return np.asarray(changed[tracks_a].any(axis=1))
    for track, other in enumerate(partner):
        if other < 0:
            continue
        for x, y in zip(tracks_a[track], tracks_b[other], strict=True):
            if x < 0 and y < 0:
                continue
            result[track] |= x < 0 or y < 0 or not _same_curve(a, int(x), b, int(y))
    return result


def _same_curve(a: Curves, x: int, b: Curves, y: int) -> bool:
    left, right = a.rows(x), b.rows(y)
    return all(
        np.array_equal(p[left], q[right], equal_nan=True)
        for p, q in ((a.co, b.co), (a.handle_left, b.handle_left), (a.handle_right, b.handle_right))
    ) and np.array_equal(a.interpolation[left], b.interpolation[right])


def same_keys(a: Curves, b: Curves) -> Ints:
    """(K,) the key row of `b` that each key of `a` was, -1 where it is gone or a repair made it."""
    size = 1 + max(int(a.origin.max(initial=0)), int(b.origin.max(initial=0)))

    def names(c: Curves) -> Ints:
        ancestor = c.ancestor[c.curve_of_key()]
        return np.where((ancestor >= 0) & (c.origin >= 0), ancestor * size + c.origin, -1)

    wanted, there = names(a), names(b)
    if not len(there):
        return np.full(len(wanted), -1)
    order = np.argsort(there, kind="stable")
    at = order[np.minimum(np.searchsorted(there, wanted, sorter=order), len(order) - 1)]
    return np.where((wanted >= 0) & (there[at] == wanted), at, -1)


def same_tracks(before: Clip, after: Clip) -> Ints:
    """(T,) the track of `after` with the same data path and kind (the n-th for the n-th), -1 without."""

    def named(clip: Clip) -> dict[tuple[str, RotationKind, int], int]:
        seen: dict[tuple[str, RotationKind], int] = {}
        result = {}
        for track, (path, kind) in enumerate(zip(clip.tracks.data_path, clip.tracks.kind, strict=True)):
            number = seen.get((path, kind), 0)
            seen[path, kind] = number + 1
            result[path, kind, number] = track
        return result

    there = named(after)
    return np.array([there.get(name, -1) for name in named(before)], dtype=np.int64)


def values_changed(before: Clip, after: Clip, reader: Reader) -> list[str]:
    """The data paths whose values a reader takes by themselves (a driver, a mix), where those at the keys differ."""
    if after.curves is before.curves or not (reader.reads or reader.mixed_paths):
        return []
    b, a = before.curves, after.curves
    there = {(path, int(part)): n for n, (path, part) in enumerate(zip(a.data_path, a.component, strict=True))}
    found: dict[str, None] = {}
    for number, (path, part) in enumerate(zip(b.data_path, b.component.tolist(), strict=True)):
        if path in found or not (path in reader.mixed_paths or (path, part) in reader.reads):
            continue
        other = there.get((path, part), -1)
        rows = b.rows(number)
        if other < 0 or _values_differ(b.co[rows, 1], evaluate(a, other, b.co[rows, 0])):
            found[path] = None
    return list(found)


def _values_differ(was: Floats, now: Floats) -> bool:
    size = np.maximum(np.abs(was.astype(np.float64)), 1.0)
    return bool(np.any(np.abs(now - was) > SAME_VALUE * size))


def changes_by_path(before: Clip, after: Clip) -> dict[str, int]:
    """Data path → keys changed, added or removed, of the paths on which the two differ; the same paths are the same.

    The components of one key count once. Keys that were converted into another property of their owner count once, on
    the path that they had. A track that is played in another rotation mode, a slot that is bound and a bone that is
    disconnected count as one key at least.
    """
    if after is before:
        return {}
    found = _keys_by_path(before.curves, after.curves)
    modes = dict(zip(after.tracks.data_path, after.tracks.modes, strict=True))
    for path, mode in zip(before.tracks.data_path, before.tracks.modes, strict=True):
        if path in modes and modes[path] != mode:
            found[path] = max(found.get(path, 0), 1)
    found |= {f"{one.owner}.action_slot": 1 for one in newly_bound(before, after)}
    found |= {one.data_path: max(found.get(one.data_path, 0), 1) for one in newly_released(before, after)}
    return _converted_once(found, set(before.curves.data_path), set(after.curves.data_path))


def _converted_once(found: Mapping[str, int], old: set[str], new: set[str]) -> dict[str, int]:
    """The same counts, with a path that came counted on the one of the same owner that went."""
    gone = {_owner(path): path for path in found if path not in new}
    result: dict[str, int] = {}
    for path, count in found.items():
        name = gone.get(_owner(path), path) if path not in old else path
        result[name] = max(result.get(name, 0), count)
    return result


def _owner(path: str) -> str:
    return path.rpartition(".")[0]


def _keys_by_path(a: Curves, b: Curves) -> dict[str, int]:
    """Data path → times at which a key of one of its curves changed, came or went."""
    if np.array_equal(a.offsets, b.offsets) and np.array_equal(a.ancestor, b.ancestor) and a.data_path == b.data_path:
        return _changed_by_path(b, changed_keys(a, b))
    kept = same_keys(a, b)
    was = np.flatnonzero(kept >= 0)
    now = kept[was]
    differs = a.interpolation[was] != b.interpolation[now]
    for x, y in ((a.co, b.co), (a.handle_left, b.handle_left), (a.handle_right, b.handle_right)):
        for column in (0, 1):
            p, q = x[was, column], y[now, column]
            differs |= (p != q) & ~(np.isnan(p) & np.isnan(q))
    gone = np.flatnonzero(kept < 0)
    came = np.ones(len(b.co), dtype=bool)
    came[now] = False
    new = np.flatnonzero(came)
    curve_of_a, curve_of_b = a.curve_of_key(), b.curve_of_key()
    # Paths of both, in one numbering.
    paths = (*a.data_path, *b.data_path)
    curve = np.concatenate([curve_of_a[gone], len(a) + curve_of_b[new], curve_of_a[was[differs]]])
    time = np.concatenate([a.co[gone, 0], b.co[new, 0], a.co[was[differs], 0]])
    return _count_times(paths, curve, time)


def _changed_by_path(curves: Curves, changed: Bools) -> dict[str, int]:
    """Data path → distinct times of its changed keys (K,)."""
    touched = np.zeros(len(curves) + 1, dtype=bool)
    touched[np.searchsorted(curves.offsets, np.flatnonzero(changed), side="right") - 1] = True
    members: dict[str, list[int]] = {}
    for curve in np.flatnonzero(touched[:-1]).tolist():
        members.setdefault(curves.data_path[curve], []).append(curve)
    found: dict[str, int] = {}
    apart: list[int] = []
    for path, of_path in members.items():
        rows = [curves.rows(curve) for curve in of_path]
        first = curves.co[rows[0], 0]
        if all(np.array_equal(first, curves.co[part, 0]) for part in rows[1:]):
            # Keyed together, as nearly all are: no need to sort times.
            found[path] = int(np.count_nonzero(np.logical_or.reduce([changed[part] for part in rows])))
        else:
            apart += of_path
    if apart:
        key = np.flatnonzero(changed)
        curve = curves.curve_of_key()[key]
        mine = np.isin(curve, apart)
        found |= _count_times(curves.data_path, curve[mine], curves.co[key[mine], 0])
    return found


def _count_times(paths: tuple[str, ...], curve: Ints, time: Floats) -> dict[str, int]:
    """Data path → distinct times among keys of curves (P,) at times (P,); those that mean one row count once."""
    if not len(curve):
        return {}
    number: dict[str, int] = {}
    path = np.array([number.setdefault(p, len(number)) for p in paths])[curve]
    at = np.where(np.isnan(time), np.inf, time).astype(np.float64)
    order = np.lexsort((at, path))
    path, at = path[order], at[order]
    fresh = np.ones(len(order), dtype=bool)
    with np.errstate(invalid="ignore"):  # infinity less infinity: the same row
        fresh[1:] = (np.diff(path) != 0) | (np.diff(at) > SAME_TIME_FRAMES)
    counts = np.bincount(path[fresh], minlength=len(number))
    return {name: int(counts[n]) for name, n in number.items() if counts[n]}
