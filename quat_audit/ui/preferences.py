# SPDX-License-Identifier: GPL-3.0-or-later
"""The extension's preferences: defaults of the panel, limits, colors, and the automatic audits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, FloatVectorProperty

from ..audit.profiles import PROFILES, find_profile, profile_settings
from ..audit.settings import Settings
from ..findings.finding import Severity
from . import icons
from .translations import CONTEXT

# The name under which Blender knows the extension, whatever repository it was installed from.
ADDON = (__package__ or "quat_audit.ui").rpartition(".")[0]

PROFILE_ITEMS = tuple((p.name.upper(), p.label, p.description) for p in PROFILES)
DEFAULT_PROFILE = "EVERYTHING"


def _new_colors(self: Any, context: Any) -> None:
    icons.paint(colors(self))


class Preferences(bpy.types.AddonPreferences):
    bl_idname = ADDON

    profile: EnumProperty(  # type: ignore[valid-type]
        name="Profile",
        description="The profile that the panel starts with",
        items=PROFILE_ITEMS,
        default=DEFAULT_PROFILE,
        translation_context=CONTEXT,
    )

    use_visible_deg: BoolProperty(  # type: ignore[valid-type]
        name="Visible From", description="Use a limit of your own instead of the profile's", default=False
    )
    visible_deg: FloatProperty(  # type: ignore[valid-type]
        name="Visible From",
        description="A fault counts as visible when it turns the bone by at least this many degrees too much",
        default=1.0,
        min=0.01,
        max=180.0,
        precision=2,
    )
    use_ambiguous_deg: BoolProperty(  # type: ignore[valid-type]
        name="May Be Meant From", description="Use a limit of your own instead of the profile's", default=False
    )
    ambiguous_deg: FloatProperty(  # type: ignore[valid-type]
        name="May Be Meant From",
        description="A sign flip between poses this many degrees apart may be a turn that is meant",
        default=120.0,
        min=1.0,
        max=180.0,
        precision=1,
    )
    use_norm_tolerance: BoolProperty(  # type: ignore[valid-type]
        name="Length Tolerance", description="Use a limit of your own instead of the profile's", default=False
    )
    norm_tolerance: FloatProperty(  # type: ignore[valid-type]
        name="Length Tolerance",
        description="A quaternion key is reported when its length is off 1 by more than this",
        default=0.001,
        min=0.00001,
        max=0.5,
        precision=5,
    )

    error_color: FloatVectorProperty(  # type: ignore[valid-type]
        name="Errors",
        description="Color of the icon for errors",
        subtype="COLOR_GAMMA",
        size=3,
        min=0.0,
        max=1.0,
        default=icons.COLORS["error"],
        update=_new_colors,
    )
    warning_color: FloatVectorProperty(  # type: ignore[valid-type]
        name="Warnings",
        description="Color of the icon for warnings",
        subtype="COLOR_GAMMA",
        size=3,
        min=0.0,
        max=1.0,
        default=icons.COLORS["warning"],
        update=_new_colors,
    )
    note_color: FloatVectorProperty(  # type: ignore[valid-type]
        name="Notes",
        description="Color of the icon for notes",
        subtype="COLOR_GAMMA",
        size=3,
        min=0.0,
        max=1.0,
        default=icons.COLORS["note"],
        translation_context=CONTEXT,
        update=_new_colors,
    )

    audit_after_import: BoolProperty(  # type: ignore[valid-type]
        name="Audit After Import",
        description="Audit what was imported through Blender's glTF and FBX add-ons, and say what was found",
        default=False,
    )
    audit_before_export: BoolProperty(  # type: ignore[valid-type]
        name="Audit Before Export",
        description="Audit what is about to be exported through Blender's glTF and FBX add-ons; "
        "an export is never held up",
        default=False,
    )

    def draw(self, context: Any) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        layout.prop(self, "profile")

        column = layout.column(heading="Limits")
        for name in LIMITS:
            row = column.row(align=True)
            row.prop(self, f"use_{name}")
            value = row.row(align=True)
            value.enabled = getattr(self, f"use_{name}")
            value.prop(self, name, text="")

        column = layout.column(heading="Colors")
        for severity in icons.COLORS:
            column.prop(self, f"{severity}_color")

        column = layout.column(heading="Automatic")
        column.prop(self, "audit_after_import")
        column.prop(self, "audit_before_export")


LIMITS = ("visible_deg", "ambiguous_deg", "norm_tolerance")


@dataclass(frozen=True)
class _Defaults:
    """The preferences of one who has none: the package runs from a checkout."""

    profile: str = DEFAULT_PROFILE
    audit_after_import: bool = False
    audit_before_export: bool = False


def get(context: Any) -> Any:
    """The preferences; None when Blender does not know the package as an add-on (it runs from a checkout)."""
    addon = context.preferences.addons.get(ADDON)
    return addon.preferences if addon is not None else None


def get_or_default(context: Any) -> Any:
    """The preferences, or their defaults."""
    return get(context) or _Defaults()


def colors(preferences: Any) -> dict[Severity, tuple[float, ...]]:
    """Severity → color."""
    return {s: tuple(getattr(preferences, f"{s}_color", default)) for s, default in icons.COLORS.items()}


def settings(profile: str, preferences: Any) -> Settings:
    """What to audit by: a profile, with the limits that the preferences set over it."""
    chosen = profile_settings(find_profile(profile))
    limits = {code: dict(values) for code, values in (chosen.limits or {}).items()}
    for name in LIMITS:
        if getattr(preferences, f"use_{name}", False):
            for rule in chosen.rules:
                if name in rule.limits:
                    limits.setdefault(rule.code, {})[name] = getattr(preferences, name)
    return replace(chosen, limits=limits or None)


def register() -> None:
    preferences = get(bpy.context)
    icons.paint(colors(preferences) if preferences is not None else icons.COLORS)


def unregister() -> None:
    icons.remove()


CLASSES = (Preferences,)
