# SPDX-License-Identifier: GPL-3.0-or-later
"""Safe means safe for everybody who plays the keys: what a fix would change, and for whom.

A safe fix keeps every keyed rotation for each reader of the clip, lengthens no path between keys, changes no number
that a driver takes, and leaves the values alone of what is mixed with other motion (until mixes are evaluated).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..arrays import Bools
from ..findings.finding import FIX_KINDS, NONE, SAFE, UNSAFE, Finding, FixKind
from ..motion import storage
from ..motion.changes import SAME_VALUE, values_changed
from ..motion.clip import EULER, QUATERNION, Clip
from ..motion.readers import Reader, readers_of_way, views, views_of
from ..pausing import pause_point
from ..rules.rule import AnyRule, Limits, S
from ..text import Text, listed
from .proof import LENGTH_TOLERANCE_DEG, compare


def trial(rule: AnyRule, clip: Clip, found: Sequence[Finding], limits: Limits) -> list[Finding]:
    """Findings whose safe fix keeps its promise for everybody.

    Where only another reader would see a change the fix is unsafe, where anybody would there is none; both say why.
    """
    safe = [finding for finding in found if finding.fix == SAFE]
    if rule.fix is None or not safe:
        return list(found)
    pause_point()
    edited = fixed(rule, clip, safe, limits, unsafe=False)
    pause_point()
    why = broken_promises(clip, edited) if edited is not clip else {}
    return [_not_safe(f, why[f.data_path]) if f.fix == SAFE and f.data_path in why else f for f in found]


def idle(rule: AnyRule, clip: Clip, found: Sequence[Finding], limits: Limits) -> list[Finding]:
    """The findings on rotations whose safe fix, tried alone, leaves their track as it is."""
    tracks = set(clip.tracks.data_path)
    safe = [finding for finding in found if finding.fix == SAFE]
    if rule.fix is None or not any(finding.data_path in tracks for finding in safe):
        return []
    edited = fixed(rule, clip, safe, limits, unsafe=False)
    touched: set[str] = set()
    if edited is not clip:
        changed = compare(clip, edited).changed
        touched = {path for path, differs in zip(clip.tracks.data_path, changed.tolist(), strict=True) if differs}
        touched |= tracks - set(edited.tracks.data_path)
    return [finding for finding in safe if finding.data_path in tracks and finding.data_path not in touched]


def without_use(finding: Finding) -> Finding:
    """A finding whose fix does nothing, saying so."""
    occurrences = finding.occurrences.without_fix()
    return replace(finding, fix=NONE, occurrences=occurrences, caution=does_nothing(finding.code))


def does_nothing(code: str) -> Text:
    """Why there is no repair where the fix of a rule leaves everything as it is."""
    return Text("its keys do not allow this repair: see the known limits of {code}", {"code": code})


def unstorable(rule: AnyRule, clip: Clip, found: Sequence[Finding], limits: Limits) -> dict[str, str]:
    """Data path → why the file of a clip cannot hold what the fix of some findings makes of it."""
    why: dict[str, str] = {}
    safe = [finding for finding in found if finding.fix == SAFE]
    unsafe = [finding for finding in found if np.any(finding.occurrences.fix == UNSAFE)]
    for some, with_unsafe in ((safe, False), (unsafe, True)):
        if some:
            why |= storage.unstorable(clip, fixed(rule, clip, some, limits, unsafe=with_unsafe))
    return why


def fixed(rule: AnyRule, subject: S, findings: Sequence[Finding], limits: Limits, *, unsafe: bool) -> S:
    """The subject with the fix of some findings.

    Of a clip the last safe fix of each rule is kept: it is tried before it is offered, and carried out afterwards.
    """
    assert rule.fix is not None
    kept = isinstance(subject, Clip) and not unsafe
    wanted = (
        tuple(sorted(limits.items())),
        tuple((f.data_path, f.part, f.occurrences.rows.tobytes(), f.occurrences.codes.tobytes()) for f in findings),
    )
    known = subject.cache.get(("fixed", rule.code)) if isinstance(subject, Clip) and kept else None
    if known is not None and known[0] == wanted:
        edited: S = known[1]
        return edited
    with np.errstate(all="ignore"):
        edited = rule.fix(subject, findings, limits, unsafe)
    if isinstance(subject, Clip) and kept:
        subject.cache["fixed", rule.code] = (wanted, edited)
    return edited


class Broken(NamedTuple):
    """Why an edit is not safe.

    `itself`: that is so for the clip as it is played itself, not for some reader only. `longer_deg`: by how much the
    path between keys would get longer, where that is why.
    """

    why: Text
    itself: bool = False
    longer_deg: float = 0.0


def _not_safe(finding: Finding, broken: Broken) -> Finding:
    highest: FixKind = NONE if broken.itself else UNSAFE
    codes = finding.occurrences.codes.copy()
    codes[:, 2] = np.minimum(codes[:, 2], FIX_KINDS.index(highest))
    occurrences = replace(finding.occurrences, codes=codes)
    return replace(finding, fix=highest, occurrences=occurrences, caution=broken.why)


def broken_promises(before: Clip, after: Clip, *, lengths: bool = True) -> dict[str, Broken]:
    """Data path → why, wherever an edit is not safe; {} when it is.

    Args:
        lengths: the paths between keys must not get longer either.
    """
    bad: dict[str, Broken] = {}
    for number, (was, now) in enumerate(zip(views(before), views_of(after, before), strict=True)):
        changes = compare(was, now)
        for track in np.flatnonzero(changes.key_deg > changes.tolerance_deg).tolist():
            change = float(changes.key_deg[track])
            bad.setdefault(
                before.tracks.data_path[track], Broken(_key_changes(before, track, number, change), not number)
            )
        for track, added in _completed(was, now):
            if np.isnan(was.tracks.pose[track, added]).any():
                unknown = Text(
                    "what {who} takes for the component without keys is not known",
                    {"who": named(readers_of_way(before, track, number))},
                )
                bad.setdefault(before.tracks.data_path[track], Broken(unknown, not number))
        for track in np.flatnonzero(changes.longer_deg > LENGTH_TOLERANCE_DEG).tolist() if lengths else ():
            longer_deg = float(changes.longer_deg[track])
            longer = Text("the path between keys would get {longer_deg:.2f}° longer", {"longer_deg": longer_deg})
            bad.setdefault(before.tracks.data_path[track], Broken(longer, not number, longer_deg))
    for reader in before.readers:
        if reader.route == "driver":
            for path in values_changed(before, after, reader):
                reads = Text("{who}, reads the number that would change", {"who": reader.words})
                bad.setdefault(path, Broken(reads))
        for path in _left_by_strip(before, after, reader):
            why = Text(
                "outside the strip {who} would take 0 for the angle without keys, not what is stored",
                {"who": reader.words},
            )
            bad.setdefault(path, Broken(why))
        if reader.mixed:
            for path in _mix_changed(before, after, reader):
                why = Text(
                    "{who} mixes it with other motion ({why}), which would change",
                    {"who": reader.words, "why": reader.mixed},
                )
                bad.setdefault(path, Broken(why))
    return bad


def _key_changes(clip: Clip, track: int, number: int, change_deg: float) -> Text:
    who = readers_of_way(clip, track, number)
    if number == 0:
        return Text("a keyed rotation would change by {change_deg:.4f}°", {"change_deg": change_deg})
    if not who:
        return Text(
            "who plays it is not known: in another Euler order a keyed rotation would change by {change_deg:.1f}°",
            {"change_deg": change_deg},
        )
    return Text(
        "a keyed rotation of {who} would change by {change_deg:.1f}°", {"who": named(who), "change_deg": change_deg}
    )


def named(readers: Sequence[Reader]) -> Text:
    """Some readers for a person."""
    return listed([reader.words for reader in readers]) if readers else Text("whoever plays it")


def _left_by_strip(before: Clip, after: Clip, reader: Reader) -> list[str]:
    """The data paths of Euler angles that lose what is stored for one of them where a strip does not play.

    The NLA sets what any strip keys to the default there, and leaves the rest as it is stored.
    """
    tracks = before.tracks
    if reader.route != "strip":
        return []
    found = []
    for track, added in _completed(before, after):
        way = reader.ways.get(tracks.data_path[track])
        if way is not None and tracks.kind[track] == EULER and np.any(np.abs(np.array(way.fill)[added]) > SAME_VALUE):
            found.append(tracks.data_path[track])
    return found


def _mix_changed(before: Clip, after: Clip, reader: Reader) -> list[str]:
    """The data paths of which a reader mixes other values, or Euler angles that it did not.

    For an absent component of a quaternion the identity is mixed; an absent Euler angle is left as it is.
    """
    tracks = before.tracks
    angles = (tracks.data_path[track] for track, _ in _completed(before, after) if tracks.kind[track] != QUATERNION)
    return [*values_changed(before, after, reader), *(path for path in angles if path in reader.mixed_paths)]


def _completed(before: Clip, after: Clip) -> list[tuple[int, Bools]]:
    """(track, which of its components (4,)) that have a curve and had none."""
    if after.curves is before.curves:
        return []
    now = {(p, k): n for n, (p, k) in enumerate(zip(after.tracks.data_path, after.tracks.kind, strict=True))}
    absent = before.tracks.curves < 0
    absent[:, 3] &= np.array([kind != EULER for kind in before.tracks.kind], dtype=bool)
    found = []
    for track in np.flatnonzero(absent.any(axis=1)).tolist():
        other = now.get((before.tracks.data_path[track], before.tracks.kind[track]), -1)
        added = absent[track] & (after.tracks.curves[other] >= 0) if other >= 0 else np.zeros(4, dtype=bool)
        if added.any():
            found.append((track, added))
    return found
