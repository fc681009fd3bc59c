# SPDX-License-Identifier: GPL-3.0-or-later
"""A skin laid out for a shader: read back row by row, it is the skin. (Pixels: tests/blender/test_gpu_skin.py.)"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quat_audit.skinning import shader_tables, weights
from quat_audit.skinning.skin import Skin, influences
from tests.skinning import scalar

HEADS = tuple((0.0, 0.0, float(z)) for z in range(6))


def random_skin(seed: int) -> Skin:
    """Up to seven entries a vertex, bones named twice among them, sums from nothing to seven."""
    rng = np.random.default_rng(seed)
    rows = [
        [(int(b), float(w)) for b, w in zip(rng.integers(0, 6, n), rng.uniform(0, 1, n), strict=True)]
        for n in rng.integers(0, 8, 60)
    ]
    return scalar.make_skin(rng.normal(size=(60, 3)).tolist(), rows, HEADS)


def shares(skin: Skin, rows: np.ndarray, vertex: int, column: int) -> np.ndarray:
    """(B,) what a vertex takes of each bone, added up as a shader does."""
    start = int(rows[vertex, 0]) + shader_tables.WIDTH * int(rows[vertex, 1])
    laid_out = shader_tables.tables(skin, 2).influences[start : start + int(rows[vertex, 2])]
    return np.bincount(laid_out[:, 0].astype(int), laid_out[:, column], minlength=len(skin.bones))


def of_skin(skin: Skin, vertex: int) -> np.ndarray:
    """(B,) the same of the skin itself."""
    inf = influences(skin)
    mine = slice(inf.offsets[vertex], inf.offsets[vertex + 1])
    found = np.bincount(inf.bone[mine], inf.weight[mine], minlength=len(skin.bones))
    return found / inf.total[vertex] if inf.live[vertex] else 0 * found


@pytest.mark.parametrize("seed", range(5))
def test_the_weights_and_those_that_a_cut_leaves(seed: int) -> None:
    skin = random_skin(seed)
    laid_out = shader_tables.tables(skin, 2)
    fewer = weights.cut(skin, 2, vertices=weights.counts(skin) > 2)
    assert (weights.counts(skin) > 2).any()
    for vertex in range(len(skin)):
        np.testing.assert_allclose(shares(skin, laid_out.rows, vertex, 1), of_skin(skin, vertex), atol=1e-6)
        np.testing.assert_allclose(shares(skin, laid_out.rows, vertex, 2), of_skin(fewer, vertex), atol=1e-6)
        assert laid_out.limits[vertex].tolist() == [1.0, influences(skin).live[vertex], influences(fewer).live[vertex]]


def test_a_table_is_a_whole_texture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shader_tables, "WIDTH", 8)
    for count in (0, 1, 7, 8, 9, 20):
        rows = np.arange(4.0 * count).reshape(-1, 4)
        whole = shader_tables.texture(rows)
        assert whole.dtype == np.float32 and whole.shape[1] <= 8
        assert np.array_equal(whole.reshape(-1, 4)[:count], rows) and not whole.reshape(-1, 4)[count:].any()
        for row in range(count):
            assert np.array_equal(whole[row // 8, row % 8], rows[row])


def test_what_is_no_number_is_laid_out_as_nothing() -> None:
    skin = random_skin(1)
    weight = skin.weight.copy()
    weight[::9] = np.nan
    weight[4::9] = np.inf
    laid_out = shader_tables.tables(replace(skin, weight=weight), 2)
    assert np.isfinite(laid_out.influences).all()
    bad = ~np.isfinite(influences(replace(skin, weight=weight)).total)
    assert bad.any() and not laid_out.limits[bad, 1].any()
