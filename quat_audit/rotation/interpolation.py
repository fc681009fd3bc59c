# SPDX-License-Identifier: GPL-3.0-or-later
"""Between rotations: nlerp, slerp, weighted mixes, tracks sampled by time.

Everything here checks its input: a ValueError names the argument. Quaternions need not be unit, they are normalized
first. `shortest` chooses the hemisphere, so that the way taken is the short one; without it the path is the one
between the quaternions *as stored*, which may be the long way round.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from . import quaternion
from .quaternion import Array

# Above this dot (3.6° apart) slerp's sines are nearly 0 / 0 while nlerp differs from it by less than 1e-6.
NLERP_ABOVE = 0.9995

Between = Callable[..., Array]


def _checked_weight(t: npt.ArrayLike, name: str) -> Array:
    t = np.asarray(t, dtype=np.float64)
    outside = ~((t >= 0.0) & (t <= 1.0))
    if outside.any():
        raise ValueError(f"{name} must be within 0 to 1, got {t[outside].flat[0]}")
    return t


def _checked_pair(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, shortest: bool) -> tuple[Array, Array, Array]:
    """Unit a and b (b in a's hemisphere if asked for) and t with an axis for the components."""
    a, b = quaternion.normalize(a, "a"), quaternion.normalize(b, "b")
    t = _checked_weight(t, "t")
    if shortest:
        b = _aligned(b, a)
    return a, b, t[..., None]


def _aligned(q: Array, reference: Array) -> Array:
    """q or -q, whichever is in the hemisphere of `reference`. A zero dot keeps its sign, rounding or not."""
    away = quaternion.dot(q, reference) < -quaternion.ZERO_DOT
    return np.where(away[..., None], -q, q)


def nlerp(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, *, shortest: bool = True) -> Array:
    """Component-wise mix of a and b ``(..., 4)`` at t ``(...)`` in 0 to 1, normalized.

    Raises:
        ValueError: an input that is no rotation or no weight; the mix has no length (a to -a, half-way, as stored).
    """
    a, b, t = _checked_pair(a, b, t, shortest)
    return _nlerp(a, b, t)


def _nlerp(a: Array, b: Array, t: Array) -> Array:
    mix = (1.0 - t) * a + t * b
    length = quaternion.norm(mix)
    if (length < quaternion.ZERO_NORM).any():
        raise ValueError(
            "the component-wise mix of a and b is the zero quaternion: they are antipodal, the same rotation stored "
            "with opposite signs; use shortest=True"
        )
    return np.asarray(mix / length[..., None])


def slerp(a: npt.ArrayLike, b: npt.ArrayLike, t: npt.ArrayLike, *, shortest: bool = True) -> Array:
    """Spherical mix at constant angular speed; nlerp where a and b are closer than NLERP_ABOVE.

    Raises:
        ValueError: as `nlerp`; and for antipodal a and b as stored, between which no great arc is singled out.
    """
    a, b, t = _checked_pair(a, b, t, shortest)
    near = quaternion.dot(a, b) > NLERP_ABOVE
    if near.all():
        return _nlerp(a, b, t)
    # Where nlerp answers, the sine form gets a half turn to chew on instead of 0 / 0.
    far = np.where(near[..., None], quaternion.multiply(a, np.array([0.0, 0.0, 0.0, 1.0])), b)
    result = _slerp_sine(a, far, t)
    if not near.any():
        return result
    a, b, t, mask = np.broadcast_arrays(a, b, t, near[..., None])
    rows = mask[..., 0]
    result = np.broadcast_to(result, a.shape).copy()
    result[rows] = _nlerp(a[rows], b[rows], t[rows])
    return result


def _slerp_sine(a: Array, b: Array, t: Array) -> Array:
    # Half the rotation angle is the angle on the sphere.
    phi = 0.5 * quaternion.arc_angle(a, b)[..., None]
    sine = np.sin(phi)
    _reject_antipodal(phi, sine)
    same = sine < quaternion.ZERO_DOT
    first = np.where(same, 1.0 - t, np.sin((1.0 - t) * phi))
    second = np.where(same, t, np.sin(t * phi))
    mix = first * a + second * b
    # Its length is sin φ; dividing by the length itself leaves one rounding less.
    return np.asarray(mix / quaternion.norm(mix)[..., None])


def _reject_antipodal(phi: Array, sine: Array) -> None:
    if ((phi > 0.5 * np.pi) & (sine < quaternion.ZERO_DOT)).any():
        raise ValueError(
            "a and b are antipodal, the same rotation stored with opposite signs: no arc between them is singled out; "
            "use shortest=True"
        )


def weighted_mix(
    quaternions: npt.ArrayLike, weights: npt.ArrayLike, ids: npt.ArrayLike, reference: int | str | None = None
) -> Array:
    """One rotation from N, the same whatever order they are given in.

    Args:
        quaternions: (N, 4).
        weights: (N,) 0 to 1; they need not sum to 1.
        ids: (N,) distinct numbers or names that fix the order of summing.
        reference: the id whose hemisphere all are put in; the lowest id when None. When its weight is 0 the next id
            (after the last one the first) with a weight is taken.

    Returns:
        (4,) unit, in the hemisphere of the reference.

    Raises:
        ValueError: bad input, an unknown reference, or a sum of (nearly) zero length.
    """
    q = quaternion.normalize(quaternions, "quaternions")
    w = _checked_weight(weights, "weights")
    names = np.asarray(ids)
    if q.ndim != 2 or len(q) == 0:
        raise ValueError(f"quaternions must have shape (N, 4) with at least one, got {q.shape}")
    if w.shape != (len(q),) or names.shape != (len(q),):
        raise ValueError(f"weights and ids must have shape ({len(q)},), got {w.shape} and {names.shape}")
    order = np.argsort(names, kind="stable")
    q, w, names = q[order], w[order], names[order]
    if (names[1:] == names[:-1]).any():
        raise ValueError("ids must be distinct")
    if not w.any():
        raise ValueError("weights are all 0: their mix is no rotation")
    start = 0
    if reference is not None:
        found = np.flatnonzero(names == reference)
        if not len(found):
            raise ValueError(f"reference {reference!r} is not among ids")
        start = int(found[0])
    with_weight = np.flatnonzero(w)
    chosen = with_weight[np.searchsorted(with_weight, start) % len(with_weight)]
    # Relative weights: how small they are altogether must not decide whether the sum counts as zero.
    relative = w / w.sum()
    total = np.zeros(4)
    for share, aligned in zip(relative, _aligned(q, q[chosen]), strict=True):
        total += share * aligned
    if quaternion.norm(total) < quaternion.ZERO_NORM:
        raise ValueError("the weighted sum of quaternions is the zero quaternion: the rotations cancel out")
    return quaternion.normalize(total, "sum")


def _checked_times(times: npt.ArrayLike, count: int, of: str) -> Array:
    times = np.asarray(times, dtype=np.float64)
    if times.shape != (count,):
        raise ValueError(f"times must have shape ({count},), one for each of {of}, got {times.shape}")
    if count == 0:
        raise ValueError(f"times and {of} are empty: a track needs at least one key")
    if not np.isfinite(times).all():
        raise ValueError(f"times has a NaN or infinity at index {int(np.flatnonzero(~np.isfinite(times))[0])}")
    late = np.flatnonzero(np.diff(times) <= 0)
    if len(late):
        raise ValueError(f"times must be strictly increasing, but index {int(late[0]) + 1} is not")
    return times


def _checked_at(at: npt.ArrayLike) -> Array:
    at = np.asarray(at, dtype=np.float64)
    if not np.isfinite(at).all():
        raise ValueError("at has a NaN or infinity")
    return at


def _segment(times: Array, at: Array) -> tuple[npt.NDArray[np.int64], Array]:
    """The key each time follows (of the last segment at most), and the fraction of the way to the next, 0 to 1."""
    index = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    fraction = (at - times[index]) / (times[index + 1] - times[index])
    return index, np.clip(fraction, 0.0, 1.0)


def sample_track(
    times: npt.ArrayLike,
    quaternions: npt.ArrayLike,
    at: npt.ArrayLike,
    *,
    shortest: bool = True,
    between: Between = slerp,
) -> Array:
    """A track of rotations at any times, in any order.

    Args:
        times: (K,) finite and strictly increasing.
        quaternions: (K, 4).
        at: (...) times asked for; before the first and after the last key that key holds, one key is constant.
        between: slerp, nlerp or another function of this module with the same arguments.

    Returns:
        (..., 4) unit quaternions. A time gives the same rotation whatever was asked before it.

    Raises:
        ValueError: bad times or quaternions, an empty track.
    """
    keys = np.asarray(quaternions, dtype=np.float64)
    times = _checked_times(times, len(keys) if keys.ndim else 0, "quaternions")
    keys = quaternion.normalize(keys, "quaternions")
    at = _checked_at(at)
    if len(keys) == 1:
        return np.broadcast_to(keys[0], (*at.shape, 4)).copy()
    index, fraction = _segment(times, at)
    return between(keys[index], keys[index + 1], fraction, shortest=shortest)
