# SPDX-License-Identifier: GPL-3.0-or-later
"""Actions -> Clips: one for each slot (and for each layer or strip of it, when there are several).

Keys are read by `foreach_get` straight into slices of arrays that hold the whole clip. Blender copies memory as it
is where type and width agree (float32; uint8 for enumerations), which is what makes reading fast.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..errors import GoneError
from ..motion.clip import BEZIER, COMPONENTS, Clip, Curves, Cycles, Track, make_curves, make_tracks
from ..text import Text
from . import compat, ignore, readers, users
from .users import Played, User, Users

# A bone's name is a string literal of RNA: any character but its quote, which a backslash escapes.
_BONE_ROTATION = re.compile(
    r"""pose\.bones\[(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]\.(rotation_quaternion|rotation_euler|rotation_axis_angle)""",
    re.DOTALL,
)
_MUTED = Text("muted: Blender plays the stored value")
# A slice of `read_action_slices` ends once this much time is spent: short of a redraw at 30 frames a second.
SLICE_SECONDS = 0.02

# A read in parts: yields the keys read so far, is sent the curves found anew (None: the same ones), returns the Clip.
_Parts = Generator[int, Sequence[Any] | None, Clip]


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


def read_action(action: Any, *, played_by: Users | None = None) -> list[BlenderClip]:
    """All slots of an action. `played_by` saves looking for its users again (`users.find_users`)."""
    if played_by is None:
        played_by = users.find_users()
    clips = []
    for curve_set in compat.curve_sets(action):
        clip = _read_set(action, curve_set, played_by)
        clips.append(BlenderClip(clip, action.session_uid, curve_set.handle, curve_set.layer, curve_set.strip))
    return clips


def read_action_slices(
    action: Any, *, played_by: Users | None = None, slice_seconds: float = SLICE_SECONDS
) -> Iterator[tuple[int, int, tuple[BlenderClip, ...]]]:
    """`read_action` in slices of about `slice_seconds`, for who has to keep Blender's window alive meanwhile.

    Yields (keys read, keys in all, clips); clips is () but in the last item. One read of a curve's keys is never
    divided: a million keys in a single curve take about 0.1 s for each of their four arrays.

    Raises: GoneError: the action or a curve was removed between two slices (an undo, a script).
    """
    uid, name = action.session_uid, action.name
    sets = list(compat.curve_sets(action))
    total = sum(len(fcurve.keyframe_points) for curve_set in sets for fcurve in curve_set.fcurves)
    addresses = [(s.handle, s.layer, s.strip) for s in sets]
    del action, sets  # pointers are not kept between two slices
    yield 0, total, ()
    if played_by is None:
        played_by = users.find_users()
        yield 0, total, ()
    done, clips = 0, []
    for address in addresses:
        action, curve_set = _find_curve_set(uid, name, *address)
        if not users.alive(played_by.get((uid, address[0]), [])):  # undone since they were found
            played_by = users.find_users()
        parts = _read_set_parts(action, curve_set, played_by)
        keys, again, since = 0, None, time.perf_counter()
        while True:
            try:
                keys = parts.send(again)
            except StopIteration as end:
                clips.append(BlenderClip(end.value, uid, *address))
                done += len(end.value.curves.co)
                break
            if again is not None:
                # To find thousands of curves anew takes longer than one on a busy machine: that alone is no slice.
                again, since = None, time.perf_counter()
            if time.perf_counter() - since > slice_seconds:
                yield done + keys, total, ()
                action, curve_set = _find_curve_set(uid, name, *address)
                again = list(curve_set.fcurves)
        yield done, total, ()
    yield total, total, tuple(clips)


def read_again(record: BlenderClip) -> BlenderClip:
    """The same slot as it is now."""
    action, curve_set = find_set(record)
    return BlenderClip(_read_set(action, curve_set, users.find_users()), *_address(record))


def _address(record: BlenderClip) -> tuple[int, int, int, int]:
    return record.action_uid, record.handle, record.layer, record.strip


def find_set(record: BlenderClip) -> tuple[Any, compat.CurveSet]:
    """(action, its set of curves) that a record means. GoneError when it is gone from the file."""
    return _find_curve_set(record.action_uid, record.clip.action, record.handle, record.layer, record.strip)


def _find_curve_set(uid: int, name: str, handle: int, layer: int, strip: int) -> tuple[Any, compat.CurveSet]:
    for action in bpy.data.actions:
        if action.session_uid == uid:
            for found in compat.curve_sets(action):
                if (found.handle, found.layer, found.strip) == (handle, layer, strip):
                    return action, found
    raise GoneError(Text("action '{action}' is no longer in this file as it was: read it again", {"action": name}))


def _read_set(action: Any, curve_set: compat.CurveSet, played_by: Users) -> Clip:
    parts = _read_set_parts(action, curve_set, played_by)
    while True:
        try:
            next(parts)
        except StopIteration as end:
            clip: Clip = end.value
            return clip


def _read_set_parts(action: Any, curve_set: compat.CurveSet, played_by: Users) -> _Parts:
    """Read a set of curves. Between two parts the curves may be found anew; nothing else of Blender is used then."""
    fcurves = list(curve_set.fcurves)
    paths = [fcurve.data_path for fcurve in fcurves]
    components = [fcurve.array_index for fcurve in fcurves]
    rotations = _rotations(paths) if curve_set.id_type in ("", "OBJECT") else {}
    slot_name = " · ".join(filter(None, (curve_set.slot, curve_set.label)))

    own = (action.session_uid, curve_set.handle)
    who = played_by.get(own, [])
    players = list(who)
    if not players and rotations:
        guess = users.guess_user(rotations.values(), action.name, curve_set.slot)
        players = [guess] if guess is not None else []
    owner = players[0].name if players else ""

    twice = _keyed_by_number(paths, players)
    missing = {path for path in set(paths) if not any(users.resolves(u.datablock, path) for u in who)} if who else set()
    driven = frozenset().union(*(user.driven for user in players))
    problems = [_unevaluable(f, p, c, driven, p in missing) for f, p, c in zip(fcurves, paths, components, strict=True)]
    problems = [problem or twice.get(path) for problem, path in zip(problems, paths, strict=True)]
    guarded = _read_only_action(action)
    ignores, unreadable = ignore.readable_ignores(action)
    scene = bpy.context.scene or bpy.data.scenes[0]
    name, frame_rate = action.name, scene.render.fps / scene.render.fps_base
    unread: list[tuple[str, str]] = [
        (f"{path}[{component}]", Text("its keys were baked to samples"))
        for fcurve, path, component in zip(fcurves, paths, components, strict=True)
        if len(fcurve.sampled_points)
    ]
    if unreadable:
        why = Text("its list of ignored findings cannot be read ({why}), so nothing is ignored", {"why": unreadable})
        unread.append((name, why))
    keyed = set(zip(paths, components, strict=True))
    read_by = readers.find_readers(played_by, who, own, rotations, keyed)
    played = {
        path: readers.as_read(read_by, path) if who else users.guessed(players, bone, prop)
        for path, (bone, prop) in rotations.items()
    }
    unread += readers.not_evaluated(name, read_by)
    unbound = readers.find_unbound(played_by, own, rotations, keyed)
    connected = readers.find_connected(played_by, who, paths)
    settled: dict[str, Any] = {
        "cycles": [problem if isinstance(problem, Cycles) else None for problem in problems],
        "unevaluable": [problem if isinstance(problem, str) else "" for problem in problems],
        "read_only": [guarded or _read_only_curve(fcurve) for fcurve in fcurves],
        "orphan": [path in missing for path in paths],
        "linear_extrapolation": [fcurve.extrapolation == "LINEAR" for fcurve in fcurves],
    }
    played_names = tuple(user.name for user in who)
    arrays = yield from _read_arrays(name, fcurves, paths, components)
    curves = make_curves(paths, components, **arrays, **settled)
    return Clip(
        action=name,
        slot=slot_name,
        owner=owner,
        users=played_names,
        format="blender",
        frame_rate=frame_rate,
        seconds=False,
        curves=curves,
        tracks=make_tracks(_tracks(rotations, curves, played)),
        not_evaluated=tuple(unread),
        ignores=ignores,
        readers=read_by,
        unbound=unbound,
        connected=connected,
    )


def _read_arrays(
    action: str, fcurves: Sequence[Any], paths: Sequence[str], components: Sequence[int]
) -> Generator[int, Sequence[Any] | None, dict[str, Any]]:
    """The keys of some curves as arrays for `make_curves`, in parts (see `_Parts`)."""
    points = [fcurve.keyframe_points for fcurve in fcurves]
    counts = [len(p) for p in points]
    keys = sum(counts)
    co, left, right = (np.empty(2 * keys, dtype=np.float32) for _ in range(3))
    interpolation = np.empty(keys, dtype=np.uint8)
    easing, parameters = None, None
    start = 0
    for curve, count in enumerate(counts):
        stop = start + count
        for name, values in (
            ("co", co[2 * start : 2 * stop]),
            ("handle_left", left[2 * start : 2 * stop]),
            ("handle_right", right[2 * start : 2 * stop]),
            ("interpolation", interpolation[start:stop]),
        ):
            points[curve].foreach_get(name, values)
            again = yield start
            if again is not None:
                points = _found_again(action, again, paths, components, counts)
        if (interpolation[start:stop] > BEZIER).any():
            if easing is None or parameters is None:
                easing, parameters = np.zeros(keys, dtype=np.uint8), np.zeros((keys, 3), dtype=np.float32)
            _read_easing(points[curve], easing[start:stop], parameters[start:stop])
        start = stop
    return {
        "counts": counts,
        "co": co.reshape(-1, 2),
        "handle_left": left.reshape(-1, 2),
        "handle_right": right.reshape(-1, 2),
        "interpolation": interpolation,
        "easing": easing,
        "easing_parameters": parameters,
    }


def _found_again(
    action: str, fcurves: Sequence[Any], paths: Sequence[str], components: Sequence[int], counts: Sequence[int]
) -> list[Any]:
    points = [fcurve.keyframe_points for fcurve in fcurves]
    same = [(f.data_path, f.array_index, len(p)) for f, p in zip(fcurves, points, strict=True)]
    if same != list(zip(paths, components, counts, strict=True)):
        raise GoneError(Text("action '{action}' changed while it was read: read it again", {"action": action}))
    return points


def _read_easing(points: Any, easing: Any, parameters: Any) -> None:
    """Easing of a curve that uses an easing equation, into its parts of the clip's arrays."""
    points.foreach_get("easing", easing)
    for column, name in enumerate(("back", "amplitude", "period")):
        values = np.empty(len(easing), dtype=np.float32)
        points.foreach_get(name, values)
        parameters[:, column] = values


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


_BY_NUMBER = re.compile(r"pose\.bones\[(\d+)\]\.(rotation_quaternion|rotation_euler|rotation_axis_angle)")


def _keyed_by_number(paths: Iterable[str], players: Iterable[User]) -> dict[str, str]:
    """Data path → why it is not judged, of rotations that are keyed by the bone's number too (a script's path).

    Blender plays both curves, the later one over the earlier: no track by itself says what is played.
    """
    found: dict[str, str] = {}
    for path in dict.fromkeys(path for path in paths if path.startswith("pose.bones[")):
        if (match := _BY_NUMBER.fullmatch(path)) is None:
            continue
        why = Text("keyed by the bone's number too ({path}), and the later curve wins", {"path": path})
        found[path] = why
        for user in players:
            bones = user.datablock.pose.bones if user.is_object and user.datablock.pose is not None else ()
            if int(match[1]) < len(bones):
                found[bones[int(match[1])].path_from_id(match[2])] = why
    return found


def _tracks(rotations: dict[str, tuple[str, str]], curves: Curves, played_by: dict[str, Played]) -> list[Track]:
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
        played = played_by[path]
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
        return Text("driven")
    if len(fcurve.sampled_points):
        return Text("keys were baked to samples")
    if not fcurve.is_valid and not orphan:
        return Text("Blender marks the curve as invalid and passes it over")
    modifiers = [modifier for modifier in fcurve.modifiers if not modifier.mute]
    if not modifiers:
        return None
    others = [modifier.type for modifier in modifiers if modifier.type != "CYCLES"]
    if others:
        return Text("{modifier} modifier", {"modifier": others[0]})
    first = modifiers[0]  # and only: Blender takes a Cycles modifier as the first of a curve, or not at all
    if first.use_restricted_range or (first.use_influence and first.influence != 1.0):
        return Text("CYCLES modifier of limited range or influence")
    return Cycles(first.mode_before, first.mode_after, first.cycles_before, first.cycles_after)


def _read_only_action(action: Any) -> str:
    if action.library is not None:
        # Either slash may stand in a library's path, on any system.
        return Text("linked from {file}", {"file": re.split(r"[/\\]", action.library.filepath)[-1]})
    if action.override_library is not None:
        return Text("a library override: edit the action in its own file")
    return "" if action.is_editable else Text("Blender says that the action is not editable")


def _read_only_curve(fcurve: Any) -> str:
    if fcurve.lock:
        return Text("the curve is locked")
    group = fcurve.group
    return Text("the group {group!r} is locked", {"group": group.name}) if group is not None and group.lock else ""
