# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface, registered over an empty file of factory settings, and taken back afterwards."""

from __future__ import annotations

import gc

import pytest

from tests.conditions import flush_c


@pytest.fixture
def panel():
    """Registered classes left at the end would make Blender hang."""
    bpy = pytest.importorskip("bpy")
    from quat_audit import ui

    gc.collect()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ui.register()
    yield
    ui.unregister()


@pytest.fixture
def said(capfd):
    """What Blender has reported since the last call, a line a report."""

    def lines() -> list[str]:
        flush_c()
        return [
            line for line in capfd.readouterr().out.splitlines() if line.split(":")[0] in ("Info", "Warning", "Error")
        ]

    return lines


@pytest.fixture
def faulty(panel, tmp_path):
    """(mesh object, armature object) of a figure whose weights have several faults."""
    from tests.ui import skins

    return skins.faulty(tmp_path / "faulty.blend")
