# SPDX-License-Identifier: GPL-3.0-or-later
"""Names as a person may see them: what a terminal would act on is spelled out instead."""

from __future__ import annotations

import re

# Control characters, line and paragraph separators, what turns the direction of text, and lone surrogates (the
# bytes of a file name that is no valid Unicode).
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
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
