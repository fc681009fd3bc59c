# SPDX-License-Identifier: GPL-3.0-or-later
"""What is found, but below anything that could be seen: one note for all of it in an action, instead of one a track."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from ..findings.finding import FIX_KINDS, NOTE, Finding, Occurrences, joined, unit_of, worst_place

# Rules that find the same slight thing on every track of a file: lengths that an exporter rounded, dead channels of
# bones that never moved.
CODES: Final = ("QA103", "QA301", "QA305")
# A tenth of the smallest angle that shows.
NOISE_DEG: Final = 0.1
# What a group has for a data path: its fingerprint, and what an ignore names.
DATA_PATH: Final = "* below 0.1 degrees"


def is_noise(finding: Finding) -> bool:
    """Whether it is told with its like: a note of such a rule that is slight at each of its places."""
    if finding.code not in CODES or finding.severity != NOTE or unit_of(finding.leading) != "°":
        return False
    return bool(np.all(np.abs(finding.occurrences.measured[finding.leading]) < NOISE_DEG))  # NaN is not known


def grouped(members: Sequence[Finding]) -> Finding:
    """One finding for several of a rule and a clip; each of its places tells its bone and data path."""
    places = joined([_told_apart(member) for member in members])
    worst = worst_place(places, places.measured[members[0].leading])
    most = float(np.abs(places.measured[members[0].leading]).max())
    paths = set(dict(places.names)["path"])
    kind = "track" if all("rotation" in path.rpartition(".")[2] for path in paths) else "channel"
    return replace(
        members[0],
        bone="",
        data_path=DATA_PATH,
        fix=FIX_KINDS[int(places.codes[:, 2].max())],
        occurrences=places,
        worst=worst,
        headline=f"{len(paths):,} {kind}{'s' * (len(paths) > 1)}, up to {most:.2f}°",
        locator="keys of a bone",
        part=-1,
        # Where only some must not be written the others can be repaired; their places have no fix.
        locked=members[0].locked if all(member.locked for member in members) else "",
        caution=next((member.caution for member in members if member.caution), ""),
    )


def _told_apart(finding: Finding) -> Occurrences:
    """Its places, each with its bone and data path."""
    places = finding.occurrences
    if finding.several:
        return places
    own = (("bone", (finding.bone,) * len(places)), ("path", (finding.data_path,) * len(places)))
    return replace(places, names=(*places.names, *own))
