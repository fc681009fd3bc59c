# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a preview without Blender: radius, rows, view, cropping, ticks, names, PNG."""

from __future__ import annotations

import math
import ntpath
import struct
import zlib
from dataclasses import replace
from pathlib import PureWindowsPath

import numpy as np
import pytest

from quat_audit.errors import SkinError
from quat_audit.preview import figures, png, rows, sheet, usable, view
from quat_audit.preview.drawing import Patch, cropped, tick, ticks
from quat_audit.preview.graph import graph
from quat_audit.skinning import radius
from quat_audit.skinning.heat import CUT, GAP, LOSS
from quat_audit.skinning.joints import joints
from quat_audit.skinning.skin import Motion
from quat_audit.text import file_stems, frame_words
from tests.skinning import scalar

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
REFERENCE = {90.0: 0.7071, 135.0: 0.3827, 179.0: 0.0087, 270.0: 0.7071}


def ring(axis: tuple[float, float, float], degrees: list[float], **changes: object):
    """A skin of one ring that both bones share evenly, and the second bone turned."""
    angle = 2 * np.pi * np.arange(12) / 12
    points = [(0.3 * math.cos(a), 0.3 * math.sin(a), 1.0) for a in angle]
    skin = scalar.make_skin(points, [[(0, 0.5), (1, 0.5)]] * 12, ((0, 0, 0), (0, 0, 1)))
    return replace(skin, **changes), scalar.bend(skin, axis, degrees)


@pytest.mark.parametrize("axis", [X, Y, Z])
def test_a_ring_keeps_the_cosine_of_half_the_turn(axis: tuple[float, float, float]) -> None:
    skin, motion = ring(axis, [0.0, *REFERENCE])
    kept = radius.of_rest(skin, motion)[:, :, 0]
    np.testing.assert_allclose(kept[0], [1.0, *REFERENCE.values()], atol=1e-4)
    np.testing.assert_allclose(kept[1], 1.0, atol=1e-4)


def test_the_radius_is_the_same_wherever_the_limb_is_turned_to() -> None:
    """Both bones turned and moved together, and the objects too: nothing changes between them."""
    skin, motion = ring(X, list(REFERENCE))
    rng = np.random.default_rng(7)
    expected = radius.of_rest(skin, motion)
    for _ in range(5):
        q = rng.normal(size=4)
        together = scalar.matrix((q / np.linalg.norm(q)).tolist(), rng.normal(size=3).tolist())
        moved = Motion(motion.frames, together @ motion.deform, motion.to_armature, motion.to_world)
        np.testing.assert_allclose(radius.of_rest(skin, moved), expected, atol=2e-4)
    back = np.linalg.inv(together)
    elsewhere = replace(skin, vertices=skin.vertices @ back[:3, :3].T + back[:3, 3])
    there = Motion(motion.frames, motion.deform, np.tile(together, (4, 1, 1)), np.tile(together, (4, 1, 1)))
    np.testing.assert_allclose(radius.of_rest(elsewhere, there), expected, atol=2e-4)


def test_a_joint_that_shares_nothing_has_no_radius() -> None:
    skin = scalar.make_skin([(0.3, 0, 1)] * 2, [[(0, 1.0)], [(1, 1.0)]], ((0, 0, 0), (0, 0, 1)))
    assert np.isnan(radius.of_rest(skin, scalar.bend(skin, X, [0.0, 90.0]))).all()
    found = figures.measure(skin, scalar.bend(skin, X, [0.0, 90.0]))
    data = figures.as_dict(found, file="x", blender=None)
    assert data["worst"]["radius"] is None and data["series"]["joints"][0]["radius"] is None
    assert sheet.sheet(found, "x").labels


def test_rows_are_the_worst_frames_without_doubles() -> None:
    skin = scalar.make_tube()
    found = figures.measure(skin, scalar.bend(skin, Z, [0.0, 60.0, 170.0, 30.0]))
    (only,) = rows.choose(found)
    assert (only.frame, only.kind, only.joint) == (2, GAP, 0)
    assert [title.split(":")[0] for title in only.titles] == ["Largest gap", "Thinnest"]
    assert only.values[only.vertex] == only.values.max() > 0


