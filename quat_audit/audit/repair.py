# SPDX-License-Identifier: GPL-3.0-or-later
"""Repair a clip: apply the rules' fixes, prove each, refuse what would change a keyed rotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..arrays import Bools
from ..findings.finding import NONE, SAFE, Applied, Finding, Proof, Refused, SkinProof
from ..motion.clip import Clip, Curves
from ..rules import RULES, Rule
from ..skinning.displacement import displacement
from ..skinning.skin import Motion, Skin, influences, select
from ..skinning.weights import bad_entries
from ..text import Text
from .pipeline import find, find_in_skin, rule_limits, why_ignored
from .proof import LENGTH_TOLERANCE_DEG, changed_keys, compare, prove
from .settings import Overrides

# A fix can uncover another rule's fault (a completed component makes a key of wrong length), which a later
# stage of the same pass repairs; a second pass is for what comes back to an earlier stage.
MAX_PASSES = 4

# A safe repair of weights moves no vertex that was in order: this is what float32 sums cost on a mesh of metres, and
# a hundredth of what an eye could see.
STILL_MM = 1e-2


NO_CHANGE, NO_SKIN_CHANGE = Proof(), SkinProof()


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired clip, what was done, what was refused, and the proof."""

    clip: Clip
    applied: tuple[Applied, ...] = ()
    refused: tuple[Refused, ...] = ()
    proof: Proof = NO_CHANGE


@dataclass(frozen=True, eq=False)
class SkinRepair:
    """A skin with repaired weights, what was done (tracks: meshes, keys: vertices), what was refused, the proof."""

    skin: Skin
    applied: tuple[Applied, ...] = ()
    refused: tuple[Refused, ...] = ()
    proof: SkinProof = NO_SKIN_CHANGE


def repair_clip(
    clip: Clip, rules: Sequence[Rule] = RULES, limits: Overrides | None = None, *, unsafe: bool = False
) -> Repair:
    """Repair what the rules find. Safe fixes first; then, when asked for, the unsafe ones.

    A safe fix that would change a rotation at a valid key, or lengthen a path, is refused for that track and
    says so; so is anything on curves that must not be written. What the clip ignores is left alone.
    """
    current = clip
    applied: dict[str, tuple[set[str], int]] = {}
    refused: dict[tuple[str, str], str] = {}
    ordered = sorted((rule for rule in rules if rule.fix is not None), key=lambda r: (r.stage, r.code))
    for allow_unsafe in (False, True) if unsafe else (False,):
        for _ in range(MAX_PASSES):
            start = current
            refused = {}  # every pass asks again for all that is left
            for rule in ordered:
                edited = _apply(rule, current, limits, allow_unsafe, refused)
                if edited is not current:
                    _count(applied, rule.code, current, edited)
                    current = edited
            if current is start:
                break
    return Repair(
        clip=current,
        applied=tuple(Applied(code, len(paths), keys) for code, (paths, keys) in sorted(applied.items())),
        refused=tuple(Refused(code, path, why) for (code, path), why in sorted(refused.items())),
        proof=prove(clip, current),
    )


def _apply(rule: Rule, clip: Clip, limits: Overrides | None, unsafe: bool, refused: dict[tuple[str, str], str]) -> Clip:
    """One rule's fix on one clip, without the tracks for which it is refused."""
    assert rule.fix is not None
    own = rule_limits(rule, limits)
    findings: list[Finding] = []
    for finding in find(rule, clip, limits):
        if finding.fix == NONE or (finding.fix != SAFE and not unsafe) or why_ignored(clip, finding) is not None:
            continue
        why = _why_locked(clip, finding)
        if why:
            refused[rule.code, finding.data_path] = why
        else:
            findings.append(finding)
    while findings:
        with np.errstate(all="ignore"):
            edited = rule.fix(clip, findings, own, unsafe)
        if edited is clip:
            # Found, called repairable, and nothing done: say so instead of being silent.
            for finding in findings:
                why = Text("its keys do not allow this repair: see the known limits of {code}", {"code": rule.code})
                refused.setdefault((rule.code, finding.data_path), why)
            return clip
        if unsafe:
            return edited
        bad = _unproven(clip, edited)
        if not bad:
            return edited
        for path, why in bad.items():
            refused[rule.code, path] = why
        fewer = [f for f in findings if f.data_path not in bad]
        if len(fewer) == len(findings):  # the fix touched a track that no finding names
            return clip
        findings = fewer
    return clip


