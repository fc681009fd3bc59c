# SPDX-License-Identifier: GPL-3.0-or-later
"""What one channel plays before and after an edit, over the frames around a place: rotations, and angles for a graph.

The angle of the graph is the geodesic one to the pose at its first frame: 0 to 180°, so that both curves meet at every
key whose rotation the edit kept, and a spin between two keys is a hump that is there before and gone after. How far
each of them turns between the two keys in question stands beside it (`swept_deg`): 348° and 12°.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Floats
from ..motion.clip import AXIS_ANGLE, COMPONENTS, QUATERNION, Clip, kind_played
from ..motion.curve import evaluate
from ..motion.keys import SAME_TIME_FRAMES, assumed_pose
from ..rotation import euler, quaternion
from ..text import Text

# Frames that are shown on either side of the place: as many as it is long itself, within these.
LEAST_MARGIN, MOST_MARGIN = 4.0, 12.0
# A clip with one key has no step: this many frames on either side of it.
ALONE_MARGIN = 5.0
# Places at which the curves of the graph are computed: enough that a turn within one frame of forty is round.
GRAPH_SAMPLES = 960
# Poses that Blender is asked for: one a frame, and one for as many degrees of turning; never more than MOST_POSES.
POSE_STEP_DEG = 7.5
MOST_POSES = 240
IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Channel:
    """What is compared: the rotation of a bone ("": of the object), as keyed in `data_path`, or as played instead."""

    data_path: str
    bone: str
    delta: bool = False


@dataclass(frozen=True, eq=False)
class Angles:
    """One channel over S times in frames.

    Attributes:
        time: (S,) rising.
        before, after: (S, 4) unit quaternions, continuous along the path; NaN where nothing can be played.
        before_deg, after_deg: (S,) angle to the pose before the edit at `time[0]`, 0 to 180.
        keys_before, keys_after: (K,) times at which each is keyed.
        step: the two keyed frames that it is about.
        swept_deg: how far each of them turns between those, (before, after).
        difference_deg, difference_frame: where between those the two rotations are furthest apart.
    """

    time: Floats
    before: Floats
    after: Floats
    before_deg: Floats
    after_deg: Floats
    keys_before: Floats
    keys_after: Floats
    step: tuple[float, float]
    swept_deg: tuple[float, float]
    difference_deg: float
    difference_frame: float

    def at(self, frames: Floats) -> tuple[Floats, Floats]:
        """(F,) angles before and after at some frames, between the samples in a straight line."""
        return np.interp(frames, self.time, self.before_deg), np.interp(frames, self.time, self.after_deg)


def played_track(clip: Clip, channel: Channel) -> int:
    """The track that moves the channel's owner: of the kind that its rotation mode plays. -1: none does.

    An action that nobody plays has no mode: there the keyed channel itself counts.
    """
    tracks = clip.tracks
    for track in range(len(tracks)):
        if (tracks.bone[track], tracks.delta[track]) != (channel.bone, channel.delta):
            continue
        modes = tracks.modes[track]
        if tracks.kind[track] == kind_played(modes[0]) if modes else tracks.data_path[track] == channel.data_path:
            return track
    return -1


def why_not_computed(clip: Clip, channel: Channel) -> Text | None:
    """Why the rotations cannot be computed from the keys: a modifier, a driver, a muted curve."""
    track = played_track(clip, channel)
    for curve in clip.tracks.curves[track] if track >= 0 else ():
        if curve >= 0 and clip.curves.unevaluable[curve]:
            return Text("Its values between keys are not known: {why}", {"why": clip.curves.unevaluable[curve]})
    return None


def rotations(clip: Clip, channel: Channel, time: Floats, still: Floats = IDENTITY) -> Floats:
    """Unit quaternions (S, 4) that Blender poses at times (S,), on a continuous path.

    Quaternions are normalized after their components were evaluated, Euler angles are applied in their order, an axis
    of any length counts by its direction.
    still: (4,) what is posed when no track plays.
    """
    track = played_track(clip, channel)
    if track < 0:
        return np.broadcast_to(still, (len(time), 4)).copy()
    kind = clip.tracks.kind[track]
    curves = clip.tracks.curves[track, : COMPONENTS[kind]]
    value = np.repeat(assumed_pose(clip)[track, None, : len(curves)], len(time), axis=0)
    for component in np.flatnonzero(curves >= 0):
        value[:, component] = evaluate(clip.curves, np.full(len(time), curves[component]), time)
    with np.errstate(invalid="ignore"):
        if kind == QUATERNION:
            return quaternion.as_played(value)
        if kind == AXIS_ANGLE:
            # A zero axis turns nothing. Where the axis jumps to its other side the path goes on with what is seen.
            played = quaternion.from_axis_angle(value[:, 1:], value[:, 0])
            return quaternion.continuous(played)
        return euler.to_quaternion(value, clip.tracks.order[track])


def key_times(clip: Clip, channel: Channel) -> Floats:
    """(K,) finite times at which the channel is keyed, rising, those of one frame once."""
    track = played_track(clip, channel)
    curves = clip.tracks.curves[track] if track >= 0 else np.zeros(0, dtype=np.int64)
    rows = [clip.curves.co[clip.curves.rows(int(curve)), 0] for curve in curves if curve >= 0]
    times = np.unique(np.concatenate(rows).astype(np.float64)) if rows else np.zeros(0)
    times = times[np.isfinite(times)]
    return np.asarray(times[np.diff(times, prepend=-np.inf) > SAME_TIME_FRAMES])


def compare_channel(
    before: Clip, after: Clip, channel: Channel, frames: tuple[float, float], still: Floats = IDENTITY
) -> Angles:
    """Both clips over the frames around a place.

    frames: the two keys that the fault lies between, or one frame twice when it lies at a key.
    """
    keys = key_times(before, channel), key_times(after, channel)
    every = np.unique(np.concatenate(keys))
    step = _step(every, frames)
    start, end = _range(every, step)
    inside = [k[(k >= start) & (k <= end)] for k in keys]
    time = np.unique(np.concatenate([np.linspace(start, end, GRAPH_SAMPLES), *inside]))
    was, now = rotations(before, channel, time, still), rotations(after, channel, time, still)
    reference = next((q for q in (was[0], now[0], *was, *now) if np.isfinite(q).all()), IDENTITY)
    apart = np.nan_to_num(np.degrees(quaternion.angle_between(was, now)), nan=0.0)
    apart[(time < step[0]) | (time > step[1])] = 0.0
    return Angles(
        time=time,
        before=was,
        after=now,
        before_deg=np.degrees(quaternion.angle_between(reference, was)),
        after_deg=np.degrees(quaternion.angle_between(reference, now)),
        keys_before=inside[0],
        keys_after=inside[1],
        step=step,
        swept_deg=(_swept(time, was, step), _swept(time, now, step)),
        difference_deg=float(apart.max()),
        difference_frame=float(time[apart.argmax()]),
    )


def _step(keys: Floats, frames: tuple[float, float]) -> tuple[float, float]:
    """The two keys, or for a fault at one key those on both sides of it."""
    first, second = frames
    if not np.isfinite(first):
        first = second = float(keys[0]) if len(keys) else 0.0
    if second - first > SAME_TIME_FRAMES:
        return float(first), float(second)
    earlier, later = keys[keys < first - SAME_TIME_FRAMES], keys[keys > first + SAME_TIME_FRAMES]
    if not len(earlier) and not len(later):
        return float(first) - ALONE_MARGIN, float(first) + ALONE_MARGIN
    return (float(earlier[-1]) if len(earlier) else float(first), float(later[0]) if len(later) else float(first))


def _range(keys: Floats, step: tuple[float, float]) -> tuple[float, float]:
    """First and last frame that is shown: keyed ones, within a margin of the step."""
    margin = float(np.clip(step[1] - step[0], LEAST_MARGIN, MOST_MARGIN))
    near = keys[(keys >= step[0] - margin) & (keys <= step[1] + margin)]
    return min([step[0], *near.tolist()]), max([step[1], *near.tolist()])


def _swept(time: Floats, path: Floats, step: tuple[float, float]) -> float:
    inside = (time >= step[0]) & (time <= step[1])
    return float(np.degrees(quaternion.path_length(path[inside])))


def pose_frames(angles: Angles, most: int = MOST_POSES) -> Floats:
    """Frames at which poses are worth having: the keys, the furthest difference, and more the faster it turns.

    At most `most`; the ends, the keys of the step and the furthest difference are always among them.
    """
    turned = _travel_deg(angles.before) + _travel_deg(angles.after)
    cost = np.concatenate([[0.0], np.cumsum(turned / POSE_STEP_DEG + np.diff(angles.time))])
    needed = [angles.time[0], angles.time[-1], *angles.step, angles.difference_frame]
    keys = np.concatenate([angles.keys_before, angles.keys_after])
    needed = np.unique(np.concatenate([needed, keys[:: 1 + len(keys) * 2 // most]]))
    count = int(np.clip(np.ceil(cost[-1]) + 1, 2, max(2, most - len(needed))))
    return np.asarray(
        np.unique(np.concatenate([needed, np.interp(np.linspace(0.0, cost[-1], count), cost, angles.time)]))
    )


def _travel_deg(path: Floats) -> Floats:
    """(S - 1,) degrees turned from sample to sample; 0 where a sample is no rotation."""
    return np.nan_to_num(np.degrees(quaternion.arc_angle(path[:-1], path[1:])), nan=0.0)
