# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures of a preview, as ``quat_audit.preview/1`` (docs/preview.schema.json) and in words.

Nothing in them is NaN or infinite: what has no number is null.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Floats
from ..skinning import radius
from ..skinning.measure import Scan, Worst, scan
from ..skinning.skin import Motion, Skin
from ..text import frame_words
from ..version import NAME, version

SCHEMA = "quat_audit.preview/1"
# float32 carries seven.
DIGITS = 6
# Of frames, which are no measurements.
FRAME_DECIMALS = 5
# A smaller bulge of DQS is no line to read.
LEAST_BULGE_PERCENT = 0.01


@dataclass(frozen=True, eq=False)
class Measured:
    """A skin that was measured over a clip: F frames, J joints.

    Attributes:
        skin, motion, scan: see there.
        radius: (2, F, J) what LBS and DQS leave of each joint's radius, in parts of that at rest (`radius.of_rest`).
        remarks: (what, why) of what the figures leave out.
    """

    skin: Skin
    motion: Motion
    scan: Scan
    radius: Floats
    remarks: Sequence[tuple[str, str]] = ()

    @property
    def thinnest(self) -> tuple[int, int] | None:
        """(frame, joint) at which LBS leaves the least of DQS's radius, None where no joint has one."""
        kept = self.scan.radius
        if not kept.size or np.isnan(kept).all():
            return None
        frame, joint = np.unravel_index(int(np.nanargmin(kept)), kept.shape)
        return int(frame), int(joint)


def measure(skin: Skin, motion: Motion, remarks: Sequence[tuple[str, str]] = ()) -> Measured:
    """Measure a skin over a clip of at least one frame."""
    return Measured(skin, motion, scan(skin, motion), radius.of_rest(skin, motion), remarks)


def as_dict(found: Measured, *, file: str, blender: str | None) -> dict[str, Any]:
    """The figures as plain dicts, lists, strings and finite numbers."""
    skin, measured = found.skin, found.scan
    return {
        "schema": SCHEMA,
        "tool": {"name": NAME, "version": version(), "blender": blender},
        "file": file,
        "object": skin.mesh,
        "armature": skin.armature,
        "action": found.motion.action or None,
        "method": "DQS" if skin.preserve_volume else "LBS",
        "vertices": len(skin),
        "size_mm": number(measured.size_mm),
        "influences_kept": measured.most,
        "worst": _worst(found),
        "series": _series(found),
        "not_evaluated": [{"what": what, "why": why} for what, why in found.remarks],
    }


def _worst(found: Measured) -> dict[str, Any]:
    measured = found.scan
    volume, bulge = measured.worst_volume(), measured.worst_bulge()
    return {
        "gap": _spot(measured, measured.worst_gap()),
        "gap_mean": _spot(measured, measured.worst_mean()),
        "radius": _radius(found),
        "bulge": None if bulge is None else _spot(measured, bulge),
        "volume": None
        if volume is None
        else {
            way: {"of_rest": number(worst.value), "frame": frame_number(worst.frame)}
            for way, worst in zip(("lbs", "dqs"), volume, strict=True)
        },
        "cut": {**_spot(measured, measured.worst_cut()), "vertices": len(measured.by_cut.vertices)},
    }


def _spot(measured: Scan, worst: Worst) -> dict[str, Any]:
    return {
        "mm": number(worst.value),
        "percent_of_mesh": number(measured.of_mesh(worst.value)),
        "frame": frame_number(worst.frame),
        "joint": worst.bone or None,
        "vertex": worst.vertex if worst.vertex >= 0 and worst.value > 0 else None,
    }


def _radius(found: Measured) -> dict[str, Any] | None:
    at = found.thinnest
    if at is None:
        return None
    return {
        "lbs_of_rest": number(found.radius[0][at]),
        "dqs_of_rest": number(found.radius[1][at]),
        "lbs_of_dqs": number(found.scan.radius[at]),
        "frame": frame_number(found.scan.frames[at[0]]),
        "joint": found.scan.bones[at[1]],
    }


