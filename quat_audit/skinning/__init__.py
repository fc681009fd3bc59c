# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinned meshes as NumPy arrays: linear blend and dual quaternions, weights, and what the methods change. No bpy.

Conventions, besides those of `rotation`:

* A matrix is ``(..., 4, 4)`` and multiplies column vectors; a bone's *deform matrix* takes a rest point in armature
  space to its pose there (Blender's ``PoseBone.matrix_channel``).
* Points are ``(..., 3)`` in the mesh's own space; distances become millimeters through ``Motion.to_world`` and
  ``Skin.mm_per_unit`` only where a person reads them.
* Whole clips are worked through in blocks of vertices that share few bones (`blocks`), so that weights × bone
  matrices is a dense product and everything between it and the result stays in the processor's cache.

Modules: `skin` (the data), `blocks`, `radius`, `linear`, `dual_quaternion`, `weights`, `joints`, `displacement`,
`measure`, `heat` (figures and colors of heat maps), `shader_tables` (all of it as a vertex shader reads it).
"""
