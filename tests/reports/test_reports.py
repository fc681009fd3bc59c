# SPDX-License-Identifier: GPL-3.0-or-later
"""Both formats over a report that has everything: failed files, NaN, many occurrences, a repair."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quat_audit import api, reports
from quat_audit.findings.finding import Finding, FixKind, Severity, make_occurrences, worst_of, worst_place
from quat_audit.findings.fingerprint import fingerprint
from quat_audit.findings.report import (
    Applied,
    ClipLine,
    FileRepair,
    FileReport,
    Ignored,
    Proof,
    ReaderLine,
    Refused,
    Report,
    SkinProof,
)
from quat_audit.reports import FORMATS, json_report, text
from tests import schemas


def finding(bone: str, excess: list[float], severity: list[Severity], fix: FixKind = "safe") -> Finding:
    n = len(excess)
    occurrences = make_occurrences(
        frames=np.stack([np.arange(16.0, 16 + n), np.arange(17.0, 17 + n)], axis=1),
        rows=np.arange(n),
        kind="visible",
        severity=severity,
        fix=fix,
        measured={
            "excess_deg": np.array(excess),
            "swept_deg": 20.0 + np.array(excess),
            "shortest_deg": 20.0,
        },
        kinds=("visible",),
    )
    return Finding(
        code="QA104",
        rule="sign-flip",
        severity=worst_of(severity),
        action="Walk",
        slot="Rig",
        owner="Rig",
        bone=bone,
        data_path=f'pose.bones["{bone}"].rotation_quaternion',
        fix=fix,
        occurrences=occurrences,
        worst=worst_place(occurrences, np.array(excess)),
        sentences=("swings {swept_deg:.1f}° where {shortest_deg:.1f}° suffices",),
        leading="swept_deg",
    )


def full_report() -> Report:
    walk = ClipLine("Walk", "Rig", "Rig", (1.0, 40.0), 24.0, 3, 480)
    bad = FileReport("b/walk.blend", read_via="blender", clips=[walk], not_evaluated=[("Hand", "driven")])
    bad.findings = [
        finding("Hand.R", [5.0], ["warning"]),
        finding("Forearm.L", [320.0, 1.0, 300.0, 310.0, 2.0], ["error"] * 5),
        finding("腕", [math.nan, math.inf], ["note", "note"], fix="unsafe"),
    ]
    fixed = replace(bad, path="a/walk.glb", not_evaluated=[])
    fixed.repair = FileRepair(
        [Applied("QA104", 4, 31)], [Refused("QA103", "/nodes/1/rotation", "shared")],
        Proof(0.0, 340.0, 2, 0), "out/walk.glb", "a/walk.glb.bak", "a remark",
    )  # fmt: skip
    fixed.after = FileReport("a/walk.glb", clips=[walk], findings=[finding("Hand.R", [5.0], ["warning"])])
    clean = FileReport("c/clean.bvh", clips=[walk])
    failed = FileReport("d/cut.glb", "failed", "the file is empty (0 bytes)")
    return Report([failed, clean, bad, fixed], "4.5.15")


def test_what_a_repair_uncovered_is_not_said_to_be_still_there() -> None:
    report = full_report()
    fixed = next(f for f in report.files if f.repair)
    assert fixed.after is not None
    fixed.after.findings = [
        finding("Hand.R", [5.0], ["warning"]),  # the same with other figures
        finding("Thumb.R", [90.0], ["error"]),
        replace(finding("Forearm.L", [9.0], ["warning"]), code="QA103", rule="non-unit-quaternion"),
        finding("Little.R", [1.0], ["note"]),
    ]
    lines = text.render(report).splitlines()
    blocks = {title: lines.index(f"  {title}:") for title in ("still there", "new")}
    told = {
        title: [line.split()[0] for line in lines[at + 2 : at + 2 + count]]  # below the clip's name
        for (title, at), count in zip(blocks.items(), (1, 2), strict=True)
    }
    assert told == {"still there": ["Hand.R"], "new": ["Thumb.R", "Forearm.L"]}
    assert not any("Little.R" in line for line in lines)
    fixed.after.findings = fixed.after.findings[:1]
    assert "  new:" not in text.render(report).splitlines()


def test_the_action_of_a_bvh_file_is_named_after_the_file() -> None:
    """So the result's has another name, and its findings are those of the source all the same."""
    report = full_report()
    fixed = next(f for f in report.files if f.repair)
    assert fixed.after is not None
    fixed.after.findings = [replace(finding("Hand.R", [5.0], ["warning"]), action="walk_fixed")]
    assert "  still there:" in (said := text.render(report).splitlines()) and "  new:" not in said
    fixed.clips = [*fixed.clips, replace(fixed.clips[0], action="Run")]
    assert "  new:" in text.render(report).splitlines()