def test_a_cut_has_its_own_row_also_on_the_same_frame() -> None:
    rng = np.random.default_rng(3)
    heads = [(0.0, 0.0, 0.3 * n) for n in range(7)]
    points = rng.uniform(-0.3, 0.3, (60, 3)) + np.array([0, 0, 1])
    weights = [[(b, float(w)) for b, w in enumerate(rng.uniform(0.1, 1.0, 7))] for _ in points]
    skin = scalar.make_skin(points, weights, heads)
    deform = np.stack(
        [np.stack([scalar.about(scalar.turn(X, d * b), heads[b]) for b in range(7)]) for d in (0.0, 15.0)]
    )
    found = figures.measure(skin, replace(scalar.bend(scalar.make_tube(), X, [0, 0]), deform=deform))
    chosen = rows.choose(found)
    assert {row.kind for row in chosen} >= {GAP, CUT}
    assert len({(row.frame, row.kind, row.joint) for row in chosen}) == len(chosen) <= rows.MOST_ROWS
    assert next(r for r in chosen if r.kind == CUT).frame == 1


def test_a_row_of_another_joint_has_that_joints_gap() -> None:
    """Two joints that bend on the same frames, the second less: its row must not repeat the figure of the first."""
    heads = [(0.0, 0.0, float(n)) for n in range(3)]
    angle = 2 * np.pi * np.arange(12) / 12
    points = [(0.3 * math.cos(a), 0.3 * math.sin(a), z) for z in (1.0, 2.0) for a in angle]
    weights = [[(0, 0.5), (1, 0.5)]] * 12 + [[(1, 0.5), (2, 0.5)]] * 12
    skin = scalar.make_skin(points, weights, heads)
    frames = []
    for first, second in ((0.0, 0.0), (150.0, 100.0), (140.0, 120.0)):
        elbow = scalar.about(scalar.turn(Z, first), heads[1])
        frames.append(np.stack([np.eye(4), elbow, elbow @ scalar.about(scalar.turn(Z, second), heads[2])]))
    still = scalar.bend(scalar.make_tube(), Z, [0.0] * 3)
    found = figures.measure(skin, replace(still, deform=np.stack(frames)))
    first_row, second_row = rows.choose(found)
    # A ring of radius r at half the turn a: r (1 - cos a) between the two methods.
    gaps = [300.0 * (1.0 - math.cos(math.radians(turn / 2))) for turn in (150.0, 120.0)]
    assert (first_row.joint, second_row.joint, second_row.frame) == (0, 1, 2)
    labels = [label.text for label in sheet.sheet(found, "x").labels if label.text.startswith("gap ")]
    assert [label.split(",")[0] for label in labels] == [f"gap {gap:.0f} mm" for gap in gaps]


def test_a_mesh_without_a_difference_shows_one_frame_and_says_so() -> None:
    skin = scalar.make_tube()
    found = figures.measure(skin, scalar.bend(skin, Z, [0.0, 0.0]))
    (row,) = rows.choose(found)
    assert row.titles == ("LBS and DQS give the same shape",) and row.vertex == -1
    assert not sheet.sheet(found, "x").patches[0].shade


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_frame_on_which_no_joint_has_a_radius() -> None:
    skin, motion = ring(X, [150.0, 179.0, 90.0])
    found = figures.measure(skin, motion)
    gap, kept = found.scan.gap.copy(), found.scan.radius.copy()
    gap[2], kept[2] = 10.0 * gap.max(), np.nan  # the largest gap is there: it stands for no joint's loss
    found = replace(found, scan=replace(found.scan, gap=gap, radius=kept))
    assert [(row.frame, row.kind) for row in rows.choose(found)] == [(2, GAP), (1, LOSS)]
    assert found.thinnest == (1, 0)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("preserve_volume", [False, True])
@pytest.mark.parametrize("left", [0, 1, 2])
def test_vertices_without_a_place_are_no_warning(left: int, preserve_volume: bool) -> None:
    """All of them but the first few are NaN: measured and drawn all the same."""
    skin, motion = ring(Y, [0.0, 90.0], preserve_volume=preserve_volume)
    skin = replace(skin, vertices=np.where(np.arange(len(skin))[:, None] < left, skin.vertices, np.nan))
    found = figures.measure(skin, motion)
    size = 1000.0 * float(np.linalg.norm(np.ptp(skin.vertices[:left], axis=0))) if left else 0.0
    assert found.scan.size_mm == pytest.approx(size)
    assert sheet.sheet(found, "x").labels and graph(found, "x").labels
    assert (figures.as_dict(found, file="x", blender=None)["worst"]["gap"]["mm"] > 0) == (left > 0)


