# SPDX-License-Identifier: GPL-3.0-or-later
"""When two paths are one file though they are spelled differently.

Windows and macOS take ``Walk.glb`` and ``walk.glb`` for one file, and macOS both ways of writing an accent. A resolved
path keeps the spelling that it was given, so comparing resolved paths is not enough there.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from pathlib import Path, PurePath

# Whether file systems usually ignore case here. Single folders may differ: that is what `one_file` asks.
IGNORES_CASE = os.name == "nt" or sys.platform == "darwin"


def composed(text: str) -> str:
    """The text in NFC, an accent and its letter as one character: macOS may list a name in either form."""
    return unicodedata.normalize("NFC", text)


def spelling(path: str | PurePath) -> str:
    """One text for all spellings of a path that some file system takes for the same."""
    return composed(composed(os.fspath(path)).casefold())


def result_key(path: PurePath) -> str:
    """What two results must not share, or one would replace the other."""
    return spelling(path) if IGNORES_CASE else os.fspath(path)


def one_file(one: Path, other: Path) -> bool:
    """Whether two resolved paths are one file: the same path, or another spelling of it where that does not matter.

    Two hard links are two files (replacing one leaves the other), unless their paths differ in spelling only.
    """
    if os.fspath(one) == os.fspath(other):
        return True
    if spelling(one) != spelling(other):
        return False
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return False  # one of them does not exist


def within(path: Path, folder: Path) -> bool:
    """Whether a resolved path is a resolved folder, or lies below it."""
    return path.is_relative_to(folder) or any(one_file(each, folder) for each in (path, *path.parents))
