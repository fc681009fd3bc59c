# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding: one rule on one thing that a person would fix at once, with the places where it shows.

It is data: numbers, names, and the templates of its rule's sentences. It holds no subject and no function, so it can be
pickled, kept, and sent between processes. `where` and `what` put one of its places into words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints, Strings
from ..text import Text, frame_words

Severity = Literal["note", "warning", "error"]
NOTE: Final = "note"
WARNING: Final = "warning"
ERROR: Final = "error"
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)  # rising

FixKind = Literal["none", "unsafe", "safe"]
NONE: Final = "none"
UNSAFE: Final = "unsafe"
SAFE: Final = "safe"
FIX_KINDS: Final[tuple[FixKind, ...]] = get_args(FixKind)  # rising

# The class of a place, in the words of its rule. What they mean stands under Grading in the rule's documentation.
PlaceClass = Literal[
    "visible", "latent", "harmless", "ambiguous", "ambiguous-straddling", "kept",
    "time", "value", "handle", "zero", "forbidden", "mistimed", "slight", "half-turn", "fragile",
    "dead", "muted", "both", "unknown", "delta", "twice", "all", "some", "duplicate", "two-values", "decreasing",
    "unweighted", "unbound", "locked", "off", "cut", "only weight", "unused", "collapse", "lost",
    "mirrored", "uneven", "animated", "negative", "too large", "not finite",
]  # fmt: skip

# How a place is told: between two keys (or at one) of a track or of a bone's, at a vertex, on a frame, or everywhere.
Locator = Literal["keys", "keys of a bone", "vertex", "vertex on a frame", "frame", "all frames"]

# The data path of a finding about a whole action; its places tell theirs.
MANY: Final = "*"

# What is judged: an ignore and a fingerprint know a clip by its action and a skin by its mesh object.
About = Literal["clip", "skin"]

_UNITS: Final[Mapping[str, str]] = {"deg": "°", "mm": "mm", "percent": "%"}
# Figures of different units are not compared: a list sorted by figure has them in this order.
UNITS: Final = tuple(_UNITS.values())


@dataclass(frozen=True)
class Figure:
    """A figure with its unit, as a person reads it."""

    value: float
    unit: str


