# SPDX-License-Identifier: GPL-3.0-or-later
"""The last audit as plain Python: filters, order, and what still applies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quat_audit.audit.pipeline import Judgement, judge
from quat_audit.findings.finding import NONE, Figure
from quat_audit.motion.clip import Clip
from quat_audit.results.memory import STATES_KEPT, Results
from quat_audit.results.rows import Address, AuditResult, Filters, clip_result, clip_state
from tests import clips

HERE = Address(7, 1, 0, 0)


def flip(bone: str = "Arm", degrees: float = 20.0, **options) -> Clip:
    q = clips.turns("X", [0.0, degrees])
    return clips.quaternion_clip([1, 11], q * [[1], [-1]], bone=bone, **options)


def long_key(bone: str) -> Clip:
    return clips.quaternion_clip([5, 9], clips.turns("X", [0.0, 10.0]) * [[1.5], [1.0]], bone=bone)


def audited(clip: Clip, address: Address = HERE) -> AuditResult:
    return clip_result(address, clip, "", judge(clip))


def shown(*results: AuditResult) -> Results:
    found = Results()
    found.replace_all(results, profile="p", scope="s", file="f")
    return found


@pytest.fixture
def three() -> Results:
    """Two flips and a key that is too long."""
    return shown(audited(clips.joined(flip("Leg"), flip("Arm", 90.0), long_key("Toe"))))


def labels(results: Results, **filters) -> list[str]:
    return [row.label for row in results.shown_rows(Filters(**filters))]


def test_rows_have_the_worst_figure_and_its_frame(three: Results) -> None:
    rows = {row.label: row for row in three.rows}
    assert rows["Leg"].figure == Figure(pytest.approx(340.0, abs=0.1), "°") and rows["Leg"].frame == 1.0
    assert rows["Arm"].figure == Figure(pytest.approx(270.0, abs=0.1), "°")
    assert rows["Toe"].key.code == "QA103" and rows["Toe"].frame == 5.0


@pytest.mark.parametrize(
    "sort, first, last",
    [
        ("SEVERITY", "Leg", "Toe"),
        ("FIGURE", "Leg", "Toe"),
        ("FRAME", "Leg", "Toe"),
        ("BONE", "Arm", "Toe"),
        ("RULE", "Toe", "Arm"),
    ],
)
def test_order(three: Results, sort: str, first: str, last: str) -> None:
    order = labels(three, sort=sort)
    assert (order[0], order[-1]) == (first, last) and sorted(order) == ["Arm", "Leg", "Toe"]
    assert labels(three, sort=sort, reverse=True) == order[::-1]


def test_filters(three: Results) -> None:
    assert labels(three, code="QA103") == ["Toe"]
    assert labels(three, bone="Arm") == ["Arm"]
    assert labels(three, severities=frozenset(["error"])) == ["Leg", "Arm"]
    assert labels(three, severities=frozenset()) == []
    assert labels(three, search="ARM  flip") == ["Arm"]  # all words, any case
    assert labels(three, search="arm toe") == []


def test_flags_and_positions_agree_with_the_rows_shown(three: Results) -> None:
    filters = Filters(search="flip", sort="BONE")
    flags, position = three.flags(filters, 1 << 30)
    by_position = sorted(range(3), key=position.__getitem__)
    assert [three.rows[n].label for n in by_position if flags[n] == 1 << 30] == labels(
        three, search="flip", sort="BONE"
    )
    assert set(flags) == {0, 1 << 30}


def test_nothing_is_worked_out_twice(three: Results) -> None:
    filters = Filters(search="a")
    assert three.flags(filters, 1)[0] is three.flags(Filters(search="a"), 1)[0]
    before = three.rows
    three.touch()
    assert three.rows is not before and [r.key for r in three.rows] == [r.key for r in before]


def test_a_row_is_found_by_its_key_whatever_its_number(three: Results) -> None:
    keys = [row.key for row in three.rows]
    assert len(set(keys)) == 3
    assert [three.number_of(key) for key in keys] == [0, 1, 2]
    assert three.number_of(keys[0]._replace(code="QA999")) == -1
    assert three.row(-1) is None and three.row(3) is None


def test_undo_and_redo_bring_back_what_was_found_in_that_state() -> None:
    broken, clean = flip(), clips.quaternion_clip([1, 11], clips.turns("X", [0.0, 20.0]))
    results = shown(audited(broken))
    results.replace_one(audited(clean))
    assert results.rows == []
    assert results.saw(HERE, clip_state(broken), broken.curves.data_path)  # undo
    assert [row.label for row in results.rows] == ["Arm"] and not results.any_outdated
    assert results.saw(HERE, clip_state(clean), clean.curves.data_path)  # redo
    assert results.rows == [] and not results.any_outdated


def test_a_state_that_was_never_audited_keeps_the_rows_and_says_so() -> None:
    results = shown(audited(flip()))
    row = results.rows[0]
    assert results.outdated(row) is None
    assert not results.saw(HERE, "unknown", [row.finding.data_path])
    assert results.outdated(row) == "The action changed since the audit: audit again"
    assert not results.saw(HERE, "unknown", ["another path"])
    assert results.outdated(row) == "The channel is gone: renamed or deleted since the audit"
    results.lost(HERE)
    assert results.outdated(row) == "The action “Action” is no longer in this file"
    assert results.rows == [row]


def test_another_profile_forgets_the_states_of_the_old_one() -> None:
    broken = flip()
    results = shown(audited(broken))
    changed = clip_result(HERE, broken, "", Judgement((), (), ()))
    results.replace_all([changed], profile="other", scope="s", file="f")
    assert results.saw(HERE, clip_state(broken), ())
    assert results.rows == []


def test_states_do_not_pile_up() -> None:
    first = flip(degrees=10.0)
    results = shown(audited(first))
    for number in range(STATES_KEPT):
        results.replace_one(audited(flip(degrees=11.0 + number)))
    assert not results.saw(HERE, clip_state(first), ())


def test_a_reloaded_file_has_its_actions_under_other_numbers() -> None:
    clip = flip()
    results = shown(audited(clip), audited(flip("Leg"), HERE._replace(uid=8)))
    arm = results.rows[0]
    results.checked = {row.key for row in results.rows}
    there = HERE._replace(uid=70)
    results.rebind({HERE: there})
    moved = results.number_of(arm.key._replace(address=there))
    assert moved == 0 and results.checked == {results.rows[0].key}
    assert results.saw(there, clip_state(clip), clip.curves.data_path) and results.outdated(results.rows[0]) is None
    assert "no longer in this file" in str(results.outdated(results.rows[1]))


@pytest.mark.parametrize(
    "change",
    [
        {"co": lambda a: a + np.array([[0, 1e-6]])},
        {"handle_left": lambda a: a + np.array([[0, 1e-6]])},
        {"handle_right": lambda a: a - [[1e-3, 0]]},
        {"interpolation": np.zeros_like},
        {"read_only": lambda a: ("the curve is locked",) * len(a)},
        {"unevaluable": lambda a: ("muted",) * len(a)},
        {"data_path": lambda a: ("x",) * len(a)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_state_sees_every_change_of_the_curves(change) -> None:
    clip = flip()
    ((name, edit),) = change.items()
    edited = edit(getattr(clip.curves, name))
    if isinstance(edited, np.ndarray):
        edited = edited.astype(getattr(clip.curves, name).dtype)
    assert clip_state(replace(clip, curves=replace(clip.curves, **{name: edited}))) != clip_state(clip)
    assert clip_state(flip()) == clip_state(clip)


def test_the_state_does_not_see_the_current_frame() -> None:
    """An animated component's stored value is what the current frame shows; only one without a curve is played."""
    whole, partial = flip(), clips.quaternion_clip([1, 11], clips.turns("X", [0.0, 20.0]), components=(0, 1, 2))
    for clip, same in ((whole, True), (partial, False)):
        posed = replace(clip, tracks=replace(clip.tracks, pose=clip.tracks.pose + 0.25))
        assert (clip_state(posed) == clip_state(clip)) is same


