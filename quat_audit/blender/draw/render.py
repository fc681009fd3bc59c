# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawings as PNG files, rendered by Cycles on the processor: it ships with every Blender and needs no screen.

A scene of its own holds what is drawn. One pixel is one unit, and the camera looks straight down at it. All that was
made for it is removed again, and the open file's own scenes are not touched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bpy
import numpy as np

from ...errors import InputError
from ...preview.drawing import EYE, LABELS, PAPER, Drawing, Label, Patch
from ...preview.png import without_remarks
from .. import compat
from ..open import quiet

NAME = "quat_audit preview"
# Samples of a pixel: nothing here is noisy, they only smooth edges.
SAMPLES = 16
# Light from the upper left, in the picture's axes; from this cosine on a face is as dark as its shade says.
LIGHT = (-0.38, 0.52, 0.76)
DARKEST_AT = -0.45
# Faces that meet at more than this look like an edge.
SHARP_DEG = 50.0
_COLOR = "Color"
_KINDS = ("objects", "meshes", "curves", "cameras", "materials", "worlds", "scenes", "fonts", "images")


def render(drawing: Drawing) -> bytes:
    """A drawing as the bytes of a PNG file.

    Raises:
        InputError: Blender gave no picture.
    """
    compat.enable_addon("cycles")
    with _only_for_now(), tempfile.TemporaryDirectory(prefix="quat_audit-") as folder:
        scene = _scene(drawing)
        for shade in sorted({patch.shade for patch in drawing.patches}):
            material, patches = _material(shade), [patch for patch in drawing.patches if patch.shade == shade]
            for patch in patches if shade else [_joined(patches)]:
                _link(scene, _mesh(patch, material))
        _add_labels(scene, drawing.labels)
        path = Path(folder) / "picture.png"
        scene.render.filepath = str(path)
        with quiet() as said:
            bpy.ops.render.render(scene=scene.name, write_still=True)
        if not path.is_file():
            raise InputError(f"Blender rendered no picture: {said().strip()[-500:] or 'it gives no reason'}")
        return without_remarks(path.read_bytes())


@contextmanager
def _only_for_now() -> Iterator[None]:
    """Remove all data that was not there before."""
    before = {kind: {item.session_uid for item in getattr(bpy.data, kind)} for kind in _KINDS}
    try:
        yield
    finally:
        made = [i for kind in _KINDS for i in getattr(bpy.data, kind) if i.session_uid not in before[kind]]
        bpy.data.batch_remove(made)


def _scene(drawing: Drawing) -> Any:
    scene = bpy.data.scenes.new(NAME)
    render = scene.render
    render.engine = "CYCLES"
    render.resolution_x, render.resolution_y, render.resolution_percentage = drawing.width, drawing.height, 100
    render.dither_intensity = 0.0
    render.use_sequencer = render.use_compositing = False
    render.image_settings.file_format, render.image_settings.color_mode = "PNG", "RGB"
    render.image_settings.color_depth = "8"
    # Colors go into the file as they are.
    scene.view_settings.view_transform = "Raw"
    cycles = scene.cycles
    cycles.device, cycles.samples, cycles.seed = "CPU", SAMPLES, 0
    cycles.use_adaptive_sampling = cycles.use_denoising = False
    cycles.max_bounces = 0
    cycles.pixel_filter_type = "BLACKMAN_HARRIS"
    world = bpy.data.worlds.new(NAME)
    compat.with_nodes(world).nodes["Background"].inputs["Color"].default_value = (*PAPER, 1.0)
    scene.world = world
    camera = bpy.data.cameras.new(NAME)
    camera.type, camera.ortho_scale = "ORTHO", float(max(drawing.width, drawing.height))
    camera.clip_start, camera.clip_end = 1.0, 1e5
    scene.camera = _link(scene, camera)
    scene.camera.location = (drawing.width / 2, drawing.height / 2, EYE)
    return scene


def _link(scene: Any, data: Any) -> Any:
    obj = bpy.data.objects.new(NAME, data)
    scene.collection.objects.link(obj)
    return obj


