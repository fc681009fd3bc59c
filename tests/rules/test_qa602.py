# SPDX-License-Identifier: GPL-3.0-or-later
"""QA602 weights-not-normalised."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quat_audit.findings.finding import NONE, SAFE, UNSAFE, WARNING
from tests.skinning import scalar
from tests.skinning.rules_on import assert_repaired, entries, found, total

POINTS = [(0.2, 0, 1.0), (0.2, 0, 1.5), (0, 0, 0.5), (0, 0.3, 1.2)]


def _skin(weights, **fields):
    return scalar.make_skin(POINTS[: len(weights)], weights, extra_groups=["Other"], **fields)


def test_sums_off_one_and_the_millimetres_that_they_cost() -> None:
    skin = _skin([[(0, 0.5), (1, 0.3)], [(1, 1.0)], [(0, 0.9985)], [(0, 0.9), (1, 0.4), (2, 0.7)]])
    motion = scalar.bend(skin, (1.0, 0.0, 0.0), [0.0, 60.0, 90.0])
    (finding,) = found("QA602", skin, motion)
    o = finding.occurrences
    assert list(o.rows) == [0, 3] and (finding.severity, finding.fix) == (WARNING, SAFE)
    np.testing.assert_allclose(o.measured["sum"], [0.8, 1.3])
    for row, vertex in enumerate((0, 3)):
        far = []
        for frame in range(3):
            placed = [(w, motion.deform[frame, b]) for b, w in entries(skin, vertex) if b < 2]
            there = scalar.linear_blend(skin.vertices[vertex], placed)
            far.append(1000.0 * abs(sum(w for w, _ in placed) - 1.0) * float(np.linalg.norm(there)))
        assert o.measured["engine_mm"][row] == pytest.approx(max(far), rel=1e-5)
        assert o.frames[row, 0] == motion.frames[int(np.argmax(far))]
    assert np.all(o.measured["moves_mm"] < 1e-3)


def test_the_safe_fix_moves_nothing() -> None:
    skin = _skin([[(0, 0.5), (1, 0.3)], [(1, 1.0)], [(2, 0.4), (0, 0.2)]])
    motion = scalar.bend(skin, (1.0, 0.0, 0.0), [45.0, 90.0])
    repair = assert_repaired("QA602", skin, motion)
    np.testing.assert_allclose(total(repair.subject.skin), 1.0, atol=1e-12)
    assert entries(repair.subject.skin, 0) == [(0, pytest.approx(0.625)), (1, pytest.approx(0.375))]
    assert entries(repair.subject.skin, 2)[0] == (2, 0.4)
    assert repair.proof.vertices == 2 and repair.proof.moved_mm < 1e-3


def test_locked_groups_keep_their_weights() -> None:
    skin = _skin([[(0, 0.5), (1, 0.3)], [(0, 0.2), (1, 0.2)], [(0, 0.7)], [(1, 0.6)]])
    skin = replace(skin, groups=replace(skin.groups, locked=np.array([True, False, False])))
    motion = scalar.bend(skin, (1.0, 0.0, 0.0), [90.0])
    (finding,) = found("QA602", skin, motion)
    assert finding.occurrences.fix.tolist() == [UNSAFE, UNSAFE, NONE, SAFE]
    safe = assert_repaired("QA602", skin, motion)
    assert entries(safe.subject.skin, 0) == entries(skin, 0) and entries(safe.subject.skin, 3) == [(1, 1.0)]
    asked = assert_repaired("QA602", skin, motion, unsafe=True)
    assert entries(asked.subject.skin, 0) == [(0, 0.5), (1, pytest.approx(0.5))]
    assert entries(asked.subject.skin, 1) == [(0, 0.2), (1, pytest.approx(0.8))]
    assert entries(asked.subject.skin, 2) == [(0, 0.7)]
    assert asked.proof.moved_mm > 1.0  # which is why it is not safe


vertex_weights = st.lists(st.tuples(st.integers(0, 3), st.floats(0.01, 1.0)), max_size=4, unique_by=lambda e: e[0])


@given(weights=st.lists(vertex_weights, min_size=1, max_size=5), locked=st.lists(st.booleans(), min_size=4, max_size=4))
@settings(max_examples=60, deadline=None, derandomize=True)
@pytest.mark.slow
def test_the_contract(weights, locked) -> None:
    skin = scalar.make_skin([(0.2, 0.1, 0.8)] * len(weights), weights, ((0, 0, 0),) * 3, extra_groups=["Other"])
    skin = replace(skin, groups=replace(skin.groups, locked=np.array(locked)))
    rng = np.random.default_rng(len(weights))
    deform = [[scalar.about(scalar.turn((1, 0, 0), float(a)), (0, 0, 0)) for a in rng.uniform(-80, 80, 3)]]
    from quat_audit.skinning.skin import make_motion

    for unsafe in (False, True):
        assert_repaired("QA602", skin, make_motion(np.array(deform)), unsafe=unsafe)


def test_the_limit_is_a_setting() -> None:
    skin = _skin([[(0, 0.95)]])
    motion = scalar.bend(skin, (1.0, 0.0, 0.0), [90.0])
    assert found("QA602", skin, motion) and not found("QA602", skin, motion, {"QA602": {"sum_tolerance": 0.06}})
