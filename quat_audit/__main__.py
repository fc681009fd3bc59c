# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m quat_audit"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from typing import NoReturn


def _stop_early(*_: object) -> None:
    """Ctrl-C before there is anything to report, or after all is reported."""
    os.write(2, b"quat_audit: interrupted\n")
    os._exit(2)


def _fill_closed() -> None:
    """Put something in the place of closed standard streams: the next file opened would be taken for one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def _run() -> int:
    try:
        from .cli.main import main
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        if sys.stderr is not None:
            python = os.path.basename(sys.executable)
            sys.stderr.write(
                f"quat_audit: error: needs NumPy: run `{python} -m pip install numpy` (bpy brings it too)\n"
            )
        return 2
    return main(sys.argv[1:])


def _leave(code: int) -> NoReturn:
    # All is said: another Ctrl-C must not change the exit code now.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bpy = sys.modules.get("bpy")
    if bpy is None:
        sys.exit(code)
    # Blender as a module complains, and some versions crash, when Python takes it down. Its folder for temporary
    # files is what it would have taken away itself.
    temporary = os.path.normpath(bpy.app.tempdir) if hasattr(bpy, "app") else ""
    if os.path.basename(temporary).startswith("blender_"):
        shutil.rmtree(temporary, ignore_errors=True)
    os._exit(code)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop_early)  # first of all: what follows takes its time
    _fill_closed()
    _leave(_run())
