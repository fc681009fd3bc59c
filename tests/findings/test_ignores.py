# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignored findings: written and read, split from the others, left alone by repairs, and reported as ignored."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quat_audit import reports
from quat_audit.audit.pipeline import judge
from quat_audit.errors import InputError
from quat_audit.findings.finding import Finding
from quat_audit.findings.ignores import SCHEMA as IGNORES_SCHEMA
from quat_audit.findings.ignores import Ignore, as_text, from_text, ignore_of
from quat_audit.findings.report import FileReport, Report
from quat_audit.motion.clip import Clip
from tests import schemas
from tests.clips import joined, quaternion_clip, turns, values_of
from tests.judging import audit_clip, repair_clip

ARM, LEG = 'pose.bones["Arm"].rotation_quaternion', 'pose.bones["Leg"].rotation_quaternion'


def two_flips(*ignores: Ignore):
    flipped = turns("X", [0, 20 + 360, 40 + 360])
    clip = joined(*(quaternion_clip([1, 5, 9], flipped, bone=bone) for bone in ("Arm", "Leg")))
    return replace(clip, ignores=ignores)


text = st.text(max_size=8)
ignore = st.builds(Ignore, text.filter(bool), text.filter(bool), text, text)


@given(st.lists(ignore, max_size=5))
@pytest.mark.slow
def test_what_is_written_is_read_again_sorted_and_without_doubles(ignores: list[Ignore]) -> None:
    written = as_text(ignores)
    assert list(from_text(written)) == sorted(set(ignores))
    assert as_text(from_text(written)) == written
    assert (written == "") == (not ignores)


