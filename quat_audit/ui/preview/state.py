# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinning preview: on or off, and what it holds while it is on. It draws over the 3D Viewport and changes nothing.

Off, there is nothing of it: no handler, no timer, no data on the graphics card. On, it holds numbers and names, never
Blender's own objects: what they mean is looked up at each redraw. It goes off by itself when another file is opened.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from bpy.app.handlers import persistent

from ...blender import pose
from ...blender.draw import ghost
from ...blender.skin.mesh_state import mesh_state
from ...errors import SkinError
from ...skinning import heat
from ...skinning.skin import Motion, select
from ...text import Text
from .. import guard, handlers
from ..windows import redraw_viewports
from . import drawing, previewed_mesh, properties
from .held import Preview, pointer_of

# After the last change of the mesh it is read again; a stroke of a brush is over by then.
DELAY_SECONDS = 0.25
# The worst of the frame that is seen is looked for among so many vertices, evenly picked: in a few milliseconds.
SAMPLED = 20_000


# The preview that is on; never more than one.
ON: list[Preview] = []
_draw_handles: list[Any] = []


def current() -> Preview | None:
    """The preview that is on."""
    return ON[0] if ON else None


def switch_on(context: Any) -> Preview:
    """Show the preview of the mesh that is meant.

    Raises:
        SkinError: there is nothing to show; the message says why and what to do.
    """
    fresh = _read(previewed_mesh.chosen(context), context)
    switch_off()
    ON.append(fresh)
    for draw, when in ((_draw_view, "POST_VIEW"), (_draw_pixel, "POST_PIXEL")):
        _draw_handles.append(bpy.types.SpaceView3D.draw_handler_add(draw, (), "WINDOW", when))
    handlers.add(_HANDLERS)
    _schedule(0.0)
    redraw_viewports()
    return fresh


def switch_off() -> None:
    """Leave nothing behind. Nothing happens when it is off."""
    while _draw_handles:
        bpy.types.SpaceView3D.draw_handler_remove(_draw_handles.pop(), "WINDOW")
    handlers.remove(_HANDLERS)
    handlers.stop_timer(_tick)
    ON.clear()
    redraw_viewports()


def read_again() -> None:
    """The mesh, or how it is to be cut, has changed: read it soon."""
    if ON:
        ON[0].stale = True
        _schedule(DELAY_SECONDS)


def _read(obj: Any, context: Any) -> Preview:
    """A preview of a mesh object. Raises SkinError."""
    mesh = previewed_mesh.read(obj)
    found = previewed_mesh.find(mesh)
    assert found is not None
    return Preview(mesh, properties.choices(context).most, mesh_state(*found, context.scene))


def refresh(context: Any) -> None:
    """Read what has changed, at once. Where that fails it stays on and says why: an undo may bring it back."""
    held = ON[0]
    held.stale, held.made, held.motion = False, None, None
    found = previewed_mesh.find(held.mesh)
    if found is None:
        held.unreadable = gone(held)
        return
    held.most, held.print_ = properties.choices(context).most, mesh_state(*found, context.scene)
    try:
        ON[0] = _read(found[0], context)
    except SkinError as error:
        held.unreadable = error.why


def gone(held: Preview) -> Text:
    """That what it shows is no longer there."""
    skin = held.mesh.record.skin
    return Text("{mesh} or its armature is no longer in this file: read it again", {"mesh": skin.mesh})


def posed(context: Any) -> tuple[Preview, Any] | None:
    """The preview in the pose that Blender has evaluated, and the mesh object; None where nothing can be drawn.

    Asked while drawing: nothing is evaluated, and nothing of Blender's is kept.
    """
    held = current()
    if held is None:
        return None
    try:
        found = _posed(held, context)
        held.why_nothing = ""
    except SkinError as error:
        found, held.why_nothing = None, error.why
    here = pointer_of(context.area)
    if held.nothing_in.get(here, "") != held.why_nothing:
        held.nothing_in[here] = held.why_nothing
        _schedule(0.0)  # the panel beside it is already drawn
    return found


def _posed(held: Preview, context: Any) -> tuple[Preview, Any] | None:
    """Raises SkinError where nothing can be drawn now; None where the mesh cannot be read."""
    found = previewed_mesh.find(held.mesh)
    if found is None:
        raise SkinError(gone(held))
    _check_scene(found[0], context)  # what another scene has, its units among them, is no change of the mesh
    if not held.stale and _has_changed(held, found, context):
        read_again()
    if held.unreadable:
        return None
    held.motion = _pose(held, found, context)
    if held.made is None:
        held.made = ghost.make(held.mesh.record.skin, held.most)
        _schedule(0.0)  # the panel says what came of it
    held.made.take(held.motion)
    if _wants_measure(held, context):
        _schedule(DELAY_SECONDS)
    return held, found[0]


def _has_changed(held: Preview, found: tuple[Any, Any], context: Any) -> bool:
    return held.most != properties.choices(context).most or held.print_ != mesh_state(*found, context.scene)


