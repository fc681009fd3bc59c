# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pipeline has to know of each kind of subject: a clip, and a skin in its motion.

Whoever adds a kind adds its answers here, and nowhere else in audit/.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..findings.finding import FIX_KINDS, NONE, NOTE, About, Finding
from ..findings.ignores import Ignore
from ..motion import storage
from ..motion.clip import AXIS_ANGLE, Clip, kind_played
from ..motion.keys import assumed_pose, keyed_together, rotation_keys
from ..rules.rule import AnyRule, Subject
from ..skinning.skin import PosedSkin
from ..text import Text

# Clips of fewer keys are not worth interrupting: the slowest rule takes less than 0.1 ms a key.
KEYS_AT_ONCE = 1000


def about(subject: Subject) -> About:
    """What kind of subject it is, as rules name it."""
    return "clip" if isinstance(subject, Clip) else "skin"


def ignores_of(subject: Subject) -> Sequence[Ignore]:
    """The findings that are to be left alone on it."""
    return subject.ignores if isinstance(subject, Clip) else subject.skin.ignores


def small(subject: Subject) -> bool:
    """Whether a rule on it is so fast that it need not be interrupted."""
    return isinstance(subject, Clip) and len(subject.curves.co) <= KEYS_AT_ONCE


def blocked(rule: AnyRule, subject: Subject) -> bool:
    """Whether a rule cannot be applied to it at all: what it needs cannot be computed, or is not as authored."""
    if isinstance(subject, Clip):
        return rule.whole_turns and bool(subject.rewritten)
    return bool(subject.skin.blocking) and not rule.keys_only


def as_played(rule: AnyRule, subject: Subject, found: list[Finding]) -> list[Finding]:
    """The findings of a rule as they show: none on motion that cannot be computed, notes where nobody plays it."""
    if not isinstance(subject, Clip) or rule.judges_unplayed or not found:
        return found
    if subject.curves.orphan.any():
        gone = set(np.array(subject.curves.data_path)[subject.curves.orphan].tolist())
        found = [_as_note(finding) if finding.data_path in gone else finding for finding in found]
    if rule.keys_only:
        return found
    if any(subject.curves.unevaluable):
        found = [finding for finding in found if not _why_unjudged(subject, finding.part)]
    return [_as_note(finding) if _unplayed(subject, finding.part) else finding for finding in found]


def _as_note(finding: Finding) -> Finding:
    return replace(finding, severity=NOTE, occurrences=finding.occurrences.capped(NOTE))


def _unplayed(clip: Clip, track: int) -> bool:
    """Nobody's rotation mode plays the track (QA301 says so): what is wrong with its motion does not show."""
    modes = clip.tracks.modes[track]
    kind = clip.tracks.kind[track]
    return bool(clip.users and modes) and all(kind_played(mode) != kind for mode in modes)


def _why_unjudged(clip: Clip, track: int) -> str:
    curves = clip.tracks.curves[track]
    return next((clip.curves.unevaluable[c] for c in curves if c >= 0 and clip.curves.unevaluable[c]), "")


def locked_by_path(subject: Subject) -> dict[str, str]:
    """Data path → why it must not be written, of those that must not. "" stands for all of the subject."""
    if isinstance(subject, PosedSkin):
        return {"": subject.skin.read_only} if subject.skin.read_only else {}
    curves = subject.curves
    return {path: why for path, why in zip(curves.data_path, curves.read_only, strict=True) if why}


def locked(by_path: dict[str, str], finding: Finding) -> tuple[Finding, dict[str, str]]:
    """The finding without a fix where it must not be repaired, by `locked_by_path`; and data path → why of that."""
    # What has no fix needs no reason why it may not be used. Of a clip's own channel it is told all the same.
    if not by_path or ("" in by_path and finding.fix == NONE):
        return finding, {}
    whys = {path: why for path in finding.paths if (why := by_path.get("") or by_path.get(path))}
    if not whys:
        return finding, {}
    if len(whys) == len(finding.paths):
        why = next(iter(whys.values()))
        return replace(finding, fix=NONE, occurrences=finding.occurrences.without_fix(), locked=why), whys
    there = [finding.whose(number)[1] in whys for number in range(len(finding.occurrences))]
    places = finding.occurrences.without_fix(np.array(there, dtype=bool))
    return replace(finding, fix=FIX_KINDS[int(places.codes[:, 2].max())], occurrences=places), whys


def unstorable(before: Subject, after: Subject) -> dict[str, str]:
    """Data path → why the file that was read cannot hold what an edit makes of it."""
    return storage.unstorable(before, after) if isinstance(before, Clip) and isinstance(after, Clip) else {}


def not_evaluated(subject: Subject, rules: Sequence[AnyRule]) -> list[tuple[str, str]]:
    """(what, why) for everything in it that the rules could not judge: not evaluated is not passed."""
    if isinstance(subject, PosedSkin):
        return _not_evaluated_of_skin(subject)
    rows = list(subject.not_evaluated)
    codes = [rule.code for rule in rules if blocked(rule, subject)]
    if codes and len(subject.tracks):
        unjudged = Text("{codes} not judged: {why}", {"codes": ", ".join(codes), "why": subject.rewritten})
        rows.append((subject.action, unjudged))
    if any(subject.curves.unevaluable):
        for track, path in enumerate(subject.tracks.data_path):
            why = _why_unjudged(subject, track)
            if why:
                unmeasured = Text("what plays between the keys is not measured: {why}", {"why": why})
                rows.append((f"{subject.action}: {path}", unmeasured))
    rows += _axis_angle_not_evaluated(subject)
    return list(dict.fromkeys(rows))


def _axis_angle_not_evaluated(clip: Clip) -> Iterator[tuple[str, str]]:
    if AXIS_ANGLE not in clip.tracks.kind:
        return
    keys = rotation_keys(clip, AXIS_ANGLE)
    unknown = np.any((clip.tracks.curves < 0) & np.isnan(assumed_pose(clip)), axis=1)[keys.tracks]
    for track, together, untold in zip(keys.tracks.tolist(), keyed_together(clip, keys), unknown, strict=True):
        path = f"{clip.action}: {clip.tracks.data_path[track]}"
        if not together:
            yield path, Text("what plays between the keys is not judged: angle and axis are keyed at different times")
        elif untold:
            yield path, Text("what plays is not judged: a part of the axis has no keys, and nobody tells its value")


def _not_evaluated_of_skin(posed: PosedSkin) -> list[tuple[str, str]]:
    rows = list(posed.skin.not_evaluated)
    if posed.skin.blocking:
        why = Text("what shows of its deformation is not measured, for the reasons given")
        rows.append((posed.skin.mesh, why))
    return list(dict.fromkeys(rows))
