# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as rows of a list: what is shown of each, which clip it belongs to, and how rows are sorted.

Nothing of Blender is held here: a clip is known by numbers that survive an undo (`Place`), and what was found in it
belongs to one state of its keys (`fingerprint`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..clip import Clip
from ..finding import NONE, SAFE, SEVERITIES, ClipRow, Finding, Ignored

# What is shown as the figure of a finding: the first of these that its rule measured.
FIGURES = ("swept_deg", "deviation_deg", "off_arc_deg", "effect_deg", "shortest_deg")


class Place(NamedTuple):
    """Where a clip is in the open file (see `blender.read.BlenderClip`)."""

    action_uid: int
    handle: int
    layer: int
    strip: int


class RowKey(NamedTuple):
    """One finding, whatever its number in the list. `nth` tells findings of one rule and path apart."""

    place: Place
    code: str
    data_path: str
    nth: int = 0


@dataclass(frozen=True, eq=False)
class Row:
    """One finding as the list shows it. `locked` says why it cannot be repaired here, "" when it can."""

    key: RowKey
    finding: Finding
    degrees: float | None
    frame: float
    locked: str
    users: tuple[str, ...]

    @property
    def rank(self) -> int:
        return SEVERITIES.index(self.finding.severity)

    @property
    def label(self) -> str:
        """Who has it: the bone, or what plays the action, or the path."""
        return self.finding.bone or self.finding.owner or self.finding.data_path

    @property
    def fixable(self) -> bool:
        return not self.locked and self.finding.fix != NONE

    @property
    def safe(self) -> bool:
        return not self.locked and self.finding.fix == SAFE


@dataclass(frozen=True, eq=False)
class ClipResult:
    """What one audit found in one state of one clip."""

    place: Place
    fingerprint: str
    action: str
    library: str
    line: ClipRow
    rows: tuple[Row, ...]
    ignored: tuple[Ignored, ...] = ()
    not_evaluated: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Filters:
    """What of the rows is shown, and in which order."""

    search: str = ""
    severities: frozenset[str] = frozenset(SEVERITIES)
    code: str = ""
    bone: str = ""
    sort: str = "SEVERITY"
    reverse: bool = False


def fingerprint(clip: Clip) -> str:
    """A name for the state of a clip: the same when, and only when, an audit of it would find the same."""
    c, t = clip.curves, clip.tracks
    # Of what is stored, only components without a curve are played; the others hold what the current frame shows.
    pose = np.where(t.curves < 0, t.pose, 0.0)
    digest = hashlib.blake2b(digest_size=16)
    for array in (c.co, c.handle_left, c.handle_right, c.interpolation, c.easing, c.easing_parameters, pose):
        digest.update(b"-" if array is None else np.ascontiguousarray(array).data)
    words = (
        clip.slot, clip.owner, clip.users, clip.frame_rate, c.data_path, c.component.tolist(), c.offsets.tolist(),
        c.linear_extrapolation.tolist(), c.cycles, c.unevaluable, c.read_only, c.orphan.tolist(), t.modes, t.order,
        getattr(clip, "ignores", ()),
    )  # fmt: skip
    digest.update(repr(words).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def clip_result(
    place: Place,
    clip: Clip,
    library: str,
    findings: Sequence[Finding],
    line: ClipRow,
    ignored: Sequence[Ignored] = (),
    not_evaluated: Sequence[tuple[str, str]] = (),
) -> ClipResult:
    """The rows of one audited clip."""
    locked = {p: why for p, why in zip(clip.curves.data_path, clip.curves.read_only, strict=True) if why}
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for finding in findings:
        nth = seen[finding.code, finding.data_path]
        seen[finding.code, finding.data_path] += 1
        rows.append(
            Row(
                key=RowKey(place, finding.code, finding.data_path, nth),
                finding=finding,
                degrees=_figure(finding),
                frame=float(finding.occurrences.frames[finding.worst, 0]) if len(finding.occurrences) else np.nan,
                locked=locked.get(finding.data_path, ""),
                users=clip.users or ((clip.owner,) if clip.owner else ()),
            )
        )
    return ClipResult(
        place, fingerprint(clip), clip.action, library, line, tuple(rows), tuple(ignored), tuple(not_evaluated)
    )


def _figure(finding: Finding) -> float | None:
    """The worst figure in degrees that the rule measured, None where it measures none."""
    for name in FIGURES:
        values = finding.occurrences.measured.get(name)
        if values is not None and len(values):
            value = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else np.nan
            return value if np.isfinite(value) else None
    return None


def moved(result: ClipResult, place: Place) -> ClipResult:
    """The same clip under another number."""
    rows = tuple(replace(row, key=row.key._replace(place=place)) for row in result.rows)
    return replace(result, place=place, rows=rows)


def sort_key(row: Row, sort: str) -> tuple[Any, ...]:
    """What rows are sorted by; the worst of equals first."""
    f, degrees = row.finding, -(row.degrees if row.degrees is not None else -1.0)
    frame = row.frame if np.isfinite(row.frame) else np.inf
    by_severity = (-row.rank, degrees, f.code, row.label, frame)
    match sort:
        case "DEGREES":
            return (degrees, *by_severity)
        case "FRAME":
            return (frame, *by_severity)
        case "BONE":
            return (row.label.casefold(), *by_severity)
        case "RULE":
            return (f.code, *by_severity)
        case "ACTION":
            return (f.action, f.slot, *by_severity)
        case _:
            return by_severity
