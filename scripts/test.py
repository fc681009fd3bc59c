# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks in one command: ruff, ruff format, mypy, pytest.

    python3 scripts/test.py                     on the bpy wheel that fits this Python
    python3 scripts/test.py --all               on every supported Blender
    python3 scripts/test.py --wheel 5.0.1       on one (repeatable)
    python3 scripts/test.py -- -k flip -x       what follows -- goes to pytest

The last line is `N passed, M failed`. The exit code is 0 when nothing failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import environment


class Row(NamedTuple):
    """One line of the table at the end."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    remark: str = ""


def main(arguments: list[str]) -> int:
    """Run the checks, print the table, return 0 when nothing failed."""
    own, pytest_arguments = _split(arguments)
    options = _parser().parse_args(own)
    try:
        wheels = _wheels(options)
    except environment.SetupError as error:
        print("scripts/test.py: " + str(error), file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    rows: list[Row] = []
    missing: dict[str, int] = {}
    checked = False
    for wheel in wheels:
        try:
            python = environment.ensure(wheel, dev=True)
        except environment.SetupError as error:
            rows.append(Row("Blender " + wheel.name, 0, 1, 0, 0.0, str(error)))
            continue
        if not checked and not options.no_lint:
            rows += _static()
            checked = True
        rows.append(_pytest(wheel, python, pytest_arguments, missing))
    _print_table(rows, missing)
    passed, failed = sum(row.passed for row in rows), sum(row.failed for row in rows)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="ruff, mypy and pytest in one command; after -- options of pytest")
    parser.add_argument("--all", action="store_true", help="every supported Blender: " + environment.describe())
    known = [wheel.bpy for wheel in environment.MATRIX]
    parser.add_argument("--wheel", action="append", choices=known, help="one bpy wheel (repeatable)")
    parser.add_argument("--no-lint", action="store_true", help="pytest only")
    return parser


def _wheels(options: argparse.Namespace) -> list[environment.Wheel]:
    if options.all:
        # The default wheel first: it also runs ruff and mypy, which fail fastest.
        first = environment.MATRIX[1]
        return [first, *(wheel for wheel in environment.MATRIX if wheel is not first)]
    if options.wheel:
        return [wheel for wheel in environment.MATRIX if wheel.bpy in options.wheel]
    return [environment.fitting_wheel()]


def _static() -> list[Row]:
    tools = (
        ("ruff check", ["ruff", "check", "."]),
        ("ruff format", ["ruff", "format", "--check", "."]),
        ("mypy", ["mypy"]),
    )
    try:
        python = environment.ensure_tools()
    except environment.SetupError as error:
        return [Row("ruff and mypy", 0, 1, 0, 0.0, str(error))]
    rows = []
    for name, command in tools:
        start = time.monotonic()
        _heading(name)
        code = _run([str(python), "-m", *command])
        rows.append(Row(name, int(code == 0), int(code != 0), 0, time.monotonic() - start))
    return rows


def _pytest(wheel: environment.Wheel, python: Path, arguments: list[str], missing: dict[str, int]) -> Row:
    name = f"Blender {wheel.name} (Python {wheel.python})"
    _heading("pytest on " + name)
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.xml"
        code = _run([str(python), "-m", "pytest", "--junitxml", str(result), *arguments])
        passed, failed, skipped, reasons = _counts(result)
    for reason in reasons:
        missing[reason] = missing.get(reason, 0) + 1
    remark = ""
    # 5: nothing was collected, which is no success either.
    if code not in (0, 1) or (code == 1 and not failed):
        remark = f"pytest ended with exit code {code}"
        failed += 1
    return Row(name, passed, failed, skipped, time.monotonic() - start, remark)


def _counts(result: Path) -> tuple[int, int, int, list[str]]:
    """(passed, failed, skipped, reasons of the skipped) of a JUnit file; a crash leaves none."""
    if not result.is_file():
        return 0, 0, 0, []
    passed = failed = 0
    reasons: list[str] = []
    for case in ElementTree.parse(str(result)).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif skipped is not None:
            reasons.append(skipped.get("message", ""))
        else:
            passed += 1
    return passed, failed, len(reasons), reasons


def _run(command: list[str]) -> int:
    return subprocess.run(
        command, cwd=str(environment.ROOT), env=environment.clean_environment(), check=False
    ).returncode


def _heading(text: str) -> None:
    print("\n== {} {}".format(text, "=" * max(3, 96 - len(text))), flush=True)


def _print_table(rows: list[Row], missing: dict[str, int]) -> None:
    print("\n{:<32}{:>8}{:>8}{:>8}{:>9}".format("", "passed", "failed", "skipped", "seconds"))
    for row in rows:
        line = "{:<32}{:>8}{:>8}{:>8}{:>9.1f}  {}"
        print(line.format(row.name, row.passed, row.failed, row.skipped, row.seconds, row.remark).rstrip())
    for reason, number in sorted(missing.items()):
        print(f"  {number} × {reason}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
