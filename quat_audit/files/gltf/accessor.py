# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF accessors: JSON and buffers ↔ numbers, and where each number's bytes lie.

All accessors of a file are columns of one table, checked against their buffers in a few array operations (a
character file has thousands). The ones that animation uses are decoded once into one flat pool.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...errors import InputError
from .container import AGAIN, MOST, Document, Json, member, whole

Float64 = npt.NDArray[np.float64]
Int64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}


class Component(NamedTuple):
    """A componentType: how it is stored, and what a normalized one is divided by."""

    dtype: np.dtype[np.generic]
    scale: float

    @property
    def is_float(self) -> bool:
        return self.dtype.kind == "f"


COMPONENTS = {
    5120: Component(np.dtype("i1"), 127.0),
    5121: Component(np.dtype("u1"), 255.0),
    5122: Component(np.dtype("<i2"), 32767.0),
    5123: Component(np.dtype("<u2"), 65535.0),
    5125: Component(np.dtype("<u4"), 1.0),
    5126: Component(np.dtype("<f4"), 1.0),
}
SPARSE_INDEX = (5121, 5123, 5125)
MESHOPT = ("EXT_meshopt_compression", "KHR_meshopt_compression")
# An accessor without a bufferView is all zeros: only its count says how many, and nothing bounds that. All of a file
# together may have as many: as 100 bones keyed on each frame of five minutes, held still.
MOST_ZEROS = 10**6


class Sparse(NamedTuple):
    """Where an accessor's replaced elements lie: buffer and first byte of the indices and of the values."""

    replaced: int
    index_buffer: int
    index_start: int
    index_dtype: np.dtype[np.generic]
    value_buffer: int
    value_start: int


@dataclass(frozen=True, eq=False)
class Accessors:
    """N accessors as columns (lists: they are mostly asked for one at a time).

    Attributes:
        width: components of an element (0: unknown type).
        code: componentType.
        normalized: integers mean fractions.
        count: elements.
        buffer: the buffer of the base values, -1 without.
        start: first byte within that buffer.
        stride: bytes from element to element.
        sparse: accessor → its replaced elements.
        faults: accessor → why it is malformed (it fails the file that uses it).
        skipped: accessor → why it cannot be decoded here (a valid file that we cannot read).
    """

    width: list[int]
    code: list[int]
    normalized: list[bool]
    count: list[int]
    buffer: list[int]
    start: list[int]
    stride: list[int]
    sparse: dict[int, Sparse]
    faults: dict[int, str]
    skipped: dict[int, str]

    def __len__(self) -> int:
        return len(self.count)

    def size(self, accessor: int) -> int:
        """Bytes of one component."""
        return COMPONENTS[self.code[accessor]].dtype.itemsize

    def is_float(self, accessor: int) -> bool:
        """Its components are floats, not integers."""
        return COMPONENTS[self.code[accessor]].is_float


def _column(items: list[Json], key: str, what: str, default: int | None = None) -> list[int]:
    """One whole-number property of all items. Raises InputError naming the first bad one."""
    values: list[Any] = [item.get(key, default) for item in items]
    if set(map(type, values)) <= {int}:
        numbers: list[int] = values
        if not numbers or (min(numbers) >= 0 and max(numbers) <= MOST):
            return numbers
    return [whole(item, key, f"{what} {i}", default) for i, item in enumerate(items)]


class _Views(NamedTuple):
    buffer: list[int]
    start: list[int]
    length: list[int]
    stride: list[int]
    compressed: dict[int, str]


def _read_views(document: Document) -> _Views:
    items = document.items("bufferViews")
    sizes = _column(document.items("buffers"), "byteLength", "buffer")
    buffer = _column(items, "buffer", "bufferView")
    start = _column(items, "byteOffset", "bufferView", 0)
    length = _column(items, "byteLength", "bufferView")
    stride = _column(items, "byteStride", "bufferView", 0)
    if items:
        if max(buffer) >= len(sizes):
            i = next(i for i, b in enumerate(buffer) if b >= len(sizes))
            raise InputError(f"bufferView {i} is in buffer {buffer[i]}, the file has {len(sizes)}; {AGAIN}")
        over = np.array(start) + np.array(length) > np.array(sizes)[np.array(buffer)]
        if over.any():
            i = int(over.argmax())
            raise InputError(
                f"bufferView {i} is out of range: it ends at byte {start[i] + length[i]} of buffer {buffer[i]}, "
                f"which has {sizes[buffer[i]]}; {AGAIN}"
            )
    compressed = {}
    for i, item in enumerate(items):
        if "extensions" in item and type(item["extensions"]) is dict:
            name = next((n for n in MESHOPT if n in item["extensions"]), None)
            if name:
                compressed[i] = f"its data is compressed with {name}"
    return _Views(buffer, start, length, stride, compressed)


