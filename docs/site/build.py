"""Builds the documentation's site: pages written by hand, pages made from the code, one search, every link checked.

    python docs/site/build.py --charter target/debug/charter --output target/site

Fails when a page is in no list of docs/README.md, when a link, anchor or picture leads nowhere, when a page would load
anything from elsewhere, and when the security model names a test that does not exist.
"""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

import check
import pages
import reference

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Folders whose pages are reached by the page that lists them.
LISTED = {"cli": "Command line", "contracts": "Contracts", "errors": "Error codes", "rest": "REST"}


def made(charter: Path) -> dict[str, str]:
    """The pages that are made from the code, by their places on the site."""
    contracts = reference.contract_pages(ROOT / "schemas")
    operations = (ROOT / "crates/server/src/operations.rs").read_text()
    document = json.loads((ROOT / "schemas/openapi.json").read_text())
    rest = reference.Rest(document, reference.scopes(operations), set(contracts) - {"index"}).pages()
    # Defaults that depend on whoever asks are those of anybody's home.
    asked = subprocess.run(
        [charter.resolve(), "config", "schema"], env={"HOME": "~"}, capture_output=True, text=True, check=True
    )
    found = {f"contracts/{name}.md": text for name, text in contracts.items()}
    found |= {f"rest/{name}.md": text for name, text in rest.items()}
    found["configuration.md"] = reference.configuration_page(json.loads(asked.stdout))
    return found


def stage(charter: Path, target: Path) -> None:
    """Writes everything that Sphinx reads."""
    site = pages.Pages(ROOT)
    found = {place: site.rewritten(path, place) for path, place in site.sources().items()}
    found["index.md"] = pages.index(found["index.md"], {"Reference for interfaces": ["Configuration <configuration>"]})
    commands = pages.commands(found.pop("cli/index.md"))
    found |= {f"cli/{name}.md": text for name, text in commands.items()}
    found |= made(charter)
    for place in found:
        folder, _, name = place.rpartition("/")
        if folder in LISTED and name != "index.md":
            found[place] = pages.below(found[place], LISTED[folder])
            if f"({name}" not in found[f"{folder}/index.md"]:
                raise pages.Astray(f"{folder}/index.md does not list {name}")
    for schema in (ROOT / "schemas").glob("*.json"):
        site.files[f"schemas/{schema.name}"] = f"files/schemas/{schema.name}"
    shutil.rmtree(target, ignore_errors=True)
    for place, text in found.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_text(text)
    for path, place in site.files.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / path, target / place)
    for place, picture in site.diagrams.items():
        (target / place).parent.mkdir(parents=True, exist_ok=True)
        (target / place).write_text(picture)
    shutil.copytree(HERE / "_static", target / "_static")


# What the theme leaves out for who reads by ear or without a mouse.
MENDED = {
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<aside class="toc-drawer': '<aside aria-label="On this page" class="toc-drawer',
    '<div class="highlight"><pre>': '<div class="highlight"><pre tabindex="0">',
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    '<div id="search-results"></div>': '<h1>Search</h1><div id="search-results"></div>',
}


def mend(output: Path) -> None:
    for file in output.rglob("*.html"):
        text = file.read_text()
        for left_out, mended in MENDED.items():
            text = text.replace(left_out, mended)
        file.write_text(text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--charter", type=Path, required=True, help="the binary that describes its configuration")
    parser.add_argument("--output", type=Path, default=ROOT / "target/site", help="where the site is put")
    given = parser.parse_args()
    source = given.output.with_name(given.output.name + "-source")
    try:
        stage(given.charter, source)
    except pages.Astray as astray:
        print(f"docs: {astray}", file=sys.stderr)
        return 1
    shutil.rmtree(given.output, ignore_errors=True)
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-n",
        "-j",
        "auto",
        "-c",
        HERE,
        "-d",
        f"{source}-state",
        source,
        given.output,
    ]
    if subprocess.run(sphinx).returncode:
        return 1
    mend(given.output)
    wrong = [*check.links(given.output), *check.claims(ROOT / "docs/concepts/security.md", ROOT / "crates")]
    for line in wrong:
        print(f"docs: {line}", file=sys.stderr)
    if not wrong:
        print(f"docs: {len(list(given.output.rglob('*.html')))} pages in {given.output}, every link leads somewhere")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
