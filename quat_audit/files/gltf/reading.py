# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF (.glb, .gltf, .vrm, .vrma) ↔ Clips, from the bytes: what an engine gets, not what an importer makes of it.

Why not the reader that ships inside Blender (``io_scene_gltf2/io/imp``, looked at in 4.5.15)? Importing
``io_scene_gltf2.io.imp.gltf2_io_gltf`` runs the add-on's ``__init__``, which fails at ``import bpy`` on a plain Python.
With an empty package put in its place the two files do import and read. But: the class that is made for each JSON
object takes 0.53 s on a file of 8,839 accessors where ``json.loads`` takes 0.03 s; malformed input ends in asserts and
KeyErrors; a required extension that means nothing to animation stops it; it decodes base64 without telling damage;
and a decoded array does not say where its bytes were, which the patch needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...motion.clip import Clip
from ..raw_file import Patched, RawFile
from .animation import read_animations
from .container import open_document
from .patch import patch_animations

SUFFIXES = (".glb", ".gltf", ".vrm", ".vrma")


def read(path: Path) -> RawFile:
    """Read a glTF file: one clip an animation, times in frames at 24 per second, values float64, w, x, y, z.

    Channels that could not be read stand in their clip's ``not_evaluated``.
    Raises InputError for what cannot be read at all.
    """
    document = open_document(path)
    animations = read_animations(document)
    skins = document.json.get("skins")

    def patch(edited: Sequence[Clip]) -> Patched:
        return patch_animations(animations, edited)

    # Nothing of them is read, so that broken ones are no reason to refuse the file.
    return RawFile(path, animations.clips, (), patch, skins=len(skins) if isinstance(skins, list) else 0)
