# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotations as NumPy arrays: pure algebra. No bpy.

Conventions, stated once and used everywhere:

* A quaternion is the last axis of a ``(..., 4)`` array in the order **w, x, y, z** (Blender's). glTF's x, y, z, w is
  converted where its bytes are read and nowhere else. q and -q are the same rotation; they lie in opposite
  *hemispheres* (are *antipodal*), and what is interpolated between keys depends on which of the two is stored.
* Rotations are active, vectors are columns: ``multiply(b, a)`` applies a first, then b, as the product of their
  matrices in that order does.
* Angles are radians here; degrees only in what a person reads.
* Euler angles are stored by axis, ``[..., 0]`` about X, and mean nothing without their order. ``"XYZ"`` applies X first
  (matrix ``Rz @ Ry @ Rx``), as Blender's rotation modes do.
* Maths is float64, whatever comes in. The one exception is on purpose: `motion.curve` treats *times* in the precision
  in which the keys are stored, because Blender does, and so reaches the same place on a steep curve.
* Functions broadcast over leading axes and do not check their input unless they say so. Checked ones raise a
  ValueError that names the argument.

Modules: `quaternion`, `euler` (angles in any order), `axis_angle`, `interpolation` (between rotations).
"""
