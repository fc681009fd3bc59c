# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of chosen findings where they are, with the proof measured on what Blender stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..audit.proof import MOST_KEY_CHANGE_DEG
from ..audit.repair import repair
from ..audit.settings import Settings, with_limit
from ..blender import read, users
from ..blender.read import BlenderClip
from ..errors import GoneError, RefusedError, reason_of
from ..findings.report import Proof
from ..results.memory import RESULTS
from ..results.outcome import Outcome
from ..results.rows import ACTION, MESH, Address, Row
from ..run.in_scene import carry_out
from ..text import Text
from . import auditing, scope
from .skin import repairing
from .wording import other_way_of


def repair_rows(
    rows: Sequence[Row], settings_of: Callable[[str], Settings], *, unsafe: bool, other_way: bool = False
) -> Outcome:
    """Repair the findings of some rows, and audit the clips and meshes that they are in anew.

    Each is read again first: what is repaired is what is in the file now. Undo is the caller's.
    settings_of: kind of an address → by what its findings were found.
    unsafe: also what may change a keyed pose, or move a vertex that is in order.
    other_way: as `Rule.other_way` has it.
    """
    outcome = Outcome()
    by_address: dict[Address, list[Row]] = {}
    for row in rows:
        by_address.setdefault(row.key.address, []).append(row)
    clips, meshes = ({p: some for p, some in by_address.items() if p.kind == kind} for kind in (ACTION, MESH))
    if clips:
        _repair_clips(clips, settings_of(ACTION), unsafe, other_way, outcome)
    if meshes:
        repairing.repair_meshes(meshes, settings_of(MESH), unsafe, outcome)
    return outcome


def _repair_clips(
    by_address: dict[Address, list[Row]], settings: Settings, unsafe: bool, other_way: bool, outcome: Outcome
) -> None:
    """Repair some clips, and audit each anew by the settings."""
    played_by = users.find_users()
    for address, wanted in by_address.items():
        record = find_record(address, played_by)
        if record is None:
            outcome.outdated += len(wanted)
            RESULTS.lost(address)
            continue
        chosen = _chosen(settings, wanted) if other_way else settings
        now = _repair_clip(record, wanted, replace(chosen, unsafe=unsafe), outcome)
        if now is not None:
            RESULTS.replace_one(auditing.audit_record(now, settings))


def find_record(address: Address, played_by: Any = None) -> BlenderClip | None:
    """The clip at an address as it is now; None when it is gone."""
    action = scope.find_action(address.uid)
    if action is None:
        return None
    records = read.read_action(action, played_by=played_by)
    return next((record for record in records if auditing.address_of(record) == address), None)


def _chosen(settings: Settings, rows: Sequence[Row]) -> Settings:
    """The settings that repair some findings in the other way."""
    for code in {row.key.code for row in rows}:
        way = other_way_of(code)
        if way is not None:
            settings = with_limit(settings, code, way.limit, 1.0)
    return settings


def _repair_clip(record: BlenderClip, rows: Sequence[Row], settings: Settings, outcome: Outcome) -> BlenderClip | None:
    """Repair the findings of some rows on one clip; the clip as it is then, None where that failed."""
    before = record.clip
    only = {(row.key.code, row.key.data_path) for row in rows}
    try:
        done = repair(before, settings, only=only)
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        why = reason_of(error, f"the repair of {before.action!r}", in_window=True)
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": why}))
        return None
    outcome.outdated += len(only - done.met)
    address = auditing.address_of(record)
    try:
        record, done = carry_out(record, done)
    except (GoneError, RefusedError) as error:
        outcome.refused += done.refused
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": error.why}))
    else:
        outcome.took_clip(address, before, done)
        assert isinstance(done.proof, Proof)
        if not settings.unsafe and done.proof.max_key_change_deg > MOST_KEY_CHANGE_DEG:
            degrees = {"degrees": done.proof.max_key_change_deg}
            outcome.failed.append(Text("a keyed pose changed by {degrees:.4f}°: undo takes it back", degrees))
    return record


def why_locked(row: Row) -> str:
    """Why nothing can be written where the finding is: as it was audited, and as it is now; "" when it can."""
    if row.locked or row.key.address.kind != MESH:
        return row.locked
    obj = scope.find_object(row.key.address.uid)
    if obj is not None and obj.data.is_editmode:
        return Text("the mesh is in Edit Mode: leave it")
    return ""
