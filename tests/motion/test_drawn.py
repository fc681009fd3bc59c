# SPDX-License-Identifier: GPL-3.0-or-later
"""Which times of a clip are drawn, held against a list of scene frames worked out one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.motion.clip import CONSTANT, Clip
from quat_audit.motion.drawn import AT_KEY, MOST, drawn, drawn_between, offset_deg
from quat_audit.motion.keys import rotation_keys, rotation_steps
from quat_audit.motion.readers import Drawn, Reader, Way
from tests.clips import IDENTITY, about, quaternion_clip, turns
from tests.oracle import scalar_raw, scalar_rotation, turn_deg

PATH = 'pose.bones["Arm"].rotation_quaternion'


def shown(*items: Drawn, times=(1.0, 11.0), values=None, **options) -> Clip:
    """A clip whose one reader draws these times."""
    clip = quaternion_clip(times, turns("Z", [0, 30][: len(times)]) if values is None else values, **options)
    who = Reader(owner="Rig", ways={PATH: Way("QUATERNION", IDENTITY)}, drawn=items)
    return replace(clip, readers=(who,), users=("Rig",))


def between(item: Drawn, first: float, second: float) -> bool:
    return bool(drawn_between(shown(item), np.array([first]), np.array([second]))[0])


def scalar_between(item: Drawn, first: float, second: float) -> bool:
    """The same, by looking at every frame that there is."""
    if item.times:
        frames = list(item.times)
    elif item.spacing == 0.0:
        return second - first > 2 * AT_KEY and min(second, item.last) > max(first, item.first)
    else:
        numbers = range(
            math.floor((-300 - item.start) / item.spacing), math.ceil((300 - item.start) / item.spacing) + 1
        )
        frames = [item.start + n * item.spacing for n in numbers]
    inside = [f for f in frames if item.first - AT_KEY <= f <= item.last + AT_KEY]
    return any(first + AT_KEY < f < second - AT_KEY for f in inside)


COMBS = {
    "whole frames": Drawn(),
    "at half frames": Drawn(0.5),
    "a strip of scale 1/3": Drawn(1.0, 3.0, 1.0, 61.0),
    "a strip of scale 2": Drawn(0.25, 0.5, 1.0, 61.0),
    "100 frames as 400": Drawn(0.0, 0.25),
    "a strip that ends": Drawn(0.0, 1.0, 1.0, 10.0),
    "a strip-time curve": Drawn(times=(1.0, 2.5, 2.75, 9.0)),
    "any time": Drawn(spacing=0.0),
}


@pytest.mark.parametrize("name", COMBS)
def test_between_two_times(name):
    item, rng = COMBS[name], np.random.default_rng(11)
    first = np.round(rng.uniform(-5, 65, 400) * 8) / 8
    second = first + np.round(rng.uniform(0.05, 4, 400) * 16) / 16 + 1 / 16
    found = drawn_between(shown(item), first, second)
    expected = [scalar_between(item, a, b) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    assert found.tolist() == expected
    if name not in ("any time", "100 frames as 400"):
        assert set(expected) == {True, False}


def test_a_frame_at_a_key_is_not_between():
    assert not between(Drawn(), 1.0, 2.0)
    assert between(Drawn(), 1.0, 2.01)
    assert not between(Drawn(), 1.0, 2.0 + AT_KEY / 2)
    # A thousand seconds in float32 are no better than that.
    far = 90000.0
    assert not between(Drawn(), far, float(np.float32(far + 1)) + 0.008)


def test_of_several_any_and_the_muted_only_when_alone():
    clip = shown(Drawn(0.0, 3.0), Drawn(1.0, 3.0))
    now = drawn_between(clip, np.array([0.5, 1.5, 2.0]), np.array([1.5, 2.5, 3.5]))
    assert now.tolist() == [True, False, True]
    muted = replace(clip.readers[0], muted=True, drawn=(Drawn(2.0, 3.0),))
    both = replace(clip, readers=(*clip.readers, muted))
    assert drawn(both) == clip.readers[0].drawn
    assert drawn(replace(clip, readers=(muted,))) == (Drawn(2.0, 3.0),)


def test_nobody_tells_whole_frames():
    assert drawn(quaternion_clip([1, 2], turns("Z", [0, 1]), users=())) == (Drawn(),)


def test_the_offset_is_that_of_the_worst_frame():
    """A flip over ten frames, against the scalar reference on each frame that the strip draws."""
    values = np.array([about("Z", 10), [-v for v in about("Z", 40)]])
    for item in (Drawn(), Drawn(0.3, 0.7), Drawn(times=(2.0, 5.5, 10.5)), Drawn(0.0, 1.0, 1.0, 4.0)):
        clip = shown(item, values=values)
        keys, steps = rotation_keys(clip, "QUATERNION"), rotation_steps(clip, "QUATERNION")
        frames = item.times or np.arange(item.start, 11.0, item.spacing)
        offsets = []
        for frame in (f for f in frames if 1 < f < 11 and item.first <= f <= item.last):
            played = scalar_rotation(clip, 0, scalar_raw(clip, 0, float(frame)))
            assert played is not None
            offsets.append(turn_deg(played, about("Z", 10 + 3.0 * (float(frame) - 1))))
        assert offset_deg(clip, keys, steps, np.array([0]))[0] == pytest.approx(max(offsets), abs=1e-3)


def test_no_frame_no_offset():
    clip = shown(Drawn(0.0, 20.0), values=np.array([about("Z", 0), [-v for v in about("Z", 30)]]))
    keys, steps = rotation_keys(clip, "QUATERNION"), rotation_steps(clip, "QUATERNION")
    assert offset_deg(clip, keys, steps, np.array([0])).tolist() == [0.0]


def test_of_many_frames_some_are_looked_at_from_end_to_end():
    """A thousand frames: the looked-at ones are spread over them, so that a flip's middle is not missed."""
    values = np.array([about("Z", 0), [-v for v in about("Z", 60)]])
    clip = shown(Drawn(), times=(1.0, 1001.0), values=values)
    keys, steps = rotation_keys(clip, "QUATERNION"), rotation_steps(clip, "QUATERNION")
    # The largest of all frames is about 150 degrees, within a sixteenth of the way of the middle.
    assert MOST == 16 and offset_deg(clip, keys, steps, np.array([0]))[0] > 100


def test_what_is_held_and_jumps_is_as_it_is_drawn():
    clip = shown(Drawn(), values=turns("Z", [0, 90]), interpolation=CONSTANT)
    keys, steps = rotation_keys(clip, "QUATERNION"), rotation_steps(clip, "QUATERNION")
    assert offset_deg(clip, keys, steps, np.array([0]))[0] == pytest.approx(81.0, abs=0.1)  # frame 10
