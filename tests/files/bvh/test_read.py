# SPDX-License-Identifier: GPL-3.0-or-later
"""BVH bytes to a clip, against a scalar reader."""

from __future__ import annotations

import math
import re
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quat_audit.errors import InputError
from quat_audit.files.bvh import reading as bvh
from quat_audit.motion.clip import EULER_ORDERS, LINEAR

from .bvh_text import REAL, TWO, attempt, clip_of, load, scalar_reader, values

# --- Real files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", REAL)
def test_real_file_equals_the_scalar_reader(cases: Path, name: str) -> None:
    path = cases / "files" / name
    (clip,) = bvh.read(path).clips
    clip.validate()
    expected = scalar_reader(path.read_text(encoding="utf-8"))
    tracks, curves, frames, wraps = REAL[name]
    assert (len(clip.tracks), len(clip.curves), len(clip.curves.co)) == (tracks, curves, curves * frames)
    assert clip.not_evaluated == ()
    for i in range(curves):
        _, joint, kind = clip.curves.data_path[i].split("/")
        want = expected.pop((joint, int(clip.curves.component[i]), kind))
        if kind == "rotation":
            want = [math.radians(x) for x in want]
        rows = clip.curves.rows(i)
        np.testing.assert_array_equal(clip.curves.co[rows, 0], np.arange(1, frames + 1))
        np.testing.assert_allclose(clip.curves.co[rows, 1], want, rtol=1e-15, atol=0)
    assert not expected
    rotations = clip.curves.co[:, 1].reshape(curves, frames)[clip.tracks.curves[:, :3]]
    assert int(np.count_nonzero(np.abs(np.diff(rotations, axis=2)) > math.pi)) == wraps


def test_crlf_file_with_a_bare_line_feed_is_read(cases: Path) -> None:
    data = (cases / "files/pybvh/cmu_12_01_walk.bvh").read_bytes()
    assert b"\r\n" in data
    assert len(clip_of(data.replace(b"\r\n", b"\n")).curves.co) == len(clip_of(data).curves.co)


# --- What the format means ----------------------------------------------------------------------------------------


def test_clip_of_a_small_file(tmp_path: Path) -> None:
    (clip,) = load(tmp_path, TWO).clips
    assert (clip.action, clip.owner, clip.users, clip.slot) == ("walk", "Hips", ("Hips",), "")
    assert (clip.format, clip.frame_rate, clip.seconds, clip.frame_range) == ("bvh", 25.0, False, (1.0, 3.0))
    assert clip.tracks.bone == ("Hips", "Left Leg")
    assert clip.tracks.data_path == ("joint/Hips/rotation", "joint/Left Leg/rotation")
    assert clip.tracks.order == ("YXZ", "XZY")
    assert clip.tracks.modes == (("YXZ",), ("XZY",))
    assert clip.tracks.kind == ("EULER", "EULER")
    assert not clip.tracks.pose.any()
    assert set(clip.curves.interpolation.tolist()) == {LINEAR}
    hips = values(clip, "joint/Hips/rotation")
    assert np.degrees([hips[axis] for axis in range(3)]).tolist() == pytest.approx(
        np.array([[20.25, 21.25, 22.25], [-30, -31, -32], [10.5, 11.5, 12.5]])
    )
    assert values(clip, "joint/Hips/position") == {0: [1, 1.5, 2], 1: [2, 2.5, 3], 2: [3, 3.5, 4]}
    for track, order in enumerate(clip.tracks.curves):
        assert [int(clip.curves.component[c]) for c in order[:3]] == [0, 1, 2], track
        assert order[3] == -1


def axis_matrix(axis: str, angle: float) -> np.ndarray:
    c, s = math.cos(angle), math.sin(angle)
    return {
        "X": np.array([[1, 0, 0], [0, c, -s], [0, s, c]]),
        "Y": np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]),
        "Z": np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]),
    }[axis]


