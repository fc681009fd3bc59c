# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after of a repair: what is shown of it now, and what the last repair did.

Everything is computed when it is switched on and kept as arrays: a redraw asks Blender for nothing but the view, and
an undo, a rename or a removed object cannot hurt it. Nothing of it belongs to the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...audit.proof import compare
from ...audit.repair import repair
from ...audit.settings import Settings
from ...blender import posed_rig
from ...comparison.angles import IDENTITY, Angles, Channel, compare_channel, pose_frames, rotations, why_not_computed
from ...comparison.kinematics import Poses, replace_rotations
from ...errors import QuatAuditError
from ...findings.finding import NONE, Finding
from ...motion.clip import Clip
from ...motion.edit import keep_curves
from ...motion.readers import Way, players
from ...results.rows import MESH, Address, Row, RowKey, clip_state
from ...rotation.quaternion import to_matrix
from ...text import Text
from .. import guard, handlers, repairing
from ..windows import redraw_viewports
from . import graph, view

# A repair of more keys than this is not kept for a look back: two clips of 200 MB.
MOST_KEYS = 2_000_000

_AGAIN = Text("The keys changed since: press Before and After again")
_CHANGED = Text("The keys changed since")


class CannotCompare(QuatAuditError):
    """There is nothing to show."""


@dataclass(frozen=True, eq=False)
class BeforeAfter:
    """One clip before and after, without the curves that no repair touched; `finding` is what is looked at first.

    `states` are those of the whole clip that it is true of: before the repair, and after it once it is done.
    """

    address: Address
    before: Clip
    after: Clip
    finding: Finding
    users: tuple[str, ...]
    states: frozenset[str]


@dataclass(frozen=True, eq=False)
class Shown:
    """What is drawn.

    Attributes:
        key, number: the finding, and which of its places; key is None for a look back at a repair.
        label: whose it is; title: what is drawn, in words.
        poses: None where there are none; `remark` says why, or what is only nearly right about them.
        bones: numbers of the bones that leave a trail; ghosts: of those that are drawn as ghosts.
        scene_uid, object_uid: whose they are; 0: nobody's.
        address, states: the clip, and the states of it that this is true of.
        outdated: the clip has none of them now.
    """

    key: RowKey | None
    number: int
    label: str
    angles: Angles
    poses: Poses | None = None
    remark: str = ""
    bones: tuple[int, ...] = ()
    ghosts: tuple[int, ...] = ()
    scene_uid: int = 0
    object_uid: int = 0
    address: Address | None = None
    states: frozenset[str] = frozenset()
    outdated: bool = False

    @property
    def remarks(self) -> list[str]:
        """What a person should know about what is drawn, the last change first."""
        changed: list[str] = []
        if self.outdated:
            changed = [_AGAIN if self.key is not None else _CHANGED]
        return [*changed, *filter(None, [self.remark])]


@dataclass
class _State:
    shown: Shown | None = None
    last: BeforeAfter | None = None
    last_message: str = ""  # the panel's sentence about that repair: the look back is offered beside it
    handles: list[Any] = field(default_factory=list)


STATE = _State()


# --- what would be compared


def why_not(row: Row | None) -> Text | str | None:
    """Why a finding has no before and after, as far as can be told while drawing."""
    if row is None:
        return Text("No finding is chosen")
    if row.finding.fix == NONE:
        return Text("There is no automatic fix for this finding: nothing to compare")
    if row.key.address.kind == MESH:
        return Text("Findings on meshes have no before and after")
    if not any("rotation" in path.rpartition(".")[2] for path in row.channels):
        return Text("Rotations are drawn, and this finding is about something else")
    return None


def before_after_of(row: Row, settings: Settings) -> BeforeAfter:
    """What the fix of one finding would do, without writing anything. Raises: CannotCompare."""
    record = repairing.find_record(row.key.address)
    if record is None:
        raise CannotCompare(Text("The action “{action}” is no longer in this file", {"action": row.finding.action}))
    before = record.clip
    mine = (row.key.code, row.key.data_path)
    done = repair(before, replace(settings, unsafe=not row.safe), only={mine})
    if mine not in done.met:
        raise CannotCompare(Text("The action changed since the audit: audit again"))
    if done.subject is before:
        why = done.refused[0].why if done.refused else Text("Nothing had to be changed")
        raise CannotCompare(Text("Its fix changes nothing: {why}", {"why": why}))
    return make_before_after(row.key.address, before, done.subject, row, frozenset({clip_state(before)}))


