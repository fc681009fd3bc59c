# SPDX-License-Identifier: GPL-3.0-or-later
"""Names as Blender stores them, also those that Python cannot read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import InputError


def read_text(owner: Any, name: str = "name") -> str:
    r"""A text property of Blender's, "" where there is none of that name.

    Bytes that are no UTF-8 stand as escapes such as ``\xe9``: old files and careless importers have Latin-1 in names,
    and Blender's own API raises UnicodeDecodeError for them.
    """
    try:
        text: str = getattr(owner, name, "")
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "backslashreplace")
    return text


def group_names(obj: Any) -> tuple[str, ...]:
    """The names of a mesh object's vertex groups."""
    # `vertex_groups.keys()` ends in a SystemError over a name that is no UTF-8.
    return tuple(read_text(group) for group in obj.vertex_groups)


@contextmanager
def readable_names() -> Iterator[None]:
    """Raise InputError where a name that Python cannot read ends the work within (see `read_text`)."""
    try:
        yield
    except UnicodeDecodeError as error:
        name = error.object.decode("utf-8", "backslashreplace")
        raise InputError(f"a name in it is no UTF-8 ({name}): open it in Blender, rename that, and save") from None
