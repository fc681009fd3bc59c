# SPDX-License-Identifier: GPL-3.0-or-later
"""The file goes on after Audit Skin: changed weights, groups and modifiers are noticed, and so is what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.results.memory import RESULTS
from quat_audit.results.rows import MESH, Address
from quat_audit.ui import following
from quat_audit.ui.skin import auditing
from tests.ui import scenes
from tests.ui.drawing import draw_all
from tests.ui.skins import audit, choose_finding, codes

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit


def test_changed_weights_are_noticed_and_brought_back(faulty) -> None:
    body, _ = faulty
    audit()
    group = body.vertex_groups["Spine"]
    number = next(v.index for v in body.data.vertices if any(g.group == group.index for g in v.groups))
    was = group.weight(number)
    group.add([number], was * 0.5, "REPLACE")
    scenes.refresh()
    assert RESULTS.any_outdated
    assert RESULTS.outdated(RESULTS.rows[0]) == "The mesh changed since the audit: audit again"
    assert "The file changed since the audit" in draw_all().text
    group.add([number], was, "REPLACE")
    scenes.refresh()
    assert not RESULTS.any_outdated


@pytest.mark.parametrize(
    "change",
    [
        lambda body: setattr(body.vertex_groups["Hips"], "lock_weight", True),
        lambda body: setattr(body.modifiers[0], "use_deform_preserve_volume", True),
        lambda body: setattr(body.vertex_groups["Hips"], "name", "Pelvis"),
        lambda body: body.modifiers.new("Second", "ARMATURE"),
        lambda body: body.modifiers.clear(),
    ],
)
def test_locks_groups_and_modifiers_are_part_of_the_state(faulty, change) -> None:
    body, _ = faulty
    audit()
    state = auditing.state_of(body)
    assert state == RESULTS.shown(Address(body.session_uid, kind=MESH)).state == auditing.state_of(body)
    change(body)
    assert auditing.state_of(body) != state


def test_a_change_of_weights_tells_blender_and_us(faulty) -> None:
    body, rig = faulty
    audit()
    following._WATCH.uids = set()
    body.vertex_groups["Spine"].add([0], 0.5, "REPLACE")
    bpy.context.view_layer.update()
    assert following._WATCH.uids == {body.session_uid}
    following._WATCH.uids = set()
    rig.pose.bones["Spine"].rotation_quaternion = (0.9, 0.1, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert following._WATCH.uids == set()  # a pose is no change of weights
    body.modifiers[0].use_deform_preserve_volume = True
    bpy.context.view_layer.update()
    assert following._WATCH.uids == {body.session_uid}


def test_a_removed_mesh_is_noticed(faulty) -> None:
    body, _ = faulty
    audit()
    bpy.data.objects.remove(body)
    scenes.refresh()
    row = choose_finding("QA601")
    assert RESULTS.outdated(row) == "The mesh “Body” is no longer in this file"
    assert scenes.why_grey(ops.select_vertices) == "The mesh “Body” is no longer in this file"
    assert scenes.why_grey(ops.ignore) == "The mesh “Body” is no longer in this file"
    assert ops.fix_active("EXEC_DEFAULT") == {"CANCELLED"}
    draw_all()


def test_the_file_opened_again_has_its_findings(faulty, tmp_path: Path) -> None:
    path = str(tmp_path / "again.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    audit()
    shown = codes()
    bpy.ops.wm.open_mainfile(filepath=path)
    following.refresh_now()
    assert codes() == shown and not RESULTS.any_outdated
    assert ops.fix_safe("EXEC_DEFAULT") == {"FINISHED"}
