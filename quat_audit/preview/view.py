# SPDX-License-Identifier: GPL-3.0-or-later
"""From where a mesh is looked at: upright, where the difference of two shapes shows and nothing is in front of it."""

from __future__ import annotations

import numpy as np

from ..clip import Floats

# Candidates, degrees: from the front (-Y) round Z, and up.
AZIMUTHS = tuple(range(-180, 180, 15))
ELEVATIONS = (12, 45)
# How much a candidate counts for showing the difference in its length, showing it in the open, showing the limb from
# the side, and for being what one is used to: a little from the right of the front, not from above.
LENGTHWISE, OPEN, SIDEWAYS, USUAL = 0.5, 1.0, 1.0, 0.12
USUAL_AZIMUTH = 30
# How far a limb reaches from the middle of the difference, in that difference's own extents.
LIMB = 5.0
# The grid that says what is in front of what, and how many vertices are looked at.
CELLS, MOST = 48, 20_000


def best(one: Floats, other: Floats) -> Floats:
    """The rows of a picture's right, up and towards-the-eye for two shapes of one mesh.

    Args:
        one, other: (V, 3) positions in world space, Z up.

    Returns:
        (3, 3): times a column vector it gives x, y, z of the picture.
    """
    step = max(1, len(one) // MOST)
    one, other = one[::step], other[::step]
    apart = other - one
    far = np.linalg.norm(apart, axis=1)
    if not len(one) or far.max() <= 0:
        return basis(USUAL_AZIMUTH, ELEVATIONS[0])
    weight = far**2 / np.sum(far**2)
    near = other - np.sum(other * weight[:, None], axis=0)
    # The limb around the difference: what is no farther from its middle than a few times its own extent.
    extent = np.sqrt(np.sum(weight * np.sum(near**2, axis=1)))
    limb = near[np.linalg.norm(near, axis=1) <= LIMB * extent + 1e-12]
    found = []
    for elevation in ELEVATIONS:
        for azimuth in AZIMUTHS:
            rows = basis(azimuth, elevation)
            length = 1.0 - np.sum(weight * (apart @ rows[2]) ** 2 / np.maximum(far, 1e-30) ** 2)
            side = 1.0 - np.sum((limb @ rows[2]) ** 2) / max(float(np.sum(limb**2)), 1e-30)
            off = abs((azimuth - USUAL_AZIMUTH + 180) % 360 - 180) / 180 + (elevation - ELEVATIONS[0]) / 90
            score = LENGTHWISE * length + OPEN * _in_the_open(other @ rows.T, weight) + SIDEWAYS * side - USUAL * off
            found.append((round(float(score), 6), rows))
    return max(found, key=lambda item: item[0])[1]


def basis(azimuth_deg: float, elevation_deg: float) -> Floats:
    """(3, 3) rows right, up, towards the eye; azimuth 0 looks from the front (-Y), 90 from the right (+X)."""
    a, e = np.radians([azimuth_deg, elevation_deg])
    eye = np.array([np.sin(a) * np.cos(e), -np.cos(a) * np.cos(e), np.sin(e)])
    right = np.array([np.cos(a), np.sin(a), 0.0])
    return np.stack([right, np.cross(eye, right), eye])


def _in_the_open(points: Floats, weight: Floats) -> float:
    """The weighted part of the points that no other point of their cell is far in front of."""
    low, size = points[:, :2].min(axis=0), float(np.ptp(points[:, :2], axis=0).max())
    cell = np.minimum(((points[:, :2] - low) / max(size, 1e-30) * CELLS).astype(np.int64), CELLS - 1)
    place = cell[:, 0] * CELLS + cell[:, 1]
    front = np.full(CELLS * CELLS, -np.inf)
    np.maximum.at(front, place, points[:, 2])
    return float(np.sum(weight[points[:, 2] >= front[place] - 2.0 * size / CELLS]))
