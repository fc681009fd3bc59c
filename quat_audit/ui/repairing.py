# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of chosen findings where they are, with the proof measured on what Blender stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..audit.proof import MOST_KEY_CHANGE_DEG, prove
from ..audit.repair import Repair, repair
from ..audit.settings import Settings
from ..blender import read, users, write
from ..blender.read import BlenderClip
from ..errors import GoneError, RefusedError, reason_of
from ..findings.report import Refused, merge_handle_changes, merge_proofs
from ..motion.clip import Clip
from ..motion.edit import with_origins
from ..results.memory import RESULTS
from ..results.outcome import Outcome
from ..results.rows import ACTION, MESH, Address, Row
from ..text import Text
from . import auditing, scope
from .skin import repairing


def repair_rows(rows: Sequence[Row], settings_of: Callable[[str], Settings], *, unsafe: bool) -> Outcome:
    """Repair the findings of some rows, and audit the clips and meshes that they are in anew.

    Each is read again first: what is repaired is what is in the file now. Undo is the caller's.
    settings_of: kind of an address → by what its findings were found.
    unsafe: also what may change a keyed pose, or move a vertex that is in order.
    """
    outcome = Outcome()
    by_address: dict[Address, list[Row]] = {}
    for row in rows:
        by_address.setdefault(row.key.address, []).append(row)
    clips, meshes = ({p: some for p, some in by_address.items() if p.kind == kind} for kind in (ACTION, MESH))
    if clips:
        _repair_clips(clips, settings_of(ACTION), unsafe, outcome)
    if meshes:
        repairing.repair_meshes(meshes, settings_of(MESH), unsafe, outcome)
    return outcome


def _repair_clips(by_address: dict[Address, list[Row]], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    played_by = users.find_users()
    for address, wanted in by_address.items():
        record = find_record(address, played_by)
        if record is None:
            outcome.outdated += len(wanted)
            RESULTS.lost(address)
            continue
        _repair_clip(record, wanted, settings, unsafe, outcome)


def find_record(address: Address, played_by: Any = None) -> BlenderClip | None:
    """The clip at an address as it is now; None when it is gone."""
    action = scope.find_action(address.uid)
    if action is None:
        return None
    records = read.read_action(action, played_by=played_by)
    return next((record for record in records if auditing.address_of(record) == address), None)


def _repair_clip(record: BlenderClip, rows: Sequence[Row], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    before = record.clip
    only = {(row.key.code, row.key.data_path) for row in rows}
    try:
        done = repair(before, replace(settings, unsafe=unsafe), only=only)
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        why = reason_of(error, f"the repair of {before.action!r}", in_window=True)
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": why}))
        return
    outcome.outdated += len(only - done.met)
    outcome.refused += done.refused
    if done.subject is not before:
        try:
            written = write.write_clip(record, done.subject)
        except (GoneError, RefusedError) as error:
            outcome.failed.append(Text("{error}; nothing was changed there", {"error": error.why}))
        else:
            stored = read.read_again(record)
            _account(before, stored.clip, done, auditing.address_of(record), unsafe, outcome)
            outcome.refused += [Refused("", "", why) for why in written.skipped]
            outcome.handle_types = merge_handle_changes([*outcome.handle_types, *written.handle_types])
            outcome.edits.append((auditing.address_of(record), before, with_origins(stored.clip, done.subject)))
            record = stored
    RESULTS.replace_one(auditing.audit_record(record, settings))


def why_locked(row: Row) -> str:
    """Why nothing can be written where the finding is: as it was audited, and as it is now; "" when it can."""
    if row.locked or row.key.address.kind != MESH:
        return row.locked
    obj = scope.find_object(row.key.address.uid)
    if obj is not None and obj.data.is_editmode:
        return Text("the mesh is in Edit Mode: leave it")
    return ""


def _account(before: Clip, after: Clip, done: Repair[Clip], address: Address, unsafe: bool, outcome: Outcome) -> None:
    for line in done.applied:
        outcome.keys[line.code] = outcome.keys.get(line.code, 0) + line.keys_changed
    names = {before.tracks.data_path[t]: before.tracks.bone[t] for t in range(len(before.tracks))}
    outcome.bones |= {(address, names.get(path) or path) for _, path in done.changed}
    # Measured on what Blender stored. That has no history: without the repair's, keys that it added would be taken for
    # others.
    proof = prove(before, with_origins(after, done.subject))
    outcome.proof = merge_proofs([outcome.proof, proof])
    if not unsafe and proof.max_key_change_deg > MOST_KEY_CHANGE_DEG:
        outcome.failed.append(
            Text("a keyed pose changed by {degrees:.4f}°: undo takes it back", {"degrees": proof.max_key_change_deg})
        )
