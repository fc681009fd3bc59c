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
from ..findings.finding import ERROR, NONE, UNSAFE, Finding
from ..skinning.skin import PosedSkin, Skin, influences
from ..skinning.weights import bad_entries, copied_from, nearest
from .rule import PHASE_INSERT, Limits, Rule
from .skin_findings import skin_finding, vertices_of

SENTENCES = ("no weight on any deforming bone",)
_LEFT_BEHIND = " no weight on any deforming bone (of {all}): left behind here, at the origin in engines"
UNBOUND = "bound to nothing: none of its {all} vertices has a weight on a deforming bone"
ONE, MANY = "1 vertex has" + _LEFT_BEHIND, "{count:,} vertices have" + _LEFT_BEHIND


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin = subject.skin
    bare = _unweighted(skin)
    bound = bool(influences(skin).live.any())

    return skin_finding(
        subject,
        RULE,
        rows=np.flatnonzero(bare),
        severity=ERROR,
        fix=UNSAFE if bound else NONE,
        kind="unweighted" if bound else "unbound",
        measured={"sum": influences(skin).total[bare]},
        names={"all": f"{len(skin):,}"},
        headline=UNBOUND if not bound else ONE if bare.sum() == 1 else MANY,
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


def fix(subject: PosedSkin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> PosedSkin:
    skin = subject.skin
    to = np.flatnonzero(vertices_of(findings, unsafe, len(skin)) & _unweighted(skin))
    sound = influences(skin).live.copy()
    sound[skin.vertex_of_entry()[bad_entries(skin)]] = False
    source = np.flatnonzero(sound)
    if not len(to) or not len(source):
        return subject
    return subject.with_skin(copied_from(skin, to, source[nearest(skin.vertices[to], skin.vertices[source])]))


RULE: Rule[PosedSkin] = Rule(
    code="QA601",
    name="unweighted-vertex",
    short="unbound",
    summary="vertices without a weight on any deforming bone",
    doc=__doc__,
    judges="skin",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "unbound",
        "unweighted",
    ),
    phase=PHASE_INSERT,
    keys_only=True,
    remedy="Copies the weights of the nearest vertex that has some; all other vertices keep theirs.",
    outcome="{vertices} vertices given weights on {meshes} meshes",
)
