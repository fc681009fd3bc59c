# SPDX-License-Identifier: GPL-3.0-or-later
"""The deform weights of a vertex do not sum to one.

## What it finds
Vertices whose weights in the groups of deforming bones sum to something off 1 by more than `sum_tolerance` (2e-3: half
a part of 8 bits, which is what engines store weights in).

## Why it matters
Blender normalizes while it deforms, with and without Preserve Volume, so nothing shows here. An exporter or engine that
does not normalize pulls the vertex towards the skeleton's origin, or pushes it away.

## Grading
warning, with what normalizing moves in Blender over the clip (nothing but rounding, by both methods), and how far an
engine that does not normalize would put the vertex off, in millimeters.

## Fix
Safe: weights scaled to a sum of 1, groups that are locked keep theirs. Where a locked group has a part of the vertex
the proportions change, and so the pose: unsafe there, and left alone where the locked weights leave no room.

## Known limits
Weights in groups that name no deforming bone do not count, as in Blender.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Floats
from ..findings.finding import NONE, SAFE, UNSAFE, WARNING, Finding, classes
from ..skinning import linear
from ..skinning.displacement import displacement, distance_mm, to_mm
from ..skinning.skin import Motion, PosedSkin, Skin, influences, select
from ..skinning.weights import bad_entries, normalise, not_normalised, touched_by_lock
from .rule import PHASE_LENGTH, Limits, Rule
from .skin_findings import skin_finding, vertices_of

LIMITS = {
    # Half a part of the 255 that engines store a weight in: what is smaller does not survive the export.
    "sum_tolerance": 2e-3,
}

SENTENCES = ("weights sum to {sum:.4g}; {engine_mm:.1f} mm off where they are not normalized",)
_OFF = (
    " not sum to 1 (one to {sum:.4g}): up to {engine_mm:.1f} mm off in engines that do not normalize;"
    " normalizing moves {moves_mm:.2g} mm here"
)
ONE, MANY = "1 vertex whose weights do" + _OFF, "{count:,} vertices whose weights do" + _OFF


def find(subject: PosedSkin, limits: Limits) -> list[Finding]:
    skin, motion = subject.skin, subject.motion
    inf = influences(skin)
    off = not_normalised(inf, limits["sum_tolerance"])
    off[skin.vertex_of_entry()[bad_entries(skin)]] = False  # QA608 first
    rows = np.flatnonzero(off)
    if not len(rows):
        return []
    after = normalise(skin, off)
    moves = max(displacement(skin, after, motion, preserve_volume=preserve).worst for preserve in (False, True))
    engine, frames = _engine_mm(skin, motion, rows)
    locked = touched_by_lock(skin)[rows]
    changes = np.abs(influences(after).total[rows] - 1.0) <= limits["sum_tolerance"]
    fix = np.where(changes, np.where(locked, UNSAFE, SAFE), NONE)

    return skin_finding(
        subject,
        RULE,
        rows=rows,
        severity=WARNING,
        fix=fix,
        kind=classes([locked], ["locked"], "off"),
        measured={"engine_mm": engine, "sum": inf.total[rows], "moves_mm": np.full(len(rows), moves)},
        frames=frames,
        headline=ONE if len(rows) == 1 else MANY,
    )


def _engine_mm(skin: Skin, motion: Motion, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> tuple[Floats, Floats]:
    """(N,) how far vertices are off without normalizing, the largest over the clip in mm, and its frame.

    Without it they go to their sum times the place, as seen from the skeleton's origin.
    """
    excess = influences(skin).total[rows] - 1.0
    part = select(skin, rows)
    most, at = np.full(len(rows), -1.0), np.full(len(rows), motion.frames[0])
    metric = to_mm(skin, motion)
    step = max(1, 2**19 // len(rows))
    for start in range(0, len(motion), step):
        now = slice(start, min(len(motion), start + step))
        some = motion.part(now)
        origin = -np.linalg.solve(some.to_armature[:, :3, :3], some.to_armature[:, :3, 3:])[..., 0]
        away = (linear.deform(part, some) - origin[:, None]) * excess[:, None]
        mm = distance_mm(away.transpose(2, 0, 1), metric[now])
        highest = mm.max(axis=0)
        at = np.where(highest > most, some.frames[mm.argmax(axis=0)], at)
        most = np.maximum(most, highest)
    return most, at


def fix(subject: PosedSkin, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> PosedSkin:
    skin = subject.skin
    chosen = vertices_of(findings, unsafe, len(skin))
    return subject.with_skin(normalise(skin, chosen)) if chosen.any() else subject


RULE: Rule[PosedSkin] = Rule(
    code="QA602",
    name="weights-not-normalised",
    short="sum",
    summary="deform weights that do not sum to one",
    doc=__doc__,
    judges="skin",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "locked",
        "off",
    ),
    leading="engine_mm",
    limits=LIMITS,
    phase=PHASE_LENGTH,
    keys_only=True,
    remedy="Scales the weights to a sum of 1; locked groups keep theirs, and Blender shows the same mesh.",
    outcome="{vertices} vertices normalized on {meshes} meshes",
)
