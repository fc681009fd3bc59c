# SPDX-License-Identifier: GPL-3.0-or-later
"""QA607 scaled-dual-quaternion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quat_audit.findings.finding import NONE, NOTE
from quat_audit.skinning.skin import Motion, make_motion
from tests.skinning import scalar
from tests.skinning.rules_on import found

TUBE = replace(scalar.make_tube(), preserve_volume=True)


def _scaled(*scales: tuple[float, float, float]) -> Motion:
    """The second bone scaled along its own axes, turned a little, on one frame each."""
    rest = TUBE.bones.rest[1]
    deform = []
    for scale in scales:
        posed = rest @ scalar.matrix(scalar.turn((0, 1, 0), 33.0)) @ np.diag([*scale, 1.0])
        deform.append([np.eye(4), posed @ np.linalg.inv(rest)])
    return make_motion(deform)


def test_uneven_and_animated_scale() -> None:
    (uneven,) = found("QA607", TUBE, _scaled((1, 1, 1), (1.0, 1.5, 0.5)))
    o = uneven.occurrences
    assert (uneven.severity, uneven.fix) == (NOTE, NONE) and list(o.rows) == [1] and list(o.kind) == ["uneven"]
    assert o.measured["difference"][0] == pytest.approx(1.0) and o.frames[0, 0] == 2.0
    assert (o.measured["least"][0], o.measured["largest"][0]) == (pytest.approx(0.5), pytest.approx(1.5))
    (animated,) = found("QA607", TUBE, _scaled((1, 1, 1), (1.2, 1.2, 1.2)))
    assert list(animated.occurrences.kind) == ["animated"]
    assert "Bone1 is scaled by its animation (1 to 1.2) under dual quaternions" in animated.message


def test_a_mirrored_bone_is_said_to_be() -> None:
    (finding,) = found("QA607", TUBE, _scaled((1, 1, 1), (3, 1, 1), (-2, 1, 1), (-1, 1, 1)))
    assert list(finding.occurrences.kind) == ["mirrored"] and finding.occurrences.frames[0, 0] == 3.0
    assert "Bone1 is mirrored and scaled (1 to 3) under dual quaternions" in finding.message
    for steady in ((-1, 1, 1), (-1, -1, -1)):  # the axes keep their lengths
        (finding,) = found("QA607", TUBE, _scaled(steady, steady))
        assert list(finding.occurrences.kind) == ["mirrored"] and finding.occurrences.measured["difference"][0] < 1e-9
    assert found("QA607", TUBE, _scaled((-1, -1, 1), (1, 1, 1))) == []  # half a turn
    (flat,) = found("QA607", TUBE, _scaled((1, 1, 1), (1, 1, -1e-9)))  # rounding may be of either sign
    assert list(flat.occurrences.kind) == ["uneven"]


def test_what_is_carried_everywhere_is_silent() -> None:
    assert found("QA607", TUBE, _scaled((2, 2, 2), (2, 2, 2))) == []
    assert found("QA607", TUBE, _scaled((1, 1, 1), (1.0005, 1, 1))) == []
    assert found("QA607", replace(TUBE, preserve_volume=False), _scaled((1, 2, 1))) == []
    unused = replace(TUBE, weight=np.where(TUBE.group == 1, 0.0, TUBE.weight))
    assert found("QA607", unused, _scaled((1, 2, 1))) == []
