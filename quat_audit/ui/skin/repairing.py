# SPDX-License-Identifier: GPL-3.0-or-later
"""Repairs of weights in the open file, with the proof in millimeters measured on what Blender stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from ...audit.pipeline import find_in_skin, why_ignored
from ...audit.repair import STILL_MM, prove_skin, repair_skin
from ...audit.settings import Settings
from ...blender.skin import mesh as skin
from ...blender.skin import posed as posed_skin
from ...blender.skin.posed import PosedSkin
from ...errors import SkinError
from ...findings.finding import Finding
from ...results.memory import RESULTS
from ...results.outcome import Outcome
from ...results.rows import MESH, Place, Row, unread_result
from ...rules.rule import Limits, Rule
from ...skinning.skin import Motion, Skin
from ...text import Text
from .. import scope
from . import auditing

# A repair is not interrupted: it holds Blender up for as long as it takes.
_AT_ONCE = float("inf")


def repair_meshes(wanted: Mapping[Place, Sequence[Row]], settings: Settings, unsafe: bool, outcome: Outcome) -> None:
    """Repair the findings of some rows on some meshes, and audit these anew; what was done goes to `outcome`."""
    posed = {Place(one.record.object_uid, kind=MESH): one for one in _read(wanted, outcome)}
    changed: set[int] = set()  # meshes that were written: another object may have the same
    for place, one in posed.items():
        rows = wanted[place]
        codes = {(row.key.code, row.key.data_path) for row in rows}
        rules = [_only(rule, codes) for rule in settings.rules if rule.code in {code for code, _ in codes}]
        outcome.outdated += len(codes - _found(one, rules, settings))
        obj, _, _ = skin.find(one.record)
        current = replace(one, record=skin.read_object(obj)) if obj.data.session_uid in changed else one
        if _repair(current, rules, settings, unsafe, outcome):
            changed.add(obj.data.session_uid)
    for one in posed.values():
        obj, _, _ = skin.find(one.record)
        current = replace(one, record=skin.read_object(obj))
        RESULTS.replace_one(auditing.audit_posed(current, settings))


def _read(wanted: Mapping[Place, Sequence[Row]], outcome: Outcome) -> list[PosedSkin]:
    """The meshes as they are now, posed in one pass over the frames."""
    objects = []
    for place, rows in wanted.items():
        obj = scope.find_object(place.uid)
        if obj is None:
            outcome.outdated += len(rows)
            RESULTS.lost(place)
        else:
            objects.append(obj)
    posed: list[PosedSkin] = []
    failed: list[tuple[int, str, str]] = []
    for _ in posed_skin.read_posed_steps(objects, posed, failed, slice_seconds=_AT_ONCE):
        pass
    for uid, name, why in failed:
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": why}))
        RESULTS.replace_one(unread_result(Place(uid, kind=MESH), name, why))
    return posed


def _repair(posed: PosedSkin, rules: Sequence[Rule], settings: Settings, unsafe: bool, outcome: Outcome) -> bool:
    """Repair one mesh; whether its weights changed."""
    before = posed.record.skin
    repair = repair_skin(before, posed.motion, rules, settings.limits, unsafe=unsafe)
    outcome.refused += repair.refused
    if repair.skin is before:
        return False
    try:
        skin.write_weights(posed.record, repair.skin)
    except SkinError as error:
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": error.why}))
        return False
    obj, _, _ = skin.find(posed.record)
    proof = prove_skin(before, skin.read_object(obj).skin, posed.motion)
    outcome.meshes.append(proof)
    outcome.weights |= {applied.code for applied in repair.applied}
    if not unsafe and proof.sound_mm > STILL_MM:
        outcome.failed.append(
            Text("a vertex that was in order moved by {mm:.3f} mm: undo takes it back", {"mm": proof.sound_mm})
        )
    return True


def _found(posed: PosedSkin, rules: Sequence[Rule], settings: Settings) -> set[tuple[str, str]]:
    """(code, data path) of what the rules find now."""
    read = posed.record.skin
    found = [f for rule in rules for f in find_in_skin(rule, read, posed.motion, settings.limits)]
    return {(f.code, f.data_path) for f in found if why_ignored(read, f) is None}


def _only(rule: Rule, wanted: Collection[tuple[str, str]]) -> Rule:
    """The rule, blind to all but some (code, data path)."""

    def chosen(read: Skin, motion: Motion, limits: Limits) -> list[Finding]:
        assert rule.find_skin is not None
        return [f for f in rule.find_skin(read, motion, limits) if (f.code, f.data_path) in wanted]

    return replace(rule, find_skin=chosen) if rule.find_skin is not None else rule
