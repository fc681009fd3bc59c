# SPDX-License-Identifier: GPL-3.0-or-later
"""An edited clip back into the bytes of a BVH file: only the motion values that changed are written anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ...arrays import Bools, Ints
from ...motion.clip import LINEAR, Clip, Curves
from ..raw_file import Patched, Unwritten
from .motion import Floats64, number_text, splice, token_spans

# A rotation may be off by 1e-4 degrees once written; it is off by no more than its three angles together.
ANGLE_TOLERANCE_DEG = 2e-5
# Of a position: what storing it as float32 would cost.
RELATIVE_TOLERANCE = 2.0**-24

_WHOLE = "a BVH file has one value per frame and channel: "


@dataclass(frozen=True, eq=False)
class Layout:
    """Where the values of a clip's curves lie: `motion_start` is the byte where the motion block begins, a row
    has `width` numbers, curve ``c`` is column ``columns[c]``, in degrees where ``angular[c]``.
    """

    motion_start: int
    width: int
    columns: Ints
    angular: Bools


@dataclass(eq=False)
class _Wish:
    """What an edited clip asks for: (F, C) values in the file's units, and what cannot be had, by data path."""

    values: Floats64
    changed: Bools
    refused: dict[str, str] = field(default_factory=dict)


def patch(
    name: str,
    data: bytes,
    clip: Clip,
    layout: Layout,
    edited: Sequence[Clip],
    *,
    reread: Callable[[bytes], Clip],
) -> Patched:
    """The file's bytes with the changed motion values in place.

    A rotation is written with all its changed channels or not at all. Keys that a repair took out because they
    held no number become the value that the curve without them plays.

    Args:
        name: the file's name, for `Patched.outputs`.
        data: its bytes.
        clip, layout: what was read from them.
        edited: one clip, an edit of `clip`.
        reread: reads bytes into a clip; the result is checked with it.

    Returns:
        The bytes, and a refusal for every data path with an edit that the format cannot hold: keys added, moved or
        removed, other interpolation, channels added or removed, values that are not finite.

    Raises:
        ValueError: not exactly one clip.
    """
    if len(edited) != 1:
        raise ValueError(f"a BVH file holds one clip, got {len(edited)}")
    wish = _wish(clip, edited[0], layout)
    barred = np.array([path in wish.refused for path in clip.curves.data_path], dtype=bool)
    changed = wish.changed & ~barred
    refused = tuple(Unwritten(0, path, why) for path, why in sorted(wish.refused.items()))
    if not changed.any():
        return Patched({name: data}, refused)

    new = _write(data, layout, wish.values, changed)
    wrong = _misread(clip, reread(new), layout, wish.values, changed)
    if wrong:
        refused += tuple(Unwritten(0, path, "the written file did not read back as intended") for path in wrong)
        return Patched({name: data}, refused)
    return Patched({name: new}, refused)


def _write(data: bytes, layout: Layout, values: Floats64, changed: Bools) -> bytes:
    block = data[layout.motion_start :]
    frames, curves = np.nonzero(changed)
    tokens = frames * layout.width + layout.columns[curves]
    in_file = np.argsort(tokens)
    starts, ends = token_spans(block)
    texts = []
    for frame, curve, token in zip(frames[in_file], curves[in_file], tokens[in_file], strict=True):
        value = float(values[frame, curve])
        tolerance = ANGLE_TOLERANCE_DEG if layout.angular[curve] else RELATIVE_TOLERANCE * abs(value)
        texts.append(number_text(value, block[starts[token] : ends[token]], tolerance))
    return data[: layout.motion_start] + splice(block, tokens[in_file].tolist(), texts)


def _wish(clip: Clip, edited: Clip, layout: Layout) -> _Wish:
    before, after = clip.curves, edited.curves
    frames = len(before.co) // max(len(before), 1)
    stored = before.co[:, 1].reshape(len(before), frames).T
    values = stored.copy()
    wish = _Wish(values, np.zeros(values.shape, dtype=bool))
    modes = dict(zip(edited.tracks.data_path, edited.tracks.modes, strict=True))
    for path, mode in zip(clip.tracks.data_path, clip.tracks.modes, strict=True):
        if modes.get(path, mode) != mode:
            wish.refused[path] = "the order of a joint's rotation channels cannot be changed in place"
    for curve in np.flatnonzero(after.ancestor < 0):
        wish.refused[after.data_path[curve]] = _WHOLE + "a channel cannot be added in place"
    found = dict(zip(after.ancestor.tolist(), range(len(after)), strict=True))
    for curve, path in enumerate(before.data_path):
        now_curve = found.get(curve)
        if now_curve is None:
            wish.refused[path] = _WHOLE + "a channel cannot be removed in place"
            continue
        column, why = _column(before, curve, after, now_curve)
        if why:
            wish.refused[path] = why
        else:
            values[:, curve] = column
    same = (values == stored) | (np.isnan(values) & np.isnan(stored))
    wish.changed |= ~same
    for curve in np.flatnonzero(np.any(wish.changed & ~np.isfinite(values), axis=0)):
        wish.refused[before.data_path[curve]] = "the new value is not a finite number"
    values[:, layout.angular] = np.degrees(values[:, layout.angular])
    return wish


def _column(before: Curves, curve: int, after: Curves, now_curve: int) -> tuple[Floats64, str]:
    """A curve's value at each frame after the edit, or why the file cannot hold it."""
    was, now = before.rows(curve), after.rows(now_curve)
    times, stored = before.co[was, 0], before.co[was, 1]
    origin, co = after.origin[now], after.co[now]
    if np.any(origin < 0):
        return stored, _WHOLE + f"{np.count_nonzero(origin < 0)} keys cannot be added"
    if not np.array_equal(co[:, 0], times[origin]):
        return stored, _WHOLE + "keys cannot be moved in time"
    if np.any(after.interpolation[now] != LINEAR):
        return stored, "a BVH file has no other interpolation than linear"
    column = stored.copy()
    column[origin] = co[:, 1]
    removed = np.ones(len(stored), dtype=bool)
    removed[origin] = False
    if np.any(removed & np.isfinite(stored)) or len(origin) != np.count_nonzero(~removed):
        return stored, _WHOLE + "keys cannot be removed"
    if np.any(removed):
        if not len(origin):
            return stored, "the channel has no finite value to take its place"
        column[removed] = np.interp(times[removed], co[:, 0], co[:, 1])
    return column, ""


def _misread(clip: Clip, result: Clip, layout: Layout, values: Floats64, changed: Bools) -> list[str]:
    """Data paths that the written bytes do not hold as wanted: all others must be the same bit for bit."""
    paths = clip.curves.data_path
    if result.curves.data_path != paths or result.curves.co.shape != clip.curves.co.shape:
        return sorted(set(paths))
    shape = (len(paths), -1)
    stored, got = (c.curves.co[:, 1].reshape(shape).T for c in (clip, result))
    degrees = np.where(layout.angular, np.degrees(got), got)
    tolerance = np.where(layout.angular, ANGLE_TOLERANCE_DEG, RELATIVE_TOLERANCE * np.abs(values)) + 1e-12
    with np.errstate(invalid="ignore"):
        right = np.where(changed, np.abs(degrees - values) <= tolerance, (got == stored) | np.isnan(stored))
    right &= changed | (np.isnan(got) == np.isnan(stored))
    return sorted({paths[curve] for curve in np.flatnonzero(~right.all(axis=0))})
