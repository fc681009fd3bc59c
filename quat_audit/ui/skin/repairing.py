# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of weights in the open file, with the proof in millimeters measured on what Blender stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...audit.pipeline import judge
from ...audit.repair import Repair, repair
from ...audit.settings import Settings
from ...audit.skin_proof import STILL_MM
from ...blender.skin import mesh as skin
from ...blender.skin import posed as posed_skin
from ...blender.skin.posed import PosedMesh
from ...errors import SkinError, reason_of
from ...findings.report import SkinProof
from ...results.memory import RESULTS
from ...results.outcome import Outcome
from ...results.rows import MESH, Address, Row, unread_result
from ...run.in_scene import carry_out
from ...skinning.skin import PosedSkin
from ...text import Text
from .. import scope
from . import auditing

# A repair is not interrupted: it holds Blender up for as long as it takes.
_AT_ONCE = float("inf")


def repair_meshes(wanted: Mapping[Address, Sequence[Row]], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    """Repair the findings of some rows on some meshes, and audit these anew; what was done goes to `outcome`."""
    posed = {Address(one.record.object_uid, kind=MESH): one for one in _read(wanted, outcome)}
    changed: set[int] = set()  # meshes that were written: another object may have the same
    unjudged: set[Address] = set()
    for address, one in posed.items():
        obj, _, _ = skin.find(one.record)
        current = replace(one, record=skin.read_object(obj)) if obj.data.session_uid in changed else one
        only = {(row.key.code, row.key.data_path) for row in wanted[address]}
        try:
            done = repair(current.subject, replace(settings, unsafe=unsafe), only=only)
        except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
            why = reason_of(error, f"the repair of {obj.name!r}", in_window=True)
            outcome.failed.append(Text("{error}; nothing was changed there", {"error": why}))
            unjudged.add(address)
            continue
        # What the repair of another object of the same mesh has mended was there, too.
        met = done.met if current is one else done.met | _codes_and_paths(one, settings)
        outcome.outdated += len(only - met)
        if _write(current, done, unsafe, outcome):
            changed.add(obj.data.session_uid)
    for address, one in posed.items():
        if address in unjudged:
            continue
        obj, _, _ = skin.find(one.record)
        current = replace(one, record=skin.read_object(obj))
        RESULTS.replace_one(auditing.audit_posed(current, settings))


def _codes_and_paths(posed: PosedMesh, settings: Settings) -> set[tuple[str, str]]:
    """(code, data path) of all that is found in a mesh."""
    return {(finding.code, finding.data_path) for finding in judge(posed.subject, settings).findings}


def _read(wanted: Mapping[Address, Sequence[Row]], outcome: Outcome) -> list[PosedMesh]:
    """The meshes as they are now, posed in one pass over the frames."""
    objects = []
    for address, rows in wanted.items():
        obj = scope.find_object(address.uid)
        if obj is None:
            outcome.outdated += len(rows)
            RESULTS.lost(address)
        else:
            objects.append(obj)
    posed: list[PosedMesh] = []
    failed: list[tuple[int, str, str]] = []
    for _ in posed_skin.read_posed_slices(objects, posed, failed, slice_seconds=_AT_ONCE):
        pass
    for uid, name, why in failed:
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": why}))
        RESULTS.replace_one(unread_result(Address(uid, kind=MESH), name, why))
    return posed


def _write(posed: PosedMesh, done: Repair[PosedSkin], unsafe: bool, outcome: Outcome) -> bool:
    """Write what was repaired of one mesh; whether its weights changed."""
    before = posed.subject
    try:
        _, done = carry_out(posed, done)
    except SkinError as error:
        outcome.refused += done.refused
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": error.why}))
        return False
    outcome.took_mesh(before, done)
    assert isinstance(done.proof, SkinProof)
    if not unsafe and done.proof.sound_mm > STILL_MM:
        outcome.failed.append(
            Text("a vertex that was in order moved by {mm:.3f} mm: undo takes it back", {"mm": done.proof.sound_mm})
        )
    return done.subject.skin is not before.skin
