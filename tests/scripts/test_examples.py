# SPDX-License-Identifier: GPL-3.0-or-later
"""The project's own examples: each broken file has its one fault and no other, the clean ones have none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from make_examples import expected_code, make_examples

from quat_audit import api


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return make_examples(tmp_path_factory.mktemp("examples"), formats=("glb", "bvh"))


def test_there_are_clean_and_broken_ones(examples: list[Path]) -> None:
    codes = {expected_code(path) for path in examples}
    assert {"", "QA101", "QA102", "QA103", "QA104", "QA105", "QA106", "QA201", "QA304", "QA401"} <= codes


def test_each_has_exactly_its_fault(examples: list[Path]) -> None:
    found = {path: {f.code for f in api.audit_file(path).findings} for path in examples}
    assert found == {path: {expected_code(path)} - {""} for path in examples}


def test_they_are_the_same_bytes_every_time(examples: list[Path], tmp_path: Path) -> None:
    again = make_examples(tmp_path, formats=("glb", "bvh"))
    assert [path.name for path in again] == [path.name for path in examples]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in examples]
