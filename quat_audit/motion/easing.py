# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's easing equations (Robert Penner's), over arrays.

Every ease-in is one function of the fraction of the segment; ease-out and ease-in-out are its mirrored and its
doubled form: out(u) = 1 - in(1 - u). Source of the constants: Blender, blenlib/intern/easing.cc.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..rotation.quaternion import Array
from .clip import (
    BACK,
    BOUNCE,
    CIRC,
    CUBIC,
    EASE_AUTO,
    EASE_IN,
    EASE_IN_OUT,
    EASE_OUT,
    ELASTIC,
    EXPO,
    QUAD,
    QUART,
    QUINT,
    SINE,
)

# What a new key has: back, amplitude, period (RNA defaults of Keyframe).
DEFAULT_PARAMETERS = (1.70158, 0.8, 4.1)
_POWERS = {QUAD: 2, CUBIC: 3, QUART: 4, QUINT: 5}
_EXPO_FLOOR = 2.0**-10


def ease(
    mode: int,
    fraction: Array,
    *,
    direction: npt.NDArray[np.uint8],
    change: Array,
    duration: Array,
    parameters: Array,
) -> Array:
    """How far each value has moved from the first key of its segment (beyond `change` where it overshoots).

    Args:
        mode: BACK to SINE.
        fraction: (N,) 0 to 1 of the segment's time.
        direction: (N,) EASE_AUTO to EASE_IN_OUT. AUTO eases out where the effect belongs to the end (BACK, BOUNCE,
            ELASTIC), else in.
        change: (N,) last value - first value.
        duration: (N,) frames.
        parameters: (N, 3) back, amplitude, period.
    """
    auto = EASE_OUT if mode in (BACK, BOUNCE, ELASTIC) else EASE_IN
    direction = np.where(direction == EASE_AUTO, auto, direction)
    both = direction == EASE_IN_OUT
    mirrored = (direction == EASE_OUT) | (both & (fraction >= 0.5))
    u = np.where(mirrored, 1.0 - fraction, fraction) * np.where(both, 2.0, 1.0)
    if mode == ELASTIC:
        eased = _elastic_in(u, change, duration, parameters, both)
    elif mode == BACK:
        back = parameters[:, 0] * np.where(both, 1.525, 1.0)
        eased = change * u * u * ((back + 1.0) * u - back)
    else:
        eased = change * _ease_in(mode, u)
    eased = np.where(both, 0.5 * eased, eased)
    return np.asarray(np.where(mirrored, change - eased, eased))


def _ease_in(mode: int, u: Array) -> Array:
    if mode in _POWERS:
        return np.asarray(u ** _POWERS[mode])
    if mode == SINE:
        return np.asarray(1.0 - np.cos(u * (np.pi / 2)))
    if mode == CIRC:
        return np.asarray(1.0 - np.sqrt(np.maximum(1.0 - u * u, 0.0)))
    if mode == EXPO:
        return np.asarray((2.0 ** (10.0 * (u - 1.0)) - _EXPO_FLOOR) / (1.0 - _EXPO_FLOOR))
    if mode == BOUNCE:
        return 1.0 - _bounce_out(1.0 - u)
    raise ValueError(f"mode must be an easing equation, {BACK} to {SINE}, got {mode}")


def _bounce_out(u: Array) -> Array:
    """Four parabolas of the same curvature; each center and floor as in the source."""
    bounce = np.searchsorted(np.array([1.0, 2.0, 2.5]) / 2.75, u, side="right")
    center = np.array([0.0, 1.5, 2.25, 2.625])[bounce] / 2.75
    floor = np.array([0.0, 0.75, 0.9375, 0.984375])[bounce]
    return np.asarray(7.5625 * (u - center) ** 2 + floor)


def _elastic_in(u: Array, change: Array, duration: Array, parameters: Array, both: npt.NDArray[np.bool_]) -> Array:
    """A growing sine; the one equation that is no multiple of `change` (it rings even between equal keys)."""
    amplitude, period = parameters[:, 1], parameters[:, 2]
    period = np.where(period == 0, duration * np.where(both, 0.45, 0.3), period)
    time = u - 1.0
    size = np.abs(change)
    weak = (amplitude == 0) | (amplitude < size)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Strong enough: the sine passes through both keys. Too weak: it is scaled down, and blended into full size
        # over the last quarter of a period, where it has to meet the key.
        shift = np.where(weak, period / 4, period / (2 * np.pi) * np.arcsin(np.where(weak, 0.0, change / amplitude)))
        near = np.abs(time * duration) / np.abs(shift)
        scale = np.where(size > 0, amplitude / size, 1.0)
        scale = np.where((size > 0) & (near < 1.0), scale * near + 1.0 - near, scale)
        height = np.where(weak, scale * change, amplitude)
        return np.asarray(-height * 2.0 ** (10.0 * time) * np.sin((time * duration - shift) * (2 * np.pi) / period))
