# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinning rows of the benchmark: both methods against Blender's Armature modifier, and the scan of a clip."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import headless_gpu
from bench_timing import Row, in_turn, profiled, timed

BONES, INFLUENCES = 60, 4


def rows(
    repeat: int,
    profile: bool,
    rig: Callable[[int, str], tuple[Any, Any]],
    fill: Callable[[Any, str, Any, int], None],
    swinging: Callable[[int, int], Any],
) -> Iterator[Row]:
    """Both methods, a clip, the preview. The last three make a rig, fill its curves, and make keys to fill in."""
    yield from _methods(repeat, profile, rig)
    yield _clip(repeat, profile, rig, fill, swinging)
    yield _ghost(repeat, profile, rig)


def _tube(vertices: int, armature: Any) -> tuple[Any, Any]:
    """(mesh object, modifier): a tube around a chain of bones, each vertex on the four that are nearest."""
    import bpy
    import numpy as np

    rng = np.random.default_rng(60)
    sides = 40
    rings = vertices // sides
    angle = np.tile(np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False), rings)
    height = np.repeat(np.linspace(0.0, BONES, rings), sides)
    mesh = bpy.data.meshes.new("Tube")
    mesh.vertices.add(rings * sides)
    mesh.vertices.foreach_set("co", np.stack([np.cos(angle), np.sin(angle), height], axis=1).astype("f4").ravel())
    obj = bpy.data.objects.new("Tube", mesh)
    bpy.context.scene.collection.objects.link(obj)
    first = np.clip(height.astype(int) - 1, 0, BONES - INFLUENCES)
    weights = rng.uniform(0.1, 1.0, (len(first), INFLUENCES))
    groups = [obj.vertex_groups.new(name=f"Bone{bone:03}") for bone in range(BONES)]
    for vertex, (bone, mine) in enumerate(zip(first.tolist(), weights.tolist(), strict=True)):
        for number, weight in enumerate(mine):
            groups[bone + number].add([vertex], weight, "REPLACE")
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    return obj, modifier


def _chain(make_rig: Callable[[int, str], tuple[Any, Any]]) -> tuple[Any, Any, Any]:
    """(armature object, action, its curves): the bones one after the other, each the child of the one before."""
    import bpy

    action, curves = make_rig(BONES, "QUATERNION")
    armature = bpy.data.objects["Rig"]
    bpy.ops.object.mode_set(mode="EDIT")
    bones = armature.data.edit_bones
    for number in range(1, BONES):
        bones[f"Bone{number:03}"].parent = bones[f"Bone{number - 1:03}"]
    bpy.ops.object.mode_set(mode="POSE")
    return armature, action, curves


def _methods(repeat: int, profile: bool, make_rig: Callable[[int, str], tuple[Any, Any]]) -> Iterator[Row]:
    import bpy
    import numpy as np

    from quat_audit.blender import pose
    from quat_audit.blender.skin import mesh as skin
    from quat_audit.skinning import dual_quaternion, linear

    armature, _, _ = _chain(make_rig)
    armature.animation_data_clear()
    obj, modifier = _tube(100_000, armature)
    record = skin.read_object(obj)
    rng = np.random.default_rng(61)
    for bone in armature.pose.bones:
        q = rng.normal(size=4) * 0.08
        bone.rotation_quaternion = (1.0, *q[1:])
    positions = np.empty(3 * len(record.skin), dtype=np.float32)

    def move() -> None:
        armature.pose.bones["Bone005"].rotation_quaternion[1] += 0.01

    def blenders() -> float:
        modifier.show_viewport = True
        bpy.context.view_layer.update()
        move()

        def work() -> None:
            graph = bpy.context.evaluated_depsgraph_get()
            obj.evaluated_get(graph).data.vertices.foreach_get("co", positions)

        return timed(work)()

    for name, method, preserve, at_most in (
        ("LBS", linear.deform, False, 1.5),
        ("DQS", dual_quaternion.deform, True, 2.0),
    ):
        modifier.use_deform_preserve_volume = preserve

        def work(method: Any = method) -> Any:
            return method(record.skin, pose.pose_matrices(obj, armature))

        def ours(work: Any = work) -> float:
            modifier.show_viewport = False
            bpy.context.view_layer.update()
            move()
            return timed(work)()

        ours()  # the blocks are made once
        reference, mine = in_turn(3 * repeat, blenders, ours)
        modifier.show_viewport = True
        bpy.context.view_layer.update()
        graph = bpy.context.evaluated_depsgraph_get()
        obj.evaluated_get(graph).data.vertices.foreach_get("co", positions)
        assert np.abs(work()[0] - positions.reshape(-1, 3)).max() < 1e-5 * BONES
        yield Row(
            f"{name} of 100,000 vertices × 4 influences, 60 bones: pose read, deformed",
            "Blender's Armature modifier on the same mesh, evaluated and read back",
            at_most,
            mine / reference,
            mine,
            reference,
            profiled(work, profile),
        )


