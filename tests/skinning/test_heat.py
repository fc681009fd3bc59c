# SPDX-License-Identifier: GPL-3.0-or-later
"""Heat maps: each vertex's figure, against closed forms and against whole meshes; the colors of the scale."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.skinning import dual_quaternion, heat, linear, measure
from quat_audit.skinning.skin import Motion
from tests.skinning import scalar

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize("axis", [X, Z], ids=["bent elbow", "twisted tube"])
def test_the_loss_is_what_the_closed_form_says(axis: tuple[float, float, float]) -> None:
    """A vertex shared a : b keeps 1 - 4ab sin²(t/2) of the cross-section about the axis of the turn under LBS."""
    angles = [0.0, 90.0, 135.0, 179.0]
    ring = [(math.cos(a) + 0.01, math.sin(a), 1.0) for a in np.linspace(0.1, 2 * math.pi, 24, endpoint=False)]
    for share in (0.5, 0.3):
        skin = scalar.make_skin(ring, [[(0, 1 - share), (1, share)]] * 24, ((0, 0, 0), (0, 0, 1)))
        lost = heat.loss_percent(skin, scalar.bend(skin, axis, angles))
        expected = [100 * 4 * share * (1 - share) * math.sin(math.radians(t) / 2) ** 2 for t in angles]
        np.testing.assert_allclose(lost, np.repeat(np.array(expected)[:, None], 24, axis=1), atol=5e-2)


def test_the_gap_and_the_cut_are_those_of_the_scan() -> None:
    rng = np.random.default_rng(5)
    skin = scalar.make_tube()
    rows = [[(0, float(a)), (1, 1.0 - float(a))] for a in rng.uniform(0, 1, len(skin))]
    skin = replace(scalar.make_skin(skin.vertices.tolist(), rows, ((0, 0, 0), (0, 0, 1))), triangles=skin.triangles)
    motion = scalar.bend(skin, X, list(range(0, 170, 10)))
    scan = measure.scan(skin, motion, most=1)
    gap = heat.gap_mm(skin, motion)
    np.testing.assert_allclose(gap.max(axis=1), scan.gap.max(axis=1), atol=1e-3)
    np.testing.assert_array_equal(gap.argmax(axis=1)[1:], scan.gap_vertex[1:])
    np.testing.assert_allclose(heat.cut_mm(skin, motion, most=1).max(axis=1), scan.cut, atol=1e-3)
    assert not heat.cut_mm(skin, motion).any()


def test_figures_are_the_same_wherever_the_objects_are() -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, Z, [0.0, 60.0, 150.0])
    here = {kind: heat.heat(skin, motion, kind, most=1) for kind in heat.KINDS}
    turn = np.eye(4)
    turn[:3] = [[0, -1, 0, 3], [1, 0, 0, -2], [0, 0, 1, 5]]
    # The mesh object is moved, its vertices the other way: in armature space nothing changes.
    back = np.linalg.inv(turn)
    moved = replace(skin, vertices=skin.vertices @ back[:3, :3].T + back[:3, 3])
    elsewhere = Motion(motion.frames, motion.deform, np.tile(turn, (3, 1, 1)), np.tile(turn, (3, 1, 1)))
    for kind, values in here.items():
        assert values.dtype == np.float32 and values.shape == (3, len(skin))
        np.testing.assert_allclose(heat.heat(moved, elsewhere, kind, most=1), values, atol=2e-2, err_msg=kind.name)


def test_what_is_no_number_shows_as_nothing() -> None:
    skin = scalar.make_tube()
    skin = replace(skin, weight=np.where(np.arange(len(skin.weight)) % 7 == 0, np.nan, skin.weight))
    motion = scalar.bend(skin, X, [0.0, 120.0])
    for kind in heat.KINDS:
        values = heat.heat(skin, motion, kind, most=1)
        assert np.isfinite(values).all() and values.min() >= 0.0


def test_an_unskinned_mesh_has_no_heat() -> None:
    skin = scalar.make_skin([(0, 0, 0)] * 3, [[]] * 3, ((0, 0, 0), (0, 0, 1)))
    motion = scalar.bend(skin, X, [0.0, 90.0])
    for kind in heat.KINDS:
        assert not heat.heat(skin, motion, kind).any()
    moved = dual_quaternion.deform(skin, motion) - linear.deform(skin, motion)
    assert not moved.any()


def test_an_unknown_kind_is_an_error() -> None:
    skin = scalar.make_tube()
    with pytest.raises(ValueError, match="gap, loss, cut"):
        heat.heat(skin, scalar.bend(skin, X, [0.0]), heat.HeatMap("stretch", "", "%"))


def test_colors_run_along_the_ramp() -> None:
    steps = len(heat.RAMP) - 1
    at = np.linspace(0.0, 3.0, steps + 1)
    np.testing.assert_allclose(heat.colors(at, 3.0), heat.RAMP, atol=1e-6)
    middle = heat.colors([0.5 * 3.0 / steps], 3.0)[0]
    np.testing.assert_allclose(middle, (np.array(heat.RAMP[0]) + heat.RAMP[1]) / 2, atol=1e-6)
    np.testing.assert_allclose(
        heat.colors([np.nan, -1.0, 9.0], 3.0), [heat.RAMP[0], heat.RAMP[0], heat.RAMP[-1]], atol=1e-6
    )
    np.testing.assert_allclose(heat.colors([0.0, 5.0], 0.0), [heat.RAMP[0]] * 2)
    assert heat.colors(np.zeros((2, 0)), 1.0).shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("value", "top"),
    [(0.0, 1.0), (1.0, 1.0), (1.01, 2.0), (37.0, 50.0), (0.0031, 0.005), (99.0, 100.0), (math.nan, 1.0)],
)
def test_a_scale_ends_at_a_round_figure(value: float, top: float) -> None:
    assert heat.round_top(value) == pytest.approx(top)


def test_the_worst_is_the_largest_figure_of_any_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, Z, [0.0, 60.0, 150.0, 20.0, 90.0])
    for held in (heat.HELD, len(skin) * 2):  # all frames at a time, and two
        monkeypatch.setattr(heat, "HELD", held)
        for kind in heat.KINDS:
            figures = heat.heat(skin, motion, kind, most=1)
            worst = heat.worst(skin, motion, kind, most=1)
            frame, vertex = np.unravel_index(int(figures.argmax()), figures.shape)
            assert (worst.value, worst.frame, worst.vertex) == (figures.max(), motion.frames[frame], vertex)
            assert worst.bone == skin.bones.names[1] and worst.frame == motion.frames[2]
    with pytest.raises(ValueError, match="no frames"):
        heat.worst(skin, motion.part(slice(0, 0)), heat.GAP)
