# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel shows, how much work a draw is, registration, preferences, and the modal audit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import ui
from quat_audit.audit.profiles import PROFILES
from quat_audit.results.memory import RESULTS
from quat_audit.ui import auditing, following, icons, lists, panel, preferences, properties
from quat_audit.ui.operators import audit, fix
from tests.ui import scenes
from tests.ui.drawing import Layout, draw, draw_all, steps_of

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
# Of a draw, in steps of the interpreter, half of them the layout's of these tests: it is under a millisecond.
MOST_STEPS = 25_000
# Of a flag.
FLAG_STEPS = 10


def test_the_same_panel_is_in_four_editors() -> None:
    assert len(panel.CLASSES) == 16
    for space in following.EDITORS:
        classes = [c for c in panel.CLASSES if c.bl_space_type == space]
        assert [c.bl_label for c in classes] == ["Rig Audit", "Findings", "Detail", "Tools"]
        assert {c.bl_category for c in classes} == {"Rig Audit"} and {c.bl_region_type for c in classes} == {"UI"}
        assert [getattr(c, "bl_parent_id", "") for c in classes] == ["", *[classes[0].bl_idname] * 3]
    assert all(getattr(bpy.types, c.bl_idname).is_registered for c in panel.CLASSES)


def test_menus_have_the_entry_once() -> None:
    for name in ("VIEW3D_MT_pose", "GRAPH_MT_key", "GRAPH_MT_channel", "DOPESHEET_MT_key", "DOPESHEET_MT_channel"):
        drawn = getattr(bpy.types, name)._dyn_ui_initialize()
        assert [function.__module__ for function in drawn].count("quat_audit.ui.menus") == 1, name


def test_findings_and_detail_show_only_when_there_are_some() -> None:
    assert draw(panel._Findings) is None and draw(panel._Detail) is None
    scenes.broken_rig()
    scenes.audit()
    detail = draw(panel._Detail)
    assert detail is not None
    text = detail.text
    for part in (
        "Arm",
        "Neighboring keys in opposite hemispheres",
        "Frames 11→21: swings 340.0° where 20.0° suffices",
        "Walk",
        "Safe fix: no keyed pose changes",
        "every keyed pose stays",
    ):
        assert part in text
    assert draw(panel._Findings) is not None


def test_a_line_of_the_list() -> None:
    scenes.broken_rig()
    scenes.audit()
    choices, layout = properties.state(bpy.context), Layout()
    item = choices.rows[0]
    lists.QUATAUDIT_UL_findings.draw_item(None, bpy.context, layout, choices, item, 0, choices, "active", 0)
    assert layout.calls == [("prop", "checked"), *(("label", text) for text in ("Arm", "flip", "340° 11"))]
    assert set(icons._collection[0]) == set(icons.COLORS)


def test_a_draw_does_the_same_work_for_twenty_and_for_a_thousand_findings() -> None:
    """Counted in calls, and in steps of the interpreter, which no other program on the machine makes more."""
    ui_list = SimpleNamespace(bitflag_filter_item=1 << 30)

    def once() -> None:
        choices = properties.state(bpy.context)
        for part in (panel._Main, panel._Findings, panel._Detail, panel._Tools):
            part.draw(SimpleNamespace(layout=Layout()), bpy.context)
        flags, _ = lists.QUATAUDIT_UL_findings.filter_items(ui_list, bpy.context, choices, "rows")
        assert len(flags) == len(RESULTS.rows)
        for number in range(10):
            item = choices.rows[number]
            lists.QUATAUDIT_UL_findings.draw_item(
                ui_list, bpy.context, Layout(), choices, item, 0, choices, "active", number
            )

    calls, unchanged, after_a_change = [], [], []
    for count in (20, 1000):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        scenes.broken_rig([f"Bone.{n:04d}" for n in range(count)])
        scenes.audit()
        assert len(RESULTS.rows) == count
        calls.append([what for what, _ in draw_all().calls])
        once()
        unchanged.append(steps_of(once))
        # The draw right after a change does nothing that was not prepared when it happened.
        RESULTS.touch()
        properties.sync(properties.state(bpy.context))
        after_a_change.append(steps_of(once))
    assert calls[0] == calls[1]
    assert unchanged[1] <= 1.01 * unchanged[0] and unchanged[0] <= MOST_STEPS
    # Blender's list wants a flag for each row, and those are made anew: that is all that may grow.
    assert after_a_change[1] <= 1.01 * after_a_change[0] + FLAG_STEPS * 980 and after_a_change[0] <= MOST_STEPS


