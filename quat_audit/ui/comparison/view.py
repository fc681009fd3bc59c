# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after in the viewport: trails of the bones, and ghosts of their poses.

Drawn flat over the picture, so that dashes and dots keep their size and no mesh hides them. After is a wide line and
before a thin dashed one above it: where the two coincide both are seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Floats
from ...comparison import kinematics, layout
from .. import canvas
from ..wording import frame_number

# Orange and blue-green, told apart by every kind of color vision (after Okabe and Ito), and by dashes.
BEFORE, AFTER = (1.0, 0.6, 0.1), (0.1, 0.85, 0.75)
KEYED, DARK = (1.0, 1.0, 1.0), (0.05, 0.05, 0.05)
# Closer than this share of a bone's length, two points are one.
SAME_PLACE = 1e-3


def draw(context: Any, shown: Any) -> None:
    """Everything in the region that is drawn."""
    region, view = context.region, context.region_data
    if view is None:
        return
    unit = context.preferences.system.ui_scale
    matrix = np.array(view.perspective_matrix)

    def flat(points: Floats) -> Floats:
        return layout.to_region(points, matrix, region.width, region.height)

    _ghosts(shown, flat, unit)
    for bone in shown.bones:
        _trail(shown, bone, flat, unit, context.scene.frame_current_final, main=bone == shown.bones[0])
    canvas.done()


def _ghosts(shown: Any, flat: Any, unit: float) -> None:
    """The pose at the keys on both sides, and both poses where they differ the most."""
    poses, angles = shown.poses, shown.angles
    for row in layout.near_rows(poses.frames, angles.step):
        _ghost(shown, poses.after[row], flat, (*KEYED, 0.07), (*KEYED, 0.45), unit)
    (middle,) = layout.near_rows(poses.frames, [angles.difference_frame])
    for matrices, color in ((poses.before[middle], BEFORE), (poses.after[middle], AFTER)):
        _ghost(shown, matrices, flat, (*color, 0.28), (*color, 0.95), unit)


def _ghost(shown: Any, matrices: Floats, flat: Any, inside: Any, edge: Any, unit: float) -> None:
    faces, edges = [], []
    for bone in shown.ghosts:
        length = shown.poses.rig.lengths[bone]
        if shown.poses.rig.names[bone]:
            corners = flat(layout.bone_corners(matrices[bone], length))
            faces.append(corners[layout.BONE_FACES])
            edges.append(corners[layout.BONE_EDGES])
            # A flag beside the tail: the turning of a bone about itself is seen by it.
            side = np.array([[0.0, 1.0, 0.0], [kinematics.SIDE, 1.0, 0.0]]) * length
        else:
            side = np.concatenate([[axis, -axis] for axis in np.eye(3) * length])
        ends = np.stack([kinematics.points(matrices[bone], offset) for offset in side])
        edges.append(flat(ends).reshape(-1, 2, 2))
    canvas.fill(_finite(faces), inside)
    canvas.lines(_finite(edges), edge, 1.5 * unit)


def _finite(parts: list[Floats]) -> Floats:
    if not parts:
        return np.zeros((0, 3, 2))
    whole = np.concatenate(parts)
    return np.asarray(whole[np.isfinite(whole).all(axis=(1, 2))])


def _trail(shown: Any, bone: int, flat: Any, unit: float, now: float, *, main: bool) -> None:
    poses, angles = shown.poses, shown.angles
    offset = poses.marker(bone)
    was, is_now = (kinematics.points(m[:, bone], offset) for m in (poses.before, poses.after))
    strength = 1.0 if main else 0.75
    before, after = flat(was), flat(is_now)
    canvas.lines(layout.segments(after), (*DARK, 0.5), 5.5 * unit)
    canvas.lines(layout.segments(after), (*AFTER, strength), 3.5 * unit)
    canvas.lines(layout.dashes(before, 7 * unit, 5 * unit), (*BEFORE, strength), 2.0 * unit)
    keyed = np.unique(np.concatenate([angles.keys_before, angles.keys_after]))
    rows = layout.near_rows(poses.frames, keyed.tolist()) if len(keyed) else np.zeros(0, dtype=np.int64)
    apart = np.linalg.norm(was[rows] - is_now[rows], axis=1) > SAME_PLACE * poses.rig.lengths[bone]
    _dots(before[rows[apart]], BEFORE, 3.0 * unit)
    _dots(after[rows], KEYED, 3.0 * unit)
    if poses.frames[0] <= now <= poses.frames[-1]:
        for path, color in ((was, BEFORE), (is_now, AFTER)):
            here = flat(np.array([[np.interp(now, poses.frames, path[:, axis]) for axis in range(3)]]))
            _dots(here, color, 6.0 * unit)
    if main:
        for row in layout.near_rows(poses.frames, angles.step):
            x, y = after[row]
            if np.isfinite((x, y)).all():
                words = frame_number(poses.frames[row])
                canvas.text(words, x + 8 * unit + 1, y + 5 * unit - 1, 12 * unit, (*DARK, 1.0))
                canvas.text(words, x + 8 * unit, y + 5 * unit, 12 * unit, (*KEYED, 1.0))


def _dots(centers: Floats, color: Any, radius: float) -> None:
    canvas.discs(centers, 1.45 * radius, (*DARK, 0.9))
    canvas.discs(centers, radius, (*color, 1.0))
