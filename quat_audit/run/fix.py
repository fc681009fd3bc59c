# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit and repair one file that was opened: save beside the target, read it again, prove, then publish."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..audit.pipeline import clip_line, judge
from ..audit.proof import MOST_KEY_CHANGE_DEG, prove
from ..audit.repair import CodeAndPath, Repair, applied, repair
from ..audit.settings import Settings, Via
from ..errors import InputError
from ..findings.finding import ERROR
from ..findings.report import Applied, FileReport, Proof, Refused, SkinProof, merge_proofs
from ..motion.changes import changes_by_path
from ..motion.clip import Clip
from ..motion.edit import with_origins
from ..skinning.skin import PosedSkin
from .opening import Opened, Saved, open_path
from .publish import Publisher, Target, staging


def audit_opened(path: str, opened: Opened, settings: Settings, into: FileReport | None = None) -> FileReport:
    report = into or FileReport(path)
    report.read_via = opened.via
    report.not_evaluated = list(opened.not_evaluated)
    report.clips += [clip_line(clip) for clip in opened.clips]
    for clip in opened.clips:
        _take(report, clip, settings)
    if _looks_at_skins(settings):
        skins = opened.skins()
        report.not_evaluated += skins.not_evaluated
        for posed in skins.posed:
            _take(report, posed, settings)
    report.not_evaluated = list(dict.fromkeys(report.not_evaluated))
    return report


def _take(report: FileReport, subject: Clip | PosedSkin, settings: Settings) -> None:
    judgement = judge(subject, settings)
    report.findings += judgement.findings
    report.ignored += judgement.ignored
    report.not_evaluated += judgement.not_evaluated


def _looks_at_skins(settings: Settings) -> bool:
    return any(rule.judges == "skin" for rule in settings.rules)


def make_target(
    path: Path, opened: Opened, output: str | Path | None, in_place: bool, inside: str | Path | None
) -> Target:
    if in_place:
        final = path.resolve()  # a link stays, what it points to is replaced
        if final.suffix.lower() != opened.suffix.lower():
            final = final.with_suffix(opened.suffix)
        elif not final.stat().st_mode & stat.S_IWUSR:
            raise InputError("the file is read-only: make it writable, or use --output-dir")
        return Target(final, final.parent, backup=True)
    if output is None:
        final = path.resolve()
        return Target(final.with_suffix(opened.suffix), final.parent, keep=False)
    final = Path(output)
    if final.suffix.lower() != opened.suffix.lower():
        final = final.with_suffix(opened.suffix)
    return Target(final, Path(inside) if inside is not None else final.parent)


def fix_opened(report: FileReport, opened: Opened, target: Target, settings: Settings, publisher: Publisher) -> None:
    assert report.repair is not None
    posed = opened.skins().posed if _looks_at_skins(settings) else ()
    repairs = [repair(clip, settings) for clip in opened.clips]
    weights = [repair(skin, settings) for skin in posed]
    edited = [done.subject for done in repairs]
    changed = any(new is not old for new, old in zip(edited, opened.clips, strict=True))
    changed = changed or any(done.subject is not old for done, old in zip(weights, posed, strict=True))
    changes = _Changes([done.changed for done in repairs], [done.changed for done in weights])
    report.repair.refused = [refused for done in repairs for refused in done.refused]
    report.repair.refused += [refused for done in weights for refused in done.refused]
    report.repair.applied = changes.applied()
    report.repair.skin_proof = _worst_of(weights)
    other_kind = opened.suffix.lower() != Path(report.path).suffix.lower()
    if not changed and (target.backup or not target.keep):
        # Nothing to write, so nothing to read again: the audit of the result is the audit of the file.
        if other_kind:
            report.repair.remark = f"nothing to repair, so no {opened.suffix} is written"
        report.after = _copy_audit(report)
        return
    if other_kind:
        how, kind = "repaired into" if changed else "saved as", Path(report.path).suffix
        report.repair.remark = f"{how} a {opened.suffix}: exporting a {kind} again would bake every key anew"
    with staging(target, opened.names(), beside=opened.beside) as (folder, name):
        saved = opened.save(folder, name, edited, [done.subject.skin for done in weights])
        _note_refusals(report, saved, changes)
        report.repair.handle_types = saved.handle_types
        result = _read_again(folder / name, settings.via)
        if other_kind:
            result = _as_imported(result, opened)
        report.after = audit_opened(report.path, result, settings)
        pairs = _pairs(opened, repairs, result, saved.dropped)
        _note_unwritten(report, pairs, changes)
        report.repair.proof = _prove_all(pairs)
        _expect_no_more_errors(report)
        if not settings.unsafe and report.repair.proof.max_key_change_deg > MOST_KEY_CHANGE_DEG:
            change = report.repair.proof.max_key_change_deg
            raise InputError(f"refused: the repair would change a keyed pose by {change:.4f}°; nothing was written")
        if other_kind and target.backup and target.path.exists():
            _expect_earlier_result(target.path, result, settings.via)
            report.repair.remark = (
                f"an earlier run repaired it into {target.path}, which holds the same: nothing written"
            )
        elif target.keep:
            backup = publisher.publish(target, saved.changed, saved.copies)
            unchanged = target.backup and not backup and target.path.suffix == Path(report.path).suffix
            report.repair.output = None if unchanged else str(target.path)
            report.repair.backup = backup or None
            _note_libraries(report, saved, target, publisher)


