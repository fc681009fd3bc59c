# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation keys that the rotation mode does not play.

## What it finds
Keys on rotation_quaternion, rotation_euler or rotation_axis_angle, and on the delta rotations, of a bone or object
whose rotation mode is another one, for everybody who plays the action; also when an add-on changed the mode. One
finding for an action and a rig; its places are the bones.

## Why it matters
The motion is there, in the Graph Editor, and nothing moves. Changing the rotation mode in Blender leaves the old
curves behind: the animation is dead.

## Grading
By what the keys would move: the largest angle between them, and from the pose that shows instead. Below 1° it is a
note. Otherwise error when the channel that is played has no keys in the action: the motion is dead, be it for one of
several users. note when both are keyed, and when only muted strips play the action.

## Fix
Unsafe, two choices: set the rotation mode that the keys need (the default), or convert the keys into the mode in
use (limit `convert_keys` = 1). Where setting the mode would kill what another action of the bone plays, or another
user of this one, the keys are converted; where they would then cover what a layer below them plays, there is no fix.
Where both are keyed there is nothing to choose: no fix.

## Known limits
An action that nobody plays is not judged, nor is a bone whose rotation mode is animated. Keys are not converted from or
to axis-angle, nor when users of the action have different modes. Converted keys agree at the keys; what plays
between them may differ, and is reported by the proof.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Floats
from ..findings.finding import ERROR, NONE, NOTE, UNSAFE, Finding, FixKind, classes
from ..motion.clip import AXIS_ANGLE, COMPONENTS, EULER, EULER_ORDERS, QUATERNION, Clip, kind_played
from ..motion.edit import add_curves, keep_curves
from ..motion.keys import rotation_keys
from ..motion.readers import Reader, Way, in_mode, players
from ..motion.sweep import to_rotation
from ..rotation import euler
from ..rotation.quaternion import angle_between, hemisphere_signs
from .grouping import Faults, findings_of_owners
from .rule import PHASE_CURVES, Limits, OtherWay, Rule

LIMITS = {
    # 0: the fix sets the rotation mode. 1: it converts the keys.
    "convert_keys": 0.0,
    # Keys that would move less than this are leftovers: nobody misses them.
    "visible_deg": 1.0,
}

DEAD, BOTH, STILL, MUTED = range(4)
SENTENCES = (
    "{kind} keys of {name} are not played, the rotation mode is {mode}: a motion of {moved_deg:.1f}° is dead",
    "{kind} keys of {name} are not played, the rotation mode is {mode}: its own channel is keyed too and plays",
    "{kind} keys of {name} are not played, the rotation mode is {mode}: they would move it by {moved_deg:.1f}°",
    "{kind} keys of {name} would not be played, the rotation mode is {mode}; only a muted strip has them",
)


class _Ignored(NamedTuple):
    """A track that a reader's rotation mode does not play."""

    owner: str
    track: int
    mode: str
    muted: bool
    instead: tuple[float, float, float, float]


def find(clip: Clip, limits: Limits) -> list[Finding]:
    if not clip.users:
        return []
    keyed: dict[str, set[str]] = {}
    for track in range(len(clip.tracks)):
        keyed.setdefault(_played_path(clip, track), set()).add(clip.tracks.kind[track])
    ignored = list(_ignored(clip, keyed))
    if not ignored:
        return []
    tracks = [item.track for item in ignored]
    moved = np.array([_moved_deg(clip, item.track, item.instead) for item in ignored])
    both = np.array([kind_played(i.mode) in keyed[_played_path(clip, i.track)] for i in ignored])
    still = moved < limits["visible_deg"]
    muted = np.array([item.muted for item in ignored])
    faults = Faults(
        part=np.array(tracks),
        frames=np.array([_range(clip, t) for t in tracks]),
        kind=classes([both, still | muted], ["both", "slight"], "dead"),
        severity=np.where(both | still | muted, NOTE, ERROR),
        fix=np.where(both, NONE, [_offer(clip, item.track, limits) for item in ignored]),
        measured={"moved_deg": moved, "keys": np.array([_count(clip, t) for t in tracks], dtype=np.float64)},
        rows=np.array(tracks),
        sentence=np.select([both, still, muted], [BOTH, STILL, MUTED], default=DEAD),
        names={
            "name": [clip.tracks.bone[item.track] or item.owner for item in ignored],
            "kind": [_kind_words(clip, t) for t in tracks],
            "mode": [item.mode for item in ignored],
            "path": [clip.tracks.data_path[t] for t in tracks],
        },
    )
    bones = [clip.tracks.bone[track] for track in tracks]
    return findings_of_owners(clip, RULE, faults, [item.owner for item in ignored], "rotation_mode", bones)


def _played_path(clip: Clip, track: int) -> str:
    """What channels of one rotation have in common: their owner, and whether they are delta channels."""
    return clip.tracks.data_path[track].rpartition(".")[0] + (" delta" if clip.tracks.delta[track] else "")


