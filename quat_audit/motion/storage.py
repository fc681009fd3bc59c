# SPDX-License-Identifier: GPL-3.0-or-later
"""What the file behind a clip can hold of an edit: asked before anything is written, and by the writer again."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..arrays import Bools, Floats, Ints
from .changes import same_keys
from .clip import Clip, Curves, Storage

# A value must be an integer's own, up to what float32 arithmetic costs.
INTEGER_TOLERANCE = 1e-6


def unstorable(before: Clip, after: Clip) -> dict[str, str]:
    """Data path → why the file cannot hold what an edit makes of it; {} where it holds all, as Blender does."""
    storage = before.storage
    if storage is None or after is before:
        return {}
    found: dict[str, str] = {}
    if storage.keys_fixed:
        found |= dict.fromkeys(_restructured(before, after, storage), storage.keys_fixed)
    if storage.bits.any():
        for path, why in _misfits(before.curves, after.curves, storage):
            found.setdefault(path, why)
    return found


def misfit(value: Floats, bits: Ints | int, signed: Bools | bool, step: Floats | float) -> Bools:
    """(M,) which values are none of the multiples of `step` that integers of so many bits make."""
    number = np.rint(value / step)
    highest = np.exp2(bits - np.where(signed, 1, 0)) - 1
    lowest = np.where(signed, -highest - 1, 0)
    with np.errstate(invalid="ignore"):  # infinity is none of them
        fits = (np.abs(number * step - value) <= INTEGER_TOLERANCE) & (number >= lowest) & (number <= highest)
    return np.asarray(~fits)


def why_misfit(value: float, bits: int, signed: bool) -> str:
    """What to say of a value that does not fit."""
    if not signed and value < 0.0:
        return f"its values are stored as unsigned {bits}-bit integers: no sign fits"
    return f"its values are stored as {bits}-bit integers, which cannot hold {value:.6g} exactly"


def _restructured(before: Clip, after: Clip, storage: Storage) -> Iterator[str]:
    """The paths on which keys or curves came, went or moved in time, interpolate otherwise, or play in another mode."""
    a, b = before.curves, after.curves
    modes = dict(zip(after.tracks.data_path, after.tracks.modes, strict=True))
    for path, mode in zip(before.tracks.data_path, before.tracks.modes, strict=True):
        if modes.get(path, mode) != mode:
            yield path
    if b is a:
        return
    if b.origin is a.origin and b.ancestor is a.ancestor and b.interpolation is a.interpolation:
        # The same keys, as after nearly every edit: only their times can have changed.
        moved = _differ(a.co[:, 0], b.co[:, 0])
        if moved.any():
            yield from (a.data_path[curve] for curve in np.unique(a.curve_of_key()[moved]).tolist())
        return
    now = same_keys(a, b)
    was = np.flatnonzero(now >= 0)
    changed = a.interpolation[was] != b.interpolation[now[was]]
    changed |= _differ(a.co[was, 0], b.co[now[was], 0])
    gone = now < 0
    if storage.bridges:
        gone &= np.isfinite(a.co[:, 1])
    came = np.ones(len(b.co), dtype=bool)
    came[now[was]] = False
    curve_of_a, curve_of_b = a.curve_of_key(), b.curve_of_key()
    for curve in np.unique(np.concatenate([curve_of_a[was[changed]], curve_of_a[gone]])).tolist():
        yield a.data_path[curve]
    for curve in np.unique(curve_of_b[came]).tolist():
        yield b.data_path[curve]
    # A curve without keys comes and goes with none, and one that lost all has nothing to play in their place.
    for curve in np.setdiff1d(a.ancestor, b.ancestor[b.counts > 0]).tolist():
        at = int(np.flatnonzero(a.ancestor == curve)[0])
        if a.counts[at]:
            yield a.data_path[at]
    for curve in np.flatnonzero(b.ancestor < 0).tolist():
        yield b.data_path[curve]


def _misfits(a: Curves, b: Curves, storage: Storage) -> Iterator[tuple[str, str]]:
    """The paths of edited values that integers do not hold, and the first such value in words."""
    ancestor = b.ancestor[b.curve_of_key()]
    narrow = np.flatnonzero((ancestor >= 0) & (storage.bits[ancestor] > 0))
    kept = np.full(len(b.co), -1)
    kept[same_keys(a, b)] = np.arange(len(a.co))
    old = np.where(kept[narrow] >= 0, a.co[kept[narrow], 1], np.nan)
    narrow = narrow[_differ(old, b.co[narrow, 1])]
    bits, signed, step = (part[ancestor[narrow]] for part in (storage.bits, storage.signed, storage.step))
    bad = misfit(b.co[narrow, 1], bits, signed, step)
    curve = b.curve_of_key()[narrow[bad]]
    for at in np.unique(curve, return_index=True)[1].tolist():
        row = narrow[bad][at]
        yield b.data_path[curve[at]], why_misfit(float(b.co[row, 1]), int(bits[bad][at]), bool(signed[bad][at]))


def _differ(a: Floats, b: Floats) -> Bools:
    return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))
