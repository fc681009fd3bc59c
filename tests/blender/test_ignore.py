# SPDX-License-Identifier: GPL-3.0-or-later
"""Ignores on actions: written, read, kept in the .blend, respected by the headless audit, refused on linked data."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.blender import ignore, read
from quat_audit.errors import InputError, RefusedError
from quat_audit.findings.ignores import Ignore, ignore_of
from tests.blender import build_case as build

ROOT = Path(__file__).resolve().parents[2]
ARM, QUOTED = 'pose.bones["Arm"].rotation_quaternion', 'pose.bones["say \\"hi\\" 腕"].rotation_quaternion'


def make_action(name: str = "Walk", slot: str = "Rig"):
    """Two bones with a sign flip each."""
    build.make_rig("Rig", ["Arm", 'say "hi" 腕'])
    fcurves = build.make_fcurves(name, slot)
    for path in (ARM, QUOTED):
        for component, values in enumerate([(1.0, -0.985, 0.94), (0.0, -0.174, 0.342), (0.0,) * 3, (0.0,) * 3]):
            build.make_curve(fcurves, path, component, (1.0, 11.0, 21.0), values)
    action = bpy.data.actions[name]
    build.assign(bpy.data.objects["Rig"].animation_data_create(), action)
    return action


def flips(action) -> list[str]:
    return sorted(f.data_path for f in api.audit_action(action) if f.code == "QA104")


def test_added_listed_found_again_and_removed() -> None:
    action = make_action()
    assert ignore.list_ignores(action) == () and flips(action) == [ARM, QUOTED]
    added = ignore.add_ignore(action, Ignore("QA104", QUOTED, "a cartoon spin 🌀"))
    assert ignore.list_ignores(action) == (added,) == (Ignore("QA104", QUOTED, "a cartoon spin 🌀"),)
    assert flips(action) == [ARM]
    (record,) = read.read_action(action)
    assert record.clip.ignores == (added,)
    assert ignore.remove_ignore(action, "QA104", QUOTED) is True
    assert flips(action) == [ARM, QUOTED]
    assert ignore.remove_ignore(action, "QA104", QUOTED) is False
    assert ignore.PROPERTY not in action, "nothing is left behind"


def test_a_second_ignore_of_the_same_replaces_its_reason() -> None:
    action = make_action()
    ignore.add_ignore(action, Ignore("QA104", ARM, "first"))
    ignore.add_ignore(action, Ignore("QA103", ARM, "another rule"))
    ignore.add_ignore(action, Ignore("QA104", ARM, "second"))
    assert [(i.code, i.reason) for i in ignore.list_ignores(action)] == [("QA103", "another rule"), ("QA104", "second")]


def test_what_has_grown_since_it_was_ignored_is_reported_again(tmp_path: Path) -> None:
    action = make_action()
    (finding,) = [f for f in api.audit_action(action) if (f.code, f.data_path) == ("QA104", ARM)]
    assert finding.figure is not None
    noted = ignore.add_ignore(action, ignore_of(finding, "meant"))
    assert (noted.count, noted.figure) == (2, finding.figure.value)
    path = tmp_path / "walk.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    action = bpy.data.actions["Walk"]
    (kept,) = ignore.list_ignores(action)
    assert (kept, kept.count, kept.figure) == (noted, noted.count, noted.figure)
    assert flips(action) == [QUOTED]
    # Another key that flips: three places where two were.
    for component, value in enumerate((-0.766, -0.643, 0.0, 0.0)):
        (curve,) = [c for c in build.fcurves_of(action) if (c.data_path, c.array_index) == (ARM, component)]
        curve.keyframe_points.insert(31.0, value)
    assert flips(action) == [ARM, QUOTED]


def test_a_repair_in_the_scene_leaves_alone_what_is_ignored() -> None:
    action = make_action()
    ignore.add_ignore(action, Ignore("QA104", ARM, "meant"))
    before = [tuple(k.co) for c in build.fcurves_of(action) if c.data_path == ARM for k in c.keyframe_points]
    repairs = api.fix_action(action)
    assert [(a.code, a.tracks) for r in repairs for a in r.applied] == [("QA104", 1)]
    after = [tuple(k.co) for c in build.fcurves_of(action) if c.data_path == ARM for k in c.keyframe_points]
    assert after == before
    ignore.remove_ignore(action, "QA104", ARM)
    assert flips(action) == [ARM]


def test_an_ignore_of_one_slot_is_not_for_the_other() -> None:
    if not build.has_slots():
        return  # legacy actions have one set of curves: nothing to tell apart
    action = make_action()
    fcurves = build.make_fcurves("Walk", "Other")
    for component, values in enumerate([(1.0, -0.985, 0.94), (0.0, -0.174, 0.342), (0.0,) * 3, (0.0,) * 3]):
        build.make_curve(fcurves, ARM, component, (1.0, 11.0, 21.0), values)
    assert flips(action) == [ARM, ARM, QUOTED]
    ignore.add_ignore(action, Ignore("QA104", ARM, "here only", "Other"))
    assert [(f.slot, f.data_path) for f in api.audit_action(action) if f.code == "QA104"] == [
        ("Rig", ARM),
        ("Rig", QUOTED),
    ]
    assert ignore.remove_ignore(action, "QA104", ARM) is False, "that would be the one for every slot"
    assert ignore.remove_ignore(action, "QA104", ARM, slot="Other") is True


@pytest.mark.parametrize("code, path", [("", ARM), ("QA104", "")])
def test_an_ignore_of_nothing_is_refused(code: str, path: str) -> None:
    action = make_action()
    with pytest.raises(ValueError, match="code of a rule and a data path"):
        ignore.add_ignore(action, Ignore(code, path, ""))
    assert ignore.PROPERTY not in action


@pytest.mark.parametrize("junk", ["{", "[]", 7, [1.0, 2.0]])
def test_a_property_that_is_not_ours_ignores_nothing_and_says_so(junk) -> None:
    action = make_action()
    action[ignore.PROPERTY] = junk
    with pytest.raises(InputError, match="not"):
        ignore.list_ignores(action)
    assert flips(action) == [ARM, QUOTED]
    (record,) = read.read_action(action)
    ((what, why),) = record.clip.not_evaluated
    assert what == "Walk" and "cannot be read" in why and "nothing is ignored" in why
    ignore.add_ignore(action, Ignore("QA104", ARM, "anew"))  # the way out
    assert [i.reason for i in ignore.list_ignores(action)] == ["anew"]


def audit_in_a_process_of_its_own(path: Path) -> dict:
    output = path.with_suffix(".json")
    command = [sys.executable, "-m", "quat_audit", "audit", str(path), "--format", "json", "--output", str(output)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 1, run.stderr
    return json.loads(output.read_text(encoding="utf-8"))


def test_a_saved_ignore_is_respected_headless_and_reported(tmp_path: Path) -> None:
    action = make_action()
    ignore.add_ignore(action, Ignore("QA104", QUOTED, "meant: 回転"))
    path = tmp_path / "walk.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
    report = audit_in_a_process_of_its_own(path)
    (file,) = report["files"]
    assert [f["data_path"] for f in file["findings"] if f["code"] == "QA104"] == [ARM]
    assert [(f["code"], f["data_path"], f["reason"]) for f in file["ignored"]] == [("QA104", QUOTED, "meant: 回転")]
    assert report["summary"]["ignored"] == 1


def test_on_a_linked_action_it_counts_and_must_be_changed_in_its_own_file(tmp_path: Path) -> None:
    action = make_action()
    ignore.add_ignore(action, Ignore("QA104", ARM, "in the library"))
    library = tmp_path / "library.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(library), copy=True)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(library), link=True) as (source, into):
        into.actions = source.actions
    (linked,) = bpy.data.actions
    assert linked.library is not None and flips(linked) == [QUOTED]
    refused = "'Walk' is linked: ignore the finding in the file that it comes from"
    with pytest.raises(RefusedError, match=refused):
        ignore.add_ignore(linked, Ignore("QA104", ARM, "no"))
    with pytest.raises(RefusedError, match=refused):
        ignore.remove_ignore(linked, "QA104", ARM)
    assert [i.reason for i in ignore.list_ignores(linked)] == ["in the library"]
