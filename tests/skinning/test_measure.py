# SPDX-License-Identifier: GPL-3.0-or-later
"""Measures over a clip, against closed forms and against sums over whole meshes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from quat_audit.skinning import displacement, dual_quaternion, linear, measure
from quat_audit.skinning.joints import joints
from quat_audit.skinning.skin import Motion, select, size_of
from tests.skinning import scalar

X, Z = (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize("axis", [X, Z], ids=["bent elbow", "twisted tube"])
def test_a_joint_loses_what_the_closed_form_says(axis: tuple[float, float, float]) -> None:
    """A vertex shared a : b keeps sqrt(1 - 4ab sin²(t/2)) of its distance from the axis of the turn under LBS."""
    angles = [0.0, 30.0, 90.0, 135.0, 179.0]
    ring = [(math.cos(a), math.sin(a), 1.0) for a in np.linspace(0, 2 * math.pi, 24, endpoint=False)]
    for share in (0.5, 0.3):
        skin = scalar.make_skin(ring, [[(0, 1 - share), (1, share)]] * 24, ((0, 0, 0), (0, 0, 1)))
        scan = measure.scan(skin, scalar.bend(skin, axis, angles))
        expected = [math.sqrt(1 - 4 * share * (1 - share) * math.sin(math.radians(t) / 2) ** 2) for t in angles]
        np.testing.assert_allclose(scan.radius[:, 0], expected, atol=2e-5)
        assert (list(scan.frames), scan.bones[0]) == ([1.0, 2.0, 3.0, 4.0, 5.0], "Bone1")


def test_every_figure_of_a_tube_from_its_whole_meshes() -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, X, list(range(0, 170, 10)))
    scan = measure.scan(skin, motion)
    lbs, dqs = linear.deform(skin, motion, np.float64), dual_quaternion.deform(skin, motion, np.float64)
    gap = 1000.0 * np.linalg.norm(lbs - dqs, axis=2)
    np.testing.assert_allclose(scan.gap.max(axis=1), gap.max(axis=1), atol=2e-3)
    np.testing.assert_allclose(scan.gap_mean, gap.mean(axis=1), atol=2e-3)
    worst = scan.worst_gap()
    assert worst.frame == 17.0 and worst.bone == "Bone1"
    assert gap[16, worst.vertex] == pytest.approx(gap.max(), rel=1e-4)
    assert scan.size_mm == pytest.approx(1000.0 * math.sqrt(0.6**2 + 0.6**2 + 2.0**2), rel=1e-6)
    assert scan.of_mesh(worst.value) == pytest.approx(100 * gap.max() / scan.size_mm, rel=1e-4)
    whole = np.array([[_volume(points, skin.triangles) for points in way] for way in (lbs, dqs)]).T
    np.testing.assert_allclose(scan.volume, whole / _volume(skin.vertices, skin.triangles), atol=1e-5)
    volumes = scan.worst_volume()
    assert volumes is not None and volumes[0].value < volumes[1].value and volumes[0].frame == 17.0
    assert not scan.cut.any()


def _volume(points: np.ndarray, triangles: np.ndarray) -> float:
    return sum(float(np.linalg.det(points[corners])) for corners in triangles) / 6.0


def test_a_twisted_tube_keeps_its_volume_with_dual_quaternions_alone() -> None:
    skin = scalar.make_tube(soft=0.3, rings=61, sides=24)
    scan = measure.scan(skin, scalar.bend(skin, Z, [0.0, 90.0, 170.0]))
    assert scan.volume is not None
    np.testing.assert_allclose(scan.volume[0], 1.0, atol=1e-5)
    # Facets between turned rings cut corners, and so lose a little with any method.
    assert np.all(scan.volume[1:, 1] > 0.97) and scan.volume[2, 0] < 0.85


def test_the_gap_grows_with_the_turn_and_scales_with_the_world() -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, Z, list(range(0, 180, 20)))
    scan = measure.scan(skin, motion, volume=False)
    assert np.all(np.diff(scan.gap.max(axis=1)) > 0) and scan.volume is None
    world = np.diag([2.0, 2.0, 2.0, 1.0])
    larger = measure.scan(skin, Motion(motion.frames, motion.deform, motion.to_armature, motion.to_world @ world))
    np.testing.assert_allclose(larger.gap, 2 * scan.gap, rtol=1e-5)
    uneven = np.diag([3.0, 1.0, 1.0, 1.0])
    there = measure.scan(skin, Motion(motion.frames, motion.deform, motion.to_armature, motion.to_world @ uneven))
    difference = linear.deform(skin, motion, np.float64) - dual_quaternion.deform(skin, motion, np.float64)
    expected = 1000.0 * np.linalg.norm(difference * [3.0, 1.0, 1.0], axis=2).max(axis=1)
    np.testing.assert_allclose(there.gap.max(axis=1), expected, rtol=1e-4, atol=1e-3)


def test_dual_quaternions_bulge_at_a_bend_and_not_in_a_twist() -> None:
    skin = scalar.make_tube()
    bend = measure.scan(skin, scalar.bend(skin, X, [0.0, 60.0, 120.0])).bulge[:, 0]
    assert bend[0] < 0.01 and 1.0 < bend[1] < bend[2]
    twist = measure.scan(skin, scalar.bend(skin, Z, [0.0, 60.0, 120.0])).bulge[:, 0]
    assert np.all(twist < 0.01)


def test_where_the_armature_lies_does_not_matter() -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, X, [30.0, 110.0])
    place = scalar.matrix(scalar.turn(Z, 77.0), (0.4, -2.0, 1.0))
    moved = Motion(motion.frames, motion.deform, np.tile(place, (2, 1, 1)), motion.to_world)
    elsewhere = replace(skin, vertices=(skin.vertices - place[:3, 3]) @ place[:3, :3])
    a, b = measure.scan(skin, motion), measure.scan(elsewhere, moved)
    for name in ("gap", "gap_mean", "bulge", "radius", "volume"):
        np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-3, atol=2e-3, err_msg=name)


def test_joints_of_a_chain_and_over_a_bone_that_does_not_deform() -> None:
    heads = [(0.0, 0.0, float(z)) for z in range(4)]
    points = [(0.1, 0.0, 1.0), (0.1, 0.0, 1.5), (0.1, 0.0, 2.0), (0.1, 0.0, 3.0)]
    weights_ = [[(0, 0.5), (1, 0.5)], [(1, 1.0)], [(1, 0.5), (3, 0.5)], [(1, 0.1), (3, 0.9)]]
    skin = scalar.make_skin(points, weights_, heads)
    deform = np.array([True, True, False, True])
    skin = replace(
        skin,
        bones=replace(skin.bones, deform=deform),
        groups=replace(skin.groups, bone=np.array([0, 1, -1, 3])),
    )
    found = joints(skin)
    assert [(int(b), int(a)) for b, a in zip(found.below, found.above, strict=True)] == [(1, 0), (3, 1)]
    assert list(found.of_vertex) == [0, 2, 1, 1]
    assert sorted(zip(found.vertex.tolist(), found.joint.tolist(), strict=True)) == [(0, 0), (2, 1)]


def test_what_a_cut_moves() -> None:
    rng = np.random.default_rng(4)
    bones = 7
    entries = [[(int(b), float(x)) for b, x in enumerate(rng.dirichlet(np.ones(bones)))] for _ in range(60)]
    entries[::3] = [e[:3] for e in entries[::3]]
    skin = scalar.make_skin(rng.normal(size=(60, 3)), entries, rng.normal(size=(bones, 3)))
    from quat_audit.skinning.skin import make_motion

    deform = [[scalar.matrix(scalar.turn(X, float(a))) for a in rng.uniform(-90, 90, bones)] for _ in range(5)]
    motion = make_motion(np.array(deform))
    scan = measure.scan(skin, motion)
    for frame in range(5):
        far = []
        for point, given in zip(skin.vertices, entries, strict=True):
            kept = sorted(given, key=lambda e: (-e[1], e[0]))[:4]
            a, b = (
                scalar.linear_blend(point, [(w, motion.deform[frame, bone]) for bone, w in way])
                for way in (given, kept)
            )
            far.append(1000.0 * math.dist(a, b))
        assert scan.cut[frame] == pytest.approx(max(far), rel=1e-4)
        assert scan.cut_vertex[frame] == int(np.argmax(far))
    each = scan.by_cut
    assert list(each.vertices) == [v for v in range(60) if len(entries[v]) > 4]
    assert each.of_vertex.max() == pytest.approx(scan.cut.max()) == each.worst
    assert scan.frames[int(np.argmax(scan.cut))] == each.at[int(np.argmax(each.of_vertex))]
    assert displacement.displacement(skin, skin, motion).worst == 0.0
    doubled = replace(skin, weight=2.0 * skin.weight)
    assert displacement.displacement(skin, doubled, motion).worst < 1e-3  # Blender normalises: nothing moves


def test_part_of_a_skin() -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, X, [100.0])
    some = np.array([5, 300, 2, 170])
    part = select(skin, some)
    part.validate()
    np.testing.assert_allclose(linear.deform(part, motion), linear.deform(skin, motion)[:, some], atol=1e-6)


def test_no_frames_is_an_error() -> None:
    skin = scalar.make_tube()
    with pytest.raises(ValueError, match="motion has no frames"):
        measure.scan(skin, scalar.bend(skin, X, [1.0]).part(slice(0, 0)))


def test_a_vertex_without_a_place_takes_nothing_with_it() -> None:
    skin = scalar.make_tube()
    motion = scalar.bend(skin, X, [0.0, 60.0, 120.0])
    points = skin.vertices.copy()
    points[len(points) // 2] = np.nan
    whole, holed = measure.scan(skin, motion), measure.scan(replace(skin, vertices=points), motion)
    assert whole.volume is not None and holed.volume is None
    for values in (holed.gap, holed.gap_mean, holed.radius, holed.bulge, holed.cut):
        assert np.isfinite(values).all()
    np.testing.assert_allclose(holed.radius, whole.radius, atol=0.02)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_the_size_is_that_of_the_vertices_that_have_a_place() -> None:
    points = np.array([(0.0, 0, 0), (1, 2, 2), (math.nan, 9, 9), (-math.inf, 0, 0), (0, 0, math.inf)])
    assert size_of(points) == 3.0
    assert size_of(points[2:]) == size_of(points[:0]) == 0.0
