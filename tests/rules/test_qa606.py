# SPDX-License-Identifier: GPL-3.0-or-later
"""QA606 preserve-volume-lost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quat_audit.findings.finding import NONE, NOTE, WARNING
from quat_audit.skinning import dual_quaternion, linear
from quat_audit.skinning.skin import size_of
from tests.skinning import scalar
from tests.skinning.rules_on import found
from tests.skinning.test_measure import Z

TUBE = replace(scalar.make_tube(), preserve_volume=True)


def test_the_largest_gap_with_its_joint_and_frame() -> None:
    motion = scalar.bend(TUBE, Z, [0.0, 120.0, 60.0])
    (finding,) = found("QA606", TUBE, motion)
    gap = np.linalg.norm(
        linear.deform(TUBE, motion, np.float64) - dual_quaternion.deform(TUBE, motion, np.float64), axis=2
    )
    o = finding.occurrences
    assert (finding.severity, finding.fix, finding.bone) == (WARNING, NONE, "Bone1")
    assert o.frames[0, 0] == 2.0
    assert o.measured["gap_mm"][0] == pytest.approx(1000 * gap.max(), rel=1e-4)
    assert o.measured["of_mesh_percent"][0] == pytest.approx(100 * gap.max() / size_of(TUBE.vertices), rel=1e-4)
    assert o.measured["mean_mm"][0] == pytest.approx(1000 * gap[1].mean(), rel=1e-3)
    assert gap[1, o.rows[0]] == pytest.approx(gap.max(), rel=1e-4)
    assert finding.where(0) == f"vertex {o.rows[0]}, frame 2" and "exporters drop it" in finding.message


def test_grading() -> None:
    def severities(degrees: float, **fields: object) -> list[str]:
        return [f.severity for f in found("QA606", replace(TUBE, **fields), scalar.bend(TUBE, Z, [degrees]))]

    assert severities(120.0) == [WARNING]
    assert severities(30.0) == [NOTE]
    assert severities(3.0) == []
    assert severities(120.0, preserve_volume=False) == []
    assert severities(120.0, blocking=("bendy bones are not computed",)) == []
