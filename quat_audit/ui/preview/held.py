# SPDX-License-Identifier: GPL-3.0-or-later
"""What the skinning preview holds while it is on: numbers and names, never Blender's own objects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...blender.draw import ghost
from ...skinning import heat
from ...skinning.skin import Motion, Skin
from ...text import Text
from .previewed_mesh import PreviewedMesh


@dataclass(eq=False)
class Preview:
    """The preview that is on.

    Attributes:
        mesh: what is previewed.
        most: influences that its cut leaves.
        print_: `mesh_state` of what was read.
        made: what draws it; made by the first redraw, as only there the graphics card is sure to be ours.
        unreadable: why the mesh cannot be shown since it was changed, "" when it can.
        why_nothing: the same for the last redraw; nothing_in: of each editor (by pointer), for its own panel: another
            window may show another scene.
        stale: it is to be read again.
        motion: the pose that was drawn last.
        measured: heat map → the pose whose worst figure is in `seen`.
        seen, clip: heat map → worst figure that was seen, and that of the whole clip where it was looked for.
    """

    mesh: PreviewedMesh
    most: int
    print_: tuple[Any, ...]
    made: ghost.GpuSkin | ghost.NumpySkin | None = None
    unreadable: str = ""
    why_nothing: str = ""
    nothing_in: dict[int, str] = field(default_factory=dict)
    stale: bool = False
    motion: Motion | None = None
    measured: dict[str, Motion] = field(default_factory=dict)
    seen: dict[str, float] = field(default_factory=dict)
    clip: dict[str, float] = field(default_factory=dict)
    sample: Skin | None = None

    def top(self, kind: heat.HeatMap, choices: Any) -> float:
        """Figure of the last color."""
        if not choices.auto_top:
            return float(choices.top)
        return heat.round_top(self.clip.get(kind.name, self.seen.get(kind.name, 0.0)))

    @property
    def remarks(self) -> list[str]:
        """What a person should know about what was drawn last."""
        return self._remarks(self.why_nothing)

    def remarks_in(self, area: Any) -> list[str]:
        """What a person should know about what is seen in an editor."""
        return self._remarks(self.nothing_in.get(pointer_of(area), ""))

    def _remarks(self, why_nothing: str) -> list[str]:
        if self.unreadable or why_nothing:
            return [self.unreadable or why_nothing]
        slow = (
            [Text("This graphics driver cannot skin: NumPy does it, slower")]
            if self.made and self.made.why_slow
            else []
        )
        return [*slow, *self.mesh.notes]


def pointer_of(area: Any) -> int:
    return int(area.as_pointer()) if area is not None else 0
