# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinned meshes of the open file -> Skins, and edited weights back.

A Skin is what one Armature modifier sees. Whatever makes its result differ from what the arrays give is listed:
in `blocking` when positions would be wrong, in `not_evaluated` also when they are right as far as they go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any

import bpy
import numpy as np

from ...errors import SkinError
from ...skinning.skin import Bones, Groups, Skin
from ...text import Text
from .. import ignore
from ..names import group_names, read_text
from .group_users import groups_in_use
from .reasons import Reasons, read_only, reasons

# Vertices that one slice reads: about 30 ms.
AT_ONCE = 2**14
_Weights = tuple[Any, Any, Any]  # offsets, group, weight


@dataclass(frozen=True, eq=False)
class BlenderSkin:
    """A Skin and where it is in the open file, by numbers that survive an undo.

    Attributes:
        skin: what was read.
        object_uid, armature_uid: `session_uid` of the two objects.
        modifier: the modifier's name.
    """

    skin: Skin
    object_uid: int
    armature_uid: int
    modifier: str


@dataclass(frozen=True)
class NotSkinned:
    """A mesh that asks for an armature and cannot be read, and why."""

    mesh: str
    why: str


def read_file() -> tuple[list[BlenderSkin], list[NotSkinned]]:
    """Every skinned mesh of the open file, in name order, and those that cannot be read."""
    found, failed = [], []
    for obj in sorted((o for o in bpy.data.objects if o.type == "MESH"), key=lambda o: o.name):
        if not _wants_armature(obj):
            continue
        try:
            found.append(read_object(obj))
        except SkinError as error:
            failed.append(NotSkinned(obj.name, error.why))
    return found, failed


def read_object(obj: Any) -> BlenderSkin:
    """The skin of one mesh object.

    Raises:
        SkinError: it is none; the message says why and what to do.
    """
    return next(record for record in read_object_slices(obj) if record is not None)


def read_object_slices(obj: Any) -> Iterator[BlenderSkin | None]:
    """The same in slices of `AT_ONCE` vertices, for who has to stay responsive: None after each, at last the skin.

    Nothing of the mesh may change between two slices.
    """
    if obj.is_missing or (obj.data is not None and obj.data.is_missing):
        library = (obj.library or obj.data.library).filepath
        raise SkinError(
            Text(
                "{mesh} is linked from {library}, where it is no longer found: relocate the library",
                {"mesh": obj.name, "library": library},
            )
        )
    if obj.type != "MESH":
        raise SkinError(Text("{mesh} is no mesh: select one", {"mesh": obj.name}))
    modifier = _modifier(obj)
    if not len(obj.data.vertices):
        raise SkinError(Text("{mesh} has no vertices: nothing to measure", {"mesh": obj.name}))
    uid, name, rig_uid = obj.session_uid, modifier.name, modifier.object.session_uid
    weights: list[_Weights] = []
    for part in _read_weights(obj.data, len(obj.vertex_groups)):
        weights.append(part)
        yield None
    skin = _read(obj, modifier, modifier.object, _joined(weights))
    skin.validate()
    yield BlenderSkin(skin, uid, rig_uid, name)


def is_deformed_by(obj: Any, rig: Any) -> bool:
    """Whether a mesh object has an Armature modifier (or a parent like one) of this armature."""
    if obj.type != "MESH":
        return False
    return any(m.type == "ARMATURE" and m.object == rig for m in obj.modifiers) or (
        _by_parent(obj) and obj.parent == rig
    )


def armature_of(obj: Any) -> Any:
    """The armature by which a mesh object is read.

    Raises:
        SkinError: there is none; the message says why and what to do.
    """
    return _modifier(obj).object


def _wants_armature(obj: Any) -> bool:
    return any(m.type == "ARMATURE" for m in obj.modifiers) or _by_parent(obj)


def _by_parent(obj: Any) -> bool:
    return obj.parent_type == "ARMATURE" and obj.parent is not None and obj.parent.type == "ARMATURE"


def _modifier(obj: Any) -> Any:
    modifiers = [m for m in obj.modifiers if m.type == "ARMATURE"]
    if not modifiers:
        if _by_parent(obj):
            raise SkinError(
                Text(
                    "{mesh} is deformed by its parent {parent} without an Armature modifier: "
                    "give it one (Object > Parent > Armature Deform)",
                    {"mesh": obj.name, "parent": obj.parent.name},
                )
            )
        raise SkinError(Text("{mesh} has no Armature modifier: nothing to measure", {"mesh": obj.name}))
    bound = [m for m in modifiers if m.object is not None and m.object.type == "ARMATURE"]
    if not bound:
        raise SkinError(
            Text(
                "{mesh}: its Armature modifier names no armature: choose one in the modifier",
                {"mesh": obj.name},
            )
        )
    shown = [m for m in bound if m.show_viewport]
    chosen = (shown or bound)[0]
    if not chosen.use_vertex_groups and not chosen.use_bone_envelopes:
        raise SkinError(
            Text(
                "{mesh}: its Armature modifier is bound to neither vertex groups nor envelopes: switch one on",
                {"mesh": obj.name},
            )
        )
    return chosen


