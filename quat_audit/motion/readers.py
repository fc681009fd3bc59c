# SPDX-License-Identifier: GPL-3.0-or-later
"""Who plays the keys of a clip, and how: a fix must keep every keyed rotation for each of them.

Whoever makes a clip finds its readers; here they are plain data, and what follows from them for the clip.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from ..text import Text

if TYPE_CHECKING:
    from .clip import Clip

Fill = tuple[float, float, float, float]
# How a reader comes to the keys.
Route = Literal["action", "strip", "constraint", "driver"]

# Three Euler orders with the three middle axes: the equivalent triple, (x + 180°, 180° - y, z + 180°) in XYZ, is the
# same rotation in two orders when they share the middle axis. So what is equal in all three is equal in all six.
A_MIDDLE_AXIS_EACH = ("XYZ", "YXZ", "XZY")
_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
_UNKNOWN: Fill = (np.nan, np.nan, np.nan, np.nan)


class Way(NamedTuple):
    """How a reader plays one rotation.

    `instead` is the rotation (w, x, y, z) that it shows where its mode does not play these keys; NaN: nobody tells.
    `mode` is its rotation mode; `fill` is what it takes for a component that has no curve (NaN: nobody
    tells; the identity's value for one that has a curve).
    """

    mode: str
    fill: Fill
    instead: Fill = (np.nan, np.nan, np.nan, np.nan)


class Drawn(NamedTuple):
    """The times of a clip that a reader shows, in frames of the clip: `start + n * spacing` for whole n.

    Only those from `first` to `last`. `spacing` 0: any time may be shown. `times`: these ones, where they lie unevenly.
    """

    start: float = 0.0
    spacing: float = 1.0
    first: float = -np.inf
    last: float = np.inf
    times: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Reader:
    """One that plays the keys of a clip, or reads them.

    Attributes:
        owner: the object (or other ID) that is moved; for a driver, whose property it drives.
        route: how it comes to the keys.
        by: the name of the strip or the constraint, or what the driver drives; "" for an active action.
        muted: it plays nothing as it is now, but may be switched on.
        linked: its owner comes from another file, so nothing of it can be written.
        mixed: why what it plays is mixed with other motion; "" where it plays the keys alone.
        mixed_paths: the data paths of which `mixed` is true.
        ways: data path → how it plays the rotation; paths that it does not have are missing.
        reads: (data path, component) of which a driver takes the number itself.
        drawn: which times it shows; () where nobody tells: the whole frames.
        rivals: data paths of the same bones that other actions of its owner key, muted ones too.
        covers: those that layers below it play now: keys of its own there would be played instead.
    """

    owner: str
    route: Route = "action"
    by: str = ""
    muted: bool = False
    linked: bool = False
    mixed: str = ""
    mixed_paths: frozenset[str] = frozenset()
    ways: Mapping[str, Way] = field(default_factory=dict)
    reads: frozenset[tuple[str, int]] = frozenset()
    drawn: tuple[Drawn, ...] = ()
    rivals: frozenset[str] = frozenset()
    covers: frozenset[str] = frozenset()

    @property
    def words(self) -> Text:
        """Who it is, for a person: "RigB, by the muted strip 'Walk'"."""
        values = {"owner": self.owner, "by": self.by}
        if self.route == "strip":
            if self.muted:
                return Text("{owner}, by the muted strip {by!r}", values)
            return Text("{owner}, by the strip {by!r}", values)
        if self.route == "constraint":
            if self.muted:
                return Text("{owner}, by the muted Action constraint {by!r}", values)
            return Text("{owner}, by the Action constraint {by!r}", values)
        if self.route == "driver":
            return Text("{owner}, by the driver of {by}", values)
        return Text("{owner}", values)

    @property
    def state(self) -> tuple[object, ...]:
        """Equal for readers by which a clip is judged alike."""
        return (
            *(self.owner, self.route, self.by, self.muted, self.linked, self.mixed, self.drawn),
            *(sorted(self.mixed_paths), sorted(self.ways.items()), sorted(self.reads)),
            *(sorted(self.rivals), sorted(self.covers)),
        )


@dataclass(frozen=True)
class Unbound:
    """One that has an action and plays none of it: it is bound to no slot, or to one without curves.

    Attributes:
        owner: the ID that has it.
        by: the strip, "" for the active action.
        slot: the empty slot that it is bound to, "" for none.
        muted: a strip that would play nothing anyway.
        number: which of the owner's strips it is, -1 for the active action.
        fits: this slot is the only one of the action that suits the owner.
        bound: an edit binds it to this slot.
        reader: how it would play the slot.
    """

    owner: str
    by: str
    slot: str
    muted: bool
    number: int
    fits: bool
    bound: bool = False
    reader: Reader | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Connected:
    """A bone with location keys that is connected to its parent: it stays where it is.

    Attributes:
        data_path: of its location.
        bone, owners: its name, and the armature objects in which it is connected.
        mm: how far one unit of location would move it, in millimeters of the scene.
        everywhere: it is connected in every armature that plays the action.
        imported: what read the file connected it; in the file it moves.
        released: an edit disconnects it.
    """

    data_path: str
    bone: str
    owners: tuple[str, ...]
    mm: float
    everywhere: bool
    imported: bool = False
    released: bool = False


def as_bound(clip: Clip) -> Clip:
    """The clip as it is read once those that an edit binds to its slot play it: for judging, not for writing."""
    new = [one.reader for one in clip.unbound if one.bound and one.reader is not None]
    if not new:
        return clip
    modes = [
        tuple(dict.fromkeys([*(old if clip.users else ()), *(r.ways[path].mode for r in new if path in r.ways)]))
        for path, old in zip(clip.tracks.data_path, clip.tracks.modes, strict=True)
    ]
    return replace(
        clip,
        users=(*clip.users, *(reader.owner for reader in new)),
        readers=(*clip.readers, *new),
        tracks=replace(clip.tracks, modes=tuple(modes)),
    )


def newly_bound(before: Clip, after: Clip) -> tuple[Unbound, ...]:
    """Who was not bound to the slot before, and is now."""
    still = {(one.owner, one.number) for one in after.unbound if not one.bound}
    return tuple(one for one in before.unbound if not one.bound and (one.owner, one.number) not in still)


def newly_released(before: Clip, after: Clip) -> tuple[Connected, ...]:
    """The bones that were connected before, and are not now, though their keys are there."""
    still = {one.data_path for one in after.connected if not one.released}
    there = set(after.curves.data_path)
    found = (one for one in before.connected if not one.released and one.data_path not in still)
    return tuple(one for one in found if one.data_path in there)


def players(clip: Clip) -> tuple[Reader, ...]:
    """The readers that play rotations: all but drivers. Where nobody tells of them, one for each mode of the tracks."""
    if "players" not in clip.cache:
        told = clip.readers or not clip.users
        clip.cache["players"] = (
            tuple(reader for reader in clip.readers if reader.route != "driver")
            if told
            else tuple(_assumed(clip, n) for n in range(max(map(len, clip.tracks.modes), default=0)))
        )
    found: tuple[Reader, ...] = clip.cache["players"]
    return found


def _assumed(clip: Clip, number: int) -> Reader:
    t = clip.tracks
    ways = {}
    for path, modes, (w, x, y, z) in zip(t.data_path, t.modes, t.pose.tolist(), strict=True):
        if modes:
            ways[path] = Way(modes[min(number, len(modes) - 1)], (w, x, y, z))
    return Reader(owner=clip.users[min(number, len(clip.users) - 1)], ways=ways)


def in_mode(clip: Clip, modes: Mapping[str, str]) -> Clip:
    """The clip with other rotation modes for some data paths: everybody who has them plays them so."""
    tracks = clip.tracks
    new = tuple((modes[p],) if p in modes else old for p, old in zip(tracks.data_path, tracks.modes, strict=True))

    def changed(reader: Reader) -> Reader:
        ways = {
            p: way._replace(mode=modes[p], instead=_UNKNOWN) if p in modes else way for p, way in reader.ways.items()
        }
        return replace(reader, ways=ways)

    return replace(clip, tracks=replace(tracks, modes=new), readers=tuple(map(changed, clip.readers)))


def playing(readers: Iterable[Reader]) -> tuple[Reader, ...]:
    """Those that play now; the muted ones only when no other does."""
    found = tuple(readers)
    return tuple(reader for reader in found if not reader.muted) or found


def unread(clip: Clip) -> bool:
    """Nobody in the file plays the clip: in which order, and with which values, is unknown."""
    return clip.format == "blender" and not clip.users


def ways(clip: Clip) -> tuple[tuple[Way, ...], ...]:
    """(T,) the distinct ways in which each track may be played, the one that the clip's tracks hold first.

    `mode` is an Euler order for tracks of Euler angles (and "" for others). A reader whose mode plays no Euler angles,
    or none that is known, may play them in any order later: it stands for all orders.
    """
    name = "ways"
    if name not in clip.cache:
        clip.cache[name] = tuple(_ways_of(clip, track) for track in range(len(clip.tracks)))
    found: tuple[tuple[Way, ...], ...] = clip.cache[name]
    return found


def _ways_of(clip: Clip, track: int) -> tuple[Way, ...]:
    tracks = clip.tracks
    euler = tracks.kind[track] == "EULER"
    w, x, y, z = tracks.pose[track].tolist()
    own = Way(tracks.order[track] if euler else "", (w, x, y, z))
    if not euler and tracks.curves[track].min() >= 0:
        return (own,)  # nothing to fill in, and no order: everybody plays it alike
    known = [r.ways[tracks.data_path[track]] for r in players(clip) if tracks.data_path[track] in r.ways]
    any_order = any(way.mode not in _ORDERS for way in known) or (clip.format == "blender" and not known)
    found = {_word(own, clip, track): own}
    for way in known:
        if not euler or way.mode in _ORDERS:
            this = Way(way.mode if euler else "", way.fill)
            found.setdefault(_word(this, clip, track), this)
    if euler and any_order:
        for order in A_MIDDLE_AXIS_EACH:
            if order[1] != own.mode[1]:
                this = Way(order, own.fill)
                found.setdefault(_word(this, clip, track), this)
    return tuple(found.values())


def _word(way: Way, clip: Clip, track: int) -> tuple[object, ...]:
    """Equal for ways that play the track alike: what has a curve needs no fill."""
    absent = clip.tracks.curves[track] < 0
    return (way.mode, *(repr(value) for value, needed in zip(way.fill, absent, strict=True) if needed))


def shares_middle_axis(clip: Clip) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(T,) all that may play the track do so in orders of one middle axis: there the equivalent triple is the same."""
    return np.array([len({way.mode[1:2] for way in of}) <= 1 for of in ways(clip)], dtype=bool)


def fills_alike(clip: Clip) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(T,) every reader takes the same, known values for the components that have no curve, and there is one."""
    if unread(clip):
        return np.zeros(len(clip.tracks), dtype=bool)
    result = []
    for track, of in enumerate(ways(clip)):
        absent = clip.tracks.curves[track] < 0
        fills = {tuple(repr(v) for v, needed in zip(w.fill, absent, strict=True) if needed) for w in of}
        result.append(len(fills) <= 1 and "nan" not in next(iter(fills), ()))
    return np.array(result, dtype=bool)


def views(clip: Clip) -> tuple[Clip, ...]:
    """The clip as each of its readers plays it, itself first: together they show every way of every track."""
    if "views" not in clip.cache:
        clip.cache["views"] = views_of(clip, clip)
    found: tuple[Clip, ...] = clip.cache["views"]
    return found


def views_of(clip: Clip, read_as: Clip) -> tuple[Clip, ...]:
    """`views` of an edited clip by the readers of the one that it comes from (by data path)."""
    if not read_as.readers and not unread(read_as) and all(len(modes) <= 1 for modes in read_as.tracks.modes):
        return (clip,)  # a file format says how its keys are played, once for all
    of_path = dict(zip(read_as.tracks.data_path, ways(read_as), strict=True))
    number = max((len(found) for found in of_path.values()), default=1)
    return (clip, *(_view(clip, of_path, which) for which in range(1, number)))


def _view(clip: Clip, of_path: Mapping[str, tuple[Way, ...]], which: int) -> Clip:
    tracks = clip.tracks
    orders, pose = list(tracks.order), tracks.pose.copy()
    for track, path in enumerate(tracks.data_path):
        found = of_path.get(path, ())
        if which < len(found):
            orders[track] = found[which].mode or orders[track]
            pose[track] = found[which].fill
    return replace(clip, tracks=replace(tracks, order=tuple(orders), pose=pose))


def readers_of_way(clip: Clip, track: int, number: int) -> tuple[Reader, ...]:
    """Who plays a track in its way of that number (see `ways`); () for a reader that is unknown, or no such way."""
    path = clip.tracks.data_path[track]
    if number >= len(ways(clip)[track]):
        return ()
    wanted = _word(ways(clip)[track][number], clip, track)
    euler = clip.tracks.kind[track] == "EULER"
    found = []
    for reader in players(clip):
        way = reader.ways.get(path)
        if way is not None and _word(Way(way.mode if euler else "", way.fill), clip, track) == wanted:
            found.append(reader)
    return tuple(found)
