# SPDX-License-Identifier: GPL-3.0-or-later
"""Preserve Volume is on, and exporters drop it.

## What it finds
Meshes whose Armature modifier preserves volume, with the largest distance over the clip between what that shows and
what linear blending, all that glTF and FBX files and most engines know, makes of the same pose.

## Why it matters
The mesh was modelled and weighted for joints that keep their volume; elsewhere they collapse.

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

from ..findings.finding import NONE, NOTE, WARNING, Finding, Occurrences
from ..skinning.measure import scanned
from ..skinning.skin import Motion, Skin
from ..text import Text, frame_words
from .rule import Limits, Rule, nothing
from .skin_findings import skin_finding

CODE, NAME = "QA606", "preserve-volume-lost"

LIMITS = {
    # Of the mesh's size: 2 cm on a character of 2 m, which shows beside the pose that was approved.
    "gap_percent": 1.0,
}
# Of the limit: what is smaller than this share of it is nothing to speak of.
_QUIET = 0.1


def find(skin: Skin, motion: Motion, limits: Limits) -> list[Finding]:
    if not skin.preserve_volume:
        return []
    scan = scanned(skin, motion)
    gap, mean = scan.worst_gap(), scan.worst_mean()
    percent = scan.of_mesh(gap.value)
    if not percent >= _QUIET * limits["gap_percent"]:
        return []

    def message(occurrences: Occurrences, worst: int) -> Text:
        values = {"gap_mm": gap.value, "percent": percent, "bone": gap.bone}
        if gap.bone:
            return Text(
                "without Preserve Volume the mesh is up to {gap_mm:.1f} mm ({percent:.1f} % of it) elsewhere at {bone};"
                " exporters drop it",
                values,
            )
        return Text(
            "without Preserve Volume the mesh is up to {gap_mm:.1f} mm ({percent:.1f} % of it) elsewhere;"
            " exporters drop it",
            values,
        )

    def headline(occurrences: Occurrences, worst: int) -> str:
        return f"frame {frame_words(gap.frame)}: {message(occurrences, worst)}"

    return skin_finding(
        skin,
        motion,
        CODE,
        NAME,
        message,
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
        headline=headline,
    )


RULE = Rule(
    CODE,
    NAME,
    "Preserve Volume is on, which exporters drop",
    __doc__,
    nothing,
    limits=LIMITS,
    find_skin=find,
    remedy="No automatic fix: helper bones or other weights for linear blending are the artist's choice.",
)
