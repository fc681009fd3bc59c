# SPDX-License-Identifier: GPL-3.0-or-later
"""The one error that is a message to a person."""

from __future__ import annotations


class InputError(Exception):
    """An input cannot be used. The message says what is wrong, where, and what to do about it."""
