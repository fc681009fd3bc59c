# SPDX-License-Identifier: GPL-3.0-or-later
"""A walking figure whose weights have several faults at once, and what Blender stores of them."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any

import bpy
import example_blend
import example_skin_faults as faults
import numpy as np
from example_walk import RIG, Scene, body_weights, clean, spoiled

from quat_audit.results.memory import RESULTS
from quat_audit.results.rows import MESH
from quat_audit.ui import properties

BODY = "Body"
# What is wrong with it, and how many vertices have it.
CODES = ("QA601", "QA602", "QA603", "QA604", "QA605", "QA608")


def faulty(path: Path) -> tuple[Any, Any]:
    """(mesh object, armature object) of the example walk with the faults `CODES`; the mesh is selected and active."""
    scene = spoiled(
        faults.unweighted_vertex,
        faults.weights_not_normalised,
        faults.bad_weight,
        _spread,
        _tail,
        faults.volume_collapse,
    )
    example_blend.save(scene, path)
    return prepare()


def sound(path: Path) -> tuple[Any, Any]:
    """The same figure with nothing wrong."""
    example_blend.save(clean(), path)
    return prepare()


def prepare() -> tuple[Any, Any]:
    body, rig = bpy.data.objects[BODY], bpy.data.objects[RIG]
    choose(body)
    return body, rig


def _spread(scene: Scene) -> Scene:
    """An arm that five bones have a part in."""
    parts = (("Arm.R", 0.6), ("Spine", 0.15), ("Hips", 0.1), ("Arm.L", 0.08), ("Thigh.L", 0.07))
    return _where(scene, "Arm.R", parts)


def _tail(scene: Scene) -> Scene:
    """The group of a bone that was deleted, on vertices that nothing else is wrong with."""
    return _where(scene, "Shin.L", (("Shin.L", 1.0), ("Tail", 0.3)))


def _where(scene: Scene, bone: str, pairs: faults.Pairs) -> Scene:
    weights = scene.weights or body_weights()
    return replace(scene, weights=tuple(pairs if dict(p).get(bone, 0.0) == 1.0 else p for p in weights))


def choose(*objects: Any) -> None:
    """Select these alone; the first is active."""
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0] if objects else None


def weights(obj: Any) -> list[list[tuple[str, bytes]]]:
    """The stored weights of every vertex, bit for bit, by group."""
    names = [group.name for group in obj.vertex_groups]
    return [sorted((names[g.group], struct.pack("<f", g.weight)) for g in v.groups) for v in obj.data.vertices]


def offending(body: Any, code: str) -> set[int]:
    """Which vertices have a fault, told from Blender's own data, vertex by vertex."""
    bones = {b.name for b in body.find_armature().data.bones if b.use_deform}
    names = [g.name for g in body.vertex_groups]
    found = set()
    for vertex in body.data.vertices:
        mine = [g.weight for g in vertex.groups if names[g.group] in bones]
        bad = any(not np.isfinite(w) for w in mine)
        if {
            "QA601": not bad and sum(mine) <= 1e-4,
            "QA602": not bad and sum(mine) > 1e-4 and abs(sum(mine) - 1) > 2e-3,
            "QA603": sum(w > 0 for w in mine) > 4,
            "QA604": any(names[g.group] == "Tail" and g.weight > 0 for g in vertex.groups),
            "QA608": bad,
        }[code]:
            found.add(vertex.index)
    assert found
    return found


def selected(obj: Any) -> set[int]:
    """The vertices that are selected in a mesh, in edit mode or not, and that can be seen."""
    obj.update_from_editmode()
    return {v.index for v in obj.data.vertices if v.select and not v.hide}


def audit() -> None:
    """Press Audit Skin."""
    properties.state(bpy.context).profile = "EVERYTHING"
    assert bpy.ops.quat_audit.audit_skin("EXEC_DEFAULT") == {"FINISHED"}


def codes() -> list[str]:
    """The rules that have findings on meshes."""
    return sorted({row.key.code for row in RESULTS.rows if row.key.address.kind == MESH})


def choose_finding(code: str) -> Any:
    """Look at the first finding of a rule; its row."""
    number = next(n for n, row in enumerate(RESULTS.rows) if row.key.code == code)
    properties.state(bpy.context).active = number
    return RESULTS.rows[number]