def _why_locked(clip: Clip, finding: Finding) -> str:
    for curve, path in enumerate(clip.curves.data_path):
        if path == finding.data_path and clip.curves.read_only[curve]:
            return clip.curves.read_only[curve]
    return ""


def _unproven(before: Clip, after: Clip) -> dict[str, str]:
    """Data path → why, for every track on which a safe fix would break its promise."""
    changes = compare(before, after)
    bad: dict[str, str] = {}
    for track in np.flatnonzero(changes.key_deg > changes.tolerance_deg):
        bad[before.tracks.data_path[track]] = Text(
            "a keyed rotation would change by {change_deg:.4f}°, so nothing was done",
            {"change_deg": float(changes.key_deg[track])},
        )
    for track in np.flatnonzero(changes.longer_deg > LENGTH_TOLERANCE_DEG):
        bad.setdefault(
            before.tracks.data_path[track],
            Text(
                "the path between keys would get {longer_deg:.2f}° longer, so nothing was done",
                {"longer_deg": float(changes.longer_deg[track])},
            ),
        )
    return bad


def _count(applied: dict[str, tuple[set[str], int]], code: str, before: Clip, after: Clip) -> None:
    """Add the data paths and keys that an edit changed; the components of one key count once."""
    by_path: dict[str, int] = {}
    for path, count in _changes_by_curve(before.curves, after.curves):
        by_path[path] = max(by_path.get(path, 0), count)
    if after.tracks.modes != before.tracks.modes:
        for path, was, now in zip(before.tracks.data_path, before.tracks.modes, after.tracks.modes, strict=False):
            if was != now:
                by_path[path] = max(by_path.get(path, 0), 1)
    paths, keys = applied.get(code, (set(), 0))
    touched = {path for path, count in by_path.items() if count}
    applied[code] = (paths | touched, keys + sum(by_path.values()))


def _changes_by_curve(a: Curves, b: Curves) -> list[tuple[str, int]]:
    """(data path, keys changed, added or removed) of every curve that either has."""
    if np.array_equal(a.offsets, b.offsets) and np.array_equal(a.source, b.source):
        changed = np.bincount(b.curve_of_key()[changed_keys(a, b)], minlength=len(b))
        return [(path, int(count)) for path, count in zip(b.data_path, changed, strict=True)]
    result = []
    number = {int(source): curve for curve, source in enumerate(a.source) if source >= 0}
    for curve, path in enumerate(b.data_path):
        old = number.pop(int(b.source[curve]), -1)
        result.append((path, int(b.counts[curve]) if old < 0 else _changed_in_curve(a, old, b, curve)))
    return result + [(a.data_path[old], int(a.counts[old])) for old in number.values()]


def _changed_in_curve(a: Curves, x: int, b: Curves, y: int) -> int:
    """Keys of one curve that are new, gone, or kept with other values."""
    old, new = a.rows(x), b.rows(y)
    kept, here, there = np.intersect1d(a.origin[old], b.origin[new], return_indices=True)
    kept, here, there = kept[kept >= 0], here[kept >= 0], there[kept >= 0]
    off = np.zeros(len(kept), dtype=bool)
    for p, q in ((a.co, b.co), (a.handle_left, b.handle_left), (a.handle_right, b.handle_right)):
        x_rows, y_rows = p[old][here, 1], q[new][there, 1]
        off |= (x_rows != y_rows) & ~(np.isnan(x_rows) & np.isnan(y_rows))
    gone, added = int(a.counts[x]) - len(kept), int(b.counts[y]) - len(kept)
    return int(off.sum()) + max(gone, added)


