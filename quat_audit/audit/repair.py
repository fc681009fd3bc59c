# SPDX-License-Identifier: GPL-3.0-or-later
"""Repair a subject: apply the rules' fixes, prove each that is called safe, end where another run changes nothing.

One function for clips and skins, for the command line, the Python API and the panel.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np

from ..findings.finding import ERROR, NONE, SAFE, SEVERITIES, UNSAFE, Finding
from ..findings.report import Applied, HandleChange, Proof, Refused, SkinProof
from ..motion.changes import changes_by_path
from ..motion.clip import Clip
from ..motion.readers import as_bound
from ..rules.rule import AnyRule, S, Subject
from ..skinning.skin import PosedSkin
from ..text import Text
from . import subjects
from .pipeline import find, judge, left_alone, reported_as, rule_limits, rules_for
from .proof import prove
from .safety import broken_promises, does_nothing, fixed
from .settings import DEFAULT, Settings
from .skin_proof import STILL_MM, prove_skin, sound_moved_mm, vertices_changed

# A fix can uncover another rule's fault (a completed component makes a key of wrong length), which a later
# phase of the same pass repairs; a second pass is for what comes back to an earlier phase.
MAX_PASSES = 6
# The one data path that all weights of a mesh have.
WEIGHTS = "vertex_groups"

CodeAndPath = tuple[str, str]  # (code, data path) of a finding


@dataclass(frozen=True, eq=False)
class Repair(Generic[S]):
    """A repaired subject, and what there is to say of it.

    Attributes:
        subject: the edited one; the same object where nothing changed.
        changed: (code, data path) → keys (of weights: vertices) that the fix of the rule changed there.
        refused: what was not done, and why.
        met: the findings that it was asked to repair and met, whether it could or not.
        proof: what it did to the motion, or to the mesh.
        handle_types: handles whose type had to change, known once it is written.
    """

    subject: S
    changed: Mapping[CodeAndPath, int]
    refused: tuple[Refused, ...]
    met: frozenset[CodeAndPath]
    proof: Proof | SkinProof
    handle_types: tuple[HandleChange, ...] = ()

    @property
    def applied(self) -> tuple[Applied, ...]:
        """What was done, a line a rule."""
        return applied(self.changed)


def applied(changed: Mapping[CodeAndPath, int]) -> tuple[Applied, ...]:
    """A line a rule of what changed: (code, data path) → keys."""
    codes = sorted({code for code, _ in changed})
    return tuple(
        Applied(code, sum(c == code for c, _ in changed), sum(keys for (c, _), keys in changed.items() if c == code))
        for code in codes
    )


@dataclass
class _State(Generic[S]):
    """A repair on its way."""

    subject: S
    changed: dict[CodeAndPath, int] = field(default_factory=dict)
    refused: dict[CodeAndPath, str] = field(default_factory=dict)
    met: set[CodeAndPath] = field(default_factory=set)
    errors: int = 0  # findings that are errors, in the last pass

    def copy(self) -> _State[S]:
        return _State(self.subject, dict(self.changed), dict(self.refused), set(self.met), self.errors)


def repair(subject: S, settings: Settings = DEFAULT, *, only: Collection[CodeAndPath] | None = None) -> Repair[S]:
    """Repair what the settings' rules find in a subject: the safe fixes, then, when asked for, the unsafe ones.

    A safe fix that would change a rotation at a valid key, or lengthen a path, or move a vertex that is in order, is
    refused there and says so, in an unsafe run too. So is anything that must not be written. What the subject ignores
    is left alone. A result with more errors than before is not returned.

    Args:
        only: (code, data path) of the findings to repair, and whatever safe ones their repair uncovers; all by default.
    """
    wanted = _Wanted(subject, settings, only)
    state = _State(subject)
    _passes(state, settings, wanted, unsafe=False)
    if settings.unsafe:
        safe = state.copy()
        _passes(state, settings, wanted, unsafe=True)
        if _worse(subject, state, settings):
            state = _taken_back(safe, state, subject, settings)
    if _worse(subject, state, settings):
        state = _taken_back(_State(subject, met=state.met), state, subject, settings)
    return Repair(
        subject=state.subject,
        changed=state.changed,
        refused=tuple(
            Refused(code, _said_path(subject, path), why) for (code, path), why in sorted(state.refused.items())
        ),
        met=frozenset(state.met),
        proof=prove_repair(subject, state.subject),
    )


def prove_repair(before: S, after: S) -> Proof | SkinProof:
    """What an edit did."""
    if isinstance(before, PosedSkin):
        assert isinstance(after, PosedSkin)
        return prove_skin(before, after)
    assert isinstance(after, Clip)
    return prove(before, after)


class _Wanted:
    """Which findings are to be repaired: all, or some and what their repair uncovers."""

    def __init__(self, subject: Subject, settings: Settings, only: Collection[CodeAndPath] | None) -> None:
        self._subject, self._settings = subject, settings
        self._only = None if only is None else set(only)
        self._before: dict[str, set[CodeAndPath]] = {}

    def rules(self, rules: list[AnyRule], touched: Collection[str]) -> list[AnyRule]:
        """The rules that may find something to repair."""
        if self._only is None or touched:
            return rules
        codes = {code for code, _ in self._only}
        return [rule for rule in rules if rule.code in codes]

    def asked_for(self, finding: Finding) -> bool:
        """It is one of those that were named, or of a group that was."""
        return self._only is None or not self._only.isdisjoint(reported_as(finding, self._settings))

    def uncovered(self, rule: AnyRule, finding: Finding, touched: Collection[str]) -> bool:
        """The repair of those named made it: it is new, and on a path that was repaired."""
        if finding.data_path not in touched:
            return False
        if rule.code not in self._before:
            found = find(rule, self._subject, self._settings.limits)
            self._before[rule.code] = {(f.code, f.data_path) for f in found}
        return (finding.code, finding.data_path) not in self._before[rule.code]


def _passes(state: _State[S], settings: Settings, wanted: _Wanted, *, unsafe: bool) -> None:
    """Apply all fixes again and again until a pass changes nothing. What does not come to rest says so."""
    fixable = [rule for rule in rules_for(state.subject, settings) if rule.fix is not None]
    ordered = sorted(fixable, key=lambda rule: (rule.phase, rule.code))
    for _ in range(MAX_PASSES):
        start, before = state.subject, dict(state.changed)
        state.refused, state.errors = {}, 0  # every pass asks again for all that is left
        for rule in wanted.rules(ordered, {path for _, path in state.changed}):
            _apply_rule(rule, state, settings, wanted, unsafe=unsafe)
        if state.subject is start:
            return
    values = {"passes": MAX_PASSES}
    why = Text("its repair has not come to rest after {passes} passes: run it again, and look at it", values)
    for which, keys in state.changed.items():
        if before.get(which) != keys:
            state.refused.setdefault(which, why)


def _apply_rule(rule: AnyRule, state: _State[S], settings: Settings, wanted: _Wanted, *, unsafe: bool) -> None:
    locked = {} if rule.minds_locks else subjects.locked_by_path(state.subject)
    ignores = subjects.ignores_of(state.subject)
    touched = {path for _, path in state.changed}
    findings: list[Finding] = []
    risky: list[Finding] = []
    found = find(rule, state.subject, settings.limits)
    for finding, ignored in zip(found, left_alone(ignores, found, settings), strict=True):
        state.errors += finding.severity == ERROR
        named = wanted.asked_for(finding)
        if ignored:
            continue
        if named:
            state.met |= reported_as(finding, settings)
        elif not wanted.uncovered(rule, finding, touched):
            continue
        writable, whys = subjects.locked(locked, finding)
        if finding.fix == SAFE or (unsafe and finding.fix == UNSAFE):
            state.refused |= {(finding.code, path): why for path, why in whys.items()}
        if not whys and finding.caution and (finding.fix == NONE or not unsafe):
            state.refused[finding.code, finding.data_path] = finding.caution
        if writable.fix == SAFE:
            findings.append(writable)
        if unsafe and named and np.any(writable.occurrences.fix == UNSAFE):
            risky.append(_unsafe_part(writable))
    _step(state, rule, _proven(rule, state.subject, findings, settings, state.refused, unsafe=False))
    # A fix that works on whole paths would carry out the refused part with the other.
    risky = [finding for finding in risky if (finding.code, finding.data_path) not in state.refused]
    if risky:
        if findings:  # the safe ones may have moved what the others are about
            risky = _met_again(rule, state.subject, risky, settings)
        _step(state, rule, _proven(rule, state.subject, risky, settings, state.refused, unsafe=True))


def _unsafe_part(finding: Finding) -> Finding:
    """The finding without the places whose fix is called safe: those are repaired with proof, or not at all."""
    part = finding.occurrences.at(np.flatnonzero(finding.occurrences.fix == UNSAFE))
    return replace(finding, fix=UNSAFE, severity=SEVERITIES[int(part.codes[:, 1].max())], occurrences=part, worst=0)


def _met_again(rule: AnyRule, subject: Subject, findings: list[Finding], settings: Settings) -> list[Finding]:
    """The same findings as they are now."""
    wanted = {(f.code, f.data_path) for f in findings}
    found = find(rule, subject, settings.limits)
    return [_unsafe_part(f) for f in found if (f.code, f.data_path) in wanted and np.any(f.occurrences.fix == UNSAFE)]


def _step(state: _State[S], rule: AnyRule, edited: S) -> None:
    """Take an edit, and note what it changed."""
    if edited is state.subject:
        return
    for path, keys in _changes(state.subject, edited).items():
        state.changed[rule.code, path] = state.changed.get((rule.code, path), 0) + keys
    state.subject = edited


def _changes(before: Subject, after: Subject) -> dict[str, int]:
    if isinstance(before, PosedSkin):
        assert isinstance(after, PosedSkin)
        return {WEIGHTS: vertices_changed(before, after)}
    assert isinstance(after, Clip)
    return changes_by_path(before, after)


def _proven(
    rule: AnyRule,
    subject: S,
    findings: list[Finding],
    settings: Settings,
    refused: dict[CodeAndPath, str],
    *,
    unsafe: bool,
) -> S:
    """The fix of some findings, without those that it may not be used for.

    A safe one would break its promise there; of any, the file could not hold what it makes.
    """
    while findings:
        edited = _fixed(rule, subject, findings, settings, refused, unsafe=unsafe)
        if edited is subject:
            return subject
        bad = subjects.unstorable(subject, edited) or ({} if unsafe else _unproven(subject, edited))
        if not bad:
            return edited
        for path, why in bad.items():
            refused[rule.code, path] = why
        fewer = [f for f in findings if bad.keys().isdisjoint(f.paths)]
        if len(fewer) == len(findings):  # the fix touched a track that no finding names
            return subject
        findings = fewer
    return subject


def _fixed(
    rule: AnyRule,
    subject: S,
    findings: list[Finding],
    settings: Settings,
    refused: dict[CodeAndPath, str],
    *,
    unsafe: bool,
) -> S:
    """What the rule's fix makes of the subject; where it does nothing, that is said."""
    if not findings:
        return subject
    limits = rule_limits(rule, settings.limits)
    edited = fixed(rule, subject, findings, limits, unsafe=unsafe)
    if edited is subject:
        # Found, called repairable, and nothing done: say so instead of being silent.
        for finding in findings:
            refused.setdefault((rule.code, finding.data_path), does_nothing(rule.code))
        return subject
    return edited