def write_weights(record: BlenderSkin, edited: Skin) -> int:
    """Store the weights of an edited skin. Returns how many vertices changed. Undo is the caller's.

    Weights that did not change are not touched: order, other groups and locks stay.

    Raises:
        SkinError: the mesh is gone, is not to be written, is in edit mode, or has changed since it was read.
    """
    obj, _, _ = find(record)
    old = record.skin
    if old.read_only:
        raise SkinError(Text("{mesh}: {why}", {"mesh": obj.name, "why": old.read_only}))
    if obj.data.is_editmode:  # of another object with the same mesh, too
        raise SkinError(Text("{mesh} is in edit mode: leave it to change weights", {"mesh": obj.name}))
    if len(obj.data.vertices) != len(old) or group_names(obj) != old.groups.names:
        raise SkinError(Text("{mesh} has changed since it was read: audit it again", {"mesh": obj.name}))
    groups = list(obj.vertex_groups)
    before, after = _by_vertex(old), _by_vertex(edited)
    changed = 0
    for vertex, (was, now) in enumerate(zip(before, after, strict=True)):
        if was == now:
            continue
        changed += 1
        for group in was.keys() - now.keys():
            groups[group].remove([vertex])
        for group, weight in now.items():
            if was.get(group) != weight:
                groups[group].add([vertex], weight, "REPLACE")
    return changed


def _by_vertex(skin: Skin) -> list[dict[int, float]]:
    """Group → weight of each vertex, as stored in float32."""
    weights = skin.weight.astype(np.float32).tolist()
    groups, offsets = skin.group.tolist(), skin.offsets.tolist()
    return [dict(zip(groups[start:stop], weights[start:stop], strict=True)) for start, stop in pairwise(offsets)]


def find(record: BlenderSkin) -> tuple[Any, Any, Any]:
    """(mesh object, armature object, modifier) that a record means. SkinError when gone from the file."""
    by_uid = {o.session_uid: o for o in bpy.data.objects}
    obj, rig = by_uid.get(record.object_uid), by_uid.get(record.armature_uid)
    modifier = obj.modifiers.get(record.modifier) if obj is not None else None
    if obj is None or rig is None or modifier is None:
        raise SkinError(
            Text("{mesh} or its armature is no longer in this file: read it again", {"mesh": record.skin.mesh})
        )
    return obj, rig, modifier


def _read(obj: Any, modifier: Any, rig: Any, weights: _Weights) -> Skin:
    mesh = obj.data
    # With shape keys Blender starts from the reference key, which may be newer than the mesh.
    source = mesh.shape_keys.reference_key.data if mesh.shape_keys else mesh.vertices
    vertices = _floats(source, "co", 3).astype(np.float64)
    bones = _read_bones(rig)
    groups = _read_groups(obj, bones, use=modifier.use_vertex_groups)
    offsets, group, weight = weights
    triangles, closed = _read_faces(mesh)
    why = reasons(obj, modifier, rig, bones, groups, offsets, group)
    unplaced = int(np.count_nonzero(~np.isfinite(vertices).all(axis=1)))
    if unplaced:
        why = Reasons((*why.not_evaluated, _nowhere(unplaced)), why.blocking)
    ignores, unreadable = ignore.readable_ignores(obj)
    if unreadable:
        unread = Text("its list of ignored findings cannot be read ({why}), so nothing is ignored", {"why": unreadable})
        why = Reasons((*why.not_evaluated, unread), why.blocking)
    scene = bpy.context.scene or bpy.data.scenes[0]
    return Skin(
        mesh=obj.name,
        armature=rig.name,
        vertices=vertices,
        offsets=offsets,
        group=group,
        weight=weight,
        groups=groups,
        bones=bones,
        mask=_read_mask(obj, modifier, offsets, group, weight),
        preserve_volume=modifier.use_deform_preserve_volume,
        envelopes=modifier.use_bone_envelopes,
        triangles=triangles,
        closed=closed,
        mm_per_unit=1000.0 * scene.unit_settings.scale_length,
        read_only=read_only(obj),
        not_evaluated=tuple((obj.name, one) for one in why.not_evaluated),
        blocking=why.blocking,
        ignores=ignores,
    )


