# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output and error: what is written to them, also when they are closed, full, or nobody reads on."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TextIO

from ..errors import InputError
from ..text import visible

# A progress line before this is only flicker.
QUIET_SECONDS = 1.0


def say(text: str) -> None:
    """A line on standard error. Where that is closed or full there is nobody to tell."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(visible(text, keep="\n") + "\n")
            sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)


def check_output() -> None:
    """Raise InputError when there is no standard output (before hours of work, not after)."""
    if sys.stdout is None:
        raise InputError("standard output is closed: use --output FILE")


def wants_colour() -> bool:
    """Whether standard output is a terminal that shows colors, and nobody minds."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and "NO_COLOR" not in os.environ
        and os.environ.get("TERM") != "dumb"
    )


def write_out(text: str) -> None:
    """Write to standard output and flush it. A reader that has seen enough (head, less) is no error.

    Raises:
        InputError: standard output is closed or full.
    """
    check_output()
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        raise InputError(f"cannot write to standard output: {error.strerror or error}") from None


def _give_up(stream: TextIO) -> None:
    """Send what a stream still holds nowhere: Python would complain again when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Progress:
    """One line on a terminal, rewritten; nothing anywhere else, nothing for short work."""

    def __init__(self, total: int, stream: TextIO | None) -> None:
        self._total, self._stream = total, stream if stream is not None and stream.isatty() else None
        self._start = time.monotonic()
        self._shown = False

    def show(self, number: int, path: Path, total: int | None = None) -> None:
        """Say which file is at work; `total` where it was not known before."""
        self._total = total or self._total
        if self._stream is not None and time.monotonic() - self._start > QUIET_SECONDS:
            self._shown = True
            self._stream.write(f"\r\x1b[K[{number + 1}/{self._total}] {visible(path.name)}")
            self._stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._stream is not None and self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
