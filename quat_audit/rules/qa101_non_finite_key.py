# SPDX-License-Identifier: GPL-3.0-or-later
"""A key holds NaN or infinity.

## What it finds
NaN or infinity in the value, the time or a handle of a key, on any animated channel of the clip, location and
scale too. The message names the first bad frame.

## Why it matters
One NaN key poisons the whole open interval to both of its neighbors: in Blender the bone and all of its
children vanish. Exporters write it or crash, engines show nothing or everything at the origin.

## Grading
error.

## Fix
Safe: a rotation is bridged by a slerp of the nearest valid keys at that time (with one valid side it is held).
On other channels the key is removed. A bad handle is laid on the line to the neighboring key. A key without
a time takes it from the other components, or is removed. Repaired keys are marked (key type Generated).
Unsafe: a rotation without any valid key becomes the rest rotation. NaN is never written.

## Known limits
Euler channels and axis angles that turn by half a turn or more around the gap are bridged along the line between the
keys, so that the turn is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..findings.finding import ERROR, SAFE, UNSAFE, Finding, picked
from ..motion.clip import COMPONENTS, Clip, RotationKind, with_curves
from ..motion.edit import keep_curves, keep_keys, straighten_handles
from ..motion.keys import rotation_keys
from .bridging import bridge_rows
from .grouping import Faults, findings_by_path
from .rule import PHASE_VALUES, Limits, Rule

TIME, VALUE, HANDLE = range(3)
SENTENCES = (
    "the key's time is not a finite number: nothing plays from the key before it to the key after it",
    "the key's value is not a finite number: nothing plays from the key before it to the key after it",
    "a Bézier handle is not a finite number: nothing plays on that side of the key",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    curves = clip.curves
    if all(np.isfinite(points).all() for points in (curves.co, curves.handle_left, curves.handle_right)):
        return []
    co_bad, handle_bad = ~np.isfinite(curves.co), ~np.isfinite(curves.handle_left) | ~np.isfinite(curves.handle_right)
    key = np.flatnonzero(co_bad.any(axis=1) | handle_bad.any(axis=1))
    curve = np.searchsorted(curves.offsets, key, side="right") - 1
    frame = _frames(clip, key)
    # One occurrence for each frame of a data path: its components usually break together.
    paths = {path: number for number, path in enumerate(dict.fromkeys(curves.data_path))}
    path = np.array([paths[curves.data_path[c]] for c in curve])
    order = np.lexsort((key, frame, path))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(path[order]) != 0) | (np.diff(frame[order]) != 0)
    one = order[fresh]
    hopeless = _hopeless_curves(clip)[curve] & co_bad[key].any(axis=1)
    what = np.select([co_bad[key[one], 0], co_bad[key[one], 1]], [TIME, VALUE], default=HANDLE)
    faults = Faults(
        part=curve[one],
        frames=np.stack([frame[one]] * 2, axis=1),
        kind=picked(("time", "value", "handle"), what),
        severity=np.full(len(one), ERROR),
        fix=np.where(hopeless[one], UNSAFE, SAFE),
        measured={"components": np.diff(np.append(np.flatnonzero(fresh), len(order))).astype(np.float64)},
        rows=key[one],
        weight=np.arange(len(one), 0.0, -1.0),  # the message names the first bad frame
        sentence=what,
    )
    return findings_by_path(clip, RULE, faults)


def _frames(clip: Clip, key: Ints) -> Floats:
    """Frame of each key (P,); of one without a time, that of the key before it, or 0."""
    curves = clip.curves
    frame: Floats = curves.co[key, 0].astype(np.float64)
    for at in np.flatnonzero(~np.isfinite(frame)):
        curve = int(np.searchsorted(curves.offsets, key[at], side="right")) - 1
        times = curves.co[curves.offsets[curve] : key[at], 0]
        times = times[np.isfinite(times)]
        frame[at] = times[-1] if len(times) else 0.0
    return frame


def _hopeless_curves(clip: Clip) -> Bools:
    """(C,) the curve belongs to a rotation without any valid key."""
    result = np.zeros(len(clip.curves), dtype=bool)
    for kind in COMPONENTS:
        keys = rotation_keys(clip, kind)
        alive = np.zeros(len(keys.tracks), dtype=bool)
        alive[keys.member[keys.valid]] = True
        curves = clip.tracks.curves[keys.tracks[~alive]].ravel()
        result[curves[curves >= 0]] = True
    return result


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    allowed = {f.data_path for f in findings if f.fix == SAFE or unsafe}
    chosen = np.array([path in allowed for path in clip.curves.data_path], dtype=bool)
    alive = chosen & (unsafe | ~_hopeless_curves(clip))
    before = clip
    for kind in COMPONENTS:
        clip = _fix_rotations(clip, kind, alive)
    # What is still bad is not a rotation, or has no time: the key goes, and a curve that loses all of them.
    drop = alive[clip.curves.curve_of_key()] & ~np.isfinite(clip.curves.co).all(axis=1)
    clip = keep_keys(clip, ~drop) if drop.any() else clip
    clip = _straighten_bad_handles(clip, chosen)
    emptied = (clip.curves.counts == 0) & (before.curves.counts > 0)
    return keep_curves(clip, ~emptied) if emptied.any() else clip


def _fix_rotations(clip: Clip, kind: RotationKind, chosen: Bools) -> Clip:
    """Give keys of rotations a time from their other components and a bridged value."""
    keys = rotation_keys(clip, kind)
    if not len(keys.time):
        return clip
    co, there = clip.curves.co, keys.key >= 0
    tracks = clip.tracks.curves[keys.tracks]
    mine = np.any((tracks >= 0) & chosen[tracks], axis=1)[keys.member]
    time = np.where(there, co[keys.key, 0], np.nan).astype(np.float64)
    no_time = there & ~np.isfinite(time)
    no_value = there & ~np.isfinite(co[keys.key, 1])
    timed = np.isfinite(time)
    row_time = np.where(timed, time, 0.0).sum(axis=1) / np.maximum(timed.sum(axis=1), 1)
    moved = no_time & mine[:, None] & timed.any(axis=1)[:, None]
    if moved.any():
        points, marked = co.copy(), clip.curves.marked.copy()
        points[keys.key[moved], 0] = np.broadcast_to(row_time[:, None], moved.shape)[moved]
        marked[keys.key[moved]] = True
        clip = with_curves(clip, replace(clip.curves, co=points, marked=marked))
    rows = np.flatnonzero(mine & no_value.any(axis=1) & timed.any(axis=1))
    return bridge_rows(clip, keys, rows, row_time[rows]) if len(rows) else clip


def _straighten_bad_handles(clip: Clip, chosen: Bools) -> Clip:
    curves = clip.curves
    usable = chosen[curves.curve_of_key()] & np.isfinite(curves.co).all(axis=1)
    left = usable & ~np.isfinite(curves.handle_left).all(axis=1)
    right = usable & ~np.isfinite(curves.handle_right).all(axis=1)
    key = np.flatnonzero(left | right)
    return with_curves(clip, straighten_handles(curves, key, left[key], right[key])) if len(key) else clip


RULE: Rule[Clip] = Rule(
    code="QA101",
    name="non-finite-key",
    short="NaN",
    summary="NaN or infinity in a key",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "time",
        "value",
        "handle",
    ),
    phase=PHASE_VALUES,
    keys_only=True,
    remedy="Bridges the keys from the valid ones around them and marks them; the valid keys stay as they are.",
    outcome="{keys} keys bridged on {bones} bones",
)
