# SPDX-License-Identifier: GPL-3.0-or-later
"""What the panel remembers of the artist's choices. It belongs to the window manager: no file is changed by it."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, EnumProperty, IntProperty, PointerProperty, StringProperty

from ..findings.finding import ERROR, NOTE, WARNING, Severity
from ..results.memory import RESULTS
from ..results.rows import Filters, Row, RowKey
from . import preferences, scope
from .translations import CONTEXT
from .wording import say

NAME = "quat_audit"  # of the property on the window manager

# The findings that the artist looks at, by key: numbers change when rows come and go.
_active: list[RowKey] = []
# Blender keeps only pointers to the texts of dynamic items: they must live on here.
_rule_items: list[tuple[str, str, str, int]] = []


def _get_checked(self: Any) -> bool:
    row = RESULTS.row(self.number)
    return row is not None and row.key in RESULTS.checked


def _set_checked(self: Any, value: bool) -> None:
    row = RESULTS.row(self.number)
    if row is not None:
        (RESULTS.checked.add if value else RESULTS.checked.discard)(row.key)


def _chosen(self: Any, context: Any) -> None:
    row = RESULTS.row(self.active)
    if row is not None and _active != [row.key]:
        _active[:] = [row.key]
        self.occurrence = row.finding.worst


def _rules(self: Any, context: Any) -> list[tuple[str, str, str, int]]:
    # Numbers of their own, or a choice would mean another rule after the next audit.
    items = [("ALL", say("All Rules"), "", 0)]
    items += [(code, f"{code} {name}", "", int(code[2:])) for code, name in RESULTS.codes()]
    if items != _rule_items:
        _rule_items[:] = items
    return _rule_items


def _search_bones(self: Any, context: Any, text: str) -> list[str]:
    return [bone for bone in RESULTS.bones() if text.casefold() in bone.casefold()]


class Item(bpy.types.PropertyGroup):
    """A line of the list; what it shows is in `results`."""

    number: IntProperty(name="Number", options={"HIDDEN"})  # type: ignore[valid-type]
    checked: BoolProperty(  # type: ignore[valid-type]
        name="Selected",
        description="Repair this finding with Fix Selected",
        get=_get_checked,
        set=_set_checked,
    )


class State(bpy.types.PropertyGroup):
    """The panel's choices."""

    scope: EnumProperty(  # type: ignore[valid-type]
        name="Scope", description="What to audit", items=scope.ITEMS, default=scope.ACTIVE_ACTION
    )
    profile: EnumProperty(  # type: ignore[valid-type]
        name="Profile",
        description="What the animation is for: which rules apply, by which limits, and how severe they are",
        items=preferences.PROFILE_ITEMS,
        default=preferences.DEFAULT_PROFILE,
        translation_context=CONTEXT,
    )

    search: StringProperty(  # type: ignore[valid-type]
        name="Search",
        description="Show findings that contain these words: bone, rule, code, action, message",
        options={"TEXTEDIT_UPDATE"},
    )
    show_error: BoolProperty(name="Errors", description="Show errors: they are seen", default=True)  # type: ignore[valid-type]
    show_warning: BoolProperty(  # type: ignore[valid-type]
        name="Warnings", description="Show warnings: they will be seen once the animation is changed", default=True
    )
    show_note: BoolProperty(  # type: ignore[valid-type]
        name="Notes",
        description="Show notes: they do not show, or may be meant",
        default=True,
        translation_context=CONTEXT,
    )
    rule: EnumProperty(name="Rule", description="Show the findings of one rule", items=_rules)  # type: ignore[valid-type]
    bone: StringProperty(  # type: ignore[valid-type]
        name="Bone", description="Show the findings on one bone", search=_search_bones
    )
    sort: EnumProperty(  # type: ignore[valid-type]
        name="Sort By",
        description="Order of the findings",
        items=(
            ("SEVERITY", "Severity", "The worst first"),
            ("FIGURE", "Figure", "The largest figure first: degrees, millimeters, percent"),
            ("FRAME", "Frame", "The earliest first"),
            ("BONE", "Bone", "By the name of the bone or the mesh"),
            ("RULE", "Rule", "By the code of the rule"),
            ("ACTION", "Action", "By the name of the action"),
        ),
        default="SEVERITY",
    )
    reverse: BoolProperty(name="Reverse", description="Reverse the order", default=False)  # type: ignore[valid-type]

    rows: CollectionProperty(type=Item, options={"HIDDEN"})  # type: ignore[valid-type]
    active: IntProperty(  # type: ignore[valid-type]
        name="Finding", description="Show what this finding is, and what its fix will do", default=0, update=_chosen
    )
    occurrence: IntProperty(name="Occurrence", description="Place of the finding", default=0, min=0)  # type: ignore[valid-type]
    ignore_reason: StringProperty(  # type: ignore[valid-type]
        name="Reason", description="Why the finding is meant or does not matter; kept with the action or mesh"
    )

    # Of an audit that runs.
    running: BoolProperty(name="Running", options={"HIDDEN"}, default=False)  # type: ignore[valid-type]
    progress: bpy.props.FloatProperty(name="Progress", options={"HIDDEN"}, min=0.0, max=1.0)  # type: ignore[valid-type]


