# SPDX-License-Identifier: GPL-3.0-or-later
"""QA603 too-many-influences."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.findings.finding import NONE, UNSAFE, WARNING
from quat_audit.skinning.skin import make_motion
from tests.skinning import scalar
from tests.skinning.rules_on import assert_repaired, entries, found
from tests.skinning.test_weights import SIXTEEN

HEADS = [(0.0, 0.0, 0.1 * n) for n in range(16)]


def _skin(**fields):
    few = [(0, 0.4), (1, 0.3), (2, 0.2), (3, 0.1)]
    return scalar.make_skin([(0.3, 0, 0.8), (0.3, 0, 0.2)], [list(enumerate(SIXTEEN)), few], HEADS, **fields)


def _motion():
    rng = np.random.default_rng(603)
    angles = rng.uniform(-60, 60, (4, 16))
    deform = [
        [scalar.about(scalar.turn((1, 0, 0), float(a)), h) for a, h in zip(row, HEADS, strict=True)] for row in angles
    ]
    return make_motion(deform, [10, 20, 30, 40])


def test_what_the_cut_drops_and_moves() -> None:
    skin, motion = _skin(), _motion()
    (finding,) = found("QA603", skin, motion)
    o = finding.occurrences
    assert list(o.rows) == [0] and (finding.severity, finding.fix) == (WARNING, UNSAFE)
    assert o.measured["influences"][0] == 15
    assert "30.9 % of its influence dropped" in finding.message
    far = []
    for frame in range(4):
        a, b = (
            scalar.linear_blend(skin.vertices[0], [(w, motion.deform[frame, n]) for n, w in enumerate(way)])
            for way in (SIXTEEN, SIXTEEN[:4])
        )
        far.append(1000 * math.dist(a, b))
    assert o.measured["cut_mm"][0] == pytest.approx(max(far), rel=1e-4)
    assert o.frames[0, 0] == motion.frames[int(np.argmax(far))]
    size = 1000 * math.dist(*skin.vertices)
    assert o.measured["of_mesh_percent"][0] == pytest.approx(100 * max(far) / size, rel=1e-4)


def test_four_are_silent_and_the_number_is_a_setting() -> None:
    skin = _skin()
    assert found("QA603", skin, _motion(), {"QA603": {"influences": 15}}) == []
    (both,) = found("QA603", skin, _motion(), {"QA603": {"influences": 3}})
    assert list(both.occurrences.rows) == [0, 1]


def test_the_fix_keeps_the_heaviest_and_says_what_moved() -> None:
    skin, motion = _skin(), _motion()
    assert assert_repaired("QA603", skin, motion).subject.skin is skin
    repair = assert_repaired("QA603", skin, motion, unsafe=True)
    kept = dict(entries(repair.subject.skin, 0))
    np.testing.assert_allclose([kept[n] for n in range(4)], [0.3508, 0.2890, 0.2784, 0.0818], atol=5e-5)
    cut_mm = found("QA603", skin, motion)[0].occurrences.measured["cut_mm"][0]
    assert repair.proof.moved_mm >= cut_mm * 0.999


def test_a_locked_group_protects_its_vertices() -> None:
    skin = _skin()
    locked = np.zeros(16, dtype=bool)
    locked[7] = True
    skin = replace(skin, groups=replace(skin.groups, locked=locked))
    assert found("QA603", skin, _motion())[0].occurrences.fix.tolist() == [NONE]
    assert assert_repaired("QA603", skin, _motion(), unsafe=True).subject.skin is skin