@dataclass(frozen=True, eq=False, slots=True)
class Occurrences:
    """N places where a rule found its fault on one thing.

    They stay arrays until a report is printed, so that a hundred thousand of them cost no Python loop.

    Attributes:
        frames: (N, 2) float, the frames of two keys; the same twice where the fault is at one key.
        rows: (N,) int, numbers within what the rule looks at. They mean something to its fix only.
        codes: (N, 4) uint8: class, severity, fix, sentence, as numbers within `kinds`, SEVERITIES, FIX_KINDS, and the
            templates of the finding.
        values: (N, M) float, what was measured.
        kinds: the classes that the rule knows, the worst first.
        measures: (M,) names of the columns of `values`. A name carries its unit (``swept_deg``).
        names: name → N texts that the sentences need beside the figures: a bone, a mode. Where a finding is about more
            than one channel, "bone" and "path" say whose each place is.
    """

    frames: Floats
    rows: Ints
    codes: npt.NDArray[np.uint8]
    values: Floats
    kinds: tuple[PlaceClass, ...]
    measures: tuple[str, ...]
    names: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __len__(self) -> int:
        return len(self.frames)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Occurrences):
            return NotImplemented
        return (
            (self.kinds, self.measures, self.names) == (other.kinds, other.measures, other.names)
            and np.array_equal(self.frames, other.frames, equal_nan=True)
            and np.array_equal(self.values, other.values, equal_nan=True)
            and np.array_equal(self.rows, other.rows)
            and np.array_equal(self.codes, other.codes)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    @property
    def kind(self) -> Strings:
        """(N,) the class of each place."""
        return np.asarray(np.array(self.kinds, dtype=np.str_)[self.codes[:, 0]])

    @property
    def worst_class(self) -> PlaceClass | Literal[""]:
        """The worst class of the places: `kinds` begins with the worst; "" without places."""
        return self.kinds[int(self.codes[:, 0].min())] if len(self) else ""

    @property
    def severity(self) -> Strings:
        """(N,) note, warning or error."""
        return np.asarray(np.array(SEVERITIES)[self.codes[:, 1]])

    @property
    def fix(self) -> Strings:
        """(N,) none, unsafe or safe."""
        return np.asarray(np.array(FIX_KINDS)[self.codes[:, 2]])

    @property
    def measured(self) -> dict[str, Floats]:
        """Name → (N,) figures."""
        return {name: self.values[:, column] for column, name in enumerate(self.measures)}

    def words(self, number: int) -> dict[str, Any]:
        """What the sentence about one place can speak of: its figures and its names."""
        figures = dict(zip(self.measures, self.values[number].tolist(), strict=True))
        return figures | {name: texts[number] for name, texts in self.names}

    def at(self, which: Ints) -> Occurrences:
        """Some of the places (P,)."""
        names = tuple((name, tuple(texts[int(i)] for i in which)) for name, texts in self.names)
        return replace(
            self,
            frames=self.frames[which],
            rows=self.rows[which],
            codes=self.codes[which],
            values=self.values[which],
            names=names,
        )

    def capped(self, highest: Severity) -> Occurrences:
        """The same with no severity above one."""
        codes = self.codes.copy()
        codes[:, 1] = np.minimum(codes[:, 1], SEVERITIES.index(highest))
        return replace(self, codes=codes)

    def without_fix(self, which: Bools | slice = slice(None)) -> Occurrences:
        """The same with nothing to repair, or nothing at some of the places (N,)."""
        codes = self.codes.copy()
        codes[which, 2] = FIX_KINDS.index(NONE)
        return replace(self, codes=codes)


def joined(parts: Sequence[Occurrences]) -> Occurrences:
    """The places of several findings of one rule, in their order; ValueError where they have other names."""
    if len({tuple(name for name, _ in part.names) for part in parts}) > 1:
        raise ValueError("places of several kinds")
    arrays = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in ("frames", "rows", "codes", "values")
    }
    texts = ((name, chain.from_iterable(dict(part.names)[name] for part in parts)) for name, _ in parts[0].names)
    names = tuple((name, tuple(every)) for name, every in texts)
    return replace(parts[0], **arrays, names=names)


def make_occurrences(
    *,
    frames: npt.ArrayLike,
    rows: npt.ArrayLike,
    kind: npt.ArrayLike,
    severity: npt.ArrayLike,
    fix: npt.ArrayLike,
    measured: Mapping[str, npt.ArrayLike],
    sentence: npt.ArrayLike = 0,
    names: Mapping[str, Sequence[str] | Strings | str] | None = None,
    kinds: tuple[PlaceClass, ...],
) -> Occurrences:
    """Occurrences from words and columns; what is the same at all N places may be given once.

    Raises:
        ValueError: a class that is not in `kinds`, or a severity or a fix that there is not.
    """
    at = np.asarray(frames, dtype=np.float64)
    count = len(at)

    def column(value: npt.ArrayLike) -> Floats:
        return np.broadcast_to(np.asarray(value, dtype=np.float64), count)

    codes = [
        encoded(kind, kinds, count),
        encoded(severity, SEVERITIES, count),
        encoded(fix, FIX_KINDS, count),
        np.broadcast_to(np.asarray(sentence, dtype=np.uint8), count),
    ]
    texts = {
        name: (value,) * count if isinstance(value, str) else tuple(str(text) for text in value)
        for name, value in (names or {}).items()
    }
    return Occurrences(
        frames=at,
        rows=np.array(rows, dtype=np.int64),
        codes=np.stack(codes, axis=1),
        values=np.stack([column(v) for v in measured.values()], axis=1) if measured else np.zeros((count, 0)),
        kinds=kinds,
        measures=tuple(measured),
        names=tuple(texts.items()),
    )


