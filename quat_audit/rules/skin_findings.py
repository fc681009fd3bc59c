# SPDX-License-Identifier: GPL-3.0-or-later
"""From arrays of faults of a skin to findings: one finding a mesh or a joint, its occurrences kept as arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints
from ..findings.finding import NONE, SAFE, SEVERITIES, UNSAFE, Finding, Occurrences, worst
from ..skinning.joints import joints
from ..skinning.skin import Motion, Skin, influences
from ..text import Text, frame_words

Message = Callable[[Occurrences, int], Text]
Headline = Callable[[Occurrences, int], str]
_FIXES = (NONE, UNSAFE, SAFE)


def skin_finding(
    skin: Skin,
    motion: Motion,
    code: str,
    rule: str,
    message: Message,
    *,
    rows: Ints,
    severity: npt.ArrayLike,
    fix: npt.ArrayLike,
    kind: npt.ArrayLike,
    measured: Mapping[str, Floats],
    frames: npt.ArrayLike | None = None,
    bone: str = "",
    vertices: bool = True,
    headline: Headline | None = None,
) -> list[Finding]:
    """One finding with N occurrences, or none without any.

    Args:
        message: words for one occurrence.
        rows: (N,) vertices, or what else the rule counts (groups, bones); see `vertices`.
        severity, fix, kind: (N,) or one for all.
        measured: name → (N,); the first says which occurrence is the worst of the highest severity.
        frames: (N,) where it shows most; None: on every frame, the first is named.
        bone: the joint that it is about.
        vertices: the rows are vertices.
        headline: English words for the whole finding, from its worst occurrence; by default the message.
    """
    count = len(rows)
    if not count:
        return []
    at = np.full(count, motion.frames[0]) if frames is None else np.asarray(frames, dtype=np.float64)
    occurrences = Occurrences(
        frames=np.stack([at, at], axis=1),
        kind=np.broadcast_to(np.asarray(kind, dtype=np.str_), count),
        severity=np.broadcast_to(np.asarray(severity, dtype=np.str_), count),
        fix=np.broadcast_to(np.asarray(fix, dtype=np.str_), count),
        measured={name: np.broadcast_to(np.asarray(v, dtype=np.float64), count) for name, v in measured.items()},
        rows=np.asarray(rows, dtype=np.int64),
    )
    highest = worst(occurrences.severity.tolist())
    weight = np.abs(next(iter(occurrences.measured.values())))
    weight = np.where(np.isfinite(weight), weight, 1e300)  # what is no number is the worst
    first = int(np.argmax(np.where(occurrences.severity == highest, weight, -1.0)))
    where = partial(_place, occurrences, vertices, frames is not None)
    what = partial(message, occurrences)
    return [
        Finding(
            code=code,
            rule=rule,
            severity=SEVERITIES[SEVERITIES.index(highest)],
            action=motion.action,
            slot="",
            owner=skin.mesh,
            bone=bone,
            data_path=_path(bone),
            message=f"{bone or skin.mesh}: {(headline or message)(occurrences, first)}",
            fix=max(occurrences.fix.tolist(), key=_FIXES.index),
            occurrences=occurrences,
            where=where,
            what=what,
            worst=first,
        )
    ]


def _path(bone: str) -> str:
    """What a finding is about, as seen from the mesh object: an ignore names it."""
    if not bone:
        return "vertex_groups"
    quoted = bone.replace("\\", "\\\\").replace('"', '\\"')
    return f'vertex_groups["{quoted}"]'


def _place(occurrences: Occurrences, vertices: bool, timed: bool, number: int) -> Text:
    """Where an occurrence is: "vertex 12", "frame 7", or both."""
    vertex = int(occurrences.rows[number])
    frame = frame_words(occurrences.frames[number, 0])
    if vertices and timed:
        return Text("vertex {vertex}, frame {frame}", {"vertex": vertex, "frame": frame})
    if vertices:
        return Text("vertex {vertex}", {"vertex": vertex})
    return Text("frame {frame}", {"frame": frame}) if timed else Text("all frames")


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


def how_many(number: int, one: str, many: str) -> str:
    """ "1 vertex", "12,000 vertices"."""
    return f"{number:,} {one if number == 1 else many}"
