# SPDX-License-Identifier: GPL-3.0-or-later
"""Deform weights: their sums, the cut to N influences, and the bits that engines store them in.

Everything here speaks of deforming weights only; weights in other groups pass through untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Bools, Floats, Ints
from .skin import Influences, Skin, influences

# Engines read four influences a vertex unless told otherwise (glTF's JOINTS_0, Unity's and Godot's default).
ENGINE_INFLUENCES = 4
ENGINE_BITS = 8


@dataclass(frozen=True, eq=False)
class Ranked:
    """The distinct (vertex, bone) influences of a skin, each vertex's heaviest first (ties: the lower bone).

    Attributes:
        vertex, bone: (M,) int.
        weight: (M,) float64, entries of one bone on one vertex added up.
        rank: (M,) int, 0 for a vertex's heaviest.
        group: (M,) int, of the entry that it is kept in.
    """

    vertex: Ints
    bone: Ints
    weight: Floats
    rank: Ints
    group: Ints


def rank(skin: Skin) -> Ranked:
    """Influences by weight. Those of weight 0 are left out; what is not finite counts as 0."""
    inf = influences(skin)
    vertex, weight = inf.vertex(), np.where(np.isfinite(inf.weight), inf.weight, 0.0)
    order = np.lexsort((inf.bone, vertex))
    vertex, bone, weight = vertex[order], inf.bone[order], weight[order]
    first = np.flatnonzero(np.diff(vertex, prepend=-1).astype(bool) | np.diff(bone, prepend=-1).astype(bool))
    if len(first) < len(order):
        weight = np.add.reduceat(weight, first)
    vertex, bone, group = vertex[first], bone[first], skin.group[inf.entry[order]][first]
    keep = weight > 0.0
    vertex, bone, weight, group = vertex[keep], bone[keep], weight[keep], group[keep]
    order = np.lexsort((bone, -weight, vertex))
    vertex, bone, weight, group = vertex[order], bone[order], weight[order], group[order]
    counts = np.bincount(vertex, minlength=len(skin))
    start = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    return Ranked(vertex, bone, weight, np.arange(len(vertex)) - start[vertex], group)


def counts(skin: Skin) -> Ints:
    """(V,) bones of weight above 0 on each vertex."""
    return np.bincount(rank(skin).vertex, minlength=len(skin))


def dropped(skin: Skin, most: int = ENGINE_INFLUENCES) -> Floats:
    """(V,) share of each vertex's influence, 0 to 1, that a cut to the `most` heaviest drops."""
    ranked = rank(skin)
    total = np.bincount(ranked.vertex, weights=ranked.weight, minlength=len(skin))
    kept = ranked.rank < most
    left = np.bincount(ranked.vertex[kept], weights=ranked.weight[kept], minlength=len(skin))
    return np.asarray((total - left) / np.where(total > 0, total, 1.0))


def cut(skin: Skin, most: int = ENGINE_INFLUENCES, *, vertices: Bools | None = None) -> Skin:
    """The skin with the `most` heaviest influences of each vertex, renormalized to a sum of 1.

    A bone listed more than once on a vertex counts once, with its sum: cutting first would keep one bone alone.

    Args:
        skin: left as it is.
        most: at least 1.
        vertices: (V,) bool, the vertices to treat; the others stay as they are. All by default.

    Raises:
        ValueError: most is below 1.
    """
    if most < 1:
        raise ValueError(f"most must be at least 1 influence, got {most}")
    ranked = rank(skin)
    keep = ranked.rank < most
    kept = replace(
        ranked,
        vertex=ranked.vertex[keep],
        bone=ranked.bone[keep],
        weight=ranked.weight[keep],
        rank=ranked.rank[keep],
        group=ranked.group[keep],
    )
    total = np.bincount(kept.vertex, weights=kept.weight, minlength=len(skin))
    return with_weights(skin, kept, kept.weight / total[kept.vertex], vertices)


def quantise(skin: Skin, most: int = ENGINE_INFLUENCES, bits: int = ENGINE_BITS) -> Skin:
    """The skin as an engine stores it: cut to `most`, weights whole numbers of ``2**bits - 1`` parts that sum to all.

    Rounding leaves the sum off by a part or two; the heaviest influence takes the difference, as exporters do, so
    that the vertex stays whole.
    """
    whole = 2**bits - 1
    skin = cut(skin, most)
    ranked = rank(skin)
    parts = np.rint(ranked.weight * whole)
    off = whole - np.bincount(ranked.vertex, weights=parts, minlength=len(skin))
    heaviest = ranked.rank == 0
    parts[heaviest] += off[ranked.vertex[heaviest]]
    return with_weights(skin, ranked, parts / whole)


