# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the checkout as an installed extension: edit, restart Blender (or reload scripts), look.

    python3 scripts/link_dev.py                     into the newest Blender's user folder
    python3 scripts/link_dev.py --version 4.5       into that one's
    python3 scripts/link_dev.py --extensions DIR    into DIR/user_default
    python3 scripts/link_dev.py --undo              takes it out again

Blender wants the manifest beside __init__.py, and it stands above the package here: so a folder of links is made,
one for each file and folder of the package. Run it again after adding a file at the top of the package. Enable
"Quat Audit" in the preferences once. Uninstalling there removes the links and leaves the checkout.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "quat_audit"
REPOSITORY = "user_default"
BESIDE = ("blender_manifest.toml", "LICENSE", "README.md", "docs")
OLDEST = (4, 2)  # the first Blender with extensions


class LinkError(Exception):
    """It cannot be linked. The message says what to do."""


def user_folder() -> Path:
    """Where Blender keeps a folder for each version."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "Blender"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", str(Path.home()))) / "Blender Foundation" / "Blender"
    return Path(os.environ.get("XDG_CONFIG_HOME", str(Path.home() / ".config"))) / "blender"


def extensions_folder(version: str | None) -> Path:
    """The extensions folder of a Blender version, by default of the newest that has run here."""
    resources = os.environ.get("BLENDER_USER_RESOURCES")
    if resources:
        return Path(resources) / "extensions"
    base = user_folder()
    if version:
        return base / version / "extensions"
    found = [path.name for path in base.glob("*") if re.fullmatch(r"\d+\.\d+", path.name)]
    fitting = sorted(tuple(int(n) for n in name.split(".")) for name in found)
    if not fitting or fitting[-1] < OLDEST:
        raise LinkError(f"no Blender 4.2 or later has run here ({base}): name a version, or a folder by --extensions")
    return base / "{}.{}".format(*fitting[-1]) / "extensions"


def children() -> dict[str, Path]:
    """name in the extension → file or folder of the checkout."""
    package = [path for path in sorted((ROOT / NAME).iterdir()) if path.name != "__pycache__"]
    return {path.name: path for path in [*package, *(ROOT / name for name in BESIDE)]}


def link(extensions: Path) -> str:
    """Make the folder of links, or bring it up to date; a line that says what was done."""
    folder = extensions / REPOSITORY / NAME
    if folder.is_symlink():
        raise LinkError(f"{folder} is a link itself, which Blender passes over: remove it")
    if folder.exists() and not _is_farm(folder):
        raise LinkError(f"{folder} holds files that are no links: uninstall Quat Audit in Blender's preferences first")
    renewed = folder.exists()
    _clear(folder)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = children()
    for name, source in wanted.items():
        try:
            (folder / name).symlink_to(source, target_is_directory=source.is_dir())
        except OSError as error:
            hint = "; on Windows turn on Developer Mode" if os.name == "nt" else ""
            raise LinkError(f"cannot make a link in {folder}: {error.strerror}{hint}") from None
    return f"{'renewed' if renewed else 'made'} {len(wanted)} links in {folder} to {ROOT}"


def unlink(extensions: Path) -> str:
    """Remove the folder of links; a line that says what was done."""
    folder = extensions / REPOSITORY / NAME
    if not folder.exists() and not folder.is_symlink():
        return f"nothing to undo: {folder} does not exist"
    if folder.is_symlink() or not _is_farm(folder):
        raise LinkError(f"{folder} was not made by this script: left alone")
    number = _clear(folder)
    folder.rmdir()
    return f"removed {number} links and {folder}; {ROOT} is untouched"


def _is_farm(folder: Path) -> bool:
    """Whether a folder holds nothing but links (and what Python leaves beside them)."""
    return folder.is_dir() and all(path.is_symlink() or path.name == "__pycache__" for path in folder.iterdir())


def _clear(folder: Path) -> int:
    """Remove the links and Python's cache; how many links there were."""
    links = [path for path in folder.iterdir() if path.is_symlink()] if folder.exists() else []
    for path in links:
        path.unlink()
    # Never through a link: this one is a folder of the farm's own.
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)
    return len(links)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the checkout as an installed extension.")
    parser.add_argument("--version", metavar="X.Y", help="of Blender; default: the newest that has run here")
    parser.add_argument("--extensions", type=Path, metavar="DIR", help="an extensions folder of your own")
    parser.add_argument("--undo", action="store_true", help="remove the links")
    options = parser.parse_args(arguments)
    try:
        extensions = options.extensions or extensions_folder(options.version)
        print((unlink if options.undo else link)(extensions.absolute()))
    except LinkError as error:
        print(f"link_dev: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
