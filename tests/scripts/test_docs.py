# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation: generated pages are fresh, links and pictures lead somewhere, all of it becomes HTML."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import docs_html
import make_docs
import pytest

from quat_audit.rules import RULES, Rule

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [ROOT / "README.md", *DOCS.rglob("*.md")])
# Taken from the real interface by scripts/test_ui.py.
PICTURES = (
    "panel-findings.png",
    "panel-detail.png",
    "before-and-after.png",
    "after-fix.png",
    "graph-editor.png",
    "preview-side-by-side.png",
)


def test_the_rules_pages_are_fresh() -> None:
    assert make_docs.stale() == [], "run scripts/make_docs.py"
    assert sorted(path.stem for path in make_docs.FOLDER.glob("QA*.md")) == [rule.code for rule in RULES]


def test_a_stale_page_and_a_page_too_many_are_noticed(tmp_path: Path) -> None:
    for name, text in make_docs.pages().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert make_docs.stale(tmp_path) == []
    (tmp_path / "QA104.md").write_text("old", encoding="utf-8")
    (tmp_path / "QA101.md").unlink()
    (tmp_path / "QA999.md").write_text("", encoding="utf-8")
    assert make_docs.stale(tmp_path) == ["QA101.md", "QA104.md", "QA999.md"]


def test_the_table_of_the_readme_is_fresh() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert make_docs.with_table(readme) == readme, "run scripts/make_docs.py"
    section = readme.partition("\n## Rules\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| QA")]
    assert re.findall(r"(QA\d{3}) ([a-z-]+)", "\n".join(rows)) == [(rule.code, rule.name) for rule in RULES]
    for row in rows:
        hundred, *codes = re.findall(r"\bQA\d", row)
        assert codes and set(codes) == {hundred}, row


def test_a_stale_table_is_noticed_and_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    old = tmp_path / "README.md"
    old.write_text(readme.replace("sign-flip · ", ""), encoding="utf-8")
    monkeypatch.setattr(make_docs, "README", old)
    assert make_docs.main(["--check"]) == 1 and old.read_text(encoding="utf-8") != readme
    assert make_docs.main([]) == 0 and old.read_text(encoding="utf-8") == readme
    assert make_docs.main(["--check"]) == 0


@pytest.mark.parametrize(
    "readme",
    ["no table", make_docs.BEGIN, make_docs.END + make_docs.BEGIN, 2 * (make_docs.BEGIN + make_docs.END)],
    ids=["none", "no end", "turned round", "two"],
)
def test_a_readme_without_its_marks_is_refused(readme: str) -> None:
    with pytest.raises(ValueError, match="README.md needs one line '<!-- rules: made by"):
        make_docs.with_table(readme)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_page_says_it_all(rule: Rule) -> None:
    page = make_docs.page(rule)
    for heading in ("What it finds", "Why it matters", "Grading", "Fix", "Known limits"):
        assert f"\n## {heading}\n" in page
    assert rule.remedy in page
    assert make_docs.severities(rule)
    assert make_docs.fix_kinds(rule)
    assert (make_docs.fix_kinds(rule) == "none") == (not rule.fixable)
    for name, value in rule.limits.items():
        assert f"| `{name}` | {value:g} | " in page
    assert all(make_docs.reasons(rule).values()), "every limit says where it comes from, in a comment above it"


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^    .*$|`[^`]+`", "", text, flags=re.MULTILINE)):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() or (target.parent == DOCS / "images" and target.name in PICTURES), link
        if anchor:
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in [docs_html.anchor(heading) for heading in headings], link


def test_every_picture_is_shown_in_the_quick_start() -> None:
    text = (DOCS / "quick-start.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"!\[[^\]]+\]\(images/([^)]+)\)", text)) == sorted(PICTURES)


class _Balance(HTMLParser):
    """Raises at a tag that is closed and was not open; collects links."""

    VOID = ("meta", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("href", "src")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "pre" not in self.open and "code" not in self.open and "style" not in self.open:
            self.text += data


@pytest.mark.tools
@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_every_page_becomes_html(path: Path) -> None:
    made = docs_html.page(path, DOCS)
    assert made is not None
    name, content = made
    assert name.endswith(".html")
    parser = _Balance()
    parser.feed(content.decode())
    assert parser.open == []
    assert not [link for link in parser.links if link.endswith(".md")]
    # No markup is left over: everything was understood.
    assert re.findall(r"\*\*|\]\(|^#|^\||`", parser.text, re.MULTILINE) == []
    # And no text was lost.
    words = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for word in re.findall(r"[A-Za-zé]{5,}", re.sub(r"\]\([^)]*\)|!\[[^\]]*|`[^`]*`|^    .*$", "", words, flags=re.M)):
        assert word in parser.text


@pytest.mark.tools
@pytest.mark.parametrize(
    "markdown, expected",
    [
        ("a **b** *c* `d*e*`", "<p>a <strong>b</strong> <em>c</em> <code>d*e*</code></p>"),
        ("2 * 3 * 4 < 5", "<p>2 * 3 * 4 &lt; 5</p>"),
        ("[QA1](rules/QA1.md#fix)", '<p><a href="rules/QA1.html#fix">QA1</a></p>'),
        ("**[all](README.md)**", '<p><strong><a href="index.html">all</a></strong></p>'),
        ("[x](https://a.b/c.md)", '<p><a href="https://a.b/c.md">x</a></p>'),
        ("![seen](images/a.png)", '<p><img src="images/a.png" alt="seen"></p>'),
        ("text\n* a\n  b\n* c", "<p>text</p>\n<ul>\n<li>a\nb</li>\n<li>c</li>\n</ul>"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>"),
        (
            "text\n\n    code <x>\n\n    more\n\ntext",
            "<p>text</p>\n<pre><code>code &lt;x&gt;\n\nmore\n</code></pre>\n<p>text</p>",
        ),
        ("```\n# no title\n```", "<pre><code># no title\n</code></pre>"),
        (
            "| | |\n|---|---|\n| a | b |",
            "<table>\n<tbody>\n<tr>\n<td>a</td>\n<td>b</td>\n</tr>\n</tbody>\n</table>",
        ),
        (
            "| a |\n|---|\n| [b](c.md) |",
            "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n"
            '<td><a href="c.html">b</a></td>\n</tr>\n</tbody>\n</table>',
        ),
        ("## b `c`, d\ntext", '<h2 id="b-c-d">b <code>c</code>, d</h2>\n<p>text</p>'),
        ("a<!-- not shown --> b\n\n<!-- nor\n\nthis -->\n", "<p>a b</p>"),
    ],
)
def test_markdown(markdown: str, expected: str) -> None:
    made = docs_html.render(f"# T\n\n{markdown}\n")
    body = made.partition("<body>\n")[2].partition("\n</body>")[0]
    assert body == f'<h1 id="t">T</h1>\n{expected}'


@pytest.mark.tools
@pytest.mark.parametrize(
    "markdown", ["no title", "", "## T", "# T\n\n<b>x</b>", "# T\n\n<div>\nx\n</div>", "<!-- a --> b"]
)
def test_what_cannot_be_shown_is_refused(markdown: str) -> None:
    with pytest.raises(docs_html.MarkdownError):
        docs_html.render(markdown)
