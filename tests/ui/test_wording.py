# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts are broken into lines that fit, whatever they are made of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("bpy")

from quat_audit.findings.finding import Figure
from quat_audit.rules import RULES
from quat_audit.text import Text
from quat_audit.ui import wording


def test_lines_break_at_spaces() -> None:
    assert wording.wrapped("one two three four", 9, len) == ("one two", "three", "four")
    assert wording.wrapped("one\ntwo", 9, len) == ("one", "two")
    assert wording.wrapped("", 9, len) == ("",)


def test_long_words_are_cut_and_chinese_breaks_anywhere_but_before_a_stop() -> None:
    assert wording.wrapped("abcdefghij", 4, len) == ("abcd", "efgh", "ij")
    assert wording.wrapped("一二三四五。", 5, len) == ("一二三四", "五。")


@given(st.text(alphabet=st.sampled_from("ab cé一二。、🦴 \n"), max_size=60), st.integers(2, 12))
def test_every_line_fits_and_no_letter_is_lost(text: str, width: int) -> None:
    lines = wording.wrapped(text, width, len)
    assert all(len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_the_words_of_a_rule_are_its_own_and_an_unknown_code_is_shown_as_it_is() -> None:
    for rule in RULES:
        assert wording.short_name(rule.code) == rule.short
        assert wording.summary_of(rule.code) == rule.summary
        assert wording.remedy_of(rule.code) == rule.remedy
    assert (wording.short_name("QA999"), wording.summary_of("QA999"), wording.remedy_of("QA999")) == (
        "QA999",
        "QA999",
        "",
    )


def test_a_text_within_a_text_is_filled_too() -> None:
    inner = Text("{count} keys", {"count": 3})
    assert wording.say(Text("why: {why}", {"why": inner})) == "why: 3 keys"


@pytest.mark.parametrize(
    "count, said",
    [(1, "1 key on 1 bone"), (2, "2 keys on 2 bones"), (11, "11 keys on 11 bones"), (0, "0 keys on 0 bones")],
)
def test_one_is_not_a_plural(count: int, said: str) -> None:
    assert wording.say(Text("{count} keys on {count} bones", {"count": count})) == said


@pytest.mark.parametrize(
    "value, shown", [(None, "–"), (340.04, "340°"), (9.96, "10.0°"), (0.04, "0.0°"), (10.0, "10°")]
)
def test_a_figure_in_degrees(value: float | None, shown: str) -> None:
    assert wording.figure(None if value is None else Figure(value, "°")) == shown


def test_figures_say_their_unit() -> None:
    assert wording.figure(Figure(12.34, "mm")) == "12 mm" and wording.figure(Figure(1.25, "%")) == "1.2 %"
    assert wording.figures({"%": 40.0, "mm": 3.0, "°": 340.0}) == "340°, 3.0 mm, 40 %"
    assert wording.figures({}) == "–"


def test_one_vertex_and_one_mesh() -> None:
    template = "{count} vertices normalized on {count} meshes"
    assert wording.say(Text(template, {"count": 1})) == "1 vertex normalized on 1 mesh"
    assert wording.say(Text(template, {"count": 2})) == "2 vertices normalized on 2 meshes"


@pytest.mark.parametrize(
    "frame, shown", [(1.0, "1"), (10.0, "10"), (1.5, "1.5"), (-3.0, "-3"), (float("nan"), "–"), (1e30, "–")]
)
def test_frames(frame: float, shown: str) -> None:
    assert wording.frame_number(frame) == shown
