# SPDX-License-Identifier: GPL-3.0-or-later
"""From where a mesh is looked at: upright, where the difference of two shapes shows and nothing is in front of it."""

from __future__ import annotations

import numpy as np

from ..arrays import Floats, Ints

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
CELLS, MOST = 40, 20_000


def best(one: Floats, other: Floats, triangles: Ints) -> Floats:
    """The rows of a picture's right, up and towards-the-eye for two shapes of one mesh.

    Args:
        one, other: (V, 3) positions in world space, Z up.
        triangles: (T, 3) int, what may be in front.

    Returns:
        (3, 3): times a column vector it gives x, y, z of the picture.
    """
    front = _spread(other, triangles[:: max(1, len(triangles) // MOST)])
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
            score = (
                LENGTHWISE * length
                + OPEN * _in_the_open(other @ rows.T, weight, front @ rows.T)
                + SIDEWAYS * side
                - USUAL * off
            )
            found.append((round(float(score), 6), rows))
    return max(found, key=lambda item: item[0])[1]


def basis(azimuth_deg: float, elevation_deg: float) -> Floats:
    """(3, 3) rows right, up, towards the eye; azimuth 0 looks from the front (-Y), 90 from the right (+X)."""
    a, e = np.radians([azimuth_deg, elevation_deg])
    eye = np.array([np.sin(a) * np.cos(e), -np.cos(a) * np.cos(e), np.sin(e)])
    right = np.array([np.cos(a), np.sin(a), 0.0])
    return np.stack([right, np.cross(eye, right), eye])


def _spread(points: Floats, triangles: Ints) -> Floats:
    """Points all over a mesh: its vertices, and an even grid on each triangle, the finer the fewer there are."""
    steps = next((n for n in (8, 6, 4, 3, 2) if (n + 1) * (n + 2) // 2 * len(triangles) <= 2 * MOST), 1)
    grid = [(i, j, steps - i - j) for i in range(steps + 1) for j in range(steps + 1 - i)]
    inside = np.einsum("gc,tci->tgi", np.array(grid) / steps, points[triangles]).reshape(-1, 3)
    return np.concatenate([points[:: max(1, len(points) // MOST)], inside])


def _in_the_open(points: Floats, weight: Floats, front: Floats) -> float:
    """The weighted part of the points that no point of `front` in the same cell of the picture is far in front of."""
    low, size = front[:, :2].min(axis=0), float(np.ptp(front[:, :2], axis=0).max())

    def cell_of(at: Floats) -> Ints:
        cell = np.clip((at[:, :2] - low) / max(size, 1e-30) * CELLS, 0, CELLS - 1).astype(np.int64)
        return np.asarray(cell[:, 0] * CELLS + cell[:, 1])

    nearest = np.full(CELLS * CELLS, -np.inf)
    np.maximum.at(nearest, cell_of(front), front[:, 2])
    return float(np.sum(weight[points[:, 2] >= nearest[cell_of(points)] - 2.0 * size / CELLS]))
