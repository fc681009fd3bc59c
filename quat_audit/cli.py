# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: audit | fix | rules. Everything it does is in api.py; here is only the talking.

Exit codes: 0 nothing at or above --fail-on, 1 there is, 2 some input could not be audited, or bad usage.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

from . import api, reports
from .errors import InputError
from .finding import SEVERITIES, FileReport, Report
from .inputs import Input, common_root, expand
from .profiles import EVERYTHING, PROFILES, find_profile, profile_settings
from .publish import Publisher, check_writable, write_whole
from .rules import RULES
from .rules.rule import Rule
from .sources import VIA, blender_version
from .version import NAME, version

OK, FOUND, UNUSABLE = 0, 1, 2
NEVER = "never"
# A progress line before this is only flicker.
QUIET_SECONDS = 1.0


def main(arguments: Sequence[str], *, prog: str = f"python -m {NAME}") -> int:
    """Run the command line and return its exit code; it never exits the process itself."""
    try:
        options = _parser(prog).parse_args(list(arguments))
    except SystemExit as stop:  # argparse ends the process, which would end Blender
        return stop.code if isinstance(stop.code, int) else UNUSABLE
    logging.basicConfig(level=logging.DEBUG if options.verbose else logging.WARNING, stream=sys.stderr)
    try:
        return int(options.run(options))
    except InputError as error:
        print(f"{prog}: error: {error}", file=sys.stderr)
        return UNUSABLE
    except KeyboardInterrupt:  # between two files; within one, what is done is still reported
        print(f"{prog}: interrupted", file=sys.stderr)
        return UNUSABLE


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Audit rotation animation, repair it, and prove that no keyed pose changed.",
        epilog="exit code: 0 nothing at or above --fail-on, 1 there is, 2 some input could not be audited or bad usage",
    )
    parser.add_argument("--version", action="version", version=f"{NAME} {version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="audit | fix | rules")

    audit = verbs.add_parser("audit", help="say what is wrong, and by how many degrees it shows")
    _add_common(audit)
    audit.set_defaults(run=_audit)

    fix = verbs.add_parser("fix", help="repair, read the result again, and prove it")
    where = fix.add_mutually_exclusive_group(required=True)
    where.add_argument("--output-dir", type=Path, metavar="DIR", help="write all files below DIR, the sources stay")
    where.add_argument("--in-place", action="store_true", help="replace the files; originals stay as name.ext.bak")
    where.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    fix.add_argument("--unsafe-fixes", action="store_true", help="repair also what may change a keyed pose")
    _add_common(fix)
    fix.set_defaults(run=_fix)

    rules = verbs.add_parser("rules", help="list the rules, or explain some")
    rules.add_argument("codes", nargs="*", metavar="CODE", help="codes, names or prefixes (QA1) to explain")
    _add_output(rules)
    rules.set_defaults(run=_rules)
    return parser


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file, folder (walked) or glob")
    parser.add_argument(
        "--via",
        choices=VIA,
        default=VIA[0],
        help="auto: glTF, VRM and BVH from their bytes (Blender's importers change signs), the rest through Blender",
    )
    parser.add_argument(
        "--profile",
        choices=tuple(profile.name for profile in PROFILES),
        default=EVERYTHING.name,
        help="which rules, limits and severities: " + "; ".join(f"{p.name}: {p.description}" for p in PROFILES),
    )
    parser.add_argument(
        "--select", default="", metavar="CODES", help="only these rules: codes, names, prefixes; by comma"
    )
    parser.add_argument("--ignore", default="", metavar="CODES", help="not these rules")
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="CODE.NAME=VALUE",
        help="another limit for a rule, e.g. QA104.visible_deg=2; `rules CODE` lists them (repeatable)",
    )
    parser.add_argument(
        "--fail-on",
        choices=(*reversed(SEVERITIES), NEVER),
        default="warning",
        help="exit with 1 from this severity on (default: warning); fix judges the result",
    )
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=tuple(reports.FORMATS), default="text", help="default: text")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the report to FILE, not to standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="log what happens, with tracebacks")


