# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work in short slices: `in_slices` runs a function that calls `pause_point` now and then, and hands control back.

The function runs in a thread of its own, but never at the same time as its caller: one waits while the other works.
That matters within Blender, whose main loop must not be disturbed by another thread that runs Python (it crashes;
seen on 4.2). Between two slices the thread sleeps on a lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class _Cancelled(BaseException):
    """Ends the work from within; no `except Exception` stops it."""


_current = threading.local()


def pause_point() -> None:
    """Where long work may be interrupted. Does nothing unless it runs in `in_slices` and its time is up."""
    work: _Work[object] | None = getattr(_current, "work", None)
    if work is not None and time.perf_counter() >= work.until:
        work.pause()


def in_slices(function: Callable[[], T], seconds: float) -> Iterator[T | None]:
    """Run a function in slices of about `seconds`: None after each, and at last its result, which must not be None.

    How long a slice really is, is up to the pause points. What the function raises comes out of the slice. Closing the
    iterator ends the function at its pause point.
    """
    work = _Work(function)
    try:
        while not work.run_slice(seconds):
            yield None
        yield work.result()
    finally:
        work.cancel()


class _Work(Generic[T]):
    """A function in a thread, and the two locks by which it takes turns with its caller."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._mine, self._callers = threading.Semaphore(0), threading.Semaphore(0)
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._finished = self._cancelled = False
        self.until = 0.0
        # A daemon: a slice that is never taken must not keep Blender from quitting.
        self._thread = threading.Thread(target=self._run, name="quat_audit", daemon=True)
        self._thread.start()

    def run_slice(self, seconds: float) -> bool:
        """Let it work; True when it has finished."""
        self.until = time.perf_counter() + seconds
        self._mine.release()
        self._callers.acquire()
        return self._finished

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._results[0]

    def cancel(self) -> None:
        """End it where it is."""
        self._cancelled = True
        if not self._finished:
            self.run_slice(0.0)
        self._thread.join()

    def pause(self) -> None:
        """Called from within: the caller's turn."""
        self._callers.release()
        self._mine.acquire()
        if self._cancelled:
            raise _Cancelled

    def _run(self) -> None:
        self._mine.acquire()
        _current.work = self
        try:
            if not self._cancelled:
                self._results.append(self._function())
        except _Cancelled:
            pass
        except BaseException as error:  # noqa: BLE001  # raised again where the slice was taken
            self._error = error
        finally:
            self._finished = True
            self._callers.release()
