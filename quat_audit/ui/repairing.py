# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of chosen findings where they are, with the proof measured on what Blender stored."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..audit.pipeline import find, why_ignored
from ..audit.proof import MOST_KEY_CHANGE_DEG, compare, prove
from ..audit.repair import Repair, repair_clip
from ..audit.settings import Settings
from ..blender import read, users, write
from ..blender.read import BlenderClip
from ..errors import GoneError, RefusedError, reason_of
from ..findings.finding import Finding, Refused, merge_proofs
from ..motion.clip import Clip
from ..motion.edit import with_origins
from ..results.memory import RESULTS
from ..results.outcome import Outcome
from ..results.rows import ACTION, MESH, Place, Row
from ..rules.rule import Limits, Rule
from ..text import Text
from . import auditing, scope
from .skin import repairing


def repair_rows(rows: Sequence[Row], settings_of: Callable[[str], Settings], *, unsafe: bool) -> Outcome:
    """Repair the findings of some rows, and audit the clips and meshes that they are in anew.

    Each is read again first: what is repaired is what is in the file now. Undo is the caller's.
    settings_of: kind of a place → by what its findings were found.
    unsafe: also what may change a keyed pose, or move a vertex that is in order.
    """
    outcome = Outcome()
    by_place: dict[Place, list[Row]] = {}
    for row in rows:
        by_place.setdefault(row.key.place, []).append(row)
    clips, meshes = ({p: some for p, some in by_place.items() if p.kind == kind} for kind in (ACTION, MESH))
    if clips:
        _repair_clips(clips, settings_of(ACTION), unsafe, outcome)
    if meshes:
        repairing.repair_meshes(meshes, settings_of(MESH), unsafe, outcome)
    return outcome


def _repair_clips(by_place: dict[Place, list[Row]], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    played_by = users.find_users()
    for place, wanted in by_place.items():
        record = find_record(place, played_by)
        if record is None:
            outcome.outdated += len(wanted)
            RESULTS.lost(place)
            continue
        _repair_clip(record, wanted, settings, unsafe, outcome)


def find_record(place: Place, played_by: Any = None) -> BlenderClip | None:
    """The clip of a place as it is now; None when it is gone."""
    action = scope.find_action(place.uid)
    if action is None:
        return None
    records = read.read_action(action, played_by=played_by)
    return next((record for record in records if auditing.place_of(record) == place), None)


def _repair_clip(record: BlenderClip, rows: Sequence[Row], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    wanted = {(row.key.code, row.key.data_path) for row in rows}
    rules = [only(rule, wanted) for rule in settings.rules if rule.code in {code for code, _ in wanted}]
    before = record.clip
    try:
        found = [f for rule in rules for f in find(rule, before, settings.limits) if why_ignored(before, f) is None]
        repair = repair_clip(before, rules, settings.limits, unsafe=unsafe)
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        why = reason_of(error, f"the repair of {before.action!r}", in_window=True)
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": why}))
        return
    outcome.outdated += len(wanted - {(f.code, f.data_path) for f in found})
    outcome.refused += repair.refused
    after = before
    if repair.clip is not before:
        try:
            written = write.write_clip(record, repair.clip)
        except (GoneError, RefusedError) as error:
            outcome.failed.append(Text("{error}; nothing was changed there", {"error": error.why}))
        else:
            stored = read.read_again(record)
            after = stored.clip
            _account(before, after, repair, found, auditing.place_of(record), unsafe, outcome)
            outcome.refused += [Refused("", "", why) for why in written.skipped]
            outcome.edits.append((auditing.place_of(record), before, with_origins(after, repair.clip)))
            record = stored
    RESULTS.replace_one(auditing.audit_record(record, settings))


def only(rule: Rule, wanted: Collection[tuple[str, str]]) -> Rule:
    """The rule, blind to all but some (code, data path)."""

    def chosen(clip: Clip, limits: Limits) -> list[Finding]:
        return [f for f in rule.find(clip, limits) if (f.code, f.data_path) in wanted]

    return replace(rule, find=chosen)


def why_locked(row: Row) -> str:
    """Why nothing can be written where the finding is: as it was audited, and as it is now; "" when it can."""
    if row.locked or row.key.place.kind != MESH:
        return row.locked
    obj = scope.find_object(row.key.place.uid)
    if obj is not None and obj.data.is_editmode:
        return Text("the mesh is in Edit Mode: leave it")
    return ""


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
