# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit in steps: the same findings, control back while a rule is at work, and it can be stopped."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.audit.pipeline import KEYS_AT_ONCE, STEP_SECONDS, audit_and_split, audit_steps, in_order, split_ignored
from quat_audit.findings.finding import Finding
from quat_audit.findings.ignores import Ignore
from quat_audit.motion.clip import Clip
from quat_audit.pausing import pause_point
from quat_audit.rules import RULES, Limits, Rule
from tests.clips import joined, quaternion_clip, random_quaternions


def noisy_clip(rows: int) -> Clip:
    rng = np.random.default_rng(3)
    times = np.arange(rows) * 2.0
    clip = joined(*(quaternion_clip(times, random_quaternions(rng, rows), bone=bone) for bone in ("Arm", "Leg", "Hip")))
    return replace(clip, ignores=(Ignore("QA104", clip.tracks.data_path[1], "meant"),))


def said(findings) -> list[tuple]:
    return [(f.code, f.data_path, f.message, f.severity, f.fix, len(f.occurrences)) for f in findings]


@pytest.mark.parametrize("rows", [20, 400], ids=["at once", "interrupted"])
def test_the_steps_find_what_the_audit_finds(rows: int) -> None:
    clip = noisy_clip(rows)
    assert (len(clip.curves.co) > KEYS_AT_ONCE) == (rows == 400)
    steps = list(audit_steps(clip, caps={"QA106": "note"}))
    assert [total for _, total, _ in steps] == [len(RULES)] * len(steps)
    counts = [done for done, _, _ in steps]
    assert counts == sorted(counts) and sorted(set(counts) - {0}) == list(range(1, len(RULES) + 1))
    for found in (found for _, _, found in steps):
        assert len({f.code for f in found}) <= 1, "a step is one rule"
    kept, ignored = split_ignored(clip, in_order(f for _, _, found in steps for f in found))
    expected, expected_ignored = audit_and_split(clip, caps={"QA106": "note"})
    assert said(kept) == said(expected) and expected
    assert [(said([i.finding]), i.reason) for i in ignored] == [(said([i.finding]), i.reason) for i in expected_ignored]
    assert ignored


def rule_that(find) -> Rule:
    return Rule("QA999", "test", "", "", find)


def test_control_comes_back_while_a_rule_is_at_work() -> None:
    happened = []

    def find(clip: Clip, limits: Limits) -> list[Finding]:
        for _ in range(4):
            happened.append("work")
            time.sleep(STEP_SECONDS)
            pause_point()
        return []

    steps = []
    for step in audit_steps(noisy_clip(400), [rule_that(find)]):
        happened.append("step")
        steps.append(step)
    assert steps == [(0, 1, [])] * 4 + [(1, 1, [])]
    assert happened == ["work", "step"] * 4 + ["step"]


def test_closing_the_steps_ends_the_rule_where_it_is() -> None:
    happened, others = [], set(threading.enumerate())

    def first(clip: Clip, limits: Limits) -> list[Finding]:
        try:
            while True:
                time.sleep(STEP_SECONDS)
                pause_point()
        finally:
            happened.append("first ended")

    def second(clip: Clip, limits: Limits) -> list[Finding]:
        raise AssertionError("it must not begin")

    steps = audit_steps(noisy_clip(400), [rule_that(first), rule_that(second)])
    assert next(steps) == (0, 2, [])
    steps.close()
    assert happened == ["first ended"]
    assert set(threading.enumerate()) == others


@pytest.mark.parametrize("rows", [20, 400], ids=["at once", "interrupted"])
def test_what_a_rule_raises_comes_out_of_the_step(rows: int) -> None:
    def find(clip: Clip, limits: Limits) -> list[Finding]:
        raise LookupError("as it was")

    with pytest.raises(LookupError, match="as it was"):
        list(audit_steps(noisy_clip(rows), [rule_that(find)]))
