# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys that change under a before and after: it says so, until it is true again or taken anew."""

from __future__ import annotations

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit.results.memory import RESULTS
from quat_audit.ui import following, properties
from quat_audit.ui.comparison import state as comparing
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.drawing import draw_all

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
STATE = comparing.STATE
AGAIN, CHANGED = "The keys changed since: press Before and After again", "The keys changed since"


@pytest.fixture
def rig():
    made = scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    choose("Arm")
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    return made


def choose(bone: str) -> None:
    choices = properties.state(bpy.context)
    choices.active = next(n for n, row in enumerate(RESULTS.rows) if row.finding.bone == bone)


def stored() -> list[tuple]:
    """Keys and handles of each curve, as Blender stores them."""
    found = []
    for curve in build.fcurves_of(bpy.data.actions["Walk"]):
        arrays = np.empty((3, 2 * len(curve.keyframe_points)), np.float32)
        for name, array in zip(("co", "handle_left", "handle_right"), arrays, strict=True):
            curve.keyframe_points.foreach_get(name, array)
        found.append(arrays)
    return found


def restore(values: list, by: float = 0.0) -> None:
    """Store them again, all values higher by so much."""
    for curve, arrays in zip(build.fcurves_of(bpy.data.actions["Walk"]), values, strict=True):
        moved = arrays.copy()
        moved[:, 1::2] += np.float32(by) if by else np.float32(-0.0)  # which leaves a zero its sign
        for name, array in zip(("co", "handle_left", "handle_right"), moved, strict=True):
            curve.keyframe_points.foreach_set(name, array)


def move_key(bone: str, by: float) -> None:
    """Another value at a key in the middle, as a drag in the Graph Editor leaves it."""
    curve = next(c for c in build.fcurves_of(bpy.data.actions["Walk"]) if f'"{bone}"' in c.data_path)
    curve.keyframe_points[1].co[1] += by
    curve.update()


def looked() -> bool:
    """Look at the file as the timer does after a change; whether what is shown is marked as outdated."""
    following.look_again()
    following.refresh_now()
    outdated = STATE.shown.outdated
    said = [text for text in draw_all().texts if CHANGED in text]
    assert bool(said) == outdated
    return outdated


def test_nothing_changed_and_nothing_is_said(rig) -> None:
    assert not looked()
    bpy.context.scene.frame_set(17)
    rig.pose.bones["Arm"].location = (1.0, 0.0, 0.0)
    assert not looked()


@pytest.mark.parametrize("bone", ["Arm", "Leg"])  # its own keys, and others that pose the same rig
def test_an_edit_outdates_it_and_its_undo_does_not(rig, bone: str) -> None:
    before = stored()
    move_key(bone, 0.25)
    assert looked()
    assert STATE.shown.remarks[0] == AGAIN
    restore(before)
    assert not looked()


def test_pressed_again_it_is_taken_anew(rig) -> None:
    old = STATE.shown
    move_key("Arm", 0.25)
    assert looked()
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    new = STATE.shown
    assert new is not None and not new.outdated and new.key == old.key
    assert np.abs(new.angles.before_deg - old.angles.before_deg).max() > 1.0
    assert not looked()
    assert ops.compare("EXEC_DEFAULT") == {"FINISHED"}
    assert STATE.shown is None


def test_pressed_again_without_the_fault_it_stays_and_says_why(rig, said) -> None:
    for curve in build.fcurves_of(bpy.data.actions["Walk"]):
        curve.keyframe_points[2].co[1] *= -1.0  # the flip, mended by hand
        curve.update()
    assert looked()
    assert ops.compare("EXEC_DEFAULT") == {"CANCELLED"}
    assert any("audit again" in line for line in said())
    assert STATE.shown.outdated
    assert ops.compare_off("EXEC_DEFAULT") == {"FINISHED"}


def test_its_own_fix_does_not_outdate_it_but_another_does(rig) -> None:
    assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}
    assert not looked()  # before and after of exactly that
    choose("Leg")
    assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}
    assert STATE.shown.outdated  # at once, not a moment later
    assert looked()


def test_its_own_fix_of_keys_that_were_edited_stays_outdated(rig) -> None:
    move_key("Arm", 0.25)
    assert looked()
    assert ops.fix_active("EXEC_DEFAULT") == {"FINISHED"}
    assert looked()


def test_a_look_back_is_true_of_both_sides_of_the_repair(rig) -> None:
    before = stored()
    ops.compare_off("EXEC_DEFAULT")
    ops.fix_safe("EXEC_DEFAULT")
    assert ops.compare_last("EXEC_DEFAULT") == {"FINISHED"}
    assert not looked()
    fixed = stored()
    assert not all(np.array_equal(a, b) for a, b in zip(before, fixed, strict=True))
    for values, by, outdated in ((before, 0.0, False), (before, 0.125, True), (fixed, 0.0, False)):
        restore(values, by)
        assert looked() is outdated
    assert STATE.shown.remarks == []


def test_a_look_back_after_an_edit_is_outdated_from_the_start(rig) -> None:
    ops.compare_off("EXEC_DEFAULT")
    ops.fix_safe("EXEC_DEFAULT")
    move_key("Arm", 0.25)
    assert ops.compare_last("EXEC_DEFAULT") == {"FINISHED"}
    following.refresh_now()
    assert STATE.shown.outdated and STATE.shown.remarks[0] == CHANGED


def test_an_action_that_is_gone_outdates_it(rig) -> None:
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    draw_all()  # it is drawing that notices
    following.refresh_now()
    assert STATE.shown.outdated


def test_it_is_followed_when_its_findings_are_no_longer_listed(rig) -> None:
    other = scenes.broken_rig(["Tail"], name="Other", action="Wag")
    bpy.context.view_layer.objects.active = other
    scenes.audit()
    assert {row.finding.action for row in RESULTS.rows} == {"Wag"}
    assert not looked()
    move_key("Arm", 0.25)
    assert looked()
