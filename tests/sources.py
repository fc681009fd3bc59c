# SPDX-License-Identifier: GPL-3.0-or-later
"""Source files as syntax trees, each read once for the tests of a module, which use the fixture `sources_are_read`."""

from __future__ import annotations

import ast
import gc
from functools import cache
from pathlib import Path


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a file. Nobody may change it."""
    # Nothing of it is garbage: to collect some while it grows takes longer than to parse.
    collecting = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    finally:
        if collecting:
            gc.enable()


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All that is in a file, as `ast.walk` goes through it."""
    return tuple(ast.walk(tree(path)))


def forget() -> None:
    """Let go of all trees."""
    nodes.cache_clear()
    tree.cache_clear()
