# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions -> Clips: one for each slot (and for each layer or strip of it, when there are several).

Keys are read by `foreach_get` straight into slices of arrays that hold the whole clip. Blender copies memory as it
is where type and width agree (float32; uint8 for enumerations), which is what makes reading fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..clip import BEZIER, COMPONENTS, Clip, Curves, Cycles, Track, make_curves, make_tracks
from . import compat, users
from .users import Key, User

# A bone's name is a string literal of RNA: any character but its quote, which a backslash escapes.
_BONE_ROTATION = re.compile(
    r"""pose\.bones\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]\.(rotation_quaternion|rotation_euler|rotation_axis_angle)""",
    re.DOTALL,
)
_MUTED = "muted: Blender plays the stored value"


@dataclass(frozen=True, eq=False)
class BlenderClip:
    """A Clip and where it is in the open file, by numbers that survive an undo (unlike Blender's pointers).

    Attributes:
        clip: what was read.
        action_uid: the action's `session_uid`.
        handle, layer, strip: the set of curves within it (`compat.CurveSet`).
    """

    clip: Clip
    action_uid: int
    handle: int
    layer: int
    strip: int


def read_file() -> list[BlenderClip]:
    """Every action of the open file: used or not, linked ones too. In name order (local before linked)."""
    played_by = users.find_users()
    actions = sorted(bpy.data.actions, key=lambda a: (a.name, a.library.filepath if a.library else ""))
    return [clip for action in actions for clip in read_action(action, played_by=played_by)]


def read_object(datablock: Any) -> list[BlenderClip]:
    """The slots that an object (or any other ID) plays: active, stashed, in the NLA, in Action constraints.

    All users of those slots are found, not only this one.
    """
    played_by = users.find_users()
    mine = users.find_users([datablock])
    by_uid = {action.session_uid: action for action in bpy.data.actions}
    clips = [
        clip for uid in dict.fromkeys(uid for uid, _ in mine) for clip in read_action(by_uid[uid], played_by=played_by)
    ]
    return [clip for clip in clips if (clip.action_uid, clip.handle) in mine]


def read_action(action: Any, *, played_by: dict[Key, list[User]] | None = None) -> list[BlenderClip]:
    """All slots of an action. `played_by` saves looking for its users again (`users.find_users`)."""
    if played_by is None:
        played_by = users.find_users()
    clips = []
    for curve_set in compat.curve_sets(action):
        who = played_by.get((action.session_uid, curve_set.handle), [])
        clip = _read_set(action, curve_set, who)
        clips.append(BlenderClip(clip, action.session_uid, curve_set.handle, curve_set.layer, curve_set.strip))
    return clips


def read_again(record: BlenderClip) -> BlenderClip:
    """The same slot as it is now."""
    action, curve_set = find_set(record)
    who = users.find_users().get((record.action_uid, record.handle), [])
    return BlenderClip(_read_set(action, curve_set, who), *_place(record))


def _place(record: BlenderClip) -> tuple[int, int, int, int]:
    return record.action_uid, record.handle, record.layer, record.strip


def find_set(record: BlenderClip) -> tuple[Any, compat.CurveSet]:
    """(action, its set of curves) that a record means. LookupError when it is gone from the file."""
    for action in bpy.data.actions:
        if action.session_uid == record.action_uid:
            for found in compat.curve_sets(action):
                if (found.handle, found.layer, found.strip) == (record.handle, record.layer, record.strip):
                    return action, found
    raise LookupError(
        f"action {record.clip.action!r} slot {record.clip.slot!r} is no longer in this file: read it again"
    )


def _read_set(action: Any, curve_set: compat.CurveSet, who: Sequence[User]) -> Clip:
    fcurves = list(curve_set.fcurves)
    paths = [fcurve.data_path for fcurve in fcurves]
    components = [fcurve.array_index for fcurve in fcurves]
    rotations = _rotations(paths) if curve_set.id_type in ("", "OBJECT") else {}
    slot_name = " · ".join(filter(None, (curve_set.slot, curve_set.label)))

    players = list(who)
    if not players and rotations:
        guess = users.guess_user(rotations.values(), action.name, curve_set.slot)
        players = [guess] if guess is not None else []
    owner = players[0].name if players else ""

    missing = {path for path in set(paths) if not any(users.resolves(u.datablock, path) for u in who)} if who else set()
    driven = frozenset().union(*(user.driven for user in players))
    problems = [_unevaluable(f, p, c, driven, p in missing) for f, p, c in zip(fcurves, paths, components, strict=True)]
    guarded = _read_only_action(action)
    curves = _read_curves(
        fcurves,
        paths,
        components,
        cycles=[problem if isinstance(problem, Cycles) else None for problem in problems],
        unevaluable=[problem if isinstance(problem, str) else "" for problem in problems],
        read_only=[guarded or _read_only_curve(fcurve) for fcurve in fcurves],
        orphan=[path in missing for path in paths],
    )
    scene = bpy.context.scene or bpy.data.scenes[0]
    return Clip(
        action=action.name,
        slot=slot_name,
        owner=owner,
        users=tuple(user.name for user in who),
        source="blender",
        frame_rate=scene.render.fps / scene.render.fps_base,
        seconds=False,
        curves=curves,
        tracks=make_tracks(_tracks(rotations, curves, players)),
        not_evaluated=tuple(
            (f"{path}[{component}]", "its keys were baked to samples")
            for fcurve, path, component in zip(fcurves, paths, components, strict=True)
            if len(fcurve.sampled_points)
        ),
    )


