# SPDX-License-Identifier: GPL-3.0-or-later
"""python -m quat_audit"""

from __future__ import annotations

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
