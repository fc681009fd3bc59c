# SPDX-License-Identifier: GPL-3.0-or-later
"""Angles before and after, against closed forms; and what a safe fix leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.comparison.angles import MOST_POSES, Channel, compare_channel, pose_frames, rotations
from quat_audit.motion.clip import EULER_ORDERS
from quat_audit.rotation.quaternion import angle_between
from tests import clips
from tests.judging import repair_clip

FRAMES = (1.0, 11.0)


def channel(clip) -> Channel:
    return Channel(clip.tracks.data_path[0], clip.tracks.bone[0])


def euler(order: str, values) -> object:
    return clips.euler_clip(FRAMES, np.array(values, dtype=float), order=order)


@pytest.mark.parametrize("order", EULER_ORDERS)
@pytest.mark.parametrize("axis", range(3))
def test_an_euler_wrap(order: str, axis: int) -> None:
    values = np.zeros((2, 3))
    values[:, axis] = (10.0, 350.0)
    before = euler(order, values)
    values[1, axis] = -10.0
    found = compare_channel(before, euler(order, values), channel(before), FRAMES)
    assert found.swept_deg == pytest.approx((340.0, 20.0), abs=1e-3)
    middle = np.array([6.0])  # at 180°: 170° from 10°; after at 0°: 10° from it
    assert found.at(middle)[0] == pytest.approx(170.0, abs=0.1)
    assert found.at(middle)[1] == pytest.approx(10.0, abs=0.1)
    assert found.difference_deg == pytest.approx(180.0, abs=0.5)
    assert found.difference_frame == pytest.approx(6.0, abs=0.02)
    assert found.before_deg[0] == found.after_deg[0] == 0.0


def test_a_flip_between_poses_that_are_12_degrees_apart() -> None:
    keys = clips.turns("Z", (0.0, 12.0))
    flipped = keys * [[1.0], [-1.0]]
    before, after = (clips.quaternion_clip(FRAMES, v) for v in (flipped, keys))
    found = compare_channel(before, after, channel(before), FRAMES)
    assert found.swept_deg == pytest.approx((348.0, 12.0), abs=1e-3)
    assert found.before_deg.max() == pytest.approx(180.0, abs=1.0)
    assert found.after_deg.max() == pytest.approx(12.0, abs=1e-6)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (3.0, -4.0, 1.0)])
@pytest.mark.parametrize(
    ("degrees", "sides", "near", "swept_deg"),
    [
        ((350, 10), (1, 1), (350, 370), 340.0),
        ((80, -90), (1, -1), (80, 90), 180.0),
        ((170, 170), (1, -1), (170, 190), 20.0),
    ],
)
def test_an_axis_angle(axis, degrees, sides, near, swept_deg: float) -> None:
    """An axis that turns over goes through zero and jumps: what is seen of that is the jump."""
    before = clips.axis_angle_clip(FRAMES, degrees, np.outer(sides, axis))
    found = compare_channel(before, repair_clip(before, unsafe=True).subject, channel(before), FRAMES)
    turned = abs(near[1] - near[0])
    assert found.swept_deg == pytest.approx((swept_deg, turned), abs=1.0)
    assert found.before_deg[[0, -1]] == pytest.approx(found.after_deg[[0, -1]], abs=1e-4)
    assert found.after_deg.max() == pytest.approx(turned, abs=1e-3)
    after = clips.axis_angle_clip(FRAMES, near, axis)
    assert np.degrees(angle_between(found.after, rotations(after, channel(after), found.time))).max() < 1e-3


@pytest.mark.parametrize("seed", range(8))
def test_a_safe_fix_meets_the_curve_before_it_at_every_key(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frames = np.cumsum(rng.uniform(1.0, 6.0, size=8))
    values = clips.turns(rng.normal(size=3), np.cumsum(rng.uniform(0.0, 50.0, size=8)))
    values *= rng.choice([-1.0, 1.0], size=(8, 1))
    before = clips.quaternion_clip(frames, values)
    after = repair_clip(before).subject
    found = compare_channel(before, after, channel(before), (frames[3], frames[4]))
    was, now = (rotations(clip, channel(before), found.keys_before) for clip in (before, after))
    assert len(found.keys_before) > 1
    assert np.degrees(angle_between(was, now)).max() < 1e-4
    assert found.swept_deg[1] <= found.swept_deg[0] + 1e-6


def test_poses_are_few_and_the_keys_are_among_them() -> None:
    before = euler("XYZ", [[0.0, 0.0, 0.0], [36000.0, 0.0, 0.0]])
    found = compare_channel(before, before, channel(before), FRAMES)
    frames = pose_frames(found)
    assert len(frames) <= MOST_POSES
    assert set(FRAMES) <= set(frames) and found.difference_frame in frames
    still = compare_channel(euler("XYZ", np.zeros((2, 3))), before, channel(before), FRAMES)
    assert len(pose_frames(still)) >= 11  # one a frame at least


def test_a_fault_at_a_key_is_shown_between_its_neighbours() -> None:
    frames = (1.0, 5.0, 9.0, 13.0)
    values = clips.turns("X", (0.0, 10.0, 20.0, 30.0))
    values[1] = np.nan
    before = clips.quaternion_clip(frames, values)
    found = compare_channel(before, repair_clip(before).subject, channel(before), (5.0, 5.0))
    assert found.step == (1.0, 9.0)
    assert np.isnan(found.before_deg[(found.time > 1.0) & (found.time < 9.0)]).all()
    assert np.isfinite(found.after_deg).all() and found.swept_deg[1] == pytest.approx(20.0, abs=1e-3)
    assert len(pose_frames(found)) <= MOST_POSES


def test_what_nothing_plays_holds_still() -> None:
    before = euler("XYZ", [[0.0, 0.0, 0.0], [90.0, 0.0, 0.0]])
    elsewhere = Channel("other", "Nobody")
    assert rotations(before, elsewhere, np.arange(3.0)).tolist() == [[1.0, 0.0, 0.0, 0.0]] * 3
