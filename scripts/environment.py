# SPDX-License-Identifier: GPL-3.0-or-later
"""Virtual environments with a bpy wheel or without, made once and kept outside the checkout.

Only the standard library, and no syntax newer than Python 3.8, so that a wrong Python gets a message
and not a syntax error. An environment is finished when its stamp is written last: one that an interrupted
install left behind is made anew.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "scripts" / "requirements-dev.txt"
PYTHON = "python.exe" if os.name == "nt" else "python"


class Wheel(NamedTuple):
    """A bpy wheel and the only Python that can import it."""

    name: str
    bpy: str
    python: str


MATRIX = (
    Wheel("4.2 LTS", "4.2.23", "3.11"),
    Wheel("4.5 LTS", "4.5.15", "3.11"),
    Wheel("5.0", "5.0.1", "3.11"),
    Wheel("5.2 LTS", "5.2.3", "3.13"),
    Wheel("5.3", "5.3.0", "3.13"),
)
# The wheel that a Python gets when nobody asks for another: the newest LTS it can import.
DEFAULT = {"3.11": MATRIX[1], "3.13": MATRIX[3]}


# What the tests of pure code run on, a NumPy for each Python: the oldest that a supported Blender ships, and one as new
# as the wheels of that Python take.
NUMPY = {"3.11": "1.26.4", "3.13": "2.5.5"}
# NumPy's types differ from version to version, and each wheel brings another one: mypy reads those of this one
# (Blender 4.5's and 5.0's), whatever Python it runs on.
TYPES_OF_NUMPY = NUMPY["3.11"]


class SetupError(Exception):
    """The environment cannot be made. The message says what to do."""


def cache() -> Path:
    """Where environments are kept: QUAT_AUDIT_CACHE, or .cache/quat_audit in the home folder."""
    given = os.environ.get("QUAT_AUDIT_CACHE")
    return Path(given) if given else Path.home() / ".cache" / "quat_audit"


def fitting_wheel() -> Wheel:
    """The wheel for the Python that runs this; SetupError when there is none."""
    version = "{}.{}".format(*sys.version_info[:2])
    if version not in DEFAULT:
        raise SetupError(
            "Python {} has no bpy wheel. Run this with Python 3.11 (Blender {}) or 3.13 (Blender {}).".format(
                version, DEFAULT["3.11"].bpy, DEFAULT["3.13"].bpy
            )
        )
    return DEFAULT[version]


def find_python(version: str) -> str:
    """An interpreter of a version such as "3.11": this one, on PATH, or in pyenv; SetupError when there is none."""
    if version == "{}.{}".format(*sys.version_info[:2]):
        return sys.executable
    candidates = [shutil.which("python" + version), _launched(version)]
    pyenv = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))) / "versions"
    # pyenv for Windows has no bin folder.
    inside = PYTHON if os.name == "nt" else os.path.join("bin", PYTHON)
    candidates += [str(folder / inside) for folder in sorted(pyenv.glob(version + ".*"))]
    for candidate in candidates:
        # A pyenv shim exists for every version ever installed and may refuse to run: ask it.
        if candidate and _version_of(candidate) == version:
            return candidate
    raise SetupError(f"no Python {version} found: put python{version} on PATH, or run `pyenv install {version}`")


def ensure(wheel: Wheel, dev: bool = False, python: str | None = None) -> Path:
    """The interpreter of the environment with this wheel, made when it is missing.

    With dev, the tools of requirements-dev.txt are in it too. Raises SetupError when pip fails.
    """
    base = python or find_python(wheel.python)
    folder = _folder(f"bpy-{wheel.bpy}-py{wheel.python}")
    with _lock(folder):
        _part(folder, "runtime", wheel.bpy, base, ["bpy==" + wheel.bpy], " (bpy is a few hundred megabytes)")
        if dev:
            _part(folder, "dev", _digest(REQUIREMENTS), base, ["-r", str(REQUIREMENTS)])
    return _inside(folder)


def ensure_pure(version: str, python: str | None = None) -> Path:
    """The interpreter of an environment for pure code: NumPy and the tools, no bpy. SetupError as `ensure`."""
    base = python or find_python(version)
    numpy = NUMPY[version]
    folder = _folder(f"pure-py{version}")
    with _lock(folder):
        _part(folder, "runtime", numpy, base, ["numpy==" + numpy])
        _part(folder, "dev", _digest(REQUIREMENTS), base, ["-r", str(REQUIREMENTS)])
    return _inside(folder)


def ensure_tools() -> Path:
    """The interpreter of an environment for ruff and mypy alone, the same on every Python. SetupError as `ensure`."""
    folder = _folder("tools-py{}.{}".format(*sys.version_info[:2]))
    inside = _inside(folder)
    wanted = _digest(REQUIREMENTS) + TYPES_OF_NUMPY
    with _lock(folder):
        stamp = folder / "tools.stamp"
        if inside.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
            return inside
        shutil.rmtree(str(folder), ignore_errors=True)
        _call([sys.executable, "-m", "venv", str(folder)], "making a virtual environment failed")
        _call([*_pip(inside), "-r", str(REQUIREMENTS)], "installing the tools failed")
        # Never imported, only read: so it need not be built for this Python.
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        site = _said([str(inside), "-X", "utf8", "-c", where])
        if not site:
            raise SetupError(f"{inside} does not say where its packages are: remove {folder} and try again")
        types = ["--target", site, "--python-version", "3.11", "--only-binary", ":all:", "--no-deps"]
        _call([*_pip(inside), *types, "numpy==" + TYPES_OF_NUMPY], "installing NumPy's types failed")
        stamp.write_text(wanted, encoding="utf-8")
    return inside


def _folder(name: str) -> Path:
    return cache() / "envs" / name


def _inside(folder: Path) -> Path:
    return folder / ("Scripts" if os.name == "nt" else "bin") / PYTHON


def _pip(inside: Path) -> list[str]:
    return [str(inside), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]


def _part(folder: Path, part: str, wanted: str, base: str, install: list[str], remark: str = "") -> None:
    inside = _inside(folder)
    stamp = folder / f"{part}.stamp"
    if inside.exists() and stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    if part == "runtime":
        print(f"Making {folder}, once{remark} …", file=sys.stderr, flush=True)
        shutil.rmtree(str(folder), ignore_errors=True)
        _call([base, "-m", "venv", str(folder)], "making a virtual environment failed")
    stamp.unlink() if stamp.exists() else None
    _call([*_pip(inside), *install], "installing {} failed".format(" ".join(install)))
    stamp.write_text(wanted, encoding="utf-8")


def _call(command: list[str], what: str) -> None:
    # pip talks on stdout; the report of audit.py is alone there.
    result = subprocess.run(command, stdout=sys.stderr, check=False)
    if result.returncode:
        raise SetupError("{} (exit code {}): {}".format(what, result.returncode, " ".join(command)))


def _version_of(python: str) -> str | None:
    return _said([python, "-c", "import sys; print('{}.{}'.format(*sys.version_info[:2]))"])


def _launched(version: str) -> str | None:
    """What Windows' launcher starts for a version: there no python3.11 is on PATH."""
    where = "import sys; print(sys.executable)"
    launcher = shutil.which("py") if os.name == "nt" else None
    return _said([launcher, "-" + version, "-X", "utf8", "-c", where]) if launcher else None


def _said(command: list[str]) -> str | None:
    """What a command writes; None when it cannot be run or fails."""
    try:
        run = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return run.stdout.strip() if run.returncode == 0 else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Let one process at a time make an environment; the system releases the lock of one that was killed."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(str(folder) + ".lock", "a+b") as handle:
        if os.name == "nt":
            import msvcrt

            while True:
                try:
                    msvcrt.locking(handle.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]
                    break
                except OSError:  # it waits for ten seconds, an install takes minutes
                    continue
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def clean_environment() -> dict[str, str]:
    """The environment for a child: nothing of the person's own Python or Blender leaks in."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "BLENDER_USER_RESOURCES", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    return {key: value for key, value in os.environ.items() if key not in dropped}


def describe(wheels: tuple[Wheel, ...] = MATRIX) -> str:
    """The matrix in words, for --help."""
    return ", ".join(f"{w.name} ({w.bpy} on Python {w.python})" for w in wheels)