def state(context: Any) -> State:
    """The panel's choices."""
    found: State = getattr(context.window_manager, NAME)
    return found


def filters(choices: Any) -> Filters:
    """What the list is to show."""
    shown: dict[Severity, bool] = {ERROR: choices.show_error, WARNING: choices.show_warning, NOTE: choices.show_note}
    code = choices.rule
    return Filters(
        search=choices.search,
        severities=frozenset(severity for severity, show in shown.items() if show),
        code="" if code in ("", "ALL") else code,
        bone=choices.bone,
        sort=choices.sort,
        reverse=choices.reverse,
    )


def active_row(choices: Any) -> Row | None:
    """The finding that the artist looks at."""
    return RESULTS.row(choices.active) if len(choices.rows) == len(RESULTS.rows) else None


def chosen_row(context: Any) -> Row | None:
    """The same, from the context of an operator."""
    return active_row(state(context))


def occurrence(choices: Any, row: Row) -> int:
    """The place of it that the artist looks at."""
    return max(0, min(choices.occurrence, len(row.finding.occurrences) - 1))


def sync(choices: Any) -> None:
    """Give the list as many lines as there are findings, and keep the finding that is looked at.

    Not while drawing: Blender forbids to change data there.
    """
    count = len(RESULTS.rows)
    lines = choices.rows
    while len(lines) > count:
        lines.remove(len(lines) - 1)
    while len(lines) < count:
        line = lines.add()
        line.number = len(lines) - 1
    if choices.rule not in {"ALL", *(code for code, _ in RESULTS.codes())}:
        choices.property_unset("rule")
    # What takes time is worked out here, so that the next draw does not have to.
    RESULTS.summary()
    RESULTS.filtered(filters(choices))
    number = RESULTS.number_of(_active[0]) if _active else -1
    if number < 0:
        # The finding is gone: look at the first one that is listed now.
        place = choices.occurrence = 0
        shown = RESULTS.shown_rows(filters(choices))
        number = RESULTS.number_of(shown[0].key) if shown else 0
        _active.clear()
    else:
        place = choices.occurrence
    if choices.active != number or not _active:
        choices.active = number  # calls `_chosen`
    if place and choices.occurrence != place:
        choices.occurrence = place


def take_defaults(context: Any) -> None:
    """Start with the preferences' profile."""
    choices = state(context)
    if not choices.is_property_set("profile"):
        choices.profile = preferences.get_or_default(context).profile


def register() -> None:
    setattr(bpy.types.WindowManager, NAME, PointerProperty(type=State))
    take_defaults(bpy.context)


def unregister() -> None:
    # The values live in the window manager, not in the class: with the add-on enabled again they would come back.
    for manager in bpy.data.window_managers:
        manager.property_unset(NAME)
    delattr(bpy.types.WindowManager, NAME)
    RESULTS.clear()
    _active.clear()


CLASSES = (Item, State)
