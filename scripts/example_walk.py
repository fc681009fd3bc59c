# SPDX-License-Identifier: GPL-3.0-or-later
"""The walk that the examples are made of: a small rig, two seconds of walking, a spinning prop and a camera.

Everything is computed, so that a file made anywhere is the same. Blender's axes: Z up, the figure looks along −Y.
A bone's local Y runs from head to tail; `front` is the direction of its local Z.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]

FRAME_RATE = 24
FIRST_FRAME, LAST_FRAME = 1, 49  # two strides of 24 frames; the last pose is the first again
STRIDE = 24
RIG, PROP, CAMERA = "Rig", "Prop", "Camera"
LINEAR, BEZIER = "LINEAR", "BEZIER"


@dataclass(frozen=True)
class Bone:
    """A bone of the rig in its rest pose, meters."""

    name: str
    parent: str
    head: tuple[float, float, float]
    tail: tuple[float, float, float]
    front: tuple[float, float, float] = (0.0, -1.0, 0.0)
    thickness: float = 0.06
    mode: str = "QUATERNION"

    def rest(self) -> Floats:
        """(3, 3) columns x, y, z of the bone's own axes."""
        y = np.subtract(self.tail, self.head)
        y = y / np.linalg.norm(y)
        front = np.array(self.front)
        z = front - y * (y @ front)
        z = z / np.linalg.norm(z)
        return np.stack([np.cross(y, z), y, z], axis=1)


@dataclass(frozen=True, eq=False)
class Curve:
    """One F-curve. `handles` are (K, 2) left and right ones, (frame, value); None: Blender's automatic ones."""

    owner: str
    bone: str
    prop: str
    index: int
    frames: Floats
    values: Floats
    interpolation: str = BEZIER
    handles: tuple[Floats, Floats] | None = None


@dataclass(frozen=True, eq=False)
class Scene:
    """What an example file holds. Keys of `modes` and `pose` are (owner, bone).

    `weights` are the (vertex group, weight) pairs of each vertex of the body, None for those of `mesh`; only .blend
    files hold them and the rest: `preserve_volume`, the owners that have their action without its slot, and the bones
    that are connected to their parents.
    """

    curves: tuple[Curve, ...]
    modes: dict[tuple[str, str], str]
    pose: dict[tuple[str, str], tuple[float, ...]]
    weights: tuple[tuple[tuple[str, float], ...], ...] | None = None
    preserve_volume: bool = False
    without_slot: frozenset[str] = frozenset()
    connected: frozenset[str] = frozenset()


def _side(name: str, parent: str, head: Sequence[float], tail: Sequence[float], **more: object) -> list[Bone]:
    """A bone on the left and its mirror image on the right."""
    bones = []
    for suffix, sign in ((".L", 1), (".R", -1)):
        ends = [(sign * end[0], end[1], end[2]) for end in (head, tail)]
        mirrored = parent + suffix if parent in ("Arm", "Thigh", "Shin") else parent
        bones.append(Bone(name + suffix, mirrored, ends[0], ends[1], **more))  # type: ignore[arg-type]
    return bones


BONES: tuple[Bone, ...] = (
    Bone("Hips", "", (0.0, 0.0, 0.95), (0.0, 0.0, 1.1), thickness=0.14),
    Bone("Spine", "Hips", (0.0, 0.0, 1.1), (0.0, 0.0, 1.5), thickness=0.16),
    Bone("Head", "Spine", (0.0, 0.0, 1.5), (0.0, 0.0, 1.8), thickness=0.1, mode="XYZ"),
    *_side("Arm", "Spine", (0.22, 0.0, 1.42), (0.28, 0.0, 1.14)),
    *_side("Forearm", "Arm", (0.28, 0.0, 1.14), (0.31, 0.0, 0.86), thickness=0.05),
    *_side("Thigh", "Hips", (0.1, 0.0, 0.95), (0.1, 0.0, 0.5), thickness=0.09),
    *_side("Shin", "Thigh", (0.1, 0.0, 0.5), (0.1, 0.0, 0.08), thickness=0.07),
    *_side("Foot", "Shin", (0.1, 0.0, 0.08), (0.1, -0.18, 0.04), front=(0.0, 0.0, 1.0), thickness=0.05),
)

