# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinning preview without a window: what it refuses and remarks, what it leaves, the scale, the worst frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.skinning import heat
from tests.blender import skinned
from tests.ui import drawing, scenes

pytestmark = pytest.mark.usefixtures("panel")

WORST = 21  # frames 1 to 21 twist the tube more and more


@pytest.fixture
def tube() -> tuple[Any, Any]:
    obj, rig = skinned.make_tube()
    skinned.animate(rig, 160.0, (1, WORST))
    bpy.context.view_layer.objects.active = obj
    bpy.context.view_layer.update()
    return obj, rig


def preview() -> Any:
    from quat_audit.ui.preview import state as preview

    return preview


def choices() -> Any:
    return bpy.context.window_manager.quat_audit_preview


def refusal() -> str:
    """What switching on says where it is refused."""
    with pytest.raises(RuntimeError) as error:
        bpy.ops.quat_audit.preview()
    assert preview().current() is None
    return str(error.value)


def remarks() -> list[str]:
    """What it remarks, switched on."""
    assert bpy.ops.quat_audit.preview() == {"FINISHED"}
    held = preview().current()
    assert held is not None
    preview().posed(bpy.context)
    return [str(remark) for remark in held.remarks]


def handlers() -> dict[str, int]:
    lists = {name: getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers)}
    return {name: len(found) for name, found in lists.items() if isinstance(found, list)}


def everything(obj: Any, rig: Any) -> tuple[Any, ...]:
    """What the file holds of what a preview could touch, and the handlers."""
    names = [p.identifier for p in bpy.types.BlendData.bl_rna.properties if p.type == "COLLECTION"]
    weights = [[(g.group, g.weight) for g in v.groups] for v in obj.data.vertices]
    return (
        {name: sorted(block.name_full for block in getattr(bpy.data, name)) for name in names},
        [tuple(v.co) for v in obj.data.vertices],
        weights,
        [(a.name, a.domain, a.data_type) for a in obj.data.attributes],
        [(m.name, m.show_viewport, m.use_deform_preserve_volume) for m in obj.modifiers],
        [sorted(block.keys()) for block in (obj, obj.data, rig, rig.data, bpy.context.scene)],
        [tuple(b.rotation_quaternion) for b in rig.pose.bones],
        bpy.context.scene.frame_current,
        handlers(),
    )


# --- bad input


def test_nothing_active_greys_the_button(tube: tuple[Any, Any]) -> None:
    bpy.context.view_layer.objects.active = None
    assert "No object is active" in scenes.why_grey(bpy.ops.quat_audit.preview)
    assert "No object is active" in scenes.why_grey(bpy.ops.quat_audit.preview_worst)


def test_no_armature_modifier(tube: tuple[Any, Any]) -> None:
    tube[0].modifiers.clear()
    assert "Tube has no Armature modifier" in refusal()


def test_bound_to_nothing(tube: tuple[Any, Any]) -> None:
    tube[0].modifiers[0].object = None
    assert "names no armature" in refusal()
    tube[0].modifiers[0].object = tube[1]
    tube[0].modifiers[0].use_vertex_groups = False
    assert "neither vertex groups nor envelopes" in refusal()


def test_vertex_groups_without_bones(tube: tuple[Any, Any]) -> None:
    tube[0].vertex_groups["Bone1"].name = "Elsewhere"
    said = remarks()
    assert any("1 vertex groups name no deforming bone" in one and "Elsewhere" in one for one in said), said
    bpy.ops.quat_audit.preview()
    tube[0].vertex_groups["Bone0"].name = "Nowhere"
    assert "No vertex group of Tube is named after a deforming bone of Rig" in refusal()
    tube[0].vertex_groups.clear()
    assert "Tube has no vertex groups" in refusal()


def test_zero_weights(tube: tuple[Any, Any]) -> None:
    for group in tube[0].vertex_groups:
        group.add([0, 1, 2], 0.0, "REPLACE")
    said = remarks()
    assert any("3 vertices have no weight on a deforming bone" in one for one in said), said
    bpy.ops.quat_audit.preview()
    for group in tube[0].vertex_groups:
        group.add(list(range(len(tube[0].data.vertices))), 0.0, "REPLACE")
    assert "No vertex of Tube has a weight above 0" in refusal()


def test_weights_that_are_no_numbers(tube: tuple[Any, Any]) -> None:
    tube[0].data.vertices[5].groups[0].weight = float("nan")
    if np.isfinite(tube[0].data.vertices[5].groups[0].weight):
        pytest.skip("not available: this Blender clamps a weight of NaN")
    said = remarks()
    assert any("1 vertices have a weight that is no number" in one for one in said), said


def test_no_vertices_and_no_faces(tube: tuple[Any, Any]) -> None:
    tube[0].data = bpy.data.meshes.new("Empty")
    assert "Tube has no vertices" in refusal()
    loose = bpy.data.meshes.new("Loose")
    loose.from_pydata([(0, 0, 0), (0, 0, 1)], [(0, 1)], [])
    tube[0].data = loose
    assert "Tube has no faces" in refusal()


