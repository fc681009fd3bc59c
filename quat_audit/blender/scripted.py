# SPDX-License-Identifier: GPL-3.0-or-later
"""Drivers that need Python, which never runs in a file that is opened here: their poses are not what a person sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

# Names in a message.
MOST_NAMED = 3
# What shows or hides a thing poses nothing.
_NO_POSE = ("hide", "hide_viewport", "hide_render", "hide_select")


def unplayed_drivers() -> list[tuple[str, str]]:
    """("drivers", why the poses that they make are not looked at), [] where every driver works without Python."""
    found = [f"{holder.name}: {fcurve.data_path}" for holder, fcurve in _drivers() if _needs_python(fcurve)]
    if not found:
        return []
    some = ", ".join(found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
    many = "1 driver needs" if len(found) == 1 else f"{len(found):,} drivers need"
    return [("drivers", f"{many} Python, which does not run here, so what depends on them is not posed: {some}")]


def _drivers() -> Iterator[tuple[Any, Any]]:
    for holders in (bpy.data.objects, bpy.data.armatures, bpy.data.shape_keys):
        for holder in holders:
            if holder.animation_data is not None:
                yield from ((holder, fcurve) for fcurve in holder.animation_data.drivers)


def _needs_python(fcurve: Any) -> bool:
    driver = fcurve.driver
    # Blender computes simple expressions itself.
    scripted = driver.type == "SCRIPTED" and not driver.is_simple_expression
    return scripted and not fcurve.mute and fcurve.data_path.rsplit(".", 1)[-1] not in _NO_POSE
