# SPDX-License-Identifier: GPL-3.0-or-later
"""Every rule is registered, documented, tested in a file of its own, and its limits are named."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import quat_audit.rules
from quat_audit.rules import RULES, Rule
from tests.one_fault import SUBJECTS

FOLDER = Path(quat_audit.rules.__file__).parent
MODULES = sorted(path.stem for path in FOLDER.glob("qa*.py"))
HEADINGS = ["What it finds", "Why it matters", "Grading", "Fix", "Known limits"]


def test_the_registry_names_every_module_once_and_in_order() -> None:
    codes = [rule.code for rule in RULES]
    assert codes == sorted(set(codes))
    assert [m.split("_")[0].upper() for m in MODULES] == codes
    assert all(re.fullmatch(r"QA[1-6]\d\d", code) for code in codes)
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_named_after_its_rule(module: str) -> None:
    rule: Rule = import_module(f"quat_audit.rules.{module}").RULE
    assert rule in RULES
    assert module == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.name)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
class TestRule:
    def test_documentation_has_the_headings_with_text_under_each(self, rule: Rule) -> None:
        parts = re.split(r"^## (.+)$", rule.doc, flags=re.MULTILINE)
        assert parts[1::2] == HEADINGS
        assert all(len(text.split()) >= 1 for text in parts[2::2])
        # The first line says what is wrong, as a sentence.
        assert re.fullmatch(r"[A-Z].+\.", rule.doc.strip().splitlines()[0])
        assert rule.summary and not rule.summary.endswith(".")

    def test_documentation_says_what_the_rule_does(self, rule: Rule) -> None:
        """How it grades a subject with its fault, and whether it would repair that."""
        found = rule.find(SUBJECTS[rule.code](), rule.limits)
        grading, fix = (set(re.findall(r"[a-z]+", rule.section(name).lower())) for name in ("Grading", "Fix"))
        assert found and {finding.severity for finding in found} <= grading
        assert {finding.fix for finding in found} <= fix
        assert rule.section("Fix").strip().startswith("None:") == (not rule.fixable)

    def test_has_a_test_file_of_its_own(self, rule: Rule) -> None:
        files = list(Path(__file__).parent.glob(f"test_{rule.code.lower()}*.py"))
        assert len(files) == 1, f"tests/rules/test_{rule.code.lower()}.py is missing"
        assert rule.code in files[0].read_text(encoding="utf-8")

    def test_limits_are_named_with_a_unit_and_positive(self, rule: Rule) -> None:
        for name, value in rule.limits.items():
            if f"`{name}`" in rule.doc:
                continue  # a switch, explained in the documentation
            assert re.search(r"_(deg|mm|dot|frames|tolerance|floor|turns|share)$", name), f"{name} has no unit"
            assert np.isfinite(value) and value > 0
