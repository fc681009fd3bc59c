# SPDX-License-Identifier: GPL-3.0-or-later
"""What a preview shows of one skinned mesh: its figures, and two pictures as drawings. NumPy only, no Blender.

A drawing is made of triangles and labels in pixels, x to the right, y up, z towards who looks at it; who renders it
knows nothing of skins.

Modules: `usable` (what cannot be previewed, and why), `figures` (the JSON), `rows` (which frames are shown), `view`
(from where), `drawing` (rectangles, lines, labels), `sheet` and `graph` (the two pictures), `png`,
`earlier` (may an earlier result be replaced?).
"""
