#!/usr/bin/env python3
"""Runs every Rust test and prints the slowest.

    make slowest                        the 30 slowest tests
    .ci/slowest.py --count 50 postgres   the 50 slowest whose names contain `postgres`
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def programs() -> list[tuple[str, str, Path]]:
    """Each test program: its name, its file, and the folder of its crate, in which its tests run."""
    built = subprocess.run(
        ["cargo", "test", "--locked", "--workspace", "--tests", "--no-run", "--message-format", "json-render-diagnostics"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
    )
    messages = (json.loads(line) for line in built.stdout.splitlines())
    return [
        (one["target"]["name"], one["executable"], Path(one["manifest_path"]).parent)
        for one in messages
        if one.get("executable") and one["profile"]["test"]
    ]


def times(name: str, program: str, folder: Path, wanted: list[str]) -> list[tuple[float, str]]:
    # The test harness of stable Rust reports times only with unstable options.
    options = ["-Zunstable-options", "--report-time", "--format", "json", *wanted]
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1", "CARGO_MANIFEST_DIR": str(folder)}
    ran = subprocess.run([program, *options], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    found = []
    for line in ran.stdout.splitlines():
        if line.startswith("{") and (event := json.loads(line)).get("type") == "test" and "exec_time" in event:
            found.append((event["exec_time"], f"{name}: {event['name']}"))
    if ran.returncode != 0:
        print(f"{name}: some tests failed", file=sys.stderr)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("wanted", nargs="*", help="parts of names; every test by default")
    asked = parser.parse_args()
    found = [time for program in programs() for time in times(*program, asked.wanted)]
    print(f"{len(found)} tests, {sum(time for time, _ in found):.0f} s one after the other")
    for time, name in sorted(found, reverse=True)[: asked.count]:
        print(f"{time:8.2f} s  {name}")


if __name__ == "__main__":
    main()
