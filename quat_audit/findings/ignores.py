# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings that somebody has looked at and wants to keep: what is ignored, why, and how that is written down.

An ignore belongs to an action or a mesh object and names a rule and a data path. It is kept as JSON text, so that it
can live in a custom property (`blender/ignore.py`) and any tool can read it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA = "quat_audit.ignores/1"


@dataclass(frozen=True, order=True)
class Ignore:
    """Do not report rule `code` on `data_path`, because of `reason`.

    `slot` is the slot's name as a Clip has it; "" means every slot of the action.
    """

    code: str
    data_path: str
    reason: str
    slot: str = ""

    def covers(self, code: str, data_path: str, slot: str) -> bool:
        """Whether it is meant for a finding of this rule, on this path, in this slot."""
        return (self.code, self.data_path) == (code, data_path) and self.slot in ("", slot)


def as_text(ignores: Sequence[Ignore]) -> str:
    """Ignores as JSON text, in an order of their own; "" for none."""
    if not ignores:
        return ""
    rows = [
        {"code": i.code, "data_path": i.data_path, "reason": i.reason, **({"slot": i.slot} if i.slot else {})}
        for i in sorted(set(ignores))
    ]
    return json.dumps({"schema": SCHEMA, "ignores": rows}, allow_nan=False)


def from_text(text: str) -> tuple[Ignore, ...]:
    """What `as_text` wrote.

    Raises:
        ValueError: it is something else. Nothing is ignored then: a report that says too much is the safe side.
    """
    if not text:
        return ()
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"not a document of {SCHEMA}")
    rows = document.get("ignores")
    if not isinstance(rows, list):
        raise ValueError('"ignores" must be a list')
    return tuple(_ignore(row) for row in rows)


def _ignore(row: Any) -> Ignore:
    if not isinstance(row, dict):
        raise ValueError(f"an ignore must be an object, not {row!r}")
    values = [row.get("code"), row.get("data_path"), row.get("reason", ""), row.get("slot", "")]
    if not all(isinstance(value, str) for value in values) or not values[0] or not values[1]:
        raise ValueError(f'an ignore needs the texts "code" and "data_path", not {row!r}')
    return Ignore(*values)
