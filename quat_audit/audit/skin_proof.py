# SPDX-License-Identifier: GPL-3.0-or-later
"""What edited weights do to a mesh: vertices that changed, and how far they move over a clip."""

from __future__ import annotations

import numpy as np

from ..arrays import Bools
from ..findings.report import SkinProof
from ..skinning.displacement import displacement
from ..skinning.skin import Motion, PosedSkin, Skin, influences, select
from ..skinning.weights import bad_entries

# A safe repair of weights moves no vertex that was in order: this is what float32 sums cost on a mesh of meters, and
# a hundredth of what an eye could see.
STILL_MM = 1e-2


def prove_skin(before: PosedSkin, after: PosedSkin) -> SkinProof:
    """What other weights of the same vertices do to a mesh in the motion that it had before."""
    one, other = before.skin, after.skin
    far, frame = _moved(one, other, before.motion, np.ones(len(one), dtype=bool))
    return SkinProof(vertices_changed(before, after), sound_moved_mm(before, after), far, frame)


def sound_moved_mm(before: PosedSkin, after: PosedSkin) -> float:
    """The largest displacement of a vertex whose weights were in order, mm."""
    return _moved(before.skin, after.skin, before.motion, _sound(before.skin))[0]


def vertices_changed(before: PosedSkin, after: PosedSkin) -> int:
    """Vertices of which a stored weight is not the same."""
    return int(_differ(before.skin, after.skin).sum())


def _sound(skin: Skin) -> Bools:
    """(V,) the vertex is deformed, by weights that are a share of a whole."""
    sound = influences(skin).live.copy()
    sound[skin.vertex_of_entry()[bad_entries(skin)]] = False
    return sound


def _moved(before: Skin, after: Skin, motion: Motion, which: Bools) -> tuple[float, float]:
    """(largest displacement of some vertices by either method, mm, its frame)."""
    rows = np.flatnonzero(which)
    if after is before or not len(rows):
        return 0.0, float(motion.frames[0])
    one, other = select(before, rows), select(after, rows)
    found = [displacement(one, other, motion, preserve_volume=preserve) for preserve in (False, True)]
    worst = max(found, key=lambda d: d.worst)
    return worst.worst, float(worst.frames[int(np.argmax(worst.largest))])


def _differ(before: Skin, after: Skin) -> Bools:
    """(V,) the stored entries of a vertex are not the same."""
    if after is before:
        return np.zeros(len(before), dtype=bool)
    number = [np.diff(skin.offsets) for skin in (before, after)]
    differs = np.asarray(number[0] != number[1])
    rows = [np.flatnonzero(~differs[skin.vertex_of_entry()]) for skin in (before, after)]
    group = before.group[rows[0]] != after.group[rows[1]]
    a, b = before.weight[rows[0]], after.weight[rows[1]]
    other = group | ~((a == b) | (np.isnan(a) & np.isnan(b)))
    differs[before.vertex_of_entry()[rows[0]][other]] = True
    return differs