def test_looking_from_where_a_bend_shows() -> None:
    """Two shapes that differ along X only, in a limb along Z: seen from the front or the back, upright."""
    rng = np.random.default_rng(1)
    one = rng.uniform(-1, 1, (400, 3)) * [0.1, 0.1, 1.0]
    other = one + np.array([0.2, 0, 0]) * (np.abs(one[:, 2:]) < 0.3)
    right, up, eye = view.best(one, other, np.zeros((0, 3), dtype=int))
    assert abs(eye[1]) > 0.8 and up[2] > 0.9
    np.testing.assert_allclose(np.stack([right, up, eye]) @ np.stack([right, up, eye]).T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(np.cross(right, up), eye, atol=1e-12)


def test_looking_past_what_is_in_front() -> None:
    """The difference is behind a wall: looked at from behind, or past it."""
    side = np.linspace(-1, 1, 9)
    wall = np.array([(x, -0.5, z) for x in side for z in side])
    first = np.array([9 * x + z for x in range(8) for z in range(8)])
    triangles = np.concatenate([first[:, None] + np.array(c) for c in ((0, 1, 9), (1, 10, 9))])
    knob = np.random.default_rng(2).uniform(-0.1, 0.1, (100, 3)) + np.array([0, 0.5, 0])
    one = np.concatenate([wall, knob])
    other = one + np.concatenate([np.zeros((81, 3)), np.tile([0.0, 0, 0.05], (100, 1))])
    eye = view.best(one, other, triangles)[2]
    crossing = knob.mean(axis=0) + eye * (-1.0 / eye[1])  # where the line of sight meets the wall's plane
    assert eye[1] > 0 or np.abs(crossing[[0, 2]]).max() > 1.0
    front = view.basis(view.USUAL_AZIMUTH, view.ELEVATIONS[0])[2]  # which is in the wall's shadow
    assert front[1] < 0 and np.abs((front * (-1.0 / front[1]))[[0, 2]]).max() < 1.0


def test_cropped_triangles_cover_the_same_and_stay_inside() -> None:
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.uniform(-2, 2, (90, 2)), rng.uniform(-1, 1, (90, 1))], axis=1)
    patch = Patch(points, np.arange(90).reshape(-1, 3), points * 0.1 + 0.5, 0.5)
    part = cropped(patch, -1.0, -0.5, 1.0, 0.75)
    assert part.points[:, 0].min() >= -1 - 1e-9 and part.points[:, 0].max() <= 1 + 1e-9
    assert part.points[:, 1].min() >= -0.5 - 1e-9 and part.points[:, 1].max() <= 0.75 + 1e-9
    np.testing.assert_allclose(part.colors, part.points * 0.1 + 0.5, atol=1e-12)  # linear, so kept by cutting
    assert part.shade == 0.5
    samples = rng.uniform([-1, -0.5], [1, 0.75], (4000, 2))
    for before, after in ((patch, part),):
        inside = [_cover(p.points, p.triangles, samples) for p in (before, after)]
        np.testing.assert_array_equal(inside[0], inside[1])
    nothing = cropped(patch, 5, 5, 6, 6)
    assert len(nothing.triangles) == 0


