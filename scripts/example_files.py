# SPDX-License-Identifier: GPL-3.0-or-later
"""The example walk as .glb and .bvh bytes: two tiny writers that need neither bpy nor quat_audit."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
from example_walk import (
    BEZIER,
    BONES,
    CAMERA,
    FIRST_FRAME,
    FRAME_RATE,
    LAST_FRAME,
    PROP,
    RIG,
    Bone,
    Curve,
    Floats,
    Scene,
    euler_to_quaternion,
    hips_location,
    matrix_to_quaternion,
    mesh,
    multiply,
    quaternion_to_matrix,
    rotation,
)

# Blender's Z is up, glTF's and BVH's Y: a quarter turn about X.
Z_UP_TO_Y_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
# A glTF camera looks along −Z of its node as Blender's does, so that objects need no turn of their own.

FLOAT, UNSIGNED_SHORT, UNSIGNED_BYTE = 5126, 5123, 5121
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
PLACES = {PROP: (0.9, 0.0, 1.0), CAMERA: (0.0, 5.0, 1.5)}


# --- glTF ---------------------------------------------------------------------------------------------------------


def glb(scene: Scene) -> bytes:
    """The scene as binary glTF: the rig with its skinned mesh, prop and camera, one animation."""
    document: dict[str, Any] = {
        "asset": {"version": "2.0", "generator": "quat_audit examples"},
        "scene": 0,
        "accessors": [],
        "bufferViews": [],
    }
    blob = bytearray()
    numbers = _nodes(document, blob)
    _animation(document, blob, scene, numbers)
    document["buffers"] = [{"byteLength": len(blob)}]
    text = json.dumps(document, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    blob += bytes(-len(blob) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(blob), b"BIN\0") + bytes(blob)
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def _accessor(document: dict[str, Any], blob: bytearray, array: Any, kind: int = FLOAT, **more: object) -> int:
    """Append an array (N,) or (N, n) to the buffer and describe it; its accessor's number."""
    dtype = {FLOAT: "<f4", UNSIGNED_SHORT: "<u2", UNSIGNED_BYTE: "u1"}[kind]
    rows = np.asarray(array, dtype=dtype)
    blob += bytes(-len(blob) % 4)
    width = 1 if rows.ndim == 1 else rows.shape[1]
    document["bufferViews"].append({"buffer": 0, "byteOffset": len(blob), "byteLength": rows.nbytes})
    blob += rows.tobytes()
    document["accessors"].append(
        {
            "bufferView": len(document["bufferViews"]) - 1,
            "componentType": kind,
            "count": len(rows),
            "type": TYPES[width],
            **more,
        }
    )
    return len(document["accessors"]) - 1


def _nodes(document: dict[str, Any], blob: bytearray) -> dict[tuple[str, str], int]:
    """Nodes, skin, mesh and camera; node numbers by (owner, bone)."""
    numbers = {(RIG, bone.name): i for i, bone in enumerate(BONES)}
    root = len(BONES)
    nodes: list[dict[str, Any]] = []
    for bone in BONES:
        children = [numbers[RIG, b.name] for b in BONES if b.parent == bone.name]
        node: dict[str, Any] = {"name": bone.name, "children": children}
        if not children:
            del node["children"]
        node["translation"] = _parent_offset(bone).tolist()
        node["rotation"] = _xyzw(_rest_quaternion(bone)).tolist()
        nodes.append(node)
    up = _xyzw(matrix_to_quaternion(Z_UP_TO_Y_UP)).tolist()
    nodes += [
        {"name": RIG, "rotation": up, "children": [0, root + 1]},
        {"name": "Body", "mesh": 0, "skin": 0},
        {"name": PROP, "mesh": 1, "translation": list(PLACES[PROP])},
        {"name": CAMERA, "camera": 0, "translation": list(PLACES[CAMERA])},
        # Prop and camera keep Blender's axes below a node that turns them up.
        {"name": "Stage", "rotation": up, "children": [root + 2, root + 3]},
    ]
    body, box = mesh(), _prop_mesh()
    inverse = []
    for bone in BONES:
        matrix = np.eye(4)
        matrix[:3, :3] = bone.rest().T
        matrix[:3, 3] = -bone.rest().T @ np.array(bone.head)
        inverse.append(matrix.T.reshape(-1))  # glTF stores columns
    document |= {
        "nodes": nodes,
        "scenes": [{"nodes": [root, root + 4]}],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 0.7, "znear": 0.1}}],
        "skins": [
            {
                "skeleton": root,
                "joints": list(range(len(BONES))),
                "inverseBindMatrices": _accessor(document, blob, np.array(inverse)),
            }
        ],
    }
    four = np.zeros((len(body.bones), 4))
    joints, weights = four.copy(), four.copy()
    weights[:, :2] = body.weights
    joints[:, :2] = np.where(body.weights > 0, body.bones, 0)
    document["meshes"] = [
        {
            "name": "Body",
            "primitives": [
                {
                    "attributes": {
                        "POSITION": _positions(document, blob, body.vertices),
                        "JOINTS_0": _accessor(document, blob, joints, UNSIGNED_BYTE),
                        "WEIGHTS_0": _accessor(document, blob, weights),
                    },
                    "indices": _accessor(document, blob, body.triangles.reshape(-1), UNSIGNED_SHORT),
                }
            ],
        },
        {
            "name": PROP,
            "primitives": [
                {
                    "attributes": {"POSITION": _positions(document, blob, box[0])},
                    "indices": _accessor(document, blob, box[1].reshape(-1), UNSIGNED_SHORT),
                }
            ],
        },
    ]
    return numbers | {(PROP, ""): root + 2, (CAMERA, ""): root + 3}


