# SPDX-License-Identifier: GPL-3.0-or-later
"""No text of the interface is missing in a translation or stale, and its placeholders are those of the English one."""

from __future__ import annotations

import ast
import json
import re
import string
from pathlib import Path
from typing import Any

import interface_texts
import pytest

from quat_audit.audit.profiles import PROFILES
from quat_audit.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
LOCALES = ("ja_JP", "zh_HANS")
# The same in every language.
SAME = {"NaN", "JSON"}
# Words that Blender's own catalogue has in another sense (an outline, a pin, film material, fineness, a caution):
# it wins under its contexts, so that these are looked up under ours.
MEANS_ANOTHER_THING = {"Profile", "Fix", "Film", "Detail", "Notes"}
# Properties that Blender's own mix-in for exports brings along, translated by Blender.
BLENDERS_OWN = ("rna_type", "filepath", "check_existing", "filter_glob")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return interface_texts.collect()


@pytest.fixture(params=LOCALES)
def said(request: pytest.FixtureRequest) -> dict[str, str]:
    path = interface_texts.LOCALE / f"{request.param}.json"
    loaded: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return loaded


def fields(text: str) -> list[tuple[str, str, str]]:
    """(name, format, conversion) of the placeholders, sorted: another language may need another order."""
    parts = string.Formatter().parse(text)
    return sorted((name, form or "", conversion or "") for _, name, form, conversion in parts if name is not None)


def test_there_is_a_file_for_each_language() -> None:
    assert sorted(path.stem for path in interface_texts.LOCALE.iterdir()) == list(LOCALES)


def test_nothing_is_missing(said: dict[str, str], texts: dict[str, str]) -> None:
    assert {text: where for text, where in texts.items() if text not in said} == {}


def test_nothing_is_stale(said: dict[str, str], texts: dict[str, str]) -> None:
    assert sorted(set(said) - set(texts)) == []


def test_placeholders_are_the_same(said: dict[str, str]) -> None:
    assert {text: other for text, other in said.items() if fields(text) != fields(other)} == {}


def test_everything_is_translated(said: dict[str, str]) -> None:
    foreign = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
    assert {text: other for text, other in said.items() if text not in SAME and not foreign.search(other)} == {}
    assert {text: other for text, other in said.items() if text in SAME and other != text} == {}
    assert [other for other in said.values() if other != other.strip() or "\ufffd" in other] == []


def test_a_sentence_stays_a_sentence(said: dict[str, str]) -> None:
    # Blender's tooltips end without a full stop; what has several sentences or stands in the panel has one.
    assert {t: o for t, o in said.items() if t.endswith(".") != o.endswith("。")} == {}
    assert {t: o for t, o in said.items() if t.endswith("?") != o.endswith(("？", "か？"))} == {}


def test_codes_and_keys_are_not_lost(said: dict[str, str]) -> None:
    kept = re.compile(r"QA\d{3}|glTF|FBX|NLA|Esc|NaN|180°|120°")
    assert {t: o for t, o in said.items() if sorted(kept.findall(t)) != sorted(kept.findall(o))} == {}


def test_a_language_is_sorted_so_that_a_change_is_a_line() -> None:
    for locale in LOCALES:
        raw = (interface_texts.LOCALE / f"{locale}.json").read_text(encoding="utf-8")
        loaded = json.loads(raw)
        assert raw == json.dumps(dict(sorted(loaded.items())), ensure_ascii=False, indent=1) + "\n"


# --- that nothing is overlooked


def test_texts_of_rules_and_profiles_are_collected(texts: dict[str, str]) -> None:
    for rule in RULES:
        said = {rule.short, rule.summary, rule.remedy, rule.outcome, *rule.sentences} - {""}
        if rule.other_way is not None:
            said |= {rule.other_way.label, rule.other_way.remedy}
        assert sorted(said - set(texts)) == []
    for profile in PROFILES:
        assert profile.label in texts
        assert profile.description in texts


def test_every_registered_text_is_collected(texts: dict[str, str]) -> None:
    """What Blender itself knows of the classes: labels, tooltips, properties, items of enums."""
    bpy = pytest.importorskip("bpy")
    from quat_audit import ui

    ui.register()
    try:
        shown = {text for module in ui.MODULES for cls in module.CLASSES for text in _rna_texts(bpy, cls)}
    finally:
        ui.unregister()
    assert len(shown) > 100
    assert sorted(shown - set(texts)) == []


def _rna_texts(bpy: Any, cls: Any) -> set[str]:
    if "INTERNAL" in getattr(cls, "bl_options", ()):
        return set()  # neither in menus nor in the search
    if issubclass(cls, bpy.types.Operator):
        rna = getattr(bpy.ops.quat_audit, cls.bl_idname.partition(".")[2]).get_rna_type()
        found = {rna.name, rna.description}
        inherited = bpy.types.Operator.bl_rna.properties
    else:
        rna = cls.bl_rna
        found = {getattr(cls, "bl_label", ""), getattr(cls, "bl_category", "")}
        inherited = rna.base.properties
    for prop in rna.properties:
        if prop.identifier in inherited or prop.identifier in BLENDERS_OWN or prop.is_hidden:
            continue
        found |= {prop.name, prop.description}
        if prop.type == "ENUM":
            found |= {text for item in prop.enum_items for text in (item.name, item.description)}
    return {text for text in found if any(character.isalpha() for character in text)}


