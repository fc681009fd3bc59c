# SPDX-License-Identifier: GPL-3.0-or-later
"""Where results and the report of a run go, and where they must not."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ..audit.settings import Via
from ..errors import InputError
from .inputs import SUFFIXES, Input, common_root
from .names import one_file, result_key, spelling, within
from .opening import output_suffix
from .publish import check_writable

_BACKUP = re.compile(r"\.(bak|blend)\d*", re.IGNORECASE)
# Enough to tell a report from what an animation refers to (buffers, pictures).
_HEAD_BYTES = 4096


def result_paths(folder: Path, inputs: Sequence[Input], via: Via) -> dict[Path, Path]:
    """Where each input's result goes: the tree below the common folder is kept, no two get the same name."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output-dir {folder} is a file: name a folder")
    usable = [item for item in inputs if not item.reason]
    root = common_root(usable)
    taken: set[str] = set()
    outputs: dict[Path, Path] = {}
    # Files that keep their suffix come first, so that walk.blend keeps its name and walk.fbx makes room.
    for item in sorted(usable, key=lambda item: (_new_suffix(item, via) != item.path.suffix, str(item.path))):
        below = Path(os.path.relpath(os.path.abspath(item.path), root))
        output = folder / below.with_suffix(_new_suffix(item, via))
        name = below.name
        while result_key(output) in taken:
            name += output.suffix
            output = folder / below.with_name(name)
        taken.add(result_key(output))
        outputs[item.path] = output
    return outputs


def _new_suffix(item: Input, via: Via) -> str:
    try:
        return output_suffix(item.path, via)
    except InputError:
        return item.path.suffix  # its entry will say why it fails


def without_links_out(inputs: Sequence[Input]) -> list[Input]:
    """The inputs of a repair in place: links that lead out of the folder named get a reason instead.

    Who names a folder means what is in it. A link that is named itself is followed: its target is replaced.
    """
    return [_without_link_out(item) for item in inputs]


def _without_link_out(item: Input) -> Input:
    target, root = Path(os.path.realpath(item.path)), Path(os.path.realpath(item.root))
    if not item.walked or item.reason or within(target, root) or not os.path.exists(target):
        return item
    reason = f"leads out of the folder, to {target}: name that file to repair it in place"
    return replace(item, reason=reason, skipped=True)


def check_report_path(report: Path | None, inputs: Sequence[Input], outputs: Mapping[Path, Path] | None = None) -> None:
    """Raise InputError when the report could not be written there, or would take the place of an animation."""
    if report is None:
        return
    check_writable(report)
    final = Path(os.path.realpath(report))
    for name in {report.name, final.name}:
        suffix = Path(name).suffix
        if suffix.lower() in SUFFIXES or _BACKUP.fullmatch(suffix):
            raise InputError(f"--output {report}: {suffix} is the name of an animation or a backup: name a report file")
    for paths, what in (([item.path for item in inputs], "an input"), ((outputs or {}).values(), "a result")):
        taken = (Path(os.path.realpath(path)) for path in paths)
        if any(spelling(path) == spelling(final) and one_file(path, final) for path in taken):
            raise InputError(f"--output {report} is also {what} of this run: name another file")
    if final.is_file() and b"\0" in _head(final):
        raise InputError(f"--output {report} exists and is no text file: name another file")


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(_HEAD_BYTES)
    except OSError:
        return b""  # what cannot be read can be replaced, as check_writable says
