# SPDX-License-Identifier: GPL-3.0-or-later
"""Joints where no chain of deforming bones says which bones meet: the weights do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quat_audit.skinning.joints import joints
from quat_audit.skinning.measure import scan
from quat_audit.skinning.skin import Skin, make_motion
from tests.skinning import scalar

HIPS, THIGH_L, THIGH_R, SHIN_L, SHIN_R = range(5)
LEGS = [(0, 0, 1.0), (0.1, 0, 0.9), (-0.1, 0, 0.9), (0.1, 0, 0.5), (-0.1, 0, 0.5)]


def limb(bones: int, parents: list[int] | None = None) -> Skin:
    """A limb along Z with rings that each bone shares with the next."""
    angle = 2 * np.pi * np.arange(12) / 12
    heights = np.linspace(0.1, bones - 0.1, 8 * bones)
    points = [(0.2 * np.cos(a), 0.2 * np.sin(a), z) for z in heights for a in angle]
    weights = []
    for *_, z in points:
        bone, share = max(0, int(np.floor(z - 0.5))), (z - 0.5) % 1.0 if z >= 0.5 else 0.0
        weights.append([(bone, 1.0 - share), (bone + 1, share)] if bone + 1 < bones else [(bone, 1.0)])
    return scalar.make_skin(points, weights, [(0, 0, float(n)) for n in range(bones)], parents=parents)


def under_a_root(skin: Skin) -> Skin:
    """The same skin with all its bones beside each other under one that deforms nothing, stored last."""
    bones, groups = skin.bones, skin.groups
    last = len(bones)
    above = replace(
        bones,
        names=(*bones.names, "root"),
        deform=np.append(bones.deform, False),
        parent=np.append(np.full(last, last), -1),
        rest=np.concatenate([bones.rest, np.eye(4)[None]]),
        tail=np.concatenate([bones.tail, [(0.0, 1.0, 0.0)]]),
    )
    return replace(skin, bones=above, groups=groups)


def pairs(skin: Skin) -> list[tuple[int, int]]:
    found = joints(skin)
    return list(zip(found.above.tolist(), found.below.tolist(), strict=True))


@pytest.mark.parametrize("bones", [2, 3, 6])
@pytest.mark.parametrize("way", ["flat", "under a root"])
def test_bones_side_by_side_have_the_joints_of_the_chain(bones: int, way: str) -> None:
    chain = limb(bones)
    other = limb(bones, [-1] * bones) if way == "flat" else under_a_root(chain)
    assert pairs(other) == pairs(chain) == [(n, n + 1) for n in range(bones - 1)]
    for name in ("of_vertex", "vertex", "joint", "lower", "pivot"):
        np.testing.assert_array_equal(getattr(joints(other), name), getattr(joints(chain), name))
    rng = np.random.default_rng(bones)
    deform = np.tile(np.eye(4), (4, bones, 1, 1))
    for frame in range(4):
        for bone in range(1, bones):
            turned = scalar.about(scalar.turn(rng.normal(size=3), rng.uniform(30, 170)), chain.bones.head[bone])
            deform[frame, bone] = deform[frame, bone - 1] @ turned
    expected = scan(chain, make_motion(deform))
    if way == "under a root":
        deform = np.concatenate([deform, np.tile(np.eye(4), (4, 1, 1, 1))], axis=1)
    measured = scan(other, make_motion(deform))
    assert expected.radius.min() < 0.9
    np.testing.assert_allclose(measured.radius, expected.radius, atol=1e-6)
    np.testing.assert_allclose(measured.gap, expected.gap, atol=1e-3)


def legs(parents: list[int]) -> Skin:
    """Hips, thighs and shins; the thighs share the crotch, each shares more with the hips."""
    rng = np.random.default_rng(1)
    shares = [
        (HIPS, THIGH_L, 30),
        (HIPS, THIGH_R, 30),
        (THIGH_L, THIGH_R, 20),
        (THIGH_L, SHIN_L, 12),
        (THIGH_R, SHIN_R, 12),
    ]
    weights = [[(one, 0.5), (other, 0.5)] for one, other, count in shares for _ in range(count)]
    return scalar.make_skin(rng.uniform(-0.2, 1.0, (len(weights), 3)), weights, LEGS, parents=parents)


def test_what_meets_at_the_crotch_is_no_joint() -> None:
    expected = {(HIPS, THIGH_L), (HIPS, THIGH_R), (THIGH_L, SHIN_L), (THIGH_R, SHIN_R)}
    assert set(pairs(legs([-1, HIPS, HIPS, THIGH_L, THIGH_R]))) == expected
    assert set(pairs(legs([-1] * 5))) == expected
    assert set(pairs(legs([-1, -1, -1, THIGH_L, THIGH_R]))) == expected  # legs beside the hips


def test_a_tree_hangs_by_its_root_alone() -> None:
    """A leg that hangs from its shin: its thigh meets the hips, but has a bone above it already."""
    skin = legs([-1, HIPS, SHIN_R, THIGH_L, -1])
    assert set(pairs(skin)) == {(HIPS, THIGH_L), (THIGH_L, SHIN_L), (SHIN_R, THIGH_R)}


def test_bones_that_share_nothing_have_no_joint() -> None:
    skin = scalar.make_skin([(0.3, 0, 0.2), (0.3, 0, 1.8)], [[(0, 1.0)], [(1, 1.0)]], parents=[-1, -1])
    assert not len(joints(skin))
    faint = scalar.make_skin([(0.3, 0, 1.0)] * 4, [[(0, 0.9), (1, 0.1)]] * 4, parents=[-1, -1])
    assert not len(joints(faint))


def test_the_gap_of_a_joint_is_that_of_the_vertices_it_is_measured_on() -> None:
    """Siblings below a deforming root: the vertices are nearest to one joint, the collapse is the other's."""
    heads = [(0, 0, 0.0), (0, 0, 0.0), (0, 0, 1.0)]
    angle = 2 * np.pi * np.arange(12) / 12
    points = [(0.3 * np.cos(a), 0.3 * np.sin(a), 1.0) for a in angle]
    skin = scalar.make_skin(points, [[(1, 0.5), (2, 0.5)]] * 12, heads, parents=[-1, 0, 0])
    turned = scalar.about(scalar.turn((0, 0, 1), 170), heads[2])
    found = scan(skin, make_motion(np.stack([np.eye(4), np.eye(4), turned])[None]))
    collapsed = int(np.argmin(found.radius[0]))
    assert found.bones[collapsed] == "Bone2"
    # A ring of radius r at half the turn a: r (1 - cos a) between the two methods.
    assert found.gap_shared[0, collapsed] == pytest.approx(300.0 * (1.0 - np.cos(np.radians(85.0))), rel=1e-4)