def _nowhere(count: int) -> Text:
    if count == 1:
        return Text("1 vertex has coordinates that are no numbers: it is not measured")
    return Text("{count} vertices have coordinates that are no numbers: they are not measured", {"count": count})


def _floats(collection: Any, name: str, width: int) -> Any:
    values = np.empty(len(collection) * width, dtype=np.float32)
    collection.foreach_get(name, values)
    return values.reshape(-1, width)


def _ints(collection: Any, name: str, width: int = 1) -> Any:
    values = np.empty(len(collection) * width, dtype=np.int32)
    collection.foreach_get(name, values)
    return values.reshape(-1, width) if width > 1 else values


def _read_bones(rig: Any) -> Bones:
    # In the pose's order, which is that of the matrices.
    bones = [rig.data.bones[b.name] for b in rig.pose.bones]
    number = {bone.name: i for i, bone in enumerate(bones)}
    return Bones(
        names=tuple(number),
        deform=np.array([bone.use_deform for bone in bones], dtype=bool),
        parent=np.array([number[b.parent.name] if b.parent else -1 for b in bones], dtype=np.int64),
        rest=np.array([bone.matrix_local for bone in bones], dtype=np.float64).reshape(-1, 4, 4),
        tail=np.array([bone.tail_local for bone in bones], dtype=np.float64).reshape(-1, 3),
    )


def _read_groups(obj: Any, bones: Bones, *, use: bool) -> Groups:
    deforming = {name: i for i, name in enumerate(bones.names) if bones.deform[i]}
    groups, elsewhere = list(obj.vertex_groups), groups_in_use(obj)
    names = group_names(obj)
    rigs = [
        m.object for m in obj.modifiers if m.type == "ARMATURE" and m.object is not None and m.object.type == "ARMATURE"
    ]
    others = {bone.name for rig in rigs for bone in rig.data.bones if bone.use_deform} - set(deforming)
    return Groups(
        names=names,
        locked=np.array([g.lock_weight for g in groups], dtype=bool),
        bone=np.array([deforming.get(name, -1) if use else -1 for name in names], dtype=np.int64),
        elsewhere=np.array([name in elsewhere for name in names], dtype=bool),
        other_rig=np.array([name in others for name in names], dtype=bool),
    )


def _read_weights(mesh: Any, groups: int) -> Iterator[_Weights]:
    """Offsets (from 0), group and weight, `AT_ONCE` vertices at a time.

    There is no `foreach_get` for weights: a loop, but one that runs in C.
    """
    vertices = mesh.vertices
    for start in range(0, len(vertices), AT_ONCE):
        lists = list(map(attrgetter("groups"), vertices[start : start + AT_ONCE]))
        counts = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        total = int(counts.sum())
        entries = list(chain.from_iterable(lists))
        group = np.fromiter(map(attrgetter("group"), entries), dtype=np.int64, count=total)
        weight = np.fromiter(map(attrgetter("weight"), entries), dtype=np.float32, count=total)
        known = group < groups  # a number beyond the groups is one that Blender passes over
        if not known.all():
            counts = np.bincount(np.repeat(np.arange(len(counts)), counts)[known], minlength=len(counts))
            group, weight = group[known], weight[known]
        yield np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), group, weight


def _joined(parts: Sequence[_Weights]) -> _Weights:
    """The weights of all vertices."""
    counts = np.concatenate([np.diff(offsets) for offsets, _, _ in parts])
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return offsets, np.concatenate([group for _, group, _ in parts]), np.concatenate([part[2] for part in parts])


def _read_faces(mesh: Any) -> tuple[Any, bool]:
    mesh.calc_loop_triangles()
    triangles = _ints(mesh.loop_triangles, "vertices", 3).astype(np.int64).reshape(-1, 3)
    uses = np.bincount(_ints(mesh.loops, "edge_index"), minlength=len(mesh.edges)) if len(mesh.loops) else np.zeros(0)
    return triangles, bool(len(mesh.polygons) and np.all(uses == 2))


def _read_mask(obj: Any, modifier: Any, offsets: Any, group: Any, weight: Any) -> Any:
    """(V,) how far the modifier applies, None where it has no vertex group (or names one that is not there)."""
    wanted, names = read_text(modifier, "vertex_group"), group_names(obj)
    if wanted not in names or not len(group):
        return None
    number = names.index(wanted)
    mask = np.zeros(len(offsets) - 1)
    mine = group == number
    mask[np.repeat(np.arange(len(mask)), np.diff(offsets))[mine]] = weight[mine]
    return 1.0 - mask if modifier.invert_vertex_group else mask
