# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawing in a Blender without a window: what must happen before the `gpu` module does anything."""

from __future__ import annotations


def start() -> None:
    """Initialise the GPU. 5.2 on: `gpu.init`. Before: only a render does it. Needs EGL (Mesa's will do)."""
    import bpy
    import gpu

    if hasattr(gpu, "init"):
        gpu.init()
        return
    try:
        gpu.types.GPUOffScreen(8, 8)
    except Exception:  # noqa: BLE001 - what it raises before a first render has no class of its own
        scene = bpy.data.scenes.new("GPU")
        camera = bpy.data.objects.new("GPU", bpy.data.cameras.new("GPU"))
        scene.collection.objects.link(camera)
        scene.camera, scene.render.engine = camera, "BLENDER_WORKBENCH"
        scene.render.resolution_x = scene.render.resolution_y = 8
        bpy.ops.render.render(scene=scene.name)
        bpy.data.cameras.remove(camera.data)
        bpy.data.scenes.remove(scene)