def _ignored(clip: Clip, keyed: dict[str, set[str]]) -> Iterator[_Ignored]:
    """The tracks that somebody does not play, each once for an owner: as the first that is not muted, if any."""
    seen: dict[tuple[str, int], _Ignored] = {}
    for reader in sorted(players(clip), key=lambda reader: reader.muted):
        for track, path in enumerate(clip.tracks.data_path):
            way = reader.ways.get(path)
            if way is not None and _ignores(clip, track, way) and not _anothers(clip, track, keyed):
                item = _Ignored(reader.owner, track, way.mode, reader.muted, way.instead)
                seen.setdefault((reader.owner, track), item)
    yield from seen.values()


def _ignores(clip: Clip, track: int, way: Way) -> bool:
    known = way.mode in EULER_ORDERS or way.mode in COMPONENTS  # not one that is animated
    return known and kind_played(way.mode) != clip.tracks.kind[track]


def _anothers(clip: Clip, track: int, keyed: dict[str, set[str]]) -> bool:
    """Every reader plays keys of its own there, and somebody plays these: as it should be."""
    kinds = {kind_played(way.mode) for _, way in _ways(clip, track)}
    return clip.tracks.kind[track] in kinds and kinds <= keyed[_played_path(clip, track)]


def _ways(clip: Clip, track: int) -> list[tuple[Reader, Way]]:
    path = clip.tracks.data_path[track]
    return [(reader, reader.ways[path]) for reader in players(clip) if path in reader.ways]


def _moved_deg(clip: Clip, track: int, instead: tuple[float, float, float, float]) -> float:
    """Degrees that the keys would move: the largest between two of them, or from the rotation that shows instead."""
    keys = rotation_keys(clip, clip.tracks.kind[track])
    member = np.flatnonzero(keys.tracks == track)
    rows = np.arange(keys.offsets[member[0]], keys.offsets[member[0] + 1])
    rows = rows[keys.valid[rows]]
    rotation = to_rotation(clip, keys, keys.value[rows], rows)
    rotation = rotation[np.isfinite(rotation).all(axis=1)]
    if not len(rotation):
        return np.nan
    # The one farthest from the first, and the one farthest from that: no two are farther apart than twice as much.
    far = rotation[np.argmax(angle_between(rotation, rotation[:1]))]
    angles = [angle_between(rotation, far[None])]
    if np.isfinite(instead).all():
        angles.append(angle_between(rotation, np.array([instead]) / np.linalg.norm(instead)))
    return float(np.degrees(max(angle.max() for angle in angles)))


def _offer(clip: Clip, track: int, limits: Limits) -> FixKind:
    if limits["convert_keys"] or _kills(clip, track):
        return UNSAFE if _convertible(clip, track) else NONE
    needed = kind_played(_needed(clip, track))
    to_set = [reader for reader, way in _ways(clip, track) if kind_played(way.mode) != needed]
    return UNSAFE if any(not reader.linked for reader in to_set) else NONE


def _needed(clip: Clip, track: int) -> str:
    """The rotation mode that plays a track."""
    kind = clip.tracks.kind[track]
    return clip.tracks.order[track] if kind == EULER else kind


def _kills(clip: Clip, track: int) -> bool:
    """Whether setting the mode would leave other keys of the bone unplayed: of this action, or of another one."""
    needed = kind_played(_needed(clip, track))
    place = clip.tracks.data_path[track].rpartition(".")[0]
    mine = {clip.tracks.kind[t] for t, path in enumerate(clip.tracks.data_path) if path.rpartition(".")[0] == place}
    for reader, way in _ways(clip, track):
        kind = kind_played(way.mode)
        if kind == needed:
            continue
        rivals = {
            f"{place}.{name}" if place else name
            for name in (f"rotation_{kind.lower()}", f"delta_rotation_{kind.lower()}")
        }
        if kind in mine or rivals & reader.rivals:
            return True
    return False


def _convertible(clip: Clip, track: int) -> bool:
    """Whether the keys can become keys of the mode in use: one for all who have the bone, and no axis-angle.

    Not where they would lie over keys that another action of the bone plays now.
    """
    modes = {way.mode for _, way in _ways(clip, track)}
    kinds = {clip.tracks.kind[track], *map(kind_played, modes)}
    read_only = any(clip.curves.read_only[c] for c in _curves(clip, track))
    name = clip.tracks.data_path[track].removesuffix(f"rotation_{clip.tracks.kind[track].lower()}")
    played = f"{name}rotation_{kind_played(next(iter(modes))).lower()}" if modes else ""
    if any(played in reader.covers for reader, _ in _ways(clip, track)):
        return False
    return len(modes) == 1 and AXIS_ANGLE not in kinds and not clip.tracks.delta[track] and not read_only


