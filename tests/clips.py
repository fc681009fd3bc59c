# SPDX-License-Identifier: GPL-3.0-or-later
"""Clips from plain arrays: what the tests of rules, edits, measures and repairs start from.

A builder makes a clip of one track (or one channel); `joined` puts several into one clip. Values are written
in the order of the components: quaternions w, x, y, z; Euler angles by axis, here in **degrees**.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from quat_audit.motion.clip import (
    AXIS_ANGLE,
    BEZIER,
    COMPONENTS,
    EULER,
    LINEAR,
    QUATERNION,
    Clip,
    Curves,
    Cycles,
    Track,
    make_curves,
    make_tracks,
)

PROPERTY = {QUATERNION: "rotation_quaternion", EULER: "rotation_euler", AXIS_ANGLE: "rotation_axis_angle"}
IDENTITY = (1.0, 0.0, 0.0, 0.0)
NAN = math.nan


def about(axis: str | Sequence[float], degrees: float) -> list[float]:
    """The quaternion of a turn about an axis ("X", "Y", "Z" or a vector); 370° is not 10°: its sign differs."""
    vector = [float(axis == name) for name in "XYZ"] if isinstance(axis, str) else [float(v) for v in axis]
    size = math.sqrt(sum(v * v for v in vector))
    half = math.radians(degrees) / 2
    return [math.cos(half), *(math.sin(half) * v / size for v in vector)]


def turns(axis: str | Sequence[float], degrees: Sequence[float]) -> np.ndarray:
    """(N, 4) quaternions of turns about one axis."""
    return np.array([about(axis, d) for d in degrees]).reshape(-1, 4)


def random_quaternions(rng: np.random.Generator, count: int) -> np.ndarray:
    """(N, 4) unit quaternions, evenly over all rotations and both signs."""
    q = rng.normal(size=(count, 4))
    return q / np.sqrt((q * q).sum(axis=1, keepdims=True))


def random_path(rng: np.random.Generator, count: int) -> np.ndarray:
    """The same with signs that go the short way from each to the next."""
    q = random_quaternions(rng, count)
    for row in range(1, count):
        q[row] *= 1.0 if q[row] @ q[row - 1] >= 0 else -1.0
    return q


def thirds(times: Any, values: Any) -> tuple[np.ndarray, np.ndarray]:
    """Left and right handles (N, 2) a third of the way along the chords; flat and one frame long at the ends."""
    co = np.stack([np.asarray(times, float), np.asarray(values, float)], axis=1)
    frame = np.array([1.0, 0.0])
    left, right = co - frame, co + frame
    with np.errstate(invalid="ignore"):
        left[1:] = co[1:] + (co[:-1] - co[1:]) / 3
        right[:-1] = co[:-1] + (co[1:] - co[:-1]) / 3
    return left, right


def free_handles(rng: np.random.Generator, times: Any, values: Any, spread: float = 1.0, reach: float = 1.3) -> Any:
    """Random handles (N, n, 2) left and right: any value within `spread` of the key, up to `reach` × the gap long.

    Above ½ they may cross, above 1 they are longer than Blender plays them.
    """
    times, values = np.asarray(times, float), np.asarray(values, float)
    gap = np.diff(times, prepend=times[:1] - 1.0) if len(times) else times
    next_gap = np.diff(times, append=times[-1:] + 1.0) if len(times) else times
    left, right = np.empty((*values.shape, 2)), np.empty((*values.shape, 2))
    for handle, span, sign in ((left, gap, -1.0), (right, next_gap, 1.0)):
        longest = np.abs(np.nan_to_num(span))[:, None]
        handle[..., 0] = times[:, None] + sign * longest * rng.uniform(0.0, reach, values.shape)
        handle[..., 1] = values + rng.uniform(-spread, spread, values.shape)
    return left, right


# Blender's automatic handles reach this share of the way to the neighboring key in time (calchandleNurb_intern).
AUTOMATIC_REACH = 1 / 2.5614


def automatic(times: Any, values: Any, *, clamped: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Left and right handles (N, 2) much like automatic ones: the mean slope of both sides, flat at the ends.

    Where `clamped`, they are flat at a highest or lowest key, too, and never beyond the neighboring keys.
    """
    t, v = np.asarray(times, float), np.asarray(values, float)
    slopes = np.diff(v) / np.diff(t)
    slope = np.zeros(len(t))
    slope[1:-1] = (slopes[:-1] + slopes[1:]) / 2
    if clamped:
        slope[1:-1][slopes[:-1] * slopes[1:] <= 0] = 0
    reach = np.diff(t) * AUTOMATIC_REACH
    left, right = np.stack([t, v], axis=1), np.stack([t, v], axis=1)
    left[1:] -= np.stack([reach, reach * slope[1:]], axis=1)
    right[:-1] += np.stack([reach, reach * slope[:-1]], axis=1)
    if clamped:
        low, high = np.minimum(v[:-1], v[1:]), np.maximum(v[:-1], v[1:])
        left[1:, 1], right[:-1, 1] = np.clip(left[1:, 1], low, high), np.clip(right[:-1, 1], low, high)
    return left, right


