# SPDX-License-Identifier: GPL-3.0-or-later
"""The ghost that the graphics card skins, pixel by pixel, against positions and colors that NumPy computes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.blender import pose
from quat_audit.blender.draw import ghost as gpu_skin
from quat_audit.blender.draw import shader
from quat_audit.blender.skin import mesh as skin
from quat_audit.skinning import dual_quaternion, heat, linear
from quat_audit.skinning.skin import Motion, Skin, influences, make_motion
from tests.blender import offscreen, skinned

# Where two triangles meet, the last bit of a position decides which of them a pixel shows; so many of the covered
# pixels may differ.
OF_PIXELS = 0.002
# In parts of the depth that the mesh fills, and of full color.
DEPTH, COLOR = 1e-4, 0.01


@pytest.fixture(autouse=True)
def _gpu() -> None:
    offscreen.need_gpu()


def posed(seed: int, *, influences_: int = 5, turn: float = 1.0, scale: str = "none") -> tuple[Skin, Motion]:
    """A random rig, a random pose of it, and triangles between vertices that are near each other."""
    obj, rig = skinned.random_rig(seed, influences=influences_)
    rng = np.random.default_rng(500 + seed)
    skinned.random_object(obj, rng, mirrored=seed % 2 == 1, uneven=seed % 3 == 2)
    if seed % 4 >= 2:
        skinned.random_object(rig, rng, mirrored=seed % 4 == 3, uneven=False)
    skinned.random_pose(rig, rng, turn=turn, scale=scale)
    if seed % 2:
        obj.vertex_groups.new(name="Mask").add(list(range(0, 400, 2)), 0.6, "REPLACE")
        obj.modifiers[0].vertex_group = "Mask"
    bpy.context.view_layer.update()
    read = skin.read_object(obj).skin
    apart = np.linalg.norm(read.vertices[:, None] - read.vertices, axis=2)
    order = np.argsort(apart, axis=1)
    return replace(read, triangles=order[:, [0, 1, 2]].astype(np.int64)), pose.pose_matrices(obj, rig)


def pictures(made: Any, motion: Motion, look: gpu_skin.Look) -> tuple[np.ndarray, np.ndarray]:
    made.take(motion)
    return offscreen.drawn(lambda: gpu_skin.draw(made, look))


def differing(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """Part of the pixels that either covers in which color or depth differ."""
    covered = (one[1] < 1.0) | (other[1] < 1.0)
    assert covered.mean() > 0.05, "next to nothing is drawn"
    apart = np.abs(one[0] - other[0]).max(axis=2) > COLOR
    apart |= np.abs(one[1] - other[1]) > DEPTH
    return float((apart & covered).sum() / covered.sum())


def look_at(skin_: Skin, motion: Motion, seed: int, **options: Any) -> gpu_skin.Look:
    both = [linear.deform(skin_, motion)[0], dual_quaternion.deform(skin_, motion)[0]]
    points = np.concatenate(both).astype(np.float64)
    return gpu_skin.Look(offscreen.fitted(points, np.random.default_rng(seed)), **options)


@pytest.mark.parametrize("scale", ["none", "uniform", "axes"])
@pytest.mark.parametrize("seed", range(4))
def test_positions(seed: int, scale: str) -> None:
    read, motion = posed(seed, scale=scale, turn=(0.3, 1.0, 3.0)[seed % 3])
    ours, numpys = gpu_skin.GpuSkin(read), gpu_skin.NumpySkin(read)
    found = {}
    for method in gpu_skin.METHODS:
        look = look_at(read, motion, seed, method=method)
        found[method] = pictures(ours, motion, look)
        assert differing(found[method], pictures(numpys, motion, look)) < OF_PIXELS, method
    # It could have failed: one method for the other does.
    assert differing(found["LBS"], found["DQS"]) > 20 * OF_PIXELS


@pytest.mark.parametrize("method", gpu_skin.METHODS)
def test_the_same_as_numpys_positions_at_rest_through_the_same_shader(method: str) -> None:
    """Rasterised by one and the same shader: the skinned ghost, and one whose rest shape NumPy has posed."""
    read, motion = posed(8, scale="uniform")
    deform = linear.deform if method == "LBS" else dual_quaternion.deform
    still = replace(read, vertices=deform(read, motion)[0].astype(np.float64))
    look = look_at(read, motion, 8, method=method, light=1.0, lamp=(0.3, -0.2, 0.9))
    stays = make_motion(np.tile(np.eye(4), (1, len(read.bones), 1, 1)))
    ghost = pictures(gpu_skin.GpuSkin(read), motion, look)
    assert differing(ghost, pictures(gpu_skin.GpuSkin(still), stays, look)) < OF_PIXELS
    assert differing(ghost, pictures(gpu_skin.GpuSkin(read), stays, look)) > 20 * OF_PIXELS


@pytest.mark.parametrize("kind", heat.KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("seed", range(4))
def test_heat_maps(seed: int, kind: heat.HeatMap) -> None:
    read, motion = posed(seed, influences_=7, scale=("none", "axes")[seed % 2])
    most = 3
    figures = heat.heat(read, motion, kind, most=most)[0]
    top = float(np.quantile(figures[figures > 0], 0.9))
    look = look_at(read, motion, seed, method=("LBS", "DQS")[seed % 2], kind=kind, top=top)
    ours, numpys = gpu_skin.GpuSkin(read, most), gpu_skin.NumpySkin(read, most)
    mine = pictures(ours, motion, look)
    assert differing(mine, pictures(numpys, motion, look)) < OF_PIXELS
    for other in heat.KINDS:
        if other != kind:
            assert differing(mine, pictures(ours, motion, replace(look, kind=other))) > 20 * OF_PIXELS


def test_a_cut_to_other_numbers_shows_other_colors() -> None:
    read, motion = posed(1, influences_=8)
    look = look_at(read, motion, 1, kind=heat.CUT, top=50.0)
    found = {most: pictures(gpu_skin.GpuSkin(read, most), motion, look) for most in (1, 2, 8)}
    for most, picture in found.items():
        assert differing(picture, pictures(gpu_skin.NumpySkin(read, most), motion, look)) < OF_PIXELS
    assert differing(found[1], found[2]) > 20 * OF_PIXELS
    assert np.allclose(found[8][0][found[8][1] < 1.0][:, :3], heat.RAMP[0], atol=COLOR)


def test_more_rows_than_a_line_of_the_table_holds() -> None:
    """40,000 influences lie on ten lines; a hundred bones named by two groups each."""
    obj, rig = skinned.random_rig(5, bones=100, vertices=9000, influences=8)
    skinned.random_pose(rig, np.random.default_rng(5))
    bpy.context.view_layer.update()
    read = skin.read_object(obj).skin
    assert len(influences(read).bone) > 30_000
    read = replace(read, triangles=np.arange(9000).reshape(-1, 3))
    motion = pose.pose_matrices(obj, rig)
    look = look_at(read, motion, 5, method="DQS", kind=heat.GAP, top=500.0)
    found = pictures(gpu_skin.GpuSkin(read), motion, look)
    assert differing(found, pictures(gpu_skin.NumpySkin(read), motion, look)) < 2 * OF_PIXELS


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_bad_weights_leave_a_vertex_at_rest_and_the_rest_as_it_is(bad: float) -> None:
    read, motion = posed(4)
    weight = read.weight.copy()
    spoiled = np.flatnonzero(np.diff(read.offsets) > 1)[::7]
    for vertex in spoiled:
        weight[read.offsets[vertex] : read.offsets[vertex + 1]] = bad
    spoilt, still = replace(read, weight=weight), replace(read, weight=weight)
    still.weight[~np.isfinite(weight)] = 0.0
    look = look_at(still, motion, 4, method="DQS", kind=heat.GAP, top=500.0)
    found = pictures(gpu_skin.GpuSkin(spoilt), motion, look)
    assert differing(found, pictures(gpu_skin.NumpySkin(still), motion, look)) < OF_PIXELS


def test_what_a_pose_costs_is_its_transforms_alone() -> None:
    cost = {}
    for sides in (12, 120):
        obj, rig = skinned.make_tube(sides)
        made = gpu_skin.GpuSkin(skin.read_object(obj).skin)
        bpy.context.view_layer.update()
        made.take(pose.pose_matrices(obj, rig))
        cost[sides] = made.uploaded_bytes
        made.take(pose.pose_matrices(obj, rig))
        assert made.uploaded_bytes == 0, "the same pose is on the card already"
        rig.pose.bones["Bone1"].rotation_quaternion = (0.8, 0.0, 0.6, 0.0)
        bpy.context.view_layer.update()
        made.take(pose.pose_matrices(obj, rig))
        assert made.uploaded_bytes == cost[sides]
    # A matrix and a quaternion a bone; twice to and from the armature's space, and to millimeters.
    assert cost[12] == cost[120] == 16 * (2 * (3 + 1) + 9)


def test_opacity_shows_what_is_behind_and_never_the_ghosts_own_back() -> None:
    obj, rig = skinned.make_tube()
    bpy.context.view_layer.update()
    made, motion = gpu_skin.GpuSkin(skin.read_object(obj).skin), pose.pose_matrices(obj, rig)
    look = look_at(skin.read_object(obj).skin, motion, 2, tint=(1.0, 0.5, 0.25), opacity=0.5)
    color, depth = pictures(made, motion, look)
    inside = depth < 1.0
    assert np.allclose(color[inside][:, :3], np.array([1.0, 0.5, 0.25]) / 2, atol=COLOR)


def test_in_front_hides_what_is_nearer() -> None:
    obj, rig = skinned.make_tube()
    bpy.context.view_layer.update()
    read, motion = skin.read_object(obj).skin, pose.pose_matrices(obj, rig)
    made, look = gpu_skin.GpuSkin(read), look_at(read, motion, 2, tint=(1.0, 0.0, 0.0))
    made.take(motion)
    nearer = look.clip.copy()
    nearer[2, 3] -= 0.05

    def shown(in_front: bool) -> np.ndarray:
        def both() -> None:
            gpu_skin.draw(made, replace(look, clip=nearer, tint=(0.0, 1.0, 0.0)))
            gpu_skin.draw(made, look, in_front=in_front)

        return offscreen.drawn(both)[0]

    assert shown(False)[..., 1].sum() > 0.9 * shown(False)[..., :2].sum()
    assert shown(True)[..., 1].sum() == 0.0 and shown(True)[..., 0].sum() > 0


def test_a_shader_that_does_not_compile_leaves_numpy(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    read, motion = posed(2)
    look = look_at(read, motion, 2, method="DQS", kind=heat.GAP, top=500.0)
    usual = gpu_skin.make(read)
    assert isinstance(usual, gpu_skin.GpuSkin) and not usual.why_slow
    monkeypatch.setattr(shader, "_FRAGMENT", "void main() { this does not compile }")
    slow = gpu_skin.make(read)
    assert isinstance(slow, gpu_skin.NumpySkin) and slow.why_slow
    assert "does not compile" in caplog.text
    assert differing(pictures(usual, motion, look), pictures(slow, motion, look)) < OF_PIXELS
    lit = replace(look, light=1.0)
    assert 0.2 < pictures(slow, motion, lit)[0].sum() / pictures(slow, motion, look)[0].sum() < 0.98
