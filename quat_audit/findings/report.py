# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run says of its inputs: per file the findings, what was ignored or not judged, and what a repair did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..text import Text, listed
from .finding import SEVERITIES, Finding

Status = Literal["audited", "failed", "skipped"]
ReadVia = Literal["bytes", "blender"]
INTERRUPTED: Final = "interrupted"  # why a file was skipped after Ctrl-C


@dataclass(frozen=True, slots=True)
class Ignored:
    """A finding that somebody has looked at and wants to keep as it is, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True)
class Applied:
    """What the fix of one rule changed: data paths (or meshes), and keys (or vertices) on them."""

    code: str
    tracks: int
    keys_changed: int


@dataclass(frozen=True)
class Refused:
    """A repair that was not done, and why."""

    code: str
    data_path: str
    why: str


@dataclass(frozen=True, order=True)
class HandleChange:
    """Handles of authored keys whose type had to change (Blender's names), for the shape of the curve to stay."""

    was: str
    now: str
    handles: int


def merge_handle_changes(changes: Iterable[HandleChange]) -> tuple[HandleChange, ...]:
    """One for each pair of types, sorted."""
    counts: Counter[tuple[str, str]] = Counter()
    for change in changes:
        counts[change.was, change.now] += change.handles
    return tuple(HandleChange(was, now, count) for (was, now), count in sorted(counts.items()))


def handle_words(changes: Sequence[HandleChange]) -> str:
    """ "AUTO_CLAMPED → ALIGNED", of more than one with their numbers."""
    return ", ".join(f"{c.was} → {c.now}" + (f" × {c.handles:,}" if len(changes) > 1 else "") for c in changes)


@dataclass(frozen=True)
class Proof:
    """What a repair did to the motion, measured on the stored values."""

    max_key_change_deg: float = 0.0
    max_between_change_deg: float = 0.0
    keys_added: int = 0
    keys_removed: int = 0
    # The step whose path changed its length the most: degrees that it swept before, and sweeps now.
    worst_before_deg: float = 0.0
    worst_after_deg: float = 0.0
    # Tracks whose pose an unsafe fix changed on purpose, in words: another rotation mode, other channels.
    not_measured: tuple[str, ...] = ()


def merge_proofs(proofs: Sequence[Proof]) -> Proof:
    """The proof over several clips."""
    worst = max(proofs, key=lambda p: abs(p.worst_before_deg - p.worst_after_deg), default=Proof())
    return Proof(
        max_key_change_deg=max((p.max_key_change_deg for p in proofs), default=0.0),
        max_between_change_deg=max((p.max_between_change_deg for p in proofs), default=0.0),
        keys_added=sum(p.keys_added for p in proofs),
        keys_removed=sum(p.keys_removed for p in proofs),
        worst_before_deg=worst.worst_before_deg,
        worst_after_deg=worst.worst_after_deg,
        not_measured=tuple(text for p in proofs for text in p.not_measured),
    )


@dataclass(frozen=True)
class SkinProof:
    """What a repair of weights did to a mesh over a clip.

    Attributes:
        vertices: whose weights changed.
        sound_mm: the largest displacement, by either method, of a vertex whose weights were in order.
        moved_mm: the largest of any vertex; moved_frame: where it is.
    """

    vertices: int = 0
    sound_mm: float = 0.0
    moved_mm: float = 0.0
    moved_frame: float = 0.0


@dataclass(frozen=True)
class ReaderLine:
    """One that plays the keys of a clip or reads them, in a report.

    Attributes:
        owner: the object that is moved; for a driver, whose property it drives.
        route: "action", "strip", "constraint" or "driver".
        by: the name of the strip or constraint, or what the driver drives; "" for an active action.
        words: all of that for a person.
        muted, linked: it plays nothing as it is now; it comes from another file.
        mixed: why what it plays is mixed with other motion, "" where it plays the keys alone.
    """

    owner: str
    route: str
    by: str
    words: str
    muted: bool = False
    linked: bool = False
    mixed: str = ""

    @property
    def says(self) -> Text:
        """Who it is, and what there is to know of it."""
        values = {"who": self.words, "why": self.mixed}
        if self.linked and self.mixed:
            return Text("{who} (linked; mixed: {why})", values)
        if self.linked:
            return Text("{who} (linked)", values)
        return Text("{who} (mixed: {why})", values) if self.mixed else Text("{who}", values)


def who_plays(readers: Sequence[ReaderLine]) -> list[Text]:
    """Who plays some keys, and whose drivers read their numbers, in a sentence each."""
    drivers = [reader for reader in readers if reader.route == "driver"]
    players = [reader for reader in readers if reader.route != "driver"]
    if not players:
        said = [Text("Nobody in this file plays these keys")]
    else:
        said = [Text("Played by {who}", {"who": listed([reader.says for reader in players])})]
    if drivers:
        said.append(Text("Read by {who}", {"who": listed([reader.says for reader in drivers])}))
    return said


@dataclass(frozen=True)
class ClipLine:
    """One line about a clip in a report. `readers`: who plays its keys or reads them."""

    action: str
    slot: str
    owner: str
    frame_range: tuple[float, float] | None
    frame_rate: float
    tracks: int
    keys: int
    readers: tuple[ReaderLine, ...] = ()


@dataclass(eq=False)
class FileReport:
    """One input: audited, failed (with a reason) or skipped."""

    path: str
    status: Status = "audited"
    reason: str = ""
    read_via: ReadVia = "bytes"
    clips: list[ClipLine] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    ignored: list[Ignored] = field(default_factory=list)
    not_evaluated: list[tuple[str, str]] = field(default_factory=list)
    repair: FileRepair | None = None
    after: FileReport | None = None


@dataclass(eq=False)
class FileRepair:
    """What `fix` did to one file."""

    applied: list[Applied] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    proof: Proof = Proof()
    output: str | None = None
    backup: str | None = None
    remark: str = ""
    skin_proof: SkinProof = SkinProof()
    handle_types: tuple[HandleChange, ...] = ()


@dataclass(eq=False)
class Report:
    """All inputs of one run."""

    files: list[FileReport] = field(default_factory=list)
    blender: str | None = None

    def as_sorted(self) -> Report:
        """Files by path: the order of a report does not depend on the order of work."""
        return Report(sorted(self.files, key=lambda f: f.path), self.blender)


def summary(report: Report) -> dict[str, Any]:
    """Counts over a report, as its `summary` member shows them."""
    findings = [f for file in report.files for f in file.findings]
    occurrences: dict[str, int] = {}
    for finding in findings:
        occurrences[finding.code] = occurrences.get(finding.code, 0) + len(finding.occurrences)
    return {
        "files": len(report.files),
        "audited": sum(f.status == "audited" for f in report.files),
        "failed": sum(f.status == "failed" for f in report.files),
        "ignored": sum(len(f.ignored) for f in report.files),
        "findings": {s: sum(f.severity == s for f in findings) for s in reversed(SEVERITIES)},
        "occurrences": dict(sorted(occurrences.items())),
    }
