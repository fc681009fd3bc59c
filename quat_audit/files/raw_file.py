# SPDX-License-Identifier: GPL-3.0-or-later
"""What every file reader returns (RawFile), and what its patch returns (Patched)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..motion.clip import Clip


class Unwritten(NamedTuple):
    """What was edited on a data path of a clip (by its number in the file), and could not be written, because."""

    clip: int
    data_path: str
    why: str


@dataclass(frozen=True, eq=False)
class Patched:
    """A file with edits applied to its bytes.

    Attributes:
        outputs: relative file name → bytes, the main file first.
        copies: relative names of files that the outputs refer to and that stay as they are.
        refused: edits that could not be expressed in the file, all that was edited on a path together.
    """

    outputs: dict[str, bytes]
    refused: tuple[Unwritten, ...] = ()
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class RawFile:
    """A file that was read: its clips, what could not be read, and how to write edited clips back.

    ``patch`` takes the edited clips in the order of ``clips``. ``not_evaluated`` are the (what, why) pairs of the file
    itself; those of one clip stand in the clip. ``skins`` is how many skins the file has, of which nothing is read.
    """

    path: Path
    clips: tuple[Clip, ...]
    not_evaluated: tuple[tuple[str, str], ...]
    patch: Callable[[Sequence[Clip]], Patched]
    skins: int = 0
