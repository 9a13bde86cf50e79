"""Which page of the repository stands where on the site, and what its links become.

The sources are read as they are on a code host. What differs on the site is made here, on copies: addresses, the
contents that Sphinx wants as directives, the names of the files that blocks hold, and diagrams, which a code host draws
by itself. Must not know Sphinx's output.
"""

import html
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import mmdr

LINK = re.compile(r"\]\(([^()\s]+)\)")
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<target>[^)]+)\)")
COMMAND = re.compile(r"^## `charter(?P<words>[^`]*)`$")

# Pages outside of docs/, and pages of docs/ that stand elsewhere on the site.
PLACES = {
    "docs/README.md": "index.md",
    "docs/errors/README.md": "errors/index.md",
    "docs/reference/cli.md": "cli/index.md",
    "docs/spec/README.md": "spec/index.md",
    "docs/tutorial/README.md": "tutorial/index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "bench/README.md": "benchmarks.md",
    # What a code host shows as files, the site has as pages of its own.
    "README.md": "index.md",
    "schemas": "contracts/index.md",
    "schemas/openapi.json": "rest/index.md",
}


class Astray(Exception):
    """A link that leads nowhere."""


@dataclass
class Pages:
    """The pages of a site: where each of them stands, and the files that they link to."""

    root: Path
    placed: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    diagrams: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.placed.update(PLACES)
        for page in sorted((self.root / "docs").rglob("*.md")):
            path = page.relative_to(self.root).as_posix()
            self.placed.setdefault(path, path.removeprefix("docs/"))
        # Pages beside docs/ that its list names, such as the README of a client.
        for line in (self.root / "docs/README.md").read_text().splitlines():
            if (entry := ENTRY.match(line)) and entry["target"].endswith(".md"):
                path = posixpath.normpath(posixpath.join("docs", entry["target"]))
                self.placed.setdefault(path, path.replace("README.md", "index.md"))
        for schema in sorted((self.root / "schemas").glob("*.json")):
            path = f"schemas/{schema.name}"
            self.placed.setdefault(path, f"contracts/{schema.stem}.md")

    def sources(self) -> dict[str, str]:
        """Where the pages stand that are written by hand, by their paths in the repository."""
        readme = {"README.md"}  # The site opens with docs/README.md in its place.
        return {path: place for path, place in self.placed.items() if path.endswith(".md") and path not in readme}

    def linked(self, path: str, place: str, target: str) -> str:
        """What a link of the page `path`, which stands at `place`, becomes."""
        if re.match(r"[a-z]+:", target):
            return target
        goal, mark, anchor = target.partition("#")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(path), goal)) if goal else path
        if there in self.placed:
            page = self.placed[there]
            if page == "cli/index.md" and anchor.startswith("charter-"):
                page = f"cli/{anchor.split('-')[1]}.md"
        elif (self.root / there).is_file():
            page = self.files.setdefault(there, f"files/{there}")
        else:
            raise Astray(f"{path}: `{target}` is neither a page of the site nor a file of the repository")
        if page == place:
            return f"#{anchor}" if anchor else posixpath.basename(page)
        return posixpath.relpath(page, posixpath.dirname(place) or ".") + mark + anchor

    def rewritten(self, path: str, place: str) -> str:
        """The page as it is on the site."""
        text = (self.root / path).read_text()

        def relink(match: re.Match[str]) -> str:
            return f"]({self.linked(path, place, match[1])})"

        return self.drawn(outside_of_code(text, lambda prose: LINK.sub(relink, prose)), place)

    def drawn(self, text: str, place: str) -> str:
        """The page with its diagrams as pictures, and their text for whoever cannot see them."""

        def draw(match: re.Match[str]) -> str:
            picture = f"files/diagrams/{place.removesuffix('.md')}-{len(self.diagrams)}.svg"
            self.diagrams[picture] = mmdr.render(match[1]).svg()
            linked = posixpath.relpath(picture, posixpath.dirname(place) or ".")
            said = html.escape(match[1])
            return (
                f"![A diagram; the text below says the same]({linked})\n\n"
                f"<details><summary>The diagram as text</summary><pre>{said}</pre></details>\n"
            )

        return re.sub(r"^```mermaid\n(.*?)^```\n", draw, text, flags=re.DOTALL | re.MULTILINE)


def outside_of_code(text: str, change: Callable[[str], str]) -> str:
    """Changes the prose of a page. Blocks and code stay, but that a block which is a file says its name."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            if not fenced and (named := re.match(r"```(\S+) file=(\S+)", line)):
                line = f"```{{code-block}} {named[1]}\n:caption: {named[2]}\n"
            fenced = not fenced
        elif not fenced:
            line = outside_of_spans(line, change)
        lines.append(line)
    return "\n".join(lines) + "\n"


def outside_of_spans(line: str, change: Callable[[str], str]) -> str:
    """Changes a line with its code put aside, because a link's text may hold code and code may look like a link."""
    spans: list[str] = []

    def aside(match: re.Match[str]) -> str:
        spans.append(match[0])
        return f"\x00{len(spans) - 1}\x00"

    changed = change(re.sub(r"`[^`]*`", aside, line))
    return re.sub("\x00(\\d+)\x00", lambda match: spans[int(match[1])], changed)


def below(text: str, title: str) -> str:
    """A page that is reached by the one that lists it, and not by the sidebar: there are too many of them."""
    heading, _, rest = text.partition("\n")
    return f"---\norphan: true\n---\n\n{heading}\n\nBelow [{title}](index.md).\n{rest}"


def contents(entries: list[str], caption: str = "") -> str:
    """A table of contents that the sidebar shows and the page does not."""
    options = f":caption: {caption}\n" if caption else ""
    return f"```{{toctree}}\n:hidden:\n{options}\n" + "\n".join(entries) + "\n```\n"


def index(text: str, extra: dict[str, list[str]]) -> str:
    """The opening page: its lists are also the sidebar, part by part. `extra` has pages that no list names."""
    parts: dict[str, list[str]] = {}
    part = ""
    for line in text.splitlines():
        if line.startswith("## "):
            part = line.removeprefix("## ")
        elif entry := ENTRY.match(line):
            page = entry["target"].removesuffix(".md")
            parts.setdefault(part, []).append(f"{entry['title']} <{page}>")
    for part, entries in extra.items():
        parts[part] += entries
    return text + "\n" + "\n".join(contents(entries, part) for part, entries in parts.items())


def commands(text: str) -> dict[str, str]:
    """The page of the command line as pages: one that lists, and one for each command with those below it."""
    opening, pages, name = [], {}, ""
    for line in text.splitlines():
        if found := COMMAND.match(line):
            words = found["words"].split()
            name = words[0] if words else ""
            if len(words) == 1:
                pages[name], line = [], line.removeprefix("#")
        (pages[name] if name else opening).append(line)
    listed = "\n".join(f"- [`charter {name}`]({name}.md)" for name in pages)
    whole = {name: "\n".join(lines) + "\n" for name, lines in pages.items()}
    whole["index"] = "\n".join(opening) + f"\n## Commands\n\n{listed}\n"
    return whole
