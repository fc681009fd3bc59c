# SPDX-License-Identifier: GPL-3.0-or-later
"""From arrays of faults to findings: one a track, a data path, a bone or a clip, its occurrences kept as arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..arrays import Floats, Ints, Strings
from ..findings.finding import (
    FIX_KINDS,
    MANY,
    SAFE,
    SEVERITIES,
    UNSAFE,
    Finding,
    PlaceClass,
    make_occurrences,
    worst_place,
)
from ..motion.clip import Clip
from .rule import Rule

# The first item of a collection in a Blender path, by name or by number.
_HOLDER = re.compile(r'[\w.]+\[(?:"(?:[^"\\]|\\.)*"|\d+)\]', re.DOTALL)


class Faults(NamedTuple):
    """P faults of one rule; `part` (P,) is the track or curve of each. Others as in `make_occurrences`.

    The worst fault of a finding is that of the highest severity with the largest `weight` (by default the first of
    `measured`): the message speaks of it, and its figure is shown.
    """

    part: Ints
    frames: Floats
    kind: Strings | PlaceClass
    severity: Strings
    fix: Strings
    measured: Mapping[str, Floats]
    rows: Ints
    weight: Floats | None = None
    sentence: npt.ArrayLike = 0
    names: Mapping[str, Sequence[str] | Strings | str] | None = None


def findings_by_track(clip: Clip, rule: Rule[Clip], faults: Faults) -> list[Finding]:
    """A finding for each track with faults."""
    return _findings(clip, rule, faults, clip.tracks.data_path, clip.tracks.bone)


def findings_of_owners(
    clip: Clip, rule: Rule[Clip], faults: Faults, owners: Sequence[str], prop: str, bone: Sequence[str] = ()
) -> list[Finding]:
    """A finding for each owner (P,): the faults are places of one thing, `prop` of it all.

    bone: (P,) the bone of each fault, "" for none; a finding about one bone only names it.
    """
    distinct = tuple(dict.fromkeys(owners))
    bones = []
    for owner in distinct:
        mine = {name for name, other in zip(bone, owners, strict=True) if other == owner} if bone else set()
        bones.append(mine.pop() if len(mine) == 1 else "")
    names = {**(faults.names or {}), **({"bone": bone} if bone else {})}
    number = np.array([distinct.index(owner) for owner in owners], dtype=np.int64)
    faults = faults._replace(part=number, names=names)
    paths = tuple(f"{owner}.{prop}" for owner in distinct)
    found = _findings(clip, rule, faults, paths, tuple(bones))
    return [replace(finding, owner=owner, part=-1) for finding, owner in zip(found, distinct, strict=True)]


def findings_by_path(clip: Clip, rule: Rule[Clip], faults: Faults) -> list[Finding]:
    """A finding for each data path; the faults' parts are curves and may be of several components."""
    if not len(faults.part):
        return []
    bones = bones_of_curves(clip)
    first: dict[str, int] = {}
    for curve, path in enumerate(clip.curves.data_path):
        first.setdefault(path, curve)
    representative = np.array([first[p] for p in clip.curves.data_path], dtype=np.int64)
    faults = faults._replace(part=representative[faults.part])
    return _findings(clip, rule, faults, clip.curves.data_path, bones)


def findings_by_holder(clip: Clip, rule: Rule[Clip], faults: Faults) -> list[Finding]:
    """A finding for each bone (or other item of a collection, or property without a holder) with all its channels.

    The faults' parts are curves. Each place tells its data path.
    """
    holders = tuple(split_path(path)[0] or path for path in clip.curves.data_path)
    first: dict[str, int] = {}
    for curve, holder in enumerate(holders):
        first.setdefault(holder, curve)
    part = np.array([first[holders[c]] for c in faults.part], dtype=np.int64)
    return _findings(clip, rule, _told_apart(clip, faults, part), holders, bones_of_curves(clip))


