# SPDX-License-Identifier: GPL-3.0-or-later
"""Of the twenty situations of test_hostile.py, those in which something goes on after the audit or beside it.

The panel is open in each: no traceback, and the right message.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import ui
from quat_audit.audit.settings import Settings
from quat_audit.blender import read
from quat_audit.results.memory import RESULTS
from quat_audit.ui import auditing, following, properties
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.drawing import draw_all
from tests.ui.scenes import labels, refresh

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
CHANGED = "The action changed since the audit: audit again"
NO_LONGER = "Not there any more: 1 finding; the file changed"


# 9
def test_bone_renamed_between_audit_and_fix(said) -> None:
    rig = scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    rig.data.bones["Arm"].name = "Elbow"  # Blender renames the channels too
    refresh()
    (arm,) = [row for row in RESULTS.rows if row.label == "Arm"]
    assert str(RESULTS.outdated(arm)) == "The channel is gone: renamed or deleted since the audit"
    properties.state(bpy.context).active = RESULTS.number_of(arm.key)
    drawn = draw_all()
    assert "The file changed since the audit" in drawn.texts
    assert "The channel is gone: renamed or deleted since the audit" in drawn.text
    before = scenes.values(rig.animation_data.action)
    said()
    assert ops.go_to() == {"FINISHED"}
    assert "“Rig” has no bone “Arm” any more" in said()[0]
    assert ops.fix_active() == {"CANCELLED"}
    assert said() == [f"Warning: {NO_LONGER}"]
    assert scenes.values(rig.animation_data.action) == before
    assert sorted(labels()) == ["Elbow", "Leg"]  # the fix looked again
    assert ops.fix_safe() == {"FINISHED"}


# 10
def test_action_deleted_between_audit_and_fix(said) -> None:
    scenes.broken_rig()
    scenes.audit()
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    draw_all()  # before anybody noticed
    refresh()
    assert "The action “Walk” is no longer in this file" in draw_all().text
    said()
    assert ops.go_to() == {"FINISHED"}
    assert "The action “Walk” is no longer in this file" in said()[0]
    assert ops.fix_safe() == {"CANCELLED"}
    assert said() == [f"Warning: {NO_LONGER}"]
    assert scenes.why_grey(ops.ignore) == "The action “Walk” is no longer in this file"
    draw_all()


# 11
def test_undo_past_the_audit(said) -> None:
    """What undo does to the keys, done by hand: there is none without a window (scripts/test_ui.py presses Ctrl-Z)."""
    rig = scenes.broken_rig()
    curve = next(c for c in build.fcurves_of(rig.animation_data.action) if c.array_index == 1)
    scenes.audit()
    audited = [key.co[1] for key in curve.keyframe_points]
    curve.keyframe_points.foreach_set("co", np.array([(f, 0.0) for f in scenes.FRAMES], "f4").ravel())
    following._undo_post()
    following.refresh_now()
    assert str(RESULTS.outdated(RESULTS.rows[0])) == CHANGED
    assert CHANGED in draw_all().text
    for point, value in zip(curve.keyframe_points, audited, strict=True):
        point.co[1] = value
        point.handle_left[1], point.handle_right[1] = point.handle_left[1], point.handle_right[1]
    curve.update()
    scenes.audit()
    ops.fix_safe()
    assert RESULTS.rows == []
    for curve in build.fcurves_of(rig.animation_data.action):  # undo of the fix: the third key as it was
        point = curve.keyframe_points[2]
        left, right = point.handle_left[1], point.handle_right[1]
        point.co[1] *= -1
        point.handle_left[1], point.handle_right[1] = -left, -right
    following._undo_post()
    following.refresh_now()
    assert labels() == ["Arm"] and not RESULTS.any_outdated  # the findings are back without an audit
    said()
    assert ops.fix_safe() == {"FINISHED"}
    assert "1 key negated on 1 bone" in said()[0]


# 12
def test_file_reload(tmp_path: Path, said) -> None:
    scenes.broken_rig()
    path = tmp_path / "walk.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    scenes.audit()
    uid = bpy.data.actions["Walk"].session_uid
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert bpy.data.actions["Walk"].session_uid != uid
    draw_all()
    following.refresh_now()
    assert labels() == ["Arm"] and not RESULTS.any_outdated
    assert len(properties.state(bpy.context).rows) == 1
    assert ops.go_to() == {"FINISHED"}
    assert ops.fix_safe() == {"FINISHED"}
    assert "1 key negated on 1 bone" in said()[-1]
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert RESULTS.rows == [] and not RESULTS.audited
    assert "Another file was opened: audit again" in draw_all().text
    assert scenes.why_grey(ops.fix_safe) == "There are no findings: audit first"


# 18
def test_add_on_disabled_and_enabled_again() -> None:
    scenes.broken_rig()
    scenes.audit()
    handlers = {name: len(getattr(bpy.app.handlers, name)) for name, _ in following._HANDLERS}
    entries = len(bpy.types.VIEW3D_MT_pose._dyn_ui_initialize())
    ui.unregister()
    assert not hasattr(bpy.types.WindowManager, properties.NAME)
    assert len(bpy.types.VIEW3D_MT_pose._dyn_ui_initialize()) == entries - 1
    # Two of our modules listen to the loading of a file.
    ours = {name: 1 + (name == "load_pre") for name in handlers}
    assert all(len(getattr(bpy.app.handlers, name)) == count - ours[name] for name, count in handlers.items())
    ui.unregister()  # nothing left: no harm
    for _ in range(2):
        ui.register()
        assert RESULTS.rows == [] and "Whole File" not in draw_all().text
        scenes.audit()
        assert labels() == ["Arm"]
        draw_all()
        ui.unregister()
    ui.register()
    assert len(bpy.types.VIEW3D_MT_pose._dyn_ui_initialize()) == entries
    assert {name: len(getattr(bpy.app.handlers, name)) for name in handlers} == handlers


# 20
@pytest.mark.parametrize("meanwhile", ["undo", "deleted", "keys", "load"])
def test_two_windows(meanwhile: str, said) -> None:
    """While an audit runs in one window, something happens in the other: the audit stops or is right, never wrong."""
    rig = scenes.broken_rig([f"Bone.{n}" for n in range(50)])
    scenes.audit()
    before = list(RESULTS.rows)
    job = auditing.start(bpy.context, "ACTIVE_ACTION", "EVERYTHING")
    job.run(0.0)
    job.run(0.0)
    assert job.running
    auditing.RUNNING.append(job)
    try:
        draw_all()
        if meanwhile == "undo":
            following._undo_pre()
            why = "Undo or redo stopped the audit"
        elif meanwhile == "deleted":
            bpy.data.actions.remove(rig.animation_data.action)
            why = (
                "The file changed while it was audited "
                "(action 'Walk' is no longer in this file as it was: read it again)"
            )
        elif meanwhile == "keys":
            # None of the curves was read yet: what is found is true of the file as it is now.
            build.fcurves_of(rig.animation_data.action)[0].keyframe_points.add(3)
            why = None
        else:
            bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
            why = "Another file was opened while it was audited"
        while job.running:
            job.run()
    finally:
        auditing.RUNNING.clear()
    assert job.why_aborted == why and job.done == (why is None)
    if meanwhile == "keys":
        (record,) = read.read_file()
        (result,) = job.found
        now = auditing.audit_record(record, Settings())
        assert result.state == now.state and result.line == now.line
        assert [(row.key, row.finding) for row in result.rows] == [(row.key, row.finding) for row in now.rows] != []
    if meanwhile != "load":
        assert before == RESULTS.rows  # the earlier findings stay until an audit is complete
    refresh()
    draw_all()
