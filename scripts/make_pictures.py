# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the pictures of docs/preview.md from the project's own example.

~/.cache/quat_audit/envs/bpy-…/bin/python scripts/make_pictures.py     needs bpy
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLE = "twisted_tube"


def main() -> int:
    sys.path.insert(0, str(ROOT))
    import example_limbs

    from quat_audit import api

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / f"{EXAMPLE}.blend"
        example_limbs.save(next(limb for limb in example_limbs.LIMBS if limb.name == EXAMPLE), path)
        (mesh,) = api.preview_file(path, folder)
        for source, target in zip(mesh.paths[1:], ("preview-sheet.png", "preview-curve.png"), strict=True):
            shutil.copyfile(source, IMAGES / target)
            print(IMAGES / target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
