# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading an action in slices: the same clips, short slices on a million keys, and no stale pointer after an undo."""

from __future__ import annotations

import time
from dataclasses import fields

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import read, users
from quat_audit.errors import GoneError
from quat_audit.motion.clip import Clip
from tests.blender import build_case as build
from tests.contract import frozen

# What the interface promises between two redraws, in seconds of work (the clock on the wall also counts what else the
# machine does).
MOST_SECONDS = 0.25


def make_action(bones: int = 3, keys: int = 20, interpolation: int = 2, slot: str = "Rig", apart: bool = False):
    rig = bpy.data.objects.get(slot) or build.make_rig(slot, [f"B{n}" for n in range(bones)])
    fcurves = build.make_fcurves("A", slot)
    rng = np.random.default_rng(bones)
    for bone in range(bones):
        values = rng.normal(size=(keys, 4)).astype("f4")
        for component in range(4):
            curve = fcurves.new(f'pose.bones["B{bone}"].rotation_quaternion', index=component)
            points = curve.keyframe_points
            points.add(keys)
            co = np.stack([np.arange(keys) * 2.0 + apart * (component == 2), values[:, component]], axis=1).astype("f4")
            points.foreach_set("co", co.ravel())
            points.foreach_set("handle_left", (co - np.array([0.5, 0.0])).astype("f4").ravel())
            points.foreach_set("handle_right", (co + np.array([0.5, 0.0])).astype("f4").ravel())
            points.foreach_set("interpolation", np.full(keys, interpolation, dtype=np.uint8))
    action = bpy.data.actions["A"]
    build.assign(rig.animation_data_create(), action, slot)
    return action


def same_clip(a: Clip, b: Clip) -> None:
    for part in ("curves", "tracks"):
        for field in fields(getattr(a, part)):
            ours, theirs = (frozen(getattr(getattr(clip, part), field.name)) for clip in (a, b))
            assert ours == theirs, f"{part}.{field.name}"
    for name in ("action", "slot", "owner", "users", "frame_rate", "not_evaluated", "ignores", "format", "seconds"):
        assert getattr(a, name) == getattr(b, name), name


@pytest.mark.parametrize("slice_seconds", [0.0, 60.0], ids=["a slice an array", "a slice a slot"])
def test_the_steps_read_what_reading_at_once_reads(slice_seconds: float) -> None:
    action = make_action(interpolation=7)  # an easing equation: all arrays are read
    if build.has_slots():
        make_action(bones=2, slot="Other")
    slices = list(read.read_action_slices(action, slice_seconds=slice_seconds))
    *before, (done, total, clips) = slices
    at_once = read.read_action(action)
    assert total == done == sum(len(record.clip.curves.co) for record in at_once) > 200
    assert all(clips == () for _, _, clips in before)
    assert [d for d, _, _ in slices] == sorted(d for d, _, _ in slices) and {t for _, t, _ in slices} == {total}
    assert len(clips) == len(at_once) == 1 + build.has_slots()
    for ours, theirs in zip(clips, at_once, strict=True):
        same_clip(ours.clip, theirs.clip)
        place = ("action_uid", "handle", "layer", "strip")
        assert [getattr(ours, name) for name in place] == [getattr(theirs, name) for name in place]
    arrays = 4 * sum(len(record.clip.curves) for record in at_once)
    assert (len(slices) > arrays) == (slice_seconds == 0.0), "the slice decides how long a slice is"


def test_an_action_without_curves_has_its_last_step_too() -> None:
    action = bpy.data.actions.new("Empty")
    *_, (done, total, clips) = read.read_action_slices(action)
    assert (done, total) == (0, 0)
    assert [len(record.clip.curves) for record in clips] == [0]


@pytest.mark.parametrize("change", ["key", "curve", "order"])
def test_a_change_between_two_steps_is_noticed(change: str) -> None:
    action = make_action()
    slices = read.read_action_slices(action, slice_seconds=0.0)
    while next(slices)[0] == 0:
        pass
    fcurves = build.fcurves_of(action)
    if change == "key":
        fcurves[5].keyframe_points.add(1)
    elif change == "curve":
        fcurves.remove(fcurves[5])
    else:
        fcurves[5].array_index = 7
    with pytest.raises(GoneError, match="'A' changed while it was read: read it again"):
        list(slices)


def test_an_action_that_is_removed_between_two_steps_is_noticed() -> None:
    action = make_action()
    slices = read.read_action_slices(action, slice_seconds=0.0)
    while next(slices)[0] == 0:
        pass
    bpy.data.actions.remove(action)
    with pytest.raises(GoneError, match="'A' is no longer in this file"):
        list(slices)


def test_curves_that_moved_in_memory_are_found_anew() -> None:
    # As after an undo: the same curves at other addresses.
    action = make_action()
    expected = read.read_action(action)[0].clip
    slices = read.read_action_slices(action, slice_seconds=0.0)
    while next(slices)[0] == 0:
        pass
    fcurves = build.fcurves_of(action)
    old = [(c.data_path, c.array_index) for c in fcurves]
    before = [c.as_pointer() for c in fcurves]
    strangers = build.make_fcurves("B", "Other")
    keys = {(c.data_path, c.array_index): np.array([v for k in c.keyframe_points for v in k.co], "f4") for c in fcurves}
    for path, index in old:  # made while the old ones are there, so that no address is used again
        points = fcurves.new(f"{path}_new", index=index).keyframe_points
        co = keys[path, index]
        points.add(len(co) // 2)
        points.foreach_set("co", co)
    for path, index in old:
        fcurves.remove(fcurves.find(path, index=index))
    for _, index in old:  # these take what room the removed ones left, so that an old address is a wrong one
        build.make_curve(strangers, f"x{len(strangers)}", index, range(40), [9.0] * 40)
    for path, index in old:
        fcurves.find(f"{path}_new", index=index).data_path = path
    assert not {c.as_pointer() for c in fcurves} & set(before)
    *_, (_, _, clips) = slices
    np.testing.assert_array_equal(clips[0].clip.curves.co, expected.curves.co)


def test_users_that_are_gone_are_found_anew() -> None:
    action = make_action()
    played_by = users.find_users()
    ((name, *_),) = [[user.name for user in who] for who in played_by.values()]
    assert name == "Rig" and users.alive(next(iter(played_by.values())))
    bpy.data.objects.remove(bpy.data.objects["Rig"])
    assert not users.alive(next(iter(played_by.values())))
    *_, (_, _, clips) = read.read_action_slices(action, played_by=played_by)
    assert clips[0].clip.users == ()


def longest_slice(slices) -> tuple[float, object]:
    """(seconds of work that the longest slice cost this process, the last slice)."""
    longest, since, last = 0.0, time.process_time(), None
    for last in slices:  # noqa: B007  # it is returned
        now = time.process_time()
        longest, since = max(longest, now - since), now
    return longest, last


@pytest.mark.parametrize("bones", [100, 1], ids=["100 bones", "one bone"])
def test_no_step_on_a_million_keys_is_long(bones: int) -> None:
    """Random values with Bézier handles; tests/audit/test_slices.py judges as many."""
    action = make_action(bones, 250_000 // bones, apart=bones == 1)
    longest, (done, total, clips) = longest_slice(read.read_action_slices(action))
    assert done == total == 1_000_000
    assert longest < MOST_SECONDS
    assert len(clips[0].clip.curves.co) == total
