# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys of a clip's rotations as rows: what most rules work on.

A row is one time at which a track is keyed, with all its components side by side. Tracks whose
components are keyed together give their keys as they are; the others are sampled at the union of their
times, each missing value taken from its own curve (or from the stored pose where there is no curve).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..pausing import pause_point
from ..rotation import axis_angle
from .clip import AXIS_ANGLE, COMPONENTS, CONSTANT, EULER, QUATERNION, SLERP, Clip, RotationKind
from .curve import evaluate

# Keys of one track this close together are one row. Blender's own tolerance for "the same frame" when it
# inserts a key (BEZT_BINARYSEARCH_THRESH) is 0.01 frame.
SAME_TIME_FRAMES = 0.01
# Below it a quaternion has no direction that float32 could tell (its components have 1e-7 of noise).
ZERO_NORM = 1e-6


@dataclass(frozen=True, eq=False)
class Keys:
    """N rows of M tracks of one kind.

    Attributes:
        tracks: (M,) numbers of the tracks within the clip.
        offsets: (M + 1,) track ``m`` owns the rows ``offsets[m]:offsets[m + 1]``.
        member: (N,) which of the M tracks a row belongs to.
        time: (N,) frames.
        value: (N, n) float64, n components.
        key: (N, n) key row in the clip's curves, -1 where the component has no key at that time.
        aligned: (M,) bool, all components there and keyed at the same times.
        valid: (N,) bool, finite, and a rotation: no quaternion of zero length, no turn about a zero axis.
        norm: (N,) length of `value`.
    """

    kind: RotationKind
    tracks: Ints
    offsets: Ints
    member: Ints
    time: Floats
    value: Floats
    key: Ints
    aligned: Bools
    valid: Bools
    norm: Floats

    def track_of(self, rows: Ints) -> Ints:
        """Track numbers (within the clip) of some rows."""
        return np.asarray(self.tracks[self.member[rows]])


@dataclass(frozen=True, eq=False)
class Steps:
    """P pairs of neighboring valid rows of one track.

    Attributes:
        first, second: (P,) rows.
        gap_frames: (P,) time between them.
        constant: (P,) bool, the value holds from the first to the second: nothing is played between.
        slerp: (P,) bool, played as a slerp the short way (glTF's LINEAR).
        dot: (P,) normalized dot product (quaternions), NaN for the others.
    """

    first: Ints
    second: Ints
    gap_frames: Floats
    constant: Bools
    slerp: Bools
    dot: Floats


def rotation_keys(clip: Clip, kind: RotationKind) -> Keys:
    """The rows of all tracks of a kind; computed once a clip."""
    name = f"keys:{kind}"
    if name not in clip.cache:
        clip.cache[name] = _rotation_keys(clip, kind)
    keys: Keys = clip.cache[name]
    return keys


def rotation_steps(clip: Clip, kind: RotationKind) -> Steps:
    """The pairs of neighboring valid rows of `rotation_keys`; computed once a clip."""
    name = f"steps:{kind}"
    if name not in clip.cache:
        clip.cache[name] = _rotation_steps(clip, rotation_keys(clip, kind))
    steps: Steps = clip.cache[name]
    return steps


def assumed_pose(clip: Clip) -> Floats:
    """(T, 4) the stored pose values, with 0 for an Euler channel of which nobody tells (an action without users).

    The turn that the channels there make about one axis is the same whatever constant the others hold, and whole
    turns of it can be taken away whatever they hold. So it is with the angle alone of an axis-angle: its axis is taken
    to be Y, as Blender's own is. Other unknown components stay NaN: no rotation.
    """
    unknown = np.isnan(clip.tracks.pose)
    kinds = np.array(clip.tracks.kind, dtype=object)
    result = np.where(unknown & (kinds == EULER)[:, None], 0.0, clip.tracks.pose)
    no_axis = (kinds == AXIS_ANGLE) & np.all(unknown[:, 1:] & (clip.tracks.curves[:, 1:] < 0), axis=1)
    result[no_axis, 1:] = [0.0, 1.0, 0.0]
    return result


def keyed_together(clip: Clip, keys: Keys) -> Bools:
    """(M,) all components of a track that have a curve are keyed at the same times."""
    if keys.aligned.all():
        return keys.aligned
    absent = clip.tracks.curves[keys.tracks, : keys.key.shape[1]] < 0
    result = np.ones(len(keys.tracks), dtype=bool)
    result[keys.member[np.any((keys.key < 0) & ~absent[keys.member], axis=1)]] = False
    return result


