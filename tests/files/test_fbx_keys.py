# SPDX-License-Identifier: GPL-3.0-or-later
"""Which nodes an .fbx file keys, in both its forms, and which of them an importer left out."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from quat_audit.errors import InputError
from quat_audit.files import fbx
from quat_audit.motion.clip import EULER, QUATERNION, Clip, Track, make_curves, make_tracks
from tests.files.fbx_files import Node, binary, tree, write

KEYS = [(0.0, 0.0), (0.5, 20.0), (1.0, 40.0)]
WHOLE = {"RX": KEYS, "RY": KEYS[:2], "RZ": KEYS}
Z_ONLY = {"RZ": KEYS}
FORMS = [("text", 7400), ("binary", 7400), ("binary", 7500)]


def written(path: Path, nodes: list[Node], form: str = "binary", version: int = 7400, layers: int = 1) -> Path:
    return write(path / "x.fbx", nodes, as_text=form == "text", version=version, layers=layers)


@pytest.mark.parametrize("form, version", FORMS)
def test_the_keyed_nodes_of_each_take(tmp_path: Path, form: str, version: int) -> None:
    nodes = [
        Node("Rig", {}),
        Node("Ns:Arm é", {"Walk": WHOLE | {"TY": KEYS}, "Rig|Run": Z_ONLY}, "LimbNode", 0),
        Node("Hand", {"Walk": {"R": [], "SX": []}}, "LimbNode", 1),
    ]
    found = fbx.keyed_nodes(written(tmp_path, nodes, form, version, layers=2))
    rotation = {"X": 3, "Y": 2, "Z": 3}
    wanted = [("Walk", {"rotation": rotation, "location": {"Y": 3}}), ("Rig|Run", {"rotation": {"Z": 3}})]
    assert [(one.take, {n: dict(axes) for n, axes in one.keys.items()}) for one in found] == wanted
    assert {one.node for one in found} == {"Ns:Arm é"}


def arrived(nodes: dict[str, int], action: str = "Take", owner: str = "Rig") -> Clip:
    """What an importer makes of some bones ("" for the object): rotation, and how many keys it has."""
    paths, counts, tracks = [], [], []
    for node, keys in nodes.items():
        kind, width = (QUATERNION, 4) if node else (EULER, 3)
        path = f'pose.bones["{node}"].rotation_quaternion' if node else "rotation_euler"
        first = len(paths)
        columns = [*range(first, first + width), *[-1] * (4 - width)]
        tracks.append(Track(path, node, kind, tuple(columns)))  # type: ignore[arg-type]
        paths += [path] * width
        counts += [keys] * width
    component = [paths[:i].count(path) for i, path in enumerate(paths)]
    co = np.zeros((sum(counts), 2))
    curves = make_curves(paths, component, counts, co)
    return Clip(action, "", owner, (owner,), "blender", 24.0, False, curves, make_tracks(tracks))


def lost(path: Path, nodes: list[Node], clips: list[Clip]) -> list[str]:
    return [what for what, _ in fbx.lost_keys(fbx.keyed_nodes(written(path, nodes)), clips)]


def test_what_arrived_is_not_missed(tmp_path: Path) -> None:
    nodes = [Node("A", {"Take": WHOLE}), Node("B", {"Take": Z_ONLY})]
    assert lost(tmp_path, nodes, [arrived({"A": 3, "B": 3})]) == []
    assert lost(tmp_path, nodes, [arrived({"A": 3})]) == ["Take: B"]
    # Without a curve for X is what an importer leaves out; what is whole and is nothing in Blender is none of its keys.
    assert lost(tmp_path, nodes, [arrived({"B": 3})]) == []


def test_names_as_blender_changes_them(tmp_path: Path) -> None:
    long = "Wheel" * 20
    twice = [Node("A", {"Take": WHOLE}), Node("A", {"Take": Z_ONLY}), Node(long, {"Take": Z_ONLY})]
    hashed = f"{long[:55]}_cc61287"
    assert lost(tmp_path, twice, [arrived({"A": 3, "A.001": 3, hashed: 3})]) == []
    assert lost(tmp_path, twice, [arrived({"A": 3, long[:63]: 3})]) == ["Take: A"]
    assert lost(tmp_path, twice, [arrived({"A": 3, "A.001": 3})]) == [f"Take: {long}"]


def test_takes_are_told_apart(tmp_path: Path) -> None:
    nodes = [Node("A", {"Walk": WHOLE, "Run": Z_ONLY})]
    both = [arrived({"": 3}, "A|Walk|Base", "A"), arrived({"": 3}, "A|Run|Base", "")]
    assert lost(tmp_path, nodes, both) == []
    assert lost(tmp_path, nodes, both[:1]) == ["Run: A"]


def test_fewer_keys_than_the_file_has(tmp_path: Path) -> None:
    """Where another property has a curve for X the keys are taken at the times of that one alone."""
    nodes = [Node("A", {"Take": {"TX": KEYS[:2], "RZ": KEYS}, "Other": {"RX": KEYS[:1]}})]
    whole = arrived({"A": 1}, "Other")
    assert lost(tmp_path, nodes, [arrived({"A": 3}), whole]) == []
    assert lost(tmp_path, nodes, [arrived({"A": 2}), whole]) == ["Take: A"]
    ((_, why),) = fbx.lost_keys(fbx.keyed_nodes(tmp_path / "x.fbx"), [arrived({"A": 2}, "Take.001"), whole])
    assert why.startswith("its rotation has 3 keys and no curve for X, of which Blender's importer brought in 2")


@pytest.mark.parametrize("version", [7400, 7500])
def test_damaged_files_end_with_an_error_or_less(tmp_path: Path, version: int) -> None:
    """Whatever bytes change, and wherever the file ends: no other error, no endless loop, no invented take."""
    raw = binary(tree([Node("Arm", {"Take": WHOLE | {"TX": KEYS}})]), version)
    path, chance = tmp_path / "x.fbx", random.Random(5)
    refused = 0
    for round_ in range(200):
        data = bytearray(raw[: chance.randrange(30, len(raw))] if round_ % 3 == 0 else raw)
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(27, len(data))
            data[at] = chance.choice([0, 1, 0x53, 0x7F, 0xFF, chance.randrange(256)])
        path.write_bytes(data)
        try:
            assert len(fbx.keyed_nodes(path)) <= 2
        except InputError:
            refused += 1
    assert refused > 40


def test_other_content_has_no_keys(tmp_path: Path) -> None:
    older = '; FBX 6.1.0\nTakes: {\n\tTake: "Walk" {\n\t\tModel: "Model::Arm" {\n\t\t\tKeyCount: 3\n'
    for content in (b"x", older.encode(), b'Model: 1, "\nC: "OO",1\nKeyTime: *3'):
        (tmp_path / "x.fbx").write_bytes(content)
        assert fbx.keyed_nodes(tmp_path / "x.fbx") == ()
    (tmp_path / "x.fbx").write_bytes(b"Kaydara FBX Binary  \x00\x1a\x00")
    with pytest.raises(InputError, match="damaged"):
        fbx.keyed_nodes(tmp_path / "x.fbx")