def read_accessors(document: Document) -> Accessors:
    """The table of all accessors. Raises InputError when one reaches out of its bufferView or buffer."""
    items = document.items("accessors")
    views = _read_views(document)
    view = _column(items, "bufferView", "accessor", MOST)  # MOST: none
    code = _column(items, "componentType", "accessor", 0)
    offset = _column(items, "byteOffset", "accessor", 0)
    count = _column(items, "count", "accessor")
    # A type that is no text (a list) must not be looked up: it may not be hashable.
    width = [WIDTHS.get(t, 0) if type(t := item.get("type")) is str else 0 for item in items]
    faults: dict[int, str] = {}
    skipped: dict[int, str] = {}
    sparse: dict[int, Sparse] = {}
    buffer, start, stride, size = [], [], [], []
    for i, (v, c, w) in enumerate(zip(view, code, width, strict=True)):
        where = f"accessor {i}"
        component = COMPONENTS.get(c)
        if component is None:
            faults[i] = f"{where}: unknown componentType {c}; {AGAIN}"
        elif w == 0:
            faults[i] = f"{where}: unknown type {str(items[i].get('type'))[:20]!r}; {AGAIN}"
        elif w in (4, 9) and component.dtype.itemsize < 4 and items[i]["type"] in ("MAT2", "MAT3"):
            skipped[i] = "matrices of integers are not supported"
        bytes_each = w * component.dtype.itemsize if component else 0
        size.append(bytes_each)
        if v == MOST:
            buffer.append(-1)
            start.append(0)
            stride.append(bytes_each)
        elif v >= len(views.buffer):
            raise InputError(f"{where} is in bufferView {v}, the file has {len(views.buffer)}; {AGAIN}")
        else:
            buffer.append(views.buffer[v])
            start.append(views.start[v] + offset[i])
            stride.append(views.stride[v] or bytes_each)
            if v in views.compressed:
                skipped[i] = views.compressed[v]
        if "sparse" in items[i]:
            sparse[i] = _read_sparse(member(items[i], "sparse", where), where, views, count[i], bytes_each, skipped, i)
    table = Accessors(
        width, code, [i.get("normalized") is True for i in items], count, buffer, start, stride, sparse, faults, skipped
    )
    _check_range(table, np.array(size, np.int64), view, views)
    return table