def _audit(options: argparse.Namespace) -> int:
    settings = _settings(options)
    return _run(options, expand(options.paths), lambda item: api.audit_file(item.path, settings))


def _fix(options: argparse.Namespace) -> int:
    settings = replace(_settings(options), unsafe=options.unsafe_fixes)
    inputs = expand(options.paths, exclude=options.output_dir)
    publisher = Publisher(frozenset(item.path.resolve() for item in inputs))
    outputs = _outputs(options.output_dir, inputs, options.via) if options.output_dir else {}

    def work(item: Input) -> FileReport:
        return api.fix_file(
            item.path,
            settings,
            output=outputs.get(item.path),
            in_place=options.in_place,
            inside=options.output_dir,
            publisher=publisher,
        )

    return _run(options, inputs, work)


def _outputs(folder: Path, inputs: Sequence[Input], via: str) -> dict[Path, Path]:
    """Where each input's result goes: the tree below the common folder is kept, no two get the same name."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output-dir {folder} is a file: name a folder")
    usable = [item for item in inputs if not item.reason]
    try:
        root = common_root(usable)
    except ValueError as error:
        raise InputError(str(error)) from None
    taken: set[Path] = set()
    outputs: dict[Path, Path] = {}
    # Files that keep their suffix come first, so that walk.blend keeps its name and walk.fbx makes room.
    for item in sorted(usable, key=lambda item: (_new_suffix(item, via) != item.path.suffix, str(item.path))):
        below = Path(os.path.relpath(os.path.abspath(item.path), root))
        output = folder / below.with_suffix(_new_suffix(item, via))
        if output in taken:
            output = folder / below.with_name(below.name + output.suffix)
        taken.add(output)
        outputs[item.path] = output
    return outputs


def _new_suffix(item: Input, via: str) -> str:
    try:
        return api.output_suffix(item.path, via)
    except InputError:
        return item.path.suffix  # its row will say why it fails


def _run(options: argparse.Namespace, inputs: Sequence[Input], work: Callable[[Input], FileReport]) -> int:
    """Do the work on every input, write the report, and return the exit code."""
    if options.output is not None:
        check_writable(options.output)
    report = Report()
    progress = _Progress(len(inputs), sys.stderr)
    interrupted = False
    for number, item in enumerate(inputs):
        if interrupted:
            report.files.append(FileReport(str(item.path), "skipped", "interrupted"))
            continue
        if item.reason:
            report.files.append(FileReport(str(item.path), "failed", item.reason))
            continue
        progress.show(number, item.path)
        try:
            report.files.append(work(item))
        except KeyboardInterrupt:
            interrupted = True
            report.files.append(FileReport(str(item.path), "skipped", "interrupted"))
    progress.clear()
    report.blender = blender_version()
    _emit(options, lambda colour: reports.FORMATS[options.format](report, colour=colour))
    return exit_code(report, options.fail_on)


def exit_code(report: Report, fail_on: str) -> int:
    """0, 1 or 2 for a report; a repaired file is judged by its result."""
    if any(file.status != "audited" for file in report.files):
        return UNUSABLE
    if fail_on == NEVER:
        return OK
    least = SEVERITIES.index(fail_on)
    findings = [f for file in report.files for f in (file.after or file).findings]
    return FOUND if any(SEVERITIES.index(f.severity) >= least for f in findings) else OK


def _emit(options: argparse.Namespace, render: Callable[[bool], str]) -> None:
    if options.output is not None:
        # A path that is no valid Unicode must not lose the report.
        write_whole(options.output, render(False).encode("utf-8", "backslashreplace"))
        return
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    text = render(colour)
    encoding = sys.stdout.encoding or "utf-8"
    try:
        print(text.encode(encoding, "backslashreplace").decode(encoding), end="", flush=True)
    except BrokenPipeError:
        # The reader (head, less) has seen enough. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _settings(options: argparse.Namespace) -> api.Settings:
    settings = profile_settings(find_profile(options.profile))
    rules = _select(options.select, "--select") if options.select else settings.rules
    ignored = _select(options.ignore, "--ignore") if options.ignore else ()
    rules = tuple(rule for rule in rules if rule not in ignored)
    if not rules:
        raise InputError("--select and --ignore leave no rule to apply")
    limits = {code: dict(named) for code, named in (settings.limits or {}).items()}
    for code, named in _limits(options.limit).items():
        limits.setdefault(code, {}).update(named)
    return replace(settings, rules=rules, limits=limits, via=options.via)


def _limits(words: Sequence[str]) -> dict[str, dict[str, float]]:
    """Limits given as CODE.NAME=VALUE; InputError for what no rule has."""
    by_code = {rule.code: rule for rule in RULES}
    given: dict[str, dict[str, float]] = {}
    for word in words:
        place, _, value = word.partition("=")
        code, _, name = place.strip().partition(".")
        rule = by_code.get(code.upper())
        if rule is None or name not in rule.limits:
            known = ", ".join(f"{code.upper()}.{n}" for n in rule.limits) if rule else "QA104.visible_deg, …"
            raise InputError(f"--limit {word}: no such limit; write CODE.NAME=VALUE with one of: {known or 'none'}")
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise InputError(f"--limit {word}: {value!r} is not a number")
        given.setdefault(rule.code, {})[name] = number
    return given


def _select(words: str, option: str) -> tuple[Rule, ...]:
    """The rules that codes, names or prefixes of codes mean, in their usual order."""
    wanted = [word.strip() for word in words.split(",") if word.strip()]
    chosen: set[str] = set()
    for word in wanted:
        matches = {rule.code for rule in RULES if rule.name == word.lower() or rule.code.startswith(word.upper())}
        if not matches:
            valid = ", ".join(f"{rule.code} {rule.name}" for rule in RULES)
            raise InputError(f"{option}: no rule is called {word!r}. Rules: {valid}; prefixes like QA1 too")
        chosen |= matches
    return tuple(rule for rule in RULES if rule.code in chosen)


def _rules(options: argparse.Namespace) -> int:
    rules = _select(",".join(options.codes), "rules") if options.codes else RULES
    if options.output is not None:
        check_writable(options.output)
    if options.format == "json":
        rows = [
            {
                "code": rule.code,
                "rule": rule.name,
                "summary": rule.summary,
                "remedy": rule.remedy,
                "fixable": rule.fixable,
                "limits": dict(rule.limits),
                "doc": rule.doc,
            }
            for rule in rules
        ]
        text = json.dumps({"rules": rows}, indent=1, allow_nan=False) + "\n"
    elif options.codes:
        text = "\n\n".join(_explained(rule) for rule in rules) + "\n"
    else:
        width = max(len(rule.name) for rule in rules)
        lines = [f"{r.code}  {r.name:<{width}}  {'fix' if r.fixable else '   '}  {r.summary}" for r in rules]
        text = "\n".join(lines) + "\n\n`rules CODE` explains one: what it finds, why it matters, how it is repaired.\n"
    _emit(options, lambda colour: text)
    return OK


def _explained(rule: Rule) -> str:
    """A rule's documentation, with its limits as they are set."""
    lines = [f"{rule.code} {rule.name}", "", rule.doc.strip()]
    if rule.limits:
        lines += ["", "## Limits", *(f"{rule.code}.{name} = {value:g}" for name, value in rule.limits.items())]
    return "\n".join(lines)


class _Progress:
    """One line on a terminal, rewritten; nothing anywhere else, nothing for short work."""

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total, self._stream = total, stream
        self._start = time.monotonic()
        self._on = stream is not None and stream.isatty()
        self._shown = False

    def show(self, number: int, path: Path) -> None:
        if self._on and time.monotonic() - self._start > QUIET_SECONDS:
            self._shown = True
            self._stream.write(f"\r\x1b[K[{number + 1}/{self._total}] {path.name}")
            self._stream.flush()

    def clear(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
