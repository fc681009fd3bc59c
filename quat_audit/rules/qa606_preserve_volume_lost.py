# SPDX-License-Identifier: GPL-3.0-or-later
"""Preserve Volume is on, and exporters drop it.

## What it finds
Meshes whose Armature modifier preserves volume, with the largest distance over the clip between what that shows and
what linear blending, all that glTF and FBX files and most engines know, makes of the same pose.

## Why it matters
The mesh was modeled and weighted for joints that keep their volume; elsewhere they collapse.

## Grading
warning when the gap is more than `gap_percent` (1) per cent of the mesh, else note; nothing below a tenth of that.

## Fix
None: helper bones or other weights for linear blending are the artist's choice. The preview shows both.

## Known limits
Measured over the frames of the scene, with the action that plays. The per cent is of the diagonal of the mesh's box:
one stray vertex far away makes the box large and every gap small, so that a gap that shows may be a note or go unsaid.
"""

from __future__ import annotations

import numpy as np

from ..findings.finding import NONE, NOTE, WARNING, Finding
from ..skinning.measure import scanned
from ..skinning.skin import PosedSkin
from .rule import Limits, Rule
from .skin_findings import skin_finding

LIMITS = {
    # Of the mesh's size: 2 cm on a character of 2 m, which shows beside the pose that was approved.
    "gap_percent": 1.0,
}
# Of the limit: what is smaller than this share of it is nothing to speak of.
_QUIET = 0.1

SOMEWHERE, AT_BONE = range(2)
SENTENCES = (
    "without Preserve Volume the mesh is up to {gap_mm:.1f} mm ({of_mesh_percent:.1f} % of it) elsewhere;"
    " exporters drop it",
    "without Preserve Volume the mesh is up to {gap_mm:.1f} mm ({of_mesh_percent:.1f} % of it) elsewhere at {bone};"
    " exporters drop it",
)


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin, motion = subject.skin, subject.motion
    if not skin.preserve_volume:
        return []
    scan = scanned(skin, motion)
    gap, mean = scan.worst_gap(), scan.worst_mean()
    percent = scan.of_mesh(gap.value)
    if not percent >= _QUIET * limits["gap_percent"]:
        return []

    return skin_finding(
        subject,
        RULE,
        rows=np.array([gap.vertex]),
        severity=WARNING if percent > limits["gap_percent"] else NOTE,
        fix=NONE,
        kind="lost",
        measured={
            "gap_mm": np.array([gap.value]),
            "of_mesh_percent": np.array([percent]),
            "mean_mm": np.array([mean.value]),
        },
        frames=np.array([gap.frame]),
        bone=gap.bone,
        sentence=AT_BONE if gap.bone else SOMEWHERE,
        names={"bone": gap.bone},
        headline="frame {frame}: " + SENTENCES[AT_BONE if gap.bone else SOMEWHERE],
    )


RULE: Rule[PosedSkin] = Rule(
    code="QA606",
    name="preserve-volume-lost",
    short="preserve",
    summary="Preserve Volume is on, which exporters drop",
    doc=__doc__,
    judges="skin",
    find=find,
    sentences=SENTENCES,
    kinds=("lost",),
    leading="gap_mm",
    limits=LIMITS,
    remedy="No automatic fix: helper bones or other weights for linear blending are the artist's choice.",
)
