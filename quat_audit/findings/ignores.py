# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that somebody has looked at and wants to keep: what is ignored, why, and how that is written down.

An ignore belongs to an action or a mesh object and names a rule and a data path. It notes how many places there were,
how much the worst showed, and how bad it was: when the first two have grown by a tenth, or it has become worse, the
finding is reported again. It is kept as JSON text, so that it can live in a custom property (`blender/ignore.py`) and
any tool can read it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import InputError
from .finding import SEVERITIES, Finding

SCHEMA = "quat_audit.ignores/1"


# An ignore speaks of what was there when it was made: by a tenth more, and the finding is reported again.
GROWTH = 1.1
# Figures that differ by less are shown as the same.
SAME_FIGURE = 0.01


@dataclass(frozen=True, order=True)
class Ignore:
    """Do not report rule `code` on `data_path`, because of `reason`.

    Attributes:
        slot: the slot's name as a Clip has it; "" means every slot of the action.
        count, figure: places and worst figure of the finding when it was ignored; None where nobody noted them, as in
            files of earlier versions: however many and much there are.
        severity, worst_class: its severity and the worst class of its places then; "" where nobody noted them.
    """

    code: str
    data_path: str
    reason: str
    slot: str = ""
    count: int | None = field(default=None, compare=False)
    figure: float | None = field(default=None, compare=False)
    severity: str = field(default="", compare=False)
    worst_class: str = field(default="", compare=False)

    def covers(self, finding: Finding) -> bool:
        """Whether it is meant for a finding, as that is now."""
        same = (self.code, self.data_path) == (finding.code, finding.data_path)
        return same and self.slot in ("", finding.slot) and not self._outgrown(finding) and not self._worse(finding)

    def _outgrown(self, finding: Finding) -> bool:
        count, figure = len(finding.occurrences), finding.figure
        if self.count is not None and count > self.count and count >= GROWTH * self.count:
            return True
        if self.figure is None or figure is None:
            return False
        return figure.value - self.figure > SAME_FIGURE and figure.value >= GROWTH * self.figure

    def _worse(self, finding: Finding) -> bool:
        rising: tuple[str, ...] = SEVERITIES
        falling: tuple[str, ...] = finding.occurrences.kinds
        if self.severity in rising and rising.index(finding.severity) > rising.index(self.severity):
            return True
        # Where there is a figure it says how bad a place is.
        if finding.figure is not None or self.worst_class not in falling:
            return False
        return falling.index(finding.occurrences.worst_class) < falling.index(self.worst_class)


def ignore_of(finding: Finding, reason: str) -> Ignore:
    """The ignore that covers a finding as it is now."""
    figure = finding.figure.value if finding.figure is not None else None
    return Ignore(
        finding.code,
        finding.data_path,
        reason,
        finding.slot,
        len(finding.occurrences),
        figure,
        finding.severity,
        finding.occurrences.worst_class,
    )


def as_text(ignores: Sequence[Ignore]) -> str:
    """Ignores as JSON text, in an order of their own; "" for none."""
    if not ignores:
        return ""
    rows = [
        {
            "code": i.code,
            "data_path": i.data_path,
            "reason": i.reason,
            **({"slot": i.slot} if i.slot else {}),
            **({"count": i.count} if i.count is not None else {}),
            **({"figure": i.figure} if i.figure is not None else {}),
            **({"severity": i.severity} if i.severity else {}),
            **({"class": i.worst_class} if i.worst_class else {}),
        }
        for i in sorted(set(ignores))
    ]
    return json.dumps({"schema": SCHEMA, "ignores": rows}, allow_nan=False)


def from_text(text: str) -> tuple[Ignore, ...]:
    """What `as_text` wrote.

    Raises:
        InputError: it is something else. Nothing is ignored then: a report that says too much is the safe side.
    """
    if not text:
        return ()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise InputError(f"not a document of {SCHEMA}")
    rows = document.get("ignores")
    if not isinstance(rows, list):
        raise InputError('"ignores" must be a list')
    return tuple(_ignore(row) for row in rows)


def _ignore(row: Any) -> Ignore:
    if not isinstance(row, dict):
        raise InputError(f"an ignore must be an object, not {row!r}")
    values = [row.get("code"), row.get("data_path"), row.get("reason", ""), row.get("slot", "")]
    if not all(isinstance(value, str) for value in values) or not values[0] or not values[1]:
        raise InputError(f'an ignore needs the texts "code" and "data_path", not {row!r}')
    count, figure = row.get("count"), row.get("figure")
    # What is no number is as if nobody had noted it: what somebody ignored must not come back for that.
    noted = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    measured = isinstance(figure, int | float) and not isinstance(figure, bool) and math.isfinite(figure)
    severity, worst_class = (word if isinstance(word := row.get(name), str) else "" for name in ("severity", "class"))
    code, data_path, reason, slot = values
    return Ignore(
        code,
        data_path,
        reason,
        slot,
        count if noted else None,
        float(figure) if figure is not None and measured else None,
        severity,
        worst_class,
    )
