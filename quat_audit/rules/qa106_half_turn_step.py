# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighboring quaternion keys are half a turn apart, or nearly.

## What it finds
half-turn: |dot| ≤ 1e-3, the two rotations are 180° apart and both ways are equally short. fragile: the step is
simply large (more than 120.01°, so that a third of a turn keyed exactly is none).

## Why it matters
Blender plays such a step as the signs say. Exporters, key reducers and engines choose for themselves, and the
last bit decides: a wheel turns back, on one platform and not on the other.

## Grading
Always a note: Blender plays what was keyed.

## Fix
Unsafe: a key is inserted half-way, on the side that Blender plays now, so that no tool can choose. A zero dot
product keeps its sign; no fix of any rule turns such a step round. Held steps and a format's own slerp have no side:
no fix.

## Known limits
Steps that QA104 reports (their sign flips) are reported there only. A key cannot be inserted where
an easing equation or a Cycles modifier shapes the curve, where the step lasts less than a few hundredths of a
frame, or where handles make it a jump: reported, not repaired.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats, Ints
from ..findings.finding import NONE, NOTE, UNSAFE, Finding, classes
from ..motion.clip import QUATERNION, Clip
from ..motion.edit import can_insert, insert_keys, scale_keys
from ..motion.keys import SAME_TIME_FRAMES, Keys, Steps, rotation_keys, rotation_steps
from ..motion.sweep import SAMPLES, played_values, to_rotation
from ..rotation.quaternion import angle_between, norm
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_INSERT, ROUND_DEG, Limits, Rule

LIMITS = {
    # See QA104: within it the direction is noise.
    "half_turn_dot": 1e-3,
    # A third of a turn: reducers that merge two such steps lose the direction.
    "fragile_deg": 120.0,
}

HALF_TURN, LARGE_STEP = range(2)
SENTENCES = (
    "a half turn ({shortest_deg:.1f}°) in one step: both ways are equally short, exporters choose for themselves",
    "a step of {shortest_deg:.1f}°: key reducers and exporters may lose its direction",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    size = np.abs(steps.dot)
    # The arc cosine only selects here; near a half turn (dot 0) it is as good as the arc tangent.
    large = size < np.cos(np.radians(limits["fragile_deg"] + ROUND_DEG) / 2)
    which = np.flatnonzero(large)
    if not len(which):
        return []
    half = size[which] <= limits["half_turn_dot"]
    flips = steps.dot[which] < 0  # beyond what is half a turn: QA104 has those
    reported = half | ~(steps.constant[which] | flips)
    which, half = which[reported], half[reported]
    if not len(which):
        return []
    faults = Faults(
        part=keys.track_of(steps.second[which]),
        frames=np.stack([keys.time[steps.first[which]], keys.time[steps.second[which]]], axis=1),
        kind=classes([half], ["half-turn"], "fragile"),
        severity=np.full(len(which), NOTE),
        # A held step plays nothing, and on a slerp the format decides: a key between would be a guess.
        fix=np.where(steps.constant[which] | steps.slerp[which], NONE, UNSAFE),
        measured={
            "shortest_deg": np.degrees(2 * np.arccos(np.minimum(size[which], 1.0))),
            "dot": steps.dot[which],
        },
        rows=steps.second[which],
        sentence=np.where(half, HALF_TURN, LARGE_STEP),
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    rows = fixable_rows(findings, unsafe)
    rows = rows[keys.aligned[keys.member[rows]]]
    # Held steps have no way to play; a slerp has no side yet: the file's format decides.
    which = np.flatnonzero(np.isin(steps.second, rows) & ~steps.constant & ~steps.slerp)
    tracks = keys.track_of(steps.second[which])
    whole = {
        int(track): not any(can_insert(clip, int(c)) for c in clip.tracks.curves[track]) for track in np.unique(tracks)
    }
    divided, time = _half_way(clip, keys, steps, which[[whole[int(t)] for t in tracks]], limits)
    if not len(divided):
        return clip
    curves = clip.tracks.curves[keys.track_of(steps.second[divided])]
    edited = insert_keys(clip, curves.ravel(), np.repeat(time, 4))
    # A component-wise middle is shorter than 1: give it unit length, its rotation stays.
    after = rotation_keys(edited, QUATERNION)
    stored = time.astype(clip.curves.co.dtype).astype(np.float64)
    new = [
        after.offsets[m] + np.searchsorted(after.time[after.offsets[m] : after.offsets[m + 1]], t)
        for m, t in zip(keys.member[steps.second[divided]], stored, strict=True)
    ]
    return scale_keys(edited, after.key[new].ravel(), np.repeat(1.0 / norm(after.value[new]), 4))


def _half_way(clip: Clip, keys: Keys, steps: Steps, which: Ints, limits: Limits) -> tuple[Ints, Floats]:
    """Of the steps `which`, those that a key can divide, and when: where both parts of the turn are equal.

    Not where the step is too short in time for another key, and not where what plays is so uneven (handles,
    an ease that nearly jumps) that one part would still be a large step.
    """
    fractions = np.linspace(0.0, 1.0, SAMPLES + 1)[1:-1]
    first, second = steps.first[which], steps.second[which]
    path = to_rotation(clip, keys, played_values(clip, keys, steps, which, fractions), first)
    ends = to_rotation(clip, keys, keys.value, np.arange(len(keys.time)))
    with np.errstate(invalid="ignore"):
        longer = np.degrees(
            np.maximum(angle_between(path, ends[first][:, None]), angle_between(path, ends[second][:, None]))
        )
    longer = np.where(np.isnan(longer), np.inf, longer)
    at = longer.argmin(axis=1) if len(which) else np.zeros(0, dtype=np.int64)
    gap = steps.gap_frames[which] * np.minimum(fractions[at], 1.0 - fractions[at])
    good = (longer[np.arange(len(which)), at] < limits["fragile_deg"]) & (gap > 2 * SAME_TIME_FRAMES)
    return which[good], (keys.time[first] + fractions[at] * (keys.time[second] - keys.time[first]))[good]


RULE: Rule[Clip] = Rule(
    code="QA106",
    name="half-turn-step",
    short="½ turn",
    summary="a step of half a turn, or nearly",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "half-turn",
        "fragile",
    ),
    leading="shortest_deg",
    limits=LIMITS,
    phase=PHASE_INSERT,
    remedy="Adds a key half-way, on the side that plays now, so that no tool can choose another; the motion stays.",
    outcome="{keys} keys inserted on {bones} bones",
)
