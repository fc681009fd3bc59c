# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with the world, as types of our own; what anything else that is raised means is told by `reason_of`.

Nothing here is a LookupError, a ValueError or a RuntimeError: those are what mistakes in the code raise, and nobody
may take them for a file that changed. A wrong argument to a function is such a mistake, and stays a ValueError.
"""

from __future__ import annotations

import logging

from .text import Text

log = logging.getLogger(__name__)


class QuatAuditError(Exception):
    """A message to a person. `why` is that message; it keeps its type (a `Text` can be translated)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class InputError(QuatAuditError):
    """An input cannot be used. The message says what is wrong, where, and what to do about it."""


class GoneError(QuatAuditError):
    """What was read is no longer in the open file, or no longer as it was read."""


class RefusedError(QuatAuditError):
    """What was to be written must not be: it is locked, linked, or no value that the file should hold."""


class SkinError(QuatAuditError):
    """A mesh cannot be read, posed or written."""


def reason_of(error: Exception, doing: str, *, in_window: bool = False) -> str:
    """Why some work failed, in words for a person. The last net: whoever catches all exceptions asks it.

    An error of ours says so itself, and so does the system's. Everything else is a mistake of ours: it is logged with
    its traceback, and the words are how to report it.

    Args:
        doing: what was being done, for the log.
        in_window: the person looks at Blender's window, not at a report or a terminal.
    """
    if isinstance(error, QuatAuditError):
        return error.why
    if isinstance(error, OSError):
        return f"{error.strerror or error}" + (f": {error.filename}" if error.filename else "")
    log.error("internal error: %s", doing, exc_info=error)
    values = {"type": type(error).__name__, "message": str(error)}
    if in_window:
        return Text(
            "internal error: {type}: {message}; please report it with the file, the text of the system console and "
            "the version of Blender",
            values,
        )
    return Text(
        "internal error: {type}: {message}; please report it with the file, the version of Blender and what --verbose "
        "shows",
        values,
    )
