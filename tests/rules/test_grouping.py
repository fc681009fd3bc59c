# SPDX-License-Identifier: GPL-3.0-or-later
"""How findings are put together: one a track, in words that say who, where and what."""

from __future__ import annotations

import numpy as np
import pytest

from quat_audit.motion.clip import QUATERNION, Clip, Track, make_curves, make_tracks
from tests.judging import audit_clip

TURN = [[1, 0, 0, 0], [-0.9848077530, 0, 0, -0.1736481777], [0.9396926208, 0, 0, 0.3420201433]]


def clip_of(
    paths: list[str], bones: list[str], *, format: str = "blender", times: tuple[float, ...] = (1, 16, 31)
) -> Clip:
    """Tracks that all flip twice: 20° steps about Z with the middle key negated."""
    quaternions = np.array(TURN)
    co = [np.stack([times, quaternions[:, part]], axis=1) for _ in paths for part in range(4)]
    curves = make_curves(
        [path for path in paths for _ in range(4)],
        list(range(4)) * len(paths),
        [3] * 4 * len(paths),
        np.concatenate(co),
    )
    tracks = [
        Track(path, bone, QUATERNION, (4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3), modes=("QUATERNION",))
        for n, (path, bone) in enumerate(zip(paths, bones, strict=True))
    ]
    return Clip("Walk", "Rig", "Rig", ("Rig",), format, 24.0, format == "gltf", curves, make_tracks(tracks))


def test_one_finding_a_track_says_who_where_and_what() -> None:
    found = audit_clip(
        clip_of(['pose.bones["A"].rotation_quaternion', 'pose.bones["B"].rotation_quaternion'], ["A", "B"])
    )
    assert [(f.bone, len(f.occurrences)) for f in found] == [("A", 2), ("B", 2)]
    assert found[0].message == "A, frames 1→16 (and 1 more): swings 340.0° where 20.0° suffices"
    assert (found[0].where(1), found[0].what(1)) == ("frames 16→31", "swings 340.0° where 20.0° suffices")


def test_an_object_is_named_by_its_owner() -> None:
    (found,) = audit_clip(clip_of(["rotation_quaternion"], [""]))
    assert found.message.startswith("Rig, frames 1→16")


def test_a_format_that_counts_in_seconds_says_seconds_too() -> None:
    (found,) = audit_clip(clip_of(["/nodes/1/rotation"], ["A"], format="gltf", times=(0, 16, 16.5)))
    assert found.where(0) == "frames 0→16 (0.000→0.667 s)"
    assert found.where(1) == "frames 16→16.5 (0.667→0.688 s)"


@pytest.mark.parametrize(
    ("path", "bone"),
    [
        ('pose.bones["A"].location', "A"),
        ('pose.bones["say \\"hi\\" \\\\"].scale', 'say "hi" \\'),
        ('pose.bones["odd\\"]."].location', 'odd"].'),
        ("location", ""),
        ('modifiers["Wave"].speed', ""),
    ],
)
def test_a_channel_without_rotation_is_named_by_the_bone_in_its_path(path: str, bone: str) -> None:
    co = np.array([[1.0, 0.0], [2.0, np.nan], [3.0, 0.0]])
    curves = make_curves([path], [0], [3], co)
    clip = Clip("Walk", "Rig", "Rig", ("Rig",), "blender", 24.0, False, curves, make_tracks([]))
    (found,) = audit_clip(clip)
    assert (found.code, found.bone, found.data_path) == ("QA101", bone, path)
