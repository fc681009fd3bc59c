# SPDX-License-Identifier: GPL-3.0-or-later
"""What a preview replaces: an earlier one of the same file, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender.skin import previews
from quat_audit.blender.skin.posed import PosedMesh
from quat_audit.errors import InputError
from quat_audit.preview import figures
from quat_audit.preview.png import SIGNATURE
from quat_audit.run import preview
from quat_audit.run.publish import write_whole
from tests.blender import skinned
from tests.blender.previewed import read, run, save

pytestmark = pytest.mark.usefixtures("no_pictures")


@pytest.mark.parametrize(
    "ending, content",
    [
        (".json", b"old"),
        (".json", b""),
        (".json", b"\xff\xfe\xfd"),
        (".json", b"[" * 100_000),
        (".json", b'["quat_audit.preview/1"]'),
        (".json", b'{"schema": "quat_audit.report/1", "file": "tube.blend"}'),
        (".json", b'{"schema": "quat_audit.preview/1"}'),
        ("-sheet.png", SIGNATURE),
        ("-curve.png", b"old"),
    ],
)
def test_files_that_are_no_preview_are_not_replaced(tmp_path: Path, capsys: Any, ending: str, content: bytes) -> None:
    skinned.make_tube()
    file, out = save(tmp_path / "tube.blend"), tmp_path / "out"
    out.mkdir()
    (out / f"Tube{ending}").write_bytes(content)
    capsys.readouterr()
    assert run("preview", file, "--frames", "1", "--output", out) == 2
    says = f"{out / f'Tube{ending}'} is there and is no preview of ours: move it away, or choose another --output"
    assert f"Tube: no preview: {says}\n" in capsys.readouterr().err
    assert [(path.name, path.read_bytes()) for path in out.iterdir()] == [(f"Tube{ending}", content)]


def test_a_picture_beside_a_preview_that_is_none_is_not_replaced(tmp_path: Path, capsys: Any) -> None:
    skinned.make_tube()
    file, out = save(tmp_path / "tube.blend"), tmp_path / "out"
    assert run("preview", file, "--frames", "1", "--output", out) == 0
    for ending in ("-sheet.png", "-curve.png"):
        ours = (out / f"Tube{ending}").read_bytes()
        (out / f"Tube{ending}").write_bytes(b"GIF89a")
        before = {path: path.read_bytes() for path in out.iterdir()}
        assert run("preview", file, "--frames", "2", "--output", out) == 2
        assert f"Tube{ending} is there and is no preview of ours" in capsys.readouterr().err
        assert {path: path.read_bytes() for path in out.iterdir()} == before
        (out / f"Tube{ending}").write_bytes(ours)
    (out / "Tube-sheet.png").unlink()
    assert run("preview", file, "--frames", "2", "--output", out) == 0
    assert read(out / "Tube.json")["series"]["frames"] == [2.0] and (out / "Tube-sheet.png").is_file()


def test_what_is_refused_costs_no_work_and_the_other_meshes_are_done(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, rig = skinned.make_tube()
    corners = np.array([(0.1, 0, 0.5), (0, 0.1, 1.0), (-0.1, 0, 1.5)])
    skinned.make_mesh("Flap", corners, rig, [{"Bone0": 0.5, "Bone1": 0.5}] * 3, [(0, 1, 2)])
    file, out = save(tmp_path / "two.blend"), tmp_path / "out"
    out.mkdir()
    (out / "Tube.json").write_text("notes", encoding="utf-8")
    measured: list[str] = []
    measure = figures.measure
    monkeypatch.setattr(figures, "measure", lambda skin, *more: (measured.append(skin.mesh), measure(skin, *more))[1])
    assert run("preview", file, "--frames", "1", "--output", out) == 0
    captured = capsys.readouterr()
    assert "Tube: no preview: " in captured.err and "Flap: 3 vertices" in captured.out
    assert measured == ["Flap"] and (out / "Tube.json").read_text(encoding="utf-8") == "notes"


def test_two_files_with_a_mesh_of_one_name_and_one_folder(tmp_path: Path, capsys: Any) -> None:
    skinned.make_tube()
    out = tmp_path / "out"
    (tmp_path / "moved").mkdir()
    walk, other = save(tmp_path / "walk.blend"), save(tmp_path / "run.blend")
    assert run("preview", walk, "--frames", "1", "--output", out) == 0
    before = {path: path.read_bytes() for path in out.iterdir()}
    capsys.readouterr()
    assert run("preview", other, "--frames", "1", "--output", out) == 2
    says = f"{out / 'Tube.json'} is the preview of walk.blend: give each file an --output of its own"
    assert f"Tube: no preview: {says}\n" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    moved = walk.rename(tmp_path / "moved" / "walk.blend")  # the same file elsewhere replaces what it wrote
    assert run("preview", moved, "--frames", "2", "--output", out) == 0
    assert read(out / "Tube.json")["series"]["frames"] == [2.0]


def test_sessions_that_were_never_saved_and_files(tmp_path: Path) -> None:
    obj, _ = skinned.make_tube()
    for frame in (1.0, 2.0):
        assert api.preview_object(obj, tmp_path / "out", frames=[frame]).figures["series"]["frames"] == [frame]
    save(tmp_path / "tube.blend")
    with pytest.raises(InputError, match="Tube.json is the preview of a session that was never saved: give each file"):
        api.preview_object(obj, tmp_path / "out")


def test_two_meshes_of_one_name_get_files_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a linked one and a local one may have it."""
    _, rig = skinned.make_tube()
    skinned.animate(rig, 90.0)
    corners = np.array([(0.1, 0, 0.5), (0, 0.1, 1.0), (-0.1, 0, 1.5)])
    skinned.make_mesh("Flap", corners, rig, [{"Bone0": 0.5, "Bone1": 0.5}] * 3, [(0, 1, 2)])
    file, out = save(tmp_path / "both.blend"), tmp_path / "out"

    def renamed(item: PosedMesh) -> PosedMesh:
        return replace(item, record=replace(item.record, skin=replace(item.record.skin, mesh="Body")))

    def read_as_one_name(frames: Any, read: Any = previews.read) -> Any:
        posed, *said = read(frames)
        return [renamed(item) for item in posed], *said

    monkeypatch.setattr(previews, "read", read_as_one_name)
    for _ in range(2):  # and again, over what the first run wrote
        rows = api.preview_file(file, out)
        assert [row.name for row in rows] == ["Body", "Body"] and not any(row.reason for row in rows)
        assert sorted(path.name for path in out.glob("*.json")) == ["Body-2.json", "Body.json"]
        assert len({path for row in rows for path in row.paths}) == len(list(out.iterdir())) == 6
        assert sorted(read(row.paths[0])["vertices"] for row in rows) == [3, 252]
        assert all(read(row.paths[0]) == row.figures for row in rows)


@pytest.mark.parametrize("ending", ["-curve.png", ".json"])
def test_a_first_preview_that_cannot_be_written_whole_is_not_in_the_way(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    skinned.make_tube()
    file, out = save(tmp_path / "tube.blend"), tmp_path / "out"

    def full(path: Path, data: bytes) -> None:
        if path.name.endswith(ending):
            raise InputError(f"cannot write {path}: No space left on device")
        write_whole(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(preview, "write_whole", full)
        assert run("preview", file, "--frames", "1", "--output", out) == 2
    assert "No space left on device" in capsys.readouterr().err and not list(out.iterdir())
    assert run("preview", file, "--frames", "1", "--output", out) == 0
    assert len(list(out.iterdir())) == 3
