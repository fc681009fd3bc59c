# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from who plays a clip: in which ways, and as which views of it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.motion.clip import EULER_ORDERS, Clip
from quat_audit.motion.readers import (
    Reader,
    Way,
    fills_alike,
    in_mode,
    players,
    playing,
    readers_of_way,
    shares_middle_axis,
    unread,
    views,
    views_of,
    ways,
)
from quat_audit.results.rows import clip_state
from tests.clips import IDENTITY, NAN, euler_clip, joined, quaternion_clip, turns

ZERO = (0.0, 0.0, 0.0, 0.0)
EULER_PATH = 'pose.bones["Arm"].rotation_euler'
PATH = 'pose.bones["Arm"].rotation_quaternion'


def angles(**options: Any) -> Clip:
    return euler_clip([1, 10], [[0, 0, 0], [10, 20, 30]], **options)


def quaternions(**options: Any) -> Clip:
    return quaternion_clip([1, 10], turns("X", [0, 40]), **options)


def reader(
    mode: str, fill: Sequence[float] = ZERO, path: str = EULER_PATH, owner: str = "Rig", **options: Any
) -> Reader:
    w, x, y, z = fill
    return Reader(owner=owner, ways={path: Way(mode, (w, x, y, z))}, **options)


def read(clip: Clip, *readers: Reader) -> Clip:
    return replace(clip, readers=readers, users=tuple(dict.fromkeys(r.owner for r in readers)))


def orders(clip: Clip, track: int = 0) -> list[str]:
    return [way.mode for way in ways(clip)[track]]


@pytest.mark.parametrize("order", EULER_ORDERS)
def test_one_reader_plays_in_one_way(order):
    clip = read(angles(order=order), reader(order))
    assert orders(clip) == [order] and len(views(clip)) == 1 and shares_middle_axis(clip).all()


@pytest.mark.parametrize("one", EULER_ORDERS)
@pytest.mark.parametrize("other", EULER_ORDERS)
def test_two_orders_share_the_middle_axis_or_not(one, other):
    clip = read(angles(order=one), reader(one), reader(other, owner="Other"))
    assert orders(clip) == list(dict.fromkeys([one, other]))
    assert shares_middle_axis(clip).tolist() == [one[1] == other[1]]
    assert [view.tracks.order for view in views(clip)] == [(order,) for order in dict.fromkeys([one, other])]


@pytest.mark.parametrize("order", EULER_ORDERS)
@pytest.mark.parametrize("who", [(), (reader("QUATERNION"),), (reader("ANIMATED"),), (reader("XYZ", path="another"),)])
def test_an_order_that_nobody_tells_is_any(order, who):
    """Nobody plays it, nobody who plays Euler angles, nobody whose mode is known, nobody who has the bone."""
    clip = read(angles(order=order), *who)
    assert sorted({way[1] for way in orders(clip)}) == ["X", "Y", "Z"] and orders(clip)[0] == order
    assert not shares_middle_axis(clip).any()


def test_a_quaternion_is_the_same_in_every_mode():
    clip = read(quaternions(), *(reader(mode, IDENTITY, PATH) for mode in (*EULER_ORDERS, "QUATERNION", "AXIS_ANGLE")))
    assert len(views(clip)) == 1 and shares_middle_axis(clip).all()


def test_a_reader_in_another_mode_beside_one_that_plays_stands_for_all_orders():
    clip = read(angles(order="ZXY"), reader("ZXY"), reader("AXIS_ANGLE", owner="Other"))
    assert {order[1] for order in orders(clip)} == {"X", "Y", "Z"}


@pytest.mark.parametrize(
    "fills, alike",
    [
        ([IDENTITY], True),
        ([IDENTITY, IDENTITY], True),
        ([IDENTITY, (1.0, 0.5, 0.0, 0.0)], False),  # x has no curve
        ([IDENTITY, (0.5, 0.0, 0.5, 0.5)], True),  # only what has curves
        ([(1.0, NAN, 0.0, 0.0)], False),
        ([IDENTITY, (1.0, NAN, 0.0, 0.0)], False),
        ([], False),
    ],
)
def test_fills_of_the_absent_component(fills, alike):
    clip = quaternions(components=(0, 2, 3), pose=fills[0] if fills else (NAN,) * 4)
    clip = read(clip, *(reader("QUATERNION", fill, PATH) for fill in fills))
    assert fills_alike(clip).tolist() == [alike]
    assert len(views(clip)) == len({repr(fill[1]) for fill in fills} or {""})
    for view, fill in zip(views(clip), dict.fromkeys(repr(f[1]) for f in fills), strict=False):
        assert repr(float(view.tracks.pose[0, 1])) == fill


