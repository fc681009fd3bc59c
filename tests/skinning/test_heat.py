# SPDX-License-Identifier: GPL-3.0-or-later
"""Heat maps by vertex, against the closed form and the scan of the same clip."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quat_audit.skinning import heat, measure
from quat_audit.skinning.skin import Motion
from tests.skinning import scalar

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)
TUBE = scalar.make_tube()


@pytest.mark.parametrize("axis", [X, Z], ids=["bent", "twisted"])
def test_the_radius_that_each_vertex_keeps(axis: tuple[float, float, float]) -> None:
    angles = [0.0, 60.0, 150.0]
    kept = heat.radius_kept(TUBE, scalar.bend(TUBE, axis, angles))
    share = np.clip(0.5 + (TUBE.vertices[:, 2] - 1.0), 0.0, 1.0)
    sine = np.sin(np.radians(angles) / 2)[:, None]
    off_axis = np.linalg.norm(np.cross(TUBE.vertices - [0.0, 0.0, 1.0], axis), axis=1) > 1e-6
    expected = np.where(off_axis, np.sqrt(1 - 4 * share * (1 - share) * sine**2), 1.0)
    np.testing.assert_allclose(kept, expected, atol=2e-4)


def test_the_gap_of_each_vertex_is_what_the_scan_says_of_all() -> None:
    motion = scalar.bend(TUBE, Z, [10.0, 90.0, 170.0])
    gap, scan = heat.gap_mm(TUBE, motion), measure.scan(TUBE, motion)
    np.testing.assert_allclose(gap.max(axis=1), scan.gap.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(gap.mean(axis=1), scan.gap_mean, rtol=1e-4)


def test_the_cut_of_each_vertex() -> None:
    heads = [(0.0, 0.0, 0.1 * n) for n in range(6)]
    even = [(n, 1 / 6) for n in range(6)]
    skin = scalar.make_skin([(0.2, 0, 0.5), (0.2, 0, 0.4)], [even, even[:4]], heads)
    turns = [scalar.about(scalar.turn(X, 15.0 * n), heads[n]) for n in range(6)]
    motion = Motion(np.array([1.0]), np.array([turns]), np.eye(4)[None], np.diag([2.0, 2.0, 2.0, 1.0])[None])
    a, b = (
        scalar.linear_blend(skin.vertices[0], [(1.0, motion.deform[0, n]) for n in range(count)]) for count in (6, 4)
    )
    np.testing.assert_allclose(heat.cut_mm(skin, motion), [[2000 * math.dist(a, b), 0.0]], rtol=1e-4, atol=1e-6)
