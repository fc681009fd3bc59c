# SPDX-License-Identifier: GPL-3.0-or-later
"""A preview from the command line, the file it is made from and the figures it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bpy
import pytest

from quat_audit.cli import main as cli
from tests import schemas


def run(*arguments: object) -> int:
    return cli.main([str(a) for a in arguments])


def read(path: Path) -> dict[str, Any]:
    """The figures of a preview, which keep to the schema."""
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"), parse_constant=pytest.fail)
    schemas.check(data, schemas.PREVIEW)
    return data


def save(path: Path) -> Path:
    """The session as a file."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path), check_existing=False)
    return path
