# SPDX-License-Identifier: GPL-3.0-or-later
"""Repair: order, proof, refusal, counts; with rules written here to misbehave on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.proof import compare
from quat_audit.audit.repair import MAX_PASSES
from quat_audit.errors import InputError
from quat_audit.findings.finding import NOTE, SAFE, UNSAFE, Finding, FixKind, make_occurrences
from quat_audit.findings.report import Proof
from quat_audit.motion.clip import BEZIER, LINEAR, QUATERNION, Clip, with_curves
from quat_audit.motion.edit import keep_curves, scale_keys
from quat_audit.rules import RULES, Limits, Rule
from tests.clips import NAN, channel_clip, euler_clip, joined, quaternion_clip, track_clip, turns, values_of
from tests.contract import assert_contract, assert_same, snapshot
from tests.judging import audit_clip, repair_clip

BY_CODE = {rule.code: rule for rule in RULES}


def flipped(bone: str = "Arm", degrees: Sequence[float] = (0, 20, 40, 60), **options: Any) -> Clip:
    q = turns("Z", degrees) * np.array([[1.0], [-1.0], [-1.0], [1.0]])
    return quaternion_clip([1, 11, 21, 31], q, bone=bone, **options)


def everywhere(clip: Clip, fix: FixKind = SAFE) -> list[Finding]:
    """A finding on every track."""
    o = make_occurrences(
        frames=np.ones((1, 2)), rows=np.ones(1), kind="slight", severity=NOTE, fix=fix, measured={"x_deg": np.ones(1)},
        kinds=("slight",),
    )  # fmt: skip
    return [
        Finding(
            code="QA999",
            rule="a-test",
            severity=NOTE,
            action=clip.action,
            slot="",
            owner="",
            bone=clip.tracks.bone[track],
            data_path=path,
            fix=fix,
            occurrences=o,
            worst=0,
            sentences=("off by {x_deg:.1f}°",),
            part=track,
        )
        for track, path in enumerate(clip.tracks.data_path)
    ]


def a_rule(find: Any, fix: Any, code: str = "QA999", phase: int = 0) -> Rule[Clip]:
    return Rule(
        code=code, name="a-test", short="", summary="a test", doc="", judges="clip", find=find, fix=fix, phase=phase,
        sentences=("off by {x_deg:.1f}°",), kinds=("slight",), remedy="",
    )  # fmt: skip


def rule_that(fix: Callable[[Clip], Clip], says: FixKind = SAFE, code: str = "QA999", phase: int = 0) -> Rule[Clip]:
    def find(clip: Clip, limits: Limits) -> list[Finding]:
        return [replace(f, code=code) for f in everywhere(clip, says)]

    def apply(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
        return fix(clip)

    return a_rule(find, apply, code, phase)


def turn_a_key(clip: Clip) -> Clip:
    co = clip.curves.co.copy()
    co[1, 1] += 0.01
    return with_curves(clip, replace(clip.curves, co=co))


# ---- proof and refusal ------------------------------------------------------------------------------------


def test_a_safe_fix_that_turns_a_keyed_rotation_is_refused_and_says_by_how_much() -> None:
    clip = flipped()
    repair = repair_clip(clip, [rule_that(turn_a_key)])
    assert repair.subject is clip and repair.applied == () and repair.proof == Proof()
    (refused,) = repair.refused
    assert refused.code == "QA999" and refused.data_path == clip.tracks.data_path[0]
    assert "a keyed rotation would change by" in refused.why and "°" in refused.why


def test_a_safe_fix_that_lengthens_a_path_is_refused() -> None:
    clip = quaternion_clip([1, 11], turns("Z", [0, 20]))
    repair = repair_clip(clip, [rule_that(lambda c: scale_keys(c, np.array([1, 3, 5, 7]), -np.ones(4)))])
    assert repair.subject is clip
    assert "320.00° longer" in repair.refused[0].why


@pytest.mark.parametrize(("growth_deg", "refused"), [(0.08, False), (0.12, True)])
def test_a_path_may_get_longer_by_a_tenth_of_a_degree(growth_deg: float, refused: bool) -> None:
    """Both ends stay; between them the path of a bent handle is longer by that much."""
    q = turns("Z", [0, 40])
    clip = quaternion_clip([1, 11], q, interpolation=BEZIER, handles="thirds")

    def bend(clip: Clip, by: float) -> Clip:
        left, right = clip.curves.handle_left.copy(), clip.curves.handle_right.copy()
        out = int(clip.curves.offsets[clip.tracks.curves[0, 1]])  # x: off the plane of the turn
        right[out, 1] += by
        left[out + 1, 1] -= by
        return with_curves(clip, replace(clip.curves, handle_left=left, handle_right=right))

    def longer(by: float) -> float:
        before, after = clip, bend(clip, by)
        return float(compare(before, after).longer_deg.max())

    low, high = 0.0, 0.5
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if longer(middle) < growth_deg else (low, middle)
    assert abs(longer(low) - growth_deg) < 1e-3
    done: list[int] = []

    def once(clip: Clip, limits: Limits) -> list[Finding]:
        return [] if done else everywhere(clip)

    def fix(clip: Clip, *rest: object) -> Clip:
        done.append(1)
        return bend(clip, low)

    repair = repair_clip(clip, [a_rule(once, fix)])
    assert (repair.subject is clip) == refused


def test_only_the_tracks_at_fault_are_refused() -> None:
    """A rule that turns keys of one track and repairs another: the other is still done."""

    def fix(clip: Clip, findings: Sequence[Finding], limits: Limits, unsafe: bool) -> Clip:
        result = clip
        for finding in findings:
            key = clip.curves.offsets[clip.tracks.curves[finding.part]] + 1
            if finding.part:
                result = scale_keys(result, key, np.full(4, 2.0))
            else:
                result = scale_keys(result, key[1:2] - 1, np.array([5.0]))
                co = result.curves.co.copy()
                co[key[3], 1] += 0.3
                result = with_curves(result, replace(result.curves, co=co))
        return result

    def find(clip: Clip, limits: Limits) -> list[Finding]:
        done = values_of(clip, 1)[1] @ values_of(clip, 1)[1] > 2
        return [f for f in everywhere(clip) if f.part == 0 or not done]

    clip = joined(flipped(), flipped("B"))
    repair = repair_clip(clip, [a_rule(find, fix)])
    assert [r.data_path for r in repair.refused] == [clip.tracks.data_path[0]]
    assert [(a.tracks, a.keys_changed) for a in repair.applied] == [(1, 1)]
    assert values_of(repair.subject).tobytes() == values_of(clip).tobytes()
    assert values_of(repair.subject, 1)[1].tolist() == (values_of(clip, 1)[1] * 2).tolist()


def test_an_unsafe_fix_needs_to_be_asked_for() -> None:
    clip = flipped()
    rule = rule_that(turn_a_key, says=UNSAFE)
    silent = repair_clip(clip, [rule])
    assert silent.subject is clip and silent.refused == () and silent.applied == ()
    asked = repair_clip(clip, [rule], unsafe=True)
    assert asked.subject is not clip
    assert asked.proof.max_key_change_deg > 0.1


def test_a_fix_that_does_nothing_is_said() -> None:
    clip = flipped()
    repair = repair_clip(clip, [rule_that(lambda c: c)])
    assert repair.subject is clip and repair.applied == ()
    assert "QA999" in repair.refused[0].why


@pytest.mark.parametrize("unsafe", [False, True])
def test_read_only_curves_are_never_written(unsafe: bool) -> None:
    clip = joined(flipped(read_only="linked from lib.blend"), flipped("B"))
    repair = repair_clip(clip, unsafe=unsafe)
    assert values_of(repair.subject).tobytes() == values_of(clip).tobytes()
    assert not np.array_equal(values_of(repair.subject, 1), values_of(clip, 1))
    assert [(r.code, r.data_path, r.why) for r in repair.refused] == [
        ("QA104", clip.tracks.data_path[0], "linked from lib.blend")
    ]


def test_one_read_only_component_locks_the_whole_rotation() -> None:
    clip = flipped()
    clip = with_curves(clip, replace(clip.curves, read_only=("", "", "locked", "")))
    repair = repair_clip(clip)
    assert repair.subject is clip and repair.refused[0].why == "locked"


def test_what_was_refused_at_first_and_done_later_is_not_reported_as_refused() -> None:
    """The flip waits for the missing component; both are done in the end."""
    q = turns("Z", [0, 20, 40]) * [[1], [-1], [1]]
    clip = track_clip(QUATERNION, {p: ([1, 11, 21], q[:, p]) for p in (0, 2, 3)}, pose=(1, 0, 0, 0))
    reverse = [replace(rule, phase=9 - rule.phase) for rule in RULES]
    repair = repair_clip(clip, reverse)
    assert {a.code for a in repair.applied} == {"QA104", "QA302"}
    assert repair.refused == ()


# ---- order and passes -------------------------------------------------------------------------------------


def test_rules_run_by_phase_then_by_code_whatever_order_is_given() -> None:
    order: list[str] = []

    def rule(code: str, phase: int) -> Rule:
        def note(clip: Clip) -> Clip:
            order.append(code)
            return clip

        return rule_that(note, code=code, phase=phase)

    rules = [rule("QA900", 3), rule("QA902", 0), rule("QA901", 0), rule("QA800", 5)]
    repair_clip(flipped(), rules)
    assert order == ["QA901", "QA902", "QA900", "QA800"]


def test_a_fix_that_never_ends_is_stopped() -> None:
    calls = []

    def negate(clip: Clip) -> Clip:
        calls.append(1)
        return scale_keys(clip, np.arange(len(clip.curves.co)), -np.ones(len(clip.curves.co)))

    clip = flipped()
    repair = repair_clip(clip, [rule_that(negate), BY_CODE["QA103"]])
    assert len(calls) == MAX_PASSES
    ((code, path, why),) = [(r.code, r.data_path, r.why) for r in repair.refused]
    assert (code, path) == ("QA999", clip.tracks.data_path[0])
    assert why == "its repair has not come to rest after 6 passes: run it again, and look at it"


def test_a_repair_that_needs_every_pass_but_one_has_come_to_rest() -> None:
    left = [MAX_PASSES - 1]

    def find(clip: Clip, limits: Limits) -> list[Finding]:
        return everywhere(clip) if left[0] else []

    def negate(clip: Clip, *rest: object) -> Clip:
        left[0] -= 1
        return scale_keys(clip, np.arange(len(clip.curves.co)), -np.ones(len(clip.curves.co)))

    repair = repair_clip(flipped(), [a_rule(find, negate)])
    assert left == [0] and repair.refused == () and repair.applied[0].keys_changed == 4 * (MAX_PASSES - 1)


def test_everything_broken_at_once_is_whole_after_one_repair() -> None:
    q = turns((1, 2, 3), np.arange(8) * 15.0) * np.array([1, -1, 1, 1, -1.7, 1, 1, 1])[:, None]
    q[2], q[5] = NAN, 0.0
    keys = {p: (np.arange(8) * 5.0, q[:, p]) for p in (0, 1, 3)}
    keys[2] = (np.arange(8)[[0, 2, 3, 4, 5, 7]] * 5.0, q[[0, 2, 3, 4, 5, 7], 2])
    clip = joined(
        track_clip(QUATERNION, keys, interpolation=BEZIER, handles="thirds"),
        euler_clip([1, 3, 5], [[170, 0, 0], [-175, 0, 0], [-160, 0, 0]], bone="Leg"),
        channel_clip([1, 2, 3], [0, NAN, 1]),
        quaternion_clip([1, 2, 2, 3], turns("X", [0, 5, 5, 9]), bone="Twice"),
    )
    repair = assert_contract(clip, RULES)
    assert {a.code for a in repair.applied} >= {"QA101", "QA103", "QA104", "QA201", "QA303", "QA401"}
    assert [f for f in audit_clip(repair.subject) if f.fix == SAFE] == []
    np.testing.assert_allclose(np.linalg.norm(values_of(repair.subject), axis=1), 1, atol=2e-3)


def test_the_order_of_rules_given_does_not_matter() -> None:
    clip = joined(flipped(), euler_clip([1, 2], [[179, 0, 0], [-179, 0, 0]], bone="B"))
    assert_same(repair_clip(clip, RULES).subject, repair_clip(clip, RULES[::-1]).subject)


# ---- counts and limits ------------------------------------------------------------------------------------


def test_counts_are_tracks_and_keys() -> None:
    clip = joined(flipped(), flipped("B"), quaternion_clip([1, 11], turns("X", [0, 10]), bone="C"))
    (applied,) = repair_clip(clip).applied
    assert (applied.code, applied.tracks, applied.keys_changed) == ("QA104", 2, 4)
    bad = channel_clip([1, 2, 3], [0, NAN, NAN])
    (applied,) = repair_clip(bad).applied
    assert (applied.code, applied.tracks, applied.keys_changed) == ("QA101", 1, 2)
    assert repair_clip(bad).proof.keys_removed == 2


def test_removed_channels_are_counted() -> None:
    clip = joined(channel_clip([1, 2], [NAN, NAN]), channel_clip([1], [1], "scale"))
    repair = repair_clip(clip)
    assert [(a.tracks, a.keys_changed) for a in repair.applied] == [(1, 2)]
    assert repair.subject.curves.data_path == ("scale",)


def test_the_proof_is_of_the_whole_repair() -> None:
    proof = repair_clip(flipped()).proof
    assert proof.max_key_change_deg == 0
    assert proof.max_between_change_deg == pytest.approx(180, abs=1)
    assert (proof.keys_added, proof.keys_removed) == (0, 0)


def test_limits_reach_the_rules() -> None:
    clip = quaternion_clip([1, 11], turns("X", [0, 10]) * [[1.0], [1.05]])
    assert repair_clip(clip, [BY_CODE["QA103"]], {"QA103": {"norm_tolerance": 0.1}}).subject is clip
    assert repair_clip(clip, [BY_CODE["QA103"]], {"QA103": {"norm_tolerance": 0.01}}).subject is not clip
    with pytest.raises(InputError, match="QA103 has no limit 'nonsense'"):
        repair_clip(clip, RULES, {"QA103": {"nonsense": 1.0}})


def test_without_rules_findings_or_keys_nothing_happens() -> None:
    clip = flipped()
    assert repair_clip(clip, []).subject is clip
    nothing = keep_curves(clip, np.zeros(4, bool))
    repair = repair_clip(nothing, unsafe=True)
    assert repair.subject is nothing and repair.applied == repair.refused == ()


def test_rules_without_a_fix_repair_nothing() -> None:
    clip = flipped()
    rules = [replace(rule, fix=None) for rule in RULES]
    assert repair_clip(clip, rules, unsafe=True).subject is clip


def test_the_input_is_never_written_to() -> None:
    clip = joined(flipped(interpolation=LINEAR), channel_clip([1, 2], [0, NAN]))
    for points in (clip.curves.co, clip.curves.handle_left, clip.curves.handle_right, clip.curves.marked):
        points.flags.writeable = False
    before = snapshot(clip)
    repair_clip(clip, unsafe=True)
    assert snapshot(clip) == before


def test_the_proof_says_what_was_changed_on_purpose() -> None:
    dead = quaternion_clip([1, 2], turns("X", [0, 30]), modes=("XYZ",))
    repair = repair_clip(dead, unsafe=True)
    assert repair.proof.not_measured == ("Action, Arm: the rotation mode was set to QUATERNION, so its pose changes",)
    repair = repair_clip(dead, limits={"QA301": {"convert_keys": 1.0}}, unsafe=True)
    assert repair.proof.not_measured == ("Action, Arm: its rotation_quaternion keys were converted or removed",)


def test_what_is_locked_is_reported_without_a_fix() -> None:
    flipped = quaternion_clip([1, 5], [[1, 0, 0, 0], [-1, 0, 0, 0]], read_only="the curve is locked")
    (finding,) = audit_clip(flipped)
    assert finding.fix == "none" and set(finding.occurrences.fix) == {"none"}
    assert finding.message.endswith("(the curve is locked)")
    free = quaternion_clip([1, 5], [[1, 0, 0, 0], [-1, 0, 0, 0]])
    assert audit_clip(free)[0].fix == "safe"
