# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python API: audit or repair a file, an action or an object. The command line is a thin face of it.

    from quat_audit import api

    report = api.audit_file("walk.glb")
    report = api.fix_file("walk.glb", output="fixed/walk.glb")     # a dry run without output and in_place
    findings = api.audit_action(bpy.data.actions["Walk"])          # in Blender
    repairs = api.fix_object(bpy.context.object)                   # in Blender; undo is the caller's
    findings = api.audit_mesh(bpy.context.object)                  # in Blender: its weights, and how they deform
    repair = api.fix_mesh(bpy.context.object)                      # in Blender; undo is the caller's
    meshes = api.preview_file("hero.blend", "previews/")           # LBS against DQS: figures and pictures
    mesh = api.preview_object(bpy.context.object, "previews/")     # in Blender; the session stays as it is

What is returned are the plain records of `findings/`; `reports.FORMATS` renders them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .audit.pipeline import judge
from .audit.repair import Repair, repair
from .audit.settings import DEFAULT, Settings
from .errors import QuatAuditError, reason_of
from .findings.finding import Finding
from .findings.report import FileRepair, FileReport
from .motion.clip import Clip
from .run import preview
from .run.fix import audit_opened, fix_opened, make_target
from .run.in_scene import carry_out
from .run.opening import open_path
from .run.preview import MeshJob, Previewed
from .run.publish import Publisher
from .skinning.skin import PosedSkin

if TYPE_CHECKING:
    from .blender.read import BlenderClip
    from .blender.skin.posed import PosedMesh

__all__ = [
    "DEFAULT",
    "Settings",
    "audit_action",
    "audit_file",
    "audit_mesh",
    "audit_object",
    "fix_action",
    "fix_file",
    "fix_mesh",
    "fix_object",
    "preview_file",
    "preview_jobs",
    "preview_object",
]


def audit_file(path: str | Path, settings: Settings = DEFAULT) -> FileReport:
    """Audit one file. It never raises: what cannot be audited is a report with status "failed" and a reason.

    A file that Blender reads (.blend, .fbx, any by "blender") is opened in this session, **in place of what is open**:
    unsaved work in it is gone. Inside Blender audit what is open by `audit_action` and the like. What is read from its
    bytes (.glb, .gltf, .vrm, .vrma, .bvh) leaves the session alone.
    """
    return _guarded(Path(path), lambda: audit_opened(str(path), open_path(Path(path), settings.via), settings))


def fix_file(
    path: str | Path,
    settings: Settings = DEFAULT,
    *,
    output: str | Path | None = None,
    in_place: bool = False,
    inside: str | Path | None = None,
    publisher: Publisher | None = None,
) -> FileReport:
    """Repair one file, read the result again and audit it (`after`, with the proof in `repair`).

    A file that Blender reads is opened in place of what is open, as by `audit_file`.

    Parameters:
        output: the file to write; its suffix becomes .blend for what Blender had to import.
        in_place: replace the file and keep the original as ``name.ext.bak``.
            With neither, the result is checked and thrown away (a dry run).
        inside: nothing is written outside this folder; the output's own folder by default.
        publisher: shared by the files of one run.

    Raises:
        ValueError: both output and in_place. Everything else is a report with status "failed".
    """
    if output is not None and in_place:
        raise ValueError("fix_file: give output or in_place=True, not both")
    path = Path(path)
    report = FileReport(str(path))

    def work() -> FileReport:
        opened = open_path(path, settings.via)
        audit_opened(str(path), opened, settings, into=report)
        report.repair = FileRepair()
        target = make_target(path, opened, output, in_place, inside)
        fix_opened(report, opened, target, settings, publisher or Publisher(frozenset([path.resolve()])))
        return report

    return _guarded(path, work, report)


def audit_action(action: Any, settings: Settings = DEFAULT) -> list[Finding]:
    """Audit every slot of a Blender action."""
    from .blender import read

    return [f for item in read.read_action(action) for f in judge(item.clip, settings).findings]


