# SPDX-License-Identifier: GPL-3.0-or-later
"""What an .fbx file says that Blender's importers leave out."""

from __future__ import annotations

import mmap
import re
from pathlib import Path

LINEAR, RIGID, DUAL_QUATERNION, BLEND = "Linear", "Rigid", "DualQuaternion", "Blend"

# The property of a Skin deformer (FbxSkin::EType) in a binary file, where a string is "S", its length as four bytes
# and the characters, and in an ASCII one.
_SKINNING = re.compile(rb'SkinningType(?:S[\x00-\xff]{4}|\s*:\s*")(Linear|Rigid|DualQuaternion|Blend)(?![A-Za-z])')


def skinning_methods(path: Path) -> frozenset[str]:
    """How the skins of an .fbx file are to be deformed; Blend: by both, with weights of its own.

    Raises: OSError: the file cannot be read.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return frozenset(match[1].decode("ascii") for match in _SKINNING.finditer(data))