def _kind_words(clip: Clip, track: int) -> str:
    words = clip.tracks.kind[track].lower().replace("_", " ")
    return f"delta {words}" if clip.tracks.delta[track] else words


def _curves(clip: Clip, track: int) -> list[int]:
    return [int(c) for c in clip.tracks.curves[track] if c >= 0]


def _count(clip: Clip, track: int) -> int:
    return int(max(clip.curves.counts[c] for c in _curves(clip, track)))


def _range(clip: Clip, track: int) -> tuple[float, float]:
    times = np.concatenate([clip.curves.co[clip.curves.rows(c), 0] for c in _curves(clip, track)])
    times = times[np.isfinite(times)]
    return (float(times.min()), float(times.max())) if len(times) else (np.nan, np.nan)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    chosen = sorted({int(row) for f in findings for row in f.occurrences.rows[f.occurrences.fix == UNSAFE]})
    if not chosen or not unsafe:
        return clip
    converted = [track for track in chosen if limits["convert_keys"] or _kills(clip, track)]
    tracks = clip.tracks
    modes: dict[str, str] = {}
    for track in chosen:
        if track not in converted:
            mine = [
                path for path, bone in zip(tracks.data_path, tracks.bone, strict=True) if bone == tracks.bone[track]
            ]
            modes |= dict.fromkeys(mine, _needed(clip, track))
    if modes:
        clip = in_mode(clip, modes)
    return _convert(clip, [track for track in converted if _convertible(clip, track)]) if converted else clip


def _convert(clip: Clip, chosen: Sequence[int]) -> Clip:
    """Replace the tracks by ones of the kind that is played, keyed at the same times."""
    tracks = clip.tracks
    like, path, component, points, played, specs = [], [], [], [], [], []
    for track in chosen:
        mode = _ways(clip, track)[0][1].mode
        kind = kind_played(mode)
        keys = rotation_keys(clip, tracks.kind[track])
        member = int(np.flatnonzero(keys.tracks == track)[0])
        rows = np.arange(keys.offsets[member], keys.offsets[member + 1])
        rows = rows[keys.valid[rows]]
        if not len(rows):
            continue
        value = _converted(clip, to_rotation(clip, keys, keys.value[rows], rows), mode)
        old = _curves(clip, track)
        name = tracks.data_path[track].removesuffix(f"rotation_{tracks.kind[track].lower()}")
        for part in range(COMPONENTS[kind]):
            like.append(old[0])
            path.append(f"{name}rotation_{kind.lower()}")
            component.append(part)
            points.append(np.stack([keys.time[rows], value[:, part]], axis=1))
            played.append(clip.curves.interpolation[keys.key[rows].max(axis=1)])
        specs.append((track, kind, mode))
    if not specs:
        return clip
    number = len(clip.curves)
    dropped = np.zeros(number + len(like), dtype=bool)
    for track, _, _ in specs:
        dropped[_curves(clip, track)] = True
    grown = add_curves(clip, np.array(like), path, np.array(component), points, played)
    table, kinds, orders, paths = tracks.curves.copy(), list(tracks.kind), list(tracks.order), list(tracks.data_path)
    for track, kind, mode in specs:
        n = COMPONENTS[kind]
        table[track] = -1
        table[track, :n] = np.arange(number, number + n)
        kinds[track], paths[track] = kind, path[number - len(clip.curves)]
        orders[track] = mode if kind == EULER else "XYZ"
        number += n
    renamed = replace(tracks, curves=table, kind=tuple(kinds), order=tuple(orders), data_path=tuple(paths))
    return keep_curves(replace(grown, tracks=renamed), ~dropped)


def _converted(clip: Clip, rotation: Floats, mode: str) -> Floats:
    """(P, n) continuous values of unit quaternions (P, 4) in a rotation mode."""
    if mode == QUATERNION:
        flip = np.zeros(len(rotation), dtype=bool)
        flip[1:] = np.einsum("ij,ij->i", rotation[1:], rotation[:-1]) < 0
        starts = np.arange(len(rotation)) == 0
        return rotation * hemisphere_signs(flip, starts)[:, None]
    value = euler.from_quaternion(rotation, mode)
    for row in range(1, len(value)):  # only tracks that are converted
        value[row] = euler.nearest(value[row], value[row - 1], mode)
    return value


RULE: Rule[Clip] = Rule(
    code="QA301",
    name="ignored-rotation-channel",
    short="ignored",
    summary="keys that the rotation mode does not play",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "dead",
        "both",
        "slight",
    ),
    leading="moved_deg",
    limits=LIMITS,
    phase=PHASE_CURVES,
    keys_only=True,
    counts_places=True,
    minds_locks=True,
    remedy="Sets the rotation mode that the keys need; converts the keys where that would kill other motion.",
    other_way=OtherWay(
        limit="convert_keys",
        label="Convert the Keys Instead",
        remedy="Converts the keys into the rotation mode in use, which stays; the poses are those that the keys mean.",
    ),
)
