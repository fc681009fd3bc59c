# SPDX-License-Identifier: GPL-3.0-or-later
"""A joint loses its volume under linear blending.

## What it finds
Joints whose shared vertices come, on some frame, below `radius_percent` (70) per cent of the distance from the joint's
axis that dual quaternions would keep them at: the candy wrapper of a twisted forearm, the pinched elbow.

## Why it matters
It shows, here and in every engine, as a waist in the limb. Twisted by 180° the limb is a point.

## Grading
warning, with the joint, the frame and the percentage.

## Fix
None: twist bones, other weights or Preserve Volume (the preview shows it) are the artist's choice.

## Known limits
Bones that no chain of deforming bones joins, as in rigs for engines that have them side by side, are taken for a joint
where the weights say that they meet.
Not looked for while Preserve Volume is on (QA606 says what becomes of that elsewhere). Measured on at most 96 vertices
of each joint that both sides have at least a quarter of, about the axis that the lower bone is turned round.
"""

from __future__ import annotations

import numpy as np

from ..findings.finding import NONE, WARNING, Finding
from ..skinning.measure import scanned
from ..skinning.skin import PosedSkin
from .rule import Limits, Rule
from .skin_findings import skin_finding, vertices_of_joint

LIMITS = {
    # An even blend keeps cos(half the turn) of the radius: 71 % at a right angle. Losing more shows.
    "radius_percent": 70.0,
}

SENTENCES = ("keeps {radius_percent:.0f} % of its radius ({gap_mm:.0f} mm from where dual quaternions have it)",)
HEADLINE = "frame {frame}: the joint " + SENTENCES[0]


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin, motion = subject.skin, subject.motion
    if skin.preserve_volume:
        return []
    scan = scanned(skin, motion)
    if not scan.radius.size:
        return []
    percent = 100.0 * np.where(np.isnan(scan.radius), 1.0, scan.radius)
    found = []
    for joint in np.flatnonzero(percent.min(axis=0) < limits["radius_percent"]):
        frame = int(percent[:, joint].argmin())

        found += skin_finding(
            subject,
            RULE,
            rows=np.array([scan.joints.below[joint]]),
            severity=WARNING,
            fix=NONE,
            kind="collapse",
            measured={
                "lost_percent": np.array([100.0 - percent[frame, joint]]),
                "radius_percent": np.array([percent[frame, joint]]),
                "gap_mm": np.array([max(scan.gap[frame, joint], scan.gap_shared[frame, joint])]),
            },
            frames=np.array([scan.frames[frame]]),
            bone=scan.bones[joint],
            vertices=False,
            headline=HEADLINE,
        )
    return found


RULE: Rule[PosedSkin] = Rule(
    code="QA605",
    name="volume-collapse",
    short="volume",
    summary="a joint that linear blending makes collapse",
    doc=__doc__,
    judges="skin",
    find=find,
    sentences=SENTENCES,
    kinds=("collapse",),
    leading="lost_percent",
    limits=LIMITS,
    remedy="No automatic fix: twist bones, other weights or Preserve Volume are the artist's choice.",
    vertices_at=vertices_of_joint,
)
