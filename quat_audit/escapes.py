# SPDX-License-Identifier: GPL-3.0-or-later
"""Names as a person may see them: what a terminal would act on is spelled out instead."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Control characters, line and paragraph separators, what turns the direction of text, and lone surrogates (the
# bytes of a file name that is no valid Unicode).
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
# What a file name may have of a name, anywhere: letters and digits of every script.
_NO_NAME = re.compile(r"[^\w.\- ]+")
# Names of devices, which Windows takes for them with any suffix.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
# Bytes of a file name's stem: all file systems take 255 for the whole.
MOST_BYTES = 120
_BYTE_FIRST, _BYTE_LAST = 0xDC80, 0xDCFF


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
