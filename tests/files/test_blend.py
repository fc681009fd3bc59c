# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Blender saved a file, by the header of every form that there has been."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from quat_audit.files import blend


@pytest.mark.parametrize(
    "head, version",
    [
        (b"BLENDER_v236", (2, 36)),  # 32-bit pointers
        (b"BLENDER-V249", (2, 49)),  # big endian
        (b"BLENDER-v250", (2, 50)),
        (b"BLENDER-v405", (4, 5)),
        (b"BLENDER17-01v0500", (5, 0)),
        (b"BLENDER17-01v1203", (12, 3)),
        (b"BLENDER-v4", None),
        (b"BLENDER*v405", None),
        (b"BLENDERING-v405", None),
        (b"xBLENDER-v405", None),
    ],
)
def test_the_version_in_a_header(tmp_path: Path, head: bytes, version: tuple[int, int] | None) -> None:
    raw = head + b"REND" + bytes(5000)
    for name, content in (("plain", raw), ("gzip", gzip.compress(raw)), ("alone", head)):
        (tmp_path / name).write_bytes(content)
        assert blend.version(tmp_path / name) == version, name


@pytest.mark.parametrize("content", [b"", blend.GZIP, blend.GZIP + bytes(40), blend.ZSTD, blend.ZSTD + b"\xff" * 40])
def test_a_damaged_one_tells_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.blend").write_bytes(content)
    assert blend.version(tmp_path / "x.blend") is None
