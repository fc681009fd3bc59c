# SPDX-License-Identifier: GPL-3.0-or-later
"""The interface in other languages: locale/*.json, one file a language, text → translation.

Blender translates what it draws by itself, by text and context: labels under "*", buttons under "Operator". Where its
own catalog knows a text it takes that, and some of its words mean something else here ("Profile" is an outline
there): such texts are looked up under CONTEXT. So each is registered under all three.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bpy

CONTEXT = "QuatAudit"
FOLDER = Path(__file__).with_name("locale")
# File name → Blender's name of the language (`bpy.app.translations.locales`, the same in 4.2 to 5.3).
LOCALES = ("zh_HANS", "ja_JP")

CLASSES: tuple[Any, ...] = ()


def load(locale: str) -> dict[str, str]:
    """text → translation in one language."""
    texts: dict[str, str] = json.loads((FOLDER / f"{locale}.json").read_text(encoding="utf-8"))
    return texts


def catalogue() -> dict[str, dict[tuple[str, str], str]]:
    """All languages as Blender wants them: locale → (context, text) → translation."""
    contexts = ("*", bpy.app.translations.contexts.operator_default, CONTEXT)
    return {
        locale: {(context, text): said for text, said in load(locale).items() for context in contexts}
        for locale in LOCALES
    }


def register() -> None:
    """Offer the translations to Blender."""
    bpy.app.translations.register(__name__, catalogue())


def unregister() -> None:
    """Take them back."""
    bpy.app.translations.unregister(__name__)