def make_before_after(address: Address, before: Clip, after: Clip, row: Row, states: frozenset[str]) -> BeforeAfter:
    """Keep of two clips what belongs to owners that differ."""
    changes = compare(before, after)
    paths = {before.tracks.data_path[t] for t in np.flatnonzero(changes.changed)}
    paths |= set(before.curves.data_path) ^ set(after.curves.data_path)
    owners = set(row.finding.bones)
    for clip in (before, after):
        owners |= {b for p, b in zip(clip.tracks.data_path, clip.tracks.bone, strict=True) if p in paths}
    before, after = (_played_by(_only(clip, owners), row.users) for clip in (before, after))
    return BeforeAfter(address, before, after, row.finding, row.users, states)


def _played_by(clip: Clip, users: tuple[str, ...]) -> Clip:
    """The clip in the rotation modes of the first user: others may have other modes."""
    t, ways = clip.tracks, _ways(clip, users)
    modes = tuple((ways[p].mode,) if p in ways else m for p, m in zip(t.data_path, t.modes, strict=True))
    return replace(clip, tracks=replace(t, modes=modes))


def _ways(clip: Clip, users: tuple[str, ...]) -> Mapping[str, Way]:
    """Data path → how the first user plays it."""
    return next((reader.ways for reader in players(clip) if reader.owner in users[:1]), {})


def _only(clip: Clip, owners: set[str]) -> Clip:
    keep = np.zeros(len(clip.curves) + 1, dtype=bool)
    for track, bone in enumerate(clip.tracks.bone):
        keep[clip.tracks.curves[track]] |= bone in owners
    return keep_curves(clip, keep[:-1])


# --- on and off


def show(context: Any, compared: BeforeAfter, key: RowKey | None, number: int) -> Shown:
    """Compute and draw the before and after around one place of a finding. Raises: CannotCompare."""
    finding = compared.finding
    channel = _channel(finding, number)
    for clip in (compared.before, compared.after):
        why = why_not_computed(clip, channel)
        if why is not None:
            raise CannotCompare(why)
    first, second = (
        (float(f) for f in finding.occurrences.frames[number]) if len(finding.occurrences) else (np.nan,) * 2
    )
    way = _ways(compared.before, compared.users).get(channel.data_path)
    still = np.array(way.instead) if way is not None and np.isfinite(way.instead).all() else IDENTITY
    angles = compare_channel(compared.before, compared.after, channel, (first, second), still)
    label = channel.bone or finding.owner or channel.data_path
    shown = _with_poses(context, compared, Shown(key, number, label, angles), channel)
    shown = replace(shown, address=compared.address, states=compared.states)
    _switch_on(shown)
    return shown


def _channel(finding: Finding, number: int) -> Channel:
    bone, path = finding.whose(number) if len(finding.occurrences) else (finding.bone, finding.data_path)
    return Channel(path, bone, "delta_rotation" in path)


def _with_poses(context: Any, compared: BeforeAfter, shown: Shown, channel: Channel) -> Shown:
    """The same with what Blender poses on those frames; or with why there is none."""
    try:
        obj = posed_rig.find_player(
            context, compared.users, channel.bone, compared.address.uid, compared.address.handle
        )
    except posed_rig.NoPosesError as error:
        return Shown(shown.key, shown.number, shown.label, shown.angles, remark=error.why)
    selected = posed_rig.selected_bones(obj) if channel.bone else []
    seen = posed_rig.evaluate(obj, pose_frames(shown.angles), as_rig=bool(channel.bone))
    names = seen.rig.names
    bodies = [
        Channel(channel.data_path if b == channel.bone else "", b, channel.delta) for b in _owners(compared, channel)
    ]
    bodies = [body for body in bodies if body.bone in names]

    def posed(clip: Clip) -> Any:
        turned = {}
        for body in bodies:
            number = names.index(body.bone)
            still = _still(seen, number)
            turned[number] = seen.turned(to_matrix(rotations(clip, body, seen.frames, still)), body.delta)
        return seen.world[:, None] @ replace_rotations(seen, turned)

    with np.errstate(invalid="ignore"):
        poses = Poses(seen.rig, seen.frames, posed(compared.before), posed(compared.after))
    turned = np.array([names.index(body.bone) for body in bodies], dtype=np.int64)
    bones = dict.fromkeys([names.index(channel.bone), *(names.index(name) for name in selected)])
    below = seen.rig.below(turned)
    ghosts = tuple(int(n) for n in np.flatnonzero(below))[:MOST_GHOSTS]
    remark: str = ""
    if seen.rig.constrained[below].any():
        remark = Text("Constraints are kept as they act now: their bones are nearly right")
    return Shown(
        shown.key, shown.number, shown.label, shown.angles, poses, remark, tuple(bones),
        tuple(dict.fromkeys((*ghosts, *bones))), context.scene.session_uid, obj.session_uid,
    )  # fmt: skip


