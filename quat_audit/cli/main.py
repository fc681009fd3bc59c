# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line: audit | fix | preview | rules. What it does is in run/; here is only the talking.

Exit codes: 0 nothing at or above --fail-on, 1 there is, 2 some input could not be audited, or bad usage.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from .. import api, reports
from ..audit.profiles import EVERYTHING, PROFILES, find_profile, profile_settings
from ..errors import InputError, reason_of
from ..findings.finding import SEVERITIES
from ..findings.report import INTERRUPTED, FileReport, Report
from ..rules import RULES
from ..rules.rule import AnyRule
from ..run.inputs import SUFFIXES, Input, expand
from ..run.opening import VIA, blender_version
from ..run.outputs import check_report_path, result_paths, without_links_out
from ..run.publish import Publisher, write_whole
from ..version import NAME, version
from . import preview
from .interrupt import Interruption, held
from .terminal import Progress, check_output, say, wants_color, write_out

OK, FOUND, UNUSABLE = 0, 1, 2
NEVER = "never"


def main(arguments: Sequence[str], *, prog: str = f"python -m {NAME}") -> int:
    """Run the command line and return its exit code; it never exits the process itself."""
    with held() as interruption:
        try:
            options = _parse(arguments, prog)
            if isinstance(options, int):
                return options
            _start_log(options.verbose)
            options.interruption = interruption
            code = int(options.run(options))
        except KeyboardInterrupt:  # a second one, outside the work on a file
            code = UNUSABLE
        except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
            say(f"{prog}: error: {reason_of(error, prog)}")
            return UNUSABLE
        if interruption:
            say(f"{prog}: interrupted")
            return UNUSABLE
        return code


