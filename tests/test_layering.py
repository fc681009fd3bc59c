# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrows of the floor plan, made true: who may import whom. Read from the source, nothing is run."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "quat_audit"
FILES = sorted(PACKAGE.rglob("*.py"))

BLENDER_MODULES = {
    "bmesh",
    "bpy",
    "mathutils",
    "gpu",
    "addon_utils",
    "bl_ext",
    "bpy_extras",
    "gpu_extras",
    "idprop",
    "blf",
}
OURS = {"blender", "ui"}  # the only folders that may import them

# What a part of the house may import of the rest (besides itself). Missing: anything but blender and ui.
MAY_IMPORT = {
    "ignores": set(),
    "pausing": set(),
    "clip": {"ignores"},
    "errors": set(),
    "version": set(),
    "finding": {"clip", "skinning"},
    "rotation": {"clip", "pausing"},
    "keys": {"clip", "pausing", "rotation"},
    "measure": {"clip", "keys", "pausing", "rotation"},
    "edit": {"clip", "keys", "rotation"},
    "skinning": {"clip", "ignores", "pausing", "rotation"},
    "rules": {"clip", "edit", "finding", "keys", "measure", "rotation", "skinning"},
    "audit": {"clip", "finding", "keys", "measure", "pausing", "rotation", "rules", "skinning"},
    "proof": {"clip", "finding", "keys", "measure", "rotation"},
    "repair": {"audit", "clip", "edit", "finding", "proof", "rules", "skinning"},
    "comparison": {"clip", "finding", "keys", "measure", "rotation"},
    "key_signs": {"clip", "edit", "finding", "keys", "proof", "rotation"},
    "profiles": {"audit", "errors", "finding", "fixing", "rules"},
    "files": {"clip", "errors", "finding", "rotation"},
    "preview": {"clip", "errors", "escapes", "skinning", "version"},
    "previewing": {"blender", "errors", "escapes", "preview", "publish", "reports", "sources"},
    "blender": {
        "cli",
        "clip",
        "comparison",
        "errors",
        "finding",
        "ignores",
        "preview",
        "rotation",
        "skinning",
        "version",
    },
    "inputs": {"errors"},
    "escapes": set(),
    "interruption": set(),
    "terminal": {"errors", "escapes"},
    "places": {"api", "errors", "inputs", "publish"},
    "publish": {"errors"},
    "reports": {"escapes", "finding", "version"},
    "sources": {"blender", "clip", "errors", "files", "finding", "inputs", "publish", "skinning"},
    "fixing": {"audit", "clip", "errors", "finding", "proof", "publish", "repair", "rules", "sources"},
    "api": {"audit", "blender", "clip", "errors", "finding", "fixing", "previewing", "publish", "repair", "sources"},
    "cli_preview": {"api", "errors", "escapes", "interruption", "preview", "previewing", "terminal"},
    "cli": {
        "api",
        "cli_preview",
        "errors",
        "finding",
        "inputs",
        "interruption",
        "places",
        "profiles",
        "publish",
        "reports",
        "rules",
        "sources",
        "terminal",
        "version",
    },
    "ui": {
        "api",
        "audit",
        "blender",
        "clip",
        "comparison",
        "edit",
        "errors",
        "finding",
        "fixing",
        "ignores",
        "key_signs",
        "keys",
        "measure",
        "profiles",
        "proof",
        "repair",
        "reports",
        "rotation",
        "rules",
        "skinning",
        "version",
    },
    "__main__": {"cli"},
    "__init__": {"blender", "ui"},
}
# One file of blender/ is a door into the house, not part of the adapter.
ONLY_FROM = {("blender", "cli"): {"command.py"}}


def _part(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def _imports(path: Path) -> Iterator[tuple[int, str, bool]]:
    """(relative level, dotted name, at module level) of every import. For `from . import x`, the name is x."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield 0, alias.name, id(node) in top
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.level, node.module, id(node) in top
            else:
                for alias in node.names:
                    yield node.level, alias.name, id(node) in top


def _parts_imported(path: Path) -> Iterator[str]:
    depth = len(path.relative_to(PACKAGE).parts)  # 1: in the package itself
    for level, name, _ in _imports(path):
        if level == depth:
            yield name.split(".")[0]
        elif level:
            assert level < depth, f"{path.name} imports from above the package"
            yield path.relative_to(PACKAGE).parts[0]


def _id(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def test_every_part_has_its_place() -> None:
    assert {_part(path) for path in FILES} <= set(MAY_IMPORT)
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_imports_go_one_way(path: Path) -> None:
    part = _part(path)
    for imported in _parts_imported(path):
        assert imported == part or imported in MAY_IMPORT[part], f"{_id(path)} must not import {imported}"
        only = ONLY_FROM.get((part, imported))
        assert only is None or path.name in only, f"{_id(path)} must not import {imported}"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_only_the_adapter_imports_blender_and_nothing_imports_the_package_by_name(path: Path) -> None:
    for level, name, _ in _imports(path):
        module = name.split(".")[0]
        if level == 0:
            assert module != PACKAGE.name, f"{_id(path)}: as an extension the package has another name"
            assert module not in BLENDER_MODULES or _part(path) in OURS, f"{_id(path)} must not import {module}"
            allowed = module in sys.stdlib_module_names or module == "numpy" or module in BLENDER_MODULES
            assert allowed, f"{_id(path)} imports {module}, which is neither the standard library nor NumPy"


@pytest.mark.parametrize("path", [p for p in FILES if _part(p) not in OURS], ids=_id)
def test_the_adapter_is_imported_only_where_it_is_used(path: Path) -> None:
    for level, name, top in _imports(path):
        assert not (level and top and name.split(".")[0] in OURS), (
            f"{_id(path)} imports the adapter when it is imported"
        )


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_only_the_command_line_prints(path: Path) -> None:
    calls = [n.func for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)]
    prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
    assert not prints or path.name == "cli.py"


@pytest.mark.parametrize("path", FILES, ids=_id)
def test_every_file_says_its_licence_and_what_it_is_and_stays_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# SPDX-License-Identifier: GPL-3.0-or-later\n")
    assert ast.get_docstring(ast.parse(text)) or path.stat().st_size < 60, "no module docstring"
    assert text.count("\n") <= 420
    assert path.stem not in ("utils", "helpers", "common", "misc")


def test_importing_everything_but_the_adapter_imports_no_blender() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
        if _part(path) not in (*OURS, "__main__")
    ]
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(sorted(set(sys.modules) & {BLENDER_MODULES!r}))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr
