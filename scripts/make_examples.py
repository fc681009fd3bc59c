# SPDX-License-Identifier: GPL-3.0-or-later
"""Make the example files: a small walking rig, clean, and broken in each way that a rule is about.

    python3 scripts/make_examples.py [--output DIR]

    clean/walk.blend .glb .bvh        nothing wrong: an audit finds nothing
    broken/sign_flip.blend .glb …     one fault a file, named after the rule that finds it
    skinning/twisted_tube.blend …     what linear blending does to a twist and to a bend, to be previewed

The .glb and .bvh files need NumPy only; the .blend files need bpy, and are left out with a word without it.
What is made is the same everywhere (but for what Blender itself puts into a .blend).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import example_files
from example_faults import BLEND, BVH, EXAMPLES, GLB, Example
from example_walk import Scene, clean

FORMATS = (BLEND, GLB, BVH)
DEFAULT_OUTPUT = Path(__file__).resolve().parents[1] / "examples"


def make_examples(output: Path, formats: tuple[str, ...] = FORMATS) -> list[Path]:
    """Write the example files of some formats below a folder; the paths written, in order.

    Writing .blend files loses what is open in Blender.
    """
    written = []
    for kind in formats:
        written.append(_write(output / "clean" / f"walk.{kind}", clean(), ""))
        for example in EXAMPLES:
            if kind in example.formats and (kind != BLEND or holds(example)):
                path = output / "broken" / f"{example.name}.{kind}"
                written.append(_write(path, example.spoil(clean()), example.name))
    if BLEND in formats:
        written += _write_limbs(output / "skinning")
    return sorted(written)


def holds(example: Example) -> bool:
    """Whether the .blend files of this Blender can hold the fault of an example."""
    import bpy

    return bool(bpy.app.version >= example.since)


def expected_code(path: Path) -> str:
    """The rule that a file made here is about, "" for a clean one."""
    if path.parent.name == "skinning":
        return "QA605"
    return {example.name: example.code for example in EXAMPLES}.get(path.stem, "")


def expected_codes(path: Path) -> set[str]:
    """All rules that find something in a file made here."""
    also = {example.name: example.also for example in EXAMPLES if path.suffix == f".{BLEND}"}.get(path.stem, ())
    return {expected_code(path), *also} - {""}


def available_formats() -> tuple[str, ...]:
    """The formats that this Python can make."""
    return FORMATS if importlib.util.find_spec("bpy") else (GLB, BVH)


def _write(path: Path, scene: Scene, fault: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.suffix[1:]
    if kind == BLEND:
        import example_blend

        example_blend.save(scene, path)
    else:
        path.write_bytes(example_files.glb(scene) if kind == GLB else example_files.bvh(fault))
    return path


def _write_limbs(folder: Path) -> list[Path]:
    import example_limbs

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{limb.name}.{BLEND}" for limb in example_limbs.LIMBS]
    for limb, path in zip(example_limbs.LIMBS, paths, strict=True):
        example_limbs.save(limb, path)
    return paths


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Make quat_audit's example files.")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, metavar="DIR", help="default: %(default)s")
    output = parser.parse_args(arguments).output.resolve()
    formats = available_formats()
    try:
        written = make_examples(output, formats)
    except OSError as error:
        print(f"make_examples: cannot write {error.filename or output}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"{len(written)} example files in {output}")
    if BLEND not in formats:
        print("The .blend files were left out: they need bpy (scripts/audit.py examples sets it up).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
