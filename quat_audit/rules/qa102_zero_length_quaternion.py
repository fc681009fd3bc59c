# SPDX-License-Identifier: GPL-3.0-or-later
"""A quaternion key is zero, or an axis-angle key has no axis.

## What it finds
Quaternion keys whose four components have a length below 1e-6, and axis-angle keys with a zero axis. Where the angle
of such a key is 0 (or whole turns) the axis means nothing, and the key is in order.

## Why it matters
A zero quaternion is no rotation. Blender poses it as a 180° turn about X; engines divide by its length and get NaN.
A zero axis loses the turn: Blender poses the rest rotation, whatever the angle is.

## Grading
error.

## Fix
Safe: as QA101, bridged by a slerp of the nearest valid keys (with one valid side it is held), and marked. The axis is
the one that goes on from the key before. Unsafe: a track without any valid key becomes the rest rotation.

## Known limits
Keys whose components are absent or at different times are judged after QA302 and QA303.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Ints
from ..findings.finding import ERROR, SAFE, UNSAFE, Finding
from ..motion.clip import AXIS_ANGLE, QUATERNION, Clip, RotationKind
from ..motion.keys import ZERO_NORM, Keys, rotation_keys
from ..rotation.quaternion import norm
from .bridging import bridge_rows
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_VALUES, Limits, Rule

NO_QUATERNION, NO_AXIS = range(2)
SENTENCES = (
    "the quaternion is zero: Blender poses a 180° turn about X, engines NaN",
    "the axis is zero: Blender poses the rest rotation, the turn of {angle_deg:.1f}° is lost",
)
KINDS: tuple[RotationKind, ...] = (QUATERNION, AXIS_ANGLE)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    found: list[Finding] = []
    for kind in KINDS:
        keys = rotation_keys(clip, kind)
        rows = _zero_rows(keys)
        if not len(rows):
            continue
        alive = np.zeros(len(keys.tracks), dtype=bool)
        alive[keys.member[keys.valid]] = True
        value = keys.value[rows]
        axis_angle = kind == AXIS_ANGLE
        faults = Faults(
            part=keys.track_of(rows),
            frames=np.stack([keys.time[rows]] * 2, axis=1),
            kind="zero",
            severity=np.full(len(rows), ERROR),
            fix=np.where(alive[keys.member[rows]], SAFE, UNSAFE),
            measured={
                "norm": norm(value[:, 1:]) if axis_angle else keys.norm[rows],
                "angle_deg": np.degrees(value[:, 0]) if axis_angle else np.full(len(rows), 180.0),
            },
            rows=rows,
            weight=np.arange(len(rows), 0.0, -1.0),
            sentence=np.full(len(rows), NO_AXIS if axis_angle else NO_QUATERNION),
        )
        found += findings_by_track(clip, RULE, faults)
    return found


def _zero_rows(keys: Keys) -> Ints:
    """Rows with all components keyed, all of them finite, that are no rotation."""
    if keys.kind == QUATERNION:
        zero = keys.norm < ZERO_NORM
    else:
        zero = ~keys.valid & np.isfinite(keys.norm)
    rows = np.flatnonzero(zero & np.isfinite(keys.time))
    return np.asarray(rows[np.all(keys.key[rows] >= 0, axis=1)])


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    for kind in KINDS:
        keys = rotation_keys(clip, kind)
        rows = fixable_rows([f for f in findings if clip.tracks.kind[f.part] == kind], unsafe)
        rows = rows[keys.aligned[keys.member[rows]]]
        clip = bridge_rows(clip, keys, rows, keys.time[rows]) if len(rows) else clip
    return clip


RULE: Rule[Clip] = Rule(
    code="QA102",
    name="zero-length-quaternion",
    short="zero",
    summary="a quaternion key of zero length, or a turn about a zero axis",
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