def _material(shade: float) -> Any:
    """It shines in its own color, less where a shaded face looks away from the light: no light is computed."""
    material = bpy.data.materials.new(NAME)
    tree = compat.with_nodes(material)
    nodes, links = tree.nodes, tree.links
    nodes.clear()
    output, emission = nodes.new("ShaderNodeOutputMaterial"), nodes.new("ShaderNodeEmission")
    color = nodes.new("ShaderNodeVertexColor")
    color.layer_name = _COLOR
    links.new(color.outputs["Color"], emission.inputs["Color"])
    links.new(emission.outputs["Emission"], output.inputs["Surface"])
    if shade:
        geometry, dot, map_range = (
            nodes.new(name) for name in ("ShaderNodeNewGeometry", "ShaderNodeVectorMath", "ShaderNodeMapRange")
        )
        dot.operation = "DOT_PRODUCT"
        dot.inputs[1].default_value = LIGHT
        for name, value in (("From Min", DARKEST_AT), ("From Max", 1.0), ("To Min", 1.0 - shade), ("To Max", 1.0)):
            map_range.inputs[name].default_value = value
        links.new(geometry.outputs["Normal"], dot.inputs[0])
        links.new(dot.outputs["Value"], map_range.inputs["Value"])
        links.new(map_range.outputs["Result"], emission.inputs["Strength"])
    return material


def _joined(patches: list[Patch]) -> Patch:
    starts = np.cumsum([0, *(len(patch.points) for patch in patches)])
    return Patch(
        np.concatenate([patch.points for patch in patches]),
        np.concatenate([patch.triangles + start for patch, start in zip(patches, starts, strict=False)]),
        np.concatenate([patch.colors for patch in patches]),
        patches[0].shade,
    )


def _mesh(patch: Patch, material: Any) -> Any:
    mesh = bpy.data.meshes.new(NAME)
    count = len(patch.triangles)
    mesh.vertices.add(len(patch.points))
    mesh.vertices.foreach_set("co", patch.points.astype(np.float32).ravel())
    mesh.loops.add(3 * count)
    mesh.loops.foreach_set("vertex_index", patch.triangles.astype(np.int32).ravel())
    mesh.polygons.add(count)
    mesh.polygons.foreach_set("loop_start", np.arange(0, 3 * count, 3, dtype=np.int32))
    mesh.polygons.foreach_set("use_smooth", np.full(count, patch.shade > 0.0))
    mesh.update(calc_edges=True)
    colors = mesh.color_attributes.new(_COLOR, "FLOAT_COLOR", "POINT")
    rgba = np.concatenate([patch.colors, np.ones((len(patch.points), 1))], axis=1)
    colors.data.foreach_set("color", rgba.astype(np.float32).ravel())
    if patch.shade:
        mesh.set_sharp_from_angle(angle=np.radians(SHARP_DEG))
    mesh.materials.append(material)
    return mesh


def _add_labels(scene: Any, labels: list[Label]) -> None:
    """Text objects in Blender's own font, which falls back to others for what it lacks; too long ones made smaller."""
    inks = {color: _ink(color) for color in dict.fromkeys(label.color for label in labels)}
    made = []
    for label in labels:
        text = bpy.data.curves.new(NAME, "FONT")
        text.body, text.size, text.align_x = label.text, label.size, label.align
        text.materials.append(inks[label.color])
        obj = _link(scene, text)
        obj.location = (label.x, label.y, LABELS)
        made.append((obj, label))
    layer = scene.view_layers[0]
    layer.update()
    for obj, label in made:
        long = float(obj.evaluated_get(layer.depsgraph).dimensions[0])
        if long > label.width:
            obj.scale = (label.width / long,) * 3


def _ink(color: tuple[float, float, float]) -> Any:
    material = bpy.data.materials.new(NAME)
    tree = compat.with_nodes(material)
    nodes = tree.nodes
    nodes.clear()
    output, emission = nodes.new("ShaderNodeOutputMaterial"), nodes.new("ShaderNodeEmission")
    emission.inputs["Color"].default_value = (*color, 1.0)
    tree.links.new(emission.outputs["Emission"], output.inputs["Surface"])
    return material
