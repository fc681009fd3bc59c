# SPDX-License-Identifier: GPL-3.0-or-later
"""A skin drawn at any pose without touching the scene: skinned by the graphics card, or by NumPy where that cannot.

`make` gives one of two things that are used alike: `take` a motion's first frame, then `draw` it with a `Look`, as
often as there are viewports. Both draw into whatever is bound. They hold no data of Blender's file.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import gpu
import numpy as np
import numpy.typing as npt
from mathutils import Matrix

from ...arrays import Floats
from ...skinning import dual_quaternion, linear
from ...skinning.heat import KINDS, HeatMap, colors, heat
from ...skinning.shader_tables import tables, texture, transforms
from ...skinning.skin import Motion, Skin
from ...skinning.weights import ENGINE_INFLUENCES
from . import shader as gpu_shader

log = logging.getLogger(__name__)

Triangles = npt.NDArray[np.int32]
Method = Literal["LBS", "DQS"]
LBS: Final = "LBS"
DQS: Final = "DQS"
METHODS = (LBS, DQS)
# What is lit from behind still shows: the least light, as in the shader.
_LEAST_LIGHT = 0.35


@dataclass(frozen=True, eq=False)
class Look:
    """How to draw.

    Attributes:
        clip: (4, 4) mesh space to clip space.
        method: LBS or DQS, which positions are drawn.
        kind: the heat map on them; None: `tint`.
        top: figure of the last color of the scale.
        tint: red, green, blue, 0 to 1.
        opacity: 0 to 1.
        light: how strong the lamp is, 0: colors as they are.
        lamp: (3,) direction of the lamp in mesh space; either side of a face is lit.
    """

    clip: Floats
    method: Method = LBS
    kind: HeatMap | None = None
    top: float = 1.0
    tint: tuple[float, float, float] = (0.8, 0.8, 0.8)
    opacity: float = 1.0
    light: float = 0.0
    lamp: tuple[float, float, float] = (0.0, 0.0, 1.0)


class GpuSkin:
    """A skin whose rest shape and weights lie on the graphics card; a pose costs its bones' transforms.

    Attributes:
        uploaded_bytes: what the last pose that was taken cost.
    """

    why_slow = ""

    def __init__(self, skin: Skin, most: int = ENGINE_INFLUENCES) -> None:
        """Upload what does not change with the pose. Raises what Blender raises when the card cannot do it."""
        self._skin = skin
        self._shader = gpu_shader.compile_shader()
        laid_out = tables(skin, most)
        self._batch = batch(
            {"pos": laid_out.position, "rows": laid_out.rows, "limits": laid_out.limits}, laid_out.triangles
        )
        self._influences, self._joints = _texture(laid_out.influences), _texture(laid_out.joints)
        self._rows = np.zeros((0, 4), dtype=np.float32)
        self._transforms: Any = None
        self.uploaded_bytes = 0

    def take(self, motion: Motion) -> None:
        """Pose it as on a motion's first frame; the pose that it has already is not uploaded again."""
        rows = transforms(self._skin, motion)
        self.uploaded_bytes = 0
        if self._transforms is None or not np.array_equal(rows, self._rows, equal_nan=True):
            self._rows, self._transforms = rows, _texture(rows)
            self.uploaded_bytes = rows.nbytes

    def draw(self, look: Look) -> None:
        """Draw it, once a pose was taken."""
        shader = self._shader
        lamp = np.asarray(look.lamp, dtype=np.float64)
        lamp = lamp / max(float(np.linalg.norm(lamp)), 1e-12)
        lamp = -lamp if lamp[2] < 0 else lamp
        shader.bind()
        shader.uniform_float("clip", Matrix(look.clip))
        shader.uniform_float("tint", (*look.tint, look.opacity))
        shader.uniform_float("look", (look.light, look.top, 0.0, 0.0))
        kind = gpu_shader.PLAIN if look.kind is None else 1 + KINDS.index(look.kind)
        method = gpu_shader.LBS if look.method == LBS else gpu_shader.DQS
        shader.uniform_float("choice", (method, kind, lamp[0], lamp[1]))
        shader.uniform_sampler("influences", self._influences)
        shader.uniform_sampler("joints", self._joints)
        shader.uniform_sampler("transforms", self._transforms)
        self._batch.draw(shader)


