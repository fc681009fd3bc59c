# SPDX-License-Identifier: GPL-3.0-or-later
"""QA608 bad-weight."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from quat_audit.findings.finding import ERROR, NONE, SAFE
from tests.skinning import scalar
from tests.skinning.rules_on import assert_repaired, entries, found, total

NAN, INF = math.nan, math.inf
WEIGHTS = [
    [(0, 0.5), (1, 0.5)],
    [(0, NAN), (1, 0.4), (2, 0.7)],
    [(0, INF), (1, 0.3)],
    [(0, 1.5), (1, -0.5)],
    [(0, NAN)],
    [(0, 2.0)],  # not normalised (QA602), but all of its vertex
]
SKIN = scalar.make_skin([(0, 0, 1.0)] * len(WEIGHTS), WEIGHTS, extra_groups=["Other"])
MOTION = scalar.bend(SKIN, (1.0, 0.0, 0.0), [0.0, 50.0])


def test_each_kind() -> None:
    (finding,) = found("QA608", SKIN, MOTION)
    o = finding.occurrences
    assert finding.severity == ERROR
    assert list(o.rows) == [1, 2, 3, 4]
    assert list(o.kind) == ["not finite", "not finite", "negative", "not finite"]
    assert list(o.fix) == [SAFE, SAFE, SAFE, NONE]
    assert finding.what(2).startswith("weight -0.5 in group Bone1; ")
    assert finding.what(3) == "weight nan in group Bone0"


def test_sound_weights_are_silent() -> None:
    tube = scalar.make_tube()
    assert found("QA608", tube, scalar.bend(tube, (1.0, 0.0, 0.0), [90.0])) == []


def test_the_fix_removes_the_entry_and_renormalises() -> None:
    repair = assert_repaired("QA608", SKIN, MOTION)
    assert entries(repair.subject.skin, 1) == [(1, 1.0), (2, 0.7)]
    assert entries(repair.subject.skin, 2) == [(1, 1.0)]
    assert entries(repair.subject.skin, 3) == [(0, 1.0)]
    assert np.isnan(total(repair.subject.skin)[4])  # all that it has: a person's to decide
    assert repair.proof.vertices == 3


def test_a_locked_group_is_a_persons_to_open() -> None:
    skin = replace(SKIN, groups=replace(SKIN.groups, locked=np.array([True, False, False])))
    (finding,) = found("QA608", skin, MOTION)
    assert list(finding.occurrences.fix) == [NONE, NONE, SAFE, NONE]


def test_the_millimetres_are_what_the_fix_moves() -> None:
    place = np.array([1.0, 2.0, 3.0])
    skin = replace(SKIN, vertices=np.tile(place, (len(WEIGHTS), 1)), mm_per_unit=1000.0)
    (finding,) = found("QA608", skin, MOTION)
    moved = 1000.0 * np.linalg.norm((MOTION.deform[1, 1] @ [*place, 1.0])[:3] - place)
    mm = finding.occurrences.measured["moves_mm"]
    # Blender holds a vertex with a NaN where it is; without it, it goes with the whole of Bone1. An infinite weight
    # puts it nowhere. 1.5 and -0.5 take it half as far the other way (by dual quaternions round an arc, and less far).
    np.testing.assert_allclose(mm, [moved, np.nan, 0.5 * moved, np.nan], rtol=1e-5)
    assert finding.what(2).endswith(f"; {0.5 * moved:.1f} mm from its place")
    assert finding.message.endswith(f"; up to {moved:.1f} mm from their place")
    assert assert_repaired("QA608", skin, MOTION).proof.moved_mm == np.nanmax(mm)


def test_there_are_none_where_something_else_deforms_the_mesh() -> None:
    (finding,) = found("QA608", replace(SKIN, blocking=("shape keys",)), MOTION)
    assert np.isnan(finding.occurrences.measured["moves_mm"]).all()
    assert "mm" not in finding.message and "mm" not in finding.what(0)
