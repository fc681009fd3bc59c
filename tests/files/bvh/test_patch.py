# SPDX-License-Identifier: GPL-3.0-or-later
"""An edited clip back into the bytes of a BVH file: exactly the words asked for, and refusals."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quat_audit.files.bvh import reading as bvh
from quat_audit.motion.clip import BEZIER, Clip

from .bvh_text import REAL, TWO, clip_of, edit, load, without


@pytest.mark.parametrize("name", REAL)
@pytest.mark.slow
def test_real_file_is_byte_identical_but_for_the_edited_values(cases: Path, name: str) -> None:
    path = cases / "files" / name
    raw_file = bvh.read(path)
    (clip,) = raw_file.clips
    data = path.read_bytes()
    assert raw_file.patch((clip,)).outputs == {path.name: data}

    rng = np.random.default_rng(7)
    rotation = np.array([p.endswith("/rotation") for p in clip.curves.data_path])[clip.curves.curve_of_key()]
    turned = rotation & (rng.random(len(rotation)) < 0.05)
    co = clip.curves.co.copy()
    co[turned, 1] += 2 * math.pi * rng.choice([-1, 1], np.count_nonzero(turned))
    patched = raw_file.patch((edit(clip, co),))
    assert patched.refused == ()
    new = patched.outputs[path.name]

    # Between the words the file is what it was, and exactly the words asked for are new.
    assert re.split(rb"\S+", new) == re.split(rb"\S+", data)
    old_words, new_words = data.split(), new.split()
    differing = [(a, b) for a, b in zip(old_words, new_words, strict=True) if a != b]
    assert len(differing) == np.count_nonzero(turned) > 0
    for was, now in differing:
        assert abs(abs(float(now) - float(was)) - 360) < 1e-9
        assert len(now.partition(b".")[2]) == len(was.partition(b".")[2])  # as many decimals
    again = bvh.parse(new, "x")[0]
    np.testing.assert_allclose(again.curves.co, co, rtol=0, atol=1e-12)


def patched_bytes(tmp_path: Path, text: str, change: dict[str, float]) -> tuple[bytes, Clip]:
    """The file after the given changes: "path component frame" → value, in the file's units."""
    raw_file = load(tmp_path, text)
    (clip,) = raw_file.clips
    co = clip.curves.co.copy()
    for where, value in change.items():
        path, component, frame = where.rsplit(" ", 2)
        (curve,) = [
            i
            for i in range(len(clip.curves))
            if clip.curves.data_path[i] == path and clip.curves.component[i] == int(component)
        ]
        co[int(clip.curves.offsets[curve]) + int(frame) - 1, 1] = (
            math.radians(value) if path.endswith("rotation") else value
        )
    patched = raw_file.patch((edit(clip, co),))
    assert patched.refused == ()
    return patched.outputs["walk.bvh"], clip


def test_changed_values_keep_the_form_of_the_file(tmp_path: Path) -> None:
    new, _ = patched_bytes(
        tmp_path,
        TWO,
        {"joint/Hips/rotation 1 2": 329, "joint/Left Leg/rotation 1 2": 364.001, "joint/Hips/rotation 0 3": -337.75},
    )
    assert new.decode() == TWO.replace("-31 ", "329 ").replace("\t4.001", "\t364.001").replace("22.25", "-337.75")


def test_value_that_the_decimals_cannot_hold_gets_more(tmp_path: Path) -> None:
    angle = 12.3456789012
    new, _ = patched_bytes(tmp_path, TWO, {"joint/Hips/rotation 1 2": angle})
    word = new.split(b"\n")[19].split()[2]
    assert abs(float(word) - angle) < 2e-5
    assert new == TWO.replace("-31", word.decode()).encode()


def test_bridged_nan_is_a_changed_value_and_the_other_nan_stays(tmp_path: Path) -> None:
    text = TWO.replace("21.25", "-1.#IND").replace("5.01", "nan")
    new, _ = patched_bytes(tmp_path, text, {"joint/Hips/rotation 0 2": 21.25})
    assert new.decode() == TWO.replace("21.25", "21.250000").replace("5.01", "nan")


