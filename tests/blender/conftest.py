# SPDX-License-Identifier: GPL-3.0-or-later
"""Every test here starts in an empty file of factory settings; and what several of the preview's tests need."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def empty_file():
    bpy = pytest.importorskip("bpy")
    gc.collect()  # what points into the old file goes while that is there (see open.forget)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of figures alone: rendering takes seconds, and is tested in test_preview_pictures.py."""
    from quat_audit.blender.draw import render
    from quat_audit.preview.png import SIGNATURE

    monkeypatch.setattr(render, "render", lambda drawing: SIGNATURE + b"no picture" * 1100)


@pytest.fixture
def coarse_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Real pictures, a tenth of their time: samples smooth edges, and only draw/test_pictures.py looks at those."""
    from quat_audit.blender.draw import render

    monkeypatch.setattr(render, "SAMPLES", 1)


@pytest.fixture(scope="module")
def limbs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with each of the example limbs as a file."""
    import example_limbs

    folder = tmp_path_factory.mktemp("limbs")
    for limb in example_limbs.LIMBS:
        example_limbs.save(limb, folder / f"{limb.name}.blend")
    return folder
