# SPDX-License-Identifier: GPL-3.0-or-later
"""Write docs/rules/ and the README's table of rules, from the rule modules themselves.

    python3 scripts/make_docs.py            writes what has changed
    python3 scripts/make_docs.py --check    writes nothing; exit code 1 when a page or the table is stale

The text of a page is the module's docstring; its table of limits has the values and the comments beside them. Edit
the module, not the page. The README's table stands between two comments (BEGIN, END). Needs NumPy (the rules import
it), no Blender.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from example_faults import EXAMPLES  # noqa: E402 after the path

from quat_audit.audit.profiles import PROFILES  # noqa: E402
from quat_audit.findings.finding import SEVERITIES  # noqa: E402
from quat_audit.rules import RULES, AnyRule  # noqa: E402

FOLDER = ROOT / "docs" / "rules"
README = ROOT / "README.md"
BEGIN, END = "<!-- rules: made by scripts/make_docs.py -->\n", "<!-- end of rules -->\n"
# What the rules of a hundred are about.
GROUPS = {
    "QA1": "quaternion keys",
    "QA2": "Euler and axis-angle keys",
    "QA3": "channels",
    "QA4": "curves",
    "QA6": "skin (through Blender)",
}
GENERATED = "<!-- Made by scripts/make_docs.py from the rule's module: edit that. -->\n"


def pages() -> dict[str, str]:
    """File name in docs/rules → its text."""
    return {f"{rule.code}.md": page(rule) for rule in RULES} | {"README.md": index()}


def page(rule: AnyRule) -> str:
    """One rule's page."""
    title, _, body = rule.doc.strip().partition("\n")
    parts = [
        f"# {rule.code} {rule.name}\n",
        GENERATED,
        f"**{title.strip()}**\n",
        facts(rule),
        _linked(body.strip(), rule) + "\n",
        _limits(rule),
        _example(rule),
        "[All rules](README.md) · [Quick start](../quick-start.md) · [Questions](../faq.md)\n",
    ]
    return "\n".join(part for part in parts if part)


def facts(rule: AnyRule) -> str:
    """The table at the top of a page."""
    rows = [
        ("Severity", ", ".join(severities(rule))),
        ("Fix", fix_kinds(rule) + f": {rule.remedy}" if rule.fixable else rule.remedy),
        ("Profiles", ", ".join(_in_profile(rule, p) for p in PROFILES if rule.code in p.codes)),
        ("Judges", judges(rule)),
    ]
    return "| | |\n|---|---|\n" + "".join(f"| {name} | {value} |\n" for name, value in rows)


def judges(rule: AnyRule) -> str:
    """What a rule looks at."""
    if rule.judges == "skin":
        return "weights and bones alone" if rule.keys_only else "weights, and the mesh that they make of the motion"
    return "keys alone" if rule.keys_only else "keys and what plays between them"


def severities(rule: AnyRule) -> list[str]:
    """The severities that a rule gives, highest first: those that its grading speaks of."""
    words = re.findall(r"\w+", rule.section("Grading").lower())
    return [s for s in reversed(SEVERITIES) if s in words]


def fix_kinds(rule: AnyRule) -> str:
    """ "safe", "unsafe" or "safe and unsafe": what a rule's fix section speaks of; "none" without a fix."""
    if not rule.fixable:
        return "none"
    words = re.findall(r"\w+", rule.section("Fix").lower())
    # `--unsafe-fixes` and "unsafe fixes" stand for the unsafe part of a fix.
    return " and ".join(kind for kind in ("safe", "unsafe") if kind in words)


def _in_profile(rule: AnyRule, profile: object) -> str:
    cap = getattr(profile, "severities", {}).get(rule.code)
    moved = getattr(profile, "limits", {}).get(rule.code, {})
    notes = [f"at most a {cap}"] if cap else []
    notes += [f"`{name}` = {value:g}" for name, value in moved.items()]
    label = str(getattr(profile, "label", ""))
    return f"{label} ({', '.join(notes)})" if notes else label


def _linked(text: str, rule: AnyRule) -> str:
    """Other rules' codes as links to their pages."""
    known = {other.code for other in RULES if other is not rule}
    return re.sub(r"\bQA\d{3}\b", lambda m: f"[{m[0]}]({m[0]}.md)" if m[0] in known else m[0], text)


