# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinned meshes of the open file with what poses them over the frames that play: what the skin rules look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...errors import SkinError
from ...skinning.skin import Motion, PosedSkin
from ...text import Text, frame_words
from .. import compat, playback, pose
from .mesh import BlenderSkin, find, read_file, read_object, read_object_slices

# A longer clip is measured on this many of its frames: enough to meet every pose that lasts.
MOST_FRAMES = 500


@dataclass(frozen=True, eq=False)
class PosedMesh:
    """A mesh that was read and what poses it over the frames that play."""

    record: BlenderSkin
    motion: Motion

    @property
    def subject(self) -> PosedSkin:
        """What is judged of it."""
        return PosedSkin(self.record.skin, self.motion)


def read_posed(frames: Sequence[float] | None = None) -> tuple[list[PosedMesh], list[tuple[str, str]]]:
    """Every skinned mesh of the open file over some frames, and (what, why) of what could not be read or judged.

    Args:
        frames: by default those that play (`_frames`).
    """
    records, failed = read_file()
    unread = [(item.mesh, item.why) for item in failed]
    posed = []
    pairs = []
    for record in records:
        obj, rig, _ = find(record)
        try:
            pose.check_posed(obj, rig)
        except SkinError as error:
            unread.append((obj.name, error.why))
            continue
        pairs.append((record, obj, rig))
    if not pairs:
        return [], unread
    objects = list(dict.fromkeys(one for _, *both in pairs for one in both))
    at, notes = (frames, []) if frames is not None else _frames(objects)
    unread += [("deformation", note) for note in notes]
    motions = pose.pose_many([(obj, rig) for _, obj, rig in pairs], at)
    for (record, _, _), motion in zip(pairs, motions, strict=True):
        if isinstance(motion, str):
            unread.append((record.skin.mesh, motion))
        else:
            posed.append(PosedMesh(_noted(record, _absent(motion, at)), motion))
    moving = _actions_of_bones()
    waiting = moving - playback.playing_actions(playback.posing(objects))
    if waiting:
        why = Text("deformation is measured with what plays now: assign them to their armature in turn")
        unread.append((f"{len(waiting)} of {len(moving)} actions of bones", why))
    return posed, unread


def _actions_of_bones() -> set[int]:
    """`session_uid` of the actions that pose some bone."""
    return {
        action.session_uid
        for action in bpy.data.actions
        if any(
            fcurve.data_path.startswith("pose.bones[")
            for curve_set in compat.curve_sets(action)
            for fcurve in curve_set.fcurves
        )
    }


def read_posed_object(obj: Any, frames: Sequence[float] | None = None) -> PosedMesh:
    """One skinned mesh object over some frames, by default those of `read_posed`.

    Raises:
        SkinError: it is none, or Blender does not pose it; the message says what to do.
    """
    record = read_object(obj)
    _, rig, _ = find(record)
    at, notes = (frames, []) if frames is not None else _frames([obj, rig])
    motion = pose.pose_matrices(obj, rig, at)
    return PosedMesh(_noted(record, [*notes, *_absent(motion, at)]), motion)


def read_posed_slices(
    objects: Sequence[Any], into: list[PosedMesh], failed: list[tuple[int, str, str]], *, slice_seconds: float
) -> Iterator[float]:
    """Some mesh objects over the frames that play, in slices after which the scene is as it was: the share done.

    Args:
        into: gets what was read; failed: (`session_uid`, name, why) of the others.
    """
    pairs, records = [], []
    for number, obj in enumerate(objects):
        uid, name = obj.session_uid, obj.name
        try:
            record = None
            for record in read_object_slices(obj):  # noqa: B007  # the last is the skin
                yield 0.5 * number / len(objects)
            assert record is not None
            _, rig, _ = find(record)
            pose.check_posed(obj, rig)
        except SkinError as error:
            failed.append((uid, name, error.why))
            continue
        pairs.append((obj, rig))
        records.append(record)
    if not pairs:
        return
    at, notes = _frames([one for pair in pairs for one in pair])
    motions: list[Motion | str] | None = None
    for done, motions in pose.pose_slices(pairs, at, slice_seconds=slice_seconds):  # noqa: B007  # the last has them
        yield 0.5 + 0.5 * done
    assert motions is not None
    for record, motion in zip(records, motions, strict=True):
        if isinstance(motion, str):
            failed.append((record.object_uid, record.skin.mesh, motion))
        else:
            into.append(PosedMesh(_noted(record, [*notes, *_absent(motion, at)]), motion))


def _absent(motion: Motion, at: Sequence[float] | None) -> list[str]:
    """What is to be said of frames that were asked for and have no pose."""
    missing = sorted(set(at or ()) - set(motion.frames.tolist()))
    if not missing:
        return []
    values = {"count": len(missing), "of": len(set(at or ())), "frame": frame_words(missing[0])}
    return [Text("scaled to nothing, or nowhere, on frame {frame}: {count} of {of} frames are not measured", values)]


def _noted(record: BlenderSkin, notes: Sequence[str]) -> BlenderSkin:
    """The skin, saying what the frames that it is measured on leave out."""
    said = tuple((record.skin.mesh, note) for note in notes)
    return replace(record, skin=replace(record.skin, not_evaluated=(*record.skin.not_evaluated, *said)))


def _frames(objects: Sequence[Any]) -> tuple[list[float] | None, list[str]]:
    """(frames to measure, None for the pose as it stands where nothing is animated; what they leave out).

    They are those of the scene, and those outside of it that an action or NLA strip of what poses them plays:
    an imported clip, or a rig that others link, is often longer than the scene it lies in. A preview range is what
    somebody chose to look at, and is taken alone.
    """
    if not playback.is_animated(objects):
        return None, []
    scene = bpy.context.scene
    first, last = playback.scene_range(scene)
    inside = playback.frames_of((first, last))
    outside: list[float] = []
    notes: list[str] = []
    if scene.use_preview_range:
        span = {"first": first, "last": last}
        notes = [Text("measured on the preview range alone, frames {first} to {last}", span)]
    else:
        low, high = playback.played_range(playback.posing(objects)) or (first, last)
        outside = playback.frames_of((low, min(high, first - 1))) + playback.frames_of((max(low, last + 1), high))
    # Each by itself: one stray key far away must not thin out the frames of the scene.
    at = sorted(thinned(inside) + thinned(outside))
    if len(at) < len(inside) + len(outside):
        values = {"count": len(at), "of": len(inside) + len(outside)}
        notes.append(Text("measured on {count} of {of:,} frames, evenly picked", values))
    return at, notes


def thinned(frames: Sequence[float]) -> list[float]:
    """The frames, or `MOST_FRAMES` of them, evenly picked."""
    if len(frames) <= MOST_FRAMES:
        return list(frames)
    return [frames[i] for i in np.unique(np.linspace(0, len(frames) - 1, MOST_FRAMES).astype(int))]