def _check_range(table: Accessors, size: Int64, view: list[int], views: _Views) -> None:
    """Every accessor must end within its view, and its elements must not overlap."""
    inside = np.array(table.buffer, np.int64) >= 0
    inside[list(table.faults)] = False
    if not inside.any():
        return
    count, stride, start = (np.array(x, np.int64)[inside] for x in (table.count, table.stride, table.start))
    v = np.array(view, np.int64)[inside]
    ends = np.array(views.start, np.int64)[v] + np.array(views.length, np.int64)[v]
    # Compared by division: count × stride may leave the 64-bit integers.
    room = ends - start - size[inside]
    bad = (count > 0) & ((room < 0) | ((count - 1) > np.maximum(room, 0) // np.maximum(stride, 1)))
    if bad.any():
        k = int(bad.argmax())
        i = int(np.flatnonzero(inside)[k])
        raise InputError(
            f"accessor {i} is out of range: its {count[k]} elements end at byte "
            f"{int(start[k]) + (int(count[k]) - 1) * int(stride[k]) + int(size[i])} of buffer {table.buffer[i]}, "
            f"its bufferView {view[i]} at byte {ends[k]}; {AGAIN}"
        )
    tight = stride < size[inside]
    if tight.any():
        i = int(np.flatnonzero(inside)[int(tight.argmax())])
        raise InputError(
            f"accessor {i}: byteStride {table.stride[i]} is less than its {size[i]}-byte elements; {AGAIN}"
        )


def _read_sparse(
    item: Json, where: str, views: _Views, count: int, size: int, skipped: dict[int, str], accessor: int
) -> Sparse:
    n = whole(item, "count", f"{where}.sparse")
    if n > count:
        raise InputError(f"{where}.sparse replaces {n} of {count} elements; {AGAIN}")
    starts = []
    indices, values = (member(item, key, f"{where}.sparse") for key in ("indices", "values"))
    code = whole(indices, "componentType", f"{where}.sparse.indices")
    if code not in SPARSE_INDEX:
        raise InputError(f"{where}.sparse.indices: unknown componentType {code}; {AGAIN}")
    index_dtype = COMPONENTS[code].dtype
    for part, name, each in ((indices, "indices", index_dtype.itemsize), (values, "values", size)):
        here = f"{where}.sparse.{name}"
        v = whole(part, "bufferView", here)
        if v >= len(views.buffer):
            raise InputError(f"{here} is in bufferView {v}, the file has {len(views.buffer)}; {AGAIN}")
        offset = whole(part, "byteOffset", here, 0)
        if offset + n * each > views.length[v]:
            raise InputError(f"{here} is out of range: it ends at byte {offset + n * each} of bufferView {v}; {AGAIN}")
        if v in views.compressed:
            skipped[accessor] = views.compressed[v]
        starts.append((views.buffer[v], views.start[v] + offset))
    return Sparse(n, *starts[0], index_dtype, *starts[1])


def sparse_indices(document: Document, table: Accessors, accessor: int) -> Int64:
    """(n,) the elements that a sparse accessor replaces. Raises InputError for one that does not exist."""
    sparse = table.sparse[accessor]
    data = document.buffer(sparse.index_buffer)
    index = np.frombuffer(data, sparse.index_dtype, sparse.replaced, sparse.index_start).astype(np.int64)
    if len(index) and int(index.max()) >= table.count[accessor]:
        raise InputError(
            f"accessor {accessor}.sparse replaces element {int(index.max())} of {table.count[accessor]}; {AGAIN}"
        )
    return index


def decode(document: Document, table: Accessors, accessor: int, out: Float64) -> None:
    """Write the accessor's values into ``out`` (count, width), normalized integers as fractions. Raises InputError."""
    component = COMPONENTS[table.code[accessor]]
    shape = out.shape
    if table.buffer[accessor] < 0:
        out[...] = 0.0
    elif table.count[accessor]:
        data = document.buffer(table.buffer[accessor])
        strides = (table.stride[accessor], component.dtype.itemsize)
        out[...] = np.ndarray(shape, component.dtype, data, table.start[accessor], strides)
    if accessor in table.sparse:
        sparse = table.sparse[accessor]
        data = document.buffer(sparse.value_buffer)
        values = np.frombuffer(data, component.dtype, sparse.replaced * shape[1], sparse.value_start)
        out[sparse_indices(document, table, accessor)] = values.reshape(sparse.replaced, shape[1])
    if table.normalized[accessor] and not component.is_float:
        out /= component.scale
        if component.dtype.kind == "i":
            np.maximum(out, -1.0, out=out)


@dataclass(frozen=True, eq=False)
class Pool:
    """Decoded accessors one after the other: accessor ``a`` starts at ``values[at[a]]``."""

    values: Float64
    at: dict[int, int]


def decode_pool(document: Document, table: Accessors, accessors: Iterable[int]) -> Pool:
    """Decode the given accessors, each once. Raises InputError; those in ``skipped`` must not be among them."""
    at, total, zeros = {}, 0, 0
    for a in accessors:
        if a in table.faults:
            raise InputError(table.faults[a])
        zeros += table.count[a] if table.buffer[a] < 0 and a not in at else 0
        if zeros > MOST_ZEROS:
            raise InputError(f"accessor {a}: {zeros} elements without any data in the file; {AGAIN}")
        at[a] = total
        total += table.count[a] * table.width[a]
    values = np.empty(total)
    width, count, buffer, start, stride, code = (
        table.width,
        table.count,
        table.buffer,
        table.start,
        table.stride,
        table.code,
    )
    floats: dict[int, npt.NDArray[np.float32]] = {}
    for a, p in at.items():
        w, n = width[a], count[a]
        # By far the most: float, tight, 4-byte aligned. A slice of the buffer seen as floats is three times as fast.
        if code[a] == 5126 and stride[a] == 4 * w and buffer[a] >= 0 and start[a] % 4 == 0 and a not in table.sparse:
            words = floats.get(buffer[a])
            if words is None:
                data = document.buffer(buffer[a])
                words = floats[buffer[a]] = np.frombuffer(data, "<f4", len(data) // 4)
            s = start[a] // 4
            values[p : p + n * w] = words[s : s + n * w]
        else:
            decode(document, table, a, values[p : p + n * w].reshape(n, w))
    return Pool(values, at)
