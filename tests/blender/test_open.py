# SPDX-License-Identifier: GPL-3.0-or-later
"""Opening, importing and saving headless: what works, and what is said when it does not."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quat_audit.errors import InputError

bpy = pytest.importorskip("bpy")
import zstandard  # which comes with Blender

from quat_audit import api
from quat_audit.blender import open, read
from quat_audit.files import blend
from tests.blender import build_case as build


@pytest.fixture
def saved(tmp_path) -> Path:
    build.make_curve(build.make_fcurves("Marker", "Rig"), "location", 0, [1, 2], [0, 1])
    path = tmp_path / "saved.blend"
    open.save_blend(path, compress=False)
    open.new_file()
    return path


def names() -> list[str]:
    return [record.clip.action for record in read.read_file()]


def test_saved_file_opens(saved):
    assert names() == []
    open.open_blend(saved)
    assert names() == ["Marker"]
    assert Path(bpy.data.filepath) == saved


def test_gzip_of_old_versions_opens(saved, tmp_path):
    old = tmp_path / "old.blend"
    old.write_bytes(gzip.compress(saved.read_bytes()))
    assert open.is_compressed(old)
    open.open_blend(old)
    assert names() == ["Marker"]


def test_compression_is_as_asked(saved, tmp_path):
    open.open_blend(saved)
    for compress in (False, True):
        open.save_blend(tmp_path / "x.blend", compress=compress)
        assert open.is_compressed(tmp_path / "x.blend") == compress
    assert Path(bpy.data.filepath) == saved  # a copy was saved: the open file is still the first


def test_relative_paths_hold_in_another_folder(saved, tmp_path):
    open.open_blend(saved)
    bpy.data.images.new("Picture", 1, 1).filepath = "//textures/a.png"
    bpy.data.images["Picture"].source = "FILE"
    bpy.data.images["Picture"].use_fake_user = True
    (tmp_path / "out").mkdir()
    open.save_blend(tmp_path / "out" / "x.blend", compress=False)
    open.open_blend(tmp_path / "out" / "x.blend")
    picture = bpy.data.images["Picture"].filepath
    assert Path(os.path.normpath(bpy.path.abspath(picture))) == tmp_path / "textures" / "a.png"


def damaged(saved: Path, kind: str) -> Path:
    raw, path = saved.read_bytes(), saved.with_name(f"{kind}.blend")
    if kind == "folder":
        path.mkdir()
    elif kind != "missing":
        half = raw[: len(raw) // 2]
        contents = {
            "empty": b"",
            "text": b"hello\n" * 50,
            "half": half,
            "head": raw[:12],
            "half gzip": gzip.compress(half),
        }
        path.write_bytes(contents[kind])
    return path


@pytest.mark.parametrize("kind, says", [
    ("missing", "no such file"), ("empty", "empty"), ("text", "not a Blender file"), ("half", "cut short"),
    ("head", "cut short"), ("half gzip", "cut short"), ("folder", "cannot be read"),
])  # fmt: skip
def test_bad_blend_files(saved, kind, says):
    path = damaged(saved, kind)
    with pytest.raises(InputError, match=says) as caught:
        open.open_blend(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    open.open_blend(saved)  # the next file is not the worse for it
    assert names() == ["Marker"]


def test_truncated_zstd_is_noticed(saved, tmp_path):
    open.open_blend(saved)
    whole = tmp_path / "whole.blend"
    open.save_blend(whole, compress=True)
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(InputError, match="cut short"):
        open.open_blend(whole)


def test_file_of_a_newer_blender_is_refused(saved, tmp_path):
    raw = saved.read_bytes()
    here = bpy.app.version
    # The header has the version as three digits (four with the header of 5.0); the file block says the rest.
    old_header, new_header = f"-v{here[0]}{here[1]:02d}".encode(), b"-v999"
    if b"-v0" in raw[:20] or raw[7:9] == b"17":
        old_header, new_header = f"v{here[0]:02d}{here[1]:02d}".encode(), b"v9999"
    assert old_header in raw[:20]
    newer = tmp_path / "newer.blend"
    newer.write_bytes(raw.replace(old_header, new_header, 1))
    with pytest.raises(InputError, match="saved by Blender"):
        open.open_blend(newer)
    assert names() == []


def dated(raw: bytes, major: int, minor: int) -> bytes:
    """A .blend with another version in its header, of the form that this Blender writes (or of before 5.0)."""
    digits = f"{major:02d}{minor:02d}" if raw[7:9] == b"17" else f"{major}{minor:02d}"
    at = raw.index(b"v", 7) + 1
    return raw[:at] + digits.encode() + raw[at + len(digits) :]


@pytest.mark.parametrize("packed", ["plain", "gzip", "zstd"])
def test_file_of_before_2_50_is_refused_where_its_animation_would_not_arrive(saved, tmp_path, packed):
    """Opened by 5.0 such a file has its objects and not one key: it would pass for clean, and be published so."""
    path, raw = tmp_path / f"{packed}.blend", dated(saved.read_bytes(), 2, 49)
    pack = {"plain": bytes, "gzip": gzip.compress, "zstd": lambda data: zstandard.ZstdCompressor().compress(data)}
    path.write_bytes(pack[packed](raw))
    assert blend.version(path) == (2, 49)
    if bpy.app.version >= (5, 0, 0):
        with pytest.raises(InputError, match=r"2\.49.*its animation is not loaded: open and save it with Blender 4\.5"):
            open.open_blend(path)
        assert names() == []
        report = api.fix_file(path, output=tmp_path / "fixed.blend")
        assert report.status == "failed" and "its animation is not loaded" in report.reason
        assert not (tmp_path / "fixed.blend").exists()
    else:
        assert not open.compat.drops_animation_of((2, 49))


def test_what_blender_says_of_the_version_counts_where_the_header_cannot_be_read(saved, monkeypatch):
    monkeypatch.setattr(open.blend, "version", lambda path: None)
    monkeypatch.setattr(open.compat, "drops_animation_of", lambda version: version == tuple(bpy.app.version[:2]))
    with pytest.raises(InputError, match="its animation is not loaded"):
        open.open_blend(saved)
    assert names() == []


def test_scripts_in_the_file_do_not_run(saved, tmp_path):
    proof = tmp_path / "ran"
    open.open_blend(saved)
    text = bpy.data.texts.new("evil.py")
    text.write(f"open({str(proof)!r}, 'w').close()")
    text.use_module = True
    open.save_blend(tmp_path / "evil.blend", compress=False)
    open.open_blend(tmp_path / "evil.blend")
    assert "evil.py" in bpy.data.texts and not proof.exists()


def test_nothing_is_printed(saved):
    script = (
        "import sys; from pathlib import Path; from quat_audit.blender import open as o; "
        "from tests.conditions import flush_c; flush_c(); "
        "print('imported', flush=True); "  # 5.x prints a line when it is imported
        "path = Path(sys.argv[1]); o.open_blend(path); o.save_blend(path.with_name('y.blend'), compress=True); "
        "print('only this')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(saved)],
        capture_output=True,
        encoding="utf-8",
        cwd=Path(__file__).parents[2],
        check=True,
    )
    assert done.stdout.splitlines()[-2:] == ["imported", "only this"]


def test_unwritable_folder_is_said(saved, tmp_path):
    open.open_blend(saved)
    with pytest.raises(InputError, match="cannot be written"):
        open.save_blend(tmp_path / "no such folder" / "x.blend", compress=False)


def test_a_full_disk_is_said(saved, tmp_path, monkeypatch):
    open.open_blend(saved)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10**6, 10**6 - 100, 100))
    (tmp_path / "x.blend@").mkdir()  # where Blender writes first
    with pytest.raises(InputError, match="x.blend: cannot be written: No space left on device"):
        open.save_blend(tmp_path / "x.blend", compress=False)


@pytest.mark.parametrize("name, clips, tracks", [
    ("bevy/Fox.glb", 3, 60), ("pybvh/rotation_first_root.bvh", 1, 4),
    ("glTF-Blender-IO/03_animated_cube/03_animated_cube.gltf", 1, 1),
    ("ufbx/blender_293_half_skinned_7400_binary.fbx", 0, 0),
])  # fmt: skip
def test_import(cases, name, clips, tracks):
    build.make_fcurves("Left over", "Rig")
    open.import_file(cases / "files" / name)
    records = read.read_file()
    for record in records:
        record.clip.validate()
    assert (len(records), sum(len(r.clip.tracks) for r in records)) == (clips, tracks)
    assert "Left over" not in names()
    assert len(bpy.data.objects) > 0


@pytest.mark.parametrize("suffix", [".vrm", ".vrma", ".GLB"])
def test_import_of_glb_by_other_names(cases, tmp_path, suffix):
    path = tmp_path / f"fox{suffix}"
    shutil.copy(cases / "files/bevy/Fox.glb", path)
    open.import_file(path)
    assert len(names()) == 3


def test_ascii_fbx_is_read_or_refused_in_words(cases):
    path = cases / "files/ufbx/maya_dual_quaternion_7500_ascii.fbx"
    if open.compat.has_operator("wm", "fbx_import"):  # 4.5 on
        open.import_file(path)
        assert len(bpy.data.objects) > 0
    else:
        with pytest.raises(InputError, match="ASCII FBX.*convert"):
            open.import_file(path)


@pytest.mark.parametrize("name, content, says", [
    ("x.glb", b"glTF\x02\x00\x00\x00", "importer"), ("x.gltf", b"{", "importer"), ("x.bvh", b"hello", "importer"),
    ("x.fbx", b"Kaydara FBX Binary  \x00\x1a\x00", "importer"), ("x.glb", b"", "empty"),
    ("x.obj", b"v 0 0 0", "no importer"), ("missing.glb", None, "no such file"),
])  # fmt: skip
def test_bad_imports(tmp_path, name, content, says, capfd):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        open.import_file(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value) and "Traceback" not in str(caught.value)
    assert capfd.readouterr().out == ""


def test_auditing_a_file_replaces_the_session_and_bytes_leave_it_alone(saved, tmp_path):
    """As the docstrings of the API say: who has unsaved work open must know."""
    bpy.data.objects.new("Unsaved", None).use_fake_user = True
    (tmp_path / "x.gltf").write_text('{"asset": {"version": "2.0"}}', encoding="ascii")
    assert api.audit_file(tmp_path / "x.gltf").read_via == "bytes"
    assert "Unsaved" in bpy.data.objects
    assert api.audit_file(saved).status == "audited"
    assert "Unsaved" not in bpy.data.objects
    for function in (api.audit_file, api.fix_file, api.preview_file):
        assert "in place of what is open" in " ".join((function.__doc__ or "").replace("*", "").split())
