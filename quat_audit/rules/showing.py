# SPDX-License-Identifier: GPL-3.0-or-later
"""Does a fault between two keys show? By the frames that are drawn between them (QA104, QA105, QA201, QA204, QA403)."""

from __future__ import annotations

import numpy as np

from ..arrays import Bools, Floats, Ints
from ..motion.clip import Clip
from ..motion.drawn import offset_deg
from ..motion.keys import Keys, Steps
from .rule import ROUND_DEG, Limits

# The limit "undrawn_shows": 1 where keys will be reduced or retimed, so that any moment may be drawn one day.
UNDRAWN_SHOWS = 0.0


def shows(clip: Clip, keys: Keys, steps: Steps, which: Ints, excess_deg: Floats, limits: Limits) -> Bools:
    """(P,) a frame drawn within the step is off the short way by `visible_deg` or more.

    With `undrawn_shows` it is enough that so much more than necessary is traveled (`excess_deg` (P,)).
    """
    seen = offset_deg(clip, keys, steps, which)
    if limits["undrawn_shows"]:
        seen = np.maximum(seen, excess_deg)
    return np.asarray(seen >= limits["visible_deg"] - ROUND_DEG)
