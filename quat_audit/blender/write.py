# SPDX-License-Identifier: GPL-3.0-or-later
"""An edited Clip -> the action it came from. Only what changed is written; no operators, so that the caller decides
what is one undo step.

`FCurve.update()` is never called: it would compute automatic handles anew, also those of keys that nobody touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import GoneError, RefusedError
from ..findings.report import HandleChange, merge_handle_changes
from ..motion.clip import BEZIER, Clip, Curves
from ..motion.readers import newly_bound, newly_released
from ..text import Text, frame_words
from . import compat, write_rig
from .read import BlenderClip, find_set

# eBezTriple_KeyframeType and eBezTriple_Handle (DNA_curve_types.h), as foreach_get/foreach_set have them.
_GENERATED = 5
_HANDLES = ("FREE", "AUTO", "VECTOR", "ALIGNED", "AUTO_CLAMPED")
_FREE, _AUTO, _VECTOR, _ALIGNED, _AUTO_CLAMPED = range(5)

# What makes up a key in Blender: (name, width, dtype that needs no conversion).
_KEY = (
    ("co", 2, np.float32),
    ("handle_left", 2, np.float32),
    ("handle_right", 2, np.float32),
    ("interpolation", 1, np.uint8),
    ("easing", 1, np.uint8),
    ("back", 1, np.float32),
    ("amplitude", 1, np.float32),
    ("period", 1, np.float32),
    ("handle_left_type", 1, np.uint8),
    ("handle_right_type", 1, np.uint8),
    ("type", 1, np.uint8),
    ("select_control_point", 1, np.bool_),
    ("select_left_handle", 1, np.bool_),
    ("select_right_handle", 1, np.bool_),
)
_EASING = ("back", "amplitude", "period")


@dataclass(frozen=True)
class Written:
    """What `write_clip` did.

    `skipped`: (data path, why) of rotation modes, slots and bones that could not be set. `handle_types`: of handles of
    keys that were there.
    """

    curves_changed: int = 0
    curves_added: int = 0
    curves_removed: int = 0
    modes_set: int = 0
    slots_bound: int = 0
    bones_released: int = 0
    skipped: tuple[write_rig.Skipped, ...] = ()
    handle_types: tuple[HandleChange, ...] = ()

    def __bool__(self) -> bool:
        curves = self.curves_changed or self.curves_added or self.curves_removed
        return bool(curves or self.modes_set or self.slots_bound or self.bones_released)


def write_clip(record: BlenderClip, after: Clip) -> Written:
    """Write what differs between `record.clip` and `after`.

    Curves whose `ancestor` is missing in `after` are removed, those with ancestor -1 are made. A new rotation mode
    (`tracks.modes` of one entry) is set on every user, who is to play the action is bound to its slot, and bones are
    disconnected. Nothing is written when anything must not be.

    Raises: GoneError: the action or a curve is no longer what was read. RefusedError: a curve that is read-only was
    changed, or a value that is not finite would be written.
    """
    before = record.clip
    edits = _edits(before.curves, after.curves)
    modes = _new_modes(before, after)
    bound, released = newly_bound(before, after), newly_released(before, after)
    if not (edits.changed or edits.added or edits.removed or modes or bound or released):
        return Written()
    action, curve_set = find_set(record)
    _check(before, after, edits)
    fcurves = list(curve_set.fcurves)
    for number in {*edits.changed.values(), *edits.removed}:
        found = fcurves[number] if number < len(fcurves) else None
        path, component = before.curves.data_path[number], int(before.curves.component[number])
        keys = int(before.curves.counts[number])
        if found is None or (found.data_path, found.array_index, len(found.keyframe_points)) != (path, component, keys):
            raise GoneError(
                Text(
                    "action '{action}': {path}[{component}] changed since it was read: read it again",
                    {"action": before.action, "path": path, "component": component},
                )
            )

    retyped: list[HandleChange] = []
    for number, ancestor in edits.changed.items():
        retyped += _write_curve(fcurves[ancestor], before.curves, ancestor, after.curves, number)
    looks = [_look_of_siblings(fcurves, before.curves, after.curves.data_path[number]) for number in edits.added]
    for ancestor in edits.removed:
        curve_set.fcurves.remove(fcurves[ancestor])  # Blender's pointers to the other curves stay good
    for number, look in zip(edits.added, looks, strict=True):
        _add_curve(curve_set.owner, after.curves, number, look)
    if edits.changed or edits.added or edits.removed:
        _show(action, next(iter(curve_set.fcurves), None))
    modes_set, skipped = write_rig.set_modes(record, modes)
    slots_bound, not_bound = write_rig.bind_slots(record, bound)
    bones_released, not_released = write_rig.release(released)
    return Written(
        *(len(edits.changed), len(edits.added), len(edits.removed), modes_set, slots_bound, bones_released),
        skipped=(*skipped, *not_bound, *not_released),
        handle_types=merge_handle_changes(retyped),
    )


def _show(action: Any, fcurve: Any) -> None:
    """Let Blender play the keys as they are now, at the next evaluation.

    The tag of the action makes 4.2 copy it anew when the frame changes; it does not pose anything anew by itself.
    Setting `mute` to what it is does, for whatever plays the action, and computes no handle.
    """
    action.update_tag()
    if fcurve is not None:
        mute = fcurve.mute
        fcurve.mute = mute


@dataclass(frozen=True)
class _Edits:
    changed: dict[int, int]  # curve of `after` → its ancestor
    added: list[int]  # curves of `after`
    removed: list[int]  # curves of `before`


def _edits(before: Curves, after: Curves) -> _Edits:
    ancestors = after.ancestor.tolist()
    kept = [ancestor for ancestor in ancestors if ancestor >= 0]
    if len(set(kept)) != len(kept) or (kept and max(kept) >= len(before)):
        raise ValueError("each curve of the edited clip must have an ancestor of its own in the clip that was read")
    changed = {n: s for n, s in enumerate(ancestors) if s >= 0 and _differs(before, s, after, n)}
    added = [n for n, s in enumerate(ancestors) if s < 0]
    return _Edits(changed, added, sorted(set(range(len(before))) - set(kept)))


def _differs(before: Curves, ancestor: int, after: Curves, number: int) -> bool:
    rows, old = after.rows(number), before.rows(ancestor)
    return (
        not _same_keys(before, ancestor, after, number)
        or bool(after.marked[rows].any())
        or bool(after.linear_extrapolation[number] != before.linear_extrapolation[ancestor])
        or any(values is not was and not _equal(values[rows], was[old]) for _, values, was in _arrays(before, after))
    )


def _same_keys(before: Curves, ancestor: int, after: Curves, number: int) -> bool:
    origin = after.origin[after.rows(number)]
    return len(origin) == before.counts[ancestor] and bool(np.all(origin == np.arange(len(origin))))


def _arrays(before: Curves, after: Curves) -> list[tuple[str, Any, Any]]:
    """(Blender's name, array after, array before) of all that a key has in both clips."""
    pairs = [(name, getattr(after, name), getattr(before, name)) for name in ("co", "handle_left", "handle_right")]
    pairs.append(("interpolation", after.interpolation, before.interpolation))
    if after.easing is not None and before.easing is not None:
        pairs.append(("easing", after.easing, before.easing))
    if after.easing_parameters is not None and before.easing_parameters is not None:
        for column, name in enumerate(_EASING):
            pairs.append((name, after.easing_parameters[:, column], before.easing_parameters[:, column]))
    return pairs


def _equal(values: Any, was: Any) -> bool:
    # A repair may work in double precision: what counts is what Blender would store. Bit by bit: NaN equals NaN
    # (it stays where it was), and 0.0 is not -0.0.
    values, was = np.ascontiguousarray(values, dtype=was.dtype), np.ascontiguousarray(was)
    return np.array_equal(values.view(np.uint8), was.view(np.uint8))


def _check(before: Clip, after: Clip, edits: _Edits) -> None:
    for ancestor in (*edits.changed.values(), *edits.removed):
        why = before.curves.read_only[ancestor]
        if why:
            raise RefusedError(
                Text(
                    "action '{action}': {path} must not be written: {why}",
                    {"action": before.action, "path": before.curves.data_path[ancestor], "why": why},
                )
            )
    if edits.added and before.curves.read_only and all(before.curves.read_only):
        raise RefusedError(
            Text(
                "action '{action}': no curve can be added: {why}",
                {"action": before.action, "why": before.curves.read_only[0]},
            )
        )
    c = after.curves
    for number in (*edits.changed, *edits.added):
        rows = c.rows(number)
        for name in ("co", "handle_left", "handle_right"):
            values = np.asarray(getattr(c, name)[rows], dtype=np.float32)
            bad = ~np.isfinite(values)
            if not bad.any():
                continue
            # One that was there already, on a key that is kept, is not of our making.
            origin, ancestor = c.origin[rows], int(c.ancestor[number])
            if ancestor >= 0:
                old = getattr(before.curves, name)[before.curves.rows(ancestor)]
                bad &= (origin < 0)[:, None] | np.isfinite(old[np.maximum(origin, 0)])
            if bad.any():
                frame = float(c.co[rows][np.argmax(bad.any(axis=1)), 0])
                raise RefusedError(
                    Text(
                        "action '{action}': {path}[{component}] would get a value that is not finite at frame {frame}",
                        {
                            "action": before.action,
                            "path": c.data_path[number],
                            "component": int(c.component[number]),
                            "frame": frame_words(frame),
                        },
                    )
                )


def _write_curve(fcurve: Any, before: Curves, ancestor: int, after: Curves, number: int) -> list[HandleChange]:
    """Write one curve; the handles whose type it changed."""
    rows, old = after.rows(number), before.rows(ancestor)
    points = fcurve.keyframe_points
    extrapolation = bool(after.linear_extrapolation[number]) != bool(before.linear_extrapolation[ancestor])
    if extrapolation:
        fcurve.extrapolation = "LINEAR" if after.linear_extrapolation[number] else "CONSTANT"
    if not _same_keys(before, ancestor, after, number):
        return _rebuild(points, after, number, _inserted_handles(before, ancestor, after, number))
    for name, values, was in _arrays(before, after):
        # Setting the extrapolation makes Blender compute automatic handles anew: put them back.
        if extrapolation or not _equal(values[rows], was[old]):
            points.foreach_set(name, np.ascontiguousarray(values[rows], dtype=was.dtype).reshape(-1))
    _free_moved_handles(points, before, ancestor, after, number)
    if after.marked[rows].any():
        types = np.empty(len(points), dtype=np.uint8)
        points.foreach_get("type", types)
        types[after.marked[rows]] = _GENERATED
        points.foreach_set("type", types)
    return []


def _free_moved_handles(points: Any, before: Curves, ancestor: int, after: Curves, number: int) -> None:
    """Set the handles of a key free where one of them moved and the key stayed: the tangent has a corner there now.

    Blender would put an automatic or aligned one back at the next edit.
    """
    rows, old = after.rows(number), before.rows(ancestor)
    moved = np.zeros(len(points), dtype=bool)
    for name in ("handle_left", "handle_right"):
        moved |= np.any(getattr(after, name)[rows] != getattr(before, name)[old], axis=1)
    moved &= np.all(after.co[rows] == before.co[old], axis=1) & ~after.marked[rows]
    if moved.any():
        for name in ("handle_left_type", "handle_right_type"):
            types = np.empty(len(points), dtype=np.uint8)
            points.foreach_get(name, types)
            types[moved] = _FREE
            points.foreach_set(name, types)


def _inserted_handles(before: Curves, ancestor: int, after: Curves, number: int) -> tuple[Any, Any] | None:
    """Which kept keys had a handle moved against its key, (left, right); None when no key was inserted.

    Splitting a Bézier segment shortens the handles around the new key. Blender would put an automatic one back at
    the next edit. A handle that was mirrored together with its key (a sign flip) has not moved.
    """
    rows, old = after.rows(number), before.rows(ancestor)
    origin = after.origin[rows]
    if not (origin < 0).any():
        return None
    kept, at = origin >= 0, np.maximum(origin, 0)
    moved = []
    for name in ("handle_left", "handle_right"):
        reach = np.asarray(getattr(after, name)[rows] - after.co[rows], dtype=np.float64)
        was = np.asarray((getattr(before, name)[old] - before.co[old])[at] if len(before.co[old]) else reach)
        limit = 1e-5 * (1.0 + np.abs(after.co[rows]))
        same = (np.abs(reach - was) <= limit).all(axis=1)
        mirrored = (np.abs(reach - was * (1.0, -1.0)) <= limit).all(axis=1)
        moved.append(kept & ~same & ~mirrored)
    return moved[0], moved[1]


def _rebuild(points: Any, after: Curves, number: int, moved: tuple[Any, Any] | None) -> list[HandleChange]:
    """Replace all keys: what a kept key has beyond the clip's arrays goes with it, but the handle types returned."""
    rows = after.rows(number)
    origin, marked = after.origin[rows], after.marked[rows]
    made, at = origin < 0, np.maximum(origin, 0)
    count, old_count = len(origin), len(points)
    attributes = {}
    for name, width, dtype in _KEY:
        old = np.zeros(old_count * width, dtype=dtype)
        points.foreach_get(name, old)
        old = old.reshape(old_count, width)
        attributes[name] = old[at] if old_count else np.zeros((count, width), dtype=dtype)
        attributes[name][made] = 0  # of handle types: FREE; not selected
    attributes["type"][made | marked] = _GENERATED
    _take(attributes, after, rows, made)
    left, right = attributes["handle_left_type"][:, 0], attributes["handle_right_type"][:, 0]
    were = left.copy(), right.copy()
    if moved is not None:
        either = moved[0] | moved[1]
        for types, this in ((left, moved[0]), (right, moved[1])):
            # Automatic handles come in pairs, one tangent through the key: if one moved, neither is automatic.
            types[either & ((types == _AUTO) | (types == _AUTO_CLAMPED))] = _ALIGNED
            types[this & (types == _VECTOR)] = _FREE
    points.clear()
    if not count:
        return []
    points.add(count)
    for name, _, _ in _KEY:
        points.foreach_set(name, np.ascontiguousarray(attributes[name]).ravel())
    return _retyped(np.concatenate(were), np.concatenate((left, right)))


def _retyped(were: Any, are: Any) -> list[HandleChange]:
    """Handles (N,) whose type differs, by their types."""
    pairs, counts = np.unique(np.stack([were, are])[:, were != are], axis=1, return_counts=True)
    return [HandleChange(_HANDLES[a], _HANDLES[b], int(n)) for a, b, n in zip(*pairs.tolist(), counts, strict=True)]


def _take(attributes: dict[str, Any], after: Curves, rows: slice, made: Any) -> None:
    """Put the clip's own arrays in place, and Blender's defaults where new keys have none."""
    for name in ("co", "handle_left", "handle_right"):
        attributes[name] = np.array(getattr(after, name)[rows], dtype=np.float32)
    attributes["interpolation"] = np.array(after.interpolation[rows])
    if after.easing is not None:
        attributes["easing"] = np.array(after.easing[rows])
    if after.easing_parameters is not None:
        for column, name in enumerate(_EASING):
            attributes[name] = np.array(after.easing_parameters[rows, column], dtype=np.float32)
    # What Blender gives a key that is inserted by hand (insert_vert_fcurve).
    for name, value in zip(_EASING, (1.70158, 0.8, 4.1), strict=True):
        attributes[name][made & (after.interpolation[rows] <= BEZIER)] = value


def _look_of_siblings(fcurves: Sequence[Any], before: Curves, path: str) -> tuple[str, str]:
    """(group, color mode) of the curves of the same property; ("", "") without any."""
    siblings = [fcurves[n] for n in range(len(before)) if before.data_path[n] == path]
    group = next((f.group.name for f in siblings if f.group is not None), "")
    return group, siblings[0].color_mode if siblings else ""


def _add_curve(owner: Any, after: Curves, number: int, look: tuple[str, str]) -> None:
    path, component = after.data_path[number], int(after.component[number])
    fcurve = owner.fcurves.find(path, index=component)  # one without keys counts as missing, and is used again
    if fcurve is not None and len(fcurve.keyframe_points):
        values = {"path": path, "component": component}
        raise GoneError(Text("{path}[{component}] has keys already: read the action again", values))
    if fcurve is None:
        fcurve = compat.new_fcurve(owner, path, component, look[0])
        if look[1]:
            fcurve.color_mode = look[1]
    fcurve.extrapolation = "LINEAR" if after.linear_extrapolation[number] else "CONSTANT"
    cycles = after.cycles[number]
    if cycles is not None and not len(fcurve.modifiers):
        modifier = fcurve.modifiers.new(type="CYCLES")
        modifier.mode_before, modifier.mode_after, modifier.cycles_before, modifier.cycles_after = cycles
    _rebuild(fcurve.keyframe_points, after, number, None)


def _new_modes(before: Clip, after: Clip) -> dict[str, tuple[str, str]]:
    """Data path → (bone, mode) of tracks that are to be played in another rotation mode."""
    was = dict(zip(before.tracks.data_path, before.tracks.modes, strict=True))
    new = {}
    for path, bone, modes in zip(after.tracks.data_path, after.tracks.bone, after.tracks.modes, strict=True):
        if path in was and modes != was[path]:
            if len(modes) != 1:
                raise ValueError(f"{path}: a repair sets one rotation mode, not {modes}")
            new[path] = (bone, modes[0])
    return new
