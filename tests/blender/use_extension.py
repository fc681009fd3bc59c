# SPDX-License-Identifier: GPL-3.0-or-later
"""Run by test_extension.py in a process of its own: install a zip, use it, remove it; what happened as JSON.

    python use_extension.py ZIP RESULT.json

BLENDER_USER_RESOURCES is an empty folder. Nothing of the checkout can be imported: what works is in the zip.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import bpy

MODULE = "bl_ext.user_default.quat_audit"
AREAS = ("VIEW_3D", "GRAPH_EDITOR", "DOPESHEET_EDITOR", "NLA_EDITOR")


def broken_rig() -> None:
    """An armature in pose mode whose bone flips its sign between two keys, all keys selected; a mesh of bad weights."""
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = rig.data.edit_bones.new('Arm "L" 骨')
    bone.tail = (0.0, 0.0, 1.0)
    bpy.ops.object.mode_set(mode="POSE")
    pose = rig.pose.bones[0]
    pose.rotation_mode = "QUATERNION"
    for frame, degrees, sign in ((1, 0, 1), (11, 20, -1), (21, 40, 1)):
        half = math.radians(degrees) / 2
        pose.rotation_quaternion = (sign * math.cos(half), sign * math.sin(half), 0.0, 0.0)
        pose.keyframe_insert("rotation_quaternion", frame=frame)
    # bone.select moved to the pose bone in 5.x.
    (pose if "select" in pose.bl_rna.properties else pose.bone).select = True

    mesh = bpy.data.meshes.new("Sleeve")
    mesh.from_pydata([(0, 0, 0), (0, 0, 1), (1, 0, 0)], [], [(0, 1, 2)])
    sleeve = bpy.data.objects.new("Sleeve", mesh)
    bpy.context.scene.collection.objects.link(sleeve)
    sleeve.vertex_groups.new(name=pose.name).add([0, 1], 0.5, "REPLACE")
    sleeve.modifiers.new("Armature", "ARMATURE").object = rig


def empty_scene() -> None:
    """Nothing to audit, and nothing active."""
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    for item in list(bpy.data.objects):
        bpy.data.objects.remove(item)


def audited_rig() -> None:
    """A broken rig, audited, every finding checked."""
    empty_scene()
    broken_rig()
    for name in ("audit", "check_rows"):
        if getattr(bpy.ops.quat_audit, name).poll():
            getattr(bpy.ops.quat_audit, name)("EXEC_DEFAULT")


# Operators that undo what another one does, or that are about other findings, need something done first.
FIRST = {
    "markers_remove": ("markers_add",),
    "unignore": ("ignore",),
    "compare_off": ("compare",),
    "compare_last": ("fix_safe",),
    "select_vertices": ("clear_results", "audit_skin"),
}


def operators() -> list[str]:
    """The add-on's operators that exist now."""
    return sorted(dir(bpy.ops.quat_audit))


def call(name: str, folder: Path) -> dict[str, Any]:
    """Poll and run one operator without a person; what it answered."""
    operator = getattr(bpy.ops.quat_audit, name)
    row: dict[str, Any] = {"operator": name, "poll": False, "result": [], "error": ""}
    try:
        row["poll"] = operator.poll()
        if row["poll"]:
            properties = operator.get_rna_type().properties
            given = {"filepath": str(folder / f"{name}.out")} if "filepath" in properties else {}
            row["result"] = sorted(operator("EXEC_DEFAULT", **given))
    except RuntimeError as error:  # a report of type ERROR, or a traceback: the test tells them apart
        row["error"] = str(error)
    return row


def use(
    situation: str, folder: Path, prepare: Callable[[], None], editors: Sequence[str] = AREAS
) -> list[dict[str, Any]]:
    """Every operator in every editor, each in a situation that is made anew when something ran in the one before."""
    rows: list[dict[str, Any]] = []
    for editor in editors:
        area = None
        for name in operators():
            window = bpy.context.window_manager.windows[0]
            if area is None:
                prepare()
                window = bpy.context.window_manager.windows[0]
                area = next(area for area in window.screen.areas if area.type == AREAS[0])
                area.type = editor
            region = next(region for region in area.regions if region.type == "WINDOW")
            with bpy.context.temp_override(window=window, area=area, region=region):
                ran = [call(first, folder)["poll"] for first in FIRST.get(name, ())]
                rows.append({"situation": situation, "editor": editor, **call(name, folder)})
            if any(ran) or rows[-1]["poll"]:
                area = None
    return rows


def enabled() -> dict[str, Any]:
    """What Blender knows about the add-on."""
    addon = bpy.context.preferences.addons.get(MODULE)
    return {
        "enabled": addon is not None,
        "preferences": addon is not None and addon.preferences is not None,
        "operators": [name for name in operators() if _exists(name)],
        "types": sorted(name for name in dir(bpy.types) if name.upper().startswith(("QUAT_AUDIT_", "QUATAUDIT"))),
        "window_manager": sorted(name for name in dir(bpy.types.WindowManager) if "quat_audit" in name),
        "imported": sorted(name for name in sys.modules if name.startswith("quat_audit")),
    }


def _exists(name: str) -> bool:
    # hasattr says yes to everything.
    try:
        getattr(bpy.ops.quat_audit, name).get_rna_type()
    except KeyError:
        return False
    return True


def main(archive: Path, result: Path) -> None:
    folder = result.parent
    told: dict[str, Any] = {"runs": []}
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    told["install"] = sorted(
        bpy.ops.extensions.package_install_files(
            filepath=str(archive), repo="user_default", enable_on_install=True, overwrite=True
        )
    )
    told["installed"] = enabled()
    factory = partial(bpy.ops.wm.read_homefile, use_factory_startup=True)
    for situation, prepare in (("factory scene", factory), ("no object", empty_scene), ("broken rig", audited_rig)):
        told["runs"] += use(situation, folder, prepare)
    bpy.ops.preferences.addon_disable(module=MODULE)
    told["disabled"] = enabled()
    bpy.ops.preferences.addon_enable(module=MODULE)
    told["enabled again"] = enabled()
    told["runs"] += use("enabled again", folder, audited_rig, AREAS[:2])
    repositories = bpy.context.preferences.extensions.repos
    number = next(i for i, repository in enumerate(repositories) if repository.module == "user_default")
    installed = Path(repositories[number].directory) / "quat_audit"
    told["files"] = sorted(str(path.relative_to(installed).as_posix()) for path in installed.rglob("*.py"))
    bpy.ops.extensions.package_uninstall(repo_index=number, pkg_id="quat_audit")
    told["uninstalled"] = {**enabled(), "files": installed.exists()}
    result.write_text(json.dumps(told), encoding="utf-8")


main(Path(sys.argv[1]), Path(sys.argv[2]))
