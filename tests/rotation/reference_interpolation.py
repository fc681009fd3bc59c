# SPDX-License-Identifier: GPL-3.0-or-later
"""REFERENCE 5 and 11 by other ways: slerp in three forms, a track in a loop, Catmull-Rom for positions.

What the package plays is checked against these. They check their input as it does: a ValueError names the argument.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from quat_audit.rotation import quaternion
from quat_audit.rotation.interpolation import Between, sample_track, slerp
from quat_audit.rotation.quaternion import Array


def _checked(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, shortest: bool) -> tuple[Array, Array, Array, Array]:
    """Unit a and b (b in a's hemisphere if asked for), t, and the angle between them on the sphere."""
    a, b = quaternion.normalize(a, "a"), quaternion.normalize(b, "b")
    t = np.asarray(t, dtype=np.float64)
    if not ((t >= 0.0) & (t <= 1.0)).all():
        raise ValueError("t must be within 0 to 1")
    if shortest:
        away = quaternion.dot(b, a) < -quaternion.ZERO_DOT
        b = np.where(away[..., None], -b, b)
    phi = 0.5 * quaternion.arc_angle(a, b)
    if ((phi > 0.5 * np.pi) & (np.sin(phi) < quaternion.ZERO_DOT)).any():
        raise ValueError("a and b are antipodal: no arc between them is singled out")
    return a, b, t, phi


def slerp_sine(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, *, shortest: bool = True) -> Array:
    """Slerp by sine weights, sin((1-t)φ)/sin φ a + sin(tφ)/sin φ b; equal a and b: their mix."""
    a, b, t, phi = _checked(a, b, t, shortest)
    same = np.sin(phi) < quaternion.ZERO_DOT
    first = np.where(same, 1.0 - t, np.sin((1.0 - t) * phi))
    second = np.where(same, t, np.sin(t * phi))
    mix = first[..., None] * a + second[..., None] * b
    return np.asarray(mix / quaternion.norm(mix)[..., None])


def slerp_exponential(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, *, shortest: bool = True) -> Array:
    """Slerp as (b a⁻¹)ᵗ a, the power taken by logarithm and exponential."""
    a, b, t, _ = _checked(a, b, t, shortest)
    difference = quaternion.multiply(b, quaternion.conjugate(a))
    return quaternion.multiply(quaternion.exp(t[..., None] * quaternion.log(difference)), a)


def slerp_axis_angle(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, *, shortest: bool = True) -> Array:
    """Slerp as a turn by t times the angle of the difference, about its axis, after a."""
    a, b, t, phi = _checked(a, b, t, shortest)
    difference = quaternion.multiply(b, quaternion.conjugate(a))
    turn = quaternion.from_axis_angle(difference[..., 1:], t * 2.0 * phi)
    return quaternion.multiply(turn, a)


def sample_loop(
    times: npt.ArrayLike,
    quaternions: npt.ArrayLike,
    at: npt.ArrayLike,
    *,
    length: float | None = None,
    shortest: bool = True,
    between: Between = slerp,
) -> Array:
    """A track played in a loop: `at` counts modulo `length` from the first key.

    `length` is the time from the first key to its next turn: by default that of the last key, which is then the same
    moment as the first; a longer one leaves a seam in which the last key goes over into the first.

    Raises:
        ValueError: as `sample_track`; a length that is not positive or ends before the last key.
    """
    sample_track(times, quaternions, 0.0)  # it checks both
    times, keys = np.asarray(times, dtype=np.float64), quaternion.normalize(quaternions, "quaternions")
    span = float(times[-1] - times[0])
    turn = span if length is None else float(length)
    if not (np.isfinite(turn) and turn > 0.0 and turn >= span):
        raise ValueError(f"length must be positive and reach the last key ({span} after the first), got {turn}")
    if turn > span:
        times, keys = np.append(times, times[0] + turn), np.concatenate((keys, keys[:1]))
    return sample_track(
        times,
        keys,
        times[0] + np.mod(np.asarray(at, dtype=np.float64) - times[0], turn),
        shortest=shortest,
        between=between,
    )


def catmull_rom(
    points: npt.ArrayLike, at: npt.ArrayLike, *, times: npt.ArrayLike | None = None, loop: bool = False
) -> Array:
    """Positions on a smooth curve through `points`, with a continuous velocity.

    Args:
        points: (K, D). In a loop the last is the first again.
        at: (...) times; outside the points the end holds, in a loop they count modulo its length.
        times: (K,) strictly increasing; 0, 1, 2, … when None.
        loop: the velocity is continuous over the seam too.

    Returns:
        (..., D).

    Raises:
        ValueError: bad points; a loop that does not close.
    """
    p = np.asarray(points, dtype=np.float64)
    if p.ndim != 2 or not np.isfinite(p).all():
        raise ValueError(f"points must be finite and have shape (K, D), got {p.shape}")
    t = np.asarray(np.arange(len(p)) if times is None else times, dtype=np.float64)
    when = np.asarray(at, dtype=np.float64)
    if len(p) == 1:
        return np.broadcast_to(p[0], (*when.shape, p.shape[1])).copy()
    slope = np.empty_like(p)
    slope[1:-1] = (p[2:] - p[:-2]) / (t[2:] - t[:-2])[:, None]
    slope[0], slope[-1] = (p[1] - p[0]) / (t[1] - t[0]), (p[-1] - p[-2]) / (t[-1] - t[-2])
    if loop:
        if not np.allclose(p[0], p[-1], rtol=1e-9, atol=1e-9):
            raise ValueError("points: the last must be the first again to close the loop")
        slope[0] = slope[-1] = (p[1] - p[-2]) / ((t[1] - t[0]) + (t[-1] - t[-2]))
        when = t[0] + np.mod(when - t[0], t[-1] - t[0])
    index = np.clip(np.searchsorted(t, when, side="right") - 1, 0, len(t) - 2)
    step = (t[index + 1] - t[index])[..., None]
    u = np.clip((when - t[index])[..., None] / step, 0.0, 1.0)
    # Hermite form; at a point the weights are exactly 0 and 1, so the curve passes through it exactly.
    return np.asarray(
        (1 + 2 * u) * (1 - u) ** 2 * p[index]
        + u * (1 - u) ** 2 * step * slope[index]
        + u * u * (3 - 2 * u) * p[index + 1]
        + u * u * (u - 1) * step * slope[index + 1]
    )
