# SPDX-License-Identifier: GPL-3.0-or-later
"""A quaternion key is zero.

## What it finds
Keys whose four components have a length below 1e-6.

## Why it matters
A zero quaternion is no rotation. Blender poses it as a 180° turn about X; engines divide by its length and get NaN.

## Grading
error.

## Fix
Safe: as QA101, bridged by a slerp of the nearest valid keys (with one valid side it is held), and marked.
Unsafe: a track without any valid key becomes the rest rotation.

## Known limits
Keys whose components are absent or at different times are judged after QA302 and QA303.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import ERROR, SAFE, UNSAFE, Finding
from ..motion.clip import QUATERNION, Clip
from ..motion.keys import ZERO_NORM, rotation_keys
from .bridging import bridge_rows
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_VALUES, Limits, Rule

SENTENCES = ("the quaternion is zero: Blender poses a 180° turn about X, engines NaN",)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys = rotation_keys(clip, QUATERNION)
    rows = np.flatnonzero((keys.norm < ZERO_NORM) & np.isfinite(keys.time))
    rows = rows[np.all(keys.key[rows] >= 0, axis=1)]
    if not len(rows):
        return []
    alive = np.zeros(len(keys.tracks), dtype=bool)
    alive[keys.member[keys.valid]] = True
    faults = Faults(
        part=keys.track_of(rows),
        frames=np.stack([keys.time[rows]] * 2, axis=1),
        kind="zero",
        severity=np.full(len(rows), ERROR),
        fix=np.where(alive[keys.member[rows]], SAFE, UNSAFE),
        measured={"norm": keys.norm[rows]},
        rows=rows,
        weight=np.arange(len(rows), 0.0, -1.0),
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys = rotation_keys(clip, QUATERNION)
    rows = fixable_rows(findings, unsafe)
    rows = rows[keys.aligned[keys.member[rows]]]
    return bridge_rows(clip, keys, rows, keys.time[rows]) if len(rows) else clip


RULE: Rule[Clip] = Rule(
    code="QA102",
    name="zero-length-quaternion",
    short="zero",
    summary="a quaternion key of zero length",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=("zero",),
    phase=PHASE_VALUES,
    keys_only=True,
    remedy="Bridges the keys from the valid ones around them and marks them; the valid keys stay as they are.",
    outcome="{keys} keys bridged on {bones} bones",
)
