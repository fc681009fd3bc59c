# SPDX-License-Identifier: GPL-3.0-or-later
"""quat_audit: audits rotation animation and skin weights, repairs them, and proves that no keyed pose changed.

Two things flow through the house: a Clip (one action slot as NumPy arrays) and a Skin (one mesh and its weights).

    clip.py       Clip and its invariants
    finding.py    what an audit says: findings, repairs, proofs, reports
    rotation/     quaternions, Euler orders, interpolation, F-curve evaluation       NumPy only
    keys.py       the keys of a clip's rotations as rows; measure.py what they show  NumPy only
    skinning/     Skin; linear and dual quaternion blending, weights, measures       NumPy only
    rules/        one file a rule; RULES is an explicit tuple                        NumPy only
    pausing.py    long work in short steps
    audit.py      clip or skin + rules -> findings
    repair.py     clip or skin + rules -> edited clip or skin + proof
    profiles.py   which rules, limits and severities matter for a purpose
    ignores.py    findings that are to be left alone, and why
    key_signs.py  the signs of chosen quaternion keys: align, flip                   NumPy only
    files/        glTF and BVH bytes <-> Clip                                        no bpy
    blender/      Blender's actions <-> Clip, its skinned meshes <-> Skin            bpy
    ui/           sidebar panel, operators, preferences                              bpy
    inputs.py     what a person types -> files
    sources.py    a path, by its bytes or through Blender -> clips
    publish.py    finished files -> their place, nothing lost
    fixing.py     one opened file: audit, repair, read again, prove, publish
    reports/      one file a format
    api.py        the Python API: a file, an action, an object
    cli.py        audit | fix | rules
    places.py     where the results and the report of a run go; terminal.py standard output and error
    escapes.py    names as a terminal may show them; interruption.py Ctrl-C

Only blender/ and ui/ import bpy, and importing this package does not: .glb, .gltf, .vrm, .vrma and .bvh need no
Blender. As an extension the package has another name (bl_ext.…), so every import within it is relative.
"""

from __future__ import annotations

from typing import Any

_registered: list[Any] = []


def register() -> None:
    """Offer `blender --command quat_audit …` and the interface. Called by Blender when the extension is enabled.

    `python -m quat_audit` never comes here.
    """
    from . import ui
    from .blender import command

    ui.register()
    _registered.append(command.register())


def unregister() -> None:
    """Take both back."""
    from . import ui
    from .blender import command

    while _registered:
        command.unregister(_registered.pop())
    ui.unregister()
