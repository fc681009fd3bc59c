# SPDX-License-Identifier: GPL-3.0-or-later
"""All checks in one command: ruff, ruff format, mypy, pytest.

    python3 scripts/test.py                     pure code, and what needs bpy on the wheel that fits this Python
    python3 scripts/test.py --pure              without bpy only; with --all on both Pythons
    python3 scripts/test.py --all               on every supported Blender
    python3 scripts/test.py --wheel 5.0.1       on one (repeatable)
    python3 scripts/test.py -- -k flip -x       what follows -- goes to pytest; files are run where they belong

Tests outside of tests/blender and tests/ui need no bpy: they run once a Python, in an environment without it. The
last line is `N passed, M failed`. The exit code is 0 when nothing failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import environment

# The folders of tests that need bpy; tests/conftest.py has them too.
WITH_BPY = ("tests/blender", "tests/ui")
# What a test of pure code may lack. Any other skip is a test that nobody runs.
MAY_LACK = ("not available: shared/cases", "not available: a file system that ignores case")
NOTHING = "nothing selected"
SLOWEST = 10  # tests of a part that the table names


class Part(NamedTuple):
    """Tests that run together in one environment; without a wheel, pure code."""

    name: str
    python: str
    wheel: environment.Wheel | None = None

    def ensure(self) -> Path:
        return environment.ensure(self.wheel, dev=True) if self.wheel else environment.ensure_pure(self.python)


class Row(NamedTuple):
    """One line of the table at the end."""

    name: str
    passed: int
    failed: int
    skipped: int
    seconds: float
    remark: str = ""
    slowest: tuple[tuple[float, str], ...] = ()


def main(arguments: list[str]) -> int:
    """Run the checks, print the table, return 0 when nothing failed."""
    own, pytest_arguments = _split(arguments)
    options = _parser().parse_args(own)
    try:
        parts = _parts(options)
    except environment.SetupError as error:
        print("scripts/test.py: " + str(error), file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    rows: list[Row] = []
    missing: dict[str, int] = {}
    chosen = {part: chosen_tests(part.wheel is not None, pytest_arguments) for part in parts}
    parts = [part for part in parts if chosen[part] is not None]
    # Environments are made while the tests of the one before run: that is waiting for the network.
    with ThreadPoolExecutor(max_workers=1) as maker:
        made = [maker.submit(part.ensure) for part in parts]
        if not options.no_lint:
            rows += _static()
        for part, environment_made in zip(parts, made, strict=True):
            try:
                python = environment_made.result()
            except environment.SetupError as error:
                rows.append(Row(part.name, 0, 1, 0, 0.0, str(error)))
                continue
            row = _pytest(part, python, chosen[part] or [], options.workers, missing)
            if row.remark == NOTHING and pytest_arguments:
                row = row._replace(failed=0)  # what was asked for stands elsewhere, or nowhere: then nothing passed
            rows.append(row)
    _print_table(rows, missing)
    passed, failed = sum(row.passed for row in rows), sum(row.failed for row in rows)
    if not passed and not failed:
        failed = 1  # nothing was run: no success either
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
    parser.add_argument("--pure", action="store_true", help="only the tests that need no bpy")
    parser.add_argument("--no-lint", action="store_true", help="pytest only")
    parser.add_argument("--workers", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="default: two")
    return parser


def _parts(options: argparse.Namespace) -> list[Part]:
    wheels: tuple[environment.Wheel, ...] = environment.MATRIX
    if options.wheel and not options.all:
        wheels = tuple(wheel for wheel in environment.MATRIX if wheel.bpy in options.wheel)
    elif not options.all:
        wheels = (environment.fitting_wheel(),)
    # Pure code first: it fails fastest.
    parts = [Part(f"pure (Python {python})", python) for python in sorted({wheel.python for wheel in wheels})]
    if not options.pure:
        parts += [Part(f"Blender {wheel.name} (Python {wheel.python})", wheel.python, wheel) for wheel in wheels]
    return parts


def chosen_tests(with_bpy: bool, arguments: list[str]) -> list[str] | None:
    """pytest's arguments for a part: what it is made of, or what is named of it; None when nothing is."""
    paths = [a for a in arguments if not a.startswith("-") and (environment.ROOT / a.split("::")[0]).exists()]
    if not paths:
        return [*(WITH_BPY if with_bpy else (f"--ignore={folder}" for folder in WITH_BPY)), *arguments]
    fitting = [path for path in paths if _needs_bpy(path) == with_bpy]
    if not fitting:
        return None
    return [a for a in arguments if a not in paths or a in fitting]


