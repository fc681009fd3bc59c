# SPDX-License-Identifier: GPL-3.0-or-later
"""Every difference between Blender versions, one function each, with the release that made it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy

# 4.4 "Slotted Actions" (release notes 4.4, Animation & Rigging): layers, strips, slots and channelbags.
# Asked of the RNA, because hasattr() on a bpy type is False for properties either way.
LAYERED = "layers" in bpy.types.Action.bl_rna.properties


@dataclass(frozen=True, eq=False)
class CurveSet:
    """The F-curves of one slot in one strip. Holds Blender pointers: never keep one across an undo or a file load.

    Attributes:
        slot: the slot's display name; "" for a legacy action.
        handle: the slot's handle; 0 for a legacy action.
        layer, strip: their numbers in the action; 0 for a legacy action.
        label: what tells this set from others of the same slot; "" when it is the only one.
        id_type: what the slot animates ("OBJECT", "MATERIAL", …); "" where it is not known.
        owner: the Action (legacy) or the channelbag; None when the action has no curves at all.
        fcurves: its collection, () when the action has no curves at all.
    """

    slot: str
    handle: int
    layer: int
    strip: int
    label: str
    id_type: str
    owner: Any
    fcurves: Any


def curve_sets(action: Any) -> Iterator[CurveSet]:
    """Every slot in every layer and strip of an action, in stored order; at least one.

    4.2, 4.3: `action.fcurves`. 4.4 on: layers → strips → channelbags (4.4 and 4.5 keep `action.fcurves` as a proxy
    of the first slot, 5.0 removed it), so that the proxy is never asked.
    """
    if not LAYERED:
        # No id_root: Blender warns on the console where it is not set.
        yield CurveSet("", 0, 0, 0, "", "", action, action.fcurves)
        return
    slots = {slot.handle: slot for slot in action.slots}
    filled = set()
    several_layers = len(action.layers) > 1
    for number, layer in enumerate(action.layers):
        several_strips = len(layer.strips) > 1
        for position, strip in enumerate(layer.strips):
            label = " · ".join(
                [f"layer {number + 1}"] * several_layers
                + [f"strip {position + 1}"] * several_strips  # "" for the usual one
            )
            for bag in strip.channelbags:
                slot = slots.get(bag.slot_handle)
                if slot is None:
                    # A channelbag whose slot is gone: nothing plays it, but it is in the file.
                    yield CurveSet("", bag.slot_handle, number, position, label, "", bag, bag.fcurves)
                    continue
                filled.add(slot.handle)
                # The same bag by way of a function: what is reached by properties carries its whole chain of parents
                # along, which makes every foreach_get more than three times slower (measured on 4.5 and 5.3).
                direct = strip.channelbag(slot)
                yield CurveSet(
                    slot.name_display, slot.handle, number, position, label, slot.target_id_type, direct, direct.fcurves
                )
    for slot in slots.values():
        if slot.handle not in filled:
            yield CurveSet(slot.name_display, slot.handle, 0, 0, "", slot.target_id_type, None, ())
    if not slots and not filled:
        yield CurveSet("", 0, 0, 0, "", "", None, ())


def slot_handle(player: Any) -> int:
    """The slot that an AnimData, an NLA strip or an Action constraint plays.

    4.4: `action_slot_handle`, 0 means that nothing plays. Before: 0, the handle that `curve_sets` gives too.
    """
    return player.action_slot_handle if LAYERED else 0


def stored_slot_handle(animation_data: Any) -> int:
    """The slot put aside while an NLA strip is tweaked (4.4: `action_slot_handle_tweak_storage`)."""
    return animation_data.action_slot_handle_tweak_storage if LAYERED else 0


def suitable_slots(player: Any) -> list[int]:
    """Handles of the slots that an AnimData or an NLA strip could be bound to (4.4: `action_suitable_slots`)."""
    return [slot.handle for slot in player.action_suitable_slots] if LAYERED else []


def bind_slot(player: Any, handle: int) -> None:
    """Bind an AnimData or an NLA strip to a slot of its action (4.4: `action_slot`)."""
    player.action_slot = next(slot for slot in player.action.slots if slot.handle == handle)


def plays_nothing(handle: int) -> bool:
    """Whether a handle means "an action, but none of its slots" (4.4 on)."""
    return LAYERED and handle == 0


def new_fcurve(owner: Any, data_path: str, component: int, group: str) -> Any:
    """Make an F-curve in a group ("": none).

    4.2, 4.3: `fcurves.new(action_group=)`. 4.4, 4.5: channelbags have no such argument, the group is assigned.
    5.0: `fcurves.new(group_name=)`.
    """
    if not LAYERED:
        return owner.fcurves.new(data_path, index=component, action_group=group)
    fcurve = owner.fcurves.new(data_path, index=component)
    if group:
        fcurve.group = owner.groups.get(group) or owner.groups.new(group)
    return fcurve


def embedded_ids(datablock: Any) -> Iterator[tuple[str, Any]]:
    """Data that lives inside another ID and is animated by itself: (name, ID).

    5.0 removed `scene.node_tree` (compositor trees became IDs of their own), so each is asked for.
    """
    tree = getattr(datablock, "node_tree", None)
    if tree is not None and tree.is_embedded_data:
        yield f"{datablock.name} (nodes)", tree


def enable_addon(module: str) -> None:
    """Enable one of Blender's own add-ons (an importer, Cycles) for this session; no error when it is missing."""
    import addon_utils  # ships with Blender, importable once bpy is

    if not addon_utils.check(module)[1]:
        addon_utils.enable(module, default_set=False)


