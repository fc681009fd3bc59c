# SPDX-License-Identifier: GPL-3.0-or-later
"""BVH <-> Clips, from the text.

reading.py  a file -> a clip, and the way back
motion.py   the block of numbers
patch.py    an edited clip -> changed numbers, every other byte as it was
"""
