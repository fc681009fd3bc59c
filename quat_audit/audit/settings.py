# SPDX-License-Identifier: GPL-3.0-or-later
"""How to judge and repair: rules, limits, caps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from ..findings.finding import Severity
from ..rules import RULES
from ..rules.rule import AnyRule, Limits

Overrides = Mapping[str, Limits]
Caps = Mapping[str, Severity]  # code → the highest severity that its findings may have
Via = Literal["auto", "bytes", "blender"]


@dataclass(frozen=True)
class Settings:
    """How to audit and repair.

    Attributes:
        rules: the rules to apply.
        limits: limits that differ from the rules' own: code → name → value.
        caps: code → the highest severity that its findings may have.
        via: "auto", "bytes" or "blender" (see `run.opening.open_path`); judging does not depend on it.
        unsafe: repair also what may change a keyed pose.
    """

    rules: tuple[AnyRule, ...] = RULES
    limits: Overrides | None = None
    caps: Caps | None = None
    via: Via = "auto"
    unsafe: bool = False


DEFAULT = Settings()


def with_limit(settings: Settings, code: str, name: str, value: float) -> Settings:
    """The same with one limit of a rule set."""
    limits = {**(settings.limits or {})}
    limits[code] = {**limits.get(code, {}), name: value}
    return replace(settings, limits=limits)
