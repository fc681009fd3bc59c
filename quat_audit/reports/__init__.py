# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports: one file a format, each with ``render(report, *, color=False, verbose=False) -> str``.

A format whose report grows with its files may have ``parts(report)`` too, which gives the same text bit by bit: `parts`
here is for whoever writes it out.

text.py         for a person
json_report.py  for a machine, as docs/report.schema.json has it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..findings.report import Report
from . import json_report, text

FORMATS: Final[dict[str, Callable[..., str]]] = {"text": text.render, "json": json_report.render}
_PARTS: Final[dict[str, Callable[..., Iterator[str]]]] = {"json": json_report.parts}


def parts(name: str, report: Report, *, color: bool = False, verbose: bool = False) -> Iterator[str]:
    """A report in the format of that name, in parts. What is always complete knows neither color nor verbose."""
    if name in _PARTS:
        yield from _PARTS[name](report)
    else:
        yield FORMATS[name](report, color=color, verbose=verbose)
