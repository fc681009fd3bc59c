# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel remembers of the last audit, as plain Python. No bpy: it is tested without.

memory.py   the rows, the choice among them, what no longer applies
rows.py     one finding as a row of the list
outcome.py  what a repair did, in words
"""
