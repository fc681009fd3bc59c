# SPDX-License-Identifier: GPL-3.0-or-later
"""Run quat_audit on a machine that has nothing but Python 3.11 or 3.13.

    python3 scripts/audit.py examples                       audit a folder (the examples are made when missing)
    python3 scripts/audit.py audit FILE --format json       any verb of the command line
    python3 scripts/audit.py fix FOLDER --output-dir fixed

The first run makes an environment with the fitting bpy wheel in ~/.cache/quat_audit (or QUAT_AUDIT_CACHE).
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import environment

EXAMPLES = environment.ROOT / "examples"
MADE_BY = "made-by.txt"
VERBS = ("audit", "fix", "preview", "rules")


def main(arguments: list[str]) -> int:
    """Make what is missing, then run the command line in it and return its exit code."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        wheel = environment.fitting_wheel()
        python = environment.ensure(wheel)
    except environment.SetupError as error:
        print("scripts/audit.py: " + str(error), file=sys.stderr)
        return 2
    variables = environment.clean_environment()
    # The checkout need not be the working folder: paths are the person's own.
    variables["PYTHONPATH"] = str(environment.ROOT)
    if any(_is_examples(argument) for argument in arguments) and not _examples_fit(wheel):
        print(f"Making {EXAMPLES} …", file=sys.stderr, flush=True)
        # Made under another name, so that an interrupted run leaves no half of them.
        unfinished = EXAMPLES.with_name("examples.unfinished")
        shutil.rmtree(str(unfinished), ignore_errors=True)
        maker = [str(python), str(environment.ROOT / "scripts" / "make_examples.py"), "--output", str(unfinished)]
        made = subprocess.run(maker, stdout=sys.stderr, env=variables, check=False)
        if made.returncode:
            print(f"scripts/audit.py: making the examples failed (exit code {made.returncode})", file=sys.stderr)
            return 2
        (unfinished / MADE_BY).write_text(wheel.bpy, encoding="utf-8")
        # Over what is there: a person's own files beside the examples stay.
        shutil.copytree(str(unfinished), str(EXAMPLES), dirs_exist_ok=True)
        shutil.rmtree(str(unfinished), ignore_errors=True)
    verb = [] if arguments[0] in VERBS or arguments[0].startswith("-") else ["audit"]
    command = [str(python), "-m", "quat_audit", *verb, *(_examples_path(a) for a in arguments)]
    # Ctrl-C reaches both: the command line ends after the file at hand and reports, and that is waited for. (A handler,
    # for what is ignored here would be ignored there too.)
    signal.signal(signal.SIGINT, lambda *_: None)
    return subprocess.run(command, env=variables, check=False).returncode


def _examples_fit(wheel: environment.Wheel) -> bool:
    """Whether the examples are there, and not made by another Blender (an older one cannot open a newer one's)."""
    stamp = EXAMPLES / MADE_BY
    return EXAMPLES.exists() and (not stamp.exists() or stamp.read_text(encoding="utf-8") == wheel.bpy)


def _is_examples(argument: str) -> bool:
    """Whether the argument is the project's examples folder, or something in it."""
    path = Path(os.path.abspath(argument))
    return argument == "examples" or path == EXAMPLES or EXAMPLES in path.parents


def _examples_path(argument: str) -> str:
    """`examples` means the project's from any folder, unless the folder has one of its own."""
    return str(EXAMPLES) if argument == "examples" and not Path(argument).exists() else argument


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