def test_a_mirrored_object(tube: tuple[Any, Any]) -> None:
    tube[0].scale.x = -1.0
    bpy.context.view_layer.update()
    assert any("scale is negative" in one for one in remarks())


def test_an_object_that_is_scaled_to_nothing(tube: tuple[Any, Any]) -> None:
    assert not any("scaled to nothing" in one for one in remarks()) and preview().posed(bpy.context) is not None
    tube[0].scale = (0.0, 1.0, 1.0)
    bpy.context.view_layer.update()
    assert preview().posed(bpy.context) is None
    assert "scaled to nothing" in str(preview().current().remarks[0])


def test_an_armature_in_edit_mode(tube: tuple[Any, Any]) -> None:
    bpy.context.view_layer.objects.active = tube[1]
    bpy.ops.object.mode_set(mode="EDIT")
    said = remarks()
    assert preview().posed(bpy.context) is None
    assert any("Rig is in edit mode" in one for one in said), said
    bpy.ops.object.mode_set(mode="OBJECT")
    preview().refresh(bpy.context)
    assert preview().posed(bpy.context) is not None


def test_a_linked_mesh(tube: tuple[Any, Any], tmp_path: Path) -> None:
    path = str(tmp_path / "library.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(path, link=True) as (source, into):
        into.objects = source.objects
    for obj in bpy.data.objects:
        bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = bpy.data.objects["Tube"]
    bpy.context.view_layer.update()
    said = remarks()
    assert any("linked from another file: it is shown, and never written" in one for one in said), said


def test_no_mesh_and_an_armature_without_one(tube: tuple[Any, Any]) -> None:
    bpy.context.view_layer.objects.active = tube[1]
    bpy.ops.quat_audit.preview()
    assert preview().current().mesh.record.skin.mesh == "Tube", "the armature's mesh is meant"
    bpy.ops.quat_audit.preview()
    tube[0].modifiers.clear()
    assert "Rig deforms no mesh" in refusal()
    empty = bpy.data.objects.new("Empty", None)
    bpy.context.scene.collection.objects.link(empty)
    bpy.context.view_layer.objects.active = empty
    assert "Empty is no mesh" in refusal()


def test_what_is_not_included_is_said(tube: tuple[Any, Any]) -> None:
    tube[0].modifiers.new("Smooth It", "CORRECTIVE_SMOOTH")
    said = remarks()
    assert any("after the Armature modifier are not included: Smooth It" in one for one in said), said
    assert "Smooth It" in drawn().text


def test_hidden_and_deleted(tube: tuple[Any, Any]) -> None:
    bpy.ops.quat_audit.preview()
    tube[0].hide_set(True)
    assert preview().posed(bpy.context) is None
    assert "Tube is not seen here" in str(preview().current().remarks[0])
    bpy.data.objects.remove(tube[0])
    assert preview().posed(bpy.context) is None
    assert "no longer in this file" in str(preview().current().remarks[0])
    with pytest.raises(RuntimeError, match="no longer in this file"):
        bpy.ops.quat_audit.preview_worst()
    preview().refresh(bpy.context)
    assert "no longer in this file" in drawn().text
    bpy.ops.quat_audit.preview()
    assert preview().current() is None


# --- nothing is left


def test_on_and_off_leave_everything_as_it_was(tube: tuple[Any, Any]) -> None:
    before = everything(*tube)
    bpy.ops.quat_audit.preview()
    for show in ("LBS", "DQS", "SIDE_BY_SIDE", "GAP", "LOSS", "CUT"):
        choices().show = show
        assert preview().posed(bpy.context) is not None
        drawn()
    assert everything(*tube)[:-1] == before[:-1]
    bpy.ops.quat_audit.preview()
    assert everything(*tube) == before
    assert not preview()._draw_handles


def test_a_file_saved_meanwhile_knows_nothing_of_it(tube: tuple[Any, Any], tmp_path: Path) -> None:
    bpy.ops.quat_audit.preview()
    choices().show, choices().opacity = "LOSS", 0.5
    preview().posed(bpy.context)
    path = tmp_path / "x.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True, compress=False)
    assert b"quat_audit" not in path.read_bytes().replace(str(path).encode(), b"").replace(str(tmp_path).encode(), b"")


def test_another_file_switches_it_off(tube: tuple[Any, Any]) -> None:
    before = handlers()
    bpy.ops.quat_audit.preview()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert preview().current() is None
    assert handlers() == before


def test_unregistering_switches_it_off(tube: tuple[Any, Any]) -> None:
    from quat_audit import ui

    bpy.ops.quat_audit.preview()
    ui.unregister()
    assert preview().current() is None and not preview()._draw_handles
    ui.register()


# --- what it follows


def test_new_weights_are_read_and_a_pose_is_not_a_reason(tube: tuple[Any, Any]) -> None:
    obj, rig = tube
    bpy.ops.quat_audit.preview()
    rig.pose.bones["Bone1"].location.x = 0.3
    bpy.context.view_layer.update()
    bpy.context.scene.frame_set(9)
    preview().posed(bpy.context)
    assert not preview().current().stale
    obj.vertex_groups["Bone1"].add([3], 0.25, "REPLACE")
    bpy.context.view_layer.update()
    assert preview().current().stale
    preview().refresh(bpy.context)
    assert 0.25 in preview().current().mesh.record.skin.weight


@pytest.mark.parametrize("what", ["modifier", "group", "bone", "flag", "unit", "cut", "vertices"])
def test_what_else_is_noticed_at_the_next_redraw(tube: tuple[Any, Any], what: str) -> None:
    obj, rig = tube
    bpy.ops.quat_audit.preview()
    preview().posed(bpy.context)
    assert not preview().current().stale
    if what == "modifier":
        obj.modifiers[0].use_deform_preserve_volume = True
    elif what == "group":
        obj.vertex_groups["Bone1"].name = "Other"
    elif what == "bone":
        rig.data.bones["Bone1"].name = "Other"
    elif what == "flag":
        rig.data.bones["Bone1"].use_deform = False
    elif what == "unit":
        bpy.context.scene.unit_settings.scale_length = 0.01
    elif what == "cut":
        choices().most = 1
    else:
        obj.data.vertices.add(1)
    preview().posed(bpy.context)
    assert preview().current().stale


def test_scrubbing_gives_the_pose_of_the_frame(tube: tuple[Any, Any]) -> None:
    from quat_audit.blender import pose

    bpy.ops.quat_audit.preview()
    for frame in (1, 8, WORST):
        bpy.context.scene.frame_set(frame)
        held, _ = preview().posed(bpy.context)
        assert np.array_equal(held.motion.deform, pose.pose_matrices(*tube).deform)
        assert held.motion.frames[0] == frame


# --- scale and worst frame


def test_the_scale_grows_with_what_is_seen(tube: tuple[Any, Any]) -> None:
    bpy.ops.quat_audit.preview()
    choices().show = "GAP"
    tops = []
    for frame in (1, 11, WORST, 1):
        bpy.context.scene.frame_set(frame)
        held, _ = preview().posed(bpy.context)
        preview().measure(held, bpy.context)
        figures = heat.heat(held.mesh.record.skin, held.motion, heat.GAP)
        tops.append(held.top(heat.GAP, choices()))
        assert tops[-1] >= figures.max() * 0.999
    assert tops[0] == 1.0 and tops[1] < tops[2] == tops[3], tops
    choices().auto_top, choices().top = False, 7.5
    assert held.top(heat.GAP, choices()) == 7.5


@pytest.mark.parametrize(("show", "words"), [("GAP", "Distance"), ("LOSS", "Cross-section"), ("LBS", "Distance")])
def test_the_worst_frame(tube: tuple[Any, Any], said: Any, show: str, words: str) -> None:
    obj, rig = tube
    bpy.ops.quat_audit.preview()
    choices().show = show
    bpy.context.scene.frame_set(3)
    before = everything(obj, rig)
    said()
    bpy.ops.quat_audit.preview_worst()
    (line,) = said()
    assert words in line and f"frame {WORST}" in line
    assert bpy.context.scene.frame_current == WORST
    kind = heat.LOSS if show == "LOSS" else heat.GAP
    held, _ = preview().posed(bpy.context)
    here = float(heat.heat(held.mesh.record.skin, held.motion, kind).max())
    assert held.clip[kind.name] == pytest.approx(here, rel=1e-5)
    bpy.context.scene.frame_set(3)
    assert everything(obj, rig) == before


def test_the_worst_frame_of_what_never_happens(tube: tuple[Any, Any], said: Any) -> None:
    bpy.context.scene.frame_set(3)
    choices().show = "CUT"
    said()
    bpy.ops.quat_audit.preview_worst()
    assert "nothing on any frame" in said()[0]
    assert bpy.context.scene.frame_current == 3


# --- the panel


def drawn() -> Any:
    from quat_audit.ui.preview.panel import QUATAUDIT_PT_preview_view3d

    return drawing.draw(QUATAUDIT_PT_preview_view3d)


def test_the_panel_shows_what_matters_to_the_choice(tube: tuple[Any, Any]) -> None:
    names = {}
    for show in ("LBS", "GAP", "CUT"):
        choices().show = show
        names[show] = {name for what, name in drawn().calls if what == "prop"}
    assert names["GAP"] - names["LBS"] == {"auto_top"}
    assert names["CUT"] - names["GAP"] == {"most"}
    choices().auto_top = False
    assert "top" in {name for what, name in drawn().calls if what == "prop"}
    bpy.ops.quat_audit.preview()
    assert "Tube" in drawn().text


def test_titles_are_those_of_the_figures() -> None:
    from quat_audit.ui.preview.drawing import KIND_LABELS

    assert {kind: kind.title for kind in heat.KINDS} == KIND_LABELS