def _needs_bpy(path: str) -> bool:
    absolute = (environment.ROOT / path.split("::", maxsplit=1)[0]).resolve()
    return any(absolute.is_relative_to(environment.ROOT / folder) for folder in WITH_BPY)


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


def _pytest(part: Part, python: Path, arguments: list[str], workers: int, missing: dict[str, int]) -> Row:
    _heading("pytest, " + part.name)
    start = time.monotonic()
    # A worker takes over what another has not come to: files with slow fixtures stay together for the most part.
    parallel = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.xml"
        code = _run([str(python), "-m", "pytest", "-q", "--junitxml", str(result), *parallel, *arguments])
        passed, failed, skipped, reasons = _counts(result)
        slowest = slowest_tests(result)
    for reason in reasons:
        missing[reason] = missing.get(reason, 0) + 1
    remark = ""
    # 5: nothing was collected, which is no success either.
    if code == 5:
        remark = NOTHING
        failed += 1
    elif code not in (0, 1) or (code == 1 and not failed):
        remark = f"pytest ended with exit code {code}"
        failed += 1
    hidden = hidden_skips(reasons, pure=part.wheel is None)
    if hidden:
        remark = f"{hidden} skipped for want of something that is there elsewhere"
        failed += hidden
    return Row(part.name, passed, failed, skipped, time.monotonic() - start, remark, slowest)


def hidden_skips(reasons: list[str], *, pure: bool) -> int:
    """How many tests were skipped that nobody else runs."""
    if pure and sys.platform.startswith("linux"):
        return sum(not reason.startswith(MAY_LACK) for reason in reasons)
    return sum("could not import" in reason for reason in reasons)


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


def slowest_tests(path: Path) -> tuple[tuple[float, str], ...]:
    """(seconds, name) of those in a JUnit file that took longest with their fixtures, the slowest first."""
    if not path.is_file():
        return ()
    cases = ElementTree.parse(str(path)).getroot().iter("testcase")
    timed = [(float(case.get("time", 0)), f"{case.get('classname')}::{case.get('name')}") for case in cases]
    return tuple(sorted(timed, reverse=True)[:SLOWEST])


def _run(command: list[str]) -> int:
    variables = environment.clean_environment()
    # Compiled once and kept, though not in the checkout: every test of the command line starts a Python.
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    variables["PYTHONPYCACHEPREFIX"] = str(environment.cache() / "pycache")
    return subprocess.run(command, cwd=str(environment.ROOT), env=variables, check=False).returncode


def _heading(text: str) -> None:
    print("\n== {} {}".format(text, "=" * max(3, 96 - len(text))), flush=True)


def _print_table(rows: list[Row], missing: dict[str, int]) -> None:
    print("\n{:<32}{:>8}{:>8}{:>8}{:>9}".format("", "passed", "failed", "skipped", "seconds"))
    for row in rows:
        line = "{:<32}{:>8}{:>8}{:>8}{:>9.1f}  {}"
        print(line.format(row.name, row.passed, row.failed, row.skipped, row.seconds, row.remark).rstrip())
    for row in rows:
        if row.slowest:
            print(f"\nslowest of {row.name}")
        for seconds, name in row.slowest:
            print(f"{seconds:8.1f} s  {name}")
    for reason, number in sorted(missing.items()):
        print(f"  {number} × {reason}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
