"""The release build that is measured: all of it in one go, so that everything has the same dependencies.

    python bench/release.py
"""

import pathlib
import subprocess

from table import say

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"


def build():
    """The binary, and the examples that measure one part of it."""
    say("building (release)")
    cargo = ["cargo", "build", "--locked", "--release", "--quiet"]
    subprocess.run([*cargo, "--workspace", "--exclude", "xtask", "--bins", "--examples"], check=True, cwd=ROOT)


if __name__ == "__main__":
    build()
