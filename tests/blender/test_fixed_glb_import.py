# SPDX-License-Identifier: GPL-3.0-or-later
"""A repaired .glb is still one that Blender imports, with every action and pose as in the original."""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit import api

bpy = pytest.importorskip("bpy")

from quat_audit.blender import open
from tests.blender import build_case as build
from tests.blender import scene_poses as scene


def imported(path) -> dict[str, np.ndarray]:
    """action → (channels, keys…) of all values as Blender's importer made them, one array an action."""
    open.import_file(path)
    return {
        action.name: np.concatenate([scene.points(c, "co", 2, np.float32) for c in build.fcurves_of(action)])
        for action in bpy.data.actions
    }


def test_knight(cases, tmp_path):
    source = cases / "files/KayKit-Character-Pack-Adventures-1.0/Knight.glb"
    report = api.fix_file(source, output=tmp_path / "Knight.glb")
    assert report.repair is not None and report.repair.output is not None
    was = imported(source)
    now = imported(tmp_path / "Knight.glb")
    assert len(was) == 76 and set(now) == set(was)
    for name, values in was.items():
        # Blender's importer repairs flips itself, starting from the same first key: the same curves come out.
        np.testing.assert_array_equal(now[name], values)
