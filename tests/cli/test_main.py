# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line on files read from their bytes: exit codes, selection, outputs, interruption."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quat_audit import api
from quat_audit.cli import main as cli
from quat_audit.rules import RULES
from tests.conditions import RAW_NAMES

ROOT = Path(__file__).resolve().parents[2]

HEADER = """HIERARCHY
ROOT Hips
{{
  OFFSET 0 0 0
  CHANNELS 3 Zrotation Xrotation Yrotation
  End Site
  {{
    OFFSET 0 1 0
  }}
}}
MOTION
Frames: {frames}
Frame Time: 0.0333333
"""


def bvh(path: Path, angles: list[float]) -> Path:
    """A BVH file with one joint that turns about Z."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"{angle:.6f} 0.000000 0.000000\n" for angle in angles)
    path.write_text(HEADER.format(frames=len(angles)) + rows, encoding="utf-8")
    return path


CLEAN = [10.0 * math.sin(i / 5) for i in range(40)]
# 170° → −170° on neighbouring frames: a wrap, a safe repair.
WRAPPED = [(i * 8.0 + 100.0 + 180.0) % 360.0 - 180.0 for i in range(40)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bvh(tmp_path / "in/clean.bvh", CLEAN)
    bvh(tmp_path / "in/deep/wrapped.bvh", WRAPPED)
    return tmp_path


def run(*arguments: object) -> int:
    return cli.main([str(a) for a in arguments])


def run_json(tmp_path: Path, *arguments: object) -> tuple[int, dict[str, Any]]:
    output = tmp_path / "report.json"
    code = run(*arguments, "--format", "json", "--output", output)
    return code, json.loads(output.read_text(encoding="utf-8"), parse_constant=pytest.fail)


def files_below(path: Path) -> dict[str, bytes]:
    return {p.relative_to(path).as_posix(): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def test_exit_codes(folder: Path) -> None:
    clean, wrapped = folder / "in/clean.bvh", folder / "in/deep/wrapped.bvh"
    assert run("audit", clean) == 0
    assert run("audit", wrapped) == 1
    assert run("audit", wrapped, "--fail-on", "never") == 0
    assert run("audit", clean, folder / "none.bvh") == 2
    assert run("audit", clean, folder / "none.bvh", "--fail-on", "never") == 2
    assert run("audit", wrapped, "--ignore", "QA2") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["audit"],
        ["preview", "x.glb"],
        ["audit", "in", "--format", "xml"],
        ["audit", "in", "--select", "QA999"],
        ["audit", "in", "--limit", "QA999.visible_deg=1"],
        ["audit", "in", "--limit", "QA104.nonsense=1"],
        ["audit", "in", "--limit", "QA104.visible_deg"],
        ["audit", "in", "--limit", "QA104.visible_deg=nan"],
        ["audit", "in", "--select", "QA104", "--ignore", "QA1"],
        ["audit", "in", "--output", "no/such/folder/report.json"],
        ["audit", "in", "--output", "in"],
        ["fix", "in"],
        ["fix", "in", "--dry-run", "--in-place"],
        ["fix", "in", "--output-dir", "in/clean.bvh"],
        ["rules", "no-such-rule"],
    ],
)
def test_bad_usage_is_2_and_says_why_on_stderr(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = files_below(folder)
    assert run(*arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "error: " in captured.err
    assert files_below(folder) == before


def test_an_unknown_code_names_the_valid_ones(capsys: pytest.CaptureFixture[str]) -> None:
    run("audit", "x.glb", "--ignore", "qa1,nonsense")
    error = capsys.readouterr().err
    assert "'nonsense'" in error
    assert all(f"{rule.code} {rule.name}" in error for rule in RULES)


@pytest.mark.parametrize("word", ["QA201", "qa201", "euler-wraparound", "QA2", " QA2 , QA104"])
def test_rules_are_selected_by_code_name_and_prefix(folder: Path, word: str) -> None:
    _, report = run_json(folder, "audit", folder / "in", "--select", word)
    assert set(report["summary"]["occurrences"]) == {"QA201"}
    _, report = run_json(folder, "audit", folder / "in", "--ignore", word)
    assert "QA201" not in report["summary"]["occurrences"]


def test_a_limit_changes_what_is_found(folder: Path) -> None:
    wrapped = folder / "in/deep/wrapped.bvh"
    assert run("audit", wrapped) == 1
    assert run("audit", wrapped, "--limit", "QA201.visible_deg=359.9", "--limit", "qa203.step_deg=1000") == 0


def test_version_and_help_are_no_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert run("--help") == 0
    assert run("fix", "--help") == 0
    assert "--unsafe-fixes" in capsys.readouterr().out


def test_fix_into_a_folder_repairs_copies_and_leaves_the_sources(folder: Path) -> None:
    before = files_below(folder / "in")
    code, report = run_json(folder, "fix", folder / "in", "--output-dir", folder / "out")
    assert code == 0
    assert files_below(folder / "in") == before
    after = files_below(folder / "out")
    assert set(after) == set(before)
    assert after["clean.bvh"] == before["clean.bvh"]
    clean, wrapped = report["files"]
    assert (clean["repair"]["applied"], clean["repair"]["output"]) == ([], str(folder / "out/clean.bvh"))
    assert wrapped["findings"]
    assert [a["code"] for a in wrapped["repair"]["applied"]] == ["QA201"]
    assert wrapped["after"]["findings"] == []
    assert wrapped["repair"]["proof"]["max_key_change_deg"] <= 1e-4
    assert wrapped["repair"]["proof"]["max_between_change_deg"] > 100.0
    assert run("audit", folder / "out", "--fail-on", "note") == 0


def test_fixing_again_changes_nothing(folder: Path) -> None:
    run("fix", folder / "in", "--output-dir", folder / "out")
    first = files_below(folder / "out")
    run("fix", folder / "in", "--output-dir", folder / "out")
    assert files_below(folder / "out") == first
    code, report = run_json(folder, "fix", folder / "out", "--in-place")
    assert (code, files_below(folder / "out")) == (0, first)
    assert [f["repair"]["output"] for f in report["files"]] == [None, None]


def test_an_output_folder_inside_the_source_folder_is_not_audited_again(folder: Path) -> None:
    for _ in range(2):
        _, report = run_json(folder, "fix", folder / "in", "--output-dir", folder / "in/fixed")
        assert report["summary"]["files"] == 2
    assert set(files_below(folder / "in/fixed")) == {"clean.bvh", "deep/wrapped.bvh"}


def test_fix_in_place_keeps_the_original(folder: Path) -> None:
    before = files_below(folder / "in")
    code, report = run_json(folder, "fix", folder / "in", "--in-place")
    after = files_below(folder / "in")
    assert code == 0
    assert after.pop("deep/wrapped.bvh.bak") == before["deep/wrapped.bvh"]
    assert set(after) == set(before)
    assert after["clean.bvh"] == before["clean.bvh"]
    assert after["deep/wrapped.bvh"] != before["deep/wrapped.bvh"]
    assert report["files"][1]["repair"]["backup"].endswith("wrapped.bvh.bak")


def test_a_dry_run_says_the_same_and_writes_nothing(folder: Path) -> None:
    before = files_below(folder / "in")
    _, dry = run_json(folder, "fix", folder / "in", "--dry-run")
    assert files_below(folder / "in") == before
    _, wet = run_json(folder, "fix", folder / "in", "--output-dir", folder / "out")
    for file in (*dry["files"], *wet["files"]):
        file["repair"]["output"] = None
    assert dry == wet


def test_a_read_only_file_is_not_replaced(folder: Path) -> None:
    path = folder / "in/deep/wrapped.bvh"
    path.chmod(0o444)
    before = files_below(folder / "in")
    code, report = run_json(folder, "fix", folder / "in", "--in-place")
    assert code == 2
    assert [f["status"] for f in report["files"]] == ["audited", "failed"]
    assert "read-only" in report["files"][1]["reason"]
    assert files_below(folder / "in") == before


def test_the_output_folder_of_the_source_is_refused(folder: Path) -> None:
    before = files_below(folder / "in")
    code, report = run_json(folder, "fix", folder / "in", "--output-dir", folder / "in")
    assert code == 2
    assert files_below(folder / "in") == before
    assert all("overwrite a source" in f["reason"] or "no file" in f["reason"] for f in report["files"])


def test_interruption_reports_what_is_done(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bvh(folder / "in/zz.bvh", CLEAN)
    real = api.audit_file

    def interrupted(path: Path, settings: api.Settings) -> Any:
        if path.name == "wrapped.bvh":
            raise KeyboardInterrupt
        return real(path, settings)

    monkeypatch.setattr(api, "audit_file", interrupted)
    code, report = run_json(folder, "audit", folder / "in")
    assert code == 2
    assert [f["status"] for f in report["files"]] == ["audited", "skipped", "skipped"]
    assert {f["reason"] for f in report["files"][1:]} == {"interrupted"}


def test_an_internal_error_is_a_row_and_never_the_end(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("quat_audit.run.fix.repair", broken)
    code, report = run_json(folder, "fix", folder / "in", "--output-dir", folder / "out")
    assert code == 2
    for file in report["files"]:
        assert file["status"] == "failed"
        assert "internal error: ZeroDivisionError: a fault of ours; please report" in file["reason"]
    assert not (folder / "out").exists()


def test_a_repair_that_would_change_a_keyed_pose_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quat_audit.run import fix

    real = fix.prove

    def changed(before: Any, after: Any) -> Any:
        proof = real(before, after)
        return type(proof)(0.5, proof.max_between_change_deg, 0, 0)

    monkeypatch.setattr(fix, "prove", changed)
    _, report = run_json(folder, "fix", folder / "in/deep", "--output-dir", folder / "out")
    (row,) = report["files"]
    assert row["status"] == "failed"
    assert "would change a keyed pose by 0.5" in row["reason"]
    assert "repair" not in row
    assert files_below(folder / "out") == {}


def test_rules_as_text_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("rules") == 0
    listed = capsys.readouterr().out
    assert all(f"{rule.code}  {rule.name}" in listed and rule.summary in listed for rule in RULES)
    assert run("rules", "QA104", "euler-wraparound") == 0
    explained = capsys.readouterr().out
    for rule in RULES:
        assert (rule.doc.strip() in explained) == (rule.code in ("QA104", "QA201"))
    assert run("rules", "QA1", "--format", "json", "--output", tmp_path / "rules.json") == 0
    rows = json.loads((tmp_path / "rules.json").read_text(encoding="utf-8"))["rules"]
    assert [r["code"] for r in rows] == [rule.code for rule in RULES if rule.code.startswith("QA1")]


@pytest.mark.slow
def test_as_a_module_with_a_reader_that_has_seen_enough(folder: Path) -> None:
    command = [sys.executable, "-m", "quat_audit", "rules", *(rule.code for rule in RULES)]
    # A pipe that nobody reads from.
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run(command, cwd=ROOT, stdout=writer, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    os.close(writer)
    assert (run.returncode, run.stderr) == (0, "")


@RAW_NAMES
@pytest.mark.slow
def test_names_that_no_encoding_can_show_do_not_stop_a_report(folder: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.bvh")
    bvh(folder / "in" / name, CLEAN)
    variables = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "quat_audit", "audit", str(folder / "in"), "--fail-on", "never"]
    for extra in ([], ["--format", "json"], ["--format", "json", "--output", str(folder / "r.json")]):
        run = subprocess.run([*command, *extra], cwd=ROOT, capture_output=True, env=variables, check=False)
        assert (run.returncode, run.stderr) == (0, b"")
        if "--output" in extra:
            assert len(json.loads((folder / "r.json").read_text(encoding="utf-8"))["files"]) == 3
        elif extra:
            assert len(json.loads(run.stdout)["files"]) == 3


def chain(path: Path, joints: int, angles: list[float]) -> Path:
    """A BVH file with a chain of joints that all turn alike."""
    body = "{ OFFSET 0 1 0 CHANNELS 3 Zrotation Xrotation Yrotation "
    tree = "".join(f"{'JOINT' if n else 'ROOT'} J{n}\n{body}" for n in range(joints)) + "End Site { OFFSET 0 1 0 }"
    rows = "".join(" ".join([f"{angle:.6f} 0 0"] * joints) + "\n" for angle in angles)
    head = f"MOTION\nFrames: {len(angles)}\nFrame Time: 0.0333333\n"
    path.write_text(f"HIERARCHY\n{tree}{'}' * joints}\n{head}{rows}", encoding="utf-8")
    return path


def test_a_long_report_is_rolled_up_unless_verbose_asks_for_all(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = chain(tmp_path / "chain.bvh", 31, WRAPPED)
    for options, lines, rolled in (((), 0, 1), (("--verbose",), 31, 0), (("-v",), 31, 0)):
        assert run("audit", path, *options) == 1
        said = capsys.readouterr().out
        assert said.count("[QA201 euler-wraparound, ") == lines
        assert said.count("QA201 euler-wraparound on 31 bones of 1 action, up to 3") == rolled
    _, report = run_json(tmp_path, "audit", path)
    assert len(report["files"][0]["findings"]) == 31
