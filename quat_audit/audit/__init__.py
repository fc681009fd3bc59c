# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge, repair, prove: what happens to a subject. No bpy, no file format.

pipeline.py  subject + rules -> findings
repair.py    subject + rules -> an edited subject, what was done, what was refused
proof.py     what an edit did to the motion
signs.py     the signs of chosen quaternion keys: align, flip
profiles.py  which rules, limits and severities matter for a purpose
"""
