# SPDX-License-Identifier: GPL-3.0-or-later
"""Audit and repair one file that was opened: save beside the target, read it again, prove, then publish."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..audit.pipeline import (
    audit_and_split,
    audit_skin_and_split,
    clip_row,
    not_evaluated,
    skin_not_evaluated,
    unfixable_where_locked,
    unfixable_where_read_only,
)
from ..audit.proof import MOST_KEY_CHANGE_DEG, prove
from ..audit.repair import Repair, SkinRepair, repair_clip, repair_skin
from ..audit.settings import Settings
from ..errors import InputError
from ..findings.finding import Applied, FileReport, Proof, SkinProof, merge_proofs
from ..motion.clip import Clip
from ..motion.edit import with_origins
from .opening import Opened, Saved, open_path
from .publish import Publisher, Target, staging


def audit_opened(path: str, opened: Opened, settings: Settings, into: FileReport | None = None) -> FileReport:
    report = into or FileReport(path)
    report.read_via = opened.via
    unjudged = [item for clip in opened.clips for item in not_evaluated(clip)]
    report.not_evaluated = list(dict.fromkeys([*opened.not_evaluated, *unjudged]))
    for clip in opened.clips:
        report.clips.append(clip_row(clip))
        kept, ignored = audit_and_split(clip, settings.rules, settings.limits, caps=settings.caps)
        report.findings += unfixable_where_locked(clip, kept)
        report.ignored += ignored
    if _looks_at_skins(settings):
        skins = opened.skins()
        for skin, motion in skins.posed:
            kept, ignored = audit_skin_and_split(skin, motion, settings.rules, settings.limits, caps=settings.caps)
            report.findings += unfixable_where_read_only(skin, kept)
            report.ignored += ignored
        unjudged = [*skins.not_evaluated, *(row for skin, _ in skins.posed for row in skin_not_evaluated(skin))]
        report.not_evaluated = list(dict.fromkeys([*report.not_evaluated, *unjudged]))
    return report


def _looks_at_skins(settings: Settings) -> bool:
    return any(rule.find_skin is not None for rule in settings.rules)


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
    repairs = [repair_clip(clip, settings.rules, settings.limits, unsafe=settings.unsafe) for clip in opened.clips]
    edited = [repair.clip for repair in repairs]
    posed = opened.skins().posed if _looks_at_skins(settings) else ()
    weights = [repair_skin(s, motion, settings.rules, settings.limits, unsafe=settings.unsafe) for s, motion in posed]
    changed = any(new is not old for new, old in zip(edited, opened.clips, strict=True))
    changed = changed or any(new.skin is not old for new, (old, _) in zip(weights, posed, strict=True))
    both: list[Repair | SkinRepair] = [*repairs, *weights]
    report.repair.refused = [refused for repair in both for refused in repair.refused]
    report.repair.applied = _merge_applied([a for repair in both for a in repair.applied])
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
        saved = opened.save(folder, name, edited, [repair.skin for repair in weights])
        _note_refusals(report, saved, opened.clips, edited)
        result = _read_again(folder / name, settings.via)
        report.after = audit_opened(report.path, result, settings)
        report.repair.proof = _prove_all(opened.clips, repairs, result.clips)
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


def _expect_earlier_result(path: Path, result: Opened, via: str) -> None:
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


def _read_again(staged: Path, via: str) -> Opened:
    try:
        return open_path(staged, via)
    except InputError as error:
        why = str(error).removeprefix(f"{staged}: ")
        raise InputError(f"refused: the repaired file could not be read again ({why}); nothing was written") from None


def _note_refusals(report: FileReport, saved: Saved, before: Sequence[Clip], edited: Sequence[Clip]) -> None:
    """Take what the file format could not express out of `applied` and into `refused`."""
    assert report.repair is not None
    if saved.remark:
        report.repair.remark = " ".join(filter(None, (report.repair.remark, saved.remark)))
    for refused in saved.refused:
        applied = {a.code for a in report.repair.applied}
        codes = sorted({f.code for f in report.findings if f.data_path == refused.data_path and f.code in applied})
        code = refused.code or (codes[0] if codes else "")
        report.repair.refused.append(replace(refused, code=code))
        keys = _keys_changed(refused.data_path, before, edited)
        report.repair.applied = [
            replace(a, tracks=max(a.tracks - 1, 0), keys_changed=max(a.keys_changed - keys, 0)) if a.code == code else a
            for a in report.repair.applied
        ]
    report.repair.applied = [a for a in report.repair.applied if a.tracks and a.keys_changed]


def _keys_changed(data_path: str, before: Sequence[Clip], edited: Sequence[Clip]) -> int:
    """Keys of one data path that the repair changed, in all clips."""
    total = 0
    for old, new in zip(before, edited, strict=True):
        if new is old:
            continue
        times: set[float] = set()
        for curve, path in enumerate(new.curves.data_path):
            source = int(new.curves.source[curve])
            if path != data_path or source < 0:
                continue
            ours, theirs = new.curves.co[new.curves.rows(curve)], old.curves.co[old.curves.rows(source)]
            if len(ours) == len(theirs):
                times |= set(ours[~np.all(ours == theirs, axis=1), 0].tolist())
            else:
                times |= set(ours[:, 0].tolist()) ^ set(theirs[:, 0].tolist())
        total += len(times)
    return total


def _merge_applied(applied: Sequence[Applied]) -> list[Applied]:
    """One line a code."""
    tracks: Counter[str] = Counter()
    keys: Counter[str] = Counter()
    for a in applied:
        tracks[a.code] += a.tracks
        keys[a.code] += a.keys_changed
    return [Applied(code, tracks[code], keys[code]) for code in sorted(tracks)]


def _prove_all(before: Sequence[Clip], repairs: Sequence[Repair], after: Sequence[Clip]) -> Proof:
    """The proof over all clips of a file, from what was read of the old file and of the written one.

    Raises:
        InputError: the written file does not hold the same clips.
    """
    # A BVH file's action is named after the file, so names count in scenes only.
    names = [[(c.action, c.slot) if c.source == "blender" else ("", "") for c in clips] for clips in (before, after)]
    if names[0] != names[1]:
        lost = sorted({c.action for c in before} - {c.action for c in after}) or ["another order"]
        raise InputError(f"refused: the written file does not hold the same actions ({', '.join(lost)})")
    proofs = [prove(old, with_origins(new, r.clip)) for old, r, new in zip(before, repairs, after, strict=True)]
    # A file does not say which keys are new: that the repair knows, unless the writer refused to change keys.
    kept = [len(r.clip.curves.co) == len(new.curves.co) for r, new in zip(repairs, after, strict=True)]
    return replace(
        merge_proofs(proofs),
        keys_added=sum(r.proof.keys_added for r, whole in zip(repairs, kept, strict=True) if whole),
        keys_removed=sum(r.proof.keys_removed for r, whole in zip(repairs, kept, strict=True) if whole),
    )


def _worst_of(repairs: Sequence[SkinRepair]) -> SkinProof:
    """One proof for all meshes of a file: vertices added up, the largest displacements."""
    if not repairs:
        return SkinProof()
    worst = max((repair.proof for repair in repairs), key=lambda proof: proof.moved_mm)
    return replace(
        worst,
        vertices=sum(repair.proof.vertices for repair in repairs),
        sound_mm=max(repair.proof.sound_mm for repair in repairs),
    )


def _copy_audit(report: FileReport) -> FileReport:
    return replace(report, repair=None, after=None)