def test_the_figure_is_none_where_a_rule_measures_no_angle() -> None:
    clip = clips.quaternion_clip([1, 11, 21], np.array([[1, 0, 0, 0], [np.nan, 0, 0, 0], [1, 0, 0, 0]]))
    (row,) = audited(clip).rows
    assert (row.key.code, row.figure) == ("QA101", None)


def test_locked_rows_say_why_and_are_not_fixable() -> None:
    results = shown(audited(flip(read_only="linked from lib.blend")))
    (row,) = results.rows
    assert (row.locked, row.fixable, row.safe) == ("linked from lib.blend", False, False)
    assert results.summary().safe == 0
    results.checked = {row.key}
    assert results.checked_rows() == []
    # The report that the panel writes says what the audit of the file says.
    (finding,) = results.report("walk.blend").findings
    assert (finding.fix, finding.occurrences.fix.tolist()) == (NONE, [NONE])
    assert finding.message.endswith(" (linked from lib.blend)")
    assert (finding,) == judge(flip(read_only="linked from lib.blend")).findings


def test_the_report_leaves_out_what_is_gone(three: Results) -> None:
    report = three.report("walk.blend")
    assert (report.path, report.read_via, len(report.findings), len(report.clips)) == ("walk.blend", "blender", 3, 1)
    three.lost(HERE)
    assert three.report("walk.blend").findings == []
