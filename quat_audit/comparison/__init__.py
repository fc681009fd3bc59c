# SPDX-License-Identifier: GPL-3.0-or-later
"""An edit before and after: angles over time, and the poses of what hangs on the bones that it turned. No bpy.

angles.py      the rotation that a channel plays in either clip, sampled over the frames around a place
kinematics.py  poses of a rig when the rotations of some of its bones are replaced
layout.py      where lines, dashes, ticks and bones fall on a flat picture
"""
