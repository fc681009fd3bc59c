# SPDX-License-Identifier: GPL-3.0-or-later
"""Before and after of a repair in the 3D Viewport.

state.py      what is compared, and keeping it in step with the keys
view.py       trails and ghost poses; graph.py the angle over time
operators.py  its buttons
"""
