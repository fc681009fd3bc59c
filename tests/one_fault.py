# SPDX-License-Identifier: GPL-3.0-or-later
"""A small subject for each rule that has its fault: what a test of every rule goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from quat_audit.motion.clip import BEZIER, QUATERNION, Clip
from quat_audit.motion.readers import Connected, Unbound
from quat_audit.rules.rule import Subject
from quat_audit.skinning.skin import PosedSkin, Skin, make_motion
from tests.clips import axis_angle_clip, channel_clip, euler_clip, joined, quaternion_clip, track_clip, turns
from tests.skinning import scalar

TIMES = [1.0, 11.0, 21.0]
STILL = [[1.0, 0.0, 0.0, 0.0]] * 3


def _keys(key: list[float]) -> Clip:
    """Three keys, the middle one as given."""
    return quaternion_clip(TIMES, [STILL[0], key, STILL[2]])


def _collapse() -> Clip:
    """Two keys 40° apart whose level handles pull all components through zero."""
    values, times = turns("Z", [-20, 20]), np.array([1.0, 11.0])
    left, right = (np.stack([np.repeat(times[:, None], 4, axis=1), values], axis=-1) for _ in range(2))
    left[..., 0] -= 10 / 3
    right[..., 0] += 10 / 3
    # The middle of a Bézier segment is (a + b) / 8 + 3 h / 4 for two handles at the height h.
    right[0, :, 1] = left[1, :, 1] = -values.sum(axis=0) / 6
    return quaternion_clip(times, values, interpolation=BEZIER, handles=(left, right), dtype=np.float64)


def _overshoot() -> Clip:
    """A hold whose level handles rise to 40°."""
    still, rising = np.zeros((2, 3)), np.array([1.0, 11.0])
    left, right = (np.stack([np.repeat(rising[:, None], 3, axis=1), still], axis=-1) for _ in range(2))
    right[0, 0], left[1, 0] = (1 + 10 / 3, np.radians(40)), (11 - 10 / 3, np.radians(40))
    return euler_clip(rising, still, interpolation=BEZIER, handles=(left, right))


def _misaligned() -> Clip:
    values = turns("X", [0.0, 40.0, 90.0])
    whole = {part: (TIMES, values[:, part]) for part in range(3)}
    return track_clip(QUATERNION, whole | {3: (TIMES[::2], values[::2, 3])})


def _stuck() -> Clip:
    """Location keys of a connected bone."""
    path = 'pose.bones["Arm"].location'
    one = Connected(path, "Arm", ("Rig",), 1000.0, True)
    return replace(channel_clip(TIMES, [0.0, 0.5, 0.0], path), connected=(one,))


def _skin(skin: Skin, *degrees: float) -> PosedSkin:
    return PosedSkin(skin, scalar.bend(skin, (0.0, 0.0, 1.0), degrees or (0.0, 150.0)))


def _weights(*weights: list[tuple[int, float]], groups: tuple[str, ...] = ()) -> PosedSkin:
    """A vertex for each list of (group, weight); groups 0 and 1 are the bones'."""
    places = [(0.3, 0.0, 1.0 + n) for n in range(len(weights))]
    return _skin(scalar.make_skin(places, weights, extra_groups=groups))


def _crowd() -> PosedSkin:
    """A vertex with a share of six bones."""
    heads = [(0.0, 0.0, 0.5 * n) for n in range(6)]
    skin = scalar.make_skin([(0.3, 0.0, 0.8)], [[(n, 1 / 6) for n in range(6)]], heads)
    deform = [[scalar.about(scalar.turn((1.0, 0.0, 0.0), 9.0 * n), head) for n, head in enumerate(heads)]]
    return PosedSkin(skin, make_motion(deform))


def _scaled() -> PosedSkin:
    """A tube with Preserve Volume whose second bone is drawn out along one axis."""
    tube = replace(scalar.make_tube(), preserve_volume=True)
    rest = tube.bones.rest[1]
    posed = rest @ np.diag([1.0, 1.5, 0.5, 1.0])
    return PosedSkin(tube, make_motion([[np.eye(4), posed @ np.linalg.inv(rest)]]))


# Code → what has the fault of that rule (it may have others too).
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "QA101": lambda: _keys([np.nan, 0.0, 0.0, 0.0]),
    "QA102": lambda: _keys([0.0, 0.0, 0.0, 0.0]),
    "QA103": lambda: _keys([1.5, 0.0, 0.0, 0.0]),
    "QA104": lambda: _keys([-1.0, 0.0, 0.0, 0.0]),
    "QA105": _collapse,
    "QA106": lambda: _keys([0.0, 1.0, 0.0, 0.0]),
    "QA201": lambda: euler_clip([1.0, 3.0], [[0, 0, 170], [0, 0, -170]]),
    "QA203": lambda: euler_clip([1.0, 25.0], [[0, 0, 0], [0, 0, 360]]),
    # The middle angle passes 90° while the outer two cancel each other.
    "QA204": lambda: euler_clip([1.0, 21.0], [[-44.9, 60.0, -44.9], [44.9, 120.0, 44.9]]),
    "QA205": lambda: axis_angle_clip([1.0, 3.0], [350, 10], [0, 0, 1]),
    "QA301": lambda: quaternion_clip(TIMES, STILL, modes=("XYZ",)),
    "QA302": lambda: quaternion_clip(TIMES, turns("X", [0.0, 40.0, 90.0]), components=(0, 1, 2)),
    "QA303": _misaligned,
    "QA304": lambda: joined(quaternion_clip(TIMES, STILL), quaternion_clip(TIMES, STILL, delta=True)),
    "QA305": lambda: quaternion_clip(TIMES, STILL, orphan=True),
    "QA307": lambda: replace(quaternion_clip(TIMES, STILL), unbound=(Unbound("Rig", "", "", False, -1, True),)),
    "QA308": _stuck,
    "QA401": lambda: quaternion_clip([1.0, 21.0, 11.0], STILL),
    "QA403": _overshoot,
    "QA601": lambda: _weights([(0, 1.0)], []),
    "QA602": lambda: _weights([(0, 1.0)], [(0, 0.5), (1, 0.25)]),
    "QA603": _crowd,
    "QA604": lambda: _weights([(0, 1.0)], [(1, 1.0), (2, 0.5)], groups=("Gone",)),
    "QA605": lambda: _skin(scalar.make_tube()),
    "QA606": lambda: _skin(replace(scalar.make_tube(), preserve_volume=True)),
    "QA607": _scaled,
    "QA608": lambda: _weights([(0, 1.0)], [(0, 1.5), (1, -0.5)]),
}
