# SPDX-License-Identifier: GPL-3.0-or-later
"""Linear and dual quaternion blending against a scalar oracle: REFERENCE.md 19 and 20. (21: tests/blender.)"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quat_audit.skinning import dual_quaternion, linear
from quat_audit.skinning.dual_quaternion import BLENDER, HEAVIEST
from quat_audit.skinning.skin import Motion, make_motion, padded
from tests.skinning import scalar

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize("degrees, radius", [(90, 0.7071068), (135, 0.3826834), (179, 0.0087265), (270, 0.7071068)])
@pytest.mark.parametrize("hemisphere", [BLENDER, HEAVIEST])
def test_a_twisted_ring(degrees: float, radius: float, hemisphere: str) -> None:
    ring = [(math.cos(a), math.sin(a), 0.0) for a in np.linspace(0, 2 * math.pi, 12, endpoint=False)]
    skin = scalar.make_skin(ring, [[(0, 0.5), (1, 0.5)]] * 12, ((0, 0, 0), (0, 0, 0)))
    motion = scalar.bend(skin, Z, [degrees])
    lbs = linear.deform(skin, motion, np.float64)[0]
    dqs = dual_quaternion.deform(skin, motion, np.float64, hemisphere=hemisphere)[0]
    np.testing.assert_allclose(np.linalg.norm(lbs, axis=1), radius, atol=5e-8)
    np.testing.assert_allclose(np.linalg.norm(dqs, axis=1), 1.0, atol=1e-12)
    # and it is where the middle rotation puts it, the short way round
    half = degrees / 2 if degrees < 180 else degrees / 2 - 180
    for at, was in zip(dqs, ring, strict=True):
        np.testing.assert_allclose(at, (scalar.about(scalar.turn(Z, half), (0, 0, 0)) @ [*was, 1.0])[:3], atol=1e-12)


def test_the_dual_part_of_a_rigid_motion() -> None:
    rng = np.random.default_rng(20)
    q = rng.normal(size=(50, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    t = rng.normal(size=(50, 3))
    expected = [[0.5 * c for c in scalar.product([0.0, *move], turn)] for turn, move in zip(q, t, strict=True)]
    np.testing.assert_allclose(dual_quaternion.from_rigid(q, t), expected, atol=1e-15)
    made = dual_quaternion.from_matrices(
        np.stack([scalar.matrix(turn, move) for turn, move in zip(q, t, strict=True)])[:, None], np.eye(4)[None]
    )
    assert not made.scaled.any()
    sign = np.sign(np.sum(made.real[:, 0] * q, axis=1, keepdims=True))
    np.testing.assert_allclose(sign * made.real[:, 0], q, atol=1e-12)
    np.testing.assert_allclose(sign * made.dual[:, 0, :, 3], expected, atol=1e-12)
    assert not made.dual[:, 0, :, :3].any()


def _random(seed: int, *, bones: int = 6, vertices: int = 200, most: int = 5, turn: float = 1.0):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(3, bones, 4)) * turn + [1.0, 0.0, 0.0, 0.0]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    t = rng.normal(size=(3, bones, 3))
    weights = []
    for _ in range(vertices):
        chosen = rng.choice(bones, int(rng.integers(1, most + 1)), replace=False)
        weights.append([(int(b), float(w)) for b, w in zip(chosen, rng.uniform(0.01, 1.0, len(chosen)), strict=True)])
    skin = scalar.make_skin(rng.normal(size=(vertices, 3)), weights, rng.normal(size=(bones, 3)))
    deform = np.stack([[scalar.matrix(a, b) for a, b in zip(*frame, strict=True)] for frame in zip(q, t, strict=True)])
    return skin, weights, q, t, make_motion(deform)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("turn", [0.2, 1.0, 10.0])
def test_every_vertex_as_the_scalar_oracle_has_it(seed: int, turn: float) -> None:
    skin, weights, q, t, motion = _random(seed, turn=turn)
    lbs = linear.deform(skin, motion, np.float64)
    by_rule = {h: dual_quaternion.deform(skin, motion, np.float64, hemisphere=h) for h in (BLENDER, HEAVIEST)}
    differ = 0
    for frame in range(3):
        for vertex, entries in enumerate(weights):
            point = skin.vertices[vertex]
            matrices = [(w, motion.deform[frame, b]) for b, w in entries]
            np.testing.assert_allclose(lbs[frame, vertex], scalar.linear_blend(point, matrices), atol=1e-11)
            rigid = [(w, q[frame, b], t[frame, b]) for b, w in entries]
            heaviest = min(entries, key=lambda e: (-e[1], e[0]))[0]
            a = scalar.dual_blend(point, rigid, None)
            b = scalar.dual_blend(point, rigid, q[frame, heaviest])
            scale = max(1.0, float(np.abs([a, b]).max()))
            np.testing.assert_allclose(by_rule[BLENDER][frame, vertex], a, atol=1e-9 * scale)
            np.testing.assert_allclose(by_rule[HEAVIEST][frame, vertex], b, atol=1e-9 * scale)
            differ += not np.allclose(a, b, atol=1e-6)
    assert (differ > 0) == (turn > 0.5)  # the two rules are both at work where bones are turned far apart


def test_ties_go_to_the_lower_bone() -> None:
    # Three bones in a circle of half turns: whichever is the reference decides the sign of the others.
    q = [scalar.turn(Z, 0.0), scalar.turn(Z, 170.0), scalar.turn(Z, 340.0)]
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        skin = scalar.make_skin([X], [[(b, 1 / 3) for b in order]], ((0, 0, 0),) * 3)
        motion = make_motion(np.stack([scalar.matrix(each) for each in q])[None])
        at = dual_quaternion.deform(skin, motion, np.float64, hemisphere=HEAVIEST)[0, 0]
        expected = scalar.dual_blend(X, [(1 / 3, each, (0, 0, 0)) for each in q], q[0])
        np.testing.assert_allclose(at, expected, atol=1e-12)


@given(
    signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=6, max_size=6),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=30, deadline=None)
def test_posing_q_or_minus_q_gives_the_same_mesh(signs: list[float], seed: int) -> None:
    skin, _, q, t, motion = _random(seed, vertices=20)
    flipped = np.stack(
        [[scalar.matrix(s * a, b) for s, a, b in zip(signs, *frame, strict=True)] for frame in zip(q, t, strict=True)]
    )
    for hemisphere in (BLENDER, HEAVIEST):
        one = dual_quaternion.deform(skin, motion, np.float64, hemisphere=hemisphere)
        other = dual_quaternion.deform(skin, make_motion(flipped), np.float64, hemisphere=hemisphere)
        np.testing.assert_allclose(one, other, atol=1e-9)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_dual_quaternions_of_one_turn_keep_every_length(seed: int) -> None:
    """All bones turned about one point: whatever the weights, the distance from it stays (LBS only ever loses)."""
    skin, _, q, _, _ = _random(seed, vertices=30)
    pivot = np.array([0.3, -0.2, 0.7])
    motion = make_motion(np.stack([[scalar.about(each, pivot) for each in frame] for frame in q]))
    rest = np.linalg.norm(skin.vertices - pivot, axis=1)
    dqs = np.linalg.norm(dual_quaternion.deform(skin, motion, np.float64) - pivot, axis=2)
    lbs = np.linalg.norm(linear.deform(skin, motion, np.float64) - pivot, axis=2)
    np.testing.assert_allclose(dqs, np.tile(rest, (3, 1)), rtol=1e-9)
    assert np.all(lbs <= rest + 1e-12)


def test_half_turns_apart_keep_the_sign_that_they_have() -> None:
    """A dot of exactly 0 is no reason to flip, as in REFERENCE.md 3."""
    skin = scalar.make_skin([X], [[(0, 0.5), (1, 0.5)]], ((0, 0, 0),) * 2)
    motion = make_motion(np.stack([np.eye(4), np.diag([-1.0, -1.0, 1.0, 1.0])])[None])
    for hemisphere in (BLENDER, HEAVIEST):
        at = dual_quaternion.deform(skin, motion, np.float64, hemisphere=hemisphere)[0, 0]
        np.testing.assert_allclose(at, Y, atol=1e-12)


def test_single_precision_is_within_its_rounding() -> None:
    skin, _, _, _, motion = _random(5)
    for method in (linear.deform, dual_quaternion.deform):
        np.testing.assert_allclose(method(skin, motion), method(skin, motion, np.float64), atol=2e-4)


def test_objects_that_are_not_at_the_origin() -> None:
    skin, _, _, _, motion = _random(6)
    rng = np.random.default_rng(6)
    to_armature = np.tile(np.eye(4), (3, 1, 1))
    to_armature[:, :3] += 0.4 * rng.normal(size=(3, 3, 4))  # each frame its own, skewed
    moved = Motion(motion.frames, motion.deform, to_armature, motion.to_world)
    for method in (linear.deform, dual_quaternion.deform):
        ours = method(skin, moved, np.float64)
        for frame in range(3):
            inside = replace(skin, vertices=skin.vertices @ to_armature[frame, :3, :3].T + to_armature[frame, :3, 3])
            there = method(inside, motion.part(slice(frame, frame + 1)), np.float64)[0]
            back = np.linalg.inv(to_armature[frame])
            np.testing.assert_allclose(ours[frame], there @ back[:3, :3].T + back[:3, 3], atol=1e-9)


def test_vertices_without_weight_stay_and_sums_do_not_matter() -> None:
    far = scalar.matrix(scalar.turn(X, 40.0), (5.0, 0.0, 0.0))
    weights = [
        [],
        [(0, 0.0)],
        [(0, 1e-4)],
        [(0, 1.1e-4)],
        [(0, 3.0)],
        [(2, 1.0)],
        [(0, math.nan)],
        [(0, 0.5), (1, 0.5)],
    ]
    skin = scalar.make_skin([X] * len(weights), weights, extra_groups=["Not a bone"])
    motion = make_motion(np.stack([far, far])[None])
    there = (far @ [*X, 1.0])[:3]
    for method in (linear.deform, dual_quaternion.deform):
        ours = method(skin, motion, np.float64)[0]
        for vertex, moves in enumerate([False, False, False, True, True, False, False, True]):
            np.testing.assert_allclose(ours[vertex], there if moves else X, atol=1e-12)


def test_the_mask_is_a_share_of_the_displacement() -> None:
    skin, _, _, _, motion = _random(8)
    mask = np.random.default_rng(8).uniform(0, 1, len(skin))
    for method in (linear.deform, dual_quaternion.deform):
        full = method(skin, motion, np.float64)
        part = method(replace(skin, mask=mask), motion, np.float64)
        np.testing.assert_allclose(part, skin.vertices + (full - skin.vertices) * mask[:, None], atol=1e-12)


def test_scale_acts_at_the_vertex() -> None:
    """One bone alone puts its vertices exactly where its matrix does, whatever that scales, shears or mirrors."""
    rng = np.random.default_rng(9)
    deform = np.tile(np.eye(4), (40, 1, 1, 1))
    deform[:, 0, :3] += rng.normal(size=(40, 3, 4))
    skin = scalar.make_skin(rng.normal(size=(9, 3)), [[(0, 0.7)]] * 9, ((0.1, 0.2, 0.3),))
    motion = make_motion(deform)
    expected = np.einsum("fij,vj->fvi", deform[:, 0, :3, :3], skin.vertices) + deform[:, 0, None, :3, 3]
    np.testing.assert_allclose(dual_quaternion.deform(skin, motion, np.float64), expected, atol=1e-10)
    np.testing.assert_allclose(linear.deform(skin, motion, np.float64), expected, atol=1e-12)


def test_an_unknown_rule_is_an_error_that_names_it() -> None:
    skin, _, _, _, motion = _random(1)
    with pytest.raises(ValueError, match="hemisphere must be 'heaviest' or 'blender', got 'left'"):
        dual_quaternion.deform(skin, motion, hemisphere="left")


def test_a_broken_skin_says_what_is_broken() -> None:
    skin, _, _, _, _ = _random(1)
    with pytest.raises(ValueError, match="invariant 4 broken: group must be a number from 0 to 5"):
        replace(skin, group=skin.group + 1).validate()
    with pytest.raises(ValueError, match="invariant 2 broken"):
        replace(skin, offsets=skin.offsets[:-1]).validate()


def test_the_padded_view_is_the_concatenated_one() -> None:
    skin, weights, _, _, _ = _random(2)
    bone, weight = padded(skin)
    assert bone.shape == weight.shape == (len(skin), max(len(w) for w in weights))
    for row, entries in enumerate(weights):
        assert [(int(b), float(w)) for b, w in zip(bone[row], weight[row], strict=True)][: len(entries)] == entries
        assert not weight[row, len(entries) :].any()