def _rotation_keys(clip: Clip, kind: RotationKind) -> Keys:
    n = COMPONENTS[kind]
    tracks = np.flatnonzero(np.array([k == kind for k in clip.tracks.kind], dtype=bool))
    if not len(tracks):
        none = np.zeros(0, dtype=np.int64)
        return Keys(
            kind,
            none,
            np.zeros(1, dtype=np.int64),
            none,
            np.zeros(0),
            np.zeros((0, n)),
            none.reshape(0, n),
            none > 0,
            none > 0,
            np.zeros(0),
        )
    curves = clip.tracks.curves[tracks, :n]
    counts = np.where(curves >= 0, clip.curves.counts[curves], -1) if len(clip.curves) else np.full(curves.shape, -1)
    together = np.all(counts == counts[:, :1], axis=1) & np.all(curves >= 0, axis=1)
    # One column at a time: NumPy walks a long axis several times faster than many short ones.
    times, values = (np.ascontiguousarray(clip.curves.co[:, column]) for column in (0, 1))
    pause_point()
    rows, member = _key_rows(clip, curves[together], counts[together, 0])
    pause_point()
    apart = _times_differ(times, rows, counts[together, 0])
    if apart.any():
        together[np.flatnonzero(together)[apart]] = False
        rows, member = _key_rows(clip, curves[together], counts[together, 0])
    pause_point()
    time = times.take(rows[:, 0]).astype(np.float64)
    value = values.take(rows).astype(np.float64)
    pause_point()
    member = np.flatnonzero(together)[member]
    if not together.all():
        loose = np.flatnonzero(~together)
        more = _union_rows(clip, curves[loose], assumed_pose(clip)[tracks[loose], :n])
        member = np.concatenate([member, loose[more[0]]])
        order = np.argsort(member, kind="stable")
        member = member[order]
        time = np.concatenate([time, more[1]])[order]
        value = np.concatenate([value, more[2]])[order]
        rows = np.concatenate([rows, more[3]])[order]
    offsets = np.searchsorted(member, np.arange(len(tracks) + 1))
    pause_point()
    with np.errstate(all="ignore"):
        norm = np.sqrt(np.einsum("ij,ij->i", value, value))
    valid = np.isfinite(norm) & np.isfinite(time)
    if kind == QUATERNION:
        valid &= norm >= ZERO_NORM
    elif kind == AXIS_ANGLE:
        valid &= axis_angle.has_axis(value) | axis_angle.turns_nothing(value)
    return Keys(kind, tracks, offsets, member, time, value, rows, together, valid, norm)


