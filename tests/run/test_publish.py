# SPDX-License-Identifier: GPL-3.0-or-later
"""Results get to their place whole, backups are kept, sources stay, and nothing temporary remains."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from quat_audit.errors import InputError
from quat_audit.run import publish
from quat_audit.run.publish import Publisher, Staged, Target, check_writable, staging, write_whole
from tests.conditions import CASE_COUNTS, CASE_IGNORED, SYMBOLIC_LINKS


def _publish(
    publisher: Publisher, target: Target, files: dict[str, bytes], copies: dict[str, bytes] | None = None
) -> str:
    copies = copies or {}
    with staging(target, [*files, *copies]) as (folder, name):

        def put(relative: str, data: bytes) -> Staged:
            path = folder / (relative or name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            return Staged(path, relative)

        return publisher.publish(
            target, [put(*item) for item in files.items()], [put(*item) for item in copies.items()]
        )


def _tree(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_in_place_keeps_every_earlier_state_under_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "a.glb"
    path.write_bytes(b"0")
    path.chmod(0o640)
    mode = path.stat().st_mode  # Windows knows read-only alone
    backups = [_publish(Publisher(), Target(path, tmp_path, backup=True), {"": data}) for data in (b"1", b"2", b"3")]
    assert [Path(b).name for b in backups] == ["a.glb.bak", "a.glb.bak1", "a.glb.bak2"]
    assert _tree(tmp_path) == {"a.glb": b"3", "a.glb.bak": b"0", "a.glb.bak1": b"1", "a.glb.bak2": b"2"}
    assert path.stat().st_mode == mode


def test_in_place_does_not_touch_what_did_not_change(tmp_path: Path) -> None:
    path = tmp_path / "a.gltf"
    path.write_bytes(b"{}")
    (tmp_path / "a.bin").write_bytes(b"old")
    before = path.stat()
    _publish(Publisher(), Target(path, tmp_path, backup=True), {"": b"{}", "a.bin": b"new"})
    assert _tree(tmp_path) == {"a.gltf": b"{}", "a.bin": b"new", "a.bin.bak": b"old"}
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_link_in_place_of_hard_links_falls_back_to_renaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("quat_audit.run.publish.os.link", no_links)
    (tmp_path / "a.glb").write_bytes(b"old")
    _publish(Publisher(), Target(tmp_path / "a.glb", tmp_path, backup=True), {"": b"new"})
    assert _tree(tmp_path) == {"a.glb": b"new", "a.glb.bak": b"old"}


def test_an_output_folder_gets_the_tree_with_resources_above_the_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    target = Target(out / "rigs/deep/a.gltf", out)
    assert _publish(Publisher(), target, {"": b"{}", "bin/a.bin": b"1"}, {"../../tex/t.png": b"2"}) == ""
    assert _tree(tmp_path) == {
        "out/rigs/deep/a.gltf": b"{}",
        "out/rigs/deep/bin/a.bin": b"1",
        "out/tex/t.png": b"2",
    }


def test_nothing_is_written_outside_the_output_folder(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InputError, match="outside the folder"):
        _publish(Publisher(), Target(out / "a.gltf", out), {"": b"{}"}, {"../t.png": b"2"})
    assert _tree(tmp_path) == {}


@SYMBOLIC_LINKS
def test_a_source_is_never_overwritten_also_not_through_a_link(tmp_path: Path) -> None:
    source = tmp_path / "a.glb"
    source.write_bytes(b"old")
    (tmp_path / "link.glb").symlink_to(source)
    publisher = Publisher(frozenset([source.resolve()]))
    for name in ("a.glb", "link.glb"):
        with pytest.raises(InputError, match="would overwrite a source"):
            _publish(publisher, Target(tmp_path / name, tmp_path), {"": b"new"})
    assert _tree(tmp_path) == {"a.glb": b"old", "link.glb": b"old"}


def test_two_files_that_share_a_buffer_keep_its_repair_or_are_refused(tmp_path: Path) -> None:
    publisher = Publisher()
    _publish(publisher, Target(tmp_path / "a.gltf", tmp_path), {"": b"a", "s.bin": b"repaired"})
    _publish(publisher, Target(tmp_path / "b.gltf", tmp_path), {"": b"b"}, {"s.bin": b"as it was"})
    assert (tmp_path / "s.bin").read_bytes() == b"repaired"
    with pytest.raises(InputError, match="already written"):
        _publish(publisher, Target(tmp_path / "c.gltf", tmp_path), {"": b"c", "s.bin": b"other"})
    assert _tree(tmp_path) == {"a.gltf": b"a", "b.gltf": b"b", "s.bin": b"repaired"}


def test_a_dry_run_and_a_failure_leave_nothing_behind(tmp_path: Path) -> None:
    for target in (Target(tmp_path / "x/a.glb", tmp_path), Target(tmp_path / "a.glb", tmp_path, keep=False)):
        for beside in (False, True):
            with pytest.raises(KeyboardInterrupt), staging(target, ["a.glb"], beside=beside) as (folder, name):
                (folder / name).write_bytes(b"half")
                raise KeyboardInterrupt
            assert not (folder / name).exists()
    assert _tree(tmp_path) == {}


def test_the_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot write .*file"), staging(Target(tmp_path / "file/a.glb", tmp_path), []):
        pass


def test_write_whole_and_check_writable(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    check_writable(path)
    write_whole(path, b"1")
    path.chmod(0o600)
    mode = path.stat().st_mode
    write_whole(path, b"2")
    assert _tree(tmp_path) == {"report.json": b"2"}
    assert path.stat().st_mode == mode
    for bad, says in ((tmp_path, "is a folder"), (tmp_path / "no/report.json", "does not exist")):
        with pytest.raises(InputError, match=says):
            check_writable(bad)
    with pytest.raises(InputError, match="cannot write"):
        write_whole(tmp_path / "no/report.json", b"")


def _fail_at(monkeypatch: pytest.MonkeyPatch, last: int) -> list[str]:
    """Let the run die at the `last`-th renaming (0: the first); returns the names renamed so far."""
    rename, done = os.replace, []

    def replace(source: Path, final: Path) -> None:
        if len(done) == last:
            raise KeyboardInterrupt
        rename(source, final)
        done.append(Path(final).name)

    monkeypatch.setattr("quat_audit.run.publish.os.replace", replace)
    return done


SIDE_FILES, COPIES = {"a.bin": b"new", "b.bin": b"new"}, {"t.png": b"copy"}


@pytest.mark.parametrize("in_place", [False, True])
def test_the_main_file_is_published_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool) -> None:
    """Wherever the run dies, a new main file has all its new side files; an old one is there as long as there is none.

    A .gltf names offsets into its buffers, so a new one beside an old buffer would be another animation.
    """
    others = sorted([*SIDE_FILES, *COPIES])
    for last in range(len(others) + 2):
        folder = tmp_path / str(last)
        folder.mkdir()
        for name in ("a.gltf", *others):
            (folder / name).write_bytes(b"old")
        done = _fail_at(monkeypatch, last)
        target = Target(folder / "a.gltf", folder, backup=in_place)
        if last <= len(others):
            with pytest.raises(KeyboardInterrupt):
                _publish(Publisher(), target, {"": b"new", **SIDE_FILES}, COPIES)
        else:
            _publish(Publisher(), target, {"": b"new", **SIDE_FILES}, COPIES)
        monkeypatch.undo()
        published = last > len(others)
        assert (folder / "a.gltf").read_bytes() == (b"new" if published else b"old")
        assert sorted(set(done) - {"a.gltf"}) == (others if last >= len(others) else sorted(done))
        for name, data in {**SIDE_FILES, **COPIES}.items():
            assert (folder / name).read_bytes() == (data if name in done else b"old")


def test_the_order_given_does_not_decide_what_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = _fail_at(monkeypatch, 4)
    _publish(Publisher(), Target(tmp_path / "a.gltf", tmp_path), {**SIDE_FILES, "": b"new"}, COPIES)
    assert done[-1] == "a.gltf" and sorted(done[:-1]) == sorted([*SIDE_FILES, *COPIES])


def _held_open(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As on Windows while a program has a file open: it can be renamed, or linked, but not replaced."""
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        if Path(target).name == name and Path(target).exists():
            raise PermissionError(13, "Access is denied", str(source), 5, str(target))
        real(source, target)

    monkeypatch.setattr("quat_audit.run.publish.os.replace", replace)


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_is_held_open_stays_and_so_does_what_belongs_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr("quat_audit.run.publish.os.link", _raise_unsupported)
    before = {"a.bin": b"bin", "a.gltf": b"{}"}
    for name, data in before.items():
        (tmp_path / name).write_bytes(data)
    # The buffer is replaced first; then the main file cannot be, or only under another name.
    with pytest.MonkeyPatch.context() as patch:
        if links:
            _held_open(patch, "a.gltf")
        else:
            patch.setattr("quat_audit.run.publish.os.replace", _fails_once(os.replace, "a.gltf"))
        publisher = Publisher()
        with pytest.raises(InputError, match=r"cannot write .*a\.gltf: Access is denied"):
            _publish(publisher, Target(tmp_path / "a.gltf", tmp_path, backup=True), {"": b"[]", "a.bin": b"new"})
    assert _tree(tmp_path) == before
    assert publisher.written == {}
    _publish(publisher, Target(tmp_path / "a.gltf", tmp_path, backup=True), {"": b"[]", "a.bin": b"new"})
    assert _tree(tmp_path) == {"a.bin": b"new", "a.gltf": b"[]", "a.bin.bak": b"bin", "a.gltf.bak": b"{}"}