def _series(found: Measured) -> dict[str, Any]:
    measured, bones = found.scan, found.skin.bones
    return {
        "frames": [frame_number(frame) for frame in measured.frames],
        "gap_mm": numbers(measured.gap.max(axis=1)),
        "gap_mean_mm": numbers(measured.gap_mean),
        "cut_mm": numbers(measured.cut),
        "volume_of_rest": None
        if measured.volume is None
        else {"lbs": numbers(measured.volume[:, 0]), "dqs": numbers(measured.volume[:, 1])},
        "joints": [
            {
                "joint": measured.bones[joint],
                "above": bones.names[measured.joints.above[joint]],
                "gap_mm": numbers(measured.gap[:, joint]),
                "radius": None
                if np.isnan(measured.radius[:, joint]).all()
                else {
                    "lbs_of_rest": numbers(found.radius[0, :, joint]),
                    "dqs_of_rest": numbers(found.radius[1, :, joint]),
                    "lbs_of_dqs": numbers(measured.radius[:, joint]),
                },
                "bulge_mm": numbers(measured.bulge[:, joint]),
            }
            for joint in range(len(measured.joints))
        ],
    }


def number(value: float) -> float | None:
    """A finite number with as many digits as float32 has, None for another."""
    value = float(value)
    return float(f"{value:.{DIGITS}g}") + 0.0 if math.isfinite(value) else None


def frame_number(frame: float) -> float:
    """A frame with all digits before the point, however large."""
    return round(float(frame), FRAME_DECIMALS) + 0.0


def numbers(values: Iterable[float]) -> list[float | None]:
    """`number` of each."""
    return [number(value) for value in values]


def lines(figures: dict[str, Any]) -> list[str]:
    """The worst figures in words, one thing a line."""
    worst, frames = figures["worst"], figures["series"]["frames"]
    gap, mean, cut = worst["gap"], worst["gap_mean"], worst["cut"]
    plays = f" by {figures['action']}" if figures["action"] else ""
    over = (
        f"frames {frame_words(frames[0])} to {frame_words(frames[-1])}"
        if len(frames) > 1
        else f"frame {frame_words(frames[0])}"
    )
    rows = [
        f"{figures['object']}: {figures['vertices']:,} vertices, skinned by {figures['method']}, "
        f"posed by {figures['armature']}{plays}, {over}",
        f"  largest gap    {_of_mesh(gap)}{_at(gap)}; mean {_of_mesh(mean)} at frame {frame_words(mean['frame'])}",
    ]
    thin = worst["radius"]
    if thin is not None:
        rest = "" if thin["lbs_of_rest"] is None else f"LBS {_percent(thin['lbs_of_rest'])}, "
        rest += "" if thin["dqs_of_rest"] is None else f"DQS {_percent(thin['dqs_of_rest'])} of rest, "
        rows.append(f"  radius kept    {rest}LBS {_percent(thin['lbs_of_dqs'])} of DQS{_at(thin)}")
    if worst["bulge"] is not None and (worst["bulge"]["percent_of_mesh"] or 0.0) > LEAST_BULGE_PERCENT:
        rows.append(f"  bulge of DQS   {_of_mesh(worst['bulge'])}{_at(worst['bulge'])}")
    if worst["volume"] is not None:
        kept = [
            f"{way.upper()} {_percent(v['of_rest'])} at frame {frame_words(v['frame'])}"
            for way, v in worst["volume"].items()
        ]
        rows.append(f"  volume kept    {', '.join(kept)}")
    if cut["vertices"]:
        rows.append(
            f"  influence cut  to {figures['influences_kept']}: {_of_mesh(cut)}{_at(cut)}; "
            f"{cut['vertices']:,} vertices have more"
        )
    return rows + [f"  note           {row['what']}: {row['why']}" for row in figures["not_evaluated"]]


def _of_mesh(spot: dict[str, Any]) -> str:
    return f"{millimeters(spot['mm'] or 0.0)} ({percent_of_mesh(spot['percent_of_mesh'] or 0.0)})"


def _at(spot: dict[str, Any]) -> str:
    joint = f" at {spot['joint']}" if spot["joint"] else ""
    vertex = f", vertex {spot['vertex']}" if spot.get("vertex") is not None else ""
    return f"{joint}{vertex}, frame {frame_words(spot['frame'])}"


def _percent(part: float) -> str:
    return f"{100.0 * part:.1f} %"


def millimeters(mm: float) -> str:
    """A length as a person reads it: "0.012 mm", "3.4 mm", "212 mm"."""
    if mm >= 100.0:
        return f"{mm:,.0f} mm"
    return f"{mm:.1f} mm" if mm >= 1.0 else f"{mm:.2g} mm"


def percent_of_mesh(percent: float) -> str:
    """A part of the mesh's size as a person reads it; what rounding makes is not spelled out."""
    return f"{percent:.2g} % of the mesh" if percent >= 0.01 or percent == 0.0 else "less than 0.01 % of the mesh"