@pytest.mark.parametrize("axes", ["".join(p) for p in permutations("XYZ")])
def test_order_is_the_product_of_the_channels_left_to_right(axes: str) -> None:
    """R of the file is channel by channel, left to right; R of an order applies its first letter first."""
    listed = " ".join(f"{a}rotation" for a in axes)
    clip = clip_of(
        f"HIERARCHY\nROOT A\n{{\nOFFSET 0 0 0\nCHANNELS 3 {listed}\n}}\nMOTION\nFrames: 1\nFrame Time: 1\n20 -50 130\n"
    )
    of_file = np.eye(3)
    for axis, degrees in zip(axes, (20, -50, 130), strict=True):
        of_file = of_file @ axis_matrix(axis, math.radians(degrees))
    angles = {k: v[0] for k, v in values(clip, "joint/A/rotation").items()}
    of_clip = np.eye(3)
    for axis in clip.tracks.order[0]:
        of_clip = axis_matrix(axis, angles["XYZ".index(axis)]) @ of_clip
    np.testing.assert_allclose(of_clip, of_file, atol=1e-15)


def test_joint_kinds_that_exporters_write() -> None:
    """Positions on a child, one and two rotation channels, none, positions among rotations, two roots, one name
    twice, any case of letters, a brace on the joint's line, a named End Site."""
    clip = clip_of(
        """hierarchy
Root  腰 one\t{
  offset 0 0 0
  Channels 6 Xposition ZROTATION Yposition yrotation Zposition Xrotation
  JOINT Arm
  { OFFSET 1 0 0 CHANNELS 2 Xrotation Zrotation
    JOINT Arm
    {
      OFFSET 1 0 0
      CHANNELS 4 Yrotation Xposition Yposition Zposition
      JOINT Fixed
      {
        OFFSET 1 0 0
        CHANNELS 0
        End Site Finger tip
        {
          OFFSET 0 0 1
        }
      }
    }
  }
}
ROOT Second
{
  OFFSET 0 0 0
  CHANNELS 3 Xrotation Yrotation Zrotation
  End Site
  {
    OFFSET 0 0 1
  }
}
motion

Frames:1
Frame  Time:.5
1 2 3 4 5 6 7 8 9 10 11 12 13 14 15"""
    )
    assert clip.owner == "腰 one"
    assert clip.tracks.bone == ("腰 one", "Arm", "Arm.001", "Second")
    assert clip.tracks.order[:1] + clip.tracks.order[3:] == ("XYZ", "ZYX")
    assert set(clip.tracks.order) <= set(EULER_ORDERS)
    assert (clip.tracks.curves >= 0).tolist() == [
        [True, True, True, False],
        [True, False, True, False],
        [False, True, False, False],
        [True, True, True, False],
    ]
    assert not clip.tracks.pose.any()
    degrees = {p: {k: round(math.degrees(v[0]), 9) for k, v in values(clip, p).items()} for p in clip.tracks.data_path}
    assert degrees == {
        "joint/腰 one/rotation": {2: 2, 1: 4, 0: 6},
        "joint/Arm/rotation": {0: 7, 2: 8},
        "joint/Arm.001/rotation": {1: 9},
        "joint/Second/rotation": {0: 13, 1: 14, 2: 15},
    }
    assert values(clip, "joint/腰 one/position") == {0: [1], 1: [3], 2: [5]}
    assert values(clip, "joint/Arm.001/position") == {0: [10], 1: [11], 2: [12]}
    assert clip.frame_rate == 2


def test_two_channel_order_keeps_the_order_of_its_axes() -> None:
    text = TWO.replace("3 Yrotation Zrotation Xrotation", "2 Yrotation Xrotation")
    clip = clip_of(re.sub(r" 6\.\d$", "", text, flags=re.MULTILINE))
    order = clip.tracks.order[1]
    assert order.index("X") < order.index("Y")  # the last channel is applied first


