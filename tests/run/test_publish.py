# SPDX-License-Identifier: GPL-3.0-or-later
"""Results get to their place whole, backups are kept, sources stay, and nothing temporary remains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quat_audit.errors import InputError
from quat_audit.run.publish import Publisher, Staged, Target, check_writable, staging, write_whole


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
    backups = [_publish(Publisher(), Target(path, tmp_path, backup=True), {"": data}) for data in (b"1", b"2", b"3")]
    assert [Path(b).name for b in backups] == ["a.glb.bak", "a.glb.bak1", "a.glb.bak2"]
    assert _tree(tmp_path) == {"a.glb": b"3", "a.glb.bak": b"0", "a.glb.bak1": b"1", "a.glb.bak2": b"2"}
    assert path.stat().st_mode & 0o777 == 0o640


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
    write_whole(path, b"2")
    assert _tree(tmp_path) == {"report.json": b"2"}
    assert path.stat().st_mode & 0o777 == 0o600
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
