# SPDX-License-Identifier: GPL-3.0-or-later
"""What a repair in the panel did, and how that is told: to keys in degrees, to weights in millimetres."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..findings.finding import Proof, Refused, SkinProof
from ..motion.clip import Clip
from ..text import Text, frame_words
from .rows import Place

# What a rule's fix does to the keys, in a word: "31 keys negated on 4 bones".
DONE = {
    "QA101": "{keys} keys bridged on {bones} bones",
    "QA102": "{keys} keys bridged on {bones} bones",
    "QA103": "{keys} keys normalized on {bones} bones",
    "QA104": "{keys} keys negated on {bones} bones",
    "QA106": "{keys} keys inserted on {bones} bones",
    "QA201": "{keys} keys unwrapped on {bones} bones",
    "QA302": "{keys} keys completed on {bones} bones",
    "QA303": "{keys} keys completed on {bones} bones",
    "QA401": "{keys} keys put in order on {bones} bones",
}
DONE_MIXED = "{keys} keys repaired on {bones} bones"
# The same to the weights: "12 vertices normalized on 1 mesh".
DONE_TO_WEIGHTS = {
    "QA601": "{vertices} vertices given weights on {meshes} meshes",
    "QA602": "{vertices} vertices normalized on {meshes} meshes",
    "QA603": "{vertices} vertices cut to fewer influences on {meshes} meshes",
    "QA608": "{vertices} vertices without bad weights on {meshes} meshes",
}
DONE_TO_WEIGHTS_MIXED = "{vertices} vertices with repaired weights on {meshes} meshes"


@dataclass
class Outcome:
    """What a repair did; angles in degrees, distances in millimetres."""

    keys: dict[str, int] = field(default_factory=dict)  # code → keys changed
    bones: set[tuple[Place, str]] = field(default_factory=set)
    proof: Proof = field(default_factory=Proof)
    weights: set[str] = field(default_factory=set)  # codes of the rules that changed weights
    meshes: list[SkinProof] = field(default_factory=list)  # of each mesh that changed
    refused: list[Refused] = field(default_factory=list)
    outdated: int = 0  # findings that the file does not have any more
    failed: list[Text] = field(default_factory=list)
    edits: list[tuple[Place, Clip, Clip]] = field(default_factory=list)  # clips before and after

    @property
    def changed(self) -> bool:
        return bool(self.keys or self.meshes)

    def sentences(self) -> list[Text]:
        """What to tell the artist."""
        return [*self._of_keys(), *self._of_weights()]

    def _of_keys(self) -> list[Text]:
        if not self.keys:
            return []
        template = DONE.get(next(iter(self.keys)), DONE_MIXED) if len(self.keys) == 1 else DONE_MIXED
        found = [Text(template, {"keys": sum(self.keys.values()), "bones": len(self.bones)})]
        found.append(Text("keyed poses changed by {degrees:.3f}°", {"degrees": self.proof.max_key_change_deg}))
        if self.proof.worst_before_deg or self.proof.worst_after_deg:
            was, now = self.proof.worst_before_deg, self.proof.worst_after_deg
            found.append(Text("worst in-between was {was:.1f}°, now {now:.1f}°", {"was": was, "now": now}))
        return found

    def _of_weights(self) -> list[Text]:
        if not self.meshes:
            return []
        mixed = DONE_TO_WEIGHTS_MIXED
        template = DONE_TO_WEIGHTS.get(next(iter(self.weights)), mixed) if len(self.weights) == 1 else mixed
        vertices = sum(proof.vertices for proof in self.meshes)
        sound = max(proof.sound_mm for proof in self.meshes)
        worst = max(self.meshes, key=lambda proof: proof.moved_mm)
        return [
            Text(template, {"vertices": vertices, "meshes": len(self.meshes)}),
            Text("vertices that were in order moved by {mm:.3f} mm at most", {"mm": sound}),
            Text(
                "repaired vertices by {mm:.3f} mm at most (frame {frame})",
                {"mm": worst.moved_mm, "frame": frame_words(worst.moved_frame)},
            ),
        ]
