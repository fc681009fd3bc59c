# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of a channel are not in order of time.

## What it finds
Two keys at the same time (within 1e-4 frame), or a key earlier than the one before it.

## Why it matters
Which of two keys at one time is played differs between programs; interpolation divides by the zero between them.
Players search keys by bisection: one key out of order hides others.

## Grading
error.

## Fix
Safe for exact duplicates of time and value in every component: one of them is removed. Unsafe otherwise: keys are
sorted, and of several at one time the last is kept.

## Known limits
Keys without a finite time are QA101.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Ints
from ..findings.finding import ERROR, SAFE, UNSAFE, Finding, has_class
from ..motion.clip import Clip, with_curves
from ..motion.edit import keep_keys, reorder_keys
from .grouping import Faults, findings_by_path
from .rule import PHASE_TIMES, Limits, Rule

LIMITS = {
    # A tenth of what float32 resolves at frame 10,000; key times that people set differ by far more.
    "same_time_frames": 1e-4,
}

SENTENCES = (
    "two identical keys at one time",
    "two keys at one time with different values",
    "the key is earlier than the one before it",
)


def _pairs(clip: Clip, limits: Limits) -> Ints:
    """Key rows whose time is not after that of the key before them in the same curve."""
    curves = clip.curves
    if len(curves.co) < 2:
        return np.zeros(0, dtype=np.int64)
    time = curves.co[:, 0]
    with np.errstate(invalid="ignore"):
        late = np.flatnonzero(time[1:] - time[:-1] <= limits["same_time_frames"]) + 1
    return late[~np.isin(late, curves.offsets)] if len(late) else late


def find(clip: Clip, limits: Limits) -> list[Finding]:
    key = _pairs(clip, limits)
    if not len(key):
        return []
    curves = clip.curves
    curve = np.searchsorted(curves.offsets, key, side="right") - 1
    before, after = curves.co[key - 1].astype(np.float64), curves.co[key].astype(np.float64)
    same_time = np.abs(after[:, 0] - before[:, 0]) <= limits["same_time_frames"]
    exact = same_time & (after[:, 1] == before[:, 1])
    paths = {path: number for number, path in enumerate(dict.fromkeys(curves.data_path))}
    path = np.array([paths[curves.data_path[c]] for c in curve])
    # One occurrence for a frame of a data path, safe when all of its components say so.
    order = np.lexsort((key, after[:, 0], path))
    fresh = np.ones(len(order), dtype=bool)
    fresh[1:] = (np.diff(path[order]) != 0) | (np.diff(after[order, 0]) > limits["same_time_frames"])
    starts = np.flatnonzero(fresh)
    one = order[starts]
    kind = np.where(
        np.logical_and.reduceat(exact[order], starts),
        "duplicate",
        np.where(np.logical_and.reduceat(same_time[order], starts), "two-values", "decreasing"),
    )
    faults = Faults(
        part=curve[one],
        frames=np.stack([before[one, 0], after[one, 0]], axis=1),
        kind=kind,
        severity=np.full(len(one), ERROR),
        fix=np.where(has_class(kind, "duplicate"), SAFE, UNSAFE),
        measured={
            "step_frames": after[one, 0] - before[one, 0],
            "components": np.diff(np.append(starts, len(order))).astype(np.float64),
        },
        rows=key[one],
        sentence=np.select([has_class(kind, "duplicate"), has_class(kind, "two-values")], [0, 1], default=2),
    )
    return findings_by_path(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    # Frames of the safe occurrences of each path; with unsafe fixes the whole path is put in order.
    unsafe_paths = {f.data_path for f in findings if unsafe and np.any(f.occurrences.fix == UNSAFE)}
    safe_times = {f.data_path: f.occurrences.frames[f.occurrences.fix == SAFE, 1] for f in findings}
    clip = _sort(clip, unsafe_paths) if unsafe_paths else clip
    curves = clip.curves
    key = _pairs(clip, limits)
    curve = np.searchsorted(curves.offsets, key, side="right") - 1
    chosen = np.zeros(len(key), dtype=bool)
    for at, (row, c) in enumerate(zip(key, curve, strict=True)):  # only keys at fault
        path = curves.data_path[c]
        times = safe_times.get(path, np.zeros(0))
        near = np.any(np.abs(times - float(curves.co[row, 0])) <= limits["same_time_frames"])
        chosen[at] = path in unsafe_paths or bool(near)
    key = key[chosen]
    if not len(key):
        return clip
    drop = np.zeros(len(curves.co), dtype=bool)
    drop[key - 1] = True  # the last of a run is kept …
    left = curves.handle_left.copy()
    first = np.arange(len(curves.co))
    for row in key:  # … with the way into the first
        first[row] = first[row - 1]
    left[key] = curves.handle_left[first[key]]
    return keep_keys(with_curves(clip, replace(curves, handle_left=left)), ~drop)


def _sort(clip: Clip, paths: set[str]) -> Clip:
    curves = clip.curves
    owner = curves.curve_of_key()
    mine = np.array([p in paths for p in curves.data_path], dtype=bool)[owner]
    time = np.where(mine, curves.co[:, 0], -np.inf)
    return reorder_keys(clip, np.lexsort((np.arange(len(owner)), time, owner)))


RULE: Rule[Clip] = Rule(
    code="QA401",
    name="unordered-key-times",
    short="times",
    summary="keys not in order of time",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "decreasing",
        "two-values",
        "duplicate",
    ),
    limits=LIMITS,
    phase=PHASE_TIMES,
    keys_only=True,
    remedy="Removes exact copies of a key; where two keys differ, sorts them by time and keeps the last at each.",
    outcome="{keys} keys put in order on {bones} bones",
)
