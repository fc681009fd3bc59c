# SPDX-License-Identifier: GPL-3.0-or-later
"""A weight is no number, infinite, negative, or more than the whole.

## What it finds
Weights in groups of deforming bones that are NaN, infinite or negative, or greater than the sum of their vertex.

## Why it matters
One NaN makes Blender leave the vertex behind; an engine draws it nowhere, or not the mesh at all. A negative weight
throws the vertex to the other side of its bone, and the others of the vertex then exceed the whole.

## Grading
error, with how far the fix moves the vertex, in millimeters: the largest over the clip, by linear blending or by dual
quaternions, whichever is more. That is how far it is from its place.

## Fix
Safe: the entry is removed and the rest of the vertex renormalized. Not in a locked group, nor where it is all that the
vertex has: those are for a person.

## Known limits
Blender's own tools keep weights between 0 and 1: such weights come from scripts and importers. There are no millimeters
where there is no fix, where something else deforms the mesh too, nor for an infinite weight, which puts the vertex
nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..findings.finding import ERROR, NONE, SAFE, Finding, classes
from ..skinning.displacement import displacement
from ..skinning.skin import Motion, PosedSkin, Skin, influences
from ..skinning.weights import bad_entries, normalise, without
from .rule import PHASE_VALUES, Limits, Rule
from .skin_findings import skin_finding, vertices_of

PLAIN, MOVING = range(2)
SENTENCES = (
    "weight {weight:g} in group {group}",
    "weight {weight:g} in group {group}; {moves_mm:.1f} mm from its place",
)
_WRONG = " no share of a whole, one of {weight:g} in group {group} on vertex {row}"
ONE, MANY = "1 vertex has a weight that is" + _WRONG, "{count:,} vertices have weights that are" + _WRONG


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin, motion = subject.skin, subject.motion
    bad = _to_remove(skin)
    entries = np.flatnonzero(bad)
    if not len(entries):
        return []
    vertex = skin.vertex_of_entry()[entries]
    left = influences(without(skin, bad)).live
    locked = np.bincount(vertex[skin.groups.locked[skin.group[entries]]], minlength=len(skin)) > 0
    rows, first = np.unique(vertex, return_index=True)
    names = [skin.groups.names[skin.group[entry]] for entry in entries[first]]
    value = skin.weight[entries[first]].astype(np.float64)
    mended = left[rows] & ~locked[rows]
    moves = _moves_mm(skin, motion, rows, mended)

    most = f"{np.nanmax(moves):.1f}" if np.isfinite(moves).any() else ""
    return skin_finding(
        subject,
        RULE,
        rows=rows,
        severity=ERROR,
        fix=np.where(mended, SAFE, NONE),
        kind=classes([~np.isfinite(value), value < 0], ["not finite", "negative"], "too large"),
        measured={"moves_mm": moves, "weight": value},
        sentence=np.where(np.isfinite(moves), MOVING, PLAIN),
        names={"group": names, "most_mm": most},
        headline=(ONE if len(rows) == 1 else MANY) + ("; up to {most_mm} mm from their place" if most else ""),
    )


def _moves_mm(skin: Skin, motion: Motion, rows: Ints, mended: Bools) -> Floats:
    """(N,) how far the fix moves each of some vertices, mm; NaN where it has none, or nothing to move it from."""
    if skin.blocking:  # what poses the mesh is not all computed: a distance would be wrong
        return np.full(len(rows), np.nan)
    chosen = np.zeros(len(skin), dtype=bool)
    chosen[rows[mended]] = True
    after = _mended(skin, chosen)
    far = np.zeros(len(skin))
    for preserve in (False, True):
        found = displacement(skin, after, motion, preserve_volume=preserve)
        far[found.vertices] = np.maximum(far[found.vertices], found.of_vertex)
    infinite = np.isinf(influences(skin).total)
    return np.where(mended & ~infinite[rows], far[rows], np.nan)


def _mended(skin: Skin, chosen: Bools) -> Skin:
    """The skin without the faults of some vertices (V,); itself where there is none."""
    drop = _to_remove(skin) & chosen[skin.vertex_of_entry()]
    return normalise(without(skin, drop), chosen) if drop.any() else skin


def _to_remove(skin: Skin) -> Bools:
    """(N,) the entries at fault; those that exceed the whole only because another is negative are none."""
    bad = bad_entries(skin)
    with np.errstate(invalid="ignore"):
        worse = bad & ~(np.isfinite(skin.weight) & (skin.weight >= 0.0))
    has_worse = np.bincount(skin.vertex_of_entry()[worse], minlength=len(skin)) > 0
    return np.asarray(worse | (bad & ~has_worse[skin.vertex_of_entry()]))


def fix(subject: PosedSkin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> PosedSkin:
    skin = subject.skin
    return subject.with_skin(_mended(skin, vertices_of(findings, unsafe, len(skin))))


RULE: Rule[PosedSkin] = Rule(
    code="QA608",
    name="bad-weight",
    short="weight",
    summary="weights that are no share of a whole",
    doc=__doc__,
    judges="skin",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "not finite",
        "negative",
        "too large",
    ),
    leading="moves_mm",
    phase=PHASE_VALUES,
    keys_only=True,
    remedy="Removes the weight and normalizes the rest of the vertex; not in a locked group, nor the only one.",
    outcome="{vertices} vertices without bad weights on {meshes} meshes",
)