def _check_scene(obj: Any, context: Any) -> None:
    """Raises SkinError where the scene that is seen does not have the mesh."""
    if context.view_layer.depsgraph is None or not pose.in_layer(obj, context.view_layer.objects):
        raise SkinError(
            Text(
                "{object} is not in the view layer, so Blender does not pose it: include its collection",
                {"object": obj.name},
            )
        )


def _pose(held: Preview, found: tuple[Any, Any], context: Any) -> Motion:
    """Raises SkinError where Blender poses nothing now."""
    obj, rig = found
    if not obj.visible_get():
        raise SkinError(Text("{object} is not seen here: show it, or leave the local view", {"object": obj.name}))
    if rig.data.is_editmode:
        raise SkinError(
            Text("{armature} is in edit mode, where it deforms nothing: leave edit mode", {"armature": rig.name})
        )
    if len(rig.pose.bones) != len(held.mesh.record.skin.bones):
        raise SkinError(Text("{armature} has changed and is read again", {"armature": rig.name}))
    return pose.pose_as_evaluated(obj, rig, context.view_layer.depsgraph)


# --- the scale


def _wants_measure(held: Preview, context: Any) -> bool:
    """Whether the worst of the frame that is seen is wanted and not known."""
    choices = properties.choices(context)
    kind = properties.kind(choices)
    if kind is None or not choices.auto_top or kind.name in held.clip or held.motion is None:
        return False
    known = held.measured.get(kind.name)
    if known is None:
        return True
    pairs = ((known.deform, held.motion.deform), (known.to_armature, held.motion.to_armature))
    # A pose with NaN is measured once too.
    return not all(np.array_equal(was, now, equal_nan=True) for was, now in pairs)


def measure(held: Preview, context: Any) -> None:
    """Raise the scale to the worst of the frame that is seen, where that is higher."""
    choices = properties.choices(context)
    kind = properties.kind(choices)
    if kind is None or held.motion is None:
        return
    if held.sample is None:
        skin = held.mesh.record.skin
        few = np.unique(np.linspace(0, len(skin) - 1, min(len(skin), SAMPLED)).astype(np.int64))
        held.sample = select(skin, few)
    worst = float(heat.heat(held.sample, held.motion, kind, most=choices.most).max(initial=0.0))
    held.measured[kind.name] = held.motion
    held.seen[kind.name] = max(worst, held.seen.get(kind.name, 0.0))


def know_clip(kind: heat.HeatMap, figure: float) -> None:
    """The worst of the whole clip is known: the scale reaches there."""
    if ON:
        ON[0].clip[kind.name] = figure
        redraw_viewports()


# --- what Blender calls


def _schedule(seconds: float) -> None:
    if not bpy.app.background and not bpy.app.timers.is_registered(_tick):
        bpy.app.timers.register(_tick, first_interval=seconds)


def _tick() -> None:
    """What takes longer than a redraw may."""
    try:
        _work()
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        switch_off()
        guard.tell(error, "the skinning preview")


def _work() -> None:
    if not ON:
        return
    with bpy.context.temp_override(window=_its_window()):  # a timer has no window, and so no view layer of its own
        if ON[0].stale:
            refresh(bpy.context)
        elif _wants_measure(ON[0], bpy.context):
            measure(ON[0], bpy.context)
    redraw_viewports()


def _its_window() -> Any:
    """A window that shows the mesh, any where none does."""
    windows, found = list(bpy.context.window_manager.windows), previewed_mesh.find(ON[0].mesh)
    here = [w for w in windows if found is not None and pose.in_layer(found[0], w.view_layer.objects)]
    return (here or windows or [None])[0]


def _draw_view() -> None:
    guard.drawn(_ghost, switch_off, "drawing the skinning preview")


def _draw_pixel() -> None:
    guard.drawn(_words, switch_off, "drawing the skinning preview")


def _ghost(context: Any) -> None:
    shown = posed(context)
    if shown is not None:
        held, obj = shown
        drawing.draw_ghost(context, held, obj)


def _words(context: Any) -> None:
    held = current()
    if held is not None:
        found = previewed_mesh.find(held.mesh)
        drawing.draw_words(context, held, found[0] if found is not None else None)


@persistent
def _depsgraph_update_post(scene: Any, depsgraph: Any) -> None:
    if ON and depsgraph.id_type_updated("MESH"):
        mine = ON[0].mesh.mesh_uid
        if any(isinstance(u.id, bpy.types.Mesh) and u.id.original.session_uid == mine for u in depsgraph.updates):
            read_again()


@persistent
def _undo_post(*_: Any) -> None:
    read_again()


@persistent
def _load_pre(*_: Any) -> None:
    switch_off()


_HANDLERS = (
    ("depsgraph_update_post", _depsgraph_update_post),
    ("undo_post", _undo_post),
    ("redo_post", _undo_post),
    ("load_pre", _load_pre),
)


def register() -> None:
    """Nothing: it is off."""


def unregister() -> None:
    switch_off()


CLASSES: tuple[Any, ...] = ()
