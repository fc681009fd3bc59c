# SPDX-License-Identifier: GPL-3.0-or-later
"""quat_audit: audits rotation animation and skin weights, repairs them, and proves that no keyed pose changed.

A subject (a Clip: one action slot as NumPy arrays; a Skin: one mesh and its weights, with the Motion that poses it)
is read, judged, repaired, written and read again. The rooms, from the top; imports point down only:

    __main__.py         python -m quat_audit
    ui/ cli/            the sidebar tab; the command line
    api.py              the Python API: a file, an action, an object, a mesh
    run/                one file, from its place to its place
    results/ reports/   what the panel remembers; one file a report format
    blender/ files/     Blender's data <-> subjects; bytes <-> subjects
    comparison/ preview/    before and after of a repair; LBS against DQS, as drawings
    audit/              judge, repair, prove
    rules/              one file a rule; RULES is an explicit tuple
    skinning/ motion/   Skin and Motion; Clip
    findings/           what is said, as plain data
    rotation/           quaternions, Euler orders, interpolation
    arrays.py text.py pausing.py errors.py version.py    the ground

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
    from .ui import command

    ui.register()
    _registered.append(command.register())


def unregister() -> None:
    """Take both back."""
    from . import ui
    from .ui import command

    while _registered:
        command.unregister(_registered.pop())
    ui.unregister()
