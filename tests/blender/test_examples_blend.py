# SPDX-License-Identifier: GPL-3.0-or-later
"""The .blend examples, made and audited by the Blender that runs the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from example_faults import EXAMPLES
from make_examples import expected_code, expected_codes, holds, make_examples

from quat_audit import api
from quat_audit.findings.finding import SAFE
from quat_audit.rules import RULES


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_examples(tmp_path_factory.mktemp("examples"), formats=("blend",))


def test_there_is_one_for_every_rule(examples: list[Path]) -> None:
    beyond = {example.code for example in EXAMPLES if not holds(example)}
    assert beyond == (set() if bpy.app.version >= (4, 4) else {"QA307"})  # slots came with 4.4
    assert {expected_code(path) for path in examples} == {rule.code for rule in RULES} - beyond | {""}


def test_each_has_exactly_its_fault_and_what_is_safe_to_fix_is_gone_after_the_fix(
    examples: list[Path], tmp_path: Path
) -> None:
    assert api.audit_file(examples[1]).findings == api.fix_file(examples[1], output=tmp_path / "a.blend").findings
    for path in examples:
        report = api.fix_file(path, output=tmp_path / path.name)
        assert {finding.code for finding in report.findings} == expected_codes(path), path.name
        assert report.status == "audited" and report.after is not None, (path.name, report.reason)
        if any(finding.fix == SAFE for finding in report.findings):
            assert not report.after.findings, path.name
            assert report.repair is not None and report.repair.proof.max_key_change_deg < 1e-3
