# SPDX-License-Identifier: GPL-3.0-or-later
"""What a repair in the panel did, and how that is told: to keys in degrees, to weights in millimeters."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from ..audit.repair import Repair
from ..findings.report import (
    HandleChange,
    Proof,
    Refused,
    SkinProof,
    handle_words,
    merge_handle_changes,
    merge_proofs,
)  # fmt: skip
from ..motion.clip import Clip
from ..rules import RULES
from ..skinning.skin import PosedSkin
from ..text import Text, frame_words, listed
from .rows import Address

# What the fix of a rule did is its own `outcome`; of several rules, or of one without a word of its own:
DONE_MIXED = "{keys} keys repaired on {bones} bones"
DONE_TO_WEIGHTS_MIXED = "{vertices} vertices with repaired weights on {meshes} meshes"
_OUTCOMES = {rule.code: rule.outcome for rule in RULES if rule.outcome}


def _template(codes: Collection[str], mixed: str) -> str:
    return _OUTCOMES.get(next(iter(codes)), mixed) if len(codes) == 1 else mixed


@dataclass
class Outcome:
    """What a repair did; angles in degrees, distances in millimeters."""

    keys: dict[str, int] = field(default_factory=dict)  # code → keys changed
    bones: set[tuple[Address, str]] = field(default_factory=set)
    proof: Proof = field(default_factory=Proof)
    weights: set[str] = field(default_factory=set)  # codes of the rules that changed weights
    meshes: list[SkinProof] = field(default_factory=list)  # of each mesh that changed
    handle_types: tuple[HandleChange, ...] = ()
    refused: list[Refused] = field(default_factory=list)
    outdated: int = 0  # findings that the file does not have any more
    failed: list[Text] = field(default_factory=list)
    edits: list[tuple[Address, Clip, Clip]] = field(default_factory=list)  # clips before and after

    def took_clip(self, address: Address, before: Clip, done: Repair[Clip]) -> None:
        """Count what was done to a clip; `done` has it as it is stored now."""
        self.refused += done.refused
        if done.subject is before:
            return
        for line in done.applied:
            self.keys[line.code] = self.keys.get(line.code, 0) + line.keys_changed
        names = dict(zip(before.tracks.data_path, before.tracks.bone, strict=True))
        self.bones |= {(address, names.get(path) or path) for _, path in done.changed}
        assert isinstance(done.proof, Proof)
        self.proof = merge_proofs([self.proof, done.proof])
        self.handle_types = merge_handle_changes([*self.handle_types, *done.handle_types])
        self.edits.append((address, before, done.subject))

    def took_mesh(self, before: PosedSkin, done: Repair[PosedSkin]) -> None:
        """Count what was done to a mesh."""
        self.refused += done.refused
        if done.subject.skin is before.skin:
            return
        assert isinstance(done.proof, SkinProof)
        self.meshes.append(done.proof)
        self.weights |= {applied.code for applied in done.applied}

    @property
    def changed(self) -> bool:
        return bool(self.keys or self.meshes)

    def sentences(self) -> list[Text]:
        """What to tell the artist."""
        return [*self._of_keys(), *self._of_weights()]

    def _of_keys(self) -> list[Text]:
        if not self.keys:
            return []
        p = self.proof
        found = []
        if p.max_key_change_deg or p.max_between_change_deg or p.keys_added or p.keys_removed or not p.not_measured:
            template = _template(self.keys, DONE_MIXED)
            found.append(Text.of(template, {"keys": sum(self.keys.values()), "bones": len(self.bones)}))
            found.append(Text("keyed poses changed by {degrees:.3f}°", {"degrees": p.max_key_change_deg}))
        if p.worst_before_deg or p.worst_after_deg:
            was, now = p.worst_before_deg, p.worst_after_deg
            found.append(Text("worst in-between was {was:.1f}°, now {now:.1f}°", {"was": was, "now": now}))
        if p.not_measured:
            found.append(Text("changed on purpose: {what}", {"what": listed(p.not_measured)}))
        if self.handle_types:
            handles = sum(change.handles for change in self.handle_types)
            values = {"handles": handles, "types": handle_words(self.handle_types)}
            found.append(Text("type changed on {handles} handles beside inserted keys: {types}", values))
        return found

    def _of_weights(self) -> list[Text]:
        if not self.meshes:
            return []
        template = _template(self.weights, DONE_TO_WEIGHTS_MIXED)
        vertices = sum(proof.vertices for proof in self.meshes)
        sound = max(proof.sound_mm for proof in self.meshes)
        worst = max(self.meshes, key=lambda proof: proof.moved_mm)
        return [
            Text.of(template, {"vertices": vertices, "meshes": len(self.meshes)}),
            Text("vertices that were in order moved by {mm:.3f} mm at most", {"mm": sound}),
            Text(
                "repaired vertices by {mm:.3f} mm at most (frame {frame})",
                {"mm": worst.moved_mm, "frame": frame_words(worst.moved_frame)},
            ),
        ]
