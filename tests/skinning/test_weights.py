# SPDX-License-Identifier: GPL-3.0-or-later
"""Cuts and storage of weights: REFERENCE.md 22 and 23, and properties against a scalar oracle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quat_audit.skinning import weights
from quat_audit.skinning.skin import Skin, influences
from tests.skinning import scalar

SIXTEEN = [0.2424, 0.1997, 0.1924, 0.05653, 0.0563, 0.0545, 0.0309, 0.02831]
SIXTEEN += [0.0281, 0.0224, 0.0214, 0.02091, 0.0202, 0.0155, 0.0098, 0.0]


def of_vertex(skin: Skin, vertex: int = 0) -> dict[int, float]:
    inf = influences(skin)
    rows = slice(inf.offsets[vertex], inf.offsets[vertex + 1])
    return dict(zip(inf.bone[rows].tolist(), inf.weight[rows].tolist(), strict=True))


def test_sixteen_weights_cut_to_four() -> None:
    order = np.random.default_rng(22).permutation(16)
    skin = scalar.make_skin([(0, 0, 0)], [[(int(b), SIXTEEN[b]) for b in order]], ((0, 0, 0),) * 16)
    assert influences(skin).total[0] == pytest.approx(0.99935)
    assert list(weights.counts(skin)) == [15]
    kept = of_vertex(weights.cut(skin, 4))
    assert sorted(kept) == [0, 1, 2, 3]
    np.testing.assert_allclose([kept[b] for b in range(4)], [0.3508, 0.2890, 0.2784, 0.0818], atol=5e-5)
    assert f"{100 * weights.dropped(skin, 4)[0]:.1f}" == "30.9"


def test_a_bone_listed_again_counts_with_its_sum() -> None:
    entries = [(0, 0.75), (1, 0.25)] * 4
    skin = scalar.make_skin([(0, 0, 0)], [entries])
    assert of_vertex(weights.cut(skin, 4)) == {0: 0.75, 1: 0.25}
    assert weights.dropped(skin, 4)[0] == 0.0
    assert list(weights.counts(skin)) == [2]


vertex_weights = st.lists(
    st.tuples(st.integers(0, 8), st.floats(0.0, 1.0, width=32)), min_size=0, max_size=9, unique_by=lambda e: e[0]
)


@given(entries=st.lists(vertex_weights, min_size=1, max_size=6), most=st.integers(1, 6))
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_a_cut_keeps_the_heaviest_and_every_other_group(entries: list[list[tuple[int, float]]], most: int) -> None:
    skin = scalar.make_skin([(0, 0, 0)] * len(entries), entries, ((0, 0, 0),) * 7, extra_groups=["A", "B"])
    after = weights.cut(skin, most)
    after.validate()
    for vertex, given_entries in enumerate(entries):
        deforming = sorted((e for e in given_entries if e[0] < 7 and e[1] > 0), key=lambda e: (-e[1], e[0]))[:most]
        total = sum(x for _, x in deforming)
        assert of_vertex(after, vertex) == pytest.approx({b: x / total for b, x in deforming})
        rows = slice(after.offsets[vertex], after.offsets[vertex + 1])
        others = [(int(g), float(x)) for g, x in zip(after.group[rows], after.weight[rows], strict=True) if g >= 7]
        assert others == [e for e in given_entries if e[0] >= 7]
    again = weights.cut(after, most)
    np.testing.assert_allclose(again.weight, after.weight, atol=1e-15)


def test_a_cut_leaves_the_other_vertices_alone() -> None:
    entries = [[(0, 0.2), (1, 0.3), (2, 0.1)], [(2, 0.1), (0, 0.3), (1, 0.2)]]
    skin = scalar.make_skin([(0, 0, 0)] * 2, entries, ((0, 0, 0),) * 3)
    after = weights.cut(skin, 1, vertices=np.array([True, False]))
    assert of_vertex(after, 0) == {1: 1.0}
    assert list(after.group[1:]) == [2, 0, 1] and list(after.weight[1:]) == [0.1, 0.3, 0.2]
    with pytest.raises(ValueError, match="at least 1 influence, got 0"):
        weights.cut(skin, 0)


@given(entries=st.lists(vertex_weights, min_size=1, max_size=6))
@settings(max_examples=80, deadline=None)
@pytest.mark.slow
def test_eight_bits_sum_to_all_of_them(entries: list[list[tuple[int, float]]]) -> None:
    skin = scalar.make_skin([(0, 0, 0)] * len(entries), entries, ((0, 0, 0),) * 9)
    stored, exact = weights.quantise(skin), weights.cut(skin)
    for vertex in range(len(entries)):
        parts = {b: 255 * x for b, x in of_vertex(stored, vertex).items()}
        ideal = of_vertex(exact, vertex)
        if not ideal:
            assert not parts
            continue
        assert all(abs(p - round(p)) < 1e-9 for p in parts.values())
        assert sum(parts.values()) == pytest.approx(255)
        heaviest = min(ideal, key=lambda b: (-ideal[b], b))
        for bone, weight in ideal.items():
            allowed = 0.5 if bone != heaviest else 0.5 * len(ideal)
            assert abs(parts.get(bone, 0.0) - 255 * weight) <= allowed + 1e-9


def test_what_is_not_finite_is_no_influence() -> None:
    skin = scalar.make_skin([(0, 0, 0)], [[(0, float("nan")), (1, 0.5), (2, float("inf"))]], ((0, 0, 0),) * 3)
    assert of_vertex(weights.cut(skin, 4)) == {1: 1.0}


def test_sums_off_one() -> None:
    entries = [[(0, 1.0)], [(0, 0.5), (1, 0.497)], [(0, 0.9991)], [], [(0, 2.0)], [(0, float("nan"))]]
    skin = scalar.make_skin([(0, 0, 0)] * 6, entries)
    assert list(np.flatnonzero(weights.not_normalised(influences(skin), 2e-3))) == [1, 4]
    assert list(np.flatnonzero(weights.not_normalised(influences(replace(skin, weight=skin.weight * 2)), 2e-3))) == [
        0,
        1,
        2,
        4,
    ]
