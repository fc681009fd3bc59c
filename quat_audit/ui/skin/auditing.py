# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit of skinned meshes in small steps: their weights, and what shows of them over the frames of the scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ...audit.pipeline import audit_skin_and_split, audit_skin_steps, in_order, skin_not_evaluated, split_ignored
from ...audit.settings import Settings
from ...blender.skin import mesh as skin
from ...blender.skin import posed as posed_skin
from ...blender.skin.posed import PosedSkin
from ...errors import SkinError
from ...findings.finding import Finding, Ignored
from ...results.rows import MESH, Place, PlaceResult, same_skin, skin_fingerprint, skin_result, unread_result
from ...text import Text
from .. import preferences, scope
from ..auditing import BUDGET_SECONDS, Job, NothingToAudit

# Of the time, what reading and posing take; judging takes the rest.
_READING = 0.7


def meshes(context: Any) -> list[Any]:
    """The meshes that the artist means: those selected, or those that the active armature deforms."""
    selected = [obj for obj in context.selected_objects if obj.type == "MESH"]
    rig = context.view_layer.objects.active
    if selected or rig is None:
        return selected
    if rig.type == "MESH":
        return [rig]
    return [obj for obj in context.view_layer.objects if skin.is_deformed_by(obj, rig)]


def why_not(context: Any) -> Text | None:
    """Why there is no mesh to audit, asked before every draw: None when there is one."""
    if meshes(context):
        return None
    rig = context.view_layer.objects.active
    if rig is None or rig.type != "ARMATURE":
        return Text("Select a mesh, or the armature that deforms it")
    return Text("“{object}” deforms no mesh of this view layer: select a mesh", {"object": rig.name})


def start(context: Any, profile: str) -> Job:
    """Begin an audit. Raises NothingToAudit, with what to do."""
    why = why_not(context)
    if why is not None:
        raise NothingToAudit(why)
    settings = preferences.settings(profile, preferences.get_or_default(context))
    uids = sorted(obj.session_uid for obj in meshes(context))
    return Job(partial(_steps, uids, settings), profile=profile, scope_name=MESH, kind=MESH)


def _steps(uids: Sequence[int], settings: Settings, into: list[PlaceResult]) -> Iterator[float]:
    yield 0.0
    objects = [obj for obj in map(scope.find_object, uids) if obj is not None]
    posed: list[PosedSkin] = []
    failed: list[tuple[int, str, str]] = []
    for done in posed_skin.read_posed_steps(objects, posed, failed, slice_seconds=BUDGET_SECONDS):
        yield _READING * done
    into += [unread_result(Place(uid, kind=MESH), name, why) for uid, name, why in failed]
    for number, one in enumerate(posed):
        found: list[Finding] = []
        rules, limits = settings.rules, settings.limits
        for done, of, some in audit_skin_steps(one.record.skin, one.motion, rules, limits, caps=settings.caps):
            found += some
            yield _READING + (1.0 - _READING) * (number + done / of) / len(posed)
        kept, ignored = split_ignored(one.record.skin, in_order(found))
        into.append(_result(one, kept, ignored))


def audit_posed(posed: PosedSkin, settings: Settings) -> PlaceResult:
    """Audit one mesh at once."""
    rules, limits = settings.rules, settings.limits
    kept, ignored = audit_skin_and_split(posed.record.skin, posed.motion, rules, limits, caps=settings.caps)
    return _result(posed, kept, ignored)


def _result(posed: PosedSkin, kept: Sequence[Finding], ignored: Sequence[Ignored]) -> PlaceResult:
    read = posed.record.skin
    obj = scope.find_object(posed.record.object_uid)
    library = obj.library.filepath if obj is not None and obj.library is not None else ""
    place = Place(posed.record.object_uid, kind=MESH)
    result = skin_result(place, read, library, kept, ignored, tuple(dict.fromkeys(skin_not_evaluated(read))))
    read.cache.clear()  # findings keep the skin for their words, not what was computed from it
    return result


def state_of(obj: Any) -> str:
    """The state that a mesh object is in now: a mesh that cannot be read is one, too."""
    try:
        return skin_fingerprint(skin.read_object(obj).skin)
    except SkinError as error:
        return str(error.why)


def split_anew(obj: Any, shown: PlaceResult, settings: Settings) -> PlaceResult:
    """What was found in a mesh, split by what it ignores now.

    Raises:
        SkinError: it changed meanwhile, and can no longer be audited.
    """
    read = skin.read_object(obj).skin
    if not same_skin(skin_fingerprint(read), shown.fingerprint):
        return audit_posed(posed_skin.read_posed_object(obj), settings)
    findings = [*(row.finding for row in shown.rows), *(item.finding for item in shown.ignored)]
    kept, ignored = split_ignored(read, in_order(findings))
    return skin_result(shown.place, read, shown.library, kept, ignored, shown.not_evaluated)
