# SPDX-License-Identifier: GPL-3.0-or-later
"""Alt-F in the Graph Editor and the Dope Sheet: align, or flip, the quaternion keys that are selected there.

In the 3D Viewport, Alt-F flips the quaternions of the pose at one frame; keys in the editors had nothing like it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from bpy.props import EnumProperty

from ...arrays import Bools
from ...audit.signs import ALIGN, FLIP, How, change_signs
from ...blender import read, users
from ...blender.read import BlenderClip
from ...errors import GoneError, RefusedError
from ...findings.report import Refused
from ...motion.clip import QUATERNION
from ...results.outcome import Outcome
from ...run.in_scene import carry_out
from ...text import Text
from .. import auditing, following
from ..guard import guarded
from ..wording import enabled, reasons, say_report

# Editor → the modes of it that show keys of actions. (Drivers, shape keys of the old kind, grease pencil do not.)
_MODES = {
    "GRAPH_EDITOR": ("FCURVES",),
    "DOPESHEET_EDITOR": ("DOPESHEET", "ACTION", "TIMELINE"),
}
# Editor → its keymap; in neither of them does Blender use Alt-F (4.2 to 5.3, its own and the industry keymap).
_KEYMAPS = (("Graph Editor", "GRAPH_EDITOR"), ("Dopesheet", "DOPESHEET_EDITOR"))
_MENUS = ("GRAPH_MT_key", "DOPESHEET_MT_key")
_SELECTED = ("select_control_point", "select_left_handle", "select_right_handle")


def why_not_here(context: Any) -> Text | None:
    """Why keys cannot be aligned or flipped where the mouse is."""
    space = context.space_data
    if space is None or space.type not in _MODES:
        return Text("Only in a Graph Editor or a Dope Sheet")
    if space.mode not in _MODES[space.type]:
        return Text("Only where keys of actions are shown")
    if auditing.RUNNING:
        return auditing.why_running()
    if context.mode.startswith("EDIT"):
        return Text("Leave Edit Mode: a fix could not be undone there")
    return None


@dataclass(frozen=True, eq=False)
class Selection:
    """A clip of the open file and its selected quaternion keys: (K,) bool, a flag a key row."""

    record: BlenderClip
    keys: Bools


def selected_keys(context: Any) -> list[Selection]:
    """What is selected on the editable curves that the editor shows, of quaternions only."""
    shown = {fcurve.as_pointer(): fcurve for fcurve in context.editable_fcurves or ()}
    actions = {id_.session_uid: id_ for id_ in (fcurve.id_data for fcurve in shown.values())}
    played_by = users.find_users() if actions else None
    found = []
    for action in actions.values():
        for record in read.read_action(action, played_by=played_by):
            keys = _selected_in(record, shown)
            if keys.any():
                found.append(Selection(record, keys))
    return found


def _selected_in(record: BlenderClip, shown: dict[int, Any]) -> Bools:
    curves, tracks = record.clip.curves, record.clip.tracks
    selected = np.zeros(len(curves.co), dtype=bool)
    turning = {int(c) for kind, row in zip(tracks.kind, tracks.curves, strict=True) if kind == QUATERNION for c in row}
    for number, fcurve in enumerate(read.find_set(record)[1].fcurves):
        if number not in turning or fcurve.as_pointer() not in shown:
            continue
        rows = selected[curves.rows(number)]
        flags = np.empty(len(rows), dtype=bool)
        for name in _SELECTED:
            fcurve.keyframe_points.foreach_get(name, flags)
            rows |= flags
    return selected


def change(selection: Selection, how: How, outcome: Outcome) -> None:
    """Align or flip the selected keys of one clip where they are; what was done goes to `outcome`."""
    before = selection.record.clip
    done = change_signs(before, selection.keys, how)
    try:
        record, done = carry_out(selection.record, done)
    except (GoneError, RefusedError) as error:
        outcome.refused += done.refused
        outcome.failed.append(Text("{error}; nothing was changed there", {"error": error.why}))
        return
    # Signs are what QA104 repairs, and the outcome is told in the same words.
    told = {("QA104", path): keys for (_, path), keys in done.changed.items()}
    outcome.took_clip(auditing.address_of(record), before, replace(done, changed=told))


class QUATAUDIT_OT_key_signs(bpy.types.Operator):
    """Make the selected quaternion keys turn the short way from the key before, or flip their sign; no pose changes"""

    bl_idname = "quat_audit.key_signs"
    bl_label = "Align Quaternion Keys"
    bl_options = {"REGISTER", "UNDO"}

    how: EnumProperty(  # type: ignore[valid-type]
        name="Signs",
        description="What happens to the signs of the selected keys",
        items=(
            (
                ALIGN.upper(),
                "Align",
                "Negate the keys that lie on the other side than the key before; never makes the motion longer",
            ),
            (FLIP.upper(), "Flip", "Negate every selected key, also where the motion then takes the long way round"),
        ),
        default=ALIGN.upper(),
    )

    @classmethod
    def poll(cls, context: Any) -> bool:
        return enabled(cls, why_not_here(context))

    @guarded
    def execute(self, context: Any) -> set[str]:
        selections = selected_keys(context)
        if not selections:
            self.report({"WARNING"}, say_report("Select some quaternion keys first"))
            return {"CANCELLED"}
        outcome = Outcome()
        for selection in selections:
            change(selection, self.how.lower(), outcome)
        following.redraw()
        for failed in outcome.failed:
            self.report({"ERROR"}, say_report(failed))
        if outcome.refused:
            self.report({"WARNING"}, say_report(_refusal(outcome.refused)))
        if not outcome.changed:
            if not outcome.refused and not outcome.failed:
                self.report({"INFO"}, say_report("The selected keys are aligned already"))
            return {"CANCELLED"}
        self.report({"INFO"}, "; ".join(say_report(sentence) for sentence in outcome.sentences()))
        return {"FINISHED"}


def _refusal(refused: list[Refused]) -> Text:
    values = {"count": len(refused), "why": reasons(refusal.why for refusal in refused)}
    return Text("Not fixed on {count} channels: {why}", values)


def _menu(self: Any, context: Any) -> None:
    self.layout.separator()
    self.layout.operator(QUATAUDIT_OT_key_signs.bl_idname).how = ALIGN.upper()
    self.layout.operator(QUATAUDIT_OT_key_signs.bl_idname, text="Flip Quaternion Keys").how = FLIP.upper()


CLASSES = (QUATAUDIT_OT_key_signs,)
_items: list[tuple[Any, Any]] = []


def register() -> None:
    for name in _MENUS:
        getattr(bpy.types, name).append(_menu)
    keyconfig = bpy.context.window_manager.keyconfigs.addon
    if keyconfig is None:  # Blender runs without a window
        return
    for name, space_type in _KEYMAPS:
        keymap = keyconfig.keymaps.new(name=name, space_type=space_type)
        item = keymap.keymap_items.new(QUATAUDIT_OT_key_signs.bl_idname, "F", "PRESS", alt=True)
        _items.append((keymap, item))


def unregister() -> None:
    while _items:
        keymap, item = _items.pop()
        keymap.keymap_items.remove(item)
    for name in _MENUS:
        getattr(bpy.types, name).remove(_menu)
