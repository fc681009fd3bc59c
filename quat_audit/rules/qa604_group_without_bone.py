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

from ..findings.finding import ERROR, NONE, NOTE, Finding, Occurrences
from ..skinning.skin import Motion, Skin, influences
from ..text import Text
from .rule import Limits, Rule, nothing
from .skin_findings import skin_finding, vertices_of_group

CODE, NAME = "QA604", "group-without-bone"


def find(skin: Skin, motion: Motion, limits: Limits) -> list[Finding]:
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

    def message(occurrences: Occurrences, worst: int) -> Text:
        name = skin.groups.names[int(occurrences.rows[worst])]
        off = name in bones
        why = (
            Text("Deform is off for its bone {bone}", {"bone": name})
            if off
            else Text("{armature} has no bone {bone}", {"armature": skin.armature, "bone": name})
        )
        held, count = (int(occurrences.measured[key][worst]) for key in ("only_weight", "vertices"))
        holds = Text("1 vertex") if count == 1 else Text("{count:,} vertices", {"count": count})
        values = {"group": name, "why": why, "vertices": holds, "held": held}
        if held:
            return Text(
                "group {group} deforms nothing ({why}); {vertices}, and it is all that {held:,} of them have", values
            )
        return Text("group {group} deforms nothing ({why}); {vertices}", values)

    return skin_finding(
        skin,
        motion,
        CODE,
        NAME,
        message,
        rows=rows,
        severity=np.where(only[rows] > 0, ERROR, NOTE),
        fix=NONE,
        kind=np.where(only[rows] > 0, "only weight", "unused"),
        measured={"only_weight": only[rows].astype(np.float64), "vertices": holds[rows].astype(np.float64)},
        vertices=False,
    )


RULE = Rule(
    CODE,
    NAME,
    "a vertex group that names no deforming bone",
    __doc__,
    nothing,
    keys_only=True,
    find_skin=find,
    vertices_at=vertices_of_group,
    remedy="No automatic fix: only a person knows whether the bone was renamed, lost or switched off on purpose.",
)
