# SPDX-License-Identifier: GPL-3.0-or-later
"""Who else reads the bytes that a patch wants to change.

Exporters store equal data once: two animations may share a sampler output, a mesh may lie over it. A track gets its
bytes changed only if everybody who reads them is a rotation track that asked for the very same bytes.

Bytes are addressed through all buffers of the file at once: buffer ``b`` starts at ``bases[b]``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .accessor import MESHOPT, Int64, sparse_indices
from .animation import Animations
from .container import Document, Json

Key = tuple[int, int]  # clip, channel within the clip


@dataclass(frozen=True, eq=False)
class Wish:
    """Bytes that one rotation channel wants changed: ``where`` (M,) sorted addresses, ``what`` (M,) new values."""

    where: Int64
    what: npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Uses:
    """S strided spans of bytes that something reads, and who reads each accessor.

    Attributes:
        first, end: (S,) addresses of the first byte, and of the first byte after the last.
        stride, size: (S,) bytes from element to element, and bytes of one.
        accessor: (S,) whose values the span holds; -1: something else, see label.
        label: (S,) what the span is.
        users: accessor → channels (as keys) and others (as words).
    """

    first: Int64
    end: Int64
    stride: Int64
    size: Int64
    accessor: Int64
    label: tuple[str, ...]
    users: dict[int, list[Key | str]]


def buffer_bases(document: Document) -> Int64:
    """(B + 1,) the address of each buffer's first byte; the last is the end."""
    return np.cumsum([0] + [b.get("byteLength", 0) for b in document.items("buffers")], dtype=np.int64)


def addresses(animations: Animations, accessor: int, element: Int64, component: Int64) -> Int64:
    """(M,) address of the first byte of each component of an accessor; -1 where the file stores none (a zero)."""
    table, bases = animations.accessors, buffer_bases(animations.document)
    inside = component * table.size(accessor)
    if table.buffer[accessor] >= 0:
        at: Int64 = bases[table.buffer[accessor]] + table.start[accessor] + element * table.stride[accessor] + inside
    else:
        at = np.full(len(element), -1, np.int64)
    if accessor in table.sparse:
        sparse = table.sparse[accessor]
        position = np.full(table.count[accessor], -1, np.int64)
        position[sparse_indices(animations.document, table, accessor)] = np.arange(sparse.replaced)
        position = position[element]
        each = table.width[accessor] * table.size(accessor)
        at = np.where(position >= 0, bases[sparse.value_buffer] + sparse.value_start + position * each + inside, at)
    return at


def _references(value: Any) -> list[int]:
    """All accessor numbers below meshes[…].attributes and the like: every number found in there."""
    found, todo = [], [value]
    while todo:
        item = todo.pop()
        if type(item) is int:
            found.append(item)
        elif type(item) is dict:
            todo.extend(item.values())
        elif type(item) is list:
            todo.extend(item)
    return found


def _users(animations: Animations) -> dict[int, list[Key | str]]:
    users: dict[int, list[Key | str]] = {}

    def add(accessor: int, user: Key | str) -> None:
        users.setdefault(accessor, []).append(user)

    document = animations.document
    for c, channels in enumerate(animations.channels):
        for i, channel in enumerate(channels):
            add(
                channel.values, (c, i) if channel.rotation else f"{channel.data_path} in {animations.clips[c].action!r}"
            )
            add(channel.times, "key times")
    for c, accessor in animations.rest:
        add(accessor, f"a channel of {animations.clips[c].action!r} that could not be read")
    for mesh in document.items("meshes"):
        primitives: Any = mesh.get("primitives")
        for p in primitives if type(primitives) is list else []:
            if type(p) is dict:
                for accessor in _references([p.get("attributes"), p.get("indices"), p.get("targets")]):
                    add(accessor, "a mesh")
    for skin in document.items("skins"):
        for accessor in _references(skin.get("inverseBindMatrices")):
            add(accessor, "a skin")
    for node in document.items("nodes"):
        for accessor in _references(_within(node, "extensions", "EXT_mesh_gpu_instancing", "attributes")):
            add(accessor, "mesh instances")
    return users


def _within(owner: Json, *keys: str) -> Any:
    value: Any = owner
    for key in keys:
        value = value.get(key) if type(value) is dict else None
    return value