def test_typing_into_the_search_changes_what_is_listed() -> None:
    scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    choices = properties.state(bpy.context)
    ui_list = SimpleNamespace(bitflag_filter_item=1 << 30)

    def listed() -> list[str]:
        flags, _ = lists.QUATAUDIT_UL_findings.filter_items(ui_list, bpy.context, choices, "rows")
        return [row.label for row, flag in zip(RESULTS.rows, flags, strict=True) if flag]

    assert listed() == ["Arm", "Leg"]
    choices.search = "leg"
    assert listed() == ["Leg"]
    choices.search, choices.show_error = "", False
    assert listed() == []
    choices.show_error, choices.rule = True, "QA104"
    assert listed() == ["Arm", "Leg"]
    choices.bone = "Arm"
    assert listed() == ["Arm"]


def test_a_rule_that_finds_nothing_any_more_is_no_filter() -> None:
    scenes.broken_rig()
    scenes.audit()
    properties.state(bpy.context).rule = "QA104"
    ops.fix_safe()
    assert properties.state(bpy.context).rule == "ALL"


def test_the_finding_that_is_looked_at_stays_when_others_go() -> None:
    scenes.broken_rig(["Arm", "Leg", "Toe"])
    scenes.audit()
    choices = properties.state(bpy.context)
    choices.active = 2
    choices.occurrence = 1
    looked_at = properties.active_row(choices).key
    arm = RESULTS.rows[0].key
    RESULTS.checked = {arm}
    assert ops.fix_checked() == {"FINISHED"}
    assert properties.active_row(choices).key == looked_at and choices.active == 1 and choices.occurrence == 1


def test_the_confirmation_says_what_changes() -> None:
    scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    text = fix.confirmation(RESULTS.rows)
    assert text == (
        "Repairs 2 findings on 2 bones; 0 of these fixes may change keyed poses. Undo takes all of it back."
    )
    layout = Layout()
    fix._Confirmed.draw(SimpleNamespace(layout=layout, _says=[text]), bpy.context)
    assert layout.text == text


# --- preferences


@pytest.fixture
def prefs():
    addon = bpy.context.preferences.addons.new()
    addon.module = preferences.ADDON
    yield addon.preferences
    bpy.context.preferences.addons.remove(addon)


def test_preferences_are_found_and_drawn(prefs) -> None:
    assert prefs is not None and preferences.get(bpy.context) == prefs
    assert (prefs.audit_after_import, prefs.audit_before_export) == (False, False)
    layout = Layout()
    preferences.Preferences.draw(_with_layout(prefs, layout), bpy.context)
    drawn = {name for what, name in layout.calls if what == "prop"}
    own = {p.identifier for p in prefs.bl_rna.properties} - {"rna_type", "bl_idname", "name"}
    assert drawn == own  # nothing that cannot be set


def _with_layout(prefs, layout):
    class Drawn:
        bl_rna = prefs.bl_rna

        def __getattr__(self, name):
            return layout if name == "layout" else getattr(prefs, name)

    return Drawn()


def test_limits_of_the_preferences_reach_the_audit(prefs, said) -> None:
    rig = scenes.broken_rig()
    curves = scenes.build.fcurves_of(rig.animation_data.action)
    for curve in curves:
        curve.keyframe_points[2].co[1] *= -1.0  # no flip
    for curve in curves:
        for point in curve.keyframe_points:
            point.co[1] *= 1.005  # a little too long
    scenes.audit()
    assert [row.key.code for row in RESULTS.rows] == ["QA103"]
    prefs.use_norm_tolerance, prefs.norm_tolerance = True, 0.01
    scenes.audit()
    assert RESULTS.rows == []
    prefs.use_norm_tolerance = False
    scenes.audit()
    assert len(RESULTS.rows) == 1


def test_profiles_and_limits_combine(prefs) -> None:
    film = next(p for p in PROFILES if p.name == "film")
    plain = preferences.settings("FILM", prefs)
    assert {rule.code for rule in plain.rules} == set(film.codes)
    prefs.use_visible_deg, prefs.visible_deg = True, 7.0
    changed = preferences.settings("FILM", prefs)
    for rule in changed.rules:
        if "visible_deg" in rule.limits:
            assert changed.limits[rule.code]["visible_deg"] == pytest.approx(7.0)
    assert film.limits["QA104"]["visible_deg"] == 0.5  # the profile itself stays


def test_a_new_file_starts_with_the_profile_of_the_preferences(prefs) -> None:
    choices = properties.state(bpy.context)
    choices.property_unset("profile")
    prefs.profile = "MOCAP"
    properties.take_defaults(bpy.context)
    assert choices.profile == "MOCAP"
    choices.profile = "FILM"
    properties.take_defaults(bpy.context)
    assert choices.profile == "FILM"


def test_colors_are_painted_anew(prefs) -> None:
    number = icons.of("error")
    prefs.error_color = (0.0, 0.0, 1.0)
    assert icons.of("error") == number
    pixels = np.array(icons._collection[0]["error"].icon_pixels_float).reshape(-1, 4)
    solid = pixels[pixels[:, 3] > 0.99]
    assert len(solid) > 100 and np.allclose(solid[:, :3], (0, 0, 1), atol=0.01)


