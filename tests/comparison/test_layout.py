# SPDX-License-Identifier: GPL-3.0-or-later
"""Pixels: dashes, ticks, projection and the free part of a region."""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.comparison import layout
from quat_audit.comparison.layout import Box


@pytest.mark.parametrize("seed", range(5))
def test_dashes_lie_on_the_path_and_have_their_share_of_it(seed: int) -> None:
    path = np.cumsum(np.random.default_rng(seed).uniform(0.1, 30.0, size=(40, 2)), axis=0)
    whole = np.linalg.norm(np.diff(path, axis=0), axis=1).sum()
    found = layout.dashes(path, 7.0, 5.0)
    drawn = np.linalg.norm(found[:, 1] - found[:, 0], axis=1).sum()
    full, rest = divmod(whole, 12.0)
    assert drawn == pytest.approx(7.0 * full + min(rest, 7.0))


def test_a_path_with_holes_and_one_without_length() -> None:
    path = np.array([[0.0, 0.0], [10.0, 0.0], [np.nan, 0.0], [20.0, 0.0], [20.0, 0.0]])
    assert layout.segments(path).tolist() == [[[0, 0], [10, 0]], [[20, 0], [20, 0]]]
    assert layout.dashes(path, 100.0, 1.0).tolist() == [[[0, 0], [10, 0]]]
    assert layout.dashes(path[3:], 7.0, 5.0).shape == (0, 2, 2)


def test_what_is_behind_the_eye_has_no_place() -> None:
    perspective = np.array([[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, -1, 0]])
    seen = layout.to_region(np.array([[0.0, 0.0, -2.0], [1.0, -1.0, -2.0], [0.0, 0.0, 1.0]]), perspective, 200, 100)
    assert seen[:2].tolist() == [[100.0, 50.0], [150.0, 25.0]] and np.isnan(seen[2]).all()


@pytest.mark.parametrize("top", [0.2, 3.0, 12.0, 45.0, 181.0])
def test_ticks_are_round_within_and_few(top: float) -> None:
    found = layout.ticks(0.0, top, 5, layout.DEGREE_STEPS)
    assert found[0] == 0.0 and not np.signbit(found[0]) and 2 <= len(found) <= 5 and found[-1] <= top


def test_the_sidebar_cuts_off_its_side() -> None:
    whole = Box(0, 0, 1000, 600)
    covering = [Box(800, 0, 200, 600), Box(0, 0, 60, 560), Box(0, 560, 1000, 40), Box(0, 0, 1, 1)]
    assert layout.free_area(whole, covering) == Box(60, 0, 740, 560)
    assert layout.free_area(whole, [Box(0, 0, 200, 600)]) == Box(200, 0, 800, 600)