def classes(conditions: Sequence[Bools], names: Sequence[PlaceClass], default: PlaceClass) -> Strings:
    """(N,) the class of each place: the name of the first condition (N,) that holds.

    Classes are chosen, picked and asked for by these three functions, so that mypy finds a misspelt one.
    """
    return np.asarray(np.select(list(conditions), list(names), default=default))


def picked(names: Sequence[PlaceClass], which: Ints) -> Strings:
    """(N,) the class of each place by its number (N,) among some."""
    return np.asarray(np.array(names, dtype=np.str_)[which])


def has_class(kind: Strings, *names: PlaceClass) -> Bools:
    """(N,) whether the class of a place is one of these."""
    return np.asarray(np.isin(kind, names))


def encoded(words: npt.ArrayLike, table: Sequence[str], count: int) -> npt.NDArray[np.uint8]:
    """(N,) numbers within a table of words (N,), or of one for all. ValueError for a word that is not in it."""
    given = np.asarray(words, dtype=np.str_)
    result = np.full(given.shape, len(table), dtype=np.uint8)
    for number, word in enumerate(table):
        result[given == word] = number
    if np.any(result == len(table)):
        unknown = given[result == len(table)]
        raise ValueError(f"{str(unknown.ravel()[0])!r} is none of {', '.join(table)}")
    return np.broadcast_to(result, count)


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule on one track, curve, clip, mesh or joint.

    Attributes:
        code, rule: of the rule.
        severity, fix: the highest of its places, without a fix where it is `locked`.
        action, slot, owner, bone, data_path: whose it is; what does not apply is "".
        occurrences: where.
        worst: the number of the place that shows most: of those that the rule grades highest, the one with the largest
            figure.
        sentences: the templates of its rule. `Occurrences.codes` says which one is true of a place.
        headline: a template for the whole finding in English, "" where its worst place speaks for it.
        leading: the measure that is shown as its figure, "" for none.
        locator: how its places are told.
        seconds_rate: frames per second where the source counts in seconds, 0.0 where it counts in frames.
        about: what was judged.
        part: the number of the track or curve within the subject, -1: the subject itself. For its rule's fix only.
        locked: why it must not be repaired here; "" when it may.
        caution: why its fix is not safe: who would see a change, and how much; "" where nothing is to be said.
    """

    code: str
    rule: str
    severity: Severity
    action: str
    slot: str
    owner: str
    bone: str
    data_path: str
    fix: FixKind
    occurrences: Occurrences
    worst: int
    sentences: tuple[str, ...]
    headline: str = ""
    leading: str = ""
    locator: Locator = "keys"
    seconds_rate: float = 0.0
    about: About = "clip"
    part: int = -1
    locked: str = ""
    caution: str = ""

    def __hash__(self) -> int:
        return hash((self.code, self.action, self.slot, self.owner, self.data_path, len(self.occurrences)))

    @property
    def message(self) -> str:
        """Who, where and what, in English, of the worst place."""
        why = self.locked or self.caution
        more = f" ({why})" if why else ""
        who = self.bone or self.owner or self.data_path
        if self.about == "skin":
            return f"{who}: {self._headline()}{more}"
        if self.locator == "keys of a bone":
            return f"{who}: {self._headline()}; {self.where(self.worst)}: {self.what(self.worst)}{more}"
        if self.headline:
            return f"{who}, {self.where(self.worst)}: {self._headline()}{more}"
        others = f" (and {len(self.occurrences) - 1} more)" if len(self.occurrences) > 1 else ""
        return f"{who}, {self.where(self.worst)}{others}: {self.what(self.worst)}{more}"

    def _headline(self) -> str:
        if not self.headline:
            return self.what(self.worst)
        values = self.occurrences.words(self.worst)
        frame = frame_words(float(self.occurrences.frames[self.worst, 0]))
        row = int(self.occurrences.rows[self.worst])
        return self.headline.format(**values, frame=frame, count=len(self.occurrences), row=row)

    @property
    def several(self) -> bool:
        """Whether it is about more than one channel, so that each place tells its own."""
        return "path" in dict(self.occurrences.names)

    def whose(self, number: int) -> tuple[str, str]:
        """(bone, data path) of one place."""
        names = dict(self.occurrences.names)
        return (names["bone"][number], names["path"][number]) if self.several else (self.bone, self.data_path)

    @property
    def paths(self) -> tuple[str, ...]:
        """The data paths of what it is about: of a finding about several channels those of all its places."""
        return tuple(dict.fromkeys(dict(self.occurrences.names)["path"])) if self.several else (self.data_path,)

    @property
    def bones(self) -> tuple[str, ...]:
        """The bones of its places, each once; "" stands for what is no bone's."""
        return tuple(dict.fromkeys(dict(self.occurrences.names)["bone"])) if self.several else (self.bone,)

    def what(self, number: int) -> Text:
        """What is wrong at one place."""
        template = self.sentences[int(self.occurrences.codes[number, 3])]
        return Text.of(template, self.occurrences.words(number))

    def where(self, number: int) -> Text:
        """Where a place is: "frames 16→17", "vertex 12", "all frames"."""
        return _PLACES[self.locator](self, number)

    @property
    def figure(self) -> Figure | None:
        """What its rule measured at the worst place, None where it measures nothing there."""
        if not self.leading or not len(self.occurrences):
            return None
        column = self.occurrences.measures.index(self.leading)
        value = abs(float(self.occurrences.values[self.worst, column]))
        return Figure(value, unit_of(self.leading)) if np.isfinite(value) else None


