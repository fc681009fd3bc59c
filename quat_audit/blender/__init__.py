# SPDX-License-Identifier: GPL-3.0-or-later
"""The bpy adapter: what Blender has open <-> subjects. It knows no rule.

compat.py    every difference between Blender versions, one function each
open.py      open and import files headless; saving.py save them; scripted.py drivers that need Python
users.py     who plays an action; readers.py how each of them reads its keys (mode, order, drivers); layers.py
             how NLA strips and the active action mix, and what of an action they show
read.py      actions -> Clips; write.py an edited Clip -> the action it came from (write_rig.py
             what is set beside its keys)
playback.py  what plays in a scene, and on which frames; pose.py poses of a rig, frame by frame
linked.py    libraries, and those that are missing
names.py     names, also those that are no UTF-8
ignore.py    ignores as they are kept in the file
show.py      go to a frame, select bones and keys; posed_rig.py a rig as the before and after draws it
skin/        skinned meshes <-> Skins
draw/        pictures: the skinning preview by the graphics card, drawings rendered by Cycles

Import the modules, not this package: importing it must not import bpy.
"""
