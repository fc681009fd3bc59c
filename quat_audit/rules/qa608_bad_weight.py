# SPDX-License-Identifier: GPL-3.0-or-later
"""A weight is no number, infinite, negative, or more than the whole.

## What it finds
Weights in groups of deforming bones that are NaN, infinite or negative, or greater than the sum of their vertex.

## Why it matters
One NaN makes Blender leave the vertex behind; an engine draws it nowhere, or not the mesh at all. A negative weight
throws the vertex to the other side of its bone, and the others of the vertex then exceed the whole.

## Grading
error.

## Fix
Safe: the entry is removed and the rest of the vertex renormalised. Not in a locked group, nor where it is all that the
vertex has: those are for a person.

## Known limits
Blender's own tools keep weights between 0 and 1: such weights come from scripts and importers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..clip import Bools
from ..finding import ERROR, NONE, SAFE, Finding, Occurrences, Text
from ..skinning.skin import Motion, Skin, influences
from ..skinning.weights import bad_entries, normalise, without
from .rule import STAGE_VALUES, Limits, Rule, nothing
from .skin_findings import how_many, skin_finding, vertices_of

CODE, NAME = "QA608", "bad-weight"


def find(skin: Skin, motion: Motion, limits: Limits) -> list[Finding]:
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

    def message(occurrences: Occurrences, worst: int) -> Text:
        return Text("weight {weight:g} in group {group}", {"weight": float(value[worst]), "group": names[worst]})

    def headline(occurrences: Occurrences, worst: int) -> str:
        which = how_many(len(rows), "vertex has a weight that is", "vertices have weights that are")
        return f"{which} no share of a whole: {message(occurrences, worst)} on vertex {int(rows[worst])}"

    return skin_finding(
        skin,
        motion,
        CODE,
        NAME,
        message,
        rows=rows,
        severity=ERROR,
        fix=np.where(left[rows] & ~locked[rows], SAFE, NONE),
        kind=np.where(np.isfinite(value), np.where(value < 0, "negative", "too large"), "not finite"),
        measured={"weight": value},
        headline=headline,
    )


def _to_remove(skin: Skin) -> Bools:
    """(N,) the entries at fault; those that exceed the whole only because another is negative are none."""
    bad = bad_entries(skin)
    with np.errstate(invalid="ignore"):
        worse = bad & ~(np.isfinite(skin.weight) & (skin.weight >= 0.0))
    has_worse = np.bincount(skin.vertex_of_entry()[worse], minlength=len(skin)) > 0
    return np.asarray(worse | (bad & ~has_worse[skin.vertex_of_entry()]))


def fix(skin: Skin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Skin:
    chosen = vertices_of(findings, unsafe, len(skin))
    drop = _to_remove(skin) & chosen[skin.vertex_of_entry()]
    return normalise(without(skin, drop), chosen) if drop.any() else skin


RULE = Rule(
    CODE,
    NAME,
    "weights that are no share of a whole",
    __doc__,
    nothing,
    stage=STAGE_VALUES,
    keys_only=True,
    find_skin=find,
    fix_skin=fix,
    remedy="Removes the weight and normalises the rest of the vertex; not in a locked group, nor the only one.",
)
