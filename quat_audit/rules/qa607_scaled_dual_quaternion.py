# SPDX-License-Identifier: GPL-3.0-or-later
"""A bone that deforms by dual quaternions is scaled unevenly, or its scale is animated.

## What it finds
Under Preserve Volume: bones with weights whose deformation scales one axis unlike another, or unlike itself on another
frame, by more than `scale_tolerance` (1e-3), or mirrors them on some frame (an odd number of negative scales).

## Why it matters
A dual quaternion holds no scale. Blender splits it off and lets it act at the vertex, other programs drop it or blend
it in other ways: stretch and squash look different there, or are gone.

## Grading
note.

## Fix
None: it may be meant.

## Known limits
An even scale that stays the same is carried by every program, and not reported. The scales that are named are lengths
of the axes, without a sign.
"""

from __future__ import annotations

import numpy as np

from ..findings.finding import NONE, NOTE, Finding, picked
from ..skinning.skin import PosedSkin, influences
from .rule import Limits, Rule
from .skin_findings import skin_finding, vertices_of_bone

LIMITS = {
    # A millimeter on a bone of a meter; float32 matrices of a long chain are off by less than a hundredth of that.
    "scale_tolerance": 1e-3,
}

UNEVEN, ANIMATED, MIRRORED = range(3)
SENTENCES = (
    "{bone} is unevenly scaled ({least:.3g} to {largest:.3g}) under dual quaternions",
    "{bone} is scaled by its animation ({least:.3g} to {largest:.3g}) under dual quaternions",
    "{bone} is mirrored and scaled ({least:.3g} to {largest:.3g}) under dual quaternions",
)


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin, motion = subject.skin, subject.motion
    if not skin.preserve_volume:
        return []
    inf = influences(skin)
    bones = np.unique(inf.bone[inf.weight > 0])
    axes = (motion.deform[:, bones] @ skin.bones.rest[bones])[..., :3, :3]
    scale = np.linalg.norm(axes, axis=-2)  # length of the bone's own axes after posing: (F, b, 3)
    # (F, b): lengths do not tell. Of an axis that is scaled to nothing rounding alone gives the sign.
    flipped = (np.linalg.det(axes) < 0.0) & (scale.min(axis=2) > limits["scale_tolerance"])
    uneven = (scale.max(axis=2) - scale.min(axis=2)).max(axis=0)
    change = (scale.max(axis=0) - scale.min(axis=0)).max(axis=1)
    most = np.maximum(uneven, change)
    mirrored = flipped.any(axis=0)
    with np.errstate(invalid="ignore"):
        which = np.flatnonzero((most > limits["scale_tolerance"]) | mirrored)
    if not len(which):
        return []
    what = np.where(uneven[which] > limits["scale_tolerance"], UNEVEN, ANIMATED)
    what = np.where(mirrored[which], MIRRORED, what)
    furthest = np.abs(scale[:, which] - 1.0).max(axis=2)
    # Of a mirrored bone a frame on which it is: the first of those that are furthest off.
    at = np.where(flipped[:, which] | ~mirrored[which], furthest, -1.0).argmax(axis=0)

    return skin_finding(
        subject,
        RULE,
        rows=bones[which],
        severity=NOTE,
        fix=NONE,
        kind=picked(("uneven", "animated", "mirrored"), what),
        sentence=what,
        names={"bone": [skin.bones.names[bone] for bone in bones[which]]},
        measured={
            "difference": most[which],
            "least": scale[:, which].min(axis=(0, 2)),
            "largest": scale[:, which].max(axis=(0, 2)),
        },
        frames=motion.frames[at],
        vertices=False,
    )


RULE: Rule[PosedSkin] = Rule(
    code="QA607",
    name="scaled-dual-quaternion",
    short="scaled",
    summary="uneven or animated scale under dual quaternions",
    doc=__doc__,
    judges="skin",
    find=find,
    sentences=SENTENCES,
    kinds=(
        "mirrored",
        "uneven",
        "animated",
    ),
    limits=LIMITS,
    keys_only=True,
    remedy="No automatic fix: the scale may be meant. Where it is not, clear it in the pose or remove its keys.",
    vertices_at=vertices_of_bone,
)
