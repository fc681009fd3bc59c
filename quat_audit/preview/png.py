# SPDX-License-Identifier: GPL-3.0-or-later
"""PNG files without what tells one run from the next: times, dates and machine-made comments."""

from __future__ import annotations

import struct

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Text and time; everything else has a part in the picture.
_DROPPED = (b"tEXt", b"zTXt", b"iTXt", b"tIME", b"eXIf")


def without_remarks(data: bytes) -> bytes:
    """A PNG file's bytes without its text and time chunks.

    Raises:
        ValueError: it is no whole PNG file.
    """
    if not data.startswith(SIGNATURE):
        raise ValueError("no PNG file: its signature is missing")
    kept, at = [SIGNATURE], len(SIGNATURE)
    while at < len(data):
        if at + 12 > len(data):
            raise ValueError("the PNG file is cut short")
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, end = data[at + 4 : at + 8], at + 12 + length
        if end > len(data):
            raise ValueError("the PNG file is cut short")
        if kind not in _DROPPED:
            kept.append(data[at:end])
        at = end
    return b"".join(kept)
