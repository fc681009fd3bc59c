# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit of skinned meshes in small slices: their weights, and what shows of them over the frames of the scene."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ...audit.pipeline import Judgement, ignored_anew, judge, judge_in_slices
from ...audit.settings import Settings
from ...blender.skin import mesh as skin
from ...blender.skin import posed as posed_skin
from ...blender.skin.posed import PosedMesh
from ...errors import SkinError
from ...results.rows import MESH, Address, AuditResult, same_skin, skin_result, skin_state, unread_result
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
    return Job(partial(_slices, uids, settings), profile=profile, scope_name=MESH, kind=MESH)


def _slices(uids: Sequence[int], settings: Settings, into: list[AuditResult]) -> Iterator[float]:
    yield 0.0
    objects = [obj for obj in map(scope.find_object, uids) if obj is not None]
    posed: list[PosedMesh] = []
    failed: list[tuple[int, str, str]] = []
    for done in posed_skin.read_posed_slices(objects, posed, failed, slice_seconds=BUDGET_SECONDS):
        yield _READING * done
    into += [unread_result(Address(uid, kind=MESH), name, why) for uid, name, why in failed]
    for number, one in enumerate(posed):
        judged: list[Judgement] = []
        for done in judge_in_slices(one.subject, settings, judged):
            yield _READING + (1.0 - _READING) * (number + done) / len(posed)
        into.append(_result(one, judged[0]))


def audit_posed(posed: PosedMesh, settings: Settings) -> AuditResult:
    """Audit one mesh at once."""
    return _result(posed, judge(posed.subject, settings))


def _result(posed: PosedMesh, judgement: Judgement) -> AuditResult:
    obj = scope.find_object(posed.record.object_uid)
    library = obj.library.filepath if obj is not None and obj.library is not None else ""
    address = Address(posed.record.object_uid, kind=MESH)
    return skin_result(address, posed.record.skin, library, judgement)


def state_of(obj: Any) -> str:
    """The state that a mesh object is in now: a mesh that cannot be read is one, too."""
    try:
        return skin_state(skin.read_object(obj).skin)
    except SkinError as error:
        return str(error.why)


def split_anew(obj: Any, shown: AuditResult, settings: Settings) -> AuditResult:
    """What was found in a mesh, split by what it ignores now.

    Raises:
        SkinError: it changed meanwhile, and can no longer be audited.
    """
    read = skin.read_object(obj).skin
    if not same_skin(skin_state(read), shown.state):
        return audit_posed(posed_skin.read_posed_object(obj), settings)
    was = Judgement(tuple(row.finding for row in shown.rows), shown.ignored, shown.not_evaluated)
    return skin_result(shown.address, read, shown.library, ignored_anew(was, read.ignores))
