# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between a clip as read and as edited, and what that means for the numbers stored in the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...arrays import Floats
from ...motion.clip import BEZIER, Clip, Curves
from ...motion.storage import misfit, why_misfit
from .accessor import COMPONENTS, Bools, Float64, Int64, decode
from .animation import CUBIC, FRAME_RATE, ROTATIONS_ONLY, Animations, Channel, tangent_reach

FLOAT32_MAX = float(np.finfo(np.float32).max)
# Handle times may have been through float32 on the way; they are given back only as thirds of their segment.
HANDLE_TIME_TOLERANCE = 1e-3


class EditError(Exception):
    """One track's edit cannot be expressed in the file; the message says why."""


@dataclass(frozen=True, eq=False)
class TrackChange:
    """One rotation track with changed values.

    Attributes:
        track: its number within the clip.
        why_not: the layout of the file cannot express the edit, because; "" when it may.
        rows: (4 n,) key rows within the clip as read, component after component.
        old_value, old_left, old_right: (4 n,) value, left and right handle as read.
        value, left, right: (4 n,) as edited. Empty when ``why_not`` says that there is no such row.
        times: (n,) frames.
    """

    track: int
    why_not: str
    rows: Int64
    old_value: Float64
    old_left: Float64
    old_right: Float64
    value: Float64
    left: Float64
    right: Float64
    times: Float64


def _rows(curves: Curves, which: Int64) -> tuple[Int64, Int64]:
    """All key rows of the given curves one after the other, and of each row its position in ``which``."""
    counts = curves.counts[which]
    owner = np.repeat(np.arange(len(which)), counts)
    return np.arange(len(owner)) + np.repeat(curves.offsets[which] - (np.cumsum(counts) - counts), counts), owner


def _differ(a: Floats, b: Floats) -> Bools:
    differ: Bools = (a != b) & ~(np.isnan(a) & np.isnan(b))
    return differ


def compare(clip: Clip, new: Clip) -> tuple[list[TrackChange], list[tuple[str, str]]]:
    """Rotation tracks that were edited, and (data path, why not) of every other edit, which is refused."""
    old, now = clip.curves, new.curves
    match = np.full(len(old), -1, np.int64)
    known = np.flatnonzero((now.ancestor >= 0) & (now.ancestor < len(old)))
    match[now.ancestor[known]] = known
    added = np.setdiff1d(np.arange(len(now)), match)
    others = dict.fromkeys((now.data_path[i] for i in added.tolist()), "a curve was added, for which there is no room")

    why: dict[int, str] = {}  # of every edited curve; "": only values
    for c in np.flatnonzero(match < 0).tolist():
        why[c] = "a curve was removed, which would change the layout of the file"
    for c in np.flatnonzero((match >= 0) & (old.counts != now.counts[match])).tolist():
        why[c] = "keys were added or removed, which would change the layout of the file"
    same = np.flatnonzero((match >= 0) & (old.counts == now.counts[match]))
    a, owner = _rows(old, same)
    b, _ = _rows(now, match[same])
    bezier = old.interpolation[a] == BEZIER

    def curves(rows: Bools) -> list[int]:
        return same[np.unique(owner[rows])].tolist()  # type: ignore[no-any-return]

    for c in curves(_differ(old.co[a, 1], now.co[b, 1])):
        why[c] = ""
    for x, y in ((old.handle_left, now.handle_left), (old.handle_right, now.handle_right)):
        for c in curves(bezier & _differ(x[a, 1], y[b, 1])):
            why[c] = ""
        for c in curves(bezier & (np.abs(x[a, 0] - y[b, 0]) > HANDLE_TIME_TOLERANCE)):
            why[c] = "handle times were changed; CUBICSPLINE has them at thirds of the segment"
    for c in curves(old.interpolation[a] != now.interpolation[b]):
        why[c] = "interpolation was changed, which glTF has one of per sampler"
    for c in curves(_differ(old.co[a, 0], now.co[b, 0])):
        why[c] = "key times were changed, which other channels share"

    track_of = np.full(len(old), -1, np.int64)
    track_of[clip.tracks.curves.ravel()] = np.repeat(np.arange(len(clip.tracks)), 4)
    reasons: dict[int, str] = {}
    for c, reason in why.items():
        track = int(track_of[c])
        if track < 0:
            others[old.data_path[c]] = reason or ROTATIONS_ONLY
        else:
            reasons[track] = reasons.get(track) or reason
    return [_track_change(clip, now, match, track, reasons[track]) for track in sorted(reasons)], list(others.items())


