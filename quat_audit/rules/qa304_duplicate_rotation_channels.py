# SPDX-License-Identifier: GPL-3.0-or-later
"""One rotation is animated twice.

## What it finds
Both the normal and the delta rotation of an object keyed and played, or two channels for one component of the same
rotation.

## Why it matters
Delta rotation is multiplied on top: after an import or "apply to deltas" the object turns twice as far. Of two
channels for one component the last one evaluated wins, and which that is differs between programs.

## Grading
warning.

## Fix
None: which of the two is meant cannot be told from the keys.

## Known limits
Keys on different kinds of rotation (quaternion and Euler) are QA301.
"""

from __future__ import annotations

import numpy as np

from ..findings.finding import NONE, WARNING, Finding
from ..motion.clip import Clip, kind_played
from ..motion.readers import players
from .grouping import Faults, findings_by_track
from .rule import Limits, Rule

DELTA, TWICE = range(2)
SENTENCES = (
    "both the rotation and the delta rotation are keyed: both are played, one on top of the other",
    "two channels animate the same component: the last one evaluated wins",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    tracks = clip.tracks
    # A rotation mode plays one kind of rotation, plain and delta: of two kinds one is QA301.
    both = any(tracks.delta)
    plain = {_channel(clip, t) for t in range(len(tracks)) if both and not tracks.delta[t] and _plays(clip, t)}
    seen: dict[str, int] = {}
    parts, kind = [], []
    for track in range(len(tracks)):
        path = tracks.data_path[track]
        if tracks.delta[track] and _channel(clip, track) in plain and _plays(clip, track):
            parts.append(track)
            kind.append("delta")
        if path in seen and np.any((tracks.curves[track] >= 0) & (tracks.curves[seen[path]] >= 0)):
            parts.append(track)
            kind.append("twice")
        seen.setdefault(path, track)
    if not parts:
        return []
    first_key = [
        clip.curves.co[clip.curves.offsets[c[c >= 0][0]] : clip.curves.offsets[c[c >= 0][0] + 1], 0]
        for c in tracks.curves[parts]
    ]
    frames = np.array([[t[0], t[-1]] if len(t) else [np.nan, np.nan] for t in first_key], dtype=np.float64)
    faults = Faults(
        part=np.array(parts),
        frames=frames,
        kind=np.array(kind),
        severity=np.full(len(parts), WARNING),
        fix=np.full(len(parts), NONE),
        measured={"channels": np.full(len(parts), 2.0)},
        rows=np.array(parts),
        sentence=np.where(np.array(kind) == "delta", DELTA, TWICE),
    )
    return findings_by_track(clip, RULE, faults)


def _channel(clip: Clip, track: int) -> tuple[str, str]:
    return clip.tracks.data_path[track].rpartition(".")[0], clip.tracks.kind[track]


def _plays(clip: Clip, track: int) -> bool:
    """Somebody's rotation mode plays it, or nobody is known."""
    path, kind = clip.tracks.data_path[track], clip.tracks.kind[track]
    modes = [reader.ways[path].mode for reader in players(clip) if path in reader.ways]
    return not modes or any(kind_played(mode) == kind for mode in modes)


RULE: Rule[Clip] = Rule(
    code="QA304",
    name="duplicate-rotation-channels",
    short="double",
    summary="one rotation animated twice",
    doc=__doc__,
    judges="clip",
    find=find,
    sentences=SENTENCES,
    kinds=(
        "delta",
        "twice",
    ),
    keys_only=True,
    remedy="No automatic fix: which of the two is meant cannot be told from the keys. Delete one of them.",
)