def _raise_unsupported(*_: object) -> None:
    raise OSError(1, "Operation not permitted")


def _fails_once(real: Callable[[Path, Path], None], name: str) -> Callable[[Path, Path], None]:
    """Replace as it is, but for the first time that a file of this name would be made."""
    failed: list[Path] = []

    def replace(source: Path, target: Path) -> None:
        if Path(target).name == name and not failed:
            failed.append(target)
            raise PermissionError(13, "Access is denied")
        real(source, target)

    return replace


def test_on_windows_the_reason_says_what_to_do() -> None:
    short, long = Path("C:/a.glb"), Path("/".join(["folder"] * 40))
    held = PermissionError(13, "Access is denied")
    assert publish._why(held, short, windows=True).startswith("Access is denied: close the program")
    assert publish._why(held, short, windows=False) == "Access is denied"
    gone = FileNotFoundError(2, "The system cannot find the path specified")
    assert "longer than" in publish._why(gone, long, windows=True)
    assert publish._why(gone, short, windows=True) == "The system cannot find the path specified"


@pytest.mark.parametrize("suffix", [".glb", ".blend"])
def test_the_name_of_an_unfinished_file_fits_where_the_name_of_the_result_does(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / ("n" * (250 - len(suffix)) + suffix)
    for beside in (False, True):
        with staging(Target(path, tmp_path), [], beside=beside) as (folder, name):
            (folder / name).write_bytes(b"")
            assert Path(name).suffix == suffix
    assert _tree(tmp_path) == {}


def _ignore_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let paths that differ in case only be one file, as on Windows and macOS."""
    monkeypatch.setattr("quat_audit.run.names.os.path.samefile", lambda a, b: str(a).lower() == str(b).lower())


def test_a_source_in_another_case_is_not_overwritten_where_case_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _ignore_case(monkeypatch)
    publisher = Publisher(frozenset([(tmp_path / "Walk.glb").resolve()]))
    with pytest.raises(InputError, match="would overwrite a source"):
        _publish(publisher, Target(tmp_path / "walk.glb", tmp_path), {"": b"new"})
    _publish(publisher, Target(tmp_path / "a.gltf", tmp_path), {"": b"a", "Shared.bin": b"repaired"})
    with pytest.raises(InputError, match=r"Shared\.bin was already written"):
        _publish(publisher, Target(tmp_path / "c.gltf", tmp_path), {"": b"c", "shared.bin": b"other"})


@CASE_COUNTS
def test_where_case_counts_another_case_is_another_file(tmp_path: Path) -> None:
    source = tmp_path / "Walk.glb"
    source.write_bytes(b"old")
    _publish(Publisher(frozenset([source.resolve()])), Target(tmp_path / "walk.glb", tmp_path), {"": b"new"})
    assert _tree(tmp_path) == {"Walk.glb": b"old", "walk.glb": b"new"}


@CASE_IGNORED
def test_where_case_is_ignored_another_case_is_the_source(tmp_path: Path) -> None:
    source = tmp_path / "Walk.glb"
    source.write_bytes(b"old")
    with pytest.raises(InputError, match="would overwrite a source"):
        _publish(Publisher(frozenset([source.resolve()])), Target(tmp_path / "walk.glb", tmp_path), {"": b"new"})
