# SPDX-License-Identifier: GPL-3.0-or-later
"""One file from its place to its place: found, opened, repaired, written, read again, published. bpy only on demand.

inputs.py   what a person types -> files
opening.py  a path, by its bytes or through Blender -> subjects
fix.py      an opened file: judge, repair, save, read again, prove, publish
in_scene.py a repair in the open file: written, read again, proven
names.py    when two spellings of a path are one file
publish.py  finished files -> their place, nothing lost
outputs.py  where the results and the report of a run go
preview.py  the previews of the skinned meshes of a file
"""
