# SPDX-License-Identifier: GPL-3.0-or-later
"""Location keys of a bone that is connected to its parent.

## What it finds
Location curves that are not 0 of bones with *Connected* on: such a bone begins where its parent ends, whatever its
location is.

## Why it matters
The keys are there and the bone stays. Blender lets them be keyed, importers connect bones that move (Blender's .fbx
importers: bones that begin where their parents end), and an engine that reads the keys moves what Blender does not.

## Grading
By the largest distance that the keys would move the bone's head, and all that hangs on it: warning from 1 mm on,
error when they are the bone's only motion, else a note.

## Fix
Two choices. The default removes the curves: the pose stays as it is, bit for bit; safe below 1 mm, unsafe from there
on, as the motion may have been meant. With the limit `disconnect` = 1 the bone is disconnected instead: unsafe, the
motion appears. After the import of an .fbx the bone is always disconnected, which is safe: in the file it moves, and
only Blender's importer connected it.

## Known limits
The distance is that of the location itself at its keys, in the scale of the armature object; a scaled parent bone is
not counted in. An action that nobody plays is not judged. Where the bone is connected in one armature that plays the
action and not in another the curves are not removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Floats
from ..findings.finding import ERROR, NONE, NOTE, SAFE, UNSAFE, WARNING, Finding, classes
from ..motion.clip import Clip
from ..motion.curve import evaluate
from ..motion.edit import keep_curves
from .grouping import Faults, findings_by_path
from .rule import PHASE_CURVES, Limits, OtherWay, Rule

LIMITS = {
    # Less is not seen; importers leave noise of some micrometers.
    "visible_mm": 1.0,
    # 0: the fix removes the curves. 1: it disconnects the bone.
    "disconnect": 0.0,
}
# Units of location below which a curve is 0: what float32 leaves of sums of a meter.
STILL = 1e-6

HERE, IMPORTED = range(2)
SENTENCES = (
    "the bone is connected to its parent: location keys that would move it by {moved_mm:.1f} mm play nothing",
    "Blender's importer connects the bone to its parent: location keys that move it by {moved_mm:.1f} mm play nothing",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    of_path: dict[str, list[int]] = {}
    for curve, path in enumerate(clip.curves.data_path):
        of_path.setdefault(path, []).append(curve)
    stuck, moved, frame = [], [], []
    for number, one in enumerate(clip.connected):
        if one.released or one.data_path not in of_path:
            continue
        distance, at = _farthest(clip, of_path[one.data_path])
        if distance > STILL:
            stuck.append(number)
            moved.append(distance * one.mm)
            frame.append(at)
    if not stuck:
        return []
    connected = [clip.connected[number] for number in stuck]
    moved_mm = np.array(moved)
    shows = moved_mm >= limits["visible_mm"]
    alone = np.array([_is_only_motion(clip, one.data_path, of_path) for one in connected])
    imported = np.array([one.imported for one in connected])
    removable = np.array([one.everywhere for one in connected])
    offered = np.where(removable, np.where(shows, UNSAFE, SAFE), NONE)
    faults = Faults(
        part=np.array([of_path[one.data_path][0] for one in connected]),
        frames=np.tile(np.array(frame)[:, None], (1, 2)),
        kind=classes([~shows, alone], ["slight", "dead"], "visible"),
        severity=np.select([~shows, alone], [NOTE, ERROR], default=WARNING),
        fix=np.select([imported, limits["disconnect"] > 0], [SAFE, UNSAFE], default=offered),
        measured={"moved_mm": moved_mm},
        rows=np.array(stuck),
        sentence=np.where(imported, IMPORTED, HERE),
    )
    return findings_by_path(clip, RULE, faults)


def _farthest(clip: Clip, curves: list[int]) -> tuple[float, float]:
    """The largest length of a location at any of its keys, and when."""
    c = clip.curves
    times = np.unique(np.concatenate([c.co[c.rows(curve), 0] for curve in curves]))
    times = times[np.isfinite(times)]
    if not len(times):
        return 0.0, np.nan
    length = _length(np.array([evaluate(c, curve, times) for curve in curves]))
    worst = int(length.argmax())
    return float(length[worst]), float(times[worst])


def _length(values: Floats) -> Floats:
    return np.asarray(np.sqrt(np.nansum(values**2, axis=0)))


def _is_only_motion(clip: Clip, location: str, of_path: dict[str, list[int]]) -> bool:
    """No other property of the bone changes in the clip."""
    bone = location.rpartition(".")[0]
    c = clip.curves
    others = (curves for path, curves in of_path.items() if path != location and path.startswith(f"{bone}."))
    return not any(np.ptp(c.co[c.rows(n), 1]) > STILL for curves in others for n in curves if c.counts[n])


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    allowed = (SAFE, UNSAFE) if unsafe else (SAFE,)
    rows = {int(r) for f in findings for r in f.occurrences.rows[np.isin(f.occurrences.fix, allowed)]}
    if not rows:
        return clip
    freed = {row for row in rows if limits["disconnect"] or clip.connected[row].imported}
    if freed:
        released = tuple(replace(one, released=one.released or n in freed) for n, one in enumerate(clip.connected))
        clip = replace(clip, connected=released)
    paths = {clip.connected[row].data_path for row in rows - freed}
    if not paths:
        return clip
    return keep_curves(clip, np.array([path not in paths for path in clip.curves.data_path], dtype=bool))


RULE: Rule[Clip] = Rule(
    code="QA308",
    name="ignored-location-channel",
    short="connected",
    summary="location keys of a bone that is connected to its parent",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=("dead", "visible", "slight"),
    leading="moved_mm",
    limits=LIMITS,
    phase=PHASE_CURVES,
    keys_only=True,
    counts_places=True,
    remedy="Removes the location keys, which play nothing; a bone that Blender's importer connected is disconnected.",
    other_way=OtherWay(
        limit="disconnect",
        label="Disconnect the Bone Instead",
        remedy="Disconnects the bone from its parent, so that its location keys play: the motion appears.",
        always=True,
    ),
)
