# SPDX-License-Identifier: GPL-3.0-or-later
"""Every test here starts in an empty file of factory settings."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def empty_file():
    bpy = pytest.importorskip("bpy")
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