def test_words_that_mean_something_else_to_blender_have_our_context() -> None:
    bpy = pytest.importorskip("bpy")
    from quat_audit import ui
    from quat_audit.ui import translations

    ui.register()
    try:
        seen: dict[str, set[str]] = {}
        for cls in (cls for module in ui.MODULES for cls in module.CLASSES):
            operator = issubclass(cls, bpy.types.Operator)
            rna = (
                getattr(bpy.ops.quat_audit, cls.bl_idname.partition(".")[2]).get_rna_type() if operator else cls.bl_rna
            )
            label = getattr(cls, "bl_label", "")
            seen.setdefault(label, set()).add(getattr(cls, "bl_translation_context", "Operator" if operator else "*"))
            for prop in rna.properties:
                items = [item.name for item in prop.enum_items] if prop.type == "ENUM" else []
                for text in (prop.name, *items):
                    seen.setdefault(text, set()).add(prop.translation_context)
    finally:
        ui.unregister()
    wrong = {text: seen[text] for text in MEANS_ANOTHER_THING & set(seen) if seen[text] != {translations.CONTEXT}}
    assert wrong == {}
    assert {"Profile", "Detail", "Notes", "Film"} <= set(seen)


@pytest.mark.parametrize(
    "source, expected",
    [
        ('Text("a {b}", {})', ["a {b}"]),
        ('say(Text("one") if x else Text("two"))', ["one", "two"]),
        ('layout.label(text="A b", icon="X")', ["A b"]),
        ("layout.label(text=name)", []),
        ('layout.label(text="one" if x else "two")', ["one", "two"]),
        ('self.report({"INFO"}, "Done")', ["Done"]),
        ('cls.poll_message_set("No")', ["No"]),
        ('x: EnumProperty(name="N", description="D", items=(("I", "Label", "Tip"),))', ["N", "D", "Label", "Tip"]),
        ('class A(O):\n    """Tip"""\n    bl_idname = "a.b"\n    bl_label = "L"\n', ["L", "Tip"]),
        ('class A(O):\n    """Tip"""\n    bl_idname = "a.b"\n    bl_label = "L"\n    bl_description = "D"', ["L", "D"]),
        ('class A:\n    """Not shown"""\n', []),
        ('_DONE = {"QA": "{n} keys", "QB": ("one key", 1)}', ["{n} keys", "one key"]),
        ('_DONE = {"QA": "word"}', []),
        ('SHORT_NAMES = {"QA": "word"}', ["word"]),
        ('X = re.compile("a b")', []),
        ('NAMES = ("first_deg", "second_deg", "third_deg")', []),
    ],
)
def test_the_collector_finds(source: str, expected: list[str]) -> None:
    found = [text for text, _ in interface_texts.texts_of(ast.parse(source), "x.py", interface=True)]
    assert sorted(set(found)) == sorted(expected)


@pytest.mark.parametrize(
    "source, expected",
    [
        ('SENTENCES = ("one {a}", "two " "parts")', ["one {a}", "two parts"]),
        ('SENTENCES: tuple[str, ...] = ("one",)\nHEADLINE = "in English only"', ["one"]),
        (
            'RULE: Rule[Clip] = Rule(code="QA", short="s", summary="sum", remedy="r", outcome="o")',
            ["s", "sum", "r", "o"],
        ),
        ('Rule(other_way=OtherWay(limit="x", label="L", remedy="R."))', ["L", "R."]),
        # What is put together cannot be translated.
        ('SENTENCES = ("one " + WHAT,)', [None]),
        ("SENTENCES = (ONE, f'{two} keys')", [None, None]),
        ("SENTENCES = OTHERS", [None]),
        ('Rule(summary="a " + b)', [None]),
    ],
)
def test_the_collector_finds_what_a_rule_says(source: str, expected: list[str | None]) -> None:
    assert [text for text, _ in interface_texts.rule_texts(ast.parse(source), "rules/qa.py")] == expected


@pytest.mark.parametrize(
    "source", ['Text(f"a {b}")', 'layout.label(text=f"{n} keys")', 'self.report({"INFO"}, f"at {x}")']
)
def test_a_text_that_nobody_can_translate_is_refused(source: str) -> None:
    assert None in [text for text, _ in interface_texts.texts_of(ast.parse(source), "x.py", interface=True)]


def test_outside_of_the_interface_a_text_is_a_literal() -> None:
    found = list(interface_texts.texts_of(ast.parse("Text(name)"), "x.py", interface=False))
    assert [text for text, _ in found] == [None]


# --- what Blender is given


def test_every_text_is_offered_in_every_context() -> None:
    pytest.importorskip("bpy")
    from quat_audit.ui import translations

    catalogue = translations.catalogue()
    assert sorted(catalogue) == sorted(LOCALES)
    for locale, entries in catalogue.items():
        texts = json.loads((interface_texts.LOCALE / f"{locale}.json").read_text(encoding="utf-8"))
        contexts = {context for context, _ in entries}
        assert contexts == {"*", "Operator", translations.CONTEXT}
        assert entries == {(context, text): other for text, other in texts.items() for context in contexts}


def test_registering_twice_after_unregistering_works() -> None:
    bpy = pytest.importorskip("bpy")
    from quat_audit.ui import translations

    before = bpy.app.translations.pgettext("Audit")
    for _ in range(2):
        translations.register()
        translations.unregister()
    assert bpy.app.translations.pgettext("Audit") == before