def _read_curves(fcurves: Sequence[Any], paths: Sequence[str], components: Sequence[int], **per_curve: Any) -> Curves:
    points = [fcurve.keyframe_points for fcurve in fcurves]
    counts = [len(p) for p in points]
    keys = sum(counts)
    co, left, right = (np.empty(2 * keys, dtype=np.float32) for _ in range(3))
    interpolation = np.empty(keys, dtype=np.uint8)
    start = 0
    for p, count in zip(points, counts, strict=True):
        stop = start + count
        get = p.foreach_get
        get("co", co[2 * start : 2 * stop])
        get("handle_left", left[2 * start : 2 * stop])
        get("handle_right", right[2 * start : 2 * stop])
        get("interpolation", interpolation[start:stop])
        start = stop
    easing, parameters = _read_easing(points, counts, interpolation)
    return make_curves(
        paths,
        components,
        counts,
        co.reshape(-1, 2),
        handle_left=left.reshape(-1, 2),
        handle_right=right.reshape(-1, 2),
        interpolation=interpolation,
        easing=easing,
        easing_parameters=parameters,
        linear_extrapolation=[fcurve.extrapolation == "LINEAR" for fcurve in fcurves],
        **per_curve,
    )


def _read_easing(points: Sequence[Any], counts: Sequence[int], interpolation: Any) -> tuple[Any, Any]:
    """Easing of the curves that use an easing equation; (None, None) when none does."""
    eased = interpolation > BEZIER
    if not eased.any():
        return None, None
    easing = np.zeros(len(eased), dtype=np.uint8)
    parameters = np.zeros((len(eased), 3), dtype=np.float32)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    for curve in np.unique(np.searchsorted(offsets, np.flatnonzero(eased), side="right") - 1):
        rows = slice(offsets[curve], offsets[curve + 1])
        points[curve].foreach_get("easing", easing[rows])
        for column, name in enumerate(("back", "amplitude", "period")):
            values = np.empty(counts[curve], dtype=np.float32)
            points[curve].foreach_get(name, values)
            parameters[rows, column] = values
    return easing, parameters


def _rotations(paths: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Data path → (bone, property) of those that are rotations, in order of appearance."""
    found: dict[str, tuple[str, str]] = {}
    for path in dict.fromkeys(paths):
        if path in users.ROTATIONS:
            found[path] = ("", path)
        elif "rotation_" in path and (match := _BONE_ROTATION.fullmatch(path)):
            name = match[1] if match[1] is not None else match[2]
            found[path] = (bpy.utils.unescape_identifier(name), match[3])
    return found


def _tracks(rotations: dict[str, tuple[str, str]], curves: Curves, players: Sequence[User]) -> list[Track]:
    by_path: dict[str, list[int]] = {path: [] for path in rotations}
    counts = curves.counts
    for number, path in enumerate(curves.data_path):
        # A curve without keys or a modifier to make values is one that Blender passes over.
        if path in by_path and (counts[number] or curves.unevaluable[number]):
            by_path[path].append(number)
    tracks = []
    for path, (bone, prop) in rotations.items():
        kind = users.ROTATIONS[prop]
        rows: list[list[int]] = []  # the second and further rows: duplicate curves
        for number in by_path[path]:
            component = int(curves.component[number])
            if not 0 <= component < COMPONENTS[kind]:
                continue
            row = next((r for r in rows if r[component] < 0), None)
            if row is None:
                rows.append(row := [-1] * 4)
            row[component] = number
        if not rows:
            continue
        played = users.played(players, bone, prop)
        for row in rows:
            tracks.append(
                Track(
                    data_path=path,
                    bone=bone,
                    kind=kind,
                    curves=(row[0], row[1], row[2], row[3]),
                    order=played.order,
                    # The mode of a mere candidate counts too; that it is one is told by Clip.users.
                    modes=played.modes,
                    pose=played.pose or (np.nan,) * 4,
                    delta=prop.startswith("delta_"),
                )
            )
    return tracks


def _unevaluable(
    fcurve: Any, path: str, component: int, driven: frozenset[tuple[str, int]], orphan: bool
) -> str | Cycles | None:
    """Why the values between keys are not those of the keys; or the Cycles modifier that they are repeated by."""
    group = fcurve.group
    if fcurve.mute or (group is not None and group.mute):
        return _MUTED
    if (path, component) in driven:
        return "driven"
    if len(fcurve.sampled_points):
        return "keys were baked to samples"
    if not fcurve.is_valid and not orphan:
        return "Blender marks the curve as invalid and passes it over"
    modifiers = [modifier for modifier in fcurve.modifiers if not modifier.mute]
    if not modifiers:
        return None
    others = [modifier.type for modifier in modifiers if modifier.type != "CYCLES"]
    if others:
        return f"{others[0]} modifier"
    first = modifiers[0]  # and only: Blender takes a Cycles modifier as the first of a curve, or not at all
    if first.use_restricted_range or (first.use_influence and first.influence != 1.0):
        return "CYCLES modifier of limited range or influence"
    return Cycles(first.mode_before, first.mode_after, first.cycles_before, first.cycles_after)


def _read_only_action(action: Any) -> str:
    if action.library is not None:
        # Either slash may stand in a library's path, on any system.
        return "linked from " + re.split(r"[/\\]", action.library.filepath)[-1]
    if action.override_library is not None:
        return "a library override: edit the action in its own file"
    return "" if action.is_editable else "Blender says that the action is not editable"


def _read_only_curve(fcurve: Any) -> str:
    if fcurve.lock:
        return "the curve is locked"
    group = fcurve.group
    return f"the group {group.name!r} is locked" if group is not None and group.lock else ""
