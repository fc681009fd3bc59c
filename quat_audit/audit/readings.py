# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule finds in a clip as each of its readers plays it: of several the worst that plays counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..findings.finding import FIX_KINDS, NONE, SEVERITIES, Finding, joined, worst_place
from ..motion.clip import Clip
from ..motion.readers import Reader, players, playing, readers_of_way, views
from ..rules.rule import Limits, Rule
from ..text import Text
from .safety import named


def find_as_read(rule: Rule[Clip], clip: Clip, limits: Limits) -> list[Finding]:
    """The findings of a rule about what plays, for everybody who plays the clip.

    What is found only as another reader plays it (in its Euler order, with its stored values) has no fix here, and the
    reader is named.
    """
    found = rule.find(clip, limits)
    if rule.keys_only or len(views(clip)) == 1 or not clip.readers:
        return found
    now = set(map(id, playing(players(clip))))
    result = {(f.data_path, f.part): f for f in found}
    for number, view in enumerate(views(clip)[1:], start=1):
        for other in rule.find(view, limits):
            who = [r for r in readers_of_way(clip, other.part, number) if id(r) in now] if other.part >= 0 else []
            if who:
                of = (other.data_path, other.part)
                result[of] = _merged(rule, result.get(of), other, who)
    return list(result.values())


def _merged(rule: Rule[Clip], own: Finding | None, other: Finding, who: list[Reader]) -> Finding:
    """Both findings on one track as one: at a place of both, what is graded higher."""
    codes = other.occurrences.codes.copy()
    codes[:, 2] = FIX_KINDS.index(NONE)
    theirs = replace(other.occurrences, codes=codes)
    only = Text("it is so only as {who} plays it", {"who": named(who)})
    if own is None:
        return replace(other, fix=NONE, occurrences=theirs, caution=only)
    known = {row: number for number, row in enumerate(own.occurrences.rows.tolist())}
    fresh, worse = [], {}
    for number, row in enumerate(theirs.rows.tolist()):
        if row not in known:
            fresh.append(number)
        elif theirs.codes[number, 1] > own.occurrences.codes[known[row], 1]:
            worse[known[row]] = number
    if not fresh and not worse:
        return own
    both = joined([own.occurrences, theirs.at(np.array([*worse.values(), *fresh], dtype=np.int64))])
    # What is graded higher there keeps the fix of the place: it is the same step.
    both.codes[len(own.occurrences) : len(own.occurrences) + len(worse), 2] = own.occurrences.codes[list(worse), 2]
    keep = np.setdiff1d(np.arange(len(both)), list(worse))
    both = both.at(keep[np.argsort(both.rows[keep], kind="stable")])
    leading = rule.leading or (both.measures[0] if both.measures else "")
    weight = both.measured[leading] if leading else np.zeros(len(both))
    return replace(
        own,
        severity=SEVERITIES[int(both.codes[:, 1].max())],
        occurrences=both,
        worst=worst_place(both, weight),
    )
