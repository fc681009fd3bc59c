# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of chosen findings where they are, with the proof measured on what Blender stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..audit import find, why_ignored
from ..blender import read, users, write
from ..blender.read import BlenderClip
from ..clip import Clip
from ..finding import Finding, Proof, Refused, Repair, Text, merge_proofs
from ..fixing import MOST_KEY_CHANGE_DEG, Settings, with_origins
from ..proof import compare, prove
from ..repair import repair_clip
from ..rules.rule import Limits, Rule
from . import auditing, scope
from .results import RESULTS
from .rows import Place, Row

# What a rule's fix does to the keys, in a word: "31 keys negated on 4 bones".
DONE = {
    "QA101": "{keys} keys bridged on {bones} bones",
    "QA102": "{keys} keys bridged on {bones} bones",
    "QA103": "{keys} keys normalized on {bones} bones",
    "QA104": "{keys} keys negated on {bones} bones",
    "QA106": "{keys} keys inserted on {bones} bones",
    "QA201": "{keys} keys unwrapped on {bones} bones",
    "QA302": "{keys} keys completed on {bones} bones",
    "QA303": "{keys} keys completed on {bones} bones",
    "QA401": "{keys} keys put in order on {bones} bones",
}
DONE_MIXED = "{keys} keys repaired on {bones} bones"


@dataclass
class Outcome:
    """What a repair did; angles in degrees."""

    keys: dict[str, int] = field(default_factory=dict)  # code → keys changed
    bones: set[tuple[Place, str]] = field(default_factory=set)
    proof: Proof = field(default_factory=Proof)
    refused: list[Refused] = field(default_factory=list)
    outdated: int = 0  # findings that the file does not have any more
    failed: list[Text] = field(default_factory=list)
    edits: list[tuple[Place, Clip, Clip]] = field(default_factory=list)  # clips before and after

    @property
    def changed(self) -> bool:
        return bool(self.keys)

    def sentences(self) -> list[Text]:
        """What to tell the artist."""
        if not self.changed:
            return []
        template = DONE.get(next(iter(self.keys)), DONE_MIXED) if len(self.keys) == 1 else DONE_MIXED
        found = [Text(template, {"keys": sum(self.keys.values()), "bones": len(self.bones)})]
        found.append(Text("keyed poses changed by {degrees:.3f}°", {"degrees": self.proof.max_key_change_deg}))
        if self.proof.worst_before_deg or self.proof.worst_after_deg:
            was, now = self.proof.worst_before_deg, self.proof.worst_after_deg
            found.append(Text("worst in-between was {was:.1f}°, now {now:.1f}°", {"was": was, "now": now}))
        return found


def repair_rows(rows: Sequence[Row], settings: Settings, *, unsafe: bool) -> Outcome:
    """Repair the findings of some rows, and audit the clips that they are in anew.

    Every clip is read again first: what is repaired is what is in the file now. Undo is the caller's.
    unsafe: also what may change a keyed pose.
    """
    outcome = Outcome()
    played_by = users.find_users()
    by_place: dict[Place, list[Row]] = {}
    for row in rows:
        by_place.setdefault(row.key.place, []).append(row)
    for place, wanted in by_place.items():
        record = find_record(place, played_by)
        if record is None:
            outcome.outdated += len(wanted)
            RESULTS.lost(place)
            continue
        _repair_clip(record, wanted, settings, unsafe, outcome)
    return outcome


def find_record(place: Place, played_by: Any = None) -> BlenderClip | None:
    """The clip of a place as it is now; None when it is gone."""
    action = scope.find_action(place.action_uid)
    if action is None:
        return None
    records = read.read_action(action, played_by=played_by)
    return next((record for record in records if auditing.place_of(record) == place), None)


def _repair_clip(record: BlenderClip, rows: Sequence[Row], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    wanted = {(row.key.code, row.key.data_path) for row in rows}
    rules = [only(rule, wanted) for rule in settings.rules if rule.code in {code for code, _ in wanted}]
    before = record.clip
    found = [f for rule in rules for f in find(rule, before, settings.limits) if why_ignored(before, f) is None]
    outcome.outdated += len(wanted - {(f.code, f.data_path) for f in found})
    repair = repair_clip(before, rules, settings.limits, unsafe=unsafe)
    outcome.refused += repair.refused
    after = before
    if repair.clip is not before:
        try:
            written = write.write_clip(record, repair.clip)
        except (LookupError, ValueError) as error:
            outcome.failed.append(Text("{error}; nothing was changed there", {"error": str(error)}))
        else:
            stored = read.read_again(record)
            after = stored.clip
            _account(before, after, repair, found, auditing.place_of(record), unsafe, outcome)
            outcome.refused += [Refused("", "", why) for why in written.skipped]
            outcome.edits.append((auditing.place_of(record), before, with_origins(after, repair.clip)))
            record = stored
    RESULTS.replace_clip(auditing.audit_record(record, settings))


def only(rule: Rule, wanted: Collection[tuple[str, str]]) -> Rule:
    """The rule, blind to all but some (code, data path)."""

    def chosen(clip: Clip, limits: Limits) -> list[Finding]:
        return [f for f in rule.find(clip, limits) if (f.code, f.data_path) in wanted]

    return replace(rule, find=chosen)


def _account(
    before: Clip, after: Clip, repair: Repair, found: Sequence[Finding], place: Place, unsafe: bool, outcome: Outcome
) -> None:
    # What Blender stored has no history: without the repair's, keys that it added would be taken for others.
    after = with_origins(after, repair.clip)
    changes = compare(before, after)
    for applied in repair.applied:
        outcome.keys[applied.code] = outcome.keys.get(applied.code, 0) + applied.keys_changed
    done = {applied.code for applied in repair.applied}
    names = {before.tracks.data_path[t]: before.tracks.bone[t] for t in range(len(before.tracks))}
    touched = {before.tracks.data_path[t] for t in np.flatnonzero(changes.changed)}
    touched |= set(before.curves.data_path) ^ set(after.curves.data_path)
    touched = touched or {f.data_path for f in found if f.code in done}
    outcome.bones |= {(place, names.get(path) or path) for path in touched}
    # Measured on what Blender stored.
    proof = prove(before, after)
    outcome.proof = merge_proofs([outcome.proof, proof])
    if not unsafe and proof.max_key_change_deg > MOST_KEY_CHANGE_DEG:
        outcome.failed.append(
            Text("a keyed pose changed by {degrees:.4f}°: undo takes it back", {"degrees": proof.max_key_change_deg})
        )