def findings_by_clip(clip: Clip, rule: Rule[Clip], faults: Faults) -> list[Finding]:
    """One finding for all faults, whose parts are curves. Each place tells its bone and data path."""
    some = _told_apart(clip, faults, np.zeros(len(faults.part), dtype=np.int64))
    return [replace(f, part=-1, locator="keys of a bone") for f in _findings(clip, rule, some, (MANY,), ("",))]


def _told_apart(clip: Clip, faults: Faults, part: Ints) -> Faults:
    """The same faults in other parts (P,), each with the bone and the data path of its curve."""
    bones, curve = bones_of_curves(clip), faults.part.tolist()
    own = {"bone": [bones[c] for c in curve], "path": [clip.curves.data_path[c] for c in curve]}
    return faults._replace(part=part, names={**(faults.names or {}), **own})


def bones_of_curves(clip: Clip) -> tuple[str, ...]:
    """(C,) the bone that each curve animates, "" for none."""
    by_prefix = {_prefix(p): b for p, b in zip(clip.tracks.data_path, clip.tracks.bone, strict=True)}
    return tuple(by_prefix.get(_prefix(p), _quoted_bone(p)) for p in clip.curves.data_path)


def _prefix(data_path: str) -> str:
    """The path of what is animated, without the property: `pose.bones["A"]`, `/nodes/3`, `joint/A`."""
    cut = max(data_path.rfind("]."), data_path.rfind("/"))
    return data_path[: cut + 1] if cut >= 0 else ""


def split_path(data_path: str) -> tuple[str, str]:
    """(what holds it, the property) of a Blender path: `pose.bones["A"]` and `location`; ("", path) without a holder.

    The holder is the first item of a collection: a bone with all that is below it.
    """
    match = _HOLDER.match(data_path)
    if match is None or match.end() == len(data_path):
        return "", data_path
    return match[0], data_path[match.end() :].removeprefix(".")


def _quoted_bone(data_path: str) -> str:
    """The bone named in a Blender path that no rotation track shares."""
    head, tail = 'pose.bones["', '"]'
    holder, _ = split_path(data_path)
    name = holder.removeprefix(head).removesuffix(tail) if holder.startswith(head) else ""
    return re.sub(r'\\(["\\])', r"\1", name)


def _findings(
    clip: Clip, rule: Rule[Clip], faults: Faults, paths: tuple[str, ...], bones: tuple[str, ...]
) -> list[Finding]:
    order = np.argsort(faults.part, kind="stable")
    part_of = faults.part[order]
    bounds = np.flatnonzero(np.diff(part_of, prepend=-2, append=-2))
    together = make_occurrences(
        frames=faults.frames,
        rows=faults.rows,
        kind=faults.kind,
        severity=faults.severity,
        fix=faults.fix,
        measured=faults.measured,
        sentence=faults.sentence,
        names=faults.names,
        kinds=rule.kinds,
    )
    weight = next(iter(faults.measured.values())) if faults.weight is None else faults.weight
    found = []
    for start, end in pairwise(bounds):
        part = order[start:end]
        occurrences = together.at(part)
        number = int(part_of[start])
        found.append(
            Finding(
                code=rule.code,
                rule=rule.name,
                severity=SEVERITIES[int(occurrences.codes[:, 1].max())],
                action=clip.action,
                slot=clip.slot,
                owner=clip.owner,
                bone=bones[number],
                data_path=paths[number],
                fix=FIX_KINDS[int(occurrences.codes[:, 2].max())],
                occurrences=occurrences,
                worst=worst_place(occurrences, weight[part]),
                sentences=rule.sentences,
                leading=rule.leading,
                seconds_rate=clip.frame_rate if clip.seconds else 0.0,
                part=number,
            )
        )
    return found


def fixable_rows(findings: Sequence[Finding], unsafe: bool) -> Ints:
    """Rows of all occurrences that may be repaired."""
    parts = [
        f.occurrences.rows[(f.occurrences.fix == SAFE) | (unsafe & (f.occurrences.fix == UNSAFE))] for f in findings
    ]
    return np.sort(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)
