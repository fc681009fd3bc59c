# SPDX-License-Identifier: GPL-3.0-or-later
"""Signs of quaternion keys by hand: flip the chosen ones, or align them with the keys before them.

q and −q are the same rotation. What is negated is always a whole key: its four components with their handles. The
edits (`align_selected`, `flip_selected`) are pure; `change_signs` applies one with the guarantees of a repair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Final, Literal

import numpy as np

from ..arrays import Bools, Ints
from ..findings.report import Refused
from ..motion.changes import changed_keys
from ..motion.clip import QUATERNION, Clip
from ..motion.edit import scale_keys
from ..motion.keys import Keys, rotation_keys, rotation_steps
from ..rotation.quaternion import hemisphere_signs
from ..text import Text
from .proof import prove
from .repair import Repair
from .safety import Broken, broken_promises

How = Literal["align", "flip"]
ALIGN: Final = "align"
FLIP: Final = "flip"
# As QA104 has it: within it both ways are equally short, and no sign is the right one.
HALF_TURN_DOT = 1e-3


def align_selected(clip: Clip, selected: Bools) -> Clip:
    """Give each selected key the sign that is nearer to the key before it (selected or not).

    selected: (K,) bool, a flag a key row; one component of a quaternion key selects all four.
    A track's first key keeps its sign, keys that are no rotation (NaN, zero) are passed over, and a step of half a turn
    keeps what it plays, since both ways are equally short. Returns the same clip when nothing changes.
    """
    keys, steps = rotation_keys(clip, QUATERNION), rotation_steps(clip, QUATERNION)
    chosen = _whole_rows(keys, selected)
    flip, starts = np.zeros(len(keys.time), dtype=bool), np.ones(len(keys.time), dtype=bool)
    flip[steps.second] = steps.dot < -HALF_TURN_DOT
    starts[steps.second] = ~chosen[steps.second]  # a key that is not selected keeps its sign
    valid = np.flatnonzero(keys.valid)  # steps join neighboring valid rows
    return _negate(clip, keys, valid[hemisphere_signs(flip[valid], starts[valid]) < 0])


def flip_selected(clip: Clip, selected: Bools) -> Clip:
    """Negate each selected key, whatever its neighbors are. See `align_selected` for `selected`."""
    keys = rotation_keys(clip, QUATERNION)
    return _negate(clip, keys, np.flatnonzero(_whole_rows(keys, selected) & keys.valid))


def change_signs(clip: Clip, selected: Bools, how: How) -> Repair[Clip]:
    """ALIGN or FLIP the selected keys, proven as a repair is.

    Both leave every keyed rotation as it was; aligning never lengthens the path between keys either (flipping does
    what the artist asks for). A track on which that cannot be kept is left alone and stands in `refused`.
    """
    keys = rotation_keys(clip, QUATERNION)
    chosen = _selected_rows(keys, selected)
    refused: dict[str, str] = {}
    for track in np.unique(keys.track_of(np.flatnonzero(chosen))).tolist():
        why = _why_not(clip, keys, chosen, track)
        if why:
            refused[clip.tracks.data_path[track]] = why
    edit = {ALIGN: align_selected, FLIP: flip_selected}[how]
    edited = edit(clip, _without(clip, selected, refused))
    while edited is not clip:
        # Whom else it may concern is for the artist to say, who chose the keys.
        broken = broken_promises(clip, edited, lengths=how == ALIGN)
        unproven = {path: _why_refused(found) for path, found in broken.items() if found.itself}
        if not unproven:
            break
        refused |= unproven
        edited = edit(clip, _without(clip, selected, refused))
    negated = _negated_rows(clip, edited, keys)
    counts = Counter(clip.tracks.data_path[t] for t in keys.track_of(negated).tolist())
    return Repair(
        subject=edited,
        changed={(how, path): keys for path, keys in counts.items()},
        refused=tuple(Refused(how, path, why) for path, why in sorted(refused.items())),
        met=frozenset(),
        proof=prove(clip, edited),
    )


def _selected_rows(keys: Keys, selected: Bools) -> Bools:
    """(N,) some component of the row is selected."""
    padded = np.append(selected, False)  # -1: no key there
    return np.asarray(padded[keys.key].any(axis=1))


def _whole_rows(keys: Keys, selected: Bools) -> Bools:
    """(N,) some component of the row is selected and all four have a key there."""
    return np.asarray(_selected_rows(keys, selected) & np.all(keys.key >= 0, axis=1))


def _negate(clip: Clip, keys: Keys, rows: Ints) -> Clip:
    if not len(rows):
        return clip
    key = keys.key[rows].ravel()
    return scale_keys(clip, key, np.full(len(key), -1.0, dtype=clip.curves.co.dtype))


def _why_not(clip: Clip, keys: Keys, chosen: Bools, track: int) -> str:
    """Why the signs of a track's selected keys must not be changed, "" when they may."""
    curves = [int(c) for c in clip.tracks.curves[track] if c >= 0]
    locked = next((clip.curves.read_only[c] for c in curves if clip.curves.read_only[c]), "")
    if locked:
        return locked
    unplayed = next((clip.curves.unevaluable[c] for c in curves if clip.curves.unevaluable[c]), "")
    if unplayed:
        return Text("a component does not play its keys ({why}), so the others must keep their sign", {"why": unplayed})
    mine = keys.tracks[keys.member] == track
    if np.any(chosen & mine & np.any(keys.key < 0, axis=1)):
        return Text("a selected key lacks a component: repair QA302 and QA303 first")
    if not keys.valid[chosen & mine].any():
        return Text("the selected keys are no rotation (not finite, or zero): repair QA101 and QA102 first")
    return ""


def _without(clip: Clip, selected: Bools, refused: Collection[str]) -> Bools:
    """(K,) the selection without the keys of some data paths."""
    if not refused:
        return selected
    allowed = np.array([path not in refused for path in clip.curves.data_path], dtype=bool)
    return np.asarray(selected & allowed[clip.curves.curve_of_key()])


def _why_refused(broken: Broken) -> Text:
    if not broken.longer_deg:
        return broken.why
    return Text(
        "the path to the next key would get {longer_deg:.1f}° longer: select the keys that follow too",
        {"longer_deg": broken.longer_deg},
    )


def _negated_rows(before: Clip, after: Clip, keys: Keys) -> Ints:
    """Rows of whole keys that an edit negated."""
    if after is before:
        return np.zeros(0, dtype=np.int64)
    moved = np.append(changed_keys(before.curves, after.curves), False)
    return np.flatnonzero(moved[keys.key].any(axis=1))
