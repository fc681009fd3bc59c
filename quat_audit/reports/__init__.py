# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports: one file per format, each with ``render(report, *, colour=False) -> str``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import json_report, text

FORMATS: Final[dict[str, Callable[..., str]]] = {"text": text.render, "json": json_report.render}
