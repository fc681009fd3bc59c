# SPDX-License-Identifier: GPL-3.0-or-later
"""Every text of the interface, collected from the sources: what quat_audit/ui/locale/ has to translate.

    python3 scripts/interface_texts.py              the texts, one a line
    python3 scripts/interface_texts.py zh_HANS      what that translation lacks, and what it has too many

Texts are plain literals in known places (see `texts_of`); a text built in another way is an error here, because
nobody could translate it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "quat_audit"
LOCALE = PACKAGE / "ui" / "locale"

# Functions whose first argument is a text.
SPEAKING = (
    "Text", "say", "say_report", "translate", "poll_message_set",
    "pgettext", "pgettext_iface", "pgettext_tip", "pgettext_rpt",
)  # fmt: skip
# Arguments by name that Blender shows, in calls within ui/.
SHOWN_ARGUMENTS = ("text", "heading", "title", "message", "confirm_text", "placeholder")
PROPERTY_ARGUMENTS = ("name", "description")
CLASS_TEXTS = ("bl_label", "bl_description", "bl_category")
# Constants in ui/ with these endings hold words to show; in others only sentences (with a space) are.
TABLES = ("_NAMES", "_LABELS", "_TEXTS")
RULE_ARGUMENTS = ("short", "summary", "remedy", "outcome")
OTHER_WAY_ARGUMENTS = ("label", "remedy")
SENTENCES = "SENTENCES"


class Found(NamedTuple):
    """A text and where it stands; `text` is None where it is no literal."""

    text: str | None
    where: str


def collect() -> dict[str, str]:
    """text → where it stands first; ValueError for one that nobody can translate."""
    found: dict[str, str] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = list(texts_of(tree, name, interface=name.startswith(("ui/", "results/"))))
        if name.startswith("rules/qa"):
            texts += rule_texts(tree, name)
        if name == "audit/profiles.py":
            texts += _profile_texts(tree, name)
        for text, where in texts:
            if text is None:
                raise ValueError(f"quat_audit/{where}: a text must be a literal, or nobody can translate it")
            if any(character.isalpha() for character in _without_fields(text)):
                found.setdefault(text, where)
    return found


def texts_of(tree: ast.AST, name: str, *, interface: bool) -> Iterator[Found]:
    """The texts of a module. Outside of ui/ only `Text("…")` speaks to a person."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from _call(node, name, interface)
        elif interface and isinstance(node, ast.ClassDef):
            yield from _class(node, name)
        elif interface and isinstance(node, ast.Tuple):
            yield from _item(node, name)
        elif interface and isinstance(node, ast.Assign | ast.AnnAssign):
            yield from _table(node, name)


def _call(node: ast.Call, name: str, interface: bool) -> Iterator[Found]:
    function = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if function == "Text" or (interface and function in SPEAKING):
        if node.args:
            yield from _literals(node.args[0], name, strict=function == "Text" and not interface)
    elif interface and function == "report" and len(node.args) > 1:
        yield from _literals(node.args[1], name)
    if interface:
        shown = PROPERTY_ARGUMENTS if function.endswith("Property") else SHOWN_ARGUMENTS
        for keyword in node.keywords:
            if keyword.arg in shown:
                yield from _literals(keyword.value, name)


def _literals(node: ast.expr, name: str, strict: bool = False) -> Iterator[Found]:
    """The literal, or the literals of a choice; an f-string with words in it is none.

    With `strict` anything else is none either; without, it is somebody's translated text or a name.
    """
    where = f"{name}:{node.lineno}"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield Found(node.value, where)
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body, name, strict)
        yield from _literals(node.orelse, name, strict)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _literals(value, name, strict)
    elif isinstance(node, ast.JoinedStr):
        words = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        if any(character.isalpha() for character in words):
            yield Found(None, where)
    elif strict:
        yield Found(None, where)


