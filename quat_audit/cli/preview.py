# SPDX-License-Identifier: GPL-3.0-or-later
"""The verb `preview` of the command line."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .. import api
from ..errors import InputError
from ..preview.figures import lines
from ..run.preview import Previewed, check_folder
from ..text import visible
from .interrupt import Interruption
from .terminal import Progress, check_output, say, write_out

_FRAMES = re.compile(r"\s*(-?\d+)\s*(?:-\s*(-?\d+)\s*)?", re.ASCII)
# The frames that Blender has.
MOST_FRAME = 1_048_574
OPTION = "--frames"


def add_to(verbs: Any, path: Callable[[str], Path]) -> argparse.ArgumentParser:
    """Add the verb to a parser's; `path` makes a path of a word."""
    preview: argparse.ArgumentParser = verbs.add_parser(
        "preview", help="skinned meshes by LBS and by DQS: figures, a contact sheet, a curve"
    )
    preview.add_argument(
        "path",
        metavar="FILE",
        type=path,
        help=".blend, .fbx, .glb, .gltf or .vrm; through Blender, which has to pose it",
    )
    preview.add_argument("--object", type=_name, metavar="NAME", help="only this mesh; by default every skinned one")
    preview.add_argument(
        OPTION,
        metavar="A-B",
        help="frames A to B, or one (-5--1: before 0); by default all of the scene, and of the actions where longer",
    )
    preview.add_argument(
        "--output", type=path, required=True, metavar="DIR", help="the folder to write into; it is made"
    )
    preview.add_argument("-v", "--verbose", action="store_true", help="log what happens, with tracebacks")
    preview.set_defaults(run=run)
    return preview


def _name(word: str) -> str:
    if not word:  # a script's unset variable, which must not mean every mesh
        raise argparse.ArgumentTypeError("it is empty: name a mesh object, or leave the option out")
    return word


def with_frames_joined(arguments: Sequence[str]) -> list[str]:
    """Arguments in which a value of --frames that begins with a minus is not taken for an option."""
    joined: list[str] = []
    for word in arguments:
        if joined and joined[-1] == OPTION and _FRAMES.fullmatch(word):
            joined[-1] = f"{OPTION}={word}"
        else:
            joined.append(word)
    return joined


def run(options: argparse.Namespace) -> int:
    """Preview a file; 0 when at least one mesh was, 2 otherwise."""
    frames = None if options.frames is None else parse_frames(options.frames)
    check_folder(options.output)
    check_output()
    interruption: Interruption = options.interruption
    progress = Progress(1, sys.stderr)
    done: list[Previewed] = []
    total = 0
    try:
        for job in api.preview_jobs(options.path, options.output, name=options.object or "", frames=frames):
            total = job.total
            if interruption:
                break
            progress.show(job.number, Path(job.name), job.total)
            done.append(job.work())
    except InputError as error:
        raise InputError(f"{options.path}: {str(error).removeprefix(f'{options.path}: ')}") from None
    except KeyboardInterrupt:  # a second Ctrl-C: what is written is whole
        interruption.pressed += not interruption
    interruption.patience = interruption.pressed + 1  # what was done is still to be reported
    progress.clear()
    if interruption and total:
        say(f"interrupted: {total - len(done)} of {total} without a preview")
    for entry in done:
        if entry.reason:
            say(visible(f"{entry.name}: no preview: {entry.reason}"))
    write_out("".join(_text(entry) for entry in done if not entry.reason))
    return 0 if any(not entry.reason for entry in done) else 2


def _text(entry: Previewed) -> str:
    paths = ", ".join(str(path) for path in entry.paths)
    return "".join(visible(line) + "\n" for line in [*lines(entry.figures), f"  written        {paths}"])


def parse_frames(words: str) -> list[float]:
    """The frames that "A-B" or "A" means, each once; InputError when it means none."""
    match = _FRAMES.fullmatch(words)
    if match is None:
        raise InputError(f"{OPTION} {words!r}: write A-B, or one frame; whole numbers, such as 1-250")
    first = int(match[1])
    last = first if match[2] is None else int(match[2])
    if first > last:
        raise InputError(f"{OPTION} {words}: it ends before it begins; write {last}-{first}")
    if max(abs(first), abs(last)) > MOST_FRAME:
        raise InputError(f"{OPTION} {words}: Blender has frames from -{MOST_FRAME:,} to {MOST_FRAME:,}")
    return [float(frame) for frame in range(first, last + 1)]
