# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF animations → Clips: channels, samplers and nodes become curves and tracks.

A channel that cannot be read costs that channel only (it is listed in the clip's ``not_evaluated``); a file
that refers to what does not exist (a sampler, an accessor, a node, bytes) fails as a whole, and so does one of whose
channels none could be read: it must not pass for clean.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Floats
from ...errors import InputError
from ...motion.clip import BEZIER, CONSTANT, LINEAR, QUATERNION, SLERP, Clip, Storage, Track, make_curves, make_tracks
from .accessor import COMPONENTS, Accessors, Float64, Int64, Pool, decode_pool, read_accessors
from .container import AGAIN, Document, Json, objects, unwritable

# Blender imports glTF at its scene's rate, which is 24 by default: frames mean the same there and here.
FRAME_RATE = 24.0
STEP, LINEAR_NAME, CUBIC = "STEP", "LINEAR", "CUBICSPLINE"
_INTERPOLATIONS = {LINEAR_NAME: LINEAR, STEP: CONSTANT, CUBIC: BEZIER}
_WIDTHS = {"rotation": 4, "translation": 3, "scale": 3}
_NODE_POINTER = re.compile(r"/nodes/(0|[1-9][0-9]{0,8})/(rotation|translation|scale|weights)")
MOST_REASONS = 3
# Why edits cannot be written.
KEYS_FIXED = "in a glTF file no key can be added, removed or moved, because channels share their times"
ROTATIONS_ONLY = "only rotations are written into a glTF file"
NO_BYTES = "the file stores no bytes for its values: they are all zeros"
IDENTITY = (1.0, 0.0, 0.0, 0.0)


class Channel(NamedTuple):
    """One channel that was read: what it animates, and where its numbers are.

    Attributes:
        data_path: JSON pointer of the target.
        node: the target's node, -1 when it is something else.
        rotation: it is a node's rotation.
        interpolation: of its sampler.
        times, values: input and output accessor.
        keys: how many keys both have.
        width: components of one key's value.
    """

    data_path: str
    node: int
    rotation: bool
    interpolation: str
    times: int
    values: int
    keys: int
    width: int


@dataclass(frozen=True, eq=False)
class Animations:
    """All animations of a document: clips, and of each clip its channels in the order of their curves.

    ``rest`` are the channels (clip, values accessor) that could not be read: they use an accessor all the same.
    """

    document: Document
    accessors: Accessors
    clips: tuple[Clip, ...]
    channels: tuple[tuple[Channel, ...], ...]
    rest: tuple[tuple[int, int], ...]


class _SkipError(Exception):
    """One channel cannot be read; the message says why."""


class _DanglingError(Exception):
    """A channel refers to what does not exist; the message says to what."""


def read_animations(document: Document) -> Animations:
    """Clips of a document, one an animation. Raises InputError when the file as a whole is malformed."""
    table = read_accessors(document)
    nodes = document.items("nodes")
    animations = document.items("animations")
    channels: list[tuple[Channel, ...]] = []
    faults: list[tuple[tuple[str, str], ...]] = []
    rest: list[tuple[int, int]] = []
    names = _unique([_name(a, "animation", i) for i, a in enumerate(animations)], "animation")
    for number, (animation, name) in enumerate(zip(animations, names, strict=True)):
        where = f"animation {name!r}"
        samplers = objects(animation, "samplers", where)
        good, bad = [], []
        for i, item in enumerate(objects(animation, "channels", where)):
            try:
                channel, remark = _read_channel(item, samplers, table, len(nodes))
            except _DanglingError as error:
                raise InputError(f"{where}, channel {i}: {error}; {AGAIN}") from None
            except _SkipError as error:
                bad.append((f"{where}, channel {i}", str(error)))
                rest.append((number, _output_of(item, samplers)))
                continue
            good.append(channel)
            if remark:
                bad.append((f"{where}, channel {i} ({channel.data_path})", remark))
        channels.append(tuple(good))
        faults.append(tuple(bad))
    _check_any(channels, faults)
    used = dict.fromkeys(a for cs in channels for c in cs for a in (c.times, c.values))
    pool = decode_pool(document, table, used)
    bones = _unique([_name(n, "node", i) for i, n in enumerate(nodes)], "node")
    rests: dict[int, tuple[float, float, float, float]] = {}
    for c in (c for cs in channels for c in cs if c.rotation):
        if c.node not in rests:
            rests[c.node] = _rest_rotation(nodes[c.node], c.node)
    clips = tuple(
        _make_clip(name, document.path.stem, cs, fs, pool, bones, rests, _fixed_bytes(document, table, cs), table)
        for name, cs, fs in zip(names, channels, faults, strict=True)
    )
    return Animations(document, table, clips, tuple(channels), tuple(rest))


def _check_any(channels: list[tuple[Channel, ...]], faults: list[tuple[tuple[str, str], ...]]) -> None:
    """Raise InputError when there is something to read and nothing of it could be."""
    reasons = Counter(why for bad in faults for _, why in bad)
    if not reasons or any(c.keys for cs in channels for c in cs):
        return
    some = [f"{why} (channels: {n})" if n > 1 else why for why, n in reasons.most_common(MOST_REASONS)]
    more = f"; and {len(reasons) - MOST_REASONS} more reasons" if len(reasons) > MOST_REASONS else ""
    raise InputError(f"none of its animation could be evaluated: {'; '.join(some)}{more}")


def _name(item: Json, kind: str, number: int) -> str:
    name = item.get("name")
    return name if type(name) is str and name else f"{kind} {number}"


def _unique(names: list[str], kind: str) -> list[str]:
    """Names that occur twice get their number: ``Bone (node 12)``."""
    counts = Counter(names)
    return [f"{name} ({kind} {i})" if counts[name] > 1 else name for i, name in enumerate(names)]


def _index(owner: Json, key: str, what: str, count: int) -> int:
    value = owner.get(key)
    if type(value) is not int or not 0 <= value < count:
        if key not in owner:
            raise _DanglingError(f"it has no {what}")
        raise _DanglingError(f"{what} {str(value)[:40]} does not exist, there are {count}")
    return value


def _output_of(item: Json, samplers: list[Json]) -> int:
    """The output accessor of a channel that could not be read; -1 when it has none."""
    s = item.get("sampler")
    output = samplers[s].get("output") if type(s) is int and 0 <= s < len(samplers) else -1
    return output if type(output) is int else -1


def _target(item: Json, nodes: int) -> tuple[str, int, str]:
    """The data path, node (-1: none) and property (a node's, or "") that a channel animates."""
    target = item.get("target")
    if type(target) is not dict:
        raise _SkipError("it has no target")
    path = target.get("path")
    if path == "pointer":
        extension: Any = target.get("extensions")
        extension = extension.get("KHR_animation_pointer") if type(extension) is dict else None
        pointer = extension.get("pointer") if type(extension) is dict else None
        if type(pointer) is not str or not pointer.startswith("/"):
            raise _SkipError("its target is a pointer, and KHR_animation_pointer gives none")
        match = _NODE_POINTER.fullmatch(pointer)
        if not match:
            return pointer, -1, ""
        node, path = int(match[1]), match[2]
        if node >= nodes:
            raise _DanglingError(f"target {pointer} does not exist, there are {nodes} nodes")
        return pointer, node, path
    if path not in ("rotation", "translation", "scale", "weights"):
        raise _SkipError(f"its target path {str(path)[:40]!r} is unknown")
    if "node" not in target:
        raise _SkipError("its target has no node")
    node = _index(target, "node", "target node", nodes)
    return f"/nodes/{node}/{path}", node, path


def _read_channel(item: Json, samplers: list[Json], table: Accessors, nodes: int) -> tuple[Channel, str]:
    """A channel, and what of it could not be read ("": nothing)."""
    sampler = samplers[_index(item, "sampler", "sampler", len(samplers))]
    times = _index(sampler, "input", "input accessor", len(table))
    values = _index(sampler, "output", "output accessor", len(table))
    data_path, node, path = _target(item, nodes)
    interpolation = sampler.get("interpolation", LINEAR_NAME)
    if type(interpolation) is not str or interpolation not in _INTERPOLATIONS:
        raise _SkipError(f"interpolation {str(interpolation)[:40]!r} is unknown")
    for a in (times, values):
        if a in table.faults:
            raise InputError(table.faults[a])
        if a in table.skipped:
            raise _SkipError(table.skipped[a])
    if table.width[times] != 1:
        raise _SkipError(f"key times (accessor {times}) must be SCALAR")
    inputs, outputs = table.count[times], table.count[values]
    each = 3 if interpolation == CUBIC else 1
    width, keys, remark = _WIDTHS.get(path, 0), inputs, ""
    if width:
        if table.width[values] != width:
            raise _SkipError(f"{path} (accessor {values}) must have {width} components, has {table.width[values]}")
        if outputs != inputs * each:
            keys = min(inputs, outputs // each)
            remark = (
                f"its sampler has {inputs} key times and {outputs} values where {inputs * each} belong: "
                f"only the first {keys} keys were read; export the file again"
            )
    else:
        # Morph weights and pointers: the values say how many belong to a key.
        total = outputs * table.width[values]
        width = total // (inputs * each) if inputs else 1
        if total != width * inputs * each or not width:
            raise _SkipError(f"its sampler has {inputs} key times and {outputs} values, which do not divide evenly")
    return Channel(data_path, node, path == "rotation", interpolation, times, values, keys, width), remark


def _numbers(node: Json, key: str, count: int, number: int) -> Float64:
    values = node[key]
    if type(values) is not list or len(values) != count or not set(map(type, values)) <= {int, float}:
        raise InputError(f"node {number}: {key!r} must be {count} numbers; {AGAIN}")
    try:
        return np.array(values, np.float64)
    except OverflowError:
        raise InputError(f"node {number}: {key!r} holds a number too large; {AGAIN}") from None


def _rest_rotation(node: Json, number: int) -> tuple[float, float, float, float]:
    """The node's own rotation as w, x, y, z: played where nothing animates it."""
    if "rotation" in node:
        x, y, z, w = (float(v) for v in _numbers(node, "rotation", 4, number))
        return w, x, y, z
    if "matrix" in node:
        with np.errstate(all="ignore"):
            return _matrix_rotation(_numbers(node, "matrix", 16, number).reshape(4, 4).T[:3, :3])
    return IDENTITY


def _matrix_rotation(matrix: Float64) -> tuple[float, float, float, float]:
    """Quaternion of a 3 × 3 matrix with scale; identity when it has no rotation (a zero axis, not finite)."""
    m = matrix / np.linalg.norm(matrix, axis=0)
    if not np.isfinite(m).all():
        return IDENTITY
    if np.linalg.det(m) < 0.0:
        m = -m  # a mirrored node: the scale takes the sign
    # The quaternion is the eigenvector that this symmetric matrix stretches most (Bar-Itzhack 2000): no case
    # distinction by the largest diagonal element, and the nearest rotation when the axes are not orthogonal.
    k = np.array(
        [
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [0.0, m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [0.0, 0.0, m[1, 1] - m[0, 0] - m[2, 2], m[1, 2] + m[2, 1]],
            [0.0, 0.0, 0.0, m[2, 2] - m[0, 0] - m[1, 1]],
        ]
    )
    q = np.linalg.eigh(k, UPLO="U")[1][:, -1]
    w, x, y, z = (float(v) for v in (q if q[0] >= 0.0 else -q))
    return w, x, y, z


def _make_clip(
    name: str,
    owner: str,
    channels: tuple[Channel, ...],
    faults: tuple[tuple[str, str], ...],
    pool: Pool,
    bones: list[str],
    rests: dict[int, tuple[float, float, float, float]],
    fixed: list[str],
    table: Accessors,
) -> Clip:
    def column(values: list[int]) -> Int64:
        return np.array(values, np.int64)

    width = column([c.width for c in channels])
    keys = column([c.keys for c in channels])
    rotation = np.array([c.rotation for c in channels], bool)
    cubic = np.array([c.interpolation == CUBIC for c in channels], bool)
    first_time = column([pool.at[c.times] for c in channels])
    first_value = column([pool.at[c.values] for c in channels])
    kind = np.array([_INTERPOLATIONS[c.interpolation] for c in channels], np.uint8)
    kind[(kind == LINEAR) & rotation] = SLERP

    first_curve = np.concatenate([[0], np.cumsum(width)]).astype(np.int64)
    channel = np.repeat(np.arange(len(channels)), width)  # of each curve
    component = np.arange(len(channel)) - first_curve[channel]
    # x, y, z, w in the file: w is the fourth.
    stored = np.where(rotation[channel], (component + 3) % 4, component)
    # CUBICSPLINE stores in-tangent, value, out-tangent of a key in a row.
    base = first_value[channel] + stored + np.where(cubic, width, 0)[channel]
    step = np.where(cubic, 3 * width, width)[channel]

    counts = keys[channel]
    curve = np.repeat(np.arange(len(counts)), counts)  # of each key
    row = np.arange(len(curve)) - np.repeat(np.cumsum(counts) - counts, counts)
    at = base[curve] + row * step[curve]
    co = np.empty((len(curve), 2))
    with np.errstate(over="ignore", invalid="ignore"):
        co[:, 0] = pool.values[first_time[channel][curve] + row] * FRAME_RATE
        co[:, 1] = pool.values[at]
        left = right = None
        if cubic.any():
            key = cubic[channel][curve]
            w = width[channel][curve]
            a = np.where(key, pool.values[at - np.where(key, w, 0)], 0.0)
            b = np.where(key, pool.values[at + np.where(key, w, 0)], 0.0)
            before, after = tangent_reach(co[:, 0], counts)
            reach = np.stack([before, after]) * key
            left = co - np.stack([reach[0], a * reach[0] / FRAME_RATE], axis=1)
            right = co + np.stack([reach[1], b * reach[1] / FRAME_RATE], axis=1)
    tracks = [
        Track(c.data_path, bones[c.node], QUATERNION, (i, i + 1, i + 2, i + 3), modes=(QUATERNION,), pose=rests[c.node])
        for c, i in zip(channels, first_curve.tolist()[:-1], strict=True)
        if c.rotation
    ]
    curves = make_curves(
        [c.data_path for c in channels for _ in range(c.width)],
        component.tolist(),
        counts,
        co,
        handle_left=left,
        handle_right=right,
        interpolation=kind[channel][curve],
        read_only=[fixed[c] for c in channel.tolist()],
    )
    made = make_tracks(tracks)
    storage = _storage(channels, channel, table)
    return Clip(name, "", owner, (owner,), "gltf", FRAME_RATE, True, curves, made, faults, storage=storage)


def _fixed_bytes(document: Document, table: Accessors, channels: tuple[Channel, ...]) -> list[str]:
    """Of each channel, why its values cannot be written; "" when they can, as far as the channel alone tells."""
    why: dict[int, str] = {-1: NO_BYTES}
    for buffer in {table.buffer[c.values] for c in channels} - {-1}:
        # Of data within the JSON the writer tells: that takes as long as reading it.
        inside = str(document.items("buffers")[buffer].get("uri", "")).startswith("data:")
        why[buffer] = "" if inside else unwritable(document, buffer)
    return [
        ROTATIONS_ONLY if not c.rotation else "" if c.values in table.sparse else why[table.buffer[c.values]]
        for c in channels
    ]


def _storage(channels: tuple[Channel, ...], channel: Int64, table: Accessors) -> Storage:
    """What the file can hold of an edit: ``channel`` (C,) is that of each curve."""
    components = [COMPONENTS[table.code[c.values]] for c in channels]
    bits = [0 if part.is_float else 8 * part.dtype.itemsize for part in components]
    normalized = [table.normalized[c.values] for c in channels]
    step = [1.0 / part.scale if fractions else 1.0 for part, fractions in zip(components, normalized, strict=True)]
    return Storage(
        KEYS_FIXED,
        bridges=False,
        bits=np.array(bits, np.int64)[channel],
        signed=np.array([part.dtype.kind == "i" for part in components], bool)[channel],
        step=np.array(step, np.float64)[channel],
    )


def tangent_reach(times: Floats, counts: Int64) -> tuple[Float64, Float64]:
    """(K,) frames from each key to its left and right handle: a third of the segment, which keeps the cubic exact.

    ``times`` (K,) frames, ``counts`` (C,) keys of each curve. The first key's left handle and the last key's right
    one shape nothing in glTF; they reach as far as their key's other handle (a lone key's: one frame), so that
    the tangents stored in the file can be had back.
    """
    ends = np.cumsum(counts)
    starts = ends - counts
    some = counts > 0
    first, last = starts[some], ends[some] - 1
    gap = np.diff(times, append=np.nan) / 3.0
    after = gap.astype(np.float64)
    before = np.concatenate([[np.nan], after[:-1]])[: len(times)]
    lone = first == last
    before[first] = after[first]
    after[last] = before[last]
    before[first[lone]] = after[last[lone]] = 1.0
    return before, after
