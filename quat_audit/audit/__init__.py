# SPDX-License-Identifier: GPL-3.0-or-later
"""Judge, repair, prove: what happens to a subject, whatever its kind. No bpy, no file format.

settings.py    rules, limits and caps; profiles.py sets of them for a purpose
pipeline.py    a subject and settings -> findings: `judge`, and its stepwise form
readings.py    what a rule finds for each reader of a clip
safety.py      is a fix safe for everybody who plays the keys?
noise.py       what is too slight to be told track by track
repair.py      a subject and settings -> an edited subject, what was done, what was refused
subjects.py    what differs between a clip and a skin, for these two
proof.py       what an edit did to the motion; unchanged.py what it cannot have changed; on_purpose.py what it meant to;
               skin_proof.py what it did to a mesh
signs.py       the signs of chosen quaternion keys: align, flip
"""
