# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation is keyed in some of its components only.

## What it finds
Quaternion or Euler groups with absent component curves.

## Why it matters
What is played for an absent component depends on who plays it. An object plays its stored pose value, which is not
part of the action: the same action poses another rig, or the same rig after "clear rotation", differently. The NLA and
an Action constraint take the identity for quaternions. Exporters fill in what they like.

## Grading
Quaternions: warning when what is played makes 1° or more of difference against the identity, else a note.
Euler: a note where they make 1° or more of difference; otherwise nothing, its channels are independent.

## Fix
Safe where all who play the action fill in alike: the missing curves are added with that value at the group's key
times, and marked. Unsafe where one of them would change, or what one of them fills in is not known; where an Action
constraint plays it, which takes the identity, while a bone that plays the action later takes its stored value; and
where a strip leaves an Euler angle as it is stored, since outside of the strip a channel with keys goes to 0.

## Known limits
When nobody in the file plays the action the value is unknown: reported, not repaired. So it is where another
action, played just now, animates the absent component: what is stored is that action's pose. BVH channels that a
joint does not have are zero by definition of the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Bools, Floats
from ..findings.finding import NONE, NOTE, SAFE, UNSAFE, WARNING, Finding, classes
from ..motion.clip import EULER, QUATERNION, Clip
from ..motion.edit import add_curves
from ..motion.keys import Keys, rotation_keys
from ..motion.readers import players
from ..motion.sweep import to_rotation
from ..rotation.quaternion import angle_between
from .grouping import Faults, findings_by_track
from .rule import PHASE_CURVES, Limits, Rule

LIMITS = {"visible_deg": 1.0}

STORED, UNKNOWN, IDENTITY, CONSTRAINT = range(4)
SENTENCES = (
    "no keys on {which}: the stored pose value is played ({effect_deg:.1f}° against the identity)",
    "no keys on {which}: the stored pose value is played, and nobody in the file tells it",
    "no keys on {which}: the identity is played",
    "no keys on {which}: the Action constraint takes the identity, who plays the action later the stored pose value",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    if clip.format == "bvh":
        return []
    found: list[Finding] = []
    for kind in (QUATERNION, EULER):
        keys = rotation_keys(clip, kind)
        n = keys.key.shape[1]
        absent = clip.tracks.curves[keys.tracks, :n] < 0
        members = np.flatnonzero(absent.any(axis=1) & (np.diff(keys.offsets) > 0))
        if not len(members):
            continue
        tracks = keys.tracks[members]
        effect = _effect_deg(clip, keys, absent)[members]
        if kind == EULER:
            # A wheel keyed on one axis is how people work: only what the other axes add is worth a word.
            members, effect = members[effect >= limits["visible_deg"]], effect[effect >= limits["visible_deg"]]
            if not len(members):
                continue
            tracks = keys.tracks[members]
        known = ~np.isnan(np.where(absent, clip.tracks.pose[keys.tracks, :n], 0.0)).any(axis=1)[members]
        constrained = np.isin(tracks, _by_constraint(clip))
        letters = "wxyz" if kind == QUATERNION else "xyz"
        warn = (effect >= limits["visible_deg"]) & (kind == QUATERNION)
        faults = Faults(
            part=tracks,
            frames=np.stack([keys.time[keys.offsets[members]], keys.time[keys.offsets[members + 1] - 1]], axis=1),
            kind=classes([~known, effect >= limits["visible_deg"]], ["unknown", "visible"], "slight"),
            severity=np.where(warn, WARNING, NOTE),
            fix=np.select([~known, constrained], [NONE, UNSAFE], default=SAFE),
            measured={"effect_deg": effect, "missing": absent.sum(axis=1)[members].astype(np.float64)},
            rows=tracks,
            sentence=np.select([~known, constrained, effect < 1e-3], [UNKNOWN, CONSTRAINT, IDENTITY], default=STORED),
            names={"which": [", ".join(letters[i] for i in np.flatnonzero(absent[m])) for m in members]},
        )
        found += findings_by_track(clip, RULE, faults)
    return found


def _by_constraint(clip: Clip) -> list[int]:
    """Tracks that an Action constraint reads."""
    paths = {path for reader in players(clip) if reader.route == "constraint" for path in reader.ways}
    return [track for track, path in enumerate(clip.tracks.data_path) if path in paths]


def _effect_deg(clip: Clip, keys: Keys, absent: Bools) -> Floats:
    """(M,) largest angle at a key between the rotation with the stored values and with the identity's."""
    identity = np.zeros(keys.key.shape[1])
    if keys.kind == QUATERNION:
        identity[0] = 1.0
    rows = np.flatnonzero(absent.any(axis=1)[keys.member])
    result = np.zeros(len(keys.tracks))
    stored, bare = keys.value[rows], np.where(absent[keys.member[rows]], identity, keys.value[rows])
    with np.errstate(invalid="ignore"):
        angle = angle_between(to_rotation(clip, keys, stored, rows), to_rotation(clip, keys, bare, rows))
    np.maximum.at(result, keys.member[rows], np.degrees(np.nan_to_num(angle)))
    return result


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    chosen = {f.part for f in findings if f.fix == SAFE or (unsafe and f.fix == UNSAFE)}
    like, path, component, points, played, owner = [], [], [], [], [], []
    for kind in (QUATERNION, EULER):
        keys = rotation_keys(clip, kind)
        n = keys.key.shape[1]
        for member in (m for m, t in enumerate(keys.tracks) if int(t) in chosen):
            track = int(keys.tracks[member])
            rows = slice(int(keys.offsets[member]), int(keys.offsets[member + 1]))
            curves = clip.tracks.curves[track, :n]
            sibling = int(curves[curves >= 0][0])
            first_key = keys.key[rows].max(axis=1)  # any component that is keyed there
            for part in np.flatnonzero(curves < 0):
                time = keys.time[rows]
                like.append(sibling)
                path.append(clip.tracks.data_path[track])
                component.append(int(part))
                points.append(np.stack([time, np.full(len(time), clip.tracks.pose[track, part])], axis=1))
                played.append(clip.curves.interpolation[first_key])
                owner.append((track, int(part)))
    if not like:
        return clip
    curves_before = len(clip.curves)
    clip = add_curves(clip, np.array(like), path, np.array(component), points, played)
    table = clip.tracks.curves.copy()
    for number, (track, part) in enumerate(owner):
        table[track, part] = curves_before + number
    return replace(clip, tracks=replace(clip.tracks, curves=table))


RULE: Rule[Clip] = Rule(
    code="QA302",
    name="missing-component",
    short="missing",
    summary="a rotation with absent component curves",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "visible",
        "slight",
        "unknown",
    ),
    leading="effect_deg",
    limits=LIMITS,
    phase=PHASE_CURVES,
    keys_only=True,
    remedy="Adds the missing curves with the stored pose value, and marks their keys; the pose at every key stays.",
    outcome="{keys} keys completed on {bones} bones",
)
