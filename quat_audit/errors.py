# SPDX-License-Identifier: GPL-3.0-or-later
"""The errors that are a message to a person."""

from __future__ import annotations


class InputError(Exception):
    """An input cannot be used. The message says what is wrong, where, and what to do about it."""


class SkinError(LookupError):
    """A mesh cannot be read, posed or written. `why` is the message; it keeps its type (a `Text` can be translated)."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