def _positions(document: dict[str, Any], blob: bytearray, vertices: Floats) -> int:
    stored = vertices.astype(np.float32)
    return _accessor(document, blob, stored, min=stored.min(axis=0).tolist(), max=stored.max(axis=0).tolist())


def _prop_mesh() -> tuple[Floats, Any]:
    """A cube of 30 cm."""
    one = Bone("", "", (0.0, 0.0, -0.15), (0.0, 0.0, 0.15))
    rest = one.rest()
    corners = [
        np.array(end) + 0.15 * (x * rest[:, 0] + z * rest[:, 2])
        for end in (one.head, one.tail)
        for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))
    ]
    return np.array(corners), mesh().triangles[:12]


def _animation(document: dict[str, Any], blob: bytearray, scene: Scene, numbers: dict[tuple[str, str], int]) -> None:
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    groups: dict[tuple[str, str, str], list[Curve]] = {}
    for curve in scene.curves:
        groups.setdefault((curve.owner, curve.bone, curve.prop), []).append(curve)
    for (owner, bone, prop), curves in groups.items():
        path = "translation" if prop == "location" else "rotation"
        seconds = (curves[0].frames - FIRST_FRAME) / FRAME_RATE
        values = np.stack([c.values for c in curves], axis=1)
        handles = [h[:, 1] for c in curves if c.handles for h in c.handles]
        cubic = curves[0].interpolation == BEZIER and bool(handles)
        if cubic:
            # Handles lie at thirds: three times their height over the step's length is the tangent.
            left, right = np.stack(handles[0::2], axis=1), np.stack(handles[1::2], axis=1)
            step = np.diff(seconds, append=seconds[-1] + 1)[:, None]
            before = np.roll(step, 1, axis=0)
            rows = np.stack([3 * (values - left) / before, values, 3 * (right - values) / step], axis=1)
            rows[0, 0] = rows[-1, 2] = 0
            values = rows.reshape(-1, values.shape[1])
        output = _in_node(owner, bone, prop, values)
        finite = np.float32(seconds[np.isfinite(seconds)])
        samplers.append(
            {
                "input": _accessor(document, blob, seconds, min=[float(finite.min())], max=[float(finite.max())]),
                "output": _accessor(document, blob, output),
                "interpolation": "CUBICSPLINE" if cubic else "LINEAR",
            }
        )
        channels.append({"sampler": len(samplers) - 1, "target": {"node": numbers[owner, bone], "path": path}})
    document["animations"] = [{"name": "Walk", "samplers": samplers, "channels": channels}]


def _in_node(owner: str, bone: str, prop: str, values: Floats) -> Floats:
    """Values of a property of Blender's as the node's own: a bone's are relative to its rest pose."""
    if prop.endswith("euler"):
        values = euler_to_quaternion(values)
    if owner != RIG:
        return values if prop == "location" else _xyzw(values)
    (found,) = (b for b in BONES if b.name == bone)
    if prop == "location":
        return _parent_offset(found) + values @ _parent_rest(found).T
    return _xyzw(multiply(np.broadcast_to(_rest_quaternion(found), values.shape), values))


