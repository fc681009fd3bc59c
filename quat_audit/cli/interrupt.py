# SPDX-License-Identifier: GPL-3.0-or-later
"""Ctrl-C without loss: the first one ends the run after the file at hand, the second one at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interruption:
    """How often Ctrl-C was pressed, and how often it may be before it raises KeyboardInterrupt."""

    pressed: int = 0
    patience: int = 1

    def __bool__(self) -> bool:
        return self.pressed > 0

    def note(self, *_: Any) -> None:
        """The signal handler."""
        self.pressed += 1
        if self.pressed > self.patience:
            raise KeyboardInterrupt


@contextmanager
def held() -> Iterator[Interruption]:
    """Hold Ctrl-C back: an exception in the middle of `import bpy` or of a Blender call ends in a traceback or a crash.

    Where signals cannot be had (another thread), or are ignored on purpose (nohup), nothing is changed.
    """
    interruption = Interruption()
    before = signal.getsignal(signal.SIGINT)
    try:
        if before is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, interruption.note)
    except ValueError:  # not in the main thread
        yield interruption
        return
    try:
        yield interruption
    finally:
        # None: the handler is not Python's (Blender's own), and Python cannot put it back.
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