# Bones of a ghost: of a crowd below one bone, these many.
MOST_GHOSTS = 64


def _owners(compared: BeforeAfter, channel: Channel) -> list[str]:
    return list(dict.fromkeys([channel.bone, *compared.before.tracks.bone, *compared.after.tracks.bone]))


def _still(seen: Any, number: int) -> Any:
    """(4,) the rotation that the scene has on the first frame, for an owner that no track moves."""
    from mathutils import Matrix

    own = seen.basis[0, number, :3, :3] / np.where(seen.scale[0, number] == 0.0, 1.0, seen.scale[0, number])
    return np.array(Matrix(own.tolist()).to_quaternion())


def _switch_on(shown: Shown) -> None:
    STATE.shown = shown
    if not STATE.handles:
        STATE.handles.append(bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_PIXEL"))
    redraw_viewports()


def switch_off() -> None:
    """Draw nothing any more."""
    STATE.shown = None
    while STATE.handles:
        bpy.types.SpaceView3D.draw_handler_remove(STATE.handles.pop(), "WINDOW")
    redraw_viewports()


def follow(context: Any, row: Row, number: int, settings: Settings) -> None:
    """The artist went to another place of the finding that is compared: compare there."""
    shown = STATE.shown
    if shown is None or shown.key != row.key or shown.number == number:
        return
    try:
        show(context, before_after_of(row, settings), row.key, number)
    except CannotCompare:
        switch_off()


def address_shown() -> Address | None:
    """The clip that is compared."""
    return STATE.shown.address if STATE.shown is not None else None


def saw(address: Address, now: str) -> None:
    """How a clip is now, by its state; "" when it is gone."""
    shown = STATE.shown
    if shown is None or shown.address != address or shown.outdated == (now not in shown.states):
        return
    STATE.shown = replace(shown, outdated=not shown.outdated)
    redraw_viewports()


def _saw_repair(changed: dict[Address, tuple[Clip, Clip]], rows: Sequence[Row]) -> None:
    """The repair that is shown was done, and no other on its clip: what is shown is true of what came of it."""
    shown = STATE.shown
    if shown is None or shown.address not in changed:
        return
    before, after = (clip_state(clip) for clip in changed[shown.address])
    repaired = {row.key for row in rows if row.key.address == shown.address}
    if repaired == {shown.key} and before in shown.states:
        STATE.shown = replace(shown, states=shown.states | {after})
    saw(shown.address, after)


def keep_last(edits: Sequence[tuple[Address, Clip, Clip]], rows: Sequence[Row], message: str) -> None:
    """Remember a repair for a look back: of what was repaired, the finding with the largest figure."""
    STATE.last = None
    changed = {address: (before, after) for address, before, after in edits}
    _saw_repair(changed, rows)
    rows = [row for row in rows if row.key.address in changed and why_not(row) is None]
    if not rows:
        return
    row = max(rows, key=lambda r: r.figure.value if r.figure is not None else -1.0)
    before, after = changed[row.key.address]
    if len(before.curves.co) + len(after.curves.co) <= MOST_KEYS:
        states = frozenset({clip_state(before), clip_state(after)})
        STATE.last, STATE.last_message = make_before_after(row.key.address, before, after, row, states), message


def offered(message: str) -> BeforeAfter | None:
    """The last repair, while the panel still speaks of it."""
    return STATE.last if message and message == STATE.last_message else None


# --- what Blender calls


def _draw() -> None:
    guard.drawn(_draw_shown, switch_off, "drawing a before and after")


def _draw_shown(context: Any) -> None:
    shown = STATE.shown
    if shown is None or context.region is None:
        return
    if shown.poses is not None and context.scene.session_uid == shown.scene_uid and _seen(context, shown.object_uid):
        view.draw(context, shown)
    graph.draw(context, shown)


def _seen(context: Any, uid: int) -> bool:
    """Whether the object is still there, shown in this viewport, and posed."""
    # A layer whose object was removed gives None for it until it is updated.
    obj = next((o for o in context.view_layer.objects if o is not None and o.session_uid == uid), None)
    return obj is not None and obj.mode != "EDIT" and obj.visible_in_viewport_get(context.space_data)


@persistent
def _load_pre(*_: Any) -> None:
    switch_off()
    STATE.last = None


_HANDLERS = (("load_pre", _load_pre),)


def register() -> None:
    handlers.add(_HANDLERS)


def unregister() -> None:
    _load_pre()
    handlers.remove(_HANDLERS)


CLASSES = ()
