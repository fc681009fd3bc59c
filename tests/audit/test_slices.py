# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit in slices: the same findings, control back while a rule is at work, and it can be stopped."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from quat_audit.audit.pipeline import SLICE_SECONDS, Judgement, judge, judge_in_slices
from quat_audit.audit.settings import Settings
from quat_audit.audit.subjects import KEYS_AT_ONCE
from quat_audit.findings.finding import Finding
from quat_audit.findings.ignores import Ignore
from quat_audit.motion.clip import BEZIER, QUATERNION, Clip
from quat_audit.pausing import pause_point
from quat_audit.rules import RULES, Limits, Rule
from tests.clips import joined, quaternion_clip, random_quaternions, track_clip

# What the interface promises between two redraws, in seconds of work (the clock on the wall also counts what else the
# machine does).
MOST_SECONDS = 0.25


def noisy_clip(rows: int) -> Clip:
    rng = np.random.default_rng(3)
    times = np.arange(rows) * 2.0
    clip = joined(*(quaternion_clip(times, random_quaternions(rng, rows), bone=bone) for bone in ("Arm", "Leg", "Hip")))
    return replace(clip, ignores=(Ignore("QA104", clip.tracks.data_path[1], "meant"),))


@pytest.mark.parametrize("rows", [20, 400], ids=["at once", "interrupted"])
def test_the_steps_find_what_the_audit_finds(rows: int) -> None:
    clip = noisy_clip(rows)
    assert (len(clip.curves.co) > KEYS_AT_ONCE) == (rows == 400)
    settings = Settings(caps={"QA106": "note"})
    judged: list[Judgement] = []
    shares = list(judge_in_slices(clip, settings, judged))
    rules = sum(rule.judges == "clip" for rule in RULES)
    assert shares == sorted(shares) and {n / rules for n in range(1, rules + 1)} <= set(shares) and shares[-1] == 1.0
    expected = judge(clip, settings)
    assert judged == [expected] and expected.findings and expected.ignored
    assert {f.severity for f in expected.findings if f.code == "QA106"} <= {"note"}


def rule_that(find) -> Rule[Clip]:
    return Rule(
        code="QA999",
        name="test",
        short="",
        summary="",
        doc="",
        judges="clip",
        find=find,
        sentences=(),
        kinds=(),
        remedy="",
    )


def test_control_comes_back_while_a_rule_is_at_work() -> None:
    happened = []

    def find(clip: Clip, limits: Limits) -> list[Finding]:
        for _ in range(4):
            happened.append("work")
            time.sleep(SLICE_SECONDS)
            pause_point()
        return []

    shares = []
    for share in judge_in_slices(noisy_clip(400), Settings((rule_that(find),)), []):
        happened.append("slice")
        shares.append(share)
    assert shares == [0.0] * 4 + [1.0]
    assert happened == ["work", "slice"] * 4 + ["slice"]


def test_closing_the_steps_ends_the_rule_where_it_is() -> None:
    happened, others = [], set(threading.enumerate())

    def first(clip: Clip, limits: Limits) -> list[Finding]:
        try:
            while True:
                time.sleep(SLICE_SECONDS)
                pause_point()
        finally:
            happened.append("first ended")

    def second(clip: Clip, limits: Limits) -> list[Finding]:
        raise AssertionError("it must not begin")

    slices = judge_in_slices(noisy_clip(400), Settings((rule_that(first), rule_that(second))), [])
    assert next(slices) == 0.0
    slices.close()
    assert happened == ["first ended"]
    assert set(threading.enumerate()) == others


@pytest.mark.parametrize("rows", [20, 400], ids=["at once", "interrupted"])
def test_what_a_rule_raises_comes_out_of_the_step(rows: int) -> None:
    def find(clip: Clip, limits: Limits) -> list[Finding]:
        raise LookupError("as it was")

    with pytest.raises(LookupError, match="as it was"):
        list(judge_in_slices(noisy_clip(rows), Settings((rule_that(find),)), []))


@pytest.mark.slow
@pytest.mark.parametrize("bones", [100, 1], ids=["100 bones", "one bone"])
def test_no_step_on_a_million_keys_is_long(bones: int) -> None:
    """Random values with Bézier handles and components keyed apart: about the worst that there is to audit."""
    rng, rows = np.random.default_rng(bones), 250_000 // bones

    def moving(bone: str) -> Clip:
        frames = [np.arange(rows) * 2.0 + (bones == 1 and component == 2) for component in range(4)]
        co = [np.stack([times, rng.normal(size=rows)], axis=1) for times in frames]
        keys = {component: (found[:, 0], found[:, 1]) for component, found in enumerate(co)}
        half = np.array([0.5, 0.0])
        handles = {component: (found - half, found + half) for component, found in enumerate(co)}
        return track_clip(QUATERNION, keys, bone=bone, interpolation=BEZIER, handles=handles)

    clip = joined(*(moving(f"B{bone}") for bone in range(bones)))
    assert len(clip.curves.co) == 1_000_000
    judged: list[Judgement] = []
    longest, since, share = 0.0, time.process_time(), 0.0
    for share in islice(judge_in_slices(clip, Settings(), judged), 150):  # noqa: B007  # some seconds of it
        now = time.process_time()
        longest, since = max(longest, now - since), now
    assert longest < MOST_SECONDS
    assert share < 1.0 and judged == [], "it was not a million keys' work"