def _class(node: ast.ClassDef, name: str) -> Iterator[Found]:
    assigned = {getattr(s.targets[0], "id", ""): s.value for s in node.body if isinstance(s, ast.Assign)}
    for wanted in CLASS_TEXTS:
        if wanted in assigned:
            yield from _literals(assigned[wanted], name)
    # What Blender shows over a button that has no description of its own.
    tooltip = ast.get_docstring(node)
    if "bl_idname" in assigned and "bl_label" in assigned and "bl_description" not in assigned and tooltip:
        yield Found(tooltip, f"{name}:{node.lineno}")


def _item(node: ast.Tuple, name: str) -> Iterator[Found]:
    """(identifier, label, description, …) of an enum."""
    parts = [e.value if isinstance(e, ast.Constant) else None for e in node.elts[:3]]
    # A label begins with a capital and goes on in small letters; other tuples of names are not for a person.
    if len(parts) == 3 and isinstance(parts[2], str) and re.fullmatch(r"[A-Z][^_]*[a-z][^_]*", str(parts[1])):
        for part in parts[1:]:
            yield Found(str(part), f"{name}:{node.lineno}")


def _table(node: ast.Assign | ast.AnnAssign, name: str) -> Iterator[Found]:
    """Texts in a constant: one, or those within the values of a dictionary, or within a tuple."""
    constant = _constant(node)
    if not constant.isupper() or node.value is None:
        return
    for part in _strings(node.value):
        if constant.endswith(TABLES) or " " in str(part.value):
            yield Found(str(part.value), f"{name}:{part.lineno}")


def _constant(node: ast.Assign | ast.AnnAssign) -> str:
    """The name that is assigned to, "" where it is no plain name."""
    return str(getattr(node.targets[0] if isinstance(node, ast.Assign) else node.target, "id", ""))


def _strings(node: ast.expr) -> Iterator[ast.Constant]:
    """The strings that a literal holds, however deep; keys of dictionaries and arguments of calls are none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node
    for child in node.values if isinstance(node, ast.Dict) else getattr(node, "elts", ()):
        yield from _strings(child)


def rule_texts(tree: ast.AST, name: str) -> Iterator[Found]:
    """What a rule says: its tuple SENTENCES, and the words of its `Rule(…)` and `OtherWay(…)`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign) and _constant(node) == SENTENCES and node.value is not None:
            # A tuple, written out: what is put together from parts has no line to translate.
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for part in parts:
                yield from _literals(part, name, strict=True)
        elif isinstance(node, ast.Call):
            told = {"Rule": RULE_ARGUMENTS, "OtherWay": OTHER_WAY_ARGUMENTS}.get(getattr(node.func, "id", ""), ())
            for keyword in node.keywords:
                if keyword.arg in told:
                    yield from _literals(keyword.value, name, strict=True)


def _profile_texts(tree: ast.AST, name: str) -> Iterator[Found]:
    """`Profile("name", "Label", "description", …)`"""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Profile":
            for argument in node.args[1:3]:
                yield from _literals(argument, name, strict=True)


def _without_fields(text: str) -> str:
    """The text without its {placeholders}: "{bone}: {what}" has nothing to translate."""
    depth, kept = 0, ""
    for character in text:
        depth += (character == "{") - (character == "}")
        kept += character if depth == 0 and character != "}" else ""
    return kept


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="The texts of the interface, and what a translation lacks.")
    parser.add_argument("locale", nargs="?", help="such as zh_HANS")
    options = parser.parse_args(arguments)
    texts = collect()
    if options.locale is None:
        for text, where in texts.items():
            print(f"{where}\t{text}")
        return 0
    there = json.loads((LOCALE / f"{options.locale}.json").read_text(encoding="utf-8"))
    missing, stale = [t for t in texts if t not in there], [t for t in there if t not in texts]
    for text in missing:
        print(f"missing\t{texts[text]}\t{text}")
    for text in stale:
        print(f"stale\t\t{text}")
    return int(bool(missing or stale))


if __name__ == "__main__":
    sys.exit(main())
