# SPDX-License-Identifier: GPL-3.0-or-later
"""The bpy adapter: what Blender has open <-> Clips. It knows no rule.

compat.py   every difference between Blender versions, one function each
users.py    who plays an action, and how (rotation modes, stored pose, drivers)
read.py     actions -> Clips
write.py    an edited Clip -> the action it came from
open.py     open, import and save files headless
gpu_skin.py gpu_shader.py    a skin drawn at any pose, skinned by the graphics card

Import the modules, not this package: importing it must not import bpy.
"""
