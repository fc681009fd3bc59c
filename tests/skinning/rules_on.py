# SPDX-License-Identifier: GPL-3.0-or-later
"""The skin rules by code, their findings, and the fix contract as one predicate over a skin and a motion."""

from __future__ import annotations

import numpy as np

from quat_audit.audit.pipeline import find
from quat_audit.audit.repair import Repair
from quat_audit.audit.settings import Overrides
from quat_audit.findings.finding import NONE, SAFE, Finding
from quat_audit.rules import RULES, AnyRule
from quat_audit.skinning.skin import Motion, PosedSkin, Skin, influences
from quat_audit.text import Text
from tests.judging import repair_skin

BY_CODE: dict[str, AnyRule] = {rule.code: rule for rule in RULES}


def found(code: str, skin: Skin, motion: Motion, limits: Overrides | None = None) -> list[Finding]:
    """One rule's findings; each has as many words as occurrences."""
    findings = find(BY_CODE[code], PosedSkin(skin, motion), limits)
    for finding in findings:
        assert finding.code == code and finding.owner == skin.mesh and len(finding.occurrences)
        words = [text for i in range(len(finding.occurrences)) for text in (finding.where(i), finding.what(i))]
        assert finding.message and all(words) and all(isinstance(text, Text) for text in words)
        assert finding.occurrences.severity[finding.worst] == finding.severity
        assert {len(v) for v in finding.occurrences.measured.values()} == {len(finding.occurrences)}
    return findings


def entries(skin: Skin, vertex: int) -> list[tuple[int, float]]:
    """(group, weight) of one vertex in stored order."""
    rows = slice(skin.offsets[vertex], skin.offsets[vertex + 1])
    return [(int(g), float(w)) for g, w in zip(skin.group[rows], skin.weight[rows], strict=True)]


def assert_repaired(code: str, skin: Skin, motion: Motion, *, unsafe: bool = False) -> Repair[PosedSkin]:
    """Repair by one rule and hold it against the contract.

    The rule is silent on what may be fixed; again changes nothing; weights in locked groups and in groups that deform
    nothing are as they were, and so are weights that must not be written; vertices that no finding names keep every
    entry; a safe fix moves no sound vertex.
    """
    before = {name: getattr(skin, name).copy() for name in ("vertices", "offsets", "group", "weight")}
    rule = (BY_CODE[code],)
    named = {int(r) for f in found(code, skin, motion) for r in f.occurrences.rows}
    repair = repair_skin(skin, motion, rule, unsafe=unsafe)
    for name, was in before.items():
        np.testing.assert_array_equal(getattr(skin, name), was)  # nothing changes in place
    after = repair.subject.skin
    after.validate()
    allowed = {SAFE, *(("unsafe",) if unsafe else ())}
    left = [f for f in found(code, after, motion) for x in f.occurrences.fix.tolist() if x in allowed]
    assert not left or (skin.read_only and after is skin)
    again = repair_skin(after, motion, rule, unsafe=unsafe)
    assert again.subject.skin is after and not again.applied
    changed = 0
    for vertex in range(len(skin)):
        old, new = entries(skin, vertex), entries(after, vertex)
        same = [g for g, _ in old] == [g for g, _ in new] and np.array_equal(
            [w for _, w in old], [w for _, w in new], equal_nan=True
        )
        changed += not same
        assert same or vertex in named
        for kind in (skin.groups.locked, skin.groups.bone < 0):
            assert [e for e in old if kind[e[0]]] == [e for e in new if kind[e[0]]]
    assert repair.proof.vertices == changed
    if not unsafe:
        assert repair.proof.sound_mm < 1e-2
    assert sum(a.keys_changed for a in repair.applied) == changed
    return repair


def total(skin: Skin) -> np.ndarray:
    return influences(skin).total


__all__ = ["BY_CODE", "NONE", "assert_repaired", "entries", "found", "total"]