def _expect_earlier_result(path: Path, result: Opened, via: Via) -> None:
    """Raise InputError unless a file holds the same keys as a result: it may be a person's own work."""
    try:
        earlier = open_path(path, via).clips
    except InputError:
        earlier = ()
    same = len(earlier) == len(result.clips) and all(
        (a.action, a.slot, a.curves.data_path) == (b.action, b.slot, b.curves.data_path)
        and np.array_equal(a.curves.component, b.curves.component)
        and np.array_equal(a.curves.counts, b.curves.counts)
        and np.array_equal(a.curves.co, b.curves.co, equal_nan=True)
        for a, b in zip(earlier, result.clips, strict=True)
    )
    if not same:
        raise InputError(
            f"would be repaired into {path}, which exists and holds something else: move that file away, "
            "or use --output-dir"
        )


def _note_libraries(report: FileReport, saved: Saved, target: Target, publisher: Publisher) -> None:
    """Say which libraries of a repaired copy are repaired in the same run, and not linked from there."""
    assert report.repair is not None
    linked = sorted({str(path) for path in saved.libraries if path.resolve() in publisher.sources})
    if linked and not target.backup:
        # Linking the copy here would make the proof read a library that may not be written yet.
        remark = f"it still links {', '.join(linked)}, not the repaired copy: relink it, or repair both in place"
        report.repair.remark = "; ".join(filter(None, (report.repair.remark, remark)))


def _read_again(staged: Path, via: Via) -> Opened:
    try:
        return open_path(staged, via)
    except InputError as error:
        why = str(error).removeprefix(f"{staged}: ")
        raise InputError(f"refused: the repaired file could not be read again ({why}); nothing was written") from None


def _as_imported(result: Opened, opened: Opened) -> Opened:
    """What an imported file was saved as, with what is said of the import: saving it brings nothing back."""
    rewritten = next((clip.rewritten for clip in opened.clips if clip.rewritten), "")
    clips = tuple(replace(clip, rewritten=rewritten) for clip in result.clips)
    return replace(result, clips=clips, not_evaluated=(*opened.not_evaluated, *result.not_evaluated))


class _Changes:
    """Keys that the repairs of a file changed: of each clip, then of each mesh, (code, data path) → keys."""

    def __init__(self, clips: Sequence[Mapping[CodeAndPath, int]], meshes: Sequence[Mapping[CodeAndPath, int]]) -> None:
        self._each = [dict(changed) for changed in (*clips, *meshes)]

    def drop(self, clip: int, data_path: str) -> list[str]:
        """Forget what was changed on a path of a clip, which is not in the file; the codes of the rules that did it."""
        changed = self._each[clip]
        self._each[clip] = {which: keys for which, keys in changed.items() if which[1] != data_path}
        return sorted(code for code, path in changed if path == data_path)

    def paths(self, clip: int) -> list[str]:
        """The paths of a clip that were changed."""
        return sorted({path for _, path in self._each[clip]})

    def applied(self) -> list[Applied]:
        """One line a code."""
        tracks: Counter[str] = Counter()
        keys: Counter[str] = Counter()
        for line in (line for changed in self._each for line in applied(changed)):
            tracks[line.code] += line.tracks
            keys[line.code] += line.keys_changed
        return [Applied(code, tracks[code], keys[code]) for code in sorted(tracks)]


