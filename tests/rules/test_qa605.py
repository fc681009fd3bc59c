# SPDX-License-Identifier: GPL-3.0-or-later
"""QA605 volume-collapse."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quat_audit.findings.finding import NONE, NOTE, WARNING
from tests.judging import audit_skin
from tests.skinning import scalar
from tests.skinning.rules_on import found
from tests.skinning.test_measure import X, Z

TUBE = scalar.make_tube(rings=41)


@pytest.mark.parametrize("axis", [X, Z], ids=["bent", "twisted"])
def test_a_collapsing_joint_is_named_with_its_worst_frame(axis: tuple[float, float, float]) -> None:
    (finding,) = found("QA605", TUBE, scalar.bend(TUBE, axis, [0.0, 90.0, 150.0, 120.0]))
    assert (finding.severity, finding.fix, finding.bone) == (WARNING, NONE, "Bone1")
    o = finding.occurrences
    assert o.frames.tolist() == [[3.0, 3.0]] and len(o) == 1
    # Shared a : b it keeps sqrt(1 - 4ab sin²(75°)): 26 % for halves, 55 % at 4ab = 0.75.
    assert 26.0 < o.measured["radius_percent"][0] < 55.0
    assert o.measured["lost_percent"][0] == pytest.approx(100 - o.measured["radius_percent"][0])
    assert "frame 3: the joint keeps" in finding.message


def test_a_joint_above_the_limit_is_silent() -> None:
    motion = scalar.bend(TUBE, Z, [0.0, 60.0, 80.0])  # cos 40° = 77 %
    assert found("QA605", TUBE, motion) == []
    assert found("QA605", TUBE, motion, {"QA605": {"radius_percent": 90.0}})


def test_a_hard_joint_shares_no_vertex_and_cannot_collapse() -> None:
    hard = scalar.make_tube(soft=1e-3, rings=22)
    assert found("QA605", hard, scalar.bend(hard, Z, [150.0])) == []


def test_not_while_preserve_volume_is_on_nor_where_positions_are_unknown() -> None:
    motion = scalar.bend(TUBE, Z, [150.0])
    assert found("QA605", TUBE, motion)
    assert found("QA605", replace(TUBE, preserve_volume=True), motion) == []
    assert found("QA605", replace(TUBE, blocking=("bendy bones are not computed",)), motion) == []


def test_a_cap_lowers_what_a_mesh_is_reported_with() -> None:
    motion = scalar.bend(TUBE, Z, [150.0])
    severities = [
        {f.code: (f.severity, *f.occurrences.severity.tolist()) for f in audit_skin(TUBE, motion, caps=caps)}["QA605"]
        for caps in (None, {"QA605": NOTE}, {"QA601": NOTE})
    ]
    assert severities == [(WARNING, WARNING), (NOTE, NOTE), (WARNING, WARNING)]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_vertex_without_a_place_hides_no_collapse(value: float) -> None:
    motion = scalar.bend(TUBE, Z, [150.0])
    (whole,) = found("QA605", TUBE, motion)
    points = TUBE.vertices.copy()
    points[len(points) // 2] = value
    (finding,) = found("QA605", replace(TUBE, vertices=points), motion)
    for name, values in finding.occurrences.measured.items():
        assert values[0] == pytest.approx(whole.occurrences.measured[name][0], rel=0.02), name