def _clip(
    repeat: int,
    profile: bool,
    make_rig: Callable[[int, str], tuple[Any, Any]],
    fill: Callable[[Any, str, Any, int], None],
    swinging: Callable[[int, int], Any],
) -> Row:
    import bpy

    from quat_audit.blender import pose
    from quat_audit.blender.skin import mesh as skin
    from quat_audit.skinning import measure

    armature, _, curves = _chain(make_rig)
    keys = swinging(BONES, 250)
    keys[:, 1:] *= 0.1  # a chain of sixty that swings as far as a body does
    fill(curves, "rotation_quaternion", keys, 1)
    obj, _ = _tube(20_000, armature)
    record = skin.read_object(obj)
    scene = bpy.context.scene
    frames = list(range(1, 251))

    def blenders() -> None:
        for frame in frames:
            scene.frame_set(frame)

    def ours() -> None:
        scan = measure.scan(record.skin, pose.pose_matrices(obj, armature, frames))
        assert scan.worst_gap().value > 1.0

    ours()
    reference, mine = in_turn(repeat, timed(blenders), timed(ours))
    return Row(
        "250 frames of 20,000 vertices scanned by both methods: poses read, gap, joints, influence cut",
        "Blender evaluating them once",
        3.0,
        mine / reference,
        mine,
        reference,
        profiled(ours, profile),
    )


def _ghost(repeat: int, profile: bool, make_rig: Callable[[int, str], tuple[Any, Any]]) -> Row:
    """The preview's frame but for the draw call itself: seen to be current, the pose read, packed and uploaded."""
    import bpy

    from quat_audit.blender import pose
    from quat_audit.blender.draw import ghost
    from quat_audit.blender.skin import mesh as skin
    from quat_audit.blender.skin.mesh_state import mesh_state

    headless_gpu.start()
    armature, _, _ = _chain(make_rig)
    armature.animation_data_clear()
    bone = armature.pose.bones["Bone005"]
    work, cost = [], set()
    for vertices in (1_000, 100_000):
        obj, _ = _tube(vertices, armature)
        made = ghost.GpuSkin(_with_faces(skin.read_object(obj).skin))

        def frame(obj: Any = obj, made: Any = made) -> None:
            mesh_state(obj, armature, bpy.context.scene)
            made.take(pose.pose_as_evaluated(obj, armature, bpy.context.view_layer.depsgraph))
            cost.add(made.uploaded_bytes)

        def posed(frame: Any = frame) -> float:
            bone.rotation_quaternion[1] += 0.01
            bpy.context.view_layer.update()
            return timed(frame)()

        posed()
        work.append(posed)
    small, large = in_turn(20 * repeat, *work)
    (uploaded,) = cost  # the same for both, and for every pose
    return Row(
        f"the preview's frame outside the draw call, 100,000 vertices, 60 bones: {uploaded:,} bytes computed, uploaded",
        "the same of 1,000 vertices",
        1.5,
        large / small,
        large,
        small,
        profiled(work[1], profile),
    )


def _with_faces(skin: Any) -> Any:
    import numpy as np

    return replace(skin, triangles=np.arange(len(skin) // 3 * 3).reshape(-1, 3))
