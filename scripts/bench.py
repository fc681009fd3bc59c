# SPDX-License-Identifier: GPL-3.0-or-later
"""Speed, as ratios against a named reference measured side by side in the same run.

    python3 scripts/bench.py [--json] [--repeat N] [--profile] [--file FILE.glb]

Every figure is the least wall time of N runs taken in turn (reference, ours, reference, ours …). It prints a
table; it never fails because of a figure. --profile adds what costs what in the rows of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import bench_skinning
import environment
from bench_timing import Row, in_turn, profiled, take_output, timed


def main(arguments: list[str]) -> int:
    """Run in the environment with bpy, made on first use."""
    if importlib.util.find_spec("bpy") is None:
        try:
            python = environment.ensure(environment.fitting_wheel())
        except environment.SetupError as error:
            print(f"scripts/bench.py: {error}", file=sys.stderr)
            return 2
        return subprocess.run(
            [str(python), __file__, *arguments], env=environment.clean_environment(), check=False
        ).returncode
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--repeat", type=int, default=7, metavar="N", help="runs of each figure (default 7)")
    parser.add_argument("--largest", type=int, default=10**7, metavar="KEYS", help="where growth ends (default 10⁷)")
    parser.add_argument("--profile", action="store_true", help="add what costs what")
    parser.add_argument("--file", type=Path, help="a .glb for the row of file bytes (default: a baked one is made)")
    chosen = parser.parse_args(arguments)
    sys.path.insert(0, str(environment.ROOT))
    out = take_output()
    import bpy

    rows = list(_rows(chosen.repeat, chosen.profile, chosen.file, chosen.largest))
    if chosen.json:
        document = {"blender": bpy.app.version_string, "rows": [row._asdict() for row in rows]}
        print(json.dumps(document, indent=2), file=out, flush=True)
    else:
        print(_table(bpy.app.version_string, rows), file=out, flush=True)
    return 0


def _table(version: str, rows: list[Row]) -> str:
    lines = [f"Blender {version}", f"{'ratio':>8} {'at most':>8}  {'ours':>10} {'reference':>10}  what, against"]
    for row in rows:
        lines.append(
            f"{row.ratio:8.3f} {row.at_most:8.3f}  {row.ours_s * 1e3:8.1f}ms {row.reference_s * 1e3:8.1f}ms"
            f"  {row.what}, against {row.against}"
        )
        lines += [f"          {line}" for line in row.profile.splitlines()]
    return "\n".join(lines)


def _rows(repeat: int, profile: bool, glb: Path | None, largest: int) -> Iterator[Row]:
    yield from _quaternions(repeat, profile)
    yield _faulty(repeat, profile)
    yield from _euler(repeat, profile)
    yield _bytes(repeat, profile, glb)
    yield from bench_skinning.rows(repeat, profile, _rig, _fill, _swinging)
    yield _growth(repeat, largest)
    yield _many_curves(repeat)


def _rig(bones: int, mode: str) -> tuple[Any, Any]:
    """A new file with a rig of that many bones, and the F-curves of its empty action."""
    import bpy

    from quat_audit.blender import compat

    bpy.ops.wm.read_factory_settings()
    rig = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for number in range(bones):
        bone = rig.data.edit_bones.new(f"Bone{number:03}")
        bone.head, bone.tail = (0.0, 0.0, number), (0.0, 0.0, number + 1.0)
    bpy.ops.object.mode_set(mode="POSE")
    for bone in rig.pose.bones:
        bone.rotation_mode = mode
        (bone if "select" in bone.bl_rna.properties else bone.bone).select = True
    action = bpy.data.actions.new("Bench")
    animation = rig.animation_data_create()
    if compat.LAYERED:
        slot = action.slots.new("OBJECT", "Rig")
        # Curves reached from the channelbag of a slot are the fast way in, and so the harder reference.
        curves = action.layers.new("Layer").strips.new(type="KEYFRAME").channelbag(slot, ensure=True).fcurves
        animation.action, animation.action_slot = action, slot
    else:
        curves = action.fcurves
        animation.action = action
    return action, curves


def _fill(curves: Any, property_name: str, values: Any, interpolation: int) -> None:
    """values (bones, components, keys) on frames 1, 2, …"""
    import numpy as np

    frames = np.arange(1, values.shape[2] + 1)
    for bone in range(values.shape[0]):
        for component in range(values.shape[1]):
            curve = curves.new(f'pose.bones["Bone{bone:03}"].{property_name}', index=component)
            points = curve.keyframe_points
            points.add(len(frames))
            points.foreach_set("co", np.stack([frames, values[bone, component]], axis=1).astype(np.float32).ravel())
            points.foreach_set("interpolation", np.full(len(frames), interpolation, dtype=np.uint8))
            curve.update()


def _swinging(bones: int, keys: int) -> Any:
    """(bones, 4, keys) unit quaternions of a clean swing, seeded."""
    import numpy as np

    rng = np.random.default_rng(20)
    axis = rng.normal(size=(bones, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    half = 0.5 * np.sin(np.linspace(0.0, keys / 50.0, keys)[None] + rng.uniform(0, 6, bones)[:, None])
    return np.concatenate([np.cos(half)[:, None], np.sin(half)[:, None] * axis[:, :, None]], axis=1)


def _bare_read(curves: Any) -> None:
    import numpy as np

    for curve in curves:
        points = curve.keyframe_points
        count = len(points)
        for name in ("co", "handle_left", "handle_right"):
            points.foreach_get(name, np.empty(2 * count, dtype=np.float32))
        points.foreach_get("interpolation", np.empty(count, dtype=np.uint8))


def _loop_over_keys(curves: Any) -> int:
    """What a script without arrays does: QA101 to QA104, a key at a time, with mathutils."""
    from mathutils import Quaternion

    found, bones = 0, len(curves) // 4
    for bone in range(bones):
        points = [curves[4 * bone + component].keyframe_points for component in range(4)]
        previous = None
        for w, x, y, z in zip(*points, strict=True):
            parts = (w, x, y, z)
            values = [p.co[1] for p in parts]
            for p in parts:
                handles = (*p.co, *p.handle_left, *p.handle_right)
                if p.interpolation == "BEZIER" and not all(math.isfinite(v) for v in handles):
                    found += 1
            q = Quaternion(values)
            size = q.magnitude
            if size < 1e-6:
                found += 1
                continue
            found += abs(size - 1.0) > 1e-3
            if previous is not None:
                found += q.dot(previous) / (size * previous.magnitude) < -1e-3
            previous = q
    return found


def _quaternions(repeat: int, profile: bool) -> Iterator[Row]:
    from quat_audit.audit.pipeline import judge
    from quat_audit.blender import read

    action, curves = _rig(100, "QUATERNION")
    _fill(curves, "rotation_quaternion", _swinging(100, 2000), interpolation=2)

    def ours() -> None:
        for record in read.read_action(action):
            assert not judge(record.clip).findings

    bare, mine = in_turn(repeat, timed(lambda: _bare_read(curves)), timed(ours))
    what = "read + all rules, 100 bones × 4 × 2,000 keys"
    yield Row(
        what,
        "the bare foreach_get of co, handles, interpolation",
        1.5,
        mine / bare,
        mine,
        bare,
        profiled(ours, profile),
    )
    (loop,) = in_turn(min(repeat, 2), timed(lambda: _loop_over_keys(curves)))
    yield Row(what, "a Python loop over the keys, QA101 to QA104", 0.1, mine / loop, mine, loop)


def _euler(repeat: int, profile: bool) -> Iterator[Row]:
    import bpy
    import numpy as np

    from quat_audit.audit.repair import repair
    from quat_audit.audit.settings import Settings
    from quat_audit.blender import read, write
    from quat_audit.rules import RULES

    bones, keys = 100, 2000
    action, curves = _rig(bones, "XYZ")
    rng = np.random.default_rng(21)
    # Turning steadily, so that every channel crosses ±180° about six times, as captured data does.
    speed = rng.uniform(0.5, 1.5, (bones, 3, 1)) * 6.0 * 2.0 * np.pi / keys * rng.choice([-1, 1], (bones, 3, 1))
    turning = speed * np.arange(keys) + rng.uniform(-3, 3, (bones, 3, 1)) + 0.1 * np.sin(np.arange(keys) / 9.0)
    wrapped = (turning + np.pi) % (2.0 * np.pi) - np.pi
    _fill(curves, "rotation_euler", wrapped, interpolation=1)
    stored = []
    for curve in curves:
        co = np.empty(2 * keys, dtype=np.float32)
        curve.keyframe_points.foreach_get("co", co)
        stored.append(co)
        curve.select = True
    rules = tuple(rule for rule in RULES if rule.code == "QA201")

    def reset() -> None:
        for curve, co in zip(curves, stored, strict=True):
            curve.keyframe_points.foreach_set("co", co)
            curve.update()

    def unwrap() -> None:
        for record in read.read_action(action):
            write.write_clip(record, repair(record.clip, Settings(rules=rules)).subject)

    def ours() -> float:
        reset()
        return timed(unwrap)()

    window = bpy.context.window_manager.windows[0]
    area = window.screen.areas[0]
    area.ui_type = "FCURVES"
    region = next(region for region in area.regions if region.type == "WINDOW")

    def blenders() -> float:
        reset()
        with bpy.context.temp_override(window=window, screen=window.screen, area=area, region=region), _silent():
            assert len(bpy.context.editable_fcurves) == 3 * bones
            return timed(bpy.ops.graph.euler_filter)()

    def bare() -> float:
        reset()
        return timed(lambda: _bare_write(curves))()

    reference, mine, filtered = in_turn(repeat, bare, ours, blenders)
    reset()
    what = "Euler unwrap of 300 channels × 2,000 keys: read, repaired with proof, written"
    against = "the bare foreach_get and foreach_set of co, handles, interpolation"
    yield Row(what, against, 2.0, mine / reference, mine, reference, profiled(unwrap, profile))
    yield Row(what, "Blender's graph.euler_filter (information)", math.inf, mine / filtered, mine, filtered)


def _bare_write(curves: Any) -> None:
    """Read all that a repair of values must see, and write back what it changes."""
    import numpy as np

    for curve in curves:
        points = curve.keyframe_points
        count = len(points)
        values = {name: np.empty(2 * count, dtype=np.float32) for name in ("co", "handle_left", "handle_right")}
        for name, array in values.items():
            points.foreach_get(name, array)
        points.foreach_get("interpolation", np.empty(count, dtype=np.uint8))
        for name, array in values.items():
            points.foreach_set(name, array)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    from quat_audit.blender.open import quiet

    with quiet():
        yield


def _faulty(repeat: int, profile: bool) -> Row:
    """The same read and rules where 5 of 100 bones have a flip on every tenth key."""
    from quat_audit.audit.pipeline import judge
    from quat_audit.blender import read

    action, curves = _rig(100, "QUATERNION")
    values = _swinging(100, 2000)
    values[::20, :, ::10] *= -1.0
    _fill(curves, "rotation_quaternion", values, interpolation=2)

    def ours() -> None:
        for record in read.read_action(action):
            assert len(judge(record.clip).findings) == 5

    bare, mine = in_turn(repeat, timed(lambda: _bare_read(curves)), timed(ours))
    return Row(
        "read + all rules where 5 % of the tracks are at fault, 100 bones × 4 × 2,000 keys",
        "the bare foreach_get of co, handles, interpolation",
        math.inf,
        mine / bare,
        mine,
        bare,
        profiled(ours, profile),
    )


def _bytes(repeat: int, profile: bool, glb: Path | None) -> Row:
    from quat_audit.api import Settings, audit_file
    from quat_audit.run.opening import BLENDER

    with tempfile.TemporaryDirectory() as folder:
        path = glb or _baked_glb(Path(folder) / "baked.glb")

        def ours() -> None:
            assert audit_file(path).status == "audited"

        def imported() -> None:
            assert audit_file(path, Settings(via=BLENDER)).status == "audited"

        reference, mine = in_turn(max(2, repeat // 2), timed(imported), timed(ours))
        return Row(
            f"audit of the bytes of {path.name} ({path.stat().st_size / 1e6:.1f} MB)",
            "Blender import of the file + audit",
            1 / 20,
            mine / reference,
            mine,
            reference,
            profiled(ours, profile),
        )


def _baked_glb(path: Path) -> Path:
    """60 nodes in a chain with 600 baked keys each of translation, rotation and scale: an exported clip."""
    import numpy as np

    nodes, keys = 60, 600
    rotation = np.roll(_swinging(nodes, keys).transpose(0, 2, 1), -1, axis=2).astype("<f4")  # x, y, z, w
    times = (np.arange(keys) / 30.0).astype("<f4")
    translation = np.tile(np.array([0, 1, 0], "<f4"), (keys, 1))
    scale = np.ones((keys, 3), "<f4")
    blocks = [times, *rotation, *[translation] * nodes, *[scale] * nodes]
    kinds = ["SCALAR", *["VEC4"] * nodes, *["VEC3"] * 2 * nodes]
    starts = np.concatenate([[0], np.cumsum([block.nbytes for block in blocks])])
    targets = [("rotation", n) for n in range(nodes)]
    targets += [("translation", n) for n in range(nodes)] + [("scale", n) for n in range(nodes)]
    document = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"nodes": [0]}],
        "nodes": [{"name": f"Bone{n:03}", **({"children": [n + 1]} if n + 1 < nodes else {})} for n in range(nodes)],
        "buffers": [{"byteLength": int(starts[-1])}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": int(start), "byteLength": int(block.nbytes)}
            for start, block in zip(starts, blocks, strict=False)
        ],
        "accessors": [
            {"bufferView": view, "componentType": 5126, "count": keys, "type": kind}
            | ({"min": [0.0], "max": [float(times[-1])]} if view == 0 else {})
            for view, kind in enumerate(kinds)
        ],
        "animations": [
            {
                "name": "Baked",
                "samplers": [{"input": 0, "output": 1 + n} for n in range(3 * nodes)],
                "channels": [
                    {"sampler": n, "target": {"node": node, "path": what}} for n, (what, node) in enumerate(targets)
                ],
            }
        ],
    }
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    body = b"".join(block.tobytes() for block in blocks)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(body), 0x004E4942) + body
    path.write_bytes(struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks)
    return path


def _growth(repeat: int, largest: int) -> Row:
    import numpy as np

    from quat_audit.audit.pipeline import judge
    from quat_audit.blender import read

    sizes, seconds = [size for size in (10**4, 10**5, 10**6, 10**7) if size <= largest], []
    for size in sizes:
        action, curves = _rig(100, "QUATERNION")
        _fill(curves, "rotation_quaternion", _swinging(100, size // 400), interpolation=2)

        def ours(action: Any = action) -> None:
            for record in read.read_action(action):
                judge(record.clip)

        seconds += in_turn(max(2, repeat if size < 10**7 else 2), timed(ours))
    slope = float(np.polyfit(np.log10(sizes), np.log10(seconds), 1)[0])
    shown = ", ".join(f"{size:,}: {s * 1e3:.1f} ms" for size, s in zip(sizes, seconds, strict=True))
    return Row(f"growth of read + all rules ({shown})", "linear (the exponent)", 1.05, slope, seconds[-1], seconds[0])


def _many_curves(repeat: int) -> Row:
    """Who plays what is looked up, not searched: many curves of few keys grow linearly too."""
    import numpy as np

    from quat_audit.blender import read

    sizes, seconds = (100, 1000, 10_000), []
    for size in sizes:
        action, curves = _rig(size // 4, "QUATERNION")
        _fill(curves, "rotation_quaternion", _swinging(size // 4, 10), interpolation=2)
        seconds += in_turn(max(2, repeat // 2), timed(partial(read.read_action, action)))
    slope = float(np.polyfit(np.log10(sizes), np.log10(seconds), 1)[0])
    shown = ", ".join(f"{size:,}: {s * 1e3:.1f} ms" for size, s in zip(sizes, seconds, strict=True))
    return Row(
        f"growth of read, curves × 10 keys ({shown})", "linear (the exponent)", 1.05, slope, seconds[-1], seconds[0]
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
