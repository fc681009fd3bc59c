# SPDX-License-Identifier: GPL-3.0-or-later
"""glTF (.glb, .gltf, .vrm, .vrma) <-> Clips, from the bytes.

reading.py    a file -> clips, and the way back
container.py  bytes <-> JSON and buffers
accessor.py   buffers <-> numbers
animation.py  numbers -> clips
patch.py      edited clips -> changed bytes; changes.py what changed, sharing.py bytes that several tracks share
"""