def _track_change(clip: Clip, now: Curves, match: Int64, track: int, why_not: str) -> TrackChange:
    old, which = clip.curves, clip.tracks.curves[track]
    a, _ = _rows(old, which)
    values = (old.co[a, 1], old.handle_left[a, 1], old.handle_right[a, 1])
    if why_not:
        return TrackChange(track, why_not, a, *values, *values, old.co[a[: len(a) // 4], 0])
    b, _ = _rows(now, match[which])
    value, left, right = (x[b, 1].astype(np.float64) for x in (now.co, now.handle_left, now.handle_right))
    return TrackChange(track, "", a, *values, value, left, right, old.co[a[: len(a) // 4], 0])


def stored_changes(
    animations: Animations, channel: Channel, change: TrackChange
) -> tuple[Int64, Int64, npt.NDArray[np.uint8]]:
    """What an edit changes in the channel's output accessor: element (M,), component (M,) as stored, bytes (M, size).

    Components whose value stays are not among them. Raises EditError when the file cannot hold the edit.
    """
    if change.why_not:
        raise EditError(change.why_not)
    n = channel.keys
    key, component = np.tile(np.arange(n), 4), np.repeat((np.arange(4) + 3) % 4, n)
    cubic = channel.interpolation == CUBIC
    parts = [(key * 3 + 1 if cubic else key, change.old_value, change.value)]
    with np.errstate(all="ignore"):
        if cubic:
            parts += _tangents(animations, channel, change, key, component)
        element, old, new = (np.concatenate([p[k] for p in parts]) for k in range(3))
        changed = _differ(old, new)
    component = np.tile(component, len(parts))
    table, accessor = animations.accessors, channel.values
    items = encode(new[changed], table.code[accessor], table.normalized[accessor])
    return element[changed], component[changed], items


def _tangents(
    animations: Animations, channel: Channel, change: TrackChange, key: Int64, component: Int64
) -> list[tuple[Int64, Float64, Float64]]:
    """Element, old and new number of all in-tangents and all out-tangents."""
    table, accessor = animations.accessors, channel.values
    stored = np.empty((table.count[accessor], 4))
    decode(animations.document, table, accessor, stored)
    # A negated key negates its tangents even where the handles are too short or too broken to tell.
    negated = np.tile((change.value == -change.old_value).reshape(4, -1).all(axis=0), 4)
    before, after = (np.tile(x, 4) for x in tangent_reach(change.times, np.array([channel.keys])))
    parts = []
    for part, reach, was, now in (
        (0, before, change.old_value - change.old_left, change.value - change.left),
        (2, after, change.old_right - change.old_value, change.right - change.value),
    ):
        old = stored[key * 3 + part, component]
        mute = ~(np.isfinite(was) & np.isfinite(reach) & (reach != 0.0) & (was != 0.0))
        flipped = np.where(mute, negated, now == -was)
        kept = ~flipped & ~_differ(was, now)
        new = np.where(flipped, -old, np.where(kept, old, now * FRAME_RATE / reach))
        if np.any(~flipped & ~kept & ~(np.isfinite(reach) & (reach != 0.0))):
            raise EditError("a handle was changed at a key without a time to its neighbor")
        parts.append((key * 3 + part, old, new))
    return parts


def encode(values: Float64, code: int, normalized: bool) -> npt.NDArray[np.uint8]:
    """(M,) numbers as the (M, size) bytes of a componentType. Raises EditError for one that it cannot hold."""
    dtype, scale = COMPONENTS[code]
    if not np.isfinite(values).all():
        raise EditError("an edited value is not finite")
    if dtype.kind == "f":
        if (np.abs(values) > FLOAT32_MAX).any():
            raise EditError("an edited value is too large for float32")
        stored = values.astype(dtype)
    else:
        scale = scale if normalized else 1.0
        bits, signed = dtype.itemsize * 8, dtype.kind == "i"
        bad = misfit(values, bits, signed, 1.0 / scale)
        if bad.any():
            raise EditError(why_misfit(float(values[int(bad.argmax())]), bits, signed))
        stored = np.rint(values * scale).astype(dtype)
    return stored.view(np.uint8).reshape(len(values), dtype.itemsize)