def audit_object(obj: Any, settings: Settings = DEFAULT) -> list[Finding]:
    """Audit every action that a Blender object plays."""
    from .blender import read

    return [f for item in read.read_object(obj) for f in judge(item.clip, settings).findings]


def fix_action(action: Any, settings: Settings = DEFAULT) -> list[Repair[Clip]]:
    """Repair every slot of a Blender action where it is. Undo is the caller's (an operator with UNDO).

    What is returned holds the clips as Blender stored them, with the proof of that.

    Raises:
        RefusedError: it must not be written; the message says why.
    """
    from .blender import read

    return _fix_in_scene(read.read_action(action), settings)


def fix_object(obj: Any, settings: Settings = DEFAULT) -> list[Repair[Clip]]:
    """Repair every action that a Blender object plays, where it is; other users of them change too."""
    from .blender import read

    return _fix_in_scene(read.read_object(obj), settings)


def audit_mesh(obj: Any, settings: Settings = DEFAULT, frames: Sequence[float] | None = None) -> list[Finding]:
    """Audit the weights of a skinned mesh object, and its deformation over some frames (by default the scene's).

    Raises:
        SkinError: it is no skinned mesh, or Blender does not pose it; the message says what to do.
    """
    posed = _posed(obj, frames)
    return list(judge(posed.subject, settings).findings)


def fix_mesh(obj: Any, settings: Settings = DEFAULT, frames: Sequence[float] | None = None) -> Repair[PosedSkin]:
    """Repair the weights of a skinned mesh object where they are; other users of the mesh change too.

    Raises:
        SkinError: as `audit_mesh`; or the mesh is in edit mode.
    """
    posed = _posed(obj, frames)
    return carry_out(posed, repair(posed.subject, settings))[1]


def preview_file(
    path: str | Path, output: str | Path, *, name: str = "", frames: Sequence[float] | None = None
) -> list[Previewed]:
    """Preview the skinned meshes of a file: figures as JSON, a contact sheet and a curve of each in a folder.

    The file is opened in place of what is open, as by `audit_file`.

    Parameters:
        output: the folder; it is made.
        name: only the mesh object of that name.
        frames: by default those of the scene.

    Raises:
        InputError: nothing could be begun; what is wrong with one mesh is that mesh's `reason`.
    """
    return [job.work() for job in preview_jobs(path, output, name=name, frames=frames)]


def preview_jobs(
    path: str | Path, output: str | Path, *, name: str = "", frames: Sequence[float] | None = None
) -> Iterator[MeshJob]:
    """As `preview_file`, mesh by mesh, for who shows progress or may stop in between."""
    return preview.mesh_jobs(Path(path), Path(output), name=name, frames=frames)


def preview_object(obj: Any, output: str | Path, frames: Sequence[float] | None = None) -> Previewed:
    """Preview a skinned mesh object of the session into a folder; the session stays as it is.

    Raises:
        SkinError: as `audit_mesh`; or no vertex of it follows a bone.
        InputError: the files cannot be written.
    """
    return preview.preview_object(obj, Path(output), frames)


def _posed(obj: Any, frames: Sequence[float] | None) -> PosedMesh:
    from .blender.skin import posed

    return posed.read_posed_object(obj, frames)


def _fix_in_scene(records: Sequence[BlenderClip], settings: Settings) -> list[Repair[Clip]]:
    return [carry_out(record, repair(record.clip, settings))[1] for record in records]


def _guarded(path: Path, work: Callable[[], FileReport], report: FileReport | None = None) -> FileReport:
    """Run the work on one file; whatever goes wrong with it is its entry, not the end of the run."""
    report = report or FileReport(str(path))
    try:
        return work()
    except QuatAuditError as error:
        # The entry says which file it is.
        report.reason = str(error).removeprefix(f"{path}: ").replace(str(path.absolute()), path.name)
    except Exception as error:  # noqa: BLE001  # reason_of tells ours from mistakes
        report.reason = reason_of(error, str(path))
    report.status = "failed"
    report.repair = report.after = None  # nothing was written, so nothing was repaired
    return report
