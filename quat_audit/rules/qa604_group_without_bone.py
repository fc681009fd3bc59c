# SPDX-License-Identifier: GPL-3.0-or-later
"""A vertex group names no deforming bone.

## What it finds
Vertex groups with weights, of a mesh with an Armature modifier, that name no bone of the armature, or one whose Deform
is off. Groups that a modifier, a shape key, a particle system or a constraint uses are not meant for bones and not
reported.

## Why it matters
A renamed or deleted bone leaves its group behind: what was weighted to it no longer follows, or goes by whatever other
weights it has.

## Grading
note; error when the group holds the only weights that some vertices have.

## Fix
None: whether the bone was renamed, lost, or switched off on purpose, only a person knows.

## Known limits
A group that some script or exporter uses is reported too.
"""

from __future__ import annotations

import numpy as np

from ..findings.finding import ERROR, NONE, NOTE, Finding, classes
from ..skinning.skin import PosedSkin, influences
from .rule import Limits, Rule
from .skin_findings import skin_finding, vertices_of_group

SENTENCES = (
    "group {group} deforms nothing (Deform is off for its bone {group}); {vertices:,.0f} vertices",
    "group {group} deforms nothing (Deform is off for its bone {group}); {vertices:,.0f} vertices, "
    "and it is all that {only_weight:,.0f} of them have",
    "group {group} deforms nothing ({armature} has no bone {group}); {vertices:,.0f} vertices",
    "group {group} deforms nothing ({armature} has no bone {group}); {vertices:,.0f} vertices, "
    "and it is all that {only_weight:,.0f} of them have",
)


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin = subject.skin
    count = len(skin.groups)
    with np.errstate(invalid="ignore"):
        there = skin.weight > 0.0
    holds = np.bincount(skin.group[there], minlength=count)
    # A vertex counts as held by the group where no deforming bone has it.
    alone = there & ~influences(skin).live[skin.vertex_of_entry()]
    if skin.mask is not None:
        alone &= skin.mask[skin.vertex_of_entry()] > 0.0
    only = np.bincount(skin.group[alone], minlength=count)
    rows = np.flatnonzero((skin.groups.bone < 0) & ~skin.groups.elsewhere & ~skin.groups.other_rig & (holds > 0))
    bones = set(skin.bones.names)
    groups = [skin.groups.names[row] for row in rows]
    lost = np.array([group not in bones for group in groups], dtype=bool)

    return skin_finding(
        subject,
        RULE,
        rows=rows,
        severity=np.where(only[rows] > 0, ERROR, NOTE),
        fix=NONE,
        kind=classes([only[rows] > 0], ["only weight"], "unused"),
        measured={"only_weight": only[rows].astype(np.float64), "vertices": holds[rows].astype(np.float64)},
        vertices=False,
        sentence=2 * lost + (only[rows] > 0),
        names={"group": groups, "armature": skin.armature},
    )


RULE: Rule[PosedSkin] = Rule(
    code="QA604",
    name="group-without-bone",
    short="no bone",
    summary="a vertex group that names no deforming bone",
    doc=__doc__,
    judges="skin",
    find=find,
    sentences=SENTENCES,
    kinds=(
        "only weight",
        "unused",
    ),
    keys_only=True,
    remedy="No automatic fix: only a person knows whether the bone was renamed, lost or switched off on purpose.",
    vertices_at=vertices_of_group,
)