def _limits(rule: AnyRule) -> str:
    if not rule.limits:
        return ""
    why = reasons(rule)
    rows = [f"| `{name}` | {value:g} | {_linked(why.get(name, ''), rule)} |\n" for name, value in rule.limits.items()]
    return "## Limits\n| Limit | Value | Why |\n|---|---|---|\n" + "".join(rows)


def reasons(rule: AnyRule) -> dict[str, str]:
    """Why each limit of a rule is what it is; one that means the same in several rules has its reason in QA104."""
    shared = limit_comments(import_module("quat_audit.rules.qa104_sign_flip"))
    own = limit_comments(sys.modules[rule.find.__module__])
    return {name: own.get(name) or shared.get(name, "") for name in rule.limits}


def limit_comments(module: ModuleType) -> dict[str, str]:
    """The comments above the entries of a module's dictionaries of limits, and of those it takes from others."""
    path = Path(str(module.__file__))
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    comments: dict[str, str] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and any(alias.name.endswith("LIMITS") for alias in node.names):
            comments |= limit_comments(sys.modules[f"{module.__package__}.{node.module}"])
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Dict):
            continue
        if not str(getattr(node.targets[0], "id", "")).endswith("LIMITS"):
            continue
        for key in node.value.keys:
            if isinstance(key, ast.Constant) and key.lineno > node.lineno:
                comments[str(key.value)] = _comment_above(lines, key.lineno - 1)
    return comments


def _comment_above(lines: list[str], row: int) -> str:
    found: list[str] = []
    while row > 0 and lines[row - 1].strip().startswith("#"):
        row -= 1
        found.insert(0, lines[row].strip().removeprefix("#").strip())
    return " ".join(found)


def _example(rule: AnyRule) -> str:
    for example in EXAMPLES:
        if example.code == rule.code:
            files = ", ".join(f"`examples/broken/{example.name}.{kind}`" for kind in example.formats)
            return f"## Example\n{files}: {example.says}. `python3 scripts/make_examples.py` makes them.\n"
    return ""


def index() -> str:
    """The table of all rules."""
    head = f"# The rules\n\n{GENERATED}\n| Code | Name | What it finds | Severity | Fix |\n|---|---|---|---|---|\n"
    rows = [
        f"| [{r.code}]({r.code}.md) | {r.name} | {r.summary} | {', '.join(severities(r))} | {fix_kinds(r)} |\n"
        for r in RULES
    ]
    tail = (
        "\nA **safe** fix changes no keyed pose; an **unsafe** one waits for your click, or for `--unsafe-fixes`. "
        "The same text in a terminal: `python -m quat_audit rules QA104`.\n"
    )
    return head + "".join(rows) + tail


def readme_table() -> str:
    """The rules by their hundreds, for the README."""
    rows = []
    for group, title in GROUPS.items():
        names = " · ".join(f"{rule.code} {rule.name}" for rule in RULES if rule.code.startswith(group))
        rows.append(f"| {group}xx {title} | {names} |\n")
    return "| | |\n|---|---|\n" + "".join(rows)


def with_table(readme: str) -> str:
    """The README with the table of the rules as they are.

    Raises:
        ValueError: it has not one pair of marks that the table stands between.
    """
    if (readme.count(BEGIN), readme.count(END)) != (1, 1) or readme.index(BEGIN) > readme.index(END):
        raise ValueError(f"{README.name} needs one line {BEGIN.strip()!r} and below it one {END.strip()!r}")
    before, _, rest = readme.partition(BEGIN)
    return f"{before}{BEGIN}\n{readme_table()}\n{END}{rest.partition(END)[2]}"


def stale(folder: Path = FOLDER) -> list[str]:
    """Names of the files that are not what they should be, or should not be there."""
    wanted = pages()
    there = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Write docs/rules/ and the README's table from the rule modules.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a page is stale")
    options = parser.parse_args(arguments)
    changed = stale()
    readme = README.read_text(encoding="utf-8")
    table_changed = with_table(readme) != readme
    if options.check:
        for name in [f"docs/rules/{name}" for name in changed] + ["README.md"] * table_changed:
            print(f"stale: {name}; run scripts/make_docs.py", file=sys.stderr)
        return int(bool(changed) or table_changed)
    wanted = pages()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8", newline="\n")
        else:
            (FOLDER / name).unlink()
    if table_changed:
        README.write_text(with_table(readme), encoding="utf-8", newline="\n")
    table = "changed" if table_changed else "unchanged"
    print(f"{len(wanted)} pages in {FOLDER}, {len(changed)} changed; the README's table {table}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
