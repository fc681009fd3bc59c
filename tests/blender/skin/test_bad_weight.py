# SPDX-License-Identifier: GPL-3.0-or-later
"""QA608's millimeters against Blender: how far its own evaluation moves the vertices when the fix is done."""

from __future__ import annotations

import math

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from tests.blender import skinned


def _spoil(obj, vertices: list[int]) -> None:
    """Weights that are no number, in the group of the first bone. (Negative ones Blender's Python cuts off.)"""
    import bmesh

    mesh = bmesh.new()
    mesh.from_mesh(obj.data)
    layer = mesh.verts.layers.deform.verify()
    mesh.verts.ensure_lookup_table()
    for vertex in vertices:
        mesh.verts[vertex][layer][0] = math.nan
    mesh.to_mesh(obj.data)
    mesh.free()


def _on_every_frame(obj) -> np.ndarray:
    """(methods, frames, V, 3) in world space."""
    scene, found = bpy.context.scene, []
    for preserve in (False, True):
        obj.modifiers["Armature"].use_deform_preserve_volume = preserve
        for frame in range(scene.frame_start, scene.frame_end + 1):
            scene.frame_set(frame)
            world = np.array(obj.matrix_world)
            found.append(skinned.evaluated(obj) @ world[:3, :3].T + world[:3, 3])
    obj.modifiers["Armature"].use_deform_preserve_volume = False
    return np.array(found).reshape(2, -1, *found[0].shape)


def test_they_are_what_blender_moves() -> None:
    obj, rig = skinned.make_tube()
    skinned.animate(rig, 100.0)
    rig.scale = (2.0, 2.0, 2.0)
    bad = [100, 126, 150, 240]
    _spoil(obj, bad)
    before = _on_every_frame(obj)
    (finding,) = [f for f in api.audit_mesh(obj) if f.code == "QA608"]
    assert list(finding.occurrences.rows) == bad
    fixed = api.fix_mesh(obj)
    assert "QA608" in [applied.code for applied in fixed.applied]
    moved = np.linalg.norm(_on_every_frame(obj) - before, axis=-1).max(axis=(0, 1)) * 1000.0
    np.testing.assert_allclose(finding.occurrences.measured["moves_mm"], moved[bad], atol=0.02)
    assert moved[bad].min() > 10.0
    assert fixed.proof.moved_mm == pytest.approx(moved.max(), abs=0.02)
    assert finding.occurrences.measured["moves_mm"].max() == pytest.approx(moved.max(), abs=0.02)
