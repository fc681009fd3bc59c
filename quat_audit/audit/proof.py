# SPDX-License-Identifier: GPL-3.0-or-later
"""What an edit did to the motion, measured: at every valid key, between the keys, and on the path's length.

Only tracks that differ are looked at, and only steps whose two ends did not change together: a run of keys
that was negated, or shifted by whole turns, plays as before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..findings.report import Proof
from ..motion.changes import changed_keys, curves_differ, same_keys, same_tracks
from ..motion.clip import AXIS_ANGLE, COMPONENTS, CYCLE_REPEAT_OFFSET, Clip, Curves, RotationKind
from ..motion.curve import evaluate
from ..motion.keys import Keys, Steps, assumed_pose, rotation_keys, rotation_steps
from ..motion.readers import views, views_of
from ..motion.sweep import played_path, sample_blocks, to_rotation, travelled
from ..rotation.interpolation import slerp
from ..rotation.quaternion import angle_between
from .on_purpose import changed_on_purpose
from .unchanged import KEY_TOLERANCE_DEG, arcs_stay, ends_changed_together, keys_stay, lines_turn, turned

# A net below the proof of the repair itself (1e-4°): what is re-read from a written file may differ by the
# file's own precision, never by this much.
MOST_KEY_CHANGE_DEG = 1e-3
# A path may get longer by a tenth of what shows (1°): the normalized path of a bent one is a little longer or shorter.
LENGTH_TOLERANCE_DEG = 0.1
SAMPLES = 8
# Paths that do not get shorter by at least this share are measured again with this many times the samples.
CLOSE, FINE = 0.5, 8
SAMPLE_STEP_RAD = np.radians(45.0)


@dataclass(frozen=True, eq=False)
class Changes:
    """For each of the T tracks of the clip before: changed?, degrees at keys, between keys, and of length.

    `tolerance_deg` is what the storage of its values costs. `swept_deg` (T, 2) is the length before and after of the
    track's step that changed it the most.
    """

    changed: Bools
    key_deg: Floats
    between_deg: Floats
    longer_deg: Floats
    tolerance_deg: Floats
    swept_deg: Floats


def prove(before: Clip, after: Clip) -> Proof:
    """The proof that a repair reports: at keys for everybody who plays them, between keys as the clip is played."""
    changes = compare(before, after)
    for_others = (compare(*pair) for pair in zip(views(before)[1:], views_of(after, before)[1:], strict=True))
    key_deg = [changes.key_deg, *(other.key_deg for other in for_others)]
    kept = int(np.sum(after.curves.origin >= 0))
    gain = np.abs(changes.swept_deg[:, 0] - changes.swept_deg[:, 1])
    worst = changes.swept_deg[gain.argmax()] if len(gain) else np.zeros(2)
    return Proof(
        max_key_change_deg=max(float(change.max(initial=0.0)) for change in key_deg),
        max_between_change_deg=float(changes.between_deg.max(initial=0.0)),
        keys_added=int(np.sum(after.curves.origin < 0)),
        keys_removed=max(0, int(np.sum(before.curves.origin >= 0)) - kept),
        worst_before_deg=float(worst[0]),
        worst_after_deg=float(worst[1]),
        not_measured=changed_on_purpose(before, after),
    )


def compare(before: Clip, after: Clip) -> Changes:
    """Measure every rotation track of `before` against the same track of `after`.

    A track that is gone, or keyed in another kind of rotation, was changed on purpose and is not measured.
    Computed once a pair: a repair of one rule is proven when it is made, and reported afterwards.
    """
    known = after.cache.get("changes")
    if known is None or known[0] is not before:
        with np.errstate(all="ignore"):  # NaN and infinity in what was repaired compare as they should
            after.cache["changes"] = known = (before, _compare(before, after))
    changes: Changes = known[1]
    return changes


def _compare(before: Clip, after: Clip) -> Changes:
    count = len(before.tracks)
    changes = Changes(
        np.zeros(count, dtype=bool),
        np.zeros(count),
        np.zeros(count),
        np.zeros(count),
        np.full(count, KEY_TOLERANCE_DEG),
        np.zeros((count, 2)),
    )
    if after is before or after.curves is before.curves:
        return changes
    partner = same_tracks(before, after)
    differs = curves_differ(before.curves, after.curves, before.tracks.curves, after.tracks.curves, partner)
    changes.changed[:] = differs
    for kind in COMPONENTS:
        tracks = np.flatnonzero(differs & np.array([k == kind for k in before.tracks.kind], dtype=bool))
        if len(tracks):
            _compare_kind(before, after, kind, tracks, partner, changes)
    return changes


def _compare_kind(before: Clip, after: Clip, kind: RotationKind, tracks: Ints, partner: Ints, changes: Changes) -> None:
    keys, steps = rotation_keys(before, kind), rotation_steps(before, kind)
    after_keys = rotation_keys(after, kind)
    chosen = np.zeros(len(before.tracks), dtype=bool)
    chosen[tracks] = True
    mine = chosen[keys.tracks][keys.member]
    same_rows = (
        np.array_equal(keys.key, after_keys.key)
        and np.array_equal(before.curves.offsets, after.curves.offsets)
        and np.array_equal(partner, np.arange(len(partner)))
    )
    rows = np.flatnonzero(mine & keys.valid)
    which = np.flatnonzero(mine[steps.first] & (steps.gap_frames > 0))
    changes.tolerance_deg[tracks] = _storage_cost_deg(keys, after_keys, tracks, partner)
    if same_rows:
        rows = rows[_rows_differ(keys.value, after_keys.value)[rows]]
        touched = _touched(before.curves, after.curves, keys)
        which = which[touched[steps.first[which]] | touched[steps.second[which]]]
        which = which[~arcs_stay(before, after, keys, after_keys, steps, which)]
        moved = turned(keys, after_keys, changes.tolerance_deg)
        which = which[~lines_turn(before, after, keys, moved, steps, which)]
        if len(which):
            which = which[~ends_changed_together(before, after, keys, steps, which)]
        rows = rows[~keys_stay(keys, after_keys, moved, rows, changes.key_deg)]
    members = keys.track_of(rows)
    a = to_rotation(before, keys, keys.value[rows], rows)
    if same_rows:
        b = to_rotation(after, after_keys, after_keys.value[rows], rows)
    else:
        kept = _kept_rotations(before, after, keys, partner)
        b = kept[rows]
    np.maximum.at(changes.key_deg, members, _angle_deg(a, b))
    after_steps = _steps_of(after, kind, steps)

    def paths(part: Ints, samples: int) -> tuple[Floats, Floats]:
        """(P, samples + 1, 4) what the steps `part` played and what they play now."""
        now = played_path(before, keys, steps, part, samples)
        if same_rows:
            return now, played_path(after, after_keys, after_steps, part, samples)
        fractions = np.linspace(0.0, 1.0, samples + 1)
        time = keys.time[steps.first[part], None] + fractions * steps.gap_frames[part, None]
        owner = np.repeat(partner[keys.track_of(steps.first[part])], samples + 1)
        then = _rotations_at(after, kind, owner, time.ravel()).reshape(len(part), samples + 1, 4)
        then[:, 0], then[:, -1] = kept[steps.first[part]], kept[steps.second[part]]
        spherical = steps.slerp[part]
        then[spherical] = slerp(then[spherical][:, :1], then[spherical][:, -1:], fractions)
        return now, then

    # Where nothing could be played before (a key between is no rotation), there is no length to compare with.
    comparable = steps.second - steps.first == 1
    for count in (SAMPLES, FINE * SAMPLES):
        close = np.zeros(len(which), dtype=bool)
        for block, samples in sample_blocks(before, keys, steps, which, count, SAMPLE_STEP_RAD * SAMPLES / count):
            part = which[block]
            now, then = paths(part, samples)
            at = keys.track_of(steps.first[part])
            np.maximum.at(changes.between_deg, at, _angle_deg(now, then).max(axis=1))
            length, new_length = np.degrees(travelled(keys, now)), np.degrees(travelled(keys, then))
            # An axis that passes through zero has no direction at one sample.
            played = np.isnan(now).any(axis=2).sum(axis=1) <= (keys.kind == AXIS_ANGLE)
            longer = np.where(comparable[part] & played, new_length - length, -np.inf)
            close[block] = (longer > -CLOSE * length) & (new_length > LENGTH_TOLERANCE_DEG)
            sure = longer if count > SAMPLES else np.where(close[block], 0.0, longer)
            np.maximum.at(changes.longer_deg, at, sure)
            swept = np.stack([length, new_length], axis=1)
            _note_worst(changes, at, np.where(np.isfinite(longer)[:, None], swept, 0.0))
        which = which[close]
    _compare_cycles(before, after, keys, np.flatnonzero(mine & keys.valid), partner, changes)


def _note_worst(changes: Changes, at: Ints, swept: Floats) -> None:
    """Keep the (before, after) of the step that differs the most, for each track in `at` (P,)."""
    gain = np.abs(swept[:, 0] - swept[:, 1])
    order = np.lexsort((-gain, at))
    first = np.ones(len(order), dtype=bool)
    first[1:] = np.diff(at[order]) != 0
    best = order[first]
    known = changes.swept_deg[at[best]]
    better = gain[best] > np.abs(known[:, 0] - known[:, 1])
    changes.swept_deg[at[best[better]]] = swept[best[better]]


def _storage_cost_deg(keys: Keys, after_keys: Keys, tracks: Ints, partner: Ints) -> Floats:
    """(P,) degrees that rounding the values of some tracks to float32 can turn them by, at least KEY_TOLERANCE_DEG.

    A component is off by half an ulp, so by up to eps / 2 × its size, before and after; a quaternion's angle is
    twice its components'.
    """

    def largest(k: Keys, of: Ints) -> Floats:
        size = np.zeros(len(k.tracks))
        filled = np.flatnonzero(np.diff(k.offsets))
        for column in range(k.value.shape[1] if len(filled) else 0):
            absolute = np.abs(k.value[:, column])
            absolute[np.isinf(absolute)] = 0.0
            size[filled] = np.fmax(size[filled], np.fmax.reduceat(absolute, k.offsets[filled]))
        return np.asarray(size[np.searchsorted(k.tracks, of)])

    size = np.maximum(largest(keys, tracks), largest(after_keys, partner[tracks]))
    cost = keys.value.shape[1] * np.finfo(np.float32).eps * np.maximum(size, 1.0)
    return np.asarray(np.maximum(KEY_TOLERANCE_DEG, np.degrees(cost)))


def _rows_differ(a: Floats, b: Floats) -> Bools:
    """(N,) some column differs; one column at a time, which is what NumPy is fast at."""
    result = np.zeros(len(a), dtype=bool)
    for column in range(a.shape[1]):
        result |= a[:, column] != b[:, column]
    return result


def _touched(a: Curves, b: Curves, keys: Keys) -> Bools:
    """(N,) some key of the row has another value, handle or interpolation; rows without a key everywhere count."""
    key = changed_keys(a, b)
    result = np.zeros(len(keys.time), dtype=bool)
    for column in range(keys.key.shape[1]):
        row = keys.key[:, column]
        result |= np.where(row >= 0, key[row], True) if key.any() else False
    return result


def _steps_of(after: Clip, kind: RotationKind, steps: Steps) -> Steps:
    """The same steps with the interpolation that the edited clip plays."""
    now = rotation_steps(after, kind)
    if len(now.first) == len(steps.first) and np.array_equal(now.first, steps.first):
        return now
    return steps


def _angle_deg(a: Floats, b: Floats) -> Floats:
    """Degrees between unit quaternions; 0 where both or the first are undefined."""
    with np.errstate(invalid="ignore"):
        angle = np.degrees(angle_between(a, b))
    undefined = np.isnan(a).any(axis=-1)
    return np.where(undefined, 0.0, np.where(np.isnan(angle), 180.0, angle))


def _kept_rotations(before: Clip, after: Clip, keys: Keys, partner: Ints) -> Floats:
    """(N, 4) rotations that the rows of `keys` (of `before`) have in `after`.

    Taken from the same keys where they are still there (two keys can stand at one time), else what is played then.
    """
    now = same_keys(before.curves, after.curves)
    key = np.where(keys.key >= 0, now[keys.key], -1)
    rows = np.flatnonzero(partner[keys.track_of(np.arange(len(keys.time)))] >= 0)
    tracks = partner[keys.track_of(rows)]
    value = np.full(keys.value.shape, np.nan)
    whole = np.all(key >= 0, axis=1)
    value[whole] = after.curves.co[key[whole], 1]
    result = to_rotation(before, keys, value, np.arange(len(keys.time)))
    loose = ~whole[rows]
    result[rows[loose]] = _rotations_at(after, keys.kind, tracks[loose], keys.time[rows[loose]])
    return result


def _rotations_at(clip: Clip, kind: RotationKind, tracks: Ints, time: Floats) -> Floats:
    """Unit quaternions (P, 4) that the curves of `tracks` (P,) give at times (P,), component by component."""
    keys = rotation_keys(clip, kind)
    n = keys.value.shape[1]
    curves = clip.tracks.curves[tracks, :n]
    value = assumed_pose(clip)[tracks, :n]
    at, part = np.nonzero(curves >= 0)
    value[at, part] = evaluate(clip.curves, curves[at, part], time[at])
    row = np.full(len(clip.tracks), 0, dtype=np.int64)
    row[keys.tracks] = keys.offsets[:-1]
    return to_rotation(clip, keys, value, row[tracks])


def _compare_cycles(before: Clip, after: Clip, keys: Keys, rows: Ints, partner: Ints, changes: Changes) -> None:
    """Keys show again in every cycle: with REPEAT_OFFSET a changed sign changes what is added up."""
    offset = np.array(
        [c is not None and CYCLE_REPEAT_OFFSET in (c.mode_before, c.mode_after) for c in before.curves.cycles] + [False]
    )
    cyclic = offset[before.tracks.curves].any(axis=1)
    rows = rows[cyclic[keys.track_of(rows)]]
    if not len(rows):
        return
    member = keys.member[rows]
    span = keys.time[keys.offsets[member + 1] - 1] - keys.time[keys.offsets[member]]
    tracks = keys.track_of(rows)
    for direction in (-1.0, 1.0):
        time = keys.time[rows] + direction * span
        a = _rotations_at(before, keys.kind, tracks, time)
        b = _rotations_at(after, keys.kind, partner[tracks], time)
        np.maximum.at(changes.key_deg, tracks, _angle_deg(a, b))
