# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between systems stands where it is looked for; read from the source, so that Linux alone finds it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import nodes

pytestmark = pytest.mark.usefixtures("sources_are_read")
ROOT = Path(__file__).resolve().parents[1]
FILES = [path for room in ("quat_audit", "scripts", "tests") for path in sorted((ROOT / room).rglob("*.py"))]

# What not every system has, or does differently, and where it may stand: there a branch or a condition is beside it.
PLACES = {
    "os.link": {"quat_audit/run/publish.py"},
    "os.symlink": {"tests/run/test_inputs.py"},
    "os.mkfifo": {"tests/conditions.py", "tests/cli/test_hostile_usage.py", "tests/files/gltf/test_read.py"},
    "os.geteuid": {"tests/run/test_bad_input.py"},
    "os.kill": set(),
    "os.fork": set(),
    "os.EX_OK": set(),
    "ctypes.CDLL": {"quat_audit/blender/open.py", "tests/conditions.py", "tests/blender/offscreen.py"},
    "ctypes.windll": {"quat_audit/cli/terminal.py"},
    "fcntl.flock": {"scripts/environment.py"},
    "msvcrt.locking": {"scripts/environment.py"},
    "pytest.mark.skipif": {"tests/conditions.py"},
}
TEXT_METHODS = {"read_text": 0, "write_text": 1}


def _calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in nodes(path) if isinstance(node, ast.Call))


def _without_encoding(call: ast.Call) -> bool:
    """Whether a call reads or writes text in an encoding that the system chooses."""
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    if "encoding" in named or None in named:
        return False
    function = ast.unparse(call.func).rsplit(".", 1)[-1]
    if function in TEXT_METHODS:
        return len(call.args) <= TEXT_METHODS[function]
    if function in ("run", "Popen", "check_output"):
        return "text" in named or "universal_newlines" in named
    if function == "open" and ast.unparse(call.func) in ("open", "io.open", "Path.open"):
        mode = named.get("mode", call.args[1] if len(call.args) > 1 else None)
        return not (isinstance(mode, ast.Constant) and "b" in str(mode.value))
    return False


@pytest.mark.slow
def test_text_has_an_encoding_everywhere() -> None:
    found = [f"{p.relative_to(ROOT)}:{c.lineno}" for p in FILES for c in _calls(p) if _without_encoding(c)]
    assert found == []


def test_a_missing_encoding_is_seen() -> None:
    good = ("a.read_text(encoding='x')", "open(a, 'rb')", "a.write_text(b, 'x')", "run(a)", "open(a, **b)")
    bad = ("a.read_text()", "open(a)", "open(a, 'w')", "a.write_text(b)", "run(a, text=True)")
    for source, expected in [*((s, False) for s in good), *((s, True) for s in bad)]:
        (call,) = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
        assert _without_encoding(call) == expected, source


def test_the_package_writes_no_text_whose_line_ends_the_system_chooses() -> None:
    package = [path for path in FILES if path.is_relative_to(ROOT / "quat_audit")]
    writers = [
        (path, call) for path in package for call in _calls(path) if ast.unparse(call.func).endswith("write_text")
    ]
    assert writers
    assert [p.name for p, call in writers if "newline" not in {keyword.arg for keyword in call.keywords}] == []


def test_what_differs_between_systems_stands_in_known_places() -> None:
    found: dict[str, set[str]] = {name: set() for name in PLACES}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.Attribute) and (name := ast.unparse(node)) in PLACES:
                found[name].add(path.relative_to(ROOT).as_posix())
    assert found == PLACES


def test_a_test_that_is_left_out_says_what_is_not_available() -> None:
    reasons = [
        ast.literal_eval(call.args[0])
        for path in FILES
        for call in _calls(path)
        if ast.unparse(call.func) == "pytest.skip"
    ]
    assert reasons
    assert [reason for reason in reasons if not reason.startswith("not available: ")] == []


def test_no_two_files_are_one_where_case_does_not_matter_and_windows_can_have_them_all() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in FILES]
    assert len({name.casefold() for name in names}) == len(names)
    assert all(name.isascii() and len(name) < 120 and not set(name) & set('<>:"|?*\\') for name in names)