def _key_rows(clip: Clip, curves: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Key rows (N, n) of tracks whose M × n curves all have `counts` keys, and the track of each."""
    member = np.repeat(np.arange(len(curves)), counts)
    first = clip.curves.offsets[curves] - (np.cumsum(counts) - counts)[:, None]
    return np.repeat(first, counts, axis=0) + np.arange(len(member))[:, None], member


def _times_differ(time: Floats, rows: Ints, counts: Ints) -> Bools:
    """(M,) bool: some key of the track has components at different times. NaN and infinity say nothing."""
    filled = counts > 0
    result = np.zeros(len(counts), dtype=bool)
    if filled.any():
        first = time.take(rows[:, 0])
        off = np.zeros(len(rows), dtype=bool)
        with np.errstate(invalid="ignore"):
            for component in range(1, rows.shape[1]):
                gap = np.abs(time.take(rows[:, component]) - first)
                off |= (gap > SAME_TIME_FRAMES) & (gap < np.inf)
        starts = (np.cumsum(counts) - counts)[filled]
        result[filled] = np.logical_or.reduceat(off, starts)
    return result


def _union_rows(clip: Clip, curves: Ints, pose: Floats) -> tuple[Ints, Floats, Floats, Ints]:
    """Rows of tracks with absent or misaligned components: (member, time, value, key row or -1)."""
    n = curves.shape[1]
    member, component = np.nonzero(curves >= 0)
    counts = clip.curves.counts[curves[member, component]]
    first = clip.curves.offsets[curves[member, component]]
    member, component = np.repeat(member, counts), np.repeat(component, counts)
    key = np.repeat(first, counts) + np.arange(len(member)) - np.repeat(np.cumsum(counts) - counts, counts)
    time = clip.curves.co[key, 0].astype(np.float64)
    finite = np.isfinite(time)
    member, component, key, time = member[finite], component[finite], key[finite], time[finite]
    pause_point()
    order = np.lexsort((key, time, member))
    pause_point()
    member, component, key, time = member[order], component[order], key[order], time[order]
    new = np.ones(len(time), dtype=bool)
    new[1:] = (np.diff(time) > SAME_TIME_FRAMES) | (np.diff(member) != 0)
    group = np.cumsum(new) - 1
    total = int(group[-1]) + 1 if len(group) else 0
    pause_point()
    row_key = np.full((total, n), -1, dtype=np.int64)
    pause_point()
    row_key[group, component] = key
    row_time, row_member = time[new], member[new]
    value = pose[row_member].copy()
    keyed = row_key >= 0
    value[keyed] = clip.curves.co[row_key[keyed], 1]
    at, part = np.nonzero(~keyed & (curves[row_member] >= 0))
    value[at, part] = evaluate(clip.curves, curves[row_member[at], part], row_time[at])
    return row_member, row_time, value, row_key


def _rotation_steps(clip: Clip, keys: Keys) -> Steps:
    if not len(keys.time):
        none, no = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        return Steps(none, none, np.zeros(0), no, no, np.zeros(0))
    if keys.valid.all():  # neighbors lie side by side: slices instead of look-ups
        first = np.flatnonzero(keys.member[1:] == keys.member[:-1])
        second = first + 1
        pause_point()
        dot = _slices_dot(keys, first)
    else:
        rows = np.flatnonzero(keys.valid)
        same = keys.member[rows[1:]] == keys.member[rows[:-1]]
        first, second = rows[:-1][same], rows[1:][same]
        with np.errstate(invalid="ignore"):  # Euler angles may all be 0
            dot = np.einsum("ij,ij->i", keys.value[first], keys.value[second]) / (keys.norm[first] * keys.norm[second])
    if keys.kind != QUATERNION:
        dot = np.full(len(first), np.nan)
    pause_point()
    gap = keys.time[second] - keys.time[first]
    return Steps(first, second, gap, _plays(clip, keys, first, CONSTANT), _plays(clip, keys, first, SLERP), dot)


def _slices_dot(keys: Keys, first: Ints) -> Floats:
    with np.errstate(all="ignore"):  # pairs across two tracks are computed too, and dropped
        dot = np.einsum("ij,ij->i", keys.value[:-1], keys.value[1:]) / (keys.norm[:-1] * keys.norm[1:])
    return np.asarray(dot if len(first) == len(dot) else dot[first])


def _plays(clip: Clip, keys: Keys, rows: Ints, interpolation: int) -> Bools:
    """(P,) every component leaves its row by this interpolation; one that holds is as good as CONSTANT."""
    played = clip.curves.interpolation == interpolation
    if not played.any():
        return np.zeros(len(rows), dtype=bool)
    if interpolation == CONSTANT and not keys.aligned.all():
        return np.asarray(held_components(clip, keys, rows).all(axis=1))
    result = np.ones(len(rows), dtype=bool)
    for component in range(keys.key.shape[1]):
        key = keys.key[rows, component]
        result &= np.where(key >= 0, played[key], False)
    return result


def held_components(clip: Clip, keys: Keys, rows: Ints) -> Bools:
    """(P, n) the component holds its value from a row to the next: by a CONSTANT key, at that row or before it.

    So does one that has no curve, and one outside its own keys where nothing extrapolates them. Such a component jumps
    at the next row: a pop, nothing is travelled.
    """
    curve = clip.tracks.curves[keys.track_of(rows), : keys.key.shape[1]]
    held = clip.curves.interpolation == CONSTANT
    if not held.any() or not len(rows):
        return np.asarray(curve < 0)
    if keys.aligned.all():
        return np.asarray(held[keys.key[rows]])
    # The key that a row plays on: its own, or the last one before it within the track.
    number = np.arange(len(keys.time))[:, None]
    last = np.maximum.accumulate(np.where(keys.key >= 0, number, -1), axis=0)[rows]
    key = np.take_along_axis(keys.key, np.maximum(last, 0), axis=0)
    key = np.where(last >= keys.offsets[keys.member[rows]][:, None], key, -1)
    goes_on = clip.curves.linear_extrapolation | np.array([cycles is not None for cycles in clip.curves.cycles])
    outside = (key < 0) | (key == clip.curves.offsets[curve + 1] - 1)
    return np.asarray((curve < 0) | np.where(outside, ~goes_on[curve], held[key]))
