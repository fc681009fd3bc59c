# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/*.md as HTML pages for the extension's zip: the help button opens them in a browser, without a network.

markdown-it-py reads the Markdown as a forge does (CommonMark with tables). Here headings get their anchors, links
between pages become links between the HTML pages, and HTML of its own is refused: nothing but a comment is needed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;"
    "vertical-align:top}code,pre{background:#f2f2f2;border-radius:3px;padding:.1rem .25rem}pre{padding:.6rem;"
    "overflow-x:auto}pre code{background:none;padding:0}img{max-width:100%}h1{font-size:1.7rem}"
    "h2{font-size:1.25rem;margin-top:2rem}a{color:#0645ad}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1d1d1d}code,pre{background:#333}"
    "pre code{background:none}td,th{border-color:#555}a{color:#8ab4f8}}"
)


class MarkdownError(ValueError):
    """A page that cannot be shown."""


def render(text: str, language: str = "en") -> str:
    """One Markdown page as a complete HTML page."""
    # Imported when a page is made: scripts/test_ui.py gets by without where the zip is given.
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"xhtmlOut": False}).enable("table")
    tokens = _without_comments(reader.parse(text))
    if not tokens or tokens[0].tag != "h1":
        raise MarkdownError("a page starts with a title: # …")
    tokens = _without_empty_heads(tokens)
    for heading, inside in pairwise(tokens):
        if heading.type == "heading_open":
            heading.attrSet("id", anchor(inside.content))
    for token in tokens:
        _retarget(token.children or ())
    head = f'<meta charset="utf-8"><title>{html.escape(tokens[1].content)}</title><style>{STYLE}</style>'
    body = reader.renderer.render(tokens, reader.options, {})
    return f'<!DOCTYPE html>\n<html lang="{language}"><head>{head}</head><body>\n{body}</body></html>\n'


def page(path: Path, root: Path) -> tuple[str, bytes] | None:
    """(name below the folder of pages, content) of a file below `root`; None when it is no page and no picture.

    Raises:
        MarkdownError: the page holds something that cannot be shown.
    """
    name = path.relative_to(root)
    if path.suffix == ".png":
        return name.as_posix(), path.read_bytes()
    if path.suffix != ".md":
        return None
    # README.md is the index of a folder on a forge, index.html is in a browser.
    name = name.with_name("index.html") if name.name == "README.md" else name.with_suffix(".html")
    try:
        return name.as_posix(), render(path.read_text(encoding="utf-8")).encode()
    except MarkdownError as error:
        raise MarkdownError(f"{path}: {error}") from None


def anchor(heading: str) -> str:
    """The anchor that a forge gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def _without_comments(tokens: Sequence[Token]) -> list[Token]:
    kept = []
    for token in tokens:
        if token.type in ("html_block", "html_inline"):
            if not re.fullmatch(r"(\s*<!--.*?-->)*\s*", token.content, re.DOTALL):
                raise MarkdownError(f"HTML of its own: {token.content.strip()!r}")
            continue
        if token.children:
            token.children = _without_comments(token.children)
        kept.append(token)
    return kept


def _without_empty_heads(tokens: list[Token]) -> list[Token]:
    """Leave out the head of a table that only has one because Markdown asks for it."""
    kept: list[Token] = []
    for token in tokens:
        kept.append(token)
        if token.type == "thead_close":
            start = max(i for i, other in enumerate(kept) if other.type == "thead_open")
            if not any(other.content for other in kept[start:]):
                del kept[start:]
    return kept


def _retarget(tokens: Sequence[Token]) -> None:
    for token in tokens:
        link = token.attrGet("href")
        if link is not None:
            token.attrSet("href", _target(str(link)))


def _target(link: str) -> str:
    """Where a link of a Markdown page leads among the HTML pages."""
    page, hash_sign, anchor = link.partition("#")
    if page.endswith(".md") and "://" not in page:
        folder, slash, name = page.rpartition("/")
        name = "index.html" if name == "README.md" else name.removesuffix(".md") + ".html"
        page = folder + slash + name
    return page + hash_sign + anchor
