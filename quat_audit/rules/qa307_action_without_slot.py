# SPDX-License-Identifier: GPL-3.0-or-later
"""An action is assigned, and none of its curves play.

## What it finds
Objects, other data and NLA strips that have an action but none of its slots, or a slot without curves, while another
slot of the action has curves that would suit them (Blender 4.4 and later).

## Why it matters
Nothing moves, and exporters write no animation, without a word. Scripts from before Blender 4.4 assign an action
without its slot; importers and links leave empty slots behind.

## Grading
error. note for a strip that is muted: it would play nothing anyway.

## Fix
Unsafe: it is bound to the slot, where just one of the action suits it. The pose at every key is then what the slot's
curves say; until now it was the stored one.

## Known limits
Where several slots suit there is no fix: which one is meant cannot be told. An action with curves for other
kinds of data only suits nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..findings.finding import ERROR, NONE, NOTE, UNSAFE, Finding, classes
from ..motion.clip import Clip
from .grouping import Faults, findings_of_owners
from .rule import PHASE_CURVES, Limits, Rule

NO_SLOT, EMPTY_SLOT, STRIP_NO_SLOT, STRIP_EMPTY_SLOT = range(4)
SENTENCES = (
    "{name} has the action but none of its slots, so nothing plays",
    "{name} is bound to the slot {bound!r}, which has no curves, so nothing plays",
    "the strip {strip!r} of {name} has the action but none of its slots, so nothing plays",
    "the strip {strip!r} of {name} is bound to the slot {bound!r}, which has no curves, so nothing plays",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    idle = [(number, one) for number, one in enumerate(clip.unbound) if not one.bound]
    if not idle:
        return []
    who = [one for _, one in idle]
    muted = np.array([one.muted for one in who])
    start, end = clip.frame_range or (np.nan, np.nan)
    faults = Faults(
        part=np.zeros(len(idle), dtype=np.int64),
        frames=np.tile([start, end], (len(idle), 1)),
        kind=classes([muted], ["muted"], "dead"),
        severity=np.where(muted, NOTE, ERROR),
        fix=np.where([one.fits for one in who], UNSAFE, NONE),
        measured={"tracks": np.full(len(idle), float(len(clip.tracks)))},
        rows=np.array([number for number, _ in idle]),
        sentence=np.array([2 * bool(one.by) + bool(one.slot) for one in who]),
        names={
            "name": [one.owner for one in who],
            "strip": [one.by for one in who],
            "bound": [one.slot for one in who],
        },
    )
    return findings_of_owners(clip, RULE, faults, [one.owner for one in who], "action_slot")


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    chosen = {int(row) for f in findings for row in f.occurrences.rows[f.occurrences.fix == UNSAFE]}
    if not unsafe or not chosen:
        return clip
    bound = tuple(replace(one, bound=one.bound or number in chosen) for number, one in enumerate(clip.unbound))
    return replace(clip, unbound=bound)


RULE: Rule[Clip] = Rule(
    code="QA307",
    name="action-without-slot",
    short="no slot",
    summary="an action is assigned, and none of its curves play",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=("dead", "muted"),
    phase=PHASE_CURVES,
    keys_only=True,
    counts_places=True,
    remedy="Binds it to the one slot that suits it, so that the curves play; no key is touched.",
)
