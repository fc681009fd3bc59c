# SPDX-License-Identifier: GPL-3.0-or-later
"""What lies where a preview is to be written: an earlier one of the same file, which it replaces, or something else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from .figures import SCHEMA
from .png import SIGNATURE

# Those of every version: a later one replaces them too.
_ANY_VERSION = SCHEMA.rpartition("/")[0] + "/"


def check_replaces_own(figures: Path, pictures: Sequence[Path], file: str) -> None:
    """Raise InputError where a preview would replace anything but an earlier preview of the same file.

    Args:
        figures: NAME.json; pictures: what is written beside it. None of them is a folder.
        file: what is previewed; two files are the same when their names are, without their folders.
    """
    data = _figures_of(figures) if figures.exists() else None
    for path in pictures:
        if path.exists() and (data is None or _begin(path, len(SIGNATURE)) != SIGNATURE):
            raise _no_preview(path)
    if data is not None and Path(data["file"]).name != Path(file).name:
        other = Path(data["file"]).name or "a session that was never saved"
        raise InputError(f"{figures} is the preview of {other}: give each file an --output of its own")


def _figures_of(path: Path) -> dict[str, Any]:
    """The figures of an earlier preview; InputError when it is none."""
    try:
        data = json.loads(_begin(path))
    except (ValueError, RecursionError):
        raise _no_preview(path) from None
    ours = isinstance(data, dict) and str(data.get("schema")).startswith(_ANY_VERSION)
    if not ours or not isinstance(data.get("file"), str):
        raise _no_preview(path)
    return data  # type: ignore[no-any-return]


def _begin(path: Path, most: int = -1) -> bytes:
    """The first bytes of a file, by default all; InputError when it cannot be read."""
    if not path.is_file():  # a pipe would be waited for
        raise _no_preview(path)
    try:
        with path.open("rb") as stream:
            return stream.read(most)
    except OSError as error:
        raise InputError(
            f"cannot read {path}, which would be replaced: {error.strerror or error}; choose another --output"
        ) from None


def _no_preview(path: Path) -> InputError:
    return InputError(f"{path} is there and is no preview of ours: move it away, or choose another --output")
