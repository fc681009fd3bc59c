# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test may need of the system it runs on, asked of the system and named: the only reasons to leave a test out.

A mark leaves its test out with "not available: …", and scripts/test.py counts these reasons in its table. What a system
has is tried rather than derived from its name: Windows has symbolic links where Developer Mode is on.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def needs(what: str, available: bool) -> pytest.MarkDecorator:
    """The mark of tests that need something."""
    return pytest.mark.skipif(not available, reason=f"not available: {what} on this system")


def _works(attempt: Callable[[Path], object]) -> bool:
    """Whether something can be done in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            return attempt(Path(folder)) is not False
        except (OSError, NotImplementedError, AttributeError):
            return False


def _other_case(folder: Path) -> bool:
    (folder / "name").touch()
    return (folder / "NAME").exists()


def _other_form(folder: Path) -> bool:
    (folder / "\u00e9").touch()
    return (folder / "e\u0301").exists()


def _raw_name(folder: Path) -> None:
    (folder / os.fsdecode(b"\xff")).touch()


def _mode(folder: Path) -> bool:
    (folder / "file").touch()
    (folder / "file").chmod(0o640)
    return (folder / "file").stat().st_mode & 0o777 == 0o640


LINUX = sys.platform.startswith("linux")
SYMBOLIC_LINKS = needs("symbolic links", _works(lambda folder: (folder / "link").symlink_to("target")))
PIPES_WITH_NAMES = needs("pipes with names", _works(lambda folder: os.mkfifo(folder / "pipe")))
DEVICE_FILES = needs("pipes, devices and sockets among the files", hasattr(os, "mkfifo") and Path("/dev/zero").exists())
# A process that runs as root reads and writes everything: the tests step down to another user.
PERMISSIONS = needs("POSIX permissions", hasattr(os, "geteuid") and _works(_mode))
SIGNALS = needs("SIGINT sent to a child", os.name == "posix")
PROC = needs("/proc with the libraries of a process", LINUX and Path("/proc/self/maps").exists())
SHELL_AND_DEV_FULL = needs("a POSIX shell and /dev/full", Path("/dev/full").exists() and Path("/bin/sh").exists())
BASH = needs("bash, for the script of the CI", os.name == "posix")
RAW_NAMES = needs("file names of any bytes", _works(_raw_name))
CASE_COUNTS = needs("a file system on which case counts", not _works(_other_case))
CASE_IGNORED = needs("a file system that ignores case", _works(_other_case))
FORMS_COUNT = needs("a file system that tells the forms of an accent apart", not _works(_other_form))

# Options of a child that is sent SIGINT: a job in the background ignores Ctrl-C, and so would its children.
AS_IN_A_TERMINAL: dict[str, Any] = (
    {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)} if os.name == "posix" else {}
)


def flush_c() -> None:
    """Write out what C holds back: Blender prints past Python's own buffer."""
    ctypes.CDLL("ucrtbase" if os.name == "nt" else None).fflush(None)