def left_behind(step: float, components: Sequence[int]) -> Clip:
    """Three quaternion keys about X, `step` degrees apart; the middle key's handles of some components are negated."""
    times, q = np.array([1.0, 21.0, 41.0]), turns("X", [0, step, 2 * step])
    handles = {part: automatic(times, q[:, part]) for part in range(4)}
    for part in components:
        handles[part][0][1] = times[1] - 7, -q[1, part]
        handles[part][1][1] = times[1] + 7, -q[1, part]
    return track_clip(
        QUATERNION, {p: (times, q[:, p]) for p in range(4)}, interpolation=BEZIER, handles=handles, dtype=np.float64
    )


def hermite_clip(times: Any, quaternions: Any, tangents: Any, **options: Any) -> Clip:
    """A clip of one quaternion track as glTF's CUBICSPLINE plays it; tangents (N, 4) are per frame."""
    times, q, m = (np.asarray(x, float) for x in (times, quaternions, tangents))
    third = np.diff(times)[:, None] / 3
    co = np.stack([np.repeat(times[:, None], 4, axis=1), q], axis=-1)
    left, right = co.copy(), co.copy()
    right[:-1, :, 0] += third
    right[:-1, :, 1] += third * m[:-1]
    left[1:, :, 0] -= third
    left[1:, :, 1] -= third * m[1:]
    return quaternion_clip(times, q, interpolation=BEZIER, handles=(left, right), dtype=np.float64, **options)


def track_clip(
    kind: str,
    keys: Mapping[int, tuple[Any, Any]],
    *,
    bone: str = "Arm",
    order: str = "XYZ",
    interpolation: Any = LINEAR,
    handles: Any = None,
    easing: Any = None,
    easing_parameters: Any = None,
    format: str = "blender",
    dtype: Any = np.float32,
    pose: Sequence[float] | None = None,
    modes: Sequence[str] | None = None,
    delta: bool = False,
    cycles: Cycles | None = None,
    linear_extrapolation: bool = False,
    unevaluable: str = "",
    read_only: str = "",
    orphan: bool = False,
    data_path: str | None = None,
    users: Sequence[str] = ("Rig",),
) -> Clip:
    """A clip of one rotation; `keys` has (times, values) of each component that is keyed: any may be absent.

    `interpolation`, `easing` are for all keys (a number), for each row (a sequence, cut to each component's
    number of keys) or component → sequence. `handles` is None (on the keys), "thirds" (straight), or
    component → (left (N, 2), right (N, 2)).
    """
    components = sorted(keys)
    co, left, right, played, eased, parameters = [], [], [], [], [], []
    for part in components:
        points = np.stack([np.asarray(v, dtype=np.float64).reshape(-1) for v in keys[part]], axis=1)
        count = len(points)
        co.append(points)
        if handles is None:
            pair: Any = (points, points)
        elif isinstance(handles, str):
            pair = thirds(points[:, 0], points[:, 1]) if count else (points, points)
        else:
            pair = handles[part]
        left.append(np.asarray(pair[0], float).reshape(-1, 2))
        right.append(np.asarray(pair[1], float).reshape(-1, 2))
        played.append(_for_keys(interpolation, part, count))
        eased.append(_for_keys(0 if easing is None else easing, part, count))
        given = (1.70158, 0.8, 4.1) if easing_parameters is None else easing_parameters
        parameters.append(np.broadcast_to(np.asarray(given, float), (count, 3)))
    count = len(components)
    path = data_path or (f'pose.bones["{bone}"].' if bone else "") + ("delta_" if delta else "") + PROPERTY[kind]
    curves = make_curves(
        [path] * count,
        components,
        [len(c) for c in co],
        np.concatenate(co).astype(dtype),
        handle_left=np.concatenate(left).astype(dtype),
        handle_right=np.concatenate(right).astype(dtype),
        interpolation=np.concatenate(played).astype(np.uint8),
        easing=None if easing is None else np.concatenate(eased).astype(np.uint8),
        easing_parameters=None if easing is None else np.concatenate(parameters).astype(dtype),
        linear_extrapolation=[linear_extrapolation] * count,
        cycles=[cycles] * count,
        unevaluable=[unevaluable] * count,
        read_only=[read_only] * count,
        orphan=[orphan] * count,
    )
    numbers = [components.index(part) if part in components else -1 for part in range(4)]
    if pose is None:
        pose = {QUATERNION: IDENTITY, AXIS_ANGLE: (0.0, 0.0, 1.0, 0.0)}.get(kind, (0.0, 0.0, 0.0, 0.0))
    track = Track(
        data_path=path,
        bone=bone,
        kind=kind,
        curves=(numbers[0], numbers[1], numbers[2], numbers[3]),
        order=order,
        modes=tuple(modes) if modes is not None else (order if kind == EULER else kind,),
        pose=(float(pose[0]), float(pose[1]), float(pose[2]), float(pose[3]) if len(pose) > 3 else 0.0),
        delta=delta,
    )
    clip = Clip(
        action="Action",
        slot="Slot",
        owner=users[0] if users else "",
        users=tuple(users),
        format=format,
        frame_rate=24.0,
        seconds=format == "gltf",
        curves=curves,
        tracks=make_tracks([track]),
    )
    clip.validate()
    return clip


