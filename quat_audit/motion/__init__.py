# SPDX-License-Identifier: GPL-3.0-or-later
"""A clip: the F-curves of one action slot or one animation, what plays between its keys, and edits of it. No bpy.

clip.py     Clip, its invariants, and how a reader makes one
curve.py    F-curves at any time, as Blender evaluates them; bezier.py one segment; easing.py the easing equations
keys.py     the keys of all rotations as rows, and the steps between them
readers.py  who plays the keys, and how; drawn.py what a scene shows between two keys
sweep.py    what plays on a step: the path, degrees swept, the shortest
handles.py  how far handles and easing can take a curve from straight lines, without evaluating it
edit.py     edits: a new clip, never a change in place; changes.py what differs between two clips
storage.py  what the file behind a clip can hold of an edit
"""
