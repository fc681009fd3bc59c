# SPDX-License-Identifier: GPL-3.0-or-later
"""A channel animates a bone or property that nobody has.

## What it finds
Data paths that resolve on no object that plays the action: one finding a bone, with its dead properties.

## Why it matters
Renamed or deleted bones leave dead curves behind; an action put on the wrong rig plays nothing at all.

## Grading
note; error, one for the action, when it turns bones and none of its bones is there. Properties that Blender took away
between two versions, and all others that turn nothing, are notes. Notes on bones that the keys would not turn by 0.1°,
nor move, are told together. What other rules find in keys that nobody has is a note too: it does not show.

## Fix
Unsafe: the dead curves are removed.

## Known limits
An action that nobody plays is not judged: there is nobody to ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..findings.finding import ERROR, NOTE, UNSAFE, Finding
from ..motion.clip import EULER, QUATERNION, Clip
from ..motion.edit import keep_curves
from ..motion.keys import rotation_keys
from ..motion.sweep import to_rotation
from ..rotation.quaternion import angle_between
from .grouping import Faults, bones_of_curves, findings_by_clip, findings_by_holder, split_path
from .rule import Limits, Rule

NOBODY, GONE = range(2)
SENTENCES = (
    "{property}: none of the bones of this action is on {user}",
    "{property}: {user} has no such bone or property: these keys play nothing",
)
NO_BONE = "{user} has none of the bones of this action: what turns them plays nothing"
NO_CHANNEL = "no channel of this action exists on {user}: the action plays nothing"
BY_NAME = "{user} has no such bone or property: nothing plays {properties}"
# Values of a channel that differ by less (of one unit, or of their size) do not move: a tenth of a millimeter.
STILL = 1e-4


def find(clip: Clip, limits: Limits) -> list[Finding]:
    curves = clip.curves
    if not clip.users or not curves.orphan.any():
        return []
    first: dict[str, int] = {}
    for curve in np.flatnonzero(curves.orphan).tolist():
        first.setdefault(curves.data_path[curve], curve)
    dead = _turns_no_bone(clip)
    parts = np.array(list(first.values()), dtype=np.int64)
    number = {path: n for n, path in enumerate(first)}
    path_of_curve = np.array([number.get(path, -1) for path in curves.data_path], dtype=np.int64)
    properties = [split_path(path)[1] for path in first]
    turns = _turns_deg(clip, path_of_curve, len(first))
    faults = Faults(
        part=parts,
        frames=_ranges(clip, path_of_curve, len(first)),
        kind="all" if dead else "some",
        severity=np.full(len(parts), ERROR if dead else NOTE),
        fix=np.full(len(parts), UNSAFE),
        measured={
            "curves": np.bincount(path_of_curve[path_of_curve >= 0], minlength=len(first)).astype(np.float64),
            "turn_deg": turns,
        },
        rows=parts,
        weight=turns,
        sentence=NOBODY if dead else GONE,
        names={"user": clip.users[0], "property": properties},
    )
    if dead:
        (finding,) = findings_by_clip(clip, RULE, faults)
        return [replace(finding, headline=NO_CHANNEL if curves.orphan.all() else NO_BONE)]
    found = []
    for finding in findings_by_holder(clip, RULE, faults):
        words = dict(finding.occurrences.names)["property"]
        o = finding.occurrences
        named = replace(o, names=(*o.names, ("properties", (", ".join(words),) * len(o))))
        found.append(replace(finding, headline=BY_NAME, occurrences=named))
    return found


def _turns_no_bone(clip: Clip) -> bool:
    """The action turns bones, and nobody has any bone of it."""
    orphan = clip.curves.orphan
    there = {bone for bone, gone in zip(bones_of_curves(clip), orphan.tolist(), strict=True) if bone and not gone}
    return any(clip.tracks.bone) and not there


def _ranges(clip: Clip, path_of_curve: Ints, count: int) -> Floats:
    """(count, 2) first and last frame of the keys of each path; NaN without any."""
    start, end = np.full(count, np.inf), np.full(count, -np.inf)
    time, path = clip.curves.co[:, 0], path_of_curve[clip.curves.curve_of_key()]
    mine = (path >= 0) & np.isfinite(time)
    np.minimum.at(start, path[mine], time[mine])
    np.maximum.at(end, path[mine], time[mine])
    return np.where(np.isfinite(start)[:, None], np.stack([start, end], axis=1), np.nan)


def _turns_deg(clip: Clip, path_of_curve: Ints, count: int) -> Floats:
    """(count,) how far the keys of each path turn from the first one: 0 for values that stay, NaN for others."""
    result = np.where(_still(clip, path_of_curve, count), 0.0, np.nan)
    for kind in (QUATERNION, EULER):
        keys = rotation_keys(clip, kind)
        rows = np.flatnonzero(keys.valid)
        if not len(rows):
            continue
        rotation = to_rotation(clip, keys, keys.value[rows], rows)
        member, start = np.unique(keys.member[rows], return_index=True)
        first = rotation[start][np.searchsorted(member, keys.member[rows])]
        turn = np.zeros(len(keys.tracks))
        np.maximum.at(turn, keys.member[rows], np.degrees(np.nan_to_num(angle_between(first, rotation))))
        path = path_of_curve[clip.tracks.curves[keys.tracks[member]].max(axis=1)]
        result[path[path >= 0]] = turn[member][path >= 0]
    return result


def _still(clip: Clip, path_of_curve: Ints, count: int) -> Bools:
    """(count,) no curve of the path changes its value."""
    curves = clip.curves
    keyed = np.flatnonzero(curves.counts > 0)
    start = curves.offsets[keyed]
    value = curves.co[:, 1].astype(np.float64)
    still = np.ones(count + 1, dtype=bool)
    if len(keyed):
        low, high = np.minimum.reduceat(value, start), np.maximum.reduceat(value, start)
        # NaN is not still: what is not known is not nothing.
        calm = high - low <= STILL * np.maximum(1.0, np.maximum(np.abs(low), np.abs(high)))
        still[path_of_curve[keyed[~calm]]] = False
    return still[:count]


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    if not unsafe:
        return clip
    paths = {finding.whose(n)[1] for finding in findings for n in np.flatnonzero(finding.occurrences.fix == UNSAFE)}
    named = np.array([path in paths for path in clip.curves.data_path], dtype=bool)
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
    leading="turn_deg",
    keys_only=True,
    judges_unplayed=True,
    remedy="Removes the curves that nobody plays; all others stay.",
)