def repair_skin(
    skin: Skin, motion: Motion, rules: Sequence[Rule] = RULES, limits: Overrides | None = None, *, unsafe: bool = False
) -> SkinRepair:
    """Repair the weights that the rules find fault with. Safe fixes first; then, when asked for, the unsafe ones.

    A safe fix that would move a vertex whose weights were in order is refused, and so is anything on weights that must
    not be written. Locked groups keep theirs: the rules see to that. What the mesh ignores is left alone.
    """
    current = skin
    changed: dict[str, int] = {}
    refused: dict[str, str] = {}
    ordered = sorted((rule for rule in rules if rule.fix_skin is not None), key=lambda r: (r.stage, r.code))
    for allow_unsafe in (False, True) if unsafe else (False,):
        for rule in ordered:
            assert rule.fix_skin is not None
            found = find_in_skin(rule, current, motion, limits)
            findings = [f for f in found if f.fix == SAFE or (allow_unsafe and f.fix != NONE)]
            findings = [f for f in findings if why_ignored(skin, f) is None]
            if findings and skin.read_only:
                refused[rule.code] = skin.read_only
            if not findings or skin.read_only:
                continue
            edited = rule.fix_skin(current, findings, rule_limits(rule, limits), allow_unsafe)
            touched = int(_differ(current, edited).sum())
            far = 0.0 if allow_unsafe else _moved(current, edited, motion, _sound(current))[0]
            if far > STILL_MM:
                refused[rule.code] = Text(
                    "a vertex would move by {moved_mm:.3f} mm, so nothing was done", {"moved_mm": far}
                )
            elif touched:
                changed[rule.code] = changed.get(rule.code, 0) + touched
                current = edited
    return SkinRepair(
        skin=current,
        applied=tuple(Applied(code, 1, vertices) for code, vertices in sorted(changed.items())),
        refused=tuple(Refused(code, skin.mesh, why) for code, why in sorted(refused.items())),
        proof=prove_skin(skin, current, motion),
    )


def prove_skin(before: Skin, after: Skin, motion: Motion) -> SkinProof:
    """What other weights of the same vertices do to a mesh over a clip."""
    far, frame = _moved(before, after, motion, np.ones(len(before), dtype=bool))
    sound = _moved(before, after, motion, _sound(before))[0]
    return SkinProof(int(_differ(before, after).sum()), sound, far, frame)


def _sound(skin: Skin) -> Bools:
    """(V,) the vertex is deformed, by weights that are a share of a whole."""
    sound = influences(skin).live.copy()
    sound[skin.vertex_of_entry()[bad_entries(skin)]] = False
    return sound


def _moved(before: Skin, after: Skin, motion: Motion, which: Bools) -> tuple[float, float]:
    """(largest displacement of some vertices by either method, mm, its frame)."""
    rows = np.flatnonzero(which)
    if after is before or not len(rows):
        return 0.0, float(motion.frames[0])
    one, other = select(before, rows), select(after, rows)
    found = [displacement(one, other, motion, preserve_volume=preserve) for preserve in (False, True)]
    worst = max(found, key=lambda d: d.worst)
    return worst.worst, float(worst.frames[int(np.argmax(worst.largest))])


def _differ(before: Skin, after: Skin) -> Bools:
    """(V,) the stored entries of a vertex are not the same."""
    if after is before:
        return np.zeros(len(before), dtype=bool)
    number = [np.diff(skin.offsets) for skin in (before, after)]
    differs = np.asarray(number[0] != number[1])
    rows = [np.flatnonzero(~differs[skin.vertex_of_entry()]) for skin in (before, after)]
    group = before.group[rows[0]] != after.group[rows[1]]
    a, b = before.weight[rows[0]], after.weight[rows[1]]
    other = group | ~((a == b) | (np.isnan(a) & np.isnan(b)))
    differs[before.vertex_of_entry()[rows[0]][other]] = True
    return differs