def _start_log(verbose: bool) -> None:
    """Log to standard error; tracebacks only where they are asked for: what they are about is said anyway."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(lambda record: verbose or not record.exc_info)
    logging.basicConfig(level=logging.DEBUG if verbose else logging.WARNING, handlers=[handler])


def _parse(arguments: Sequence[str], prog: str) -> argparse.Namespace | int:
    """The options, or the exit code when there is nothing to run (bad usage, --help)."""
    out, errors = StringIO(), StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(errors):
            return _parser(prog).parse_args(preview.with_frames_joined(arguments))
    except SystemExit as stop:  # argparse ends the process, which would end Blender
        code = stop.code if isinstance(stop.code, int) else UNUSABLE
    if out.getvalue():
        write_out(out.getvalue())
    if errors.getvalue():
        say(errors.getvalue().rstrip("\n"))
    dashed = [a for a in arguments if a.startswith("-") and (Path(a).suffix.lower() in SUFFIXES or os.path.lexists(a))]
    if code and dashed and "--" not in arguments:
        say(f"a name that begins with - is taken for an option: write -- before it (… -- {dashed[0]})")
    return code


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Audit rotation animation, repair it, and prove that no keyed pose changed.",
        epilog="exit code: 0 nothing at or above --fail-on, 1 there is, 2 some input could not be audited or bad usage",
    )
    parser.add_argument("--version", action="version", version=f"{NAME} {version()}")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="audit | fix | preview | rules")

    audit = verbs.add_parser("audit", help="say what is wrong, and by how many degrees it shows")
    _add_common(audit)
    audit.set_defaults(run=_audit)

    fix = verbs.add_parser("fix", help="repair, read the result again, and prove it")
    where = fix.add_mutually_exclusive_group(required=True)
    where.add_argument("--output-dir", type=_path, metavar="DIR", help="write all files below DIR, the sources stay")
    where.add_argument("--in-place", action="store_true", help="replace the files; originals stay as name.ext.bak")
    where.add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    fix.add_argument("--unsafe-fixes", action="store_true", help="repair also what may change a keyed pose")
    _add_common(fix)
    fix.set_defaults(run=_fix)

    preview.add_to(verbs, _path)

    rules = verbs.add_parser("rules", help="list the rules, or explain some")
    rules.add_argument("codes", nargs="*", metavar="CODE", help="codes, names or prefixes (QA1) to explain")
    _add_output(rules)
    rules.set_defaults(run=_rules)
    return parser


def _path(word: str) -> Path:
    if not word:
        raise argparse.ArgumentTypeError("it is empty: name a file or folder")
    return Path(os.path.expanduser(word))


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
    parser.add_argument("--output", type=_path, metavar="FILE", help="write the report to FILE, not to standard output")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every finding, and log what happens")


def _audit(options: argparse.Namespace) -> int:
    settings = _settings(options)
    return _run(options, expand(options.paths), lambda item: api.audit_file(item.path, settings))


def _fix(options: argparse.Namespace) -> int:
    settings = replace(_settings(options), unsafe=options.unsafe_fixes)
    inputs = expand(options.paths, exclude=options.output_dir)
    if options.in_place:
        inputs = without_links_out(inputs)
    publisher = Publisher(frozenset(Path(os.path.realpath(item.path)) for item in inputs))
    outputs = result_paths(options.output_dir, inputs, options.via) if options.output_dir else {}

    def work(item: Input) -> FileReport:
        begun = len(publisher.begun)
        try:
            return api.fix_file(
                item.path,
                settings,
                output=outputs.get(item.path),
                in_place=options.in_place,
                inside=options.output_dir,
                publisher=publisher,
            )
        except KeyboardInterrupt:  # a second Ctrl-C
            if len(publisher.begun) == begun:
                raise
            options.interruption.pressed += not options.interruption
            begun_paths = ", ".join(map(str, publisher.begun[begun:]))
            reason = f"interrupted while its result was put in place: check {begun_paths}"
            return FileReport(str(item.path), "failed", reason)

    return _run(options, inputs, work, outputs)


def _run(
    options: argparse.Namespace,
    inputs: Sequence[Input],
    work: Callable[[Input], FileReport],
    outputs: Mapping[Path, Path] | None = None,
) -> int:
    """Do the work on every input, write the report, and return the exit code."""
    check_report_path(options.output, inputs, outputs)
    if options.output is None:
        check_output()
    report = Report()
    progress = Progress(len(inputs), sys.stderr)
    interruption: Interruption = options.interruption
    for number, item in enumerate(inputs):
        if item.reason:
            report.files.append(FileReport(str(item.path), "skipped" if item.skipped else "failed", item.reason))
            continue
        entry = FileReport(str(item.path), "skipped", INTERRUPTED)
        if not interruption:
            progress.show(number, item.path)
            try:
                entry = work(item)
            except KeyboardInterrupt:
                interruption.pressed += not interruption
        report.files.append(entry)
    interruption.patience = interruption.pressed + 1  # what was done is still to be reported
    progress.clear()
    report.blender = blender_version()
    # Again: the run may have written what was not known before, such as a buffer beside a .gltf.
    check_report_path(options.output, inputs, outputs)
    _emit(options, lambda color: reports.parts(options.format, report, color=color, verbose=options.verbose))
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


def _emit(options: argparse.Namespace, render: Callable[[bool], Iterator[str]]) -> None:
    if options.output is not None:
        # A path that is no valid Unicode must not lose the report.
        write_whole(options.output, (part.encode("utf-8", "backslashreplace") for part in render(False)))
        return
    write_out(render(wants_color()))


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
        rule_limit, _, value = word.partition("=")
        code, _, name = rule_limit.strip().partition(".")
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
        if number < 0.0:
            raise InputError(f"--limit {word}: a limit is a size and cannot be negative")
        given.setdefault(rule.code, {})[name] = number
    return given


def _select(words: str, option: str) -> tuple[AnyRule, ...]:
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
    check_report_path(options.output, ())
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
    _emit(options, lambda color: iter([text]))
    return OK


def _explained(rule: AnyRule) -> str:
    """A rule's documentation, with its limits as they are set."""
    lines = [f"{rule.code} {rule.name}", "", rule.doc.strip()]
    if rule.limits:
        lines += ["", "## Limits", *(f"{rule.code}.{name} = {value:g}" for name, value in rule.limits.items())]
    return "\n".join(lines)
