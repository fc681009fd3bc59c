# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work in slices: it takes turns with its caller, never runs beside it, and can be ended."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

from quat_audit.pausing import in_slices, pause_point


def test_the_result_comes_last_and_every_step_before_it_is_none() -> None:
    def work() -> int:
        for _ in range(5):
            pause_point()
        return 42

    assert list(in_slices(work, 0.0)) == [None] * 5 + [42]
    assert list(in_slices(work, 60.0)) == [42], "nothing is interrupted before its time is up"
    assert work() == 42, "outside of in_slices a pause point does nothing"


def test_the_work_and_its_caller_never_run_at_the_same_time() -> None:
    running = []

    def work() -> str:
        for _ in range(50):
            running.append("work")
            time.sleep(0.0002)
            running.append("pause")
            pause_point()
        return "done"

    for _ in in_slices(work, 0.0):
        at = len(running)
        time.sleep(0.001)  # a thread that does not wait would go on meanwhile
        assert len(running) == at and running[-1] == "pause"
    assert running == ["work", "pause"] * 50


def test_what_the_work_raises_comes_out_of_its_step() -> None:
    def work() -> int:
        pause_point()
        raise LookupError("as it was")

    slices = in_slices(work, 0.0)
    assert next(slices) is None
    with pytest.raises(LookupError, match="as it was"):
        next(slices)
    with pytest.raises(StopIteration):
        next(slices)


@pytest.mark.parametrize("how", ["close", "forget"])
def test_the_work_ends_at_its_pause_point_when_nobody_takes_another_step(how: str) -> None:
    others = set(threading.enumerate())
    ended = []

    def work() -> int:
        try:
            while True:
                try:
                    pause_point()
                except Exception:  # noqa: BLE001  # what is meant for faults must not keep it alive
                    ended.append("caught")
        finally:
            ended.append("ended")

    slices = in_slices(work, 0.0)
    next(slices)
    assert len(set(threading.enumerate()) - others) == 1
    if how == "close":
        slices.close()
    del slices
    gc.collect()
    assert ended == ["ended"] and set(threading.enumerate()) == others


def test_a_step_that_is_never_taken_starts_nothing() -> None:
    others = set(threading.enumerate())
    slices = in_slices(lambda: pytest.fail("nobody asked for it"), 0.0)
    assert set(threading.enumerate()) == others
    slices.close()
    assert set(threading.enumerate()) == others


def test_two_works_and_work_within_work_do_not_disturb_each_other() -> None:
    def inner() -> str:
        pause_point()
        return "inner"

    def outer() -> list[str | None]:
        found = list(in_slices(inner, 0.0))
        pause_point()
        return found

    first, second = in_slices(outer, 0.0), in_slices(outer, 0.0)
    assert [next(first), next(second), next(first), next(second)] == [None, None, [None, "inner"], [None, "inner"]]


def test_the_state_of_numpy_stays_with_the_work() -> None:
    def work() -> bool:
        with np.errstate(all="raise"):
            pause_point()
            return np.geterr()["divide"] == "raise"

    slices = in_slices(work, 0.0)
    mine = np.geterr()
    assert next(slices) is None and np.geterr() == mine
    assert next(slices) is True and np.geterr() == mine
