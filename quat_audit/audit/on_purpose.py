# SPDX-License-Identifier: GPL-3.0-or-later
"""What an edit changed on purpose, in words: poses that no degree tells of."""

from __future__ import annotations

from ..motion.changes import same_tracks, values_changed
from ..motion.clip import Clip
from ..motion.readers import newly_bound, newly_released
from ..text import Text


def changed_on_purpose(before: Clip, after: Clip) -> tuple[Text, ...]:
    """What a repair changed on purpose: tracks that are played otherwise now, are keyed otherwise, or are gone."""
    said = []
    for track, other in enumerate(same_tracks(before, after)):
        values = {"who": _who(before, track)}
        if other < 0:
            values["property"] = before.tracks.data_path[track].rpartition(".")[2]
            said.append(Text("{who}: its {property} keys were converted or removed", values))
        elif before.tracks.modes[track] != after.tracks.modes[other]:
            values["mode"] = ", ".join(after.tracks.modes[other])
            said.append(Text("{who}: the rotation mode was set to {mode}, so its pose changes", values))
    for one in newly_bound(before, after):
        values = {"who": one.owner, "action": before.action}
        said.append(Text("{who}: the action {action!r} plays now", values))
    for other_bone in newly_released(before, after):
        values = {"who": ", ".join(other_bone.owners), "bone": other_bone.bone}
        said.append(Text("{who}, {bone}: disconnected from its parent, so its location keys play", values))
    for reader in before.readers:
        if values_changed(before, after, reader):
            values = {"who": reader.words, "why": reader.mixed}
            if reader.route == "driver":
                said.append(Text("{who}: a number that it reads changed", values))
            else:
                said.append(Text("{who}: what it mixes with other motion changed ({why})", values))
    return tuple(said)


def _who(clip: Clip, track: int) -> str:
    """The action and the bone (or object) of a track, for a person."""
    return f"{clip.action}, {clip.tracks.bone[track] or clip.owner or clip.tracks.data_path[track]}"