# --- The motion, at any frame: degrees about the bone's own x, y, z (in that order of multiplication: z · y · x).


def _phase(frame: Floats, side: str) -> Floats:
    return 2 * np.pi * (frame - FIRST_FRAME) / STRIDE + (np.pi if side == "R" else 0.0)


def _turns(bone: str, frame: Floats) -> tuple[Floats, Floats, Floats]:
    name, _, side = bone.partition(".")
    p = _phase(frame, side)
    still = np.zeros_like(frame)
    mirror = -1 if side == "R" else 1
    motion: dict[str, Callable[[], tuple[Floats, Floats, Floats]]] = {
        "Hips": lambda: (still + 2, 6 * np.sin(p), 3 * np.cos(p)),
        "Spine": lambda: (4 + np.cos(2 * p), -9 * np.sin(p), -2 * np.cos(p)),
        "Head": lambda: (3 * np.sin(2 * p) - 4, 4 * np.sin(p), 1.5 * np.cos(p)),
        "Arm": lambda: (-24 * np.sin(p), still + mirror * 4, still + mirror * 3),
        "Forearm": lambda: (20 - 14 * np.sin(p), still, still),
        "Thigh": lambda: (28 * np.sin(p) + 4, still + mirror * 2, 2 * np.cos(p)),
        "Shin": lambda: (-30 - 25 * np.cos(p + 0.5), still, still),
        "Foot": lambda: (12 * np.sin(p + 2) + 6, still, still + mirror * 2),
    }
    return motion[name]()


def rotation(bone: str, frame: Floats) -> Floats:
    """(K, 4) quaternions of a bone in its own axes, at frames (K,)."""
    return euler_to_quaternion(euler(bone, frame))


def euler(bone: str, frame: Floats) -> Floats:
    """(K, 3) the same as XYZ Euler angles, radians."""
    angles: Floats = np.radians(np.stack(_turns(bone, frame), axis=-1))
    return angles


def hips_location(frame: Floats) -> Floats:
    """(K, 3) how far the hips are from their rest position, along their own axes."""
    p = _phase(frame, "L")
    return np.stack([0.02 * np.cos(p), 0.025 * np.cos(2 * p) - 0.03, 0 * p], axis=-1)


def clean() -> Scene:
    """The walk without a fault."""
    curves: list[Curve] = []
    for bone in BONES:
        arm = "rm" in bone.name  # arms are keyed on twos, straight; the rest on fours with automatic handles
        frames = _every(2 if arm else 4)
        if bone.mode == "QUATERNION":
            curves += group(RIG, bone.name, "rotation_quaternion", frames, rotation(bone.name, frames), _kind(arm))
        else:
            curves += group(RIG, bone.name, "rotation_euler", frames, euler(bone.name, frames))
    frames = _every(4)
    curves += group(RIG, "Hips", "location", frames, hips_location(frames))
    # Two whole turns, on purpose: a spin is no fault.
    spin = np.zeros((len(frames), 3))
    spin[:, 2] = np.linspace(0, 4 * np.pi, len(frames))
    curves += group(PROP, "", "rotation_euler", frames, spin, LINEAR)
    curves += group(
        CAMERA, "", "rotation_euler", frames, camera_angles(frames, 180 + 6 * np.sin(_phase(frames, "L") / 2))
    )
    location = np.stack([0.6 * np.sin(_phase(frames, "L") / 2), 5 + 0 * frames, 1.5 + 0 * frames], axis=-1)
    curves += group(CAMERA, "", "location", frames, location)
    modes = {(RIG, bone.name): bone.mode for bone in BONES} | {(PROP, ""): "XYZ", (CAMERA, ""): "XYZ"}
    return Scene(tuple(curves), modes, {})


def spoiled(*faults: Callable[[Scene], Scene]) -> Scene:
    """The walk with several faults, put in one after the other."""
    scene = clean()
    for fault in faults:
        scene = fault(scene)
    return scene


def camera_angles(frames: Floats, pan_deg: Floats) -> Floats:
    """(K, 3) angles of a camera that looks level and pans, radians."""
    angles: Floats = np.radians(np.stack([86 + 0 * frames, 0 * frames, pan_deg], axis=-1))
    return angles


