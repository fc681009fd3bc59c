# SPDX-License-Identifier: GPL-3.0-or-later
"""Keeps the findings in step with the file: after an edit, an undo, a redo or a load, what still applies is known.

Looking at keys and weights again costs about as much as reading them, so it is done a moment after the last change, an
action or a mesh at a time between two redraws, and never while drawing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import bpy
from bpy.app.handlers import persistent

from ..blender import read
from ..results.memory import RESULTS
from ..results.rows import ACTION, MESH, Address, clip_state
from ..text import Text
from . import auditing, guard, handlers, properties, scope
from .comparison import state as comparing
from .skin import auditing as skin_auditing

# After the last change: long enough for a drag of keys to be over, short enough not to be noticed.
DELAY_SECONDS = 0.25
# The editors that have the panel.
EDITORS = ("VIEW_3D", "GRAPH_EDITOR", "DOPESHEET_EDITOR", "NLA_EDITOR")


@dataclass
class _Watch:
    """What is to be looked at: `uids` of actions and mesh objects (None: all that have findings); how many of each kind
    there were.
    """

    uids: set[int] | None = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)


_WATCH = _Watch()


def look_again(uids: Iterable[int] | None = None, delay_seconds: float = DELAY_SECONDS) -> None:
    """Some actions or mesh objects (None: all) may have changed: look at them soon."""
    if not RESULTS.audited:
        return
    if uids is None:
        _WATCH.uids = None
    elif _WATCH.uids is not None:
        _WATCH.uids |= set(uids)
    if _WATCH.uids is None or _WATCH.uids:
        _schedule(delay_seconds)


def notice_removed() -> None:
    """Asked while drawing, because Blender tells nobody when an action or an object is removed."""
    if not RESULTS.audited:
        return
    for kind, count in ((ACTION, len(bpy.data.actions)), (MESH, len(bpy.data.objects))):
        if _WATCH.counts.get(kind) != count:
            _WATCH.counts[kind] = count
            look_again(address.uid for address in _followed() if address.kind == kind)


def refresh_now() -> None:
    """Look at everything that may have changed, at once."""
    while _refresh_one():
        pass
    properties.sync(properties.state(bpy.context))
    redraw()


def redraw() -> None:
    """Draw the panel again, in every window."""
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type in EDITORS:
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()


def _schedule(delay_seconds: float) -> None:
    if bpy.app.background:
        return  # no timers run there: who needs it calls `refresh_now`
    handlers.stop_timer(_tick)
    bpy.app.timers.register(_tick, first_interval=delay_seconds)


def _tick() -> float | None:
    if auditing.RUNNING:
        return DELAY_SECONDS
    try:
        if _refresh_one():
            return 0.01
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        guard.tell(error, "looking at the findings again")
    properties.sync(properties.state(bpy.context))
    redraw()
    return None


def _refresh_one() -> bool:
    """Look at one action or mesh that may have changed. False when there is no more."""
    followed = _followed()
    mine = {address.uid for address in followed}
    changed = mine if _WATCH.uids is None else _WATCH.uids & mine
    _WATCH.uids = changed
    if not changed:
        return False
    uid = min(changed)
    changed.discard(uid)
    addresses = {address for address in followed if address.uid == uid}
    for address in addresses - _saw(scope.find_holder(next(iter(addresses))), addresses):
        RESULTS.lost(address)
        comparing.saw(address, "")
    return bool(changed)


def _followed() -> set[Address]:
    """What has findings, and what is compared: another audit may have taken the findings of that away."""
    compared = comparing.address_shown()
    return {address for address, _ in RESULTS.by_address()} | ({compared} if compared is not None else set())


def _saw(holder: Any, addresses: set[Address]) -> set[Address]:
    """Look at an action or a mesh object (None: it is gone); the addresses that it has now."""
    if holder is None:
        return set()
    if isinstance(holder, bpy.types.Object):
        for address in addresses:
            RESULTS.saw(address, skin_auditing.state_of(holder))
        return addresses
    now = {auditing.address_of(record): record.clip for record in read.read_action(holder)}
    for address, clip in now.items():
        name = clip_state(clip)
        RESULTS.saw(address, name, clip.curves.data_path)
        comparing.saw(address, name)
    return set(now)


# --- what Blender tells


@persistent
def _depsgraph_update_post(scene: Any, depsgraph: Any) -> None:
    if not RESULTS.audited:
        return
    if depsgraph.id_type_updated("ACTION"):
        look_again(
            update.id.original.session_uid for update in depsgraph.updates if isinstance(update.id, bpy.types.Action)
        )
    meshes = [address.uid for address, _ in RESULTS.by_address() if address.kind == MESH]
    # An audit steps through the frames, and puts back what it switched off.
    if meshes and not auditing.RUNNING:
        look_again(_weights_may_differ(depsgraph, meshes))


def _weights_may_differ(depsgraph: Any, uids: Sequence[int]) -> Iterator[int]:
    """Of some mesh objects, those whose weights, groups, locks or modifiers may have changed.

    All of that updates the mesh; a pose updates the object and the armature alone.
    """
    updated = {update.id.original.session_uid for update in depsgraph.updates if update.is_updated_geometry}
    for uid in uids if updated else ():
        obj = scope.find_object(uid)
        if obj is not None and obj.data.session_uid in updated:
            yield uid


@persistent
def _undo_pre(*_: Any) -> None:
    for job in auditing.RUNNING:
        job.abort(Text("Undo or redo stopped the audit"))


@persistent
def _undo_post(*_: Any) -> None:
    RESULTS.message = ""  # it spoke of what was undone
    look_again(delay_seconds=0.0)


@persistent
def _load_pre(*_: Any) -> None:
    for job in auditing.RUNNING:
        job.abort(Text("Another file was opened while it was audited"))


@persistent
def _load_post(*_: Any) -> None:
    if RESULTS.audited:
        if bpy.data.filepath and bpy.data.filepath == RESULTS.file:
            RESULTS.rebind(_same_addresses())
            look_again(delay_seconds=0.0)
        else:
            RESULTS.clear(Text("Another file was opened: audit again"))
    context = bpy.context
    # The window manager may be the one that was saved: with an audit that ran then, and lines of its findings.
    auditing.RUNNING.clear()
    properties.state(context).running = False
    properties.take_defaults(context)
    properties.sync(properties.state(context))


def _same_addresses() -> dict[Address, Address]:
    """Where the audited clips and meshes are after the file was loaded again: actions and objects get new numbers,
    slots keep theirs.
    """
    uids = {
        kind: {(block.name, block.library.filepath if block.library else ""): block.session_uid for block in blocks}
        for kind, blocks in ((ACTION, bpy.data.actions), (MESH, bpy.data.objects))
    }
    found = {}
    for address, result in RESULTS.by_address():
        uid = uids[address.kind].get((result.name, result.library))
        if uid is not None:
            found[address] = address._replace(uid=uid)
    return found


_HANDLERS = (
    ("depsgraph_update_post", _depsgraph_update_post),
    ("undo_pre", _undo_pre),
    ("redo_pre", _undo_pre),
    ("undo_post", _undo_post),
    ("redo_post", _undo_post),
    ("load_pre", _load_pre),
    ("load_post", _load_post),
)


def register() -> None:
    handlers.add(_HANDLERS)


def unregister() -> None:
    handlers.remove(_HANDLERS)
    handlers.stop_timer(_tick)


CLASSES = ()