def test_removed_nan_key_is_written_as_what_the_curve_then_plays(tmp_path: Path) -> None:
    raw_file = load(tmp_path, TWO.replace(" 2.5", " nan"))
    (clip,) = raw_file.clips
    (row,) = np.flatnonzero(np.isnan(clip.curves.co[:, 1]))
    patched = raw_file.patch((without(clip, [int(row)]),))
    assert patched.refused == ()
    assert patched.outputs["walk.bvh"].decode() == TWO.replace("2.5 3.5", "2.500000 3.5")


def refused_paths(tmp_path: Path, change: object, text: str = TWO) -> list[str]:
    """Paths refused for an edit that also asks for something possible on another joint, which must still be done."""
    raw_file = load(tmp_path, text)
    (clip,) = raw_file.clips
    co = clip.curves.co.copy()
    leg = int(clip.tracks.curves[1, 0])
    co[int(clip.curves.offsets[leg]), 1] += 2 * math.pi
    patched = raw_file.patch((change(edit(clip, co)),))  # type: ignore[operator]
    assert patched.outputs["walk.bvh"].decode() == text.replace("6.0\n", "366.0\n")
    assert all(refused.why for refused in patched.refused)
    return [refused.data_path for refused in patched.refused]


def test_edits_that_the_format_cannot_hold_are_refused_whole_and_alone(tmp_path: Path) -> None:
    hips = 3  # curves 0 to 2 are the position, 3 to 5 the rotation Z, X, Y

    def moved(clip: Clip) -> Clip:
        co = clip.curves.co.copy()
        co[clip.curves.rows(hips), 1] += 1  # of the same rotation: must not be written either
        co[clip.curves.offsets[hips + 1], 0] += 0.5
        return edit(clip, co)

    def bezier(clip: Clip) -> Clip:
        kinds = clip.curves.interpolation.copy()
        kinds[clip.curves.offsets[hips]] = BEZIER
        return edit(clip, clip.curves.co, interpolation=kinds)

    def not_finite(clip: Clip) -> Clip:
        co = clip.curves.co.copy()
        co[clip.curves.offsets[hips], 1] = np.inf
        return edit(clip, co)

    def added(clip: Clip) -> Clip:
        origin = clip.curves.origin.copy()
        origin[clip.curves.offsets[hips]] = -1
        return edit(clip, clip.curves.co, origin=origin)

    def foreign(clip: Clip) -> Clip:
        ancestor = clip.curves.ancestor.copy()
        ancestor[hips] = -1
        return edit(clip, clip.curves.co, ancestor=ancestor)

    def other_mode(clip: Clip) -> Clip:
        return replace(clip, tracks=replace(clip.tracks, modes=(("XYZ",), clip.tracks.modes[1])))

    for change in (moved, bezier, not_finite, added, foreign, other_mode, lambda clip: without(clip, [hips * 3 + 1])):
        assert refused_paths(tmp_path, change) == ["joint/Hips/rotation"]


def test_position_without_any_number_is_refused(tmp_path: Path) -> None:
    text = TWO.replace(" 1 2 3  ", " nan 2 3  ").replace(" 1.5 2.5", " nan 2.5").replace("-32 2 3", "-32 nan 3")
    rows = np.flatnonzero(np.isnan(clip_of(text).curves.co[:, 1])).tolist()
    assert len(rows) == 3
    assert refused_paths(tmp_path, lambda clip: without(clip, rows), text) == ["joint/Hips/position"]


def test_patch_takes_one_clip(tmp_path: Path) -> None:
    raw_file = load(tmp_path, TWO)
    with pytest.raises(ValueError, match="one clip, got 2"):
        raw_file.patch(raw_file.clips * 2)


# --- Random hierarchies -------------------------------------------------------------------------------------------