def test_the_largest_displacement_has_its_frame() -> None:
    report = full_report()
    fixed = next(f for f in report.files if f.repair)
    assert fixed.repair is not None
    fixed.repair.skin_proof = SkinProof(vertices=3, sound_mm=0.0, moved_mm=12.34, moved_frame=17.5)
    assert "largest change anywhere 12.3 mm (frame 17.5)" in text.render(report)
    fixed.repair.skin_proof = SkinProof(vertices=3)
    assert "largest change anywhere 0.0 mm\n" in text.render(report)


def _strict(document: str) -> Any:
    def no_constant(name: str) -> None:
        raise AssertionError(f"{name} is not JSON")

    return json.loads(document, parse_constant=no_constant)


@pytest.mark.tools
def test_json_is_valid_strict_and_as_the_schema_says() -> None:
    document = _strict(json_report.render(full_report()))
    schemas.check(document, schemas.REPORT)
    assert [f["path"] for f in document["files"]] == ["a/walk.glb", "b/walk.blend", "c/clean.bvh", "d/cut.glb"]
    assert document["tool"]["blender"] == "4.5.15"
    assert document["summary"]["findings"] == {"error": 2, "warning": 2, "note": 2}
    assert document["summary"]["occurrences"] == {"QA104": 16}
    by_bone = {f["bone"]: f for f in document["files"][1]["findings"]}
    assert [o["measured"]["excess_deg"] for o in by_bone["腕"]["occurrences"]] == [None, None]
    assert by_bone["Forearm.L"]["occurrences"][0] == {
        "frames": [16, 17],
        "class": "visible",
        "severity": "error",
        "fix": "safe",
        "measured": {"excess_deg": 320, "swept_deg": 340, "shortest_deg": 20},
    }
    repair = document["files"][0]["repair"]
    assert repair["proof"] == {
        "max_key_change_deg": 0, "max_between_change_deg": 340, "keys_added": 2, "keys_removed": 0, "not_measured": [],
    }  # fmt: skip
    assert (repair["output"], repair["backup"], repair["remark"]) == ("out/walk.glb", "a/walk.glb.bak", "a remark")


def test_a_fault_of_one_key_has_one_frame_and_frames_lose_their_noise() -> None:
    row = finding("A", [1.0], ["error"])
    row = replace(row, occurrences=replace(row.occurrences, frames=np.array([[0.7 * 24, 0.7 * 24]])))
    report = Report([FileReport("x", findings=[row])])
    (occurrence,) = json_report.as_dict(report)["files"][0]["findings"][0]["occurrences"]
    assert occurrence["frames"] == [16.8]


def test_the_order_of_work_changes_no_report() -> None:
    report = full_report()
    turned = Report(list(reversed(report.files)), report.blender)
    for file in turned.files:
        file.findings = list(reversed(file.findings))
    for render in FORMATS.values():
        assert render(turned) == render(full_report())


def test_the_text_shows_the_worst_first_and_three_of_many() -> None:
    lines = text.render(full_report()).splitlines()
    mine = lines[next(i for i, line in enumerate(lines) if line.startswith("b/walk.blend")) :]
    places = [line for line in mine[: mine.index("  not evaluated: Hand: driven")] if "frame" in line]
    assert [re.findall(r"frames (\d+)→(\d+): swings ([\d.]+)° where ([\d.]+)° suffices", p) for p in places[:3]] == [
        [("16", "17", "340.0", "20.0")],
        [("19", "20", "330.0", "20.0")],
        [("18", "19", "320.0", "20.0")],
    ]
    assert places[0].strip().startswith("Forearm.L  frames 16→17")
    assert places[0].endswith("[QA104 sign-flip, error, safe fix]")
    assert "and 2 more" in "\n".join(mine)
    assert [p.split()[0] for p in places if not p.startswith("     ")] == ["Forearm.L", "Hand.R", "腕"]


