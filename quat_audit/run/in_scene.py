# SPDX-License-Identifier: GPL-3.0-or-later
"""A repair carried out in the open file: written, read again, and proven on what Blender stored.

For the Python API and the panel; files on disk go through fix.py. Undo is the caller's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

from ..audit.repair import Repair, prove_repair
from ..findings.report import Refused
from ..motion.changes import changes_by_path
from ..motion.clip import Clip
from ..motion.edit import with_origins
from ..skinning.skin import PosedSkin

if TYPE_CHECKING:
    from ..blender.read import BlenderClip
    from ..blender.skin.posed import PosedMesh


@overload
def carry_out(record: BlenderClip, done: Repair[Clip]) -> tuple[BlenderClip, Repair[Clip]]: ...
@overload
def carry_out(record: PosedMesh, done: Repair[PosedSkin]) -> tuple[PosedMesh, Repair[PosedSkin]]: ...
def carry_out(record: Any, done: Any) -> Any:
    """Write the repair of a clip or mesh of the open file.

    Returns:
        What was read, as it is now; and the repair with its subject as Blender stored it, the proof of that, and
        whatever Blender did not allow among `refused`.

    Raises:
        GoneError, RefusedError, SkinError: nothing was written; the message says why.
    """
    if isinstance(done.subject, PosedSkin):
        return _carry_out_on_mesh(record, done)
    return _carry_out_on_clip(record, done)


def _carry_out_on_clip(record: BlenderClip, done: Repair[Clip]) -> tuple[BlenderClip, Repair[Clip]]:
    from ..blender import read, write

    if done.subject is record.clip:
        return record, done
    written = write.write_clip(record, done.subject)
    now = read.read_again(record)
    # Blender keeps no history: without the repair's, keys that it added would be taken for others.
    stored = with_origins(now.clip, done.subject)
    proof = prove_repair(record.clip, stored)
    done = replace(done, subject=stored, proof=proof, handle_types=written.handle_types)
    return now, _without(done, written.skipped, changes_by_path(record.clip, stored)) if written.skipped else done


def _without(done: Repair[Clip], skipped: Sequence[tuple[str, str]], changed: Collection[str]) -> Repair[Clip]:
    """The repair but for what was skipped, (data path, why): that is refused, and only what `changed` was done."""
    code_of = {path: code for code, path in done.changed}
    refused = [Refused(code_of.get(path, ""), path, why) for path, why in skipped]
    kept = {which: keys for which, keys in done.changed.items() if which[1] in changed}
    return replace(done, changed=kept, refused=(*done.refused, *refused))


def _carry_out_on_mesh(record: PosedMesh, done: Repair[PosedSkin]) -> tuple[PosedMesh, Repair[PosedSkin]]:
    from ..blender.skin import mesh

    before = record.subject
    if done.subject.skin is before.skin:
        return record, done
    mesh.write_weights(record.record, done.subject.skin)
    obj, _, _ = mesh.find(record.record)
    now = replace(record, record=mesh.read_object(obj))
    return now, replace(done, subject=now.subject, proof=prove_repair(before, now.subject))