# --- the modal audit, its events sent by hand


class Modal:
    """The operator without Blender around it."""

    modal = audit.QUATAUDIT_OT_audit.modal
    cancel = audit.QUATAUDIT_OT_audit.cancel
    _show = audit.QUATAUDIT_OT_audit._show
    _tidy = audit.QUATAUDIT_OT_audit._tidy
    _end = audit.QUATAUDIT_OT_audit._end
    _outcome = audit.QUATAUDIT_OT_audit._outcome

    def __init__(self) -> None:
        self.reports: list[tuple[set[str], str]] = []
        self._job = auditing.start(bpy.context, "ACTIVE_ACTION", "EVERYTHING")
        self._timer = bpy.context.window_manager.event_timer_add(1.0, window=bpy.context.window)
        auditing.RUNNING.append(self._job)
        properties.state(bpy.context).running = True

    def report(self, kind: set[str], text: str) -> None:
        self.reports.append((kind, text))

    def send(self, event: str) -> set[str]:
        return self.modal(bpy.context, SimpleNamespace(type=event, value="PRESS"))


def test_the_modal_audit_shows_its_progress_and_ends() -> None:
    scenes.broken_rig([f"Bone.{n}" for n in range(30)])
    modal = Modal()
    assert "Auditing" in [text for what, text in draw_all().calls if what == "progress"]
    assert modal.send("MOUSEMOVE") == {"RUNNING_MODAL"} and modal._job.fraction == 0.0
    while (result := modal.send("TIMER")) == {"RUNNING_MODAL"}:
        assert 0.0 <= properties.state(bpy.context).progress <= 1.0
    assert result == {"FINISHED"} and len(RESULTS.rows) == 30
    assert modal.reports == [({"INFO"}, "Errors: 30, warnings: 0, notes: 0; the worst is 340°")]
    assert auditing.RUNNING == [] and not properties.state(bpy.context).running


def test_esc_stops_the_audit_and_keeps_the_findings_of_before() -> None:
    scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    before = RESULTS.rows
    modal = Modal()
    assert modal.send("ESC") == {"CANCELLED"}
    assert modal.reports == [({"WARNING"}, "The audit was stopped; the findings of the one before stay")]
    assert RESULTS.rows is before and auditing.RUNNING == [] and not properties.state(bpy.context).running


def test_an_audit_is_made_of_many_steps_with_rising_progress() -> None:
    """Every key flips: the most that there can be to measure. (scripts/test_ui.py times the redraws.)"""
    bones = [f"Bone.{n}" for n in range(20)]
    rig = scenes.broken_rig(bones, action="Long")
    for curve in list(scenes.build.fcurves_of(rig.animation_data.action)):
        scenes.build.fcurves_of(rig.animation_data.action).remove(curve)
    values = scenes.flipped(500) * np.where(np.arange(500) % 2, -1.0, 1.0)[:, None]
    for bone in bones:
        scenes.key(scenes.build.fcurves_of(rig.animation_data.action), bone, values, np.arange(500) * 3.0)
    job = auditing.start(bpy.context, "ACTIVE_ACTION", "EVERYTHING")
    fractions = []
    while job.running:
        job.run(0.0)
        fractions.append(job.fraction)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert len(set(fractions)) >= 14  # at least once a rule


# --- registration


def test_a_failed_registration_leaves_nothing() -> None:
    ui.unregister()

    class Broken(bpy.types.Operator):
        bl_idname = "not valid"
        bl_label = "x"

    module = SimpleNamespace(CLASSES=(Broken,))
    good = ui.MODULES
    ui.MODULES = (*good[:4], module)
    try:
        with pytest.raises((ValueError, RuntimeError)):
            ui.register()
        assert not hasattr(bpy.types.WindowManager, properties.NAME)
        assert "audit" not in dir(bpy.ops.quat_audit)
    finally:
        ui.MODULES = good
    ui.register()
    assert "audit" in dir(bpy.ops.quat_audit)


def test_a_file_that_was_saved_while_an_audit_ran_opens_idle(tmp_path) -> None:
    """The window manager is saved with the file: with the progress, and with lines of findings that are not there."""
    scenes.broken_rig(["Arm", "Leg"])
    scenes.audit()
    choices = properties.state(bpy.context)
    choices.running, choices.progress = True, 0.5
    path = tmp_path / "running.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    RESULTS.clear()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    choices = properties.state(bpy.context)
    assert not choices.running and len(choices.rows) == len(RESULTS.rows) == 0
    assert not [text for what, text in draw_all().calls if what == "progress"]
