# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles: they name what exists, leave out and lower only, and do what they are for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from quat_audit.audit.pipeline import capped, find, rule_limits
from quat_audit.audit.profiles import (
    EVERYTHING,
    FILM,
    GAME_EXPORT,
    MOCAP,
    PROFILES,
    Profile,
    find_profile,
    profile_settings,
)
from quat_audit.audit.settings import Settings
from quat_audit.cli import main as cli
from quat_audit.errors import InputError
from quat_audit.findings.finding import ERROR, NOTE, SEVERITIES, WARNING, Finding
from quat_audit.motion.clip import CONSTANT, LINEAR, QUATERNION
from quat_audit.rules import RULES
from tests.clips import euler_clip, quaternion_clip, track_clip, turns
from tests.judging import audit_clip

BY_CODE = {rule.code: rule for rule in RULES}


def audited(clip, profile: Profile) -> list[Finding]:
    settings = profile_settings(profile)
    return audit_clip(clip, settings.rules, settings.limits, caps=settings.caps)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda p: p.name)
def test_a_profile_names_what_exists_and_its_settings_hold_that(profile: Profile) -> None:
    assert profile.label and profile.description and not profile.description.endswith(".")
    assert set(profile.codes) <= set(BY_CODE) and len(set(profile.codes)) == len(profile.codes)
    assert set(profile.limits) <= set(profile.codes), "limits of a rule that is not applied"
    assert set(profile.severities) <= set(profile.codes), "a cap of a rule that is not applied"
    assert set(profile.severities.values()) <= {NOTE, WARNING}, "error caps nothing"
    for code, own in profile.limits.items():
        limits = rule_limits(BY_CODE[code], profile.limits)  # raises on an unknown name
        assert all(limits[name] == value != BY_CODE[code].limits[name] for name, value in own.items())
    settings = profile_settings(profile)
    assert tuple(rule.code for rule in settings.rules) == profile.codes
    assert (settings.limits or {}, settings.caps or {}) == (profile.limits, profile.severities)
    assert find_profile(profile.name) is profile
    assert find_profile(profile.name.upper().replace("_", "-")) is profile


def test_names_and_labels_are_distinct_and_as_agreed() -> None:
    assert [profile.name for profile in PROFILES] == ["game_export", "film", "mocap", "everything"]
    assert len({profile.label for profile in PROFILES}) == len(PROFILES)
    assert Profile("everything", EVERYTHING.label, EVERYTHING.description, tuple(BY_CODE)) == EVERYTHING


def test_an_unknown_profile_says_which_there_are() -> None:
    with pytest.raises(InputError, match="'films'.*game_export, film, mocap, everything"):
        find_profile("films")


def test_a_cap_lowers_the_finding_and_each_of_its_occurrences_and_nothing_else() -> None:
    clip = quaternion_clip([1, 5, 9, 13], turns("X", [0, 20 + 360, 25, 30]))
    (finding,) = find(BY_CODE["QA104"], clip, None)
    before = finding.occurrences.severity.tolist()
    assert finding.severity == ERROR and before == [ERROR, ERROR]
    for cap in SEVERITIES:
        lowered = capped(finding, Settings(caps={"QA104": cap}))
        assert lowered.severity == cap
        assert lowered.occurrences.severity.tolist() == [cap, cap]
        assert lowered.message == finding.message and lowered.fix == finding.fix
        np.testing.assert_array_equal(lowered.occurrences.frames, finding.occurrences.frames)
    assert capped(finding, Settings(caps={"QA103": NOTE})) is finding is capped(finding, Settings())


def test_mocap_counts_a_flip_between_neighbouring_frames_as_what_it_will_be() -> None:
    clip = quaternion_clip([1, 2, 3], turns("X", [0, 10 + 360, 20 + 360]))
    assert [(f.code, f.severity) for f in audited(clip, EVERYTHING)] == [("QA104", WARNING)]
    assert [(f.code, f.severity) for f in audited(clip, MOCAP)] == [("QA104", ERROR)]


