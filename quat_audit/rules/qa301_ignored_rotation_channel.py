# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation keys that the rotation mode does not play.

## What it finds
Keys on rotation_quaternion, rotation_euler or rotation_axis_angle of a bone or object whose rotation mode is
another one, for every object that uses the action; also when an add-on changed the mode.

## Why it matters
The motion is there, in the Graph Editor, and nothing moves. Changing the rotation mode in Blender leaves the old
curves behind: the animation is dead.

## Grading
error when the channel that is played has no keys: the motion is dead, be it for one of several users. note when both
are keyed.

## Fix
Unsafe, two choices: set the rotation mode that the keys need (the default), or convert the keys into the mode in
use (limit `convert_keys` = 1). Where both are keyed there is nothing to choose: no fix.

## Known limits
An action that nobody plays is not judged. Keys are not converted from or to axis-angle, nor when users of the action
have modes of different kinds: there the mode has to be set. Converted keys agree at the keys; what plays between
them may differ, and is reported by the proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..findings.finding import ERROR, NONE, NOTE, UNSAFE, Finding, classes
from ..motion.clip import AXIS_ANGLE, COMPONENTS, EULER, QUATERNION, Clip, kind_played
from ..motion.edit import add_curves, keep_curves
from ..motion.keys import rotation_keys
from ..motion.sweep import to_rotation
from ..rotation import euler
from ..rotation.quaternion import hemisphere_signs
from .grouping import Faults, findings_by_track
from .rule import PHASE_CURVES, Limits, Rule

LIMITS = {
    # 0: the fix sets the rotation mode. 1: it converts the keys.
    "convert_keys": 0.0,
}

DEAD, BOTH = range(2)
SENTENCES = (
    "{kind} keys are not played, the rotation mode is {mode}: the motion is dead",
    "{kind} keys are not played, the rotation mode is {mode}: its own channel is keyed too and plays",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    tracks = clip.tracks
    if not clip.users:
        return []
    keyed: dict[tuple[str, str], set[str]] = {}
    for track in range(len(tracks)):
        if not tracks.delta[track]:
            owner = (tracks.bone[track], tracks.data_path[track].rpartition(".")[0])
            keyed.setdefault(owner, set()).add(tracks.kind[track])
    parts, dead, ignoring = [], [], []
    for track in range(len(tracks)):
        others = [mode for mode in tracks.modes[track] if kind_played(mode) != tracks.kind[track]]
        if tracks.delta[track] or not others:
            continue
        owner = (tracks.bone[track], tracks.data_path[track].rpartition(".")[0])
        still = [mode for mode in others if kind_played(mode) not in keyed[owner]]
        # What another user plays, while this one plays keys of its own, is as it should be.
        if still or len(others) == len(tracks.modes[track]):
            parts.append(track)
            dead.append(bool(still))
            ignoring.append((still or others)[0])
    if not parts:
        return []
    is_dead = np.array(dead)
    faults = Faults(
        part=np.array(parts),
        frames=np.array([_range(clip, t) for t in parts]),
        kind=classes([is_dead], ["dead"], "both"),
        severity=np.where(is_dead, ERROR, NOTE),
        fix=np.where(is_dead, UNSAFE, NONE),
        measured={"keys": np.array([_count(clip, t) for t in parts], dtype=np.float64)},
        rows=np.array(parts),
        sentence=np.where(is_dead, DEAD, BOTH),
        names={"kind": [tracks.kind[t].lower().replace("_", " ") for t in parts], "mode": ignoring},
    )
    return findings_by_track(clip, RULE, faults)


def _curves(clip: Clip, track: int) -> list[int]:
    return [int(c) for c in clip.tracks.curves[track] if c >= 0]


def _count(clip: Clip, track: int) -> int:
    return int(max(clip.curves.counts[c] for c in _curves(clip, track)))


def _range(clip: Clip, track: int) -> tuple[float, float]:
    times = np.concatenate([clip.curves.co[clip.curves.rows(c), 0] for c in _curves(clip, track)])
    times = times[np.isfinite(times)]
    return (float(times.min()), float(times.max())) if len(times) else (np.nan, np.nan)


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    chosen = [f.part for f in findings if f.fix == UNSAFE and unsafe]
    if not chosen:
        return clip
    if limits["convert_keys"]:
        return _convert(clip, chosen)
    tracks = clip.tracks
    modes = list(tracks.modes)
    for track in chosen:
        needed = tracks.order[track] if tracks.kind[track] == EULER else tracks.kind[track]
        for other in range(len(tracks)):
            if tracks.bone[other] == tracks.bone[track]:
                modes[other] = (needed,)
    return replace(clip, tracks=replace(tracks, modes=tuple(modes)))


def _convert(clip: Clip, chosen: Sequence[int]) -> Clip:
    """Replace the tracks by ones of the kind that is played, keyed at the same times."""
    tracks = clip.tracks
    like, path, component, points, played, specs = [], [], [], [], [], []
    for track in chosen:
        mode = tracks.modes[track][0]
        kind = kind_played(mode)
        if AXIS_ANGLE in (kind, tracks.kind[track]):
            continue  # axis-angle keys have no continuity to keep: setting the mode is the way
        if len({kind_played(m) for m in tracks.modes[track]}) > 1:
            continue  # what one user needs another one ignores: setting one mode for all is the way
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
    ),
    limits=LIMITS,
    phase=PHASE_CURVES,
    keys_only=True,
    remedy="Sets the rotation mode to the one that the keys need; no key is touched.",
)
