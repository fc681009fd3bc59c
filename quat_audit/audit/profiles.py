# SPDX-License-Identifier: GPL-3.0-or-later
"""Profiles: which rules matter for a purpose, by which limits, and how serious they can be at most.

A profile never makes a fault worse than its rule grades it; it leaves out, caps, or moves a limit, and each of these
has its reason beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import InputError
from ..findings.finding import NOTE, WARNING
from ..rules import RULES
from .settings import Caps, Overrides, Settings


@dataclass(frozen=True)
class Profile:
    """A purpose. `name` is for machines, `label` and `description` are for a person.

    Attributes:
        codes: the rules that are applied, in the order of RULES.
        limits: limits that differ from the rules' own: code → name → value.
        severities: the highest severity that a rule's findings may have: code → severity.
    """

    name: str
    label: str
    description: str
    codes: tuple[str, ...]
    limits: Overrides = field(default_factory=dict)
    severities: Caps = field(default_factory=dict)


_ALL = tuple(rule.code for rule in RULES)
_SKIN = tuple(rule.code for rule in RULES if rule.judges == "skin")


def _without(*codes: str) -> tuple[str, ...]:
    return tuple(code for code in _ALL if code not in codes)


GAME_EXPORT = Profile(
    "game_export",
    "Game export",
    "What breaks on the way into an engine: flips, lost turns, dead and incomplete channels",
    # Exporters leave out channels that nobody has.
    codes=_without("QA305"),
    # Baked exporters sample what plays, so that components keyed at different times arrive as they look.
    severities={"QA303": NOTE},
)
FILM = Profile(
    "film",
    "Film",
    "What shows in a render of this file, motion blur included; nothing about exporters",
    # A half-turn step (QA106) and a full turn (QA203) play as they were keyed: only exporters lose them. Blender itself
    # normalizes weights (QA602), reads all influences (QA603) and knows Preserve Volume (QA606) and its scale (QA607).
    codes=_without("QA106", "QA203", "QA602", "QA603", "QA606", "QA607"),
    limits={
        # A close-up on a large screen shows half of what a game camera does.
        "QA103": {"visible_deg": 0.5},
        "QA104": {"visible_deg": 0.5},
        "QA105": {"visible_deg": 0.5},
        "QA201": {"visible_deg": 0.5},
        "QA205": {"visible_deg": 0.5},
        "QA302": {"visible_deg": 0.5},
        "QA303": {"visible_deg": 0.5},
    },
    # The keys that an orphan channel holds play nothing, so they do not show.
    severities={"QA305": WARNING},
)
MOCAP = Profile(
    "mocap",
    "Mocap clean-up",
    "Dense keys that will be reduced, retimed and blended: every flip counts, also between neighboring frames",
    # Recorded channels are keyed on every frame together: what is not, was keyed by hand later, and is meant. A capture
    # is cleaned up on a stand-in, whose skin (QA6) is not what will be seen.
    codes=_without("QA106", "QA203", "QA303", *_SKIN),
    limits={
        # Reducing keys opens the gap between two neighboring frames, and then the flip plays. At one key a frame
        # nobody turns by more than 120° on purpose (at 30 fps that is ten turns a second).
        "QA104": {"undrawn_shows": 1.0, "ambiguous_deg": 170.0},
        "QA105": {"undrawn_shows": 1.0},
        "QA201": {"undrawn_shows": 1.0},
        "QA205": {"undrawn_shows": 1.0},
    },
)
EVERYTHING = Profile(
    "everything",
    "Everything",
    "All rules with their own limits",
    codes=_ALL,
)

PROFILES = (GAME_EXPORT, FILM, MOCAP, EVERYTHING)


def find_profile(name: str) -> Profile:
    """The profile of a name.

    Raises:
        InputError: there is none; it says which there are.
    """
    for profile in PROFILES:
        if profile.name == name.strip().lower().replace("-", "_"):
            return profile
    raise InputError(f"no profile is called {name!r}. Profiles: {', '.join(p.name for p in PROFILES)}")


def profile_settings(profile: Profile) -> Settings:
    """Settings that apply a profile."""
    rules = tuple(rule for rule in RULES if rule.code in profile.codes)
    caps: Caps | None = profile.severities or None
    return Settings(rules=rules, limits=profile.limits or None, caps=caps)