def unit_of(measure: str) -> str:
    """The unit that the name of a measure carries, as it is written: ° for ``swept_deg``."""
    return _UNITS.get(measure.rpartition("_")[2], "")


def worst_of(severities: Sequence[Severity]) -> Severity:
    """The highest of some severities."""
    return max(severities, key=SEVERITIES.index)


def worst_place(occurrences: Occurrences, weight: Floats) -> int:
    """The place of the highest severity with the largest weight (N,); of equals, but for rounding, the first."""
    size = np.abs(weight)
    size = np.where(np.isnan(size), 0.0, size)
    rank = occurrences.codes[:, 1]
    candidates = np.flatnonzero(rank == rank.max())
    sizes = size[candidates]
    return int(candidates[np.argmax(sizes >= sizes.max() * (1.0 - 1e-6))])


def _between_keys(finding: Finding, number: int) -> Text:
    first, second = (float(f) for f in finding.occurrences.frames[number])
    if not np.isfinite(first):
        return Text("at a time that is not a number")
    one = first == second
    values = {"frame": frame_words(first), "next": frame_words(second)}
    rate = finding.seconds_rate
    if not rate:
        return Text("frame {frame}", values) if one else Text("frames {frame}→{next}", values)
    values |= {"second": f"{first / rate:.3f}", "next_second": f"{second / rate:.3f}"}
    if one:
        return Text("frame {frame} ({second} s)", values)
    return Text("frames {frame}→{next} ({second}→{next_second} s)", values)


def _keys_of_bone(finding: Finding, number: int) -> Text:
    bone, path = finding.whose(number)
    return Text("{bone}, {place}", {"bone": bone or path, "place": _between_keys(finding, number)})


def _vertex(finding: Finding, number: int) -> Text:
    return Text("vertex {vertex}", {"vertex": int(finding.occurrences.rows[number])})


def _vertex_on_frame(finding: Finding, number: int) -> Text:
    o = finding.occurrences
    frame = frame_words(float(o.frames[number, 0]))
    return Text("vertex {vertex}, frame {frame}", {"vertex": int(o.rows[number]), "frame": frame})


def _on_frame(finding: Finding, number: int) -> Text:
    return Text("frame {frame}", {"frame": frame_words(float(finding.occurrences.frames[number, 0]))})


def _everywhere(finding: Finding, number: int) -> Text:
    return Text("all frames")


_PLACES: Final[Mapping[Locator, Callable[[Finding, int], Text]]] = {
    "keys": _between_keys,
    "keys of a bone": _keys_of_bone,
    "vertex": _vertex,
    "vertex on a frame": _vertex_on_frame,
    "frame": _on_frame,
    "all frames": _everywhere,
}
