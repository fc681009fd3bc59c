# SPDX-License-Identifier: GPL-3.0-or-later
"""An operator of Blender's that reports an error has not failed, when it did its work: that is a remark."""

from __future__ import annotations

from pathlib import Path

import pytest

from quat_audit.errors import InputError

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import open
from quat_audit.run.opening import open_scene

UNPACKED = "Unable to pack file"
CUT_LIBRARY = "Failed to read blend file"


def flipping() -> None:
    """A new file with an object that has one sign flip."""
    open.new_file()
    prop = bpy.data.objects.new("Prop", None)
    bpy.context.scene.collection.objects.link(prop)
    prop.rotation_mode = "QUATERNION"
    for frame, value in ((1, (1, 0, 0, 0)), (11, (-0.9848078, 0, 0, -0.1736482)), (21, (0.9396926, 0, 0, 0.3420201))):
        prop.rotation_quaternion = value
        prop.keyframe_insert("rotation_quaternion", frame=frame)


@pytest.fixture
def packing(tmp_path: Path) -> Path:
    """Automatically Pack is on, and an image is missing: Blender saves such a file with an error report."""
    flipping()
    image = bpy.data.images.new("Gone", 8, 8)
    image.source, image.filepath, image.use_fake_user = "FILE", "//gone.png", True
    path = tmp_path / "packing.blend"
    assert open.save_blend(path, compress=False) == ""
    bpy.data.use_autopack = True
    assert UNPACKED in open.save_blend(path, compress=False)
    return path


@pytest.fixture
def linking(tmp_path: Path) -> Path:
    """A file that links a library of which half is missing: Blender opens it with an error report."""
    open.new_file()
    bpy.context.scene.collection.objects.link(bpy.data.objects.new("Linked", None))
    library = tmp_path / "library.blend"
    open.save_blend(library, compress=False)
    flipping()
    with bpy.data.libraries.load(str(library), link=True) as (_, wanted):
        wanted.objects = ["Linked"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    open.save_blend(tmp_path / "linking.blend", compress=False)
    library.write_bytes(library.read_bytes()[: library.stat().st_size // 2])
    open.new_file()
    return tmp_path / "linking.blend"


@pytest.mark.parametrize("in_place", [False, True])
def test_a_saved_file_is_published_with_a_remark(packing: Path, tmp_path: Path, in_place: bool) -> None:
    output = packing if in_place else tmp_path / "out" / "packing.blend"
    row = api.fix_file(packing, in_place=True) if in_place else api.fix_file(packing, output=output)
    assert (row.status, row.reason) == ("audited", "")
    assert row.repair is not None and row.after is not None
    assert [f.code for f in row.findings] == ["QA104"] and row.after.findings == []
    assert "Blender saved it, but said: " + UNPACKED in row.repair.remark
    assert api.audit_file(output).findings == []


def test_a_file_that_is_not_written_fails_all_the_same(packing: Path, tmp_path: Path) -> None:
    open.open_blend(packing)
    there = tmp_path / "there.blend"
    there.write_bytes(packing.read_bytes())
    (tmp_path / "there.blend@").mkdir()  # where Blender writes first
    for path in (tmp_path / "no folder" / "x.blend", there):
        with pytest.raises(InputError, match="cannot be written"):
            open.save_blend(path, compress=False)
    assert there.read_bytes() == packing.read_bytes()


def test_what_was_written_short_is_no_success(packing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open.open_blend(packing)
    path = tmp_path / "short.blend"

    def reports(data: bytes) -> type:
        class Operators:
            @staticmethod
            def save_as_mainfile(**_: object) -> None:
                path.write_bytes(data)
                raise RuntimeError("Error: something\n")

        return Operators

    for data in (b"", b"no Blender file"):
        monkeypatch.setattr(open.bpy, "ops", type("Ops", (), {"wm": reports(data)}))
        with pytest.raises(InputError):
            open.save_blend(path, compress=False)
    monkeypatch.setattr(open.bpy, "ops", type("Ops", (), {"wm": reports(packing.read_bytes())}))
    assert open.save_blend(path, compress=False) == "something"


def test_an_opened_file_is_audited_with_a_remark(linking: Path) -> None:
    row = api.audit_file(linking)
    assert (row.status, row.reason) == ("audited", "")
    assert [f.code for f in row.findings] == ["QA104"]
    ((what, why),) = [item for item in row.not_evaluated if item[0] == "the file"]
    assert why.startswith("Blender opened it, but said: ") and CUT_LIBRARY in why and "library.blend" in why
    assert api.fix_file(linking).status == "audited"
    assert open_scene(linking)[0] == (what, why)


def test_a_damaged_file_fails_also_when_the_one_before_had_its_path(linking: Path) -> None:
    """What is open still has the path then: that Blender knows it does not mean that it was read."""
    open.open_blend(linking)
    linking.write_bytes(linking.read_bytes()[: linking.stat().st_size // 2])
    assert Path(bpy.data.filepath) == linking
    with pytest.raises(InputError, match="cut short or damaged"):
        open.open_blend(linking)
    row = api.audit_file(linking)
    assert row.status == "failed" and "cut short or damaged" in row.reason


def test_nothing_is_left_that_listens(packing: Path, tmp_path: Path) -> None:
    before = list(bpy.app.handlers.load_post)
    open.open_blend(packing)
    (tmp_path / "cut.blend").write_bytes(packing.read_bytes()[:1000])
    with pytest.raises(InputError):
        open.open_blend(tmp_path / "cut.blend")
    assert list(bpy.app.handlers.load_post) == before
