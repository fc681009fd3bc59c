# SPDX-License-Identifier: GPL-3.0-or-later
"""Drawing without a window: the wheels' GPU, and pixels read back from an off-screen buffer."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpu
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import headless_gpu

SIZE = 256


def need_gpu() -> None:
    """Start the GPU. Where the machine has no EGL the test says "not available"; with it, it must work."""
    try:
        ctypes.CDLL("libEGL.so.1")
    except OSError:
        pytest.skip("not available: libEGL.so.1, without which Blender draws nothing here")
    headless_gpu.start()


def drawn(draw: Callable[[], Any], size: int = SIZE) -> tuple[np.ndarray, np.ndarray]:
    """What is drawn into an empty buffer: (size, size, 4) colors and (size, size) depth, 0 near, 1 far or nothing."""
    buffer = gpu.types.GPUOffScreen(size, size, format="RGBA32F")
    with buffer.bind():
        frame = gpu.state.active_framebuffer_get()
        frame.clear(color=(0.0, 0.0, 0.0, 0.0), depth=1.0)
        draw()
        color = frame.read_color(0, 0, size, size, 4, 0, "FLOAT")
        depth = frame.read_depth(0, 0, size, size)
    buffer.free()
    return _array(color, (size, size, 4)), _array(depth, (size, size))


def _array(buffer: Any, shape: tuple[int, ...]) -> np.ndarray:
    """What a buffer of Blender's holds: as a list it takes ten times as long; its strides are right when flat only."""
    buffer.dimensions = int(np.prod(shape))
    return np.array(buffer, dtype=np.float64).reshape(shape)


def fitted(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(4, 4) clip matrix that shows all points from a random side, without perspective."""
    axes = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    turned = points @ axes.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    scale = 1.8 / np.maximum(high - low, 1e-9)
    clip = np.eye(4)
    clip[:3, :3] = scale[:, None] * axes
    clip[:3, 3] = -scale * (low + high) / 2
    return clip
