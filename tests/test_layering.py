# SPDX-License-Identifier: GPL-3.0-or-later
"""The floor plan, made true: one ordered list of floors, read against the source. Nothing is run but the last test."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.sources import nodes, tree

pytestmark = pytest.mark.usefixtures("sources_are_read")
ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "quat_audit"
FILES = sorted(PACKAGE.rglob("*.py"))

# From the top. A module may import what stands on a lower line, and its own room; side by side on a line nobody
# imports the other. A line of its own is a permission: a test names those that nobody uses. A name ending in / is a
# room with all that is in it; "." is the package's own __init__.
FLOORS = """
    . __main__
    ui/__init__ ui/command
    cli/ ui/hooks ui/menus ui/skin/panel ui/preview/panel
    ui/operators/ ui/panel ui/preview/operators ui/comparison/operators ui/lists
    ui/following
    ui/comparison/state ui/preview/state
    ui/comparison/graph ui/preview/drawing
    ui/comparison/view ui/preview/held
    ui/preview/previewed_mesh ui/repairing
    ui/skin/
    ui/auditing
    ui/properties ui/preview/properties
    ui/scope ui/preferences ui/guard
    ui/wording ui/icons
    ui/canvas ui/handlers ui/translations ui/windows api
    run/ results/
    reports/ blender/skin/previews
    blender/skin/show blender/skin/posed blender/draw/render blender/posed_rig
    blender/skin/mesh blender/write blender/show
    blender/write_rig
    blender/read
    blender/readers blender/skin/reasons blender/draw/ghost blender/open blender/linked
    blender/layers
    blender/playback blender/pose blender/skin/group_users blender/users blender/ignore blender/draw/shader
    blender/compat blender/saving blender/scripted blender/skin/mesh_state
    blender/names files/gltf/ files/bvh/ files/blend files/fbx
    files/raw_file comparison/ preview/ audit/
    rules/
    skinning/ motion/
    findings/ rotation/
    errors
    arrays pausing text version