def test_film_is_silent_about_what_only_exporters_lose() -> None:
    spin = euler_clip([1, 25], [[0, 0, 0], [720, 0, 0]])
    assert [f.code for f in audited(spin, EVERYTHING)] == ["QA203"] == [f.code for f in audited(spin, GAME_EXPORT)]
    assert audited(spin, FILM) == []
    half = quaternion_clip([1, 10], turns("X", [0, 150]))
    assert [f.code for f in audited(half, GAME_EXPORT)] == ["QA106"]
    assert audited(half, FILM) == []


def test_film_sees_half_of_what_others_see() -> None:
    # The second key is 5 % too long: what plays half-way is 0.75° off.
    clip = quaternion_clip([1, 9], turns("X", [0, 60]) * [[1.0], [1.05]])
    (coarse,), (fine,) = audited(clip, EVERYTHING), audited(clip, FILM)
    assert 0.5 < coarse.occurrences.measured["deviation_deg"][0] < 1.0
    assert (coarse.code, coarse.severity, fine.code, fine.severity) == ("QA103", NOTE, "QA103", WARNING)


def test_game_export_keeps_misaligned_components_as_a_note() -> None:
    keys = turns((1, 1, 0), [0, 80, 0])
    columns = {c: ([1, 11, 21], keys[:, c]) for c in range(4)}
    columns[2] = ([1, 21], keys[[0, 1], 2])  # y has no key half-way, and is held: the path leaves the arc
    clip = track_clip(QUATERNION, columns, interpolation={0: LINEAR, 1: LINEAR, 2: CONSTANT, 3: LINEAR})
    severities = {profile.name: [(f.code, f.severity) for f in audited(clip, profile)] for profile in PROFILES}
    assert ("QA303", WARNING) in severities["everything"] and ("QA303", WARNING) in severities["film"]
    assert ("QA303", NOTE) in severities["game_export"]
    assert "QA303" not in dict(severities["mocap"])


def test_film_keeps_what_shows_of_a_skin_and_mocap_looks_at_none() -> None:
    skin = {p.name: [code for code in p.codes if code.startswith("QA6")] for p in PROFILES}
    everything = [rule.code for rule in RULES if rule.judges == "skin"]
    assert skin["everything"] == skin["game_export"] == everything == [f"QA60{n}" for n in range(1, 9)]
    assert skin["film"] == ["QA601", "QA604", "QA605", "QA608"]
    assert skin["mocap"] == []


# --- on the command line

# 170° → −170° on neighbouring frames, as a capture writes it.
WRAPPED = """HIERARCHY
ROOT A
{{
OFFSET 0 0 0
CHANNELS 3 Zrotation Xrotation Yrotation
}}
MOTION
Frames: {frames}
Frame Time: 0.0416667
{rows}
"""


@pytest.fixture
def wrapped(tmp_path: Path) -> Path:
    angles = [(i * 8.0 + 280.0) % 360.0 - 180.0 for i in range(40)]
    path = tmp_path / "wrapped.bvh"
    rows = "\n".join(f"{angle:.6f} 0.0 0.0" for angle in angles)
    path.write_text(WRAPPED.format(frames=len(angles), rows=rows), encoding="utf-8")
    return path


def run(path: Path, *options: str) -> tuple[int, list[tuple[str, str]]]:
    output = path.with_suffix(".json")
    code = cli.main(["audit", str(path), "--fail-on", "error", *options, "--format", "json", "--output", str(output)])
    (file,) = json.loads(output.read_text(encoding="utf-8"))["files"]
    return code, [(f["code"], f["severity"]) for f in file["findings"]]


def test_the_command_line_takes_a_profile_and_everything_is_the_default(wrapped: Path) -> None:
    assert run(wrapped) == run(wrapped, "--profile", "everything") == (0, [("QA201", WARNING)])
    assert run(wrapped, "--profile", "mocap") == (1, [("QA201", ERROR)])


def test_select_and_ignore_narrow_a_profile_which_keeps_its_limits(wrapped: Path) -> None:
    assert run(wrapped, "--profile", "mocap", "--ignore", "QA201") == (0, [])
    assert run(wrapped, "--profile", "mocap", "--select", "euler-wraparound") == (1, [("QA201", ERROR)])


def test_an_unknown_profile_on_the_command_line_is_bad_usage(wrapped: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["audit", str(wrapped), "--profile", "games"]) == cli.UNUSABLE
    assert all(profile.name in capsys.readouterr().err for profile in PROFILES[:1])