CHANNELS = [f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ"]
NAMES = st.text(
    st.characters(min_codepoint=33, exclude_categories=["Cs", "Zs", "Cc"], exclude_characters="{}\x85"), min_size=1
)


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]], list[list[str]]]:
    """A file's text, its (joint, channel) columns, and the words of its motion rows."""
    eol = draw(st.sampled_from(["\n", "\r\n"]))
    indent = draw(st.sampled_from(["\t", "  ", ""]))
    names = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    columns: list[tuple[str, str]] = []
    lines = ["HIERARCHY"]
    depth = 0
    for number, name in enumerate(names):
        lines += [indent * depth + ("ROOT " if depth == 0 else "JOINT ") + name, indent * depth + "{"]
        depth += 1
        channels = draw(st.permutations(CHANNELS))[: draw(st.integers(1 if number == 0 else 0, 6))]
        columns += [(name, channel) for channel in channels]
        lines += [indent * depth + "OFFSET 0 1 0", indent * depth + f"CHANNELS {len(channels)} {' '.join(channels)}"]
        for _ in range(draw(st.integers(0, depth))):
            depth -= 1
            lines.append(indent * depth + "}")
    lines += [indent * (depth - 1 - i) + "}" for i in range(depth)]
    number = st.one_of(
        st.floats(-720, 720, allow_nan=False).map(lambda x: f"{x:.6f}"),
        st.floats(-720, 720, allow_nan=False).map(repr),
        st.integers(-720, 720).map(str),
        st.just("nan"),
    )
    rows = draw(st.lists(st.lists(number, min_size=len(columns), max_size=len(columns)), min_size=1, max_size=5))
    gap = draw(st.sampled_from([" ", "\t", "   "]))
    lines += ["MOTION", f"Frames: {len(rows)}", "Frame Time: 0.0333333"]
    lines += [gap.join(row) + draw(st.sampled_from(["", " "])) for row in rows]
    return eol.join(lines) + eol, columns, rows


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(files(), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_random_file_is_read_exactly_and_patched_only_where_asked(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[str, list[tuple[str, str]], list[list[str]]],
    random: object,
) -> None:
    text, columns, rows = made
    path = tmp_path_factory.mktemp("bvh") / "walk.bvh"
    path.write_bytes(text.encode())
    raw_file = bvh.read(path)
    (clip,) = raw_file.clips
    clip.validate()
    assert clip.not_evaluated == ()
    assert len(clip.curves) == len(columns)
    curve_of = {}
    for curve in range(len(clip.curves)):
        _, rest = clip.curves.data_path[curve].split("/", 1)
        joint, kind = rest.rsplit("/", 1)
        curve_of[joint, "XYZ"[int(clip.curves.component[curve])] + kind] = curve
    for column, key in enumerate(columns):
        want = np.array([float(row[column]) for row in rows])
        got = clip.curves.co[clip.curves.rows(curve_of[key]), 1]
        np.testing.assert_array_equal(got, np.radians(want) if key[1].endswith("rotation") else want)

    # Negate some values, bridge some NaNs: exactly those words change, and read back as asked for.
    co = clip.curves.co.copy()
    expected = [list(row) for row in rows]
    for frame, row in enumerate(rows):
        for column, key in enumerate(columns):
            if random.random() < 0.3:  # type: ignore[attr-defined]
                value = 90.1234567 if row[column] == "nan" else -float(row[column])
                stored = math.radians(value) if key[1].endswith("rotation") else value
                co[int(clip.curves.offsets[curve_of[key]]) + frame, 1] = stored
                if row[column] == "nan" or float(row[column]) != 0:
                    expected[frame][column] = ""
    patched = raw_file.patch((edit(clip, co),))
    assert patched.refused == ()
    new = patched.outputs["walk.bvh"]
    assert re.split(rb"\S+", new) == re.split(rb"\S+", text.encode())
    words = new.split()
    assert words[: -len(rows) * len(columns)] == text.encode().split()[: -len(rows) * len(columns)]
    motion = [words[-len(rows) * len(columns) :][i :: len(columns)] for i in range(len(columns))]
    for column in range(len(columns)):
        for frame in range(len(rows)):
            if expected[frame][column]:
                assert motion[column][frame].decode() == rows[frame][column]
    again = bvh.read(_rewritten(path, new)).clips[0]
    np.testing.assert_allclose(again.curves.co, co, rtol=2**-24, atol=math.radians(2e-5))


def _rewritten(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path
