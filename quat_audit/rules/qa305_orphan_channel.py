# SPDX-License-Identifier: GPL-3.0-or-later
"""A channel animates a bone or property that nobody has.

## What it finds
Data paths that resolve on no object that plays the action.

## Why it matters
Renamed or deleted bones leave dead curves behind; an action put on the wrong rig plays nothing at all.

## Grading
note; error when no track of the action resolves.

## Fix
Unsafe: the dead curves are removed.

## Known limits
An action that nobody plays is not judged: there is nobody to ask.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings.finding import ERROR, NOTE, UNSAFE, Finding, has_class
from ..motion.clip import Clip
from ..motion.edit import keep_curves
from .grouping import Faults, findings_by_path
from .rule import Limits, Rule

NOTHING_PLAYS, SOME_PLAY = range(2)
SENTENCES = (
    "no channel of this action exists on {user}: the action plays nothing",
    "{user} has no such bone or property: these keys play nothing",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    orphan = clip.curves.orphan
    if not clip.users or not orphan.any():
        return []
    start, end = clip.frame_range or (np.nan, np.nan)
    dead = bool(orphan.all())
    paths = np.array(clip.curves.data_path)
    parts = np.flatnonzero(orphan)
    parts = parts[:1] if dead else parts[np.unique(paths[parts], return_index=True)[1]]
    faults = Faults(
        part=parts,
        frames=np.tile([start, end], (len(parts), 1)),
        kind="all" if dead else "some",
        severity=np.full(len(parts), ERROR if dead else NOTE),
        fix=np.full(len(parts), UNSAFE),
        measured={
            "curves": np.array([len(orphan) if dead else np.sum(paths == paths[c]) for c in parts], dtype=np.float64)
        },
        rows=parts,
        sentence=NOTHING_PLAYS if dead else SOME_PLAY,
        names={"user": clip.users[0]},
    )
    return findings_by_path(clip, RULE, faults)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    if not unsafe:
        return clip
    paths = {f.data_path for f in findings}
    dead = any(np.any(has_class(f.occurrences.kind, "all")) for f in findings)
    # Where all is dead one finding speaks for every curve, also for those that must not be written.
    named = np.array([dead or p in paths for p in clip.curves.data_path], dtype=bool)
    drop = clip.curves.orphan & named & np.array([not why for why in clip.curves.read_only], dtype=bool)
    return keep_curves(clip, ~drop) if drop.any() else clip


RULE: Rule[Clip] = Rule(
    code="QA305",
    name="orphan-channel",
    short="orphan",
    summary="a channel for a bone or property that nobody has",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "all",
        "some",
    ),
    keys_only=True,
    remedy="Removes the curves that nobody plays; all others stay.",
)
