# SPDX-License-Identifier: GPL-3.0-or-later
"""A mistake in a rule is told as an internal error, by every button; what really changed is told in plain words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.audit import profiles
from quat_audit.audit.settings import Settings
from quat_audit.blender import read, write
from quat_audit.errors import InputError
from quat_audit.results.memory import RESULTS
from quat_audit.rules import RULES
from quat_audit.text import Text
from quat_audit.ui import auditing, following, guard, hooks, preferences
from quat_audit.ui.comparison import state as comparing
from quat_audit.ui.operators.audit import QUATAUDIT_OT_audit, Stepwise
from quat_audit.ui.preview import state as preview
from tests.blender import build_case as build
from tests.ui import scenes
from tests.ui.scenes import choose, state

pytestmark = pytest.mark.usefixtures("panel")
ops = bpy.ops.quat_audit
REPORT = "; please report it with the file, the text of the system console and the version of Blender"


def broken(error: Exception) -> Callable[..., Any]:
    def rule_at_fault(*_: object, **__: object) -> Any:
        raise error

    return rule_at_fault


@pytest.fixture
def break_rule(monkeypatch) -> Callable[..., None]:
    """Have a rule raise in what it does, whoever asks for the rules that apply."""

    def put(code: str, **parts: Any) -> None:
        real = preferences.settings

        def settings(*args: Any) -> Settings:
            found = real(*args)
            return replace(found, rules=tuple(replace(r, **parts) if r.code == code else r for r in found.rules))

        monkeypatch.setattr(preferences, "settings", settings)

    return put


def traceback_of(caplog, error: Exception) -> None:
    """One record of it, with the function that raised."""
    (record,) = [r for r in caplog.records if r.exc_info is not None]
    assert record.exc_info[1] is error and record.levelname == "ERROR"
    tb = record.exc_info[2]
    while tb.tb_next is not None:
        tb = tb.tb_next
    assert tb.tb_frame.f_code.co_name == "rule_at_fault"


def errors(said: Callable[[], list[str]]) -> list[str]:
    return [line for line in said() if line.startswith("Error: ")]


def test_an_audit_says_internal_error_and_not_that_the_file_changed(break_rule, said, caplog) -> None:
    scenes.broken_rig()
    scenes.audit()
    shown = [row.key for row in RESULTS.rows]
    error = IndexError("index 3 is out of bounds")
    break_rule("QA104", find=broken(error))
    said()
    with pytest.raises(RuntimeError, match="internal error: IndexError: index 3 is out of bounds"):
        ops.audit("EXEC_DEFAULT")
    assert errors(said) == [f"Error: internal error: IndexError: index 3 is out of bounds{REPORT}"]
    traceback_of(caplog, error)
    assert [row.key for row in RESULTS.rows] == shown, "what was found before stays"
    assert not auditing.RUNNING and not state().running


def test_a_modal_audit_ends_with_everything_put_back(break_rule, caplog) -> None:
    """Blender has no modal operators without a window: its calls are made by hand."""
    scenes.broken_rig()
    error = IndexError("index 3")
    break_rule("QA104", find=broken(error))
    reports, removed, status = [], [], []
    manager = SimpleNamespace(event_timer_remove=removed.append)
    context = SimpleNamespace(
        window_manager=manager, workspace=SimpleNamespace(status_text_set=status.append), scene=bpy.context.scene
    )

    class Operator(Stepwise):
        bl_idname, bl_options = QUATAUDIT_OT_audit.bl_idname, QUATAUDIT_OT_audit.bl_options

        def report(self, kind: set[str], message: str) -> None:
            reports.append((kind, message))

    operator = Operator()
    operator._job, operator._timer = auditing.start(bpy.context, "FILE", "EVERYTHING"), "the timer"
    auditing.RUNNING.append(operator._job)
    state().running = True
    context.window_manager.quat_audit = state()
    answers = []
    while not answers or answers[-1] == {"RUNNING_MODAL"}:
        answers.append(operator.modal(context, SimpleNamespace(type="TIMER", value="NOTHING")))
    assert answers[-1] == {"CANCELLED"}
    assert reports == [({"ERROR"}, f"internal error: IndexError: index 3{REPORT}")]
    assert removed == ["the timer"] and status[-1] is None
    assert not auditing.RUNNING and not state().running
    operator.cancel(context)  # Blender may still call it: nothing is taken away twice
    operator._job = auditing.start(bpy.context, "FILE", "EVERYTHING")
    auditing.RUNNING.append(operator._job)
    operator.put_back(context)  # it failed before it had a timer
    assert removed == ["the timer"] and not auditing.RUNNING
    traceback_of(caplog, error)


@pytest.mark.parametrize(("part", "error"), [("find", IndexError("index 3")), ("fix", KeyError("x"))])
def test_a_fix_says_internal_error_repairs_the_others_and_leaves_this_one(
    break_rule, said, caplog, part: str, error: Exception
) -> None:
    rig = scenes.broken_rig()
    scenes.audit()
    before = scenes.values(rig.animation_data.action)
    break_rule("QA104", **{part: broken(error)})
    said()
    with pytest.raises(RuntimeError, match="internal error"):
        ops.fix_safe("EXEC_DEFAULT")
    (line,) = said()
    assert line == f"Error: internal error: {type(error).__name__}: {error}{REPORT}; nothing was changed there"
    assert scenes.values(rig.animation_data.action) == before
    traceback_of(caplog, error)


def test_what_fails_after_keys_were_written_is_one_undo_step(monkeypatch, said, caplog) -> None:
    """FINISHED pushes an undo step; the ERROR beside it makes `bpy.ops` raise."""
    rig = scenes.broken_rig()
    scenes.audit()
    before = scenes.values(rig.animation_data.action)
    error = IndexError("index 3")
    monkeypatch.setattr(auditing, "audit_record", broken(error))
    operator = SimpleNamespace(bl_idname="x", bl_options={"REGISTER", "UNDO"}, report=lambda *_: None)
    assert guard._end(operator, bpy.context, error) == {"FINISHED"}
    operator.bl_options = {"REGISTER"}
    assert guard._end(operator, bpy.context, error) == {"CANCELLED"}
    caplog.clear()
    with pytest.raises(RuntimeError, match="internal error: IndexError: index 3"):
        ops.fix_safe("EXEC_DEFAULT")
    assert scenes.values(rig.animation_data.action) != before
    traceback_of(caplog, error)


def test_a_comparison_says_internal_error(break_rule, said, caplog) -> None:
    scenes.broken_rig()
    scenes.audit()
    choose("Arm")
    frame = bpy.context.scene.frame_current
    error = KeyError("x")
    break_rule("QA104", fix=broken(error))
    said()
    with pytest.raises(RuntimeError, match="internal error: KeyError: 'x'"):
        ops.compare("EXEC_DEFAULT")
    assert errors(said) == [f"Error: internal error: KeyError: 'x'{REPORT}"]
    assert comparing.STATE.shown is None and bpy.context.scene.frame_current == frame
    traceback_of(caplog, error)


@pytest.mark.parametrize(
    ("name", "draw", "module"), [("_draw_shown", "_draw", comparing), ("_ghost", "_draw_view", preview)]
)
def test_a_drawing_that_fails_goes_off_and_is_told_once(monkeypatch, caplog, name, draw, module) -> None:
    told, timers, off = [], [], []
    error = IndexError("index 3")
    monkeypatch.setattr(module, name, broken(error))
    monkeypatch.setattr(module, "switch_off", lambda: off.append(module))
    monkeypatch.setattr(guard, "_tell", told.append)
    monkeypatch.setattr(guard.bpy.app.timers, "register", lambda f, **_: timers.append(f), raising=False)
    getattr(module, draw)()
    getattr(module, draw)()
    assert not off and len(timers) == 1, "the handler that runs must not be removed"
    timers[0]()
    assert off == [module] and told == [f"internal error: IndexError: index 3{REPORT}"]
    traceback_of(caplog, error)


def test_a_timer_that_fails_is_told_and_ends(monkeypatch, said, caplog) -> None:
    scenes.broken_rig()
    scenes.audit()
    error = KeyError("x")
    monkeypatch.setattr(read, "read_action", broken(error))
    following.look_again()
    said()
    assert following._tick() is None
    assert errors(said) == [f"Error: internal error: KeyError: 'x'{REPORT}"]
    traceback_of(caplog, error)


def test_an_automatic_audit_says_internal_error(break_rule, said, caplog) -> None:
    scenes.broken_rig()
    error = IndexError("index 3")
    break_rule("QA104", find=broken(error))
    hooks._audit(lambda: auditing.audit_now(bpy.context), Text("Import"))
    assert errors(said) == [f"Error: internal error: IndexError: index 3{REPORT}"]
    traceback_of(caplog, error)


def test_a_file_says_internal_error(tmp_path, caplog) -> None:
    scenes.broken_rig()
    path = tmp_path / "walk.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    faults = [("find", IndexError("index 3"), api.audit_file), ("fix", KeyError("x"), api.fix_file)]
    for part, error, work in faults:
        caplog.clear()
        rules = tuple(replace(rule, **{part: broken(error)}) if rule.code == "QA104" else rule for rule in RULES)
        row = work(path, replace(api.DEFAULT, rules=rules))
        assert row.status == "failed" and row.repair is None
        assert row.reason.startswith(f"internal error: {type(error).__name__}: {error}; please report it with the file")
        (record,) = [r for r in caplog.records if r.exc_info is not None]
        assert record.getMessage() == f"internal error: {path}"


# --- what really changed


def test_an_action_removed_while_it_is_read_is_told_in_plain_words(said, caplog) -> None:
    scenes.broken_rig()
    build.make_fcurves("Other", "Other")
    job = auditing.start(bpy.context, "FILE", "EVERYTHING")
    slices = read.read_action_slices(bpy.data.actions["Walk"], slice_seconds=0.0)
    job._slices = (done for done, *_ in slices)
    job.run(0.0)
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    while job.running:
        job.run(0.0)
    why = "action 'Walk' is no longer in this file as it was: read it again"
    assert job.why_aborted == f"The file changed while it was audited ({why})"
    assert caplog.records == []


def test_keys_that_changed_before_they_are_written_are_told_in_plain_words(monkeypatch, said, caplog) -> None:
    rig = scenes.broken_rig()
    scenes.audit()
    real = read.find_set
    curves = build.fcurves_of(rig.animation_data.action)

    def changed(record: Any) -> Any:
        for curve in curves:
            curve.keyframe_points.insert(55.0, 1.0)
        return real(record)

    monkeypatch.setattr(write, "find_set", changed)
    said()
    with pytest.raises(RuntimeError, match="changed since it was read"):
        ops.fix_safe("EXEC_DEFAULT")
    (line,) = errors(said)
    assert line.startswith("Error: action 'Walk': pose.bones") and line.endswith(
        "changed since it was read: read it again; nothing was changed there"
    )
    assert "internal" not in line and caplog.records == []


def test_an_unknown_limit_is_bad_usage() -> None:
    settings = replace(profiles.profile_settings(profiles.EVERYTHING), limits={"QA103": {"nonsense": 1.0}})
    scenes.broken_rig()
    with pytest.raises(InputError, match="QA103 has no limit 'nonsense'"):
        api.audit_action(bpy.data.actions["Walk"], settings)
