# SPDX-License-Identifier: GPL-3.0-or-later
"""What Blender's importers do to the animation of an .fbx file is said, by version: nothing of it passes for clean."""

from __future__ import annotations

from pathlib import Path

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.audit.settings import Settings
from quat_audit.findings.report import FileReport
from quat_audit.rules import RULES
from tests.blender.previewed import run
from tests.files.fbx_files import Node, write

# Which importer there is: one in Python up to 4.4, one in C++ from 4.5 on, which brings in every curve from 5.2 on.
READS_TEXT = bpy.app.version >= (4, 5, 0)
LEAVES_OUT = (4, 5, 0) <= bpy.app.version < (5, 2, 0)
FLAT = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)]
TURN = [(0.0, 0.0), (1.0, 20.0), (2.0, 40.0)]
WHOLE = {"RX": FLAT, "RY": FLAT, "RZ": TURN}
DENSE = {f"R{axis}": [(f / 24, 10.0 * f * (axis == "Z")) for f in range(55)] for axis in "XYZ"}


def keys_of(report: FileReport) -> list[int]:
    return [clip.keys for clip in report.clips]


def missing(report: FileReport) -> list[str]:
    return [what for what, why in report.not_evaluated if "curve for X" in why]


@pytest.mark.parametrize("as_text", [False, *([True] if READS_TEXT else [])])
def test_a_node_without_a_curve_for_x_is_there_or_named(tmp_path: Path, as_text: bool, capsys) -> None:
    path = write(tmp_path / "one.fbx", [Node("Wheel", {"Take": {"RZ": TURN}})], as_text=as_text)
    report = api.audit_file(path)
    assert report.status == "audited"
    assert missing(report) == (["Take: Wheel"] if LEAVES_OUT else [])
    assert keys_of(report) == ([] if LEAVES_OUT else [27])
    run("audit", path)
    assert "no animation" not in capsys.readouterr().out


def test_the_bones_that_are_left_out_are_told_from_the_others(tmp_path: Path) -> None:
    nodes = [
        Node("Rig", {}),
        Node("A", {"Take": WHOLE}, "LimbNode", 0),
        Node("B", {"Take": {"RZ": TURN}}, "LimbNode", 1),
        # Its rotation is taken at the times of its location alone.
        Node("C", {"Take": {"RZ": TURN, "TX": FLAT[::2], "TY": FLAT[::2], "TZ": FLAT[::2]}}, "LimbNode", 2),
        Node("D", {}, "LimbNode", 3),
    ]
    report = api.audit_file(write(tmp_path / "rig.fbx", nodes))
    assert missing(report) == (["Take: B", "Take: C"] if LEAVES_OUT else [])


def test_two_takes(tmp_path: Path) -> None:
    report = api.audit_file(write(tmp_path / "two.fbx", [Node("Wheel", {"A": WHOLE, "B": {"RZ": TURN}})]))
    assert missing(report) == (["B: Wheel"] if LEAVES_OUT else [])


def test_full_turns_are_not_judged_and_nobody_repairs_what_the_importer_made(tmp_path: Path) -> None:
    path = write(tmp_path / "dense.fbx", [Node("Wheel", {"Spin": DENSE})])
    report = api.fix_file(path, output=tmp_path / "fixed.blend")
    assert report.status == "audited" and report.after is not None and report.repair is not None
    (action,) = {clip.action for clip in report.clips}
    for said in (report, report.after):
        assert not [f for f in said.findings if f.code in ("QA201", "QA203")]
        ((what, why),) = said.not_evaluated
        assert what == action and why.startswith("QA201, QA203 not judged: Blender's importer wraps and unwraps")
    assert report.repair.applied == []
    # Opened by itself the .blend is judged: that file does hold what the importer made.
    own = api.audit_file(tmp_path / "fixed.blend")
    assert own.not_evaluated == []
    assert bool([f for f in own.findings if f.code == "QA201"]) == READS_TEXT


def test_rules_that_were_not_asked_for_are_not_missed(tmp_path: Path) -> None:
    path = write(tmp_path / "dense.fbx", [Node("Wheel", {"Spin": DENSE})])
    chosen = Settings(rules=tuple(rule for rule in RULES if rule.code in ("QA104", "QA203")))
    ((_, why),) = api.audit_file(path, chosen).not_evaluated
    assert why.startswith("QA203 not judged:")


def test_a_file_whose_records_are_damaged_says_that_nobody_knows(tmp_path: Path, monkeypatch) -> None:
    from quat_audit.run import opening

    def damaged(path: Path) -> None:
        raise opening.InputError("its records are damaged")

    monkeypatch.setattr(opening.fbx, "keyed_nodes", damaged)
    report = api.audit_file(write(tmp_path / "x.fbx", [Node("Wheel", {"Take": WHOLE})]))
    assert ("the file", "whether all of its animation was imported is not known: its records are damaged") in (
        report.not_evaluated
    )
