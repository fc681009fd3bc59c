# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions that Blender is to call by itself: put on, and taken off again without leaving or expecting anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import bpy

Handlers = Iterable[tuple[str, Callable[..., Any]]]  # name in bpy.app.handlers, function


def add(handlers: Handlers) -> None:
    """Have Blender call each of them."""
    for name, handler in handlers:
        getattr(bpy.app.handlers, name).append(handler)


def remove(handlers: Handlers) -> None:
    """Have Blender call none of them any more; those that it does not call are passed over."""
    for name, handler in handlers:
        known = getattr(bpy.app.handlers, name)
        if handler in known:
            known.remove(handler)


def stop_timer(function: Callable[..., Any]) -> None:
    """Have no timer call it any more; nothing happens when none does."""
    if bpy.app.timers.is_registered(function):
        bpy.app.timers.unregister(function)
