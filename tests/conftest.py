# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that several test folders share. No bpy here: most tests run without it."""

from __future__ import annotations

from pathlib import Path

import pytest

_CASES = Path(__file__).resolve().parents[1] / "../shared/cases"


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of real files beside the checkout; a test that needs it says so where it is not."""
    if not _CASES.is_dir():
        pytest.skip("not available: shared/cases")
    return _CASES.resolve()
