# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m quat_audit"""

from __future__ import annotations

import os
import sys

from .cli import main

if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    if "bpy" in sys.modules:
        # Blender as a module complains, and some versions crash, when Python takes it down; all is written by now.
        os._exit(code)
    sys.exit(code)
