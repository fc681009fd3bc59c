# SPDX-License-Identifier: GPL-3.0-or-later
"""PATH → files: every kind of argument, in a fixed order, and a reason for each that names no file."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from quat_audit.run.inputs import SUFFIXES, Input, common_root, expand
from tests.conditions import SYMBOLIC_LINKS


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b/two.GLB", "a/one.bvh", "a/deep/three.vrma", "four.fbx", "notes.txt", "a/.hidden.glb", "b/x.blend1"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def _names(inputs: list[Input], root: Path) -> list[str]:
    return [item.path.relative_to(root).as_posix() for item in inputs]


def test_a_folder_is_walked_in_order_for_supported_suffixes_of_any_case(tree: Path) -> None:
    inputs = expand([str(tree)])
    assert _names(inputs, tree) == ["a/deep/three.vrma", "a/one.bvh", "b/two.GLB", "four.fbx"]
    assert all(item.root == tree and not item.reason for item in inputs)


def test_the_order_of_arguments_and_repetition_change_nothing(tree: Path) -> None:
    arguments = [str(tree / name) for name in ("a", "b", "a/one.bvh", "four.fbx", "b/*.GLB")]
    expected = [item.path for item in expand(arguments)]
    assert len(expected) == len(set(expected)) == 4
    for seed in range(5):
        random.Random(seed).shuffle(arguments)
        assert [item.path for item in expand(arguments)] == expected


@pytest.mark.parametrize(
    "pattern, names",
    [
        ("*.fbx", ["four.fbx"]),
        ("**/*.bvh", ["a/one.bvh"]),
        ("**", ["a/deep/three.vrma", "a/one.bvh", "b/two.GLB", "four.fbx"]),
        ("[ab]", ["a/deep/three.vrma", "a/one.bvh", "b/two.GLB"]),
        ("?/*", ["a/deep/three.vrma", "a/one.bvh", "b/two.GLB"]),
    ],
)
def test_globs(tree: Path, pattern: str, names: list[str]) -> None:
    inputs = expand([str(tree / pattern)])
    assert _names(inputs, tree) == names
    assert {item.root for item in inputs} == {tree}


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "walk[1].glb"
    path.write_bytes(b"x")
    assert expand([str(path)]) == [Input(path, tmp_path)]


@pytest.mark.parametrize(
    "argument, says",
    [
        ("missing.glb", "no such file"),
        ("empty", "no file of a supported kind"),
        ("*.nothing", "no file matches"),
        ("*.txt", "no file of a supported kind"),
        ("notes.txt", ".txt file is not supported"),
        ("README", "without a suffix is not supported"),
    ],
)
def test_what_names_no_file_is_one_row_with_a_reason(tree: Path, argument: str, says: str) -> None:
    (tree / "empty").mkdir()
    (tree / "README").write_bytes(b"x")
    (row,) = expand([str(tree / argument)])
    assert says in row.reason
    assert "not supported" not in row.reason or all(suffix in row.reason for suffix in SUFFIXES)


def test_the_output_folder_of_an_earlier_run_is_left_out(tree: Path) -> None:
    assert "a/one.bvh" not in _names(expand([str(tree)], exclude=tree / "a"), tree)
    assert "a/one.bvh" not in _names(expand([str(tree / "**")], exclude=tree / "a"), tree)


@SYMBOLIC_LINKS
def test_a_dangling_link_is_an_input(tree: Path) -> None:
    os.symlink(tree / "gone.glb", tree / "b/link.glb")
    assert "b/link.glb" in _names(expand([str(tree / "b")]), tree)
    assert [item.path.name for item in expand([str(tree / "b/link.glb")])] == ["link.glb"]


@pytest.mark.parametrize("pattern", ["**", "**/*.bvh", "*/*/*/*", "**/**/*.bvh", "**/one.bvh"])
@SYMBOLIC_LINKS
def test_links_in_a_circle_end_and_a_file_is_one_input(tree: Path, pattern: str) -> None:
    for i in range(8):  # some links, and their number of ways has more digits than a life has seconds
        (tree / f"a/loop{i}").symlink_to(tree)
        (tree / f"a/deep/up{i}").symlink_to("..")
    (tree / "a/self.bvh").symlink_to("self.bvh")
    inputs = expand([str(tree / pattern), str(tree)])
    names = _names(inputs, tree)
    assert names == ["a/deep/three.vrma", "a/one.bvh", "a/self.bvh", "b/two.GLB", "four.fbx"]


@SYMBOLIC_LINKS
def test_a_file_given_by_two_names_is_one_input_under_its_own(tree: Path) -> None:
    (tree / "link.bvh").symlink_to("a/one.bvh")
    (tree / "folder").symlink_to("a")
    given = [str(tree / name) for name in ("link.bvh", "folder/one.bvh", "a/one.bvh", "a/../a/one.bvh")]
    for seed in range(5):
        random.Random(seed).shuffle(given)
        assert _names(expand(given), tree) == ["a/one.bvh"]
    assert _names(expand([str(tree / "link.bvh")]), tree) == ["link.bvh"]
    assert [item.walked for item in expand([str(tree), str(tree / "link.bvh")])] == [True, False, True, True]


@SYMBOLIC_LINKS
def test_a_link_to_a_folder_is_gone_through_by_two_stars(tree: Path) -> None:
    (tree / "b/more").symlink_to(tree / "a")
    assert _names(expand([str(tree / "b/**/*")]), tree) == ["b/more/deep/three.vrma", "b/more/one.bvh", "b/two.GLB"]


def test_common_root(tree: Path) -> None:
    assert common_root(expand([str(tree / "a")])) == tree / "a"
    assert common_root(expand([str(tree / "a"), str(tree / "b")])) == tree
    assert common_root(expand([str(tree / "a/one.bvh")])) == tree / "a"
    assert common_root(expand([str(tree / "?/*")])) == tree
    assert common_root([]) == Path.cwd()
