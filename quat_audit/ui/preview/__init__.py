# SPDX-License-Identifier: GPL-3.0-or-later
"""The skinning preview in the 3D Viewport: LBS, DQS, side by side, heat maps.

state.py       on and off, and keeping it in step with the scene; held.py what it holds while it is on
previewed_mesh.py  the mesh that is previewed, read from the scene
drawing.py         drawn into each viewport
properties.py      its choices; operators.py its buttons; panel.py its panel
"""