@pytest.mark.parametrize(
    "bad, says",
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", IGNORES_SCHEMA),
        ('{"schema": "quat_audit.ignores/2", "ignores": []}', IGNORES_SCHEMA),
        (f'{{"schema": "{IGNORES_SCHEMA}"}}', '"ignores" must be a list'),
        (f'{{"schema": "{IGNORES_SCHEMA}", "ignores": [3]}}', "must be an object"),
        (f'{{"schema": "{IGNORES_SCHEMA}", "ignores": [{{"code": "QA104"}}]}}', '"data_path"'),
        (f'{{"schema": "{IGNORES_SCHEMA}", "ignores": [{{"code": 104, "data_path": "x"}}]}}', '"code"'),
        (f'{{"schema": "{IGNORES_SCHEMA}", "ignores": [{{"code": "QA104", "data_path": ""}}]}}', '"data_path"'),
    ],
)
def test_anything_else_is_refused_and_says_why(bad: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        from_text(bad)


def test_an_ignored_finding_is_apart_with_its_reason_and_the_others_stay() -> None:
    judged = judge(two_flips(Ignore("QA104", ARM, "a cartoon spin")))
    kept, ignored = list(judged.findings), list(judged.ignored)
    assert [(f.code, f.data_path) for f in kept] == [("QA104", LEG)]
    assert [(i.finding.code, i.finding.data_path, i.reason) for i in ignored] == [("QA104", ARM, "a cartoon spin")]
    assert [f.data_path for f in audit_clip(two_flips(Ignore("QA104", ARM, "")))] == [LEG]


@pytest.mark.parametrize(
    "other",
    [
        Ignore("QA103", ARM, "another rule"),
        Ignore("QA104", ARM.replace("Arm", "arm"), "another bone"),
        Ignore("QA104", ARM, "another slot", slot="Other"),
    ],
)
def test_an_ignore_for_something_else_hides_nothing(other: Ignore) -> None:
    judged = judge(two_flips(other))
    kept, ignored = list(judged.findings), list(judged.ignored)
    assert [f.data_path for f in kept] == [ARM, LEG] and ignored == []


def test_an_ignore_may_be_for_one_slot() -> None:
    clip = two_flips(Ignore("QA104", ARM, "here only", slot="Slot"))
    assert clip.slot == "Slot"
    assert [f.data_path for f in audit_clip(clip)] == [LEG]
    assert [f.data_path for f in audit_clip(replace(clip, slot="Slot 2"))] == [ARM, LEG]


@pytest.mark.parametrize("unsafe", [False, True])
def test_a_repair_leaves_alone_what_is_ignored(unsafe: bool) -> None:
    clip = two_flips(Ignore("QA104", ARM, ""))
    repair = repair_clip(clip, unsafe=unsafe)
    np.testing.assert_array_equal(values_of(repair.subject, 0), values_of(clip, 0))
    assert np.abs(values_of(repair.subject, 1) - values_of(clip, 1)).max() > 1
    assert [(a.code, a.tracks) for a in repair.applied] == [("QA104", 1)]
    assert audit_clip(repair.subject) == [] and repair.subject.ignores == clip.ignores
    every = repair_clip(replace(clip, ignores=(Ignore("QA104", ARM, ""), Ignore("QA104", LEG, ""))), unsafe=unsafe)
    assert every.applied == () and every.refused == ()


@pytest.mark.tools
def test_reports_say_what_was_ignored_and_why() -> None:
    judged = judge(two_flips(Ignore("QA104", ARM, "a cartoon spin")))
    kept, ignored = list(judged.findings), list(judged.ignored)
    report = Report([FileReport("a.blend", findings=kept, ignored=ignored)])
    document = json.loads(reports.FORMATS["json"](report))
    schemas.check(document, schemas.REPORT)
    (row,) = document["files"][0]["ignored"]
    assert (row["code"], row["data_path"], row["reason"]) == ("QA104", ARM, "a cartoon spin")
    assert row["occurrences"] and row["severity"] == "error"
    assert document["summary"]["ignored"] == 1 and document["summary"]["findings"]["error"] == 1
    text = reports.FORMATS["text"](report)
    assert "ignored: QA104 Arm: a cartoon spin" in text
    assert "1 ignored" in text


def test_a_file_with_nothing_but_ignored_findings_is_not_called_clean() -> None:
    judged = judge(two_flips(Ignore("QA104", ARM, ""), Ignore("QA104", LEG, "seen")))
    kept, ignored = list(judged.findings), list(judged.ignored)
    assert kept == []
    text = reports.FORMATS["text"](Report([FileReport("a.blend", ignored=ignored)]))
    assert "clean" not in text and "QA104 Leg: seen" in text and "QA104 Arm: no reason given" in text


def flips(count: int, degrees: float = 20.0) -> Clip:
    """As many keys on one bone that are stored with the other sign, and as many that are not, in turn."""
    q = turns("X", degrees * np.arange(2 * count)) * np.array([1.0, -1.0] * count)[:, None]
    return quaternion_clip(1 + 10.0 * np.arange(2 * count), q, bone="Arm")


def the_flip(clip: Clip) -> Finding:
    (finding,) = [f for f in audit_clip(clip) if f.code == "QA104"]
    return finding


def test_an_ignore_notes_how_many_places_there_were_and_how_much_the_worst_showed() -> None:
    finding = the_flip(flips(3))
    noted = ignore_of(finding, "meant")
    assert finding.figure is not None
    assert (noted.count, noted.figure) == (len(finding.occurrences), finding.figure.value)
    assert from_text(as_text([noted])) == (noted,)
    again = from_text(as_text([noted]))[0]
    assert (again.count, again.figure) == (noted.count, noted.figure)
    assert noted.covers(finding)


@pytest.mark.parametrize(
    "was, now, reported",
    [(10, 10, False), (10, 9, False), (11, 12, False), (20, 21, False), (10, 11, True), (1, 2, True), (20, 22, True)],
)
def test_by_a_tenth_more_places_it_comes_back(was: int, now: int, reported: bool) -> None:
    finding = the_flip(flips(3))
    grown = replace(finding, occurrences=finding.occurrences.at(np.zeros(now, dtype=np.int64)), worst=0)
    noted = replace(ignore_of(finding, ""), count=was, figure=None)
    assert noted.covers(grown) is not reported


@pytest.mark.parametrize("share, reported", [(1.0, False), (0.5, False), (1.09, False), (1.11, True), (3.0, True)])
def test_by_a_tenth_more_to_see_it_comes_back(share: float, reported: bool) -> None:
    finding = the_flip(flips(3))
    assert finding.figure is not None
    noted = replace(ignore_of(finding, ""), figure=finding.figure.value / share)
    assert noted.covers(finding) is not reported
    clip = replace(flips(3), ignores=(noted,))
    assert ("QA104" in {f.code for f in audit_clip(clip)}) is reported
    assert ("QA104" in {a.code for a in repair_clip(clip).applied}) is reported


def bad_key(place: str) -> Clip:
    """A key of which the value, or only a handle, is not finite."""
    clip = quaternion_clip([1, 5, 9], turns("X", [0, 10, 20]), bone="Arm", handles="thirds")
    curves = clip.curves
    array = (curves.co if place == "value" else curves.handle_left).copy()
    array[1, 1] = np.nan
    return replace(clip, curves=replace(curves, **{"co" if place == "value" else "handle_left": array}))


@pytest.mark.parametrize(
    "was, now, reported",
    [("handle", "value", True), ("value", "handle", False), ("value", "value", False), ("handle", "handle", False)],
)
def test_in_a_worse_class_it_comes_back_where_no_figure_tells(was: str, now: str, reported: bool) -> None:
    (finding,) = [f for f in audit_clip(bad_key(was)) if f.code == "QA101"]
    assert finding.figure is None
    (noted,) = from_text(as_text([ignore_of(finding, "")]))
    clip = replace(bad_key(now), ignores=(noted,))
    assert ("QA101" in {f.code for f in audit_clip(clip)}) is reported
    assert ("QA101" in {a.code for a in repair_clip(clip).applied}) is reported
    # An earlier version noted no class, and what it ignored stays ignored.
    old = replace(noted, severity="", worst_class="")
    assert "class" not in as_text([old])
    assert "QA101" not in {f.code for f in audit_clip(replace(clip, ignores=(old,)))}


def test_what_was_ignored_as_a_note_comes_back_as_an_error() -> None:
    """The bone's mode did not play the keys when they were ignored; then somebody set another mode."""
    unplayed = quaternion_clip([1, 5, 9], turns("X", [0, 20 + 360, 40 + 360]), bone="Arm", modes=("XYZ",))
    noted = ignore_of(the_flip(unplayed), "")
    assert noted.severity == "note" and noted.covers(the_flip(unplayed))
    played = the_flip(replace(unplayed, tracks=replace(unplayed.tracks, modes=(("QUATERNION",),))))
    assert played.severity == "error" and not noted.covers(played)
    assert replace(noted, severity="").covers(played), "an earlier version noted none"


def test_noise_below_what_is_shown_is_no_growth() -> None:
    finding = the_flip(flips(2))
    assert finding.figure is not None
    assert replace(ignore_of(finding, ""), figure=finding.figure.value - 0.005).covers(finding)
    assert not replace(ignore_of(finding, ""), figure=0.0).covers(finding)


@pytest.mark.parametrize(
    "noted",
    [
        '"count": "many"', '"count": true', '"count": -1', '"figure": "x"', '"figure": NaN', '"figure": null',
        '"severity": "worst"', '"severity": 3', '"class": "of another rule"', '"class": null',
    ],
)  # fmt: skip
def test_what_is_noted_wrongly_counts_as_not_noted(noted: str) -> None:
    row = f'{{"code": "QA104", "data_path": "x", {noted}}}'
    (ignore,) = from_text(f'{{"schema": "{IGNORES_SCHEMA}", "ignores": [{row}]}}')
    assert (ignore.count, ignore.figure) == (None, None)
    assert replace(ignore, data_path=ARM).covers(the_flip(flips(3)))


def test_files_of_earlier_versions_ignore_whatever_there_is() -> None:
    old = json.dumps({"schema": IGNORES_SCHEMA, "ignores": [{"code": "QA104", "data_path": ARM, "reason": ""}]})
    clip = replace(flips(9), ignores=from_text(old))
    assert "QA104" not in {f.code for f in audit_clip(clip)}
