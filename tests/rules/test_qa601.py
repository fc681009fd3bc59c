# SPDX-License-Identifier: GPL-3.0-or-later
"""QA601 unweighted-vertex."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quat_audit.findings.finding import ERROR, NONE, UNSAFE
from quat_audit.skinning.weights import nearest
from tests.skinning import scalar
from tests.skinning.rules_on import assert_repaired, entries, found

POINTS = [(0, 0, 0), (0, 0, 1), (0, 0, 2), (0.1, 0, 1.9), (0, 0, 0.1), (0, 0, 3)]
WEIGHTS = [[(0, 1.0)], [(0, 0.5), (1, 0.5)], [(1, 0.8)], [], [(2, 1.0)], [(0, 0.0001), (1, 0.0)]]
SKIN = scalar.make_skin(POINTS, WEIGHTS, extra_groups=["No bone"])
MOTION = scalar.bend(SKIN, (1.0, 0.0, 0.0), [0.0, 40.0])


def test_vertices_that_no_bone_moves() -> None:
    (finding,) = found("QA601", SKIN, MOTION)
    assert list(finding.occurrences.rows) == [3, 4, 5]
    assert (finding.severity, finding.fix) == (ERROR, UNSAFE)
    assert "3 vertices have no weight on any deforming bone (of 6)" in finding.message
    assert finding.where(0) == "vertex 3"


def test_a_weighted_mesh_is_silent() -> None:
    tube = scalar.make_tube()
    assert found("QA601", tube, scalar.bend(tube, (1.0, 0.0, 0.0), [90.0])) == []


def test_bound_to_nothing() -> None:
    skin = scalar.make_skin(POINTS, [[]] * 6)
    (finding,) = found("QA601", skin, MOTION)
    assert "bound to nothing: none of its 6 vertices" in finding.message and finding.fix == NONE


def test_left_out_on_purpose_and_not_a_number_are_not_reported() -> None:
    assert found("QA601", replace(SKIN, mask=np.array([1, 1, 1, 0, 0, 0.0])), MOTION) == []
    by_envelope = found("QA601", replace(SKIN, envelopes=True), MOTION)
    assert [list(f.occurrences.rows) for f in by_envelope] == [[5]]  # it is in bones' groups, with nothing in them
    two_rigs = replace(SKIN, groups=replace(SKIN.groups, other_rig=np.array([False, False, True])))
    assert [list(f.occurrences.rows) for f in found("QA601", two_rigs, MOTION)] == [[3, 5]]
    broken = scalar.make_skin(POINTS[:2], [[(0, 1.0)], [(0, float("nan"))]])
    assert found("QA601", broken, MOTION) == []


def test_the_fix_takes_the_nearest_vertex_that_has_weights() -> None:
    assert_repaired("QA601", SKIN, MOTION)  # safe fixes do nothing
    repair = assert_repaired("QA601", SKIN, MOTION, unsafe=True)
    assert entries(repair.subject.skin, 3) == [(1, 0.8)]
    assert entries(repair.subject.skin, 4) == [(2, 1.0), (0, 1.0)]
    assert entries(repair.subject.skin, 5) == [(1, 0.8)]
    assert repair.proof.vertices == 3 and repair.proof.sound_mm == 0.0 and repair.proof.moved_mm > 100.0


def test_linked_weights_are_left_alone() -> None:
    linked = replace(SKIN, read_only="the mesh is linked from another file")
    repair = assert_repaired("QA601", linked, MOTION, unsafe=True)
    assert [(r.code, r.why) for r in repair.refused] == [("QA601", "the mesh is linked from another file")]


def test_nearest_against_every_distance() -> None:
    rng = np.random.default_rng(601)
    points, among = rng.normal(size=(70, 3)), rng.normal(size=(90, 3))
    every = np.linalg.norm(points[:, None] - among[None], axis=2)
    np.testing.assert_array_equal(nearest(points, among), every.argmin(axis=1))
