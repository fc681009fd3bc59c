# SPDX-License-Identifier: GPL-3.0-or-later
"""Drive a full Blender by simulated mouse and keys: the sidebar, audit, go to, fix, undo, redo, cancel.

    python3 scripts/test_ui.py --blender PATH
    python3 scripts/test_ui.py --blender PATH --zip dist/quat_audit-0.1.0.zip --output DIR

The extension is built by that Blender (or taken from --zip), installed into an empty user folder, and used in a
window of 1600 × 900, in English and in Chinese. DIR gets the screenshots and Blender's logs. Any Blender from 4.3 on
with a window will do; nothing of your own Blender's settings is touched. The mouse is Blender's own business: do not
use it in that window while the test runs. Without a screen, .ci/full_blender has one.

The last line is `N passed, M failed`; the exit code is 0 when nothing failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import build_extension
import environment

SCENES = ("clean", "broken", "readers", "long", "skin", "tube")
LANGUAGES = ("en_US", "zh_HANS")
_TIME_LIMIT = 1800  # seconds for one language, after which it hangs; all steps take minutes, ten on a busy machine


class Tally:
    """What passed and what failed, said as it happens."""

    def __init__(self) -> None:
        self.passed = self.failed = 0

    def say(self, ok: bool, what: str, detail: str = "") -> None:
        self.passed += ok
        self.failed += not ok
        print(("  ok    " if ok else "  FAILED ") + what + (f": {detail}" if detail else ""), flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Test the panel in a full Blender with simulated mouse and keys.")
    parser.add_argument("--blender", required=True, metavar="PATH", help="a Blender with a window, 4.3 or later")
    parser.add_argument("--zip", type=Path, metavar="FILE", help="the extension; default: built from this checkout")
    parser.add_argument("--output", type=Path, metavar="DIR", help="for screenshots and logs; default: thrown away")
    parser.add_argument("--language", action="append", choices=LANGUAGES, help="default: all (repeatable)")
    parser.add_argument("--only", metavar="STEP", help="one step of scripts/ui_steps.py (or ui_…_steps.py), by name")
    parser.add_argument("--smooth", action="store_true", help="smooth edges in the pictures: for the documentation")
    parser.add_argument("--virtual-screen", action="store_true", help="take the pictures from X: nobody else uses it")
    options = parser.parse_args(arguments)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="quat_audit_ui_") as temporary:
        try:
            _run(options, Path(temporary), tally)
        except (OSError, subprocess.SubprocessError, build_extension.BuildError, environment.SetupError) as error:
            tally.say(False, "setting up", str(error))
    print(f"{tally.passed} passed, {tally.failed} failed", flush=True)
    return 1 if tally.failed or not tally.passed else 0


def _run(options: argparse.Namespace, work: Path, tally: Tally) -> None:
    output = (options.output or work / "output").resolve()
    output.mkdir(parents=True, exist_ok=True)
    version = _blender(options.blender, work, output / "version.log", "--version").splitlines()
    print(next((line for line in version if line.startswith("Blender ")), "Blender of unknown version"), flush=True)
    archive = options.zip.resolve() if options.zip else _build(options.blender, work, output)
    if not archive.is_file():
        raise build_extension.BuildError(
            f"{archive} does not exist (where this runs: in a chroot, see .ci/full_blender)"
        )
    said = _blender(
        options.blender, work, output / "install.log",
        "--command", "extension", "install-file", "-r", "user_default", "-e", str(archive),
    )  # fmt: skip
    installed = "Traceback" not in said and "Error" not in said
    tally.say(installed, "install the zip into an empty user folder", "" if installed else said[-1500:])
    scenes = work / "scenes"
    _blender(
        options.blender, work, output / "scenes.log",
        "--background", "--factory-startup", "--python-exit-code", "3",
        "--python", str(environment.ROOT / "scripts" / "ui_scenes.py"), "--", str(scenes),
    )  # fmt: skip
    for language in options.language or LANGUAGES:
        _session(options, work, scenes, output, language, tally)


def _build(blender: str, work: Path, output: Path) -> Path:
    """The zip as scripts/build_extension.py stages it, built by the Blender under test."""
    if importlib.util.find_spec("markdown_it") is None:
        # The pages of the documentation need it: in the environment of the build it is.
        python = environment.ensure(environment.fitting_wheel(), dev=True)
        script = environment.ROOT / "scripts" / "build_extension.py"
        command = [str(python), str(script), "--allow-dirty", "--output", str(work / "built")]
        with open(output / "build.log", "wb") as log:
            subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=True)
        return next((work / "built").glob("*.zip"))
    package = environment.ROOT / build_extension.PACKAGE
    found = [path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    names = sorted(path.relative_to(environment.ROOT).as_posix() for path in found)
    build_extension.stage(environment.ROOT, names, work / "staged")
    archive = work / "quat_audit.zip"
    _blender(
        blender, work, output / "build.log",
        "--command", "extension", "build", "--source-dir", str(work / "staged"), "--output-filepath", str(archive),
    )  # fmt: skip
    if not archive.is_file():
        raise build_extension.BuildError(f"Blender made no zip, see {output / 'build.log'}")
    return archive


def _session(options: argparse.Namespace, work: Path, scenes: Path, output: Path, language: str, tally: Tally) -> None:
    """One Blender with a window, from its first draw to its end."""
    print(f"\n{language}", flush=True)
    record = work / f"{language}.jsonl"
    plan = {
        "language": language,
        "scenes": {name: str(scenes / f"{name}.blend") for name in SCENES},
        "output": str(output),
        "record": str(record),
        "only": options.only or "",
        "smooth": options.smooth,
        "virtual_screen": options.virtual_screen,
    }
    log = output / f"blender-{language}.log"
    trouble = ""
    try:
        said = _blender(
            options.blender, work, log,
            "--enable-event-simulate", "--window-geometry", "0", "0", "1600", "900",
            "--python", str(environment.ROOT / "scripts" / "ui_session.py"), "--", json.dumps(plan),
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        said, trouble = log.read_text(encoding="utf-8", errors="replace"), f"exit code {error.returncode}"
    except subprocess.TimeoutExpired:
        said, trouble = log.read_text(encoding="utf-8", errors="replace"), f"not finished after {_TIME_LIMIT} s"
    rows = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()] if record.is_file() else []
    for row in rows:
        if "check" in row:
            tally.say(row["ok"], row["check"], row["detail"])
        elif "took" in row:
            print("  {took}: {seconds:.1f} s, {processor:.1f} s of processor time".format(**row), flush=True)
    # The last line is written when the last step is done: a Blender that died says nothing about what it left out.
    finished = bool(rows) and "finished" in rows[-1]
    tally.say(finished and not trouble, "the session ran to its end", trouble or ("" if finished else f"see {log}"))
    tracebacks = re.findall(r"Traceback \(most recent call last\):.*?\n(?=\S)[^\n]*", said, re.DOTALL)
    tally.say(not tracebacks, "no traceback in Blender's log", " | ".join(tracebacks)[-1500:])


def _blender(blender: str, work: Path, log: Path, *arguments: str) -> str:
    """Run Blender with an empty user folder; what it said. CalledProcessError on another exit code than 0."""
    command = [shutil.which(blender) or blender, *arguments]
    variables = environment.clean_environment() | {"BLENDER_USER_RESOURCES": str(work / "user"), "HOME": str(work)}
    (work / "user").mkdir(exist_ok=True)
    with open(log, "wb") as stream:
        run = subprocess.run(
            command, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=variables,
            check=False, timeout=_TIME_LIMIT,
        )  # fmt: skip
    said = log.read_text(encoding="utf-8", errors="replace")
    if run.returncode:
        shown = said.strip().splitlines()[-5:]
        print(os.linesep.join(shown), file=sys.stderr)
        raise subprocess.CalledProcessError(run.returncode, command[:3])
    return said


if __name__ == "__main__":
    sys.exit(main())
