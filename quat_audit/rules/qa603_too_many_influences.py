# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices are weighted to more bones than an engine reads.

## What it finds
Vertices with weights above 0 on more deforming bones than `influences` (4 by default, which is what engines read unless
told otherwise).

## Why it matters
Exporters or engines keep the heaviest and drop the rest without a word; the mesh then moves differently from what was
posed here.

## Grading
warning, with the largest displacement that the cut causes over the clip, in millimeters and as a percentage of the
mesh, and with the share of the influence that it drops. It is one too where the cut moves nothing here: weights serve
every clip, and another pose than these may show it.

## Fix
Unsafe: the heaviest are kept and renormalized. A vertex with a weight in a locked group is left as it is.

## Known limits
The displacement is that of linear blending, which is what engines do. Where positions cannot be computed (see what was
not evaluated), it is that of the bones and weights alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import NONE, UNSAFE, WARNING, Finding, classes
from ..skinning.displacement import displacement, size_mm
from ..skinning.skin import PosedSkin
from ..skinning.weights import ENGINE_INFLUENCES, counts, cut, dropped, touched_by_lock
from .rule import PHASE_INSERT, Limits, Rule
from .skin_findings import skin_finding, vertices_of

LIMITS = {
    # What glTF holds in one set of joints, and what engines read unless they are told otherwise.
    "influences": float(ENGINE_INFLUENCES),
}

SENTENCES = (
    "{influences:.0f} influences; cut to {most} it moves by {cut_mm:.1f} mm "
    "({of_mesh_percent:.2f} % of the mesh), {dropped_percent:.1f} % of its influence dropped",
)
ONE = "1 vertex has more than {most} influences; the worst has " + SENTENCES[0]
MANY = "{count:,} vertices have more than {most} influences; the worst has " + SENTENCES[0]


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin, motion = subject.skin, subject.motion
    most = int(limits["influences"])
    number = counts(skin)
    many = number > most
    rows = np.flatnonzero(many)
    if not len(rows):
        return []
    moved = displacement(skin, cut(skin, most, vertices=many), motion)
    mm, frames = np.zeros(len(skin)), np.full(len(skin), motion.frames[0])
    mm[moved.vertices], frames[moved.vertices] = moved.of_vertex, moved.at
    size = size_mm(skin, motion)
    percent = 100.0 * mm[rows] / size if size > 0 else mm[rows] * 0.0
    locked = touched_by_lock(skin)[rows]

    return skin_finding(
        subject,
        RULE,
        rows=rows,
        severity=WARNING,
        fix=np.where(locked, NONE, UNSAFE),
        kind=classes([locked], ["locked"], "cut"),
        measured={
            "cut_mm": mm[rows],
            "of_mesh_percent": percent,
            "influences": number[rows].astype(np.float64),
            "dropped_percent": 100.0 * dropped(skin, most)[rows],
        },
        frames=frames[rows],
        names={"most": str(most)},
        headline=ONE if len(rows) == 1 else MANY,
    )


def fix(subject: PosedSkin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> PosedSkin:
    skin = subject.skin
    chosen = vertices_of(findings, unsafe, len(skin))
    most = int(limits["influences"])
    return subject.with_skin(cut(skin, most, vertices=chosen)) if chosen.any() else subject


RULE: Rule[PosedSkin] = Rule(
    code="QA603",
    name="too-many-influences",
    short="too many",
    summary="more influences on a vertex than engines read",
    doc=__doc__,
    judges="skin",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "locked",
        "cut",
    ),
    leading="cut_mm",
    limits=LIMITS,
    phase=PHASE_INSERT,
    keys_only=True,
    remedy="Keeps the heaviest influences and normalizes them; vertices with a locked weight stay as they are.",
    outcome="{vertices} vertices cut to fewer influences on {meshes} meshes",
)
