# SPDX-License-Identifier: GPL-3.0-or-later
"""A step stands in one rule only, of those that look at how far a step turns: QA104, QA106, QA201, QA203, QA204."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from quat_audit.motion.clip import BEZIER, CONSTANT, EULER, EULER_ORDERS, LINEAR, SLERP, Clip
from quat_audit.rules import RULES
from tests.clips import euler_clip, joined, quaternion_clip, random_quaternions, track_clip, turns
from tests.judging import audit_clip

STEP_RULES = [rule for rule in RULES if rule.code in ("QA104", "QA106", "QA201", "QA203", "QA204")]
KEYS = 40


def random_clip(seed: int) -> Clip:
    """One track of each sort: quaternions of any sign, Euler angles with wraps, turns, triples, holds, flickers."""
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.choice([1.0, 1.0, 2.0, 0.5, 9.0], KEYS))
    modes = rng.choice([CONSTANT, LINEAR, LINEAR, BEZIER], KEYS)
    far = rng.choice([0.0, 60.0, 120.0, 150.0, 180.0, 240.0, 300.0, 355.0, 360.0, 725.0], (KEYS, 3))
    far *= rng.choice([-1, 0, 0, 1], (KEYS, 3))
    spins = np.cumsum(far, axis=0)
    capture = np.cumsum(rng.normal(0, 30, (KEYS, 3)), axis=0)
    capture = (capture + 180.0) % 360.0 - 180.0
    capture[::5] = np.round(capture[::5] / 180.0) * 180.0
    held_apart = {part: np.roll(modes, part) for part in range(3)}
    # The middle angle passes 90° while the outer two nearly cancel each other, here and there with whole turns.
    tipping = rng.choice([-1.0, 1.0], (KEYS, 1)) * [44.9, 30.0, 44.9] + np.where(far >= 360.0, 360.0, 0.0)
    tipping[:, 1] += 90.0
    apart = {0: (times, np.radians(spins[:, 0])), 1: (times[::2], np.radians(capture[::2, 1]))}
    parts = [
        quaternion_clip(times, random_quaternions(rng, KEYS), bone="A", interpolation=modes, handles="thirds"),
        quaternion_clip(times, turns(rng.normal(size=3), spins[:, 0]), bone="B", interpolation=modes),
        quaternion_clip(times, random_quaternions(rng, KEYS), bone="C", interpolation=SLERP),
        euler_clip(times, spins, EULER_ORDERS[seed % 6], bone="D", interpolation=held_apart),
        euler_clip(times, capture, EULER_ORDERS[-seed % 6], bone="E", interpolation=modes, handles="thirds"),
        track_clip(EULER, apart, bone="F"),
        euler_clip(times, tipping, bone="G", interpolation=modes, handles="thirds"),
    ]
    return joined(*parts)


@pytest.mark.parametrize("seed", range(12))
def test_a_step_is_reported_once(seed: int) -> None:
    told = Counter(
        (finding.data_path, *frames)
        for finding in audit_clip(random_clip(seed), STEP_RULES)
        for frames in finding.occurrences.frames.tolist()
    )
    assert len(told) > KEYS
    assert [place for place, times in told.items() if times > 1] == []


def test_all_of_these_rules_speak() -> None:
    """Or the test above would be of no use."""
    codes = {finding.code for seed in range(3) for finding in audit_clip(random_clip(seed), STEP_RULES)}
    assert codes == {rule.code for rule in STEP_RULES}