def test_the_text_tells_the_repair_and_its_proof() -> None:
    shown = text.render(full_report())
    assert "repaired QA104: 31 keys on 4 tracks" in shown
    assert "keyed poses changed by 0.000°; largest change between keys 340.0°; 2 keys added" in shown
    assert "refused: QA103 /nodes/1/rotation: shared" in shown
    assert "1 error, 1 warning, 1 note → 1 warning  ⇒ out/walk.glb (the original is kept as a/walk.glb.bak)" in shown
    assert "a remark" in shown


def test_clean_files_take_one_line_and_failed_files_stand_out() -> None:
    lines = text.render(full_report()).splitlines()
    assert sum("clean.bvh" in line for line in lines) == 1
    assert "FAILED  d/cut.glb: the file is empty (0 bytes)" in lines
    assert lines.index("FAILED  d/cut.glb: the file is empty (0 bytes)") < lines.index("4 files: 3 audited, 1 failed")


def test_the_summary_says_what_fix_would_do() -> None:
    report = full_report()
    report.files = [f for f in report.files if f.after is None]
    report.files[1].findings = [finding("A", [1.0], ["error"]), finding("X", [1.0], ["error"], fix="unsafe")]
    assert "3 findings would be repaired by `fix`, 2 need --unsafe-fixes" in text.render(report)
    report.files[1].findings.pop()
    assert "3 findings would be repaired by `fix`, 1 needs --unsafe-fixes" in text.render(report)


@pytest.mark.tools
def test_a_finding_has_its_fingerprint_wherever_it_stands() -> None:
    report = full_report()
    report.files[1].ignored = [Ignored(finding("Toe", [5.0], ["note"]), "meant")]
    by_path = {file["path"]: file for file in json_report.as_dict(report)["files"]}
    named = {f["bone"]: f["fingerprint"] for f in by_path["b/walk.blend"]["findings"]}
    assert named == {f.bone: fingerprint(f) for f in report.files[2].findings}
    assert len(set(named.values())) == 3, "each bone has its own"
    # Whatever the file and its figures: here, after the repair of another file, and among what is ignored.
    assert by_path["a/walk.glb"]["after"]["findings"][0]["fingerprint"] == named["Hand.R"]
    (ignored,) = by_path["c/clean.bvh"]["ignored"]
    assert ignored["fingerprint"] == fingerprint(finding("Toe", [9.0, 1.0], ["error", "note"]))
    schemas.check(_strict(json_report.render(report)), schemas.REPORT)


@pytest.mark.parametrize("color", [False, True])
def test_color_only_when_asked_and_it_changes_nothing_else(color: bool) -> None:
    shown = text.render(full_report(), color=color)
    assert ("\x1b[" in shown) is color
    assert re.sub(r"\x1b\[\d+m", "", shown) == text.render(full_report())


@pytest.mark.tools
def test_an_empty_report() -> None:
    schemas.check(_strict(json_report.render(Report())), schemas.REPORT)
    assert "0 files: 0 audited" in text.render(Report())


@pytest.mark.tools
def test_a_real_repair_is_as_the_schema_says(tmp_path: Path) -> None:
    path = tmp_path / "turn.bvh"
    path.write_text(
        "HIERARCHY\nROOT A\n{\nOFFSET 0 0 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n}\n"
        "MOTION\nFrames: 4\nFrame Time: 0.04\n160 0 0\n175 0 0\n-170 0 0\n-155 nan 0\n",
        encoding="utf-8",
    )
    row = api.fix_file(path, output=tmp_path / "out/turn.bvh")
    document = _strict(json_report.render(Report([row])))
    schemas.check(document, schemas.REPORT)
    (file,) = document["files"]
    assert {a["code"] for a in file["repair"]["applied"]} == {"QA101", "QA201"}
    assert file["after"]["findings"] == []


@pytest.mark.parametrize("files", [0, 1, 4])
def test_the_parts_of_a_report_are_the_report(files: int) -> None:
    """The document is written a file at a time; it must be what writing it whole would give, hostile names included."""
    report = full_report()
    report.files[2].path = 'hostile "files": [ \ud800 \\ud83d \n \x1b 🌀/walk.blend'
    report = Report(report.files[:files], "4.5.15")
    whole = json_report.as_json(json_report.as_dict(report))
    assert json_report.render(report) == whole
    assert "".join(reports.parts("json", report)) == whole
    assert len(list(reports.parts("json", report))) == files + 2
    assert "".join(reports.parts("text", report)) == text.render(report)


