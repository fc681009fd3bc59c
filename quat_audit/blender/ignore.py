# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignored findings on an action or a mesh object (the holder): a custom property with JSON text, saved, linked and
appended with it.
"""

from __future__ import annotations

from typing import Any

import bpy

from ..errors import InputError, RefusedError
from ..findings.ignores import Ignore, as_text, from_text
from ..text import Text

PROPERTY = "quat_audit_ignores"


def list_ignores(holder: Any) -> tuple[Ignore, ...]:
    """What a holder says is to be ignored, in a stable order.

    Raises:
        InputError: the property holds something that this add-on did not write.
    """
    text = holder.get(PROPERTY, "")
    if not isinstance(text, str):
        raise InputError(f"not a text but {type(text).__name__}")
    return from_text(text)


def readable_ignores(holder: Any) -> tuple[tuple[Ignore, ...], str]:
    """(what is to be ignored, why it could not be read): an unreadable list ignores nothing."""
    try:
        return list_ignores(holder), ""
    except InputError as error:
        return (), str(error)


def add_ignore(holder: Any, new: Ignore) -> Ignore:
    """Ignore a rule on a data path of a holder; one that is there already is replaced.

    Raises:
        RefusedError: the holder must not be written.
        ValueError: there is no code or data path.
    """
    if not new.code or not new.data_path:
        raise ValueError("an ignore needs the code of a rule and a data path")
    _check_editable(holder)
    _store(holder, [*_others(holder, new), new])
    return new


def remove_ignore(holder: Any, code: str, data_path: str, slot: str = "") -> bool:
    """Take an ignore back. False when there was none.

    Raises:
        RefusedError: the holder must not be written.
    """
    _check_editable(holder)
    kept = _others(holder, Ignore(code, data_path, "", slot))
    if len(kept) == len(readable_ignores(holder)[0]):
        return False
    _store(holder, kept)
    return True


def _others(holder: Any, ignore: Ignore) -> list[Ignore]:
    return [
        i
        for i in readable_ignores(holder)[0]
        if (i.code, i.data_path, i.slot) != (ignore.code, ignore.data_path, ignore.slot)
    ]


def _store(holder: Any, ignores: list[Ignore]) -> None:
    if ignores:
        holder[PROPERTY] = as_text(ignores)
    elif PROPERTY in holder:
        del holder[PROPERTY]


def is_editable(holder: Any) -> bool:
    """Whether ignores can be kept in it: it is neither linked nor a library override."""
    return holder.library is None and holder.override_library is None and bool(holder.is_editable)


def _check_editable(holder: Any) -> None:
    if not is_editable(holder):
        name = {"name": holder.name}
        if isinstance(holder, bpy.types.Action):
            raise RefusedError(
                Text("action '{name}' is linked: ignore the finding in the file that it comes from", name)
            )
        raise RefusedError(Text("object '{name}' is linked: ignore the finding in the file that it comes from", name))
