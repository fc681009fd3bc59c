# SPDX-License-Identifier: GPL-3.0-or-later
"""Bytes of a file <-> subjects, without Blender: what an engine gets, not what an importer makes of it.

raw_file.py  what a reader returns: clips, and how edited ones are written
gltf/        .glb, .gltf, .vrm, .vrma
bvh/         .bvh
blend.py     who saved a .blend
fbx.py       what Blender's importers drop of an .fbx
"""