def _unproven(before: Subject, after: Subject) -> dict[str, str]:
    """Data path → why, wherever a safe fix would break its promise."""
    if isinstance(before, PosedSkin):
        assert isinstance(after, PosedSkin)
        far = sound_moved_mm(before, after)
        moved = Text("a vertex would move by {moved_mm:.3f} mm", {"moved_mm": far})
        return {WEIGHTS: moved} if far > STILL_MM else {}
    assert isinstance(after, Clip)
    return {path: broken.why for path, broken in broken_promises(before, after).items()}


def _worse(before: Subject, state: _State[S], settings: Settings) -> bool:
    """More findings are errors than before, as the result will be read."""
    if state.subject is before:
        return False
    after = _as_read_again(state.subject)
    if after is not state.subject:  # what plays now for the first time was not judged on the way
        return _errors(after, settings) > _errors(before, settings)
    # The last pass met all that has a fix. Of the rest, what has to pose the mesh again waits for the file's audit.
    unmet = [rule for rule in rules_for(before, settings) if rule.fix is None and rule.keys_only]
    if not state.errors and not _errors(state.subject, settings, unmet):
        return False
    return _errors(state.subject, settings) > _errors(before, settings)


def _as_read_again(subject: Subject) -> Subject:
    """An edited clip with those who play it from now on."""
    return as_bound(subject) if isinstance(subject, Clip) else subject


def _errors(subject: Subject, settings: Settings, rules: Collection[AnyRule] | None = None) -> int:
    """Findings that are errors, as a report has them."""
    chosen = settings if rules is None else replace(settings, rules=tuple(rules))
    return sum(f.severity == ERROR for f in judge(subject, chosen).findings)


def _taken_back(kept: _State[S], dropped: _State[S], before: Subject, settings: Settings) -> _State[S]:
    """The state before some fixes, saying why these were taken back."""
    was, would = _errors(before, settings), _errors(_as_read_again(dropped.subject), settings)
    why = Text(
        "it would leave {would} errors where there were {was}, so nothing was done", {"would": would, "was": was}
    )
    for which, keys in dropped.changed.items():
        if kept.changed.get(which, 0) != keys:
            kept.refused[which] = why
    # What other rules could not do, a linked track's repair, was asked for all the same, and is still to be said.
    own = {code for code, _ in dropped.changed}
    for which, said in dropped.refused.items():
        if which[0] not in own and which in dropped.met:
            kept.refused.setdefault(which, said)
    return kept


def _said_path(subject: Subject, path: str) -> str:
    """What a refusal names: all weights of a mesh are the mesh's."""
    return subject.skin.mesh if isinstance(subject, PosedSkin) else path
