# SPDX-License-Identifier: GPL-3.0-or-later
"""Skinned meshes of the open file <-> Skins.

mesh.py         a mesh object -> Skin; edited weights -> the mesh
posed.py        a Skin with the motion that poses it
reasons.py      why a mesh cannot be judged or written
group_users.py  vertex groups that something else uses
mesh_state.py  did the mesh change?
show.py         select vertices, go to a frame
previews.py     the meshes of a file that can be previewed
"""
