# SPDX-License-Identifier: GPL-3.0-or-later
"""The publicly reported faults of shared/cases/reports.json: built in this Blender, audited, repaired, read again."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from quat_audit.audit.repair import Repair
from quat_audit.findings.finding import NOTE, Finding
from quat_audit.motion.clip import Clip
from tests.judging import audit_clip, repair_clip

bpy = pytest.importorskip("bpy")

from quat_audit.blender import read, write
from tests.blender import build_case as build
from tests.blender import scene_poses as scene

# A float32 quaternion or matrix of Blender's is good to about 1e-5°.
POSE_DEG = 1e-4

# case → exactly what the audit says: (code, bone, severity, class of each occurrence, fix) …
FOUND: dict[str, list[tuple[str, str, str, str, str]]] = {
    "R01_animated_triangle": [("QA104", "B", "error", "visible", "safe")],
    "R02_spin_180_steps_intended": [("QA106", "B", "note", "half-turn half-turn", "unsafe")],
    "R02b_spin_180_steps_unwinds": [("QA106", "B", "note", "half-turn half-turn", "unsafe")],
    "R03_decompose_36": [("QA104", "", "error", "visible", "safe")],
    "R05_euler_376_to_132_intended": [("QA201", "B", "note", "ambiguous", "unsafe")],
    "R06_windmill_0_360_3600_intended": [
        ("QA203", "B", "note", "kept", "unsafe"),
        ("QA203", "D", "note", "kept", "unsafe"),
    ],
    "R08_fbx_minus990_and_720": [
        ("QA203", "B", "note", "kept", "unsafe"),
        ("QA203", "C", "note", "kept", "unsafe"),
    ],
    "R09_usd_gimbal_multi_axis": [("QA201", "B", "warning", "latent", "safe")],
    "R10_euler_wraps": [("QA201", bone, "warning", "latent", "safe") for bone in "BCDE"],
    "R11_nla_two_actions_opposite": [],
    "R12_boost_qvm_pair": [("QA104", "B", "warning", "latent", "safe")],
    "R15_zero_quaternion": [("QA102", "B", "error", "zero zero", "safe")],
    "R16_non_unit": [("QA103", bone, "warning", "mistimed", "safe") for bone in "BC"],
    "R17_nan_from_228": [("QA101", bone, "error", "value", "safe") for bone in "BC"],
    "R18_only_w_keyed": [("QA302", "B", "warning", "visible", "safe")],
    "R19_misaligned": [("QA303", "B", "note", "slight", "safe")],
    "R20_mode_mismatch": [("QA301", "", "error", "dead dead both", "unsafe")],  # of the bones B, C and D
    "R21_redundant_keys_turn": [],
    "R22_cycles_seams": [("QA104", "C", "error", "visible", "safe")],
    "R24_step_sign_change": [("QA104", "B", "note", "harmless harmless", "safe")],
    # Every component's handles rise by 0.05, those that stand still too: the first step swings a little to the side.
    "R25_bezier_handles": [("QA104", "B", "error", "visible", "safe"), ("QA403", "B", "note", "visible", "unsafe")],
}
# What is left after the safe fixes, where that is more than was found: handles of a step that was a sign flip.
LEFT = {"R25_bezier_handles": [("QA403", "B", "warning", "visible visible", "unsafe")]}
# Cases that a safe repair leaves bit for bit as they are.
UNTOUCHED = (
    "R02_spin_180_steps_intended",
    "R02b_spin_180_steps_unwinds",
    "R05_euler_376_to_132_intended",
    "R06_windmill_0_360_3600_intended",
    "R08_fbx_minus990_and_720",
    "R11_nla_two_actions_opposite",
    "R20_mode_mismatch",
    "R21_redundant_keys_turn",
)
# Frames at which nothing valid was keyed.
INVALID_FRAMES = {"R15_zero_quaternion": (5.0, 15.0), "R17_nan_from_228": (228.0,)}
SKINNING = {"R30_dqs_twist", "R32_weights"}

# The name in `expect` → how it is counted: the code and the class (None: any).
COUNTS: dict[str, tuple[str, str | None]] = {
    "neg": ("QA104", None),
    "ambiguous180": ("QA106", "half-turn"),
    "nonunit": ("QA103", None),
    "zero": ("QA102", None),
    "misaligned": ("QA303", None),
    "mismatch": ("QA301", None),
    "multi_axis_flip": ("QA201", "latent"),
    "wraps": ("QA201", "latent"),
}
# Told by rules of later issues (QA202, QA501, QA502), or no counts of an audit.
NOT_COUNTED = {"fix", "note", "norms", "gimbal", "seam_antipodal", "cross_action_dot", "blender_now", "after"}
SPECIAL = {"after_neg", "nan_keys", "missing", "euler_big_step"}


def reports(cases) -> dict[str, Any]:
    return json.loads((cases / "reports.json").read_text(encoding="utf-8"))


def open_case(cases, name: str) -> dict[str, Any]:
    entry: dict[str, Any] = reports(cases)[name]
    build.build_case(entry)
    bpy.context.view_layer.update()
    return entry


def findings_of(clips: Sequence[Clip]) -> list[Finding]:
    return sorted((f for clip in clips for f in audit_clip(clip)), key=lambda f: (f.code, f.bone))


def summary(findings: Sequence[Finding]) -> list[tuple[str, str, str, str, str]]:
    return [(f.code, f.bone, f.severity, " ".join(map(str, f.occurrences.kind)), f.fix) for f in findings]


def repair_all(*, unsafe: bool = False) -> tuple[list[Repair], list[Any], list[Clip]]:
    """Repair and write every action: the repairs, what was written, and the clips read again."""
    records = read.read_file()
    repairs = [repair_clip(r.clip, unsafe=unsafe) for r in records]
    written = [write.write_clip(r, repair.subject) for r, repair in zip(records, repairs, strict=True)]
    clips = [r.clip for r in read.read_file()]
    for clip in clips:
        clip.validate()
    return repairs, written, clips


def occurrences(findings: Sequence[Finding], code: str, kind: str | None) -> int:
    return sum(sum(kind in (None, k) for k in f.occurrences.kind) for f in findings if f.code == code)


def test_no_case_is_forgotten(cases):
    entries = reports(cases)
    assert {name for name, entry in entries.items() if "owners" in entry} == set(FOUND)
    assert set(entries) - set(FOUND) == SKINNING
    for name in FOUND:
        assert set(entries[name]["expect"]) <= set(COUNTS) | NOT_COUNTED | SPECIAL, name
        if "MUST NOT" in entries[name]["expect"]["fix"]:
            assert name in UNTOUCHED


@pytest.mark.parametrize("name", FOUND)
def test_found(cases, name):
    expect = open_case(cases, name)["expect"]
    findings = findings_of([r.clip for r in read.read_file()])
    assert summary(findings) == FOUND[name]
    for key, count in expect.items():
        if key in COUNTS:
            assert occurrences(findings, *COUNTS[key]) == count, key
    if "euler_big_step" in expect:  # meant: a turn, or a step of which QA201 asks whether it is
        meant = occurrences(findings, "QA203", "kept") + occurrences(findings, "QA201", "ambiguous")
        assert meant == expect["euler_big_step"]
    if "nan_keys" in expect:
        bad = [f for f in findings if f.code == "QA101" and f.data_path.endswith("rotation_quaternion")]
        assert sum(len(f.occurrences) for f in bad) == expect["nan_keys"]
        assert any(f.data_path.endswith("location") for f in findings)
    if "missing" in expect:
        assert [int(f.occurrences.measured["missing"][0]) for f in findings] == [expect["missing"]]
    if "MUST NOT" in expect["fix"]:
        assert {f.severity for f in findings} == {NOTE}


@pytest.mark.parametrize("name", FOUND)
def test_repaired(cases, name):
    expect = open_case(cases, name)["expect"]
    invalid = INVALID_FRAMES.get(name, ())
    keyed = {who: [f for f in frames if f not in invalid] for who, frames in scene.keyed_frames().items()}
    poses = {who: scene.matrices([who], frames) for who, frames in keyed.items()}
    bytes_before = scene.stored()
    was = {(f.code, f.data_path) for f in findings_of([r.clip for r in read.read_file()]) if f.fix == "safe"}

    repairs, written, clips = repair_all()

    assert not any(r.refused for r in repairs)
    assert {a.code for r in repairs for a in r.applied} >= {code for code, _ in was}
    left = findings_of(clips)
    assert summary(left) == LEFT.get(name, [f for f in FOUND[name] if f[4] != "safe"])
    assert all(r.proof.max_key_change_deg <= POSE_DEG for r in repairs)
    assert keyed
    for who, frames in keyed.items():
        np.testing.assert_array_less(scene.angle_deg(poses[who], scene.matrices([who], frames)), POSE_DEG)
    if "after_neg" in expect:
        assert occurrences(left, "QA104", None) == expect["after_neg"]
    changed = {key for key, data in scene.stored().items() if bytes_before.get(key) != data}
    if name in UNTOUCHED:
        assert not changed and not any(written) and not any(r.applied for r in repairs)
    else:
        # Only curves of paths with a finding.
        assert changed and {path for _, path, _ in changed} <= {path for _, path in was}

    bytes_after = scene.stored()
    again, written, _ = repair_all()
    assert not any(written) and not any(r.applied or r.refused for r in again)
    assert scene.stored() == bytes_after


@pytest.mark.parametrize("name", FOUND)
def test_repaired_with_unsafe_fixes_once_and_for_all(cases, name):
    open_case(cases, name)
    repairs, _, clips = repair_all(unsafe=True)
    refused = {r.data_path for repair in repairs for r in repair.refused}
    assert not [f for f in findings_of(clips) if f.fix != "none" and f.data_path not in refused]
    bytes_after = scene.stored()
    _, written, _ = repair_all(unsafe=True)
    assert not any(written)
    assert scene.stored() == bytes_after


def negated(q: np.ndarray) -> np.ndarray:
    """The signs that make neighbors agree, one by one: the first key keeps its own. A zero dot keeps its sign."""
    result = [list(q[0])]
    for row in q[1:]:
        dot = math.fsum(a * b for a, b in zip(row, result[-1], strict=True))
        result.append([-x for x in row] if dot < 0 else list(row))
    return np.array(result)


@pytest.mark.parametrize(
    "name, action, path",
    [
        ("R01_animated_triangle", "R01", 'pose.bones["B"].rotation_quaternion'),
        ("R03_decompose_36", "R03", "rotation_quaternion"),
        ("R12_boost_qvm_pair", "R12", 'pose.bones["B"].rotation_quaternion'),
        ("R22_cycles_seams", "R22", 'pose.bones["C"].rotation_quaternion'),
        ("R24_step_sign_change", "R24", 'pose.bones["B"].rotation_quaternion'),
        ("R25_bezier_handles", "R25", 'pose.bones["B"].rotation_quaternion'),
    ],
)
def test_flips_are_negated_and_nothing_else(cases, name, action, path):
    open_case(cases, name)
    before = scene.values(action, path)
    repair_all()
    after = scene.values(action, path)
    np.testing.assert_array_equal(after, negated(before))
    assert np.all(np.einsum("ij,ij->i", after[1:], after[:-1]) > -1e-6) and not np.array_equal(before, after)


def test_animated_triangle_ends_antipodal(cases):
    open_case(cases, "R01_animated_triangle")
    repair_all()
    assert scene.values("R01", 'pose.bones["B"].rotation_quaternion')[-1].tolist() == [-1, 0, 0, 0]


def test_repeated_cycles_play_the_same_after_a_repair(cases):
    open_case(cases, "R22_cycles_seams")
    everywhere = np.arange(-20.0, 80.0, 1.5)
    others = scene.matrices([("Rig", "B"), ("Rig", "D")], everywhere)
    # Keys 1, 10 and 20 of the flipped track, seen again 19 frames later and earlier; 39 is a seam.
    again = [-18.0, -9.0, 20.0, 29.0, 39.0, 48.0]
    before = scene.matrices([("Rig", "C")], again)
    repair_all()
    np.testing.assert_array_equal(others, scene.matrices([("Rig", "B"), ("Rig", "D")], everywhere))
    np.testing.assert_array_less(scene.angle_deg(before, scene.matrices([("Rig", "C")], again)), POSE_DEG)
    # The last key's hemisphere is the first one's now: the seam does not jump to −q either.
    values = scene.values("R22", 'pose.bones["C"].rotation_quaternion')
    assert values[0] @ values[-1] == pytest.approx(1.0)


def test_handles_are_negated_with_their_key(cases):
    entry = open_case(cases, "R25_bezier_handles")
    before = scene.stored()
    repair_all()
    for curve, written in zip(
        entry["actions"][0]["slots"][0]["curves"], build.fcurves_of(bpy.data.actions["R25"]), strict=True
    ):
        assert (curve["data_path"], curve["index"]) == (written.data_path, written.array_index)
        for number, (old, key) in enumerate(zip(curve["keys"], written.keyframe_points, strict=True)):
            sign = np.float32(-1.0 if number == 2 else 1.0)
            for name in ("co", "handle_left", "handle_right"):
                frame, value = np.array(old[name], dtype=np.float32)
                assert tuple(getattr(key, name)) == (frame, sign * value), (name, number)
            assert [key.handle_left_type, key.handle_right_type] == old["handle_types"]
    # What is no handle and no value: interpolation, easing, handle types, key types.
    assert {k: v[-5 * 3 :] for k, v in scene.stored().items()} == {k: v[-5 * 3 :] for k, v in before.items()}
    left = build.fcurves_of(bpy.data.actions["R25"])[0].keyframe_points[2].handle_left[1]
    assert left == pytest.approx(0.7071 + 0.05, abs=1e-4)


def test_euler_wraps_go_where_the_report_says(cases):
    open_case(cases, "R10_euler_wraps")
    repair_all()
    for bone, degrees in {"B": 183.67, "C": 190.0, "D": 370.0, "E": 181.0}.items():
        values = np.degrees(scene.values("R10", f'pose.bones["{bone}"].rotation_euler'))
        assert values[1] == pytest.approx([0.0, 0.0, degrees], abs=0.01)


def test_equivalent_triple_of_the_gimbal_report(cases):
    open_case(cases, "R09_usd_gimbal_multi_axis")
    before = scene.values("R09", 'pose.bones["B"].rotation_euler')
    repair_all()
    after = scene.values("R09", 'pose.bones["B"].rotation_euler')
    np.testing.assert_array_equal(after[:2], before[:2])
    assert np.degrees(after[2]) == pytest.approx([0.0, 100.0, 0.0], abs=1e-4)


def test_zero_keys_are_bridged_and_marked(cases):
    open_case(cases, "R15_zero_quaternion")
    path = 'pose.bones["B"].rotation_quaternion'
    middle = scene.values("R15", path)[1]
    repair_all()
    np.testing.assert_array_equal(scene.values("R15", path), [middle] * 3)  # one valid key: it is held
    for curve in build.fcurves_of(bpy.data.actions["R15"]):
        assert [k.type for k in curve.keyframe_points] == ["GENERATED", "KEYFRAME", "GENERATED"]


def test_non_unit_keys_are_normalised(cases):
    entry = open_case(cases, "R16_non_unit")
    norms = []
    for bone in "BC":
        path = f'pose.bones["{bone}"].rotation_quaternion'
        before = scene.values("R16", path)
        norms += [n for n in np.linalg.norm(before, axis=1) if abs(n - 1) > 1e-3]
    assert norms == pytest.approx(entry["expect"]["norms"], abs=1e-4)
    was = {bone: scene.values("R16", f'pose.bones["{bone}"].rotation_quaternion') for bone in "BC"}
    repair_all()
    for bone, before in was.items():
        after = scene.values("R16", f'pose.bones["{bone}"].rotation_quaternion')
        size = np.linalg.norm(before, axis=1, keepdims=True)
        off = np.abs(size - 1) > 1e-3
        np.testing.assert_allclose(after, np.where(off, before / size, before), rtol=0, atol=1e-7)
        np.testing.assert_array_equal(after[~off[:, 0]], before[~off[:, 0]])


def test_nothing_is_nan_after_the_repair(cases):
    open_case(cases, "R17_nan_from_228")
    frames = np.arange(225.0, 231.01, 0.125)
    who = [("Rig", "B"), ("Rig", "C")]
    assert not np.isfinite(scene.matrices(who, frames)).all()  # the fault shows in Blender
    repair_all()
    poses = scene.matrices(who, frames)
    assert np.isfinite(poses).all()
    bpy.context.scene.frame_set(228)
    assert all(math.isfinite(x) for bone in bpy.data.objects["Rig"].pose.bones for row in bone.matrix for x in row)
    assert np.isfinite([k.co[:] for c in build.fcurves_of(bpy.data.actions["R17"]) for k in c.keyframe_points]).all()
    # Half-way on the arc between its neighbours.
    near, bridged, far = scene.matrices([who[0]], [227.0, 228.0, 229.0])[0]
    assert scene.angle_deg(near, bridged) == pytest.approx(scene.angle_deg(near, far) / 2, abs=1e-3)
    assert scene.angle_deg(bridged, far) == pytest.approx(scene.angle_deg(near, far) / 2, abs=1e-3)


def test_absent_components_come_from_the_stored_pose(cases):
    open_case(cases, "R18_only_w_keyed")
    quarter = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])  # 90° about Y
    who, frames = [("Rig", "B")], np.arange(-2.0, 14.0, 0.5)
    assert scene.angle_deg(scene.matrices(who, [1.0])[0, 0], quarter) < 0.01
    before = scene.matrices(who, frames)
    repair_all()
    assert scene.angle_deg(scene.matrices(who, [1.0])[0, 0], quarter) < 0.01
    # Nothing comes from the pose any more …
    bpy.data.objects["Rig"].pose.bones["B"].rotation_quaternion = (1, 0, 0, 0)
    after = scene.matrices(who, frames)
    assert scene.angle_deg(after[0, 6], quarter) < 0.01 and frames[6] == 1.0
    # … and between the keys only the ease of a key of wrong length went (QA103).
    np.testing.assert_array_less(scene.angle_deg(before, after), 1.0)
    y = next(c for c in build.fcurves_of(bpy.data.actions["R18"]) if c.array_index == 2)
    assert [k.type for k in y.keyframe_points] == ["GENERATED"] * 2


def test_misaligned_components_get_the_union_of_times(cases):
    open_case(cases, "R19_misaligned")
    authored = {c.array_index: [k.co[0] for k in c.keyframe_points] for c in build.fcurves_of(bpy.data.actions["R19"])}
    repair_all()
    for curve in build.fcurves_of(bpy.data.actions["R19"]):
        times = [k.co[0] for k in curve.keyframe_points]
        assert set(authored[curve.array_index]) <= set(times)  # authored times never shift
        assert times == pytest.approx([1, 10, 20], abs=0.0041)
        made = [k.co[0] for k in curve.keyframe_points if k.type == "GENERATED"]
        assert set(made) == set(times) - set(authored[curve.array_index])


def test_dead_channels_come_alive_with_unsafe_fixes(cases):
    open_case(cases, "R20_mode_mismatch")
    who = [("Rig", bone) for bone in "BCD"]
    still = scene.matrices(who, [1.0, 10.0])
    moved = scene.angle_deg(still[:, 0], still[:, 1])
    assert moved == pytest.approx([0, 0, 45], abs=0.01)
    repair_all(unsafe=True)
    alive = scene.matrices(who, [1.0, 10.0])
    assert scene.angle_deg(alive[:, 0], alive[:, 1]) == pytest.approx([90, 90, 45], abs=0.01)
    bones = bpy.data.objects["Rig"].pose.bones
    assert [bones[b].rotation_mode for b in "BCD"] == ["QUATERNION", "XYZ", "ZXY"]