def _note_refusals(report: FileReport, saved: Saved, changes: _Changes) -> None:
    """Take what the file format could not express out of `applied` and into `refused`."""
    assert report.repair is not None
    if saved.remark:
        report.repair.remark = " ".join(filter(None, (report.repair.remark, saved.remark)))
    for path in saved.refused:
        for code in changes.drop(path.clip, path.data_path) or [""]:
            report.repair.refused.append(Refused(code, path.data_path, path.why))
    report.repair.applied = changes.applied()


def _note_unwritten(report: FileReport, pairs: Sequence[_Pair], changes: _Changes) -> None:
    """Take back what is said of paths whose keys in the written file are those of the old one."""
    assert report.repair is not None
    for pair in pairs:
        written = changes_by_path(pair.before, with_origins(pair.after, pair.done.subject))
        for path in changes.paths(pair.number):
            if path not in written:
                for code in changes.drop(pair.number, path):
                    why = "the written file does not hold the repair: its keys are the old ones"
                    report.repair.refused.append(Refused(code, path, why))
    report.repair.applied = changes.applied()


def _expect_no_more_errors(report: FileReport) -> None:
    """Raise InputError when the result has more errors than the file: a repair that does harm is no repair."""
    assert report.after is not None
    was, now = (
        Counter(f.code for f in those if f.severity == ERROR) for those in (report.findings, report.after.findings)
    )
    if now.total() > was.total():
        more = ", ".join(f"{code} {was[code]} → {now[code]}" for code in sorted(now - was))
        raise InputError(
            f"refused: the result would have {now.total()} errors where there were {was.total()} ({more}); "
            "nothing was written"
        )


class _Pair(NamedTuple):
    """A clip as it was read, its number in the file, its repair, and the clip of the written file."""

    number: int
    before: Clip
    done: Repair[Clip]
    after: Clip


def _pairs(opened: Opened, repairs: Sequence[Repair[Clip]], result: Opened, dropped: Collection[str]) -> list[_Pair]:
    """What was read of the old file and of the written one, clip by clip.

    Args:
        dropped: actions that are not in the written file, for a reason that is told.

    Raises:
        InputError: the written file does not hold the same clips.
    """
    kept = [i for i, clip in enumerate(opened.clips) if clip.action not in dropped]
    before, after = [opened.clips[i] for i in kept], result.clips
    # A BVH file's action is named after the file, so names count in scenes only.
    names = [[(c.action, c.slot) if c.format == "blender" else ("", "") for c in clips] for clips in (before, after)]
    if names[0] != names[1]:
        lost = sorted({c.action for c in before} - {c.action for c in after}) or ["another order"]
        raise InputError(f"refused: the written file does not hold the same actions ({', '.join(lost)})")
    return [_Pair(i, old, repairs[i], new) for i, old, new in zip(kept, before, after, strict=True)]


def _prove_all(pairs: Sequence[_Pair]) -> Proof:
    """The proof over all clips of a file."""
    proofs = [prove(pair.before, with_origins(pair.after, pair.done.subject)) for pair in pairs]
    # A file does not say which keys are new: that the repair knows, unless the writer refused to change keys.
    whole = [p.done.proof for p in pairs if len(p.done.subject.curves.co) == len(p.after.curves.co)]
    own = [proof for proof in whole if isinstance(proof, Proof)]
    return replace(
        merge_proofs(proofs),
        keys_added=sum(proof.keys_added for proof in own),
        keys_removed=sum(proof.keys_removed for proof in own),
    )


def _worst_of(repairs: Sequence[Repair[PosedSkin]]) -> SkinProof:
    """One proof for all meshes of a file: vertices added up, the largest displacements."""
    proofs = [done.proof for done in repairs if isinstance(done.proof, SkinProof)]
    if not proofs:
        return SkinProof()
    worst = max(proofs, key=lambda proof: proof.moved_mm)
    return replace(
        worst, vertices=sum(proof.vertices for proof in proofs), sound_mm=max(proof.sound_mm for proof in proofs)
    )


def _copy_audit(report: FileReport) -> FileReport:
    return replace(report, repair=None, after=None)
