# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences that know their template, and what every rule says of itself."""

from __future__ import annotations

import ast
import copy
import json
import pickle
import re
import string
from pathlib import Path

import pytest

from quat_audit.audit.pipeline import find
from quat_audit.findings.finding import unit_of
from quat_audit.rules import RULES, Rule
from quat_audit.text import Text
from tests.one_fault import SUBJECTS
from tests.sources import nodes

pytestmark = pytest.mark.usefixtures("sources_are_read")
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
    calls = [node for node in nodes(path) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Text"]


def _placeholders(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name is not None}


def test_every_template_is_a_literal_with_named_values() -> None:
    found = [(path, call) for path in FILES for call in _texts(path)]
    assert len(found) > 40
    for path, call in found:
        template = call.args[0]
        assert isinstance(template, ast.Constant) and isinstance(template.value, str), f"{path.name}:{call.lineno}"
        names = _placeholders(template.value)
        assert all(name.isidentifier() for name in names), f"{path.name}:{call.lineno}: {names}"
        assert bool(names) == (len(call.args) > 1), f"{path.name}:{call.lineno}: values without a place, or missing"


def test_there_is_a_subject_with_the_fault_of_every_rule() -> None:
    assert sorted(SUBJECTS) == [rule.code for rule in RULES], "add one to tests/one_fault.py"


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_the_sentences_of_a_rule_speak_of_what_it_measures(rule: Rule) -> None:
    """All of them, also those that are not true of the subject at hand: each finding carries all the figures."""
    findings = find(rule, SUBJECTS[rule.code]())
    assert findings
    for finding in findings:
        assert finding.sentences == rule.sentences and len(set(rule.sentences)) == len(rule.sentences)
        o = finding.occurrences
        known = set(o.measures) | {name for name, _ in o.names}
        assert len(known) == len(o.measures) + len(o.names), "a name for two things"
        for sentence in rule.sentences:
            names = _placeholders(sentence)
            assert all(name.isidentifier() for name in names), sentence
            assert names <= known, f"{sentence!r} speaks of {names - known}, which nobody measures"
            # A format that does not fit its value (a number's, for a name) fails here.
            assert "{" not in sentence.format(**o.words(finding.worst))
        assert not rule.leading or (rule.leading in o.measures and unit_of(rule.leading)), rule.leading
        assert o.kinds == rule.kinds and o.codes[:, 3].max() < len(rule.sentences)
        unused = set(dict(o.names)) - set().union(*map(_placeholders, (*rule.sentences, finding.headline)))
        unused -= {"bone", "path"}  # which say whose a place is
        assert unused == set(), "names are there for the sentences only"


@pytest.mark.parametrize("rule", RULES, ids=lambda r: r.code)
def test_the_outcome_of_a_fix_counts_what_its_kind_of_rule_changes(rule: Rule) -> None:
    counted = {"clip": {"keys", "bones"}, "skin": {"vertices", "meshes"}}[rule.judges]
    assert not rule.outcome or (rule.fixable and _placeholders(rule.outcome) == counted)
    assert rule.short and len(rule.short) <= 9 and "{" not in rule.short


def test_short_names_tell_the_rules_apart() -> None:
    assert len({rule.short for rule in RULES}) == len(RULES)


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


# American English, as Blender's: what the British spell otherwise, in the words that this project needs.
BRITISH = re.compile(
    r"neighbour|colour|\bgrey|\bcentre|\bmetre|millimetre|behaviour|licence\b|(?<![-\w])(re)?normalis|recognis|"
    r"minimis|optimis|initialis|organis|travelled|labelled|modelled|cancelled",
    re.IGNORECASE,
)


def test_what_users_read_is_american() -> None:
    root = PACKAGE.parent
    said = {f"{rule.code} {name}": getattr(rule, name) for rule in RULES for name in ("doc", "summary", "remedy")}
    said |= {f"{rule.code} sentence": sentence for rule in RULES for sentence in rule.sentences}
    pages = [
        root / "README.md",
        root / "CHANGELOG.md",
        *(root / "docs").rglob("*.md"),
        *(root / ".github").rglob("*.*"),
    ]
    said |= {page.name: page.read_text(encoding="utf-8") for page in pages if page.is_file()}
    for path in (PACKAGE / "ui" / "locale").glob("*.json"):
        said[path.name] = "\n".join(json.loads(path.read_text(encoding="utf-8")))
    assert len(said) > 100
    british = {where: found[0] for where, text in said.items() if (found := BRITISH.search(text))}
    # A rule's name is an identifier that reports and settings keep.
    kept = {where: word for where, word in british.items() if word != "normalised"}
    assert not kept
