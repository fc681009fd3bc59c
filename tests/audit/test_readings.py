# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rule finds as each reader plays a clip: the worst that plays counts, and its reader is named."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np

from quat_audit.findings.finding import Finding
from quat_audit.motion.clip import Clip
from quat_audit.motion.readers import Reader, Way
from quat_audit.rules import RULES
from tests.clips import euler_clip, joined, quaternion_clip, turns
from tests.judging import audit_clip, repair_clip

PATH = 'pose.bones["Arm"].rotation_euler'
ZERO = (0.0, 0.0, 0.0, 0.0)
BY_CODE = {rule.code: rule for rule in RULES}


def reader(mode: str, **options: Any) -> Reader:
    return Reader(**{"owner": "Rig", "ways": {PATH: Way(mode, ZERO)}, **options})


def read(clip: Clip, *readers: Reader) -> Clip:
    order = readers[0].ways[PATH].mode
    tracks = replace(clip.tracks, order=(order, *clip.tracks.order[1:]))
    return replace(clip, tracks=tracks, readers=readers, users=tuple(r.owner for r in readers))


def triple_of(order: str) -> Clip:
    """Dense keys of which the third and fourth are the equivalent triple in one order."""
    rows = np.array([[10.0, 20, 30], [12, 24, 33], [14, 28, 36], [16, 32, 39]])
    middle = "XYZ".index(order[1])
    mirrored = 180 - rows[2:, middle]
    rows[2:] += 180
    rows[2:, middle] = mirrored
    return euler_clip([1, 2, 3, 4], rows)


def found(clip: Clip, code: str = "QA201") -> list[Finding]:
    """What a rule finds, beside the one that completes components: alone its fix would do nothing without them."""
    return [f for f in audit_clip(clip, [BY_CODE[code], BY_CODE["QA302"]]) if f.code == code]


QUATERNION_PATH = 'pose.bones["Arm"].rotation_quaternion'
# What two readers take for w: with the one z 0.5 → -0.5 is a swing of 106°, with the other a flip.
SWINGS, FLIPS = (1.0, 0.0, 0.0, 0.0), (0.05, 0.0, 0.0, 0.0)


def who_fills(fill: tuple[float, float, float, float], **options: Any) -> Reader:
    return Reader(**{"owner": "Rig", "ways": {QUATERNION_PATH: Way("QUATERNION", fill)}, **options})


def lacking_w(*readers: Reader) -> Clip:
    values = np.array([[0, 0, 0, 0.5], [0, 0, 0, -0.5], [0, 0, 0, -0.5]])
    clip = quaternion_clip([1, 11, 21], values, components=(1, 2, 3), pose=readers[0].ways[QUATERNION_PATH].fill)
    return replace(clip, readers=readers, users=tuple(r.owner for r in readers))


def test_what_only_another_reader_plays_is_found_and_not_repaired():
    (of_b,) = found(lacking_w(who_fills(FLIPS)), "QA104")
    assert of_b.severity == "error" and of_b.fix == "safe"
    assert found(lacking_w(who_fills(SWINGS)), "QA104") == []
    both = lacking_w(who_fills(SWINGS), who_fills(FLIPS, owner="RigB"))
    (finding,) = found(both, "QA104")
    assert (finding.severity, finding.fix, finding.caution) == ("error", "none", "it is so only as RigB plays it")
    assert finding.figure == of_b.figure and finding.occurrences.frames.tolist() == [[1, 11]]
    assert repair_clip(both, [BY_CODE["QA104"]], unsafe=True).subject is both


def test_muted_readers_do_not_grade_while_another_plays():
    muted = who_fills(FLIPS, owner="RigB", route="strip", by="Walk", muted=True)
    assert found(lacking_w(who_fills(SWINGS), muted), "QA104") == []
    (finding,) = found(lacking_w(who_fills(SWINGS, muted=True), muted), "QA104")
    assert finding.severity == "error" and "by the muted strip 'Walk'" in finding.caution


def test_of_one_step_the_worse_grade_counts():
    """The triple of one order plays as a wrap of 25° there, and as a doubtful large step in the other."""
    (in_xyz,) = found(read(triple_of("ZXY"), reader("XYZ")))
    (in_zxy,) = found(read(triple_of("ZXY"), reader("ZXY")))
    (finding,) = found(read(triple_of("ZXY"), reader("XYZ"), reader("ZXY", owner="RigB")))
    assert finding.severity == max(in_xyz.severity, in_zxy.severity, key=("note", "warning", "error").index)
    assert len(finding.occurrences) == 1 and finding.fix != "safe"


def test_a_place_is_told_once():
    """In both orders the third step is a wrap: one place, one finding."""
    rows = [[0, 0, 160], [0, 0, 170], [0, 0, -180], [0, 0, -170]]
    clip = read(euler_clip([1, 2, 3, 4], rows), reader("XYZ"), reader("ZXY", owner="RigB"))
    (finding,) = found(clip)
    assert len(finding.occurrences) == 1 and finding.fix == "safe" and not finding.caution


def test_a_track_beside_it_that_all_play_alike_stays_as_it_is():
    flips = quaternion_clip([1, 2, 3], turns("Z", [0, 3, 6]) * np.array([[1], [-1], [-1]]), bone="Leg")
    clip = read(joined(triple_of("ZXY"), flips), reader("XYZ"), reader("ZXY", owner="RigB"))
    (finding,) = found(clip, "QA104")
    assert finding.bone == "Leg" and finding.fix == "safe"
    assert {f.bone for f in audit_clip(clip)} == {"Arm", "Leg"}


def test_it_can_be_sent_to_another_process():
    (finding,) = found(read(triple_of("ZXY"), reader("XYZ"), reader("ZXY", owner="RigB")))
    again = pickle.loads(pickle.dumps(finding))
    assert again.caution == finding.caution and again.message == finding.message
