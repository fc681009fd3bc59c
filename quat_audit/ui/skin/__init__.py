# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel's side of weights and deformation.

auditing.py   an audit of meshes in slices; repairing.py their repair
panel.py      its panel
"""
