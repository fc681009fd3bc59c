# SPDX-License-Identifier: GPL-3.0-or-later
"""Fixtures that several test folders share. No bpy here: most tests run without it."""

from __future__ import annotations

import gc
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if os.name == "nt":
    # What a child writes is read as UTF-8 here, and Windows has an encoding of its own for that.
    os.environ.setdefault("PYTHONIOENCODING", "utf-8")

# A small matrix takes OpenBLAS a hundred times as long as it needs when its threads wait for a core that another test
# has. Set before NumPy is imported, and for every process that a test starts.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_STATUS = pytest.StashKey[int]()
_TESTS = Path(__file__).resolve().parent
_CASES = _TESTS / "../../shared/cases"
# All that needs Blender's Python module, and nothing else does: scripts/test.py runs these on every wheel, and the
# rest once a Python, where there is no bpy.
_WITH_BPY = ("blender", "ui")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Without bpy, `pytest` means the tests of pure code: nothing is skipped, the others are not part of it."""
    apart = collection_path.parent == _TESTS and collection_path.name in _WITH_BPY
    return True if apart and importlib.util.find_spec("bpy") is None else None


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder of real files beside the checkout; a test that needs it says so where it is not."""
    if not _CASES.is_dir():
        pytest.skip("not available: shared/cases")
    return _CASES.resolve()


@pytest.fixture(scope="module")
def sources_are_read() -> Iterator[None]:
    """For tests of what the sources say: their trees go afterwards, or every garbage collection would walk them."""
    from tests import sources

    yield
    sources.forget()


def pytest_collection_finish() -> None:
    """Thousands of tests are objects that stay: a garbage collection need not walk them each time."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[_STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave without Blender's own shutdown: as a module some versions hang or crash in it, after all is done."""
    if "bpy" in sys.modules and _STATUS in config.stash:
        sys.stdout.flush()
        sys.stderr.flush()
        temporary = Path(sys.modules["bpy"].app.tempdir)  # which it would have removed
        if temporary.name.startswith("blender_"):
            shutil.rmtree(temporary, ignore_errors=True)
        os._exit(config.stash[_STATUS])
