# SPDX-License-Identifier: GPL-3.0-or-later
"""What every rule module offers: a RULE record. The module's docstring is the rule's documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..arrays import Ints
from ..findings.finding import Finding
from ..motion.clip import Clip
from ..skinning.skin import Motion, Skin

Limits = Mapping[str, float]
Find = Callable[[Clip, Limits], list[Finding]]
# (clip, findings to repair, limits, unsafe fixes too) -> edited clip; the same clip when nothing changes.
Fix = Callable[[Clip, Sequence[Finding], Limits, bool], Clip]
# The same for rules about skins: (skin, what poses it, limits), and edited weights instead of an edited clip.
FindSkin = Callable[[Skin, Motion, Limits], list[Finding]]
FixSkin = Callable[[Skin, Sequence[Finding], Limits, bool], Skin]
# (the skin that was audited, finding, number of an occurrence) -> (U,) vertices.
VerticesAt = Callable[[Skin, Finding, int], Ints]

# Order in which repairs run: keys must be in order before values mean anything, values finite before
# curves can be completed, curves complete before quaternions have a sign.
STAGE_TIMES, STAGE_VALUES, STAGE_CURVES, STAGE_LENGTH, STAGE_SIGNS, STAGE_INSERT = range(6)


def nothing(clip: Clip, limits: Limits) -> list[Finding]:
    """What a rule about skins finds in a clip."""
    return []


@dataclass(frozen=True)
class Rule:
    """One rule. `limits` are its defaults by name; `doc` is its documentation (Markdown).

    `summary` is the fault in one line; `remedy` says in a sentence or two what the fix does and what it leaves alone.

    `keys_only` rules judge keys alone; the others need to know what plays between and are not applied to
    tracks whose curves cannot be evaluated from their keys. Of rules about skins it says that they judge weights
    alone; the others need right positions.

    `vertices_at` names the vertices of an occurrence of a rule about skins whose rows are not vertices.
    """

    code: str
    name: str
    summary: str
    doc: str
    find: Find
    fix: Fix | None = None
    stage: int = STAGE_INSERT
    limits: Limits = field(default_factory=dict)
    keys_only: bool = False
    remedy: str = ""
    find_skin: FindSkin | None = None
    fix_skin: FixSkin | None = None
    vertices_at: VerticesAt | None = None

    @property
    def fixable(self) -> bool:
        """Whether it can repair what it finds."""
        return self.fix is not None or self.fix_skin is not None

    def section(self, heading: str) -> str:
        """The text below a heading of the documentation ("Why it matters"), a line a paragraph.

        "" stands for what comes before the first heading.

        Raises:
            KeyError: there is no such heading.
        """
        title, _, rest = f"\n{self.doc}".partition("\n## ")
        sections = {"": title}
        for part in rest.split("\n## ") if rest else ():
            name, _, body = part.partition("\n")
            sections[name.strip()] = body
        if heading not in sections:
            raise KeyError(f"{self.code} has no section {heading!r}; it has: {', '.join(filter(None, sections))}")
        paragraphs = sections[heading].strip().split("\n\n")
        return "\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
