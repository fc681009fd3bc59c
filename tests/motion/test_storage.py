# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file can hold of an edit: integers against struct's own, keys against every way of changing their number."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.motion import edit
from quat_audit.motion.clip import LINEAR, Clip, Storage, with_curves
from quat_audit.motion.storage import misfit, unstorable, why_misfit
from tests.clips import NAN, channel_clip, joined, quaternion_clip, turns

FIXED = "the keys are fixed"
LOCATION = "location"


def stored(clip: Clip, bits: int = 0, signed: bool = True, step: float = 1.0, *, bridges: bool = False) -> Clip:
    n = len(clip.curves)
    storage = Storage(FIXED, bridges, np.full(n, bits), np.full(n, signed), np.full(n, step))
    return replace(clip, storage=storage)


@pytest.mark.parametrize("form", "bBhHI")
def test_integers_hold_what_struct_packs(form: str) -> None:
    bits, signed = 8 * struct.calcsize(f"<{form}"), form.islower()

    def packs(number: int) -> bool:
        try:
            struct.pack(f"<{form}", number)
        except struct.error:
            return False
        return True

    highest = 2 ** (bits - signed) - 1
    for step in (1.0, 1.0 / highest):
        for number in (-highest - 2, -highest - 1, -highest, -1, 0, 1, highest, highest + 1):
            assert bool(misfit(np.array([number * step]), bits, signed, step)[0]) == (not packs(number)), number
    fractions = np.array([0.5, 7.25, 100.4]) / highest
    assert misfit(fractions, bits, signed, 1.0 / highest).all() == (bits < 32)
    assert misfit(np.array([np.nan, np.inf]), bits, signed, 1.0).all()


def test_words_for_what_does_not_fit() -> None:
    assert why_misfit(-0.25, 8, False) == "its values are stored as unsigned 8-bit integers: no sign fits"
    assert (
        why_misfit(0.9404837, 16, True)
        == "its values are stored as 16-bit integers, which cannot hold 0.940484 exactly"
    )


def base() -> Clip:
    q = np.round(turns("Z", [0, 20, 40]) * 127) / 127
    return joined(quaternion_clip([1, 11, 21], q, interpolation=LINEAR), quaternion_clip([1, 11, 21], q, bone="B"))


def drop_keys(clip: Clip, rows: list[int]) -> Clip:
    keep = np.ones(len(clip.curves.co), dtype=bool)
    keep[rows] = False
    return edit.keep_keys(clip, keep)


def moved(clip: Clip, row: int) -> Clip:
    co = clip.curves.co.copy()
    co[row, 0] += 1.0
    return with_curves(clip, replace(clip.curves, co=co))


def interpolated(clip: Clip, row: int) -> Clip:
    interpolation = clip.curves.interpolation.copy()
    interpolation[row] = 0
    return with_curves(clip, replace(clip.curves, interpolation=interpolation))


def inserted(clip: Clip) -> Clip:
    return edit.insert_keys(clip, np.array([0, 1, 2, 3]), np.full(4, 5.0))


def played_as_euler(clip: Clip) -> Clip:
    return replace(clip, tracks=replace(clip.tracks, modes=(("XYZ",), *clip.tracks.modes[1:])))


STRUCTURE: dict[str, Callable[[Clip], Clip]] = {
    "removed": lambda clip: drop_keys(clip, [1]),
    "all removed": lambda clip: drop_keys(clip, [0, 1, 2]),
    "moved": lambda clip: moved(clip, 2),
    "interpolated": lambda clip: interpolated(clip, 4),
    "inserted": inserted,
    "curve removed": lambda clip: edit.keep_curves(clip, np.arange(len(clip.curves)) != 2),
    "mode": played_as_euler,
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_a_change_of_keys_or_curves_is_unstorable_on_its_path_alone(name: str) -> None:
    clip = base()
    free = STRUCTURE[name](clip)
    assert unstorable(clip, free) == {}
    held = stored(clip)
    edited = STRUCTURE[name](edit.scale_keys(held, np.array([13]), np.array([-1.0])))
    assert unstorable(held, edited) == {clip.tracks.data_path[0]: FIXED}
    assert unstorable(edited, edited) == {}


def test_an_edit_of_an_edited_clip_is_told_from_the_first() -> None:
    held = stored(base())
    first = edit.scale_keys(held, np.array([4]), np.array([-1.0]))
    assert unstorable(held, first) == {}
    assert unstorable(first, drop_keys(first, [13])) == {held.tracks.data_path[1]: FIXED}


def test_values_that_integers_do_not_hold() -> None:
    """Only what was edited counts: what the file holds it holds."""
    held = stored(base(), 8, step=1 / 127)
    assert unstorable(held, edit.scale_keys(held, np.arange(12), -np.ones(12))) == {}
    stretched = edit.scale_keys(held, np.array([13]), np.array([1.001]))
    assert list(unstorable(held, stretched)) == [held.tracks.data_path[1]]
    odd = with_curves(held, replace(held.curves, co=held.curves.co + 0.001 * np.array([0, 1])))
    assert unstorable(odd, edit.scale_keys(odd, np.arange(3), np.ones(3))) == {}
    unsigned = stored(base(), 8, signed=False, step=1 / 255)
    flipped = edit.scale_keys(unsigned, np.arange(12), -np.ones(12))
    assert unstorable(unsigned, flipped) == {
        held.tracks.data_path[0]: "its values are stored as unsigned 8-bit integers: no sign fits"
    }


def test_a_key_without_a_number_may_go_where_the_file_fills_its_place() -> None:
    clip = channel_clip([1, 2, 3], [0, NAN, 1])
    path = clip.curves.data_path[0]
    for bridges in (False, True):
        held = stored(clip, bridges=bridges)
        assert unstorable(held, drop_keys(held, [1])) == ({} if bridges else {path: FIXED})
        assert unstorable(held, drop_keys(held, [2])) == {path: FIXED}
    nothing = stored(channel_clip([1, 2], [NAN, NAN]), bridges=True)
    assert unstorable(nothing, drop_keys(nothing, [0, 1])) == {path: FIXED}
