# SPDX-License-Identifier: GPL-3.0-or-later
"""The oracle: one vertex, one frame, plain Python floats, straight from the definitions. And small skins to try."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quat_audit.skinning.skin import Bones, Groups, Motion, Skin

Vector = list[float]


def linear_blend(point: Sequence[float], weights: Sequence[tuple[float, np.ndarray]]) -> Vector:
    """Weighted mean of where each matrix takes the point."""
    total = sum(w for w, _ in weights)
    return [
        sum(w * (sum(m[i][j] * point[j] for j in range(3)) + m[i][3]) for w, m in weights) / total for i in range(3)
    ]


def product(a: Sequence[float], b: Sequence[float]) -> Vector:
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]


def dual_blend(
    point: Sequence[float],
    weights: Sequence[tuple[float, Sequence[float], Sequence[float]]],
    reference: Sequence[float] | None,
) -> Vector:
    """Blend rigid motions (weight, unit quaternion, translation) and apply the result.

    Signs: against `reference`, or, where that is None, against the sum so far.
    """
    real, dual = [0.0] * 4, [0.0] * 4
    for weight, q, t in weights:
        half = [0.5 * c for c in product([0.0, *t], q)]
        against = real if reference is None else reference
        sign = -1.0 if sum(x * y for x, y in zip(q, against, strict=True)) < 0 else 1.0
        real = [r + sign * weight * c for r, c in zip(real, q, strict=True)]
        dual = [d + sign * weight * c for d, c in zip(dual, half, strict=True)]
    size = math.sqrt(sum(c * c for c in real))
    real, dual = [c / size for c in real], [c / size for c in dual]
    back = [real[0], -real[1], -real[2], -real[3]]
    turned = product(product(real, [0.0, *point]), back)
    moved = product(dual, back)
    return [turned[i] + 2.0 * moved[i] for i in (1, 2, 3)]


def matrix(q: Sequence[float], t: Sequence[float] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """(4, 4) of a unit quaternion and a translation: its columns are the turned basis vectors."""
    result = np.eye(4)
    back = [q[0], -q[1], -q[2], -q[3]]
    for axis in range(3):
        basis = [0.0] * 4
        basis[axis + 1] = 1.0
        result[:3, axis] = product(product(q, basis), back)[1:]
    result[:3, 3] = t
    return result


def turn(axis: Sequence[float], degrees: float) -> Vector:
    """Quaternion about a unit axis."""
    half = math.radians(degrees) / 2
    return [math.cos(half), *(math.sin(half) * c for c in axis)]


def about(q: Sequence[float], pivot: Sequence[float]) -> np.ndarray:
    """(4, 4) turn about a point."""
    result = matrix(q)
    result[:3, 3] = np.array(pivot) - result[:3, :3] @ np.array(pivot)
    return result


def make_skin(
    vertices: Sequence[Sequence[float]] | np.ndarray,
    weights: Sequence[Sequence[tuple[int, float]]],
    heads: Sequence[Sequence[float]] = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    *,
    parents: Sequence[int] | None = None,
    extra_groups: Sequence[str] = (),
    **fields: object,
) -> Skin:
    """A skin whose bones stand along Z; vertex weights as (group, weight), groups 0 to B - 1 being the bones'."""
    count = len(heads)
    rest = np.tile(np.eye(4), (count, 1, 1))
    rest[:, :3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]  # a bone's Y axis points up
    rest[:, :3, 3] = heads
    names = tuple(f"Bone{n}" for n in range(count))
    skin = Skin(
        mesh="Mesh",
        armature="Rig",
        vertices=np.asarray(vertices, dtype=np.float64).reshape(-1, 3),
        offsets=np.concatenate([[0], np.cumsum([len(w) for w in weights])]).astype(np.int64),
        group=np.array([g for w in weights for g, _ in w], dtype=np.int64),
        weight=np.array([x for w in weights for _, x in w], dtype=np.float64),
        groups=Groups(
            (*names, *extra_groups),
            np.zeros(count + len(extra_groups), dtype=bool),
            np.array([*range(count), *[-1] * len(extra_groups)], dtype=np.int64),
            np.zeros(count + len(extra_groups), dtype=bool),
            np.zeros(count + len(extra_groups), dtype=bool),
        ),
        bones=Bones(
            names,
            np.ones(count, dtype=bool),
            np.array(range(-1, count - 1) if parents is None else parents, dtype=np.int64),
            rest,
            np.asarray(heads, dtype=np.float64) + np.array([0.0, 0.0, 1.0]),
        ),
        **fields,  # type: ignore[arg-type]
    )
    skin.validate()
    return skin


def make_tube(*, sides: int = 16, rings: int = 21, radius: float = 0.3, length: float = 2.0, soft: float = 0.5) -> Skin:
    """A closed tube along Z over two bones that meet in its middle; weights go over within `soft` of the joint."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    height = np.linspace(0.0, length, rings)
    points = [(radius * np.cos(a), radius * np.sin(a), z) for z in height for a in angle]
    points += [(0.0, 0.0, 0.0), (0.0, 0.0, length)]
    share = np.clip(0.5 + (np.array(points)[:, 2] - length / 2) / (2 * soft), 0.0, 1.0)
    triangles = []
    for ring in range(rings - 1):
        for side in range(sides):
            a, b = ring * sides + side, ring * sides + (side + 1) % sides
            triangles += [(a, b, b + sides), (a, b + sides, a + sides)]
    last = (rings - 1) * sides
    for side in range(sides):
        over = (side + 1) % sides
        triangles += [(over, side, rings * sides), (last + side, last + over, rings * sides + 1)]
    return make_skin(
        points,
        [[(0, 1.0 - s), (1, s)] for s in share.tolist()],
        ((0.0, 0.0, 0.0), (0.0, 0.0, length / 2)),
        triangles=np.array(triangles, dtype=np.int64),
        closed=True,
    )


def bend(skin: Skin, axis: Sequence[float], degrees: Sequence[float]) -> Motion:
    """The second bone turned about its head by some angles, one a frame; the first rests."""
    from quat_audit.skinning.skin import make_motion

    head = skin.bones.head[1]
    return make_motion(np.stack([np.stack([np.eye(4), about(turn(axis, d), head)]) for d in degrees]))
