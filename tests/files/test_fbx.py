# SPDX-License-Identifier: GPL-3.0-or-later
"""What an .fbx file says of its skinning, binary and ASCII."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from quat_audit.files import fbx

HEAD = b"Kaydara FBX Binary  \x00\x1a\x00"


def binary(word: bytes) -> bytes:
    """A node as FBX stores it: its name behind its length, then a string behind its type and length."""
    return HEAD + b"\x00" * 12 + b"\x0cSkinningType" + b"S" + struct.pack("<I", len(word)) + word + b"\x00" * 13


def ascii_(word: str) -> bytes:
    return f'; FBX 7.5.0\nDeformer: 1, "SubDeformer::", "Skin" {{\n\t\tSkinningType: "{word}"\n}}\n'.encode()


@pytest.mark.parametrize("word", [fbx.LINEAR, fbx.RIGID, fbx.DUAL_QUATERNION, fbx.BLEND])
def test_the_method_of_a_skin(tmp_path: Path, word: str) -> None:
    for content in (binary(word.encode()), ascii_(word)):
        (tmp_path / "x.fbx").write_bytes(content)
        assert fbx.skinning_methods(tmp_path / "x.fbx") == {word}
    (tmp_path / "x.fbx").write_bytes(binary(b"Linear") + binary(word.encode()))
    assert fbx.skinning_methods(tmp_path / "x.fbx") == {"Linear", word}


def test_what_is_no_method(tmp_path: Path) -> None:
    bone = HEAD + b"DualQuaternion Model S\x05\x00\x00\x00Blend"
    for content in (bone, binary(b"Blended"), ascii_("linear"), HEAD):
        (tmp_path / "x.fbx").write_bytes(content)
        assert fbx.skinning_methods(tmp_path / "x.fbx") == frozenset()


def test_real_files(cases: Path) -> None:
    found = {path.name: fbx.skinning_methods(path) for path in (cases / "files").rglob("*.fbx")}
    wanted = {name for name, methods in found.items() if methods - {fbx.LINEAR, fbx.RIGID}}
    assert wanted == {"maya_dual_quaternion_7500_ascii.fbx"} and len(found) > 1
    assert found[wanted.pop()] == {fbx.DUAL_QUATERNION}
