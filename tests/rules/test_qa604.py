# SPDX-License-Identifier: GPL-3.0-or-later
"""QA604 group-without-bone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quat_audit.findings.finding import ERROR, NONE, NOTE
from tests.skinning import scalar
from tests.skinning.rules_on import found

POINTS = [(0, 0, 0), (0, 0, 1), (0, 0, 2)]


def _skin(weights):
    return scalar.make_skin(POINTS, weights, extra_groups=["Gone", "Pinned", "Empty"])


def test_a_group_beside_the_bones_is_a_note() -> None:
    skin = _skin([[(0, 1.0), (2, 0.5)], [(1, 1.0)], [(1, 1.0), (2, 0.2)]])
    (finding,) = found("QA604", skin, scalar.bend(skin, (1.0, 0.0, 0.0), [10.0]))
    assert (finding.severity, finding.fix) == (NOTE, NONE)
    assert "group Gone deforms nothing (Rig has no bone Gone); 2 vertices" in finding.message
    assert finding.where(0) == "all frames"


def test_a_vertex_that_has_nothing_else_is_an_error() -> None:
    skin = _skin([[(2, 1.0)], [(1, 1.0), (3, 0.3)], [(2, 0.4), (1, 0.0)]])
    (finding,) = found("QA604", skin, scalar.bend(skin, (1.0, 0.0, 0.0), [10.0]))
    o = finding.occurrences
    assert [(int(r), s) for r, s in zip(o.rows, o.severity, strict=True)] == [(2, ERROR), (3, NOTE)]
    assert list(o.measured["only_weight"]) == [2, 0]
    assert "it is all that 2 of them have" in finding.message


def test_a_bone_whose_deform_is_off_is_named_as_such() -> None:
    skin = _skin([[(0, 1.0)], [(1, 1.0)], [(1, 1.0)]])
    skin = replace(
        skin,
        bones=replace(skin.bones, deform=np.array([True, False])),
        groups=replace(skin.groups, bone=np.array([0, -1, -1, -1, -1])),
    )
    (finding,) = found("QA604", skin, scalar.bend(skin, (1.0, 0.0, 0.0), [10.0]))
    assert finding.severity == ERROR and "Deform is off for its bone Bone1" in finding.message


def test_groups_that_something_else_uses_and_empty_ones_are_silent() -> None:
    skin = _skin([[(0, 1.0), (3, 1.0)], [(1, 1.0)], [(1, 1.0)]])
    skin = replace(skin, groups=replace(skin.groups, elsewhere=np.array([False, False, False, True, False])))
    assert found("QA604", skin, scalar.bend(skin, (1.0, 0.0, 0.0), [10.0])) == []
