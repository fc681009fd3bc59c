# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs to no panel: the 3D Viewports drawn again, and the cursor of one who waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bpy


def redraw_viewports() -> None:
    """Draw every 3D Viewport again, with its sidebar."""
    for manager in bpy.data.window_managers:
        for window in manager.windows:
            for area in window.screen.areas:
                if area.type == "VIEW_3D":
                    area.tag_redraw()


@contextmanager
def waiting(context: Any) -> Iterator[None]:
    """The cursor tells of work as long as it goes on; where there is no window, nobody waits before one."""
    window = context.window
    if window is not None:
        window.cursor_set("WAIT")
    try:
        yield
    finally:
        if window is not None:
            window.cursor_set("DEFAULT")
