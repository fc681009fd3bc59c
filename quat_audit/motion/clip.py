# SPDX-License-Identifier: GPL-3.0-or-later
"""Clip: one action slot (or one animation of a file) as a structure of NumPy arrays.

It is the only thing that rules and repairs see. Readers (`files/`, `blender/`) make it, writers take an
edited one. Nothing here changes in place: an edit is a new Clip made by `dataclasses.replace`.

All keys of all F-curves lie in a few concatenated arrays; curve ``c`` owns the rows
``offsets[c]:offsets[c + 1]``. A *track* is one rotation: the three or four curves of one data path.

Units: times in frames, angles in radians, quaternions w, x, y, z.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ..arrays import Bools, Floats, Ints
from ..findings.ignores import Ignore
from .readers import Connected, Reader, Unbound

# Interpolation of the segment that *starts* at a key. 0 to 12 are Blender's own numbers
# (eBezTriple_Interpolation in DNA_curve_enums.h), so that reading an action converts nothing.
CONSTANT, LINEAR, BEZIER = 0, 1, 2
BACK, BOUNCE, CIRC, CUBIC, ELASTIC, EXPO, QUAD, QUART, QUINT, SINE = range(3, 13)
# glTF's LINEAR on a rotation: spherical, the short way, over the four components together.
SLERP = 32

# Easing of such a segment (eBezTriple_Easing).
EASE_AUTO, EASE_IN, EASE_OUT, EASE_IN_OUT = 0, 1, 2, 3

RotationKind = Literal["QUATERNION", "EULER", "AXIS_ANGLE"]
QUATERNION: Final = "QUATERNION"
EULER: Final = "EULER"
AXIS_ANGLE: Final = "AXIS_ANGLE"
COMPONENTS: Final[dict[RotationKind, int]] = {QUATERNION: 4, EULER: 3, AXIS_ANGLE: 4}
EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")

# Modes of a Cycles modifier outside the keyed range (eFMod_Cycling_Modes).
CYCLE_NONE, CYCLE_REPEAT, CYCLE_REPEAT_OFFSET, CYCLE_MIRROR = "NONE", "REPEAT", "REPEAT_OFFSET", "MIRROR"

# What a clip was read from.
Format = Literal["blender", "gltf", "bvh"]


class Cycles(NamedTuple):
    """A Cycles modifier: mode before and after the keyed range, and how often (0: without end)."""

    mode_before: str
    mode_after: str
    cycles_before: int
    cycles_after: int


@dataclass(frozen=True, eq=False)
class Curves:
    """C F-curves with K keys altogether.

    Attributes:
        data_path: (C,) what the curve animates, as Blender writes it (or a JSON pointer for glTF).
        component: (C,) int, the array index within the property (0 where it has none).
        offsets: (C + 1,) int, curve ``c`` owns the key rows ``offsets[c]:offsets[c + 1]``.
        co: (K, 2) float, time in frames and value of each key.
        handle_left, handle_right: (K, 2) float, Bézier handles, absolute, as Blender stores them.
        interpolation: (K,) uint8, of the segment that starts at the key.
        easing: (K,) uint8, or None when no key uses an easing equation.
        easing_parameters: (K, 3) float: back, amplitude, period; or None as above.
        linear_extrapolation: (C,) bool, outside the keys: the slope goes on (True) or the value holds.
        cycles: (C,) a Cycles modifier, or None.
        unevaluable: (C,) why the curve's values between keys cannot be computed from its keys
            (a Noise modifier, a driver, muted); "" when they can.
        read_only: (C,) why the curve must not be written (linked data, a locked curve); "" when it may be.
        orphan: (C,) bool, no user of the action has the bone or property.
        ancestor: (C,) int, the curve of the reader's clip that this one was; -1: made by a repair.
        origin: (K,) int, the key's row within its ancestor; -1: made by a repair.
        marked: (K,) bool, made or bridged by a repair: shown with a key type of its own.
    """

    data_path: tuple[str, ...]
    component: Ints
    offsets: Ints
    co: Floats
    handle_left: Floats
    handle_right: Floats
    interpolation: npt.NDArray[np.uint8]
    easing: npt.NDArray[np.uint8] | None
    easing_parameters: Floats | None
    linear_extrapolation: Bools
    cycles: tuple[Cycles | None, ...]
    unevaluable: tuple[str, ...]
    read_only: tuple[str, ...]
    orphan: Bools
    ancestor: Ints
    origin: Ints
    marked: Bools

    def __len__(self) -> int:
        return len(self.data_path)

    @property
    def counts(self) -> Ints:
        """(C,) keys of each curve."""
        return np.diff(self.offsets)

    def rows(self, curve: int) -> slice:
        """The key rows of one curve."""
        return slice(int(self.offsets[curve]), int(self.offsets[curve + 1]))

    def curve_of_key(self) -> Ints:
        """(K,) the curve that each key row belongs to."""
        return np.repeat(np.arange(len(self)), self.counts)


@dataclass(frozen=True, eq=False)
class Storage:
    """What the file that a clip was read from can hold of an edit; see storage.py.

    Attributes:
        keys_fixed: why no key or curve can be added, removed or moved in time; "" when they can.
        bridges: a key that holds no number may be removed: the file gets what then plays there.
        bits: (C,) int, the size of the integers that the values of each curve of the reader's clip are stored as;
            0: floating point.
        signed: (C,) bool, those integers have a sign.
        step: (C,) float, what 1 in such an integer is worth.
    """

    keys_fixed: str
    bridges: bool
    bits: Ints
    signed: Bools
    step: Floats


@dataclass(frozen=True, eq=False)
class Tracks:
    """T rotations: which curves make up each, and how its owner plays it.

    Attributes:
        data_path: (T,) e.g. ``pose.bones["Arm"].rotation_quaternion``.
        bone: (T,) the bone's (or glTF node's) name; "" for the object itself.
        kind: (T,) QUATERNION, EULER or AXIS_ANGLE: what is keyed.
        order: (T,) Euler order to read the angles in; "XYZ" where it means nothing.
        modes: (T,) the distinct rotation modes of those that play the action; () when nobody does.
        curves: (T, 4) int, the curve of each component, -1 where it has none (fourth of Euler: -1).
        pose: (T, 4) float, the value that the property has stored, played where a component has no
            curve; NaN where nobody tells. The fourth of Euler is 0.
        delta: (T,) bool, a delta_rotation_… channel.
    """

    data_path: tuple[str, ...]
    bone: tuple[str, ...]
    kind: tuple[RotationKind, ...]
    order: tuple[str, ...]
    modes: tuple[tuple[str, ...], ...]
    curves: Ints
    pose: Floats
    delta: tuple[bool, ...]

    def __len__(self) -> int:
        return len(self.data_path)


def kind_played(mode: str) -> RotationKind:
    """The kind of channel that a rotation mode plays."""
    return EULER if mode in EULER_ORDERS else cast(RotationKind, mode)


@dataclass(frozen=True, eq=False)
class Clip:
    """One action slot, or one animation of a file.

    Attributes:
        action, slot, owner: names; owner is the first user (or the only candidate), "" if none.
        users: every object that plays the action.
        format: "blender", "gltf" or "bvh": some limits are a format's own.
        frame_rate: frames per second that `co` is expressed in.
        seconds: the format counts in seconds (glTF): say so to a person.
        curves, tracks: the animation.
        not_evaluated: (what, why) pairs that the reader could not bring in.
        ignores: findings that are not to be reported (or repaired) on this clip's action.
        readers: who plays the keys or reads them; () where the only one is the format's own, or nobody is known.
        unbound: who has the action and plays none of its slots, though this one would suit.
        connected: bones whose location keys play nothing.
        rewritten: why its rotations may make other turns between the keys than those that were authored (what read
            the file wraps or unwraps them); "" when they are as authored.
        storage: what the file can hold of an edit; None: everything (Blender).
    """

    action: str
    slot: str
    owner: str
    users: tuple[str, ...]
    format: Format
    frame_rate: float
    seconds: bool
    curves: Curves
    tracks: Tracks
    not_evaluated: tuple[tuple[str, str], ...] = ()
    ignores: tuple[Ignore, ...] = ()
    readers: tuple[Reader, ...] = ()
    unbound: tuple[Unbound, ...] = ()
    connected: tuple[Connected, ...] = ()
    rewritten: str = ""
    storage: Storage | None = None
    # Views computed from this clip (keys.py beside it); a new clip starts with an empty one.
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    @property
    def frame_range(self) -> tuple[float, float] | None:
        """First and last finite key time, None without one."""
        times = self.curves.co[:, 0]
        times = times[np.isfinite(times)]
        return (float(times.min()), float(times.max())) if len(times) else None

    def validate(self) -> None:
        """Raise ValueError naming the first broken invariant (numbered, see `_invariants`)."""
        for number, (holds, says) in enumerate(_invariants(self), start=1):
            if not holds:
                raise ValueError(f"clip {self.action!r} slot {self.slot!r}: invariant {number} broken: {says}")


def _invariants(clip: Clip) -> Sequence[tuple[bool, str]]:
    c, t = clip.curves, clip.tracks
    n, keys, m = len(c.data_path), len(c.co), len(t.data_path)
    offsets_ok = (
        c.offsets.shape == (n + 1,)
        and int(c.offsets[0]) == 0
        and int(c.offsets[-1]) == keys
        and bool(np.all(np.diff(c.offsets) >= 0))
    )
    per_curve = (c.component, c.linear_extrapolation, c.cycles, c.unevaluable, c.read_only, c.orphan, c.ancestor)
    per_key = (c.interpolation, c.origin, c.marked)
    curves_ok = t.curves.shape == (m, 4) and bool(np.all((t.curves >= -1) & (t.curves < n)))
    used = t.curves[t.curves >= 0] if curves_ok else np.zeros(0, np.int64)
    return (
        (offsets_ok, "offsets must rise from 0 to the number of keys, one more than curves"),
        (all(len(x) == n for x in per_curve), f"per-curve arrays must have {n} entries"),
        (all(x.shape == (keys, 2) for x in (c.co, c.handle_left, c.handle_right)), f"keys must be ({keys}, 2)"),
        (all(len(x) == keys for x in per_key), f"per-key arrays must have {keys} entries"),
        (c.easing is None or c.easing.shape == (keys,), "easing must have an entry a key"),
        (c.easing_parameters is None or c.easing_parameters.shape == (keys, 3), "easing_parameters must be (K, 3)"),
        (c.co.dtype in (np.float32, np.float64), "co must be float32 or float64"),
        (c.interpolation.dtype == np.uint8, "interpolation must be uint8"),
        (all(len(x) == m for x in (t.bone, t.kind, t.order, t.modes, t.delta)), f"track fields must have {m} entries"),
        (curves_ok, "track curves must be (T, 4) curve numbers or -1"),
        (len(np.unique(used)) == len(used), "no curve may belong to two tracks"),
        (t.pose.shape == (m, 4), "pose must be (T, 4)"),
        (set(t.kind) <= set(COMPONENTS), "unknown kind of rotation"),
        (set(t.order) <= set(EULER_ORDERS), "unknown Euler order"),
        (curves_ok and (m == 0 or bool(np.all(np.any(t.curves >= 0, axis=1)))), "a track needs at least one curve"),
        (clip.frame_rate > 0, "frame_rate must be positive"),
    )


@dataclass(frozen=True)
class Track:
    """What a reader knows of one rotation; `make_clip` turns a list of them into arrays."""

    data_path: str
    bone: str
    kind: RotationKind
    curves: tuple[int, int, int, int]
    order: str = "XYZ"
    modes: tuple[str, ...] = ()
    pose: tuple[float, float, float, float] = (np.nan, np.nan, np.nan, np.nan)
    delta: bool = False


def make_tracks(tracks: Sequence[Track]) -> Tracks:
    """Tracks from one record a rotation."""
    return Tracks(
        data_path=tuple(t.data_path for t in tracks),
        bone=tuple(t.bone for t in tracks),
        kind=tuple(t.kind for t in tracks),
        order=tuple(t.order for t in tracks),
        modes=tuple(t.modes for t in tracks),
        curves=np.array([t.curves for t in tracks], dtype=np.int64).reshape(-1, 4),
        pose=np.array([t.pose for t in tracks], dtype=np.float64).reshape(-1, 4),
        delta=tuple(t.delta for t in tracks),
    )


def make_curves(
    data_path: Sequence[str],
    component: Sequence[int],
    counts: Sequence[int] | Ints,
    co: Floats,
    *,
    handle_left: Floats | None = None,
    handle_right: Floats | None = None,
    interpolation: npt.NDArray[np.uint8] | int = LINEAR,
    easing: npt.NDArray[np.uint8] | None = None,
    easing_parameters: Floats | None = None,
    linear_extrapolation: Sequence[bool] | Bools | None = None,
    cycles: Sequence[Cycles | None] | None = None,
    unevaluable: Sequence[str] | None = None,
    read_only: Sequence[str] | None = None,
    orphan: Sequence[bool] | Bools | None = None,
) -> Curves:
    """Curves as a reader has them: every key is its own origin and nothing is marked.

    Handles that are not given lie on their keys.
    """
    n, keys = len(data_path), len(co)
    counts = np.asarray(counts, dtype=np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    # In place: at a million keys a page of fresh memory costs more than what is computed in it.
    origin = np.arange(keys, dtype=np.int64)
    origin -= np.repeat(offsets[:-1], counts)
    if np.isscalar(interpolation):
        interpolation = np.full(keys, interpolation, dtype=np.uint8)
    return Curves(
        data_path=tuple(data_path),
        component=np.asarray(component, dtype=np.int64),
        offsets=offsets,
        co=co,
        handle_left=co.copy() if handle_left is None else handle_left,
        handle_right=co.copy() if handle_right is None else handle_right,
        interpolation=np.asarray(interpolation, dtype=np.uint8),
        easing=easing,
        easing_parameters=easing_parameters,
        linear_extrapolation=_flags(linear_extrapolation, n),
        cycles=tuple(cycles) if cycles is not None else (None,) * n,
        unevaluable=tuple(unevaluable) if unevaluable is not None else ("",) * n,
        read_only=tuple(read_only) if read_only is not None else ("",) * n,
        orphan=_flags(orphan, n),
        ancestor=np.arange(n, dtype=np.int64),
        origin=origin,
        marked=np.zeros(keys, dtype=bool),
    )


def _flags(values: Sequence[bool] | Bools | None, n: int) -> Bools:
    return np.zeros(n, dtype=bool) if values is None else np.asarray(values, dtype=bool)


def with_curves(clip: Clip, curves: Curves) -> Clip:
    """The clip with other curves (and none of the views computed from the old ones)."""
    return replace(clip, curves=curves)