def test_views_where_one_track_has_more_ways_than_another():
    one = read(joined(angles(order="XYZ"), quaternions(bone="Leg")), reader("XYZ"), reader("ZXY", owner="Other"))
    assert [view.tracks.order for view in views(one)] == [("XYZ", "XYZ"), ("ZXY", "XYZ")]
    assert [r.owner for r in readers_of_way(one, 0, 1)] == ["Other"]
    assert [r.owner for r in readers_of_way(one, 0, 0)] == ["Rig"]
    assert readers_of_way(one, 1, 1) == ()  # it has one way only
    # The same for an edited clip, by the readers of the one before.
    edited = replace(one, readers=())
    assert [view.tracks.order for view in views_of(edited, one)] == [("XYZ", "XYZ"), ("ZXY", "XYZ")]


def test_drivers_play_nothing():
    driver = Reader(owner="Driven", route="driver", by="location", reads=frozenset([(EULER_PATH, 2)]))
    clip = read(angles(), reader("XYZ"), driver)
    assert [r.owner for r in players(clip)] == ["Rig"] and orders(clip) == ["XYZ"]


def test_users_without_readers_play_in_the_modes_of_the_tracks():
    clip = angles(modes=("XYZ", "ZXY"), users=("A", "B"))
    assert [(r.owner, r.ways[EULER_PATH].mode) for r in players(clip)] == [("A", "XYZ"), ("B", "ZXY")]
    assert orders(clip) == ["XYZ", "ZXY"]


def test_the_muted_count_only_when_no_other_plays():
    muted, now = reader("XYZ", muted=True), reader("ZXY")
    assert playing([muted, now]) == (now,) and playing([muted]) == (muted,) and playing([]) == ()


def test_only_an_action_is_unread():
    assert unread(angles(users=())) and not unread(angles()) and not unread(angles(users=(), format="bvh"))


def test_another_mode_is_everybodys():
    clip = read(angles(), reader("XYZ"), reader("QUATERNION", owner="Other"))
    after = in_mode(clip, {EULER_PATH: "YXZ"})
    assert after.tracks.modes == (("YXZ",),)
    assert [r.ways[EULER_PATH].mode for r in after.readers] == ["YXZ", "YXZ"]
    assert clip.readers[0].ways[EULER_PATH].mode == "XYZ"


WORDS = {
    "Rig": reader("XYZ"),
    "Rig, by the strip 'Walk'": reader("XYZ", route="strip", by="Walk"),
    "Rig, by the muted strip 'Walk'": reader("XYZ", route="strip", by="Walk", muted=True),
    "Rig, by the Action constraint 'Lid'": reader("XYZ", route="constraint", by="Lid"),
    "Rig, by the muted Action constraint 'Lid'": reader("XYZ", route="constraint", by="Lid", muted=True),
    "Rig, by the driver of location[2]": reader("XYZ", route="driver", by="location[2]"),
}


@pytest.mark.parametrize("words", WORDS)
def test_who_it_is(words):
    assert str(WORDS[words].words) == words
    assert pickle.loads(pickle.dumps(WORDS[words].words)).template == WORDS[words].words.template


CHANGES: dict[str, dict[str, Any]] = {
    "owner": {"owner": "Other"},
    "route": {"route": "strip"},
    "by": {"by": "Walk"},
    "muted": {"muted": True},
    "linked": {"linked": True},
    "mixed": {"mixed": "its influence is below 1", "mixed_paths": frozenset([EULER_PATH])},
    "mode": {"ways": {EULER_PATH: Way("ZXY", ZERO)}},
    "fill": {"ways": {EULER_PATH: Way("XYZ", (0.0, 1.0, 0.0, 0.0))}},
    "reads": {"reads": frozenset([(EULER_PATH, 1)])},
    "rivals": {"rivals": frozenset(["rotation_euler"])},
    "covers": {"covers": frozenset(["rotation_euler"])},
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_reader_is_another_state_of_the_clip(name):
    clip = read(angles(), reader("XYZ"))
    changed = replace(clip, readers=(replace(clip.readers[0], **CHANGES[name]),))
    assert clip_state(changed) != clip_state(clip)


def test_readers_that_are_equal_are_the_same_state():
    one, two = (read(angles(), reader("XYZ", (0.0, NAN, 0.0, 0.0)), reader("ZXY", owner="B")) for _ in range(2))
    assert one.readers[0] is not two.readers[0] and clip_state(one) == clip_state(two)
    # The order in which sets were filled says nothing.
    paths = [frozenset([f"{n}" for n in some]) for some in (range(50), reversed(range(50)))]
    states = {clip_state(replace(one, readers=(replace(one.readers[0], rivals=p),))) for p in paths}
    assert len(states) == 1


def test_an_instead_that_is_unknown_is_a_state_too():
    one, two = (
        read(angles(), Reader(owner="Rig", ways={EULER_PATH: Way("QUATERNION", ZERO, shown)}))
        for shown in ((NAN,) * 4, (1.0, 0.0, 0.0, 0.0))
    )
    assert clip_state(one) != clip_state(two) and np.isnan(one.readers[0].ways[EULER_PATH].instead).all()
