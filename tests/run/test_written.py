# SPDX-License-Identifier: GPL-3.0-or-later
"""A report names as applied what the written file holds, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from quat_audit import api
from quat_audit.files.raw_file import Patched, RawFile
from quat_audit.motion.clip import Clip
from quat_audit.run import opening
from tests.clips import turns
from tests.files.gltf.gltf_builder import Builder, channel


def two_flips(folder: Path) -> Path:
    """Two animations of one node, each with a flip and a key of twice the length."""
    b = Builder(1)
    q = turns("Z", [0, 10, 20])[:, [1, 2, 3, 0]] * [[1], [2], [-1]]
    times = b.accessor([0, 1, 2])
    for name in ("A", "B"):
        b.animate(channel(times, b.accessor(q)), name=name)
    return b.write_glb(folder)


@pytest.mark.parametrize("forgotten", [(), (0,), (1,), (0, 1)])
def test_what_a_writer_forgot_without_a_word_is_not_called_applied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: tuple[int, ...]
) -> None:
    read = opening.gltf.read

    def careless(path: Path) -> RawFile:
        raw = read(path)

        def patch(edited: Sequence[Clip]) -> Patched:
            return raw.patch(
                [old if i in forgotten else new for i, (old, new) in enumerate(zip(raw.clips, edited, strict=True))]
            )

        return replace(raw, patch=patch)

    monkeypatch.setattr(opening.gltf, "read", careless)
    report = api.fix_file(two_flips(tmp_path), output=tmp_path / "out.glb")
    assert report.repair is not None and report.status == "audited", report.reason
    held = 2 - len(forgotten)
    wanted = [("QA103", held, held), ("QA104", held, held)] if held else []
    assert [(a.code, a.tracks, a.keys_changed) for a in report.repair.applied] == wanted
    assert [(r.code, r.data_path) for r in report.repair.refused] == [
        (code, "/nodes/0/rotation") for _ in forgotten for code in ("QA103", "QA104")
    ]
    assert all("does not hold the repair" in r.why for r in report.repair.refused)
    assert report.repair.proof.max_key_change_deg < 1e-4