def with_nodes(holder: Any) -> Any:
    """The node tree of a new material or world. 5.0 makes it at once, and warns about `use_nodes`."""
    if holder.node_tree is None:
        holder.use_nodes = True
    return holder.node_tree


def texts_of_nodes(modifier: Any) -> Iterator[str]:
    """Each text that is given to a Geometry Nodes modifier: values, and names of attributes to read or to write.

    Until 5.1 they are custom properties of the modifier. 5.2 has RNA instead: `properties.inputs` and `.outputs`, a
    struct for each socket, with `value` and `attribute_name`.
    """
    if "properties" not in modifier.bl_rna.properties:
        yield from (value for value in modifier.values() if isinstance(value, str))
        return
    if modifier.node_group is None:  # there are no sockets then
        return
    for side in (modifier.properties.inputs, modifier.properties.outputs):
        sockets = (getattr(side, p.identifier) for p in side.bl_rna.properties if p.type == "POINTER")
        for socket in sockets:
            values = (getattr(socket, name, None) for name in ("value", "attribute_name"))
            yield from (value for value in values if isinstance(value, str))


def drops_animation_of(saved_by: tuple[int, int]) -> bool:
    """Whether this Blender opens files of that version without their animation.

    5.0 took out what made actions of the IPO blocks that files from before 2.50 have (release notes 5.0, Core).
    """
    return bpy.app.version >= (5, 0, 0) and saved_by < (2, 50)


def has_operator(category: str, name: str) -> bool:
    """Whether an operator exists: `hasattr(bpy.ops.x, "y")` is True for every name."""
    return name in dir(getattr(bpy.ops, category))


def select_bone(pose_bone: Any, select: bool) -> None:
    """Select a bone of a pose. 5.0 moved `Bone.select` to `PoseBone.select`."""
    holder = pose_bone if "select" in pose_bone.bl_rna.properties else pose_bone.bone
    holder.select = select


def is_selected(pose_bone: Any) -> bool:
    """Whether a bone of a pose is selected (see `select_bone`)."""
    holder = pose_bone if "select" in pose_bone.bl_rna.properties else pose_bone.bone
    return bool(holder.select)


def is_hidden(pose_bone: Any) -> bool:
    """Whether a bone of a pose is hidden, by itself or by its collections. 5.0 gave poses a `hide` of their own."""
    bone = pose_bone.bone
    holder = pose_bone if "hide" in pose_bone.bl_rna.properties else bone
    collections = bone.collections
    return bool(holder.hide) or (len(collections) > 0 and not any(c.is_visible_effectively for c in collections))


def runs_as_module() -> bool:
    """Whether Blender runs within Python (`import bpy`). `bpy.app.module` came after 4.2; a module has no binary."""
    return bool(getattr(bpy.app, "module", not bpy.app.binary_path))
