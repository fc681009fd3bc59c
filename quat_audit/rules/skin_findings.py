# SPDX-License-Identifier: GPL-3.0-or-later
"""From arrays of faults of a skin to findings: one finding a mesh or a joint, its occurrences kept as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import Ints, Strings
from ..findings.finding import (
    FIX_KINDS,
    SAFE,
    SEVERITIES,
    UNSAFE,
    Finding,
    Locator,
    make_occurrences,
    worst_place,
)
from ..skinning.joints import joints
from ..skinning.skin import PosedSkin, Skin, influences
from .rule import Rule


def skin_finding(
    subject: PosedSkin,
    rule: Rule[PosedSkin],
    *,
    rows: Ints,
    severity: npt.ArrayLike,
    fix: npt.ArrayLike,
    kind: npt.ArrayLike,
    measured: Mapping[str, npt.ArrayLike],
    frames: npt.ArrayLike | None = None,
    sentence: npt.ArrayLike = 0,
    names: Mapping[str, Sequence[str] | Strings | str] | None = None,
    headline: str = "",
    bone: str = "",
    vertices: bool = True,
) -> list[Finding]:
    """One finding with N occurrences, or none without any.

    Args:
        rows: (N,) vertices, or what else the rule counts (groups, bones); see `vertices`.
        severity, fix, kind, sentence, names: (N,) or one for all.
        measured: name → (N,); the first says which occurrence is the worst of the highest severity.
        frames: (N,) where it shows most; None: on every frame, the first is named.
        headline: an English template for the whole finding: of its worst occurrence, and {count}, {frame}, {row}.
        bone: the joint that it is about.
        vertices: the rows are vertices.
    """
    count = len(rows)
    if not count:
        return []
    skin, motion = subject.skin, subject.motion
    at = np.full(count, motion.frames[0]) if frames is None else np.asarray(frames, dtype=np.float64)
    occurrences = make_occurrences(
        frames=np.stack([at, at], axis=1),
        rows=rows,
        kind=kind,
        severity=severity,
        fix=fix,
        measured=measured,
        sentence=sentence,
        names=names,
        kinds=rule.kinds,
    )
    weight = occurrences.values[:, 0]
    return [
        Finding(
            code=rule.code,
            rule=rule.name,
            severity=SEVERITIES[int(occurrences.codes[:, 1].max())],
            action=motion.action,
            slot="",
            owner=skin.mesh,
            bone=bone,
            data_path=_path(bone),
            fix=FIX_KINDS[int(occurrences.codes[:, 2].max())],
            occurrences=occurrences,
            # What is no number is the worst.
            worst=worst_place(occurrences, np.where(np.isfinite(weight), weight, 1e300)),
            sentences=rule.sentences,
            headline=headline,
            leading=rule.leading,
            locator=_locator(vertices, frames is not None),
            about="skin",
        )
    ]


def _locator(vertices: bool, timed: bool) -> Locator:
    if vertices:
        return "vertex on a frame" if timed else "vertex"
    return "frame" if timed else "all frames"


def _path(bone: str) -> str:
    """What a finding is about, as seen from the mesh object: an ignore names it."""
    if not bone:
        return "vertex_groups"
    quoted = bone.replace("\\", "\\\\").replace('"', '\\"')
    return f'vertex_groups["{quoted}"]'


def vertices_of(findings: Sequence[Finding], unsafe: bool, count: int) -> npt.NDArray[np.bool_]:
    """(V,) vertices of all occurrences that may be repaired; V is `count`."""
    chosen = np.zeros(count, dtype=bool)
    for finding in findings:
        fix = finding.occurrences.fix
        chosen[finding.occurrences.rows[(fix == SAFE) | (unsafe & (fix == UNSAFE))]] = True
    return chosen


def vertices_of_group(skin: Skin, finding: Finding, number: int) -> Ints:
    """Vertices with a weight in the vertex group that an occurrence is about (its row)."""
    with np.errstate(invalid="ignore"):
        entries = (skin.group == finding.occurrences.rows[number]) & (skin.weight > 0.0)
    return np.asarray(np.unique(skin.vertex_of_entry()[entries]))


def vertices_of_bone(skin: Skin, finding: Finding, number: int) -> Ints:
    """Vertices that the bone of an occurrence (its row) deforms."""
    inf = influences(skin)
    with np.errstate(invalid="ignore"):
        entries = (inf.bone == finding.occurrences.rows[number]) & (inf.weight > 0.0)
    return np.asarray(np.unique(inf.vertex()[entries]))


def vertices_of_joint(skin: Skin, finding: Finding, number: int) -> Ints:
    """Vertices that the joint of an occurrence (its row, the lower bone) blends more than any other joint does."""
    found = joints(skin)
    mine = np.flatnonzero(found.below == finding.occurrences.rows[number])
    return np.flatnonzero(np.isin(found.of_vertex, mine))