def _for_keys(given: Any, part: int, count: int) -> np.ndarray:
    if isinstance(given, Mapping):
        given = given[part]
    return np.full(count, given) if np.isscalar(given) else np.asarray(given)[:count]


def quaternion_clip(times: Any, quaternions: Any, *, components: Sequence[int] = (0, 1, 2, 3), **options: Any) -> Clip:
    """A clip of one quaternion track keyed at `times` (N,) with (N, 4) values; options as `track_clip`.

    `handles` may also be a pair of (N, 4, 2) arrays.
    """
    return _aligned(QUATERNION, times, np.asarray(quaternions, float).reshape(-1, 4), components, options)


def euler_clip(
    times: Any, degrees: Any, order: str = "XYZ", *, components: Sequence[int] = (0, 1, 2), **options: Any
) -> Clip:
    """A clip of one Euler track keyed at `times` (N,) with (N, 3) degrees by axis; options as `track_clip`.

    Handles, where given as a pair of (N, 3, 2) arrays, are in radians like what is stored.
    """
    values = np.radians(np.asarray(degrees, float).reshape(-1, 3))
    return _aligned(EULER, times, values, components, {"order": order, **options})


def axis_angle_clip(
    times: Any, degrees: Any, axes: Any, *, components: Sequence[int] = (0, 1, 2, 3), **options: Any
) -> Clip:
    """A clip of one axis-angle track keyed at `times` (N,) with (N,) degrees about (N, 3) axes, or all about one.

    Options as `track_clip`; handles, where given as a pair of (N, 4, 2) arrays, are in radians like what is stored.
    """
    degrees = np.asarray(degrees, float)
    values = np.column_stack([np.radians(degrees), np.broadcast_to(np.asarray(axes, float), (len(degrees), 3))])
    return _aligned(AXIS_ANGLE, times, values, components, options)


def _aligned(kind: str, times: Any, values: np.ndarray, components: Sequence[int], options: dict[str, Any]) -> Clip:
    handles = options.get("handles")
    if isinstance(handles, tuple):
        left, right = handles
        options = {**options, "handles": {c: (left[:, c], right[:, c]) for c in components}}
    return track_clip(kind, {c: (times, values[:, c]) for c in components}, **options)


def channel_clip(
    times: Any, values: Any, data_path: str = 'pose.bones["Arm"].location', component: int = 0, **options: Any
) -> Clip:
    """A clip of one channel that is no rotation."""
    clip = track_clip(QUATERNION, {0: (times, values)}, data_path=data_path, **options)
    return replace(clip, curves=replace(clip.curves, component=np.array([component])), tracks=make_tracks([]))


def joined(*clips: Clip) -> Clip:
    """One clip with the curves and tracks of all of them, everything else as in the first."""
    curves = [c.curves for c in clips]
    starts = np.cumsum([0, *(len(c) for c in curves)])
    tracks = []
    for clip, start in zip(clips, starts[:-1], strict=True):
        numbers = np.where(clip.tracks.curves >= 0, clip.tracks.curves + start, -1)
        tracks.append(replace(clip.tracks, curves=numbers))
    result = replace(
        clips[0],
        curves=Curves(**{f.name: _merged_curves(f.name, curves) for f in fields(Curves)}),
        tracks=type(clips[0].tracks)(
            **{f.name: _concatenated([getattr(t, f.name) for t in tracks]) for f in fields(clips[0].tracks)}
        ),
    )
    result.validate()
    return result


def _concatenated(parts: list[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(item for part in parts for item in part)
    return np.concatenate(parts)


def _merged_curves(name: str, curves: list[Curves]) -> Any:
    parts = [getattr(c, name) for c in curves]
    if name == "offsets":
        return np.concatenate([[0], np.cumsum(np.concatenate([c.counts for c in curves]))]).astype(np.int64)
    if name == "ancestor":
        return np.arange(sum(len(c) for c in curves))
    if name in ("easing", "easing_parameters"):
        if all(part is None for part in parts):
            return None
        empty = (
            (lambda n: np.zeros(n, np.uint8)) if name == "easing" else (lambda n: np.zeros((n, 3), curves[0].co.dtype))
        )
        return np.concatenate([empty(len(c.co)) if p is None else p for p, c in zip(parts, curves, strict=True)])
    return _concatenated(parts)


def values_of(clip: Clip, track: int = 0) -> np.ndarray:
    """(N, n) key values of a track whose components are keyed together, as stored."""
    n = COMPONENTS[clip.tracks.kind[track]]
    return np.stack([clip.curves.co[clip.curves.rows(int(c)), 1] for c in clip.tracks.curves[track, :n]], axis=1)


def times_of(clip: Clip, track: int = 0) -> np.ndarray:
    """(N,) key times of a track's first component, as stored."""
    curve = next(int(c) for c in clip.tracks.curves[track] if c >= 0)
    return np.array(clip.curves.co[clip.curves.rows(curve), 0])
