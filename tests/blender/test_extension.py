# SPDX-License-Identifier: GPL-3.0-or-later
"""The built zip, installed into an empty Blender: enabled, every operator used, disabled, enabled, uninstalled."""

from __future__ import annotations

import ast
import json
import os
import posixpath
import re
import subprocess
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bpy")

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import build_extension
import environment
import link_dev


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip that is to be released (scripts/release.py names it), or that of the checkout, committed or not."""
    given = os.environ.get("QUAT_AUDIT_ZIP")
    if given:
        return Path(given)
    return build_extension.build(ROOT, tmp_path_factory.mktemp("dist"), allow_dirty=True)


@pytest.fixture(scope="module")
def told(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What happened to the extension in a Blender without any user files, and outside of the checkout."""
    folder = tmp_path_factory.mktemp("installed")
    resources = folder / "user"
    resources.mkdir()
    variables = environment.clean_environment()
    # A help button must not open a browser here.
    variables |= {"BLENDER_USER_RESOURCES": str(resources), "BROWSER": "true", "HOME": str(folder)}
    script = Path(__file__).with_name("use_extension.py")
    result = folder / "result.json"
    # -P: the script's own folder is no place to import from.
    run = subprocess.run(
        [sys.executable, "-P", str(script), str(archive), str(result)],
        cwd=folder,
        env=variables,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,  # classes that are left registered make some wheels hang at exit
    )
    said = run.stdout + run.stderr
    assert run.returncode == 0, said
    assert "Traceback" not in said, said
    assert "Warning: class" not in said and "not registered" not in said.lower(), said
    answer: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return answer


def _declared() -> list[str]:
    """The operators that the sources declare: `quat_audit.name` without the prefix."""
    names = []
    for path in (ROOT / "quat_audit" / "ui").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "bl_idname" for t in node.targets):
                value = getattr(node.value, "value", "")
                if isinstance(value, str) and value.startswith("quat_audit."):
                    names.append(value.removeprefix("quat_audit."))
    return sorted(names)


def test_it_installs_and_is_enabled(told: dict[str, Any]) -> None:
    assert told["install"] == ["FINISHED"]
    assert told["installed"]["enabled"]
    assert told["installed"]["preferences"], "AddonPreferences.bl_idname is not the package's name"
    assert told["installed"]["imported"] == [], "something of the checkout was imported instead of the zip"


def test_every_operator_of_the_sources_is_there(told: dict[str, Any]) -> None:
    declared = _declared()
    assert len(declared) == len(set(declared)) >= 1
    assert sorted(told["installed"]["operators"]) == declared


def test_every_operator_answers_without_a_traceback(told: dict[str, Any]) -> None:
    broken = [row for row in told["runs"] if "Traceback" in row["error"]]
    assert broken == []
    # An operator says in words why it cannot, and never by its poll alone after it was allowed to run.
    silent = [row for row in told["runs"] if row["poll"] and not row["result"] and not row["error"].strip()]
    assert silent == []


def test_every_operator_does_its_work_on_a_broken_rig(told: dict[str, Any]) -> None:
    for situation in ("broken rig", "enabled again"):
        rows = [row for row in told["runs"] if row["situation"] == situation]
        done = {row["operator"] for row in rows if row["result"] == ["FINISHED"]}
        left = {(row["operator"], row["error"]) for row in rows if row["operator"] not in done}
        assert left == set(), situation


def test_the_same_operators_answer_the_same_after_enabling_again(told: dict[str, Any]) -> None:
    assert told["enabled again"] == told["installed"]


@pytest.mark.parametrize("when", ["disabled", "uninstalled"])
def test_nothing_stays_behind(told: dict[str, Any], when: str) -> None:
    left = told[when]
    assert not left["enabled"]
    assert (left["operators"], left["types"], left["window_manager"]) == ([], [], [])
    assert not left.get("files")


def test_what_was_installed_is_the_package(told: dict[str, Any], archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = sorted(name for name in opened.namelist() if name.endswith(".py"))
    assert told["files"] == names
    package = ROOT / "quat_audit"
    ignored = {"__pycache__"}
    mine = [p.relative_to(package) for p in package.rglob("*.py") if not ignored & set(p.parts)]
    assert names == sorted(os.fspath(path.as_posix()) for path in mine)


def test_documentation_and_translations_are_inside(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        names = set(opened.namelist())
        page = opened.read("docs/rules/QA104.html").decode()
    assert {"docs/quick-start.html", "docs/faq.html", "docs/rules/index.html"} <= names
    assert {f"ui/locale/{locale}.json" for locale in ("zh_HANS", "ja_JP")} <= names
    assert {"docs/report.schema.json", "docs/preview.schema.json"} <= names
    assert not [name for name in names if name.endswith(".md") and name.startswith("docs/")]
    assert "<h1" in page


class _Page(HTMLParser):
    """The links of a page, and the places in it that a link can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        self.anchors |= {value for name, value in attrs if name == "id" and value}


def test_every_link_of_every_page_in_the_zip_leads_to_something_in_it(archive: Path) -> None:
    with zipfile.ZipFile(archive) as opened:
        texts = {n: opened.read(n).decode() for n in opened.namelist() if n.endswith((".html", ".md"))}
        names = set(opened.namelist())
    pages = {name: _Page(text) for name, text in texts.items() if name.endswith(".html")}
    links = [(name, link) for name, page in pages.items() for link in page.links]
    links += [("README.md", link) for link in re.findall(r"\]\(([^)\s]+)\)", texts["README.md"])]
    assert {name for name, _ in links} >= {"README.md", "docs/quick-start.html", "docs/rules/index.html"}
    for name, link in links:
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
        assert target in names, f"{name}: {link}"
        if anchor and target in pages:
            assert anchor in pages[target].anchors, f"{name}: {link}"
    assert "CONTRIBUTING.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "](CONTRIBUTING.md)" not in texts["README.md"] and "CONTRIBUTING.md" in texts["README.md"]


def test_a_checkout_runs_by_links(tmp_path: Path) -> None:
    resources = tmp_path / "user"
    link_dev.link(resources / "extensions")
    code = (
        "import bpy, sys; name = 'bl_ext.user_default.quat_audit'; bpy.ops.preferences.addon_enable(module=name); "
        "print('enabled' if bpy.context.preferences.addons[name].preferences else 'no preferences', "
        "sys.modules[name].__file__, flush=True); bpy.ops.preferences.addon_disable(module=name)"
    )
    variables = environment.clean_environment() | {
        "BLENDER_USER_RESOURCES": str(resources),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, cwd=tmp_path, env=variables, capture_output=True, encoding="utf-8", check=False, timeout=120
    )
    expected = resources / "extensions" / "user_default" / "quat_audit" / "__init__.py"
    assert f"enabled {expected}" in run.stdout, run.stdout + run.stderr
    assert run.returncode == 0
    assert "Traceback" not in run.stdout + run.stderr
    assert link_dev.unlink(resources / "extensions").startswith("removed ")
    assert (ROOT / "quat_audit" / "__init__.py").is_file()
