# SPDX-License-Identifier: GPL-3.0-or-later
"""What every rule module offers: a RULE record. The module's docstring is the rule's documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

from ..arrays import Ints
from ..findings.finding import About, Finding, PlaceClass
from ..motion.clip import Clip
from ..skinning.skin import PosedSkin, Skin

Limits = Mapping[str, float]
# Degrees. A limit that is a round number is often met exactly by what people key, and float noise must not decide: it
# is moved by so much to the careful side. float32 knows an angle of ten turns to 4e-4°.
ROUND_DEG = 0.01
Subject = Clip | PosedSkin
S = TypeVar("S", Clip, PosedSkin)
Find = Callable[[S, Limits], list[Finding]]
# (subject, findings to repair, limits, unsafe fixes too) -> edited subject; the same one when nothing changes.
Fix = Callable[[S, Sequence[Finding], Limits, bool], S]
# (the skin that was audited, finding, number of an occurrence) -> (U,) vertices.
VerticesAt = Callable[[Skin, Finding, int], Ints]

# Order in which repairs run: keys must be in order before values mean anything, values finite before
# curves can be completed, curves complete before quaternions have a sign.
PHASE_TIMES, PHASE_VALUES, PHASE_CURVES, PHASE_LENGTH, PHASE_SIGNS, PHASE_INSERT = range(6)


class OtherWay(NamedTuple):
    """A second way to repair what a rule finds, chosen by setting one of its limits to 1.

    Attributes:
        limit: the name of that limit.
        label: of its button.
        remedy: what it does, beside the button.
        always: there is this way also where the rule's own fix is none.
    """

    limit: str
    label: str
    remedy: str
    always: bool = False


@dataclass(frozen=True, kw_only=True)
class Rule(Generic[S]):
    """One rule, with all its words.

    Attributes:
        code, name: what it is called, by machines and by people. The name states the fault.
        short: the fault in a word, for a row of the list.
        summary: the fault in one line.
        doc: its documentation (Markdown).
        judges: what it looks at.
        find, fix: see `Find` and `Fix`; fix is None where only a person can decide.
        sentences: templates of what is said of one place. `Occurrences.codes` holds their numbers.
        kinds: the classes that it tells apart, the worst first: what was ignored comes back for a worse one.
        leading: the measure that is shown as the figure of a finding, "" for none.
        limits: its numbers by name.
        phase: when its fix runs.
        keys_only: it judges keys (or weights) alone. The others need to know what plays between the keys (or right
            positions), and are not applied where that cannot be computed.
        whole_turns: it tells full turns and wraps apart, and is not applied where they are not as authored.
        judges_unplayed: it is about keys that nobody plays. What another rule finds in those is a note.
        counts_places: its fix may do something else than change keys (a mode, a slot): it is counted in places.
        minds_locks: its `find` offers no fix that writes what must not be written; a locked curve alone is no reason.
        remedy: what the fix does and what it leaves alone, in a sentence beside the button.
        other_way: another way to repair it; None where there is one way only.
        outcome: what the fix has done, with {keys} and {bones} or {vertices} and {meshes}; "": no word of its own.
        vertices_at: the vertices of a place, for a rule about skins whose rows are not vertices.
    """

    code: str
    name: str
    short: str
    summary: str
    doc: str
    judges: About
    find: Find[S]
    sentences: tuple[str, ...]
    kinds: tuple[PlaceClass, ...]
    remedy: str
    fix: Fix[S] | None = None
    leading: str = ""
    limits: Limits = field(default_factory=dict)
    phase: int = PHASE_INSERT
    keys_only: bool = False
    whole_turns: bool = False
    judges_unplayed: bool = False
    counts_places: bool = False
    minds_locks: bool = False
    outcome: str = ""
    other_way: OtherWay | None = None
    vertices_at: VerticesAt | None = None

    @property
    def fixable(self) -> bool:
        """Whether it can repair what it finds."""
        return self.fix is not None

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


AnyRule = Rule[Any]