def _parent_rest(bone: Bone) -> Floats:
    """(3, 3) the bone's rest axes in its parent's."""
    parents = [b for b in BONES if b.name == bone.parent]
    return parents[0].rest().T @ bone.rest() if parents else bone.rest()


def _rest_quaternion(bone: Bone) -> Floats:
    return matrix_to_quaternion(_parent_rest(bone))


def _parent_offset(bone: Bone) -> Floats:
    """(3,) the bone's head in its parent's axes."""
    parents = [b for b in BONES if b.name == bone.parent]
    if not parents:
        return np.array(bone.head)
    offset: Floats = parents[0].rest().T @ np.subtract(bone.head, parents[0].head)
    return offset


def _xyzw(q: Floats) -> Floats:
    return q[..., [1, 2, 3, 0]]


# --- BVH ----------------------------------------------------------------------------------------------------------


def bvh(fault: str = "") -> bytes:
    """The rig's walk with a row a frame, channels Z, X, Y. Faults: "non_finite_key", "euler_wraparound"."""
    lines = ["HIERARCHY"]
    _joint(lines, BONES[0], "ROOT", 0)
    frames = np.arange(FIRST_FRAME, LAST_FRAME + 1, dtype=np.float64)
    columns = [_hips_position(frames)]
    for bone in _depth_first(BONES[0]):
        # A joint turns in the file's axes, a bone in its own.
        axes = Z_UP_TO_Y_UP @ bone.rest()
        matrices = axes @ quaternion_to_matrix(rotation(bone.name, frames)) @ axes.T
        if bone.name == "Hips" and fault == "euler_wraparound":
            matrices = np.diag([-1.0, 1.0, -1.0]) @ matrices  # the figure walks the other way: around ±180°
        columns.append(_zxy_degrees(matrices))
    motion = np.round(np.concatenate(columns, axis=1), 6) + 0.0  # no "-0"
    rows = [[f"{value:.6f}" for value in row] for row in motion]
    if fault == "non_finite_key":
        rows[12][-1] = "nan"
    lines += ["MOTION", f"Frames: {len(rows)}", f"Frame Time: {1 / FRAME_RATE:.9f}"]
    lines += [" ".join(row) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def _depth_first(bone: Bone) -> list[Bone]:
    return [bone] + [b for child in BONES if child.parent == bone.name for b in _depth_first(child)]


def _joint(lines: list[str], bone: Bone, word: str, depth: int) -> None:
    pad = "  " * depth
    parents = [b for b in BONES if b.name == bone.parent]
    origin = parents[0].head if parents else bone.head
    position = "6 Xposition Yposition Zposition" if not parents else "3"
    lines += [f"{pad}{word} {bone.name}", pad + "{", f"{pad}  OFFSET {_offset(origin, bone.head)}"]
    lines.append(f"{pad}  CHANNELS {position} Zrotation Xrotation Yrotation")
    children = [b for b in BONES if b.parent == bone.name]
    for child in children:
        _joint(lines, child, "JOINT", depth + 1)
    if not children:
        lines += [f"{pad}  End Site", pad + "  {", f"{pad}    OFFSET {_offset(bone.head, bone.tail)}", pad + "  }"]
    lines.append(pad + "}")


def _offset(start: tuple[float, ...], end: tuple[float, ...]) -> str:
    return " ".join(f"{value + 0.0:.6f}" for value in Z_UP_TO_Y_UP @ np.subtract(end, start))


def _hips_position(frames: Floats) -> Floats:
    hips = BONES[0]
    location: Floats = (np.array(hips.head) + hips_location(frames) @ hips.rest().T) @ Z_UP_TO_Y_UP.T
    return location


def _zxy_degrees(m: Floats) -> Floats:
    """(F, 3) angles about Z, X, Y of matrices that are Rz · Rx · Ry."""
    x = np.arcsin(np.clip(m[:, 2, 1], -1, 1))
    z = np.arctan2(-m[:, 0, 1], m[:, 1, 1])
    y = np.arctan2(-m[:, 2, 0], m[:, 2, 2])
    angles: Floats = np.degrees(np.stack([z, x, y], axis=1))
    return angles
