# SPDX-License-Identifier: GPL-3.0-or-later
"""Standard output and error: what is written to them, also when they are closed, full, or nobody reads on."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterable
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


def wants_color() -> bool:
    """Whether standard output is a terminal that shows colors, and nobody minds."""
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and "NO_COLOR" not in os.environ
        and os.environ.get("TERM") != "dumb"
        and _understands_escapes(sys.stdout)
    )


def _understands_escapes(stream: TextIO) -> bool:
    """Whether a terminal takes escape sequences as such; a console of Windows is asked to, which it keeps in mind."""
    if os.name != "nt":
        return True
    import ctypes
    import msvcrt

    kernel = ctypes.windll.kernel32  # type: ignore[attr-defined,unused-ignore]
    handle = ctypes.c_void_p(msvcrt.get_osfhandle(stream.fileno()))  # type: ignore[attr-defined,unused-ignore]
    mode = ctypes.c_ulong()
    if not kernel.GetConsoleMode(handle, ctypes.byref(mode)):
        return False
    virtual_terminal = 0x0004
    return bool(kernel.SetConsoleMode(handle, mode.value | virtual_terminal))


def write_out(text: str | Iterable[str]) -> None:
    """Write a text, or its parts, to standard output and flush it. A reader that has seen enough (head) is no error.

    Raises:
        InputError: standard output is closed or full.
    """
    check_output()
    encoding = sys.stdout.encoding or "utf-8"
    try:
        for part in (text,) if isinstance(text, str) else text:
            sys.stdout.write(part.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        if nobody_reads(error):
            return
        raise InputError(f"cannot write to standard output: {error.strerror or error}") from None


def nobody_reads(error: OSError, *, windows: bool = os.name == "nt") -> bool:
    """Whether the reader of a pipe has gone: Windows calls that an invalid argument."""
    return isinstance(error, BrokenPipeError) or (windows and error.errno == errno.EINVAL)


def _give_up(stream: TextIO) -> None:
    """Send what a stream still holds nowhere: Python would complain again when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Progress:
    """One line on a terminal, rewritten; nothing anywhere else, nothing for short work."""

    def __init__(self, total: int, stream: TextIO | None) -> None:
        shown = stream is not None and stream.isatty() and _understands_escapes(stream)
        self._total, self._stream = total, stream if shown else None
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
