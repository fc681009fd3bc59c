# SPDX-License-Identifier: GPL-3.0-or-later
"""The last audit as plain Python: rows, what is shown of them, and whether each still applies.

Nothing of Blender is held here: a clip or a mesh is known by numbers that survive an undo (`Address`), and what was
found in it belongs to one state of its keys or weights (`AuditResult.state`). When they change, by an edit, an undo
or a reload, the findings of the new state are shown if that state was audited before; otherwise the rows stay and say
that they are outdated.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ..findings.finding import SEVERITIES
from ..findings.report import FileReport, Ignored
from ..text import Text
from .rows import ACTION, JUDGED, MESH, Address, AuditResult, Filters, Judged, Row, RowKey, moved, sort_key

# States of one clip or mesh that are remembered, so that undo and redo show the right findings at once.
STATES_KEPT = 12

Standing = Literal["current", "changed", "missing"]
CURRENT: Final = "current"
CHANGED: Final = "changed"
MISSING: Final = "missing"


@dataclass
class _Tracked:
    """A clip or mesh that was audited: its known states, the one shown, and whether that is how the file is now."""

    states: OrderedDict[str, AuditResult]
    shown: AuditResult
    standing: Standing = CURRENT
    paths: frozenset[str] | None = None  # the data paths that a clip has now, where that is known


@dataclass(frozen=True)
class Summary:
    """Counts of what was found.

    `worst` is severity → unit → largest figure; `cautions` is for whom a fix is not safe → of how many findings.
    """

    clips: int
    tracks: int
    keys: int
    meshes: int
    vertices: int
    counts: dict[str, int]
    worst: dict[str, dict[str, float]]
    safe: int
    cautions: dict[str, int]
    ignored: int
    not_evaluated: int


@dataclass
class Results:
    """All that the panel shows. `generation` counts its changes: what is computed from it is kept until then."""

    generation: int = 0
    profiles: dict[str, str] = field(default_factory=dict)  # kind of what was audited → by which profile
    scope: str = ""
    file: str = ""
    message: str = ""  # a Text: what the panel says beside the findings: of the last fix, or why they are gone
    checked: set[RowKey] = field(default_factory=set)
    _tracked: dict[Address, _Tracked] = field(default_factory=dict)
    _cache: dict[Any, Any] = field(default_factory=dict)

    # --- what happened

    def touch(self) -> None:
        """Something changed: forget what was computed."""
        self.generation += 1
        self._cache.clear()

    def replace_all(
        self,
        found: Iterable[AuditResult],
        *,
        profile: str,
        scope: str,
        file: str,
        message: str = "",
        kind: Judged = ACTION,
    ) -> None:
        """Take the result of an audit of actions, or of meshes: what was found in the other kind stays.

        States audited before stay known: an undo may come back to them.
        """
        old = self._tracked if profile == self.profiles.get(kind) else {}
        self._tracked = {address: tracked for address, tracked in self._tracked.items() if address.kind != kind}
        for result in found:
            states = old[result.address].states if result.address in old else OrderedDict()
            self._tracked[result.address] = _Tracked(states, result)
            self._remember(result)
        self.profiles[kind] = profile
        self.scope, self.file, self.message = scope, file, message
        known = {row.key for row in self.rows_uncached()}
        self.checked &= known
        self.touch()

    def replace_one(self, result: AuditResult) -> None:
        """Take the audit of one clip or mesh anew, as after a fix."""
        tracked = self._tracked.get(result.address)
        if tracked is None:
            self._tracked[result.address] = _Tracked(OrderedDict(), result)
        else:
            tracked.shown, tracked.standing, tracked.paths = result, CURRENT, None
        self._remember(result)
        self.touch()

    def _remember(self, result: AuditResult) -> None:
        states = self._tracked[result.address].states
        states[result.state] = result
        states.move_to_end(result.state)
        while len(states) > STATES_KEPT:
            states.popitem(last=False)

    def saw(self, address: Address, now: str, paths: Iterable[str] | None = None) -> bool:
        """How a clip or mesh is now. False when that state was never audited."""
        tracked = self._tracked.get(address)
        if tracked is None:
            return True
        known = tracked.states.get(now)
        if known is not None:
            if tracked.shown is not known or tracked.standing != CURRENT:
                tracked.shown, tracked.standing, tracked.paths = known, CURRENT, None
                self.touch()
            return True
        tracked.standing, tracked.paths = CHANGED, frozenset(paths) if paths is not None else None
        self.touch()
        return False

    def lost(self, address: Address) -> None:
        """The clip or mesh is no longer in the file."""
        tracked = self._tracked.get(address)
        if tracked is not None and tracked.standing != MISSING:
            tracked.standing = MISSING
            self.touch()

    def rebind(self, old_to_new: dict[Address, Address]) -> None:
        """The file was loaded again: what is in it has other numbers. What is not in it goes missing."""
        by_address: dict[Address, _Tracked] = {}
        for address, tracked in self._tracked.items():
            new = old_to_new.get(address)
            if new is None:
                tracked.standing = MISSING
                by_address[address] = tracked
                continue
            states = OrderedDict((name, moved(state, new)) for name, state in tracked.states.items())
            shown = states.get(tracked.shown.state) or moved(tracked.shown, new)
            by_address[new] = _Tracked(states, shown, CHANGED, None)
        self._tracked = by_address
        self.checked = {
            key._replace(address=old_to_new[key.address]) for key in self.checked if key.address in old_to_new
        }
        self.touch()

    def clear(self, message: str = "") -> None:
        """Forget all findings."""
        self._tracked = {}
        self.checked = set()
        self.profiles = {}
        self.message = message
        self.touch()

    # --- what there is

    @property
    def audited(self) -> bool:
        return bool(self.profiles)

    def by_address(self) -> list[tuple[Address, AuditResult]]:
        return [(address, tracked.shown) for address, tracked in self._tracked.items()]

    def shown(self, address: Address) -> AuditResult | None:
        """What is shown of a clip or mesh."""
        tracked = self._tracked.get(address)
        return tracked.shown if tracked is not None else None

    def rows_uncached(self) -> Iterator[Row]:
        for tracked in self._tracked.values():
            yield from tracked.shown.rows

    @property
    def rows(self) -> list[Row]:
        """All rows; their order only changes with `generation`."""
        rows: list[Row] = self._kept("rows", lambda: list(self.rows_uncached()))
        return rows

    def row(self, number: int) -> Row | None:
        return self.rows[number] if 0 <= number < len(self.rows) else None

    def number_of(self, key: RowKey) -> int:
        """The row's number, -1 when it is gone."""
        numbers: dict[RowKey, int] = self._kept("numbers", lambda: {row.key: n for n, row in enumerate(self.rows)})
        return numbers.get(key, -1)

    def checked_rows(self) -> list[Row]:
        """The findings that are checked and can be repaired, in order."""
        return [row for row in self.rows if row.key in self.checked and row.fixable] if self.checked else []

    @property
    def ignored(self) -> list[tuple[Address, Ignored]]:
        found: list[tuple[Address, Ignored]] = self._kept(
            "ignored", lambda: [(p, item) for p, t in self._tracked.items() for item in t.shown.ignored]
        )
        return found

    def not_evaluated(self, kind: Judged) -> list[tuple[str, str]]:
        """(what, why) of what could not be judged in actions, or in meshes."""
        found: list[tuple[str, str]] = self._kept(
            ("not evaluated", kind),
            lambda: [item for p, t in self._tracked.items() if p.kind == kind for item in t.shown.not_evaluated],
        )
        return found

    def outdated(self, row: Row) -> Text | None:
        """Why the row may no longer be true; None when it is."""
        tracked = self._tracked.get(row.key.address)
        if tracked is None or tracked.standing == MISSING:
            return _gone(row)
        if tracked.standing == CURRENT:
            return None
        channels = row.channels
        if tracked.paths is not None and channels and tracked.paths.isdisjoint(channels):
            return Text("The channel is gone: renamed or deleted since the audit")
        if row.key.address.kind == MESH:
            return Text("The mesh changed since the audit: audit again")
        return Text("The action changed since the audit: audit again")

    @property
    def any_outdated(self) -> bool:
        return any(t.standing != CURRENT for t in self._tracked.values())

    def summary(self, kinds: tuple[str, ...] = JUDGED) -> Summary:
        """Of all that is shown, or of one kind."""
        found: Summary = self._kept(("summary", kinds), lambda: self._summary(kinds))
        return found

    def _summary(self, kinds: tuple[str, ...]) -> Summary:
        counts: Counter[str] = Counter()
        worst: dict[str, dict[str, float]] = {}
        rows = [row for row in self.rows if row.key.address.kind in kinds]
        for row in rows:
            severity = row.finding.severity
            counts[severity] += 1
            if row.figure is not None:
                largest = worst.setdefault(severity, {})
                largest[row.figure.unit] = max(largest.get(row.figure.unit, 0.0), row.figure.value)
        shown = [t.shown for address, t in self._tracked.items() if address.kind in kinds]
        lines = [s.line for s in shown if s.line is not None]
        return Summary(
            clips=len(lines),
            tracks=sum(line.tracks for line in lines),
            keys=sum(line.keys for line in lines),
            meshes=len(shown) - len(lines),
            vertices=sum(s.vertices for s in shown),
            counts={s: counts[s] for s in reversed(SEVERITIES)},
            worst=worst,
            safe=sum(row.safe for row in rows),
            cautions=dict(Counter(row.finding.caution for row in rows if row.finding.caution and row.fixable)),
            ignored=sum(len(s.ignored) for s in shown),
            not_evaluated=sum(len(s.not_evaluated) for s in shown),
        )

    def codes(self) -> list[tuple[str, str]]:
        """(code, name) of the rules that found something."""
        found: list[tuple[str, str]] = self._kept(
            "codes", lambda: sorted({(row.finding.code, row.finding.rule) for row in self.rows})
        )
        return found

    def bones(self) -> list[str]:
        found: list[str] = self._kept(
            "bones", lambda: sorted({bone for r in self.rows for bone in r.finding.bones if bone})
        )
        return found

    # --- what is shown of it

    def filtered(self, filters: Filters) -> tuple[list[bool], list[int]]:
        """(shown?, position in the list) of every row."""
        found: tuple[list[bool], list[int]] = self._kept(filters, lambda: self._filtered(filters))
        return found

    def _filtered(self, filters: Filters) -> tuple[list[bool], list[int]]:
        words = filters.search.casefold().split()
        rows = self.rows
        shown = [
            row.finding.severity in filters.severities
            and filters.code in ("", row.finding.code)
            and (not filters.bone or filters.bone in row.finding.bones)
            and (not words or all(word in self._haystack(n, row) for word in words))
            for n, row in enumerate(rows)
        ]
        order = sorted(range(len(rows)), key=lambda n: sort_key(rows[n], filters.sort), reverse=filters.reverse)
        position = [0] * len(rows)
        for at, number in enumerate(order):
            position[number] = at
        return shown, position

    def flags(self, filters: Filters, shown_bit: int) -> tuple[list[int], list[int]]:
        """The same as Blender's lists want it: a flag for each row, and its position."""
        shown, position = self.filtered(filters)
        flags: list[int] = self._kept(("flags", filters, shown_bit), lambda: [shown_bit * s for s in shown])
        return flags, position

    def shown_rows(self, filters: Filters) -> list[Row]:
        """The rows that the list shows, in its order."""

        def make() -> list[Row]:
            shown, position = self.filtered(filters)
            order = sorted(range(len(position)), key=position.__getitem__)
            return [self.rows[n] for n in order if shown[n]]

        rows: list[Row] = self._kept(("shown", filters), make)
        return rows

    def _haystack(self, number: int, row: Row) -> str:
        texts: dict[int, str] = self._kept("haystacks", dict)
        if number not in texts:
            f = row.finding
            bones = " ".join(f.bones)
            texts[number] = f"{bones} {f.code} {f.rule} {f.action} {f.slot} {f.owner} {f.message}".casefold()
        return texts[number]

    def _kept(self, name: Any, make: Any) -> Any:
        if name not in self._cache:
            if len(self._cache) > 64:  # a person typing into the search makes one entry a letter
                self._cache.clear()
            self._cache[name] = make()
        return self._cache[name]

    def report(self, path: str) -> FileReport:
        """What is shown, as the report of one file; ignored findings stand apart."""
        report = FileReport(path, read_via="blender")
        for tracked in self._tracked.values():
            if tracked.standing == MISSING:
                continue
            if tracked.shown.line is not None:
                report.clips.append(tracked.shown.line)
            report.findings += [row.finding for row in tracked.shown.rows]
            report.ignored += tracked.shown.ignored
            report.not_evaluated += tracked.shown.not_evaluated
        report.not_evaluated = list(dict.fromkeys(report.not_evaluated))
        return report


def _gone(row: Row) -> Text:
    if row.key.address.kind == MESH:
        return Text("The mesh “{mesh}” is no longer in this file", {"mesh": row.finding.owner})
    return Text("The action “{action}” is no longer in this file", {"action": row.finding.action})


# The one audit that the panel shows: there is one list, in whichever editor it is looked at.
RESULTS = Results()
