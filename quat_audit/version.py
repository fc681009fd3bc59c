# SPDX-License-Identifier: GPL-3.0-or-later
"""The version, read from the manifest: there is no second version string."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

NAME = "quat_audit"


@cache
def version() -> str:
    """The version in blender_manifest.toml.

    It lies beside the package's files in the installed extension and one folder up in a checkout.
    """
    package = Path(__file__).parent
    for folder in (package, package.parent):
        manifest = folder / "blender_manifest.toml"
        if manifest.is_file():
            return str(tomllib.loads(manifest.read_text(encoding="utf-8"))["version"])
    raise FileNotFoundError(f"blender_manifest.toml is neither in {package} nor above it: the copy is incomplete")
