# SPDX-License-Identifier: GPL-3.0-or-later
"""A fix is called safe only if it is safe for everybody who plays the keys, and says who would change."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.safety import broken_promises, named
from quat_audit.motion.clip import EULER_ORDERS, Clip
from quat_audit.motion.readers import Reader, Way
from quat_audit.rules import RULES
from quat_audit.text import Text
from tests.clips import IDENTITY, NAN, about, euler_clip, quaternion_clip, turns, values_of
from tests.judging import audit_clip, repair_clip
from tests.oracle import scalar_rotation, turn_deg

EULER_PATH = 'pose.bones["Arm"].rotation_euler'
PATH = 'pose.bones["Arm"].rotation_quaternion'
ZERO = (0.0, 0.0, 0.0, 0.0)
BY_CODE = {rule.code: rule for rule in RULES}
FRAMES = [1, 2, 3, 4]


def reader(mode: str, fill: Sequence[float] = ZERO, **options: Any) -> Reader:
    w, x, y, z = fill
    way = Way(mode, (w, x, y, z))
    return Reader(**{"owner": "Rig", "ways": {EULER_PATH: way, PATH: way}, **options})


def read(clip: Clip, *readers: Reader) -> Clip:
    return replace(clip, readers=readers, users=tuple(dict.fromkeys(r.owner for r in readers)))


def triple(x: float, y: float, z: float, order: str) -> list[float]:
    """The other angles of one rotation, in orders with that middle axis."""
    other = [x + 180, y + 180, z + 180]
    middle = "XYZ".index(order[1])
    other[middle] = 180 - (x, y, z)[middle]
    return other


def wrapped(order: str, **options: Any) -> Clip:
    """Keys 3 and 4 are the equivalent triple of that order."""
    rows = [[10, 20, 30], [12, 24, 33], triple(14, 28, 36, order), triple(16, 32, 39, order)]
    return euler_clip(FRAMES, rows, order, **options)


def flipping(**options: Any) -> Clip:
    return quaternion_clip(FRAMES, turns("Z", [0, 3, 6, 9]) * np.array([[1], [1], [-1], [-1]]), **options)


def one(clip: Clip, code: str):
    (finding,) = audit_clip(clip, [BY_CODE[code]])
    return finding


# ---- Euler orders -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("own", EULER_ORDERS)
@pytest.mark.parametrize("other", EULER_ORDERS)
def test_the_triple_is_safe_where_all_orders_share_the_middle_axis(own, other):
    clip = read(wrapped(own), reader(own), reader(other, owner="RigB"))
    finding = one(clip, "QA201")
    repair = repair_clip(clip, [BY_CODE["QA201"]])
    if own[1] == other[1]:
        assert finding.fix == "safe" and not finding.caution
        for row in range(4):  # and the other reader sees the same at every key
            as_seen = replace(clip, tracks=replace(clip.tracks, order=(other,)))
            was, now = (scalar_rotation(as_seen, 0, list(values_of(c)[row])) for c in (clip, repair.subject))
            assert was and now and turn_deg(was, now) < 1e-4
        return
    assert finding.fix == "unsafe" and repair.subject is clip
    assert finding.caution.template == "a keyed rotation of {who} would change by {change_deg:.1f}°"
    assert finding.caution.values["who"] == "RigB"
    # The degrees are those that the reader would see.
    unsafe = repair_clip(clip, [BY_CODE["QA201"]], unsafe=True).subject
    seen = replace(clip, tracks=replace(clip.tracks, order=(other,)))
    changes = [
        turn_deg(*(scalar_rotation(seen, 0, list(values_of(c)[row])) or IDENTITY for c in (clip, unsafe)))
        for row in range(4)
    ]
    assert finding.caution.values["change_deg"] == pytest.approx(max(changes), abs=1e-3) and max(changes) > 10
    assert [r.why for r in repair.refused] == [finding.caution]


def test_whole_turns_are_safe_for_every_order():
    rows = [[0, 0, 160], [0, 0, 170], [0, 0, -180], [0, 0, -170]]
    for who in ([reader(order, owner=order) for order in EULER_ORDERS], [reader("QUATERNION")], []):
        clip = read(euler_clip(FRAMES, rows), *who)
        assert one(clip, "QA201").fix == "safe"


def test_an_order_that_nobody_tells_is_said():
    finding = one(read(wrapped("XYZ")), "QA201")
    assert finding.fix == "unsafe" and "who plays it is not known" in finding.caution
    assert repair_clip(read(wrapped("XYZ")), [BY_CODE["QA201"]]).subject.readers == ()


def test_what_is_unsafe_is_done_when_asked():
    clip = read(wrapped("XYZ"), reader("XYZ"), reader("ZXY", owner="RigB"))
    repair = repair_clip(clip, [BY_CODE["QA201"]], unsafe=True)
    assert repair.subject is not clip and not repair.refused
    assert repair.proof.max_key_change_deg > 10  # told for who changes most


# ---- fills ------------------------------------------------------------------------------------------------


def lacking(*readers: Reader) -> Clip:
    values = turns("Z", [0, 20, 40, 60])
    return read(quaternion_clip(FRAMES, values, components=(0, 3), pose=readers[0].ways[PATH].fill), *readers)


STORED = (1.0, 0.5, 0.0, 0.0)


def test_one_fill_is_safe():
    assert one(lacking(reader("QUATERNION", STORED), reader("XYZ", STORED, owner="B")), "QA302").fix == "safe"


def test_two_fills_are_not_and_the_other_is_named():
    strip = reader("QUATERNION", IDENTITY, owner="B", route="strip", by="Walk", muted=True)
    finding = one(lacking(reader("QUATERNION", STORED), strip), "QA302")
    assert finding.fix == "unsafe"
    assert finding.caution == "a keyed rotation of B, by the muted strip 'Walk' would change by 53.1°"
    assert pickle.loads(pickle.dumps(finding)).caution.values["who"] == strip.words


def test_a_fill_that_nobody_tells_is_not_safe_either():
    unknown = (1.0, NAN, 0.0, 0.0)
    clip = lacking(reader("QUATERNION", STORED), reader("QUATERNION", unknown, owner="B"))
    finding = one(clip, "QA302")
    assert finding.fix == "unsafe" and finding.caution == "what B takes for the component without keys is not known"
    assert repair_clip(clip, [BY_CODE["QA302"]]).subject is clip
    # And where it is the first one's, there is nothing that could be added.
    assert one(lacking(reader("QUATERNION", unknown)), "QA302").fix == "none"


def test_an_angle_that_a_strip_leaves_as_stored_is_lost_outside_of_it():
    clip = euler_clip(FRAMES, [[0, 0, 0], [0, 0, 20], [0, 0, 40], [0, 0, 60]], components=(0, 2), pose=(0, 0.5, 0))
    for stored, fix in (((0.0, 0.5, 0.0, 0.0), "unsafe"), (ZERO, None)):
        known = replace(clip, tracks=replace(clip.tracks, pose=np.array([stored])))
        by_strip = read(known, reader("XYZ", stored, route="strip", by="Walk"))
        found = audit_clip(by_strip, [BY_CODE["QA302"]])
        assert [f.fix for f in found] == ([fix] if fix else [])
        assert all("outside the strip Rig, by the strip 'Walk'" in f.caution for f in found)
    assert one(read(clip, reader("XYZ", (0.0, 0.5, 0.0, 0.0))), "QA302").fix == "safe"


# ---- drivers and mixes ------------------------------------------------------------------------------------


def driver(*reads: tuple[str, int]) -> Reader:
    return Reader(owner="Lid", route="driver", by="location[2]", reads=frozenset(reads))


def test_a_number_that_a_driver_reads_does_not_change():
    rows = [[5, 0, 160], [5, 0, 170], [5, 0, -180], [5, 0, -170]]
    clip = euler_clip(FRAMES, rows)
    finding = one(read(clip, reader("XYZ"), driver((EULER_PATH, 2))), "QA201")
    assert finding.fix == "unsafe"
    assert finding.caution == "Lid, by the driver of location[2], reads the number that would change"
    # Another component, another bone: no matter.
    for other in ((EULER_PATH, 0), ('pose.bones["Leg"].rotation_euler', 2)):
        assert one(read(clip, reader("XYZ"), driver(other)), "QA201").fix == "safe"


def test_the_sign_of_what_is_mixed_does_not_change():
    mixed = {"mixed": "its influence is below 1", "mixed_paths": frozenset([PATH]), "route": "strip", "by": "Top"}
    finding = one(read(flipping(), reader("QUATERNION", IDENTITY, **mixed)), "QA104")
    assert finding.fix == "unsafe" and "mixes it with other motion (its influence is below 1)" in finding.caution
    elsewhere = {**mixed, "mixed_paths": frozenset([EULER_PATH])}
    assert one(read(flipping(), reader("QUATERNION", IDENTITY, **elsewhere)), "QA104").fix == "safe"


def test_one_of_many_is_enough():
    many = [reader("QUATERNION", IDENTITY, owner=f"Rig{n}") for n in range(5)]
    mixed = reader("QUATERNION", IDENTITY, owner="Last", mixed="it blends in or out", mixed_paths=frozenset([PATH]))
    assert one(read(flipping(), *many), "QA104").fix == "safe"
    assert one(read(flipping(), *many, mixed), "QA104").fix == "unsafe"


def test_an_angle_is_not_added_to_a_mix():
    clip = euler_clip(FRAMES, [[0, 0, 0], [0, 0, 20], [0, 0, 40], [0, 0, 60]], components=(0, 2), pose=(0, 0.5, 0))
    mixed = {"mixed": "its blend mode is ADD", "mixed_paths": frozenset([EULER_PATH])}
    clip = read(clip, reader("XYZ", (0.0, 0.5, 0.0, 0.0), **mixed))
    assert one(clip, "QA302").fix == "unsafe"


def test_nobodys_signs_and_lengths_are_safe():
    assert one(read(flipping()), "QA104").fix == "safe"
    long = quaternion_clip(FRAMES, turns("Z", [0, 3, 6, 9]) * np.array([[1], [1.5], [1], [1]]))
    assert one(read(long), "QA103").fix == "safe"


# ---- words ------------------------------------------------------------------------------------------------


def test_three_are_named_and_the_others_counted():
    many = [reader("XYZ", owner=f"Rig{n}") for n in range(5)]
    assert named(many[:1]) == "Rig0" and named(many[:3]) == "Rig0; Rig1; Rig2"
    assert named(many) == "Rig0; Rig1; Rig2 (+2)" and named([]) == "whoever plays it"
    strip = named([reader("XYZ", route="strip", by="Walk"), *many])
    assert any(isinstance(value, Text) for value in strip.values.values())  # each is translated by itself


def test_an_edit_that_changes_nothing_breaks_nothing():
    clip = read(flipping(), reader("QUATERNION"), driver((PATH, 0)))
    assert broken_promises(clip, clip) == {}
    moved = repair_clip(flipping(), [BY_CODE["QA104"]]).subject
    assert set(broken_promises(clip, replace(moved, readers=clip.readers))) == {PATH}
    assert about("Z", 0)[0] == 1.0


# ---- fixes that would do nothing --------------------------------------------------------------------------


def test_a_fix_that_waits_for_another_that_is_not_safe_is_none():
    """A flip on a rotation without x is repaired once x is completed: not where two readers fill it differently."""
    flips = flipping(components=(0, 1, 3))
    alike = read(flips, reader("QUATERNION", IDENTITY), reader("QUATERNION", IDENTITY, owner="RigB"))
    rules = [BY_CODE["QA104"], BY_CODE["QA302"]]
    assert {f.code: f.fix for f in audit_clip(alike, rules)} == {"QA104": "safe", "QA302": "safe"}
    assert repair_clip(alike, rules).refused == ()
    apart = read(flips, reader("QUATERNION", IDENTITY), reader("QUATERNION", (1.0, 0.0, 0.5, 0.0), owner="RigB"))
    found = {f.code: f for f in audit_clip(apart, rules)}
    assert (found["QA104"].fix, found["QA302"].fix) == ("none", "unsafe")
    assert "its keys do not allow this repair" in found["QA104"].caution
    assert one(alike, "QA104").fix == "none"  # nobody completes it where QA302 is not asked for
