# SPDX-License-Identifier: GPL-3.0-or-later
"""The fix contract as one predicate (RULES.md, DESIGN.md "Fix contract"), judged by the scalar oracle (oracle.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from quat_audit.audit.pipeline import find
from quat_audit.audit.repair import Repair
from quat_audit.audit.settings import Overrides
from quat_audit.findings.finding import NONE, SAFE
from quat_audit.motion.clip import QUATERNION, Clip
from quat_audit.rules import Rule
from tests.judging import repair_clip
from tests.oracle import KEY_DEG, key_tolerance_deg, path_deg, scalar_row, turn_deg, union_rows

# Sampling a path at PATH_SAMPLES places is this far off, and rounding to float32 adds its noise, in degrees.
PATH_DEG = 0.05

KEY_ARRAYS = ("co", "handle_left", "handle_right", "interpolation", "easing", "easing_parameters")
CURVE_ARRAYS = (
    "data_path",
    "component",
    "offsets",
    *KEY_ARRAYS,
    "linear_extrapolation",
    "cycles",
    "unevaluable",
    "read_only",
    "orphan",
    "ancestor",
    "origin",
    "marked",
)
TRACK_FIELDS = ("data_path", "bone", "kind", "order", "modes", "curves", "pose", "delta")


# ---- comparison bit for bit -------------------------------------------------------------------------------


def frozen(value: Any) -> Any:
    """Something that compares equal only when every bit is the same (a NaN's too, a zero's sign too)."""
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    return value


def snapshot(clip: Clip) -> dict[str, Any]:
    """Everything a clip holds, frozen."""
    result = {f"curves.{name}": frozen(getattr(clip.curves, name)) for name in CURVE_ARRAYS}
    result |= {f"tracks.{name}": frozen(getattr(clip.tracks, name)) for name in TRACK_FIELDS}
    result |= {n: getattr(clip, n) for n in ("action", "slot", "owner", "users", "format", "frame_rate", "seconds")}
    return result


def assert_same(before: Clip, after: Clip) -> None:
    """Bit for bit."""
    a, b = snapshot(before), snapshot(after)
    assert [name for name in a if a[name] != b[name]] == []


# ---- the contract -----------------------------------------------------------------------------------------


def at_fault(clip: Clip, rules: Sequence[Rule], limits: Overrides | None = None) -> set[str]:
    """Data paths that some rule names."""
    return {path for rule in rules for finding in find(rule, clip, limits) for path in finding.paths}


def fixable(
    clip: Clip, rules: Sequence[Rule], unsafe: bool, limits: Overrides | None = None
) -> dict[tuple[str, str], int]:
    """(code, data path) → occurrences that a repair may touch."""
    result: dict[tuple[str, str], int] = {}
    for rule in rules:
        if rule.fix is None:
            continue
        for finding in find(rule, clip, limits):
            fix = finding.occurrences.fix
            count = int(np.sum(fix == SAFE)) if not unsafe else int(np.sum(fix != NONE))
            if count:
                key = (rule.code, finding.data_path)
                result[key] = result.get(key, 0) + count
    return result


def assert_contract(
    clip: Clip,
    rules: Rule | Sequence[Rule],
    *,
    unsafe: bool = False,
    limits: Overrides | None = None,
    keys_kept: bool = True,
    path_kept: bool = True,
    tracks_kept: bool = True,
) -> Repair:
    """Repair with some rules and check everything that DESIGN.md promises of it; the repair is returned.

    `keys_kept`: rotations at valid keys stay. `path_kept`: no path gets longer. `tracks_kept`: tracks and curves
    stay in number. All true for safe fixes; an unsafe fix of some rules is allowed to break one of them.
    """
    rules = [rules] if isinstance(rules, Rule) else list(rules)
    untouched = snapshot(clip)
    repair = repair_clip(clip, rules, limits, unsafe=unsafe)
    assert snapshot(clip) == untouched, "the input was written to"
    after = repair.subject
    after.validate()

    refused = {(r.code, r.data_path) for r in repair.refused}
    left = {key: count for key, count in fixable(after, rules, unsafe, limits).items() if key not in refused}
    assert left == {}, f"not silent after the repair: {left}"
    again = repair_clip(after, rules, limits, unsafe=unsafe)
    assert_same(after, again.subject)
    assert again.subject is after, "a second repair made another clip of the same content"
    assert again.applied == ()

    if not fixable(clip, rules, unsafe, limits):
        assert after is clip, "nothing to repair, yet another clip"
        assert repair.applied == ()
    if tracks_kept:
        assert len(after.tracks) == len(clip.tracks)
        _assert_rest_untouched(clip, after, at_fault(clip, rules, limits) | at_fault(after, rules, limits))
    for track in range(len(clip.tracks)):
        if tracks_kept:
            if keys_kept:
                _assert_keys_kept(clip, after, track)
            if path_kept:
                _assert_path_not_longer(clip, after, track)
    if keys_kept:
        worst = max((key_tolerance_deg(clip, t) for t in range(len(clip.tracks))), default=KEY_DEG)
        assert repair.proof.max_key_change_deg <= worst
    return repair


def evaluable(clip: Clip, track: int) -> bool:
    return not any(clip.curves.unevaluable[int(c)] for c in clip.tracks.curves[track] if c >= 0)


def _in_order(clip: Clip, track: int) -> bool:
    """Keys of all components rise in time: otherwise nothing says what is played."""
    for curve in clip.tracks.curves[track]:
        times = clip.curves.co[clip.curves.rows(int(curve)), 0] if curve >= 0 else np.zeros(0)
        if not np.all(np.diff(times[np.isfinite(times)]) > 0.01):
            return False
    return True


def _finite_times(clip: Clip, track: int) -> bool:
    return all(
        bool(np.isfinite(clip.curves.co[clip.curves.rows(int(c)), 0]).all())
        for c in clip.tracks.curves[track]
        if c >= 0
    )


def _assert_keys_kept(before: Clip, after: Clip, track: int) -> None:
    if not _in_order(before, track) or not _finite_times(before, track):
        return
    tolerance = key_tolerance_deg(before, track)
    now = {row[0]: row for row in union_rows(after, track)}
    for row in union_rows(before, track):
        rotation = scalar_row(before, track, row)
        if rotation is None:
            continue
        # Where the moment has no key any more, what is played then must still be the rotation.
        kept = scalar_row(after, track, now.get(row[0], (row[0], row[0], {})))
        assert kept is not None, f"track {track}: the key at {row[0]} is no rotation any more"
        change = turn_deg(rotation, kept)
        assert change <= tolerance, f"track {track}: the key at {row[0]} turned by {change}°"


def _assert_path_not_longer(before: Clip, after: Clip, track: int) -> None:
    if not _in_order(before, track) or not _finite_times(before, track):
        return
    for one, other in pairwise(union_rows(before, track)):
        start, end = one[0], other[0]
        if one[1] != start or other[1] != end:
            continue  # components a little apart: what plays within those few thousandths of a frame is not judged
        if scalar_row(before, track, one) is None or scalar_row(before, track, other) is None:
            continue  # what is no rotation played nothing that could get longer
        was, now = path_deg(before, track, start, end), path_deg(after, track, start, end)
        if was is None:
            continue
        assert now is not None, f"track {track}, {start}→{end}: not finite any more"
        # What the samples leave out grows with the path itself: a sixth of a percent at 24 samples a turn.
        assert now <= was + PATH_DEG + 2e-3 * was, f"track {track}, {start}→{end}: {was}° became {now}°"


def _assert_rest_untouched(before: Clip, after: Clip, named: set[str]) -> None:
    """Curves that no finding names are bit for bit the same; of the others only values and handles change."""
    a, b = before.curves, after.curves
    partner = {int(s): c for c, s in enumerate(b.ancestor) if s >= 0}
    for curve, path in enumerate(a.data_path):
        if curve not in partner:
            assert path in named, f"{path}: the curve is gone"
            continue
        other = partner[curve]
        for name in ("data_path", "component", "linear_extrapolation", "cycles", "unevaluable", "read_only", "orphan"):
            assert getattr(a, name)[curve] == getattr(b, name)[other], f"{path}: {name} changed"
        x, y = a.rows(curve), b.rows(other)
        if path not in named or a.read_only[curve]:
            for name in (*KEY_ARRAYS, "origin", "marked"):
                if getattr(a, name) is not None:
                    assert frozen(getattr(a, name)[x]) == frozen(getattr(b, name)[y]), f"{path}: {name} changed"
            continue
        kept = np.flatnonzero(b.origin[y] >= 0) + y.start
        origin = b.origin[kept] + x.start
        authored = ~b.marked[kept] | np.isfinite(a.co[origin, 0])
        for name in ("interpolation", "easing", "easing_parameters"):
            if getattr(a, name) is not None and len(kept) == y.stop - y.start:
                assert frozen(getattr(a, name)[origin]) == frozen(getattr(b, name)[kept]), f"{path}: {name} changed"
        was, now = a.co[origin[authored], 0], b.co[kept[authored], 0]
        assert frozen(was) == frozen(now), f"{path}: an authored key time shifted"
    for track, path in enumerate(before.tracks.data_path):
        assert after.tracks.data_path[track] == path
        if path not in named:
            assert frozen(before.tracks.pose[track]) == frozen(after.tracks.pose[track])
            assert before.tracks.modes[track] == after.tracks.modes[track]
    _assert_handles_follow(before, after)


def _assert_handles_follow(before: Clip, after: Clip) -> None:
    """Where all components of a quaternion's keys were multiplied, both handles were multiplied alike."""
    for track, kind in enumerate(before.tracks.kind):
        if kind != QUATERNION:
            continue
        old = [int(c) for c in before.tracks.curves[track]]
        new = [int(c) for c in after.tracks.curves[track]]
        counts = {int(before.curves.counts[c]) for c in old if c >= 0} | {
            int(after.curves.counts[c]) for c in new if c >= 0
        }
        if min(old) < 0 or min(new) < 0 or len(counts) != 1:
            continue
        rows = [(before.curves.rows(a).start, after.curves.rows(b).start) for a, b in zip(old, new, strict=True)]
        for key in range(counts.pop()):
            a = [float(before.curves.co[x + key, 1]) for x, _ in rows]
            b = [float(after.curves.co[y + key, 1]) for _, y in rows]
            if a == b or not all(map(math.isfinite, a)) or any(after.curves.marked[y + key] for _, y in rows):
                continue
            factor = sum(x * y for x, y in zip(a, b, strict=True)) / sum(x * x for x in a)
            for name in ("handle_left", "handle_right"):
                points, moved = getattr(before.curves, name), getattr(after.curves, name)
                for x, y in rows:
                    was, now = points[x + key].astype(float), moved[y + key].astype(float)
                    if not np.isfinite(was).all():
                        continue
                    assert now[0] == was[0], f"track {track}, key {key}: {name} moved in time"
                    size = max(1.0, abs(factor * was[1]))
                    assert abs(now[1] - factor * was[1]) <= 1e-6 * size, f"track {track}, key {key}: {name} left behind"


def found(clip: Clip, rule: Rule, limits: Overrides | None = None) -> list[tuple[tuple[float, float], str, str, str]]:
    """(frames, class, severity, fix) of every occurrence that a rule finds, in its order."""
    return [
        ((float(o.frames[i, 0]), float(o.frames[i, 1])), str(o.kind[i]), str(o.severity[i]), str(o.fix[i]))
        for o in (finding.occurrences for finding in find(rule, clip, limits))
        for i in range(len(o))
    ]


def measured(clip: Clip, rule: Rule, name: str) -> list[float]:
    """One measured figure of every occurrence."""
    return [float(v) for finding in find(rule, clip, None) for v in finding.occurrences.measured[name]]
