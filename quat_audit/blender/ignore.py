# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignored findings on an action: a custom property with JSON text, saved, linked and appended with the action."""

from __future__ import annotations

from typing import Any

from ..ignores import Ignore, as_text, from_text

PROPERTY = "quat_audit_ignores"


def list_ignores(action: Any) -> tuple[Ignore, ...]:
    """What an action says is to be ignored, in a stable order.

    Raises:
        ValueError: the property holds something that this add-on did not write.
    """
    text = action.get(PROPERTY, "")
    if not isinstance(text, str):
        raise ValueError(f"not a text but {type(text).__name__}")
    return from_text(text)


def readable_ignores(action: Any) -> tuple[tuple[Ignore, ...], str]:
    """(what is to be ignored, why it could not be read): an unreadable list ignores nothing."""
    try:
        return list_ignores(action), ""
    except ValueError as error:
        return (), str(error)


def add_ignore(action: Any, code: str, data_path: str, reason: str, slot: str = "") -> Ignore:
    """Ignore a rule on a data path of an action; the reason of one that is there already is replaced.

    Raises:
        ValueError: the action must not be written, or there is no code or data path.
    """
    if not code or not data_path:
        raise ValueError("an ignore needs the code of a rule and a data path")
    _check_editable(action)
    new = Ignore(code, data_path, reason, slot)
    _store(action, [*_others(action, new), new])
    return new


def remove_ignore(action: Any, code: str, data_path: str, slot: str = "") -> bool:
    """Take an ignore back. False when there was none.

    Raises:
        ValueError: the action must not be written.
    """
    _check_editable(action)
    kept = _others(action, Ignore(code, data_path, "", slot))
    if len(kept) == len(readable_ignores(action)[0]):
        return False
    _store(action, kept)
    return True


def _others(action: Any, ignore: Ignore) -> list[Ignore]:
    return [
        i
        for i in readable_ignores(action)[0]
        if (i.code, i.data_path, i.slot) != (ignore.code, ignore.data_path, ignore.slot)
    ]


def _store(action: Any, ignores: list[Ignore]) -> None:
    if ignores:
        action[PROPERTY] = as_text(ignores)
    elif PROPERTY in action:
        del action[PROPERTY]


def _check_editable(action: Any) -> None:
    if action.library is not None or action.override_library is not None or not action.is_editable:
        raise ValueError(f"action {action.name!r} is linked: ignore the finding in the file that it comes from")
