# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as rows of a list: what is shown of each, which clip or mesh it belongs to, and how rows are sorted.

Nothing of Blender is held here: a clip or a mesh is known by numbers that survive an undo (`Place`), and what was found
in it belongs to one state of its keys or weights (`fingerprint`, `skin_fingerprint`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..audit.pipeline import locked_paths
from ..findings.finding import NONE, SAFE, SEVERITIES, ClipRow, Finding, Ignored
from ..motion.clip import Clip
from ..skinning.skin import Skin

# What is shown as the figure of a finding, and its unit: the first of these that its rule measured.
FIGURES = {
    "swept_deg": "°",
    "deviation_deg": "°",
    "off_arc_deg": "°",
    "effect_deg": "°",
    "shortest_deg": "°",
    "engine_mm": "mm",
    "cut_mm": "mm",
    "lost_percent": "%",
    "gap_mm": "mm",
    "moves_mm": "mm",
}
# Figures of different units are not compared: a list sorted by figure has them in this order.
UNITS = tuple(dict.fromkeys(FIGURES.values()))
ACTION, MESH = KINDS = ("action", "mesh")


class Figure(NamedTuple):
    """A figure and its unit."""

    value: float
    unit: str


class Place(NamedTuple):
    """Where something audited is in the open file: a clip of an action, or a mesh object.

    `uid` is the `session_uid` of the action or the object; `handle`, `layer` and `strip` tell the clips of an action
    apart (see `blender.read.BlenderClip`).
    """

    uid: int
    handle: int = 0
    layer: int = 0
    strip: int = 0
    kind: str = ACTION


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
    figure: Figure | None
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
    def timed(self) -> bool:
        """Whether it has a frame: a fault of weights is there on every one."""
        count = len(self.finding.occurrences)
        return self.key.place.kind != MESH or (count > 0 and "frame" in self.finding.where(self.finding.worst).values)

    @property
    def fixable(self) -> bool:
        return not self.locked and self.finding.fix != NONE

    @property
    def safe(self) -> bool:
        return not self.locked and self.finding.fix == SAFE


@dataclass(frozen=True, eq=False)
class PlaceResult:
    """What one audit found in one state of one clip or mesh.

    Attributes:
        name, library: of the action or the mesh object, and the file that it is linked from.
        line: what a report says about the clip; None for a mesh.
        vertices: of the mesh.
        why_unread: why it could not be audited as it is, "" when it was.
    """

    place: Place
    fingerprint: str
    name: str
    library: str
    line: ClipRow | None
    rows: tuple[Row, ...]
    ignored: tuple[Ignored, ...] = ()
    not_evaluated: tuple[tuple[str, str], ...] = ()
    vertices: int = 0
    why_unread: str = ""


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


def skin_fingerprint(skin: Skin) -> str:
    """A name for the state of a skin: its shape, weights, groups, locks, bones and the modifier's settings.

    What poses it is no part of that. What the mesh ignores stands apart, behind a colon (see `same_skin`).
    """
    groups, bones = skin.groups, skin.bones
    digest = hashlib.blake2b(digest_size=16)
    arrays = (skin.vertices, skin.offsets, skin.group, skin.weight, skin.mask, skin.triangles, bones.rest, bones.tail)
    for array in arrays:
        digest.update(b"-" if array is None else np.ascontiguousarray(array).data)
    words = (
        skin.armature, groups.names, groups.locked.tolist(), groups.bone.tolist(), groups.elsewhere.tolist(),
        groups.other_rig.tolist(), bones.names, bones.deform.tolist(), bones.parent.tolist(), skin.preserve_volume,
        skin.envelopes, skin.mm_per_unit, skin.read_only, skin.blocking,
    )  # fmt: skip
    digest.update(repr(words).encode("utf-8", "surrogatepass"))
    ignored = hashlib.blake2b(repr(skin.ignores).encode("utf-8", "surrogatepass"), digest_size=8)
    return f"{digest.hexdigest()}:{ignored.hexdigest()}"


def same_skin(one: str, other: str) -> bool:
    """Whether two fingerprints are of one skin, whatever is ignored on it."""
    return one.partition(":")[0] == other.partition(":")[0]


def clip_result(
    place: Place,
    clip: Clip,
    library: str,
    findings: Sequence[Finding],
    line: ClipRow,
    ignored: Sequence[Ignored] = (),
    not_evaluated: Sequence[tuple[str, str]] = (),
) -> PlaceResult:
    """The rows of one audited clip."""
    users = clip.users or ((clip.owner,) if clip.owner else ())
    rows = _rows(place, findings, locked_paths(clip), users)
    name = clip.action
    return PlaceResult(place, fingerprint(clip), name, library, line, rows, tuple(ignored), tuple(not_evaluated))


def skin_result(
    place: Place,
    skin: Skin,
    library: str,
    findings: Sequence[Finding],
    ignored: Sequence[Ignored] = (),
    not_evaluated: Sequence[tuple[str, str]] = (),
) -> PlaceResult:
    """The rows of one audited mesh."""
    locked = {f.data_path: skin.read_only for f in findings if skin.read_only}
    return PlaceResult(
        place=place,
        fingerprint=skin_fingerprint(skin),
        name=skin.mesh,
        library=library,
        line=None,
        rows=_rows(place, findings, locked, (skin.mesh,)),
        ignored=tuple(ignored),
        not_evaluated=tuple(not_evaluated),
        vertices=len(skin),
    )


def unread_result(place: Place, name: str, why: str) -> PlaceResult:
    """A mesh that cannot be audited as it is now: a state of it, like any other."""
    return PlaceResult(place, str(why), name, "", None, (), not_evaluated=((name, why),), why_unread=why)


def _rows(
    place: Place, findings: Sequence[Finding], locked: Mapping[str, str], users: tuple[str, ...]
) -> tuple[Row, ...]:
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for finding in findings:
        nth = seen[finding.code, finding.data_path]
        seen[finding.code, finding.data_path] += 1
        rows.append(
            Row(
                key=RowKey(place, finding.code, finding.data_path, nth),
                finding=finding,
                figure=_figure(finding),
                frame=float(finding.occurrences.frames[finding.worst, 0]) if len(finding.occurrences) else np.nan,
                locked=locked.get(finding.data_path, ""),
                users=users,
            )
        )
    return tuple(rows)


def _figure(finding: Finding) -> Figure | None:
    """The worst figure that the rule measured, None where it measures none of `FIGURES`."""
    for name, unit in FIGURES.items():
        values = finding.occurrences.measured.get(name)
        if values is not None and len(values):
            value = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else np.nan
            return Figure(value, unit) if np.isfinite(value) else None
    return None


def moved(result: PlaceResult, place: Place) -> PlaceResult:
    """The same clip or mesh under another number."""
    rows = tuple(replace(row, key=row.key._replace(place=place)) for row in result.rows)
    return replace(result, place=place, rows=rows)


def sort_key(row: Row, sort: str) -> tuple[Any, ...]:
    """What rows are sorted by; the worst of equals first."""
    f = row.finding
    figure = (UNITS.index(row.figure.unit), -row.figure.value) if row.figure is not None else (len(UNITS), 0.0)
    frame = row.frame if np.isfinite(row.frame) else np.inf
    by_severity = (-row.rank, figure, f.code, row.label, frame)
    match sort:
        case "FIGURE":
            return (figure, *by_severity)
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
