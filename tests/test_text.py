# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences that know their template, and what every rule says of itself."""

from __future__ import annotations

import ast
import copy
import pickle
import string
from pathlib import Path

import pytest

from quat_audit.rules import RULES, Rule
from quat_audit.text import Text

PACKAGE = Path(__file__).resolve().parents[1] / "quat_audit"
# The panel fills templates that were translated or come from tables; everything below it writes its own.
FILES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.relative_to(PACKAGE).parts[0] not in ("ui", "results")]


def test_a_text_is_the_string_and_still_knows_its_template() -> None:
    text = Text("swings {swept_deg:.1f}°, {name!r}", {"swept_deg": 339.96, "name": "a"})
    assert text == "swings 340.0°, 'a'" and f"{text}" == "swings 340.0°, 'a'" and isinstance(text, str)
    assert text.template.format(**text.values) == text
    for twin in (copy.copy(text), copy.deepcopy(text), pickle.loads(pickle.dumps(text))):
        assert (twin, twin.template, twin.values) == (text, text.template, text.values)
    braces = Text("plain {braces}", {"braces": "{}{0}"})
    assert copy.deepcopy(braces) == "plain {}{0}"


def _texts(path: Path) -> list[ast.Call]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Text"]


def test_every_template_is_a_literal_with_named_values() -> None:
    found = [(path, call) for path in FILES for call in _texts(path)]
    assert len(found) > 40
    for path, call in found:
        template = call.args[0]
        assert isinstance(template, ast.Constant) and isinstance(template.value, str), f"{path.name}:{call.lineno}"
        names = {name for _, name, _, _ in string.Formatter().parse(template.value) if name is not None}
        assert all(name.isidentifier() for name in names), f"{path.name}:{call.lineno}: {names}"
        assert bool(names) == (len(call.args) > 1), f"{path.name}:{call.lineno}: values without a place, or missing"


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_a_rule_says_in_a_sentence_what_its_fix_does(rule: Rule) -> None:
    assert rule.remedy.endswith(".") and 40 <= len(rule.remedy) <= 120, rule.remedy
    assert rule.remedy.startswith("No automatic fix") == (not rule.fixable)
    assert rule.summary and not rule.summary.endswith(".")


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_the_sections_of_a_rule_are_its_documentation(rule: Rule) -> None:
    headings = ["", "What it finds", "Why it matters", "Grading", "Fix", "Known limits"]
    sections = [rule.section(heading) for heading in headings]
    assert all(sections)
    assert " ".join(" ".join(sections).split()) == " ".join(
        " ".join(line for line in rule.doc.splitlines() if not line.startswith("## ")).split()
    ), "the sections together are the whole"
    with pytest.raises(KeyError, match=f"{rule.code} has no section 'Grade'; it has: What it finds"):
        rule.section("Grade")
