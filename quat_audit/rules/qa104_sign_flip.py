# SPDX-License-Identifier: GPL-3.0-or-later
"""Neighboring quaternion keys lie in opposite hemispheres.

## What it finds
Two keys in a row whose normalized dot product is below −1e-3. q and −q are the same rotation, so both poses
look right; what plays between them does not. Keys of zero length or with NaN are passed over: the valid
neighbors are compared.

## Why it matters
Blender interpolates each component by itself and normalizes afterwards: between q and a key near −q the bone
swings the long way round, up to 360°, for a step of a few degrees. An elbow spins for one frame. Motion
blur, retiming and resampling show it even where no frame is drawn between the two keys. glTF's LINEAR is
a slerp that takes the short way, but tools that blend components and CUBICSPLINE show it.

## Grading
visible (error): a frame that is drawn between the two keys is at least 1° off the short way. latent (warning): no such
frame is drawn, by the frames of the scene and the strips that play the action (whole frames where no scene plays it),
or the format slerps. `undrawn_shows` = 1 (profile mocap) grades as if frames were drawn everywhere. harmless (note):
CONSTANT, nothing plays between. ambiguous (note): the poses are 120° or more apart, so the long way (a keyed turn of up
to 240°) may be meant; from 119.99° on, for 240° keyed exactly come out as that.

## Fix
Safe: signs are chosen along the track so that every key has a non-negative dot product with the one before;
the first key keeps its sign. Handles are negated with their key. Ambiguous pairs keep their relative sign;
`--unsafe-fixes` makes them take the short way too.

## Known limits
A track with absent or misaligned components is repaired after QA302 and QA303 have completed it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import ERROR, NOTE, SAFE, UNSAFE, WARNING, Finding, classes, has_class
from ..motion.clip import QUATERNION, Clip
from ..motion.edit import scale_keys
from ..motion.keys import rotation_keys, rotation_steps
from ..motion.sweep import sweep
from ..rotation.quaternion import hemisphere_signs
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_SIGNS, ROUND_DEG, Limits, Rule
from .showing import UNDRAWN_SHOWS, shows

LIMITS = {
    # Two float32 unit quaternions that are exactly 180° apart have a dot of up to 1e-7 of noise; 8-bit keys
    # have 4e-3 a component. Within ±1e-3 (0.11°) both ways are equally short: QA106, not a flip.
    "half_turn_dot": 1e-3,
    # Less is not seen on a limb: 1° moves a hand at 0.6 m by 1 cm.
    "visible_deg": 1.0,
    # Keys without a frame drawn between them show nothing but motion blur.
    "undrawn_shows": UNDRAWN_SHOWS,
    # An animator keys at most a third of a turn per key when the direction matters; two thirds, 240° keyed exactly,
    # come out as just this.
    "ambiguous_deg": 120.0,
}

HELD, MEANT, BLENDED, SWINGS = range(4)
SENTENCES = (
    "the sign flips on held keys (a step of {shortest_deg:.1f}°); nothing plays between",
    "turns {swept_deg:.1f}° where {shortest_deg:.1f}° suffices: meant?",
    "the sign flips: a blend of components swings {by_components_deg:.1f}° where {shortest_deg:.1f}° suffices",
    "swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    which = np.flatnonzero(steps.dot < -limits["half_turn_dot"])
    if not len(which):
        return []
    swing = sweep(clip, keys, steps, which)
    constant, slerp = steps.constant[which], steps.slerp[which]
    # As a blend of the components plays it; where the format slerps, as one would.
    blended = 360.0 / np.pi * np.arccos(np.clip(steps.dot[which], -1.0, 1.0))
    by_components = np.where(slerp, blended, swing.swept_deg)
    kind = classes(
        [
            constant,
            slerp,
            swing.shortest_deg >= limits["ambiguous_deg"] - ROUND_DEG,
            shows(clip, keys, steps, which, swing.excess_deg, limits),
        ],
        ["harmless", "latent", "ambiguous", "visible"],
        "latent",
    )
    severity = np.select([has_class(kind, "visible"), has_class(kind, "latent")], [ERROR, WARNING], default=NOTE)
    faults = Faults(
        part=keys.track_of(steps.second[which]),
        frames=np.stack([keys.time[steps.first[which]], keys.time[steps.second[which]]], axis=1),
        kind=kind,
        severity=severity,
        fix=np.where(has_class(kind, "ambiguous"), UNSAFE, SAFE),
        measured={
            "excess_deg": swing.excess_deg,
            "swept_deg": swing.swept_deg,
            "shortest_deg": swing.shortest_deg,
            "by_components_deg": by_components,
            "dot": steps.dot[which],
        },
        rows=steps.second[which],
        sentence=np.select(
            [has_class(kind, "harmless"), has_class(kind, "ambiguous"), swing.excess_deg < 1e-3],
            [HELD, MEANT, BLENDED],
            default=SWINGS,
        ),
    )
    return findings_by_track(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys = rotation_keys(clip, QUATERNION)
    rows = fixable_rows(findings, unsafe)
    rows = rows[keys.aligned[keys.member[rows]]]
    if not len(rows):
        return clip
    flip = np.zeros(len(keys.time), dtype=bool)
    flip[rows] = True
    starts = np.zeros(len(keys.time), dtype=bool)
    starts[keys.offsets[:-1][np.diff(keys.offsets) > 0]] = True
    negated = keys.key[hemisphere_signs(flip, starts) < 0].ravel()
    return scale_keys(clip, negated, np.full(len(negated), -1.0, dtype=clip.curves.co.dtype))


RULE: Rule[Clip] = Rule(
    code="QA104",
    name="sign-flip",
    short="flip",
    summary="neighboring keys in opposite hemispheres",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "visible",
        "latent",
        "ambiguous",
        "harmless",
    ),
    leading="by_components_deg",
    limits=LIMITS,
    phase=PHASE_SIGNS,
    remedy="Negates keys, with their handles, so that each lies on the side of the key before; every keyed pose stays.",
    outcome="{keys} keys negated on {bones} bones",
)
