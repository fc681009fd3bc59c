# SPDX-License-Identifier: GPL-3.0-or-later
"""What a repair promises beside the proof of each fix: safe is proven in an unsafe run too, it ends at a fixed point,
a repair of some findings takes what it uncovers along, it leaves no more errors than it met, and it counts what it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.audit.pipeline import find, judge
from quat_audit.audit.repair import repair
from quat_audit.audit.settings import DEFAULT, Settings
from quat_audit.findings.finding import ERROR, NOTE, SAFE, UNSAFE, Finding
from quat_audit.motion.changes import changes_by_path
from quat_audit.motion.clip import BEZIER, QUATERNION, Clip, with_curves
from quat_audit.motion.edit import keep_curves, scale_keys
from quat_audit.rules import RULES, Limits
from tests.audit.test_repair import a_rule, everywhere, flipped, rule_that, turn_a_key
from tests.clips import channel_clip, euler_clip, joined, quaternion_clip, track_clip, turns
from tests.contract import assert_same
from tests.judging import audit_clip, repair_clip

BY_CODE = {rule.code: rule for rule in RULES}
UNSAFE_TOO = Settings(unsafe=True)


# ---- safe means proven, in an unsafe run too --------------------------------------------------------------


def test_a_refused_safe_fix_is_not_carried_out_by_an_unsafe_run() -> None:
    clip = flipped()
    for unsafe in (False, True):
        done = repair_clip(clip, [rule_that(turn_a_key)], unsafe=unsafe)
        assert done.subject is clip and done.applied == ()
        (refused,) = done.refused
        assert "a keyed rotation would change by" in refused.why


def test_an_unsafe_fix_is_carried_out_by_an_unsafe_run_only() -> None:
    clip = flipped()
    rule = rule_that(lambda c: turn_a_key(c) if c is clip else c, says=UNSAFE)
    assert repair_clip(clip, [rule]).subject is clip
    done = repair_clip(clip, [rule], unsafe=True)
    assert done.subject is not clip and [a.code for a in done.applied] == ["QA999"]


def test_of_a_finding_with_safe_and_unsafe_places_the_unsafe_fix_gets_the_unsafe_ones() -> None:
    """The safe place is repaired with proof; what the unsafe fix is asked for is the other one."""
    given: list[tuple[bool, tuple[str, ...]]] = []

    def find_both(clip: Clip, limits: Limits) -> list[Finding]:
        (one,) = everywhere(clip)
        both = one.occurrences.at(np.zeros(2, dtype=np.int64))
        codes = both.codes.copy()
        codes[:, 2] = [2, 1]  # safe, unsafe
        return [replace(one, occurrences=replace(both, codes=codes))]

    def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
        given.append((unsafe, tuple(str(x) for f in findings for x in f.occurrences.fix)))
        every = np.arange(len(clip.curves.co))
        return clip if unsafe else scale_keys(clip, every, -np.ones(len(every), dtype=clip.curves.co.dtype))

    repair_clip(flipped(), [a_rule(find_both, fix)], unsafe=True)
    assert {kinds for unsafe, kinds in given if unsafe} == {("unsafe",)}
    assert {kinds for unsafe, kinds in given if not unsafe} == {("safe", "unsafe")}


def test_a_path_whose_safe_part_was_refused_is_left_alone_by_an_unsafe_run() -> None:
    """A fix may work on whole paths: then the refused part would ride along."""
    clip = flipped()
    asked: list[bool] = []

    def find_both(clip: Clip, limits: Limits) -> list[Finding]:
        (one,) = everywhere(clip)
        both = one.occurrences.at(np.zeros(2, dtype=np.int64))
        codes = both.codes.copy()
        codes[:, 2] = [2, 1]
        return [replace(one, occurrences=replace(both, codes=codes))]

    def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
        asked.append(unsafe)
        return turn_a_key(clip)

    done = repair_clip(clip, [a_rule(find_both, fix)], unsafe=True)
    assert done.subject is clip and done.applied == () and len(done.refused) == 1
    assert asked and not any(asked)


# ---- a fixed point ----------------------------------------------------------------------------------------


def lacking() -> Clip:
    """Three keys of which the middle one lacks a component; what its curve gives there makes no unit quaternion."""
    q = turns("X", [0.0, 40.0, 90.0])
    times = np.array([1.0, 11.0, 21.0])
    whole = {part: (times, q[:, part]) for part in (0, 2, 3)}
    return track_clip(QUATERNION, whole | {1: (times[::2], q[::2, 1])}, interpolation=BEZIER, handles="thirds")


def codes_of(findings: Sequence[Finding]) -> set[str]:
    return {f.code for f in findings if f.fix == SAFE}


def test_a_repair_of_one_finding_takes_along_what_it_uncovers() -> None:
    clip = lacking()
    (path,) = set(clip.curves.data_path)
    assert codes_of(audit_clip(clip)) == {"QA303"}
    # By itself the rule leaves another one's finding to a second click.
    alone = repair_clip(clip, [BY_CODE["QA303"]])
    assert codes_of(audit_clip(alone.subject)) == {"QA103"}
    done = repair(clip, only={("QA303", path)})
    assert codes_of(audit_clip(done.subject)) == set()
    assert {a.code for a in done.applied} == {"QA103", "QA303"}
    assert repair(done.subject, only={("QA303", path)}).subject is done.subject
    assert repair(done.subject).subject is done.subject


def test_what_was_there_before_and_was_not_named_stays() -> None:
    clip = joined(lacking(), flipped("Leg"))
    named, other = ("QA104", clip.curves.data_path[-1]), ("QA303", clip.curves.data_path[0])
    assert {(f.code, f.data_path) for f in audit_clip(clip)} == {named, other}
    done = repair(clip, only={named})
    assert {(f.code, f.data_path) for f in audit_clip(done.subject)} == {other}
    assert {a.code for a in done.applied} == {"QA104"} and done.met == {named} and done.refused == ()


def test_what_is_not_there_is_not_met_and_nothing_is_done() -> None:
    clip = flipped()
    done = repair(clip, only={("QA104", 'pose.bones["Gone"].rotation_quaternion'), ("QA201", clip.curves.data_path[0])})
    assert (done.subject, done.met, done.applied, done.refused) == (clip, frozenset(), (), ())


@pytest.mark.slow
@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_running_again_changes_nothing_whatever_was_broken(seed: int, unsafe: bool) -> None:
    rng = np.random.default_rng(seed)
    q = turns((1, 2, 3), np.cumsum(rng.uniform(-60, 60, 12)))
    q *= rng.choice([1.0, -1.0, 1.4], (12, 1)) * rng.choice([1.0, 1.0, 0.0], (12, 1), p=[0.6, 0.3, 0.1])
    times = np.cumsum(rng.integers(1, 9, 12)).astype(float)
    keep = [rng.random(12) < 0.8 for _ in range(4)]
    for one in keep:
        one[[0, -1]] = True
    values = {part: (times[keep[part]], q[keep[part], part]) for part in range(4)}
    euler = np.degrees((np.cumsum(rng.uniform(-2, 2, (9, 3)), axis=0) + np.pi) % (2 * np.pi) - np.pi)
    clip = joined(
        track_clip(QUATERNION, values, interpolation=BEZIER, handles="thirds", bone="A"),
        euler_clip(1.0 + 3.0 * np.arange(9), euler, str(rng.choice(["XYZ", "ZXY", "YXZ"])), bone="B"),
        channel_clip([1, 2, 3], rng.choice([0.0, np.nan], 3)),
    )
    once = repair_clip(clip, unsafe=unsafe)
    again = repair_clip(once.subject, unsafe=unsafe)
    assert again.subject is once.subject and again.applied == ()
    assert sum(f.severity == ERROR for f in audit_clip(once.subject)) <= sum(
        f.severity == ERROR for f in audit_clip(clip)
    )


# ---- no more errors than before ---------------------------------------------------------------------------


def breaks_another(clip: Clip) -> Clip:
    """Negate the middle key of every other track: errors where there were none."""
    second = int(clip.curves.offsets[4])
    return scale_keys(clip, np.arange(second + 1, len(clip.curves.co), 3), -np.ones(4, dtype=clip.curves.co.dtype))


def test_a_repair_that_leaves_more_errors_is_taken_back_and_says_so() -> None:
    still = quaternion_clip([1, 11, 21], turns("Z", [0, 5, 10]), bone="Leg", dtype=np.float64)
    clip = joined(quaternion_clip([1, 11, 21], turns("X", [0, 5, 10]), dtype=np.float64), still)
    # Without a fix QA104 is no part of the passes: the harm is seen all the same.
    harm, seen = (
        rule_that(lambda c: breaks_another(c) if c is clip else c, says=UNSAFE),
        replace(BY_CODE["QA104"], fix=None, keys_only=True),
    )
    done = repair_clip(clip, [harm, seen], unsafe=True)
    assert done.subject is clip and done.applied == ()
    assert {r.why for r in done.refused} == {"it would leave 1 error where there were 0, so nothing was done"}


def test_what_the_safe_part_did_is_kept_when_the_unsafe_part_is_taken_back() -> None:
    still = quaternion_clip([1, 11, 21], turns("Z", [0, 5, 10]), bone="Leg", dtype=np.float64)
    broken = quaternion_clip([1, 11, 21], turns("X", [0, 5, 10]) * [[1.0], [1.5], [1.0]], dtype=np.float64)
    clip = joined(broken, still)
    worse = rule_that(lambda c: breaks_another(c) if len(audit_clip(c, [BY_CODE["QA104"]])) == 0 else c, says=UNSAFE)
    seen = replace(BY_CODE["QA104"], fix=None, keys_only=True)
    done = repair_clip(clip, [BY_CODE["QA103"], worse, seen], unsafe=True)
    assert_same(done.subject, repair_clip(clip, [BY_CODE["QA103"]]).subject)
    assert [a.code for a in done.applied] == ["QA103"] and "QA999" in {r.code for r in done.refused}


def test_what_a_repair_could_not_do_is_said_although_the_rest_of_it_is_taken_back() -> None:
    still = quaternion_clip([1, 11, 21], turns("Z", [0, 5, 10]), bone="Leg", dtype=np.float64)
    linked = quaternion_clip([1], [[np.nan, 0, 0, 0]], read_only="linked", dtype=np.float64)
    clip = joined(linked, still)
    harm = rule_that(lambda c: breaks_another(c) if c is clip else c, says=UNSAFE)
    seen = replace(BY_CODE["QA104"], fix=None, keys_only=True)
    done = repair_clip(clip, [BY_CODE["QA101"], harm, seen], unsafe=True)
    assert done.subject is clip
    assert {(r.code, r.why) for r in done.refused} >= {("QA101", "linked")}


# ---- what is judged is judged in one way ------------------------------------------------------------------


def test_a_rule_judges_what_it_says_and_nothing_else() -> None:
    clip = flipped()
    for rule in RULES:
        if rule.judges == "skin":
            assert find(rule, clip) == []
    assert {f.code for f in judge(clip, DEFAULT).findings} == {"QA104"}


def test_a_locked_finding_is_the_same_by_every_door() -> None:
    clip = flipped()
    locked = with_curves(clip, replace(clip.curves, read_only=("the curve is locked",) * 4))
    (finding,) = judge(locked).findings
    assert (finding.fix, finding.locked) == ("none", "the curve is locked")
    assert finding.occurrences.fix.tolist() == ["none"] * len(finding.occurrences)
    assert finding.message.endswith("(the curve is locked)")
    done = repair(locked)
    assert done.subject is locked and [r.why for r in done.refused] == ["the curve is locked"]
    assert done.met == {("QA104", clip.curves.data_path[0])}


# ---- counts -----------------------------------------------------------------------------------------------


def test_converted_keys_count_once_and_other_tracks_not_at_all() -> None:
    """Two keys of one track become two keys of another property; the tracks behind it move up by a place."""
    dead = quaternion_clip([1, 11], turns("X", [0, 20]), bone="A", modes=("XYZ",))
    others = [euler_clip([1, 11], [[0, 0, 0], [5, 0, 0]], bone=bone, modes=("XYZ",)) for bone in ("B", "C")]
    clip = joined(dead, *others)
    done = repair_clip(clip, [BY_CODE["QA301"]], {"QA301": {"convert_keys": 1.0}}, unsafe=True)
    assert done.subject is not clip
    assert [(a.code, a.tracks, a.keys_changed) for a in done.applied] == [("QA301", 1, 2)]


def test_tracks_that_move_up_are_not_counted() -> None:
    gone = quaternion_clip([1, 11], turns("X", [0, 20]), bone="Gone", orphan=True, modes=("QUATERNION",))
    kept = [
        quaternion_clip([1, 11], turns("X", [0, 20]), bone=b, modes=m)
        for b, m in (("A", ("XYZ",)), ("B", ("QUATERNION",)))
    ]
    clip = joined(gone, *kept)
    after = keep_curves(clip, np.array(["Gone" not in path for path in clip.curves.data_path]))
    assert changes_by_path(clip, after) == {clip.curves.data_path[0]: 2}
    assert changes_by_path(clip, clip) == {}


def test_components_of_a_key_count_once_and_nan_is_no_change() -> None:
    clip = quaternion_clip([1, 11, 21], [[1, 0, 0, 0], [np.nan, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float64)
    co = clip.curves.co.copy()
    assert changes_by_path(clip, with_curves(clip, replace(clip.curves, co=co))) == {}
    co[[2, 5, 8], 1] += 0.5  # the last key of three components
    co[1, 1] = 1.0  # and the NaN
    (path,) = set(clip.curves.data_path)
    assert changes_by_path(clip, with_curves(clip, replace(clip.curves, co=co))) == {path: 2}


def test_keys_that_came_on_components_at_different_times_count_each() -> None:
    times = np.array([1.0, 11.0, 21.0])
    q = turns("X", [0.0, 40.0, 90.0])
    clip = track_clip(
        QUATERNION,
        {0: (times, q[:, 0]), 1: (times[[0, 2]], q[[0, 2], 1]), 2: (times, q[:, 2]), 3: (times[:2], q[:2, 3])},
    )
    done = repair_clip(clip, [BY_CODE["QA303"]])
    assert [(a.tracks, a.keys_changed) for a in done.applied] == [(1, 2)]


def test_severities_below_an_error_do_not_count_as_harm() -> None:
    """QA203's fix turns one spin into many steps that QA106-like rules may note: that is no harm."""
    clip = euler_clip([1, 41], [[0, 0, 0], [720, 0, 0]])
    done = repair_clip(clip, unsafe=True)
    assert [a.code for a in done.applied] == ["QA203"]
    assert {f.severity for f in audit_clip(done.subject)} <= {NOTE}
