# SPDX-License-Identifier: GPL-3.0-or-later
"""What does not show is one note a rule and action: reported, ignored and repaired together, and nothing of it lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.noise import DATA_PATH
from quat_audit.audit.pipeline import judge
from quat_audit.audit.profiles import FILM, profile_settings
from quat_audit.audit.settings import Settings
from quat_audit.findings.finding import Finding
from quat_audit.findings.fingerprint import fingerprint
from quat_audit.findings.ignores import Ignore, as_text, from_text, ignore_of
from quat_audit.findings.report import FileReport, Report
from quat_audit.motion.clip import Clip
from quat_audit.reports import json_report
from quat_audit.rules import qa103_non_unit_quaternion as qa103
from quat_audit.rules import qa305_orphan_channel as qa305
from tests import schemas
from tests.clips import joined, quaternion_clip, turns
from tests.contract import assert_contract, assert_same
from tests.judging import audit_clip, repair_clip

TIMES = [1.0, 11.0, 21.0]
RULES = [qa103.RULE, qa305.RULE]
GROUP = ("QA103", DATA_PATH)


def path(bone: str) -> str:
    return f'pose.bones["{bone}"].rotation_quaternion'


def long_key(bone: str, length: float, degrees: float = 60.0, **options: Any) -> Clip:
    """Three keys, the middle one of another length than 1; with no turn it is too long in vain."""
    q = turns((0, 1, 1), [0.0, degrees, 2 * degrees]) * np.array([[1.0], [length], [1.0]])
    return quaternion_clip(TIMES, q, bone=bone, **options)


def body(*, ignores: tuple[Ignore, ...] = ()) -> Clip:
    """Two bones whose lengths do not show, one whose length nearly does, and one whose does."""
    slight = (long_key("A", 1.002), long_key("B", 1.003))
    return replace(joined(*slight, long_key("C", 1.02), long_key("D", 1.5)), ignores=ignores)


def told(clip: Clip, settings: Settings | None = None) -> list[tuple[str, str]]:
    return [(f.code, f.data_path) for f in judge(clip, settings or Settings(tuple(RULES))).findings]


def the_group(clip: Clip) -> Finding:
    (group,) = [f for f in audit_clip(clip, RULES) if f.data_path == DATA_PATH]
    return group


def test_what_does_not_show_is_one_note_and_the_rest_stays_alone() -> None:
    clip = body()
    each = {f.data_path: f for f in qa103.find(clip, qa103.LIMITS)}
    figures = {p: f.figure.value for p, f in each.items() if f.figure is not None}
    assert max(figures[path("A")], figures[path("B")]) < 0.1 <= figures[path("C")] < 1 <= figures[path("D")]
    assert told(clip) == [("QA103", path("D")), GROUP, ("QA103", path("C"))]
    group = the_group(clip)
    assert (group.severity, group.fix, group.bone, group.part) == ("note", "safe", "", -1)
    assert group.figure is not None and group.figure.value == max(figures[path("A")], figures[path("B")])
    assert [group.whose(n) for n in range(len(group.occurrences))] == [("A", path("A")), ("B", path("B"))]
    assert group.message.startswith(f"Rig: 2 tracks, up to {group.figure.value:.2f}°; B, frame 11: the quaternion has")


def test_two_rules_are_two_notes_and_one_finding_is_no_group() -> None:
    still = turns("X", [10.0] * 3)
    orphans = [quaternion_clip(TIMES, still, bone=bone, orphan=True) for bone in "XYZ"]
    clip = joined(long_key("A", 1.002), long_key("B", 1.003), *orphans)
    assert told(clip) == [GROUP, ("QA305", DATA_PATH)]
    both = [replace(f, action="Another") for f in audit_clip(clip, RULES)]
    assert len({fingerprint(f) for f in (*audit_clip(clip, RULES), *both)}) == 4
    assert told(joined(long_key("A", 1.002), *orphans[:2])) == [("QA103", path("A")), ("QA305", DATA_PATH)]
    # What would turn a bone that is gone is told by its name, and so is an action that is on the wrong rig.
    moving = quaternion_clip(TIMES, turns("X", [0, 1, 2]), bone="W", orphan=True)
    assert told(joined(long_key("A", 1), *orphans, moving)) == [("QA305", DATA_PATH), ("QA305", 'pose.bones["W"]')]
    assert told(joined(*orphans)) == [("QA305", "*")]


def test_severities_are_those_after_grading_and_caps() -> None:
    """A length that a glTF file must not have is a warning, however little it shows, unless a profile caps it."""
    clip = joined(*(replace(long_key(bone, 1.02), format="gltf") for bone in "AB"))
    assert [p for _, p in told(clip)] == [path("A"), path("B")]
    assert told(clip, Settings(tuple(RULES), None, {"QA103": "note"})) == [GROUP]


def test_the_fix_of_the_group_repairs_its_members_and_no_other() -> None:
    clip = body()
    done = repair_clip(clip, RULES, only=[GROUP])
    assert GROUP in done.met and {p for _, p in done.changed} == {path("A"), path("B")}
    assert told(done.subject) == [("QA103", path("D")), ("QA103", path("C"))]
    assert repair_clip(done.subject, RULES, only=[GROUP]).subject is done.subject
    single = repair_clip(clip, RULES, only=[("QA103", path("A"))])
    assert {p for _, p in single.changed} == {path("A")}
    whole = assert_contract(clip, qa103.RULE).subject
    assert told(whole) == []


def test_the_group_of_an_unsafe_fix_waits_for_it() -> None:
    still = turns("X", [10.0] * 3)
    clip = joined(long_key("A", 1), *(quaternion_clip(TIMES, still, bone=b, orphan=True) for b in "XYZ"))
    which = [("QA305", DATA_PATH)]
    assert repair_clip(clip, RULES, only=which).subject is clip
    assert repair_clip(clip, RULES, only=which, unsafe=True).subject.tracks.bone == ("A",)


def test_what_must_not_be_written_has_no_fix_within_the_group_and_says_why() -> None:
    clip = joined(long_key("A", 1.002, read_only="the curve is locked"), long_key("B", 1.003))
    group = the_group(clip)
    assert (group.fix, group.occurrences.fix.tolist(), group.locked) == ("safe", ["none", "safe"], "")
    done = repair_clip(clip, RULES, only=[GROUP])
    assert {p for _, p in done.changed} == {path("B")}
    assert [(r.data_path, r.why) for r in done.refused] == [(path("A"), "the curve is locked")]
    locked = joined(*(long_key(bone, 1.002, read_only="linked") for bone in "AB"))
    assert (the_group(locked).fix, the_group(locked).locked) == ("none", "linked")


@pytest.mark.parametrize("unsafe", [False, True])
def test_the_group_is_ignored_as_one_and_its_repair_too(unsafe: bool) -> None:
    (noted,) = from_text(as_text([ignore_of(the_group(body()), "an exporter's rounding")]))
    clip = body(ignores=(noted,))
    judged = judge(clip, Settings(tuple(RULES)))
    assert [f.data_path for f in judged.findings] == [path("D"), path("C")]
    assert [(i.finding.data_path, i.reason) for i in judged.ignored] == [(DATA_PATH, "an exporter's rounding")]
    done = repair_clip(clip, RULES, unsafe=unsafe)
    assert {p for _, p in done.changed} == {path("C"), path("D")}
    assert repair_clip(done.subject, RULES, unsafe=unsafe).subject is done.subject
    # One that is left of it is still meant; one more bone is not.
    left = joined(long_key("A", 1.002), long_key("C", 1.02))
    assert told(replace(left, ignores=(noted,))) == [("QA103", path("C"))]
    more = replace(joined(clip, long_key("E", 1.002)), ignores=(noted,))
    assert GROUP in told(more)
    # What shows on another bone is never meant by it.
    assert ("QA103", path("D")) in told(replace(long_key("D", 1.5), ignores=(noted,)))


def test_a_member_that_was_ignored_alone_stays_so() -> None:
    alone = Ignore("QA103", path("A"), "of an earlier version")
    clip = body(ignores=(alone,))
    assert told(clip) == [("QA103", path("D")), ("QA103", path("B")), ("QA103", path("C"))]
    three = replace(joined(clip, long_key("E", 1.002)), ignores=(alone,))
    assert GROUP in told(three) and the_group(three).bones == ("B", "E")
    done = repair_clip(three, RULES, only=[GROUP])
    assert {p for _, p in done.changed} == {path("B"), path("E")}
    rest = repair_clip(replace(body(), ignores=tuple(Ignore("QA103", path(b), "") for b in "ABCD")), RULES)
    assert_same(rest.subject, replace(body(), ignores=rest.subject.ignores))


def test_rules_that_are_not_chosen_are_in_no_group() -> None:
    clip = joined(long_key("A", 1.002), long_key("B", 1.003))
    assert told(clip, Settings((qa305.RULE,))) == []
    assert repair_clip(clip, [qa305.RULE], only=[GROUP]).subject is clip
    assert ("QA103", DATA_PATH) in told(clip, profile_settings(FILM))


@pytest.mark.tools
def test_the_json_report_is_complete() -> None:
    document = json_report.as_dict(Report([FileReport("a.blend", findings=audit_clip(body(), RULES))]))
    schemas.check(document, schemas.REPORT)
    by_path = {f["data_path"]: f for f in document["files"][0]["findings"]}
    members = by_path[DATA_PATH]["occurrences"]
    assert [(o["bone"], o["data_path"], o["frames"]) for o in members] == [
        ("A", path("A"), [11]),
        ("B", path("B"), [11]),
    ]
    each = {f.data_path: f for f in qa103.find(body(), qa103.LIMITS)}
    for place in members:
        (alone,) = json_report.as_dict(Report([FileReport("a", findings=[each[place["data_path"]]])]))["files"]
        (own,) = alone["findings"][0]["occurrences"]
        assert own == {name: value for name, value in place.items() if name not in ("bone", "data_path")}
    assert document["summary"]["occurrences"] == {"QA103": 4}
