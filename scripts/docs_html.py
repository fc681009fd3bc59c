# SPDX-License-Identifier: GPL-3.0-or-later
"""docs/*.md as HTML pages for the extension's zip: the help button opens them in a browser, without a network.

It knows the Markdown that docs/ uses, and refuses anything else: headings, paragraphs, lists, tables, code, images,
links, **bold**, *italic* and `code`. Links between pages become links between the HTML pages.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;"
    "background:#fff}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;"
    "vertical-align:top}code,pre{background:#f2f2f2;border-radius:3px;padding:.1rem .25rem}pre{padding:.6rem;"
    "overflow-x:auto}img{max-width:100%}h1{font-size:1.7rem}h2{font-size:1.25rem;margin-top:2rem}a{color:#0645ad}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#1d1d1d}code,pre{background:#333}"
    "td,th{border-color:#555}a{color:#8ab4f8}}"
)


class MarkdownError(ValueError):
    """A line that this module does not know how to show."""


def render(text: str, language: str = "en") -> str:
    """One Markdown page as a complete HTML page."""
    blocks = [_block(block) for block in _blocks(text)]
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    if not title:
        raise MarkdownError("a page starts with a title: # …")
    head = f'<meta charset="utf-8"><title>{html.escape(title[1])}</title><style>{STYLE}</style>'
    body = "\n".join(blocks)
    return f'<!DOCTYPE html>\n<html lang="{language}"><head>{head}</head><body>\n{body}\n</body></html>\n'


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


def _blocks(text: str) -> list[list[str]]:
    """Lines that belong together: a heading, a paragraph, a list, a table, a piece of code."""
    blocks: list[list[str]] = []
    fresh, inside = True, False
    for line in re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL).splitlines():
        if line.startswith("```"):
            inside = not inside
            if inside:
                blocks.append([])
            blocks[-1].append(line)
            fresh = not inside
        elif inside:
            blocks[-1].append(line)
        elif not line.strip():
            # Blank lines within indented code belong to it.
            if blocks and blocks[-1] and blocks[-1][0].startswith("    ") and not fresh:
                blocks[-1].append("")
            else:
                fresh = True
        else:
            previous = blocks[-1] if blocks and not fresh else None
            if previous is None or _kind(previous[0]) == "heading" or _starts_another(previous, line):
                blocks.append([])
            blocks[-1].append(line)
            fresh = False
    if inside:
        raise MarkdownError("``` is opened and not closed")
    return blocks


def _kind(line: str) -> str:
    if line.startswith("```"):
        return "fence"
    if line.startswith("    "):
        return "code"
    if re.match(r"#{1,4} ", line):
        return "heading"
    if line.startswith("|"):
        return "table"
    if re.match(r"\* ", line):
        return "list"
    if re.match(r"\d+\. ", line):
        return "steps"
    if line.startswith((">", "---", "+ ", "- ")):
        raise MarkdownError(f"not in the Markdown of docs/: {line!r}")
    return "text"


def _starts_another(block: list[str], line: str) -> bool:
    kind, first = _kind(line), _kind(block[0])
    if first in ("list", "steps"):
        return kind not in (first, "text", "code")  # an indented line goes on with the item
    if first == "code" and block[-1] == "":
        return kind != "code"
    return kind != first


def _block(lines: list[str]) -> str:
    kind = _kind(lines[0])
    if kind == "heading":
        level = len(lines[0]) - len(lines[0].lstrip("#"))
        text = lines[0][level:].strip()
        return f'<h{level} id="{_anchor(text)}">{_inline(text)}</h{level}>'
    if kind in ("code", "fence"):
        body = lines[1:-1] if kind == "fence" else [line[4:] for line in lines]
        return f"<pre>{html.escape(chr(10).join(body).rstrip())}</pre>"
    if kind == "table":
        return _table(lines)
    if kind in ("list", "steps"):
        tag, mark = ("ul", r"\* ") if kind == "list" else ("ol", r"\d+\. ")
        items: list[str] = []
        for line in lines:
            if re.match(mark, line):
                items.append(re.sub(f"^{mark}", "", line))
            else:
                items[-1] += " " + line.strip()
        return f"<{tag}>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + f"</{tag}>"
    return f"<p>{_inline(' '.join(line.strip() for line in lines))}</p>"


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))] for line in lines]
    if len(rows) < 2 or any(cell.strip("-: ") for cell in rows[1]):
        raise MarkdownError(f"a table without a line under its head: {lines[0]!r}")
    head = "".join(f"<th>{_inline(cell)}</th>" for cell in rows[0]) if any(rows[0]) else ""
    body = ["".join(f"<td>{_inline(cell)}</td>" for cell in row) for row in rows[2:]]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in [head, *body] if row) + "</table>"


def _inline(text: str) -> str:
    """The inside of a line: code first, since nothing within it is markup."""
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"<code>{html.escape(part[1:-1])}</code>" if part.startswith("`") else _markup(part) for part in parts
    )


def _markup(text: str) -> str:
    text = html.escape(text, quote=False)
    text = re.sub(r"!\[([^\]]*)\]\(([^)\s]+)\)", r'<img src="\2" alt="\1">', text)
    text = re.sub(r"(?<!!)\[([^\]]+)\]\(([^)\s]+)\)", lambda m: f'<a href="{_target(m[2])}">{m[1]}</a>', text)
    text = re.sub(r"\*\*(\S(?:.*?\S)??)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<![\w*])\*(\S(?:.*?\S)??)\*(?![\w*])", r"<em>\1</em>", text)


def _target(link: str) -> str:
    """Where a link of a Markdown page leads among the HTML pages."""
    page, hash_sign, anchor = link.partition("#")
    if page.endswith(".md") and "://" not in page:
        folder, slash, name = page.rpartition("/")
        name = "index.html" if name == "README.md" else name.removesuffix(".md") + ".html"
        page = folder + slash + name
    return page + hash_sign + anchor


def _anchor(text: str) -> str:
    """As GitHub makes them of a heading."""
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")