@pytest.mark.parametrize(
    "name, expected",
    [
        ("骨盤".encode(), "骨盤"),
        (b"H\xfcfte", "Hüfte"),
        (b"a b   c", "a b   c"),
        (b'quote" \\ {x}', 'quote" \\ {x}'),
        (b"", "joint"),
    ],
)
def test_names_of_any_bytes(name: bytes, expected: str) -> None:
    assert clip_of(TWO.encode().replace(b"Left Leg", name)).tracks.bone == ("Hips", expected)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_mark(ending: str, mark: bytes) -> None:
    plain, other = clip_of(TWO), clip_of(mark + TWO.replace("\n", ending).encode())
    np.testing.assert_array_equal(plain.curves.co, other.curves.co)
    assert other.tracks.bone == plain.tracks.bone and other.not_evaluated == ()


@pytest.mark.parametrize(
    "word", ["nan", "-nan", "NaN", "inf", "-Infinity", "-1.#IND", "1.#QNAN00", "-nan(ind)", "1e999"]
)
def test_values_that_are_no_finite_number_are_nan(word: str) -> None:
    clip = clip_of(TWO.replace("21.25", word))
    assert np.isnan(clip.curves.co[:, 1]).sum() == 1
    hips = values(clip, "joint/Hips/rotation")[0]
    assert math.isnan(hips[1]) and np.degrees(hips[::2]) == pytest.approx([20.25, 22.25])


@pytest.mark.parametrize("says, present", [(2, 3), (500, 3), (0, 3)])
def test_frame_count_off_uses_the_rows_present_and_says_so(says: int, present: int) -> None:
    clip = clip_of(TWO.replace("Frames: 3", f"Frames: {says}"))
    assert clip.frame_range == (1, present)
    assert [what for what, _ in clip.not_evaluated] == ["frame count"]
    assert str(says) in clip.not_evaluated[0][1] and str(present) in clip.not_evaluated[0][1]


@pytest.mark.parametrize(
    "line", ["Frame Time: 0", "Frame Time: -1", "Frame Time: nan", "Frame Time: x", "Frame Time:", ""]
)
def test_unusable_frame_time_is_replaced_and_said(line: str) -> None:
    clip = clip_of(TWO.replace("Frame Time: 0.04", line))
    assert clip.frame_rate == bvh.DEFAULT_FRAME_RATE
    assert [what for what, _ in clip.not_evaluated] == ["frame time"]
    assert len(clip.curves.co) == 27


def test_missing_frame_count_is_no_trouble() -> None:
    assert clip_of(TWO.replace("Frames: 3\n", "")).frame_range == (1, 3)
    assert [n[0] for n in clip_of(TWO.replace("Frames: 3", "Frames: many")).not_evaluated] == ["frame count"]


def test_same_axis_twice_is_listed_and_not_evaluated() -> None:
    clip = clip_of(TWO.replace("Yrotation Zrotation Xrotation", "Yrotation Zrotation Yrotation"))
    assert clip.tracks.bone == ("Hips",)
    assert "joint/Left Leg/rotation" not in clip.curves.data_path
    assert clip.not_evaluated == (("joint/Left Leg/rotation", "the joint has the same axis twice (Y Z Y)"),)


def test_unknown_channel_is_listed_and_the_others_stay_in_their_columns() -> None:
    text = TWO.replace("6 Zrotation Xrotation", "7 Zrotation Xscale Xrotation")
    clip = clip_of(re.sub(r"^(1\d\.5) ", r"\1 1 ", text, flags=re.MULTILINE))
    assert [what for what, _ in clip.not_evaluated] == ["joint/Hips"] and "Xscale" in clip.not_evaluated[0][1]
    assert np.degrees(values(clip, "joint/Hips/rotation")[0]) == pytest.approx([20.25, 21.25, 22.25])


