# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings as rows of a list: what is shown of each, which clip or mesh it belongs to, and how rows are sorted.

Nothing of Blender is held here: a clip or a mesh is known by numbers that survive an undo (`Address`), and what was
found in it belongs to one state of its keys or weights (`clip_state`, `skin_state`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, get_args

import numpy as np

from ..audit.pipeline import Judgement, clip_line
from ..findings.finding import NONE, SAFE, SEVERITIES, UNITS, Figure, Finding, Severity
from ..findings.report import ClipLine, Ignored
from ..motion.clip import Clip
from ..skinning.skin import Skin
from ..text import Text

Judged = Literal["action", "mesh"]
ACTION: Final = "action"
MESH: Final = "mesh"
JUDGED: Final[tuple[Judged, ...]] = get_args(Judged)

Sort = Literal["SEVERITY", "FIGURE", "BONE", "ACTION", "RULE", "FRAME"]


class Address(NamedTuple):
    """Where something audited is in the open file: a clip of an action, or a mesh object.

    `uid` is the `session_uid` of the action or the object; `handle`, `layer` and `strip` tell the clips of an action
    apart (see `blender.read.BlenderClip`).
    """

    uid: int
    handle: int = 0
    layer: int = 0
    strip: int = 0
    kind: Judged = ACTION


class RowKey(NamedTuple):
    """One finding, whatever its number in the list. `nth` tells findings of one rule and path apart."""

    address: Address
    code: str
    data_path: str
    nth: int = 0


@dataclass(frozen=True, eq=False)
class Row:
    """One finding as the list shows it. `users` are those who play what it is about."""

    key: RowKey
    finding: Finding
    figure: Figure | None
    frame: float
    users: tuple[str, ...]

    @property
    def locked(self) -> str:
        """Why it cannot be repaired here, "" when it can."""
        return self.finding.locked

    @property
    def rank(self) -> int:
        return SEVERITIES.index(self.finding.severity)

    @property
    def label(self) -> str:
        """Who has it: the bone, or how many of them, or what plays the action, or the path."""
        bones = len(self.finding.bones)
        if bones > 1:
            return Text("{bones} bones", {"bones": bones})
        return self.finding.bones[0] or self.finding.owner or self.finding.data_path

    @property
    def channels(self) -> tuple[str, ...]:
        """The data paths of the keys that it is about; () where it is about none, as an action that does not play."""
        return self.finding.paths if self.finding.several or self.finding.part >= 0 else ()

    @property
    def timed(self) -> bool:
        """Whether it has a frame: a fault of weights is there on every one."""
        return self.finding.locator not in ("vertex", "all frames")

    @property
    def fixable(self) -> bool:
        return self.finding.fix != NONE

    @property
    def safe(self) -> bool:
        return self.finding.fix == SAFE


@dataclass(frozen=True, eq=False)
class AuditResult:
    """What one audit found in one state of one clip or mesh.

    Attributes:
        name, library: of the action or the mesh object, and the file that it is linked from.
        line: what a report says about the clip; None for a mesh.
        vertices: of the mesh.
        why_unread: why it could not be audited as it is, "" when it was.
    """

    address: Address
    state: str
    name: str
    library: str
    line: ClipLine | None
    rows: tuple[Row, ...]
    ignored: tuple[Ignored, ...] = ()
    not_evaluated: tuple[tuple[str, str], ...] = ()
    vertices: int = 0
    why_unread: str = ""


@dataclass(frozen=True)
class Filters:
    """What of the rows is shown, and in which order."""

    search: str = ""
    severities: frozenset[Severity] = frozenset(SEVERITIES)
    code: str = ""
    bone: str = ""
    sort: Sort = "SEVERITY"
    reverse: bool = False


def clip_state(clip: Clip) -> str:
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
        clip.ignores, [reader.state for reader in clip.readers], clip.unbound, clip.connected,
    )  # fmt: skip
    digest.update(repr(words).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def skin_state(skin: Skin) -> str:
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
    """Whether two states are of one skin, whatever is ignored on it."""
    return one.partition(":")[0] == other.partition(":")[0]


def clip_result(address: Address, clip: Clip, library: str, judgement: Judgement) -> AuditResult:
    """The rows of one audited clip."""
    users = clip.users or ((clip.owner,) if clip.owner else ())
    return AuditResult(
        address=address,
        state=clip_state(clip),
        name=clip.action,
        library=library,
        line=clip_line(clip),
        rows=_rows(address, judgement.findings, users),
        ignored=judgement.ignored,
        not_evaluated=judgement.not_evaluated,
    )


def skin_result(address: Address, skin: Skin, library: str, judgement: Judgement) -> AuditResult:
    """The rows of one audited mesh."""
    return AuditResult(
        address=address,
        state=skin_state(skin),
        name=skin.mesh,
        library=library,
        line=None,
        rows=_rows(address, judgement.findings, (skin.mesh,)),
        ignored=judgement.ignored,
        not_evaluated=judgement.not_evaluated,
        vertices=len(skin),
    )


def unread_result(address: Address, name: str, why: str) -> AuditResult:
    """A mesh that cannot be audited as it is now: a state of it, like any other."""
    return AuditResult(address, str(why), name, "", None, (), not_evaluated=((name, why),), why_unread=why)


def _rows(address: Address, findings: Sequence[Finding], users: tuple[str, ...]) -> tuple[Row, ...]:
    seen: Counter[tuple[str, str]] = Counter()
    rows = []
    for finding in findings:
        nth = seen[finding.code, finding.data_path]
        seen[finding.code, finding.data_path] += 1
        rows.append(
            Row(
                key=RowKey(address, finding.code, finding.data_path, nth),
                finding=finding,
                figure=finding.figure,
                frame=float(finding.occurrences.frames[finding.worst, 0]) if len(finding.occurrences) else np.nan,
                users=_users(finding, users),
            )
        )
    return tuple(rows)


def _users(finding: Finding, users: tuple[str, ...]) -> tuple[str, ...]:
    """Those who play what a finding is about: of one about an owner, that owner alone."""
    mine = finding.owner and finding.data_path.startswith(f"{finding.owner}.")
    return (finding.owner,) if mine else users


def moved(result: AuditResult, address: Address) -> AuditResult:
    """The same clip or mesh under another number."""
    rows = tuple(replace(row, key=row.key._replace(address=address)) for row in result.rows)
    return replace(result, address=address, rows=rows)


def sort_key(row: Row, sort: Sort) -> tuple[Any, ...]:
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
