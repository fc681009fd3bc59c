# SPDX-License-Identifier: GPL-3.0-or-later
"""The one pipeline, called with rules and limits side by side, as tests like to have them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from quat_audit.audit.pipeline import judge
from quat_audit.audit.repair import CodeAndPath, Repair, repair
from quat_audit.audit.settings import Caps, Overrides, Settings
from quat_audit.findings.finding import Finding
from quat_audit.motion.clip import Clip
from quat_audit.rules import RULES, AnyRule
from quat_audit.skinning.skin import Motion, PosedSkin, Skin


def audit_clip(
    clip: Clip, rules: Sequence[AnyRule] = RULES, limits: Overrides | None = None, *, caps: Caps | None = None
) -> list[Finding]:
    return list(judge(clip, Settings(tuple(rules), limits, caps)).findings)


def repair_clip(
    clip: Clip,
    rules: Sequence[AnyRule] = RULES,
    limits: Overrides | None = None,
    *,
    unsafe: bool = False,
    only: Collection[CodeAndPath] | None = None,
) -> Repair[Clip]:
    return repair(clip, Settings(tuple(rules), limits, unsafe=unsafe), only=only)


def audit_skin(
    skin: Skin,
    motion: Motion,
    rules: Sequence[AnyRule] = RULES,
    limits: Overrides | None = None,
    *,
    caps: Caps | None = None,
) -> list[Finding]:
    return list(judge(PosedSkin(skin, motion), Settings(tuple(rules), limits, caps)).findings)


def repair_skin(
    skin: Skin,
    motion: Motion,
    rules: Sequence[AnyRule] = RULES,
    limits: Overrides | None = None,
    *,
    unsafe: bool = False,
) -> Repair[PosedSkin]:
    return repair(PosedSkin(skin, motion), Settings(tuple(rules), limits, unsafe=unsafe))
