# SPDX-License-Identifier: GPL-3.0-or-later
"""An Euler step of more than half a turn that is kept as intended.

## What it finds
Steps that sweep more than 180° and are not reported by QA201 (a wrap, or what may be one): spins, whole turns.

## Why it matters
Blender plays them as keyed. Quaternion formats cannot hold them: glTF, and FBX through Blender, keep only the
two end rotations, and the wheel stands still or turns back.

## Grading
Always a note, with the number of turns.

## Fix
Unsafe: keys are inserted on the curves as they run, less than 120° apart, so that every format keeps the spin.

## Known limits
Segments with an easing equation, and curves with a Cycles modifier, cannot be split without changing the motion:
reported, not repaired. A channel that is held and jumps (CONSTANT) sweeps nothing. An imported .fbx is not judged:
Blender's importer loses full turns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import NONE, NOTE, UNSAFE, Finding
from ..motion.clip import EULER, Clip
from ..motion.edit import can_insert, insert_keys
from ..motion.keys import rotation_keys, rotation_steps
from ..motion.sweep import played_path, sweep
from ..rotation.quaternion import arc_angle
from .euler_steps import long_steps, travelled_angles
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_INSERT, ROUND_DEG, Limits, Rule
from .spin_or_wrap import LIMITS as STEP_LIMITS

LIMITS = {
    **STEP_LIMITS,
    # From half a turn on, the two end rotations alone say another way.
    "step_deg": 180.0,
}
# Inserted keys are this far apart at most: below a third of a turn no tool loses the direction.
INSERTED_STEP_DEG = 115.0
SENTENCES = ("turns {swept_deg:.0f}° ({turns:.2f} turns) in one step; quaternion formats such as glTF lose it",)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    travel = np.abs(travelled_angles(clip, keys, steps)).sum(axis=1)
    # Handles may add to a path, but a step of less than a quarter turn in sum is no spin.
    which = np.flatnonzero((travel > np.pi / 2) & ~steps.constant & (steps.gap_frames > 0))
    which = which[~np.isin(which, long_steps(clip, limits).which)]
    swing = sweep(clip, keys, steps, which)
    large = swing.swept_deg > limits["step_deg"] + ROUND_DEG
    which, swept, shortest = which[large], swing.swept_deg[large], swing.shortest_deg[large]
    if not len(which):
        return []
    faults = Faults(
        part=keys.track_of(steps.second[which]),
        frames=np.stack([keys.time[steps.first[which]], keys.time[steps.second[which]]], axis=1),
        kind="kept",
        severity=np.full(len(which), NOTE),
        fix=np.where([_insertable(clip, int(t)) for t in keys.track_of(steps.second[which])], UNSAFE, NONE),
        measured={"swept_deg": swept, "shortest_deg": shortest, "turns": swept / 360.0},
        rows=steps.second[which],
    )
    return findings_by_track(clip, RULE, faults)


def _insertable(clip: Clip, track: int) -> bool:
    return not any(can_insert(clip, int(c)) for c in clip.tracks.curves[track] if c >= 0)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys, steps = rotation_keys(clip, EULER), rotation_steps(clip, EULER)
    which = np.flatnonzero(np.isin(steps.second, fixable_rows(findings, unsafe)))
    curves_at, times_at = [], []
    for step in which:  # spins are few
        curves = clip.tracks.curves[keys.track_of(steps.second[step]), :3]
        curves = curves[curves >= 0]
        path = played_path(clip, keys, steps, np.array([step]), 1024, jump=False)[0]
        travelled = np.concatenate([[0.0], np.cumsum(arc_angle(path[:-1], path[1:]))])
        count = int(np.ceil(np.degrees(travelled[-1]) / INSERTED_STEP_DEG - 1e-9)) - 1
        part = np.interp(np.arange(1, count + 1) / (count + 1) * travelled[-1], travelled, np.linspace(0, 1, 1025))
        times = keys.time[steps.first[step]] + part * steps.gap_frames[step]
        curves_at.append(np.repeat(curves, count))
        times_at.append(np.tile(times, len(curves)))
    if not curves_at:
        return clip
    return insert_keys(clip, np.concatenate(curves_at), np.concatenate(times_at))


RULE: Rule[Clip] = Rule(
    code="QA203",
    name="full-turn",
    short="spin",
    summary="a spin of more than half a turn in one step",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=("kept",),
    leading="swept_deg",
    whole_turns=True,
    limits=LIMITS,
    phase=PHASE_INSERT,
    remedy="Adds keys on the curves as they run, less than 120° apart, so every format keeps it; the motion stays.",
)
