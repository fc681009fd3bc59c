# SPDX-License-Identifier: GPL-3.0-or-later
"""Handles or an easing equation take the pose off the way between two keys.

## What it finds
Steps on which the path leaves the arc between the two keyed rotations, beyond its ends or to the side, by at least 2°
more than it would if every component stayed between the values of its two keys: handles that overshoot, handles left
behind when their key was moved, easing equations with a large overshoot (Back, Elastic), cubic tangents of a glTF
file. Also handles that send the pose to and fro between the keys for more than 60°. Ordinary ease, straight lines and
held components are not accused, whatever way the order of the axes makes of them.

## Why it matters
The pose between the keys is one that nobody keyed: a foot sinks into the floor before it is planted, an elbow
bends backwards. With a handle that was left behind, a bone spins between two keys that are alike.

## Grading
visible: error when more than 60° are traveled in vain, warning from 5° off the arc on, else a note. latent (note):
no frame drawn between the two keys is 1° or more off the short way. `undrawn_shows` = 1 grades as if frames were
drawn everywhere.

## Fix
Unsafe, since it changes what plays between the keys: the handles of that step are flattened, by a quarter at a time,
until less than 2° are left; the handles on the other side of the keys stay. An easing equation gives way to flat
handles. The keyed rotations stay.

## Known limits
A component without a key at both ends of a step is judged on the part of its curve that lies there; repair QA303
first. The path is sampled at 31 places of each step. A sign flip (QA104), a wrap (QA201) and the steps beside a wrap
that shows are judged after their repair: automatic handles follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..arrays import Floats, Ints
from ..findings.finding import ERROR, NONE, NOTE, UNSAFE, WARNING, Finding, classes
from ..motion.clip import BEZIER, EULER, QUATERNION, Clip, RotationKind, with_curves
from ..motion.handles import travel
from ..motion.keys import Keys, Steps, rotation_keys, rotation_steps
from ..motion.sweep import sweep
from .detours import COLLAPSE_LIMITS, NORM_FLOOR, collapsing, detours, straight_deg
from .euler_steps import long_steps
from .grouping import Faults, findings_by_track, fixable_rows
from .rule import PHASE_INSERT, ROUND_DEG, Limits, Rule
from .showing import UNDRAWN_SHOWS, shows
from .slerp_keys import keyed_together
from .spin_or_wrap import LIMITS as STEP_LIMITS

LIMITS = {
    "visible_deg": 1.0,
    # Keys without a frame drawn between them show nothing but motion blur.
    "undrawn_shows": UNDRAWN_SHOWS,
    # Less than this far off the way is the swing of any tangent that runs smoothly through a key.
    "overshoot_deg": 2.0,
    # 5° move a hand at 0.6 m by 5 cm, a foot through the floor.
    "plain_deg": 5.0,
    # No tangent that somebody drew on purpose travels a sixth of a turn in vain.
    "detour_deg": 60.0,
}
# What of the handles' rise is kept, from mild to flat.
KEPT = (0.75, 0.5, 0.25, 0.0)

LEAVES, RETURNS = range(2)
SENTENCES = (
    "leaves the way between the keys by {overshoot_deg:.1f}° (travels {swept_deg:.1f}° where straight lines travel"
    " {straight_deg:.1f}°)",
    "travels {swept_deg:.1f}° where straight lines between the keys travel {straight_deg:.1f}°",
)


def find(clip: Clip, limits: Limits) -> list[Finding]:
    return [finding for kind in (QUATERNION, EULER) for finding in _find(clip, kind, limits)]


def _find(clip: Clip, kind: RotationKind, limits: Limits) -> list[Finding]:
    keys, steps = rotation_keys(clip, kind), rotation_steps(clip, kind)
    seen = detours(clip, kind)
    which, overshoot = seen.which, seen.overshoot_deg
    least = limits["overshoot_deg"] - ROUND_DEG
    # Travelled is at most what the components do; a quaternion that does not collapse is at least √½ long.
    scale = 1.0 if kind == EULER else 2.0 / NORM_FLOOR
    long = np.degrees(scale * travel(clip, keys, steps, which)) > limits["detour_deg"]
    chosen = (overshoot >= least) | (seen.turns_back & long)
    which, overshoot = which[chosen], overshoot[chosen]
    if not len(which):
        return []
    chosen = ~np.isin(which, _elsewhere(clip, keys, steps))
    which, overshoot = which[chosen], overshoot[chosen]
    if not len(which):
        return []
    swept, straight = sweep(clip, keys, steps, which).swept_deg, straight_deg(clip, keys, steps, which)
    far = swept - straight > limits["detour_deg"] + ROUND_DEG
    chosen = (overshoot >= least) | far
    which, overshoot, swept, straight, far = (x[chosen] for x in (which, overshoot, swept, straight, far))
    start, end = keys.time[steps.first[which]], keys.time[steps.second[which]]
    visible = shows(clip, keys, steps, which, swept - straight, limits)
    plain = overshoot >= limits["plain_deg"] - ROUND_DEG
    tracks = keys.track_of(steps.second[which])
    faults = Faults(
        part=tracks,
        frames=np.stack([start, end], axis=1),
        kind=classes([visible], ["visible"], "latent"),
        severity=np.select([visible & far, visible & plain], [ERROR, WARNING], default=NOTE),
        fix=np.where(keyed_together(clip, keys, steps.second[which]), UNSAFE, NONE),
        measured={
            "overshoot_deg": overshoot,
            "detour_deg": swept - straight,
            "swept_deg": swept,
            "straight_deg": straight,
        },
        rows=steps.second[which],
        weight=np.maximum(overshoot, swept - straight),
        sentence=np.where(overshoot >= least, LEAVES, RETURNS),
    )
    return findings_by_track(clip, RULE, faults)


def _elsewhere(clip: Clip, keys: Keys, steps: Steps) -> Ints:
    """Steps that another rule reports, and those whose handles follow when it is repaired."""
    if keys.kind == QUATERNION:
        flips = np.flatnonzero(steps.dot < -COLLAPSE_LIMITS["half_turn_dot"])
        return np.concatenate([flips, collapsing(clip, COLLAPSE_LIMITS)[0]])
    # A turn that may be meant (QA201, a note) has handles of its own. Automatic ones beside a wrap rise towards the
    # wrapped value; where it shows, an error takes the place of an error.
    long = long_steps(clip, STEP_LIMITS)
    wraps = long.which[long.wrap]
    seen = wraps[shows(clip, keys, steps, wraps, long.now.excess_deg[long.wrap], COLLAPSE_LIMITS)]
    row = np.zeros(len(keys.time), dtype=bool)
    row[steps.first[seen]] = row[steps.second[seen]] = True
    return np.concatenate([wraps, np.flatnonzero(row[steps.first] | row[steps.second])])


def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    for kind in (QUATERNION, EULER):
        clip = _flatten(clip, kind, [f for f in findings if clip.tracks.kind[f.part] == kind], limits, unsafe)
    return clip


def _flatten(clip: Clip, kind: RotationKind, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
    keys, steps = rotation_keys(clip, kind), rotation_steps(clip, kind)
    left = np.flatnonzero(np.isin(steps.second, fixable_rows(findings, unsafe)))
    for kept in KEPT:
        if not len(left):
            return clip
        clip, before = _with_flatter(clip, keys, steps, left, kept), clip
        found = {row for finding in _find(clip, kind, limits) for row in finding.occurrences.rows.tolist()}
        still = left[[row in found for row in steps.second[left].tolist()]]
        if kept > 0.0 and len(still):  # what is not good yet starts anew from the handles as they were
            good = np.setdiff1d(left, still)
            clip = _with_flatter(before, keys, steps, good, kept) if len(good) else before
        left = still
    return clip


def _with_flatter(clip: Clip, keys: Keys, steps: Steps, which: Ints, kept: float) -> Clip:
    """The handles within some steps rise only by a share of what they did.

    At 0 they are flat and a third of the step long: all components keep the same time, and the path is straight.
    """
    curves = clip.curves
    start, end = keys.key[steps.first[which]], keys.key[steps.second[which]]
    all_bezier = (curves.interpolation[start] == BEZIER).all(axis=1)
    chosen = all_bezier | (kept == 0.0)
    start, end = start[chosen].ravel(), end[chosen].ravel()
    left, right, played = curves.handle_left.copy(), curves.handle_right.copy(), curves.interpolation.copy()
    co = curves.co.astype(np.float64)
    third = (co[end, 0] - co[start, 0]) / 3.0
    for points, key, side in ((right, start, 1.0), (left, end, -1.0)):
        rise: Floats = points[key, 1].astype(np.float64) - co[key, 1]
        points[key, 1] = co[key, 1] + kept * rise
        if kept == 0.0:
            points[key, 0] = co[key, 0] + side * third
    played[start] = BEZIER
    return with_curves(clip, replace(curves, handle_left=left, handle_right=right, interpolation=played))


RULE: Rule[Clip] = Rule(
    code="QA403",
    name="tangent-overshoot",
    short="overshoot",
    summary="handles or easing take the pose off the way between two keys",
    doc=__doc__,
    judges="clip",
    find=find,
    fix=fix,
    sentences=SENTENCES,
    kinds=(
        "visible",
        "latent",
    ),
    leading="overshoot_deg",
    limits=LIMITS,
    phase=PHASE_INSERT,
    remedy="Flattens the handles of that step until it keeps to the way between its keys; the keys themselves stay.",
    outcome="handles of {keys} keys flattened on {bones} bones",
)