def read_uses(animations: Animations) -> Uses:
    """Everything that reads bytes of the buffers."""
    document, table = animations.document, animations.accessors
    bases = buffer_bases(document).tolist()
    spans: list[tuple[int, int, int, int, int, str]] = []  # first, count, stride, size, accessor, label
    for a in range(len(table)):
        if a in table.faults or not table.count[a]:
            continue
        size = table.width[a] * table.size(a)
        if table.buffer[a] >= 0:
            spans.append((bases[table.buffer[a]] + table.start[a], table.count[a], table.stride[a], size, a, ""))
        if a in table.sparse and table.sparse[a].replaced:
            s = table.sparse[a]
            spans.append((bases[s.value_buffer] + s.value_start, s.replaced, size, size, a, ""))
            n = s.replaced * s.index_dtype.itemsize
            spans.append((bases[s.index_buffer] + s.index_start, 1, n, n, -1, f"the sparse indices of accessor {a}"))
    views = document.items("bufferViews")
    taken = set(_references([[x.get("bufferView"), x.get("sparse")] for x in document.items("accessors")]))
    images = {i["bufferView"] for i in document.items("images") if type(i.get("bufferView")) is int}
    for v, view in enumerate(views):
        n, start = int(view["byteLength"]), bases[int(view["buffer"])] + int(view.get("byteOffset", 0))
        if n and (v in images or v not in taken):
            spans.append((start, 1, n, n, -1, f"bufferView {v}"))
        for name in MESHOPT:
            source = _within(view, "extensions", name)
            numbers = [source.get(k, 0) for k in ("buffer", "byteOffset", "byteLength")] if type(source) is dict else []
            if numbers and set(map(type, numbers)) == {int} and 0 <= numbers[0] < len(bases) - 1 and numbers[2] > 0:
                spans.append(
                    (bases[numbers[0]] + numbers[1], 1, numbers[2], numbers[2], -1, f"compressed bufferView {v}")
                )
    first, count, stride, each, accessor = (np.array([s[k] for s in spans], np.int64) for k in range(5))
    end = first + (count - 1) * stride + each
    return Uses(first, end, stride, each, accessor, tuple(s[5] for s in spans), _users(animations))


def settle(wishes: dict[Key, Wish], uses: Uses, names: dict[Key, str]) -> tuple[dict[Key, Wish], dict[Key, str]]:
    """The wishes that may be granted, and why not the others. ``names``: what to call the channels."""
    left, refused = dict(wishes), {}
    hits = {key: _hits(wish, uses) for key, wish in wishes.items()}
    settled = False
    while not settled:  # a refusal can take others with it
        settled = True
        for key in list(left):
            why = _objection(key, left, hits[key], uses, names)
            if why:
                refused[key] = why
                del left[key]
                settled = False
    return left, refused


def _hits(wish: Wish, uses: Uses) -> list[tuple[int, Int64]]:
    """(span, positions within the wish) of every span that reads bytes of the wish."""
    if not len(wish.where):
        return []
    found = []
    for s in np.flatnonzero((uses.first <= wish.where[-1]) & (uses.end > wish.where[0])).tolist():
        inside = wish.where - uses.first[s]
        hit = (inside >= 0) & (wish.where < uses.end[s]) & (inside % uses.stride[s] < uses.size[s])
        if hit.any():
            found.append((s, np.flatnonzero(hit)))
    return found


def _objection(
    key: Key, wishes: dict[Key, Wish], hits: list[tuple[int, Int64]], uses: Uses, names: dict[Key, str]
) -> str:
    wish = wishes[key]
    for span, rows in hits:
        accessor = int(uses.accessor[span])
        if accessor < 0:
            return f"its bytes are also those of {uses.label[span]}"
        users = uses.users.get(accessor)
        if not users:
            return f"its bytes are also those of accessor {accessor}"
        for user in users:
            if isinstance(user, str):
                return f"its bytes (accessor {accessor}) are also used by {user}"
            if user == key:
                continue
            other = wishes.get(user)
            if other is None:
                return f"its bytes are shared with {names[user]}, which does not get the same change"
            position = np.minimum(np.searchsorted(other.where, wish.where[rows]), len(other.where) - 1)
            if not len(other.where) or np.any(
                (other.where[position] != wish.where[rows]) | (other.what[position] != wish.what[rows])
            ):
                return f"its bytes are shared with {names[user]}, which asks for a different change"
    return ""
