# SPDX-License-Identifier: GPL-3.0-or-later
"""What is ours, what is the system's, and what is a mistake in the code: they are told apart."""

from __future__ import annotations

import ast
import errno
import logging
from pathlib import Path

import pytest

from quat_audit import errors
from quat_audit.errors import GoneError, InputError, QuatAuditError, RefusedError, SkinError, reason_of
from quat_audit.text import Text
from tests.sources import nodes

pytestmark = pytest.mark.usefixtures("sources_are_read")
PACKAGE = Path(errors.__file__).parent
OURS = (QuatAuditError, InputError, GoneError, RefusedError, SkinError)


@pytest.mark.parametrize("cls", OURS)
def test_ours_are_not_what_mistakes_raise_and_keep_their_template(cls: type[QuatAuditError], caplog) -> None:
    assert not issubclass(cls, LookupError | ValueError | RuntimeError | OSError | AttributeError | TypeError)
    why = Text("{mesh} is gone", {"mesh": "Body"})
    error = cls(why)
    assert error.why is why and str(error) == "Body is gone"
    assert reason_of(error, "a test") is why
    assert caplog.records == []


def test_the_system_speaks_for_itself(caplog) -> None:
    assert reason_of(FileNotFoundError(errno.ENOENT, "No such file", "walk.glb"), "a test") == "No such file: walk.glb"
    assert reason_of(OSError("cut off"), "a test") == "cut off"
    assert caplog.records == []


@pytest.mark.parametrize("error", [IndexError("index 3"), KeyError("x"), ValueError("shape {0}"), MemoryError()])
def test_everything_else_is_a_mistake_that_is_logged_with_its_traceback(error: Exception, caplog) -> None:
    def rule() -> None:
        raise error

    try:
        rule()
    except type(error) as caught:
        window, terminal = (reason_of(caught, "the audit of Walk", in_window=where) for where in (True, False))
    said = f"internal error: {type(error).__name__}: {error}; please report it with the file, "
    assert window == said + "the text of the system console and the version of Blender"
    assert terminal == said + "the version of Blender and what --verbose shows"
    assert [(r.levelno, r.getMessage()) for r in caplog.records] == 2 * [
        (logging.ERROR, "internal error: the audit of Walk")
    ]
    assert "in rule" in logging.Formatter().format(caplog.records[0])


def _caught(node: ast.ExceptHandler) -> set[str]:
    kinds = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
    return {ast.unparse(kind) if kind is not None else "everything" for kind in kinds}


# What Python or Blender raise themselves, around the one call that does.
SWALLOWED = {
    ("blender/open.py", "RuntimeError"),  # what Blender's operators make of their reports
    ("blender/users.py", "ValueError"),  # path_resolve
    ("blender/users.py", "KeyError"),
    ("blender/users.py", "IndexError"),
    ("cli/interrupt.py", "ValueError"),  # signal.signal in another thread
    ("cli/main.py", "ValueError"),  # float("x")
    ("files/bvh/motion.py", "ValueError"),  # a word that is no number
    ("files/bvh/reading.py", "ValueError"),
    ("files/fbx.py", "ValueError"),  # struct, and what it raises itself while it reads
    ("files/gltf/container.py", "ValueError"),  # JSON, base64, a name with a NUL
    ("findings/ignores.py", "ValueError"),  # JSON
    ("preview/earlier.py", "ValueError"),  # JSON
    ("run/inputs.py", "ValueError"),  # no common folder of two drives; a name with a NUL
    ("run/names.py", "ValueError"),  # a name with a NUL
    ("run/opening.py", "ValueError"),  # a name with a NUL
    ("ui/wording.py", "KeyError"),  # a translation's own placeholder
    ("ui/wording.py", "IndexError"),
    ("ui/wording.py", "ValueError"),
}


def test_nothing_else_swallows_what_mistakes_raise() -> None:
    wide = {"LookupError", "ValueError", "KeyError", "IndexError", "RuntimeError"}
    found = {
        (path.relative_to(PACKAGE).as_posix(), kind)
        for path in PACKAGE.rglob("*.py")
        for node in nodes(path)
        if isinstance(node, ast.ExceptHandler)
        for kind in _caught(node) & wide
    }
    assert found == SWALLOWED


def test_who_catches_all_exceptions_asks_reason_of_or_raises_again() -> None:
    """But for what a graphics driver says, and what is raised again by who takes the step."""
    everything = {"Exception", "BaseException", "everything"}
    silent = set()
    for path in PACKAGE.rglob("*.py"):
        for node in nodes(path):
            if not isinstance(node, ast.ExceptHandler) or not _caught(node) & everything:
                continue
            inside = [n for part in node.body for n in ast.walk(part)]
            asks = {getattr(n.func, "id", getattr(n.func, "attr", "")) for n in inside if isinstance(n, ast.Call)}
            if not (asks & {"reason_of", "tell", "_end"} or any(isinstance(n, ast.Raise) for n in inside)):
                silent.add(path.relative_to(PACKAGE).as_posix())
    assert silent == {"blender/draw/ghost.py", "pausing.py"}
