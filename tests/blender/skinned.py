# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinned meshes built in Blender, seeded, and what Blender itself makes of them."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from tests.blender import build_case as build


def evaluated(obj: Any) -> np.ndarray:
    """(V, 3) float64: the mesh as Blender evaluates it now, in its own space."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    values = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", values)
    return values.reshape(-1, 3).astype(np.float64)


def make_armature(name: str, heads: np.ndarray, tails: np.ndarray, parents: list[int], rolls: Any = None) -> Any:
    """An armature object with bones "Bone0", "Bone1", …"""
    data = bpy.data.armatures.new(name)
    rig = bpy.data.objects.new(name, data)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    made: list[Any] = []
    for number, (head, tail, parent) in enumerate(zip(heads, tails, parents, strict=True)):
        bone = data.edit_bones.new(f"Bone{number}")
        bone.head, bone.tail = head, tail
        bone.roll = 0.0 if rolls is None else float(rolls[number])
        bone.parent = made[parent] if parent >= 0 else None
        made.append(bone)
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone in rig.pose.bones:
        bone.rotation_mode = "QUATERNION"
    return rig


def make_mesh(name: str, vertices: np.ndarray, rig: Any, weights: list[dict[str, float]], faces: Any = ()) -> Any:
    """A mesh object with an Armature modifier; `weights` are vertex group → weight of each vertex, in order."""
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(np.asarray(vertices).tolist(), [], [list(f) for f in faces])
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    for vertex, entries in enumerate(weights):
        for group, weight in entries.items():
            (obj.vertex_groups.get(group) or obj.vertex_groups.new(name=group)).add([vertex], weight, "REPLACE")
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = rig
    return obj


def random_rig(seed: int, *, bones: int = 9, vertices: int = 400, influences: int = 5) -> tuple[Any, Any]:
    """(mesh object, armature object): a tree of bones in any direction, weights anywhere on it, not normalized."""
    rng = np.random.default_rng(seed)
    parents = [-1, *[int(rng.integers(0, n)) for n in range(1, bones)]]
    heads, tails = np.zeros((bones, 3)), np.zeros((bones, 3))
    for number, parent in enumerate(parents):
        heads[number] = tails[parent] if parent >= 0 else rng.normal(size=3) * 0.2
        tails[number] = heads[number] + rng.normal(size=3) * 0.7
    rig = make_armature("Rig", heads, tails, parents, rng.uniform(-3, 3, bones))
    middle = (heads + tails) / 2
    points = middle[rng.integers(0, bones, vertices)] + rng.normal(size=(vertices, 3)) * 0.4
    weights = []
    for _ in range(vertices):
        count = int(rng.integers(0, influences + 1))
        chosen = rng.choice(bones, count, replace=False)
        weights.append({f"Bone{bone}": float(w) for bone, w in zip(chosen, rng.uniform(0.0, 1.0, count), strict=True)})
        if rng.random() < 0.2:
            weights[-1]["No bone"] = 1.0
    return make_mesh("Mesh", points, rig, weights), rig


def random_pose(rig: Any, rng: np.random.Generator, *, turn: float = 1.0, scale: str = "none") -> None:
    """Turn and move every bone; scale "none", "uniform", "axes" (non-uniform, also mirrored and zero)."""
    for bone in rig.pose.bones:
        q = rng.normal(size=4) * turn
        q[0] += 1.0
        bone.rotation_quaternion = q / np.linalg.norm(q)
        bone.location = rng.normal(size=3) * 0.1
        if scale == "uniform":
            bone.scale = [float(rng.uniform(0.4, 1.8))] * 3
        elif scale == "axes":
            bone.scale = rng.uniform(0.3, 2.0, 3) * np.where(rng.random(3) < 0.1, -1.0, 1.0)


def random_object(obj: Any, rng: np.random.Generator, *, mirrored: bool = False, uneven: bool = True) -> None:
    obj.location = rng.normal(size=3)
    obj.rotation_euler = rng.uniform(-3, 3, 3)
    obj.scale = rng.uniform(0.5, 2.0, 3) if uneven else [float(rng.uniform(0.5, 2.0))] * 3
    if mirrored:
        obj.scale[int(rng.integers(0, 3))] *= -1.0


def play_first_action(rig: Any) -> None:
    """Importers leave some rigs without a playing action."""
    actions = sorted(bpy.data.actions, key=lambda a: a.name)
    if not actions:
        return
    data = rig.animation_data or rig.animation_data_create()
    if data.action is None:
        build.assign(data, actions[0])


HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]])


def make_tube(sides: int = 12, rings: int = 21, radius: float = 0.3) -> tuple[Any, Any]:
    """(mesh object, armature object): a tube over two bones that share ten rings around its middle."""
    rig = make_armature("Rig", HEADS, HEADS + np.array([0.0, 0.0, 1.0]), [-1, 0])
    angle = 2 * np.pi * np.arange(sides) / sides
    points, entries, faces = [], [], []
    for ring, z in enumerate(np.linspace(0, 2, rings)):
        share = float(np.clip(0.5 + (z - 1.0), 0.0, 1.0))
        for side, a in enumerate(angle):
            points.append((radius * np.cos(a), radius * np.sin(a), z))
            entries.append({"Bone0": 1 - share, "Bone1": share})
            if ring:
                below, beside = (ring - 1) * sides, (side + 1) % sides
                faces.append((below + side, below + beside, below + sides + beside, below + sides + side))
    return make_mesh("Tube", np.array(points), rig, entries, faces), rig


def animate(rig: Any, degrees: float, frames: tuple[int, int] = (1, 21)) -> None:
    """The second bone twisted about its own axis, from rest."""
    curves = build.make_fcurves("Twist", rig.name)
    for index, value in ((0, np.cos(np.radians(degrees / 2))), (2, np.sin(np.radians(degrees / 2)))):
        build.make_curve(curves, 'pose.bones["Bone1"].rotation_quaternion', index, frames, [1.0 - min(index, 1), value])
    build.assign(rig.animation_data_create(), bpy.data.actions["Twist"])
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = frames


def snapshot() -> dict[str, Any]:
    """What playing a clip could leave behind."""
    scene, posed = bpy.context.scene, [o for o in bpy.data.objects if o.pose]
    kinds = ("objects", "meshes", "actions", "armatures")
    return {
        "frame": (scene.frame_current, scene.frame_subframe),
        "modifiers": {(o.name, m.name): m.show_viewport for o in bpy.data.objects for m in o.modifiers},
        "basis": {(o.name, b.name): tuple(map(tuple, b.matrix_basis)) for o in posed for b in o.pose.bones},
        "places": {o.name: tuple(map(tuple, o.matrix_basis)) for o in bpy.data.objects},
        "data": {kind: sorted(x.name for x in getattr(bpy.data, kind)) for kind in kinds},
        "attributes": {m.name: [a.name for a in m.attributes] for m in bpy.data.meshes},
        "handlers": [len(getattr(bpy.app.handlers, n)) for n in ("frame_change_pre", "frame_change_post")],
        "selected": sorted(o.name for o in bpy.context.view_layer.objects if o.select_get()),
    }
