#!/usr/bin/env python3
"""Runs the parts of a build, and records the time of each.

    .ci/part.py begin                                     deletes the records of the previous build
    .ci/part.py run NAME [--covers PATH …] -- COMMAND …   runs a part
    .ci/part.py table [--markdown]                        prints the time and outcome of each part

A part with --covers is skipped if the folder BUILD_STAMPS has its stamp, which an earlier run left when it passed.
A stamp is a digest of the part's name and command, and of the committed files below those paths and below ALWAYS.
Without BUILD_STAMPS, or with uncommitted changes, a part has no stamp and always runs. `.ci/run` sets BUILD_STAMPS.
These names do not begin with CHARTER_, which names settings of a server.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PARTS = Path(os.environ.get("BUILD_PARTS", ROOT / "target/parts.tsv"))
# Every part depends on these.
ALWAYS = [".ci", "Cargo.lock", "Makefile", "rust-toolchain.toml"]
# Several stamps for each part are kept, so that a return to an earlier commit skips its parts too.
MOST_STAMPS = 400


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def stamp(name: str, command: list[str], covers: list[str]) -> Path | None:
    """The path of a part's stamp; None if the part has none."""
    folder = os.environ.get("BUILD_STAMPS")
    if not folder or not covers or git("status", "--porcelain"):
        return None
    seen = [name, *command]
    for path in ALWAYS + covers:
        seen += [path, git("rev-parse", f"HEAD:{path}").strip()]
    return Path(folder) / hashlib.sha256("\0".join(seen).encode()).hexdigest()


def record(name: str, seconds: float, outcome: str) -> None:
    PARTS.parent.mkdir(parents=True, exist_ok=True)
    with PARTS.open("a") as parts:
        parts.write(f"{name}\t{seconds:.1f}\t{outcome}\n")


def leave(found: Path) -> None:
    found.parent.mkdir(parents=True, exist_ok=True)
    found.touch()
    newest_first = sorted(found.parent.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest_first[MOST_STAMPS:]:
        old.unlink(missing_ok=True)  # Another build may have deleted it.


def run(name: str, command: list[str], covers: list[str]) -> int:
    found = stamp(name, command, covers)
    if found and found.exists():
        record(name, 0, "passed before")
        print(f"── {name}: passed before on the same files", flush=True)
        return 0
    print(f"── {name}", flush=True)
    start = time.monotonic()
    code = subprocess.run(command, cwd=ROOT).returncode
    seconds = time.monotonic() - start
    record(name, seconds, "passed" if code == 0 else f"failed ({code})")
    print(f"── {name}: {seconds:.0f} s", flush=True)
    if code == 0 and found:
        leave(found)
    if code != 0:
        table(markdown=False)
    return code


def table(markdown: bool) -> None:
    rows = [line.split("\t") for line in PARTS.read_text().splitlines()] if PARTS.exists() else []
    total = sum(float(seconds) for _, seconds, _ in rows)
    rows.append(["together", f"{total:.1f}", ""])
    if markdown:
        print("| Part | Seconds | Outcome |\n|---|--:|---|")
    for name, seconds, outcome in rows:
        print(f"| {name} | {float(seconds):.0f} | {outcome} |" if markdown else f"{name:42} {float(seconds):6.0f} s  {outcome}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ways = parser.add_subparsers(dest="way", required=True)
    ways.add_parser("begin")
    part = ways.add_parser("run")
    part.add_argument("name")
    part.add_argument("--covers", nargs="+", default=[])
    ways.add_parser("table").add_argument("--markdown", action="store_true")
    arguments = sys.argv[1:]
    at = arguments.index("--") if "--" in arguments else len(arguments)
    asked, command = parser.parse_args(arguments[:at]), arguments[at + 1 :]
    match asked.way:
        case "begin":
            PARTS.unlink(missing_ok=True)
        case "run":
            return run(asked.name, command, asked.covers)
        case "table":
            table(asked.markdown)
    return 0


if __name__ == "__main__":
    sys.exit(main())