class NumpySkin:
    """The same drawn by Blender's own shader from positions and colors that NumPy computes for each pose and look.

    Attributes:
        why_slow: why it is used.
        uploaded_bytes: of positions and colors, of the last draw.
    """

    def __init__(self, skin: Skin, most: int = ENGINE_INFLUENCES, why_slow: str = "") -> None:
        self._skin, self._most, self.why_slow = skin, most, why_slow
        self._triangles = np.ascontiguousarray(skin.triangles, dtype=np.int32)
        self._motion: Motion | None = None
        self._done: dict[tuple[str, str], Floats] = {}
        self.uploaded_bytes = 0

    def take(self, motion: Motion) -> None:
        """Pose it as on a motion's first frame."""
        first = motion.part(slice(0, 1))
        if self._motion is None or any(
            not np.array_equal(getattr(first, name), getattr(self._motion, name), equal_nan=True)
            for name in ("deform", "to_armature", "to_world")
        ):
            self._motion, self._done = first, {}

    def draw(self, look: Look) -> None:
        """Draw it, once a pose was taken."""
        positions = self._computed("positions", look.method)
        if look.kind is None:
            rgb = np.tile(np.array(look.tint, dtype=np.float32), (len(positions), 1))
        else:
            rgb = colors(self._computed("heat", look.kind.name), look.top)
        shade = 1.0 - look.light + look.light * (_LEAST_LIGHT + (1.0 - _LEAST_LIGHT) * self._lit(positions, look.lamp))
        rgba = np.concatenate([rgb * shade[:, None], np.full((len(rgb), 1), look.opacity)], axis=1)
        drawn = batch({"pos": positions, "color": np.ascontiguousarray(rgba, dtype=np.float32)}, self._triangles)
        self.uploaded_bytes = positions.nbytes + 16 * len(rgba)
        shader = gpu.shader.from_builtin("SMOOTH_COLOR")
        with gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
            gpu.matrix.load_matrix(Matrix.Identity(4))
            gpu.matrix.load_projection_matrix(Matrix(look.clip))
            drawn.draw(shader)

    def _computed(self, what: str, which: str) -> Floats:
        """(V, 3) positions by a method, or (V,) figures of a heat map, computed once for a pose."""
        assert self._motion is not None, "draw before a pose was taken"
        found = self._done.get((what, which))
        if found is None:
            if what == "positions":
                method = linear.deform if which == LBS else dual_quaternion.deform
                found = np.ascontiguousarray(method(self._skin, self._motion)[0], dtype=np.float32)
            else:
                kind = next(kind for kind in KINDS if kind.name == which)
                found = heat(self._skin, self._motion, kind, most=self._most)[0]
            self._done[what, which] = found
        return found

    def _lit(self, positions: Floats, lamp: tuple[float, float, float]) -> Floats:
        """(V,) how much each vertex faces the lamp, by the mean of its faces."""
        a, b, c = (positions[self._triangles[:, i]] for i in range(3))
        facing = np.cross(b - a, c - a)
        total = np.stack(
            [
                np.bincount(self._triangles.ravel(), np.repeat(facing[:, axis], 3), minlength=len(positions))
                for axis in range(3)
            ],
            axis=1,
        )
        size = np.linalg.norm(total, axis=1) * max(float(np.linalg.norm(lamp)), 1e-12)
        return np.abs(total @ np.asarray(lamp)) / np.where(size > 0, size, 1.0)


def make(skin: Skin, most: int = ENGINE_INFLUENCES) -> GpuSkin | NumpySkin:
    """A skin ready to be drawn: by the graphics card, or, where its shader does not compile, by NumPy."""
    try:
        return GpuSkin(skin, most)
    except Exception as error:  # Blender raises a plain Exception for what a driver refuses
        log.warning("the skinning shader does not compile here: NumPy computes the preview", exc_info=True)
        return NumpySkin(skin, most, str(error) or type(error).__name__)


def draw(what: GpuSkin | NumpySkin, look: Look, *, in_front: bool = False) -> None:
    """Draw into the bound buffer against its depth: opaque to itself, also where it lets the scene shine through.

    Args:
        in_front: before everything that is there.
    """
    state = gpu.state
    before = state.depth_test_get(), state.depth_mask_get(), state.blend_get()
    nearer = replace(look, clip=_nearer(look.clip, in_front))
    state.blend_set("NONE")
    state.depth_test_set("LESS_EQUAL")
    state.depth_mask_set(True)
    try:
        if look.opacity < 1.0:
            # The nearest faces first, as depth alone; then only those are blended.
            state.color_mask_set(False, False, False, False)
            what.draw(nearer)
            state.color_mask_set(True, True, True, True)
            state.blend_set("ALPHA")
            state.depth_mask_set(False)
        what.draw(nearer)
    finally:
        state.color_mask_set(True, True, True, True)
        state.depth_test_set(before[0])
        state.depth_mask_set(before[1])
        state.blend_set(before[2])


def _nearer(clip: Floats, in_front: bool) -> Floats:
    """Clip space with depth pulled to the viewer: a little, to cover what lies in the same place, or before all."""
    pulled = np.array(clip, dtype=np.float64)
    if in_front:
        pulled[2] = 0.01 * pulled[2] - 0.99 * pulled[3]
    else:
        pulled[2] -= 2e-5 * pulled[3]
    return pulled


def batch(attributes: dict[str, Floats], triangles: Triangles) -> Any:
    """Triangles (T, 3) of vertices with float32 attributes, (V, n) each, ready to be drawn by a shader."""
    layout = gpu.types.GPUVertFormat()
    for name, values in attributes.items():
        layout.attr_add(id=name, comp_type="F32", len=values.shape[1], fetch_mode="FLOAT")
    vertices = gpu.types.GPUVertBuf(format=layout, len=len(next(iter(attributes.values()))))
    for name, values in attributes.items():
        vertices.attr_fill(id=name, data=values)
    return gpu.types.GPUBatch(type="TRIS", buf=vertices, elem=gpu.types.GPUIndexBuf(type="TRIS", seq=triangles))


def _texture(rows: Floats) -> Any:
    values = texture(rows)
    height, width, _ = values.shape
    data = gpu.types.Buffer("FLOAT", values.size, values.ravel())
    return gpu.types.GPUTexture((width, height), format="RGBA32F", data=data)
