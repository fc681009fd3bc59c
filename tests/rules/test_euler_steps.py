# SPDX-License-Identifier: GPL-3.0-or-later
"""Spin or wrap: the shares by which the steps beside a long one decide, just inside and just outside each.

Every track has one step that takes the long way, ten frames long, between steps whose speeds are exact shares of the
short way's.
"""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.motion.clip import Clip
from quat_audit.rules.qa201_euler_wraparound import RULE
from tests.clips import euler_clip
from tests.contract import assert_contract, found

GAP = 10.0
WRAP, SPIN, LOOKS_LIKE_A_WRAP = ("visible", "safe"), ("ambiguous", "unsafe"), ("ambiguous-straddling", "unsafe")


def track(
    first: list[float], short: list[float], before: list[float], after: list[float], beside: float, order: str = "XYZ"
) -> Clip:
    """A step of `short` degrees from `first`, with X a turn off.

    `before` and `after` are degrees in GAP frames, the speed of the steps at its sides; these are `beside` frames long.
    """
    start, end = np.array(first), np.array(first) + np.array(short)
    keys = np.array([start - np.array(before) * beside / GAP, start, end, end + np.array(after) * beside / GAP])
    keys[2:, 0] -= 360.0 * np.sign(short[0])
    times = np.array([1.0, 1.0 + beside, 1.0 + beside + GAP, 1.0 + 2 * beside + GAP])
    return euler_clip(times, keys, order, dtype=np.float64)


def judged(clip: Clip, **limits: float) -> tuple[str, str]:
    """Class and fix of the one step that is found."""
    ((_, kind, _, fix),) = found(clip, RULE, {"QA201": limits})
    return kind, fix


# What a step of the short way beside the wrap says at this share of its speed.
MOVING = [(0.0, WRAP), (0.095, WRAP), (0.105, LOOKS_LIKE_A_WRAP)]
SPEEDS = [(0.32, SPIN), (0.345, WRAP), (1.0, WRAP), (2.95, WRAP), (3.05, SPIN)]


@pytest.mark.parametrize("order", ["XYZ", "ZXY"])
@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize("slow_first", [False, True])
@pytest.mark.parametrize(("share", "expected"), MOVING)
def test_a_neighbor_slower_than_a_tenth_says_nothing(
    share: float, expected: tuple[str, str], slow_first: bool, direction: float, order: str
) -> None:
    """350 → 10 after a step at its own speed: one such neighbor is enough, unless the other one moves otherwise."""
    same, slow = [20.0 * direction, 0, 0], [20.0 * direction * share, 0, 0]
    before, after = (slow, same) if slow_first else (same, slow)
    clip = track([350.0 * direction, 0, 0], same, before, after, GAP, order)
    assert judged(clip) == expected
    assert_contract(clip, RULE)


@pytest.mark.parametrize("order", ["XYZ", "ZXY"])
@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize(("share", "expected"), SPEEDS)
def test_speeds_are_alike_up_to_three_times(
    share: float, expected: tuple[str, str], direction: float, order: str
) -> None:
    """Two neighbors are needed here: 75 → −185 are no values that look like a wrap."""
    short = [100.0 * direction, 0, 0]
    beside = [share * value for value in short]
    clip = track([75.0 * direction, 0, 0], short, beside, beside, 4.0, order)
    assert judged(clip) == expected
    assert_contract(clip, RULE)


@pytest.mark.parametrize("share", [0.345, 2.95])
def test_one_neighbor_alone_does_not_make_a_wrap_of_it(share: float) -> None:
    for before, after in (([share * 100.0, 0, 0], [0.0, 0, 0]), ([0.0, 0, 0], [share * 100.0, 0, 0])):
        assert judged(track([75.0, 0, 0], [100.0, 0, 0], before, after, 4.0)) == SPIN


@pytest.mark.parametrize("direction", [1.0, -1.0])
@pytest.mark.parametrize(("more", "expected"), [(205.0, WRAP), (210.0, SPIN)])
def test_the_short_way_is_twice_as_near(more: float, expected: tuple[str, str], direction: float) -> None:
    """All axes turn by 100°, X wraps, and beside it Z is faster: by d, against √(360² + d²) on the way played.

    Half of that is d at 207.8. The speeds are alike up to 254.
    """
    short = [100.0 * direction, 100.0, 100.0]
    beside = [100.0 * direction, 100.0, 100.0 + more]
    clip = track([20.0 * direction, -50.0, 0], short, beside, beside, 4.0)
    assert judged(clip) == expected


def test_a_neighbor_may_be_much_faster_on_one_axis() -> None:
    """170° after 480° in the same time: 310 from the short way, 670 from the way played, which is 0.46 of it."""
    clip = track([75.0, 0, 0], [170.0, 0, 0], [480.0, 0, 0], [480.0, 0, 0], 3.0)
    assert judged(clip) == WRAP
    assert_contract(clip, RULE)


def test_a_neighbor_that_turns_the_other_way_speaks_against_a_wrap() -> None:
    same, back = [20.0, 0, 0], [-20.0, 0, 0]
    for before, after in ((same, back), (back, same)):
        assert judged(track([350.0, 0, 0], same, before, after, GAP)) == LOOKS_LIKE_A_WRAP


@pytest.mark.parametrize(
    ("limit", "value", "share", "expected"),
    [
        ("moving_share", 0.2, 0.15, WRAP),
        ("moving_share", 0.05, 0.08, LOOKS_LIKE_A_WRAP),
        ("speed_change_share", 0.95, 0.2, WRAP),
        ("speed_change_share", 0.4, 0.5, LOOKS_LIKE_A_WRAP),
        ("nearer_share", 0.02, 0.5, LOOKS_LIKE_A_WRAP),
    ],
)
def test_the_shares_are_settings(limit: str, value: float, share: float, expected: tuple[str, str]) -> None:
    same = [20.0, 0, 0]
    clip = track([350.0, 0, 0], same, same, [20.0 * share, 0, 0], GAP)
    assert judged(clip) != expected
    assert judged(clip, **{limit: value}) == expected
