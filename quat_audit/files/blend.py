# SPDX-License-Identifier: GPL-3.0-or-later
"""What the header of a .blend file says: the Blender that saved it, which has to be known before the file is opened."""

from __future__ import annotations

import importlib
import importlib.util
import re
import zlib
from pathlib import Path
from typing import Final

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
PLAIN: Final = b"BLENDER"

# BLENDER, pointer size (_ or -), byte order (v or V), three digits; from 5.0 on the header's own length and its version
# come between, and four digits (BLO_core_blend_header.hh).
_HEADER = re.compile(rb"BLENDER(?:[_-][vV](\d)(\d\d)|\d\d-\d\dv(\d\d)(\d\d))")
_LONGEST = 17
# Enough of a compressed file to hold its first bytes.
_FIRST_PART = 2**16


def version(path: Path) -> tuple[int, int] | None:
    """Major and minor version of the Blender that saved a file (2.49 → (2, 49)); None where the header tells none.

    Raises: OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        match = _HEADER.match(_unpacked(file.read(_FIRST_PART)))
    if match is None:
        return None
    major, minor = (number for number in match.groups() if number is not None)
    return int(major), int(minor)


def _unpacked(data: bytes) -> bytes:
    """The first bytes of a file; b"" for a compressed one that is damaged, or that nothing here can read."""
    if data.startswith(GZIP):
        try:
            return zlib.decompressobj(wbits=zlib.MAX_WBITS | 16).decompress(data, _LONGEST)
        except zlib.error:
            return b""
    if data.startswith(ZSTD):
        if importlib.util.find_spec("zstandard") is None:  # Blender and its wheels bring it along
            return b""
        zstandard = importlib.import_module("zstandard")
        try:
            return bytes(zstandard.ZstdDecompressor().stream_reader(data).read(_LONGEST))
        except zstandard.ZstdError:
            return b""
    return data
