# SPDX-License-Identifier: GPL-3.0-or-later
"""`blender --command quat_audit …`: the command line within Blender."""

from __future__ import annotations

from typing import Any

import bpy

from ..version import NAME


def register() -> Any:
    """Register the command; returns the handle to unregister it with.

    No class is registered for it: the headless command line needs none, and classes left at exit hang Blender.
    """
    return bpy.utils.register_cli_command(NAME, _run)


def unregister(handle: Any) -> None:
    """Take the command back."""
    bpy.utils.unregister_cli_command(handle)


def _run(arguments: list[str]) -> int:
    # Imported here so that enabling the extension costs nothing.
    from ..cli import main as cli

    return cli.main(arguments, prog=f"blender --command {NAME}")
