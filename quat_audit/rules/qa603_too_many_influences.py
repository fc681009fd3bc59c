# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices are weighted to more bones than an engine reads.

## What it finds
Vertices with weights above 0 on more deforming bones than `influences` (4 by default, which is what engines read unless
told otherwise).

## Why it matters
Exporters or engines keep the heaviest and drop the rest without a word; the mesh then moves differently from what was
posed here.

## Grading
warning, with the largest displacement that the cut causes over the clip, in millimetres and as a percentage of the
mesh, and with the share of the influence that it drops. It is one too where the cut moves nothing here: weights serve
every clip, and another pose than these may show it.

## Fix
Unsafe: the heaviest are kept and renormalised. A vertex with a weight in a locked group is left as it is.

## Known limits
The displacement is that of linear blending, which is what engines do. Where positions cannot be computed (see what was
not evaluated), it is that of the bones and weights alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import NONE, UNSAFE, WARNING, Finding, Occurrences
from ..skinning.displacement import displacement, size_mm
from ..skinning.skin import Motion, Skin
from ..skinning.weights import ENGINE_INFLUENCES, counts, cut, dropped, touched_by_lock
from ..text import Text
from .rule import STAGE_INSERT, Limits, Rule, nothing
from .skin_findings import how_many, skin_finding, vertices_of

CODE, NAME = "QA603", "too-many-influences"

LIMITS = {
    # What glTF holds in one set of joints, and what engines read unless they are told otherwise.
    "influences": float(ENGINE_INFLUENCES),
}


def find(skin: Skin, motion: Motion, limits: Limits) -> list[Finding]:
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

    def message(occurrences: Occurrences, worst: int) -> Text:
        at = {name: float(values[worst]) for name, values in occurrences.measured.items()}
        return Text(
            "{influences:.0f} influences; cut to {most} it moves by {cut_mm:.1f} mm "
            "({of_mesh_percent:.2f} % of the mesh), {dropped_percent:.1f} % of its influence dropped",
            {**at, "most": most},
        )

    def headline(occurrences: Occurrences, worst: int) -> str:
        which = how_many(len(rows), "vertex has", "vertices have")
        return f"{which} more than {most} influences; the worst has {message(occurrences, worst)}"

    return skin_finding(
        skin,
        motion,
        CODE,
        NAME,
        message,
        rows=rows,
        severity=WARNING,
        fix=np.where(locked, NONE, UNSAFE),
        kind=np.where(locked, "locked", "cut"),
        measured={
            "cut_mm": mm[rows],
            "of_mesh_percent": percent,
            "influences": number[rows].astype(np.float64),
            "dropped_percent": 100.0 * dropped(skin, most)[rows],
        },
        frames=frames[rows],
        headline=headline,
    )


def fix(skin: Skin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Skin:
    chosen = vertices_of(findings, unsafe, len(skin))
    return cut(skin, int(limits["influences"]), vertices=chosen) if chosen.any() else skin


RULE = Rule(
    CODE,
    NAME,
    "more influences on a vertex than engines read",
    __doc__,
    nothing,
    stage=STAGE_INSERT,
    limits=LIMITS,
    keys_only=True,
    find_skin=find,
    fix_skin=fix,
    remedy="Keeps the heaviest influences and normalises them; vertices with a locked weight stay as they are.",
)