def with_weights(skin: Skin, ranked: Ranked, weight: Floats, vertices: Bools | None = None) -> Skin:
    """The skin with these influences instead of its own, on some vertices; entries of weight 0 are left out.

    Weights in groups that deform nothing, and all those of the other vertices, stay.
    """
    treated = np.ones(len(skin), dtype=bool) if vertices is None else vertices
    of_entry = skin.vertex_of_entry()
    stays = ~treated[of_entry]
    if len(skin.group):
        stays |= skin.groups.bone[skin.group] < 0
    new = treated[ranked.vertex] & (weight > 0.0)
    vertex = np.concatenate([of_entry[stays], ranked.vertex[new]])
    order = np.argsort(vertex, kind="stable")
    return replace(
        skin,
        offsets=np.concatenate([[0], np.cumsum(np.bincount(vertex, minlength=len(skin)))]).astype(np.int64),
        group=np.concatenate([skin.group[stays], ranked.group[new]])[order],
        weight=np.concatenate([skin.weight[stays], weight[new]])[order],
    )


def not_normalised(inf: Influences, tolerance: float) -> Bools:
    """(V,) the vertex is deformed and its weights do not sum to 1 within `tolerance`."""
    with np.errstate(invalid="ignore"):
        return np.asarray(inf.live & np.isfinite(inf.total) & (np.abs(inf.total - 1.0) > tolerance))


def normalise(skin: Skin, vertices: Bools) -> Skin:
    """The skin with the deforming weights of some vertices scaled to a sum of 1; locked groups keep theirs.

    A vertex whose locked weights reach 1, or that has no others, stays as it is.

    Args:
        vertices: (V,) bool.
    """
    inf = influences(skin)
    vertex, locked = inf.vertex(), skin.groups.locked[skin.group[inf.entry]]
    held = np.bincount(vertex[locked], weights=inf.weight[locked], minlength=len(skin))
    free = np.bincount(vertex[~locked], weights=inf.weight[~locked], minlength=len(skin))
    with np.errstate(invalid="ignore", divide="ignore"):
        possible = vertices & (free > 0.0) & (held < 1.0)
        scale = np.where(possible, (1.0 - held) / free, 1.0)
    change = ~locked & possible[vertex]
    weight = skin.weight.astype(np.float64)
    weight[inf.entry[change]] = inf.weight[change] * scale[vertex[change]]
    return replace(skin, weight=weight)


def touched_by_lock(skin: Skin) -> Bools:
    """(V,) some deforming weight of the vertex is in a locked group."""
    inf = influences(skin)
    locked = skin.groups.locked[skin.group[inf.entry]]
    return np.bincount(inf.vertex()[locked], minlength=len(skin)) > 0


def bad_entries(skin: Skin) -> Bools:
    """(N,) of the skin's entries in deforming groups: not finite, negative, or more than the whole of its vertex."""
    inf = influences(skin)
    finite = np.isfinite(inf.weight)
    sums = np.bincount(inf.vertex()[finite], weights=inf.weight[finite], minlength=len(skin))[inf.vertex()]
    with np.errstate(invalid="ignore"):
        more = (inf.weight > sums * (1.0 + 1e-6)) & (sums > 0)
        bad = ~finite | (inf.weight < 0.0) | more
    result = np.zeros(len(skin.group), dtype=bool)
    result[inf.entry[bad]] = True
    return result


def without(skin: Skin, entries: Bools) -> Skin:
    """The skin without some entries (N,)."""
    vertex = skin.vertex_of_entry()[~entries]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(vertex, minlength=len(skin)))]).astype(np.int64)
    return replace(skin, offsets=offsets, group=skin.group[~entries], weight=skin.weight[~entries])


def copied_from(skin: Skin, to: Ints, source: Ints) -> Skin:
    """The skin with the deforming weights of `source` (U,) vertices given to `to` (U,) vertices, in stored order."""
    inf = influences(skin)
    counts_ = inf.counts[source]
    start = np.cumsum(counts_) - counts_
    rows = np.arange(int(counts_.sum())) + np.repeat(inf.offsets[source] - start, counts_)
    here = np.zeros(len(skin), dtype=bool)
    here[to] = True
    stays = ~here[skin.vertex_of_entry()]
    if len(skin.group):
        stays |= skin.groups.bone[skin.group] < 0
    vertex = np.concatenate([skin.vertex_of_entry()[stays], np.repeat(to, counts_)])
    order = np.argsort(vertex, kind="stable")
    return replace(
        skin,
        offsets=np.concatenate([[0], np.cumsum(np.bincount(vertex, minlength=len(skin)))]).astype(np.int64),
        group=np.concatenate([skin.group[stays], skin.group[inf.entry[rows]]])[order],
        weight=np.concatenate([skin.weight[stays], inf.weight[rows]])[order],
    )


def nearest(points: Floats, among: Floats) -> Ints:
    """(U,) for each of (U, 3) points the nearest of (W, 3); a block at a time, so that memory stays small."""
    found = np.zeros(len(points), dtype=np.int64)
    square = np.sum(among * among, axis=1)
    step = max(1, 2**22 // max(1, len(among)))
    for start in range(0, len(points), step):
        part = points[start : start + step]
        found[start : start + step] = np.argmin(square - 2.0 * part @ among.T, axis=1)
    return found
