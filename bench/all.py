"""`make bench`: runs the parts of the benchmarks in turn, all of them or the named ones.

    python3 bench/all.py [PART ...]

Each part is the target `bench-PART` of the Makefile, which installs the peers of the part below target/ and runs its
script. Before the first part, every missing program is named together with how to get it; the parts that need that
program are left out. A part that fails does not end the others. The exit code is 1 if a part failed or was left out.
"""

import argparse
import contextlib
import datetime
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time

from release import ROOT
from table import grid, say


def program(*names):
    """A check that at least one of the programs exists."""
    return lambda: any(shutil.which(name) for name in names)


# Everything that the Makefile does not install: a check, and how to get it.
NEEDS = {
    "Python 3.11 with venv": (
        lambda: sys.version_info >= (3, 11) and importlib.util.find_spec("ensurepip"),
        "apt-get install python3-venv; `make bench PYTHON=...` names another interpreter",
    ),
    "cargo": (program("cargo"), "install rustup from https://rustup.rs"),
    "a C compiler": (program("cc"), "apt-get install gcc libc6-dev"),
    "Maven": (program("mvn"), "apt-get install maven"),
    "wrk": (
        # Where apt-get exists, the Makefile unpacks Debian's package.
        program("wrk", str(ROOT / "target/wrk/bin/wrk"), "apt-get"),
        "install it from your distribution, or build https://github.com/wg/wrk and put `wrk` on the PATH",
    ),
    "bash": (program("/bin/bash"), "apt-get install bash"),
}
BUILD = ["Python 3.11 with venv", "cargo", "a C compiler"]
# In the order in which they run: `capacity` reads the figures of `steps` and `replicas`.
PARTS = {
    "run": [*BUILD, "wrk"],
    "answers": BUILD,
    "steps": [*BUILD, "Maven"],
    "skills": [*BUILD, "Maven"],
    "search": [*BUILD, "Maven"],
    "passages": [*BUILD, "Maven"],
    "missions": BUILD,
    "replicas": [*BUILD, "Maven", "wrk", "bash"],
    "capacity": ["Python 3.11 with venv"],
}


def run(part):
    """Runs a part as a process group of its own; true if it succeeded."""
    command = ["make", "--no-print-directory", f"bench-{part}"]
    process = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    try:
        return process.wait() == 0
    except KeyboardInterrupt:
        # The terminal interrupts only its own session.
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
        raise
    finally:
        # A server that a failed part left running would take processor time from the next part.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def chosen_parts():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"one of: {', '.join(PARTS)}")
    parts = parser.parse_args().parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown part: {', '.join(unknown)}; the parts are: {', '.join(PARTS)}")
    return parts


def main():
    parts = chosen_parts()
    missing = [name for name, (exists, _) in NEEDS.items() if not exists()]
    lacking = {part: [name for name in PARTS[part] if name in missing] for part in parts}
    for name in missing:
        if without := [part for part in parts if name in lacking[part]]:
            say(f"missing: {name}, for {', '.join(without)}; to get it: {NEEDS[name][1]}")
    rows, failed = [["part", "time", "outcome"]], []
    for part in parts:
        started = time.monotonic()
        if lacking[part]:
            outcome = f"left out, missing: {', '.join(lacking[part])}"
        else:
            say(f"part {part}")
            outcome = "done" if run(part) else "failed"
        if outcome != "done":
            failed.append(part)
        took = datetime.timedelta(seconds=round(time.monotonic() - started))
        rows.append([part, str(took), outcome])
    print(f"\n{grid(rows)}", flush=True)
    if failed:
        sys.exit(f"failed or left out: {', '.join(failed)}")


if __name__ == "__main__":
    main()