"""
BPY = {"bmesh", "bpy", "mathutils", "gpu", "addon_utils", "bl_ext", "bpy_extras", "gpu_extras", "idprop", "blf"}
# The only rooms that may import them; the other rooms import these within functions only.
WITH_BPY = ("blender/", "ui/")


class Import(NamedTuple):
    """`line` imports `name`: a module of the package as its path, or the top of another package."""

    line: int
    name: str
    ours: bool
    at_import: bool


def _name(path: Path) -> str:
    """ "ui/panel", "ui/__init__" for a room itself when it has code, "." for the package."""
    name = path.relative_to(PACKAGE).with_suffix("").as_posix()
    return "." if name == "__init__" else name


@cache
def _imports(path: Path) -> tuple[Import, ...]:
    return tuple(_read_imports(path))


def _read_imports(path: Path) -> Iterator[Import]:
    top = set(map(id, tree(path).body))
    for node in nodes(path):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name.split(".")[0], False, id(node) in top)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield Import(node.lineno, str(node.module).split(".")[0], False, id(node) in top)
        elif isinstance(node, ast.ImportFrom):
            folder = path.parents[node.level - 1]
            assert folder == PACKAGE or PACKAGE in folder.parents, f"{path} imports from above the package"
            folder = folder.joinpath(*(node.module or "").split("."))
            for alias in node.names:
                target = folder / alias.name
                if not target.is_dir() and not target.with_suffix(".py").exists():
                    target = folder  # a name within the module
                if target.is_dir():
                    target /= "__init__"
                yield Import(node.lineno, _name(target.with_suffix(".py")), True, id(node) in top)


@cache
def _floors() -> list[list[str]]:
    return [line.split() for line in reversed(FLOORS.strip().splitlines())]  # rising


@cache
def _room(name: str) -> str:
    """The entry of the floors that a module belongs to: the longest that fits; "" for none."""
    entries = [entry for floor in _floors() for entry in floor]
    fitting = [e for e in entries if name == e or (e.endswith("/") and f"{name}/".startswith(e))]
    return max(fitting, key=len, default="")


def test_every_module_has_its_floor_and_every_floor_its_modules() -> None:
    # A room's own docstring says where things are; it stands nowhere unless it has code.
    named = {_room(_name(p)) for p in FILES if p.stem != "__init__" or len(tree(p).body) > 1}
    assert "" not in named, [_name(p) for p in FILES if not _room(_name(p))]
    assert {entry for floor in _floors() for entry in floor} == named


def test_imports_point_down() -> None:
    height = {entry: number for number, floor in enumerate(_floors()) for entry in floor}
    wrong = []
    for path in FILES:
        mine = _room(_name(path))
        for found in _imports(path):
            other = _room(found.name) if found.ours else mine
            if other and other != mine and height[other] >= height[mine]:
                wrong.append(f"{_name(path)}:{found.line} ({mine}) must not import {found.name} ({other})")
    assert not wrong, "\n".join(wrong)


def test_no_floor_is_higher_than_its_imports_ask_for() -> None:
    """Two neighboring lines between which nothing is imported could be one: a permission that nobody uses."""
    floors = _floors()
    used = {(_room(_name(p)), _room(found.name)) for p in FILES for found in _imports(p) if found.ours}
    unused = [
        f"{' '.join(above)} | {' '.join(below)}"
        for below, above in pairwise(floors)
        if not any((high, low) in used for high in above for low in below)
    ]
    assert not unused, "\n".join(unused)


def test_only_the_adapter_imports_blender_and_nothing_imports_the_package_by_name() -> None:
    wrong = []
    for path in FILES:
        for found in _imports(path):
            where = f"{_name(path)}:{found.line}"
            with_bpy = _name(path).startswith(WITH_BPY)
            if found.ours:
                if found.at_import and found.name.startswith(WITH_BPY) and not with_bpy:
                    wrong.append(f"{where} imports the adapter when it is imported")
            elif found.name == PACKAGE.name:
                wrong.append(f"{where}: as an extension the package has another name")
            elif found.name in BPY and not with_bpy:
                wrong.append(f"{where} must not import {found.name}")
            elif found.name not in sys.stdlib_module_names and found.name != "numpy" and found.name not in BPY:
                wrong.append(f"{where} imports {found.name}, which is neither the standard library nor NumPy")
    assert not wrong, "\n".join(wrong)


def test_only_the_command_line_prints() -> None:
    for path in FILES:
        calls = [n.func for n in nodes(path) if isinstance(n, ast.Call)]
        prints = [call for call in calls if isinstance(call, ast.Name) and call.id == "print"]
        assert not prints or _name(path).startswith("cli/"), _name(path)


def test_every_file_says_its_licence_and_what_it_is_and_stays_short() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# SPDX-License-Identifier: GPL-3.0-or-later\n"), path
        assert ast.get_docstring(tree(path)), f"{path}: no module docstring"
        assert text.count("\n") <= 420, path
        assert path.stem not in ("utils", "helpers", "common", "misc"), path


def test_the_map_in_each_room_names_all_that_is_in_it() -> None:
    missing = []
    for room in (path.parent for path in FILES if path.stem == "__init__"):
        words = ast.get_docstring(tree(room / "__init__.py")) or ""
        for path in sorted(room.iterdir()):
            is_module = path.suffix == ".py" and path.stem != "__init__" and not path.stem.startswith("qa")
            if (is_module or (path / "__init__.py").exists()) and path.stem not in words:
                missing.append(path.relative_to(PACKAGE).as_posix())
    assert not missing


def test_the_top_of_the_package_stays_small() -> None:
    rooms = [p for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"]
    assert len(rooms) <= 16
    assert len(list(PACKAGE.glob("*.py"))) <= 8


def test_importing_everything_but_the_adapter_imports_no_blender() -> None:
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in FILES
        if not _name(path).startswith(WITH_BPY) and path.stem != "__main__"
    ]
    assert len(modules) > 20
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(sorted(set(sys.modules) & {BPY!r}))"
    )
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert (run.returncode, run.stdout.strip()) == (0, "[]"), run.stderr


@pytest.mark.parametrize(
    "source, target",
    [("motion/clip", "rules/rule"), ("findings/finding", "motion/clip"), ("blender/read", "ui/panel")],
)
def test_the_floors_would_forbid(source: str, target: str) -> None:
    height = {entry: number for number, floor in enumerate(_floors()) for entry in floor}
    assert height[_room(source)] < height[_room(target)]
