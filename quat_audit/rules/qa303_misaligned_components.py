# SPDX-License-Identifier: GPL-3.0-or-later
"""The components of a quaternion are keyed at different times.

## What it finds
Quaternion tracks in which some component has no key where another has one (0.01 frame tolerance).

## Why it matters
Normal after Decimate, Clean, a bake with clean, or auto-keying only what is needed. The four curves drift apart
between their keys, off unit length and off the arc, and no sign or length can be repaired at a key that only
some components have. Exporters resample all of it.

## Grading
By how far the played rotation leaves the arcs between the union of all components' keys: a note below 1°,
a warning from 1° on.

## Fix
Safe: every component is keyed at the union of the times, with the value its own curve has there; Bézier segments
are split exactly, so nothing moves. Authored times never shift. Inserted keys are marked. The handles beside them get
shorter, so that automatic ones become ALIGNED and VECTOR ones FREE: the report says how many.

## Known limits
Euler channels are independent by nature and not reported. Segments with an easing equation, Bézier segments whose
handles cross, and curves with a Cycles modifier cannot be split without changing the motion: reported, not repaired.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..findings.finding import NONE, NOTE, SAFE, WARNING, Finding, classes
from ..motion.bezier import clamp_handles
from ..motion.clip import BEZIER, QUATERNION, Clip
from ..motion.edit import can_insert, insert_keys
from ..motion.keys import Keys, Steps, rotation_keys, rotation_steps
from ..motion.sweep import played_path, step_blocks
from .grouping import Faults, findings_by_track
from .rule import PHASE_CURVES, Limits, Rule

LIMITS = {"visible_deg": 1.0}
PATH_SAMPLES = 16
CROSSING = "its Bézier handles cross, which cannot be split into two segments of the same shape"
# Rounding of handles that just touch, as a part of the segment.
CROSSING_SLACK = 1e-5

SENTENCES = (
    "components are keyed at different times ({times:.0f} gaps); the path leaves the arc by {off_arc_deg:.2f}°",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    if keys.aligned.all():
        return []
    rows, parts = _gaps(clip, keys)
    members = np.unique(keys.member[rows])
    if not len(members):
        return []
    which = np.flatnonzero(np.isin(keys.member[steps.first], members) & ~steps.constant)
    off = np.zeros(len(keys.tracks))
    np.maximum.at(off, keys.member[steps.first[which]], _off_arc_deg(clip, keys, steps, which))
    tracks, off = keys.tracks[members], off[members]
    first_row = rows[np.searchsorted(keys.member[rows], members)]
    bent = np.unique(keys.track_of(rows[_in_crossing_handles(clip, keys, rows, parts)]))
    reasons = [CROSSING if t in bent else _why_not(clip, int(t)) for t in tracks]
    faults = Faults(
        part=tracks,
        frames=np.stack([keys.time[first_row]] * 2, axis=1),
        kind=classes([off >= limits["visible_deg"]], ["visible"], "slight"),
        severity=np.where(off >= limits["visible_deg"], WARNING, NOTE),
        fix=np.where(np.array([r == "" for r in reasons]), SAFE, NONE),
        measured={
            "off_arc_deg": off,
            "times": np.bincount(keys.member[rows], minlength=len(keys.tracks))[members] * 1.0,
        },
        rows=tracks,
    )
    return findings_by_track(clip, RULE, faults)


def _gaps(clip: Clip, keys: Keys) -> tuple[Ints, Ints]:
    """(row, component) pairs where a component that has a curve has no key."""
    there = clip.tracks.curves[keys.tracks, : keys.key.shape[1]] >= 0
    rows, parts = np.nonzero((keys.key < 0) & there[keys.member])
    return rows, parts


def _in_crossing_handles(clip: Clip, keys: Keys, rows: Ints, parts: Ints) -> Bools:
    """(P,) the gap lies in a Bézier segment whose handles cross in time.

    A half of such a segment can need a handle longer than itself, which Blender shortens: no exact split.
    """
    curves = clip.curves
    curve = clip.tracks.curves[keys.track_of(rows), parts]
    result = np.zeros(len(rows), dtype=bool)
    for c in np.unique(curve):  # only curves that lack keys
        mine = np.flatnonzero(curve == c)
        first, end = int(curves.offsets[c]), int(curves.offsets[c + 1])
        after = first + np.searchsorted(curves.co[first:end, 0], keys.time[rows[mine]])
        inner = (after > first) & (after < end)
        a, b = after[inner] - 1, after[inner]
        right, left = clamp_handles(curves.co[a], curves.handle_right[a], curves.handle_left[b], curves.co[b])
        span = curves.co[b, 0] - curves.co[a, 0]
        crossing = right[:, 0] - left[:, 0] > CROSSING_SLACK * span
        result[mine[inner]] = (curves.interpolation[a] == BEZIER) & crossing
    return result


def _why_not(clip: Clip, track: int) -> str:
    curves = clip.tracks.curves[track]
    return next((why for why in (can_insert(clip, int(c)) for c in curves[curves >= 0]) if why), "")


def _off_arc_deg(clip: Clip, keys: Keys, steps: Steps, which: Ints) -> Floats:
    """(P,) largest angle between the played rotation and the arc from key to key, ease aside."""
    off = np.empty(len(which))
    for block in step_blocks(len(which), PATH_SAMPLES):
        off[block] = _off_arc_of_path(played_path(clip, keys, steps, which[block], PATH_SAMPLES))
    return off


def _off_arc_of_path(path: Floats) -> Floats:
    a, b = path[:, :1], path[:, -1:]
    along = b - np.sum(a * b, axis=-1, keepdims=True) * a
    size = np.linalg.norm(along, axis=-1, keepdims=True)
    along = np.divide(along, size, out=np.zeros_like(along), where=size > 1e-6)
    off = path - np.sum(path * a, axis=-1, keepdims=True) * a - np.sum(path * along, axis=-1, keepdims=True) * along
    with np.errstate(invalid="ignore"):
        sine = np.nan_to_num(np.linalg.norm(off, axis=-1)).max(axis=1)
    return np.asarray(np.degrees(2.0 * np.arcsin(np.minimum(sine, 1.0))))


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys = rotation_keys(clip, QUATERNION)
    rows, parts = _gaps(clip, keys)
    chosen = np.array(sorted(f.part for f in findings if f.fix == SAFE), dtype=np.int64)
    mine = np.isin(keys.track_of(rows), chosen)
    rows, parts = rows[mine], parts[mine]
    if not len(rows):
        return clip
    return insert_keys(clip, clip.tracks.curves[keys.track_of(rows), parts], keys.time[rows])


RULE: Rule[Clip] = Rule(
    code="QA303",
    name="misaligned-components",
    short="uneven",
    summary="components keyed at different times",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "visible",
        "slight",
    ),
    leading="off_arc_deg",
    limits=LIMITS,
    phase=PHASE_CURVES,
    remedy="Keys all components wherever one is keyed, with the values the curves have there; nothing moves.",
    outcome="{keys} keys completed on {bones} bones",
)
