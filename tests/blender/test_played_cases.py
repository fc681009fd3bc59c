# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of shared/cases/played: built here, audited, repaired, and posed by their own oracle before and after.

What each is to bring forth, and what a repair must not change, stands in their expect.json; the oracle asks Blender
alone.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

bpy = pytest.importorskip("bpy")

from quat_audit import api
from quat_audit.rules import RULES

pytestmark = pytest.mark.slow

MODULES = ("lib", "build", "oracle")
# Skins and the importer's own Euler curves are about other things than who plays the keys.
APART = ("static_island", "fbx_euler")
CODES = {rule.code for rule in RULES}


@pytest.fixture(scope="module")
def played(cases: Path) -> Iterator[dict[str, Any]]:
    """The three modules of the cases."""
    folder = cases / "played"
    if not folder.is_dir():
        pytest.skip("not available: shared/cases/played")
    sys.path.insert(0, str(folder))
    yield {name: importlib.import_module(name) for name in MODULES}
    sys.path.remove(str(folder))
    for name in MODULES:
        del sys.modules[name]


@pytest.fixture(scope="module")
def built(played: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    chosen = [name for name in played["build"].CASES if not name.startswith(APART)]
    played["lib"].write(played["build"].CASES, ["build.py", str(folder), *chosen])
    return folder


def expectations(folder: Path) -> dict[str, Any]:
    """Case → what is expected of it, in this Blender."""
    found = json.loads((folder / "expect.json").read_text(encoding="utf-8"))
    return {n: e for n, e in found.items() if bpy.app.version < tuple(e.get("only_before", (99,)))}


def fits(finding: Any, words: str, want: dict[str, Any]) -> bool:
    return (
        finding.code in want["codes"]
        and finding.severity in want.get("severity", (finding.severity,))
        and finding.fix in want.get("fix", (finding.fix,))
        and all(name in words for name in (*want.get("users", ()), want.get("bone", ""), want.get("action", "")))
    )


def short_of(expect: dict[str, Any], report: Any) -> Iterator[str]:
    said = {id(f): f"{f} {report.clips}" for f in report.findings}
    for want in expect.get("find", ()):
        if not CODES.intersection(want["codes"]):
            continue  # a rule that is yet to come
        silent = want.get("or_silent") and not any(f.code in want["codes"] for f in report.findings)
        elsewhere = want.get("or_not_evaluated") and report.not_evaluated
        if not (silent or elsewhere or any(fits(f, said[id(f)], want) for f in report.findings)):
            yield f"not found: {want}"
    for no in expect.get("not_find", ()):
        yield from (f"found: {f.code} {f.severity} {f.fix}" for f in report.findings if fits(f, said[id(f)], no))


@pytest.mark.parametrize("unsafe", [False, True])
def test_every_case_is_found_and_what_must_stay_stays(
    played: dict[str, Any], built: Path, unsafe: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for name, expect in expectations(built).items():
        source = built / expect["file"]
        suffix = ".blend" if source.suffix == ".fbx" else source.suffix
        settings = replace(api.DEFAULT, unsafe=unsafe)
        report = api.fix_file(source, settings, output=tmp_path / f"{source.stem}{suffix}")
        wrong += [f"{name}: {line}" for line in short_of(expect, report)]
        if report.after is None:  # nothing was to be done, so no file was written
            (tmp_path / source.name).write_bytes(source.read_bytes())
    (built / "expect.json").write_text(json.dumps(expectations(built)), encoding="utf-8")
    changed = played["oracle"].compare(built, tmp_path, unsafe)
    assert wrong == [] and not changed, capsys.readouterr().out
