# SPDX-License-Identifier: GPL-3.0-or-later
"""Words for a person: sentences that still know their template, frames, and names that are safe to show."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Self

# Control characters, line and paragraph separators, what turns the direction of text, and lone surrogates (the
# bytes of a file name that is no valid Unicode).
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# What a file name may have of a name, anywhere: letters and digits of every script.
_NO_NAME = re.compile(r"[^\w.\- ]+")
# Names of devices, which Windows takes for them with any suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]) *(\.|$)", re.IGNORECASE)
# Bytes of a file name's stem: all file systems take 255 for the whole.
MOST_BYTES = 120
_BYTE_FIRST, _BYTE_LAST = 0xDC80, 0xDCFF


# Counted things in English templates, and the word for one of them.
_COUNTED = {
    "keys": "key", "bones": "bone", "errors": "error", "warnings": "warning", "notes": "note", "findings": "finding",
    "markers": "marker", "channels": "channel", "vertices": "vertex", "meshes": "mesh", "files": "file", "gaps": "gap",
    "handles": "handle",
}  # fmt: skip
_COUNT = re.compile(r"\{(\w+)(:[^{}]*)?\} (" + "|".join(_COUNTED) + r")\b")


def filled(template: str, values: Mapping[str, Any]) -> str:
    """An English template with its values; a thing that is counted as 1 is no plural."""

    def one(match: re.Match[str]) -> str:
        if values.get(match[1]) != 1:
            return match[0]
        return f"{{{match[1]}{match[2] or ''}}} {_COUNTED[match[3]]}"

    # Drawing fills dozens of templates, and few of them count to 1.
    return (_COUNT.sub(one, template) if 1 in values.values() else template).format(**values)


class Text(str):
    """A sentence with values in it: ``Text("frame {frame}", {"frame": "16"})`` is the string "frame 16".

    It is a string, so that it goes wherever reasons go; `template` and `values` are kept for who translates the
    template first and fills it afterwards. The template is always written as a literal (a test sees to it), so that
    the texts to translate can be collected from the source.
    """

    __slots__ = ("template", "values")

    template: str
    values: Mapping[str, Any]

    def __new__(cls, template: str, values: Mapping[str, Any] | None = None) -> Self:
        text = super().__new__(cls, filled(template, values or {}))
        text.template, text.values = template, dict(values or {})
        return text

    @classmethod
    def of(cls, template: str, values: Mapping[str, Any]) -> Self:
        """A text whose template comes from a table of literals, such as a rule's."""
        return cls(template, values)

    def __getnewargs__(self) -> tuple[str, Mapping[str, Any]]:  # type: ignore[override]  # copies keep the template
        return self.template, self.values


# Of several names those that are read before the others are only counted.
MOST_NAMES = 3


def listed(names: Sequence[str]) -> Text:
    """Some names for a person: the first three, of the others the number. A name that is a text stays one."""
    first = {f"name{number}": name for number, name in enumerate(names[:MOST_NAMES])}
    template = "; ".join(f"{{{place}}}" for place in first)
    more = len(names) - len(first)
    return Text.of(f"{template} (+{{more}})", {**first, "more": more}) if more else Text.of(template, first)


def frame_words(frame: float) -> str:
    """A finite frame as it is written in a sentence: three decimals at the most, all digits before the point."""
    # Frames of a glTF file are products of seconds: what is behind that is noise.
    return f"{frame:.3f}".rstrip("0").rstrip(".")


def visible(text: str, *, keep: str = "") -> str:
    r"""The text with escapes such as ``\x1b`` and ``\n`` for what a terminal would act on, but for `keep`."""
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else escape(match[0]), text)


def escape(character: str) -> str:
    r"""One character as an escape; the byte that a surrogate stands for in a file name as ``\xff``."""
    code = ord(character)
    if _BYTE_FIRST <= code <= _BYTE_LAST:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


def file_stems(names: Sequence[str]) -> list[str]:
    """A stem of a file name for each name: one that every file system takes, and no two the same but for their case."""
    taken: set[str] = set()
    stems = []
    for name in names:
        stem = _NO_NAME.sub("_", unicodedata.normalize("NFC", name)).strip(". ")
        stem = stem.encode("utf-8")[:MOST_BYTES].decode("utf-8", "ignore").rstrip(". ")
        if not stem.strip("_") or _DEVICES.match(stem):
            stem = f"mesh{stem}" if stem.strip("_") else "mesh"
        number, unique = 1, stem
        while unique.casefold() in taken:
            number += 1
            unique = f"{stem}-{number}"
        taken.add(unique.casefold())
        stems.append(unique)
    return stems
