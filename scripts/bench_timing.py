# SPDX-License-Identifier: GPL-3.0-or-later
"""What a row of the benchmark is, and how it is timed."""

from __future__ import annotations

import cProfile
import io
import math
import os
import pstats
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TextIO


class Row(NamedTuple):
    """One line of the table: ours against a reference, with the ratio that DESIGN.md asks for."""

    what: str
    against: str
    at_most: float
    ratio: float
    ours_s: float
    reference_s: float
    profile: str = ""


def in_turn(repeat: int, *work: Callable[[], float]) -> list[float]:
    """The least seconds of each, measured by itself, over `repeat` rounds."""
    best = [math.inf] * len(work)
    for _ in range(repeat):
        best = [min(least, one()) for least, one in zip(best, work, strict=True)]
    return best


def timed(work: Callable[[], object]) -> Callable[[], float]:
    """A function that does the work and says how many seconds it took."""

    def measure() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return measure


def take_output() -> TextIO:
    """Standard output for the caller alone; whatever else writes there from now on goes to standard error.

    By file descriptor, and to the end of the process: Blender writes from C, some of it when it is taken down.
    """
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def profiled(work: Callable[[], object], wanted: bool) -> str:
    """What costs what, "" when not wanted."""
    if not wanted:
        return ""
    profiler, out = cProfile.Profile(), io.StringIO()
    profiler.runcall(work)
    pstats.Stats(profiler, stream=out).sort_stats("tottime").print_stats(12)
    return "\n".join(line[:110] for line in out.getvalue().splitlines() if line.strip())