def group(owner: str, bone: str, prop: str, frames: Floats, values: Floats, interpolation: str = BEZIER) -> list[Curve]:
    """The curves of one property from its (K, n) values."""
    return [Curve(owner, bone, prop, i, frames, values[:, i], interpolation) for i in range(values.shape[1])]


def _every(step: int) -> Floats:
    return np.arange(FIRST_FRAME, LAST_FRAME + 1, step, dtype=np.float64)


def _kind(straight: bool) -> str:
    return LINEAR if straight else BEZIER


# --- Rotations. Written here once more, so that the examples do not depend on the code they are there to try.


def euler_to_quaternion(angles: Floats) -> Floats:
    """(..., 3) XYZ angles, X applied first, to (..., 4) w, x, y, z; continuous where the angles are."""
    half = angles / 2
    c, s = np.cos(half), np.sin(half)
    zero = np.zeros_like(half[..., 0])
    x, y, z = (np.stack([c[..., i], *(s[..., i] if j == i else zero for j in range(3))], axis=-1) for i in range(3))
    return multiply(z, multiply(y, x))


def multiply(a: Floats, b: Floats) -> Floats:
    """Product of (..., 4) quaternions: b is applied first. A bilinear form: it takes any four numbers."""
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def quaternion_to_matrix(q: Floats) -> Floats:
    """(..., 4) unit quaternions to (..., 3, 3)."""
    w, x, y, z = np.moveaxis(q, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def matrix_to_quaternion(m: Floats) -> Floats:
    """A (3, 3) rotation to a quaternion with w ≥ 0: the eigenvector of the largest eigenvalue (Bar-Itzhack)."""
    k = np.array(
        [
            [m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]],
            [0, m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]],
            [0, 0, m[1, 1] - m[0, 0] - m[2, 2], m[1, 2] + m[2, 1]],
            [0, 0, 0, m[2, 2] - m[0, 0] - m[1, 1]],
        ]
    )
    q: Floats = np.linalg.eigh(k, UPLO="U")[1][:, -1]
    # Of a half turn either sign would do: the largest component decides, not noise around zero.
    lead = q[0] if abs(q[0]) > 1e-9 else q[np.argmax(np.abs(q))]
    return q * math.copysign(1.0, lead)


# --- The figure's mesh: a box a bone, its upper ring shared with the parent where the two are joined.


@dataclass(frozen=True, eq=False)
class Mesh:
    """V vertices in the armature's space, T triangles, and two influences a vertex (bone numbers, weights)."""

    vertices: Floats
    triangles: npt.NDArray[np.int64]
    bones: npt.NDArray[np.int64]
    weights: Floats


_BOX = np.array(
    [
        *([0, 3, 2], [0, 2, 1], [4, 5, 6], [4, 6, 7], [0, 1, 5], [0, 5, 4]),
        *([1, 2, 6], [1, 6, 5], [2, 3, 7], [2, 7, 6], [3, 0, 4], [3, 4, 7]),
    ]
)


def body_weights() -> tuple[tuple[tuple[str, float], ...], ...]:
    """(vertex group, weight) pairs of each vertex of the body."""
    figure = mesh()
    return tuple(
        tuple((BONES[bone].name, weight) for bone, weight in zip(bones, weights, strict=True) if weight)
        for bones, weights in zip(figure.bones.tolist(), figure.weights.tolist(), strict=True)
    )


def mesh() -> Mesh:
    """The boxes of all bones. Weights of every vertex sum to 1."""
    numbers = {bone.name: i for i, bone in enumerate(BONES)}
    vertices, triangles, bones, weights = [], [], [], []
    for number, bone in enumerate(BONES):
        rest, half = bone.rest(), bone.thickness / 2
        parent = numbers.get(bone.parent, number)
        joined = bone.parent != "" and BONES[parent].tail == bone.head
        for end, shared in ((bone.head, joined), (bone.tail, False)):
            for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                vertices.append(np.array(end) + half * (x * rest[:, 0] + z * rest[:, 2]))
                bones.append((number, parent if shared else number))
                weights.append((0.5, 0.5) if shared else (1.0, 0.0))
        triangles.append(_BOX + 8 * number)
    return Mesh(np.array(vertices), np.concatenate(triangles), np.array(bones), np.array(weights))