def _cover(points: np.ndarray, triangles: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """How many triangles each sample lies in."""
    count = np.zeros(len(samples), dtype=int)
    for a, b, c in points[triangles][:, :, :2]:
        sides = [
            (q[0] - p[0]) * (samples[:, 1] - p[1]) - (q[1] - p[1]) * (samples[:, 0] - p[0])
            for p, q in ((a, b), (b, c), (c, a))
        ]
        count += np.all(np.array(sides) > 0, axis=0) | np.all(np.array(sides) < 0, axis=0)
    return count


@pytest.mark.parametrize(
    "top, expected",
    [
        (100.0, [0, 20, 40, 60, 80, 100]),
        (297.0, [0, 100, 200]),
        (0.0037, [0, 0.001, 0.002, 0.003]),
        (5.0, [0, 1, 2, 3, 4, 5]),
        (0.0, [0]),
        (math.nan, [0]),
    ],
)
def test_ticks_are_round(top: float, expected: list[float]) -> None:
    assert ticks(top) == pytest.approx(expected)


@pytest.mark.parametrize(
    "value, words",
    [(0.0, "0"), (0.0003, "0.0003"), (74.25, "74.2"), (999.0, "999"), (12345.6, "12,346"), (2e6, "2,000,000")],
)
def test_figures_beside_a_scale_have_no_exponent(value: float, words: str) -> None:
    assert tick(value) == words


@pytest.mark.parametrize(
    "frame, words",
    [
        (1.0, "1"),
        (-30.0, "-30"),
        (16.5, "16.5"),
        (25.600000381, "25.6"),
        (1_048_574.0, "1048574"),
        (100_001.25, "100001.25"),
    ],
)
def test_frames_in_words_keep_every_digit(frame: float, words: str) -> None:
    assert frame_words(frame) == words
    assert figures.frame_number(frame) == pytest.approx(frame, abs=1e-5)


def test_numbers_of_the_figures() -> None:
    assert figures.numbers([math.nan, math.inf, -0.0, 0.123456789, 1e-12]) == [None, None, 0.0, 0.123457, 1e-12]
    assert math.copysign(1.0, figures.number(-0.0) or 0.0) == 1.0


def test_names_of_files() -> None:
    names = [
        "Arm",
        "arm",
        "ARM",
        "a/b\\c:d",
        "..",
        "",
        "con",
        "Nul.x",
        "腕",
        "🔥",
        "🦊",
        "é" * 200,
        " x. ",
        "-rf",
        "a\x00b",
    ]
    stems = file_stems(names)
    assert stems[:4] == ["Arm", "arm-2", "ARM-3", "a_b_c_d"]
    assert stems[8] == "腕"
    assert len({stem.casefold() for stem in stems}) == len(names)
    for stem in stems:
        assert stem and len(stem.encode()) <= 130 and not set(stem) & set('/\\:*?"<>|\n\0')
        assert stem == stem.strip(". ") and stem.casefold().split(".")[0] not in ("con", "nul")
    assert file_stems(["e\u0301", "é"]) == ["é", "é-2"]  # one name on some file systems


@pytest.mark.parametrize(
    "name", ["CON", "nul.x", "com1", "LPT²", "aux .blend", "a:b", "a\\b", "C:/x", "x. .", "..", "conin$"]
)
def test_a_file_stem_is_a_plain_name_on_windows(name: str) -> None:
    (stem,) = file_stems([name])
    for ending in (".json", "-sheet.png"):
        path = PureWindowsPath(stem + ending)
        assert (path.parts, path.anchor) == ((stem + ending,), "")
        assert not _is_reserved(path)
    assert not stem.endswith((".", " ")) and not set(stem) & set('<>:"|?*')


def _is_reserved(path: PureWindowsPath) -> bool:
    # From Python 3.13 on the question is asked of ntpath.
    return ntpath.isreserved(path) if hasattr(ntpath, "isreserved") else path.is_reserved()


def test_a_name_that_another_makes_for_itself() -> None:
    assert len(set(file_stems(["a", "a-2", "A"]))) == 3
    assert file_stems(["Body", "Body", "Body-2", "Body"]) == ["Body", "Body-2", "Body-2-2", "Body-3"]
    assert len({stem.casefold() for stem in file_stems(["a", "A", "a-2", "a-2-2"])}) == 4


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_what_is_no_picture_is_taken_out_of_a_png() -> None:
    header, body, end = _chunk(b"IHDR", b"x" * 13), _chunk(b"IDAT", b"data"), _chunk(b"IEND", b"")
    remarks = _chunk(b"tEXt", b"Date\0today"), _chunk(b"tIME", b"1234567"), _chunk(b"iTXt", b"")
    data = png.SIGNATURE + header + remarks[0] + body + remarks[1] + remarks[2] + end
    assert png.without_remarks(data) == png.SIGNATURE + header + body + end
    with pytest.raises(ValueError, match="signature"):
        png.without_remarks(b"GIF89a")
    for length in range(len(png.SIGNATURE) + 1, len(data) - 1):
        cut = data[:length]
        if length not in np.cumsum([8, len(header), *map(len, (remarks[0], body, *remarks[1:]))]):
            with pytest.raises(ValueError, match="cut short"):
                png.without_remarks(cut)


def test_what_cannot_be_previewed_says_why() -> None:
    def says(skin: object) -> str:
        with pytest.raises(SkinError) as caught:
            usable.check(skin)  # type: ignore[arg-type]
        return str(caught.value)

    tube = scalar.make_tube()
    usable.check(tube)
    assert "zero or missing" in says(replace(tube, weight=np.zeros(len(tube.weight))))
    assert "NaN" in says(replace(tube, weight=np.full(len(tube.weight), np.nan)))
    nowhere = replace(tube, groups=replace(tube.groups, bone=np.full(2, -1)))
    assert "its groups are Bone0, Bone1, its bones Bone0, Bone1" in says(nowhere)
    assert len(joints(tube)) == 1
