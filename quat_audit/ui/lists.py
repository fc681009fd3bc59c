# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of findings. It draws what `results` has worked out: a draw costs only the lines that are seen."""

from __future__ import annotations

from typing import Any

import bpy

from ..results.memory import RESULTS
from . import icons, properties
from .wording import figure, frame_number, label, short_name


class QUATAUDIT_UL_findings(bpy.types.UIList):
    """Findings: severity, bone, what, worst figure, frame."""

    bl_idname = "QUATAUDIT_UL_findings"

    def draw_item(
        self,
        context: Any,
        layout: Any,
        data: Any,
        item: Any,
        icon: int,
        active_data: Any,
        active_property: str,
        index: int = 0,
        flt_flag: int = 0,
    ) -> None:
        row = RESULTS.row(index)
        if row is None:
            return
        line = layout.row(align=True)
        line.prop(item, "checked", text="")
        line.active = RESULTS.outdated(row) is None
        # At the default width of a sidebar every pixel counts: the two figures share one label and its margins.
        split = line.split(factor=0.44, align=True)
        split.label(text=label(row.label), icon_value=icons.of(row.finding.severity), translate=False)
        rest = split.row(align=True)
        rest.label(text=short_name(row.key.code), translate=False)
        figures = rest.row(align=True)
        figures.alignment = "RIGHT"
        timed = [frame_number(row.frame)] if row.timed else []
        figures.label(text=" ".join([figure(row.figure).replace(" ", ""), *timed]), translate=False)
        if row.locked:
            line.label(text="", icon="LOCKED")

    def draw_filter(self, context: Any, layout: Any) -> None:
        choices = properties.state(context)
        column = layout.column(align=True)
        column.prop(choices, "search", text="", icon="VIEWZOOM")
        line = column.row(align=True)
        for severity in icons.COLORS:
            line.prop(choices, f"show_{severity}", text="", icon_value=icons.of(severity), toggle=True)
        line.prop(choices, "rule", text="")
        column.prop(choices, "bone", text="", icon="BONE_DATA", placeholder="Bone")
        line = column.row(align=True)
        line.prop(choices, "sort", text="")
        line.prop(choices, "reverse", text="", icon="SORT_DESC" if choices.reverse else "SORT_ASC")

    def filter_items(self, context: Any, data: Any, property_: str) -> tuple[list[int], list[int]]:
        if len(getattr(data, property_)) != len(RESULTS.rows):
            return [], []  # it changed a moment ago, and is brought up to date before the next draw
        return RESULTS.flags(properties.filters(data), self.bitflag_filter_item)


CLASSES = (QUATAUDIT_UL_findings,)
