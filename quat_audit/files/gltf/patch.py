# SPDX-License-Identifier: GPL-3.0-or-later
"""Edited Clips → changed bytes of rotation sampler outputs, everything else byte-identical.

What the file's layout cannot express (other key times, other interpolation, a component that an integer cannot
hold, bytes that something else reads too) is refused per track with the reason. The result is read again and
compared before it is returned.

Known limit: ``min`` and ``max`` of an accessor are JSON and stay as they were. They are required for key times only;
a file that gives them for a patched output too has them out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...motion.clip import Clip
from ..raw_file import Patched, Unwritten
from .accessor import Bools, Float64, Int64
from .animation import CUBIC, NO_BYTES, Animations, read_animations
from .changes import EditError, TrackChange, compare, stored_changes
from .container import parse, resources, unwritable, with_buffers
from .sharing import Key, Wish, addresses, buffer_bases, read_uses, settle

READ_BACK = "after writing, the file did not read back as intended"


@dataclass(frozen=True, eq=False)
class _Job:
    """The edits that can be expressed, by channel."""

    animations: Animations
    changes: dict[Key, TrackChange]
    wishes: dict[Key, Wish]


def patch_animations(animations: Animations, edited: Sequence[Clip]) -> Patched:
    """Write the rotation values that differ from ``animations.clips`` into the bytes.

    ``edited`` are the same clips in the same order; raises ValueError when their number differs.
    """
    if len(edited) != len(animations.clips):
        raise ValueError(f"{len(edited)} clips for a file with {len(animations.clips)} animations")
    refused: list[Unwritten] = []
    job = _Job(animations, {}, {})
    names: dict[Key, str] = {}
    for c, (clip, new) in enumerate(zip(animations.clips, edited, strict=True)):
        rotations = [i for i, channel in enumerate(animations.channels[c]) if channel.rotation]
        for i in rotations:
            names[c, i] = f"animation {clip.action!r}, {animations.channels[c][i].data_path}"
        if new.curves is clip.curves:
            continue
        changes, others = compare(clip, new)
        refused += [Unwritten(c, path, _named(clip, why)) for path, why in others]
        for change in changes:
            key = (c, rotations[change.track])
            try:
                job.wishes[key] = _wish(animations, key, change)
                job.changes[key] = change
            except EditError as error:
                refused.append(Unwritten(c, clip.tracks.data_path[change.track], _named(clip, str(error))))
    outputs, why_not = _grant(job, names)
    for key, why in why_not.items():
        path = animations.channels[key[0]][key[1]].data_path
        refused.append(Unwritten(key[0], path, _named(animations.clips[key[0]], why)))
    copies = tuple(n for n in resources(animations.document) if n not in outputs)
    return Patched(outputs, tuple(refused), copies)


def _named(clip: Clip, why: str) -> str:
    return f"animation {clip.action!r}: {why}"


def _wish(animations: Animations, key: Key, change: TrackChange) -> Wish:
    """The bytes that an edit changes. Raises EditError when the file cannot hold it."""
    document, accessor = animations.document, animations.channels[key[0]][key[1]].values
    element, component, items = stored_changes(animations, animations.channels[key[0]][key[1]], change)
    at = addresses(animations, accessor, element, component)
    if (at < 0).any():
        raise EditError(NO_BYTES)
    for buffer in np.unique(np.searchsorted(buffer_bases(document), at, side="right") - 1).tolist():
        if why := unwritable(document, buffer):
            raise EditError(why)
    where = (at[:, None] + np.arange(items.shape[1])).ravel()
    order = np.argsort(where, kind="stable")
    return Wish(where[order], items.ravel()[order])


def _grant(job: _Job, names: dict[Key, str]) -> tuple[dict[str, bytes], dict[Key, str]]:
    """The outputs with as many wishes as can be granted, and why not the others."""
    document = job.animations.document
    wishes, refused = job.wishes, dict[Key, str]()
    uses = read_uses(job.animations) if wishes else None
    while wishes and uses:
        wishes, why_not = settle(wishes, uses, names)
        refused |= why_not
        outputs = with_buffers(document, _patched_buffers(job.animations, wishes))
        wrong = _wrong(job, wishes, outputs)
        if not wrong:
            return outputs, refused
        refused |= dict.fromkeys(wrong, READ_BACK)
        wishes = {key: wish for key, wish in wishes.items() if key not in wrong}
    return with_buffers(document, {}), refused


def _patched_buffers(animations: Animations, wishes: dict[Key, Wish]) -> dict[int, bytes]:
    bases = buffer_bases(animations.document)
    where = np.concatenate([np.zeros(0, np.int64)] + [w.where for w in wishes.values()])
    what = np.concatenate([np.zeros(0, np.uint8)] + [w.what for w in wishes.values()])
    owner = np.searchsorted(bases, where, side="right") - 1
    changed = {}
    for buffer in np.unique(owner).tolist():
        data = np.frombuffer(animations.document.buffer(buffer), np.uint8).copy()
        mine = owner == buffer
        data[where[mine] - bases[buffer]] = what[mine]
        changed[buffer] = data.tobytes()
    return changed


def _wrong(job: _Job, wishes: dict[Key, Wish], outputs: dict[str, bytes]) -> set[Key]:
    """The channels whose values do not read back as intended; all of them when something else changed."""
    document = job.animations.document
    main = next(iter(outputs.values()))
    try:
        after = read_animations(
            parse(document.path, main, lambda name: outputs[name] if name in outputs else document.load(name))
        )
    except InputError:
        return set(wishes)
    if after.channels != job.animations.channels:
        return set(wishes)
    wrong: set[Key] = set()
    for c, (clip, result) in enumerate(zip(job.animations.clips, after.clips, strict=True)):
        untouched = np.ones(len(clip.curves.co), bool)
        for key in (k for k in wishes if k[0] == c):
            rows = job.changes[key].rows
            untouched[rows] = False
            if not _holds(job, key, result, rows):
                wrong.add(key)
        if not _bits_equal(clip, result, untouched):
            return set(wishes)
    return wrong


def _holds(job: _Job, key: Key, result: Clip, rows: Int64) -> bool:
    """Whether the track of an edit reads back as edited: values to the last bit of float32 (integers: their own)."""
    change, channel = job.changes[key], job.animations.channels[key[0]][key[1]]
    value = result.curves.co[rows, 1]
    with np.errstate(all="ignore"):
        if job.animations.accessors.is_float(channel.values):
            good = _same(value, change.value.astype(np.float32).astype(np.float64))
        else:
            good = np.isclose(value, change.value, rtol=0.0, atol=1e-6)
        if channel.interpolation == CUBIC:
            for got, want in ((result.curves.handle_left, change.left), (result.curves.handle_right, change.right)):
                good &= np.isclose(got[rows, 1], want, rtol=1e-5, atol=1e-6, equal_nan=True)
    return bool(good.all())


def _same(a: Float64, b: Float64) -> Bools:
    same: Bools = (a == b) | (np.isnan(a) & np.isnan(b))
    return same


def _bits_equal(a: Clip, b: Clip, rows: Bools) -> bool:
    pairs = ((a.curves.handle_left, b.curves.handle_left), (a.curves.handle_right, b.curves.handle_right))
    times = np.array_equal(_bits(a.curves.co[:, 0]), _bits(b.curves.co[:, 0]))
    return times and all(
        np.array_equal(_bits(x[rows]), _bits(y[rows])) for x, y in ((a.curves.co, b.curves.co), *pairs)
    )


def _bits(values: np.ndarray) -> Int64:  # type: ignore[type-arg]
    return np.ascontiguousarray(values, np.float64).view(np.int64)
