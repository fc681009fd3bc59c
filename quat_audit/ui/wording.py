# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts as the panel shows them: translated first, filled in afterwards, broken into lines that fit."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import blf
import bpy

from ..findings.finding import UNITS, Figure
from ..rules import RULES
from ..rules.rule import OtherWay
from ..text import Text, filled
from .translations import CONTEXT

# Of a long list of reasons, what is read before the report goes away.
MOST_REASONS = 3
_BY_CODE = {rule.code: rule for rule in RULES}


def say(text: str) -> str:
    """A text in the language of the interface; the template of a `Text` is translated, then filled."""
    return _said(text, bpy.app.translations.pgettext_iface)


def say_report(text: str) -> str:
    """The same for what an operator reports."""
    return _said(text, bpy.app.translations.pgettext_rpt)


def _said(text: str, translate: Callable[[str, str], str]) -> str:
    if not isinstance(text, Text):
        return translate(text, CONTEXT)
    values = {name: _said(v, translate) if isinstance(v, Text) else v for name, v in text.values.items()}
    try:
        template = translate(text.template, CONTEXT)
        return filled(template, values) if template == text.template else template.format(**values)
    except (KeyError, IndexError, ValueError):  # a translation with a placeholder of its own must not break a draw
        return str(text)


def label(of: str) -> str:
    """Whose a finding is: a name as it is written, or how many bones in words."""
    return say(of) if isinstance(of, Text) else of


def short_name(code: str) -> str:
    """A rule in one word."""
    rule = _BY_CODE.get(code)
    return say(rule.short) if rule is not None else code


def summary_of(code: str) -> str:
    """What a rule finds, in one line."""
    rule = _BY_CODE.get(code)
    return say(rule.summary) if rule is not None else code


def remedy_of(code: str, *, other_way: bool = False) -> str:
    """What a rule's fix (or its other way) does and what it leaves alone; "" without a fix."""
    rule = _BY_CODE.get(code)
    if rule is None:
        return ""
    remedy = rule.other_way.remedy if other_way and rule.other_way is not None else rule.remedy
    return say(remedy) if remedy else ""


def not_safe(caution: str) -> Text:
    """Why a fix that its rule calls safe is not: after the rule's own words."""
    return Text("Not safe here: {why}", {"why": caution})


def other_way_of(code: str) -> OtherWay | None:
    """Another way to repair what a rule finds, where there is one."""
    rule = _BY_CODE.get(code)
    return rule.other_way if rule is not None else None


def figure(of: Figure | None) -> str:
    """A figure for a person: 340°, 2.5 mm, a dash where there is none."""
    if of is None:
        return "–"
    number = f"{of.value:.0f}" if of.value >= 10 else f"{of.value:.1f}"
    return number + of.unit if of.unit == "°" else f"{number} {of.unit}"


def figures(largest: Mapping[str, float]) -> str:
    """Figures of several units (unit → value) for a person: 340°, 12 mm."""
    return ", ".join(figure(Figure(largest[unit], unit)) for unit in UNITS if unit in largest) or figure(None)


def reasons(texts: Iterable[str]) -> str:
    """The first few of some reasons, for a report that goes away; each once."""
    return "; ".join(list(dict.fromkeys(say_report(text) for text in texts))[:MOST_REASONS])


def enabled(operator: Any, why: Text | str | None) -> bool:
    """For a poll: whether the operator can run; `why` not is what its gray button says."""
    if why is not None:
        operator.poll_message_set(say(why))
    return why is None


def frame_number(frame: float) -> str:
    """A frame without zeros behind the point."""
    return f"{frame:.2f}".rstrip("0").rstrip(".") if abs(frame) < 1e9 else "–"


def text_width(context: Any, indent: int = 0) -> int:
    """The pixels that text has in the region that is drawn; `indent` is in interface units."""
    unit = context.preferences.system.ui_scale
    region = context.region
    width = region.width if region is not None else 220
    # Margins of the panel and of a box in it, and the scroll bar (UI_PANEL_MARGIN_X, V2D_SCROLL_WIDTH).
    return max(int(width - (58 + 20 * indent) * unit), 60)


def lines(context: Any, text: str, indent: int = 0, width: int = 0) -> tuple[str, ...]:
    """A text broken into lines that fit the region (or `width` interface units, where that is given)."""
    scale = context.preferences.system.ui_scale
    points = context.preferences.ui_styles[0].widget.points * scale
    return _lines(text, int(width * scale) or text_width(context, indent), points)


@lru_cache(maxsize=512)
def _lines(text: str, width: int, points: float) -> tuple[str, ...]:
    def measure(part: str) -> float:
        blf.size(0, points)
        measured: float = blf.dimensions(0, part)[0]
        return measured

    return wrapped(text, width, measure)


def wrapped(text: str, width: float, measure: Callable[[str], float]) -> tuple[str, ...]:
    """Break at spaces, and between wide characters (Chinese and Japanese have no spaces); long words are cut."""
    found: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for piece in _pieces(paragraph):
            if line and measure((line + piece).rstrip()) > width:
                found.append(line.rstrip())
                line = ""
            line += piece.lstrip() if not line else piece
            while measure(line.rstrip()) > width and len(line.rstrip()) > 1:
                cut = next((n for n in range(len(line) - 1, 1, -1) if measure(line[:n]) <= width), 1)
                found.append(line[:cut])
                line = line[cut:]
        if line.rstrip() or not paragraph:
            found.append(line.rstrip())
    return tuple(found)


# What must not stand at the start of a line.
_CLOSING = set("、。，．：；！？）」』】》〉”’ー々")


def _pieces(text: str) -> list[str]:
    pieces: list[str] = []
    word = ""
    for character in text:
        wide = unicodedata.east_asian_width(character) in "WF"
        if wide and character not in _CLOSING:
            if word:
                pieces.append(word)
            word = character
            continue
        if word and not character.isspace() and character not in _CLOSING and _ends_wide(word):
            pieces.append(word)
            word = ""
        word += character
        if character.isspace():
            pieces.append(word)
            word = ""
    return [*pieces, word] if word else pieces


def _ends_wide(word: str) -> bool:
    return unicodedata.east_asian_width(word[-1]) in "WF"
