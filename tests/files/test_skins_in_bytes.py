# SPDX-License-Identifier: GPL-3.0-or-later
"""What a file read from its bytes says about skins that nobody looked at; and why a linked mesh has no fix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from quat_audit import api
from quat_audit.audit.pipeline import judge
from quat_audit.cli import main as cli
from quat_audit.findings.ignores import Ignore
from quat_audit.rules import RULES
from quat_audit.skinning.skin import PosedSkin, make_motion
from tests.files.gltf.gltf_builder import Builder, channel, quaternions
from tests.judging import audit_skin, repair_skin
from tests.skinning import scalar

SKIN = scalar.make_skin([(0.1, 0.0, 0.5), (0.0, 0.1, 1.5), (0.1, 0.1, 1.0)], [[(0, 0.5)], [(1, 1.0)], []])
MOTION = make_motion(np.tile(np.eye(4), (2, len(SKIN.bones), 1, 1)))
ROW = ("weights and deformation are not looked at in the bytes of a file: --via blender does",)


def glb(folder: Path, skins: object) -> Path:
    builder = Builder()
    q = quaternions(1, 1)
    builder.animate(channel(builder.accessor(np.array([0.0, 1.0])), builder.accessor(np.concatenate([q, q]))))
    if skins is not None:
        builder.doc["skins"] = skins
    return builder.write_glb(folder)


@pytest.mark.parametrize("count", [1, 3])
def test_one_row_a_file_and_no_other_exit_code(tmp_path: Path, count: int) -> None:
    path = glb(tmp_path, [{"joints": [0]}] * count)
    report = api.audit_file(path)
    assert report.status == "audited" and not report.findings
    (row,) = report.not_evaluated
    assert row == ("1 skin" if count == 1 else "3 skins", *ROW)
    assert cli.main(["audit", str(path), "--fail-on", "note"]) == 0


def test_quiet_without_skins_and_without_rules_about_them(tmp_path: Path) -> None:
    assert api.audit_file(glb(tmp_path, None)).not_evaluated == []
    assert api.audit_file(glb(tmp_path, [])).not_evaluated == []
    keys = api.Settings(rules=tuple(rule for rule in RULES if rule.judges == "clip"))
    assert api.audit_file(glb(tmp_path, [{"joints": [0]}]), keys).not_evaluated == []


@pytest.mark.parametrize("broken", ["nonsense", 7, {"a": 1}, [3]])
def test_broken_skins_are_no_reason_to_refuse_the_file(tmp_path: Path, broken: object) -> None:
    assert api.audit_file(glb(tmp_path, broken)).status == "audited"


def test_a_mesh_that_must_not_be_written_says_why_it_has_no_fix() -> None:
    linked = replace(SKIN, read_only="the mesh is linked from another file")
    free = audit_skin(SKIN, MOTION)
    shown = audit_skin(linked, MOTION)
    assert any(f.fix != "none" for f in free) and all(f.fix == "none" for f in shown)
    for before, after in zip(free, shown, strict=True):
        said = after.message == f"{before.message} (the mesh is linked from another file)"
        assert said is (before.fix != "none") and set(after.occurrences.fix.tolist()) == {"none"}


def test_what_a_mesh_ignores_is_neither_reported_nor_repaired() -> None:
    (finding,) = [f for f in audit_skin(SKIN, MOTION) if f.code == "QA602"]
    meant = replace(SKIN, ignores=(Ignore("QA602", finding.data_path, "meant"),))
    judged = judge(PosedSkin(meant, MOTION))
    assert "QA602" not in {f.code for f in judged.findings} and [i.reason for i in judged.ignored] == ["meant"]
    assert "QA602" not in {a.code for a in repair_skin(meant, MOTION, unsafe=True).applied}
    assert "QA602" in {a.code for a in repair_skin(SKIN, MOTION, unsafe=True).applied}
