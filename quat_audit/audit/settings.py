# SPDX-License-Identifier: GPL-3.0-or-later
"""How to judge and repair: rules, limits, caps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..rules import RULES
from ..rules.rule import Limits, Rule

Overrides = Mapping[str, Limits]
Caps = Mapping[str, str]  # code → the highest severity that its findings may have


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

    rules: tuple[Rule, ...] = RULES
    limits: Overrides | None = None
    caps: Caps | None = None
    via: str = "auto"
    unsafe: bool = False


DEFAULT = Settings()
