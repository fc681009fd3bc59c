# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawing with Blender.

ghost.py   a skin at any pose, skinned by the graphics card (or by NumPy); shader.py its shader
render.py  a drawing rendered by Cycles, without a screen
"""
