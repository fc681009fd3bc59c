# SPDX-License-Identifier: GPL-3.0-or-later
"""One file under two spellings, and the path rules of Windows where Linux can ask for them."""

from __future__ import annotations

import ntpath
import unicodedata
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest

from quat_audit.errors import InputError
from quat_audit.run import inputs, names, outputs
from quat_audit.run.inputs import Input, expand
from quat_audit.run.opening import _make_room
from tests.conditions import CASE_COUNTS, CASE_IGNORED, FORMS_COUNT

NFC, NFD = "é.bvh", unicodedata.normalize("NFD", "é.bvh")


def _files(folder: Path, *given: str) -> None:
    for name in given:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"x")


def test_spelling_is_one_for_what_some_file_system_takes_for_one() -> None:
    assert NFC != NFD
    assert names.spelling(NFC) == names.spelling(NFD) == names.spelling(NFD.upper())
    assert names.spelling("STRASSE.glb") == names.spelling("straße.glb")
    assert names.spelling("a.glb") != names.spelling("b.glb")


@CASE_COUNTS
@FORMS_COUNT
def test_where_spelling_counts_all_are_files_of_their_own(tmp_path: Path) -> None:
    _files(tmp_path, "a.glb", "A.glb", NFC, NFD)
    assert len(expand([str(tmp_path)])) == 4
    assert not names.one_file(tmp_path / "a.glb", tmp_path / "A.glb")


@CASE_IGNORED
def test_where_case_is_ignored_two_spellings_are_one_input(tmp_path: Path) -> None:
    _files(tmp_path, "Rigs/a.glb")
    assert len(expand([str(tmp_path / name) for name in ("Rigs/a.glb", "rigs/A.GLB", "Rigs")])) == 1
    assert expand([str(tmp_path)], exclude=tmp_path / "rigs")[0].reason


def test_two_spellings_of_one_file_are_one_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The file system that ignores spelling is played: Linux would have two files.
    _files(tmp_path, "Rigs/a.glb", "rigs/A.glb", "rigs/b.glb")
    given = [str(tmp_path / name) for name in ("Rigs/a.glb", "rigs/A.glb", "rigs/b.glb")]
    monkeypatch.setattr(names.os.path, "samefile", lambda a, b: names.spelling(a) == names.spelling(b))
    assert [item.path.name for item in expand(given)] == ["a.glb", "b.glb"]
    assert names.within(tmp_path / "RIGS/x/y.glb", tmp_path / "Rigs")
    assert not names.within(tmp_path / "rigs2/y.glb", tmp_path / "Rigs")
    _files(tmp_path, "other/c.glb")
    for given_again in (str(tmp_path), str(tmp_path / "**"), str(tmp_path / "*/*")):
        assert [item.path.name for item in expand([given_again], exclude=tmp_path / "RIGS")] == ["c.glb"]


def test_a_name_with_an_accent_is_matched_in_either_form(tmp_path: Path) -> None:
    _files(tmp_path, NFD)
    for pattern in ("é*", unicodedata.normalize("NFD", "é*")):
        assert [item.reason for item in expand([str(tmp_path / pattern)])] == [""]


@pytest.mark.parametrize("ignores, expected", [(False, ["A.glb", "a.glb"]), (True, ["A.glb", "a.glb.glb"])])
def test_results_that_differ_in_case_get_two_names_where_case_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ignores: bool, expected: list[str]
) -> None:
    monkeypatch.setattr(names, "IGNORES_CASE", ignores)
    items = [Input(tmp_path / name, tmp_path) for name in ("a.glb", "A.glb")]
    places = outputs.result_paths(tmp_path / "out", items, "auto")
    assert sorted(path.name for path in places.values()) == expected


def test_no_two_results_get_the_same_name(tmp_path: Path) -> None:
    given = ("walk.blend", "walk.fbx", "walk.fbx.blend")
    places = outputs.result_paths(tmp_path / "out", [Input(tmp_path / name, tmp_path) for name in given], "auto")
    assert len(set(places.values())) == 3
    assert places[tmp_path / "walk.blend"].name == "walk.blend"
    assert places[tmp_path / "walk.fbx.blend"].name == "walk.fbx.blend"


@pytest.mark.parametrize("roots, common", [(["C:\\a\\b", "c:\\A\\c"], "C:\\a"), (["C:\\a", "D:\\a"], None)])
def test_the_common_folder_by_the_rules_of_windows(
    monkeypatch: pytest.MonkeyPatch, roots: list[str], common: str | None
) -> None:
    monkeypatch.setattr(inputs, "os", SimpleNamespace(path=ntpath))
    items = [Input(Path(root) / "x.glb", Path(root)) for root in roots]
    if common is None:
        with pytest.raises((ValueError, InputError), match=r"C:\\a, D:\\a have no common folder"):
            inputs.common_root(items)
    else:
        assert ntpath.normcase(str(inputs.common_root(items))) == ntpath.normcase(common)


@pytest.mark.parametrize("name", ["C:/a.bin", "C:a.bin", "/a.bin", "\\a.bin", "//server/share/a.bin"])
def test_what_names_a_drive_or_a_root_is_never_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("quat_audit.run.opening.PurePath", PureWindowsPath)
    with pytest.raises(InputError, match="a path of this machine"):
        _make_room(tmp_path, name)
    assert _make_room(tmp_path, "textures/a.png") == tmp_path / "textures/a.png"
