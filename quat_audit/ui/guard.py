# SPDX-License-Identifier: GPL-3.0-or-later
"""The last net of the interface: a mistake of ours is logged with its traceback and told; Blender goes on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any, TypeVar

import bpy

from ..errors import reason_of
from .wording import say_report

Method = TypeVar("Method", bound=Callable[..., set[str]])


def guarded(method: Method) -> Method:
    """An operator's `execute`, `invoke` or `modal` that reports what it raises as an ERROR and ends the operator.

    Where the operator has a method `put_back`, that is called first.
    """
    if method.__code__.co_argcount == 3:  # Blender counts the arguments of what it is to call

        @wraps(method)
        def with_event(self: Any, context: Any, event: Any) -> set[str]:
            try:
                return method(self, context, event)
            except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
                return _end(self, context, error)

        return with_event  # type: ignore[return-value]

    @wraps(method)
    def without_event(self: Any, context: Any) -> set[str]:
        try:
            return method(self, context)
        except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
            return _end(self, context, error)

    return without_event  # type: ignore[return-value]


def _end(operator: Any, context: Any, error: Exception) -> set[str]:
    put_back = getattr(type(operator), "put_back", None)
    if put_back is not None:
        put_back(operator, context)
    operator.report({"ERROR"}, say_report(reason_of(error, operator.bl_idname, in_window=True)))
    # What was changed until then needs an undo step, or it could not be taken back.
    return {"FINISHED"} if "UNDO" in operator.bl_options else {"CANCELLED"}


def tell(error: Exception, doing: str) -> None:
    """Tell of an error where there is no operator to report it: in a timer, in an importer. Never raises."""
    _tell(say_report(reason_of(error, doing, in_window=True)))


def _tell(message: str) -> None:
    # Blender hands the report of an error on to who called the operator; unregistered meanwhile, there is none.
    with suppress(RuntimeError, AttributeError):
        bpy.ops.quat_audit.tell("EXEC_DEFAULT", severity="ERROR", message=message)


# What is going to be switched off.
_failed: set[Callable[[], None]] = set()


def drawn(draw: Callable[[Any], None], switch_off: Callable[[], None], what: str) -> None:
    """Draw. What fails once would fail at every redraw: it is switched off, and that is told."""
    try:
        draw(bpy.context)
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        if switch_off in _failed:
            return
        _failed.add(switch_off)
        message = say_report(reason_of(error, what, in_window=True))

        def end() -> None:
            _failed.discard(switch_off)
            switch_off()
            _tell(message)

        # Not at once: the handler that runs must not be removed.
        bpy.app.timers.register(end, first_interval=0.0)
