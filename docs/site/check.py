"""Looks at what was built: links, anchors and pictures lead somewhere, and nothing comes from elsewhere.

Must not know how the site is made: it reads HTML.
"""

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# What a page loads by itself, by element and attribute. A link is only followed by whoever clicks it.
LOADS = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("source", "srcset"),
    ("iframe", "src"),
    ("object", "data"),
}
TEST = re.compile(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+){3,})`")


class Page(HTMLParser):
    """Where a page's links lead, what it loads, and which anchors it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {"", "top"}
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value or "")
            elif tag == "a" and name == "href" and value:
                self.links.append(value)
            elif (tag, name) in LOADS and value:
                self.loads.append(value)


@cache
def page(file: Path) -> Page:
    return Page(file)


def links(site: Path) -> Iterator[str]:
    """What is wrong with the links of a site."""
    for file in sorted(site.rglob("*.html")):
        here = page(file)
        where = file.relative_to(site)
        for target in here.loads:
            if urlsplit(target).netloc:
                yield f"{where} loads {target}: a site that works offline loads nothing from elsewhere"
        for target in here.links + [load for load in here.loads if not load.startswith("data:")]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            goal = file if not parts.path else (file.parent / unquote(parts.path)).resolve()
            if not goal.is_file():
                yield f"{where}: {target} leads nowhere"
            elif goal.suffix == ".html" and unquote(parts.fragment) not in page(goal).anchors:
                yield f"{where}: {target} names no anchor of that page"


def claims(security: Path, crates: Path) -> Iterator[str]:
    """Tests that the security model names and that do not exist."""
    named = set(TEST.findall(security.read_text()))
    code = "\n".join(file.read_text() for file in crates.rglob("*.rs"))
    for test in sorted(named):
        if not re.search(rf"fn {test}\b", code):
            yield f"{security.name} names the test `{test}`, which does not exist"
