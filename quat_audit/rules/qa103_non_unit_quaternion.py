# SPDX-License-Identifier: GPL-3.0-or-later
"""A quaternion key's length is not 1.

## What it finds
Keys with |norm − 1| > 1e-3. Only key values count: the pose that Blender evaluates between two keys is shorter
than 1 by nature.

## Why it matters
Blender normalizes, so the pose at the key is right. The timing around it is not: a long key pulls the bone
towards itself, a short one lets go of it early. Engines that do not normalize scale or shear the bone.

## Grading
warning when the path between the keys deviates by 1° or more from the path of the normalized keys, else a note.
In a glTF file: warning above 0.00769 (the limit of the glTF validator; the format forbids it), note below. Notes below
0.1° are told together, as one for the action.

## Fix
Safe: the value and both handles are divided by the norm.

## Known limits
Keys whose components are absent or at different times are repaired after QA302 and QA303. Handles that bend the
path may bend it further once the keys are of one length: a path that would get longer by more than
0.1° is refused. What a file stores as 8-bit or 16-bit integers it may have no room for: then there is no fix, and the
other rules' repairs of the track are done all the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats, Ints
from ..findings.finding import NOTE, SAFE, WARNING, Finding, classes
from ..motion.clip import QUATERNION, Clip
from ..motion.edit import scale_keys
from ..motion.keys import Keys, rotation_keys, rotation_steps
from ..motion.sweep import played_path, step_blocks
from ..rotation.quaternion import angle_between
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_LENGTH, Limits, Rule

LIMITS = {
    # Below it is the noise of exporters: an 8-bit normalized component is off by up to 1/254.
    "norm_tolerance": 1e-3,
    "visible_deg": 1.0,
    # glTF-Validator's tolerance: what 8-bit components can be off by altogether.
    "gltf_tolerance": 0.00769,
}
PATH_SAMPLES = 16
LENGTH, MISTIMED = range(2)
SENTENCES = (
    "the quaternion has length {norm:.4f} instead of 1",
    "the quaternion has length {norm:.4f} instead of 1; the motion around it is off by up to {deviation_deg:.1f}°",
)
# A smaller deviation is not worth a word.
WORTH_A_WORD_DEG = 0.05


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys = rotation_keys(clip, QUATERNION)
    off = np.abs(keys.norm - 1.0)
    rows = np.flatnonzero((off > limits["norm_tolerance"]) & keys.valid)
    # A value that the curves or the stored pose give is no key: QA302 and QA303 complete those first.
    rows = rows[np.all(keys.key[rows] >= 0, axis=1)]
    if not len(rows):
        return []
    gltf = clip.format == "gltf"
    deviation = np.zeros(len(rows)) if gltf else _deviation_deg(clip, keys, rows)
    warn = off[rows] > limits["gltf_tolerance"] if gltf else deviation >= limits["visible_deg"]
    faults = Faults(
        part=keys.track_of(rows),
        frames=np.stack([keys.time[rows]] * 2, axis=1),
        kind=classes([warn], ["forbidden" if gltf else "mistimed"], "slight"),
        severity=np.where(warn, WARNING, NOTE),
        fix=np.full(len(rows), SAFE),
        measured={"norm_error": off[rows], "deviation_deg": deviation, "norm": keys.norm[rows]},
        rows=rows,
        # What is off the most; where nothing plays, the length that is.
        weight=deviation + 1e-6 * off[rows],
        sentence=np.where(deviation >= WORTH_A_WORD_DEG, MISTIMED, LENGTH),
    )
    return findings_by_track(clip, RULE, faults)


def _deviation_deg(clip: Clip, keys: Keys, rows: Ints) -> Floats:
    """Largest angle, on the steps on both sides, between the path now and that of the normalized keys."""
    edited = _normalised(clip, keys, np.flatnonzero(keys.valid & (np.abs(keys.norm - 1.0) > 1e-7)))
    steps = rotation_steps(clip, QUATERNION)
    which = np.flatnonzero(np.isin(steps.first, rows) | np.isin(steps.second, rows))
    # Only steps that are played by components: a slerp normalizes first.
    which = which[~steps.constant[which] & ~steps.slerp[which]]
    after = rotation_keys(edited, QUATERNION)
    result = np.zeros(len(keys.time))
    for block in step_blocks(len(which), PATH_SAMPLES):
        part = which[block]
        now, then = (played_path(c, k, steps, part, PATH_SAMPLES) for c, k in ((clip, keys), (edited, after)))
        with np.errstate(invalid="ignore"):
            gap = np.degrees(np.nan_to_num(angle_between(now, then)).max(axis=1))
        np.maximum.at(result, steps.first[part], gap)
        np.maximum.at(result, steps.second[part], gap)
    return result[rows]


def _normalised(clip: Clip, keys: Keys, rows: Ints) -> Clip:
    rows = rows[keys.aligned[keys.member[rows]]]
    if not len(rows):
        return clip
    return scale_keys(clip, keys.key[rows].ravel(), np.repeat(1.0 / keys.norm[rows], 4))


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    return _normalised(clip, rotation_keys(clip, QUATERNION), fixable_rows(findings, unsafe))


RULE: Rule[Clip] = Rule(
    code="QA103",
    name="non-unit-quaternion",
    short="length",
    summary="a quaternion key that is not of unit length",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "forbidden",
        "mistimed",
        "slight",
    ),
    leading="deviation_deg",
    limits=LIMITS,
    phase=PHASE_LENGTH,
    remedy="Divides the key and its handles by its length; the pose at the key stays.",
    outcome="{keys} keys normalized on {bones} bones",
)
