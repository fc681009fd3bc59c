# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices have no weight on any deforming bone.

## What it finds
Vertices of a mesh with an Armature modifier whose weights in the groups of deforming bones sum to 0.0001 or less.

## Why it matters
Blender leaves them where they are while the rest walks away; engines put them at the origin of the skeleton or at its
root bone, which draws spikes through the scene.

## Grading
error. When no vertex has a weight at all, the mesh is bound to nothing, and that is what the message says.

## Fix
Unsafe: each gets the weights of the vertex nearest to it at rest that has some. They can always be selected.

## Known limits
Vertices that the modifier's own vertex group leaves out, that go by bone envelopes, or that another Armature modifier
moves are meant to be so. Those with
a weight that is not a number are QA608's. The nearest vertex is looked for in space, not along the surface.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Bools
from ..findings.finding import ERROR, NONE, UNSAFE, Finding, Occurrences
from ..skinning.skin import Motion, Skin, influences
from ..skinning.weights import bad_entries, copied_from, nearest
from ..text import Text
from .rule import STAGE_INSERT, Limits, Rule, nothing
from .skin_findings import how_many, skin_finding, vertices_of

CODE, NAME = "QA601", "unweighted-vertex"


def find(skin: Skin, motion: Motion, limits: Limits) -> list[Finding]:
    bare = _unweighted(skin)
    number, all_of_them = int(bare.sum()), len(skin)
    bound = bool(influences(skin).live.any())

    def message(occurrences: Occurrences, worst: int) -> Text:
        return Text("no weight on any deforming bone")

    def headline(occurrences: Occurrences, worst: int) -> str:
        if not bound:
            return f"bound to nothing: none of its {all_of_them:,} vertices has a weight on a deforming bone"
        return (
            f"{how_many(number, 'vertex has', 'vertices have')} no weight on any deforming bone (of {all_of_them:,}):"
            " left behind here, at the origin in engines"
        )

    return skin_finding(
        skin,
        motion,
        CODE,
        NAME,
        message,
        rows=np.flatnonzero(bare),
        severity=ERROR,
        fix=UNSAFE if bound else NONE,
        kind="unweighted" if bound else "unbound",
        measured={"sum": influences(skin).total[bare]},
        headline=headline,
    )


def _unweighted(skin: Skin) -> Bools:
    inf = influences(skin)
    bare = ~inf.live
    broken = bad_entries(skin)
    bare[skin.vertex_of_entry()[broken]] = False
    with np.errstate(invalid="ignore"):
        held_by_another = skin.groups.other_rig[skin.group] & (skin.weight > 0.0) if len(skin.group) else skin.group < 0
    bare[skin.vertex_of_entry()[held_by_another]] = False
    if skin.mask is not None:
        bare &= skin.mask > 0.0
    if skin.envelopes:
        bare &= inf.counts > 0
    return bare


def fix(skin: Skin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Skin:
    to = np.flatnonzero(vertices_of(findings, unsafe, len(skin)) & _unweighted(skin))
    sound = influences(skin).live.copy()
    sound[skin.vertex_of_entry()[bad_entries(skin)]] = False
    source = np.flatnonzero(sound)
    if not len(to) or not len(source):
        return skin
    return copied_from(skin, to, source[nearest(skin.vertices[to], skin.vertices[source])])


RULE = Rule(
    CODE,
    NAME,
    "vertices without a weight on any deforming bone",
    __doc__,
    nothing,
    stage=STAGE_INSERT,
    keys_only=True,
    find_skin=find,
    fix_skin=fix,
    remedy="Copies the weights of the nearest vertex that has some; all other vertices keep theirs.",
)
