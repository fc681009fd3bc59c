# SPDX-License-Identifier: GPL-3.0-or-later
"""What the skinning preview is to show. It belongs to the window manager, as all choices of the panel."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, IntProperty, PointerProperty

from ...skinning.heat import CUT, GAP, LOSS, HeatMap
from ...skinning.weights import ENGINE_INFLUENCES
from ..windows import redraw_viewports

NAME = "quat_audit_preview"  # of the property on the window manager

LBS, DQS, SIDE_BY_SIDE = "LBS", "DQS", "SIDE_BY_SIDE"
SHOW_ITEMS = (
    (LBS, "Linear Blend (LBS)", "Linear blend skinning: what most engines and formats do"),
    (DQS, "Dual Quaternion (DQS)", "Dual quaternion skinning: what Preserve Volume does"),
    (SIDE_BY_SIDE, "Side by Side", "LBS to the left of the mesh, DQS to the right of it"),
    ("GAP", "Gap", "Heat map: how far each vertex is from LBS to DQS"),
    ("LOSS", "Volume Loss", "Heat map: how much of the joint's cross-section LBS loses against DQS"),
    ("CUT", "Influence Cut", "Heat map: how far each vertex moves when it keeps only its heaviest influences"),
)
KINDS = {"GAP": GAP, "LOSS": LOSS, "CUT": CUT}


def _changed(self: Any, context: Any) -> None:
    redraw_viewports()


class PreviewChoices(bpy.types.PropertyGroup):
    """The choices of the skinning preview."""

    show: EnumProperty(  # type: ignore[valid-type]
        name="Show", description="What the preview shows", items=SHOW_ITEMS, default=SIDE_BY_SIDE, update=_changed
    )
    opacity: FloatProperty(  # type: ignore[valid-type]
        name="Opacity",
        description="How much the preview covers what is behind it",
        default=1.0,
        min=0.05,
        max=1.0,
        subtype="FACTOR",
        update=_changed,
    )
    in_front: BoolProperty(  # type: ignore[valid-type]
        name="In Front", description="Show the preview before everything else", default=False, update=_changed
    )
    most: IntProperty(  # type: ignore[valid-type]
        name="Influences",
        description="How many influences the cut leaves each vertex",
        default=ENGINE_INFLUENCES,
        min=1,
        max=32,
        update=_changed,
    )
    auto_top: BoolProperty(  # type: ignore[valid-type]
        name="Automatic Scale",
        description="The colors reach to the worst of the clip once the worst frame was looked for, "
        "until then to the worst that was seen",
        default=True,
        update=_changed,
    )
    top: FloatProperty(  # type: ignore[valid-type]
        name="Top of the Scale",
        description="The figure that has the last color, in the unit of the heat map",
        default=10.0,
        min=0.001,
        soft_max=1000.0,
        update=_changed,
    )


def choices(context: Any) -> PreviewChoices:
    """What the panel has chosen."""
    found: PreviewChoices = getattr(context.window_manager, NAME)
    return found


def kind(chosen: Any) -> HeatMap | None:
    """The heat map that is chosen, None for none."""
    return KINDS.get(chosen.show)


def register() -> None:
    setattr(bpy.types.WindowManager, NAME, PointerProperty(type=PreviewChoices))


def unregister() -> None:
    for manager in bpy.data.window_managers:
        manager.property_unset(NAME)
    delattr(bpy.types.WindowManager, NAME)


CLASSES = (PreviewChoices,)