def many(count: int, severity: Severity, excess: float, *, action: str = "Walk", first: int = 0) -> list[Finding]:
    """Findings on as many bones; of the first one the second place shows most."""
    found = [finding(f"B{first + n}", [excess - n, excess - n + 1], [severity] * 2) for n in range(count)]
    return [replace(f, action=action, worst=1) for f in found]


def shown(findings: list[Finding], **options: bool) -> str:
    return text.render(Report([FileReport("a.blend", findings=findings)]), **options)


def test_a_long_report_tells_a_rule_in_a_line_with_its_worst_place() -> None:
    notes = [*many(20, "note", 40.0), *many(12, "note", 90.0, action="Run")]
    said = shown(notes)
    assert "QA104 sign-flip on 20 bones of 2 actions, up to 111.0°: --verbose lists them  [note, safe fix]" in said
    assert "the worst: Run · B0, frames 17→18 (and 1 more): swings 111.0° where 20.0° suffices" in said
    assert said.count("suffices") == 1
    # A few of another severity stand by themselves, above.
    said = shown([*notes, *many(3, "warning", 300.0), finding("X", [1.0], ["warning"], fix="none")][:-1])
    assert said.count("[QA104 sign-flip, warning, safe fix]") == 3 and "on 20 bones of 2 actions" in said
    assert said.index("warning, safe fix") < said.index("on 20 bones")
    mixed = [*notes[1:], replace(notes[0], fix="none")]
    assert "[note, fixes: 31 safe, 1 none]" in shown(mixed)


@pytest.mark.parametrize("count", [31, 60])
def test_errors_are_listed_up_to_ten_and_the_rest_is_counted(count: int) -> None:
    said = shown(many(count, "error", 200.0))
    assert said.count("[QA104 sign-flip, error, safe fix]") == 10
    assert f"{count - 10} more of QA104 sign-flip on {count - 10} bones of 1 action, up to 211.0°" in said
    assert [line.split()[0] for line in said.splitlines() if line.endswith("error, safe fix]")][:10] == [
        f"B{n}" for n in range(10)
    ]


def test_what_is_not_long_and_what_verbose_asks_for_is_listed() -> None:
    for findings, options in ((many(30, "note", 40.0), {}), (many(200, "note", 400.0), {"verbose": True})):
        said = shown(findings, **options)
        assert "--verbose" not in said
        assert said.count("[QA104 sign-flip, note, safe fix]") == 2 * len(findings)
    assert json_report.render(Report()) == json_report.render(Report(), verbose=True)


def test_what_a_repair_brings_is_not_called_still_there() -> None:
    report = full_report()
    after = report.files[3].after
    assert after is not None
    after.findings.append(finding("Toe", [300.0], ["error"]))
    said = text.render(report)
    still, new = said.index("  still there:"), said.index("  new:")
    assert still < said.index("Hand.R", still) < new < said.index("Toe")
    assert "  new:" not in text.render(full_report())


def test_verbose_says_who_plays_the_keys_of_a_scene_and_a_caution_stands_below_its_finding() -> None:
    readers = [ReaderLine(f"Rig{n}", "action", "", f"Rig{n}") for n in range(4)]
    readers[1] = replace(readers[1], linked=True, mixed="it blends in or out")
    readers.append(ReaderLine("Rig0", "driver", "location", "Rig0, by the driver of location"))
    line = ClipLine("Walk", "Rig", "Rig", (1.0, 9.0), 24.0, 4, 16, tuple(readers))
    found = replace(finding("Arm", [4.0], ["error"], "unsafe"), caution="a keyed rotation of Rig1 would change by 7.0°")
    file = FileReport("walk.blend", read_via="blender", clips=[line], findings=[found])
    said = text.render(Report([file]), verbose=True).splitlines()
    at = said.index("    Played by Rig0; Rig1 (linked; mixed: it blends in or out); Rig2 (+1)")
    assert said[at + 1] == "    Read by Rig0, by the driver of location"
    assert said[at + 3].strip() == found.caution
    assert "Played by" not in text.render(Report([file]))
    assert "Played by" not in text.render(Report([replace(file, read_via="bytes")]), verbose=True)
    nobody = replace(file, clips=[replace(line, readers=())])
    assert "    Nobody in this file plays these keys" in text.render(Report([nobody]), verbose=True).splitlines()