def test_skeleton_without_frames_is_an_empty_clip() -> None:
    clip = clip_of(TWO[: TWO.index("10.5")].replace("Frames: 3", "Frames: 0"))
    assert (len(clip.curves), len(clip.tracks)) == (0, 0)
    assert [what for what, _ in clip.not_evaluated] == ["motion"]


# --- Bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, line, says",
    [
        (b"", 1, "empty"),
        (b" \r\n\t", 1, "empty"),
        (bytes(range(256)) * 40, 1, "no BVH"),
        (TWO.encode("utf-16"), 1, "UTF-16"),
        (TWO.replace("-31 1.5", "1.5"), 20, "frame 2 has 8 values where the hierarchy has 9"),
        (TWO.replace("-31", "-31 7"), 20, "frame 2 has 10 values where"),
        (TWO.replace(" 6.2\n", ""), 21, "cut off"),
        (TWO.replace("21.25", "21,25"), 20, "decimal comma"),
        (TWO.replace("21.25", "2l.25"), 20, "'2l.25' is no number"),
        (TWO.replace("21.25", "2.1.25"), 20, "'2.1.25' is no number"),
        (TWO.replace("21.25", "21-25"), 20, "'21-25' is no number"),
        (TWO.replace("21.25", "--21"), 20, "'--21' is no number"),
        (TWO.replace("CHANNELS 3", "CHANNELS 4"), 10, "CHANNELS says 4 but lists 3"),
        (TWO.replace("CHANNELS 3", "CHANNELS 2"), 9, "'Xrotation' is not expected inside joint 'Left Leg'"),
        (TWO.replace("CHANNELS 3", "CHANNELS three"), 9, "number of channels"),
        (TWO.replace("CHANNELS 3", "CHANNELS " + "9" * 5000), 9, "number of channels"),
        (TWO.replace("OFFSET 0.0 -1.0 0.0\n\t\tCH", "OFFSET 0.0 -1.0\n\t\tCH"), 9, "three numbers"),
        (TWO.replace("Hips\n{", "Hips\n"), 4, "'{' must follow ROOT Hips"),
        (TWO.replace("}\nMOTION", "MOTION"), 15, "'MOTION' is not expected"),
        (TWO.replace("}\nMOTION", "}}\nMOTION"), 15, "'}' is not expected here"),
        ("HIERARCHY\nMOTION\nFrames: 0\nFrame Time: 1\n", 2, "'MOTION' is not expected here"),
    ],
)
def test_bad_input_names_the_line(text: str | bytes, line: int, says: str) -> None:
    with pytest.raises(InputError) as caught:
        clip_of(text)
    assert str(caught.value).startswith(f"line {line}: ")
    assert says in str(caught.value)


@pytest.mark.parametrize("text", [TWO, TWO.replace("\n", "\r\n")])
def test_truncated_anywhere_is_an_error_with_a_line_or_said(text: str) -> None:
    """Cut after any byte: never another exception, and never silence about what is missing."""
    data = text.encode()
    motion = data.index(b"10.5 ")
    for cut in range(len(data)):
        clip, error = attempt(data[:cut])
        if clip is None:
            line = re.match(r"line (\d+): ", error)
            assert line, error
            assert 1 <= int(line[1]) <= data[:cut].count(b"\n") + 1
        else:
            rows = data[motion:cut].strip().count(b"\n") + 1 if cut > motion else 0
            assert len(clip.curves.co) == 9 * rows
            # A cut within the last number cannot be seen; a whole row missing can.
            in_last_row = cut >= data.rindex(b" 6.2")
            assert bool(clip.not_evaluated) is not in_last_row or cut < motion


def test_unreadable_path_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        bvh.read(tmp_path / "missing.bvh")
    with pytest.raises(InputError, match="cannot be read"):
        bvh.read(tmp_path)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_bytes_raise_nothing_but_input_error(data: st.DataObject) -> None:
    damaged = bytearray(TWO.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    clip, error = attempt(bytes(damaged))
    assert clip is not None or error.startswith("line ")
